"""What is answered about networks and bills of materials."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from app.errors import BadInput, Unprocessable
from app.estimating.documents import CheckWarning, Text
from app.estimating.network_parts import Group
from app.estimating.request import Number, Schema, Whole
from app.estimating.schema import Document, Quantity, SourceRef

MOST_NODES = 100_000

MOST_RACK_POWER = 200.0
"""Power beyond which no rack is cooled. [kW]"""

MOST_STORAGE = 1e6
"""Storage beyond which no bill is made, an exabyte. [TB]"""

MOST_SPARES = 1000


class FabricRequest(Schema):
    """Nodes and switches of a network."""

    nodes: Whole = Field(ge=1, le=MOST_NODES, description="Nodes.", examples=[20])
    ports_per_node: Whole = Field(ge=1, le=64, description="Ports of one node, a rail each.", examples=[8])
    port_gbps: Number = Field(
        gt=0, le=10_000, description="Line rate of one port in one direction. [Gb/s]", examples=[200]
    )
    switch_ports: Whole = Field(ge=2, le=1024, description="Ports of one switch.", examples=[40])
    oversubscription: Number = Field(
        1.0, ge=1, le=64, description="Ports towards nodes per uplink that a leaf may have."
    )
    declared_switches: Whole | None = Field(
        None, ge=0, le=1_000_000, description="Switches that somebody's list names, to be checked."
    )


class BillRequest(Schema):
    """A system and how many, or an estimate whose system is meant."""

    system: str | None = Field(
        None, description="Identifier of a system that is bought.", examples=["dgx-a100-640gb"]
    )
    count: Whole = Field(1, ge=1, le=65_536, description="How many of the system.", examples=[20])
    estimate_id: str | None = Field(
        None, max_length=40, description="Identifier of an estimate: its system, count and network are taken."
    )
    fabric: str | None = Field(None, description="Identifier of the network; left out, the system's own.")
    ports_per_node: Whole | None = Field(
        None, ge=1, le=16, description="Network ports of one machine; left out, the system's."
    )
    oversubscription: Number = Field(
        1.0, ge=1, le=64, description="Ports towards nodes per uplink that a leaf may have."
    )
    storage_tb: Number | None = Field(
        None, ge=0, le=MOST_STORAGE, description="Usable shared storage; left out, none is counted. [TB]"
    )
    spare: Whole = Field(
        0,
        ge=0,
        le=MOST_SPARES,
        description="Spare machines, 1 for N+1; with any, a spare switch of each model and spare cables.",
    )
    rack_units: Literal[42, 48] = Field(42, description="Height of a rack. [U]")
    rack_power_kw: Number | None = Field(
        None,
        gt=0,
        le=MOST_RACK_POWER,
        description="Power one rack may draw; left out, the catalogue's. [kW]",
    )
    region: Literal["korea", "us", "eu"] = Field(
        "korea", description="Where it is bought: whose tax and duty are named; neither is in any price."
    )
    price_book_id: str | None = Field(None, description="Identifier of a workspace's own prices.")
    currency: Literal["USD", "KRW"] = Field("USD", description="Currency of every price.")
    label: str | None = Field(None, max_length=200, description="What to call the bill.")


def check_asked(request: BillRequest) -> None:
    """Refuse a request that names neither a system nor an estimate, or both."""
    if request.system is None and request.estimate_id is None:
        raise Unprocessable.at("system", "enter system or estimate_id")
    if request.system is not None and request.estimate_id is not None:
        raise BadInput.at("estimate_id", "enter system or estimate_id, not both")


class FabricPlan(Document):
    """Switches and cables of a network."""

    nodes: int = Field(description="Nodes.")
    switch_ports: int = Field(description="Ports of one switch.")
    port_gbps: float = Field(description="Line rate of one port. [Gb/s]")
    levels: int = Field(description="Switch levels: 1, 2 or 3.")
    rails: int = Field(description="Rails, one per port of a node.")
    endpoints: int = Field(description="Ports of all nodes.")
    leaf: int = Field(description="Leaf switches: rails × leaves of a rail.")
    leaf_down: int = Field(description="Nodes on the fullest leaf.")
    leaf_up: int = Field(description="Uplinks of a leaf as planned, the same number to each spine.")
    uplinks: int = Field(description="Uplinks all leaves need.")
    spine: int = Field(description="Least spines: uplinks over the ports that face down.")
    balanced_spine: int = Field(description="Spines over which each leaf's uplinks divide evenly.")
    core: int = Field(description="Least core switches; 0 where two levels suffice.")
    balanced_core: int = Field(description="Core switches over which each spine's uplinks divide evenly.")
    pods: int = Field(description="Groups of leaves and spines under the core.")
    leaves_per_pod: int = Field(description="Leaves of the largest of them.")
    links_per_pair: int = Field(description="Links between a leaf and each of its spines.")
    spine_up: int = Field(description="Uplinks of a spine; 0 where two levels suffice.")
    minimum_switches: int = Field(description="leaf + spine + core.")
    switches: int = Field(description="leaf + balanced_spine + balanced_core: what is planned.")
    cables: int = Field(description="Cables of nodes and between switches at the bound.")
    balanced_cables: int = Field(description="Cables as planned.")
    node_tbps: float = Field(description="Line rate of one node in one direction. [Tb/s]")
    oversubscription: float = Field(description="Ports towards nodes per uplink on the fullest leaf.")
    declared_switches: int | None = Field(description="Switches a list names; null where none was given.")
    warnings: list[CheckWarning] = Field(description="What to ask and what to beware of.")


class BillLine(Document):
    """One line of a bill of materials."""

    item: str = Field(description="Identifier of the part.", examples=["qm8790"])
    name: str = Field(description="Name of the part.", examples=["QM8790 HDR switch"])
    group: Group = Field(description="Group the line is listed in.")
    use: str = Field(description="What it is for.", examples=["leaf"])
    quantity: int = Field(description="How many.")
    rule: Text = Field(description="How the quantity follows.")
    unit_price: Quantity | None = Field(description="Price of one; null where nobody publishes it.")
    total: Quantity | None = Field(
        description="Quantity × unit price, its value rounded to the currency's unit."
    )
    power: Quantity | None = Field(description="Power of all under load; null where it draws none.")
    power_max: Quantity | None = Field(description="Greatest power of all.")
    rack_units: float = Field(description="Height of all in the racks. [U]")
    weight: Quantity | None = Field(description="Weight of all; null where it is not known.")
    source: SourceRef | None = Field(description="Where the price comes from; null without one.")
    as_of: str = Field(description="Date of the price; empty without one.")
    status: Literal["published", "estimate", "unknown"] = Field(description="How far the price is known.")
    note: str = Field(description="How the price was read or estimated; may be empty.")


class GroupTotal(Document):
    """What the lines of a group come to."""

    group: Group = Field(description="The group.")
    price: Quantity = Field(description="Sum of the prices that are known.")
    complete: bool = Field(description="False where a line has no price: the sum is a lower bound.")
    power: Quantity = Field(description="Power under load.")


class BillTotals(Document):
    """What a bill comes to."""

    price: Quantity = Field(
        description="Sum of the lines; its range adds the ends of theirs, dear together or cheap together."
    )
    complete: bool = Field(description="False where a line has no price: the sum is a lower bound.")
    power: Quantity = Field(description="Power under a training load.")
    power_max: Quantity = Field(description="Greatest power; the typical where only that is published.")
    rack_units: float = Field(description="Height in the racks. [U]")
    racks: int = Field(description="Racks.")
    weight: Quantity = Field(description="Weight with racks, of what has a known weight.")


class Placement(Document):
    """One thing in a rack."""

    item: str = Field(description="Identifier of the part.")
    name: str = Field(description="Name of the part.")
    use: str = Field(description="What it is for.")
    bottom: int = Field(description="Lowest unit it takes, 1 at the floor. [U]")
    height: int = Field(description="Height. [U]")


class Rack(Document):
    """Racks that are filled alike."""

    count: int = Field(description="How many are filled like this.")
    height: int = Field(description="Height of the rack. [U]")
    used: int = Field(description="Height in use. [U]")
    power: float = Field(description="Power under load. [W]")
    power_max: float = Field(description="Greatest power. [W]")
    power_limit: float = Field(description="Power one rack may draw. [W]")
    weight: float = Field(description="Weight of what it carries. [kg]")
    placements: list[Placement] = Field(description="What stands in it, from the floor up.")


class Tax(Document):
    """A tax or duty that no price of a bill holds."""

    name: Literal["vat", "duty"] = Field(description="Value-added or sales tax, or customs duty.")
    rate: float = Field(description="Rate.")
    amount: Quantity = Field(description="What it comes to on the total.")
    source: SourceRef = Field(description="Where the rate comes from.")
    as_of: str = Field(description="Date of the rate.")
    note: str = Field(description="What it is charged on.")


class Bill(Document):
    """A bill of materials: what a system consists of, line by line, and how it stands in racks."""

    id: str = Field(description="Identifier.")
    label: str = Field(description="Name.")
    request: BillRequest = Field(description="What was asked.")
    estimate_id: str | None = Field(description="Estimate whose system it is; null where none was named.")
    catalog_version: str = Field(description="Catalogue the figures come from.")
    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    count: int = Field(description="How many of it.")
    machines: int = Field(description="Machines in all, without spares.")
    accelerators: int = Field(description="Accelerators in all, without spares.")
    scalable_units: int | None = Field(
        description="Units of twenty nodes that the machines make; null where none are defined."
    )
    fabric: str = Field(description="Identifier of the compute network.")
    currency: str = Field(description="Currency of every price.")
    package: Quantity | None = Field(
        description="Machines, hosts and switches of pods alone, as systems are quoted; null without a price."
    )
    equipment: Quantity | None = Field(
        None,
        description="Machines, hosts and compute network: the capex of an estimate of the same system. "
        "Racks, storage, the management network, spares and installation make up the rest of the total; null "
        "without a price.",
    )
    taxes: list[Tax] = Field([], description="Taxes and duties where it is bought; no price holds them.")
    tax_note: Text | None = Field(None, description="What the prices exclude, in a sentence.")
    lines: list[BillLine] = Field(description="The lines, by group.")
    groups: list[GroupTotal] = Field(description="Sums by group.")
    totals: BillTotals = Field(description="Sums of all lines.")
    network: FabricPlan | None = Field(description="Compute network; null where no switches join machines.")
    racks: list[Rack] = Field(description="Racks, alike ones together.")
    warnings: list[CheckWarning] = Field(description="What to ask and what to beware of.")


Measure = Literal["package", "total", "power", "power_max", "rack_units"]


class Ratio(Document):
    """One figure of two bills."""

    measure: Measure = Field(description="What is compared.")
    first: Quantity = Field(description="Of the first bill.")
    second: Quantity = Field(description="Of the second bill.")
    ratio: Quantity = Field(description="First over second; its range holds every combination of the ends.")
    parity: bool = Field(description="True where they are equal within the catalogue's margin.")


class GroupPair(Document):
    """What a group comes to in two bills."""

    group: Group = Field(description="The group.")
    first: Quantity | None = Field(description="Of the first bill; null where it has none of it.")
    second: Quantity | None = Field(description="Of the second bill; null where it has none of it.")


class BillComparison(Document):
    """Two bills side by side."""

    first: str = Field(description="Identifier of the first bill.")
    second: str = Field(description="Identifier of the second bill.")
    labels: list[str] = Field(description="Names of both.")
    margin: float = Field(description="Difference up to which figures count as equal.")
    ratios: list[Ratio] = Field(description="The figures both have.")
    groups: list[GroupPair] = Field(description="Sums of groups of both.")
    warnings: list[CheckWarning] = Field(description="What to beware of.")


class BillSummary(Document):
    """One line of the list of bills."""

    id: str = Field(description="Identifier of the bill.")
    label: str = Field(description="Its name.")
    created_at: datetime = Field(description="When it was made.")
