"""A proposal in words in its language, with numbers formatted as on the pages."""

from __future__ import annotations

from pydantic import JsonValue

from app.catalog.defaults import CURRENCIES
from app.engine.units import HOUR
from app.errors import Message
from app.estimating.decision import Decision, DecisionOption
from app.estimating.schema import Quantity
from app.features.proposals.lines import ProposalLine
from app.features.proposals.model import Commitment, Proposal, ProposalContent, SectionInput, Sender
from app.features.proposals.texts import templates
from app.features.proposals.writing import answer, costs, deal, evidence, options
from app.features.proposals.writing.blocks import (
    Against,
    Block,
    Cell,
    Grid,
    Head,
    Paragraph,
    Points,
    SectionBlock,
    Signatures,
    View,
    figure,
    table,
)
from app.features.proposals.writing.evidence import measured_rate, measured_run
from app.features.proposals.writing.options import scale_of_times
from app.features.studies.options import DemandAnswer
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice, written

RANGE, PART = ".range", "part."

PLACES = {
    "plan": "plan",
    **dict.fromkeys(("comparison", "logic", "term", "bill", "advice", "measured"), "line"),
}
"""Section of a line → context in which its name is looked up."""


def line_name(section: str, name: str, voice: Voice) -> str:
    if name.endswith(RANGE):
        return f"{line_name(section, name.removesuffix(RANGE), voice)} ({voice.gettext('80 % interval')})"
    if section == "acceptance":
        return voice.label(name.removeprefix("acceptance."), "line")
    if section in {"warnings", "assumptions"}:
        return voice.label(name)
    for prefix, context in ((PART, "part"), ("term.line.", "cost"), ("bill.group.", "bill")):
        if name.startswith(prefix):
            return voice.label(name.removeprefix(prefix), context)
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
    """Return the value of a line as printed in the document's tables, without its range."""
    if line.name == "avoid":
        # The line has the reason in English, for programs.
        return voice.sentence(content.advice.avoid[int(line.path.split(".")[2])].reasons[0])
    if line.name == "basis":
        estimate = content.comparison.rows[int(line.path.split(".")[2])].estimate
        assert estimate is not None and estimate.validation.basis_text is not None, "the line is of it"
        return voice.sentence(estimate.validation.basis_text)
    if line.section == "acceptance":
        return committed_value(content.acceptance[int(line.path.split(".")[1])], content, voice)
    if line.name.startswith(PART) and isinstance(line.value, int | float):
        return voice.part(line.value, scale_of_times(content), whole_of(line.option, content))
    return value_written(line.section, line.name, line.value, line.unit, line.low is None, content, voice)


def whole_of(option: str | None, content: ProposalContent) -> float:
    """Return the sum of the parts of an option's time. [s]"""
    row = next((row for row in content.comparison.rows if row.label == option), None)
    parts = row.estimate.breakdown if row is not None and row.estimate is not None else None
    return sum(part.seconds for part in parts or ()) or 1.0


def value_written(
    section: str, name: str, value: JsonValue, unit: str, exact: bool, content: ProposalContent, voice: Voice
) -> str:
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
    if section == "bill" and unit in CURRENCIES and name.endswith((".unit_price", ".total")):
        return voice.exact(value, unit)
    if (unit == "h" and name == "hours") or name == "time_to_train" or name.startswith(PART):
        seconds = value * HOUR if unit == "h" else value
        quantity = Quantity(value=seconds, low=seconds, high=seconds * (1.0 if exact else 1.01), unit="s")
        return voice.central(quantity, scale_of_times(content))
    if unit in {"", "a"} or name == "term.useful_hours_per_year":
        return voice.number(value)
    if section == "bill" and unit == content.currency and name != "bill.equipment":
        # Bills add up line by line, so their tables round no amount.
        return voice.exact(value, unit)
    quantity = Quantity(value=value, low=value, high=value if exact else value + abs(value), unit=unit)
    return voice.central(quantity)


FINGERPRINT = 12
"""Digits of the hash that are printed on every page."""

OFFER = frozenset({"scope", "acceptance", "schedule", "bill", "term", "exclusions", "terms", "signature"})
"""Sections about the offer, left out if no option is offered."""


def write_proposal(proposal: Proposal, voice: Voice) -> View:
    """Return a proposal in words; sections that are not shown are marked."""
    content = proposal.content
    draft = proposal.frozen_at is None
    computed = {
        "summary": answer.answer(content, voice),
        "reasons": reasons(content, voice),
        "comparison": [*options.comparison(content, voice), *deal.claims(content, voice)],
        "measured": evidence.measured(content, voice),
        "logic": options.logic(content, voice),
        "bill": costs.bill(content, voice),
        "term": costs.term(content, voice),
        "acceptance": [*deal.procedure(content, voice), *acceptance(content, voice)],
        "schedule": deal.schedule(content, voice),
        "terms": deal.conditions(content, voice),
        "risks": [*deal.risks(content, voice, draft), *evidence.appearance(content, voice)],
        "assumptions": [*deal.weighty(content, voice), *evidence.assumptions(content, voice)],
        "sources": evidence.sources(content, voice),
        "method": evidence.method(proposal, voice),
        "plan": options.plans(content, voice),
        "signature": signatures(content, voice) if content.kind != "estimate" else (),
    }
    # Proposals frozen before sections could be chosen have the computed ones.
    chosen = content.sections or [SectionInput.model_validate({"id": name}) for name in computed]
    sections = [
        SectionBlock(s.id, voice.label(s.id, "document"), computed.get(s.id, ()), s.text or "", s.shown)
        for s in chosen
        if (content.offered or s.id not in OFFER) and not (s.id == "signature" and content.kind == "estimate")
    ]
    return View(
        language=voice.language,
        title=content.title,
        kicker=voice.label(content.kind or "proposal", "document_kind"),
        customer=content.customer,
        facts=facts(proposal, voice),
        confidential=voice.gettext("Confidential") if content.confidential else "",
        footer=content.branding.footer or "",
        fingerprint=fingerprint(proposal) or voice.gettext("Draft"),
        # Empty sections are left out, unless they are hidden or have a template.
        sections=[s for s in sections if s.printed or not s.shown or s.id in templates(voice.language)],
    )


def fingerprint(proposal: Proposal) -> str:
    return proposal.sha256[:FINGERPRINT] if proposal.sha256 else ""


def facts(proposal: Proposal, voice: Voice) -> list[tuple[str, str]]:
    content, until = proposal.content, proposal.content.valid_until
    sender = content.sender or Sender()
    day = (proposal.frozen_at or proposal.updated_at).date().isoformat()
    unlimited = voice.gettext("not limited")
    rows = [
        (voice.gettext("Customer"), content.customer),
        (voice.gettext("Sender"), sender.organization or ""),
        (voice.gettext("Contact"), " · ".join(filter(None, (sender.contact, sender.email, sender.phone)))),
        (voice.gettext("Reference number"), content.number or ""),
        (voice.gettext("Revision"), voice.number(proposal.version)),
        (voice.gettext("Replaces"), (content.conditions.supersedes if content.conditions else None) or ""),
        (voice.gettext("Date"), voice.date(day)),
        (voice.gettext("Valid until"), voice.date(until.isoformat()) if until else unlimited),
        (voice.gettext("Currency"), content.currency),
        (voice.gettext("Hash"), fingerprint(proposal) or voice.gettext("not frozen yet")),
    ]
    return [(name, value) for name, value in rows if value]


def reasons(content: ProposalContent, voice: Voice) -> list[Block]:
    advice = content.advice
    why = [voice.sentence(reason) for reason in advice.reasons] if content.offered else []
    blocks: list[Block] = [Points(voice.gettext("Why this choice"), why)] if why else []
    if content.decision is not None:
        blocks.append(decided(content, content.decision, voice))
    if any(answer.recommended for answer in content.by_demand):
        demands = [demand_line(answer, voice) for answer in content.by_demand]
        blocks.append(Points(voice.gettext("For other demands"), demands))
    if advice.avoid:
        avoided = [(a.label, [voice.sentence(reason) for reason in a.reasons]) for a in advice.avoid]
        blocks.append(Against(voice.gettext("What not to buy"), avoided))
    return blocks


def demand_line(answer: DemandAnswer, voice: Voice) -> str:
    """Return what is recommended for one demand, and from how many runs on another option is."""
    demand, colon = answer.demand, voice.sign(": ")
    if demand.runs == 1:
        name = voice.gettext("Once")
    elif demand.runs_per_year is not None:
        name = voice.gettext("%(runs)s a year") % {"runs": voice.number(demand.runs_per_year)}
    else:
        name = voice.gettext("Always busy")
    if answer.recommended is None:
        return f"{name}{colon}{voice.gettext('nothing meets what is asked')}"
    line = f"{name}{colon}{answer.recommended} · {voice.central(answer.outlay)}"
    turn = answer.overturn
    if turn is None or turn.at is None or turn.then is None:
        return line
    key = (
        "from %(runs)s runs on: %(option)s"
        if turn.at.value > answer.runs
        else "up to %(runs)s runs: %(option)s"
    )
    return f"{line} · {voice.gettext(key) % {'runs': voice.number(turn.at.value), 'option': turn.then}}"


def decided(content: ProposalContent, decision: Decision, voice: Voice) -> Grid:
    """Return the options of the decision as a table."""
    own = content.advice.recommended not in (None, decision.recommended)

    def verdict(option: DecisionOption) -> str | Cell:
        if option.id == decision.recommended:
            return voice.gettext("recommended by rule" if own else "recommended")
        if own and option.id == content.advice.recommended:
            return Cell(voice.gettext("the author's choice"), voice.say(option.reason or ""))
        return voice.say(option.reason or "a tie")

    def share(value: float | None) -> str:
        return MISSING if value is None else voice.percent(value)

    limited = [(Head(voice.gettext("Probability"), True), lambda o: share(o.probability))]
    return table(
        "decision",
        voice.gettext("Options of the decision"),
        decision.options,
        (Head(voice.gettext("Option"), width=1.8), lambda option: option.id),
        (Head(voice.gettext("Verdict"), width=1.3), verdict),
        (Head(voice.gettext("Outlay"), True, 1.5), lambda option: figure(option.outlay, voice)),
        (Head(voice.gettext("Purchase"), True, 1.2), lambda option: voice.central(option.purchase)),
        (Head(voice.gettext("Idle share of the term"), True), lambda option: share(option.idle_share)),
        *(limited if decision.question.limited else ()),
        best=[i for i, option in enumerate(decision.options) if option.id in content.offered],
    )


def committed_value(commitment: Commitment, content: ProposalContent, voice: Voice) -> str:
    scale = scale_of_commitment(commitment, content)
    return voice.value(commitment.committed, commitment.expected.unit, scale, exact=False)


def scale_of_commitment(commitment: Commitment, content: ProposalContent) -> Scale | None:
    return scale_of_times(content) if commitment.figure == "time_to_train" else None


def acceptance(content: ProposalContent, voice: Voice) -> list[Block]:
    bounds = {"at_most": voice.gettext("at most"), "at_least": voice.gettext("at least")}
    value = Head(voice.gettext("Committed value"), True, 1.6)
    blocks: list[Block] = []
    for index, row in enumerate(answer.rows_offered(content)):
        commitments = [commitment for commitment in content.acceptance if commitment.option == row.label]
        if not commitments:
            option = {"option": row.label}
            none = Message(
                "{option}: no figure is committed to; none of them has a range that can be kept", option
            )
            blocks.append(Paragraph(voice.sentence(none)))
            continue
        grid = table(
            f"acceptance-{index}",
            row.label,
            commitments,
            (Head(voice.gettext("Figure"), width=1.8), lambda c: voice.label(c.figure, "line")),
            (
                Head(voice.gettext("Estimate"), True, 1.8),
                lambda c: figure(c.expected, voice, scale_of_commitment(c, content)),
            ),
            (value, lambda c: Cell(committed_value(c, content, voice), bounds[c.bound])),
            (Head(voice.gettext("Commitment level"), True), lambda c: f"P{round(100 * c.level)}"),
        )
        blocks += [grid, Paragraph(options.commitment_basis(row, voice))]
    if content.acceptance:
        note = voice.gettext(
            "P90 is the value that is kept with a probability of 90 %, not the middle of the estimate: the "
            "worse end of its 80 % interval, which runs from the 10th to the 90th percentile."
        )
        blocks.append(Paragraph(note, quiet=True))
    return blocks


def signatures(content: ProposalContent, voice: Voice) -> list[Block]:
    sender = (content.sender.organization if content.sender else None) or ""
    parties = [(voice.gettext("Supplier"), sender), (voice.gettext("Customer"), content.customer)]
    person = [voice.gettext("Full name"), voice.gettext("Job title")]
    return [Signatures(parties, [*person, voice.gettext("Signature"), voice.gettext("Date")])]
