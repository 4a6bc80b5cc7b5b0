"""What is asked of a network and of a bill of materials."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.errors import BadInput, Unprocessable
from app.sizing.request import Number, Schema, Whole

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
        raise Unprocessable.at("system", "give system or estimate_id")
    if request.system is not None and request.estimate_id is not None:
        raise BadInput.at("estimate_id", "give system or estimate_id, not both")
