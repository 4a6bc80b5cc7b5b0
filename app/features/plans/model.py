"""What a plan search is asked and what it answers."""

from __future__ import annotations

from collections.abc import Collection
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import BeforeValidator, Field, TypeAdapter, WithJsonSchema, create_model

from app.estimating.documents import CheckWarning, Default, ModelSummary, Part, PlanSummary, SystemSummary
from app.estimating.naming import SystemName
from app.estimating.request import (
    NamedSystem,
    Number,
    PlanInput,
    Schema,
    SystemInput,
    TrainingRequest,
    Whole,
)
from app.estimating.schema import Document, Quantity

MOST_KEPT = 100

MOST_VALUES = 64


def _several(value: object) -> object:
    """Take a single value for a list of one."""
    return value if isinstance(value, list) or value is None else [value]


def _one_or_several(kind: Any) -> WithJsonSchema:
    single = TypeAdapter(kind).json_schema()
    several = {"type": "array", "items": single, "minItems": 1, "maxItems": MOST_VALUES}
    return WithJsonSchema({"anyOf": [single, several]})


def of_several(model: type[Schema], alone: Collection[str]) -> dict[str, Any]:
    """Return the fields of a model so that each takes one value or several, switches and some others one."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        one: Any = next(part for part in get_args(field.annotation) if part is not NoneType)
        taken = one
        if name not in alone and one is not bool:
            length = Field(min_length=1, max_length=MOST_VALUES)
            taken = Annotated[list[one], BeforeValidator(_several), length, _one_or_several(one)]
        fields[name] = (taken | None, None)
    return fields


if TYPE_CHECKING:
    PlanValues = PlanInput
else:
    ALONE = ("recompute_layers", "sharding_ranks")
    PlanValues = create_model("PlanValues", __base__=PlanInput, **of_several(PlanInput, ALONE))


class SearchConstraints(PlanValues):
    """Constraints on a plan: one value or several per field. Omitted fields are unconstrained."""

    memory_margin: Number | None = None
    """Share of device memory to leave free; if omitted, the default of the hardware."""


class PlanQuestion(SearchConstraints):
    """What the view of plans is asked of an option: which plans, and one to compare with the first."""

    against: Whole | None = None
    """Place of the plan that the first is compared with."""


class SearchRequest(TrainingRequest):
    """A search for the best plans; how much is trained matters only if no batch is given."""

    system: SystemInput
    """System that the model is trained on."""
    constraints: SearchConstraints = SearchConstraints()
    """Constraints on the plan."""
    keep: Whole = Field(10, description="Maximum number of plans to return.", examples=[10])
    beside: PlanInput | None = None
    """A plan to compare with the best. If it fits and the constraints allow it, the answer includes it at its
    rank. Omitted fields take the fastest values.
    """
    probability: Number = 0.8
    """Share of a plan's runs that stay below the time by which it is ranked; 0.5 ranks by central times."""
    what_if: bool = True
    """Whether to repeat the search with twice the memory, memory bandwidth and network bandwidth."""


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
    """Difference from the first plan by component, in seconds per step, largest first; negative if
    this plan is faster.
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
    """Number of distinct legal plans whose memory was computed and, if they fit, whose full step time
    was computed.
    """
    feasible: int
    """Number of plans that fit."""
    seconds: float
    """Duration of the search. [s]"""
    dimensions: list[Dimension]
    """Dimensions of the search space."""
    plans: list[SearchedPlan]
    """Best plans that differ in their degrees, recompute, offload or phases, and the plan to compare
    with them, best first.
    """
    pareto: list[PlanPoint]
    """Pareto-optimal plans for time and memory, fastest first."""
    map: list[MapCell]
    """Best plan for each tensor and pipeline degree."""
    what_if: list[WhatIf]
    """Best plans with twice the memory or bandwidth."""
    warnings: list[CheckWarning]
    """Warnings."""


class MappingRequest(NamedSystem):
    """Mapping of a model to the IPUs of a pod."""

    system: SystemName = Field(description="Identifier of an IPU system.", examples=["ipu-pod256"])
    count: Whole = Field(1, ge=1, le=100_000, description="Number of systems.")
    parameters: Number = Field(gt=0, le=1e15, description="Parameter count of the model.")
    layers: Whole = Field(ge=1, le=100_000, description="Number of layers.")
    tensor: Whole = Field(1, ge=1, le=1_000_000)
    """Tensor-parallel degree: IPUs that share each layer."""
    pipeline: Whole = Field(1, ge=1, le=1_000_000, description="Number of pipeline stages.")
    replicas: Whole = Field(1, ge=1, le=1_000_000, description="Data-parallel degree: replicas of the model.")
    replica_batch: Whole = Field(1, ge=1, le=1_000_000_000, description="Samples per replica per step.")
    replicated_tensor_sharding: Whole = Field(1, ge=1, le=1_000_000)
    """Number of replicas over which one copy of weights and state is sharded."""


class ModelMapping(Document):
    """Result of an IPU mapping."""

    system: str = Field(description="Identifier of the system.")
    devices: int = Field(description="Number of IPUs used: tensor × pipeline × replicas.")
    devices_available: int = Field(description="Number of IPUs in the systems.")
    devices_per_replica: int = Field(description="Number of IPUs per replica: tensor × pipeline.")
    global_batch: int = Field(description="Samples per step: replica_batch × replicas.")
    weight_fraction: float = Field(description="Share of the weights processed by one IPU, 1/(t·p).")
    resident_weight_fraction: float
    """Share of the weights stored on one IPU, 1/(t·p·rts)."""
    layers_per_stage: float = Field(description="Layers per stage; the mean if stages differ.")
    weights_per_device: float = Field(description="Size of the fp16 weights processed by one IPU. [B]")
    memory_per_device: float
    """In-processor memory as rounded by the vendor, with which the weights alone are compared. [B]"""
    memory_of_chip: float | None = None
    """In-processor memory, computed as tiles × memory of a tile; used by estimates and plans. [B]"""
    needs_phased_execution: bool = Field(description="True if these weights exceed that memory.")
    minimum_phases: int
    """Lower bound for weights alone. Sharding does not lower it, because each phase gathers its share."""
    planned_phases: int | None
    """Number of training phases given the memory that is actually free; null if none is free."""
    warnings: list[CheckWarning] = Field(description="Warnings.")


class ChecksRequest(Schema):
    """A plan to check by arithmetic alone, before an estimate."""

    devices: Whole = Field(ge=1, le=1_000_000, description="Number of accelerators.")
    global_batch: Whole = Field(ge=1, le=10**12, description="Samples per step over all devices.")
    tensor: Whole = Field(1, ge=1, le=10_000_000)
    """Tensor-parallel degree: accelerators that share each layer."""
    pipeline: Whole = Field(1, ge=1, le=10_000_000, description="Number of pipeline stages.")
    micro_batch: Whole = Field(1, ge=1, le=10**9, description="Samples per micro-batch.")
    devices_per_node: Whole | None = Field(None, ge=1, le=10_000)
    """Number of accelerators per node."""
    layers: Whole | None = Field(None, ge=1, le=100_000, description="Number of layers.")
    heads: Whole | None = Field(None, ge=1, le=100_000, description="Number of attention heads.")


class Checks(Document):
    """Results of the checks."""

    warnings: list[CheckWarning] = Field(description="Warnings; empty if there are none.")
    suggested_devices: int | None
    """Largest device count, up to the given one, that divides the batch evenly; null if there is none."""
