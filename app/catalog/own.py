"""Accelerators of a workspace: what their data sheets state, laid over the catalogue as items of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from statistics import median, quantiles
from typing import Any

from app.catalog.books import exchange_rates, in_dollars
from app.catalog.figures import Direction, Figure, FigureStatus, Item, Key, Lookup, Source, SourceKind
from app.catalog.records import is_ipu
from app.engine.records import Intra
from app.errors import Message

PREFIX = "own-"
"""How identifiers of a workspace's accelerators begin; no item of the catalogue is called so."""

KINDS = ("chip", "machine", "system")

LINKS = (Intra.NVSWITCH, Intra.NVLINK, Intra.MESH, Intra.TORUS, Intra.PCIE)

PEAKS = {
    "bf16_tflops": "peak_bf16_dense",
    "tf32_tflops": "peak_tf32_dense",
    "fp8_tflops": "peak_fp8_dense",
    "fp4_tflops": "peak_nvfp4_dense",
}

SPARSITY = 2.0
"""Peak with 2:4 structured sparsity over the dense one."""

NEAR = 1.5
"""Factor of memory bandwidth within which chips are of one generation."""

DOUBTFUL = 1.4
"""Times the usual FLOP per byte of its generation from which a peak may be one with sparsity."""

MOST_OF_BF16 = {"tf32_tflops": 0.75, "fp8_tflops": 3.0, "fp4_tflops": 8.0}
"""Peak over that of bf16 beyond which no chip of the catalogue but the oldest of its maker goes, dense."""

WITHDRAWN = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAccelerator:
    """One accelerator, the machine that carries it and the network between machines, as they were stated."""

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
    """Whether it was deleted: what was made with it finds it, nobody is offered it."""
    peaks: Mapping[str, float]
    """By format, as they were stated. [TFLOP/s]"""
    sparse: bool
    """Whether they were stated with structured sparsity."""
    memory_gb: float
    memory_gb_per_s: float
    power_w: float
    link: Intra
    link_gb_per_s: float
    """Of one device to all others, one way. [GB/s]"""
    devices: int
    """Of one machine."""
    linked_devices: int
    """That the fast links join."""
    fabric: str
    ports: int
    """Of one machine."""
    machine_price: float | None
    hourly_rent: float | None
    """Of one device. [currency/h]"""
    currency: str
    price_date: str | None

    @classmethod
    def of(cls, stated: Mapping[str, Any], **kept: Any) -> OwnAccelerator:
        """Return an accelerator of what was stated about it, as it is kept."""
        peaks = {name: stated[name] for name in PEAKS if stated[name] is not None}
        others = {field.name for field in fields(cls)} & stated.keys()
        return cls(
            **{name: stated[name] for name in others - {"link", "linked_devices"}},
            **kept,
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


def gpus(lookup: Lookup, kind: str) -> Iterator[str]:
    """Give the catalogue's own chips, or machines, that are no IPUs."""
    for name in lookup.names(kind):
        chip = name if kind == "chip" else lookup.figure(name, "chip").text
        if not name.startswith(PREFIX) and not is_ipu(lookup, chip):
            yield name


def doubts(lookup: Lookup, peaks: Mapping[str, float], memory_gb_per_s: float) -> list[Message]:
    """Return what tells that peaks may be stated with structured sparsity, and the question whether they are.

    A peak with sparsity is twice the dense one. Whether one is can only be suspected: from the operations per
    byte of memory bandwidth that chips of the generation have, and from the other formats of the chip.
    """
    bf16 = peaks["bf16_tflops"]
    usual = _usual_intensity(lookup, memory_gb_per_s)
    intensity = 1e3 * bf16 / memory_gb_per_s
    found = []
    if intensity > DOUBTFUL * usual:
        template = (
            "{given} TFLOP/s in BF16 are {intensity} FLOP per byte of memory bandwidth, where chips of this "
            "generation have about {usual}; say whether the peaks are dense or with structured sparsity"
        )
        found.append(Message(template, {"given": bf16, "intensity": round(intensity), "usual": round(usual)}))
    for name, most in MOST_OF_BF16.items():
        if peaks.get(name, 0.0) > most * bf16:
            template = (
                "{given} TFLOP/s in {format} are {ratio} times the peak in BF16, more than dense products "
                "reach; say whether the peaks are dense or with structured sparsity"
            )
            told = {"given": peaks[name], "format": name[:4].upper(), "ratio": round(peaks[name] / bf16, 2)}
            found.append(Message(template, told))
    return found


def _usual_intensity(lookup: Lookup, memory_gb_per_s: float) -> float:
    """Return the dense bf16 operations per byte that chips of about this memory bandwidth have. [FLOP/B]"""
    known = []
    for name in gpus(lookup, "chip"):
        peak, bandwidth = lookup.find(name, "peak_bf16_dense"), lookup.figure(name, "memory_bandwidth")
        if peak is not None:
            known.append((abs(math.log(bandwidth.si / (1e9 * memory_gb_per_s))), peak.si / bandwidth.si))
    near = [intensity for apart, intensity in known if apart < math.log(NEAR)]
    return median(near or [intensity for _, intensity in known])


@dataclass(frozen=True, slots=True)
class Usual:
    """What machines of the catalogue have of one figure over another: the median, first and last decile."""

    value: float = 1.0
    low: float = 1.0
    high: float = 1.0

    def times(self, other: Usual) -> Usual:
        return Usual(self.value * other.value, self.low * other.low, self.high * other.high)


def _usual_ratio(lookup: Lookup, link: Intra, parameter: str, below: Callable[[str], float]) -> Usual:
    """Return a figure over another of the catalogue's machines with links of a kind."""
    ratios = [
        lookup.figure(name, parameter).si / below(name)
        for name in gpus(lookup, "machine")
        if lookup.figure(name, "intra").text == link
    ]
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    ends = quantiles(known, n=10, method="inclusive")
    return Usual(median(known), ends[0], ends[-1])


def link_figure(lookup: Lookup, chip: str, link: str) -> Figure | None:
    """Return the bandwidth of a chip's links of a kind to all other devices, one way."""
    if link == Intra.PCIE:
        return lookup.find(chip, "pcie_bandwidth")
    return lookup.find(chip, "nvlink_bandwidth") or lookup.find(chip, "scale_up_bandwidth")


def overlay(
    lookup: Lookup, accelerators: Iterable[OwnAccelerator]
) -> tuple[dict[str, Item], dict[str, Source], dict[Key, tuple[Figure, ...]]]:
    """Return items, sources and figures of a workspace's accelerators, which the catalogue has none of.

    What a data sheet does not say of a machine is what is usual of those in the catalogue, as an estimate
    with its range.
    """
    items, sources = {}, {}
    figures: dict[Key, tuple[Figure, ...]] = {}
    for one in accelerators:
        items[one.id] = Item(one.id, KINDS, one.system_name, one.maker, one.withdrawn)
        sources[one.source.id] = one.source
        for figure in (*_stated(lookup, one), *_usual(lookup, one)):
            figures[figure.item, figure.parameter, figure.condition] = (figure,)
    return items, sources, figures


STATED = "stated by the user, from its data sheet"

ONE_WAY = frozenset({"bus_bandwidth", "scale_up_bandwidth", "pcie_bandwidth"})


def _figure(
    lookup: Lookup,
    one: OwnAccelerator,
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
        item=one.id,
        parameter=parameter,
        condition="",
        value=number,
        text=str(value) if number is None else f"{number:.15g}",
        unit=lookup.units[unit],
        low=low,
        high=high,
        direction=Direction.ONE_WAY if parameter in ONE_WAY else Direction.NONE,
        source=source or one.source,
        as_of=one.as_of,
        status=FigureStatus.ACCEPTED,
        note=note,
    )


def _stated(lookup: Lookup, one: OwnAccelerator) -> Iterator[Figure]:
    """Give what the data sheet of an accelerator says; peaks with sparsity count half."""
    make = partial(_figure, lookup, one)
    for name, peak in one.peaks.items():
        halved = f"half of {peak:,.15g} TFLOP/s with sparsity; {STATED}"
        dense, note = (peak / SPARSITY, halved) if one.sparse else (peak, STATED)
        yield make(PEAKS[name], dense, "TFLOP/s", note)
    yield make("memory_capacity", one.memory_gb, "GB")
    yield make("memory_bandwidth", one.memory_gb_per_s, "GB/s")
    yield make("power_limit", one.power_w, "W")
    yield make("chip_name", one.name, "text")
    link = "pcie_bandwidth" if one.link is Intra.PCIE else "scale_up_bandwidth"
    yield make(link, one.link_gb_per_s, "GB/s")
    yield make("devices", one.devices, "1")
    yield make("chip", one.id, "id", "")
    yield make("intra", one.link.value, "text")
    if one.linked_devices > one.devices:
        yield make("domain_devices", one.linked_devices, "1")
    yield make("fabric", one.fabric, "id")
    yield make("ports_per_node", one.ports, "1")
    yield make("availability", WITHDRAWN if one.withdrawn else "offered", "text", "")
    yield make("acquisition", "own" if one.hourly_rent is None else "rent", "text", "")
    if one.machine_price is not None:
        price = make("price", one.machine_price, one.currency)
    elif one.hourly_rent is not None:
        price = make("price_hour", one.hourly_rent * one.devices, f"{one.currency}/h")
    else:
        return
    yield in_dollars(lookup, replace(price, as_of=one.price_date or one.as_of), exchange_rates(lookup))


def _usual(lookup: Lookup, one: OwnAccelerator) -> Iterator[Figure]:
    """Give what no data sheet of an accelerator says of its machine: what is usual of the catalogue's."""

    def make(parameter: str, usual: Usual, size: float, unit: str, note: str) -> Figure:
        value, *ends = (float(f"{size * end:.4g}") for end in (usual.value, usual.low, usual.high))
        estimate = lookup.known_sources["rackline-estimate"]
        return _figure(lookup, one, parameter, value, unit, note, source=estimate, ends=(ends[0], ends[1]))

    def chip_of(machine: str, parameter: str) -> float:
        return _si(lookup.find(lookup.figure(machine, "chip").text, parameter))

    def of(machine: str, parameter: str) -> float:
        return _si(lookup.find(machine, parameter))

    def links(machine: str) -> float:
        return _si(link_figure(lookup, lookup.figure(machine, "chip").text, one.link))

    share = _usual_ratio(lookup, one.link, "bus_bandwidth", links)
    note = f"{one.link_gb_per_s:g} GB/s of its links times {share.value:.3g}, the share that such links reach"
    yield make("bus_bandwidth", share, one.link_gb_per_s, "GB/s", note)
    host = _usual_ratio(
        lookup, one.link, "power_max", lambda name: of(name, "devices") * chip_of(name, "power_limit")
    )
    boards = one.devices * one.power_w / 1e3
    note = f"{one.devices} boards at {one.power_w:g} W times {host.value:.3g}, usual with host and fans"
    yield make("power_max", host, boards, "kW", note)
    load = _usual_ratio(lookup, one.link, "power_typical", lambda name: of(name, "power_max"))
    note = f"{load.value:.3g} of the greatest power, usual under a training load"
    yield make("power_typical", host.times(load), boards, "kW", note)
    height = _usual_ratio(lookup, one.link, "rack_units", lambda name: of(name, "devices"))
    yield make("rack_units", height, one.devices, "U", "usual height of machines with such links")
    twin = _closest(lookup, one)
    note = f"not on data sheets: as of {twin}, whose bf16 peak is closest; matters to small products alone"
    yield make("multiprocessors", Usual(), _si(lookup.figure(twin, "multiprocessors")), "1", note)


def _si(figure: Figure | None) -> float:
    return math.nan if figure is None else figure.si


def _closest(lookup: Lookup, one: OwnAccelerator) -> str:
    """Return the chip of the catalogue with the closest bf16 peak, of the same maker where it has any."""
    peak = one.peaks["bf16_tflops"] / (SPARSITY if one.sparse else 1.0)
    known = {
        name: abs(math.log(found.si / (1e12 * peak)))
        for name in gpus(lookup, "chip")
        if (found := lookup.find(name, "peak_bf16_dense")) is not None
    }
    return min(known, key=lambda name: (lookup.items[name].maker != one.maker, known[name]))
