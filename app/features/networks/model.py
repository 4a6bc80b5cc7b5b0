"""What is answered: what each network gains and costs, and the advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from app.estimating.decision import Decision
from app.estimating.documents import CheckWarning, ModelSummary, PlanSummary, SystemSummary, Text
from app.estimating.names import Name
from app.estimating.naming import FabricName
from app.estimating.request import EstimateRequest, Limits, Number, Schema, Whole
from app.estimating.schema import Document, Quantity, SourceRef
from app.features.calibration.model import MovedFigure, Rate

MOST_OPTIONS = 16

MOST_RUNS = 100

WIDEST = 16.0
"""Oversubscription beyond which nobody builds a network for training."""

Label = Annotated[Name, Field(min_length=1, max_length=100)]

Oversubscription = Annotated[Number, Field(ge=1, le=WIDEST)]


class NetworkInput(Schema):
    """One network to compare."""

    fabric: FabricName = Field(max_length=64, description="Identifier of a fabric.", examples=["roce-200"])
    ports_per_node: Whole | None = Field(
        None, description="Ports per machine; if omitted, the system's default.", examples=[8]
    )
    oversubscription: Oversubscription | None = Field(
        None,
        description="Oversubscription of a leaf switch, as ports to machines per uplink; "
        "if omitted, that of the request.",
    )
    label: Label | None = Field(None, description="Label of the network; must be unique.", examples=["roce"])


class NetworkTerms(Schema):
    """Which networks are compared, and on what terms."""

    options: Annotated[list[NetworkInput], Field(min_length=2, max_length=MOST_OPTIONS)] | None = Field(
        None, description="2 to 16 networks; if omitted, those that suit the machine, from TCP to InfiniBand."
    )
    reference: Label | None = Field(
        None,
        description="Label or identifier of the network relative to which gains are stated; if omitted, the "
        "recommended network.",
        examples=["roce"],
    )
    threshold: Number = Field(
        0.05,
        ge=0,
        le=10,
        description="Gain below which a faster network is not worth its price: a network over which another "
        "gains as much is too slow; of the others the decision is by outlay.",
    )
    limits: Limits = Field(default=Limits(), description="What the recommended network has to meet.")
    oversubscription: Oversubscription = Field(
        1.0,
        description="Oversubscription of a leaf switch, as ports to machines per uplink, "
        "for options that state none.",
    )
    installed: list[Label] = Field(
        default_factory=list,
        max_length=MOST_OPTIONS,
        description="Labels or identifiers of networks that are already installed and cost nothing more.",
    )
    measured: dict[Label, Annotated[list[Rate], Field(min_length=1, max_length=MOST_RUNS)]] = Field(
        default_factory=dict,
        max_length=MOST_OPTIONS,
        description="Measured throughputs by label or identifier of an option; they replace "
        "the predicted ones. [samples/s]",
    )
    price_book_id: str | None = Field(
        None, max_length=64, description="Identifier of a price book of the workspace."
    )


class FabricChoiceRequest(NetworkTerms):
    """One workload on several networks, to find which network is worth its price."""

    estimate: EstimateRequest = Field(
        description="Workload and machines; the network of the estimate is one of those compared."
    )


Kind = Literal["tensor", "pipeline", "data"]

Collective = Literal["all_reduce", "reduce_scatter", "all_gather", "send", "all_to_all"]

Algorithm = Literal["ring", "tree", "in_network", "in_machine", "pairs"]

Term = Literal[
    "data_volume",
    "data_latency",
    "tensor_across_machines",
    "pipeline_across_machines",
    "overlap",
    "accumulation",
    "same_network",
    "one_machine",
    "limits",
    "measured",
]


EXPOSED: Mapping[Kind, str] = {"tensor": "tensor_comm", "pipeline": "pipeline_comm", "data": "data_comm"}
"""Kind of communication → part of a step."""


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

    kind: Kind
    """Purpose."""
    collective: Collective
    """Collective operation."""
    bytes: float
    """Size of one message on one device. [B]"""
    count: float
    """Number of messages per step on one device."""
    ranks: int
    """Number of participating devices."""
    algorithm: Algorithm
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

    status: Literal["measured", "validated", "extrapolated", "unvalidated"]
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
    plan_basis: Literal["given", "own", "reference"]
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

    term: Term
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
    basis: Literal["measured", "modelled"]
    """Whether both throughputs were measured."""
    same_plan: Quantity | None
    """Predicted gain with the reference's plan on both networks; null if that is the plan anyway."""
    terms: list[TermShare]
    """Components of the predicted difference, with the reference's plan on both networks."""


class DecidingFactor(Document):
    """Why the gain of the dearer network is as large as it is, and not larger."""

    term: Term
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
    """Cost of the run on the recommended network minus that on the other: what the cheaper network
    costs in time.
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
