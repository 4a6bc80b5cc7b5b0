"""Chips, machines, systems and fabrics as the catalogue pages and the sizing layer see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from app.catalog.figures import Figure, Spread
from app.catalog.lookup import Lookup
from app.catalog.records import is_ipu
from app.engine.records import Intra

HOST = "host-server"
"""Identifier of the server that IPU machines are driven by."""


class ChipKind(StrEnum):
    """Architecture of an accelerator; decides which engine times it."""

    GPU = "gpu"
    IPU = "ipu"


class Acquisition(StrEnum):
    """Whether a system is bought or rented by the hour."""

    OWN = "own"
    RENT = "rent"


@dataclass(frozen=True, slots=True)
class Entry:
    """An item with its accepted figures and the competing claims that are not used."""

    id: str
    name: str
    maker: str
    figures: tuple[Figure, ...]
    rejected: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class ChipEntry(Entry):
    """An accelerator."""

    kind: ChipKind


@dataclass(frozen=True, slots=True)
class MachineEntry(Entry):
    """A node or an IPU machine."""

    chip: str
    devices: int
    intra: Intra


@dataclass(frozen=True, slots=True)
class FabricEntry(Entry):
    """A scale-out network, per port."""

    protocol: str


@dataclass(frozen=True, slots=True)
class SystemPart:
    """Parts of one kind inside one system; a price or a power nobody publishes is None."""

    item: str
    name: str
    count: int
    price: Figure | None
    power_typical: Figure | None
    power_max: Figure | None
    rack_units: Figure | None


@dataclass(frozen=True, slots=True)
class SystemEntry(Entry):
    """What is bought or rented: machines, the hosts they need, switches that come with a pod."""

    machine: str
    machines: int
    devices_per_machine: int
    chip: str
    chip_kind: ChipKind
    intra: Intra
    hosts: int
    fabric: str
    ports_per_node: int
    acquisition: Acquisition
    availability: str
    bill: tuple[SystemPart, ...]
    price: Spread | None
    """Of the whole where one is stated, else the sum of the bill where every part has a price; None for
    rented systems. [USD]"""
    whole_price: Figure | None
    """Of a system of several parts, where a price book states one. [USD]"""
    price_hour: Figure | None
    """Newest rent on demand of a rented system. [USD/h]"""
    power_typical: Spread
    """Under a training load. [W]"""
    power_max: Spread
    """[W]"""
    rack_units: float
    """Machines, hosts and switches. [U]"""

    @property
    def devices(self) -> int:
        """Accelerators of one system."""
        return self.machines * self.devices_per_machine


def entry_of(lookup: Lookup, kind: str, name: str) -> Entry:
    """Return an item with its figures; items of several kinds show all of them."""
    item = lookup.item(kind, name)
    return Entry(item.id, item.name, item.maker, lookup.figures_of(name), lookup.rejected(name))


def _shared(entry: Entry) -> tuple[str, str, str, tuple[Figure, ...], tuple[Figure, ...]]:
    return entry.id, entry.name, entry.maker, entry.figures, entry.rejected


def chip_entry(lookup: Lookup, name: str) -> ChipEntry:
    """Return a chip."""
    kind = ChipKind.IPU if is_ipu(lookup, name) else ChipKind.GPU
    return ChipEntry(*_shared(entry_of(lookup, "chip", name)), kind)


def machine_entry(lookup: Lookup, name: str) -> MachineEntry:
    """Return a machine."""
    shared = _shared(entry_of(lookup, "machine", name))
    devices = round(lookup.figure(name, "devices").si)
    chip, intra = lookup.figure(name, "chip").text, Intra(lookup.figure(name, "intra").text)
    return MachineEntry(*shared, chip, devices, intra)


def fabric_entry(lookup: Lookup, name: str) -> FabricEntry:
    """Return a fabric."""
    shared = _shared(entry_of(lookup, "fabric", name))
    return FabricEntry(*shared, lookup.figure(name, "protocol").text)


def system_entry(lookup: Lookup, name: str) -> SystemEntry:
    """Return a system with its bill, price and power added up."""
    shared = _shared(entry_of(lookup, "system", name))

    def count(parameter: str) -> int:
        return round(lookup.figure(name, parameter).si)

    def text(parameter: str) -> str:
        return lookup.figure(name, parameter).text

    machine = machine_entry(lookup, text("machine"))
    bill = _bill(lookup, name, machine.id, count("machines"), count("hosts"))
    acquisition = Acquisition(text("acquisition"))
    owned = acquisition is Acquisition.OWN
    whole = lookup.find(name, "price") if owned and name != machine.id else None
    priced = [(line.count, line.price) for line in bill] if whole is None else [(1, whole)]
    return SystemEntry(
        *shared,
        machine=machine.id,
        machines=count("machines"),
        devices_per_machine=machine.devices,
        chip=machine.chip,
        chip_kind=chip_entry(lookup, machine.chip).kind,
        intra=machine.intra,
        hosts=count("hosts"),
        fabric=text("fabric"),
        ports_per_node=count("ports_per_node"),
        acquisition=acquisition,
        availability=text("availability"),
        bill=bill,
        price=total(priced, "USD") if owned and all(price for _, price in priced) else None,
        whole_price=whole,
        price_hour=None if owned else lookup.find(name, "price_hour"),
        power_typical=total(((line.count, line.power_typical) for line in bill), "W"),
        power_max=total(((line.count, line.power_max or line.power_typical) for line in bill), "W"),
        rack_units=total(((line.count, line.rack_units) for line in bill), "U").value,
    )


def _bill(lookup: Lookup, system: str, machine: str, machines: int, hosts: int) -> tuple[SystemPart, ...]:
    counts = [(machine, machines), (HOST, hosts)]
    counts += [
        (condition, round(lookup.figure(system, "part", condition).si))
        for condition in lookup.conditions(system, "part")
    ]
    return tuple(
        SystemPart(
            item,
            lookup.items[item].name,
            count,
            lookup.find(item, "price"),
            lookup.find(item, "power_typical"),
            lookup.find(item, "power_max"),
            lookup.find(item, "rack_units"),
        )
        for item, count in counts
        if count
    )


def total(parts: Iterable[tuple[int, Figure | None]], unit: str) -> Spread:
    """Add up counts of figures in SI units; parts without a figure add nothing."""
    known = [(count, figure) for count, figure in parts if figure is not None]
    return Spread(
        sum(count * figure.si for count, figure in known),
        sum(count * figure.si_low for count, figure in known),
        sum(count * figure.si_high for count, figure in known),
        unit,
    )
