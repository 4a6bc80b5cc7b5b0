"""Accelerators of a workspace, added to the catalogue from their data sheets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from statistics import median, quantiles
from typing import Any

from app.catalog.books import exchange_rates, in_dollars
from app.catalog.figures import Direction, Figure, FigureStatus, Item, Key, Source, SourceKind
from app.catalog.lookup import Lookup
from app.catalog.records import is_ipu
from app.engine.records import Intra
from app.errors import Message

PREFIX = "own-"
"""Prefix of identifiers of a workspace's accelerators, which no item of the catalogue has."""
KINDS = ("chip", "machine", "system")
LINKS = (Intra.NVSWITCH, Intra.NVLINK, Intra.MESH, Intra.TORUS, Intra.PCIE)

PEAKS = {
    "bf16_tflops": "peak_bf16_dense",
    "fp16_tflops": "peak_fp16_dense",
    "tf32_tflops": "peak_tf32_dense",
    "fp32_tflops": "peak_fp32",
    "fp8_tflops": "peak_fp8_dense",
    "fp4_tflops": "peak_nvfp4_dense",
    "int8_tops": "peak_int8_dense",
}
HALF = ("bf16_tflops", "fp16_tflops")
"""Peaks in 16 bit, of which an accelerator has at least one; the first that is stated counts."""
NEVER_SPARSE = frozenset({"fp32_tflops"})
"""Peaks of units that know no structured sparsity."""

SPARSITY = 2.0
"""Peak with 2:4 structured sparsity over the dense one."""
NEAR = 1.5
"""Ratio of memory bandwidths within which chips count as one generation."""
DOUBTFUL = 1.4
"""Multiple of the usual FLOP per byte of its generation from which a peak may include sparsity."""
MOST_OF_HALF = {
    "tf32_tflops": 0.75, "fp32_tflops": 1.1, "fp8_tflops": 3.0, "fp4_tflops": 8.0, "int8_tops": 3.0,
}  # fmt: skip
"""Largest dense peak over that in 16 bit in the catalogue, the oldest chip of each maker aside."""
WITHDRAWN = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAccelerator:
    """An accelerator, its machine and the network between machines, as they were stated."""

    id: str
    name: str
    maker: str
    version: int
    as_of: str
    """Day on which the figures were stated."""
    stated_by: str
    data_sheet: str
    """Text or link of the data sheet."""
    data_sheet_date: str | None
    withdrawn: bool
    """Whether it was deleted: estimates made with it still find it, but it is no longer offered."""
    peaks: Mapping[str, float]
    """By format, as stated. [TFLOP/s, TOP/s]"""
    sparse: bool
    """Whether the peaks were stated with structured sparsity."""
    memory_gb: float
    memory_gb_per_s: float
    power_w: float
    link: Intra
    link_gb_per_s: float
    """Of one device to all others, one way. [GB/s]"""
    devices: int
    """Per machine."""
    linked_devices: int
    """Devices joined by the fast links."""
    fabric: str
    ports: int
    """Per machine."""
    machine_price: float | None
    hourly_rent: float | None
    """Of one device. [currency/h]"""
    currency: str
    price_date: str | None

    @classmethod
    def of(cls, stated: Mapping[str, Any], **stored: Any) -> OwnAccelerator:
        """Return the accelerator of a stored statement."""
        peaks = {name: stated[name] for name in PEAKS if stated.get(name) is not None}
        names = {field.name for field in fields(cls)} & stated.keys()
        return cls(
            **{name: stated[name] for name in names - {"link", "linked_devices"}},
            **stored,
            link=Intra(stated["link"]),
            linked_devices=stated["linked_devices"] or stated["devices"],
            peaks=peaks,
            sparse=stated["sparsity"] == "structured",
        )

    @property
    def source(self) -> Source:
        by = self.stated_by or "the user"
        return Source(
            id=f"{self.id}@{self.version}",
            kind=SourceKind.CUSTOMER,
            title=f"Data sheet of {self.name} (v{self.version}), stated by {by}: {self.data_sheet}",
            publisher=self.maker,
            published=self.data_sheet_date or self.as_of,
            url=f"/accelerators/{self.id}?version={self.version}",
        )

    @property
    def system_name(self) -> str:
        return f"{self.name} server, {self.devices} devices"


def peak_unit(name: str) -> str:
    return "TOP/s" if name.endswith("_tops") else "TFLOP/s"


def half_peak(peaks: Mapping[str, float]) -> float:
    """Return the peak in 16 bit: of bf16, else of fp16. [TFLOP/s]"""
    return next(peaks[name] for name in HALF if name in peaks)


def gpus(lookup: Lookup, kind: str) -> Iterator[str]:
    """Yield the catalogue's own chips or machines, without IPUs."""
    for name in lookup.names(kind):
        chip = name if kind == "chip" else lookup.figure(name, "chip").text
        if not name.startswith(PREFIX) and not is_ipu(lookup, chip):
            yield name


def doubts(lookup: Lookup, peaks: Mapping[str, float], memory_gb_per_s: float) -> list[Message]:
    """Return the reasons to suspect that peaks are stated with structured sparsity, which doubles them.

    A peak may be too high for the memory bandwidth of its generation, or for the 16-bit peak of the chip.
    """
    half = half_peak(peaks)
    stated = "BF16" if "bf16_tflops" in peaks else "FP16"
    usual = _usual_intensity(lookup, memory_gb_per_s)
    intensity = 1e3 * half / memory_gb_per_s
    messages = []
    if intensity > DOUBTFUL * usual:
        template = (
            "{given} TFLOP/s in {format} are {intensity} FLOP per byte of memory bandwidth, where chips of "
            "this generation have about {usual}; say whether the peaks are dense or with structured sparsity"
        )
        messages.append(
            Message(
                template,
                {"given": half, "format": stated, "intensity": round(intensity), "usual": round(usual)},
            )
        )
    for name, most in MOST_OF_HALF.items():
        if peaks.get(name, 0.0) > most * half:
            template = (
                "{given} {unit} in {format} are {ratio} times the peak in {half}, more than dense products "
                "reach; say whether the peaks are dense or with structured sparsity"
            )
            values = {
                "given": peaks[name],
                "unit": peak_unit(name),
                "format": name.partition("_")[0].upper(),
                "ratio": round(peaks[name] / half, 2),
                "half": stated,
            }
            messages.append(Message(template, values))
    return messages


def _usual_intensity(lookup: Lookup, memory_gb_per_s: float) -> float:
    """Return the median dense bf16 FLOP per byte of chips of about this memory bandwidth. [FLOP/B]"""
    intensities = []
    for name in gpus(lookup, "chip"):
        peak, bandwidth = lookup.find(name, "peak_bf16_dense"), lookup.figure(name, "memory_bandwidth")
        if peak is not None:
            intensities.append(
                (abs(math.log(bandwidth.si / (1e9 * memory_gb_per_s))), peak.si / bandwidth.si)
            )
    near = [intensity for distance, intensity in intensities if distance < math.log(NEAR)]
    return median(near or [intensity for _, intensity in intensities])


@dataclass(frozen=True, slots=True)
class MachineRatio:
    """Ratio of two figures over machines of the catalogue: the median, first and last decile."""

    value: float = 1.0
    low: float = 1.0
    high: float = 1.0

    def times(self, other: MachineRatio) -> MachineRatio:
        return MachineRatio(self.value * other.value, self.low * other.low, self.high * other.high)


def _usual_ratio(lookup: Lookup, link: Intra, parameter: str, below: Callable[[str], float]) -> MachineRatio:
    """Return the ratio of two figures over the catalogue's machines with links of a kind."""
    ratios = [
        lookup.figure(name, parameter).si / below(name)
        for name in gpus(lookup, "machine")
        if lookup.figure(name, "intra").text == link
    ]
    defined = [ratio for ratio in ratios if not math.isnan(ratio)]
    ends = quantiles(defined, n=10, method="inclusive")
    return MachineRatio(median(defined), ends[0], ends[-1])


def link_figure(lookup: Lookup, chip: str, link: str) -> Figure | None:
    """Return the bandwidth of a chip's links of a kind to all other devices, one way."""
    if link == Intra.PCIE:
        return lookup.find(chip, "pcie_bandwidth")
    return lookup.find(chip, "nvlink_bandwidth") or lookup.find(chip, "scale_up_bandwidth")


def overlay(
    lookup: Lookup, accelerators: Iterable[OwnAccelerator]
) -> tuple[dict[str, Item], dict[str, Source], dict[Key, tuple[Figure, ...]]]:
    """Return items, sources and figures that a workspace's accelerators add to the catalogue.

    What a data sheet leaves out is taken from the catalogue's machines, as an estimate with its range.
    """
    items, sources = {}, {}
    figures: dict[Key, tuple[Figure, ...]] = {}
    for own in accelerators:
        items[own.id] = Item(own.id, KINDS, own.system_name, own.maker, own.withdrawn)
        sources[own.source.id] = own.source
        for figure in (*_stated(lookup, own), *_usual(lookup, own)):
            figures[figure.item, figure.parameter, figure.condition] = (figure,)
    return items, sources, figures


STATED = "stated by the user, from its data sheet"
ONE_WAY = frozenset({"bus_bandwidth", "scale_up_bandwidth", "pcie_bandwidth"})


def _figure(
    lookup: Lookup,
    own: OwnAccelerator,
    parameter: str,
    value: float | str,
    unit: str,
    note: str = STATED,
    *,
    source: Source | None = None,
    ends: tuple[float, float] | None = None,
) -> Figure:
    number = None if isinstance(value, str) else value
    low, high = ends or (None, None)
    return Figure(
        item=own.id,
        parameter=parameter,
        condition="",
        value=number,
        text=str(value) if number is None else f"{number:.15g}",
        unit=lookup.units[unit],
        low=low,
        high=high,
        direction=Direction.ONE_WAY if parameter in ONE_WAY else Direction.NONE,
        source=source or own.source,
        as_of=own.as_of,
        status=FigureStatus.ACCEPTED,
        note=note,
    )


def _stated(lookup: Lookup, own: OwnAccelerator) -> Iterator[Figure]:
    """Yield the figures of the data sheet; peaks with sparsity count half."""
    make = partial(_figure, lookup, own)
    for name, peak in own.peaks.items():
        unit = peak_unit(name)
        halved = f"half of {peak:,.15g} {unit} with sparsity; {STATED}"
        sparse = own.sparse and name not in NEVER_SPARSE
        dense, note = (peak / SPARSITY, halved) if sparse else (peak, STATED)
        yield make(PEAKS[name], dense, unit, note)
    yield make("memory_capacity", own.memory_gb, "GB")
    yield make("memory_bandwidth", own.memory_gb_per_s, "GB/s")
    yield make("power_limit", own.power_w, "W")
    yield make("chip_name", own.name, "text")
    link = "pcie_bandwidth" if own.link is Intra.PCIE else "scale_up_bandwidth"
    yield make(link, own.link_gb_per_s, "GB/s")
    yield make("devices", own.devices, "1")
    yield make("chip", own.id, "id", "")
    yield make("intra", own.link.value, "text")
    if own.linked_devices > own.devices:
        yield make("domain_devices", own.linked_devices, "1")
    yield make("fabric", own.fabric, "id")
    yield make("ports_per_node", own.ports, "1")
    yield make("availability", WITHDRAWN if own.withdrawn else "offered", "text", "")
    yield make("acquisition", "own" if own.hourly_rent is None else "rent", "text", "")
    if own.machine_price is not None:
        price = make("price", own.machine_price, own.currency)
    elif own.hourly_rent is not None:
        price = make("price_hour", own.hourly_rent * own.devices, f"{own.currency}/h")
    else:
        return
    yield in_dollars(lookup, replace(price, as_of=own.price_date or own.as_of), exchange_rates(lookup))


def _usual(lookup: Lookup, own: OwnAccelerator) -> Iterator[Figure]:
    """Yield estimates of what the data sheet leaves out, from the catalogue's machines."""

    def make(parameter: str, usual: MachineRatio, size: float, unit: str, note: str) -> Figure:
        value, *ends = (float(f"{size * end:.4g}") for end in (usual.value, usual.low, usual.high))
        estimate = lookup.known_sources["rackline-estimate"]
        return _figure(lookup, own, parameter, value, unit, note, source=estimate, ends=(ends[0], ends[1]))

    def chip_of(machine: str, parameter: str) -> float:
        return _si(lookup.find(lookup.figure(machine, "chip").text, parameter))

    def of(machine: str, parameter: str) -> float:
        return _si(lookup.find(machine, parameter))

    def links(machine: str) -> float:
        return _si(link_figure(lookup, lookup.figure(machine, "chip").text, own.link))

    share = _usual_ratio(lookup, own.link, "bus_bandwidth", links)
    note = f"{own.link_gb_per_s:g} GB/s of its links times {share.value:.3g}, the share that such links reach"
    yield make("bus_bandwidth", share, own.link_gb_per_s, "GB/s", note)
    host = _usual_ratio(
        lookup, own.link, "power_max", lambda name: of(name, "devices") * chip_of(name, "power_limit")
    )
    boards = own.devices * own.power_w / 1e3
    note = f"{own.devices} boards at {own.power_w:g} W times {host.value:.3g}, usual with host and fans"
    yield make("power_max", host, boards, "kW", note)
    load = _usual_ratio(lookup, own.link, "power_typical", lambda name: of(name, "power_max"))
    note = f"{load.value:.3g} of the greatest power, usual under a training load"
    yield make("power_typical", host.times(load), boards, "kW", note)
    height = _usual_ratio(lookup, own.link, "rack_units", lambda name: of(name, "devices"))
    yield make("rack_units", height, own.devices, "U", "usual height of machines with such links")
    twin = _closest(lookup, own)
    note = f"not on data sheets: as of {twin}, whose 16-bit peak is closest; matters to small products alone"
    yield make("multiprocessors", MachineRatio(), _si(lookup.figure(twin, "multiprocessors")), "1", note)


def _si(figure: Figure | None) -> float:
    return math.nan if figure is None else figure.si


def _closest(lookup: Lookup, own: OwnAccelerator) -> str:
    """Return the chip of the catalogue with the closest 16-bit peak, of the same maker where it has any."""
    peak = half_peak(own.peaks) / (SPARSITY if own.sparse else 1.0)
    distances = {
        name: abs(math.log(figure.si / (1e12 * peak)))
        for name in gpus(lookup, "chip")
        if (figure := lookup.find(name, "peak_bf16_dense")) is not None
    }
    return min(distances, key=lambda name: (lookup.items[name].maker != own.maker, distances[name]))
