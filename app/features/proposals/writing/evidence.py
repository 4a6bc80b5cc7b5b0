"""Why a proposal can be believed, and where not: warnings, assumptions, sources, method, accuracy."""

from __future__ import annotations

from app.errors import Message
from app.estimating.schema import Quantity
from app.features.proposals.lines import RATE
from app.features.proposals.model import FitFound, GainFound, Proposal, ProposalContent, WeighedOption
from app.features.proposals.writing.blocks import (
    Block,
    Cell,
    Flag,
    Flags,
    Grid,
    Head,
    Paragraph,
    Reference,
    References,
    SectionBlock,
)
from app.platform.wording.scales import decimals_of
from app.platform.wording.voice import MISSING, Voice, written

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
            Head(voice.gettext("Network price"), True, 1.6),
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
        found.append(f"{voice.gettext('Savings')} {voice.quantity(one.money_saved)}")
    if one.switches_saved is not None and one.cables_saved is not None:
        counts = {"switches": one.switches_saved, "cables": one.cables_saved}
        found.append(voice.say(Message("not purchased: switches {switches}, cables {cables}", counts)))
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
    said = voice.say(Message("Parts of {network} not purchased", {"network": one.against or ""}))
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


NEAREST = 3
"""Measured runs that are named per option."""


def risks(content: ProposalContent, voice: Voice) -> SectionBlock:
    """Return every warning."""
    flags = [
        Flag(
            code=one.code,
            severity=one.severity,
            word=voice.label(one.severity),
            text=voice.sentence(one.text),
            options=" · ".join(one.options),
        )
        for one in content.warnings
    ]
    blocks: list[Block] = (
        [Flags(flags)] if flags else [Paragraph(voice.gettext("No check raised a warning."))]
    )
    if content.branding.note is not None:
        blocks.append(Paragraph(voice.sentence(content.branding.note), quiet=True))
    return SectionBlock("risks", voice.gettext("Risks and warnings"), blocks)


def assumptions(content: ProposalContent, voice: Voice) -> SectionBlock:
    """Return everything that was taken for granted."""
    everywhere = len([row for row in content.comparison.rows if row.estimate is not None])
    rows = [
        [
            Cell(voice.label(one.field)),
            Cell(written(one.value, voice)),
            Cell(
                voice.sentence(one.why),
                "" if len(one.options) == everywhere else " · ".join(one.options),
            ),
        ]
        for one in content.assumptions
    ]
    heads = [
        Head(voice.gettext("Assumption"), width=1.4),
        Head(voice.gettext("Value"), width=1.3),
        Head(voice.gettext("Why"), width=3.0),
    ]
    said = voice.gettext(
        "The request does not set these values; defaults apply. Each can be replaced by the customer's own."
    )
    nothing = voice.gettext(
        "The options are published figures; nothing is assumed beyond what their sources state."
    )
    blocks: list[Block] = [Paragraph(said if rows else nothing)]
    if rows:
        blocks.append(Grid("assumptions", voice.gettext("Values applied"), heads, rows))
    return SectionBlock("assumptions", voice.gettext("Assumptions"), blocks)


def sources(content: ProposalContent, voice: Voice) -> SectionBlock:
    """Return where the figures come from."""
    entries = [
        Reference(
            id=one.id,
            kind=voice.label(one.kind),
            title=one.title,
            more=", ".join(
                part for part in (one.publisher, voice.date(one.published) if one.published else "") if part
            ),
            url=one.url,
        )
        for one in content.sources
    ]
    blocks: list[Block] = [
        Paragraph(
            voice.gettext("Published figures come from these sources; fitted figures are fitted to them.")
        )
    ]
    stated = [row for row in content.comparison.rows if row.estimate is None]
    if stated:
        said = Message(
            "stated by the author of the comparison: {rows}",
            {"rows": " · ".join(f"{row.label} ({voice.label(row.kind)})" for row in stated)},
        )
        blocks.append(Paragraph(voice.sentence(said)))
    if entries:
        blocks.append(References(entries))
    return SectionBlock("sources", voice.gettext("Sources"), blocks)


def method(proposal: Proposal, voice: Voice) -> SectionBlock:
    """Return how the figures come about, how far they have been right, and how to check this document."""
    content = proposal.content
    blocks: list[Block] = [
        Paragraph(
            voice.gettext(
                "Each operator of the model is timed on the chip it runs on, as the longest of "
                "arithmetic, memory bandwidth, exchange and launch latency. Communication, "
                "pipeline bubbles, weight updates, checkpoints and failures are added. "
                "Software efficiencies are fitted to published runs; ranges come from the "
                "errors on runs left out of the fit."
            )
        )
    ]
    rows = [
        [
            Cell(row.label),
            Cell(voice.label(row.estimate.validation.status)),
            Cell(voice.percent(row.estimate.validation.family_error)),
            Cell(
                ", ".join(
                    f"{run.model} · {run.system} × {voice.number(run.accelerators)}"
                    for run in row.estimate.validation.nearest_measured[:NEAREST]
                )
                or MISSING
            ),
        ]
        for row in content.comparison.rows
        if row.estimate is not None
    ]
    if rows:
        heads = [
            Head(voice.gettext("Option"), width=1.8),
            Head(voice.gettext("Validation"), width=1.1),
            Head(voice.gettext("Median error of the family"), True, 1.2),
            Head(voice.gettext("Nearest measured runs"), width=3.0),
        ]
        blocks.append(Grid("accuracy", voice.gettext("Accuracy"), heads, rows))
    checked = [
        [Cell(voice.gettext("Formula version")), Cell(content.engine_version)],
        [Cell(voice.gettext("Catalogue version")), Cell(content.catalog_version)],
        [Cell(voice.gettext("Figures as of")), Cell(voice.date(content.made_on.isoformat()))],
        [
            Cell(voice.gettext("SHA-256 of the content")),
            Cell(proposal.sha256 or voice.gettext("not frozen yet")),
        ],
    ]
    heads = [Head(voice.gettext("What"), width=1.2), Head(voice.gettext("Value"), width=3.0)]
    blocks.append(Grid("seal", voice.gettext("How to check this document"), heads, checked))
    blocks.append(
        Paragraph(
            voice.gettext(
                "The attached file proposal.json is the content in canonical form (RFC 8785); "
                "its SHA-256 is the hash above. Recomputing the proposal with a newer "
                "catalogue lists the lines that changed; this document stays as it is."
            ),
            quiet=True,
        )
    )
    return SectionBlock("method", voice.gettext("Method and accuracy"), blocks)
