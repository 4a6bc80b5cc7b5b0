"""The content of a proposal, put together from the options of a comparison."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Sequence

from app import __version__
from app.catalog.catalog import Catalog
from app.errors import Message, NotFound
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.money import Cost, CostFigure
from app.estimating.schema import SourceRef
from app.features.comparisons.compare import ComparisonEntry, compare, comparison_warnings, row_labels
from app.features.comparisons.model import BasisCost, Comparison, ComparisonRow, PublishedFigure
from app.features.comparisons.one_basis import BasisAsked, on_one_basis
from app.features.proposals.advice import CustomerLimits, advise
from app.features.proposals.bill import option_bills
from app.features.proposals.evidence import (
    Named,
    evidence_of,
    evidence_sources,
    evidence_warnings,
    networks_instead,
    with_evidence,
)
from app.features.proposals.model import (
    Assumption,
    Branding,
    Evidence,
    Logo,
    OptionBill,
    OptionTerm,
    ProposalContent,
    ProposalRequest,
    SaidWarning,
    Term,
    TermLine,
)

ACCENT = "#2447d6"
"""Colour of the pages, taken where nobody asks for another."""

READABLE = 4.5
"""Contrast of text with its ground (WCAG 2.2, success criterion 1.4.3)."""

STEP = 0.96
"""Factor by which a colour that is too light is darkened at a time."""


def linear(channel: int) -> float:
    """Return one channel of an sRGB colour as light (WCAG 2.2, relative luminance)."""
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def contrast_with_white(colour: str) -> float:
    """Return the contrast of a colour with white, 1 to 21 (WCAG 2.2, contrast ratio).

    >>> contrast_with_white("#000000"), contrast_with_white("#ffffff")
    (21.0, 1.0)
    """
    red, green, blue = (linear(int(colour[place : place + 2], 16)) for place in (1, 3, 5))
    return round(1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05), 9)


def readable(colour: str) -> str:
    """Return a colour, darkened in its own hue until text in it can be read on white.

    >>> readable("#0b5fff"), readable("#ffe600")
    ('#0b5fff', '#847700')
    """
    channels = [float(int(colour[place : place + 2], 16)) for place in (1, 3, 5)]
    written = colour.lower()
    while contrast_with_white(written) < READABLE:
        channels = [channel * STEP for channel in channels]
        written = "#" + "".join(f"{int(channel):02x}" for channel in channels)
    return written


def accent_of(asked: str | None) -> tuple[str, Text | None]:
    """Return the accent that is used, and a note where it is not the one asked for."""
    if asked is None:
        return ACCENT, None
    used = readable(asked)
    if used == asked.lower():
        return used, None
    note = Message(
        "The accent colour {asked} is too light to read on white; it is darkened to {used}",
        {"asked": asked.lower(), "used": used},
    )
    return used, Text.of(note)


def term_of(comparison: Comparison) -> Term | None:
    """Return the costs of all estimates over the term of their one basis; None where none has a cost.

    An option stands as it is asked for; what else it could be rented for follows it.
    """
    basis = comparison.one_basis
    options = [option_term(row, cost) for row in comparison.rows for cost in row.costs]
    if basis is None or not options:
        return None
    return Term(years=basis.term_years, useful_hours_per_year=basis.useful_hours_per_year, options=options)


def option_term(row: ComparisonRow, cost: BasisCost) -> OptionTerm:
    """Return what one option costs over the term, had in one way."""
    return OptionTerm(
        label=row.label,
        acquisition=cost.acquisition,
        rental=cost.rental,
        own=cost.own,
        hourly=cost.hourly,
        yearly=cost.yearly,
        over_term=cost.over_term,
        runs=cost.runs,
        lines=[TermLine(item=line.item, amount=line.over_term or 0.0) for line in cost.lines],
    )


EDITION = 1

NOTHING_NAMED = Named()

SEVERITIES = ("serious", "caution", "info")


def build_content(
    asked: ProposalRequest,
    options: Sequence[ComparisonEntry],
    context: SizingContext,
    *,
    title: str,
    today: datetime.date,
    logo: Logo | None,
    named: Named = NOTHING_NAMED,
) -> ProposalContent:
    """Return what a proposal says."""
    catalog = context.catalog
    labels = row_labels(options)
    whole = compare(
        options,
        catalog=catalog,
        scaling_efficiency=asked.scaling_efficiency,
        title=asked.title or title,
        locale=asked.locale,
        currency=asked.currency,
    )
    shown = chosen_labels(asked.options, labels)
    basis = BasisAsked(term_years=asked.term_years)
    comparison = narrowed(on_one_basis(whole, options, context, basis), shown, catalog)
    rows = comparison.rows
    estimates = [row.estimate for row in rows if row.estimate is not None]
    bills, asked_of_bills = option_bills(rows, context, asked.currency)
    accent, note = accent_of(asked.branding.accent)
    evidence = evidence_of(named, context)
    advice = with_evidence(
        advise(
            comparison,
            CustomerLimits(asked.deadline_s, asked.budget),
            asked.recommended,
            networks_instead(named, rows),
        ),
        evidence,
    )
    taken = next((row for row in rows if row.label == advice.recommended), None)
    asked_of_runs = evidence_warnings(named, evidence, taken)
    first = estimates[0] if estimates else None
    return ProposalContent(
        edition=EDITION,
        title=comparison.title,
        customer=asked.customer,
        locale=asked.locale,
        currency=asked.currency,
        reason=asked.reason or None,
        valid_until=asked.valid_until,
        price_book_id=asked.price_book_id,
        confidential=asked.confidential,
        branding=Branding(accent=accent, footer=asked.branding.footer or None, logo=logo, note=note),
        made_on=today,
        engine_version=first.engine_version if first else __version__,
        catalog_version=first.catalog_version if first else catalog.version,
        requests=needed_requests(options, labels, shown),
        comparison=comparison,
        advice=advice,
        evidence=evidence,
        bills=bills,
        term=term_of(comparison),
        warnings=said_warnings(comparison, [*asked_of_bills, *asked_of_runs]),
        assumptions=assumptions_of(rows),
        sources=sources_of(estimates, bills, evidence),
    )


def chosen_labels(wanted: Sequence[str] | None, labels: Sequence[str]) -> list[str]:
    """Return the labels to show in the order of the comparison."""
    if wanted is None:
        return list(labels)
    for position, label in enumerate(wanted):
        if label not in labels:
            raise NotFound.named("row", label, labels, f"options.{position}")
    return [label for label in labels if label in wanted]


def narrowed(whole: Comparison, shown: Sequence[str], catalog: Catalog) -> Comparison:
    """Return a comparison with the rows that are shown alone, without samples and notes of prices."""
    rows = [
        row
        if row.estimate is None
        else row.model_copy(
            update={
                "estimate": row.estimate.model_copy(
                    update={"time_samples": None, "cost": without_notes(row.estimate.cost)}
                )
            }
        )
        for row in whole.rows
        if row.label in shown
    ]
    ratios = [one for one in whole.ratios if one.slower in shown and one.faster in shown]
    costs = [one for one in whole.cost_ratios if one.dearer in shown and one.cheaper in shown]
    fastest = leading(
        [row.label for row in rows if row.hours is not None],
        [(one.faster, one.slower, one.tie) for one in ratios],
    )
    cheapest = leading(
        [row.label for row in rows if row.costs], [(one.cheaper, one.dearer, one.tie) for one in costs]
    )
    return whole.model_copy(
        update={
            "rows": rows,
            "ratios": ratios,
            "fastest": fastest[0] if len(fastest) == 1 else None,
            "fastest_tied": fastest if len(fastest) > 1 else [],
            "cost_ratios": costs,
            "cheapest": cheapest[0] if len(cheapest) == 1 else None,
            "cheapest_tied": cheapest if len(cheapest) > 1 else [],
            "warnings": comparison_warnings(rows, catalog),
        }
    )


def leading(labels: Sequence[str], ratios: Sequence[tuple[str, str, bool]]) -> list[str]:
    """Return the option that leads all others and those that tie with it, from less, more and tie."""
    beaten = {more for _, more, _ in ratios}
    best = next((label for label in labels if label not in beaten), None)
    return [] if best is None else [best, *(more for less, more, tie in ratios if less == best and tie)]


def without_notes(cost: Cost | None) -> Cost | None:
    """Return a cost without what a price book notes of its prices: contracts and discounts."""
    if cost is None:
        return None
    lines = [line.model_copy(update={"figures": silent(line.figures)}) for line in cost.lines]
    return cost.model_copy(update={"lines": lines, "figures": silent(cost.figures)})


def silent(figures: Sequence[CostFigure]) -> list[CostFigure]:
    """Return figures, those of a price book without their notes."""
    return [one.model_copy(update={"note": ""}) if one.status == "book" else one for one in figures]


def needed_requests(
    options: Sequence[ComparisonEntry], labels: Sequence[str], shown: Sequence[str]
) -> list[dict[str, object]]:
    """Return what was asked of the rows that are shown and of those they are scaled from."""
    asked = {label: option.request for label, option in zip(labels, options, strict=True)}
    needed = set(shown)
    for label in shown:
        request = asked[label]
        # Rows with hours of their own may name each other; what is needed already brings its own with it.
        while (
            isinstance(request, PublishedFigure)
            and request.scaled_from in asked
            and request.scaled_from not in needed
        ):
            needed.add(request.scaled_from)
            request = asked[request.scaled_from]
    return [
        {**request.model_dump(mode="json", exclude_unset=True), "label": label}
        for label, request in asked.items()
        if label in needed
    ]


def said_warnings(comparison: Comparison, more: Sequence[tuple[str, CheckWarning]]) -> list[SaidWarning]:
    """Return every warning once with the options it concerns, the gravest first."""
    found: dict[tuple[str, str], tuple[CheckWarning, list[str]]] = {}
    said: list[tuple[str | None, CheckWarning]] = [(None, one) for one in comparison.warnings]
    said += [(row.label, one) for row in comparison.rows if row.estimate for one in row.estimate.warnings]
    said += more
    for label, warning in said:
        _, labels = found.setdefault((warning.code, warning.message), (warning, []))
        if label is not None:
            labels.append(label)
    warnings = [
        SaidWarning(code=one.code, severity=one.severity, text=one.text, options=labels)
        for one, labels in found.values()
    ]
    return sorted(warnings, key=lambda one: SEVERITIES.index(one.severity))


def assumptions_of(rows: Sequence[ComparisonRow]) -> list[Assumption]:
    """Return everything that was taken for granted, once with the options it concerns."""
    found: dict[str, Assumption] = {}
    for row in rows:
        for default in row.estimate.defaults if row.estimate is not None else ():
            key = json.dumps([default.field, default.value, default.why])
            one = found.setdefault(
                key, Assumption(field=default.field, value=default.value, why=default.text, options=[])
            )
            one.options.append(row.label)
    return sorted(found.values(), key=lambda one: one.field)


def figures_of(estimate: Estimate) -> list[CostFigure]:
    """Return the figures that a cost rests on."""
    cost = estimate.cost
    if cost is None:
        return []
    carbon = [cost.carbon.intensity] if cost.carbon is not None else []
    return [*cost.figures, *(figure for line in cost.lines for figure in line.figures), *carbon]


def sources_of(
    estimates: Iterable[Estimate], bills: Iterable[OptionBill], evidence: Evidence | None = None
) -> list[SourceRef]:
    """Return every source, by identifier."""
    found: dict[str, SourceRef] = {}
    for estimate in estimates:
        for step in estimate.trace:
            found |= {source.id: source for source in step.source}
        for figure in figures_of(estimate):
            if figure.source is not None:
                found[figure.source.id] = figure.source
    for bill in bills:
        for line in bill.lines:
            found |= {source.id: source for source in line.sources}
    found |= {source.id: source for source in evidence_sources(evidence)}
    return [found[name] for name in sorted(found)]
