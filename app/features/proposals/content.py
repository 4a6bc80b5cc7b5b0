"""The content of a proposal, from the options of a comparison: bills, term, warnings, sources."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from app.catalog.books import RENTALS
from app.catalog.entries import Acquisition, ChipKind, SystemEntry
from app.engine.units import HOUR
from app.errors import AppError, BadInput, Message, NotFound
from app.estimating.context import SizingContext
from app.estimating.documents import SEVERITIES, CheckWarning, Estimate, Text
from app.estimating.money import ExchangeRate, rounded
from app.estimating.prices import rent_of
from app.estimating.ranges import scaled
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.schema import Quantity, SourceRef
from app.estimating.trace import source_ref
from app.estimating.version import engine_version
from app.features.bills.bill import make_bill
from app.features.bills.model import Bill, BillInputs, BillRequest
from app.features.bills.service import StatedPrices, at_prices_of, stated_inputs
from app.features.comparisons.compare import comparison_of, question_of, row_labels, side_by_side
from app.features.comparisons.model import Comparison, ComparisonRow
from app.features.proposals.account import CUSTOMER_REGIONS, ProposalAccount, account_of
from app.features.proposals.advice import advise
from app.features.proposals.branding import branding_of
from app.features.proposals.conditions import SiteLayout
from app.features.proposals.evidence import (
    NamedAnswers,
    evidence_of,
    evidence_warnings,
    with_evidence,
)
from app.features.proposals.measurements import Evidence
from app.features.proposals.model import (
    COMMITTED,
    EDITION,
    Assumption,
    Commitment,
    ConvertedBudget,
    Logo,
    OptionBill,
    OptionTerm,
    ProposalContent,
    ProposalRequest,
    ProposalWarning,
    Term,
    TermLine,
)
from app.features.proposals.naming import in_words, names_of
from app.features.proposals.outlays import outlay_formulas
from app.features.proposals.public import public
from app.features.proposals.texts import sections_of, supply_of, with_sections
from app.features.studies.common_basis import BasisRequest
from app.features.studies.options import PublishedFigure
from app.features.studies.side_by_side import OptionEntry

NO_ANSWERS = NamedAnswers()

OptionWarning = tuple[str | None, CheckWarning]
"""Label of the option that a warning concerns (None for all), and the warning."""


def build_content(
    request: ProposalRequest,
    options: Sequence[OptionEntry],
    context: SizingContext,
    *,
    title: str,
    today: datetime.date,
    logo: Logo | None,
    customer_logo: Logo | None = None,
    number: str | None = None,
    answers: NamedAnswers = NO_ANSWERS,
    converted: ConvertedBudget | None = None,
) -> ProposalContent:
    catalog = context.catalog
    labels = row_labels(options)
    selected = chosen_labels(request.options, labels)
    side = side_by_side(
        options,
        context,
        request.currency,
        request.scaling_efficiency,
        BasisRequest(term_years=request.term_years),
        selected,
    )
    question = question_of(side, request, "{}")
    comparison = comparison_of(side, None, title=request.title or title, locale=request.locale)
    decision = side.decision(question)
    comparison = public(comparison.model_copy(update={"rows": list(map(public_row, comparison.rows))}))
    rows = comparison.rows
    requests = {label: option.request for label, option in zip(labels, options, strict=True)}
    stated = StatedPrices(request.study_id or request.comparison_id or "", title, 1, today.isoformat(), ())
    bills, bill_warnings, layouts = option_bills(rows, requests, context, request, stated)
    bills, evidence = public(bills), public(evidence_of(answers, context))
    owned = {each.id: each.owned for each in side.candidates}
    powers = {each.id: each.power[0] for each in side.candidates if each.power is not None}
    by_figures = advise(decision, rows, powers, request.recommended)
    recommended = next((row for row in rows if row.label == by_figures.recommended), None)
    advice = with_evidence(by_figures, evidence, recommended)
    totals = {bill.label: (bill.total.value, bill.complete) for bill in bills if bill.total and bill.groups}
    conditions = request.conditions
    account = account_of(
        side, decision, advice.recommended, totals, conditions.vat_rate if conditions else None, today
    )
    kind = request.kind or "estimate"
    if kind == "offer":
        check_offer(request, account)
    warnings: list[OptionWarning] = [(None, warning) for warning in comparison.warnings]
    warnings += [(row.label, warning) for row in rows if row.estimate for warning in row.estimate.warnings]
    warnings += [(None, warning) for warning in side.not_sold_new]
    warnings += [*bill_warnings, *evidence_warnings(answers, evidence, recommended)]
    estimates = [row.estimate for row in rows if row.estimate is not None]
    content = ProposalContent(
        edition=EDITION,
        title=comparison.title,
        customer=request.customer,
        locale=request.locale,
        currency=request.currency,
        reason=None,
        valid_until=request.valid_until,
        price_book_id=request.price_book_id,
        confidential=request.confidential,
        branding=branding_of(request.branding, logo, customer_logo),
        made_on=today,
        engine_version=estimates[0].engine_version if estimates else engine_version(catalog.version),
        catalog_version=estimates[0].catalog_version if estimates else catalog.version,
        requests=needed_requests(options, labels, selected),
        comparison=comparison,
        decision=decision,
        advice=advice,
        evidence=evidence,
        bills=bills,
        term=term_of(comparison),
        warnings=said_warnings(warnings),
        assumptions=assumptions_of(rows),
        sources=sources_of(estimates, bills, evidence),
        number=number,
        sender=request.sender,
        acceptance=[
            figure
            for row in rows
            if row.label == advice.recommended
            for figure in commitments(row, owned[row.label], request.deadline_s)
        ],
        converted=converted,
        by_demand=side.by_demand(question),
        kind=kind,
        conditions=conditions,
        account=public(account),
        layout=layouts.get(advice.recommended or ""),
        outlays=outlay_formulas(side, decision),
        names=names_of(rows, catalog),
    )
    sections = sections_of(request.sections, request.locale, request.reason, supply_of(content))
    return with_sections(content, sections)


def check_offer(request: ProposalRequest, account: ProposalAccount | None) -> None:
    """Refuse an offer that nobody could sign: without its last day, its sender or a whole price."""
    if request.valid_until is None:
        raise BadInput.at("valid_until", "an offer needs its last day of validity")
    if request.sender is None or not request.sender.organization:
        raise BadInput.at("sender.organization", "an offer needs the organization that makes it")
    if account is None or account.price is None or not account.price.complete:
        raise BadInput.at(
            "kind", "an offer needs an option with a whole price; make an estimate, or state the prices"
        )


COMMITTED_FIGURES: Mapping[str, Literal["at_most", "at_least"]] = {
    "time_to_train": "at_most",
    "throughput": "at_least",
    "step_time": "at_most",
    "system.power": "at_most",
}
"""Figure of an estimate that an acceptance test can measure → the bound it is committed to."""


def commitments(row: ComparisonRow, owned: bool, deadline: float | None) -> list[Commitment]:
    """Return the figures of an option that can be committed to: those with a range.

    The committed value is the worse end of the range from the 10th to the 90th percentile, kept with 90 %.
    The power of a rented system is not in the supplier's hands. Where that end of the time is beyond the
    deadline, neither it nor the pace that leads to it is offered.
    """
    if row.estimate is None or row.estimate.time_to_train is None:
        return []
    late = deadline is not None and row.estimate.time_to_train.high > deadline
    figures: list[Commitment] = []
    for figure, bound in COMMITTED_FIGURES.items():
        if (late and figure != "system.power") or (not owned and figure == "system.power"):
            continue
        expected = functools.reduce(getattr, figure.split("."), row.estimate)
        if isinstance(expected, Quantity) and expected.low < expected.high:
            committed = expected.high if bound == "at_most" else expected.low
            stated = {"option": row.label, "figure": figure, "bound": bound, "expected": expected}
            basis = {"committed": committed, "level": COMMITTED, "basis": "range"}
            figures.append(Commitment.model_validate(stated | basis))
    return figures


def chosen_labels(wanted: Sequence[str] | None, labels: Sequence[str]) -> list[str]:
    """Return the labels to show in the order of the comparison."""
    if wanted is None:
        return list(labels)
    for position, label in enumerate(wanted):
        if label not in labels:
            raise NotFound.named("row", label, labels, f"options.{position}")
    return [label for label in labels if label in wanted]


def public_row(row: ComparisonRow) -> ComparisonRow:
    """Return a row without samples."""
    if row.estimate is None:
        return row
    return row.model_copy(update={"estimate": row.estimate.model_copy(update={"time_samples": None})})


def needed_requests(
    options: Sequence[OptionEntry], labels: Sequence[str], selected: Sequence[str]
) -> list[dict[str, object]]:
    """Return the requests of the selected rows and of those they are scaled from."""
    requests = {label: option.request for label, option in zip(labels, options, strict=True)}
    needed = set(selected)
    for label in selected:
        request = requests[label]
        # Rows with hours of their own may name each other; a needed row already has what it scales from.
        while isinstance(request, PublishedFigure) and request.scaled_from in requests.keys() - needed:
            needed.add(request.scaled_from)
            request = requests[request.scaled_from]
    return [
        {**request.model_dump(mode="json", exclude_unset=True), "label": label}
        for label, request in requests.items()
        if label in needed
    ]


def term_of(comparison: Comparison) -> Term | None:
    """Return the costs of all estimates over the term; None if no option has a cost.

    Other ways to pay for an option follow its own.
    """
    basis, options = comparison.one_basis, []
    for label, cost in ((row.label, cost) for row in comparison.rows for cost in row.costs):
        lines = [TermLine(item=line.item, amount=line.over_term or 0.0) for line in cost.lines]
        options.append(OptionTerm.model_validate({**dict(cost), "label": label, "lines": lines}))
    if basis is None or not options:
        return None
    return Term(years=basis.term_years, useful_hours_per_year=basis.useful_hours_per_year, options=options)


RENTED = "instances"
"""Group of the rent by the hour."""


def option_bills(
    rows: Sequence[ComparisonRow],
    requests: Mapping[str, EstimateRequest | PublishedFigure],
    context: SizingContext,
    proposal: ProposalRequest,
    stated: StatedPrices,
) -> tuple[list[OptionBill], list[OptionWarning], dict[str, SiteLayout]]:
    """Return the bills of the options that run and name a system, the warnings about them, and their racks
    and networks by label.
    """
    currency = proposal.currency
    bills: list[OptionBill] = []
    layouts: dict[str, SiteLayout] = {}
    warnings: list[OptionWarning] = []
    for row in rows:
        count = system_count(row)
        if row.system is None or count is None or row.hours is None:
            continue
        request, priced = requests[row.label], context
        entry = context.catalog.system(row.system)
        if entry.acquisition is Acquisition.RENT:
            assumptions = request.assumptions if isinstance(request, EstimateRequest) else AssumptionsInput()
            bills.append(rental_bill(row.label, entry, count, assumptions, context, currency))
            continue
        try:
            if isinstance(request, EstimateRequest):
                priced = at_prices_of(context, request, stated, row.label)
            bill = make_bill(bill_request(row, entry, count, currency, proposal.bill), priced)
        except AppError as error:
            bills.append(option_bill(row.label, note=Text.of(error.message)))
            continue
        bills.append(purchase_bill(row.label, bill))
        layouts[row.label] = SiteLayout(racks=bill.racks, network=bill.network)
        warnings += [(row.label, warning) for warning in bill.warnings]
    return bills, warnings, layouts


def system_count(row: ComparisonRow) -> int | None:
    """Return the number of systems of an option: as estimated, or its factor if that is whole."""
    if row.estimate is not None:
        return row.estimate.system.count
    if row.scaled_from is None:
        return 1
    return round(row.factor) if row.factor is not None and float(row.factor).is_integer() else None


def bill_request(
    row: ComparisonRow, entry: SystemEntry, count: int, currency: str, inputs: BillInputs | None
) -> BillRequest:
    """Return the request for a bill as in the Bill view of the study; pods include their network."""
    fields: dict[str, Any] = {"system": entry.id, "count": count, "currency": currency}
    if row.estimate is not None and entry.machine.chip.kind is not ChipKind.IPU:
        summary = row.estimate.system
        fields |= {"fabric": summary.fabric, "ports_per_node": summary.ports_per_node}
    if row.estimate is not None and row.estimate.cost is not None:
        # The bill lists what the cost counts.
        basis = row.estimate.cost.basis
        fields |= {name: basis[name] for name in ("region", "storage_tb") if basis.get(name) is not None}
    return BillRequest.model_validate(
        fields | (stated_inputs(inputs, entry.machine.chip.kind) if inputs else {})
    )


def option_bill(label: str, **known: Any) -> OptionBill:
    """Return the bill of an option; fields not given are null."""
    nothing = dict.fromkeys(OptionBill.model_fields) | {"lines": [], "groups": [], "complete": False}
    return OptionBill.model_validate({**nothing, **known, "label": label})


def purchase_bill(label: str, bill: Bill) -> OptionBill:
    """Return a bill in whole units of its currency, so that unit price × quantity is the total of a line."""
    lines, groups = [], dict[str, Quantity]()
    whole = nothing = Quantity.exact(0.0, bill.currency)
    for line in bill.lines:
        price = None if line.unit_price is None else in_units(line.unit_price)
        total = None if price is None else scaled(price, line.quantity)
        if total is not None:
            groups[line.group] = in_units(sum_of(groups.get(line.group, nothing), total))
            whole = in_units(sum_of(whole, total))
        sources = [line.source] if line.source else []
        lines.append({**dict(line), "unit_price": price, "total": total, "sources": sources})
    return option_bill(
        label,
        **dict(bill.totals),
        lines=lines,
        groups=[{**dict(group), "total": groups.get(group.group, group.price)} for group in bill.groups],
        total=whole,
        equipment=bill.equipment,
        # The tax of the place of purchase is no tax of a customer who pays in the money of another country.
        tax_note=bill.tax_note if CUSTOMER_REGIONS.get(bill.currency) == bill.request.region else None,
    )


def in_units(amount: Quantity) -> Quantity:
    """Return an amount of money rounded to its currency's unit."""
    value, low, high = (float(rounded(end, amount.unit)) for end in (amount.value, amount.low, amount.high))
    return Quantity(value=value, low=low, high=high, unit=amount.unit)


def sum_of(first: Quantity, second: Quantity) -> Quantity:
    value, low, high = (getattr(first, end) + getattr(second, end) for end in ("value", "low", "high"))
    return Quantity(value=value, low=low, high=high, unit=first.unit)


def rental_bill(
    label: str,
    entry: SystemEntry,
    count: int,
    assumptions: AssumptionsInput,
    context: SizingContext,
    currency: str,
) -> OptionBill:
    """Return the bill of a rented option: its hourly price in its way of paying."""
    catalog = context.catalog
    rates = catalog.cost_defaults(entry.machine.chip.kind, assumptions.region or "us")
    figure = rent_of(entry, RENTALS[assumptions.rental or "on-demand"], rates, catalog)
    rate = ExchangeRate.of(catalog, currency)
    price, total = None, None
    if assumptions.hourly_price is not None:
        figure, price = None, Quantity.exact(assumptions.hourly_price, currency)
        total = scaled(price, count)
    elif figure is not None:
        price = scaled(rate.price(figure), HOUR)
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


def said_warnings(warnings: Iterable[OptionWarning]) -> list[ProposalWarning]:
    """Return every warning once with the options it concerns, most serious first."""
    unique: dict[tuple[str, str], ProposalWarning] = {}
    for label, warning in warnings:
        text = in_words(warning.text)
        new = ProposalWarning(code=warning.code, severity=warning.severity, text=text, options=[])
        options = unique.setdefault((warning.code, warning.message), new).options
        options += [] if label is None else [label]
    return sorted(unique.values(), key=lambda warning: SEVERITIES.index(warning.severity))


def assumptions_of(rows: Sequence[ComparisonRow]) -> list[Assumption]:
    """Return every default once with the options it concerns, by field."""
    unique: dict[str, Assumption] = {}
    for row in rows:
        for default in row.estimate.defaults if row.estimate is not None else ():
            key = json.dumps([default.field, default.value, default.why])
            why = in_words(default.text)
            new = Assumption(field=default.field, value=default.value, why=why, options=[])
            unique.setdefault(key, new).options.append(row.label)
    return sorted(unique.values(), key=lambda assumption: assumption.field)


def sources_of(
    estimates: Iterable[Estimate], bills: Iterable[OptionBill], evidence: Evidence | None
) -> list[SourceRef]:
    refs: list[SourceRef | None] = []
    for estimate in estimates:
        refs += [source for step in estimate.trace for source in step.source]
        if (cost := estimate.cost) is not None:
            figures = [*cost.figures, *(figure for line in cost.lines for figure in line.figures)]
            refs += [figure.source for figure in figures]
            refs += [cost.carbon.intensity.source] if cost.carbon is not None else []
    refs += [source for bill in bills for line in bill.lines for source in line.sources]
    if evidence is not None:
        refs += [part.source for gain in evidence.gains for part in gain.left_out]
    by_id = {source.id: source for source in refs if source is not None}
    return [by_id[name] for name in sorted(by_id)]
