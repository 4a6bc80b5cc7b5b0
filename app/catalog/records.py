"""The engine's records from figures, and the figure of each field."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from app.catalog.figures import Figure
from app.catalog.lookup import Lookup
from app.engine.records import Floats, GpuChip, Intra, IpuChip, Node, Precision, ScaleOutFabric
from app.errors import BadInput, Conflict, NotFound

PEAKS = {
    Precision.BF16: "peak_bf16_dense",
    Precision.FP16: "peak_fp16_dense",
    Precision.TF32: "peak_tf32_dense",
    Precision.FP32: "peak_fp32",
    Precision.FP8: "peak_fp8_dense",
    Precision.MXFP8: "peak_fp8_dense",
    Precision.NVFP4: "peak_nvfp4_dense",
    Precision.MXFP4: "peak_mxfp4_dense",
    Precision.INT8: "peak_int8_dense",
}
NARROW = frozenset({Precision.FP8, Precision.MXFP8, Precision.NVFP4, Precision.MXFP4, Precision.INT8})
"""Formats of 8 and 4 bit, which a chip has only if they are faster than its 16 bit."""
Figures = Mapping[str, Figure]
"""Figure by the name of the record's field."""
USUAL_SERVER = "usual-server"
USUAL_ENTRY = {"chip": "usual-accelerator", "machine": USUAL_SERVER, "system": USUAL_SERVER}
"""Item with the usual figures of a GPU chip, machine or system, used where its own are not stated."""


def usual_condition(lookup: Lookup, kind: str, item: str) -> str:
    """Return the condition of the usual figures of a kind: the maker of a chip, the links of a machine."""
    if kind == "chip":
        return lookup.items[item].maker
    links = lookup.find(item, "intra") if kind == "machine" else None
    return links.text if links else ""


def usual_figure(lookup: Lookup, kind: str, item: str, parameter: str) -> Figure | None:
    """Return the usual figure of the item's maker or links, else that of all.

    It keeps the item ``usual-…``, so that a trace shows what it is.
    """
    usual = USUAL_ENTRY[kind]
    own = lookup.find(usual, parameter, usual_condition(lookup, kind, item))
    return own or lookup.find(usual, parameter)


def known_figure(lookup: Lookup, kind: str, item: str, parameter: str) -> Figure:
    """Return a figure of an item, or the usual one."""
    figure = lookup.find(item, parameter) or usual_figure(lookup, kind, item, parameter)
    return figure or lookup.figure(item, parameter)


def usual_figures(lookup: Lookup, kind: str, item: str) -> tuple[Figure, ...]:
    """Return the usual figures in place of those not stated for an item."""
    missing = (name for name in OF_KIND[kind] if lookup.find(item, name) is None)
    figures = (usual_figure(lookup, kind, item, name) for name in missing)
    return tuple(figure for figure in figures if figure is not None)


OF_KIND = {
    "chip": ("achieved_bandwidth", "kernel_overhead", "matrix_units", "sustained_clock"),
    "machine": ("collective_latency", "torus_axes", "hop_latency", "adapter_slot", "idle_share", "weight"),
    "system": ("machines", "hosts", "acquisition"),
}
"""Parameters of each kind that have a usual value."""


@lru_cache(maxsize=1024)
def idle_power(lookup: Lookup, item: str) -> tuple[float, Figure] | None:
    """Return the idle power of a machine and the figure behind it; None for other parts. [W]"""
    own = lookup.find(item, "power_idle")
    if own is not None:
        return own.si, own
    if "machine" not in lookup.items[item].kinds:
        return None
    share = known_figure(lookup, "machine", item, "idle_share")
    return share.si * lookup.figure(item, "power_typical").si, share


def is_ipu(lookup: Lookup, chip_id: str) -> bool:
    return lookup.find(chip_id, "tiles") is not None


@lru_cache(maxsize=1024)
def gpu_figures(lookup: Lookup, chip_id: str) -> Figures:
    """Return the figures of a GPU's record; the peaks by "matrix_peak." and the precision."""
    lookup.item("chip", chip_id)
    if is_ipu(lookup, chip_id):
        raise NotFound.named(
            "GPU", chip_id, (name for name in lookup.names("chip") if not is_ipu(lookup, name))
        )
    others = {"name", "matrix_peak", "narrow_clock"}
    names = [field.name for field in dataclasses.fields(GpuChip) if field.name not in others]
    figures = {name: known_figure(lookup, "chip", chip_id, name) for name in names}
    narrow = lookup.find(chip_id, "sustained_clock", "fp8")
    figures["narrow_clock"] = figures["sustained_clock"] if narrow is None else narrow
    for precision, parameter in PEAKS.items():
        peak = lookup.find(chip_id, parameter)
        if peak is not None and (precision not in NARROW or _is_faster(peak, figures)):
            figures[f"matrix_peak.{precision}"] = peak
    return figures


def _is_faster(peak: Figure, figures: Figures) -> bool:
    """Return whether products in 8 or 4 bit are faster than in bf16; some chips only store such formats."""
    half = figures.get(f"matrix_peak.{Precision.BF16}")
    return half is not None and peak.si > 1.1 * half.si


def gpu_chip(lookup: Lookup, chip_id: str) -> GpuChip:
    figures = gpu_figures(lookup, chip_id)
    numbers: dict[str, Any] = {name: figure.si for name, figure in figures.items() if "." not in name}
    fields_of = {precision: f"matrix_peak.{precision}" for precision in PEAKS}
    numbers["matrix_peak"] = {key: figures[name].si for key, name in fields_of.items() if name in figures}
    numbers["multiprocessors"] = round(numbers["multiprocessors"])
    numbers["matrix_units"] = numbers["matrix_units"] > 0
    return GpuChip(name=chip_id, **numbers)


OF_MACHINE = {
    "streaming_capacity": "streaming_memory",
    "host_bandwidth": "host_bandwidth_measured",
    "machine_devices": "devices",
}
"""Figures of an IPU that its machine states."""


def ipu_figures(lookup: Lookup, chip_id: str) -> Figures:
    """Return the figures of an IPU's record; memory, IPUs and way from the host are those of its machine."""
    lookup.item("chip", chip_id)
    if not is_ipu(lookup, chip_id):
        raise NotFound.named("IPU", chip_id, (name for name in lookup.names("chip") if is_ipu(lookup, name)))
    own = [name for name in IpuChip._fields if name not in {"name", "host_devices", *OF_MACHINE}]
    figures = {name: lookup.figure(chip_id, name) for name in own}
    machine = home_machine(lookup, chip_id)
    return figures | {name: lookup.figure(machine, parameter) for name, parameter in OF_MACHINE.items()}


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
    numbers["streaming_capacity"] = memory / numbers["machine_devices"]
    # Every machine has a host unless its system says otherwise.
    numbers["host_devices"] = numbers["machine_devices"]
    numbers |= {name: round(numbers[name]) for name in ("tiles", "pod_size")}
    return IpuChip(name=chip_id, **numbers)


def machine_name(lookup: Lookup, name: str) -> str:
    """Return the machine of a system; a machine's own identifier is unchanged."""
    item = lookup.items.get(name)
    if item is not None and "system" in item.kinds:
        stated = lookup.find(name, "machine")
        # A machine that is sold alone is the system of the same identifier.
        return name if stated is None and "machine" in item.kinds else lookup.figure(name, "machine").text
    return lookup.item("machine", name).id


@lru_cache(maxsize=1024)
def machine_figures(lookup: Lookup, name: str, devices: int | None = None) -> Figures:
    """Return the figures of a machine's record.

    A bus bandwidth measured on fewer devices ("4 devices") holds up to that number of them.
    """
    machine_id = machine_name(lookup, name)
    fitted = lookup.figure(machine_id, "devices")
    figures = {"devices": fitted, "intra": lookup.figure(machine_id, "intra")}
    count = round(fitted.si) if devices is None else devices
    smaller = sorted(
        (int(condition.split()[0]), condition)
        for condition in lookup.conditions(machine_id, "bus_bandwidth")
        if condition
    )
    condition = next((text for measured, text in smaller if count <= measured), "")
    figures["bus_bandwidth"] = lookup.figure(machine_id, "bus_bandwidth", condition)
    figures["latency"] = known_figure(lookup, "machine", machine_id, "collective_latency")
    if figures["intra"].text == Intra.TORUS:
        for name in ("torus_axes", "hop_latency"):
            figures[name] = known_figure(lookup, "machine", machine_id, name)
    curve = lookup.find(machine_id, "allreduce_curve")
    if curve is not None:
        figures["allreduce_seconds"] = curve
    return figures


@lru_cache(maxsize=1024)
def domain_devices(lookup: Lookup, name: str) -> int:
    """Return the accelerators joined by the fast links of a machine, across machines too."""
    machine_id = machine_name(lookup, name)
    wider = lookup.find(machine_id, "domain_devices")
    return round((lookup.figure(machine_id, "devices") if wider is None else wider).si)


def machine(lookup: Lookup, name: str, devices: int | None = None, bridged: bool = False) -> Node:
    """Return the engine's record of a machine, with all accelerators its fast links join or ``devices``."""
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
        bandwidth *= known_figure(lookup, "machine", figures["devices"].item, "bridge_gain").si
    size, seconds = _curve(lookup, figures)
    if count > 1:
        seconds = seconds * ((count - 1) / count) / ((fitted - 1) / fitted)
    return Node(
        name=figures["devices"].item,
        devices=count,
        intra=Intra(figures["intra"].text),
        allreduce_bytes=size,
        allreduce_seconds=seconds,
        bus_bandwidth=bandwidth,
        latency=figures["latency"].si,
        torus_axes=round(figures["torus_axes"].si) if "torus_axes" in figures else 0,
        hop_latency=figures["hop_latency"].si if "hop_latency" in figures else 0.0,
    )


def host_memory(lookup: Lookup, name: str) -> float:
    """Return the memory of the host of a system or machine; 0 where unknown. [B]"""
    figure = lookup.find(machine_name(lookup, name), "host_memory")
    return 0.0 if figure is None else figure.si


def host_memory_bandwidth(lookup: Lookup, name: str) -> float:
    """Return the memory bandwidth of a machine's host; infinite where unknown. [B/s]"""
    figure = lookup.find(machine_name(lookup, name), "host_memory_bandwidth")
    return math.inf if figure is None else figure.si


def _curve(lookup: Lookup, figures: Figures) -> tuple[Floats, Floats]:
    if "allreduce_seconds" not in figures:
        return np.array([]), np.array([])
    curve = lookup.curves[figures["allreduce_seconds"].text]
    size = np.array([point.x for point in curve.points]) * (curve.x_unit.factor or 1.0)
    seconds = np.array([point.y for point in curve.points]) * (curve.y_unit.factor or 1.0)
    return size, np.maximum.accumulate(seconds)


@lru_cache(maxsize=1024)
def fabric_figures(lookup: Lookup, fabric_id: str) -> Figures:
    lookup.item("fabric", fabric_id)
    measured = ("port_bandwidth", "hop_latency", "tree_latency", "message_latency")
    figures = {name: lookup.figure(fabric_id, name) for name in measured}
    return figures | {"tree_share": lookup.figure("double-binary-tree", "tree_share")}


def fabric(
    lookup: Lookup, fabric_id: str, ports_per_node: int, oversubscription: float = 1.0
) -> ScaleOutFabric:
    """Return the engine's record of a fabric for nodes with a number of ports."""
    figures = fabric_figures(lookup, fabric_id)
    if ports_per_node < 1:
        raise BadInput.at("ports_per_node", "a node needs at least 1 port, not {ports}", ports=ports_per_node)
    if not oversubscription >= 1.0:
        template = "oversubscription must be 1 or more, not {given}"
        raise BadInput.at("oversubscription", template, given=oversubscription)
    return ScaleOutFabric(
        name=fabric_id,
        ports_per_node=ports_per_node,
        oversubscription=oversubscription,
        in_network_reduction=lookup.find(fabric_id, "in_network_reduction") is not None,
        **{name: figure.si for name, figure in figures.items()},
    )
