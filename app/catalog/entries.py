"""Entries of the catalogue, and figures derived from others by formula."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from app.catalog.figures import DerivedQuantity, Figure, Spread
from app.catalog.lookup import Lookup
from app.catalog.records import PEAKS, USUAL_ENTRY, is_ipu, known_figure, machine_name, usual_figures
from app.engine.records import Intra, Precision
from app.errors import NotFound

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


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An item with its accepted figures and the rejected claims."""

    id: str
    name: str
    maker: str
    figures: tuple[Figure, ...]
    rejected: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ChipEntry(Entry):
    kind: ChipKind


@dataclass(frozen=True, slots=True, eq=False)
class MachineEntry(Entry):
    chip: ChipEntry
    devices: int
    intra: Intra


@dataclass(frozen=True, slots=True, eq=False)
class FabricEntry(Entry):
    protocol: str


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A number of one item; unpublished figures are None."""

    item: str
    name: str
    count: int
    price: Figure | None = None
    power_typical: Figure | None = None
    power_max: Figure | None = None
    rack_units: Figure | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SystemEntry(Entry):
    """A system to buy or rent: machines, their hosts, and switches that come with a pod."""

    machine: MachineEntry
    machines: int
    hosts: int
    fabric: str
    ports_per_node: int
    acquisition: Acquisition
    availability: str
    bill: tuple[SystemPart, ...]
    price: Spread | None
    """Price of the whole, else the sum of the bill if every part has a price; None if rented. [USD]"""
    whole_price: Figure | None
    """Price of a system of several parts, where a price book states one. [USD]"""
    price_hour: Figure | None
    """Newest rent on demand of a rented system. [USD/h]"""
    most_rented: int | None
    """Systems that one order on demand holds at most; None where it is owned or no limit is known."""
    power_typical: Spread
    """Under a training load. [W]"""
    power_max: Spread
    """[W]"""
    rack_units: float
    """Machines, hosts and switches. [U]"""

    @property
    def devices(self) -> int:
        return self.machines * self.machine.devices


def _shared(lookup: Lookup, kind: str, name: str) -> dict[str, Any]:
    item = lookup.item(kind, name)
    usual = usual_figures(lookup, kind, name) if kind in USUAL_ENTRY and _of_gpus(lookup, kind, name) else ()
    figures = {"figures": (*lookup.figures_of(name), *usual), "rejected": lookup.rejected(name)}
    # A generic server has the identifier of its chips, but not their name.
    own = lookup.find(name, "chip_name") if kind == "chip" else None
    return {"id": item.id, "name": own.text if own else item.name, "maker": item.maker, **figures}


def _of_gpus(lookup: Lookup, kind: str, name: str) -> bool:
    chip = name if kind == "chip" else lookup.figure(machine_name(lookup, name), "chip").text
    return not is_ipu(lookup, chip)


@lru_cache(maxsize=1024)
def chip_entry(lookup: Lookup, name: str) -> ChipEntry:
    kind = ChipKind.IPU if is_ipu(lookup, name) else ChipKind.GPU
    return ChipEntry(**_shared(lookup, "chip", name), kind=kind)


def machine_entry(lookup: Lookup, name: str) -> MachineEntry:
    shared = _shared(lookup, "machine", name)
    chip, intra = (lookup.figure(name, parameter).text for parameter in ("chip", "intra"))
    devices = round(lookup.figure(name, "devices").si)
    return MachineEntry(**shared, chip=chip_entry(lookup, chip), devices=devices, intra=Intra(intra))


def fabric_entry(lookup: Lookup, name: str) -> FabricEntry:
    shared = _shared(lookup, "fabric", name)
    return FabricEntry(**shared, protocol=lookup.figure(name, "protocol").text)


@lru_cache(maxsize=1024)
def system_entry(lookup: Lookup, name: str) -> SystemEntry:
    """Return a system with its bill, price and power added up."""
    shared = _shared(lookup, "system", name)

    def count(parameter: str) -> int:
        return round(known_figure(lookup, "system", name, parameter).si)

    def text(parameter: str) -> str:
        return known_figure(lookup, "system", name, parameter).text

    machine = machine_entry(lookup, machine_name(lookup, name))
    bill = _bill(lookup, name, machine.id, count("machines"), count("hosts"))
    acquisition = Acquisition(text("acquisition"))
    owned = acquisition is Acquisition.OWN
    most = lookup.find(name, "most_rented")
    whole = lookup.find(name, "price") if owned and name != machine.id else None
    priced = [(line.count, line.price) for line in bill] if whole is None else [(1, whole)]
    return SystemEntry(
        **shared,
        machine=machine,
        machines=count("machines"),
        hosts=count("hosts"),
        fabric=text("fabric"),
        ports_per_node=count("ports_per_node"),
        acquisition=acquisition,
        availability=text("availability"),
        bill=bill,
        price=total(priced, "USD") if owned and all(price for _, price in priced) else None,
        whole_price=whole,
        price_hour=None if owned else lookup.find(name, "price_hour"),
        most_rented=None if owned or most is None else round(most.si),
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
    parameters = ("price", "power_typical", "power_max", "rack_units")
    return tuple(
        SystemPart(item, lookup.items[item].name, count, *(lookup.find(item, name) for name in parameters))
        for item, count in counts
        if count
    )


def total(parts: Iterable[tuple[int, Figure | None]], unit: str) -> Spread:
    """Add up counts of figures in SI units; parts without a figure add nothing."""
    stated = [(count, figure) for count, figure in parts if figure is not None]
    return Spread(
        sum(count * figure.si for count, figure in stated),
        sum(count * figure.si_low for count, figure in stated),
        sum(count * figure.si_high for count, figure in stated),
        unit,
    )


FMA = 2.0
"""Operations of one fused multiply-add."""
FP32_SHARE = 4.0
"""fp16.16 products per fp32 product on an IPU."""

OTHER_PEAKS = {
    "fp8_dense": "peak_fp8_dense",
    "nvfp4_dense": "peak_nvfp4_dense",
    "fp16_sparse": "peak_fp16_sparse",
    "tf32_sparse": "peak_tf32_sparse",
    "fp8_sparse": "peak_fp8_sparse",
}

USUAL_PEAKS = ("fp16_dense", "bf16_dense")
"""Half-precision peaks in order of preference; TPUs have bf16 only."""


@lru_cache(maxsize=1024)
def chip_peaks(lookup: Lookup, chip: str) -> tuple[DerivedQuantity, ...]:
    """Return the peaks of a chip by name: ``fp16_dense``, ``tf32_dense``, ``fp32``, ``fp16_sparse`` …

    On an IPU ``fp16_dense`` and ``fp16.16_dense`` are the fp16.16 peak, from tiles and clock.
    """
    if chip_entry(lookup, chip).kind is ChipKind.IPU:
        inputs = tuple(lookup.figure(chip, name) for name in ("tiles", "products_per_cycle", "clock"))
        half = inputs[0].si * inputs[1].si * FMA * inputs[2].si
        text = "tiles × products per cycle × 2 × clock"
        return (
            DerivedQuantity("fp16_dense", half, "FLOP/s", text, inputs),
            DerivedQuantity("fp16.16_dense", half, "FLOP/s", text, inputs),
            DerivedQuantity("fp32", half / FP32_SHARE, "FLOP/s", f"{text} / 4", inputs),
        )
    dense = {
        ("fp32" if precision is Precision.FP32 else f"{precision}_dense"): parameter
        for precision, parameter in PEAKS.items()
    }
    peaks = []
    for name, parameter in (dense | OTHER_PEAKS).items():
        figure = lookup.find(chip, parameter)
        if figure is not None:
            peaks.append(DerivedQuantity(name, figure.si, "FLOP/s", "as published", (figure,)))
    return tuple(peaks)


def usual_peak(lookup: Lookup, chip: str) -> DerivedQuantity:
    """Return the dense half-precision peak of a chip."""
    peaks = {peak.name: peak for peak in chip_peaks(lookup, chip)}
    name = next((name for name in USUAL_PEAKS if name in peaks), "")
    if not name:
        raise NotFound.named("peak", USUAL_PEAKS[0], peaks)
    return peaks[name]


def chip_derived(lookup: Lookup, chip: str) -> tuple[DerivedQuantity, ...]:
    """Return the figures derived for a chip: peaks, on-chip memory and bandwidths, ridge points."""
    peaks = chip_peaks(lookup, chip)
    half = next((peak for peak in peaks if peak.name == "fp16_dense"), None)
    derived = [peak for peak in peaks if peak.formula != "as published"]
    if chip_entry(lookup, chip).kind is ChipKind.GPU:
        bandwidth = lookup.figure(chip, "memory_bandwidth")
        for peak in peaks:
            if peak.name in (usual_peak(lookup, chip).name, "tf32_dense"):
                ridge = peak.value / bandwidth.si
                inputs = (*peak.inputs, bandwidth)
                text = "dense peak / memory bandwidth"
                derived.append(DerivedQuantity(f"ridge_{peak.name}", ridge, "FLOP/B", text, inputs))
        return tuple(derived)
    tiles, sram, clock = (lookup.figure(chip, name) for name in ("tiles", "sram_per_tile", "clock"))
    load, exchange = (
        lookup.figure(chip, name) for name in ("sram_bytes_per_cycle", "exchange_bytes_per_cycle")
    )
    memory = tiles.si * load.si * clock.si
    derived += [
        DerivedQuantity("sram", tiles.si * sram.si, "B", "tiles × SRAM per tile", (tiles, sram)),
        DerivedQuantity(
            "sram_bandwidth", memory, "B/s", "tiles × bytes per cycle × clock", (tiles, load, clock)
        ),
        DerivedQuantity(
            "exchange_bandwidth",
            tiles.si * exchange.si * clock.si,
            "B/s",
            "tiles × exchanged bytes per cycle × clock",
            (tiles, exchange, clock),
        ),
    ]
    if half is not None:
        text = "peak / SRAM bandwidth"
        derived.append(
            DerivedQuantity("ridge_sram", half.value / memory, "FLOP/B", text, (*half.inputs, load))
        )
    return tuple(derived)


def system_derived(lookup: Lookup, system: str) -> tuple[DerivedQuantity, ...]:
    """Return the figures derived for a system: accelerators, peaks, memory totals, rails, ridge points."""
    entry = system_entry(lookup, system)
    machines = known_figure(lookup, "system", system, "machines")
    per_machine = lookup.figure(entry.machine.id, "devices")
    count = (machines, per_machine)
    derived = [
        DerivedQuantity("accelerators", entry.devices, "1", "machines × accelerators per machine", count)
    ]
    derived += [
        DerivedQuantity(
            f"peak_{peak.name}",
            entry.devices * peak.value,
            "FLOP/s",
            f"accelerators × {peak.name}",
            (*count, *peak.inputs),
        )
        for peak in chip_peaks(lookup, entry.machine.chip.id)
    ]
    for part in chip_derived(lookup, entry.machine.chip.id):
        if part.name == "sram":
            total = entry.devices * part.value
            derived.append(
                DerivedQuantity("sram", total, "B", f"accelerators × {part.formula}", (*count, *part.inputs))
            )
        elif part.name.startswith("ridge"):
            derived.append(part)
    ports = lookup.figure(system, "ports_per_node")
    rate = lookup.figure(entry.fabric, "line_rate")
    derived.append(DerivedQuantity("rails", ports.si, "1", "ports per node: one rail each", (ports,)))
    node = ports.si * rate.si
    derived.append(
        DerivedQuantity("node_line_rate", node, "B/s", "ports per node × line rate", (ports, rate))
    )
    if entry.machine.chip.kind is ChipKind.IPU:
        return (*derived, *_streaming(lookup, entry.machine.id, entry.machines, derived))
    memory = lookup.figure(entry.machine.chip.id, "memory_capacity")
    text = "accelerators × memory"
    return (*derived, DerivedQuantity("memory", entry.devices * memory.si, "B", text, (*count, memory)))


def _streaming(
    lookup: Lookup, machine: str, machines: int, peaks: list[DerivedQuantity]
) -> list[DerivedQuantity]:
    """Return streaming memory by option, its bandwidth, and the ridge point towards it."""
    derived = []
    for condition in lookup.conditions(machine, "streaming_memory"):
        memory = lookup.figure(machine, "streaming_memory", condition)
        name = f"streaming_memory ({condition})" if condition else "streaming_memory"
        derived.append(
            DerivedQuantity(name, machines * memory.si, "B", "machines × streaming memory", (memory,))
        )
    bandwidth = lookup.figure(machine, "streaming_bandwidth_peak")
    total = machines * bandwidth.si
    derived.append(
        DerivedQuantity("streaming_bandwidth", total, "B/s", "machines × streaming bandwidth", (bandwidth,))
    )
    peak = next(part for part in peaks if part.name == "peak_fp16_dense")
    text = "peak / streaming bandwidth"
    ridge = DerivedQuantity("ridge_streaming", peak.value / total, "FLOP/B", text, (*peak.inputs, bandwidth))
    return [*derived, ridge]
