"""Evidence of a proposal: measured runs, warnings, assumptions, sources and method."""

from __future__ import annotations

from pydantic import JsonValue

from app.errors import Message
from app.estimating.documents import Validation
from app.estimating.ranges import significant
from app.features.proposals.lines import RATE
from app.features.proposals.measurements import FitFound, GainFound, WeighedOption
from app.features.proposals.model import Proposal, ProposalContent
from app.features.proposals.naming import display_value, source_title
from app.features.proposals.writing import blocks as kinds
from app.features.proposals.writing.blocks import Block, Cell, Grid, Head, Paragraph, figure, table
from app.platform.wording.scales import decimals_of
from app.platform.wording.voice import MISSING, Voice, stated

DIGITS = 4
"""Significant digits of a measured rate, enough to read off gains of a per cent."""


def measured_rate(value: float | None, voice: Voice) -> str:
    return MISSING if value is None else f"{measured_run(value, voice)}{voice.unit(RATE)}"


def measured_run(value: float, voice: Voice) -> str:
    """Return a measured throughput without its unit."""
    return voice.decimal(value, decimals_of(value, DIGITS), trim=True)


def measured(content: ProposalContent, voice: Voice) -> list[Block]:
    evidence = content.evidence
    if evidence is None:
        return []
    blocks = [block for index, gain in enumerate(evidence.gains) for block in verdict(gain, index, voice)]
    return blocks + (fit(evidence.fit, voice) if evidence.fit is not None else [])


def verdict(gain: GainFound, index: int, voice: Voice) -> list[Block]:
    """Return one verdict with its runs and the parts it saves."""
    advice, *more = [voice.ended(voice.sentence(text)) for text in (gain.sentence, *gain.more)]
    networks = gain.basis == "networks"
    heads = [
        Head(voice.gettext("Network") if networks else voice.gettext("Alternative"), width=2.0),
        Head(voice.gettext("Measured runs"), True, 1.8),
        Head(voice.gettext("Mean"), True, 1.4),
        Head(voice.gettext("Gain"), True, 0.9),
        Head(voice.gettext("Predicted"), True, 1.5),
        Head(voice.gettext("Network price"), True, 1.6),
    ]
    # Alternatives known only by measured runs have neither a prediction nor a price.
    column_count = len(heads) if networks else 4
    rows = [option_row(option, gain, voice)[:column_count] for option in gain.options]
    best = [position for position, option in enumerate(gain.options) if option.label == gain.taken]
    blocks: list[Block] = [
        Paragraph(advice),
        *(Paragraph(text, quiet=True) for text in more),
        Grid(f"measured-{index}", gain.label, heads[:column_count], rows, best=best),
        Paragraph(" · ".join(verdict_facts(gain, voice))),
    ]
    return [*blocks, left_out(gain, index, voice)] if gain.left_out else blocks


def verdict_facts(gain: GainFound, voice: Voice) -> list[str]:
    facts = [] if gain.gain is None else [f"{voice.gettext('Gain')} {voice.quantity(gain.gain)}"]
    facts.append(f"{voice.gettext('Threshold')} {voice.percent(gain.threshold)}")
    if gain.money_saved is not None:
        facts.append(f"{voice.gettext('Savings')} {voice.quantity(gain.money_saved)}")
    if gain.switches_saved is not None and gain.cables_saved is not None:
        counts = {"switches": gain.switches_saved, "cables": gain.cables_saved}
        facts.append(voice.say(Message("not purchased: switches {switches}, cables {cables}", counts)))
    return facts


def option_row(option: WeighedOption, gain: GainFound, voice: Voice) -> list[Cell]:
    runs = " · ".join(measured_run(run, voice) for run in option.runs)
    spread = "" if option.deviation is None else f"± {voice.value(option.deviation, RATE)}"
    reference = option.label == gain.reference
    gap = "" if option.gap is None else f"{voice.gettext('Gap')} {voice.percent(option.gap)}"
    return [
        Cell(option.label, voice.gettext("reference") if reference else ""),
        Cell(runs or MISSING),
        Cell(measured_rate(option.mean, voice), spread),
        Cell(MISSING if reference else voice.percent(option.gain)),
        figure(option.predicted, voice, more=gap),
        figure(option.price, voice),
    ]


def left_out(gain: GainFound, index: int, voice: Voice) -> Grid:
    unknown = voice.gettext("price unknown")
    return table(
        f"left-out-{index}",
        voice.say(Message("Parts of {network} not purchased", {"network": gain.against or ""})),
        gain.left_out,
        (Head(voice.gettext("Component"), width=3.0), lambda part: voice.gettext(part.name)),
        (Head(voice.gettext("Count"), True), lambda part: voice.number(part.count)),
        (
            Head(voice.gettext("Unit price"), True, 1.4),
            lambda part: figure(part.unit_price, voice, unknown=unknown),
        ),
    )


def fit(fitted: FitFound, voice: Voice) -> list[Block]:
    """Return a fitted profile with its errors run by run, before and after the fit."""
    message = Message(
        "the software profile was fitted to the customer's runs, starting from {profile}",
        {"profile": display_value(fitted.prior_software, voice)},
    )
    measured = Head(voice.gettext("Measured"), True, 1.4)
    grid = table(
        "measured-runs",
        fitted.label,
        fitted.runs,
        (Head(voice.gettext("Measurement"), width=2.2), lambda run: Cell(run.label, run.note or "")),
        (measured, lambda run: Cell(voice.value(run.measured, "s"), measured_rate(run.samples_per_s, voice))),
        (Head(voice.gettext("Predicted before"), True, 1.4), lambda run: figure(run.before, voice)),
        (Head(voice.gettext("Predicted after"), True, 1.4), lambda run: figure(run.after, voice)),
        (Head(voice.gettext("Gap before"), True), lambda run: voice.percent(run.gap_before)),
        (Head(voice.gettext("Gap after"), True), lambda run: voice.percent(run.gap_after)),
    )
    gaps = (
        f"{voice.gettext('Mean gap before')} {voice.percent(fitted.gap_before)}",
        f"{voice.gettext('Mean gap after')} {voice.percent(fitted.gap_after)}",
    )
    return [Paragraph(voice.ended(voice.sentence(message))), grid, Paragraph(" · ".join(gaps))]


NEAREST = 3
"""Measured runs named per option."""


def appearance(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return how the colour that was asked for was changed."""
    note = content.branding.note
    return [] if note is None else [Paragraph(voice.sentence(note), quiet=True)]


def assumptions(content: ProposalContent, voice: Voice) -> list[Block]:
    return [*_values_applied(content, voice), *_basis(content, voice)]


def _basis(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the basis of each estimate, and the range that three measured steps would leave."""
    estimates = [(row.label, row.estimate.validation) for row in content.comparison.rows if row.estimate]
    known = [(label, v.basis_text, v) for label, v in estimates if v.basis_text is not None]
    if not known:
        return []

    def three_steps(validation: Validation) -> str:
        steps = validation.three_steps
        if steps is None:
            return MISSING
        return f"± {voice.percent(steps.now, 2)} → ± {voice.percent(steps.after, 2)}"

    grid = table(
        "basis",
        voice.gettext("What the estimates rest on"),
        known,
        (Head(voice.gettext("Option"), width=1.4), lambda row: row[0]),
        (Head(voice.gettext("Basis"), width=3.0), lambda row: voice.sentence(row[1])),
        (Head(voice.gettext("Range after three measured steps"), True, 1.3), lambda row: three_steps(row[2])),
    )
    estimates_made = [row.estimate for row in content.comparison.rows if row.estimate]
    texts = [made.expectation.text for made in estimates_made if made.expectation and made.expectation.text]
    said = {text.message: text for text in texts}
    return [grid, *(Paragraph(voice.sentence(text)) for text in said.values())]


def _values_applied(content: ProposalContent, voice: Voice) -> list[Block]:
    if not content.assumptions:
        nothing = voice.gettext(
            "The options are published figures; nothing is assumed beyond what their sources state."
        )
        return [Paragraph(nothing)]
    everywhere = sum(row.estimate is not None for row in content.comparison.rows)

    def concerned(options: list[str]) -> str:
        return "" if len(options) == everywhere else " · ".join(options)

    def value(field: str, applied: JsonValue) -> str:
        if isinstance(applied, float):
            return stated(field, significant(applied), voice)
        return display_value(applied, voice)

    # What differs in digits that nobody reads is one value.
    options: dict[tuple[str, str, str], list[str]] = {}
    for default in content.assumptions:
        shown = voice.label(default.field), value(default.field, default.value), voice.sentence(default.why)
        options.setdefault(shown, []).extend(default.options)
    note = voice.gettext(
        "The request does not set these values; defaults apply. Each can be replaced by the customer's own."
    )
    why = Head(voice.gettext("Why"), width=3.0)
    grid = table(
        "assumptions",
        voice.gettext("Values applied"),
        list(options),
        (Head(voice.gettext("Assumption"), width=1.4), lambda shown: shown[0]),
        (Head(voice.gettext("Value"), width=1.3), lambda shown: shown[1]),
        (why, lambda shown: Cell(shown[2], concerned(options[shown]))),
    )
    return [Paragraph(note), grid]


def sources(content: ProposalContent, voice: Voice) -> list[Block]:
    note = voice.gettext("Published figures come from these sources; fitted figures are fitted to them.")
    blocks: list[Block] = [Paragraph(note)]
    stated = [
        f"{row.label} ({voice.label(row.kind)})" for row in content.comparison.rows if row.estimate is None
    ]
    if stated:
        by_author = Message("stated by the author of the comparison: {rows}", {"rows": " · ".join(stated)})
        blocks.append(Paragraph(voice.sentence(by_author)))
    entries = []
    for source in content.sources:
        published = voice.date(source.published) if source.published else ""
        more = ", ".join(part for part in (source.publisher, published) if part)
        kind, title = voice.label(source.kind), source_title(source, voice)
        entries.append(kinds.Reference(source.id, kind, title, more, source.url))
    if entries:
        blocks.append(kinds.References(entries))
    return blocks if entries or stated else []


def method(proposal: Proposal, voice: Voice) -> list[Block]:
    """Return how the figures are computed, how accurate they have been, and how to check the document."""
    content = proposal.content
    how = voice.gettext(
        "Each operator of the model is timed on the chip it runs on, as the longest of arithmetic, memory "
        "bandwidth, exchange and launch latency. Communication, pipeline bubbles, weight updates, "
        "checkpoints and failures are added. Software efficiencies are fitted to published runs; "
        "ranges come from the errors on runs left out of the fit."
    )
    estimates = [(row.label, row.estimate.validation) for row in content.comparison.rows if row.estimate]
    accuracy = table(
        "accuracy",
        voice.gettext("Accuracy"),
        estimates,
        (Head(voice.gettext("Option"), width=1.8), lambda row: row[0]),
        (Head(voice.gettext("Validation"), width=1.1), lambda row: voice.label(row[1].status)),
        (
            Head(voice.gettext("Median error of the family"), True, 1.2),
            lambda row: voice.percent(row[1].family_error),
        ),
        (
            Head(voice.gettext("Nearest measured runs"), width=3.0),
            lambda row: nearest(row[1], content, voice) or MISSING,
        ),
    )
    checked = [
        (voice.gettext("Formula version"), content.engine_version),
        (voice.gettext("Catalogue version"), content.catalog_version),
        (voice.gettext("Figures as of"), voice.date(content.made_on.isoformat())),
        (voice.gettext("SHA-256 of the content"), proposal.sha256 or voice.gettext("not frozen yet")),
    ]
    seal = table(
        "seal",
        voice.gettext("How to check this document"),
        checked,
        (Head(voice.gettext("What"), width=1.2), lambda row: row[0]),
        (Head(voice.gettext("Value"), width=3.0), lambda row: row[1]),
    )
    attached = voice.gettext(
        "The attached file proposal.json is the content in canonical form (RFC 8785); its SHA-256 is the "
        "hash above. Recomputing the proposal with a newer catalogue lists the lines that changed; "
        "this document stays as it is."
    )
    grids = [accuracy, seal] if estimates else [seal]
    return [Paragraph(how), *grids, Paragraph(attached, quiet=True)]


def nearest(validation: Validation, content: ProposalContent, voice: Voice) -> str:
    return ", ".join(
        f"{run.model} · {content.names.get(run.system, run.system)} × {voice.number(run.accelerators)}"
        for run in validation.nearest_measured[:NEAREST]
    )
