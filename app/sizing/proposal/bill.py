"""The parts of each option of a proposal, with prices as the catalogue has them."""

from __future__ import annotations

from collections.abc import Sequence

from app.catalog import Acquisition, BillLine, Catalog, Figure
from app.catalog.entries import SystemEntry
from app.engine.units import HOUR
from app.errors import Message
from app.sizing.document import ComparisonRow, Quantity, Text
from app.sizing.proposal.documents import BillItem, OptionBill
from app.sizing.trace import source_ref


def option_bills(rows: Sequence[ComparisonRow], catalog: Catalog, currency: str) -> list[OptionBill]:
    """Return the parts of every option that runs and whose system is named."""
    bills = []
    for row in rows:
        count = counted(row)
        if row.system is None or count is None or row.hours is None:
            continue
        entry = catalog.system(row.system)
        won = catalog.cost_defaults(entry.chip_kind).won_per_dollar.si
        bills.append(option_bill(row, entry, count, won if currency == "KRW" else 1.0, catalog, currency))
    return bills


def counted(row: ComparisonRow) -> float | None:
    """Return how many systems an option is: as estimated, or as its factor says."""
    if row.estimate is not None:
        return float(row.estimate.system.count)
    return 1.0 if row.scaled_from is None else row.factor


def option_bill(
    row: ComparisonRow, entry: SystemEntry, count: float, rate: float, catalog: Catalog, currency: str
) -> OptionBill:
    """Return the parts of one option."""
    if entry.acquisition is Acquisition.RENT:
        lines = [rented(entry, count, rate, currency)]
    else:
        lines = [owned(line, entry, count, rate, currency) for line in entry.bill]
        lines += network(lines, count, catalog, currency)
    totals = [line.total for line in lines if line.total is not None]
    return OptionBill(
        label=row.label,
        lines=lines,
        total=added(totals, currency) if totals and entry.acquisition is Acquisition.OWN else None,
        complete=len(totals) == len(lines),
    )


def rented(entry: SystemEntry, count: float, rate: float, currency: str) -> BillItem:
    """Return the line of a rented system: its price is that of an hour."""
    figure = entry.price_hour
    price = None if figure is None else priced(figure, rate * HOUR, currency)
    return BillItem(
        item=entry.id,
        name=entry.name,
        quantity=count,
        rule=Text.of(Message("{count} rented, at the price of an hour each", {"count": count})),
        unit_price=price,
        total=None if price is None else times(price, count),
        sources=[] if figure is None else [source_ref(figure.source)],
    )


def owned(line: BillLine, entry: SystemEntry, count: float, rate: float, currency: str) -> BillItem:
    """Return one line of a bought system."""
    price = None if line.price is None else priced(line.price, rate, currency)
    named = {"each": line.count, "count": count, "system": entry.name}
    return BillItem(
        item=line.item,
        name=line.name,
        quantity=line.count * count,
        rule=Text.of(Message("{each} in each of {count} × {system}", named)),
        unit_price=price,
        total=None if price is None else times(price, line.count * count),
        sources=[] if line.price is None else [source_ref(line.price.source)],
    )


def network(lines: Sequence[BillItem], count: float, catalog: Catalog, currency: str) -> list[BillItem]:
    """Return the network between several systems, by the share that estimates take for it."""
    known = [line.total for line in lines if line.total is not None]
    if count <= 1 or len(known) < len(lines) or not known:
        return []
    figure = catalog.figure("dgx-cluster", "network_share")
    price = times(added(known, currency), figure.si / (1.0 - figure.si))
    rule = Message(
        "switches, cables and adapters as {share} % of the price of a cluster", {"share": 100.0 * figure.si}
    )
    return [
        BillItem(
            item=figure.item,
            name=str(Message("Network between the systems")),
            quantity=1.0,
            rule=Text.of(rule),
            unit_price=price,
            total=price,
            sources=[source_ref(figure.source)],
        )
    ]


def priced(figure: Figure, rate: float, currency: str) -> Quantity:
    """Return a price of the catalogue in a currency."""
    return Quantity(
        value=figure.si * rate, low=figure.si_low * rate, high=figure.si_high * rate, unit=currency
    )


def times(price: Quantity, count: float) -> Quantity:
    """Return the price of several."""
    return Quantity(
        value=price.value * count, low=price.low * count, high=price.high * count, unit=price.unit
    )


def added(parts: Sequence[Quantity], currency: str) -> Quantity:
    """Return a sum; its ends are sums of ends, as if all prices were high or low together."""
    return Quantity(
        value=sum(part.value for part in parts),
        low=sum(part.low for part in parts),
        high=sum(part.high for part in parts),
        unit=currency,
    )
