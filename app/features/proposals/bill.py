"""The parts of each option of a proposal, with prices as the catalogue has them."""

from __future__ import annotations

from collections.abc import Sequence

from app.catalog.entries import Acquisition, ChipKind, SystemEntry
from app.engine.units import HOUR
from app.errors import AppError, Message
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Text
from app.estimating.schema import Quantity
from app.estimating.trace import source_ref
from app.features.bills.bill import make_bill
from app.features.bills.model import Bill, BillRequest
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.model import BillGroup, BillItem, OptionBill

RENTED = "instances"
"""Group of what is rented by the hour."""


def option_bills(
    rows: Sequence[ComparisonRow], context: SizingContext, currency: str
) -> tuple[list[OptionBill], list[tuple[str, CheckWarning]]]:
    """Return the parts of every option that runs and names its system, and what to ask about them."""
    bills: list[OptionBill] = []
    asked: list[tuple[str, CheckWarning]] = []
    for row in rows:
        count = counted(row)
        if row.system is None or count is None or row.hours is None:
            continue
        entry = context.catalog.system(row.system)
        if entry.acquisition is Acquisition.RENT:
            bills.append(rented(row.label, entry, count, context, currency))
            continue
        try:
            request = bill_request(row, entry, count, currency)
            if context.catalog.book is None:
                request = request.model_copy(update={"price_book_id": own_book(row)})
            bill = make_bill(request, context)
        except AppError as error:
            bills.append(no_bill(row.label, error.message))
            continue
        bills.append(of_bill(row.label, bill))
        asked += [(row.label, warning) for warning in bill.warnings]
    return bills, asked


def counted(row: ComparisonRow) -> int | None:
    """Return how many systems an option is: as estimated, or as its factor says where that is whole."""
    if row.estimate is not None:
        return row.estimate.system.count
    if row.scaled_from is None:
        return 1
    return round(row.factor) if row.factor is not None and float(row.factor).is_integer() else None


def bill_request(row: ComparisonRow, entry: SystemEntry, count: int, currency: str) -> BillRequest:
    """Return what a bill is asked for; pods bring their own network."""
    found = {"system": entry.id, "count": count, "currency": currency}
    cost = None if row.estimate is None else row.estimate.cost
    if cost is not None:
        # What the cost counts is what the bill lists.
        names = ("region", "storage_tb")
        found |= {name: cost.basis[name] for name in names if cost.basis.get(name) is not None}
    if row.estimate is not None and entry.chip_kind is not ChipKind.IPU:
        summary = row.estimate.system
        found |= {"fabric": summary.fabric, "ports_per_node": summary.ports_per_node}
    return BillRequest.model_validate(found)


def of_bill(label: str, bill: Bill) -> OptionBill:
    """Return a bill as a proposal keeps it."""
    return OptionBill(
        label=label,
        lines=[
            BillItem(
                item=line.item,
                name=line.name,
                group=line.group,
                use=line.use,
                quantity=line.quantity,
                rule=line.rule,
                unit_price=line.unit_price,
                total=line.total,
                sources=[] if line.source is None else [line.source],
            )
            for line in bill.lines
        ],
        groups=[BillGroup(group=one.group, total=one.price, complete=one.complete) for one in bill.groups],
        total=bill.totals.price,
        complete=bill.totals.complete,
        power=bill.totals.power,
        racks=bill.totals.racks,
        rack_units=bill.totals.rack_units,
        equipment=bill.equipment,
        tax_note=bill.tax_note,
        note=None,
    )


def own_book(row: ComparisonRow) -> str | None:
    """Return the price book that the cost of an option was made with."""
    cost = None if row.estimate is None else row.estimate.cost
    book = None if cost is None else cost.basis.get("price_book_id")
    return None if book is None else str(book)


def rented(label: str, entry: SystemEntry, count: int, context: SizingContext, currency: str) -> OptionBill:
    """Return a rented system: one line, at the price of an hour."""
    figure = entry.price_hour
    won = context.catalog.cost_defaults(entry.chip_kind).won_per_dollar
    rates = (won.si, won.si_low, won.si_high) if currency == "KRW" else (1.0, 1.0, 1.0)
    price = None
    if figure is not None:
        ends = zip((figure.si, figure.si_low, figure.si_high), rates, strict=True)
        value, low, high = (HOUR * end * rate for end, rate in ends)
        price = Quantity(value=value, low=low, high=high, unit=currency)
    line = BillItem(
        item=entry.id,
        name=entry.name,
        group=RENTED,
        use=RENTED,
        quantity=count,
        rule=Text.of(Message("{count} rented, at the hourly price each", {"count": count})),
        unit_price=price,
        total=None if price is None else times(price, count),
        sources=[] if figure is None else [source_ref(figure.source)],
    )
    return OptionBill(
        label=label,
        lines=[line],
        groups=[],
        total=None,
        complete=price is not None,
        power=None,
        racks=None,
        rack_units=None,
        note=None,
    )


def no_bill(label: str, why: Message) -> OptionBill:
    """Return an option whose parts are not known, with the reason."""
    return OptionBill(
        label=label,
        lines=[],
        groups=[],
        total=None,
        complete=False,
        power=None,
        racks=None,
        rack_units=None,
        note=Text.of(why),
    )


def times(price: Quantity, count: int) -> Quantity:
    """Return the price of several."""
    return Quantity(
        value=price.value * count, low=price.low * count, high=price.high * count, unit=price.unit
    )
