"""What is answered about networks and bills of materials."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from app.errors import BadInput, Unprocessable
from app.estimating.documents import CheckWarning, Text
from app.estimating.money import Currency
from app.estimating.names import Name
from app.estimating.naming import FabricName, SystemName
from app.estimating.network_parts import Group
from app.estimating.request import CostItem, NamedSystem, Number, Region, Schema, Whole
from app.estimating.schema import Document, Quantity, SourceRef

MOST_NODES = 100_000

MOST_RACK_POWER = 200.0
"""Power beyond which no rack is cooled. [kW]"""

MOST_STORAGE = 1e6
"""Storage beyond which no bill is made, an exabyte. [TB]"""

MOST_SPARES = 1000


class FabricRequest(Schema):
    """Nodes and switches of a network."""

    nodes: Whole = Field(ge=1, le=MOST_NODES, description="Number of nodes.", examples=[20])
    ports_per_node: Whole = Field(ge=1, le=64, description="Ports per node; each is a rail.", examples=[8])
    port_gbps: Number = Field(gt=0, le=10_000, examples=[200])
    """Line rate of one port, in one direction. [Gb/s]"""
    switch_ports: Whole = Field(ge=2, le=1024, description="Ports per switch.", examples=[40])
    oversubscription: Number = Field(1.0, ge=1, le=64)
    """Highest allowed oversubscription of a leaf switch: ports to nodes per uplink."""
    declared_switches: Whole | None = Field(None, ge=0, le=1_000_000)
    """Number of switches in an existing list, to be checked."""


class BillInputs(Schema):
    """What a bill includes beside the systems, and how they are joined and racked."""

    ports_per_node: Whole | None = Field(None, ge=1, le=32)
    """Network ports per machine; if omitted, the system's default."""
    oversubscription: Number = Field(1.0, ge=1, le=64)
    """Highest allowed oversubscription of a leaf switch: ports to nodes per uplink."""
    storage_tb: Number | None = Field(None, ge=0, le=MOST_STORAGE)
    """Usable shared storage; if omitted, none is included. [TB]"""
    spare: Whole = Field(0, ge=0, le=MOST_SPARES)
    """Number of spare machines, 1 for N+1. With any spare machine, a spare switch of each model and spare
    cables are added.
    """
    rack_units: Literal[42, 48] = Field(42, description="Rack height. [U]")
    rack_power_kw: Number | None = Field(None, gt=0, le=MOST_RACK_POWER)
    """Power limit of one rack; if omitted, the catalogue's. [kW]"""


class BillRequest(NamedSystem, BillInputs):
    """A system and a count, or an estimate whose system is used."""

    system: SystemName | None = Field(None, examples=["dgx-a100-640gb"])
    """Identifier of a system that can be bought."""
    count: Whole = Field(1, ge=1, le=65_536, description="Number of systems.", examples=[20])
    estimate_id: str | None = Field(None, max_length=40)
    """Identifier of an estimate whose system, count and network are used."""
    fabric: FabricName | None = None
    """Identifier of the network; if omitted, the system's own."""
    region: Region = "korea"
    """Region of purchase. Its tax and duty are listed; neither is included in any price."""
    include: list[CostItem] | None = None
    """Cost items that are bought beside the machines, as in the assumptions of an estimate; if omitted, all
    but licences, and storage where its size is given.
    """
    licence_years: Number | None = Field(
        None,
        gt=0,
        le=50,
        description="Term of the licences, where they are included; if omitted, the catalogue's amortisation "
        "period. [a]",
    )
    price_book_id: str | None = Field(None, description="Identifier of a price book of the workspace.")
    currency: Currency = Field("USD", description="Currency of every price.")
    label: Name | None = Field(None, max_length=200, description="Name of the bill.")


def check_asked(request: BillRequest) -> None:
    """Refuse a request that names neither a system nor an estimate, or both."""
    if request.system is None and request.estimate_id is None:
        raise Unprocessable.at("system", "enter system or estimate_id")
    if request.system is not None and request.estimate_id is not None:
        raise BadInput.at("estimate_id", "enter system or estimate_id, not both")


class FabricPlan(Document):
    """Switches and cables of a network."""

    nodes: int = Field(description="Number of nodes.")
    switch_ports: int = Field(description="Ports per switch.")
    port_gbps: float = Field(description="Line rate of one port. [Gb/s]")
    levels: int = Field(description="Number of switch levels: 1, 2 or 3.")
    rails: int
    """Number of rails with leaf switches of their own: one per port of a node, or 1 if all share them."""
    endpoints: int = Field(description="Number of ports over all nodes.")
    leaf: int = Field(description="Number of leaf switches: rails × leaves per rail.")
    leaf_down: int = Field(description="Ports to nodes on the fullest leaf switch.")
    leaf_up: int = Field(description="Planned uplinks per leaf switch, the same number to each spine switch.")
    uplinks: int = Field(description="Number of uplinks required by all leaf switches.")
    spine: int
    """Minimum number of spine switches: uplinks divided by downward-facing ports."""
    balanced_spine: int
    """Number of spine switches over which each leaf switch's uplinks divide evenly."""
    core: int = Field(description="Minimum number of core switches; 0 if two levels are sufficient.")
    balanced_core: int
    """Number of core switches over which each spine switch's uplinks divide evenly."""
    pods: int = Field(description="Number of groups of leaf and spine switches under the core (pods).")
    leaves_per_pod: int = Field(description="Number of leaf switches in the largest pod.")
    links_per_pair: int
    """Number of links between a leaf switch and each of its spine switches."""
    spine_up: int = Field(description="Uplinks per spine switch; 0 if two levels are sufficient.")
    minimum_switches: int = Field(description="Minimum number of switches: leaf + spine + core.")
    switches: int = Field(description="Planned number of switches: leaf + balanced_spine + balanced_core.")
    cables: int = Field(description="Minimum number of cables, for nodes and between switches.")
    balanced_cables: int = Field(description="Number of cables as planned.")
    node_tbps: float = Field(description="Line rate of one node, in one direction. [Tb/s]")
    oversubscription: float = Field(description="Ports to nodes per uplink on the fullest leaf switch.")
    declared_switches: int | None
    """Number of switches declared in the request; null if none was given."""
    warnings: list[CheckWarning] = Field(description="Warnings and open questions.")


class BillLine(Document):
    """One line of a bill of materials."""

    item: str = Field(description="Identifier of the part.", examples=["qm8790"])
    name: str = Field(description="Name of the part.", examples=["QM8790 HDR switch"])
    group: Group = Field(description="Group in which the line is listed.")
    use: str = Field(description="Purpose.", examples=["leaf"])
    quantity: int = Field(description="Number of units.")
    rule: Text = Field(description="How the quantity is computed.")
    unit_price: Quantity | None = Field(description="Unit price; null if not published.")
    total: Quantity | None = Field(description="Quantity × unit price, rounded to the currency's unit.")
    power: Quantity | None = Field(description="Power of all units under load; null if they draw none.")
    power_max: Quantity | None = Field(description="Maximum power of all units.")
    rack_units: float = Field(description="Rack height of all units. [U]")
    weight: Quantity | None = Field(description="Weight of all units; null if unknown.")
    source: SourceRef | None = Field(description="Source of the price; null if there is none.")
    as_of: str = Field(description="Date of the price; empty if there is none.")
    status: Literal["published", "estimate", "unknown"]
    """How reliable the price is: published, an estimate or unknown."""
    note: str = Field(description="How the price was read or estimated; can be empty.")


class GroupTotal(Document):
    """Totals of one group of lines."""

    group: Group = Field(description="Name of the group.")
    price: Quantity = Field(description="Sum of the known prices.")
    complete: bool = Field(description="False if a line has no price; the sum is then a lower bound.")
    power: Quantity = Field(description="Power under load.")


class BillTotals(Document):
    """Totals of a bill."""

    price: Quantity = Field(
        description="Sum of the lines. Its range adds up the low ends and the high ends of the "
        "lines, as if all prices were high or low together."
    )
    complete: bool = Field(description="False if a line has no price; the sum is then a lower bound.")
    power: Quantity = Field(description="Power under a training load.")
    power_max: Quantity = Field(description="Maximum power; typical power if only that is published.")
    rack_units: float = Field(description="Total height in racks. [U]")
    racks: int = Field(description="Number of racks.")
    weight: Quantity = Field(description="Weight including racks, for parts of known weight.")


class RackPlacement(Document):
    """One item in a rack."""

    item: str = Field(description="Identifier of the part.")
    name: str = Field(description="Name of the part.")
    use: str = Field(description="Purpose.")
    bottom: int = Field(description="Lowest rack unit that it occupies; 1 is at the floor. [U]")
    height: int = Field(description="Height. [U]")


class Rack(Document):
    """Racks with identical contents."""

    count: int = Field(description="Number of racks with these contents.")
    height: int = Field(description="Rack height. [U]")
    used: int = Field(description="Height in use. [U]")
    power: float = Field(description="Power under load. [W]")
    power_max: float = Field(description="Maximum power. [W]")
    power_limit: float = Field(description="Power limit of one rack. [W]")
    weight: float = Field(description="Weight of the contents. [kg]")
    feeds: int | None = None
    """Power feeds, each able to carry the rack alone; null in bills that did not keep them."""
    pdus_per_feed: int | None = None
    """Power strips on each feed."""
    pdu_power: float | None = None
    """Power that one strip can carry. [W]"""
    placements: list[RackPlacement] = Field(description="Contents of the rack, from the bottom up.")


class Tax(Document):
    """A tax or duty that is not included in any price of a bill."""

    name: Literal["vat", "duty"] = Field(description="Name: value-added or sales tax, or customs duty.")
    rate: float = Field(description="Tax rate.")
    amount: Quantity = Field(description="Amount on the total.")
    source: SourceRef = Field(description="Source of the rate.")
    as_of: str = Field(description="Date of the rate.")
    note: str = Field(description="Basis on which it is charged.")


class Bill(Document):
    """A bill of materials: the parts of a system, line by line, and their placement in racks."""

    id: str = Field(description="Identifier.")
    label: str = Field(description="Name.")
    request: BillRequest = Field(description="Original request.")
    estimate_id: str | None
    """Identifier of the estimate whose system it is; null if none was given."""
    catalog_version: str = Field(description="Version of the catalogue the figures come from.")
    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    count: int = Field(description="Number of systems.")
    machines: int = Field(description="Total number of machines, without spares.")
    accelerators: int = Field(description="Total number of accelerators, without spares.")
    scalable_units: int | None
    """Scalable units of twenty nodes; null if none are defined."""
    fabric: str = Field(description="Identifier of the compute network.")
    currency: str = Field(description="Currency of every price.")
    package: Quantity | None
    """Price of machines, hosts and pod switches only, as systems are quoted; null without a price."""
    equipment: Quantity | None = None
    """Machines, hosts and compute network only; null without a price. The total of all lines is the capex of
    an estimate of the same system.
    """
    taxes: list[Tax] = Field([])
    """Taxes and duties in the region of purchase; not included in any price."""
    tax_note: Text | None = Field(None, description="What the prices exclude, as a sentence.")
    lines: list[BillLine] = Field(description="Lines of the bill, by group.")
    groups: list[GroupTotal] = Field(description="Totals by group.")
    totals: BillTotals = Field(description="Totals of all lines.")
    network: FabricPlan | None
    """Compute network; null if no switches connect the machines."""
    racks: list[Rack] = Field(description="Racks; identical racks are grouped.")
    warnings: list[CheckWarning] = Field(description="Warnings and open questions.")


Measure = Literal["package", "total", "power", "power_max", "rack_units"]


class BillRatio(Document):
    """One figure compared across two bills."""

    measure: Measure = Field(description="Metric compared.")
    first: Quantity = Field(description="Value for the first bill.")
    second: Quantity = Field(description="Value for the second bill.")
    ratio: Quantity
    """Ratio of first to second; its range covers every combination of the ends."""
    parity: bool = Field(description="True if the values are equal within the catalogue's margin.")


class GroupPair(Document):
    """Totals of one group in two bills."""

    group: Group = Field(description="Name of the group.")
    first: Quantity | None = Field(description="Total in the first bill; null if it has no such parts.")
    second: Quantity | None = Field(description="Total in the second bill; null if it has no such parts.")


class BillComparison(Document):
    """Two bills of materials side by side."""

    first: str = Field(description="Identifier of the first bill.")
    second: str = Field(description="Identifier of the second bill.")
    labels: list[str] = Field(description="Names of both bills.")
    margin: float = Field(description="Largest difference at which figures count as equal.")
    ratios: list[BillRatio] = Field(description="Ratios of the figures that both bills have.")
    groups: list[GroupPair] = Field(description="Totals by group for both bills.")
    warnings: list[CheckWarning] = Field(description="Warnings.")


class OptionBillRequest(BillRequest):
    """A bill of an option of a study, and the option whose bill stands beside it."""

    other: str | None = Field(None, max_length=8, description="Key of the option to compare with.")


class StudyOptionBill(Bill):
    """The bill of an option of a study."""

    comparison: BillComparison | None = None
    """Comparison with the bill of another option; null if none was named."""


class BillSummary(Document):
    """Summary of a bill in a list."""

    id: str = Field(description="Identifier of the bill.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    created_at: datetime = Field(description="Creation time.")
