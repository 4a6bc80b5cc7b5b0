"""Pack machines into racks within height, power and weight, keeping pods together and switches on top."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind, SystemEntry
from app.catalog.figures import Figure
from app.errors import Message
from app.estimating.bill_parts import CLUSTER, SWITCHES, machines_linked
from app.estimating.network_parts import BillPart, part

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
    feeds: int
    """Power feeds of a rack, each able to carry it alone."""
    strip_power: float
    """Power that one PDU can carry. [W]"""


@dataclass(slots=True)
class PackedRack:
    """Machines and switches in one rack, and what they come to."""

    units: list[BillPart] = field(default_factory=list)
    height: int = 0
    """In use. [U]"""
    typical: float = 0.0
    """Power under the training load. [W]"""
    greatest: float = 0.0
    """Greatest power. [W]"""
    weight: float = 0.0
    """Of what it carries. [kg]"""

    @classmethod
    def of(cls, units: Iterable[BillPart]) -> PackedRack:
        """Return single machines and switches that stay together, counted once for all their copies."""
        units = list(units)
        powered = [unit for unit in units if unit.use not in UNPOWERED]
        return cls(
            units,
            sum(math.ceil(unit.height) for unit in units),
            _sum(unit.power_typical for unit in powered),
            _sum(unit.greatest for unit in powered),
            _sum(unit.weight for unit in units),
        )

    def takes(self, block: PackedRack, limits: RackLimits) -> bool:
        """Tell whether a block still fits; an empty rack takes any block that is not too high."""
        if self.height + block.height > limits.height:
            return False
        if not self.units:
            return True
        return self.greatest + block.greatest <= limits.power and self.weight + block.weight <= limits.weight

    def add(self, block: PackedRack) -> None:
        self.units += block.units
        self.height += block.height
        self.typical += block.typical
        self.greatest += block.greatest
        self.weight += block.weight


def _sum(figures: Iterable[Figure | None]) -> float:
    """Add up the figures that are known."""
    return sum(figure.si for figure in figures if figure is not None)


def blocks_of(
    catalog: Catalog, system: SystemEntry, count: int, parts: Sequence[BillPart]
) -> list[PackedRack]:
    """Return the blocks that share a rack: machines joined by their own links, with hosts and switches."""
    in_racks = [line for line in parts if line.height > 0 and line.use != "spare_switch"]
    if system.machine.chip.kind is not ChipKind.IPU:
        # Machines first, then storage and spares, switches last.
        in_racks.sort(key=lambda line: (line.use in SWITCHES, line.use != "machine"))
        together = machines_linked(catalog, system)
        blocks: list[PackedRack] = []
        for line in in_racks:
            size = together if line.use == "machine" else 1
            blocks += [PackedRack.of([line] * size)] * (line.count // size)
        return blocks
    groups = count * math.ceil(system.machines / machines_linked(catalog, system))
    linked: list[list[BillPart]] = [[] for _ in range(groups)]
    loose: list[PackedRack] = []
    for line in in_racks:
        own = line.use in ("machine", "host", "host_switch", "gateway_switch") or (
            line.use == "management_switch" and line.count % groups == 0
        )
        if own:
            for number in range(line.count):
                # Fewer of a kind than blocks go into the first ones, as the GW-Link switches do.
                linked[number * groups // line.count if line.count >= groups else number].append(line)
        else:
            loose += [PackedRack.of([line])] * line.count
    # Most groups hold the same lines.
    keys = [tuple(map(id, units)) for units in linked]
    alike = {key: PackedRack.of(units) for key, units in dict(zip(keys, linked, strict=True)).items()}
    return [alike[key] for key in keys] + loose


def pack(blocks: Sequence[PackedRack], limits: RackLimits) -> list[PackedRack]:
    """Fill racks with blocks in their order, each as full as its limits allow."""
    # Most blocks are the same one again.
    network = {
        key: all(unit.use in SWITCHES for unit in block.units)
        for key, block in {id(block): block for block in blocks}.items()
    }
    switches = [block for block in blocks if network[id(block)]]
    racks = _fill([block for block in blocks if not network[id(block)]], limits)
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
        rack.add(block)
    return racks


def _fill(blocks: Iterable[PackedRack], limits: RackLimits) -> list[PackedRack]:
    racks: list[PackedRack] = []
    for block in blocks:
        if not racks or not racks[-1].takes(block, limits):
            racks.append(PackedRack())
        racks[-1].add(block)
    return racks


def limits_of(catalog: Catalog, rack: str, power: float | None) -> RackLimits:
    """Return the limits of a rack; ``power`` replaces that of the catalogue. [W]"""
    usable, weight = catalog.figure(rack, "usable_units"), catalog.figure(rack, "load_limit")
    allowed = catalog.figure(rack, "rack_power").si if power is None else power
    strip = catalog.figure(catalog.figure(CLUSTER, "rack_pdu").text, "power_capacity")
    feeds = round(catalog.figure(CLUSTER, "feeds").si)
    return RackLimits(round(usable.si), allowed, weight.si, feeds, strip.si)


def strips_of(greatest: float, capacity: float) -> int:
    """Return the power strips of a rack on one feed, each able to carry ``capacity``. [W]"""
    return max(math.ceil(greatest / capacity), 1)


def rack_parts(
    catalog: Catalog, rack: str, racks: Sequence[PackedRack], limits: RackLimits
) -> Iterable[BillPart]:
    strip, capacity = catalog.figure(CLUSTER, "rack_pdu").text, limits.strip_power
    strips = sum(strips_of(packed.greatest, capacity) for packed in racks) * limits.feeds
    rule = Message(
        "racks needed within the limits on height, power and weight: {racks}", {"racks": len(racks)}
    )
    over = [packed.greatest for packed in racks if packed.greatest > limits.power]
    if over:
        rule = Message(
            "racks: {racks}; in {over} of them equipment that short links keep together draws up to "
            "{most} kW, above the limit of {limit} kW",
            {"racks": len(racks), "over": len(over), "most": round(max(over) / 1e3, 1),
             "limit": limits.power / 1e3},
        )  # fmt: skip
    yield part(catalog, rack, "racks", "rack", len(racks), rule)
    rule = Message(
        "{feeds} feeds, each able to carry the rack alone, {each} kW per PDU",
        {"feeds": limits.feeds, "each": capacity / 1000.0},
    )
    yield part(catalog, strip, "racks", "rack_pdu", strips, rule)
