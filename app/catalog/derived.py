"""Figures that follow from others: computed with the formula shown, never stored."""

from __future__ import annotations

from app.catalog.entries import ChipKind, chip_entry, system_entry
from app.catalog.figures import Derived
from app.catalog.lookup import Lookup
from app.catalog.records import PEAKS
from app.engine.records import Precision

FMA = 2.0
"""Operations of one fused multiply-add."""
FP32_SHARE = 4.0
"""fp16.16 products per fp32 product on an IPU."""
SPARSE = {"fp16_sparse": "peak_fp16_sparse", "tf32_sparse": "peak_tf32_sparse"}


def chip_peaks(lookup: Lookup, chip: str) -> tuple[Derived, ...]:
    """Return the peaks of a chip by name: ``fp16_dense``, ``tf32_dense``, ``fp32``, ``fp16_sparse`` …

    On an IPU ``fp16_dense`` and ``fp16.16_dense`` are the fp16.16 peak, from tiles and clock.
    """
    if chip_entry(lookup, chip).kind is ChipKind.IPU:
        inputs = tuple(lookup.figure(chip, name) for name in ("tiles", "products_per_cycle", "clock"))
        half = inputs[0].si * inputs[1].si * FMA * inputs[2].si
        text = "tiles × products per cycle × 2 × clock"
        return (
            Derived("fp16_dense", half, "FLOP/s", text, inputs),
            Derived("fp16.16_dense", half, "FLOP/s", text, inputs),
            Derived("fp32", half / FP32_SHARE, "FLOP/s", f"{text} / 4", inputs),
        )
    named = {
        ("fp32" if precision is Precision.FP32 else f"{precision}_dense"): parameter
        for precision, parameter in PEAKS.items()
    }
    peaks = []
    for name, parameter in (named | SPARSE).items():
        figure = lookup.find(chip, parameter)
        if figure is not None:
            peaks.append(Derived(name, figure.si, "FLOP/s", "as published", (figure,)))
    return tuple(peaks)


def chip_derived(lookup: Lookup, chip: str) -> tuple[Derived, ...]:
    """Return what follows for one chip: peaks, on-chip memory and bandwidths, ridge points."""
    peaks = chip_peaks(lookup, chip)
    half = next((peak for peak in peaks if peak.name == "fp16_dense"), None)
    derived = [peak for peak in peaks if peak.formula != "as published"]
    if chip_entry(lookup, chip).kind is ChipKind.GPU:
        bandwidth = lookup.figure(chip, "memory_bandwidth")
        for peak in peaks:
            if peak.name in ("fp16_dense", "tf32_dense"):
                ridge = peak.value / bandwidth.si
                inputs = (*peak.inputs, bandwidth)
                text = "dense peak / memory bandwidth"
                derived.append(Derived(f"ridge_{peak.name}", ridge, "FLOP/B", text, inputs))
        return tuple(derived)
    tiles, sram, clock = (lookup.figure(chip, name) for name in ("tiles", "sram_per_tile", "clock"))
    load, exchange = (
        lookup.figure(chip, name) for name in ("sram_bytes_per_cycle", "exchange_bytes_per_cycle")
    )
    memory = tiles.si * load.si * clock.si
    derived += [
        Derived("sram", tiles.si * sram.si, "B", "tiles × SRAM per tile", (tiles, sram)),
        Derived("sram_bandwidth", memory, "B/s", "tiles × bytes per cycle × clock", (tiles, load, clock)),
        Derived(
            "exchange_bandwidth",
            tiles.si * exchange.si * clock.si,
            "B/s",
            "tiles × exchanged bytes per cycle × clock",
            (tiles, exchange, clock),
        ),
    ]
    if half is not None:
        text = "peak / SRAM bandwidth"
        derived.append(Derived("ridge_sram", half.value / memory, "FLOP/B", text, (*half.inputs, load)))
    return tuple(derived)


def system_derived(lookup: Lookup, system: str) -> tuple[Derived, ...]:
    """Return what follows for a system: accelerators, peaks, memory totals, rails, ridge points."""
    entry = system_entry(lookup, system)
    machines = lookup.figure(system, "machines")
    each = lookup.figure(entry.machine, "devices")
    count = (machines, each)
    derived = [Derived("accelerators", entry.devices, "1", "machines × accelerators per machine", count)]
    derived += [
        Derived(
            f"peak_{peak.name}",
            entry.devices * peak.value,
            "FLOP/s",
            f"accelerators × {peak.name}",
            (*count, *peak.inputs),
        )
        for peak in chip_peaks(lookup, entry.chip)
    ]
    for part in chip_derived(lookup, entry.chip):
        if part.name == "sram":
            total = entry.devices * part.value
            derived.append(
                Derived("sram", total, "B", f"accelerators × {part.formula}", (*count, *part.inputs))
            )
        elif part.name.startswith("ridge"):
            derived.append(part)
    ports = lookup.figure(system, "ports_per_node")
    rate = lookup.figure(entry.fabric, "line_rate")
    derived.append(Derived("rails", ports.si, "1", "ports per node: one rail each", (ports,)))
    node = ports.si * rate.si
    derived.append(Derived("node_line_rate", node, "B/s", "ports per node × line rate", (ports, rate)))
    if entry.chip_kind is ChipKind.IPU:
        return (*derived, *_streaming(lookup, entry.machine, entry.machines, derived))
    memory = lookup.figure(entry.chip, "memory_capacity")
    text = "accelerators × memory"
    return (*derived, Derived("memory", entry.devices * memory.si, "B", text, (*count, memory)))


def _streaming(lookup: Lookup, machine: str, machines: int, known: list[Derived]) -> list[Derived]:
    """Streaming memory by option and its bandwidth, and the ridge point towards it."""
    derived = []
    for condition in lookup.conditions(machine, "streaming_memory"):
        memory = lookup.figure(machine, "streaming_memory", condition)
        name = f"streaming_memory ({condition})" if condition else "streaming_memory"
        derived.append(Derived(name, machines * memory.si, "B", "machines × streaming memory", (memory,)))
    bandwidth = lookup.figure(machine, "streaming_bandwidth_peak")
    total = machines * bandwidth.si
    derived.append(
        Derived("streaming_bandwidth", total, "B/s", "machines × streaming bandwidth", (bandwidth,))
    )
    peak = next(part for part in known if part.name == "peak_fp16_dense")
    text = "peak / streaming bandwidth"
    ridge = Derived("ridge_streaming", peak.value / total, "FLOP/B", text, (*peak.inputs, bandwidth))
    return [*derived, ridge]
