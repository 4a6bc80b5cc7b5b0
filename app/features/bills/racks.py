"""Machines into racks: under height, power and weight, pods whole, switches at the top."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind, SystemEntry
from app.errors import Message
from app.estimating.network_parts import BillPart, part
from app.features.bills.parts import CLUSTER, SWITCHES, machines_linked

UNPOWERED = frozenset({"spare_machine", "spare_host"})
"""What stands in a rack without power."""

MOST_SWITCHES_BESIDE = 4
"""Loose switches that still go into the racks of machines; more have racks of their own."""


@dataclass(frozen=True, slots=True)
class RackLimits:
    """What one rack takes."""

    height: int
    """[U]"""
    power: float
    """[W]"""
    weight: float
    """[kg]"""


@dataclass(frozen=True, slots=True)
class RackUnit:
    """One thing in a rack."""

    item: str
    name: str
    use: str
    height: int
    """[U]"""
    typical: float
    """[W]"""
    greatest: float
    """[W]"""
    weight: float
    """[kg]"""


Block = tuple[RackUnit, ...]
"""What stays in one rack."""


@dataclass(slots=True)
class Packed:
    """One rack while it is filled."""

    units: list[RackUnit] = field(default_factory=list)

    @property
    def height(self) -> int:
        """Height in use. [U]"""
        return sum(unit.height for unit in self.units)

    @property
    def greatest(self) -> float:
        """Greatest power. [W]"""
        return sum(unit.greatest for unit in self.units)

    @property
    def typical(self) -> float:
        """Power under the training load. [W]"""
        return sum(unit.typical for unit in self.units)

    @property
    def weight(self) -> float:
        """Weight of what it carries. [kg]"""
        return sum(unit.weight for unit in self.units)

    def takes(self, block: Block, limits: RackLimits) -> bool:
        """Tell whether a block still fits; an empty rack takes any block that is not too high."""
        if self.height + sum(unit.height for unit in block) > limits.height:
            return False
        if not self.units:
            return True
        return (
            self.greatest + sum(unit.greatest for unit in block) <= limits.power
            and self.weight + sum(unit.weight for unit in block) <= limits.weight
        )


def unit_of(line: BillPart) -> RackUnit:
    """Return one of a line as it stands in a rack."""
    powered = line.use not in UNPOWERED
    typical = 0.0 if line.power_typical is None or not powered else line.power_typical.si
    greatest = 0.0 if line.greatest is None or not powered else line.greatest.si
    weight = 0.0 if line.weight is None else line.weight.si
    return RackUnit(line.item, line.name, line.use, math.ceil(line.height), typical, greatest, weight)


def blocks_of(catalog: Catalog, system: SystemEntry, count: int, parts: Sequence[BillPart]) -> list[Block]:
    """Return what has to stand together: machines that IPU-Links join with their hosts and switches."""
    standing = [line for line in parts if line.height > 0 and line.use != "spare_switch"]
    if system.chip_kind is not ChipKind.IPU:
        return [(unit_of(line),) for line in _ordered(standing) for _ in range(line.count)]
    groups = count * math.ceil(system.machines / machines_linked(catalog, system))
    blocks: list[list[RackUnit]] = [[] for _ in range(groups)]
    loose: list[Block] = []
    for line in standing:
        unit = unit_of(line)
        own = line.use in ("machine", "host", "host_switch", "gateway_switch") or (
            line.use == "management_switch" and line.count % groups == 0
        )
        for number in range(line.count):
            if own:
                # Fewer of a kind than blocks go into the first ones, as the GW-Link switches do.
                blocks[number * groups // line.count if line.count >= groups else number].append(unit)
            else:
                loose.append((unit,))
    return [tuple(block) for block in blocks] + loose


def _ordered(parts: Sequence[BillPart]) -> Iterable[BillPart]:
    """Machines first, then storage and spares, switches last."""
    return sorted(parts, key=lambda line: (line.use in SWITCHES, line.use != "machine"))


def pack(blocks: Sequence[Block], limits: RackLimits) -> list[Packed]:
    """Return filled racks: blocks in their order, each rack as full as its limits allow."""
    switches = [block for block in blocks if all(unit.use in SWITCHES for unit in block)]
    racks: list[Packed] = []
    for block in blocks:
        if all(unit.use in SWITCHES for unit in block):
            continue
        if not racks or not racks[-1].takes(block, limits):
            racks.append(Packed())
        racks[-1].units.extend(block)
    if len(switches) <= MOST_SWITCHES_BESIDE:
        # Racks in the middle of the row first, for the sake of short cables.
        middle = (len(racks) - 1) / 2
        near = sorted(range(len(racks)), key=lambda index: abs(index - middle))
        for block in switches:
            rack = next((racks[index] for index in near if racks[index].takes(block, limits)), None)
            if rack is None:
                rack = Packed()
                racks.append(rack)
            rack.units.extend(block)
        return racks
    network: list[Packed] = []
    for block in switches:
        if not network or not network[-1].takes(block, limits):
            network.append(Packed())
        network[-1].units.extend(block)
    return racks + network


def limits_of(catalog: Catalog, height: int, power: float | None) -> tuple[str, RackLimits]:
    """Return the rack of a height and what it takes; a power limit of one's own comes first."""
    item = f"rack-{height}u"
    usable, weight = catalog.figure(item, "usable_units"), catalog.figure(item, "load_limit")
    allowed = catalog.figure(item, "rack_power").si if power is None else power
    return item, RackLimits(round(usable.si), allowed, weight.si)


def rack_parts(catalog: Catalog, item: str, racks: Sequence[Packed]) -> Iterable[BillPart]:
    """Give the lines of racks and power strips."""
    strip = catalog.figure(CLUSTER, "rack_pdu").text
    capacity, feeds = catalog.figure(strip, "power_capacity").si, round(catalog.figure(CLUSTER, "feeds").si)
    strips = sum(max(math.ceil(rack.greatest / capacity), 1) for rack in racks) * feeds
    rule = Message(
        "racks needed within the limits on height, power and weight: {racks}", {"racks": len(racks)}
    )
    yield part(catalog, item, "racks", "rack", len(racks), rule)
    rule = Message(
        "{feeds} feeds, each able to carry the rack alone, {each} kW per PDU",
        {"feeds": feeds, "each": capacity / 1000.0},
    )
    yield part(catalog, strip, "racks", "rack_pdu", strips, rule)
