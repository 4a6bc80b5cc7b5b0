"""One line of a bill: so many of one part, why so many, and what one of them costs, draws and weighs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.catalog import Catalog, Figure, Spread
from app.errors import Message

Group = Literal[
    "machines",
    "hosts",
    "compute_network",
    "storage_network",
    "management_network",
    "cables",
    "storage",
    "racks",
    "spares",
    "installation",
]

DOLLAR = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPart:
    """So many of one item of the catalogue; a figure that nobody publishes is None."""

    item: str
    name: str
    group: Group
    use: str
    """What it is for: leaf, spine, node cable …"""
    count: int
    rule: Message
    """How the count follows."""
    price: Figure | None
    power_typical: Figure | None
    power_max: Figure | None
    rack_units: Figure | None
    weight: Figure | None

    @property
    def height(self) -> float:
        """Height of one in the rack; 0 for what stands in none. [U]"""
        return 0.0 if self.rack_units is None else self.rack_units.si

    @property
    def greatest(self) -> Figure | None:
        """Greatest power of one; the typical where only that is known. [W]"""
        return self.power_max or self.power_typical


def part(catalog: Catalog, item: str, group: Group, use: str, count: int, rule: Message) -> BillPart:
    """Return a line with the figures the catalogue has of its item."""
    return BillPart(
        item=item,
        name=catalog.items[item].name,
        group=group,
        use=use,
        count=count,
        rule=rule,
        price=catalog.find(item, "price"),
        power_typical=catalog.find(item, "power_typical"),
        power_max=catalog.find(item, "power_max"),
        rack_units=catalog.find(item, "rack_units"),
        weight=catalog.find(item, "weight"),
    )


def added(parts: Iterable[tuple[int, Figure | None]], unit: str) -> Spread:
    """Return counts times figures in SI units, added up; what is not known adds nothing.

    Ends of ranges are added: all parts are taken to be dear together or cheap together, since one market
    prices them. The range is therefore no narrower than the true one.
    """
    known = [(count, figure) for count, figure in parts if figure is not None]
    return Spread(
        sum(count * figure.si for count, figure in known),
        sum(count * figure.si_low for count, figure in known),
        sum(count * figure.si_high for count, figure in known),
        unit,
    )
