"""Build the engine's records from figures, and say which figure each field came from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from app.catalog.figures import Figure, Lookup
from app.engine.records import Fabric, Floats, GpuChip, Intra, IpuChip, Machine, Precision
from app.errors import BadInput, Conflict, NotFound

PEAKS = {
    Precision.BF16: "peak_bf16_dense",
    Precision.FP16: "peak_fp16_dense",
    Precision.TF32: "peak_tf32_dense",
    Precision.FP32: "peak_fp32",
    Precision.FP8: "peak_fp8_dense",
    Precision.MXFP8: "peak_fp8_dense",
    Precision.NVFP4: "peak_nvfp4_dense",
}
Figures = Mapping[str, Figure]
"""Figure by the name of the record's field."""


def is_ipu(lookup: Lookup, chip_id: str) -> bool:
    """Tell an IPU from a GPU by its tiles."""
    return lookup.find(chip_id, "tiles") is not None


def _same_named(
    lookup: Lookup, item: str, record: type[Any], skipped: Collection[str] = ()
) -> dict[str, Figure]:
    """Return the figures of an item that are called as the fields of a record."""
    names = (field.name for field in dataclasses.fields(record) if field.name not in skipped)
    return {name: lookup.figure(item, name) for name in names}


def gpu_figures(lookup: Lookup, chip_id: str) -> Figures:
    """Return the figures of a GPU's record; the peaks by "matrix_peak." and the precision."""
    lookup.item("chip", chip_id)
    if is_ipu(lookup, chip_id):
        raise NotFound.named(
            "GPU", chip_id, (name for name in lookup.names("chip") if not is_ipu(lookup, name))
        )
    figures = _same_named(lookup, chip_id, GpuChip, {"name", "matrix_peak", "narrow_clock"})
    narrow = lookup.find(chip_id, "sustained_clock", "fp8")
    figures["narrow_clock"] = figures["sustained_clock"] if narrow is None else narrow
    for precision, parameter in PEAKS.items():
        peak = lookup.find(chip_id, parameter)
        if peak is not None:
            figures[f"matrix_peak.{precision}"] = peak
    return figures


def gpu_chip(lookup: Lookup, chip_id: str) -> GpuChip:
    figures = gpu_figures(lookup, chip_id)
    numbers: dict[str, Any] = {name: figure.si for name, figure in figures.items() if "." not in name}
    named = {precision: f"matrix_peak.{precision}" for precision in PEAKS}
    numbers["matrix_peak"] = {key: figures[name].si for key, name in named.items() if name in figures}
    numbers["multiprocessors"] = round(numbers["multiprocessors"])
    numbers["matrix_units"] = numbers["matrix_units"] > 0
    return GpuChip(name=chip_id, **numbers)


def ipu_figures(lookup: Lookup, chip_id: str) -> Figures:
    """Return the figures of an IPU's record; ``streaming_capacity`` is the memory of its machine."""
    lookup.item("chip", chip_id)
    if not is_ipu(lookup, chip_id):
        raise NotFound.named("IPU", chip_id, (name for name in lookup.names("chip") if is_ipu(lookup, name)))
    figures = _same_named(lookup, chip_id, IpuChip, {"name", "streaming_capacity"})
    figures["streaming_capacity"] = lookup.figure(home_machine(lookup, chip_id), "streaming_memory")
    return figures


def home_machine(lookup: Lookup, chip_id: str) -> str:
    """Return the machine that carries an IPU and its streaming memory."""
    for name in lookup.names("machine"):
        if lookup.figure(name, "chip").text == chip_id and lookup.find(name, "streaming_memory"):
            return name
    raise NotFound.named("machine with streaming memory", chip_id, lookup.names("machine"))


def ipu_chip(lookup: Lookup, chip_id: str, streaming_memory: float | None = None) -> IpuChip:
    """Return the engine's record of an IPU."""
    numbers: dict[str, Any] = {name: figure.si for name, figure in ipu_figures(lookup, chip_id).items()}
    memory = numbers["streaming_capacity"] if streaming_memory is None else streaming_memory
    devices = lookup.figure(home_machine(lookup, chip_id), "devices").si
    numbers["streaming_capacity"] = memory / devices
    numbers |= {name: round(numbers[name]) for name in ("tiles", "pod_size")}
    return IpuChip(name=chip_id, **numbers)


def machine_name(lookup: Lookup, name: str) -> str:
    """Return the machine a system is made of; a machine's own identifier stays."""
    found = lookup.items.get(name)
    if found is not None and "system" in found.kinds:
        return lookup.figure(name, "machine").text
    return lookup.item("machine", name).id


def machine_figures(lookup: Lookup, name: str, devices: int | None = None) -> Figures:
    """Return the figures of a machine's record.

    A bus bandwidth measured on fewer devices ("4 devices") holds up to that number of them.
    """
    machine_id = machine_name(lookup, name)
    fitted = lookup.figure(machine_id, "devices")
    figures = {"devices": fitted, "intra": lookup.figure(machine_id, "intra")}
    wanted = round(fitted.si) if devices is None else devices
    smaller = sorted(
        (int(condition.split()[0]), condition)
        for condition in lookup.conditions(machine_id, "bus_bandwidth")
        if condition
    )
    condition = next((text for measured, text in smaller if wanted <= measured), "")
    figures["bus_bandwidth"] = lookup.figure(machine_id, "bus_bandwidth", condition)
    figures["latency"] = lookup.figure(machine_id, "collective_latency")
    curve = lookup.find(machine_id, "allreduce_curve")
    if curve is not None:
        figures["allreduce_seconds"] = curve
    return figures


def domain_devices(lookup: Lookup, name: str) -> int:
    """Return the accelerators that the fast links of a machine join, those of other machines included."""
    machine_id = machine_name(lookup, name)
    wider = lookup.find(machine_id, "domain_devices")
    return round((lookup.figure(machine_id, "devices") if wider is None else wider).si)


def machine(lookup: Lookup, name: str, devices: int | None = None, bridged: bool = False) -> Machine:
    """Return the engine's record of a machine, of all that its fast links join unless devices are named."""
    figures = machine_figures(lookup, name, devices)
    fitted = domain_devices(lookup, name)
    count = fitted if devices is None else devices
    if count < 1:
        raise BadInput.at("devices", "a machine needs at least 1 accelerator, not {devices}", devices=count)
    if count > fitted:
        message = "{devices} accelerators requested; one {machine} has {fitted}"
        raise Conflict.at("devices", message, devices=count, machine=figures["devices"].item, fitted=fitted)
    bandwidth = figures["bus_bandwidth"].si
    if bridged:
        bandwidth *= lookup.figure(figures["devices"].item, "bridge_gain").si
    size, seconds = _curve(lookup, figures)
    if count > 1:
        seconds = seconds * ((count - 1) / count) / ((fitted - 1) / fitted)
    return Machine(
        name=figures["devices"].item,
        devices=count,
        intra=Intra(figures["intra"].text),
        allreduce_bytes=size,
        allreduce_seconds=seconds,
        bus_bandwidth=bandwidth,
        latency=figures["latency"].si,
    )


def host_memory(lookup: Lookup, name: str) -> float:
    """Return the memory of a machine's host, of a system or machine; 0 where it is not known. [B]"""
    figure = lookup.find(machine_name(lookup, name), "host_memory")
    return 0.0 if figure is None else figure.si


def host_memory_bandwidth(lookup: Lookup, name: str) -> float:
    """Return the bandwidth of the memory of a machine's host; infinite where it is not known. [B/s]"""
    figure = lookup.find(machine_name(lookup, name), "host_memory_bandwidth")
    return math.inf if figure is None else figure.si


def _curve(lookup: Lookup, figures: Figures) -> tuple[Floats, Floats]:
    if "allreduce_seconds" not in figures:
        return np.array([]), np.array([])
    curve = lookup.curves[figures["allreduce_seconds"].text]
    size = np.array([point.x for point in curve.points]) * (curve.x_unit.factor or 1.0)
    seconds = np.array([point.y for point in curve.points]) * (curve.y_unit.factor or 1.0)
    return size, np.maximum.accumulate(seconds)


def fabric_figures(lookup: Lookup, fabric_id: str) -> Figures:
    lookup.item("fabric", fabric_id)
    measured = ("port_bandwidth", "hop_latency", "tree_latency", "message_latency")
    figures = {name: lookup.figure(fabric_id, name) for name in measured}
    return figures | {"tree_share": lookup.figure("double-binary-tree", "tree_share")}


def fabric(lookup: Lookup, fabric_id: str, ports_per_node: int, oversubscription: float = 1.0) -> Fabric:
    """Return the engine's record of a fabric as one node with so many ports sees it."""
    figures = fabric_figures(lookup, fabric_id)
    if ports_per_node < 1:
        raise BadInput.at("ports_per_node", "a node needs at least 1 port, not {ports}", ports=ports_per_node)
    if not oversubscription >= 1.0:
        template = "oversubscription must be 1 or more, not {given}"
        raise BadInput.at("oversubscription", template, given=oversubscription)
    return Fabric(
        name=fabric_id,
        ports_per_node=ports_per_node,
        oversubscription=oversubscription,
        **{name: figure.si for name, figure in figures.items()},
    )
