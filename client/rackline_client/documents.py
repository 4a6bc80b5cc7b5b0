"""Requests and answers of the API, written by ``python -m tools documents``."""

import datetime
from typing import Any, Literal, TypeAlias

from pydantic import Field

from rackline_client.base import Document, Request


class SourceRef(Document):
    """Source of a figure."""
    id: str
    """Identifier."""
    kind: str
    """Kind of source, by reliability: datasheet, benchmark, paper, press, vendor, customer or estimate."""
    title: str
    """Title."""
    publisher: str
    """Publisher."""
    published: str
    """Date of publication; can be empty."""
    url: str
    """URL; can be empty."""


class Statement(Document):
    """One figure as stated by a source, in SI units and as written."""
    parameter: str
    """Name of the figure."""
    condition: str
    """Condition that distinguishes it from other figures of that name; usually empty."""
    value: float | None
    """Value in SI units; null for text and for figures that were not found."""
    low: float | None
    """Low end of the range; equal to the value if none is stated."""
    high: float | None
    """High end of the range; equal to the value if none is stated."""
    unit: str
    """SI unit of the value."""
    text: str
    """The figure as written in its source, without the unit."""
    stated_unit: str
    """Unit used by the source."""
    direction: str
    """Direction convention of a bandwidth: one-way, both-ways or empty."""
    source: SourceRef
    """Source of the figure."""
    as_of: str
    """Date of the statement."""
    status: Literal['accepted', 'rejected']
    """Status of the figure. Rejected figures are shown but never used."""
    estimated: bool
    """True if it was neither measured nor published."""
    note: str
    """How the figure was read; for a rejected figure, why it is not used."""


class CatalogueFigure(Document):
    """A figure in use, with the competing claims that were rejected."""
    parameter: str
    """Name of the figure."""
    condition: str
    """Condition that distinguishes it from other figures of that name; usually empty."""
    value: float | None
    """Value in SI units; null for text and for figures that were not found."""
    low: float | None
    """Low end of the range; equal to the value if none is stated."""
    high: float | None
    """High end of the range; equal to the value if none is stated."""
    unit: str
    """SI unit of the value."""
    text: str
    """The figure as written in its source, without the unit."""
    stated_unit: str
    """Unit used by the source."""
    direction: str
    """Direction convention of a bandwidth: one-way, both-ways or empty."""
    source: SourceRef
    """Source of the figure."""
    as_of: str
    """Date of the statement."""
    status: Literal['accepted', 'rejected']
    """Status of the figure. Rejected figures are shown but never used."""
    estimated: bool
    """True if it was neither measured nor published."""
    note: str
    """How the figure was read; for a rejected figure, why it is not used."""
    description: str
    """Meaning of the parameter."""
    rejected: list[Statement]
    """Competing claims for the same figure, with the reason for rejection."""


class AcceleratorUse(Document):
    """Something kept that was made with an accelerator."""
    kind: Literal['bill', 'calibration', 'comparison', 'estimate', 'price-book', 'proposal', 'sizing', 'study', 'sweep']
    """Kind of object."""
    id: str
    """Identifier."""
    name: str
    """Name."""


class AcceleratorChange(Document):
    """One field changed by a version."""
    field: str
    """Name of the field."""
    before: float | str | None
    """Value before the change; null if it was omitted."""
    after: float | str | None
    """Value after the change; null if it is omitted."""


class AcceleratorVersionSummary(Document):
    """One version of an accelerator."""
    version: int
    """Version number, from 1."""
    created_at: datetime.datetime
    """Creation time."""
    stated_by: str
    """Who stated it; empty on a server without accounts."""
    changes: list[AcceleratorChange]
    """Changes from the previous version."""


class Accelerator(Document):
    """One version of an accelerator of the workspace, with every figure that estimates use."""
    name: str
    """Name of the accelerator."""
    maker: str = ''
    """Manufacturer; empty if it is not to be named."""
    bf16_tflops: float | None = None
    """Peak in bf16, if the chip has it; this or fp16_tflops is required. [TFLOP/s]"""
    fp16_tflops: float | None = None
    """Peak in fp16, if the chip has it. [TFLOP/s]"""
    tf32_tflops: float | None = None
    """Peak in TF32, if the chip has it. [TFLOP/s]"""
    fp32_tflops: float | None = None
    """Peak in fp32 outside the matrix units; never with sparsity. [TFLOP/s]"""
    fp8_tflops: float | None = None
    """Peak in FP8, if the chip has it. [TFLOP/s]"""
    fp4_tflops: float | None = None
    """Peak in FP4, if the chip has it. [TFLOP/s]"""
    int8_tops: float | None = None
    """Peak in int8, if the chip has it. [TOP/s]"""
    sparsity: Literal['none', 'structured'] | None = None
    """Whether the peaks are dense (“none”) or with 2:4 structured sparsity, which are halved. Required
    where a peak looks like one with sparsity.
    """
    memory_gb: float
    """Memory of one device. [GB]"""
    memory_gb_per_s: float
    """Bandwidth of that memory. [GB/s]"""
    power_w: float
    """Power limit of one device. [W]"""
    link: Literal['mesh', 'nvlink', 'nvswitch', 'pcie', 'torus']
    """How the devices of a machine are joined: by a switch, by direct NVLink, every pair by links of its
    own (mesh), neighbours alone (torus), or over PCIe.
    """
    link_gb_per_s: float
    """Bandwidth of the fast links of one device to all others, one way: half of what data sheets give for
    both ways. [GB/s]
    """
    devices: int = 8
    """Devices of one machine."""
    linked_devices: int | None = None
    """Devices that the fast links join, if more than those of one machine."""
    fabric: str
    """Network between machines, by its identifier in the catalogue: how fast a port is."""
    ports: int
    """Network ports of one machine."""
    machine_price: float | None = None
    """Price of one machine. [currency]"""
    hourly_rent: float | None = None
    """Rent of one device. [currency/h]"""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of the price or rent."""
    price_date: datetime.date | None = None
    """Date of the price or rent; if omitted, the day it is stated."""
    data_sheet: str
    """Source of the figures: title or address of the data sheet."""
    data_sheet_date: datetime.date | None = None
    """Date of the data sheet."""
    id: str
    """Identifier, for use as ``system.id``; also that of its chip and machine."""
    version: int
    """Version shown."""
    newest: int
    """Newest version, which estimates use and edits are based on."""
    stated_by: str
    """Who stated this version; empty on a server without accounts."""
    created_at: datetime.datetime
    """Creation time of the accelerator."""
    updated_at: datetime.datetime
    """Time of the last change."""
    deleted_at: datetime.datetime | None
    """Time of deletion; null if it is in use."""
    figures: list[CatalogueFigure]
    """Figures that estimates use: the stated ones, and what is usual where a data sheet says nothing."""
    used_by: list[AcceleratorUse]
    """What was made with it, at most twenty of a kind."""
    versions: list[AcceleratorVersionSummary]
    """Versions, newest first."""


class AcceleratorPatch(Request):
    """Fields of an accelerator to change, of those it is added with; null empties one that may be
    omitted.
    """
    name: str | None = None
    """Name of the accelerator."""
    maker: str | None = None
    """Manufacturer; empty if it is not to be named."""
    bf16_tflops: float | None = None
    """Peak in bf16, if the chip has it; this or fp16_tflops is required. [TFLOP/s]"""
    fp16_tflops: float | None = None
    """Peak in fp16, if the chip has it. [TFLOP/s]"""
    tf32_tflops: float | None = None
    """Peak in TF32, if the chip has it. [TFLOP/s]"""
    fp32_tflops: float | None = None
    """Peak in fp32 outside the matrix units; never with sparsity. [TFLOP/s]"""
    fp8_tflops: float | None = None
    """Peak in FP8, if the chip has it. [TFLOP/s]"""
    fp4_tflops: float | None = None
    """Peak in FP4, if the chip has it. [TFLOP/s]"""
    int8_tops: float | None = None
    """Peak in int8, if the chip has it. [TOP/s]"""
    sparsity: Literal['none', 'structured'] | None = None
    """Whether the peaks are dense (“none”) or with 2:4 structured sparsity, which are halved. Required
    where a peak looks like one with sparsity.
    """
    memory_gb: float | None = None
    """Memory of one device. [GB]"""
    memory_gb_per_s: float | None = None
    """Bandwidth of that memory. [GB/s]"""
    power_w: float | None = None
    """Power limit of one device. [W]"""
    link: Literal['mesh', 'nvlink', 'nvswitch', 'pcie', 'torus'] | None = None
    """How the devices of a machine are joined: by a switch, by direct NVLink, every pair by links of its
    own (mesh), neighbours alone (torus), or over PCIe.
    """
    link_gb_per_s: float | None = None
    """Bandwidth of the fast links of one device to all others, one way: half of what data sheets give for
    both ways. [GB/s]
    """
    devices: int | None = None
    """Devices of one machine."""
    linked_devices: int | None = None
    """Devices that the fast links join, if more than those of one machine."""
    fabric: str | None = None
    """Network between machines, by its identifier in the catalogue: how fast a port is."""
    ports: int | None = None
    """Network ports of one machine."""
    machine_price: float | None = None
    """Price of one machine. [currency]"""
    hourly_rent: float | None = None
    """Rent of one device. [currency/h]"""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] | None = None
    """Currency of the price or rent."""
    price_date: datetime.date | None = None
    """Date of the price or rent; if omitted, the day it is stated."""
    data_sheet: str | None = None
    """Source of the figures: title or address of the data sheet."""
    data_sheet_date: datetime.date | None = None
    """Date of the data sheet."""


class AcceleratorRequest(Request):
    """An accelerator to add."""
    name: str
    """Name of the accelerator."""
    maker: str = ''
    """Manufacturer; empty if it is not to be named."""
    bf16_tflops: float | None = None
    """Peak in bf16, if the chip has it; this or fp16_tflops is required. [TFLOP/s]"""
    fp16_tflops: float | None = None
    """Peak in fp16, if the chip has it. [TFLOP/s]"""
    tf32_tflops: float | None = None
    """Peak in TF32, if the chip has it. [TFLOP/s]"""
    fp32_tflops: float | None = None
    """Peak in fp32 outside the matrix units; never with sparsity. [TFLOP/s]"""
    fp8_tflops: float | None = None
    """Peak in FP8, if the chip has it. [TFLOP/s]"""
    fp4_tflops: float | None = None
    """Peak in FP4, if the chip has it. [TFLOP/s]"""
    int8_tops: float | None = None
    """Peak in int8, if the chip has it. [TOP/s]"""
    sparsity: Literal['none', 'structured'] | None = None
    """Whether the peaks are dense (“none”) or with 2:4 structured sparsity, which are halved. Required
    where a peak looks like one with sparsity.
    """
    memory_gb: float
    """Memory of one device. [GB]"""
    memory_gb_per_s: float
    """Bandwidth of that memory. [GB/s]"""
    power_w: float
    """Power limit of one device. [W]"""
    link: Literal['mesh', 'nvlink', 'nvswitch', 'pcie', 'torus']
    """How the devices of a machine are joined: by a switch, by direct NVLink, every pair by links of its
    own (mesh), neighbours alone (torus), or over PCIe.
    """
    link_gb_per_s: float
    """Bandwidth of the fast links of one device to all others, one way: half of what data sheets give for
    both ways. [GB/s]
    """
    devices: int = 8
    """Devices of one machine."""
    linked_devices: int | None = None
    """Devices that the fast links join, if more than those of one machine."""
    fabric: str
    """Network between machines, by its identifier in the catalogue: how fast a port is."""
    ports: int
    """Network ports of one machine."""
    machine_price: float | None = None
    """Price of one machine. [currency]"""
    hourly_rent: float | None = None
    """Rent of one device. [currency/h]"""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of the price or rent."""
    price_date: datetime.date | None = None
    """Date of the price or rent; if omitted, the day it is stated."""
    data_sheet: str
    """Source of the figures: title or address of the data sheet."""
    data_sheet_date: datetime.date | None = None
    """Date of the data sheet."""


class AcceleratorSummary(Document):
    """Summary of an accelerator in a list."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    version: int
    """Newest version."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time of the last change."""


class ErrorSummary(Document):
    """Errors of some measured runs; each group of equal machines counts once."""
    runs: int
    """Number of runs."""
    groups: int
    """Number of groups of equal machines."""
    median: float | None
    """Median of |ln(predicted/measured)|; null without runs."""
    ninetieth: float | None
    """90th percentile of |ln(predicted/measured)|."""
    bias: float | None
    """Mean of ln(predicted/measured); above zero the prediction is too large."""
    coverage: float | None
    """Share of measured values inside the 80 % interval."""
    coverage_low: float | None
    """Low end of the 95 % binomial interval of the coverage."""
    coverage_high: float | None
    """High end of the 95 % binomial interval of the coverage."""


class ErrorCell(Document):
    """Errors of one family on one chip at one size."""
    family: str
    """Model family."""
    chip: str
    """Chip."""
    scale: str
    """Class of size: least and most accelerators, such as 9-64."""
    in_sample: ErrorSummary
    """With the runs in the fit."""
    left_out: ErrorSummary
    """With each run's group left out of the fit."""


class Accuracy(Document):
    """How well measured runs are predicted."""
    family: str
    """Families of the runs: one family, “all”, “core” (those with the most runs) or “other”."""
    chip: str
    """Chip of the runs; empty for all."""
    scale: str
    """Class of size of the runs; empty for all."""
    errors: str
    """What was left out of the fit for “headline”, “families” and “chips”, such as group_left_out."""
    measured: int
    """Number of measured runs in all, whatever is chosen."""
    headline: ErrorSummary
    """Errors of the chosen runs."""
    kinds: dict[str, ErrorSummary]
    """Errors of the chosen runs by what was left out of the fit."""
    families: dict[str, ErrorSummary]
    """Errors of the chosen runs by model family."""
    chips: dict[str, ErrorSummary]
    """Errors of the chosen runs by chip."""
    cells: list[ErrorCell]
    """Errors of the chosen runs by family, chip and size."""


class ApiKey(Document):
    """An API key, without its secret."""
    id: str
    """Identifier of the key."""
    name: str
    """Purpose."""
    prefix: str
    """First characters of the key, by which to identify it."""
    scopes: list[Literal['approve', 'estimate', 'propose', 'read', 'webhooks']]
    """Allowed scopes."""
    status: Literal['active', 'expired', 'replaced', 'revoked']
    """Status: active; replaced (works until the grace period ends); expired or revoked (no longer works)."""
    created_at: datetime.datetime
    """Creation time."""
    expires_at: datetime.datetime | None
    """Time at which the key stops or stopped working; null if it does not expire."""
    last_used_at: datetime.datetime | None
    """Time of last use, to the minute; null if never used."""
    successor_id: str | None
    """Identifier of the key that replaces it; null if there is none."""


class BillRequest(Request):
    """A system and a count, or an estimate whose system is used."""
    ports_per_node: int | None = None
    """Network ports per machine; if omitted, the system's default."""
    oversubscription: float = 1.0
    """Highest allowed oversubscription of a leaf switch: ports to nodes per uplink."""
    storage_tb: float | None = None
    """Usable shared storage; if omitted, none is included. [TB]"""
    spare: int = 0
    """Number of spare machines, 1 for N+1. With any spare machine, a spare switch of each model and spare
    cables are added.
    """
    rack_units: Literal[42, 48] = 42
    """Rack height. [U]"""
    rack_power_kw: float | None = None
    """Power limit of one rack; if omitted, the catalogue's. [kW]"""
    system: str | None = None
    """Identifier of a system that can be bought."""
    count: int = 1
    """Number of systems."""
    estimate_id: str | None = None
    """Identifier of an estimate whose system, count and network are used."""
    fabric: str | None = None
    """Identifier of the network; if omitted, the system's own."""
    region: Literal['eu', 'japan', 'korea', 'us'] = 'korea'
    """Region of purchase. Its tax and duty are listed; neither is included in any price."""
    include: list[Literal['fabric', 'hosts', 'licences', 'power', 'space', 'staff', 'storage', 'support']] | None = None
    """Cost items that are bought beside the machines, as in the assumptions of an estimate; if omitted,
    all but licences, and storage where its size is given.
    """
    licence_years: float | None = None
    """Term of the licences, where they are included; if omitted, the catalogue's amortisation period. [a]"""
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every price."""
    label: str | None = None
    """Name of the bill."""


class Quantity(Document):
    """A value with its 80 % interval and unit; low and high are equal to the value if it is exact."""
    value: float
    """Central value."""
    low: float
    """10th percentile."""
    high: float
    """90th percentile."""
    unit: str
    """SI unit, or a currency's code."""


class Tax(Document):
    """A tax or duty that is not included in any price of a bill."""
    name: Literal['duty', 'vat']
    """Name: value-added or sales tax, or customs duty."""
    rate: float
    """Tax rate."""
    amount: Quantity
    """Amount on the total."""
    source: SourceRef
    """Source of the rate."""
    as_of: str
    """Date of the rate."""
    note: str
    """Basis on which it is charged."""


JsonValue: TypeAlias = Any


class Text(Document):
    """A sentence in English, with its template and values for translation."""
    template: str
    """Template of the sentence with named placeholders; the key of its translations."""
    values: dict[str, JsonValue] | None = None
    """Values of the placeholders."""
    message: str
    """Sentence in English."""


class BillLine(Document):
    """One line of a bill of materials."""
    item: str
    """Identifier of the part."""
    name: str
    """Name of the part."""
    group: Literal['cables', 'compute_network', 'hosts', 'installation', 'machines', 'management', 'management_network', 'racks', 'software', 'spares', 'storage', 'storage_network']
    """Group in which the line is listed."""
    use: str
    """Purpose."""
    quantity: int
    """Number of units."""
    rule: Text
    """How the quantity is computed."""
    unit_price: Quantity | None
    """Unit price; null if not published."""
    total: Quantity | None
    """Quantity × unit price, rounded to the currency's unit."""
    power: Quantity | None
    """Power of all units under load; null if they draw none."""
    power_max: Quantity | None
    """Maximum power of all units."""
    rack_units: float
    """Rack height of all units. [U]"""
    weight: Quantity | None
    """Weight of all units; null if unknown."""
    source: SourceRef | None
    """Source of the price; null if there is none."""
    as_of: str
    """Date of the price; empty if there is none."""
    status: Literal['estimate', 'published', 'unknown']
    """How reliable the price is: published, an estimate or unknown."""
    note: str
    """How the price was read or estimated; can be empty."""


class GroupTotal(Document):
    """Totals of one group of lines."""
    group: Literal['cables', 'compute_network', 'hosts', 'installation', 'machines', 'management', 'management_network', 'racks', 'software', 'spares', 'storage', 'storage_network']
    """Name of the group."""
    price: Quantity
    """Sum of the known prices."""
    complete: bool
    """False if a line has no price; the sum is then a lower bound."""
    power: Quantity
    """Power under load."""


class BillTotals(Document):
    """Totals of a bill."""
    price: Quantity
    """Sum of the lines. Its range adds up the low ends and the high ends of the lines, as if all prices
    were high or low together.
    """
    complete: bool
    """False if a line has no price; the sum is then a lower bound."""
    power: Quantity
    """Power under a training load."""
    power_max: Quantity
    """Maximum power; typical power if only that is published."""
    rack_units: float
    """Total height in racks. [U]"""
    racks: int
    """Number of racks."""
    weight: Quantity
    """Weight including racks, for parts of known weight."""


class CheckWarning(Document):
    """Result of a named check."""
    code: str
    """Name of the check."""
    severity: Literal['caution', 'info', 'serious']
    """Severity."""
    message: str
    """Sentence in English."""
    fields: list[str]
    """Fields of the request or the answer to which it applies."""
    text: Text
    """Sentence with its template and values, for translation."""


class FabricPlan(Document):
    """Switches and cables of a network."""
    nodes: int
    """Number of nodes."""
    switch_ports: int
    """Ports per switch."""
    port_gbps: float
    """Line rate of one port. [Gb/s]"""
    levels: int
    """Number of switch levels: 1, 2 or 3."""
    rails: int
    """Number of rails with leaf switches of their own: one per port of a node, or 1 if all share them."""
    endpoints: int
    """Number of ports over all nodes."""
    leaf: int
    """Number of leaf switches: rails × leaves per rail."""
    leaf_down: int
    """Ports to nodes on the fullest leaf switch."""
    leaf_up: int
    """Planned uplinks per leaf switch, the same number to each spine switch."""
    uplinks: int
    """Number of uplinks required by all leaf switches."""
    spine: int
    """Minimum number of spine switches: uplinks divided by downward-facing ports."""
    balanced_spine: int
    """Number of spine switches over which each leaf switch's uplinks divide evenly."""
    core: int
    """Minimum number of core switches; 0 if two levels are sufficient."""
    balanced_core: int
    """Number of core switches over which each spine switch's uplinks divide evenly."""
    pods: int
    """Number of groups of leaf and spine switches under the core (pods)."""
    leaves_per_pod: int
    """Number of leaf switches in the largest pod."""
    links_per_pair: int
    """Number of links between a leaf switch and each of its spine switches."""
    spine_up: int
    """Uplinks per spine switch; 0 if two levels are sufficient."""
    minimum_switches: int
    """Minimum number of switches: leaf + spine + core."""
    switches: int
    """Planned number of switches: leaf + balanced_spine + balanced_core."""
    cables: int
    """Minimum number of cables, for nodes and between switches."""
    balanced_cables: int
    """Number of cables as planned."""
    node_tbps: float
    """Line rate of one node, in one direction. [Tb/s]"""
    oversubscription: float
    """Ports to nodes per uplink on the fullest leaf switch."""
    declared_switches: int | None
    """Number of switches declared in the request; null if none was given."""
    warnings: list[CheckWarning]
    """Warnings and open questions."""


class RackPlacement(Document):
    """One item in a rack."""
    item: str
    """Identifier of the part."""
    name: str
    """Name of the part."""
    use: str
    """Purpose."""
    bottom: int
    """Lowest rack unit that it occupies; 1 is at the floor. [U]"""
    height: int
    """Height. [U]"""


class Rack(Document):
    """Racks with identical contents."""
    count: int
    """Number of racks with these contents."""
    height: int
    """Rack height. [U]"""
    used: int
    """Height in use. [U]"""
    power: float
    """Power under load. [W]"""
    power_max: float
    """Maximum power. [W]"""
    power_limit: float
    """Power limit of one rack. [W]"""
    weight: float
    """Weight of the contents. [kg]"""
    feeds: int | None = None
    """Power feeds, each able to carry the rack alone; null in bills that did not keep them."""
    pdus_per_feed: int | None = None
    """Power strips on each feed."""
    pdu_power: float | None = None
    """Power that one strip can carry. [W]"""
    placements: list[RackPlacement]
    """Contents of the rack, from the bottom up."""


class Bill(Document):
    """A bill of materials: the parts of a system, line by line, and their placement in racks."""
    id: str
    """Identifier."""
    label: str
    """Name."""
    request: BillRequest
    """Original request."""
    estimate_id: str | None
    """Identifier of the estimate whose system it is; null if none was given."""
    catalog_version: str
    """Version of the catalogue the figures come from."""
    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    count: int
    """Number of systems."""
    machines: int
    """Total number of machines, without spares."""
    accelerators: int
    """Total number of accelerators, without spares."""
    scalable_units: int | None
    """Scalable units of twenty nodes; null if none are defined."""
    fabric: str
    """Identifier of the compute network."""
    currency: str
    """Currency of every price."""
    package: Quantity | None
    """Price of machines, hosts and pod switches only, as systems are quoted; null without a price."""
    equipment: Quantity | None = None
    """Machines, hosts and compute network only; null without a price. The total of all lines is the capex
    of an estimate of the same system.
    """
    taxes: list[Tax] = []
    """Taxes and duties in the region of purchase; not included in any price."""
    tax_note: Text | None = None
    """What the prices exclude, as a sentence."""
    lines: list[BillLine]
    """Lines of the bill, by group."""
    groups: list[GroupTotal]
    """Totals by group."""
    totals: BillTotals
    """Totals of all lines."""
    network: FabricPlan | None
    """Compute network; null if no switches connect the machines."""
    racks: list[Rack]
    """Racks; identical racks are grouped."""
    warnings: list[CheckWarning]
    """Warnings and open questions."""


class BillRatio(Document):
    """One figure compared across two bills."""
    measure: Literal['package', 'power', 'power_max', 'rack_units', 'total']
    """Metric compared."""
    first: Quantity
    """Value for the first bill."""
    second: Quantity
    """Value for the second bill."""
    ratio: Quantity
    """Ratio of first to second; its range covers every combination of the ends."""
    parity: bool
    """True if the values are equal within the catalogue's margin."""


class GroupPair(Document):
    """Totals of one group in two bills."""
    group: Literal['cables', 'compute_network', 'hosts', 'installation', 'machines', 'management', 'management_network', 'racks', 'software', 'spares', 'storage', 'storage_network']
    """Name of the group."""
    first: Quantity | None
    """Total in the first bill; null if it has no such parts."""
    second: Quantity | None
    """Total in the second bill; null if it has no such parts."""


class BillComparison(Document):
    """Two bills of materials side by side."""
    first: str
    """Identifier of the first bill."""
    second: str
    """Identifier of the second bill."""
    labels: list[str]
    """Names of both bills."""
    margin: float
    """Largest difference at which figures count as equal."""
    ratios: list[BillRatio]
    """Ratios of the figures that both bills have."""
    groups: list[GroupPair]
    """Totals by group for both bills."""
    warnings: list[CheckWarning]
    """Warnings."""


class BillSummary(Document):
    """Summary of a bill in a list."""
    id: str
    """Identifier of the bill."""
    name: str
    """Name."""
    created_at: datetime.datetime
    """Creation time."""


class AmountLine(Document):
    """One line of an amount, with its computation."""
    item: str
    """Cost item."""
    amount: float
    """Amount in the currency; one-off or monthly, depending on the list."""
    rule: Text
    """Explanation of the computation."""


class TornadoRow(Document):
    """Effect of one input alone on the break-even."""
    input: str
    """Field of the request."""
    value: float
    """Given value."""
    low_input: float
    """Low end of the input: 20 % less."""
    high_input: float
    """High end of the input: 20 % more, or its limit."""
    low: float | None
    """Break-even at the low end of the input; null if never reached. [month]"""
    high: float | None
    """Break-even at the high end of the input; null if never reached. [month]"""
    spread: float | None
    """Difference between the two ends; null if break-even is never reached at one end. [month]"""
    reason: Text | None
    """Why one end is null."""


class DemandCase(Document):
    """Break-even at higher or lower demand."""
    factor: float
    """Demand relative to the requested demand."""
    cloud_monthly: float
    """Cloud bill at that demand. [currency/month]"""
    replaced_monthly: float
    """Part of the cloud bill for which the cluster has capacity. [currency/month]"""
    months: float | None
    """Break-even month; null if never reached. [month]"""
    outcome: Literal['after_horizon', 'never', 'within_horizon']
    """When break-even is reached: within the horizon, after it, or never."""


class CashPoint(Document):
    """Cumulative amounts of both sides up to one month, discounted to the start."""
    month: float
    """Months from the purchase. [month]"""
    own: float
    """Cumulative purchase and running cost, less the resale value from the horizon on. [currency]"""
    cloud: float
    """Cumulative cloud bills that the cluster would have replaced. [currency]"""
    saving: float
    """Cumulative cloud cost less own cost. [currency]"""
    own_low: float | None = None
    """10th percentile of own; null without ranges. [currency]"""
    own_high: float | None = None
    """90th percentile of own. [currency]"""
    cloud_low: float | None = None
    """10th percentile of cloud. [currency]"""
    cloud_high: float | None = None
    """90th percentile of cloud. [currency]"""


class FleetMixPoint(Document):
    """Cost of owning part of the capacity and renting the rest."""
    owned: float
    """Owned capacity relative to that of the cluster."""
    own: float
    """Cost of owned capacity, with the purchase spread over the horizon. [currency/month]"""
    rent: float
    """Cost of rented capacity. [currency/month]"""
    total: float
    """Total of owned and rented capacity. [currency/month]"""


class FleetMix(Document):
    """Hybrid of owned base load and rented peak load."""
    best: FleetMixPoint
    """Owned capacity with the lowest cost."""
    all_owned: FleetMixPoint
    """Cost with capacity owned for the highest demand and nothing rented."""
    all_rented: FleetMixPoint
    """Cost with nothing owned."""
    worth_owning_share: float
    """Share of the time for which capacity must be in use to be worth owning."""
    mean_demand: float
    """Mean capacity in use relative to that of the cluster."""
    peak_demand: float
    """Highest capacity in use relative to that of the cluster."""
    points: list[FleetMixPoint]
    """Cost by owned capacity."""
    load: list[float]
    """Load profile: capacity in use relative to that of the cluster, highest first."""


class Default(Document):
    """A default value that was used, and why."""
    field: str
    """Dotted path of the field in the request."""
    value: JsonValue
    """Value used."""
    why: str
    """Reason, in English."""
    text: Text
    """Reason with its template and values, for translation."""


class Amount(Document):
    """A value with its unit."""
    value: float
    """Value in the unit."""
    unit: str
    """SI unit; of money, in the currency's code, such as USD/s."""


class TraceStep(Document):
    """One formula with its inputs, value and sources."""
    name: str
    """Name of the computed figure."""
    formula: str
    """The formula."""
    inputs: dict[str, JsonValue]
    """Inputs, by name, in the units in which the catalogue and the request state them."""
    quantities: dict[str, Amount] | None = None
    """The same inputs in SI units, where they are numbers."""
    value: float
    """Value."""
    unit: str
    """SI unit of the value."""
    reference: str
    """Publication that contains the formula."""
    source: list[SourceRef]
    """Sources of the inputs."""


class BreakEven(Document):
    """When owning a cluster becomes cheaper than renting in the cloud."""
    months: float | None
    """Number of months, with fraction, until owning has cost no more than renting; null if that never
    happens. [month]
    """
    outcome: Literal['after_horizon', 'never', 'within_horizon']
    """When break-even is reached: within the horizon, after it, or never."""
    months_low: float | None
    """10th percentile of the break-even month; null if never reached, or without ranges. [month]"""
    months_high: float | None
    """90th percentile of the break-even month; null if never reached, or without ranges. [month]"""
    probability: float | None
    """Share of samples that break even within the horizon; null without ranges."""
    currency: str
    """Currency of every amount."""
    capex: Quantity
    """Purchase price."""
    capex_lines: list[AmountLine]
    """Components of the amount; empty if it was given directly."""
    onprem_monthly: float
    """Running cost of the owned cluster in the first month. [currency/month]"""
    onprem_lines: list[AmountLine]
    """Components of the amount; empty if it was given directly."""
    cloud_monthly: float
    """Cloud bill of the first month, at the requested demand. [currency/month]"""
    replaced_monthly: float
    """Part of the cloud bill for which the cluster has capacity. [currency/month]"""
    cloud_lines: list[AmountLine]
    """Components of the amount; empty if it was given directly."""
    discount_rate: float
    """Effective annual interest rate. [1/year]"""
    growth: float
    """Annual growth of the bill. [1/year]"""
    horizon_months: float
    """Horizon of the calculation. [month]"""
    own_at_horizon: float
    """Discounted cost of owning up to the horizon, less the resale value. [currency]"""
    cloud_at_horizon: float
    """Discounted cloud bills replaced up to the horizon. [currency]"""
    residual: float
    """Resale value at the horizon, undiscounted. [currency]"""
    required_cloud_monthly: float
    """Smallest first-month cloud bill at which a purchase pays off by the horizon. [currency/month]"""
    required_utilisation: float | None
    """Cluster utilisation required to pay off by the horizon; null if no utilisation is given or if even
    full utilisation is not enough.
    """
    sentences: list[Text]
    """Result in sentences, the outcome first."""
    tornado: list[TornadoRow]
    """Effect of each input on its own, largest first."""
    demand_cases: list[DemandCase]
    """Break-even at higher or lower demand."""
    cash_flow: list[CashPoint]
    """Cumulative cost of both sides, month by month."""
    mixed: FleetMix | None
    """Hybrid of owned base load and rented peak load; null without a demand profile."""
    defaults: list[Default]
    """Default values used, and why."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""
    trace: list[TraceStep]
    """Trace of the computation of each number."""


class HardwareInput(Request):
    """Hardware to buy, priced from the catalogue or a price book."""
    system: str
    """Identifier of a system."""
    count: int = 1
    """Number of systems."""
    fabric: str | None = None
    """Identifier of a fabric; if omitted, the system's default."""


class RunningInput(Request):
    """Components of the running cost. Omitted fields come from the catalogue."""
    power_kw: float | None = None
    """Mean power draw of the machines; if omitted, that of the hardware under a training load. [kW]"""
    pue: float | None = None
    """Power usage effectiveness (PUE): power of the site over that of the machines."""
    tariff: float | None = None
    """Electricity price, in the currency. [currency/kWh]"""
    staff: float | None = None
    """Full-time positions that operate the cluster; if omitted, computed from the number of machines."""
    staff_cost: float | None = None
    """Cost of a full-time position, in the currency. [currency/year]"""
    space: float | None = None
    """Rent of floor space or racks; if omitted, computed from the power draw. [currency/month]"""
    support: float | None = None
    """Annual support contract, as a share of the purchase price. [1/year]"""


class CloudInput(Request):
    """Components of the cloud bill."""
    system: str
    """Identifier of a rentable system."""
    count: int = 1
    """Number of systems rented at a time."""
    hours_per_month: float
    """Hours per month for which each system is rented; 730.5 is a full month. [h/month]"""
    hourly_price: float | None = None
    """Hourly price of one system, in the currency; if omitted, the catalogue's. [currency/h]"""
    rental: Literal['on-demand', 'reserved-1-year', 'reserved-3-years', 'spot'] = 'on-demand'
    """Rental pricing model to look up if no price is given."""


class RangeInput(Request):
    """Range of an input: 10th and 90th percentile."""
    low: float
    """10th percentile, in the unit of the input."""
    high: float
    """90th percentile, in the unit of the input."""


class RangesInput(Request):
    """Ranges of inputs that are not known exactly; the answer then has a range and a probability."""
    capex: RangeInput | None = None
    """Range of the purchase price."""
    onprem_monthly: RangeInput | None = None
    """Range of the running cost."""
    cloud_monthly: RangeInput | None = None
    """Range of the cloud bill."""
    growth: RangeInput | None = None
    """Range of the growth of the bill."""
    utilisation: RangeInput | None = None
    """Range of the share of the cluster in use."""


class BreakEvenRequest(Request):
    """A purchase and the cloud bill it would replace."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD']
    """Currency of every amount."""
    capex: float | None = None
    """Purchase price; alternatively, give hardware. [currency]"""
    hardware: HardwareInput | None = None
    """Hardware to buy, instead of capex."""
    capex_includes_fabric: bool | None = None
    """Whether the given price includes switches, cables and installation; if omitted, the result carries
    a warning about it.
    """
    onprem_monthly: float | None = None
    """Running cost of the owned cluster; alternatively, give onprem. [currency/month]"""
    onprem: RunningInput | None = None
    """Components of the running cost, instead of onprem_monthly."""
    cloud_monthly: float | None = None
    """Cloud bill of the workload that the cluster takes over; alternatively, give cloud. [currency/month]"""
    cloud: CloudInput | None = None
    """Components of the cloud bill, instead of cloud_monthly."""
    discount_rate: float = 0.0
    """Effective annual discount rate. [1/year]"""
    horizon_months: float | None = None
    """Horizon of the calculation; if omitted, the catalogue's amortisation period. [month]"""
    residual_share: float = 0.0
    """Resale value at the horizon as a share of the purchase price; if omitted, the catalogue's if
    hardware is given, otherwise none.
    """
    utilisation: float | None = None
    """Share of the cluster's capacity used by the workload behind the bill. The cloud is paid by use; the
    cluster is paid for whether it is used or not.
    """
    growth: float | None = None
    """Annual growth of the workload, and so of the cloud bill. [1/year]"""
    own_growth: float | None = None
    """Annual growth of the running cost. [1/year]"""
    teams_now: int | None = None
    """Number of teams behind the bill; requires teams_then."""
    teams_then: int | None = None
    """Future number of teams; the bill grows in proportion."""
    demand_factor: float | None = None
    """Future workload relative to the workload behind the bill; 2 means twice as much."""
    demand: list[float] | None = None
    """Demand profile: capacity in use relative to that of the cluster, for periods of equal length such
    as months. Determines how much to own if the peak is rented.
    """
    peak_price_factor: float = 1.0
    """Rental price of peak load relative to the price behind the bill."""
    ranges: RangesInput | None = None
    """Ranges of inputs that are not known exactly."""
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""


class MovedFigure(Document):
    """A figure before and after the fit; low and high are the 10th and 90th percentile."""
    parameter: str
    """Name of the figure; “offset” is the factor on every step that no figure explains."""
    unit: str
    """SI unit."""
    prior: float
    """Central value before the fit."""
    prior_low: float
    """10th percentile before the fit."""
    prior_high: float
    """90th percentile before the fit."""
    posterior: float
    """Central value after the fit."""
    posterior_low: float
    """10th percentile after the fit."""
    posterior_high: float
    """90th percentile after the fit."""
    deviations: float
    """Shift of the figure, in standard deviations of the prior."""
    narrowed: float
    """Standard deviation after the fit relative to that before."""


class PlanSummary(Document):
    """Complete plan, with every choice."""
    tensor: int
    """Tensor-parallel degree: devices that share each layer."""
    pipeline: int
    """Number of pipeline stages."""
    data: int
    """Data-parallel degree: replicas of the model."""
    micro_batch: int
    """Samples per micro-batch."""
    accumulation: int
    """Micro-batches per step and replica (gradient accumulation)."""
    global_batch: int
    """Samples per step."""
    interleave: int
    """Model chunks per pipeline stage (interleaving)."""
    recompute: str
    """Activations that the backward pass recomputes."""
    recompute_layers: int | None = None
    """Layers whose activations are recomputed whole, where that is a part of them."""
    sequence_parallel: bool
    """Whether tensor ranks also split the tokens (sequence parallelism)."""
    sharding: str
    """State that replicas shard instead of each holding a full copy."""
    sharding_ranks: int
    """Number of replicas that share one sharded copy."""
    expert: int = 1
    """Expert-parallel degree: replicas over which the experts of a layer are distributed."""
    context: int = 1
    """Context-parallel degree: devices that share the tokens of each sample."""
    offload: bool
    """Whether the optimizer state is offloaded from the device."""
    offload_parameters: bool = False
    """Whether the weights are offloaded to host memory."""
    offload_activations: bool = False
    """Whether the activations that wait for the backward pass are offloaded to host memory."""
    rts: int
    """IPU: number of replicas over which weights are sharded."""
    rts_optimizer: int
    """IPU: number of replicas over which the optimizer state is sharded."""
    phases: int
    """IPU: number of phases per stage."""
    stage_layers: list[int]
    """Number of layers of each stage."""
    idle_machines: int = 0
    """Number of machines in the system that the plan does not use."""
    searched: list[str]
    """Fields that were searched, not given in the request."""


class CalibratedRun(Document):
    """A measured run with its predictions before and after the fit."""
    system: str
    """Identifier of the system."""
    system_name: str
    """Name."""
    count: int
    """Number of systems."""
    devices: int
    """Number of accelerators used."""
    fabric: str
    """Identifier of the fabric."""
    global_batch: int
    """Samples per step over all devices."""
    plan: PlanSummary
    """Plan assumed for the run."""
    measured: float
    """Measured step time. [s]"""
    samples_per_s: float
    """Measured throughput. [samples/s]"""
    before: Quantity
    """Predicted step time before the fit."""
    after: Quantity
    """Predicted step time after the fit."""
    gap_before: float
    """Logarithm of predicted over measured step time before the fit; above 0 if the prediction is too
    slow.
    """
    gap_after: float
    """The same, after the fit."""
    note: str | None
    """Note on who measured it."""


class Outlook(Document):
    """Result of the estimate with one software profile."""
    software: str
    """Identifier of the profile."""
    step_time: Quantity | None
    """Time per step; null if the model does not fit."""
    time_to_train: Quantity | None
    """Time to train; null if the model does not fit."""


class CalibrationCause(Document):
    """A cause of the gap between measured and predicted steps, with the number that it would need."""
    cause: Literal['batch', 'clocks', 'input', 'layout', 'network', 'slow_node', 'software']
    """What would be other than stated."""
    text: Text
    """The cause with its number, and what to measure next, as a sentence."""
    needs: Quantity | None = None
    """What it would have to be: rate of the links of one machine, samples per second that the input of
    one machine feeds, share of the clock, factor on the batch, or how many times as slow one machine is.
    """
    usual: Quantity | None = None
    """What it is taken to be."""
    misfit: float
    """Chi-square of the runs with it, with a penalty for rare causes; the least is the most plausible."""


class CalibrationAnswer(Document):
    """A software profile fitted to measured runs, and its effect on the estimate."""
    kind: Literal['calibration'] = 'calibration'
    """Form of the request."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    software: str
    """Identifier of the fitted profile, the same as that of the calibration. Usable as software in any
    request.
    """
    prior_software: str
    """Identifier of the profile used as the prior."""
    estimate: dict[str, JsonValue]
    """Request of the estimate to calibrate."""
    study_id: str | None = None
    """Identifier of the study whose option was measured; null if none was named."""
    gap_before: float
    """Mean of |ln(predicted / measured)| over the runs before the fit; if small, the relative difference."""
    gap_after: float
    """The same, after the fit."""
    moved: list[MovedFigure]
    """Figures on which the runs give information, largest change first."""
    runs: list[CalibratedRun]
    """Measured runs with their predictions."""
    before: Outlook
    """Result before the fit."""
    after: Outlook
    """Result with the fitted profile."""
    effective_parameters: float
    """Effective number of figures that the runs determine."""
    spread_before: float
    """Standard deviation of the logarithm of the runs' predicted times due to uncertain figures, before
    the fit.
    """
    spread_after: float
    """The same, after the fit."""
    causes: list[CalibrationCause] | None = None
    """What explains the runs, the most plausible first; the software alone if it does."""
    warnings: list[CheckWarning]
    """Warnings to consider when using the result."""


class TransformerInput(Request):
    """A transformer defined by its dimensions."""
    layers: int
    """Number of layers; with two stacks, that of the encoder."""
    hidden: int
    """Model width (hidden size)."""
    heads: int
    """Number of attention heads."""
    kv_heads: int | None = None
    """Number of key and value heads; if omitted, equal to the number of heads."""
    ffn: int | None = None
    """Feed-forward width; if omitted, the usual multiple of the model width."""
    vocab: int | None = None
    """Vocabulary size; if omitted, that of the best-known model of the kind."""
    seq_len: int
    """Sequence length of a sample. [tokens]"""
    kind: Literal['decoder', 'encoder', 'encoder-decoder'] = 'decoder'
    """Stacks of the model."""
    gated: bool = False
    """True for gated feed-forward blocks, as in LLaMA."""
    tied_embeddings: bool | None = None
    """Whether the output layer shares the weights of the embedding; if omitted, unless gated."""
    experts: int | None = None
    """Number of experts per layer of a mixture of experts."""
    experts_per_token: int | None = None
    """Number of experts that process one token."""


class ModelInput(Request):
    """The model; give exactly one of the fields."""
    preset: str | None = None
    """Identifier of a model preset."""
    profile_id: str | None = None
    """Identifier of an uploaded profile."""
    config: dict[str, JsonValue] | None = None
    """A Hugging Face config.json object."""
    transformer: TransformerInput | None = None
    """A transformer defined by its dimensions."""
    layers: list[dict[str, JsonValue]] | None = None
    """A layer table."""
    total_flop: float | None = None
    """Training compute, if nothing else is known. [FLOP]"""


class WorkloadInput(Request):
    """Training workload."""
    kind: Literal['continue', 'dpo', 'finetune', 'grpo', 'lora', 'ppo', 'pretrain', 'qlora'] = 'pretrain'
    """Kind of training: from scratch, continued, fine-tuning of all weights, or of adapters only, next to
    frozen weights, which qlora holds in 4 bit; or from preferences beside frozen models: dpo on pairs of
    answers, ppo and grpo on answers of the model itself.
    """
    base_format: Literal['int8', 'nf4'] | None = None
    """Format in which lora and qlora store the frozen weights of the layers; if omitted, that of the
    products for lora and nf4 for qlora.
    """
    master_weights: bool | None = None
    """Whether half-precision weights have a single-precision copy; if omitted, true. Without one,
    gradients and optimizer state have the format of the weights too.
    """
    lora_rank: int | None = None
    """Rank of the adapters of lora and qlora; if omitted, that of the method's paper."""
    lora_modules: str | list[str] | None = None
    """Matrix products with adapters: attention, all, or a list of q_proj, k_proj, v_proj, o_proj,
    gate_proj, up_proj and down_proj; if omitted, those of the method's paper.
    """
    workload_id: str | None = None
    """Identifier of an uploaded data sample."""
    samples: float | None = None
    """Number of samples to train on."""
    tokens: float | None = None
    """Number of tokens to train on."""
    epochs: float | None = None
    """Number of passes over the data; requires dataset_samples."""
    dataset_samples: float | None = None
    """Number of samples in the data set."""
    target: str | None = None
    """A convergence preset."""
    global_batch: int | None = None
    """Samples per step over all devices; if omitted, chosen for the shortest time."""
    seq_len: int | None = None
    """Sequence length of a batch row; if omitted, that of the target or model. [tokens]"""
    image_size: int | None = None
    """Side length of an image; if omitted, that of the target or model. [pixels]"""
    mean_tokens: float | None = None
    """Mean number of real tokens per sample, if padding is removed or rows are packed."""
    expert_imbalance: float | None = None
    """Tokens of the busiest device over the mean, for mixtures whose experts are spread over devices; if
    omitted, 1: routing is balanced. A capacity factor bounds it.
    """
    evaluation_interval: float | None = None
    """Samples trained on between two evaluations on held-out data; if omitted, that of the target, else
    the run is not evaluated. Requires evaluated_samples.
    """
    evaluated_samples: float | None = None
    """Held-out samples of one evaluation, on the devices that train; requires evaluation_interval."""
    precision: Literal['bf16', 'fp16', 'fp16.16', 'fp32', 'fp8', 'mxfp8', 'nvfp4', 'tf32'] | None = None
    """Requested number format; each system uses the nearest one that it supports."""
    optimizer: Literal['adafactor', 'adam', 'adam-8bit', 'adam-bf16', 'adamw', 'distributed-shampoo', 'lamb', 'lion', 'momentum', 'muon', 'paged-adam', 'paged-adam-8bit', 'sgd'] | None = None
    """Optimizer; if omitted, that of the target or of published recipes."""


class Demand(Request):
    """How often the work is done; give exactly one of the fields."""
    runs: float | None = None
    """Number of runs, one after the other."""
    runs_per_year: float | None = None
    """Number of runs in each year of the term."""
    utilisation: float | None = None
    """Share of the term in which the system is busy with work like this."""


class AssumptionsInput(Request):
    """Assumptions; each has a default in the catalogue."""
    failures_per_1000_node_days: float | None = None
    """Rate of failures that stop the run. [1/(1000 node·day)]"""
    restart_minutes: float | None = None
    """Time from a failure until training resumes. [min]"""
    checkpoint_minutes: float | None = None
    """Time between checkpoints; if omitted, the interval that loses the least time. [min]"""
    electricity_per_kwh: float | None = None
    """Electricity tariff, in the currency of the request. [currency/kWh]"""
    pue: float | None = None
    """Power usage effectiveness (PUE): power of the site over that of the machines."""
    peak: str | None = None
    """Peak that a compute-only estimate divides by, such as fp16_dense, fp16_sparse or tf32_dense."""
    peak_flops: float | None = None
    """Peak of one system for a compute-only estimate. [FLOP/s]"""
    utilization: float | None = None
    """Share of the peak assumed in a compute-only estimate."""
    demand: Demand | None = None
    """How often the work is done; one run if omitted. Decisions charge every option for that many runs."""
    acquisition: Literal['own', 'rent'] | None = None
    """Whether the system is bought or rented."""
    amortisation_years: float | None = None
    """Amortisation period of a bought system. [a]"""
    utilisation: float | None = None
    """Share of the time a bought system is in use."""
    region: Literal['eu', 'japan', 'korea', 'us'] | None = None
    """Region whose tariff, salaries, space and grid are used, and whose surcharge rented systems of large
    clouds bear; if omitted, Korea for owned systems, otherwise the US.
    """
    tariff_tier: str | None = None
    """Tier of the region's tariff, or a kind of customer (industrial, general) whose tier follows from
    the load of the site; if omitted, the first kind: industry.
    """
    rental: Literal['on-demand', 'reserved-1-year', 'reserved-3-years', 'spot'] | None = None
    """Pricing model of a rented system; ignored for owned systems."""
    spot_interruptions_per_month: float | None = None
    """Rate at which the provider interrupts one spot instance. [1/month]"""
    home_currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] | None = None
    """Currency of the customer's own money: what is paid in others has the range of their exchange rates.
    If omitted, that of the request.
    """
    price_date: datetime.date | None = None
    """Date for which prices, rents, tariffs and rates are taken; if omitted, the newest known."""
    discount_rate: float | None = None
    """Cost of capital. [1/a]"""
    residual_share: float | None = None
    """Resale value of a bought system at the end of the term, as a share of its price."""
    staff: float | None = None
    """Full-time positions that operate the system; if omitted, those that an owned site needs at least,
    and none for a rented system.
    """
    cloud_support: Literal['business', 'enterprise', 'none'] = 'none'
    """Support plan of a rented system: a share of the monthly bill with a least price, as AWS sells it."""
    storage_tb: float | None = None
    """Shared storage bought or rented with the system; counted only if given. [TB]"""
    egress_gb: float | None = None
    """Data transferred out of the cloud per month, for rented systems. [GB/month]"""
    include: list[Literal['fabric', 'hosts', 'licences', 'power', 'space', 'staff', 'storage', 'support']] | None = None
    """Cost items to include besides the machines: hosts with login and management nodes, the network
    between machines, shared storage, electricity, space with racks and power strips, staff, support, and
    licences (of the maker's enterprise software). If omitted, all but storage and licences.
    """
    price_book_id: str | None = None
    """Identifier of a price book of the workspace; append @ and a number for a specific version."""
    system_price: float | None = None
    """Price of one system, in the currency of the request. [currency]"""
    hourly_price: float | None = None
    """Hourly price of one rented system, in the currency of the request. [currency/h]"""
    input_samples_per_second: float | None = None
    """Rate at which storage and hosts can feed one node. [samples/s]"""
    memory_margin: float | None = None
    """Share of device memory to leave free."""


class SystemInput(Request):
    """System to buy or rent, with its count and network."""
    id: str
    """Identifier of a system."""
    count: int = 1
    """Number of systems."""
    accelerators: int | None = None
    """Number of accelerators used, where they are fewer than the machines hold."""
    fabric: str | None = None
    """Identifier of a fabric; if omitted, the system's default."""
    ports_per_node: int | None = None
    """Number of fabric ports per node; if omitted, the default of the system."""
    streaming_memory_gb: float | None = None
    """Streaming memory of each IPU machine, or host memory of each GPU machine, if not the default. [GB]"""


class PlanInput(Request):
    """How the model is mapped to devices. Omitted fields are searched. Devices used are tensor × pipeline
    × data × context; a step trains micro_batch × accumulation × data samples. In the words of
    Megatron-LM: accumulation is the number of micro-batches of a step (global-batch-size over
    micro-batch-size and data-parallel size), interleave the number of virtual pipeline stages of a device
    (num-layers-per-virtual-pipeline-stage sets it), context its context-parallel-size. Expert-parallel
    ranks are taken from the data-parallel ones, so that expert divides data × context and uses no further
    devices.
    """
    tensor: int | None = None
    """Tensor-parallel degree: devices that share each layer."""
    pipeline: int | None = None
    """Number of pipeline stages."""
    data: int | None = None
    """Data-parallel degree: replicas of the model."""
    micro_batch: int | None = None
    """Samples per micro-batch."""
    accumulation: int | None = None
    """Micro-batches per step and replica (gradient accumulation)."""
    interleave: int | None = None
    """Model chunks per pipeline stage (interleaving)."""
    recompute: Literal['full', 'modules', 'none', 'selective'] | None = None
    """Activations that the backward pass recomputes: none, those of norms and activation functions
    (modules), of attention (selective), or of whole layers (full).
    """
    recompute_layers: int | None = None
    """Layers whose activations are recomputed whole; those of the others are kept, or attention alone is
    recomputed where no fused kernel does so. All of them if omitted; GPU only.
    """
    sequence_parallel: bool | None = None
    """Whether tensor ranks also split the tokens between tensor-parallel blocks (sequence parallelism)."""
    sharding: Literal['gradients', 'none', 'optimizer', 'parameters'] | None = None
    """State that replicas shard instead of each holding a full copy (ZeRO 1 to 3)."""
    sharding_ranks: int | None = None
    """Number of replicas that share one sharded copy of the state."""
    expert: int | None = None
    """Expert-parallel degree: replicas over which the experts of a layer are distributed."""
    context: int | None = None
    """Context-parallel degree: devices beside tensor, pipeline and data that share the tokens of a
    sample.
    """
    offload: bool | None = None
    """Whether the optimizer state is offloaded to host or streaming memory."""
    offload_parameters: bool | None = None
    """Whether the weights are offloaded to host memory, from which they come layer by layer; GPU only."""
    offload_activations: bool | None = None
    """Whether the activations that wait for the backward pass are offloaded to host memory; GPU only."""
    rts: int | None = None
    """IPU: number of replicas over which weights are sharded (replicated tensor sharding)."""
    rts_optimizer: int | None = None
    """IPU: number of replicas over which the optimizer state is sharded."""
    phases: int | None = None
    """IPU: number of phases per stage; 1 keeps the stage in the processor."""


class EstimateRequest(Request):
    """An estimate request: model × workload × system × plan × software."""
    model: ModelInput
    """Model to train."""
    workload: WorkloadInput = Field(default_factory=lambda: WorkloadInput(kind='pretrain'))
    """How much to train, and in which batches."""
    software: str | None = None
    """Identifier of a software profile; if omitted, the usual one for the model on each chip."""
    assumptions: AssumptionsInput = Field(default_factory=lambda: AssumptionsInput(cloud_support='none'))
    """Assumptions of the estimate."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every price, cost and budget."""
    system: SystemInput
    """System that the model is trained on."""
    plan: PlanInput = Field(default_factory=lambda: PlanInput())
    """How the model is mapped to devices. Omitted fields are searched."""
    label: str | None = None
    """Name of the estimate."""


class RunSystem(Request):
    """System of a run: a separate one if ``id`` is given, otherwise the estimate's with changes."""
    id: str | None = None
    """Identifier of a system; if omitted, the estimate's."""
    count: int | None = None
    """Number of systems."""
    fabric: str | None = None
    """Identifier of a fabric."""
    ports_per_node: int | None = None
    """Number of fabric ports per node."""
    streaming_memory_gb: float | None = None
    """Streaming memory per IPU machine. [GB]"""


class RunWorkload(Request):
    """Differences in the workload of a run from that of the estimate."""
    global_batch: int | None = None
    """Samples per step over all devices."""
    seq_len: int | None = None
    """Sequence length of a batch row. [tokens]"""
    image_size: int | None = None
    """Image size, as the length of a side. [pixels]"""
    mean_tokens: float | None = None
    """Mean number of real tokens per sample, if rows are packed."""
    precision: Literal['bf16', 'fp16', 'fp16.16', 'fp32', 'tf32'] | None = None
    """Number format."""


class CalibrationRun(Request):
    """One measured run of the customer's model and code, as a step time or a throughput."""
    samples_per_s: float | None = None
    """Measured throughput; give exactly one measurement. [samples/s]"""
    step_time_s: float | None = None
    """Measured step time; give exactly one measurement. [s]"""
    step_time_ms: float | None = None
    """Measured step time in milliseconds. [ms]"""
    tokens_per_s: float | None = None
    """Measured tokens per second over all accelerators. [tokens/s]"""
    samples_per_s_per_device: float | None = None
    """Measured throughput of one accelerator. [samples/s]"""
    tokens_per_s_per_device: float | None = None
    """Measured tokens per second of one accelerator. [tokens/s]"""
    system: RunSystem | str | None = None
    """System of the run: an identifier, or the differences from the estimate; if omitted, the system of
    the estimate.
    """
    workload: RunWorkload = Field(default_factory=lambda: RunWorkload())
    """Differences in workload from the estimate; if omitted, the workload of the estimate."""
    plan: PlanInput | None = None
    """Differences in the plan of the run from that of the estimate; if omitted, that of the estimate on
    the same number of devices, otherwise searched.
    """
    note: str | None = None
    """Who measured it and how."""


class CalibrationRequest(Request):
    """An estimate and the measured runs to calibrate it with."""
    estimate: EstimateRequest
    """Estimate to calibrate."""
    runs: list[CalibrationRun]
    """1 to 20 measured runs of the same model and code."""
    label: str | None = None
    """Name of the calibration."""
    study_id: str | None = None
    """Identifier of a study whose option was measured."""


class CalibrationSummary(Document):
    """Summary of a calibration in a list."""
    id: str
    """Identifier of the calibration."""
    name: str
    """Name."""
    kind: Literal['calibration', 'gain']
    """Form of the request."""
    software: str | None
    """Identifier of the fitted profile, for use in a request; null if none was fitted."""
    created_at: datetime.datetime
    """Creation time."""


class Checks(Document):
    """Results of the checks."""
    warnings: list[CheckWarning]
    """Warnings; empty if there are none."""
    suggested_devices: int | None
    """Largest device count, up to the given one, that divides the batch evenly; null if there is none."""


class ChecksRequest(Request):
    """A plan to check by arithmetic alone, before an estimate."""
    devices: int
    """Number of accelerators."""
    global_batch: int
    """Samples per step over all devices."""
    tensor: int = 1
    """Tensor-parallel degree: accelerators that share each layer."""
    pipeline: int = 1
    """Number of pipeline stages."""
    micro_batch: int = 1
    """Samples per micro-batch."""
    devices_per_node: int | None = None
    """Number of accelerators per node."""
    layers: int | None = None
    """Number of layers."""
    heads: int | None = None
    """Number of attention heads."""


class DerivedFigure(Document):
    """A figure derived from others."""
    name: str
    """Name of the figure."""
    value: float
    """Value in SI units."""
    unit: str
    """SI unit."""
    formula: str
    """Formula, in words."""
    inputs: list[Statement]
    """Input figures."""


class Chip(Document):
    """An accelerator."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    maker: str
    """Manufacturer."""
    figures: list[CatalogueFigure]
    """Figures in use."""
    rejected: list[Statement]
    """All competing claims that are not used."""
    kind: Literal['gpu', 'ipu']
    """Architecture."""
    derived: list[DerivedFigure]
    """Derived figures: peaks, ridge points, on-chip bandwidths."""


class CostFigure(Document):
    """One figure behind a cost, as stated by its source."""
    name: str
    """Name of the figure: price, tariff, pue, …"""
    item: str
    """Catalogue item that the figure describes; empty if it was stated in the request."""
    value: float
    """Value, in the given unit."""
    low: float
    """Low end of the range; equal to the value if none is known."""
    high: float
    """High end of the range; equal to the value if none is known."""
    unit: str
    """Unit as stated."""
    as_of: str
    """Date of the figure; empty if it was stated in the request."""
    status: Literal['book', 'estimate', 'recalled', 'sourced', 'stated']
    """Origin: published, estimated, recalled, stated in the request, or from a price book."""
    default: bool
    """Whether the catalogue's default was used."""
    note: str
    """What limits it."""
    source: SourceRef | None
    """Source of the figure; null if it was stated in the request."""


class CostLine(Document):
    """One line of the cost."""
    item: str
    """Cost item."""
    hourly: float
    """Cost of the item per useful hour."""
    per_month: float | None = None
    """Cost of the item per month, including idle hours."""
    over_term: float | None = None
    """Cost of the item over the term, including the cost of capital."""
    figures: list[CostFigure] | None = None
    """Figures behind the line."""


class BasisCost(Document):
    """Cost of an option on the basis shared by all options, for one way of paying."""
    acquisition: Literal['own', 'rent']
    """Whether the system is owned or rented."""
    rental: str | None
    """Rental pricing model; null if bought."""
    own: bool
    """Whether this is the way of paying given in the option's request."""
    run: Quantity
    """Cost per run."""
    hourly: Quantity
    """Cost per useful hour."""
    yearly: Quantity
    """Cost of the useful hours of one year."""
    over_term: Quantity
    """Cost of the useful hours over the term."""
    capex: Quantity | None
    """Price of the system; null if rented."""
    purchase: Quantity | None = None
    """Everything paid before the first run, with freight and installation; null if rented."""
    runs: float
    """Number of runs that fit into the useful hours of the term."""
    lines: list[CostLine]
    """Cost lines."""


class Links(Document):
    """Where a document is."""
    self: str
    """URL in the API."""
    page: str
    """URL of the page."""
    pdf: str | None
    """URL of the PDF; null if there is none."""


class WorkloadSummary(Document):
    """Resolved training workload."""
    kind: str
    """Kind of training: pretrain, continue, finetune, lora, qlora, dpo, ppo or grpo."""
    samples: float | None
    """Number of samples to train on."""
    tokens: float | None
    """Number of tokens to train on; null if samples have no tokens or it is not known."""
    global_batch: int | None
    """Samples per step."""
    seq_len: int | None
    """Sequence length of a sample. [tokens]"""
    image_size: int | None
    """Image size, as the length of a side. [pixels]"""
    mean_tokens: float | None
    """Mean number of real tokens per sample, where stated or taken by default."""
    precision: str | None
    """Number format that the system uses."""
    optimizer: str | None
    """Optimizer."""
    target: str | None
    """Convergence preset, if it was given."""


class ModelSummary(Document):
    """Resolved model."""
    id: str
    """Identifier of the preset or profile."""
    name: str
    """Name."""
    family: str
    """Model family with the closest measured runs."""
    parameters: float
    """Parameter count, summed over the operators."""
    kind: str = 'pretrain'
    """Kind of training: pretrain, continue, finetune, lora, qlora, dpo, ppo or grpo."""
    trained_parameters: float | None = None
    """Number of trained parameters: those of the adapters for lora and qlora, otherwise all."""
    forward_flop_per_sample: float
    """Compute of the forward pass of one sample. [FLOP]"""
    seq_len: int | None
    """Sequence length of a sample. [tokens]"""
    image_size: int | None
    """Image size, as the length of a side. [pixels]"""
    assumptions: list[Text]
    """Assumptions made where the description gives no value."""


class SystemSummary(Document):
    """Resolved system."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    count: int
    """Number of units."""
    machines: int
    """Total number of machines."""
    devices: int
    """Total number of accelerators."""
    chip: str
    """Identifier of the chip."""
    fabric: str
    """Identifier of the fabric."""
    ports_per_node: int | None
    """Number of fabric ports per node."""
    generation: str
    """Generation of the chip."""
    power: Quantity | None
    """Power under the training load."""
    rack_units: float | None
    """Total height in the rack. [U]"""


class MemoryPart(Document):
    """One component of device memory."""
    part: str
    """Name of the part."""
    value: float
    """Size of the component on the fullest device. [B]"""


class Memory(Document):
    """Memory of the fullest device."""
    per_device: Quantity
    """Memory in use on the fullest device."""
    capacity: Quantity
    """Memory of one device."""
    usable: Quantity | None = None
    """Memory of one device that a plan may use; the rest is reserved for what no formula covers."""
    parts: list[MemoryPart]
    """Components of the memory in use."""
    streaming: Quantity | None
    """Host or streaming memory in use per device."""
    streaming_capacity: Quantity | None
    """Host or streaming memory available per device."""


class Expectation(Document):
    """Times to train of published records and of what ordinary teams report."""
    headline: Literal['reported', 'tuned']
    """Which of the two the time to train, the cost and the decision take."""
    tuned: Quantity
    """Time as published records of this stack reach it."""
    reported: Quantity | None
    """Time as ordinary teams report it; null where nothing else is known than the records."""
    factor: float | None = None
    """Median time of ordinary runs of such a stack over that of published records."""
    runs: int | None = None
    """Public runs that the factor was fitted to."""
    text: Text | None = None
    """What the headline is, and what moves it, as a sentence; null without a second figure."""


class Carbon(Document):
    """Carbon dioxide emissions of the electricity, location-based; manufacturing is not included."""
    run: Quantity
    """For the run."""
    per_year: Quantity
    """For one year of use at the given utilisation."""
    intensity: CostFigure
    """Emission intensity of the grid."""


class QuoteLine(Document):
    """One line of a quote."""
    item: str
    """Identifier of the cost item."""
    label: str
    """Name."""
    quantity: float
    """Number of units."""
    unit_price: float | None
    """Unit price, not rounded; null if not published."""
    discount: float
    """Discount on the line, rounded to the currency's unit."""
    total: float | None
    """Quantity × unit price, rounded, less the discount; null if the price is unknown."""
    source: str
    """Identifier of the source of the price; can be empty."""
    status: str
    """Reliability of the price, taken from its source: for example list, estimate or own."""


class Quote(Document):
    """Lines and their total in one currency."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD']
    """Currency of every amount."""
    lines: list[QuoteLine]
    """Lines, in order."""
    total: float
    """Exact sum of the known line totals."""
    complete: bool
    """False if a line has no price; the total is then a lower bound."""


class Cost(Document):
    """Cost of the run, on a stated basis."""
    run: Quantity
    """Cost of the run."""
    run_samples: list[float] | None = None
    """Samples behind the range of the run's cost, in an order shared by all estimates: comparing two
    estimates sample by sample gives the probability that one is cheaper. [currency]
    """
    capex: Quantity | None
    """Price of the system; null if rented."""
    hourly: Quantity
    """Cost per useful hour."""
    per_accelerator_hour: Quantity | None = None
    """Cost of one accelerator per useful hour."""
    per_month: Quantity | None = None
    """Cost of the system per month."""
    over_term: Quantity | None = None
    """Cost of the system over the whole term, including the cost of capital."""
    present_value: Quantity | None = None
    """Present value of the cost over the term, at the start of the term."""
    carbon: Carbon | None = None
    """Carbon dioxide emissions of the electricity."""
    basis: dict[str, JsonValue]
    """Basis of the cost. Only costs on the same basis can be compared."""
    lines: list[CostLine]
    """Cost lines."""
    figures: list[CostFigure] | None = None
    """Figures behind all lines: term, cost of capital, utilisation, exchange rates."""
    quote: Quote | None = None
    """Cost lines over the term, rounded to the currency's unit; they add up exactly."""


class Part(Document):
    """One component of a run or of a step."""
    part: str
    """Name of the part."""
    seconds: float
    """Duration of the component. [s]"""


class PipelineSchedule(Document):
    """Pipeline schedule of the micro-batches of one step."""
    kind: Literal['interleaved', 'lockstep', 'one_forward_one_backward']
    """Order of the passes: one forward, one backward (1F1B); interleaved 1F1B; or supersteps in lockstep."""
    stages: int
    """Number of pipeline stages."""
    micro_batches: int
    """Number of micro-batches in the step."""
    chunks: int
    """Model chunks per stage (interleaving)."""
    forward: float
    """Forward pass of one micro-batch on the slowest stage, including its share of transfers. [s]"""
    backward: float
    """Backward pass of one micro-batch on the slowest stage, including recompute. [s]"""
    length: float
    """Time from the first forward pass to the end of the last backward pass. [s]"""
    bubble: float
    """Pipeline bubble: idle time of every stage while the pipeline fills and drains. [s]"""
    bubble_share: float
    """Pipeline bubble as a share of the length of the schedule."""
    after: float
    """Remaining time of the step: gradients, update, fixed time, and work of a single stage. [s]"""
    superstep: list[Part] | None
    """Components of one forward and one backward superstep on IPUs; null if stages do not run in
    lockstep.
    """


class RooflinePoint(Document):
    """One operator on the roofline."""
    operator: str
    """Name of the operator."""
    intensity: float
    """Arithmetic intensity: operations per byte moved. [FLOP/B]"""
    attained: float
    """Attained rate. [FLOP/s]"""
    bound: Literal['compute', 'exchange', 'latency', 'memory']
    """What limits it."""
    seconds: float
    """Time of the operator in one step. [s]"""


class Roofline(Document):
    """Roofline of a device."""
    peak: float
    """Matrix peak of one device. [FLOP/s]"""
    bandwidth: float
    """Bandwidth that sets the slope. [B/s]"""
    bandwidth_name: str
    """Name of the bandwidth that sets the slope."""


class MeasuredEffect(Document):
    """Factor on the time of a step from what measured runs take beyond what is computed."""
    kind: str
    """What the runs have in common: architecture, chip, software or family."""
    name: str
    """Architecture, chip, software profile or model family."""
    factor: float
    """Measured time over computed time, all else alike."""
    deviation: float
    """Log-deviation of the factor."""
    runs: int
    """Number of measured runs it rests on."""
    groups: int
    """Number of groups of equal machines among them."""
    text: Text
    """The factor as a sentence."""
    source: SourceRef
    """Source of the factor."""


class Sensitivity(Document):
    """Contribution of one uncertain input to the range of the time to train, from the same samples."""
    input: str
    """Name of the input; “residual” is what the figures of the software profile do not explain."""
    low: float
    """10th percentile if only this input were uncertain, within the range of the time. [s]"""
    high: float
    """90th percentile if only this input were uncertain. [s]"""
    share: float = 0.0
    """Share of the variance of the time; all shares add up to one."""
    effect: float | None = None
    """Relative change of the time per standard deviation of the input; null for the residual."""


class NearestRun(Document):
    """A measured run close to the estimate."""
    id: str
    """Identifier of the measured run."""
    model: str
    """Name of the model."""
    system: str
    """System that the model is trained on."""
    accelerators: int
    """Number of accelerators."""
    software: str
    """Software of the run."""
    distance: float
    """Distance from the estimate; 0 for the same case."""
    family: str = ''
    """Model family."""
    metric: str = ''
    """Measured quantity, named as in the columns of data/validation/predictions.csv."""
    measured: float | None = None
    """Measured value, in the unit of the metric."""
    predicted: float | None = None
    """Predicted value for that run; null if the run was refused."""


class BasisError(Document):
    """Error of comparable measured runs that were left out of the fit in the way that fits the basis."""
    left_out: Literal['chip', 'laboratory']
    """What was left out with each run: all runs of its laboratory, or all runs of its chip."""
    families: Literal['core', 'other']
    """Runs of the families with the most measured runs (BERT, GPT, LLaMA, ResNet-50), or of the others."""
    chips: Literal['fitted', 'newer']
    """Runs of the chips that software figures are fitted on (A100 and IPUs), or of the others."""
    runs: int
    """Number of runs."""
    groups: int
    """Number of groups of equal machines; each counts once."""
    median: float
    """Median of |ln(predicted/measured)|."""
    ninetieth: float
    """90th percentile of |ln(predicted/measured)|."""


class ThreeSteps(Document):
    """What three measured steps of one's own make of the range."""
    now: float
    """Half the range of the time to train, over its value."""
    after: float
    """The same once three steps of this plan have been measured and calibrated with."""
    text: Text | None = None
    """Advice to measure them; null in answers of version 0.1.0."""


class OutsideRun(Document):
    """A measured run of the same model, system and size that lies outside the range of the estimate."""
    id: str
    """Identifier of the measured run."""
    model: str
    """Name of the model."""
    software: str
    """Software as stated by the run."""
    profile: str | None
    """Software profile of the run, for requesting the estimate with it; null if the estimate already uses
    it.
    """
    title: str = ''
    """Name of that profile."""
    metric: str
    """Measured quantity, named as in the columns of data/validation/predictions.csv."""
    measured: float
    """Measured value, in the unit of the metric."""
    range: Quantity
    """Range of the estimate, in the same unit."""
    reasons: list[Literal['global_batch', 'plan', 'software']]
    """Differences between the run and the estimate; empty if there are none."""


class Validation(Document):
    """How closely measured runs support the estimate."""
    nearest_measured: list[NearestRun]
    """Measured runs close to the estimate."""
    family_error: float | None
    """Median of |ln(predicted/measured)| over the family's measured runs on the chip, using the software
    of each run if it was named, and the default if it was presumed.
    """
    status: Literal['extrapolated', 'unvalidated', 'validated']
    """Whether the estimate is covered by measured runs."""
    basis: Literal['chip_elsewhere', 'data_sheet', 'measured_here', 'own_runs', 'software_elsewhere'] | None = None
    """What the estimate rests on: own_runs (calibrated with runs of the workspace), measured_here (runs
    of this family on this series of chips with this software), software_elsewhere (runs of the software,
    but not of this family on this chip), chip_elsewhere (runs of the chip, but not with this software, or
    none is named) or data_sheet (no run of the chip); null if only the compute is given.
    """
    basis_text: Text | None = None
    """The basis and its error as a sentence."""
    basis_error: BasisError | None = None
    """Error of comparable runs; null for own_runs, which have their own."""
    three_steps: ThreeSteps | None = None
    """What three measured steps gain; null where the range narrows by a fifth or less."""
    software_presumed: bool = False
    """True if no software was given and the default is used."""
    compared: int = 0
    """Number of measured runs of the same model, system and size that can be compared with the estimate."""
    outside_count: int = 0
    """Number of these runs that lie outside the range of the estimate."""
    contradicted: bool = False
    """True if more than one in five at a similar batch lies outside, among the runs of the software that
    was given, or among all runs if it is presumed.
    """
    outside: list[OutsideRun] | None = None
    """One run outside the range for each software, the one that differs least in other ways, furthest
    first; at most three.
    """


class Estimate(Document):
    """The result for model × workload × system × plan × software."""
    id: str
    """Identifier."""
    created_at: datetime.datetime | None = None
    """Creation time; null in an answer that is not stored."""
    links: Links | None = None
    """Where it is; null in an answer that is not stored."""
    summary: list[str] | None = None
    """What a list or a CRM shows of it, line by line, in the language of the request; empty in an answer
    that is not stored.
    """
    request: dict[str, JsonValue] | None = None
    """Request as stored, with the fields that were given; null in an answer that is not stored."""
    workload: WorkloadSummary | None = None
    """Resolved workload; null in an answer that is not stored."""
    assumptions: dict[str, JsonValue] | None = None
    """Assumptions used, given ones and defaults, in the units of the request; null in an answer that is
    not stored.
    """
    name: str
    """Name."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    model: ModelSummary
    """Resolved model."""
    system: SystemSummary
    """Resolved system."""
    plan: PlanSummary | None
    """Complete plan, with every choice; null for a compute-only estimate."""
    software: str | None
    """Identifier of the software profile."""
    precision_used: str | None
    """Number format that the system uses."""
    defaults: list[Default]
    """Default values used, and why."""
    fits: bool
    """Whether the plan fits in memory."""
    memory: Memory | None
    """Memory of the fullest device."""
    step_time: Quantity | None
    """Time per step."""
    throughput: Quantity | None
    """Samples per second: global batch over step time."""
    tokens_per_second: Quantity | None
    """Tokens per second; null if samples have no tokens."""
    mfu: Quantity | None
    """Model FLOPs utilization (MFU): model FLOP per second over the peak."""
    steps: int | None
    """Number of steps in the run, rounded up."""
    samples: float | None
    """Number of samples in the run."""
    trained: Text | None = None
    """What is trained, as a sentence; null if only the compute is given."""
    time_to_train: Quantity | None
    """Time to train, including checkpoints, failures and evaluation."""
    expectation: Expectation | None = None
    """Time of published records of this stack and of what ordinary teams report, and which of the two is
    the headline; null if only the compute is given or the plan does not fit.
    """
    time_samples: list[float] | None = None
    """Samples behind the range of the time to train, in an order shared by all estimates: comparing two
    estimates sample by sample gives the probability that one is faster. [s]
    """
    startup: Quantity | None = None
    """Time from the start of the job to its first step, including compilation; not part of the time to
    train.
    """
    goodput: Quantity | None = None
    """Share of the time to train spent in training steps."""
    all_in_device_hours: Quantity | None = None
    """Device hours of the whole project, including failed runs and experiments, estimated from published
    projects.
    """
    energy: Quantity | None
    """Energy use of the run."""
    cost: Cost | None
    """Cost of the run; null if no price is known."""
    breakdown: list[Part] | None
    """Components that add up to the time to train."""
    schedule: PipelineSchedule | None = None
    """Pipeline schedule of one step; null if there is only one stage."""
    roofline: list[RooflinePoint]
    """Most expensive operators, on the roofline."""
    roof: Roofline | None
    """Roofline of the device: peak and bandwidth."""
    effects: list[MeasuredEffect] | None = None
    """What measured runs of the chip, the software and the model family take beyond what is computed; in
    every part of a step.
    """
    sensitivity: list[Sensitivity]
    """Inputs that drive the time to train, strongest first."""
    validation: Validation
    """How closely measured runs support the estimate."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""
    trace: list[TraceStep]
    """Trace of the computation of each number."""


class ComparisonRow(Document):
    """One option of a comparison: an estimate or a published figure."""
    label: str
    """Name of the row."""
    kind: Literal['linear', 'measured', 'modelled', 'published', 'vendor']
    """Origin of the figure; estimates are modelled."""
    hours: float | None
    """Time to train; null if it does not fit. [h]"""
    low: float | None
    """10th percentile. [h]"""
    high: float | None
    """90th percentile. [h]"""
    system: str | None
    """Identifier of the system."""
    scaled_from: str | None
    """Label of the row from which it is scaled."""
    factor: float | None
    """Hardware of this row as a multiple of that row's."""
    costs: list[BasisCost] | None = None
    """Cost on the basis shared by all rows, for each way of paying with a known price; the row's own way
    first.
    """
    estimate: Estimate | None
    """Estimate behind the row; null if the row is a published figure."""


class Ratio(Document):
    """Time to train of one row relative to another."""
    slower: str
    """Label of the slower row."""
    faster: str
    """Label of the faster row."""
    ratio: float
    """Hours of the slower row divided by those of the faster row."""
    low: float | None = None
    """10th percentile of the ratio, from samples that share what the two rows have in common."""
    high: float | None = None
    """90th percentile."""
    probability: float | None = None
    """Share of samples in which the faster row is faster; null if neither row has samples."""
    tie: bool = False
    """Whether the two are too close to call: within 1 %, or the order holds in fewer than 4 of 5 samples."""


class CommonBasis(Document):
    """Basis shared by the costs of all options."""
    utilisation: float
    """Utilisation of each option, as a share of calendar time."""
    term_years: float
    """Term over which all options are paid for. [a]"""
    useful_hours_per_year: float
    """Useful hours of work per year. [h/a]"""


class CostRatio(Document):
    """Cost per run of one row relative to another, on the shared basis."""
    dearer: str
    """Label of the dearer row."""
    cheaper: str
    """Label of the cheaper row."""
    ratio: float
    """Cost of the dearer row divided by that of the cheaper row."""
    low: float | None = None
    """10th percentile of the ratio, from paired samples."""
    high: float | None = None
    """90th percentile."""
    probability: float | None = None
    """Share of samples in which the cheaper row is cheaper; null if neither row has samples."""
    tie: bool = False
    """Whether the two are too close to call."""


class DecisionQuestion(Document):
    """What was asked of the options."""
    deadline_s: float | None = None
    """Time within which one run has to be done. [s]"""
    budget: float | None = None
    """Most that may be spent. [currency]"""
    budget_kind: Literal['purchase', 'run', 'term'] | None = None
    """What the budget pays for; null for the purchase of what is owned and the run of what is rented."""
    currency: str
    """Currency of every amount."""
    probability: float = 0.8
    """Share of samples in which all limits must be met."""
    power_w: float | None = None
    """Most power at the site while training. [W]"""
    demand: Demand = Field(default_factory=lambda: Demand(runs=1.0))
    """How often the work is done."""


class DecisionMargin(Document):
    """How far the recommended option is ahead of the best other, in outlay."""
    over: str
    """Identifier of the best other option."""
    share: Quantity
    """How much more that one costs, relative to the recommended."""
    probability: float
    """Share of paired samples in which the recommended costs less."""


class DecisionOption(Document):
    """An option under the question."""
    id: str
    """Identifier of the option."""
    meets: bool
    """Whether it meets every limit with the asked probability and has the capacity for the demanded runs."""
    probability: float | None
    """Share of paired samples that meet every limit; null without limits."""
    time: Quantity | None
    """Time of one run; null if it does not fit. [s]"""
    outlay: Quantity | None
    """All money that leaves the customer over the term for the demanded runs; null without a price."""
    purchase: Quantity | None
    """Everything paid before the first run; null if rented or without a price."""
    run: Quantity | None
    """Share of ownership, or the rent, of one run; null without a price."""
    idle_share: float | None
    """Share of the term that an owned system does not work; null if rented."""
    why_not: Literal['costs_more', 'does_not_fit', 'no_capacity', 'no_price', 'not_on_sale', 'over_budget', 'over_power', 'published', 'too_late', 'too_slow'] | None
    """Why it is not recommended; null for the recommended option and those that tie with it."""
    runs: int | None = None
    """Demanded runs that it does within the term; null if it does not fit."""
    verdict: Text | None = None
    """How often the missed limit is kept, or how many runs are done; null for every other reason."""


class NearestDate(Document):
    """NearestDate"""
    id: str
    """Option that meets everything else."""
    deadline_s: float
    """Least deadline with which it would be recommended. [s]"""


class NearestMoney(Document):
    """NearestMoney"""
    id: str
    """Option that meets everything else."""
    budget: float
    """Least budget with which it would be recommended. [currency]"""


class NearestWork(Document):
    """NearestWork"""
    id: str
    """Option that does the most runs."""
    runs: int
    """Most runs within all limits."""


class NearestAnswers(Document):
    """What would work where nothing does; each is null where changing it alone does not help."""
    date: NearestDate | None = None
    """Another deadline."""
    money: NearestMoney | None = None
    """Another budget."""
    work: NearestWork | None = None
    """Fewer runs."""


class Overturn(Document):
    """A change of one input from which another option is recommended."""
    input: str
    """Input: demand.runs, deadline_s, or the price of an option."""
    at: Quantity | None
    """Value from which the recommendation changes; null where no value changes it."""
    then: str | None
    """Option that is recommended then; null for none."""
    even: Quantity | None = None
    """Runs at which both outlays are equal: differences that count as ties move the recommendation."""


class Decision(Document):
    """What is recommended among options, why, and what would overturn it."""
    question: DecisionQuestion
    """What was asked."""
    runs: int
    """Number of runs that every option is charged for."""
    recommended: str | None
    """Option that is recommended; null if none meets everything and has a price."""
    tied: list[str]
    """Options whose outlay cannot be told from the least one."""
    margin: DecisionMargin | None
    """Against the best other option that could be recommended; null without one."""
    options: list[DecisionOption]
    """Every option, in the order given."""
    nearest: NearestAnswers | None
    """What would work, where nothing is recommended and an option fits."""
    overturned_by: list[Overturn]
    """What would overturn the recommendation."""
    sentences: list[Text] | None = None
    """The decision in words."""


class Comparison(Document):
    """Options side by side."""
    id: str
    """Identifier."""
    title: str
    """Title."""
    locale: str
    """Display language."""
    currency: str
    """Currency of every estimate in the comparison."""
    scaling_efficiency: float
    """Scaling efficiency of linear rows, as a share of linear scaling."""
    rows: list[ComparisonRow]
    """Options, in order."""
    ratios: list[Ratio]
    """Time to train of each row relative to each faster row, starting with ratios to the fastest."""
    fastest: str | None = None
    """Label of the fastest row; null if rows tie."""
    fastest_tied: list[str] | None = None
    """Labels of the rows that tie for the shortest time; empty if one row is the fastest."""
    one_basis: CommonBasis | None = None
    """Basis shared by the costs of all rows; null if no cost is known."""
    cost_ratios: list[CostRatio] | None = None
    """Cost per run of each row relative to each cheaper row, on the shared basis."""
    cheapest: str | None = None
    """Label of the row with the lowest cost per run on the shared basis; null if rows tie."""
    cheapest_tied: list[str] | None = None
    """Labels of the rows that tie for the lowest cost; empty if one row is the cheapest."""
    decision: Decision | None = None
    """What is recommended under the limits, for the demanded work; the identifier of an option is its
    label.
    """
    warnings: list[CheckWarning]
    """Warnings to consider when comparing the options."""


class ComparisonOfState(Request):
    """A state of a study to store as a comparison, for use in a proposal."""
    knobs: dict[str, str | float | int | None] = {}
    """Knob name → value; “count.a” changes one option, “batch” all. An empty value means the default."""
    version: int | None = None
    """Version to which the knobs apply; if omitted, the newest."""
    pair: list[str] | None = None
    """Two options to compare with each other."""
    title: str | None = None
    """Title; if omitted, the name of the study."""
    locale: Literal['en', 'ko', 'zh'] = 'en'
    """Display language of the comparison."""


class Limits(Request):
    """What an answer has to meet."""
    deadline_s: float | None = None
    """Time within which one run has to be done. [s]"""
    budget: float | None = None
    """Most that may be spent, in the currency of the request. [currency]"""
    budget_kind: Literal['purchase', 'run', 'term'] | None = None
    """What the budget pays for: purchase (machines, hosts, network, installation), run (share of
    ownership, or rent, of one run) or term (all money over the term, for the demanded runs). If omitted,
    purchase for owned systems and run for rented systems.
    """
    power_w: float | None = None
    """Most power at the site while training, network and cooling included; rented systems take none. [W]"""
    probability: float | None = None
    """Share of samples in which all limits must be met; if omitted, 0.8."""


class PublishedFigure(Request):
    """A stated time to train with its label; a linear one is scaled from another row."""
    hours: float | None = None
    """Time to train; a linear figure can omit it and is then scaled from another. [h]"""
    kind: Literal['linear', 'measured', 'modelled', 'published', 'vendor']
    """Origin of the figure; “linear” is an extrapolation."""
    scaled_from: str | None = None
    """Label of the row from which a linear row is scaled."""
    factor: float | None = None
    """Hardware of this option as a multiple of that option's."""
    system: str | None = None
    """Identifier of a system."""
    label: str
    """Label of the row; must be unique."""


class StoredEstimate(Request):
    """An estimate of the workspace as a row."""
    estimate_id: str
    """Identifier of the estimate."""
    label: str | None = None
    """Label of the row; if omitted, that of the estimate."""


class ComparisonPatch(Request):
    """Fields of a comparison to change, each as a whole. Omitted fields are unchanged."""
    title: str | None = None
    """Title; if omitted, the labels of the rows."""
    locale: Literal['en', 'ko', 'zh'] | None = None
    """Display language of the comparison."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] | None = None
    """Currency of every estimate in the comparison."""
    limits: Limits | None = None
    """What the decision between the rows has to meet."""
    rows: list[EstimateRequest | PublishedFigure | StoredEstimate] | None = None
    """Estimate requests, stored estimates or published figures."""


class ComparisonRequest(Request):
    """Options to compare side by side."""
    title: str | None = None
    """Title; if omitted, the labels of the rows."""
    locale: Literal['en', 'ko', 'zh'] = 'en'
    """Display language of the comparison."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every estimate in the comparison."""
    limits: Limits | None = None
    """What the decision between the rows has to meet."""
    rows: list[EstimateRequest | PublishedFigure | StoredEstimate]
    """Estimate requests, stored estimates or published figures."""


class ComparisonSummary(Document):
    """Summary of a comparison in a list."""
    id: str
    """Identifier of the comparison."""
    title: str
    """Title."""
    labels: list[str]
    """Labels of the options, in order."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time of the last change."""


class Delivery(Document):
    """A message to a webhook and its delivery status."""
    id: str
    """Identifier of the message, sent as webhook-id with every attempt."""
    event: str
    """Type of the event."""
    status: Literal['delivered', 'dropped', 'failed', 'waiting']
    """Status: waiting to be sent, delivered, failed at every attempt, or dropped with its webhook."""
    attempts: int
    """Number of delivery attempts."""
    next_try_at: datetime.datetime | None
    """Time of the next attempt; null if there will be none."""
    tried_at: datetime.datetime | None
    """Time of the last attempt; null if never sent."""
    response_status: int | None
    """HTTP status of the last response; null if there was none."""
    response_text: str
    """Beginning of the last response body."""
    reason: Text | None
    """Why the last attempt failed; null if it did not."""
    body: str
    """Body of the message, as signed and sent."""
    created_at: datetime.datetime
    """Time of the event."""


class DuplicateRequest(Request):
    """A copy of a study, in any of its states."""
    knobs: dict[str, str | float | int | None] = {}
    """Knob name → value; “count.a” changes one option, “batch” all. An empty value means the default."""
    version: int | None = None
    """Version to which the knobs apply; if omitted, the newest."""
    pair: list[str] | None = None
    """Two options to compare with each other."""
    name: str | None = None
    """Name of the copy; if omitted, the original name with a suffix."""


class EstimateSummary(Document):
    """Summary of an estimate in a list."""
    id: str
    """Identifier of the estimate."""
    name: str
    """Name."""
    model: str | None = None
    """Name of the preset or upload; null if the model was given in the request itself."""
    system: str
    """Name of the system."""
    count: int
    """Number of systems."""
    created_at: datetime.datetime
    """Creation time."""


class Fabric(Document):
    """A scale-out network, per port."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    maker: str
    """Manufacturer."""
    figures: list[CatalogueFigure]
    """Figures in use."""
    rejected: list[Statement]
    """All competing claims that are not used."""
    protocol: str
    """Network protocol."""


class NetworkInput(Request):
    """One network to compare."""
    fabric: str
    """Identifier of a fabric."""
    ports_per_node: int | None = None
    """Ports per machine; if omitted, the system's default."""
    oversubscription: float | None = None
    """Oversubscription of a leaf switch, as ports to machines per uplink; if omitted, that of the
    request.
    """
    label: str | None = None
    """Label of the network; must be unique."""


class FabricChoiceRequest(Request):
    """One workload on several networks, to find which network is worth its price."""
    options: list[NetworkInput] | None = None
    """2 to 16 networks; if omitted, those that suit the machine, from TCP to InfiniBand."""
    reference: str | None = None
    """Label or identifier of the network relative to which gains are stated; if omitted, the recommended
    network.
    """
    threshold: float = 0.05
    """Gain below which a faster network is not worth its price: a network over which another gains as
    much is too slow; of the others the decision is by outlay.
    """
    limits: Limits = Field(default_factory=lambda: Limits())
    """What the recommended network has to meet."""
    oversubscription: float = 1.0
    """Oversubscription of a leaf switch, as ports to machines per uplink, for options that state none."""
    installed: list[str] | None = None
    """Labels or identifiers of networks that are already installed and cost nothing more."""
    measured: dict[str, list[float]] | None = None
    """Measured throughputs by label or identifier of an option; they replace the predicted ones.
    [samples/s]
    """
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""
    estimate: EstimateRequest
    """Workload and machines; the network of the estimate is one of those compared."""


class ExposedTime(Document):
    """Exposed communication of one step, that within machines included."""
    tensor: float
    """Between tensor ranks and between experts. [s]"""
    pipeline: float
    """Between pipeline stages. [s]"""
    data: float
    """For gradients, sharded weights and embedding rows. [s]"""
    share: float
    """Sum of the three as a share of the step time."""


class NetworkMessage(Document):
    """One kind of message in a step."""
    kind: Literal['data', 'pipeline', 'tensor']
    """Purpose."""
    collective: Literal['all_gather', 'all_reduce', 'all_to_all', 'reduce_scatter', 'send']
    """Collective operation."""
    bytes: float
    """Size of one message on one device. [B]"""
    count: float
    """Number of messages per step on one device."""
    ranks: int
    """Number of participating devices."""
    algorithm: Literal['in_machine', 'in_network', 'pairs', 'ring', 'tree']
    """Algorithm of the collective; “in_machine” does not use the network."""
    seconds: float
    """Time of one message without overlap. [s]"""
    hidden: float
    """Share of the message time hidden by computation."""


class NetworkLine(Document):
    """One part of a network, with its quantity."""
    item: str
    """Identifier of the item in the catalogue."""
    name: str
    """Name."""
    use: str
    """Purpose."""
    count: int
    """Number of units."""
    rule: Text
    """How the quantity is computed."""
    unit_price: Quantity | None
    """Unit price; null if not published."""
    source: SourceRef | None
    """Source of the price."""


class NetworkPrice(Document):
    """Purchase price of a network."""
    price: Quantity
    """Sum of the known prices; zero for a network that is already installed."""
    complete: bool
    """False if a part has no price; the sum is then a lower bound."""
    power: Quantity
    """Typical power of all parts that draw power."""
    switches: int
    """Number of switches at all levels."""
    cables: int
    """Number of cables of all kinds."""
    lines: list[NetworkLine]
    """Parts of the network."""


class MeasuredThroughput(Document):
    """Measured runs on one network, with their predictions."""
    runs: list[float]
    """Measured throughputs. [samples/s]"""
    mean: float
    """Mean of the runs. [samples/s]"""
    deviation: float | None
    """Standard deviation of the runs; null for a single run. [samples/s]"""
    predicted: Quantity
    """Throughput predicted without the measured runs."""
    gap: float
    """Logarithm of predicted over measured throughput; above 0 if the prediction was too fast."""
    fitted: Quantity | None
    """Throughput predicted with the efficiencies fitted to all runs; null if nothing was fitted."""


class FabricValidation(Document):
    """How far the result for a network is supported by runs on such a network."""
    status: Literal['extrapolated', 'measured', 'unvalidated', 'validated']
    """“measured”: by runs in the request. “unvalidated”: no run of this model family on this network
    between machines with this chip is known.
    """
    runs: int
    """Number of known runs of the model family on this network, between machines with chips of this
    series.
    """
    families: list[str]
    """Model families with known runs on this network, on any chip."""


class FabricOption(Document):
    """One network option."""
    id: str
    """Identifier within the answer: fabric, ports, oversubscription."""
    label: str
    """Name."""
    fabric: str
    """Identifier of the fabric."""
    name: str
    """Name of the fabric."""
    ports_per_node: int
    """Number of ports per machine."""
    oversubscription: float
    """Oversubscription, as ports to machines per uplink."""
    installed: bool
    """True if it is already installed."""
    node_bandwidth: Quantity
    """Bandwidth of collectives out of one machine, in one direction."""
    plan: PlanSummary
    """Plan on this network."""
    plan_basis: Literal['given', 'own', 'reference']
    """Whether the plan was given, is the best of those of all networks on this one, or is the plan of the
    estimate's network, which is also the best here.
    """
    step_time: Quantity
    """Time per step; measured if the request has runs."""
    step_time_reference_plan: Quantity
    """Predicted time per step with the plan of the reference."""
    throughput: Quantity
    """Samples per second; measured if the request has runs."""
    time_to_train: Quantity
    """Time to train."""
    exposed: ExposedTime
    """Predicted exposed communication."""
    messages: list[NetworkMessage]
    """Messages of one step, as modelled."""
    network: NetworkPrice | None
    """Purchase price; null if the network is not sold by the switch."""
    saved: Quantity | None
    """Price of the dearest network less the price of this one."""
    run_cost: Quantity | None
    """Cost of the run on this network; null if no price is known."""
    measured: MeasuredThroughput | None
    """Measured runs from the request; null if there are none."""
    validation: FabricValidation
    """Evidence behind the result."""


class TermShare(Document):
    """Contribution of one term to the difference between two networks."""
    term: Literal['accumulation', 'data_latency', 'data_volume', 'limits', 'measured', 'one_machine', 'overlap', 'pipeline_across_machines', 'same_network', 'tensor_across_machines']
    """Name of the term."""
    seconds: float
    """Step time that it saves on the faster network. [s]"""


class FabricGain(Document):
    """Gain of one network over the reference."""
    option: str
    """Identifier of the network."""
    reference: str
    """Identifier of the reference."""
    gain: Quantity
    """Speed relative to that of the reference, minus one: throughput, where the batch is the same."""
    probability_real: float
    """Probability that the gain is above zero."""
    probability_above_threshold: float
    """Probability that the gain reaches the threshold."""
    basis: Literal['measured', 'modelled']
    """Whether both throughputs were measured."""
    same_plan: Quantity | None
    """Predicted gain with the reference's plan on both networks; null if that is the plan anyway."""
    terms: list[TermShare]
    """Components of the predicted difference, with the reference's plan on both networks."""


class DecidingFactor(Document):
    """Why the gain of the dearer network is as large as it is, and not larger."""
    term: Literal['accumulation', 'data_latency', 'data_volume', 'limits', 'measured', 'one_machine', 'overlap', 'pipeline_across_machines', 'same_network', 'tensor_across_machines']
    """Deciding factor."""
    explanation: Text
    """Explanation in one sentence."""
    gain_without_overlap: float | None
    """Gain if no communication were overlapped."""
    gain_without_accumulation: float | None
    """Gain with one micro-batch per step."""


class NetworkAdvice(Document):
    """Advice on the network."""
    recommendation: str | None
    """Identifier of the recommended network; null if none is needed or none can be recommended."""
    against: str | None
    """Identifier of the network with which it is compared; null if there is none to compare."""
    not_worth_it: bool
    """True if a dearer network was compared and is not worth its price."""
    sentence: Text
    """Recommendation in one sentence."""
    more: list[Text]
    """Further remarks."""
    gain: Quantity | None
    """Gain of the dearer of the two networks over the cheaper one."""
    probability_real: float | None
    """Probability that the gain is above zero."""
    probability_above_threshold: float | None
    """Probability that the gain is above the threshold."""
    money_saved: Quantity | None
    """Price of the network not recommended minus that of the recommended one; below zero if the
    recommended one is dearer.
    """
    run_cost_difference: Quantity | None
    """Cost of the run on the recommended network minus that on the other: what the cheaper network costs
    in time.
    """
    not_bought: list[NetworkLine]
    """Parts of the network that is not recommended."""
    instead: list[NetworkLine]
    """Parts of the recommended network."""
    decided_by: DecidingFactor
    """Deciding factor."""


class Rung(Document):
    """One network of the ladder, from one port at 100 Gb/s to all ports at 200 Gb/s."""
    label: str
    """Label of the network: ports × rate."""
    fabric: str
    """Identifier of the fabric."""
    ports_per_node: int
    """Number of ports per machine."""
    node_bandwidth: float
    """Bandwidth out of one machine, in one direction. [B/s]"""
    step_time: float
    """Time per step. [s]"""
    exposed: ExposedTime
    """Exposed communication."""
    left_to_gain: float
    """Gain of the fastest network of the ladder over this one."""
    enough: bool
    """True if that gain is below the threshold."""


class AccumulationPoint(Document):
    """One step with this number of accumulated micro-batches."""
    accumulation: int
    """Micro-batches per step and replica (gradient accumulation)."""
    global_batch: int
    """Samples per step."""
    exposed_share: float
    """Exposed communication as a share of the step time on the slowest network of the ladder."""
    ladder_gain: float
    """Gain of the fastest network of the ladder over the slowest."""
    pair_gain: float | None
    """Gain of the network not recommended over the recommended one; null if none was compared."""
    enough: bool
    """True if the slowest network is sufficient at the threshold."""


class TurningPoint(Document):
    """Points at which the advice changes: along the bandwidth of a machine, and along accumulation."""
    rungs: list[Rung]
    """Networks, slowest to fastest."""
    turns_at: str | None
    """Label of the first rung that is sufficient."""
    accumulation: list[AccumulationPoint]
    """Points from one micro-batch per step upwards."""
    slowest_enough_from: int | None
    """Accumulation from which the slowest network is sufficient; null if it is sufficient at none of
    those shown.
    """


class FittedEfficiencies(Document):
    """What the measured runs show about the software."""
    software: str
    """Identifier of the fitted profile."""
    gap_before: float
    """Mean of |ln(predicted / measured)| before the fit."""
    gap_after: float
    """The same, after the fit."""
    moved: list[MovedFigure]
    """Efficiencies on which the runs give information, largest change first."""


class FabricChoice(Document):
    """Networks side by side, and which of them is worth its price."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    label: str
    """What was compared."""
    request: FabricChoiceRequest
    """Original request."""
    model: ModelSummary
    """Resolved model."""
    system: SystemSummary
    """Resolved system."""
    software: str
    """Identifier of the software profile."""
    currency: str
    """Currency of every price."""
    fits: bool
    """Whether the model fits in the memory of the machines; memory does not depend on the network."""
    threshold: float
    """Gain below which a dearer network is not worth its price."""
    reference: str | None
    """Identifier of the network relative to which gains are stated; null if nothing fits."""
    shared_network_variance: float
    """Share of the variance in achieved network bandwidth that is common to all networks."""
    options: list[FabricOption]
    """Networks, cheapest first."""
    gains: list[FabricGain]
    """Gain of each other network over the reference."""
    decision: Decision | None = None
    """Decision between the networks by their identifiers; null if nothing fits."""
    advice: NetworkAdvice | None
    """What the decision means for the network, and why; null if nothing fits."""
    turning: TurningPoint | None
    """Where the advice changes; null on one machine or if nothing fits."""
    fitted: FittedEfficiencies | None
    """What the measured runs show about the software; null without runs."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""


class FabricRequest(Request):
    """Nodes and switches of a network."""
    nodes: int
    """Number of nodes."""
    ports_per_node: int
    """Ports per node; each is a rail."""
    port_gbps: float
    """Line rate of one port, in one direction. [Gb/s]"""
    switch_ports: int
    """Ports per switch."""
    oversubscription: float = 1.0
    """Highest allowed oversubscription of a leaf switch: ports to nodes per uplink."""
    declared_switches: int | None = None
    """Number of switches in an existing list, to be checked."""


class FreezeRecord(Document):
    """Result of freezing a proposal."""
    id: str
    """Identifier of the proposal."""
    status: Literal['expired', 'frozen']
    """Status; frozen from now on."""
    sha256: str
    """SHA-256 of the canonical JSON (RFC 8785) of the content."""
    frozen_at: datetime.datetime
    """Time of freezing, which is also the date of the document."""


class GainOption(Document):
    """Measured runs under one label."""
    label: str
    """Label of the alternative."""
    runs: list[float]
    """Measured throughputs. [samples/s]"""
    mean: float
    """Mean of the runs. [samples/s]"""
    deviation: float | None
    """Standard deviation of the runs; null for a single run. [samples/s]"""
    gain: float
    """Mean throughput relative to that of the reference, minus one."""


class GainAnswer(Document):
    """Whether the gain of an alternative over the reference reaches the threshold."""
    kind: Literal['gain'] = 'gain'
    """Form of the request."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    system: str
    """Identifier of the system."""
    reference: str
    """Label of the reference, with which the others are compared."""
    threshold: float
    """Gain below which the reference is recommended."""
    relative_gain: float
    """Gain of the fastest alternative over the reference, from mean throughputs."""
    gain_deviation: float | None
    """Standard deviation of that gain from the scatter of the runs; null if there are only single runs."""
    recommendation: str
    """Label of the recommended alternative."""
    options: list[GainOption]
    """Mean throughput and gain by label."""
    warnings: list[CheckWarning]
    """Warnings to consider when using the result."""


class GainRequest(Request):
    """Measured runs on alternatives of a system, such as two fabrics: is the dearer worth its price?"""
    system: SystemInput | str
    """System of the runs, or its identifier."""
    reference: str
    """Label of the runs with which the others are compared."""
    threshold: float = 0.05
    """Gain below which the reference is recommended."""
    runs: dict[str, list[float]]
    """Measured throughputs by label. [samples/s]"""
    label: str | None = None
    """Name of the result."""


class ReadPrice(Document):
    """One line of a price list or quote."""
    item: str
    """Item as the file names it."""
    price: float
    """Price of one unit, before the discount, in its currency."""
    currency: str
    """Currency (ISO 4217); empty if the file does not say."""
    unit: str
    """Unit of the price, such as an hour; each for a piece."""
    count: float | None = None
    """Quantity; null if none is stated."""
    discount: float | None = None
    """Share taken off; null if none is stated."""
    region: str = ''
    """Region of the price."""
    date: str = ''
    """Date of the price; empty if the file does not say."""


class ReadParts(Document):
    """What was read, as the parts of an estimate request."""
    model: dict[str, Any] | None = None
    """Model of a request; null if the file describes none that fits into one."""
    workload: dict[str, Any] | None = None
    """Fields of a workload."""
    plan: dict[str, Any] | None = None
    """Fields of a plan."""
    prices: list[ReadPrice] | None = None
    """Lines of a price list or quote."""


class ImportDocument(Document):
    """What a file is and says, before anything is computed or stored."""
    kind: str
    """Format that was recognised."""
    recognised: Text
    """What was recognised, in words."""
    read: ReadParts
    """What was read."""
    parameters: float | None = None
    """Parameter count of the model, if there is one."""
    forward_flop_per_sample: float | None = None
    """Compute of the forward pass of one sample at the asked sizes; null without a model. [FLOP]"""
    assumed: list[Text]
    """What was assumed where the file gives no value."""
    missing: list[str]
    """Fields of a request that the file does not give."""
    not_understood: list[str]
    """Fields, columns or lines that were not understood."""
    columns: list[str] | None = None
    """Columns of a table, of which those of prices can be chosen."""
    warnings: list[CheckWarning]
    """What may make its figures wrong."""


class ServedModel(Document):
    """Resolved model."""
    id: str
    """Identifier of the preset or profile."""
    name: str
    """Name."""
    parameters: float
    """Parameter count."""
    active_parameters: float
    """Parameters that one token uses; fewer than all in a mixture of experts."""
    cache_per_token: Quantity
    """Key-value cache that one token adds, over all layers and accelerators of one that is not divided."""
    prompt_flop: float
    """Compute of the forward pass of one prompt. [FLOP]"""


class ServingSystem(Request):
    """A system to serve on."""
    id: str
    """Identifier of a system."""
    count: int = 1
    """Number of systems."""
    accelerators: int | None = None
    """Number of accelerators used, where they are fewer than the machines hold."""
    fabric: str | None = None
    """Identifier of a fabric; if omitted, the system's default."""
    ports_per_node: int | None = None
    """Number of fabric ports per node; if omitted, the default of the system."""
    streaming_memory_gb: float | None = None
    """Streaming memory of each IPU machine, or host memory of each GPU machine, if not the default. [GB]"""
    label: str | None = None
    """Name in the answer; if omitted, count and name of the system."""
    assumptions: AssumptionsInput | None = None
    """Assumptions of price and use for this system; if omitted, those of the request."""


class InferenceRequest(Request):
    """One model served on several systems."""
    prompt_tokens: int
    """Tokens of a prompt."""
    output_tokens: int
    """Tokens generated for each prompt."""
    batch: int | None = None
    """Sequences that one replica generates at once; if omitted, the batch with the shortest time per
    output token among those within 5 % of the most tokens per second, under the latency limits.
    """
    tensor: int | None = None
    """Accelerators that share one replica, within the reach of fast links; if omitted, chosen with the
    batch.
    """
    precision: Literal['bf16', 'fp16', 'fp8', 'mxfp8', 'nvfp4'] | None = None
    """Format of weights and products; each system uses the nearest one that it supports."""
    cache_precision: Literal['bf16', 'fp8'] = 'bf16'
    """Format of the key-value cache."""
    time_to_first_token_s: float | None = None
    """Longest time from the start of a prompt to its first token. [s]"""
    time_per_output_token_s: float | None = None
    """Longest mean time from one output token to the next. [s]"""
    model: ModelInput
    """Model to serve: a decoder transformer."""
    systems: list[ServingSystem]
    """One to twelve systems; accelerators with memory of their own, not IPUs."""
    assumptions: AssumptionsInput = Field(default_factory=lambda: AssumptionsInput(cloud_support='none'))
    """Assumptions of price, use and memory."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every price and cost."""


class ServingPoint(Document):
    """One batch."""
    batch: int
    """Sequences of one replica."""
    time_per_output_token: Quantity
    """Mean time from one output token to the next."""
    tokens_per_second_per_accelerator: Quantity
    """Output tokens per second, over all accelerators of the system."""
    cost_per_million_output_tokens: Quantity | None
    """Whole cost over output tokens; null if no price is known."""


class ServingFigures(Document):
    """What a system serves at the chosen batch."""
    tensor: int
    """Accelerators that share one replica."""
    replicas: int
    """Number of replicas on the system."""
    idle_accelerators: int
    """Number of accelerators that no replica uses."""
    batch: int
    """Sequences of one replica."""
    largest_batch: int
    """Most sequences of one replica whose caches fit."""
    concurrent: int
    """Sequences of all replicas."""
    meets_limits: bool
    """Whether central times keep the latency limits; true without limits."""
    time_to_first_token: Quantity
    """Time of the forward pass of one prompt, without waiting for a place or for another prompt."""
    decode_step: Quantity
    """Time of one step, in which every sequence of a replica gets one token."""
    time_per_output_token: Quantity
    """Mean time from one output token to the next, with the prompts of other sequences in between."""
    tokens_per_second: Quantity
    """Output tokens per second of the system."""
    tokens_per_second_per_accelerator: Quantity
    """The same over all accelerators of the system."""
    requests_per_second: Quantity
    """Prompts answered per second by the system."""
    cost_per_million_output_tokens: Quantity | None
    """Whole cost over output tokens, if the system is always in use; null if no price is known."""
    cost_per_million_tokens: Quantity | None
    """Whole cost over prompt and output tokens."""
    energy_per_million_output_tokens: Quantity
    """Energy at the meter, at the power of training. [J]"""
    breakdown: list[Part]
    """Components of one decode step."""
    curve: list[ServingPoint]
    """Batches from one sequence to the most that fit."""


class ServingAnswer(Document):
    """One system."""
    label: str
    """Name."""
    system: SystemSummary
    """Resolved system."""
    software: str
    """Identifier of the software profile whose efficiencies are used."""
    precision_used: str
    """Format of weights and products."""
    fits: bool
    """Whether the model and one sequence fit on accelerators that fast links join."""
    memory: Memory
    """Memory of one accelerator of a replica at the chosen batch."""
    cache_per_sequence: Quantity
    """Key-value cache of one whole sequence on one accelerator of a replica."""
    hourly: Quantity | None
    """Cost of an hour in use of the system; null if no price is known."""
    cost_basis: dict[str, JsonValue]
    """Basis of the cost: acquisition, utilisation, term and rates."""
    serving: ServingFigures | None
    """What the system serves; null if the model does not fit."""
    status: Literal['unvalidated']
    """Whether the answer is covered by measured runs: not yet."""
    warnings: list[CheckWarning]
    """Warnings of this system."""
    trace: list[TraceStep]
    """Formulas with their inputs."""


class Inference(Document):
    """One model served on several systems."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    model: ServedModel
    """Resolved model."""
    request: InferenceRequest
    """Original request."""
    systems: list[ServingAnswer]
    """Systems in the order of the request."""
    assumptions: list[Text]
    """What is assumed of serving."""
    defaults: list[Default]
    """Default values used, and why."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""


class Job(Document):
    """A long-running job, with its progress and the address of its result."""
    id: str
    """Identifier of the job; the same as that of its result."""
    kind: Literal['sweep']
    """Kind of job."""
    status: Literal['cancelled', 'done', 'failed', 'queued', 'running']
    """Status: waiting, under way or ended."""
    total: int
    """Total number of steps."""
    done: int
    """Number of steps completed."""
    result: str
    """Address of the result; complete once the status is “done”."""


class KeyRequest(Request):
    """An API key to create."""
    name: str
    """Purpose."""
    scopes: list[Literal['approve', 'estimate', 'propose', 'read', 'webhooks']] = ['read']
    """Scopes of the key: read; estimate computes and stores; propose creates and shares proposals;
    webhooks manages webhooks.
    """
    expires_in_days: int | None = 365
    """Days until the key expires; null for no expiry."""


class Machine(Document):
    """A node or an IPU machine."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    maker: str
    """Manufacturer."""
    figures: list[CatalogueFigure]
    """Figures in use."""
    rejected: list[Statement]
    """All competing claims that are not used."""
    chip: str
    """Identifier of the chip."""
    devices: int
    """Number of accelerators."""
    intra: str
    """Interconnect between the accelerators of a machine."""


class MappingRequest(Request):
    """Mapping of a model to the IPUs of a pod."""
    system: str
    """Identifier of an IPU system."""
    count: int = 1
    """Number of systems."""
    parameters: float
    """Parameter count of the model."""
    layers: int
    """Number of layers."""
    tensor: int = 1
    """Tensor-parallel degree: IPUs that share each layer."""
    pipeline: int = 1
    """Number of pipeline stages."""
    replicas: int = 1
    """Data-parallel degree: replicas of the model."""
    replica_batch: int = 1
    """Samples per replica per step."""
    replicated_tensor_sharding: int = 1
    """Number of replicas over which one copy of weights and state is sharded."""


class ModelMapping(Document):
    """Result of an IPU mapping."""
    system: str
    """Identifier of the system."""
    devices: int
    """Number of IPUs used: tensor × pipeline × replicas."""
    devices_available: int
    """Number of IPUs in the systems."""
    devices_per_replica: int
    """Number of IPUs per replica: tensor × pipeline."""
    global_batch: int
    """Samples per step: replica_batch × replicas."""
    weight_fraction: float
    """Share of the weights processed by one IPU, 1/(t·p)."""
    resident_weight_fraction: float
    """Share of the weights stored on one IPU, 1/(t·p·rts)."""
    layers_per_stage: float
    """Layers per stage; the mean if stages differ."""
    weights_per_device: float
    """Size of the fp16 weights processed by one IPU. [B]"""
    memory_per_device: float
    """In-processor memory as rounded by the vendor, with which the weights alone are compared. [B]"""
    memory_of_chip: float | None = None
    """In-processor memory, computed as tiles × memory of a tile; used by estimates and plans. [B]"""
    needs_phased_execution: bool
    """True if these weights exceed that memory."""
    minimum_phases: int
    """Lower bound for weights alone. Sharding does not lower it, because each phase gathers its share."""
    planned_phases: int | None
    """Number of training phases given the memory that is actually free; null if none is free."""
    warnings: list[CheckWarning]
    """Warnings."""


class PublishedParameters(Document):
    """Parameter count published by the authors of a model."""
    parameters: float
    """Published parameter count."""
    note: str
    """How the authors count parameters, if different."""


class ModelSource(Document):
    """Source of the dimensions of a model."""
    title: str
    """Title."""
    url: str
    """URL."""
    published: str
    """Publication date; can be empty."""


class PublishedTraining(Document):
    """Training of a model as published; unpublished values are assumptions."""
    workload: dict[str, str | int | float]
    """Workload fields that reproduce the training."""
    seq_len: int | None
    """Sequence length. [tokens]"""
    image_size: int | None
    """Image size, as the length of a side. [pixels]"""
    tokens: float | None
    """Number of training tokens."""
    samples: float | None
    """Number of training samples."""
    target: str | None
    """Convergence target at which the training stops."""
    global_batch: int | None
    """Samples per step; a request can leave it to the search."""
    assumed: bool
    """True if the length of the training was not published."""
    figures: list[CatalogueFigure]
    """Figures, each with source, date, status and note."""


class Model(Document):
    """A model preset."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    family: str
    """Model family with the closest measured runs."""
    parameters: Quantity
    """Parameter count, summed over the operators."""
    published: PublishedParameters | None
    """Parameter count as published by the authors."""
    forward_flop_per_sample: Quantity
    """Compute of the forward pass of one sample at the default size."""
    seq_len: int | None
    """Default sequence length of a sample. [tokens]"""
    image_size: int | None
    """Default image size, as the length of a side. [pixels]"""
    hugging_face: list[str] = []
    """Names of the same model on Hugging Face."""
    source: ModelSource | None
    """Source of the dimensions."""
    training: PublishedTraining
    """Training as published."""
    status: Literal['accepted']
    """Status. Presets are checked against the published parameter count."""
    assumptions: list[str]
    """Assumptions made beyond the publication."""


class OperatorSummary(Document):
    """One operator of a model, for one sample."""
    name: str
    """Name."""
    kind: str
    """Kind of operator."""
    count: float
    """Number of repeats."""
    parameters: float
    """Parameter count over all repeats."""
    forward_flop: float
    """Compute of the forward pass over all repeats. [FLOP]"""
    elements: float
    """Number of elements processed by memory-bound operators."""


class ModelWithOperators(Document):
    """A model preset with its operators."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    family: str
    """Model family with the closest measured runs."""
    parameters: Quantity
    """Parameter count, summed over the operators."""
    published: PublishedParameters | None
    """Parameter count as published by the authors."""
    forward_flop_per_sample: Quantity
    """Compute of the forward pass of one sample at the default size."""
    seq_len: int | None
    """Default sequence length of a sample. [tokens]"""
    image_size: int | None
    """Default image size, as the length of a side. [pixels]"""
    hugging_face: list[str] = []
    """Names of the same model on Hugging Face."""
    source: ModelSource | None
    """Source of the dimensions."""
    training: PublishedTraining
    """Training as published."""
    status: Literal['accepted']
    """Status. Presets are checked against the published parameter count."""
    assumptions: list[str]
    """Assumptions made beyond the publication."""
    operators: list[OperatorSummary]
    """Operators at the default size."""


class NewApiKey(Document):
    """A newly created API key."""
    id: str
    """Identifier of the key."""
    name: str
    """Purpose."""
    prefix: str
    """First characters of the key, by which to identify it."""
    scopes: list[Literal['approve', 'estimate', 'propose', 'read', 'webhooks']]
    """Allowed scopes."""
    status: Literal['active', 'expired', 'replaced', 'revoked']
    """Status: active; replaced (works until the grace period ends); expired or revoked (no longer works)."""
    created_at: datetime.datetime
    """Creation time."""
    expires_at: datetime.datetime | None
    """Time at which the key stops or stopped working; null if it does not expire."""
    last_used_at: datetime.datetime | None
    """Time of last use, to the minute; null if never used."""
    successor_id: str | None
    """Identifier of the key that replaces it; null if there is none."""
    secret: str | None
    """The full key. It is returned only once and is not stored; null in the answer to a repeated request."""


class NewWebhook(Document):
    """A webhook with a new secret."""
    id: str
    """Identifier of the webhook."""
    name: str
    """Purpose."""
    url: str
    """URL to which messages are sent."""
    events: list[str]
    """Events for which the webhook receives messages."""
    active: bool
    """Whether the webhook receives events."""
    disabled_because: Text | None
    """Why the webhook was disabled; null if it is active or was disabled by a user."""
    succeeded_at: datetime.datetime | None
    """Time of the last successful delivery; null if there is none."""
    old_secret_until: datetime.datetime | None
    """Time until which messages are also signed with the previous secret; null if there is none."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time of the last change."""
    secret: str | None
    """Signing secret of the messages: whsec_ followed by base64. It is returned only once; null in the
    answer to a repeated request.
    """


class TeamPlacement(Document):
    """Devices of one team on one pod or node."""
    request: int
    """Position of the request, from 0."""
    team: str
    """Name of the team."""
    devices: int
    """Number of accelerators; one for an instance of a GPU."""
    pod: int
    """Pod or node, from 0."""
    first_device: int
    """First device on the pod or node, from 0."""
    partition: str
    """Name of the partition, unique in the plan."""
    part: int
    """Number of this part within the request, from 1."""
    parts: int
    """Number of parts of the request."""
    slice: str | None
    """MIG profile; null for whole accelerators."""
    first_slice: int | None
    """First memory slice of the instance; null for whole accelerators."""
    memory_slices: int | None
    """Number of memory slices of the instance; null for whole accelerators."""


class FreeBlock(Document):
    """A contiguous block of free devices."""
    pod: int
    """Pod or node, from 0."""
    first_device: int
    """First device of the block, from 0."""
    devices: int
    """Number of devices; on a pod, a power of two."""


class SliceRoom(Document):
    """Room for more instances on GPUs that are already split into slices."""
    slice: str
    """MIG profile."""
    more: int
    """Number of instances of this profile alone that still fit on those GPUs."""


class OtherClaim(Document):
    """A published value that was rejected."""
    value: float
    """Value, in the unit as stated."""
    unit: str
    """Unit as stated."""
    source: SourceRef
    """Source of the value."""
    reason: str
    """Reason for the rejection."""


class PlanFigure(Document):
    """A figure of the system, with its source."""
    name: str
    """Identifier of the figure."""
    quantity: Quantity
    """Value."""
    source: SourceRef
    """Source of the figure."""
    url: str
    """URL of the catalogue page of the figure."""
    rejected: list[OtherClaim]
    """Competing claims."""


class PlanRule(Document):
    """A rule that the plan follows, or on which a warning is based."""
    id: str
    """Identifier of the claim in the catalogue."""
    code: str
    """Code of the warning based on the rule; empty for a rule of the plan."""
    statement: str
    """Statement of the source."""
    verdict: str
    """Our assessment of the statement."""
    source: SourceRef
    """Source of the statement."""


class PartitionPlan(Document):
    """Allocation of the devices of a system to teams."""
    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    count: int
    """Number of systems."""
    isolation: str
    """Whether teams are isolated from each other."""
    orchestrator: str
    """Container orchestrator."""
    devices: int
    """Total number of accelerators."""
    pods: int
    """Number of pods or nodes that contain partitions."""
    devices_per_pod: int
    """Number of accelerators per pod or node."""
    devices_per_machine: int
    """Number of accelerators per machine."""
    ipus: bool
    """True for pods of IPUs, false for nodes of GPUs."""
    allocated: int
    """Number of accelerators allocated to teams."""
    free: int
    """Number of accelerators not allocated."""
    largest_free: int
    """Size of the largest single request that still fits."""
    fragmentation: float
    """Fragmentation: 1 − largest_free / free; 0 if nothing is free."""
    utilisation: float
    """Share of accelerators allocated to teams."""
    placements: list[TeamPlacement]
    """Placements, in the order of the requests."""
    free_blocks: list[FreeBlock]
    """Free blocks of devices, by pod."""
    slice_room: list[SliceRoom]
    """Remaining room on GPUs that are split into slices; empty if there are none."""
    figures: list[PlanFigure]
    """Figures of the system that the plan uses."""
    rules: list[PlanRule]
    """Rules behind the plan and its warnings."""
    warnings: list[CheckWarning]
    """Warnings."""


class TeamRequest(Request):
    """Devices requested by one team."""
    team: str
    """Name of the team."""
    devices: int
    """Number of accelerators; with `slice`, number of instances of that profile."""
    slice: str | None = None
    """MIG profile, if part of a GPU is enough."""
    spanning: bool | None = None
    """True for a session that spans several pods, which an orchestrator must join. If omitted, the
    session spans pods if one pod is too small and the orchestrator supports it.
    """
    pod: int | None = None
    """Pod or node on which the team already runs, from 0; requires `first_device`."""
    first_device: int | None = None
    """First device that the team holds there, from 0."""


class PartitionRequest(Request):
    """Teams that share a system."""
    system: str
    """Identifier of a system."""
    count: int = 1
    """Number of systems."""
    isolation: Literal['none', 'strict'] = 'none'
    """Whether teams must be isolated from each other."""
    orchestrator: Literal['backend.ai', 'gc-docker', 'none'] = 'none'
    """Orchestrator of the teams' containers."""
    requests: list[TeamRequest]
    """Devices requested by each team."""


class BookRowDocument(Document):
    """One price, rate or discount of a price book, with the catalogue's figure."""
    item: str
    """Identifier in the catalogue; for a discount, also maker:… or kind:…."""
    parameter: str
    """Name of the parameter."""
    condition: str
    """Condition that distinguishes several figures; empty for the usual one."""
    value: float
    """Value, in the given unit."""
    unit: str
    """Unit of the figure."""
    note: str
    """Origin of the figure."""
    catalogue: CostFigure | None
    """Catalogue figure that it replaces; null for discounts and if there is none."""


class RowChange(Document):
    """One row changed by a version."""
    kind: Literal['added', 'changed', 'removed']
    """Kind of change."""
    item: str
    """Identifier of the item."""
    parameter: str
    """Name of the parameter."""
    condition: str
    """Condition that distinguishes several figures."""
    before: float | None
    """Figure before the change; null if there was none."""
    after: float | None
    """Figure after the change; null if there is none."""
    unit: str
    """Unit of the figure; of both figures if it is unchanged."""


class BookVersion(Document):
    """One version of a price book."""
    version: int
    """Version number, from 1."""
    name: str
    """Name of the price book in this version."""
    created_at: datetime.datetime
    """Creation time."""
    comment: str
    """Reason for the version."""
    rows: int
    """Number of rows."""
    changes: list[RowChange]
    """Changes from the previous version; at most a hundred."""
    changed: int
    """Number of rows that differ."""


class PriceBookDocument(Document):
    """One version of a price book."""
    id: str
    """Identifier, for use as ``assumptions.price_book_id``; append @ and a number for a specific version."""
    name: str
    """Name."""
    version: int
    """Version shown."""
    newest: int
    """Newest version, on which edits are based."""
    rows: list[BookRowDocument]
    """Prices, rates and discounts."""
    versions: list[BookVersion]
    """The newest twenty versions, newest first; request older versions by number."""


class BookRowInput(Request):
    """One price, rate or discount."""
    item: str
    """Identifier in the catalogue; for a discount, also maker:… or kind:…."""
    parameter: str
    """Name of the parameter: price, price_hour, tariff, … or discount."""
    condition: str = ''
    """Condition that distinguishes several figures, such as spot; empty for the usual one."""
    value: float
    """Value, in the given unit."""
    unit: str
    """Unit of the figure."""
    note: str = ''
    """Origin of the figure."""


class BookRowKey(Request):
    """Key that identifies a row of a price book."""
    item: str
    """Identifier in the catalogue; for a discount, also maker:… or kind:…."""
    parameter: str
    """Name of the parameter: price, price_hour, tariff, … or discount."""
    condition: str = ''
    """Condition that distinguishes several figures, such as spot; empty for the usual one."""


class PriceBookPatch(Request):
    """Fields of a price book to change. Everything else is unchanged."""
    name: str | None = None
    """Name."""
    rows: list[BookRowInput] | None = None
    """Rows to add, or to replace existing rows for the same figure."""
    remove: list[BookRowKey] | None = None
    """Rows to remove."""
    comment: str = ''
    """Reason for the change."""


class PriceBookRequest(Request):
    """A price book, or a full replacement of its rows."""
    name: str
    """Name; customers do not see it in proposals."""
    rows: list[BookRowInput]
    """Prices, rates and discounts; each at most once."""
    comment: str = ''
    """Reason for the price book or the change."""


class PriceBookSummary(Document):
    """Summary of a price book in a list."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    version: int
    """Newest version."""
    rows: int
    """Number of rows."""
    created_at: datetime.datetime
    """Creation time of the price book."""
    updated_at: datetime.datetime
    """Time of the last change."""


class ProfileDocument(Document):
    """A stored model profile."""
    id: str
    """Identifier, for use as ``model.profile_id``."""
    kind: str
    """Format the profile was read from: config, onnx, layers or transformer."""
    name: str
    """Name."""
    customer: str = ''
    """Customer it belongs to; empty if none is named."""
    parameters: float
    """Parameter count, summed over the operators."""
    forward_flop_per_sample: float
    """Compute of the forward pass of one sample. [FLOP]"""
    seq_len: int | None
    """Default sequence length of a sample. [tokens]"""
    image_size: int | None
    """Default image size, as the length of a side. [pixels]"""
    operators: list[OperatorSummary]
    """Operators of the model."""
    warnings: list[CheckWarning]
    """Assumptions made where the file gives no value."""


class ProfileRequest(Request):
    """A model to store: exactly one of ``config``, ``transformer``, ``layers``. You can also send a
    Hugging Face configuration or a layer table directly.
    """
    name: str | None = None
    """Name."""
    seq_len: int | None = None
    """Length of a sample; if omitted, that of the model. [tokens]"""
    config: dict[str, JsonValue] | None = None
    """A Hugging Face config.json object."""
    transformer: TransformerInput | None = None
    """A transformer defined by its dimensions."""
    layers: list[dict[str, JsonValue]] | None = None
    """A layer table."""


class ShareState(Document):
    """Share link of a proposal."""
    created_at: datetime.datetime
    """Creation time of the link."""
    expires_at: datetime.datetime
    """Expiry time."""
    passphrase: bool
    """Whether a passphrase is required."""
    opened: int
    """Number of times the link was opened."""


class Logo(Document):
    """Logo in the page header, as redrawn."""
    media_type: str
    """Media type."""
    data: str
    """File content, base64-encoded."""
    width: int
    """Width. [pixels]"""
    height: int
    """Height. [pixels]"""


class Branding(Document):
    """Appearance of the document."""
    accent: str
    """Accent colour in use."""
    footer: str | None
    """Footer line on every page."""
    logo: Logo | None
    """Logo of the sender; null if there is none."""
    customer_logo: Logo | None = None
    """Logo of the customer; omitted if there is none."""
    note: Text | None
    """How the requested colour was changed."""


class OptionReasons(Document):
    """An option with reasons."""
    label: str
    """Label of the option."""
    reasons: list[Text]
    """Reasons, most important first."""


class Advice(Document):
    """Recommendation and options to avoid."""
    recommended: str | None
    """Label of the recommended option; null if there is none."""
    by_rule: str | None
    """Label of the option that the decision recommends."""
    reasons: list[Text]
    """Reasons for the recommendation."""
    tied: list[str] = []
    """Labels of the options that nothing separates, in proposals of before there were decisions."""
    avoid: list[OptionReasons]
    """Options not to buy, and why."""
    deadline_s: float | None
    """Maximum time to train. [s]"""
    budget: float | None
    """Most that may be spent."""
    budget_kind: Literal['purchase', 'run', 'term'] | None = None
    """What the budget pays for; null for the purchase of what is owned and the run of what is rented."""


class WeighedOption(Document):
    """One alternative or network that was measured, or compared with a measured one."""
    label: str
    """Name."""
    fabric: str | None
    """Identifier of the fabric; null if only a label is known."""
    runs: list[float]
    """Measured throughputs. [samples/s]"""
    mean: float | None
    """Mean of the measured throughputs; null without runs. [samples/s]"""
    deviation: float | None
    """Standard deviation of the measured throughputs; null with fewer than two runs. [samples/s]"""
    predicted: Quantity | None
    """Throughput predicted without the measured runs."""
    gap: float | None
    """Logarithm of predicted over measured throughput."""
    gain: float
    """Throughput relative to that of the reference, minus one."""
    price: Quantity | None
    """Purchase price of the network; null if unknown."""
    switches: int | None
    """Number of switches in the network."""
    cables: int | None
    """Number of cables in the network."""


class OmittedPart(Document):
    """A part of the network that is not bought."""
    item: str
    """Identifier of the item in the catalogue."""
    name: str
    """Name."""
    count: int
    """Number of units."""
    unit_price: Quantity | None
    """Unit price; null if none is published."""
    source: SourceRef | None
    """Source of the price."""


class GainFound(Document):
    """Whether the gain of an alternative justifies its price, and the runs behind the answer."""
    basis: Literal['networks', 'runs']
    """“runs”: measured alternatives only; “networks”: with the parts and prices of the networks."""
    label: str
    """What was compared."""
    calibration_id: str | None
    """Identifier of the calibration with the measured runs; null for networks."""
    system: str
    """Identifier of the system."""
    reference: str
    """Label of the alternative relative to which gains are stated."""
    taken: str
    """Label of the recommended alternative."""
    against: str | None
    """Label of the alternative it is compared with; null if nothing else was compared."""
    worth: bool
    """Whether the gain of the dearer or faster alternative reaches the threshold."""
    threshold: float
    """Gain below which the alternative is not worth its price."""
    gain: Quantity | None
    """Gain of one alternative over the other."""
    sentence: Text
    """Recommendation in one sentence."""
    more: list[Text]
    """Further remarks."""
    options: list[WeighedOption]
    """Alternatives compared, with their runs."""
    money_saved: Quantity | None
    """Price of the network not recommended less that of the recommended one."""
    switches_saved: int | None
    """Number of switches not bought."""
    cables_saved: int | None
    """Number of cables not bought."""
    left_out: list[OmittedPart]
    """Parts of the network that is not recommended."""


class FittedRun(Document):
    """A measured run with its predictions."""
    label: str
    """System of the run."""
    note: str | None
    """Who measured it and how."""
    measured: float
    """Measured step time. [s]"""
    samples_per_s: float
    """Measured throughput. [samples/s]"""
    before: Quantity
    """Predicted step time before the fit."""
    after: Quantity
    """Predicted step time after the fit."""
    gap_before: float
    """Logarithm of predicted over measured step time before the fit."""
    gap_after: float
    """The same, after the fit."""


class FitFound(Document):
    """A software profile fitted to the customer's runs."""
    calibration_id: str
    """Identifier of the calibration."""
    label: str
    """Name."""
    prior_software: str
    """Identifier of the profile used as the prior."""
    gap_before: float
    """Mean of |ln(predicted / measured)| over the runs before the fit."""
    gap_after: float
    """The same, after the fit."""
    runs: list[FittedRun]
    """Measured runs."""


class Evidence(Document):
    """The customer's own runs and the conclusions from them."""
    gains: list[GainFound]
    """Whether alternatives are worth their price."""
    fit: FitFound | None
    """Profile fitted to the runs; null if none is named."""


class BillItem(Document):
    """One kind of part in an option."""
    item: str
    """Identifier of the item in the catalogue."""
    name: str
    """Name."""
    group: str
    """Group in which the part is listed."""
    use: str
    """Purpose."""
    quantity: int
    """Number of units."""
    rule: Text
    """How the quantity is computed."""
    unit_price: Quantity | None
    """Unit price; null if none is published."""
    total: Quantity | None
    """Quantity × unit price."""
    sources: list[SourceRef]
    """Source of the price."""


class BillGroup(Document):
    """Total of one group of parts."""
    group: str
    """Name of the group."""
    total: Quantity
    """Sum of the known prices."""
    complete: bool
    """Whether every part has a price."""


class OptionBill(Document):
    """Bill of materials of one option."""
    label: str
    """Label of the option."""
    lines: list[BillItem]
    """Lines of the bill."""
    groups: list[BillGroup]
    """Totals by group; empty if rented."""
    total: Quantity | None
    """Sum of the known prices; null if none is known."""
    complete: bool
    """Whether every line has a price; if not, the total is a lower bound."""
    power: Quantity | None
    """Power under load; null if unknown."""
    racks: int | None
    """Number of racks; null if rented."""
    rack_units: float | None
    """Total height in racks; null if rented. [U]"""
    equipment: Quantity | None = None
    """Machines, hosts and compute network: the capex of the estimate. Null if rented."""
    tax_note: Text | None = None
    """What the prices exclude; null if rented."""
    note: Text | None
    """Why there are no lines; null if there are."""


class TermLine(Document):
    """One cost line over the term."""
    item: str
    """Cost item."""
    amount: float
    """Amount over the whole term."""


class OptionTerm(Document):
    """Cost of one option over the term."""
    label: str
    """Label of the option."""
    acquisition: str
    """Whether the option is owned or rented."""
    rental: str | None = None
    """Rental pricing model; null if owned."""
    own: bool = True
    """Whether this is the option's own way of paying; if not, it is an alternative."""
    hourly: Quantity
    """Cost per useful hour."""
    yearly: Quantity
    """Cost of the useful hours of one year."""
    over_term: Quantity
    """Cost over the term."""
    runs: float | None
    """Number of runs that fit into the useful hours of the term."""
    lines: list[TermLine]
    """Cost lines over the term."""


class Term(Document):
    """Costs over a term, with the same useful hours for all options."""
    years: float
    """Length of the term. [a]"""
    useful_hours_per_year: float
    """Useful hours of work paid for per year. [h/a]"""
    options: list[OptionTerm]
    """Options with a known cost, for each way of paying; the option's own way first."""


class ProposalWarning(Document):
    """A warning with the options to which it applies; no options if it applies to the comparison."""
    code: str
    """Name of the check."""
    severity: Literal['caution', 'info', 'serious']
    """Severity."""
    text: Text
    """Sentence."""
    options: list[str]
    """Labels of the options."""


class Assumption(Document):
    """A value that was assumed."""
    field: str
    """Dotted path of the field in the request."""
    value: JsonValue
    """Value used."""
    why: Text
    """Reason for the value."""
    options: list[str]
    """Labels of the options."""


class Sender(Request):
    """Who makes the proposal, and whom the customer can ask."""
    organization: str | None = None
    """Organization that makes the offer."""
    contact: str | None = None
    """Name of the contact."""
    email: str | None = None
    """E-mail address of the contact."""
    phone: str | None = None
    """Telephone number of the contact."""
    address: str | None = None
    """Address of the organization."""
    registration: str | None = None
    """Registration number of the company."""
    representative: str | None = None
    """Who represents the company."""


class SectionInput(Request):
    """A section of the document: whether it is shown, and what its author says in it."""
    id: Literal['acceptance', 'assumptions', 'bill', 'comparison', 'exclusions', 'logic', 'measured', 'method', 'plan', 'reasons', 'risks', 'schedule', 'scope', 'signature', 'sources', 'summary', 'term', 'terms']
    """Name of the section."""
    shown: bool = True
    """Whether the section is in the document."""
    text: str | None = None
    """Plain text of the section, paragraph by paragraph; if omitted, that of the template in the language
    of the document.
    """


class Commitment(Document):
    """A figure that is committed to, with the probability of keeping it."""
    option: str
    """Label of the option."""
    figure: Literal['step_time', 'system.power', 'throughput', 'time_to_train']
    """Name of the figure in the estimate."""
    bound: Literal['at_least', 'at_most']
    """Direction in which the figure is kept."""
    expected: Quantity
    """Estimate with its 80 % interval."""
    committed: float
    """Value committed to, in the unit of the estimate."""
    level: float
    """Probability of keeping the value."""
    basis: Literal['range']
    """Where the value comes from: “range” is the worse end of the 80 % interval."""


class ConvertedBudget(Document):
    """A budget that was stated in another currency."""
    stated: Quantity
    """The budget as it was stated."""
    rate: float
    """Units of the proposal's currency for one of the stated."""
    as_of: str
    """Date of the rate."""


class DemandAnswer(Document):
    """What is recommended for one demand."""
    demand: Demand
    """How often the work is done."""
    runs: int
    """Number of runs over the term."""
    busy: float | None = None
    """Share of the term that they take on the recommended option, or on the fastest; null if none fits."""
    recommended: str | None
    """Option that is recommended; null if none meets everything and has a price."""
    outlay: Quantity | None
    """Its outlay over the term; null if none is recommended."""
    overturn: Overturn | None
    """Number of runs over the term from which another way to pay is recommended; null if none is for
    choice.
    """


class Conditions(Request):
    """Conditions of the deal; the document says of each that is left out that it is to be agreed."""
    vat_rate: float | None = None
    """Rate of the value-added tax; if omitted, the catalogue's where one rate holds in the whole region."""
    lead_weeks: float | None = None
    """Weeks from the order to the delivery. [week]"""
    installation_weeks: float | None = None
    """Weeks from the delivery to the start of the acceptance. [week]"""
    acceptance_weeks: float | None = None
    """Weeks of the acceptance procedure. [week]"""
    payment: str | None = None
    """Payment terms."""
    warranty: str | None = None
    """Warranty."""
    service_level: str | None = None
    """Service level: times to respond and to repair."""
    delay_penalty: str | None = None
    """Penalty for delay."""
    support_end: str | None = None
    """End of the manufacturer's support."""
    references: str | None = None
    """Projects of the sender that may be asked about."""
    supersedes: str | None = None
    """Reference number of the proposal that this one replaces."""


class SupplyPrice(Document):
    """What is supplied, with its tax: the purchase of what is owned, or the rent of the demanded work."""
    option: str
    """Label of the option."""
    basis: Literal['purchase', 'rent']
    """What the price is of."""
    supply: float
    """Supply value, before tax."""
    vat_rate: float | None
    """Rate of the value-added tax; null where it has to be agreed."""
    vat: float | None
    """Tax on the supply value, rounded to the currency's unit."""
    total: float | None
    """Supply value and tax."""
    complete: bool
    """Whether everything has a price; if not, the amounts are lower bounds."""
    vat_source: SourceRef | None = None
    """Source of the rate; null where the author stated it, or none is known."""
    vat_as_of: str = ''
    """Date of the rate."""


class OutlayLine(Document):
    """One line of an outlay."""
    item: str
    """Cost item; “purchase” is the total of the bill of materials, “besides_bill” what is not in it."""
    amount: float
    """Amount over the term; what is left of the system at the end is negative."""


class YearOutlay(Document):
    """What is paid in one year."""
    year: int
    """Year of the term; 0 is what is paid before the first run."""
    amount: float
    """Amount paid."""
    present_value: float
    """The amount discounted from the end of the year to the start of the term."""


class OptionOutlay(Document):
    """The outlay of one option over the term for the demanded work, line by line and year by year."""
    option: str
    """Label of the option."""
    owned: bool
    """Whether the system is bought."""
    lines: list[OutlayLine]
    """Lines; they add up exactly to the total."""
    total: float
    """Outlay over the term."""
    years: list[YearOutlay]
    """Payments by year; they add up exactly to the total."""
    present_value: float
    """Sum of the discounted payments."""
    discount_rate: float
    """Rate at which payments are discounted. [1/a]"""
    run_hours: float
    """Time of one run. [h]"""
    fixed: float
    """Part of the outlay that does not depend on the number of runs."""
    per_run: float
    """Outlay of one further run; of a commitment without its hours."""
    commitment_hours: float
    """Hours that are paid together; 0 where only those in use are paid. [h]"""
    per_commitment_hour: float
    """Price of an hour of a commitment."""


class BreakEvenRuns(Document):
    """Number of runs from which the bought option costs less than the rented one."""
    owned: str
    """Label of the bought option."""
    rented: str
    """Label of the rented option."""
    runs: float | None
    """Number of runs at which both cost the same; null if they never do within the term."""
    months: float | None
    """Time that these runs take on the bought option, one after the other. [month]"""
    most_runs: float
    """Most runs that the bought option does within the term."""


class WeightyAssumption(Document):
    """A figure behind a line that carries more than a fiftieth of the outlay."""
    item: str
    """Cost item that it bears on."""
    share: float | None
    """Share of that line in the outlay; null for figures behind every line."""
    figure: CostFigure
    """The figure, with its source; that of a price book has none."""
    old: bool
    """Whether it is a price or an exchange rate older than a year."""


class ProposalAccount(Document):
    """The money of a proposal."""
    years: float
    """Term. [a]"""
    runs: int
    """Number of runs paid for."""
    price: SupplyPrice | None
    """Price of the option that is offered; null if none is."""
    options: list[OptionOutlay]
    """Options with a price."""
    break_even: BreakEvenRuns | None = None
    """Between the best bought and the best rented option; null if there is none of one kind."""
    assumptions: list[WeightyAssumption] | None = None
    """Figures behind the outlay of the offered option that carry more than a fiftieth of it."""


class SiteLayout(Document):
    """How the offered option is racked and joined."""
    racks: list[Rack]
    """Racks; identical racks are grouped."""
    network: FabricPlan | None
    """Compute network; null if no switches connect it."""


class OutlayTerm(Document):
    """One line of an outlay: what is paid once, per year of the term, and per hour of work."""
    item: str
    """Cost item."""
    currency: str
    """Currency in which the amounts of this line are paid."""
    follows_price: bool
    """Whether it is proportional to the price of the system."""
    once: float
    """Amount paid once."""
    per_year: float
    """Amount per year of the term."""
    per_hour: float
    """Amount per hour of work."""
    per_paid_hour: float
    """Amount per hour of a commitment."""
    kwh_per_year: float
    """Energy per year of the term, to be paid at the price of electricity. [kWh/a]"""
    kwh_per_hour: float
    """Energy per hour of work. [kWh/h]"""


class OutlayFormula(Document):
    """The outlay of one option as a formula of its inputs."""
    option: str
    """Label of the option."""
    owned: bool
    """Whether the system is bought."""
    years: float
    """Term. [a]"""
    run_hours: float
    """Hours of work of one run. [h]"""
    exchange_rate: float
    """Units of the proposal's currency for one US dollar."""
    electricity: float
    """Price of electricity, in the currency of the proposal per kWh; 0 if nobody but the owner pays it."""
    freight_share: float
    """Freight, installation and commissioning as a share of what is bought."""
    commitment_hours: float
    """Hours that are paid together; 0 where only those in use are paid. [h]"""
    terms: list[OutlayTerm]
    """Lines; at the stated inputs they add up to the outlay."""


class ProposalContent(Document):
    """Content of a proposal. Once frozen, the hash is that of its canonical JSON (RFC 8785)."""
    edition: int
    """Version of the layout of the content."""
    title: str
    """Title."""
    customer: str
    """Name of the customer."""
    locale: str
    """Language of the document."""
    currency: str
    """Currency of all prices in the proposal."""
    reason: str | None
    """Reason for the choice, in the author's words."""
    valid_until: datetime.date | None
    """Last day of validity."""
    price_book_id: str | None
    """Identifier of the price book used; null for catalogue prices."""
    confidential: bool
    """Whether every page is marked confidential."""
    branding: Branding
    made_on: datetime.date
    """Date on which the figures were compiled."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    requests: list[dict[str, Any]]
    """Estimate request of each option, for replay."""
    comparison: Comparison
    """Comparison of the options."""
    decision: Decision | None = None
    """What is recommended under the limits, for the demanded work; the identifier of an option is its
    label. It is omitted in proposals of before there were decisions.
    """
    advice: Advice
    evidence: Evidence | None = None
    """Measured runs of the customer; omitted if none are used."""
    bills: list[OptionBill]
    """Bill of materials of each option."""
    term: Term | None
    """Costs over a term; null if no cost is known."""
    warnings: list[ProposalWarning]
    """All warnings, most severe first."""
    assumptions: list[Assumption]
    """All assumptions."""
    sources: list[SourceRef]
    """Sources of all figures in the proposal."""
    number: str | None = None
    """Reference number, such as 2026-0012."""
    sender: Sender | None = None
    """Who makes the proposal."""
    sections: list[SectionInput] = []
    """Sections in their order, with their texts."""
    acceptance: list[Commitment] = []
    """Figures that are committed to, for acceptance tests."""
    converted: ConvertedBudget | None = None
    """The budget in the currency in which it was stated; omitted if that is the proposal's."""
    by_demand: list[DemandAnswer] = []
    """What is recommended for one run, for ten a year, and for systems that are always busy; as in the
    study.
    """
    kind: Literal['estimate', 'offer'] | None = None
    """Whether it is an offer or an estimate; omitted in proposals of before they were told apart."""
    conditions: Conditions | None = None
    """Conditions that its author states; those left out are to be agreed."""
    account: ProposalAccount | None = None
    """Price with tax, outlay by line and by year, break-even; omitted if nothing has a price."""
    layout: SiteLayout | None = None
    """Racks and network of the option that is offered; omitted if it is rented."""
    outlays: list[OutlayFormula] = []
    """Outlay of each option as a formula of its inputs, which the workbook computes."""
    names: dict[str, str] = {}
    """Names of the systems that measured runs and figures refer to."""


class Proposal(Document):
    """A proposal: an editable draft, or permanently frozen."""
    id: str
    """Identifier."""
    number: str | None = None
    """Reference number, sequential by workspace and year; null for earlier proposals."""
    comparison_id: str
    """Identifier of the comparison from which it was created."""
    study_id: str | None = None
    """Identifier of the study, if it was created from one."""
    review: Literal['accepted', 'approved', 'declined', 'draft', 'expired', 'in_review', 'sent'] = 'draft'
    """State of review: draft, in_review, approved (frozen), sent, accepted, declined or expired (past its
    last day of validity without an answer).
    """
    steps: list[Literal['accept', 'approve', 'decline', 'return', 'send', 'submit']] = []
    """Steps of review that are allowed now."""
    opened: int = 0
    """Number of times the customer's page was opened."""
    first_opened_at: datetime.datetime | None = None
    """Time of the first opening."""
    last_opened_at: datetime.datetime | None = None
    """Time of the last opening."""
    status: Literal['draft', 'expired', 'frozen']
    """Status: draft (can be changed), frozen (can never be changed) or expired (past its last day of
    validity).
    """
    version: int
    """Version number, incremented with each edit."""
    sha256: str | None
    """SHA-256 of the canonical JSON (RFC 8785) of the content; null for a draft."""
    frozen_at: datetime.datetime | None
    """Time at which it was frozen; null for a draft."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time of the last change."""
    share: ShareState | None
    """Share link; null if there is none."""
    content: ProposalContent
    """Content of the proposal."""


class ProposalEvent(Document):
    """An event in the history of a proposal."""
    position: int
    """Position in the order of events."""
    kind: Literal['accepted', 'asked', 'changed', 'created', 'declined', 'erased', 'expired', 'frozen', 'opened', 'replayed', 'replied', 'returned', 'sent', 'shared', 'submitted', 'unshared']
    """Kind of event; frozen is the approval."""
    at: datetime.datetime
    """Time of the event."""
    by: str | None = None
    """Name of the person or key; null for the customer, the server, or without accounts."""
    detail: dict[str, JsonValue]
    """Details of the event."""


class ProposalEvents(Document):
    """Event history of a proposal."""
    items: list[ProposalEvent]
    """Events, in chronological order."""
    next: str | None = None
    """Always null: the list is whole."""


class BillInputs(Request):
    """What a bill includes beside the systems, and how they are joined and racked."""
    ports_per_node: int | None = None
    """Network ports per machine; if omitted, the system's default."""
    oversubscription: float = 1.0
    """Highest allowed oversubscription of a leaf switch: ports to nodes per uplink."""
    storage_tb: float | None = None
    """Usable shared storage; if omitted, none is included. [TB]"""
    spare: int = 0
    """Number of spare machines, 1 for N+1. With any spare machine, a spare switch of each model and spare
    cables are added.
    """
    rack_units: Literal[42, 48] = 42
    """Rack height. [U]"""
    rack_power_kw: float | None = None
    """Power limit of one rack; if omitted, the catalogue's. [kW]"""


class LogoInput(Request):
    """A logo for the page header."""
    media_type: Literal['image/png', 'image/svg+xml']
    """Media type."""
    data: str
    """File content, base64-encoded. The image is redrawn; content that is not part of a picture is
    rejected.
    """


class BrandingInput(Request):
    """Appearance of the document."""
    accent: str | None = None
    """Accent colour; darkened if it would be too faint on white paper."""
    footer: str | None = None
    """Footer line on every page."""
    logo: LogoInput | None = None
    """Logo of the sender; if omitted, none."""
    customer_logo: LogoInput | None = None
    """Logo of the customer, for the cover; if omitted, none."""


class ProposalPatch(Request):
    """Fields of a draft to change. Omitted fields are unchanged; null removes a limit, date or choice."""
    deadline_s: float | None = None
    """Time within which one run has to be done. [s]"""
    budget: float | None = None
    """Most that may be spent, in the currency of the request. [currency]"""
    budget_kind: Literal['purchase', 'run', 'term'] | None = None
    """What the budget pays for: purchase (machines, hosts, network, installation), run (share of
    ownership, or rent, of one run) or term (all money over the term, for the demanded runs). If omitted,
    purchase for owned systems and run for rented systems.
    """
    power_w: float | None = None
    """Most power at the site while training, network and cooling included; rented systems take none. [W]"""
    probability: float | None = None
    """Share of samples in which all limits must be met; if omitted, 0.8."""
    comparison_id: str | None = None
    """Identifier of the comparison from which it is created."""
    study_id: str | None = None
    """Identifier of the study from which it is created, in place of a comparison; its options are kept as
    a comparison.
    """
    reason: str | None = None
    """Reason for the choice, in the author's words."""
    valid_until: datetime.date | None = None
    """Last day of validity."""
    title: str | None = None
    """Title; if omitted, the title of the comparison."""
    options: list[str] | None = None
    """Labels of the rows to show; if omitted, all rows."""
    recommended: str | None = None
    """Label of the row to recommend; if omitted, chosen by rule."""
    term_years: float | None = None
    """Term over which costs are added up; if omitted, the catalogue's. [a]"""
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""
    calibration_id: str | None = None
    """Identifier of a calibration with measured runs of the customer, either fitted or compared with each
    other; the runs appear in the document.
    """
    fabric_choice: FabricChoiceRequest | None = None
    """Networks to compare, with the customer's runs if there are any; networks that are not worth their
    price are listed under what not to buy.
    """
    bill: BillInputs | None = None
    """What the bills of materials include; if omitted, what the Bill view of the study keeps."""
    sender: Sender | None = None
    """Who makes the proposal."""
    kind: Literal['estimate', 'offer'] | None = None
    """“offer”: its prices hold until its last day of validity and are agreed by signature; “estimate”:
    nothing is signed. If omitted, an estimate.
    """
    conditions: Conditions | None = None
    """Tax, dates and conditions of the deal."""
    customer: str | None = None
    """Name of the customer."""
    locale: Literal['en', 'ko', 'zh'] | None = None
    """Language of the document."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] | None = None
    """Currency of all prices in the proposal."""
    scaling_efficiency: float | None = None
    """Scaling efficiency of linear rows, as a share of linear scaling."""
    confidential: bool | None = None
    """Whether every page is marked confidential."""
    branding: BrandingInput | None = None
    """Appearance of the document."""
    sections: list[SectionInput] | None = None
    """Sections in their order; those left out follow in the usual order and are shown."""


class ProposalRequest(Request):
    """A proposal to create from a study or a comparison. A proposal of a study keeps the limits of the
    study that it does not state, in its own currency.
    """
    deadline_s: float | None = None
    """Time within which one run has to be done. [s]"""
    budget: float | None = None
    """Most that may be spent, in the currency of the request. [currency]"""
    budget_kind: Literal['purchase', 'run', 'term'] | None = None
    """What the budget pays for: purchase (machines, hosts, network, installation), run (share of
    ownership, or rent, of one run) or term (all money over the term, for the demanded runs). If omitted,
    purchase for owned systems and run for rented systems.
    """
    power_w: float | None = None
    """Most power at the site while training, network and cooling included; rented systems take none. [W]"""
    probability: float | None = None
    """Share of samples in which all limits must be met; if omitted, 0.8."""
    comparison_id: str | None = None
    """Identifier of the comparison from which it is created."""
    study_id: str | None = None
    """Identifier of the study from which it is created, in place of a comparison; its options are kept as
    a comparison.
    """
    reason: str | None = None
    """Reason for the choice, in the author's words."""
    valid_until: datetime.date | None = None
    """Last day of validity."""
    title: str | None = None
    """Title; if omitted, the title of the comparison."""
    options: list[str] | None = None
    """Labels of the rows to show; if omitted, all rows."""
    recommended: str | None = None
    """Label of the row to recommend; if omitted, chosen by rule."""
    term_years: float | None = None
    """Term over which costs are added up; if omitted, the catalogue's. [a]"""
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""
    calibration_id: str | None = None
    """Identifier of a calibration with measured runs of the customer, either fitted or compared with each
    other; the runs appear in the document.
    """
    fabric_choice: FabricChoiceRequest | None = None
    """Networks to compare, with the customer's runs if there are any; networks that are not worth their
    price are listed under what not to buy.
    """
    bill: BillInputs | None = None
    """What the bills of materials include; if omitted, what the Bill view of the study keeps."""
    sender: Sender | None = None
    """Who makes the proposal."""
    kind: Literal['estimate', 'offer'] | None = None
    """“offer”: its prices hold until its last day of validity and are agreed by signature; “estimate”:
    nothing is signed. If omitted, an estimate.
    """
    conditions: Conditions | None = None
    """Tax, dates and conditions of the deal."""
    customer: str
    """Name of the customer."""
    locale: Literal['en', 'ko', 'zh'] = 'ko'
    """Language of the document."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'KRW'
    """Currency of all prices in the proposal."""
    scaling_efficiency: float = 1.0
    """Scaling efficiency of linear rows, as a share of linear scaling."""
    confidential: bool = True
    """Whether every page is marked confidential."""
    branding: BrandingInput = Field(default_factory=lambda: BrandingInput())
    sections: list[SectionInput] = []
    """Sections in their order; those left out follow in the usual order and are shown."""


class ProposalSummary(Document):
    """Summary of a proposal in a list."""
    id: str
    """Identifier of the proposal."""
    number: str | None = None
    """Reference number; null for earlier proposals."""
    name: str
    """Name."""
    customer: str
    """Name of the customer."""
    review: Literal['accepted', 'approved', 'declined', 'draft', 'expired', 'in_review', 'sent'] = 'draft'
    """State of review."""
    amount: float | None = None
    """What the recommended option costs to buy, or over the term if it is rented; null if unknown or if
    none is recommended. [currency]
    """
    currency: str = ''
    """Currency of the amount."""
    opened: int = 0
    """Number of times the customer's page was opened."""
    last_opened_at: datetime.datetime | None = None
    """Time of the last opening."""
    status: str
    """Status: draft, frozen or expired."""
    sha256: str | None
    """SHA-256 of the frozen content; null for a draft."""
    valid_until: datetime.date | None
    """Last day of validity."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time of the last change."""


class TeamWait(Document):
    """Waiting times of one team over the run."""
    team: str
    """Name of the team."""
    devices: int
    """Number of accelerators per job."""
    hours: float
    """Mean duration of a job, as requested. [h]"""
    distribution: str
    """Distribution of the duration."""
    jobs: Quantity
    """Number of jobs that arrived in a run."""
    finished: Quantity
    """Number of those jobs that finished before the run ended."""
    mean_wait: Quantity
    """Mean wait."""
    median_wait: Quantity
    """Median wait."""
    ninetieth_wait: Quantity
    """P90 wait."""
    longest_wait: Quantity
    """Longest wait in a run."""
    at_once: Quantity
    """Share of jobs that start without waiting."""
    meets: bool
    """Whether the P90 wait meets the target."""


class LinePoint(Document):
    """The queue at one point in time."""
    day: float
    """Time since the start. [day]"""
    jobs: Quantity
    """Number of waiting jobs, averaged over the interval."""
    busy: Quantity
    """Share of accelerators in use, averaged over the interval."""


class CountPoint(Document):
    """Waiting times at another number of systems."""
    count: int
    """Number of systems."""
    devices: int
    """Total number of accelerators."""
    worst_wait: Quantity
    """P90 wait of the team with the longest P90 wait."""
    worst_team: str
    """Team with the longest P90 wait."""
    mean_wait: Quantity
    """Mean wait over all jobs."""
    utilisation: Quantity
    """Share of accelerators in use."""
    meets: bool
    """Whether every team meets the target."""


class ClosedForm(Document):
    """Result of Erlang's formula, if jobs are similar enough for it to apply."""
    servers: int
    """Number of jobs that run in parallel."""
    offered_load: float
    """Offered load: how many parallel jobs the workload keeps running on average."""
    waiting_probability: float
    """Probability that a job waits."""
    mean_wait: float
    """Mean wait. [s]"""
    ninetieth_wait: float
    """P90 wait. [s]"""


class QueueAnswer(Document):
    """Simulated queue of teams that share machines."""
    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    count: int
    """Number of systems."""
    devices: int
    """Total number of accelerators."""
    discipline: str
    """Queueing discipline."""
    days: float
    """Length of each run. [day]"""
    warm_up_days: float
    """Warm-up period before each run, simulated but not counted. [day]"""
    runs: int
    """Number of simulated runs, each with different arrivals."""
    batches: int
    """Number of batches of these runs from which the ranges are computed."""
    seed: int
    """Seed of the random number generator."""
    failures_per_1000_node_days: float | None
    """Rate at which machine failures interrupt jobs; null if failures are not simulated."""
    offered_load: float
    """Offered load: mean number of accelerators that the workload occupies, including those held but not
    used.
    """
    utilisation: Quantity
    """Share of accelerators in use."""
    mean_line: Quantity
    """Mean number of waiting jobs over time."""
    target_wait: float
    """Target for the P90 wait. [s]"""
    meets: bool
    """Whether every team meets the target."""
    teams: list[TeamWait]
    """Waiting times of each team."""
    line: list[LinePoint]
    """Queue over time."""
    machines_needed: int | None
    """Smallest number of systems with which every team meets the target; null if none of the numbers
    tried is enough.
    """
    most_searched: int
    """Largest number of systems tried."""
    by_count: list[CountPoint]
    """Waiting times at other numbers of systems, in ascending order."""
    closed_form: ClosedForm | None
    """Result of Erlang's formula for comparison, if all jobs have the same size, exponential durations
    and run in order of arrival.
    """
    warnings: list[CheckWarning]
    """Warnings."""


class TeamLoad(Request):
    """Jobs of one team, with random arrivals."""
    team: str
    """Name of the team."""
    jobs_per_month: float
    """Mean number of jobs that arrive per month of 30.4375 days. [1/month]"""
    devices: int | None = None
    """Number of accelerators per job; if omitted, that of the estimate."""
    hours: float | None = None
    """Mean duration; if omitted, the time to train of the estimate. [h]"""
    hours_deviation: float | None = None
    """Standard deviation of the duration, for “lognormal”. [h]"""
    distribution: Literal['exponential', 'fixed', 'lognormal'] | None = None
    """Distribution of the duration. If omitted, lognormal if a deviation is given, otherwise exponential."""
    estimate_id: str | None = None
    """Identifier of an estimate that gives the duration of a job."""


class QueueRequest(Request):
    """Teams whose jobs share machines over time."""
    system: str
    """Identifier of a system."""
    count: int = 1
    """Number of systems."""
    teams: list[TeamLoad]
    """Teams and the jobs they submit."""
    discipline: Literal['backfill', 'fair', 'fifo'] = 'fifo'
    """Queueing discipline: fifo, in order of arrival; backfill, in order of arrival, but short jobs can
    overtake if they delay no job ahead of them; fair, the team with the least usage first, with backfill.
    """
    failures: bool = False
    """Whether machine failures interrupt jobs, at the catalogue's rate."""
    days: float = 365
    """Length of the run, excluding warm-up. [day]"""
    target_wait_hours: float = 24
    """Target for the P90 wait of every team. [h]"""
    seed: int = 1
    """Seed of the random number generator."""


class ReplayChange(Document):
    """A line that changes with the current catalogue."""
    path: str
    """Path in the content."""
    section: str
    """Section of the document."""
    option: str | None
    """Label of the option; null if the line applies to all options."""
    name: str
    """Name of the line in the schema."""
    unit: str
    """SI unit or currency; empty if there is none."""
    then: JsonValue
    """Value in the proposal; null if it has none."""
    now: JsonValue
    """Current value; null if the line would not exist."""
    relative: float | None
    """Relative change: now divided by then, minus one; null if the values are not numbers."""


class FreezeRefusal(Document):
    """An option that can no longer be estimated with the current catalogue."""
    label: str
    """Label of the option."""
    text: Text
    """Reason."""


class Replay(Document):
    """Changes since the proposal was made; the proposal itself is unchanged."""
    id: str
    """Identifier of the proposal."""
    sha256: str | None
    """SHA-256 of the frozen content; null for a draft."""
    replayed_at: datetime.datetime
    """Time of the replay."""
    engine_version: dict[str, str]
    """Version of the engine then and now."""
    catalog_version: dict[str, str]
    """Version of the catalogue then and now."""
    compared: int
    """Number of lines compared."""
    changes: list[ReplayChange]
    """Lines that differ, in document order."""
    refused: list[FreezeRefusal]
    """Options that can no longer be estimated."""


class Reply(Document):
    """A reply as kept."""
    text: str
    """Text that the customer reads on the link."""
    at: datetime.datetime
    """Time of the reply."""


class ReplyRequest(Request):
    """A reply to the customer's questions."""
    text: str
    """Text that the customer reads on the link."""


class ReviewRequest(Request):
    """A step of review to take."""
    step: Literal['accept', 'approve', 'decline', 'return', 'send', 'submit']
    """Step: submit (to review), return (to the author), approve (freeze), send, accept or decline (the
    customer's answer).
    """
    note: str | None = None
    """Remark that is kept with the event."""
    to: str | None = None
    """For send: address to which a new link is mailed; if omitted, only the state changes."""
    expires_in_days: int = 30
    """Number of days for which that link works."""


class RotationRequest(Request):
    """A new secret that replaces an existing one."""
    grace_hours: int = 24
    """Grace period during which the old secret also works. [h]"""


class ScalingPoint(Document):
    """One point of a scaling curve."""
    count: int
    """Number of systems."""
    accelerators: int
    """Total number of accelerators."""
    idle_accelerators: int = 0
    """Number of accelerators that the plan does not use."""
    time_to_train: Quantity
    """Time to train."""
    cost: Quantity | None
    """Cost of the run."""
    efficiency: Quantity
    """Scaling efficiency: share of linear speedup relative to the smallest count that fits."""
    global_batch: int
    """Samples per step."""


class ScalingCurve(Document):
    """Time, cost and efficiency of one system at different counts."""
    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    points: list[ScalingPoint]
    """Counts that fit, in ascending order."""
    knee: int | None
    """Count from which adding machines no longer pays off: 1 % more machines reduce the time by less than
    0.5 %.
    """
    knee_inside: bool
    """Whether larger counts were tried and pay off less."""
    batch_limit: int | None
    """Smallest count over which the global batch can no longer be divided."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""


class Dimension(Document):
    """One dimension of the search space."""
    field: str
    """Name of the plan field."""
    values: list[float | str | bool]
    """Values that occur among the evaluated plans."""


class SearchedPlan(Document):
    """One of the best plans."""
    plan: PlanSummary
    """Complete plan, with every choice."""
    step_time: Quantity
    """Time per step."""
    ranked_time: float
    """Time by which the plan is ranked: the requested quantile of the uncertainty of its kind. [s]"""
    behind: float
    """Relative difference from the ranked time of the first plan; 0 for the first."""
    throughput: Quantity
    """Samples per second."""
    mfu: Quantity
    """Model FLOPs utilization (MFU): model FLOP per second over the peak of the devices."""
    memory: Quantity
    """Memory in use on the fullest device."""
    memory_share: float
    """Memory in use as a share of the device memory."""
    parts: list[Part]
    """Components of one step."""
    more: list[Part]
    """Difference from the first plan by component, in seconds per step, largest first; negative if this
    plan is faster.
    """
    unmeasured: list[str]
    """Features of the plan that no measured run covers."""


class PlanPoint(Document):
    """A Pareto-optimal plan for time and memory."""
    plan: PlanSummary
    """Complete plan, with every choice."""
    step_time: float
    """Central time per step. [s]"""
    memory: float
    """Memory in use on the fullest device. [B]"""


class MapCell(Document):
    """The best plan for one combination of tensor and pipeline degree."""
    tensor: int
    """Tensor-parallel degree: devices that share each layer."""
    pipeline: int
    """Number of pipeline stages."""
    plans: int
    """Number of plans evaluated."""
    feasible: int
    """Number of plans that fit."""
    step_time: float | None
    """Central step time of the best plan that fits; null if none fits. [s]"""
    memory_share: float
    """Memory of that plan, or of the smallest plan if none fits, as a share of device memory."""
    plan: PlanSummary
    """The plan."""


class WhatIf(Document):
    """Best plan on changed hardware."""
    change: str
    """Property that is changed: memory_capacity, memory_bandwidth or network_bandwidth."""
    factor: float
    """Factor of the change."""
    plan: PlanSummary
    """Best plan with the change."""
    step_time: float
    """Central time per step of that plan. [s]"""
    gain: float
    """Share of the best plan's ranked time that is saved."""


class Search(Document):
    """Best plans of a model on a system, and the set from which they were selected."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    model: ModelSummary
    """Resolved model."""
    system: SystemSummary
    """Resolved system."""
    software: str
    """Software profile."""
    precision_used: str
    """Number format of the matrix products."""
    global_batch: int
    """Samples per step."""
    defaults: list[Default]
    """Default values that were used."""
    probability: float
    """Share of a plan's runs that stay below the time by which it is ranked."""
    fits: bool
    """Whether any plan fits."""
    memory_limit: Quantity
    """Memory of one device that a plan can use."""
    memory_capacity: Quantity
    """Memory of one device."""
    enumerated: int
    """Number of combinations of the values of all dimensions, legal or not."""
    evaluated: int
    """Number of distinct legal plans whose memory was computed and, if they fit, whose full step time was
    computed.
    """
    feasible: int
    """Number of plans that fit."""
    seconds: float
    """Duration of the search. [s]"""
    dimensions: list[Dimension]
    """Dimensions of the search space."""
    plans: list[SearchedPlan]
    """Best plans that differ in their degrees, recompute, offload or phases, and the plan to compare with
    them, best first.
    """
    pareto: list[PlanPoint]
    """Pareto-optimal plans for time and memory, fastest first."""
    map: list[MapCell]
    """Best plan for each tensor and pipeline degree."""
    what_if: list[WhatIf]
    """Best plans with twice the memory or bandwidth."""
    warnings: list[CheckWarning]
    """Warnings."""


class SearchConstraints(Request):
    """Constraints on a plan: one value or several per field. Omitted fields are unconstrained."""
    tensor: int | list[int] | None = None
    """Tensor-parallel degree: devices that share each layer."""
    pipeline: int | list[int] | None = None
    """Number of pipeline stages."""
    data: int | list[int] | None = None
    """Data-parallel degree: replicas of the model."""
    micro_batch: int | list[int] | None = None
    """Samples per micro-batch."""
    accumulation: int | list[int] | None = None
    """Micro-batches per step and replica (gradient accumulation)."""
    interleave: int | list[int] | None = None
    """Model chunks per pipeline stage (interleaving)."""
    recompute: Literal['full', 'modules', 'none', 'selective'] | list[Literal['full', 'modules', 'none', 'selective']] | None = None
    """Activations that the backward pass recomputes: none, those of norms and activation functions
    (modules), of attention (selective), or of whole layers (full).
    """
    recompute_layers: int | None = None
    """Layers whose activations are recomputed whole; those of the others are kept, or attention alone is
    recomputed where no fused kernel does so. All of them if omitted; GPU only.
    """
    sequence_parallel: bool | None = None
    """Whether tensor ranks also split the tokens between tensor-parallel blocks (sequence parallelism)."""
    sharding: Literal['gradients', 'none', 'optimizer', 'parameters'] | list[Literal['gradients', 'none', 'optimizer', 'parameters']] | None = None
    """State that replicas shard instead of each holding a full copy (ZeRO 1 to 3)."""
    sharding_ranks: int | None = None
    """Number of replicas that share one sharded copy of the state."""
    expert: int | list[int] | None = None
    """Expert-parallel degree: replicas over which the experts of a layer are distributed."""
    context: int | list[int] | None = None
    """Context-parallel degree: devices beside tensor, pipeline and data that share the tokens of a
    sample.
    """
    offload: bool | None = None
    """Whether the optimizer state is offloaded to host or streaming memory."""
    offload_parameters: bool | None = None
    """Whether the weights are offloaded to host memory, from which they come layer by layer; GPU only."""
    offload_activations: bool | None = None
    """Whether the activations that wait for the backward pass are offloaded to host memory; GPU only."""
    rts: int | list[int] | None = None
    """IPU: number of replicas over which weights are sharded (replicated tensor sharding)."""
    rts_optimizer: int | list[int] | None = None
    """IPU: number of replicas over which the optimizer state is sharded."""
    phases: int | list[int] | None = None
    """IPU: number of phases per stage; 1 keeps the stage in the processor."""
    memory_margin: float | None = None
    """Share of device memory to leave free; if omitted, the default of the hardware."""


class SearchRequest(Request):
    """A search for the best plans; how much is trained matters only if no batch is given."""
    model: ModelInput
    """Model to train."""
    workload: WorkloadInput = Field(default_factory=lambda: WorkloadInput(kind='pretrain'))
    """How much to train, and in which batches."""
    software: str | None = None
    """Identifier of a software profile; if omitted, the usual one for the model on each chip."""
    assumptions: AssumptionsInput = Field(default_factory=lambda: AssumptionsInput(cloud_support='none'))
    """Assumptions of the estimate."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every price, cost and budget."""
    system: SystemInput
    """System that the model is trained on."""
    constraints: SearchConstraints = Field(default_factory=lambda: SearchConstraints())
    """Constraints on the plan."""
    keep: int = 10
    """Maximum number of plans to return."""
    beside: PlanInput | None = None
    """A plan to compare with the best. If it fits and the constraints allow it, the answer includes it at
    its rank. Omitted fields take the fastest values.
    """
    probability: float = 0.8
    """Share of a plan's runs that stay below the time by which it is ranked; 0.5 ranks by central times."""
    what_if: bool = True
    """Whether to repeat the search with twice the memory, memory bandwidth and network bandwidth."""


class Share(Document):
    """A new share link. Its token is returned only once and is not stored."""
    url: str | None
    """URL of the shared page; null in the answer to a repeated request."""
    path: str | None = None
    """Path of the shared page on this server."""
    token: str | None
    """Secret of the link; null in the answer to a repeated request."""
    expires_at: datetime.datetime
    """Expiry time."""
    passphrase: bool
    """Whether a passphrase is required."""


class ShareRequest(Request):
    """A share link to create for a frozen proposal."""
    expires_in_days: int = 30
    """Number of days for which the link works."""
    passphrase: str | None = None
    """Passphrase required to open the link."""


class SizingRequest(Request):
    """A model and a workload with optional limits; systems and counts are found. Software is that of
    systems of its kind; the others take the usual one.
    """
    deadline_s: float | None = None
    """Time within which one run has to be done. [s]"""
    budget: float | None = None
    """Most that may be spent, in the currency of the request. [currency]"""
    budget_kind: Literal['purchase', 'run', 'term'] | None = None
    """What the budget pays for: purchase (machines, hosts, network, installation), run (share of
    ownership, or rent, of one run) or term (all money over the term, for the demanded runs). If omitted,
    purchase for owned systems and run for rented systems.
    """
    power_w: float | None = None
    """Most power at the site while training, network and cooling included; rented systems take none. [W]"""
    probability: float = 0.8
    """Share of samples in which all limits must be met."""
    model: ModelInput
    """Model to train."""
    workload: WorkloadInput = Field(default_factory=lambda: WorkloadInput(kind='pretrain'))
    """How much to train, and in which batches."""
    software: str | None = None
    """Identifier of a software profile; if omitted, the usual one for the model on each chip."""
    assumptions: AssumptionsInput = Field(default_factory=lambda: AssumptionsInput(cloud_support='none'))
    """Assumptions of the estimate."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every price, cost and budget."""
    systems: list[str] | None = None
    """Identifiers of the systems to consider; if omitted, the whole catalogue."""
    counts: list[int] | None = None
    """Counts of each system to consider; if omitted, powers of two and multiples of 20 nodes."""
    most_accelerators: int = 4096
    """Number of accelerators of the largest option to consider."""
    label: str | None = None
    """Name of the sizing."""


class OptionCosts(Document):
    """Costs of a system, one for each kind of budget."""
    purchase: Quantity | None = None
    """Everything paid before the first run: machines, hosts, network, storage if included, freight and
    installation; null if rented or if no price is published.
    """
    run: Quantity | None = None
    """Share of ownership, or the rent, attributable to the run; null if it does not fit or no price is
    published.
    """
    term: Quantity | None = None
    """All money that leaves over the term for the demanded runs (outlay); null if it does not fit or no
    price is published.
    """


class DecisivePrice(Document):
    """The price that accounts for most of an option's cost."""
    item: str
    """Name of the priced item."""
    per: Literal['hour', 'machine', 'system']
    """Unit of the price: one machine, one system, or one hour of a rented system."""
    price: Quantity
    """The price."""
    status: Literal['book', 'estimate', 'recalled', 'sourced', 'stated']
    """Origin: published, estimated, recalled, stated in the request, or from a price book."""


class SizingOption(Document):
    """One system at one count, with the plan found for it."""
    id: str
    """Identifier within the sizing, made of system and count."""
    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    count: int
    """Number of systems."""
    machines: int
    """Total number of machines."""
    idle_machines: int = 0
    """Number of machines that the plan does not use."""
    accelerators: int
    """Total number of accelerators."""
    chip: str
    """Identifier of the chip."""
    fits: bool
    """Whether the model fits in the memory of the accelerators."""
    plan: PlanInput
    """Plan found; the plan with the lowest memory use if none fits."""
    global_batch: int
    """Samples per step."""
    batch_searched: bool
    """Whether the global batch size was chosen by the search."""
    software: str
    """Software profile."""
    precision: str
    """Number format."""
    memory_share: float
    """Memory in use on the fullest accelerator, as a share of its memory."""
    step_time: Quantity | None
    """Time per step; null if the model does not fit."""
    time_to_train: Quantity | None
    """Time to train; null if the model does not fit."""
    cost: Quantity | None
    """Cost of the run; null if no price is published."""
    hourly: Quantity | None
    """Cost per hour."""
    capex: Quantity | None
    """Price of machines, hosts and network; null if rented or not published."""
    costs: OptionCosts = Field(default_factory=lambda: OptionCosts())
    """Costs: purchase, run and term."""
    acquisition: Literal['own', 'rent'] = 'own'
    """Whether the system is bought or rented."""
    term_years: float | None = None
    """Term of the costs; null without a price. [year]"""
    price: DecisivePrice | None = None
    """Price that accounts for most of the cost."""
    power: Quantity
    """Power of the systems under a training load."""
    rack_units: float
    """Total height in racks. [U]"""
    probability: float | None
    """Share of samples that meet all limits; null if none is given."""
    meets: bool
    """Whether the requested probability is reached; without limits, true for all options that fit."""
    idle_share: float | None = None
    """Share of the term that an owned system does not work; null if rented."""
    why_not: Literal['costs_more', 'does_not_fit', 'no_capacity', 'no_price', 'not_on_sale', 'over_budget', 'over_power', 'published', 'too_late', 'too_slow'] | None = None
    """Why it is not recommended; null for the recommended option and those that tie with it."""
    verdict: Text | None = None
    """Why it is not recommended, in words."""
    on_front: bool
    """Whether no other option is faster at less outlay."""
    status: Literal['extrapolated', 'unvalidated', 'validated']
    """Whether the option is covered by measured runs."""
    warnings: list[str]
    """Codes of the warnings of the estimate."""
    estimate: dict[str, JsonValue]
    """Estimate request that returns the option in full."""


class FrontPoint(Document):
    """A Pareto-optimal option in time and cost."""
    option: str
    """Identifier of the option."""
    system: str
    """Identifier of the system."""
    count: int
    """Number of systems."""
    time_to_train: Quantity
    """Time to train."""
    cost: Quantity | None
    """Cost of the run."""
    costs: OptionCosts = Field(default_factory=lambda: OptionCosts())
    """Costs: purchase, run and term."""


class Omission(Document):
    """A system and count without an option, and the reason."""
    system: str
    """Identifier of the system."""
    count: int
    """Number of systems."""
    reason: Literal['beaten', 'does_not_fit', 'no_plan']
    """no_plan: no legal plan. does_not_fit: too few accelerators for it. beaten: even at the least time
    and price it can have, it gains less than 1 % over an option that costs less and is no larger.
    """


class Sizing(Document):
    """All options worth considering, the best of them, and what would change the answer."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    request: SizingRequest
    """Original request."""
    model: ModelSummary
    currency: str
    """Currency of budget and costs."""
    decision: Decision
    """What is recommended, why, and what would overturn it."""
    recommended: str | None
    """Option that the decision recommends; null for none."""
    margin: DecisionMargin | None
    """How far it is ahead of the best other option, in outlay."""
    options: list[SizingOption]
    """Options; the recommended first, then those that tie with it, that meet the limits, and the others,
    by outlay.
    """
    next: str | None = None
    """Cursor of the next page of options; null on the last page."""
    pareto: list[FrontPoint]
    """Pareto-optimal options for time and outlay, fastest first."""
    scaling: ScalingCurve | None
    """Scaling curve of the recommended system."""
    considered: int
    """Number of combinations of system and count that were considered."""
    searched: int
    """Number of plan searches; systems with the same hardware share a search."""
    left_out: list[Omission]
    """Combinations of system and count without an option, and why."""
    defaults: list[Default]
    """Default values that were used."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""


class SizingSummary(Document):
    """Summary of a sizing in a list."""
    id: str
    """Identifier of the sizing."""
    name: str
    """Name."""
    created_at: datetime.datetime
    """Creation time."""


class SoftwareFigure(Document):
    """One efficiency of a software profile."""
    parameter: str
    """Name."""
    value: float
    """Central value."""
    low: float
    """10th percentile."""
    high: float
    """90th percentile."""
    unit: str
    """SI unit."""
    status: str
    """Status: fitted to measured runs, or assumed."""
    note: str
    """How the figure was determined."""
    profile: str
    """Profile that states the figure; profiles can extend others."""
    source: SourceRef
    """Source of the figure."""


class Software(Document):
    """A software profile: a named, dated, sourced set of a few efficiencies of a software stack."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    kind: Literal['gpu', 'ipu']
    """Architecture on which it runs."""
    preset: str
    """Class of the profile: tuned, fused or eager."""
    as_of: str
    """Date of the measured runs that it represents."""
    families: list[str] | None = None
    """Model families of the measured runs that it represents."""
    runs: int = 0
    """Configurations of the measured runs that it represents."""
    figures: list[SoftwareFigure]
    """Figures of the profile."""
    rejected: list[Statement]
    """Competing claims; none are stored for software."""


class StateRequest(Request):
    """A state of a study: a version and the knobs applied to it."""
    knobs: dict[str, str | float | int | None] = {}
    """Knob name → value; “count.a” changes one option, “batch” all. An empty value means the default."""
    version: int | None = None
    """Version to which the knobs apply; if omitted, the newest."""
    pair: list[str] | None = None
    """Two options to compare with each other."""


class StudyBase(Request):
    """Fields shared by all options; each option can change some of them."""
    model: ModelInput
    """Model to train."""
    workload: WorkloadInput = Field(default_factory=lambda: WorkloadInput(kind='pretrain'))
    """How much to train, and in which batches."""
    software: str | None = None
    """Identifier of a software profile; if omitted, the usual one for the model on each chip."""
    assumptions: AssumptionsInput = Field(default_factory=lambda: AssumptionsInput(cloud_support='none'))
    """Assumptions of the estimate."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every price, cost and budget."""
    scaling_efficiency: float = 1.0
    """Scaling efficiency of scaled figures, as a share of linear scaling."""


class StatedFigure(Request):
    """A stated time to train; a linear one can be scaled from another option."""
    hours: float | None = None
    """Time to train; a linear figure can omit it and is then scaled from another. [h]"""
    kind: Literal['linear', 'measured', 'modelled', 'published', 'vendor']
    """Origin of the figure; “linear” is an extrapolation."""
    scaled_from: str | None = None
    """Key of the option from which a linear figure is scaled."""
    factor: float | None = None
    """Hardware of this option as a multiple of that option's."""
    system: str | None = None
    """Identifier of a system."""


class StudyOption(Request):
    """One system choice: an estimate that changes parts of the base, or a stated figure."""
    key: str | None = None
    """Short name of an option, used in URLs: a letter, then letters and digits."""
    label: str | None = None
    """Label; if omitted, count and system."""
    model: ModelInput | None = None
    """Model to train instead of that of the base."""
    system: SystemInput | None = None
    """System of the estimate; omitted for a stated figure."""
    workload: WorkloadInput = Field(default_factory=lambda: WorkloadInput(kind='pretrain'))
    """Differences from the workload of the base."""
    plan: PlanInput = Field(default_factory=lambda: PlanInput())
    """How the model is mapped to devices. Omitted fields are searched."""
    software: str | None = None
    """Software profile to use instead of that of the base."""
    assumptions: AssumptionsInput = Field(default_factory=lambda: AssumptionsInput(cloud_support='none'))
    """Differences from the assumptions of the base."""
    figure: StatedFigure | None = None
    """A stated time to train, instead of an estimate."""


class StudyContent(Request):
    """A study: its name, its base, its options and notes."""
    name: str
    """Name of the study."""
    base: StudyBase
    """Base shared by all options."""
    options: list[StudyOption]
    """1 to 8 options; omitted keys are assigned."""
    notes: str = ''
    """Notes on the question, in plain text."""
    customer: str = ''
    """Customer who asks."""
    owner: str = ''
    """Person in charge of the study."""
    tags: list[str] = []
    """Words by which studies are grouped."""
    limits: Limits = Field(default_factory=lambda: Limits())
    baseline: str | None = None
    """Option that the others are compared with; if omitted, the best one."""
    views: dict[str, dict[str, str]] = {}
    """What the views of the study ask beyond the question, by view, as their forms hold it."""


class Study(Document):
    """A stored study."""
    id: str
    """Identifier."""
    saved: bool = True
    """False for an answer that nobody has saved; it is deleted after some time."""
    version: int
    """Number of this version."""
    latest: int
    """Newest version."""
    archived: bool
    """Whether the study is archived."""
    created_at: datetime.datetime
    """Creation time of the study."""
    updated_at: datetime.datetime
    """Time of the last change: creation time of this version."""
    content: StudyContent
    """Content of the study."""


class StudyChange(Document):
    """One field that differs between two versions, or between a state and its version."""
    field: str
    """Dotted path of the field within the base or the option."""
    option: str | None
    """Key of the option; null for a field shared by all options."""
    knob: str | None
    """Knob for the field; null if there is none."""
    before: JsonValue
    """Value before the change; null if omitted."""
    after: JsonValue
    """Value after the change; null if omitted."""
    message: str
    """The change as a sentence in English."""
    text: Text
    """Sentence with its template and values, for translation."""


class Delta(Document):
    """An option compared with the best one."""
    ratio: float
    """Ratio to the best option; 1 for the best itself."""
    low: float | None
    """10th percentile of the ratio, from paired samples."""
    high: float | None
    """90th percentile."""
    difference: Quantity
    """Difference from the best option."""
    best: bool
    """True for the best option, unless another ties with it."""
    tie: bool = False
    """True if the option is too close to the best to call."""


class StudyOptionAnswer(Document):
    """Result of one option in one state."""
    key: str
    """Key of the option."""
    label: str
    """Name."""
    kind: Literal['linear', 'measured', 'modelled', 'published', 'vendor']
    """Origin of the figure; estimates are modelled."""
    system: str | None
    """Identifier of the system."""
    time: Quantity | None
    """Time to train; null if it does not fit or cannot be estimated."""
    cost: Quantity | None
    """Cost of the run on the basis shared by all options; null if no cost is known."""
    costs: list[BasisCost] = []
    """Cost on the basis shared by all options, for each way of paying; the option's own way first."""
    time_against_best: Delta | None
    """Comparison with the fastest option."""
    cost_against_best: Delta | None
    """Comparison with the cheapest option."""
    time_against_baseline: Delta | None = None
    """Comparison with the baseline in time; null if the study names none."""
    cost_against_baseline: Delta | None = None
    """Comparison with the baseline in cost; null if the study names none."""
    refusal: Text | None
    """Why the option cannot run or be estimated; null if it can."""
    estimate: Estimate | None
    """Full estimate, if the option is an estimate."""


class Contest(Document):
    """Probability that one option beats another."""
    first: str
    """Key of the first option."""
    second: str
    """Key of the second option."""
    metric: Literal['cost', 'time']
    """Metric compared."""
    probability: float | None
    """Share of the paired samples in which the first option is lower, counting ties as half; null if
    neither has a range.
    """


class PartAcross(Document):
    """One component of the time to train, across all options."""
    part: str
    """Name of the part."""
    seconds: dict[str, float]
    """Duration by key of the option. [s]"""
    share: dict[str, float]
    """Share of the time to train, by key of the option."""


class WhyPart(Document):
    """One component in which the times of two options differ."""
    part: str
    """Name of the part."""
    first: float
    """Duration for the first option. [s]"""
    second: float
    """Duration for the second option. [s]"""
    difference: float
    """Second option minus first. [s]"""
    text: Text
    """Explanation in one sentence."""


class Why(Document):
    """Explanation of the difference between two options."""
    first: str
    """Key of the first option."""
    second: str
    """Key of the second option."""
    difference: float | None
    """Time of the second option minus that of the first. [s]"""
    parts: list[WhyPart]
    """Components that differ, largest first; they add up to the difference."""
    sentences: list[Text]
    """Explanation in sentences, time first, then cost."""


class Swing(Document):
    """Effect of one input alone on the lead of the best option."""
    input: str
    """Input that is varied."""
    option: str | None
    """Key of the option to which the input belongs; null if it applies to all options."""
    basis: Literal['assumed', 'model']
    """“assumed”: varied by the assumed share; “model”: its share of the range of the lead."""
    low: float
    """Lead at the low end of the input."""
    high: float
    """Lead at the high end of the input."""
    overtaken_by: str | None
    """Key of the option that is then the best; null if there is none."""
    text: Text
    """Explanation in one sentence."""


class Tornado(Document):
    """What would change which option is the best."""
    metric: Literal['cost', 'time']
    """Metric in which the option is best."""
    best: str
    """Key of the best option."""
    runner_up: str
    """Key of the runner-up."""
    lead: float
    """Ratio of the runner-up to the best option; at 1, the best option is overtaken."""
    low: float | None = None
    """10th percentile of the lead, from paired samples; null if nothing has a range."""
    high: float | None = None
    """90th percentile."""
    share: float
    """Share by which each assumed input is varied."""
    swings: list[Swing]
    """Inputs, widest swing first."""


class StudyAnswer(Document):
    """Results of a study in one state."""
    id: str
    """Identifier of the study."""
    version: int
    """Version to which the knobs apply."""
    latest: int
    """Newest version."""
    archived: bool
    """Whether the study is archived."""
    saved: bool = True
    """Whether somebody has saved the study."""
    content: StudyContent
    """The study with the knobs applied."""
    knobs: dict[str, str]
    """Knobs that differ from the version, as written in a URL."""
    changes: list[StudyChange]
    """Differences from the version, as fields and sentences."""
    options: list[StudyOptionAnswer]
    """Options, in order."""
    decision: Decision
    """What is recommended under the limits, for the demanded work."""
    by_demand: list[DemandAnswer]
    """What is recommended for one run, for ten a year, and for systems that are always busy."""
    fastest: str | None
    """Key of the fastest option; null if options tie."""
    cheapest: str | None
    """Key of the cheapest option; null if options tie."""
    fastest_tied: list[str] = []
    """Keys of the options that tie for the shortest time."""
    cheapest_tied: list[str] = []
    """Keys of the options that tie for the lowest cost."""
    one_basis: CommonBasis | None = None
    """Basis shared by the costs of all options; null if no cost is known."""
    contests: list[Contest]
    """Comparison of every option with every other, in time and in cost."""
    where_time_goes: list[PartAcross]
    """Components of the time to train, largest first."""
    why: Why | None
    """Explanation of the difference between two options; null with fewer than two."""
    tornados: list[Tornado]
    """What would change the best option, in time and in cost."""
    warnings: list[CheckWarning]
    """Warnings to consider when comparing the options."""


class StudyFile(Request):
    """A study as a single file."""
    format: Literal['rackline-study']
    """Format of the file."""
    format_version: Literal[1]
    """Version of the format."""
    engine_version: str = ''
    """Version of the engine with which the file was written."""
    catalog_version: str = ''
    """Version of the catalogue."""
    study: StudyContent
    """The study."""


class StudyPatch(Request):
    """Fields of a study to change, each as a whole. Every change creates a version."""
    name: str | None = None
    """Name of the study."""
    base: StudyBase | None = None
    """Base shared by all options."""
    options: list[StudyOption] | None = None
    """1 to 8 options; omitted keys are assigned."""
    notes: str | None = None
    """Notes on the question, in plain text."""
    customer: str | None = None
    """Customer who asks."""
    owner: str | None = None
    """Person in charge of the study."""
    tags: list[str] | None = None
    """Words by which studies are grouped."""
    limits: Limits | None = None
    """What an answer has to meet."""
    baseline: str | None = None
    """Option that the others are compared with; if omitted, the best one."""
    views: dict[str, dict[str, str]] | None = None
    """What the views of the study ask beyond the question, by view, as their forms hold it."""
    knobs: dict[str, str | float | int | None] = {}
    """Knobs to apply to the study before it is stored, as written in a URL."""


class StudySummary(Document):
    """Summary of a study in a list."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    customer: str = ''
    """Customer who asks."""
    version: int
    """Newest version."""
    options: int
    """Number of options."""
    archived: bool
    """Whether the study is archived."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time of the last change."""


class StudyVersion(Document):
    """One version and its changes."""
    version: int
    """Version number, from 1."""
    created_at: datetime.datetime
    """Creation time."""
    changes: list[StudyChange]
    """Differences from the previous version."""


class StudyVersions(Document):
    """All versions of a study, newest first."""
    id: str
    """Identifier of the study."""
    items: list[StudyVersion]
    """Versions, newest first."""
    next: str | None = None
    """Always null: the list is whole."""


class SweepProblem(Document):
    """Why a point has no estimate."""
    field: str
    """Dotted path in the estimate request of the point; empty if no field is at fault."""
    message: str
    """What is wrong and what is allowed, in English."""
    text: Text
    """Sentence with its template and values, for translation."""


class SweepRow(Document):
    """One point of a sweep. Figures are null if it has a problem or does not fit."""
    position: int
    """Position in the order of the sweep, from 0."""
    key: str
    """Key of the point, derived from its request."""
    model: str
    """Label of the model."""
    system: str
    """Label of the system."""
    count: int
    """Number of systems."""
    price: str
    """Label of the price list; empty if there is none."""
    scenario: str
    """Label of the scenario; empty if there is none."""
    model_id: str | None
    """Identifier of the preset or profile."""
    system_id: str
    """Identifier of the system."""
    fabric: str | None
    """Identifier of the fabric."""
    devices: int | None
    """Total number of accelerators."""
    software: str | None
    """Identifier of the software profile."""
    precision_used: str | None
    """Number format that the system uses."""
    fits: bool | None
    """Whether the plan fits in memory; null if there is a problem."""
    tensor: int | None
    """Tensor-parallel degree: devices that share each layer."""
    pipeline: int | None
    """Number of pipeline stages."""
    data: int | None
    """Data-parallel degree: replicas of the model."""
    micro_batch: int | None
    """Samples per micro-batch."""
    accumulation: int | None
    """Micro-batches per step and replica (gradient accumulation)."""
    interleave: int | None
    """Model chunks per pipeline stage (interleaving)."""
    recompute: str | None
    """Activations that the backward pass recomputes."""
    sharding: str | None
    """State that replicas shard instead of each holding a full copy."""
    offload: bool | None
    """Whether the optimizer state is offloaded from the device."""
    global_batch: int | None
    """Samples per step."""
    steps: int | None
    """Number of steps in the run."""
    step_time: float | None
    """Time per step. [s]"""
    time_to_train: float | None
    """Time to train. [s]"""
    time_to_train_low: float | None
    """10th percentile of the time to train. [s]"""
    time_to_train_high: float | None
    """90th percentile of the time to train. [s]"""
    cost: float | None
    """Cost of the run; null if no price is known. [currency]"""
    cost_low: float | None
    """10th percentile of the cost. [currency]"""
    cost_high: float | None
    """90th percentile of the cost. [currency]"""
    capex: float | None
    """Price of the system; null if rented. [currency]"""
    currency: str
    """Currency of every price and cost."""
    energy: float | None
    """Energy use of the run. [J]"""
    mfu: float | None
    """Model FLOPs utilization (MFU): model FLOP per second over the peak."""
    memory_share: float | None
    """Memory in use on the fullest device, as a share of its memory."""
    status: str | None
    """Whether the point is covered by measured runs: validated, extrapolated or unvalidated."""
    warnings: list[str]
    """Codes of the warnings of the estimate."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    problem: SweepProblem | None = None
    """Why there is no estimate."""


class SweepAnswer(Document):
    """A sweep with one page of its rows."""
    id: str
    """Identifier of the sweep."""
    name: str
    """Name."""
    status: Literal['cancelled', 'done', 'failed', 'queued', 'running']
    """Status: queued, running or ended (done, cancelled or failed)."""
    total: int
    """Total number of points."""
    done: int
    """Number of points with a row."""
    message: Text | None = None
    """Why the sweep failed."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time at which a row was last added or the status last changed."""
    refused: int
    """Number of points whose row has a problem instead of an estimate."""
    labels: dict[str, list[str]]
    """Labels of models, systems, prices and scenarios, for filtering rows."""
    sizes: dict[str, int]
    """Number of models, systems at each count, prices and scenarios that are combined."""
    matching: int
    """Number of rows that match the filters."""
    rows: list[SweepRow]
    """Rows, in the requested order."""
    next: str | None
    """Cursor of the next page of rows; null on the last page."""
    request: dict[str, JsonValue]
    """Original request."""


class SweepModel(Request):
    """A model with its workload."""
    label: str | None = None
    """Label; if omitted, the identifier of its preset or profile."""
    model: ModelInput
    """Model to train."""
    workload: WorkloadInput = Field(default_factory=lambda: WorkloadInput(kind='pretrain'))
    """How much to train, and in which batches."""


class SweepSystem(Request):
    """A system at one or several counts."""
    label: str | None = None
    """Label; if omitted, the identifier of the system."""
    id: str
    """Identifier of a system."""
    count: int | None = None
    """Number of systems; if omitted, 1."""
    counts: list[int] | None = None
    """Several counts, instead of one."""
    fabric: str | None = None
    """Identifier of a fabric; if omitted, the system's default."""
    ports_per_node: int | None = None
    """Number of fabric ports per node; if omitted, the default of the system."""
    streaming_memory_gb: float | None = None
    """Streaming memory of each IPU machine, if not the default. [GB]"""
    software: str | None = None
    """Identifier of a software profile for this system; if omitted, the usual one for the model on its
    chip.
    """


class Prices(Request):
    """Prices and cost settings, in the currency of the sweep. Omitted fields come from the catalogue."""
    acquisition: Literal['own', 'rent'] | None = None
    """Whether the system is bought or rented."""
    system_price: float | None = None
    """Price of one system, in the currency of the sweep. [currency]"""
    hourly_price: float | None = None
    """Hourly price of one rented system, in the currency of the sweep. [currency/h]"""
    electricity_per_kwh: float | None = None
    """Electricity tariff, in the currency of the sweep. [currency/kWh]"""
    amortisation_years: float | None = None
    """Amortisation period of a bought system. [a]"""
    utilisation: float | None = None
    """Share of the time a bought system is in use."""
    include: list[Literal['fabric', 'hosts', 'licences', 'power', 'space', 'staff', 'storage', 'support']] | None = None
    """Cost items to include besides the machines."""
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""


class SweepPrices(Request):
    """One price list: prices for all systems, and exceptions by system."""
    acquisition: Literal['own', 'rent'] | None = None
    """Whether the system is bought or rented."""
    system_price: float | None = None
    """Price of one system, in the currency of the sweep. [currency]"""
    hourly_price: float | None = None
    """Hourly price of one rented system, in the currency of the sweep. [currency/h]"""
    electricity_per_kwh: float | None = None
    """Electricity tariff, in the currency of the sweep. [currency/kWh]"""
    amortisation_years: float | None = None
    """Amortisation period of a bought system. [a]"""
    utilisation: float | None = None
    """Share of the time a bought system is in use."""
    include: list[Literal['fabric', 'hosts', 'licences', 'power', 'space', 'staff', 'storage', 'support']] | None = None
    """Cost items to include besides the machines."""
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""
    label: str
    """Name."""
    by_system: dict[str, Prices] = {}
    """Prices of individual systems by identifier; they take precedence over those for all systems."""


class SweepScenario(Request):
    """One scenario. Its values take precedence over those of models, systems and prices."""
    label: str
    """Name."""
    workload: WorkloadInput = Field(default_factory=lambda: WorkloadInput(kind='pretrain'))
    """Differences in the workload."""
    plan: PlanInput = Field(default_factory=lambda: PlanInput())
    """Plan of the models; omitted fields are searched."""
    software: str | None = None
    """Identifier of a software profile."""
    assumptions: AssumptionsInput = Field(default_factory=lambda: AssumptionsInput(cloud_support='none'))
    """Assumptions of the estimate."""


class SweepRequest(Request):
    """Estimates of every combination of the lists, in order; the last list varies fastest."""
    title: str | None = None
    """Title of the sweep."""
    study_id: str | None = None
    """Identifier of the study that the sweep belongs to."""
    models: list[SweepModel]
    """Models with their workloads."""
    systems: list[SweepSystem]
    """Systems and their counts."""
    prices: list[SweepPrices] = []
    """Price lists; if omitted, only the catalogue's prices."""
    scenarios: list[SweepScenario] = []
    """Scenarios; if omitted, only the default one."""
    currency: Literal['CNY', 'EUR', 'JPY', 'KRW', 'USD'] = 'USD'
    """Currency of every price and cost."""


class SweepState(Document):
    """Progress of a sweep."""
    id: str
    """Identifier of the sweep."""
    name: str
    """Name."""
    status: Literal['cancelled', 'done', 'failed', 'queued', 'running']
    """Status: queued, running or ended (done, cancelled or failed)."""
    total: int
    """Total number of points."""
    done: int
    """Number of points with a row."""
    message: Text | None = None
    """Why the sweep failed."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time at which a row was last added or the status last changed."""


class BillOfSystem(Document):
    """Parts of one kind in a system."""
    item: str
    """Identifier of the part."""
    name: str
    """Name of the part."""
    count: int
    """Number of units."""
    price: CatalogueFigure | None
    """Unit price; null if not published."""
    power_typical: CatalogueFigure | None
    """Power of one unit under load."""
    rack_units: CatalogueFigure | None
    """Rack height of one unit."""


class System(Document):
    """A system that is bought or rented."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    maker: str
    """Manufacturer."""
    figures: list[CatalogueFigure]
    """Figures in use."""
    rejected: list[Statement]
    """All competing claims that are not used."""
    machine: str
    """Identifier of the machine."""
    machines: int
    """Number of machines."""
    devices: int
    """Number of accelerators."""
    devices_per_machine: int
    """Number of accelerators per machine."""
    chip: str
    """Identifier of the chip."""
    chip_kind: Literal['gpu', 'ipu']
    """Architecture of the chip."""
    intra: str
    """Interconnect between the accelerators of a machine."""
    hosts: int
    """Number of host servers required."""
    fabric: str
    """Default fabric of the system."""
    ports_per_node: int
    """Number of fabric ports per machine."""
    acquisition: Literal['own', 'rent']
    """Whether the system is bought or rented."""
    availability: str
    """Availability."""
    price: Quantity | None
    """Total price of the parts; null if a part has no price."""
    price_hour: CatalogueFigure | None
    """Latest on-demand hourly price."""
    power_typical: Quantity
    """Power under a training load."""
    power_max: Quantity
    """Maximum power."""
    rack_units: float
    """Total height in the rack. [U]"""
    bill: list[BillOfSystem]
    """Parts of the system."""
    derived: list[DerivedFigure]
    """Derived figures."""


class TrailActor(Document):
    """Actor of an audit event."""
    kind: str
    """Kind of actor: person, key, link, local (a server without accounts), operator or system."""
    id: str
    """Identifier of the account or key; empty if there is none."""
    name: str
    """Name of the actor; empty if unknown."""


class TrailObject(Document):
    """Object of an action."""
    kind: str
    """Kind of object."""
    id: str
    """Identifier of the object."""


class TrailEvent(Document):
    """An action in the workspace. Audit events never change."""
    id: str
    """Identifier of the event."""
    at: datetime.datetime
    """Time of the action."""
    action: str
    """Action: kind of object and verb."""
    actor: TrailActor
    """Actor."""
    object: TrailObject
    """Object of the action."""
    address: str
    """Network address of the request; empty for the server itself."""
    request_id: str
    """Identifier of the request; the same for every event that it caused."""
    detail: dict[str, Any]
    """Details, such as the name and the fields that changed; never a secret."""


class UploadPatch(Request):
    """Fields of an upload to change. Omitted fields are unchanged."""
    name: str | None = None
    """New name."""
    customer: str | None = None
    """Customer; empty for none."""


class UploadSummary(Document):
    """Summary of an upload in a list."""
    id: str
    """Identifier."""
    name: str
    """Name."""
    customer: str = ''
    """Customer it belongs to; empty if none is named."""
    created_at: datetime.datetime
    """Upload time."""
    size: int | None = None
    """Size of the stored file; null if none is stored, as for samples. [B]"""


class PhaseEstimate(Document):
    """Estimate of one training phase on one side of a claim."""
    phase: str
    """Name of the phase."""
    samples: float
    """Number of samples in the phase."""
    seq_len: int | None
    """Sequence length of a sample. [tokens]"""
    global_batch: int
    """Samples per step over all accelerators."""
    micro_batch: int
    """Samples per micro-batch."""
    precision: str
    """Number format that the system uses."""
    software: str
    """Identifier of the software profile."""
    throughput: Quantity
    """Samples per second."""
    time: Quantity
    """Duration of the phase."""
    validation: Literal['extrapolated', 'unvalidated', 'validated']
    """Whether the estimate is covered by measured runs."""
    basis: str
    """Basis for the batch, the precision and the number of samples."""
    source: SourceRef
    """Source of these values."""
    request: dict[str, JsonValue]
    """Request that reproduces the estimate."""


class ClaimSide(Document):
    """One side of a claim: its system, cost, power and training time."""
    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    count: int
    """Number of units."""
    devices: int
    """Number of accelerators in use."""
    chip: str
    """Identifier of the chip."""
    time: Quantity
    """Total time of all phases."""
    price: Quantity
    """Price of one system, including hosts and switches."""
    power_typical: Quantity
    """Power of one system under a training load."""
    power_maximum: Quantity
    """Maximum power of one system."""
    published_hours: float | None
    """Time to train stated by the vendor; null if only a ratio is stated. [h]"""
    phases: list[PhaseEstimate]
    """Estimates behind this side."""


class FootingRatio(Document):
    """Speed of the claimed side relative to the other, on one footing."""
    footing: Literal['as_claimed', 'per_chip', 'per_dollar', 'per_system', 'per_watt_maximum', 'per_watt_typical']
    """What is held equal on both sides."""
    claimed: float
    """Published ratio, restated on this footing by arithmetic alone."""
    ours: Quantity
    """The estimated ratio."""
    exceeds_one: float
    """Share of samples in which the claimed side is faster."""
    reaches_claim: float
    """Share of samples that reach the published ratio: restated for systems against systems, as published
    on the equal footings.
    """
    verdict: Literal['does_not_survive', 'shrinks', 'survives']
    """What the estimated range implies for the published ratio on this footing."""


class Reading(Document):
    """Estimate of a claim with software of one era."""
    era: Literal['later', 'of_the_time']
    """Software era: nearest to the time of the claim, or the best later one."""
    claimed: ClaimSide
    """Side that is claimed to be faster."""
    baseline: ClaimSide
    """Side with which it is compared, as stated by the claim."""
    whole: ClaimSide
    """Baseline in whole systems, as they are bought."""
    footings: list[FootingRatio]
    """Ratio on each footing."""


class VendorClaim(Document):
    """A published ratio and the verdict on it."""
    id: str
    """Identifier."""
    statement: Text
    """Statement of the claim."""
    quote: str
    """Sentence as published, in Chinese."""
    ratio: float
    """Published ratio."""
    also: float | None
    """The same ratio as its hours imply, or as printed elsewhere in the source."""
    restated: float | None
    """The ratio at the requested scaling efficiency; null if nothing was scaled."""
    metric: Literal['inference_throughput', 'time_to_train', 'training_throughput', 'unstated_throughput']
    """Metric compared."""
    model: str
    """Model that is run."""
    base: Text
    """What is compared with what."""
    software_era: str
    """Software behind the claim."""
    unclear: Text
    """What the source leaves unclear."""
    source: SourceRef
    """Source of the claim."""
    others: list[SourceRef]
    """Other sources on the claim."""
    as_of: str
    """Date of the claim."""
    verdict: Literal['does_not_survive', 'not_comparable', 'not_modelled', 'shrinks', 'survives']
    """Verdict on the claim."""
    sentence: Text
    """Verdict in one sentence."""
    readings: list[Reading]
    """Estimates of both sides; in a list, only those with software of the time; empty if there are none."""
    warnings: list[CheckWarning]
    """Warnings."""


class MeasuredSide(Document):
    """One measured run of a ratio."""
    run: str
    """Identifier of the measured run, as in the accuracy report."""
    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    measured_s: float
    """Measured time to train. [s]"""
    ours: Quantity
    """Our estimate of the same run."""
    precision: str
    """Number format of the products."""
    global_batch: int
    """Samples per step over all accelerators."""
    software: str
    """Identifier of the software profile."""
    software_used: str
    """Software as the submission names it."""
    source: str
    """Submission."""


class MeasuredRatio(Document):
    """Ratio of two measured submissions of one benchmark on as many accelerators."""
    id: str
    """Identifier of the ratio."""
    model: str
    """Benchmark that was run."""
    devices: int
    """Number of accelerators on either side."""
    claimed: MeasuredSide
    """Run whose speed is stated."""
    baseline: MeasuredSide
    """Run it is compared with."""
    ratio: float
    """Measured speed ratio, computed from both times."""
    ours: Quantity
    """Our ratio of the same two runs, hence per chip."""
    per_dollar: Quantity | None
    """Our ratio per dollar; null if a price is unknown."""
    per_watt_typical: Quantity | None
    """Our ratio per watt of typical power."""
    verdict: Literal['above_range', 'below_range', 'within_range']
    """Where the measured ratio lies against our range."""


class PublishedHours(Document):
    """A time to train, as published or as scaled or derived from a published one."""
    label: str
    """System and count that ran, or would have run."""
    kind: Literal['linear', 'vendor']
    """Origin of the figure; linear is an extrapolation."""
    hours: float
    """Time to train. [h]"""
    ceiling: bool
    """True if it is the vendor's best case (“up to”)."""
    system: str
    """Identifier of the system."""
    count: int
    """Number of units."""
    ours: Quantity | None
    """Our estimate; null if there is none."""
    ratio: float
    """Ratio of these hours to those of the claimed system."""


class ParityRow(Document):
    """Comparison of two allegedly equal systems in one quantity."""
    quantity: Literal['power_maximum', 'power_mixed', 'power_typical', 'price']
    """Quantity compared; mixed compares the typical power of one with the maximum power of the other."""
    claimed: Quantity
    """Value for one IPU-POD64."""
    baseline: Quantity
    """Value for three DGX A100."""
    ratio: Quantity
    """Ratio of the first to the second."""
    holds: bool
    """True if the range of the ratio contains 1."""


class Parity(Document):
    """Check of the claim “1 IPU-POD64 and 3 DGX A100 have about the same price and power”."""
    count: float
    """Number of DGX A100 compared with one IPU-POD64."""
    assumed: bool
    """True if the request assumes that they are equal."""
    rows: list[ParityRow]
    """Price and power on each basis."""
    sentence: Text
    """Verdict on the claim."""
    quote: str
    """Sentence as published, in Chinese."""
    source: SourceRef
    """Source of the claim."""


class ClaimsRequest(Request):
    """Assumptions for evaluating vendor claims. Omitted fields come from the catalogue."""
    scaling_efficiency: float = 1.0
    """Share of linear scaling that published figures reach if they were scaled up, not run."""
    dgx_per_pod64: float | None = None
    """Number of DGX A100 that one IPU-POD64 equals in price and in power; the article says 3."""
    pod64_price: float | None = None
    """Price of one IPU-POD64 with its hosts. [USD]"""
    dgx_price: float | None = None
    """Price of one DGX A100. [USD]"""
    m2000_price: float | None = None
    """Price of one IPU-M2000 with its host. [USD]"""
    price_book_id: str | None = None
    """Identifier of a price book of the workspace."""


class VendorClaims(Document):
    """All vendor claims under one set of assumptions."""
    items: list[VendorClaim]
    """Claims, in catalogue order."""
    measured: list[MeasuredRatio]
    """Measured ratios."""
    next: str | None = None
    """Always null: the list has only one page."""
    hours: list[PublishedHours]
    """Published times to train, side by side."""
    parity: Parity
    """Check of equal price and power."""
    assumptions: ClaimsRequest
    """Requested assumptions."""
    catalog_version: str
    """Version of the catalogue."""
    warnings: list[CheckWarning]
    """Warnings that apply to all claims."""


class Webhook(Document):
    """A URL that receives event messages."""
    id: str
    """Identifier of the webhook."""
    name: str
    """Purpose."""
    url: str
    """URL to which messages are sent."""
    events: list[str]
    """Events for which the webhook receives messages."""
    active: bool
    """Whether the webhook receives events."""
    disabled_because: Text | None
    """Why the webhook was disabled; null if it is active or was disabled by a user."""
    succeeded_at: datetime.datetime | None
    """Time of the last successful delivery; null if there is none."""
    old_secret_until: datetime.datetime | None
    """Time until which messages are also signed with the previous secret; null if there is none."""
    created_at: datetime.datetime
    """Creation time."""
    updated_at: datetime.datetime
    """Time of the last change."""


class WebhookPatch(Request):
    """Fields of a webhook to change. Omitted fields are unchanged."""
    url: str | None = None
    """URL to which messages are sent: https, a public address or a host that the server allows, no user
    name in it.
    """
    events: list[Literal['*', 'proposal.accepted', 'proposal.asked', 'proposal.changed', 'proposal.created', 'proposal.declined', 'proposal.expired', 'proposal.frozen', 'proposal.opened', 'proposal.replayed', 'proposal.replied', 'proposal.returned', 'proposal.sent', 'proposal.shared', 'proposal.submitted', 'proposal.unshared', 'sizing.created', 'study.archived', 'study.changed', 'study.created', 'study.deleted', 'study.restored', 'study.saved', 'sweep.cancelled', 'sweep.created', 'sweep.deleted', 'sweep.done', 'sweep.failed']] | None = None
    """Events for which the webhook receives messages; “*” for all."""
    name: str | None = None
    """Purpose; if omitted, the host of the URL."""
    active: bool | None = None
    """Whether the webhook receives events; true re-enables one that was switched off."""


class WebhookRequest(Request):
    """A URL to which event messages are sent."""
    url: str
    """URL to which messages are sent: https, a public address or a host that the server allows, no user
    name in it.
    """
    events: list[Literal['*', 'proposal.accepted', 'proposal.asked', 'proposal.changed', 'proposal.created', 'proposal.declined', 'proposal.expired', 'proposal.frozen', 'proposal.opened', 'proposal.replayed', 'proposal.replied', 'proposal.returned', 'proposal.sent', 'proposal.shared', 'proposal.submitted', 'proposal.unshared', 'sizing.created', 'study.archived', 'study.changed', 'study.created', 'study.deleted', 'study.restored', 'study.saved', 'sweep.cancelled', 'sweep.created', 'sweep.deleted', 'sweep.done', 'sweep.failed']] = ['proposal.frozen', 'proposal.shared', 'proposal.opened', 'proposal.expired']
    """Events for which the webhook receives messages; “*” for all."""
    name: str = ''
    """Purpose; if omitted, the host of the URL."""


class Bin(Document):
    """One bin of a histogram of sample lengths."""
    low: int
    """Shortest sample length in the bin. [tokens]"""
    high: int
    """Longest sample length in the bin. [tokens]"""
    samples: int
    """Number of samples in the bin."""


class WorkloadDocument(Document):
    """Statistics of an uploaded data sample; the text itself is not stored."""
    id: str
    """Identifier, for use as ``workload.workload_id``."""
    name: str
    """Name; that of the file until it is changed."""
    customer: str = ''
    """Customer it belongs to; empty if none is named."""
    samples: int
    """Number of samples."""
    tokens: int
    """Number of tokens."""
    mean_tokens: Quantity
    """Mean sample length; the range is that of the counting rule."""
    p50: int
    """Median sample length. [tokens]"""
    p95: int
    """P95 sample length: 95 % of the samples do not exceed it. [tokens]"""
    max: int
    """Length of the longest sample. [tokens]"""
    seq_len: int
    """Row length to which the shares refer. [tokens]"""
    padding_share: float
    """Share of padding in padded rows."""
    packing_factor: float
    """Samples per row with packing."""
    histogram: list[Bin]
    """Histogram of sample lengths."""
    warnings: list[CheckWarning]
    """Assumptions made."""
