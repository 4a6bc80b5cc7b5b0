"""Two bills side by side: prices, power and space, and whether they are equal on one basis."""

from __future__ import annotations

from app.catalog.catalog import Catalog
from app.engine.units import KILOWATT
from app.errors import Conflict, Message
from app.estimating.documents import CheckWarning
from app.estimating.schema import Quantity
from app.features.bills.bill import GROUPS
from app.features.bills.model import Bill, BillComparison, GroupPair, Measure, Ratio
from app.features.bills.parts import CLUSTER

ROUNDING = 1e-9
"""What division may leave of a difference that is exactly the margin."""


def compare_bills(first: Bill, second: Bill, catalog: Catalog) -> BillComparison:
    """Return the ratios of two bills and what to beware of."""
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


def _ratios(first: Bill, second: Bill, margin: float) -> list[Ratio]:
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
    return [_ratio(measure, one, other, margin) for measure, one, other in pairs]


def _ratio(measure: Measure, first: Quantity, second: Quantity, margin: float) -> Ratio:
    """Return the first amount over the second; its range holds every combination of their ends."""
    ratio = Quantity(
        value=first.value / second.value,
        low=first.low / second.high,
        high=first.high / second.low,
        unit="1",
    )
    parity = equal(first, second, margin)
    return Ratio(measure=measure, first=first, second=second, ratio=ratio, parity=parity)


def equal(first: Quantity, second: Quantity, margin: float) -> bool:
    """Tell whether two amounts are about the same: within the margin, or with ranges that overlap."""
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
    found = []
    if not (first.totals.complete and second.totals.complete):
        message = Message("a price is missing: the totals are lower bounds and are not compared")
        found.append(CheckWarning.of("price_unknown", "caution", message, "totals.price"))
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
            found.append(CheckWarning.of("power_basis_differs", "caution", message, "totals.power"))
    return found


def kilowatts(power: Quantity) -> float:
    """Return a power as a sentence shows it. [kW]"""
    return round(power.value / KILOWATT, 1)
