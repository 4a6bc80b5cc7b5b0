"""Everything that is bought with a system, line by line, for costs and bills of materials alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from app.catalog.catalog import Catalog
from app.catalog.entries import HOST, ChipKind, SystemEntry, total
from app.catalog.figures import Figure, Spread
from app.estimating.bill_parts import (
    checkpoint_parts,
    commissioning,
    included,
    installation,
    licence_parts,
    machine_parts,
    machines_linked,
    management_parts,
    pod_cables,
    service_nodes,
    spare_allowance,
    spare_parts,
    storage_parts,
    unlisted_network,
)
from app.estimating.money import ExchangeRate, quote_line, rounded
from app.estimating.network_parts import (
    DOLLAR,
    BillPart,
    Group,
    NetworkBill,
    listed_network,
)
from app.estimating.racks import PackedRack, RackLimits, blocks_of, limits_of, pack, rack_parts
from app.estimating.schema import Quantity

GROUPS: tuple[Group, ...] = get_args(Group)

COST_LINES = {
    "machines": "machines",
    "hosts": "hosts",
    "management": "management",
    "management_network": "management",
    "compute_network": "fabric",
    "storage_network": "storage",
    "storage": "storage",
    "spares": "spares",
    "racks": "racks",
    "software": "licences",
    "installation": "install",
}
"""Line of the cost of ownership by group of the bill; cables follow what they join."""

WHOLE = ("hosts", "fabric", "storage", "space")
"""Items that a bill counts beside the machines; management stands with the hosts, racks with the space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be bought."""

    system: SystemEntry
    count: int
    fabric: str
    ports_per_node: int
    oversubscription: float = 1.0
    include: tuple[str, ...] = WHOLE
    """Items of the cost that are bought beside the machines."""
    price: Figure | None = None
    """Price of one system, in place of the catalogue's. [USD]"""
    storage_tb: float | None = None
    """Usable shared storage; None for room for checkpoints alone. [TB]"""
    licence_years: float = 0.0
    """Term of software licences; 0 for none. [year]"""
    spare: int = 0
    """Spare machines; with none, a share of the equipment is kept as spare parts."""
    rack: str = "rack-42u"
    rack_power: float | None = None
    """Limit of a rack, in place of the catalogue's. [W]"""

    @property
    def machines(self) -> int:
        return self.count * self.system.machines

    @property
    def whole_price(self) -> Figure | None:
        """Price of one system as a whole, stated or of a price book. [USD]"""
        return self.price or self.system.whole_price

    def joined(self, catalog: Catalog) -> bool:
        """Tell whether a network between machines is bought beside them.

        Pods of IPUs, and pods of GPUs sold as a whole, come with their switches; machines joined by their
        own links need no other while they stand in one rack.
        """
        brings = any(part.item not in (self.system.machine.id, HOST) for part in self.system.bill)
        if self.system.machine.chip.kind is ChipKind.IPU:
            return self.count > 1 and not brings
        if self.whole_price is not None and brings:
            return False
        return self.machines > machines_linked(catalog, self.system)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """The lines of an order, in the order of their groups."""

    parts: Sequence[BillPart]
    network: NetworkBill | None
    """Between machines; None where none is bought or its switches cannot be listed."""
    racks: Sequence[PackedRack]
    limits: RackLimits

    def lines(self) -> dict[str, Spread]:
        """Price by line of the cost of ownership; lines without a price are left out. [USD]"""
        members: dict[str, list[tuple[int, Figure | None]]] = {}
        for part in self.parts:
            if part.price is not None:
                members.setdefault(cost_line(part), []).append((part.count, part.price))
        return {name: total(priced, DOLLAR) for name, priced in members.items()}

    @property
    def network_money(self) -> float:
        """Price of the network between machines, without its spare parts. [USD]"""
        return sum(
            part.count * part.price.si
            for part in self.parts
            if part.price is not None and part.group != "spares" and cost_line(part) == "fabric"
        )

    @property
    def network_share(self) -> float | None:
        """Share of the network in the whole price; None where the machines have no price."""
        if any(part.price is None for part in self.parts if part.group == "machines"):
            return None
        return self.network_money / (sum(spread.value for spread in self.lines().values()) or 1.0)

    def amount(self, rate: ExchangeRate) -> float:
        """Sum of the lines as they are printed. [currency]"""
        return float(
            sum(
                part.count * rounded(rate.value * part.price.si, rate.currency)
                for part in self.parts
                if part.price is not None
            )
        )


def power_beside(parts: Sequence[BillPart], system: SystemEntry) -> Spread:
    """Power of what does not come with the system: network, storage, servers beside it. [W]"""
    own = {part.item for part in system.bill}
    beside = (part for part in parts if part.group != "spares" and part.item not in own)
    return total(((part.count, part.power_typical) for part in beside), "W")


def printed_price(part: BillPart, rate: ExchangeRate) -> tuple[Quantity, Quantity] | None:
    """Return the unit price and the total of a line; None without a price.

    The unit price is rounded to the currency's unit first, so that the total is its multiple.
    """
    if part.price is None:
        return None
    price = rate.price(part.price)
    unit = float(rounded(price.value, rate.currency))
    each = Quantity(value=unit, low=min(price.low, unit), high=max(price.high, unit), unit=rate.currency)
    total = quote_line(part.item, part.name, part.count, unit, rate.currency).total
    assert total is not None, "a unit price is given"
    value = float(total)
    return each, Quantity(
        value=value,
        low=min(part.count * price.low, value),
        high=max(part.count * price.high, value),
        unit=rate.currency,
    )


def cost_line(part: BillPart) -> str:
    """Return the line of the cost of ownership in which a part is counted."""
    if part.group != "cables":
        return COST_LINES[part.group]
    kind = part.use.partition("_")[0]
    return {"storage": "storage", "management": "management"}.get(kind, "fabric")


@lru_cache(maxsize=256)
def purchase_of(catalog: Catalog, order: Order) -> Purchase:
    """Return everything that is bought with a system."""
    system, include = order.system, order.include
    parts, network = equipment_of(catalog, order)
    parts += list(spare_parts(catalog, order.spare, parts)) or [spare_allowance(catalog, parts)]
    limits = limits_of(catalog, order.rack, order.rack_power)
    racks: Sequence[PackedRack] = ()
    if "space" in include:
        racks = pack(blocks_of(catalog, system, order.count, parts), limits)
        parts += rack_parts(catalog, order.rack, racks, limits)
    parts += [installation(catalog, parts), commissioning(catalog, parts)]
    if order.licence_years:
        parts += licence_parts(catalog, system, order.count, order.licence_years)
    parts.sort(key=lambda part: GROUPS.index(part.group))
    return Purchase(parts=parts, network=network, racks=racks, limits=limits)


def equipment_of(catalog: Catalog, order: Order) -> tuple[list[BillPart], NetworkBill | None]:
    """Return what draws power: machines, network, storage and servers beside them.

    A network whose switches cannot be listed, as that of a cloud, costs the share of a published cluster.
    """
    system, include = order.system, order.include
    parts = [
        line
        for line in machine_parts(catalog, system, order.count, order.whole_price)
        if COST_LINES[line.group] in ("machines", *include)
        or (line.group == "management_network" and "hosts" in include)
    ]
    network = None
    if "fabric" in include:
        network, lines = _network(catalog, order, parts)
        parts += lines
    if "storage" in include or order.storage_tb is not None:
        parts += storage_parts(catalog, system, order.count, order.storage_tb or 0.0)
    if "hosts" in include:
        parts += service_nodes(catalog, system, order.machines)
        if order.storage_tb is None:
            parts += checkpoint_parts(catalog, system, order.machines)
        parts += management_parts(catalog, system, parts)
    return parts, network


def _network(
    catalog: Catalog, order: Order, bought: Sequence[BillPart]
) -> tuple[NetworkBill | None, list[BillPart]]:
    """Return the network between machines and its lines, with the cables inside pods."""
    system = order.system
    own = list(pod_cables(catalog, system, order.count)) if system.machine.chip.kind is ChipKind.IPU else []
    if order.whole_price is not None:
        own = [included(line, order.whole_price, system.name) for line in own]
    joined = order.joined(catalog)
    bill = None
    if joined or (
        system.machine.chip.kind is ChipKind.GPU and order.machines > machines_linked(catalog, system)
    ):
        bill = listed_network(
            catalog,
            fabric=order.fabric,
            nodes=order.machines,
            ports_per_node=order.ports_per_node,
            oversubscription=order.oversubscription,
            machine=system.machine.id,
        )
    if bill is None:
        return None, own + ([unlisted_network(catalog, bought)] if joined else [])
    lines = list(bill.lines)
    if not joined and order.whole_price is not None:
        lines = [included(line, order.whole_price, system.name) for line in lines]
    return bill, own + lines
