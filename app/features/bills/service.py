"""Create, retrieve and compare bills of materials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from app.catalog.books import BookRow, PriceBook
from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind
from app.catalog.figures import Source, SourceKind
from app.engine.units import KILOWATT
from app.errors import BadInput, Conflict, Message
from app.estimating.bill_parts import CLUSTER
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning
from app.estimating.names import STORED
from app.estimating.purchase import GROUPS
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity, filled
from app.features.bills.bill import make_bill
from app.features.bills.model import (
    Bill,
    BillComparison,
    BillInputs,
    BillRatio,
    BillRequest,
    BillSummary,
    GroupPair,
    Measure,
    check_asked,
)
from app.features.estimates.service import get_estimate_request
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, page_of
from app.platform.references import existing, hold_named
from app.platform.store.queries import EVERYTHING, ListFilter, new_id
from app.platform.store.repository import Repository
from app.platform.store.tables import BillRow
from app.platform.web.query_forms import QueryForm
from app.platform.workspace import Workspace, found

ROUNDING = 1e-9
"""Tolerance for a difference that is exactly the margin."""


def compare_bills(first: Bill, second: Bill, catalog: Catalog) -> BillComparison:
    """Return the ratios of two bills with warnings."""
    if first.currency != second.currency:
        raise Conflict.at(
            "ids",
            "one bill of materials is in {first}, the other in {second}; use one currency for both",
            first=first.currency,
            second=second.currency,
        )
    margin = catalog.figure(CLUSTER, "parity_margin").si
    return BillComparison(
        first=first.id,
        second=second.id,
        labels=[first.label, second.label],
        margin=margin,
        ratios=_ratios(first, second, margin),
        groups=_groups(first, second),
        warnings=_warnings(first, second, margin),
    )


def _ratios(first: Bill, second: Bill, margin: float) -> list[BillRatio]:
    ours, theirs = first.totals, second.totals
    pairs: list[tuple[Measure, Quantity, Quantity]] = []
    if first.package is not None and second.package is not None:
        pairs.append(("package", first.package, second.package))
    if ours.complete and theirs.complete:
        pairs.append(("total", ours.price, theirs.price))
    heights = (Quantity.exact(ours.rack_units, "U"), Quantity.exact(theirs.rack_units, "U"))
    pairs += [
        ("power", ours.power, theirs.power),
        ("power_max", ours.power_max, theirs.power_max),
        ("rack_units", *heights),
    ]
    return [_ratio(measure, amount, other, margin) for measure, amount, other in pairs]


def _ratio(measure: Measure, first: Quantity, second: Quantity, margin: float) -> BillRatio:
    """Return the first amount over the second; its range holds every combination of their ends."""
    ratio = Quantity(
        value=first.value / second.value, low=first.low / second.high, high=first.high / second.low, unit="1"
    )
    parity = equal(first, second, margin)
    return BillRatio(measure=measure, first=first, second=second, ratio=ratio, parity=parity)


def equal(first: Quantity, second: Quantity, margin: float) -> bool:
    """Tell whether two amounts are within the margin or have overlapping ranges."""
    near = abs(first.value / second.value - 1.0) <= margin + ROUNDING
    return near or (first.low <= second.high and second.low <= first.high)


def _groups(first: Bill, second: Bill) -> list[GroupPair]:
    ours, theirs = ({total.group: total.price for total in bill.groups} for bill in (first, second))
    return [
        GroupPair(group=group, first=ours.get(group), second=theirs.get(group))
        for group in GROUPS
        if group in ours or group in theirs
    ]


def _warnings(first: Bill, second: Bill, margin: float) -> list[CheckWarning]:
    warnings = []
    if not (first.totals.complete and second.totals.complete):
        message = Message("a price is missing: the totals are lower bounds and are not compared")
        warnings.append(CheckWarning.of("price_unknown", "caution", message, "totals.price"))
    for bill, other in ((first, second), (second, first)):
        typical, greatest = bill.totals.power, other.totals.power_max
        alike = equal(typical, other.totals.power, margin) or equal(bill.totals.power_max, greatest, margin)
        if equal(typical, greatest, margin) and not alike:
            message = Message(
                "equal power holds only if the typical power of {first} ({typical} kW) is "
                "compared with the maximum of {second} ({greatest} kW); on the same basis it "
                "is {typical} vs. {other_typical} kW typical, and {own_greatest} vs. "
                "{greatest} kW maximum",
                {
                    "first": bill.label,
                    "second": other.label,
                    "typical": kilowatts(typical),
                    "greatest": kilowatts(greatest),
                    "other_typical": kilowatts(other.totals.power),
                    "own_greatest": kilowatts(bill.totals.power_max),
                },
            )
            warnings.append(CheckWarning.of("power_basis_differs", "caution", message, "totals.power"))
    return warnings


def kilowatts(power: Quantity) -> float:
    return round(power.value / KILOWATT, 1)


def create_bill(workspace: Workspace, request: BillRequest, key: str | None = None) -> Bill:
    """Create and store the bill of a system, or of an estimate's system."""

    def make() -> tuple[Bill, Save]:
        completed = of_estimate(workspace, request)
        answer = make_bill(completed, workspace.context(), new_id("bom"), request.estimate_id)
        stated, document = request.model_dump(mode="json", exclude_unset=True), answer.model_dump(mode="json")

        def save(repository: Repository) -> None:
            hold_named(repository, stated)
            repository.add(BillRow(id=answer.id, label=answer.label[:300], request=stated, document=document))

        return answer, save

    return keep(workspace, IdempotentCall.of("boms", key, request), Bill, make)


def of_estimate(workspace: Workspace, request: BillRequest) -> BillRequest:
    """Return a request completed by the estimate it names, if any."""
    check_asked(request)
    if request.estimate_id is None:
        return request
    estimate = found(partial(get_estimate_request, workspace), "estimate_id", request.estimate_id)
    own = asked_of(estimate, workspace.sizing.catalog)
    stated = request.model_fields_set
    missing = {name: value for name, value in own.items() if name not in stated}
    return request.model_copy(update={**missing, "estimate_id": None})


def asked_of(estimate: EstimateRequest, catalog: Catalog) -> dict[str, Any]:
    """Return the fields of a bill's request that an estimate states."""
    system, assumptions = estimate.system, estimate.assumptions
    fields: dict[str, Any] = {
        "system": system.id,
        "count": system.count,
        "currency": estimate.currency,
        "price_book_id": assumptions.price_book_id,
        "region": assumptions.region,
        "storage_tb": assumptions.storage_tb,
        "include": assumptions.include,
        "licence_years": assumptions.amortisation_years,
    }
    # A pod comes with its network.
    if catalog.system(system.id).machine.chip.kind is not ChipKind.IPU:
        fields |= {"fabric": system.fabric, "ports_per_node": system.ports_per_node}
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class StatedPrices(PriceBook):
    """Prices stated by an option of a study or of a comparison."""

    @property
    def source(self) -> Source:
        collection = "studies" if self.id.startswith("stu_") else "comparisons"
        return Source(self.id, SourceKind.CUSTOMER, self.name, "", self.as_of, f"/{collection}/{self.id}")


def at_prices_of(
    context: SizingContext, request: EstimateRequest, stated: PriceBook, label: str
) -> SizingContext:
    """Return the catalogue at the prices of an option: its price book, day and stated price."""
    assumptions = request.assumptions
    if context.catalog.book is not None:
        # The book is applied already; applying it again would repeat its discounts.
        assumptions = assumptions.model_copy(update={"price_book_id": None})
    context = context.at_prices(assumptions)
    if assumptions.system_price is None:
        return context
    row = BookRow(request.system.id, "price", "", assumptions.system_price, request.currency, label)
    return replace(context, catalog=context.catalog.overlaid(replace(stated, rows=(row,))))


INPUTS = QueryForm(BillInputs)

OWN_LINKS = frozenset({"ports_per_node", "oversubscription"})
"""Inputs that do not apply to a pod, which comes with its links."""


def stated_inputs(inputs: BillInputs, kind: ChipKind) -> dict[str, Any]:
    """Return the stated inputs of a bill that apply to a kind of chip."""
    left_out = OWN_LINKS if kind is ChipKind.IPU else frozenset()
    return inputs.model_dump(exclude_unset=True, exclude=set(left_out))


def stored_inputs(views: Mapping[str, Mapping[str, str]]) -> BillInputs:
    """Return the inputs of a study's bill; an emptied field has its default, but counts as stated."""
    fields = INPUTS.filled(views.get("bill", {}))
    kept = INPUTS.request(fields)
    emptied = [name for name, text in fields.items() if not text.strip()]
    return kept.model_copy(update={name: BillInputs.model_fields[name].default for name in emptied})


def get_bill(workspace: Workspace, identifier: str) -> Bill:
    with workspace.transaction() as repository:
        return Bill.model_validate(
            existing(repository, BillRow, identifier, "bill of materials").document, context=STORED
        )


def list_bills(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[BillSummary]:
    with workspace.transaction() as repository:
        return page_of(
            repository,
            BillRow,
            lambda row: filled(BillSummary, row, name=row.label),
            limit,
            cursor,
            wanted=wanted,
        )


def compare(workspace: Workspace, ids: str) -> BillComparison:
    """Return two bills side by side; their identifiers are separated by a comma."""
    names = [name.strip() for name in ids.split(",") if name.strip()]
    if len(names) != 2:
        raise BadInput.at("ids", "enter the identifiers of two bills of materials, separated by a comma")
    first, second = (get_bill(workspace, name) for name in names)
    return compare_bills(first, second, workspace.sizing.catalog)


def delete_bill(workspace: Workspace, identifier: str) -> None:
    delete(workspace, BillRow, identifier)
