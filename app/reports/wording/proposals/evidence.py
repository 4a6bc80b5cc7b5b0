"""The customer's measured runs in words: what was weighed, what it gains, what is not bought."""

from __future__ import annotations

from app.errors import Message
from app.reports.wording.proposals.blocks import Block, Cell, Grid, Head, Paragraph, SectionBlock
from app.reports.wording.scales import decimals_of
from app.reports.wording.voice import MISSING, Voice
from app.sizing.document import Quantity
from app.sizing.proposal.documents import ProposalContent
from app.sizing.proposal.evidence_documents import FitFound, GainFound, WeighedOption
from app.sizing.proposal.lines import RATE

DIGITS = 4
"""Significant digits of a measured rate: what gains of a per cent are read from."""


def measured_rate(value: float | None, voice: Voice) -> str:
    """Return a throughput somebody measured."""
    if value is None:
        return MISSING
    return f"{measured_run(value, voice)}{voice.unit(RATE)}"


def measured_run(value: float, voice: Voice) -> str:
    """Return a throughput somebody measured, without its unit."""
    return voice.decimal(value, decimals_of(value, DIGITS), trim=True)


def measured(content: ProposalContent, voice: Voice) -> SectionBlock | None:
    """Return the customer's own runs and what follows from them."""
    found = content.evidence
    if found is None:
        return None
    blocks: list[Block] = []
    for place, one in enumerate(found.gains):
        blocks += gain(one, place, voice)
    if found.fit is not None:
        blocks += fit(found.fit, voice)
    return SectionBlock("measured", voice.gettext("Measured runs"), blocks)


def gain(one: GainFound, place: int, voice: Voice) -> list[Block]:
    """Return one verdict with the runs it rests on and the parts it saves."""
    said = [voice.sentence(text) for text in (one.sentence, *one.more)]
    blocks: list[Block] = [Paragraph(voice.ended(said[0]))]
    blocks += [Paragraph(voice.ended(text), quiet=True) for text in said[1:]]
    networks = one.basis == "networks"
    heads = [
        Head(voice.gettext("Network") if networks else voice.gettext("Alternative"), width=2.0),
        Head(voice.gettext("Measured runs"), True, 1.8),
        Head(voice.gettext("Mean"), True, 1.4),
        Head(voice.gettext("Gain"), True, 0.9),
    ]
    if networks:
        heads += [
            Head(voice.gettext("Predicted"), True, 1.5),
            Head(voice.gettext("Price of the network"), True, 1.6),
        ]
    rows = [option_row(option, one, voice) for option in one.options]
    taken = [option.label for option in one.options].index(one.taken) if one.taken else None
    blocks.append(Grid(f"measured-{place}", one.label, heads, rows, best=taken))
    facts = verdict_facts(one, voice)
    blocks.append(Paragraph(" · ".join(facts)))
    if one.left_out:
        blocks.append(left_out(one, place, voice))
    return blocks


def verdict_facts(one: GainFound, voice: Voice) -> list[str]:
    """Return gain, threshold and what is saved, each with its name."""
    found = [f"{voice.gettext('Threshold')} {voice.percent(one.threshold)}"]
    if one.gain is not None:
        found.insert(0, f"{voice.gettext('Gain')} {voice.quantity(one.gain)}")
    if one.money_saved is not None:
        found.append(f"{voice.gettext('Saved')} {voice.quantity(one.money_saved)}")
    if one.switches_saved is not None and one.cables_saved is not None:
        counts = {"switches": one.switches_saved, "cables": one.cables_saved}
        found.append(voice.say(Message("not bought: switches {switches}, cables {cables}", counts)))
    return found


def option_row(option: WeighedOption, one: GainFound, voice: Voice) -> list[Cell]:
    """Return one alternative as a row."""
    runs = " · ".join(measured_run(run, voice) for run in option.runs)
    spread = "" if option.deviation is None else f"± {voice.value(option.deviation, RATE)}"
    cells = [
        Cell(option.label, voice.gettext("reference") if option.label == one.reference else ""),
        Cell(runs or MISSING),
        Cell(measured_rate(option.mean, voice), spread),
        Cell(MISSING if option.label == one.reference else voice.percent(option.gain)),
    ]
    if one.basis != "networks":
        return cells
    gap = "" if option.gap is None else f"{voice.gettext('Gap')} {voice.percent(option.gap)}"
    return [*cells, ranged(option.predicted, voice, gap), ranged(option.price, voice)]


def ranged(one: Quantity | None, voice: Voice, more: str = "") -> Cell:
    """Return a quantity with its range and what else there is to say of it below."""
    under = " · ".join(text for text in (voice.spread(one), more) if text)
    return Cell(voice.central(one), under)


def left_out(one: GainFound, place: int, voice: Voice) -> Grid:
    """Return the parts that are not bought."""
    heads = [
        Head(voice.gettext("Component"), width=3.0),
        Head(voice.gettext("Count"), True),
        Head(voice.gettext("Unit price"), True, 1.4),
    ]
    rows = [
        [
            Cell(voice.gettext(part.name)),
            Cell(voice.number(part.count)),
            Cell(voice.gettext("price unknown"))
            if part.unit_price is None
            else ranged(part.unit_price, voice),
        ]
        for part in one.left_out
    ]
    said = voice.say(Message("Parts of {network} that are not bought", {"network": one.against or ""}))
    return Grid(f"left-out-{place}", said, heads, rows)


def fit(one: FitFound, voice: Voice) -> list[Block]:
    """Return a fitted profile: how far the prediction was off, run by run, before and after."""
    said = Message(
        "the software profile was fitted to the customer's runs, starting from {profile}",
        {"profile": one.prior_software},
    )
    heads = [
        Head(voice.gettext("Measurement"), width=2.2),
        Head(voice.gettext("Measured"), True, 1.4),
        Head(voice.gettext("Predicted before"), True, 1.4),
        Head(voice.gettext("Predicted after"), True, 1.4),
        Head(voice.gettext("Gap before"), True),
        Head(voice.gettext("Gap after"), True),
    ]
    rows = [
        [
            Cell(run.label, run.note or ""),
            Cell(voice.value(run.measured, "s"), measured_rate(run.samples_per_s, voice)),
            ranged(run.before, voice),
            ranged(run.after, voice),
            Cell(voice.percent(run.gap_before)),
            Cell(voice.percent(run.gap_after)),
        ]
        for run in one.runs
    ]
    gaps = " · ".join(
        f"{voice.gettext(name)} {voice.percent(gap)}"
        for name, gap in (("Mean gap before", one.gap_before), ("Mean gap after", one.gap_after))
    )
    return [
        Paragraph(voice.ended(voice.sentence(said))),
        Grid("measured-runs", one.label, heads, rows),
        Paragraph(gaps),
    ]
