"""What a plan search is asked and what it answers."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema

from app.estimating.documents import CheckWarning, Default, ModelSummary, Part, PlanSummary, SystemSummary
from app.estimating.request import (
    AssumptionsInput,
    ModelInput,
    Number,
    PlanInput,
    Schema,
    SystemInput,
    Whole,
    WorkloadInput,
)
from app.estimating.schema import Document, Quantity

MOST_KEPT = 100

MOST_VALUES = 64


def _several(value: object) -> object:
    """Take a single value for a list of one."""
    return value if isinstance(value, list) or value is None else [value]


def _one_or_several(kind: str, names: tuple[str, ...] = ()) -> WithJsonSchema:
    one: dict[str, object] = {"type": kind} | ({"enum": list(names)} if names else {})
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": MOST_VALUES}
    return WithJsonSchema({"anyOf": [one, several]})


_LENGTH = Field(min_length=1, max_length=MOST_VALUES)

RecomputeName = Literal["none", "selective", "full"]

ShardingName = Literal["none", "optimizer", "gradients", "parameters"]

Wholes: TypeAlias = Annotated[list[Whole], BeforeValidator(_several), _LENGTH, _one_or_several("integer")]

Recomputes: TypeAlias = Annotated[
    list[RecomputeName],
    BeforeValidator(_several),
    _LENGTH,
    _one_or_several("string", get_args(RecomputeName)),
]

Shardings: TypeAlias = Annotated[
    list[ShardingName], BeforeValidator(_several), _LENGTH, _one_or_several("string", get_args(ShardingName))
]


class SearchConstraints(Schema):
    """What a plan may be: one value or several for each field; what is left out is free."""

    tensor: Wholes | None = None
    """Devices that share each layer."""
    pipeline: Wholes | None = None
    """Pipeline stages."""
    data: Wholes | None = None
    """Copies of the model."""
    micro_batch: Wholes | None = None
    """Samples of one micro-batch."""
    accumulation: Wholes | None = None
    """Micro-batches per step and copy."""
    interleave: Wholes | None = None
    """Model chunks per pipeline stage."""
    recompute: Recomputes | None = None
    """Which activations the backward pass computes again."""
    sequence_parallel: bool | None = None
    """Whether tensor ranks also split tokens between tensor-parallel blocks."""
    sharding: Shardings | None = None
    """What copies share instead of each holding it (ZeRO 1 to 3)."""
    sharding_ranks: Whole | None = None
    """Copies that share one set of what is sharded."""
    expert: Wholes | None = None
    """Copies over which the experts of a layer are spread."""
    offload: bool | None = None
    """Whether the optimizer state lives in host or streaming memory."""
    rts: Wholes | None = None
    """IPU: copies over which weights are sharded (replicated tensor sharding)."""
    rts_optimizer: Wholes | None = None
    """IPU: copies over which optimizer state is sharded."""
    phases: Wholes | None = None
    """IPU: phases of one stage; 1 keeps it in the processor."""
    memory_margin: Number | None = None
    """Share of device memory left free; left out, that of the hardware."""


class SearchRequest(Schema):
    """The best plans of a model on a system."""

    model: ModelInput
    """What is trained."""
    workload: WorkloadInput = WorkloadInput()
    """In which batches; how much of it matters only where the batch is left open."""
    system: SystemInput
    """On what."""
    software: str | None = None
    """Identifier of a software profile; left out, the usual one for the model on the chip."""
    constraints: SearchConstraints = SearchConstraints()
    """What a plan may be."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """Taken over into the estimates of the plans."""
    keep: Whole = Field(10, description="Most plans of the answer.", examples=[10])
    beside: PlanInput | None = Field(
        None,
        description="A plan to hold against the best: where it fits and the constraints allow it, the answer "
        "has it too, in its place. What it leaves out is taken as is fastest.",
    )
    probability: Number = Field(
        0.8,
        description="Share of the runs of a plan that stay below the time by which it is ranked; 0.5 ranks "
        "by central times.",
    )
    what_if: bool = True
    """Whether to search again with twice the memory, memory bandwidth and network."""
    currency: Literal["USD", "KRW"] = "USD"
    """Currency of the estimates of the plans."""


class Dimension(Document):
    """One field that spans the plans."""

    field: str
    """Name of the field of the plan."""
    values: list[float | str | bool]
    """Values that occur among the plans evaluated."""


class SearchedPlan(Document):
    """One of the best plans."""

    plan: PlanSummary
    """Every choice of it."""
    step_time: Quantity
    """Time of one step."""
    ranked_time: float
    """Time by which it is ranked: the quantile asked for of what is not known of its kind. [s]"""
    behind: float
    """By how much that is above the first plan's; 0 for the first."""
    throughput: Quantity
    """Samples a second."""
    mfu: Quantity
    """Model FLOP over the peak of the devices."""
    memory: Quantity
    """Filled on the fullest device."""
    memory_share: float
    """The same over the memory of the device."""
    parts: list[Part]
    """Parts of one step."""
    more: list[Part]
    """Seconds of a step above the first plan's by part, largest first; negative where it is faster."""
    unmeasured: list[str]
    """What no measured run covers of such a plan."""


class PlanPoint(Document):
    """One plan that no other beats in both time and memory."""

    plan: PlanSummary
    """Every choice of it."""
    step_time: float
    """Central time of one step. [s]"""
    memory: float
    """Filled on the fullest device. [B]"""


class MapCell(Document):
    """The best plan of one tensor and pipeline degree."""

    tensor: int
    """Devices that share each layer."""
    pipeline: int
    """Pipeline stages."""
    plans: int
    """Plans evaluated."""
    feasible: int
    """Plans that fit."""
    step_time: float | None
    """Central step time of the best that fits; null where none does. [s]"""
    memory_share: float
    """Memory of that plan, or of the smallest where none fits, over the memory of the device."""
    plan: PlanSummary
    """That plan."""


class WhatIf(Document):
    """What would be best on other hardware."""

    change: str
    """What is changed: memory_capacity, memory_bandwidth or network_bandwidth."""
    factor: float
    """By how much."""
    plan: PlanSummary
    """The plan that would be best."""
    step_time: float
    """Its central step time. [s]"""
    gain: float
    """Share of the best plan's ranked time that it saves."""


class Search(Document):
    """The best plans of a model on a system, and what they were taken from."""

    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    model: ModelSummary
    """The model as it was understood."""
    system: SystemSummary
    """The system as it was understood."""
    software: str
    """Software profile."""
    precision_used: str
    """Number format of the products."""
    global_batch: int
    """Samples per step."""
    defaults: list[Default]
    """What was taken where nothing was asked."""
    probability: float
    """Share of the runs of a plan that stay below the time by which it is ranked."""
    fits: bool
    """Whether any plan fits."""
    memory_limit: Quantity
    """Memory of one device that a plan may fill."""
    memory_capacity: Quantity
    """Memory of one device."""
    enumerated: int
    """Combinations of the values of all dimensions, legal or not."""
    evaluated: int
    """Distinct legal plans whose memory was computed and, where they fit, whose full step time was."""
    feasible: int
    """Plans that fit."""
    seconds: float
    """Time of the search. [s]"""
    dimensions: list[Dimension]
    """What spans the plans."""
    plans: list[SearchedPlan]
    """The best plans that differ in their degrees, recomputation, offload or phases, and the one to be held
    against them, best first."""
    pareto: list[PlanPoint]
    """Plans that no other beats in both time and memory, fastest first."""
    map: list[MapCell]
    """The best plan of every tensor and pipeline degree."""
    what_if: list[WhatIf]
    """What would be best with twice the memory or bandwidth."""
    warnings: list[CheckWarning]
    """What to beware of."""


class MappingRequest(Schema):
    """How a model is to be laid over the IPUs of a pod."""

    system: str = Field(description="Identifier of an IPU system.", examples=["ipu-pod256"])
    parameters: Number = Field(gt=0, le=1e15, description="Parameters of the model.")
    layers: Whole = Field(ge=1, le=100_000, description="Layers of the model.")
    tensor: Whole = Field(1, ge=1, le=1_000_000, description="IPUs that share each layer.")
    pipeline: Whole = Field(1, ge=1, le=1_000_000, description="Pipeline stages.")
    replicas: Whole = Field(1, ge=1, le=1_000_000, description="Copies of the model.")
    replica_batch: Whole = Field(1, ge=1, le=1_000_000_000, description="Samples per replica and step.")
    replicated_tensor_sharding: Whole = Field(
        1, ge=1, le=1_000_000, description="Replicas over which one copy of weights and state is spread."
    )


class Mapping(Document):
    """What a mapping comes to."""

    system: str = Field(description="Identifier of the system.")
    devices: int = Field(description="IPUs used: tensor × pipeline × replicas.")
    devices_available: int = Field(description="IPUs of the system.")
    devices_per_replica: int = Field(description="tensor × pipeline.")
    global_batch: int = Field(description="replica_batch × replicas.")
    weight_fraction: float = Field(description="Share of the weights one IPU works on, 1/(t·p).")
    resident_weight_fraction: float = Field(description="Share one IPU keeps, 1/(t·p·rts).")
    layers_per_stage: float = Field(description="Layers of one stage; the mean where they differ.")
    weights_per_device: float = Field(description="fp16 weights one IPU works on. [B]")
    memory_per_device: float = Field(
        description="In-processor memory as the vendor rounds it, against which weights alone are held. [B]"
    )
    memory_of_chip: float | None = Field(
        None, description="In-processor memory, tiles × memory of a tile; estimates and plans use it. [B]"
    )
    needs_phased_execution: bool = Field(description="True where these weights exceed that memory.")
    minimum_phases: int = Field(
        description="Lower bound for weights alone; sharding does not lower it, each phase gathers its share."
    )
    planned_phases: int | None = Field(
        description="Phases of training over the memory that is really free; null where none is."
    )
    warnings: list[CheckWarning] = Field(description="What to beware of.")


class ChecksRequest(Schema):
    """A plan to check by arithmetic alone, before anything is estimated."""

    devices: Whole = Field(ge=1, le=1_000_000, description="Accelerators.")
    global_batch: Whole = Field(ge=1, le=10**12, description="Samples per step over all devices.")
    tensor: Whole = Field(1, ge=1, le=10_000_000, description="Accelerators that share each layer.")
    pipeline: Whole = Field(1, ge=1, le=10_000_000, description="Pipeline stages.")
    micro_batch: Whole = Field(1, ge=1, le=10**9, description="Samples per micro-batch.")
    devices_per_node: Whole | None = Field(None, ge=1, le=10_000, description="Accelerators per node.")
    layers: Whole | None = Field(None, ge=1, le=100_000, description="Layers of the model.")
    heads: Whole | None = Field(None, ge=1, le=100_000, description="Attention heads of the model.")


class Checks(Document):
    """What the checks found."""

    warnings: list[CheckWarning] = Field(description="Empty where nothing was found.")
    suggested_devices: int | None = Field(
        description="Most devices, not above those given, over which the batch divides; null where none are."
    )
