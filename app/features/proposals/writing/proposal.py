"""A proposal written in its language: every number by the same voice as the pages."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from pydantic import JsonValue

from app.engine.units import HOUR
from app.errors import Message
from app.estimating.schema import Quantity
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.model import Proposal, ProposalContent, ProposalLine, Reasoned
from app.features.proposals.writing import costs, evidence, options
from app.features.proposals.writing.blocks import (
    Against,
    Block,
    Facts,
    Paragraph,
    QuoteBlock,
    SectionBlock,
    VerdictBlock,
    View,
)
from app.features.proposals.writing.evidence import measured_rate, measured_run
from app.features.proposals.writing.options import scale_of_times
from app.platform.wording.voice import Voice, written

RANGE = ".range"

PART = "part."

MEASURED_RATES = {"mean", "rate"}
"""Names of throughputs somebody measured, as against predicted ones."""

PLACES = {
    "plan": "plan",
    "comparison": "line",
    "logic": "line",
    "term": "line",
    "bill": "line",
    "advice": "line",
    "measured": "line",
}
"""Section of a line → place by which its name is looked up."""


def line_name(section: str, name: str, voice: Voice) -> str:
    """Return what a line is about, in words."""
    if name.endswith(RANGE):
        return f"{line_name(section, name.removesuffix(RANGE), voice)} ({voice.gettext('80 % interval')})"
    if section in {"warnings", "assumptions"}:
        return voice.label(name)
    if name.startswith(PART):
        return voice.label(name.removeprefix(PART), "part")
    if name.startswith("term.line."):
        return voice.label(name.removeprefix("term.line."), "cost")
    if name.startswith("bill.group."):
        return voice.label(name.removeprefix("bill.group."), "bill")
    if name.startswith(("runs.run.", "networks.run.")):
        return f"{voice.gettext('Measured run')} {name.rpartition('.')[2]}"
    if name.startswith("left_out."):
        item, _, what = name.removeprefix("left_out.").partition(".")[2].rpartition(".")
        return f"{item} · {voice.label(what, 'line')}"
    if name.startswith(("runs.", "networks.", "fit.")):
        return voice.label(name.partition(".")[2], "measured")
    if name.startswith("bill.") and name.count(".") > 1:
        item, _, what = name.removeprefix("bill.").rpartition(".")
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
        return "–".join(
            value_written(section, name, one, unit, exact, content, voice) for one in value if one is not None
        )
    if not isinstance(value, int | float) or isinstance(value, bool):
        return written(value, voice, PLACES.get(section, "")) if value is not None else voice.gettext("none")
    if name == "ratio":
        return voice.ratio(value)
    if section == "measured" and unit == "1":
        return voice.percent(value)
    if section == "measured" and ".run." in name:
        return measured_run(value, voice)
    if section == "measured" and name.partition(".")[2] in MEASURED_RATES:
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
    return View(
        language=voice.language,
        title=content.title,
        kicker=voice.gettext("Infrastructure proposal"),
        customer=content.customer,
        facts=facts(proposal, voice),
        confidential=voice.gettext("Confidential") if content.confidential else "",
        footer=content.branding.footer or "",
        fingerprint=proposal.sha256[:FINGERPRINT] if proposal.sha256 else voice.gettext("Draft"),
        sections=[section for section in sections if section is not None and section.blocks],
    )


def facts(proposal: Proposal, voice: Voice) -> Facts:
    """Return what stands at the head of the document."""
    content = proposal.content
    day = (proposal.frozen_at or proposal.updated_at).date()
    entries = [
        (voice.gettext("Customer"), content.customer),
        (voice.gettext("Date"), voice.date(day.isoformat())),
        (voice.gettext("Valid until"), until(content.valid_until, voice)),
        (voice.gettext("Currency"), content.currency),
        (
            voice.gettext("Hash"),
            proposal.sha256[:FINGERPRINT] if proposal.sha256 else voice.gettext("not frozen yet"),
        ),
    ]
    return Facts(entries)


def until(day: datetime.date | None, voice: Voice) -> str:
    """Return the last day on which a proposal holds."""
    return voice.gettext("not limited") if day is None else voice.date(day.isoformat())


def summary(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the page a busy reader reads: what to take, why, what not to buy."""
    advice = content.advice
    row = next((row for row in content.comparison.rows if row.label == advice.recommended), None)
    none = "A tie" if advice.tied else "None of the options"
    blocks: list[Block] = [
        VerdictBlock(
            title=voice.gettext("Recommendation"),
            option=row.label if row is not None else voice.gettext(none),
            lines=[voice.sentence(reason) for reason in advice.reasons],
            figures=headline(row, content, voice) if row is not None else (),
        )
    ]
    if content.reason:
        lines = [line.strip() for line in content.reason.splitlines() if line.strip()]
        blocks.append(QuoteBlock(voice.gettext("Why this choice"), lines))
    if advice.avoid:
        blocks.append(
            Against(voice.gettext("What not to buy"), [against(one, voice) for one in advice.avoid])
        )
    blocks += limits(content, voice)
    serious = sum(one.severity == "serious" for one in content.warnings)
    cautions = sum(one.severity == "caution" for one in content.warnings)
    blocks.append(options.time_chart(content, voice))
    counted = Message(
        "serious warnings: {serious}, cautions: {cautions}; all are listed under “Risks and "
        "warnings”. Ranges are 80 % intervals, from the 10th to the 90th percentile.",
        {"serious": serious, "cautions": cautions},
    )
    blocks.append(Paragraph(voice.sentence(counted), quiet=True))
    return blocks


def against(one: Reasoned, voice: Voice) -> tuple[str, Sequence[str]]:
    """Return an option not to buy with its reasons."""
    return one.label, [voice.sentence(reason) for reason in one.reasons]


def limits(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return what the customer allows, where anything is said of it."""
    advice, colon, found = content.advice, voice.sign(": "), []
    if advice.deadline_s is not None:
        found.append(f"{voice.gettext('Deadline')}{colon}{voice.value(advice.deadline_s, 's')}")
    if advice.budget is not None:
        found.append(f"{voice.gettext('Run budget')}{colon}{voice.full(advice.budget, content.currency)}")
    return [Paragraph(" · ".join(found))] if found else []


def headline(row: ComparisonRow, content: ProposalContent, voice: Voice) -> list[tuple[str, str, str]]:
    """Return the figures of the recommended option."""
    scale = options.scale_of_times(content)
    time = options.time_of(row)
    found = [(voice.gettext("Training time"), voice.central(time, scale), voice.spread(time, scale))]
    cost = row.estimate.cost if row.estimate is not None else None
    if cost is not None:
        run = row.run_cost
        found.append((voice.gettext("Cost per run"), voice.central(run), voice.spread(run)))
        if cost.capex is not None:
            found.append(
                (voice.gettext("Purchase price"), voice.central(cost.capex), voice.spread(cost.capex))
            )
    best = min((one.hours for one in content.comparison.rows if one.hours), default=None)
    slowest = max((one.hours for one in content.comparison.rows if one.hours), default=None)
    if row.hours and best and slowest and slowest > row.hours:
        found.append((voice.gettext("Relative to the slowest"), voice.ratio(slowest / row.hours), ""))
    if row.estimate is not None and row.estimate.system.power is not None:
        power = row.estimate.system.power
        found.append((voice.gettext("Power"), voice.central(power), voice.spread(power)))
    return found[:4]
