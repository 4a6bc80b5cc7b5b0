"""What is answered: what each network gains and costs, and the advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from app.estimating.documents import CheckWarning, ModelSummary, PlanSummary, SystemSummary, Text
from app.estimating.request import EstimateRequest, Number, Schema, Whole
from app.estimating.schema import Document, Quantity, SourceRef
from app.features.calibration.model import MovedFigure, Rate

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


Kind = Literal["tensor", "pipeline", "data"]

Collective = Literal["all_reduce", "reduce_scatter", "all_gather", "send", "all_to_all"]

Algorithm = Literal["ring", "tree", "in_machine", "pairs"]

Term = Literal[
    "data_volume",
    "data_latency",
    "tensor_across_machines",
    "pipeline_across_machines",
    "overlap",
    "accumulation",
    "same_network",
    "one_machine",
    "measured",
]


EXPOSED: Mapping[Kind, str] = {"tensor": "tensor_comm", "pipeline": "pipeline_comm", "data": "data_comm"}
"""Kind of communication → part of a step."""


class Exposed(Document):
    """Communication of one step that computation does not hide, inside machines included."""

    tensor: float
    """Of tensor ranks and experts. [s]"""
    pipeline: float
    """Between pipeline stages. [s]"""
    data: float
    """Of gradients, of weights that are sharded, and of looked-up rows. [s]"""
    share: float
    """All three over the step."""


class NetworkMessage(Document):
    """One kind of message of a step."""

    kind: Kind
    """What it is for."""
    collective: Collective
    """What is done with it."""
    bytes: float
    """Size of one message on one device. [B]"""
    count: float
    """Messages of one step on one device."""
    ranks: int
    """Devices that take part."""
    algorithm: Algorithm
    """How it travels; “in_machine” leaves the network alone."""
    seconds: float
    """Time of one message with nothing hidden. [s]"""
    hidden: float
    """Share of its time that computation hides."""


class NetworkLine(Document):
    """So many of one part of a network."""

    item: str
    """Identifier in the catalogue."""
    name: str
    """Its name."""
    use: str
    """What it is for."""
    count: int
    """How many."""
    rule: Text
    """How the count follows."""
    unit_price: Quantity | None
    """Price of one; null where nobody publishes it."""
    source: SourceRef | None
    """Where the price comes from."""


class NetworkPrice(Document):
    """What a network costs to buy."""

    price: Quantity
    """Sum of the prices that are known; zero for one that is already there."""
    complete: bool
    """False where a part has no price, so that the sum is a lower bound."""
    power: Quantity
    """Typical power of everything that draws any."""
    switches: int
    """Switches of all levels."""
    cables: int
    """Cables of all kinds."""
    lines: list[NetworkLine]
    """The parts."""


class MeasuredThroughput(Document):
    """Measured runs on one network beside what was predicted of them."""

    runs: list[float]
    """Measured throughputs. [samples/s]"""
    mean: float
    """Their mean. [samples/s]"""
    deviation: float | None
    """Their standard deviation; null for a single run. [samples/s]"""
    predicted: Quantity
    """Throughput that was predicted without them."""
    gap: float
    """Logarithm of predicted over measured throughput; above 0 the prediction was too fast."""
    fitted: Quantity | None
    """Throughput predicted with the efficiencies fitted to all runs; null where nothing was fitted."""


class FabricValidation(Document):
    """How far the answer for a network rests on runs over such a network."""

    status: Literal["measured", "validated", "extrapolated", "unvalidated"]
    """“measured”: by runs that came with the request. “unvalidated”: no run of this family of models over
    this fabric between machines of this chip is known."""
    runs: int
    """Known runs of the family over this fabric between machines of this series of chips."""
    families: list[str]
    """Families with known runs over this fabric, whatever the chip."""


class FabricOption(Document):
    """One network."""

    id: str
    """Identifier within the answer: fabric, ports, oversubscription."""
    label: str
    """What it is called."""
    fabric: str
    """Identifier of the fabric."""
    name: str
    """Name of the fabric."""
    ports_per_node: int
    """Ports of one machine."""
    oversubscription: float
    """Ports towards machines per uplink."""
    installed: bool
    """True where it is already there."""
    node_bandwidth: Quantity
    """What collectives reach out of one machine, one direction."""
    plan: PlanSummary
    """How the model is laid out on this network."""
    plan_basis: Literal["given", "own", "reference"]
    """Whether the plan was asked for, is the best on this network, or is that of the reference and the best
    here as well."""
    step_time: Quantity
    """Time of one step, measured where runs came with the request."""
    step_time_reference_plan: Quantity
    """Time of one step with the plan of the reference, predicted."""
    throughput: Quantity
    """Samples per second, measured where runs came with the request."""
    time_to_train: Quantity
    """Time of the run."""
    exposed: Exposed
    """Predicted communication that is not hidden."""
    messages: list[NetworkMessage]
    """What travels in one step, as the model has it."""
    network: NetworkPrice | None
    """What it costs to buy; null where nobody sells it by the switch."""
    saved: Quantity | None
    """Price of the dearest network over its own."""
    run_cost: Quantity | None
    """Cost of the run with this network; null where no price is known."""
    measured: MeasuredThroughput | None
    """Runs that came with the request."""
    validation: FabricValidation
    """What the answer rests on."""


class TermShare(Document):
    """What one term adds to the difference of two networks."""

    term: Term
    """The term."""
    seconds: float
    """Time of a step that it saves on the faster network. [s]"""


class FabricGain(Document):
    """One network over the reference."""

    option: str
    """Identifier of the network."""
    reference: str
    """Identifier of the reference."""
    gain: Quantity
    """Throughput over that of the reference, less one."""
    probability_real: float
    """Probability that it gains anything."""
    probability_above_threshold: float
    """Probability that it gains the threshold."""
    basis: Literal["measured", "modelled"]
    """Whether both were measured."""
    same_plan: Quantity | None
    """The same with the plan of the reference on both, predicted; null where that is the plan anyway."""
    terms: list[TermShare]
    """What the predicted difference consists of, with the plan of the reference on both."""


class DecidedBy(Document):
    """Why the dearer network gains as much as it does, and not more."""

    term: Term
    """What decides."""
    explanation: Text
    """The same in a sentence."""
    gain_without_overlap: float | None
    """What it would gain if nothing were hidden."""
    gain_without_accumulation: float | None
    """What it would gain with one micro-batch a step."""


class Advice(Document):
    """What to do."""

    recommendation: str | None
    """Identifier of the network to take; null where none is needed."""
    against: str | None
    """Identifier of the network it is held against; null where there is none to weigh."""
    not_worth_it: bool
    """True where a dearer network was weighed and is not worth its price."""
    sentence: Text
    """The advice in one sentence."""
    more: list[Text]
    """What else has to be said."""
    gain: Quantity | None
    """Gain of the dearer over the cheaper of the two."""
    probability_real: float | None
    """Probability that this gain is above zero."""
    probability_above_threshold: float | None
    """Probability that it is above the threshold."""
    money_saved: Quantity | None
    """Price of the network not taken over that taken; below zero where that taken is the dearer."""
    run_cost_difference: Quantity | None
    """Cost of the run on the network taken over that on the other: what the cheaper network costs in time."""
    not_bought: list[NetworkLine]
    """Parts of the network not taken."""
    instead: list[NetworkLine]
    """Parts of the network taken."""
    decided_by: DecidedBy
    """What decides."""


class Rung(Document):
    """One network of the ladder from one port of 100 Gb/s to all ports of 200."""

    label: str
    """Ports × rate."""
    fabric: str
    """Identifier of the fabric."""
    ports_per_node: int
    """Ports of one machine."""
    node_bandwidth: float
    """Out of one machine, one direction. [B/s]"""
    step_time: float
    """Time of one step. [s]"""
    exposed: Exposed
    """Communication that is not hidden."""
    left_to_gain: float
    """What the fastest network of the ladder gains over this one."""
    enough: bool
    """True where that is below the threshold."""


class AccumulationPoint(Document):
    """The same micro-batch, so many times a step."""

    accumulation: int
    """Micro-batches per step and copy."""
    global_batch: int
    """Samples per step."""
    exposed_share: float
    """Exposed communication over the step on the slowest network of the ladder."""
    ladder_gain: float
    """What the fastest network of the ladder gains over the slowest."""
    pair_gain: float | None
    """What the network not taken gains over that taken; null where none was weighed."""
    enough: bool
    """True where the slowest network is enough at the threshold."""


class Turning(Document):
    """Where the advice turns: along the bandwidth of a machine, and along accumulation."""

    rungs: list[Rung]
    """From the slowest network to the fastest."""
    turns_at: str | None
    """Label of the first rung that is enough."""
    accumulation: list[AccumulationPoint]
    """From one micro-batch a step upwards."""
    slowest_enough_from: int | None
    """Accumulation from which the slowest network is enough; null where none of those shown is."""


class FittedEfficiencies(Document):
    """What the measured runs say of the software."""

    software: str
    """Profile that was fitted."""
    gap_before: float
    """Mean of |ln(predicted / measured)| before."""
    gap_after: float
    """The same after."""
    moved: list[MovedFigure]
    """Efficiencies that the runs tell something about, the furthest moved first."""


class FabricChoice(Document):
    """Networks side by side, and which is worth its price."""

    engine_version: str
    """Version of the formulas."""
    catalog_version: str
    """Version of the figures."""
    label: str
    """What was weighed."""
    request: FabricChoiceRequest
    """What was asked."""
    model: ModelSummary
    """The model as it was understood."""
    system: SystemSummary
    """The system as it was understood."""
    software: str
    """Identifier of the software profile."""
    currency: str
    """Currency of every price."""
    fits: bool
    """Whether the model fits the machines; memory does not depend on the network."""
    threshold: float
    """Gain below which a dearer network is not worth it."""
    reference: str | None
    """Identifier of the network that gains are stated over; null where nothing fits."""
    shared_network_variance: float
    """Share of what networks may miss their figures by that all of them have in common."""
    options: list[FabricOption]
    """The networks, the cheapest first."""
    gains: list[FabricGain]
    """Each other network over the reference."""
    advice: Advice | None
    """What to do; null where nothing fits."""
    turning: Turning | None
    """Where it turns; null on one machine or where nothing fits."""
    fitted: FittedEfficiencies | None
    """What the measured runs say of the software; null without runs."""
    warnings: list[CheckWarning]
    """What has to be known to read it."""
