"""A proposal written in its language: every number by the same voice as the pages."""

from __future__ import annotations

from pydantic import JsonValue

from app.engine.units import HOUR
from app.errors import Message
from app.estimating.schema import Quantity
from app.features.comparisons.charts import hours_of
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.lines import ProposalLine
from app.features.proposals.model import Proposal, ProposalContent
from app.features.proposals.writing import costs, evidence, options
from app.features.proposals.writing.blocks import (
    Against,
    Block,
    Paragraph,
    QuoteBlock,
    SectionBlock,
    VerdictBlock,
    View,
)
from app.features.proposals.writing.evidence import measured_rate, measured_run
from app.features.proposals.writing.options import scale_of_times
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice, written

RANGE, PART = ".range", "part."

PLACES = {
    "plan": "plan",
    **dict.fromkeys(("comparison", "logic", "term", "bill", "advice", "measured"), "line"),
}
"""Section of a line → place by which its name is looked up."""


def line_name(section: str, name: str, voice: Voice) -> str:
    """Return what a line is about, in words."""
    if name.endswith(RANGE):
        return f"{line_name(section, name.removesuffix(RANGE), voice)} ({voice.gettext('80 % interval')})"
    if section in {"warnings", "assumptions"}:
        return voice.label(name)
    for prefix, place in ((PART, "part"), ("term.line.", "cost"), ("bill.group.", "bill")):
        if name.startswith(prefix):
            return voice.label(name.removeprefix(prefix), place)
    if name.startswith(("runs.run.", "networks.run.")):
        return f"{voice.gettext('Measured run')} {name.rpartition('.')[2]}"
    if name.startswith(("runs.", "networks.", "fit.")):
        return voice.label(name.partition(".")[2], "measured")
    if name.startswith("left_out.") or (name.startswith("bill.") and name.count(".") > 1):
        # left_out.0.part.what, bill.part.what
        item, _, what = name.removeprefix("left_out.").partition(".")[2].rpartition(".")
        return f"{item} · {voice.label(what, 'line')}"
    return voice.label(name, PLACES.get(section, "line"))


def line_value(line: ProposalLine, content: ProposalContent, voice: Voice) -> str:
    """Return the value of a line as the tables of the document write it, without its range."""
    if line.name == "avoid":
        # The line has the reason in English, for programs; people read it in their own words.
        return voice.sentence(content.advice.avoid[int(line.path.split(".")[2])].reasons[0])
    if line.name.startswith(PART) and isinstance(line.value, int | float):
        return voice.part(line.value, scale_of_times(content), whole_of(line.option, content))
    return value_written(line.section, line.name, line.value, line.unit, line.low is None, content, voice)


def whole_of(option: str | None, content: ProposalContent) -> float:
    """Return the time that the parts of an option add up to. [s]"""
    row = next((row for row in content.comparison.rows if row.label == option), None)
    parts = row.estimate.breakdown if row is not None and row.estimate is not None else None
    return sum(part.seconds for part in parts or ()) or 1.0


def value_written(
    section: str,
    name: str,
    value: JsonValue,
    unit: str,
    exact: bool,
    content: ProposalContent,
    voice: Voice,
) -> str:
    """Return a value of a line as the tables of the document write it."""
    if isinstance(value, list):
        ends = (end for end in value if end is not None)
        return "–".join(value_written(section, name, end, unit, exact, content, voice) for end in ends)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return written(value, voice, PLACES.get(section, "")) if value is not None else voice.gettext("none")
    if name == "ratio":
        return voice.ratio(value)
    if section == "measured" and unit == "1":
        return voice.percent(value)
    if section == "measured" and ".run." in name:
        return measured_run(value, voice)
    if section == "measured" and name.endswith((".mean", ".rate")):
        return measured_rate(value, voice)
    if name == "samples":
        return voice.count(value)
    if (unit == "h" and name == "hours") or name == "time_to_train" or name.startswith(PART):
        seconds = value * HOUR if unit == "h" else value
        shown = Quantity(value=seconds, low=seconds, high=seconds * (1.0 if exact else 1.01), unit="s")
        return voice.central(shown, scale_of_times(content))
    if unit in {"", "a"} or name == "term.useful_hours_per_year":
        return voice.number(value)
    shown = Quantity(value=value, low=value, high=value if exact else value + abs(value), unit=unit)
    return voice.central(shown)


FINGERPRINT = 12
"""Digits of the hash that are printed on every page."""


def write_proposal(proposal: Proposal, voice: Voice) -> View:
    """Return a proposal in words."""
    content = proposal.content
    sections = [
        SectionBlock("summary", voice.gettext("Summary"), summary(content, voice)),
        options.comparison(content, voice),
        evidence.measured(content, voice),
        options.logic(content, voice),
        costs.bill(content, voice),
        costs.term(content, voice),
        evidence.risks(content, voice),
        evidence.assumptions(content, voice),
        evidence.sources(content, voice),
        evidence.method(proposal, voice),
        options.plans(content, voice),
    ]
    fingerprint = proposal.sha256[:FINGERPRINT] if proposal.sha256 else ""
    day = (proposal.frozen_at or proposal.updated_at).date().isoformat()
    until = content.valid_until
    return View(
        language=voice.language,
        title=content.title,
        kicker=voice.gettext("Infrastructure proposal"),
        customer=content.customer,
        facts=[
            (voice.gettext("Customer"), content.customer),
            (voice.gettext("Date"), voice.date(day)),
            (
                voice.gettext("Valid until"),
                voice.date(until.isoformat()) if until else voice.gettext("not limited"),
            ),
            (voice.gettext("Currency"), content.currency),
            (voice.gettext("Hash"), fingerprint or voice.gettext("not frozen yet")),
        ],
        confidential=voice.gettext("Confidential") if content.confidential else "",
        footer=content.branding.footer or "",
        fingerprint=fingerprint or voice.gettext("Draft"),
        sections=[section for section in sections if section is not None and section.blocks],
    )


def summary(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the page a busy reader reads: what to take, why, what not to buy."""
    advice = content.advice
    row = next((row for row in content.comparison.rows if row.label == advice.recommended), None)
    none = voice.gettext("A tie") if advice.tied else voice.gettext("None of the options")
    blocks: list[Block] = [
        VerdictBlock(
            title=voice.gettext("Recommendation"),
            option=none if row is None else row.label,
            lines=[voice.sentence(reason) for reason in advice.reasons],
            figures=() if row is None else headline(row, content, voice),
        )
    ]
    if content.reason:
        lines = [line.strip() for line in content.reason.splitlines() if line.strip()]
        blocks.append(QuoteBlock(voice.gettext("Why this choice"), lines))
    if advice.avoid:
        avoided = [(one.label, [voice.sentence(reason) for reason in one.reasons]) for one in advice.avoid]
        blocks.append(Against(voice.gettext("What not to buy"), avoided))
    allowed, colon = [], voice.sign(": ")
    if advice.deadline_s is not None:
        allowed.append(f"{voice.gettext('Deadline')}{colon}{voice.value(advice.deadline_s, 's')}")
    if advice.budget is not None:
        allowed.append(f"{voice.gettext('Run budget')}{colon}{voice.full(advice.budget, content.currency)}")
    if allowed:
        blocks.append(Paragraph(" · ".join(allowed)))
    severities = [said.severity for said in content.warnings]
    counted = Message(
        "serious warnings: {serious}, cautions: {cautions}; all are listed under “Risks and "
        "warnings”. Ranges are 80 % intervals, from the 10th to the 90th percentile.",
        {"serious": severities.count("serious"), "cautions": severities.count("caution")},
    )
    return [
        *blocks,
        options.time_chart(content, voice),
        Paragraph(voice.sentence(counted), quiet=True),
    ]


HEADLINES = 4


def headline(row: ComparisonRow, content: ProposalContent, voice: Voice) -> list[tuple[str, str, str]]:
    """Return the figures of the recommended option."""
    estimate, cost = row.estimate, row.estimate.cost if row.estimate is not None else None
    scale = scale_of_times(content)

    def told(name: str, quantity: Quantity | None, scale: Scale | None = None) -> tuple[str, str, str]:
        return name, voice.central(quantity, scale), voice.spread(quantity, scale)

    figures = [told(voice.gettext("Training time"), hours_of(row), scale)]
    if cost is not None:
        figures.append(told(voice.gettext("Cost per run"), row.run_cost))
    if cost is not None and cost.capex is not None:
        figures.append(told(voice.gettext("Purchase price"), cost.capex))
    slowest = max((other.hours for other in content.comparison.rows if other.hours), default=0.0)
    if row.hours and slowest > row.hours:
        figures.append((voice.gettext("Relative to the slowest"), voice.ratio(slowest / row.hours), ""))
    if estimate is not None and estimate.system.power is not None:
        figures.append(told(voice.gettext("Power"), estimate.system.power))
    return figures[:HEADLINES]
