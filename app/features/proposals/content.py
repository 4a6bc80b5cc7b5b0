"""The content of a proposal, from the options of a comparison: bills, term, warnings, sources."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from app import __version__
from app.catalog.books import RENTALS
from app.catalog.catalog import Catalog
from app.catalog.entries import Acquisition, ChipKind, SystemEntry
from app.engine.units import HOUR
from app.errors import AppError, Message, NotFound
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.money import CostFigure
from app.estimating.ranges import scaled
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.schema import Quantity, SourceRef
from app.estimating.trace import source_ref
from app.features.bills.bill import make_bill
from app.features.bills.model import Bill, BillInputs, BillRequest
from app.features.bills.service import StatedPrices, at_prices_of, stated_inputs
from app.features.comparisons.compare import (
    ComparisonEntry,
    compare,
    comparison_warnings,
    not_sold_new,
    row_labels,
)
from app.features.comparisons.model import Comparison, ComparisonRow, PublishedFigure
from app.features.comparisons.one_basis import BasisAsked, on_one_basis
from app.features.proposals.advice import CustomerLimits, advise
from app.features.proposals.branding import branding_of
from app.features.proposals.evidence import (
    Named,
    evidence_of,
    evidence_warnings,
    networks_instead,
    with_evidence,
)
from app.features.proposals.model import (
    COMMITTED,
    Assumption,
    Commitment,
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
from app.features.proposals.naming import in_words, names_of
from app.features.proposals.texts import reason_in, sections_of

EDITION = 1

NOTHING_NAMED = Named()

SEVERITIES = ("serious", "caution", "info")

Concerned = tuple[str | None, CheckWarning]
"""Label of the option that a warning concerns, None for all, and the warning."""


def build_content(
    asked: ProposalRequest,
    options: Sequence[ComparisonEntry],
    context: SizingContext,
    *,
    title: str,
    today: datetime.date,
    logo: Logo | None,
    customer_logo: Logo | None = None,
    number: str | None = None,
    named: Named = NOTHING_NAMED,
) -> ProposalContent:
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
    requests = {label: one.request for label, one in zip(labels, options, strict=True)}
    stated = StatedPrices(asked.study_id or asked.comparison_id or "", title, 1, today.isoformat(), ())
    bills, asked_of_bills = option_bills(rows, requests, context, asked, stated)
    evidence = evidence_of(named, context)
    limits = CustomerLimits(asked.deadline_s, asked.budget, asked.budget_kind or "run")
    by_figures = advise(comparison, limits, asked.recommended, networks_instead(named, rows))
    taken = next((row for row in rows if row.label == by_figures.recommended), None)
    advice = with_evidence(by_figures, evidence, taken)
    warnings: list[Concerned] = [(None, warning) for warning in comparison.warnings]
    warnings += [(row.label, warning) for row in rows if row.estimate for warning in row.estimate.warnings]
    warnings += [(None, warning) for warning in not_sold_new(rows, catalog)]
    warnings += [*asked_of_bills, *evidence_warnings(named, evidence, taken)]
    estimates = [row.estimate for row in rows if row.estimate is not None]
    sections = sections_of(asked.sections, asked.locale, asked.reason)
    offered = [advice.recommended] if advice.recommended else advice.tied
    return ProposalContent(
        edition=EDITION,
        title=comparison.title,
        customer=asked.customer,
        locale=asked.locale,
        currency=asked.currency,
        reason=reason_in(sections),
        valid_until=asked.valid_until,
        price_book_id=asked.price_book_id,
        confidential=asked.confidential,
        branding=branding_of(asked.branding, logo, customer_logo),
        made_on=today,
        engine_version=estimates[0].engine_version if estimates else __version__,
        catalog_version=estimates[0].catalog_version if estimates else catalog.version,
        requests=needed_requests(options, labels, shown),
        comparison=comparison,
        advice=advice,
        evidence=evidence,
        bills=bills,
        term=term_of(comparison),
        warnings=said_warnings(warnings),
        assumptions=assumptions_of(rows),
        sources=sources_of(estimates, bills, evidence),
        number=number,
        sender=asked.sender,
        sections=sections,
        acceptance=[one for row in rows if row.label in offered for one in commitments(row)],
        names=names_of(rows, catalog),
    )


COMMITTED_FIGURES: Mapping[str, Literal["at_most", "at_least"]] = {
    "time_to_train": "at_most",
    "throughput": "at_least",
    "step_time": "at_most",
    "system.power": "at_most",
}
"""Figure of an estimate that an acceptance test can measure → the side on which it is kept."""


def commitments(row: ComparisonRow) -> list[Commitment]:
    """Return the figures of an option that can be committed to: those with a range.

    Ranges are from the 10th to the 90th percentile, so that the worse end is kept with 90 %.
    """
    if row.estimate is None or row.hours is None:
        return []
    found: list[Commitment] = []
    for figure, bound in COMMITTED_FIGURES.items():
        expected = functools.reduce(getattr, figure.split("."), row.estimate)
        if isinstance(expected, Quantity) and expected.low < expected.high:
            kept = expected.high if bound == "at_most" else expected.low
            stated = {"option": row.label, "figure": figure, "bound": bound, "expected": expected}
            basis = {"committed": kept, "level": COMMITTED, "basis": "range"}
            found.append(Commitment.model_validate({**stated, **basis}))
    return found


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
    rows = [silent_row(row) for row in whole.rows if row.label in shown]
    ratios = [one for one in whole.ratios if {one.slower, one.faster} <= set(shown)]
    costs = [one for one in whole.cost_ratios if {one.dearer, one.cheaper} <= set(shown)]
    times = [(one.faster, one.slower, one.tie) for one in ratios]
    fastest = leading([row.label for row in rows if row.hours is not None], times)
    cheaper = [(one.cheaper, one.dearer, one.tie) for one in costs]
    cheapest = leading([row.label for row in rows if row.costs], cheaper)
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


def silent_row(row: ComparisonRow) -> ComparisonRow:
    """Return a row without samples, and without what a price book notes: contracts and discounts."""
    if row.estimate is None:
        return row
    cost = row.estimate.cost
    if cost is not None:
        lines = [line.model_copy(update={"figures": silent(line.figures)}) for line in cost.lines]
        cost = cost.model_copy(update={"lines": lines, "figures": silent(cost.figures)})
    estimate = row.estimate.model_copy(update={"time_samples": None, "cost": cost})
    return row.model_copy(update={"estimate": estimate})


def silent(figures: Sequence[CostFigure]) -> list[CostFigure]:
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
        while isinstance(request, PublishedFigure) and request.scaled_from in asked.keys() - needed:
            needed.add(request.scaled_from)
            request = asked[request.scaled_from]
    return [
        {**request.model_dump(mode="json", exclude_unset=True), "label": label}
        for label, request in asked.items()
        if label in needed
    ]


def term_of(comparison: Comparison) -> Term | None:
    """Return the costs of all estimates over the term of their one basis; None where none has a cost.

    An option stands as it is asked for; what else it could be rented for follows it.
    """
    basis, options = comparison.one_basis, []
    for label, cost in ((row.label, cost) for row in comparison.rows for cost in row.costs):
        lines = [TermLine(item=line.item, amount=line.over_term or 0.0) for line in cost.lines]
        options.append(OptionTerm.model_validate({**dict(cost), "label": label, "lines": lines}))
    if basis is None or not options:
        return None
    return Term(years=basis.term_years, useful_hours_per_year=basis.useful_hours_per_year, options=options)


RENTED = "instances"
"""Group of what is rented by the hour."""


def option_bills(
    rows: Sequence[ComparisonRow],
    requests: Mapping[str, EstimateRequest | PublishedFigure],
    context: SizingContext,
    asked_of: ProposalRequest,
    stated: StatedPrices,
) -> tuple[list[OptionBill], list[Concerned]]:
    """Return the parts of every option that runs and names its system, and what to ask about them."""
    currency = asked_of.currency
    bills: list[OptionBill] = []
    asked: list[Concerned] = []
    for row in rows:
        count = counted(row)
        if row.system is None or count is None or row.hours is None:
            continue
        request, priced = requests[row.label], context
        entry = context.catalog.system(row.system)
        if entry.acquisition is Acquisition.RENT:
            asked_for = request.assumptions if isinstance(request, EstimateRequest) else AssumptionsInput()
            bills.append(rented(row.label, entry, count, asked_for, context, currency))
            continue
        try:
            if isinstance(request, EstimateRequest):
                priced = at_prices_of(context, request, stated, row.label)
            bill = make_bill(bill_request(row, entry, count, currency, asked_of.bill), priced)
        except AppError as error:
            bills.append(option_bill(row.label, note=Text.of(error.message)))
            continue
        bills.append(bought(row.label, bill))
        asked += [(row.label, warning) for warning in bill.warnings]
    return bills, asked


def counted(row: ComparisonRow) -> int | None:
    """Return how many systems an option is: as estimated, or as its factor says where that is whole."""
    if row.estimate is not None:
        return row.estimate.system.count
    if row.scaled_from is None:
        return 1
    return round(row.factor) if row.factor is not None and float(row.factor).is_integer() else None


def bill_request(
    row: ComparisonRow, entry: SystemEntry, count: int, currency: str, inputs: BillInputs | None
) -> BillRequest:
    """Return what a bill is asked for, as the Bill view of the study asks; pods bring their own network."""
    found: dict[str, Any] = {"system": entry.id, "count": count, "currency": currency}
    if row.estimate is not None and entry.chip_kind is not ChipKind.IPU:
        summary = row.estimate.system
        found |= {"fabric": summary.fabric, "ports_per_node": summary.ports_per_node}
    if row.estimate is not None and row.estimate.cost is not None:
        # What the cost counts is what the bill lists.
        basis = row.estimate.cost.basis
        found |= {name: basis[name] for name in ("region", "storage_tb") if basis.get(name) is not None}
    return BillRequest.model_validate(found | (stated_inputs(inputs, entry.chip_kind) if inputs else {}))


def option_bill(label: str, **known: Any) -> OptionBill:
    """Return the bill of an option; what is not known of it is null."""
    nothing = dict.fromkeys(OptionBill.model_fields) | {"lines": [], "groups": [], "complete": False}
    return OptionBill.model_validate({**nothing, **known, "label": label})


def bought(label: str, bill: Bill) -> OptionBill:
    return option_bill(
        label,
        **dict(bill.totals),
        lines=[{**dict(line), "sources": [line.source] if line.source else []} for line in bill.lines],
        groups=[{**dict(group), "total": group.price} for group in bill.groups],
        total=bill.totals.price,
        equipment=bill.equipment,
        tax_note=bill.tax_note,
    )


def rented(
    label: str,
    entry: SystemEntry,
    count: int,
    asked: AssumptionsInput,
    context: SizingContext,
    currency: str,
) -> OptionBill:
    """Return what a rented option pays for an hour, in the way in which it is paid."""
    figure = context.catalog.find(entry.id, "price_hour", RENTALS[asked.rental or "on-demand"])
    won = context.catalog.cost_defaults(entry.chip_kind).won_per_dollar
    rates = (won.si, won.si_low, won.si_high) if currency == "KRW" else (1.0, 1.0, 1.0)
    price, total = None, None
    if asked.hourly_price is not None:
        figure, price = None, Quantity.exact(asked.hourly_price, currency)
        total = scaled(price, count)
    elif figure is not None:
        hourly = zip((figure.si, figure.si_low, figure.si_high), rates, strict=True)
        value, low, high = (HOUR * end * rate for end, rate in hourly)
        price = Quantity(value=value, low=low, high=high, unit=currency)
        total = scaled(price, count)
    line = {
        "item": entry.id,
        "name": entry.name,
        "group": RENTED,
        "use": RENTED,
        "quantity": count,
        "rule": Text.of(Message("{count} rented, at the hourly price each", {"count": count})),
        "unit_price": price,
        "total": total,
        "sources": [] if figure is None else [source_ref(figure.source)],
    }
    return option_bill(label, lines=[line], complete=price is not None)


def said_warnings(concerned: Iterable[Concerned]) -> list[SaidWarning]:
    """Return every warning once with the options it concerns, the gravest first."""
    found: dict[tuple[str, str], SaidWarning] = {}
    for label, warning in concerned:
        text = in_words(warning.text)
        said = SaidWarning(code=warning.code, severity=warning.severity, text=text, options=[])
        options = found.setdefault((warning.code, warning.message), said).options
        options += [] if label is None else [label]
    return sorted(found.values(), key=lambda said: SEVERITIES.index(said.severity))


def assumptions_of(rows: Sequence[ComparisonRow]) -> list[Assumption]:
    """Return everything that was taken for granted, once with the options it concerns."""
    found: dict[str, Assumption] = {}
    for row in rows:
        for default in row.estimate.defaults if row.estimate is not None else ():
            key = json.dumps([default.field, default.value, default.why])
            why = in_words(default.text)
            taken = Assumption(field=default.field, value=default.value, why=why, options=[])
            found.setdefault(key, taken).options.append(row.label)
    return sorted(found.values(), key=lambda taken: taken.field)


def sources_of(
    estimates: Iterable[Estimate], bills: Iterable[OptionBill], evidence: Evidence | None
) -> list[SourceRef]:
    found: list[SourceRef | None] = []
    for estimate in estimates:
        found += [source for step in estimate.trace for source in step.source]
        if (cost := estimate.cost) is not None:
            figures = [*cost.figures, *(figure for line in cost.lines for figure in line.figures)]
            found += [figure.source for figure in figures]
            found += [cost.carbon.intensity.source] if cost.carbon is not None else []
    found += [source for bill in bills for line in bill.lines for source in line.sources]
    if evidence is not None:
        found += [part.source for gain in evidence.gains for part in gain.left_out]
    by_id = {source.id: source for source in found if source is not None}
    return [by_id[name] for name in sorted(by_id)]
