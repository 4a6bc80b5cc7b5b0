"""Pack machines into racks within height, power and weight, keeping pods together and switches on top."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind, SystemEntry
from app.catalog.figures import Figure
from app.errors import Message
from app.estimating.network_parts import BillPart, part
from app.features.bills.model import Rack, RackPlacement
from app.features.bills.parts import CLUSTER, SWITCHES, machines_linked

UNPOWERED = frozenset({"spare_machine", "spare_host"})
"""Uses of unpowered equipment in a rack."""

MOST_SWITCHES_BESIDE = 4
"""Loose switches that still go into the racks of machines; more have racks of their own."""


@dataclass(frozen=True, slots=True)
class RackLimits:
    """Limits of one rack."""

    height: int
    """[U]"""
    power: float
    """[W]"""
    weight: float
    """[kg]"""


Block = tuple[BillPart, ...]
"""Single machines and switches that stay in one rack."""


@dataclass(slots=True)
class PackedRack:
    """One rack while it is filled."""

    units: list[BillPart] = field(default_factory=list)

    @property
    def height(self) -> int:
        """Height in use. [U]"""
        return sum(math.ceil(unit.height) for unit in self.units)

    @property
    def typical(self) -> float:
        """Power under the training load. [W]"""
        return _sum(unit.power_typical for unit in self.units if unit.use not in UNPOWERED)

    @property
    def greatest(self) -> float:
        """Greatest power. [W]"""
        return _sum(unit.greatest for unit in self.units if unit.use not in UNPOWERED)

    @property
    def weight(self) -> float:
        """Weight of what it carries. [kg]"""
        return _sum(unit.weight for unit in self.units)

    def takes(self, block: Block, limits: RackLimits) -> bool:
        """Tell whether a block still fits; an empty rack takes any block that is not too high."""
        more = PackedRack(list(block))
        if self.height + more.height > limits.height:
            return False
        if not self.units:
            return True
        return self.greatest + more.greatest <= limits.power and self.weight + more.weight <= limits.weight


def _sum(figures: Iterable[Figure | None]) -> float:
    """Add up the figures that are known."""
    return sum(figure.si for figure in figures if figure is not None)


def blocks_of(catalog: Catalog, system: SystemEntry, count: int, parts: Sequence[BillPart]) -> list[Block]:
    """Return the blocks that share a rack: machines joined by their own links, with hosts and switches."""
    standing = [line for line in parts if line.height > 0 and line.use != "spare_switch"]
    if system.chip_kind is not ChipKind.IPU:
        # Machines first, then storage and spares, switches last.
        standing.sort(key=lambda line: (line.use in SWITCHES, line.use != "machine"))
        together = machines_linked(catalog, system)
        return [
            (line,) * (together if line.use == "machine" else 1)
            for line in standing
            for _ in range(line.count // (together if line.use == "machine" else 1))
        ]
    groups = count * math.ceil(system.machines / machines_linked(catalog, system))
    blocks: list[list[BillPart]] = [[] for _ in range(groups)]
    loose: list[Block] = []
    for line in standing:
        own = line.use in ("machine", "host", "host_switch", "gateway_switch") or (
            line.use == "management_switch" and line.count % groups == 0
        )
        for number in range(line.count):
            if own:
                # Fewer of a kind than blocks go into the first ones, as the GW-Link switches do.
                blocks[number * groups // line.count if line.count >= groups else number].append(line)
            else:
                loose.append((line,))
    return [tuple(block) for block in blocks] + loose


def pack(blocks: Sequence[Block], limits: RackLimits) -> list[PackedRack]:
    """Fill racks with blocks in their order, each as full as its limits allow."""
    switches = [block for block in blocks if _is_network(block)]
    racks = _fill([block for block in blocks if not _is_network(block)], limits)
    if len(switches) > MOST_SWITCHES_BESIDE:
        return racks + _fill(switches, limits)
    # Racks in the middle of the row first, to keep cables short.
    middle = (len(racks) - 1) / 2
    near = sorted(range(len(racks)), key=lambda index: abs(index - middle))
    for block in switches:
        rack = next((racks[index] for index in near if racks[index].takes(block, limits)), None)
        if rack is None:
            rack = PackedRack()
            racks.append(rack)
        rack.units.extend(block)
    return racks


def _is_network(block: Block) -> bool:
    return all(unit.use in SWITCHES for unit in block)


def _fill(blocks: Iterable[Block], limits: RackLimits) -> list[PackedRack]:
    racks: list[PackedRack] = []
    for block in blocks:
        if not racks or not racks[-1].takes(block, limits):
            racks.append(PackedRack())
        racks[-1].units.extend(block)
    return racks


def limits_of(catalog: Catalog, rack: str, power: float | None) -> RackLimits:
    """Return the limits of a rack; ``power`` replaces that of the catalogue. [W]"""
    usable, weight = catalog.figure(rack, "usable_units"), catalog.figure(rack, "load_limit")
    allowed = catalog.figure(rack, "rack_power").si if power is None else power
    return RackLimits(round(usable.si), allowed, weight.si)


def rack_parts(catalog: Catalog, rack: str, racks: Sequence[PackedRack]) -> Iterable[BillPart]:
    strip = catalog.figure(CLUSTER, "rack_pdu").text
    capacity, feeds = catalog.figure(strip, "power_capacity").si, round(catalog.figure(CLUSTER, "feeds").si)
    strips = sum(max(math.ceil(packed.greatest / capacity), 1) for packed in racks) * feeds
    rule = Message(
        "racks needed within the limits on height, power and weight: {racks}", {"racks": len(racks)}
    )
    yield part(catalog, rack, "racks", "rack", len(racks), rule)
    rule = Message(
        "{feeds} feeds, each able to carry the rack alone, {each} kW per PDU",
        {"feeds": feeds, "each": capacity / 1000.0},
    )
    yield part(catalog, strip, "racks", "rack_pdu", strips, rule)


def bill_racks(packed: Sequence[PackedRack], limits: RackLimits) -> list[Rack]:
    """Return the racks in order, identical ones as one."""
    alike: dict[tuple[tuple[str, str], ...], list[PackedRack]] = {}
    for rack in packed:
        alike.setdefault(tuple((unit.item, unit.use) for unit in rack.units), []).append(rack)
    return [
        Rack(
            count=len(racks),
            height=limits.height,
            used=racks[0].height,
            power=racks[0].typical,
            power_max=racks[0].greatest,
            power_limit=limits.power,
            weight=racks[0].weight,
            placements=_placements(racks[0], limits.height),
        )
        for racks in alike.values()
    ]


def _placements(rack: PackedRack, height: int) -> list[RackPlacement]:
    """Machines from the floor up, heavy ones low; switches from the top down."""
    placements: list[RackPlacement] = []
    floor, top = 1, height
    for unit in rack.units:
        size, bottom = math.ceil(unit.height), floor
        if unit.use in SWITCHES:
            top -= size
            bottom = top + 1
        else:
            floor += size
        placements.append(
            RackPlacement(item=unit.item, name=unit.name, use=unit.use, bottom=bottom, height=size)
        )
    return sorted(placements, key=lambda placement: placement.bottom)
