"""What is asked: one workload on several networks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.sizing.calibration_documents import Rate
from app.sizing.request import EstimateRequest, Number, Schema, Whole

MOST_OPTIONS = 16
MOST_RUNS = 100
WIDEST = 16.0
"""Oversubscription beyond which nobody builds a network for training."""

Label = Annotated[str, Field(min_length=1, max_length=100)]
Oversubscription = Annotated[Number, Field(ge=1, le=WIDEST)]


class NetworkInput(Schema):
    """One network to weigh."""

    fabric: str = Field(max_length=64, description="Identifier of a fabric.", examples=["roce-200"])
    ports_per_node: Whole | None = Field(
        None, description="Ports of one machine; left out, what the system comes with.", examples=[8]
    )
    oversubscription: Oversubscription | None = Field(
        None, description="Ports towards machines per uplink of a leaf; left out, that of the request."
    )
    label: Label | None = Field(None, description="What to call it; no two are alike.", examples=["roce"])


class FabricChoiceRequest(Schema):
    """One workload on several networks: which of them is worth its price?"""

    estimate: EstimateRequest = Field(
        description="The workload and the machines; its own network is one of those weighed."
    )
    options: Annotated[list[NetworkInput], Field(min_length=2, max_length=MOST_OPTIONS)] | None = Field(
        None, description="2 to 16 networks; left out, those that suit the machine, from TCP to InfiniBand."
    )
    reference: Label | None = Field(
        None,
        description="Label or identifier of the network that gains are stated over. Where it is given, it is "
        "recommended unless another gains the threshold; left out, the cheapest that is enough is.",
        examples=["roce"],
    )
    threshold: Number = Field(
        0.05, ge=0, le=10, description="Gain below which a dearer network is not worth it."
    )
    oversubscription: Oversubscription = Field(
        1.0, description="Ports towards machines per uplink of a leaf, for every option that states none."
    )
    installed: list[Label] = Field(
        default_factory=list,
        max_length=MOST_OPTIONS,
        description="Labels or identifiers of networks that are already there and cost nothing more.",
    )
    measured: dict[Label, Annotated[list[Rate], Field(min_length=1, max_length=MOST_RUNS)]] = Field(
        default_factory=dict,
        max_length=MOST_OPTIONS,
        description="Measured throughputs by label or identifier of an option; they take the place of the "
        "model's. [samples/s]",
    )
    price_book_id: str | None = Field(
        None, max_length=64, description="Identifier of a workspace's own prices."
    )
