"""Parts and racks as the document shows them: lines, sums by group, totals, placements."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.catalog import Figure, Spread
from app.sizing.bill import racks
from app.sizing.bill.ancillary import SWITCHES
from app.sizing.bill.documents import BillLine, BillTotals, GroupTotal, Placement, Rack
from app.sizing.bill.lines import DOLLAR, BillPart, added
from app.sizing.document import Quantity, Text
from app.sizing.quantities import spread_quantity
from app.sizing.quote import Currency, quote, quote_line
from app.sizing.trace import source_ref


@dataclass(frozen=True, slots=True)
class Money:
    """Dollars of the catalogue in the currency of the bill."""

    currency: Currency
    rate: Spread
    """Units of it per dollar, with its range."""

    def of(self, spread: Spread) -> Quantity:
        """Return an amount in the currency."""
        return Quantity(
            value=self.rate.value * spread.value,
            low=self.rate.low * spread.low,
            high=self.rate.high * spread.high,
            unit=self.currency,
        )


def _range(count: int, figure: Figure | None) -> Quantity | None:
    return None if figure is None else spread_quantity(added([(count, figure)], figure.si_unit))


def bill_lines(parts: Sequence[BillPart], money: Money) -> list[BillLine]:
    """Return the lines in the order of their groups, each total rounded as it is printed."""
    return [_line(one, money) for one in sorted(parts, key=lambda one: GROUPS.index(one.group))]


GROUPS = (
    "machines",
    "hosts",
    "compute_network",
    "storage_network",
    "management_network",
    "cables",
    "storage",
    "spares",
    "racks",
    "installation",
)


def _line(one: BillPart, money: Money) -> BillLine:
    price = None if one.price is None else money.of(added([(1, one.price)], DOLLAR))
    total = None
    if price is not None:
        quoted = quote_line(one.item, one.name, one.count, price.value, money.currency)
        assert quoted.total is not None
        value = float(quoted.total)
        total = Quantity(
            value=value,
            low=min(one.count * price.low, value),
            high=max(one.count * price.high, value),
            unit=money.currency,
        )
    powered = one.group != "spares"
    return BillLine(
        item=one.item,
        name=one.name,
        group=one.group,
        use=one.use,
        quantity=one.count,
        rule=Text.of(one.rule),
        unit_price=price,
        total=total,
        power=_range(one.count, one.power_typical) if powered else None,
        power_max=_range(one.count, one.greatest) if powered else None,
        rack_units=one.count * one.height,
        weight=_range(one.count, one.weight),
        source=None if one.price is None else source_ref(one.price.source),
        as_of="" if one.price is None else one.price.as_of,
        status="unknown" if one.price is None else "estimate" if one.price.estimated else "published",
        note="" if one.price is None else one.price.note,
    )


def _summed(amounts: Iterable[Quantity | None], unit: str) -> Quantity:
    """Add up quantities; both ends of the ranges are added, so that they are no narrower than the truth."""
    known = [amount for amount in amounts if amount is not None]
    return Quantity(
        value=sum(amount.value for amount in known),
        low=sum(amount.low for amount in known),
        high=sum(amount.high for amount in known),
        unit=unit,
    )


def _priced(lines: Sequence[BillLine], money: Money) -> tuple[Quantity, bool]:
    """Return the exact sum of printed totals with its range, and whether no price is missing."""
    quoted = quote(
        (
            quote_line(
                line.item,
                line.name,
                line.quantity,
                None if line.unit_price is None else line.unit_price.value,
                money.currency,
            )
            for line in lines
        ),
        money.currency,
    )
    spread = _summed((line.total for line in lines), money.currency)
    value = float(quoted.total)
    return (
        Quantity(value=value, low=min(spread.low, value), high=max(spread.high, value), unit=money.currency),
        quoted.complete,
    )


def group_totals(lines: Sequence[BillLine], money: Money) -> list[GroupTotal]:
    """Return the sums of the groups; lines of a group stand together."""
    found = []
    for group, members in itertools.groupby(lines, key=lambda line: line.group):
        listed = list(members)
        price, complete = _priced(listed, money)
        power = _summed((line.power for line in listed), "W")
        found.append(GroupTotal(group=group, price=price, complete=complete, power=power))
    return found


def bill_totals(lines: Sequence[BillLine], money: Money, count: int) -> BillTotals:
    """Return the sums of all lines, which stand in so many racks."""
    price, complete = _priced(lines, money)
    return BillTotals(
        price=price,
        complete=complete,
        power=_summed((line.power for line in lines), "W"),
        power_max=_summed((line.power_max for line in lines), "W"),
        rack_units=sum(line.rack_units for line in lines if line.use != "spare_switch"),
        racks=count,
        weight=_summed((line.weight for line in lines), "kg"),
    )


def bill_racks(packed: Sequence[racks.Packed], limits: racks.RackLimits) -> list[Rack]:
    """Return racks, those filled alike as one, in the order they stand."""
    found: dict[tuple[tuple[str, str], ...], tuple[racks.Packed, int]] = {}
    for rack in packed:
        key = tuple((unit.item, unit.use) for unit in rack.units)
        first, count = found.get(key, (rack, 0))
        found[key] = (first, count + 1)
    return [
        Rack(
            count=count,
            height=limits.height,
            used=rack.height,
            power=rack.typical,
            power_max=rack.greatest,
            power_limit=limits.power,
            weight=rack.weight,
            placements=_placements(rack, limits.height),
        )
        for rack, count in found.values()
    ]


def _placements(rack: racks.Packed, height: int) -> list[Placement]:
    """Machines from the floor up, heavy ones low; switches from the top down."""
    found: list[Placement] = []
    floor, top = 1, height
    for unit in rack.units:
        if unit.use in SWITCHES:
            top -= unit.height
            bottom = top + 1
        else:
            bottom = floor
            floor += unit.height
        found.append(
            Placement(item=unit.item, name=unit.name, use=unit.use, bottom=bottom, height=unit.height)
        )
    return sorted(found, key=lambda one: one.bottom)
