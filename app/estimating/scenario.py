"""Scenarios, the fields of a requested plan as numbers and names, and its faults."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.catalog.software import PLAN_KINDS, SoftwareProfile
from app.engine.gpu.case import GpuCase
from app.engine.gpu.plan_steps import (
    gpu_forward_share,
    memory_use,
    operator_times_of,
    perfect_gpu_step,
    step_times,
)
from app.engine.ipu.layout import stage_list
from app.engine.ipu.plan_steps import (
    Pipeline,
    ipu_forward_share,
    ipu_memory,
    ipu_operator_times,
    ipu_step,
    pipeline_stages,
)
from app.engine.operators.table import OperatorTable
from app.engine.pipeline import fullest_stage, peak_bound_step_time
from app.engine.plans import MODULES, MemoryUse, Offload, OperatorTimes, Plans, Recompute, Sharding, StepTime
from app.engine.records import (
    FloatLike,
    Floats,
    GpuChip,
    GpuSoftware,
    GpuSystem,
    IpuChip,
    IpuSoftware,
    Precision,
)
from app.engine.search.enumeration import plans_of, spread_of
from app.engine.search.space import Space, divisors, layouts
from app.errors import AppError, BadInput, Conflict, Message
from app.estimating.effects import Effect
from app.estimating.effects import time_factor as effects_factor
from app.estimating.expectation import TeamTerm
from app.estimating.request import PlanInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Model, workload, hardware and software of one estimate."""

    table: OperatorTable
    """Operators of one sample."""
    hardware: GpuSystem | IpuChip
    software: SoftwareProfile
    precision: Precision
    optimizer: str
    overrides: Mapping[str, FloatLike]
    """Software figures the caller sets instead of the profile's."""
    stage_layers: tuple[float, ...] = ()
    """Layers of each stage where a configuration states them; IPUs only."""
    expert_imbalance: float = 1.0
    """Tokens of the busiest rank over the mean, where experts are spread over ranks."""
    effects: tuple[Effect, ...] = ()
    """Factors between measured and computed times of the chip, the software and the family."""
    team: TeamTerm | None = None
    """What runs of ordinary teams take over a tuned run, where nothing of the asker's is known."""
    sampled: GpuSystem | None = None
    """The same GPU system with samples of its uncertain fabric figures, if these are considered."""

    _central: dict[str, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    @property
    def is_ipu(self) -> bool:
        return isinstance(self.hardware, IpuChip)

    @property
    def chip(self) -> GpuChip | IpuChip:
        return self.hardware if isinstance(self.hardware, IpuChip) else self.hardware.chip

    @property
    def peak(self) -> float:
        """Dense matrix peak of one device in the scenario's precision. [FLOP/s]"""
        if isinstance(self.hardware, IpuChip):
            chip = self.hardware
            share = 0.25 if self.precision is Precision.FP32 else 1.0
            return 2.0 * chip.tiles * chip.products_per_cycle * chip.clock * share
        return self.hardware.chip.matrix_peak[self.precision]

    @property
    def memory_elsewhere(self) -> float:
        """Host or streaming memory of one device; 0 where unknown. [B]"""
        if isinstance(self.hardware, IpuChip):
            return self.hardware.streaming_capacity
        return self.hardware.host_memory

    def gpu_software(self, normals: Mapping[str, Floats] | None = None) -> GpuSoftware:
        if normals is None and "software" in self._central:
            known: GpuSoftware = self._central["software"]
            return known
        software = self.software.gpu(normals)._replace(**self.overrides)  # type: ignore[arg-type]
        if normals is None:
            self._central["software"] = software
        return software

    def ipu_software(self, normals: Mapping[str, Floats] | None = None) -> IpuSoftware:
        return self.software.ipu(normals)._replace(**self.overrides)  # type: ignore[arg-type]

    def gpu_case(self, normals: Mapping[str, Floats] | None = None) -> GpuCase:
        """Return model, system and software as compiled code reads them, central or as samples."""
        assert isinstance(self.hardware, GpuSystem)
        central = self._central.get("case")
        if central is None:
            central = self._central["case"] = GpuCase.of(
                self.table,
                self.hardware,
                self.gpu_software(),
                self.precision,
                self.optimizer,
                self.expert_imbalance,
            )
        if normals is None:
            return central
        fabric = (self.sampled or self.hardware).fabric
        return central.running(self.gpu_software(normals), fabric, self.precision)

    def calibrated(self, profile: SoftwareProfile) -> Scenario:
        """Return the scenario with a calibration of its software, which moves uncertain figures alone."""
        moved = replace(self, software=profile, team=None)
        if isinstance(self.hardware, GpuSystem):
            software, fabric = moved.gpu_software(), self.hardware.fabric
            moved._central["case"] = self.gpu_case().running(software, fabric, self.precision)
        return moved

    @property
    def evaluation_overhead(self) -> FloatLike:
        """Fixed time of one evaluation. [s]"""
        software = self.ipu_software() if self.is_ipu else self.gpu_software()
        return software.evaluation_overhead

    def step(self, plans: Plans, normals: Mapping[str, Floats] | None = None) -> StepTime:
        """Return the time of one step of each plan, or of each sample."""
        if isinstance(self.hardware, IpuChip):
            step = ipu_step(
                self.table,
                plans,
                self.hardware,
                self.ipu_software(normals),
                precision=self.precision,
                optimizer=self.optimizer,
                split=self.stage_layers,
            )
        else:
            step = step_times(self.gpu_case(normals), plans)
        if self.software.calibration is None and not self.effects and self.team is None:
            return step
        factor = self.time_factor(normals)
        return StepTime({part: seconds * factor for part, seconds in step.parts.items()})

    def perfect_step(self, plans: Plans) -> Floats:
        """Return a lower bound on the step time of each plan: perfect software, products at the peak. [s]"""
        flop = self.table.training_flop * plans.global_batch
        passes = np.asarray(plans.accumulation) * plans.interleave
        bound = peak_bound_step_time(flop, self.peak, plans.devices, plans.pipeline, passes)
        if isinstance(self.hardware, IpuChip):
            return bound
        step = perfect_gpu_step(
            self.gpu_case(), plans, self.gpu_software(), self.hardware.fabric, self.precision
        )
        return np.maximum(bound, step)

    def forward_share(self, plans: Plans) -> Floats:
        """Return the forward pass's share of a micro-batch's time on a stage, of each plan."""
        if isinstance(self.hardware, IpuChip):
            return ipu_forward_share(self._pipeline(plans, self.hardware), self.ipu_software())
        return gpu_forward_share(self.gpu_case(), plans)

    def time_factor(self, normals: Mapping[str, Floats] | None = None) -> FloatLike:
        """Return the factor on times from measured runs; 1 without any."""
        team = self.team.factor if self.team is not None and self.team.headline else 1.0
        return self.software.time_factor(normals) * effects_factor(self.effects) * team

    @property
    def of_stated_plan(self) -> Scenario:
        """The scenario of a request that states its plan."""
        left_open = self.team is not None and self.team.kind == "plan_left_open"
        return self.tuned if left_open else self

    @property
    def tuned(self) -> Scenario:
        """The same as published records reach it."""
        if self.team is None:
            return self
        alone = replace(self, team=None)
        alone._central.update(self._central)
        return alone

    def memory(self, plans: Plans) -> MemoryUse:
        if isinstance(self.hardware, IpuChip):
            return ipu_memory(
                self.table,
                plans,
                self.hardware,
                self.ipu_software(),
                precision=self.precision,
                optimizer=self.optimizer,
                split=self.stage_layers,
            )
        return memory_use(self.gpu_case(), plans)

    def _pipeline(self, plans: Plans, chip: IpuChip) -> Pipeline:
        return pipeline_stages(
            self.table,
            plans,
            chip,
            self.ipu_software(),
            precision=self.precision,
            optimizer=self.optimizer,
            split=self.stage_layers,
        )

    def stage_lists(self, plans: Plans) -> list[tuple[float, ...]]:
        """Return the layers of each stage of every plan, of shape (N,), on IPUs."""
        if not isinstance(self.hardware, IpuChip) or not plans.pipeline.size:
            return [() for _ in plans.pipeline]
        counts = self._pipeline(plans, self.hardware).counts
        shape = (counts.shape[0], plans.pipeline.size)
        by_plan = np.broadcast_to(counts.reshape(counts.shape[0], -1), shape).T
        return [
            stage_list(stages, self.table.depth, int(degree))
            for stages, degree in zip(by_plan, np.ravel(plans.pipeline), strict=True)
        ]

    def operator_times(self, plans: Plans) -> OperatorTimes:
        if isinstance(self.hardware, IpuChip):
            return ipu_operator_times(
                self.table, plans, self.hardware, self.ipu_software(), precision=self.precision
            )
        return operator_times_of(self.gpu_case(), plans)


RECOMPUTE = {"none": 0.0, "modules": MODULES, "selective": 1.0, "full": 2.0}
SHARDING = {"none": 0.0, "optimizer": 1.0, "gradients": 2.0, "parameters": 3.0}


def as_stated(plans: Plans) -> Plans:
    """Return plans as people state them: copies of the model, and micro-batches shared by a context."""
    micro_batch = np.where(
        plans.context > 1.0, np.round(plans.micro_batch * plans.context), plans.micro_batch
    )
    return replace(plans, data=plans.data / plans.context, micro_batch=micro_batch)


def given_fields(plan: PlanInput) -> dict[str, float]:
    """Return the fields of a request's plan as numbers."""
    values = {name: getattr(plan, name) for name in PlanInput.model_fields}
    return {name: plan_number(name, value) for name, value in values.items() if value is not None}


def plan_number(name: str, value: object) -> float:
    """Return the number that stands for a value of a plan's field."""
    if name == "recompute":
        return RECOMPUTE[str(value)]
    if name == "sharding":
        return SHARDING[str(value)]
    return float(value)  # type: ignore[arg-type]


def recompute_name(value: float) -> str:
    return "modules" if value == MODULES else Recompute(math.ceil(value)).name.lower()


def recomputed_layers(value: float, depth: int) -> int | None:
    """Return the number of fully recomputed layers; None where it is none or all of them."""
    share = value - Recompute.SELECTIVE
    return round(share * depth) if 0.0 < share < 1.0 else None


def with_recomputed_layers(
    allowed: Mapping[str, Sequence[float]], depth: int
) -> Mapping[str, Sequence[float]]:
    """Return the allowed values with a number of recomputed layers as a share of all layers."""
    if "recompute_layers" not in allowed:
        return allowed
    unchanged = {name: values for name, values in allowed.items() if name != "recompute_layers"}
    return {**unchanged, "recompute": (Recompute.SELECTIVE + allowed["recompute_layers"][0] / depth,)}


OFFLOADS = {
    "offload": float(Offload.OPTIMIZER),
    "offload_parameters": float(Offload.PARAMETERS),
    "offload_activations": float(Offload.ACTIVATIONS),
}
"""Fields of a request's plan that say what is offloaded."""


def with_offload(allowed: Mapping[str, Sequence[float]]) -> Mapping[str, Sequence[float]]:
    """Return the allowed values with all that is offloaded as sums of kinds.

    >>> with_offload({"offload_parameters": (1.0,), "tensor": (1.0,)})
    {'tensor': (1.0,), 'offload': (2.0, 3.0)}
    """
    if not allowed.keys() & (OFFLOADS.keys() - {"offload"}):
        return allowed
    silent: dict[str, Sequence[float]] = dict.fromkeys(OFFLOADS, (0.0,)) | {"offload": (0.0, 1.0)}
    kinds = [[kind * value for value in {**silent, **allowed}[name]] for name, kind in OFFLOADS.items()]
    others = {name: values for name, values in allowed.items() if name not in OFFLOADS}
    return {**others, "offload": tuple(sorted(map(sum, itertools.product(*kinds))))}


def offload_sums(scenario: Scenario) -> tuple[float, ...]:
    """Return every sum of what the software can offload to a host of known memory, nothing first."""
    if scenario.is_ipu or not scenario.memory_elsewhere:
        return (0.0,)
    kinds = [(0.0, kind) for name, kind in OFFLOADS.items() if name in scenario.software.plans]
    return tuple(sorted(map(sum, itertools.product(*kinds))))


def offloaded(value: float) -> dict[str, bool]:
    """Return the fields of a plan that say what is offloaded; those of rare kinds where it is.

    >>> offloaded(0.0), offloaded(3.0)
    ({'offload': False}, {'offload': True, 'offload_parameters': True})
    """
    found = {name: int(value) & int(kind) > 0 for name, kind in OFFLOADS.items()}
    return {name: away for name, away in found.items() if away or name == "offload"}


def layer_errors(allowed: Mapping[str, Sequence[float]], depth: int) -> Iterator[AppError]:
    layers, field = int(allowed.get("recompute_layers", (0,))[0]), "plan.recompute_layers"
    if layers and tuple(allowed.get("recompute", (Recompute.FULL,))) != (Recompute.FULL,):
        yield BadInput.at(field, "applies to full recompute only; leave it empty, or choose recompute full")
    if layers > depth:
        yield BadInput.at(field, "{layers} layers: the model has only {depth}", layers=layers, depth=depth)


def sharding_name(value: float) -> str:
    return Sharding(int(value)).name.lower()


IPU_ONLY = {"rts": 1.0, "rts_optimizer": 1.0, "phases": 1.0}
GPU_ONLY = {
    **{"interleave": 1.0, "recompute_layers": 0.0, "sequence_parallel": 0.0, "sharding": 0.0},
    **{"expert": 1.0, "context": 1.0, "offload_parameters": 0.0, "offload_activations": 0.0},
}
"""Fields of a plan for one kind of hardware only, with their neutral values."""


def plan_errors(
    scenario: Scenario, allowed: Mapping[str, Sequence[float]], devices: int
) -> Iterator[AppError]:
    """Yield the faults of the allowed values of a plan."""
    # Impossible values among several are skipped; a single value is an order.
    orders = {name: values[0] for name, values in allowed.items() if len(values) == 1}
    foreign, kind = (GPU_ONLY, "GPU") if scenario.is_ipu else (IPU_ONLY, "IPU")
    for name, neutral in foreign.items():
        if any(value != neutral for value in allowed.get(name, ())):
            yield BadInput.at(
                f"plan.{name}", "{name} applies to {kind} systems only; leave it empty", name=name, kind=kind
            )
    yield from layer_errors(allowed, scenario.table.depth)
    if not scenario.is_ipu:
        yield from kind_errors(scenario, allowed)
    # A degree that no layer takes is one fault, however many devices it would need.
    indivisible = [*share_errors(scenario, orders)]
    if not indivisible:
        yield from device_errors(orders, devices)
    if orders.get("pipeline", 1) > scenario.table.depth:
        yield BadInput.at(
            "plan.pipeline", "{value} stages: the model has only {depth} layers to split",
            value=int(orders["pipeline"]), depth=scenario.table.depth,
        )  # fmt: skip
    chunks, layers = (
        orders.get("interleave", 1),
        fullest_stage(scenario.table.depth, orders.get("pipeline", 1)),
    )
    if orders.get("pipeline", 1) > 1 and chunks > layers:
        yield BadInput.at(
            "plan.interleave",
            "{value} chunks: the fullest of {stages} stages has only {layers} layers; choose at most as many",
            value=int(chunks),
            stages=int(orders["pipeline"]),
            layers=int(layers),
        )
    if chunks > 1 and orders.get("pipeline") == 1:
        yield BadInput.at(
            "plan.interleave",
            "one pipeline stage has nothing to interleave; leave it empty, or give more stages",
        )
    yield from indivisible
    if scenario.is_ipu:
        for name in ("tensor", "pipeline", "data"):
            value = int(orders.get(name, 1))
            if value & (value - 1):
                yield BadInput.at(
                    f"plan.{name}",
                    "{value} is not a power of two, as replica counts on an IPU-POD must be",
                    value=value,
                )


def kind_errors(scenario: Scenario, allowed: Mapping[str, Sequence[float]]) -> Iterator[AppError]:
    """Yield the faults of kinds of plan that the software does not have."""
    for name in sorted(PLAN_KINDS - scenario.software.plans):
        if name in allowed and not set(allowed[name]) & set(PLAIN.get(name, (1.0,))):
            yield BadInput.at(
                f"plan.{name}",
                "{software} has no {kind}; leave the field empty for the nearest plan that it runs, or "
                "choose other software",
                software=scenario.software.id,
                kind=Message(KIND_NAMES[name]),
            )


PLAIN = {**dict.fromkeys(OFFLOADS, (0.0,)), "sharding": (float(Sharding.NONE), float(Sharding.OPTIMIZER))}
"""Values of fields that every software has, where these are others than 1."""
KIND_NAMES = {
    "tensor": "tensor parallelism",
    "pipeline": "pipeline parallelism",
    "interleave": "interleaved pipeline",
    "context": "context parallelism",
    "expert": "expert parallelism",
    "sharding": "sharding of gradients or parameters",
    "offload": "offload to the host",
    "offload_parameters": "offload of parameters to the host",
    "offload_activations": "offload of activations to the host",
}


def device_errors(orders: Mapping[str, float], devices: int) -> Iterator[AppError]:
    """Yield the fault of degrees whose product exceeds the devices."""
    context = int(orders.get("context", 1))
    tensor, pipeline, data = (int(orders.get(name, 1)) for name in ("tensor", "pipeline", "data"))
    needed = tensor * pipeline * data
    if needed > devices:
        yield Conflict.at(
            next(f"plan.{name}" for name in ("data", "pipeline", "tensor") if name in orders),
            "{tensor} × {pipeline} × {data} needs {needed} devices; the system has {devices}",
            tensor=tensor,
            pipeline=pipeline,
            data=data,
            needed=needed,
            devices=devices,
        )
    elif needed * context > devices:
        yield Conflict.at(
            "plan.context",
            "{context} ranks for each of {ranks} need {needed} devices; the system has {devices}",
            context=context,
            ranks=needed,
            needed=needed * context,
            devices=devices,
        )


def share_errors(scenario: Scenario, orders: Mapping[str, float]) -> Iterator[AppError]:
    """Yield the faults of the ranks that share the heads of a layer or the tokens of a sample."""
    tensor, context = (int(orders.get(name, 1)) for name in ("tensor", "context"))
    heads, tokens = int(scenario.table.attention_heads), int(scenario.table.tokens)
    if tensor > 1 and not heads:
        yield BadInput.at("plan.tensor", "tensor parallelism does not apply to this model; leave it empty")
    elif tensor > 1 and heads % tensor and not scenario.is_ipu:
        yield BadInput.at(
            "plan.tensor",
            "{tensor} does not divide the {heads} attention heads of the model; "
            "the nearest that does is {nearest}",
            tensor=tensor,
            heads=heads,
            nearest=nearest_divisor(heads, tensor),
        )
    if context > 1 and not heads:
        yield BadInput.at("plan.context", "context parallelism does not apply to this model; leave it empty")
    elif tokens % context:
        yield BadInput.at(
            "plan.context",
            "{context} does not divide the {tokens} tokens of a sample; the nearest that does is {nearest}",
            context=context,
            tokens=tokens,
            nearest=nearest_divisor(tokens, context),
        )


def nearest_divisor(whole: int, asked: int) -> int:
    """Return the divisor of a number that differs least from one in proportion."""
    return min(divisors(whole), key=lambda divisor: abs(math.log(divisor / asked)))


RELAXED = ("interleave", "micro_batch", "accumulation", "data", "context", "expert", "pipeline", "tensor")
"""Fields of which one is changed to find the nearest plan to one that is refused, the least first."""


def nothing_legal(space: Space) -> BadInput:
    """Return the refusal of a plan: the field that refuses, with the nearest value that would do."""
    for name in RELAXED if not space.ipu else ():
        if len(space.allowed.get(name, ())) != 1:
            continue
        asked = space.allowed[name][0]
        others = {field: values for field, values in space.allowed.items() if field != name}
        contexts = (1, 2, 4, 8, 16) if name == "context" else space.contexts
        freed = replace(space, allowed=others, contexts=contexts)
        plans = as_stated(plans_of(spread_of(freed, layouts(freed))))
        if plans.tensor.size:
            values = np.unique(getattr(plans, name))
            nearest = values[np.argmin(np.abs(np.log(values / asked)))]
            return BadInput.at(
                f"plan.{name}",
                "{field} {value} leaves no plan on {devices} devices at a global batch of {batch} with the "
                "other fields as given; the nearest that does is {nearest}",
                field=name,
                value=asked,
                devices=space.devices,
                batch=space.global_batch,
                nearest=float(nearest),
            )
    return _divides_nothing(space)


def _divides_nothing(space: Space) -> BadInput:
    requested = [
        f"{name} {' | '.join(f'{value:g}' for value in values)}" for name, values in space.allowed.items()
    ]
    return BadInput.at(
        "plan",
        "no plan divides {devices} devices and a global batch of {batch} as requested "
        "({given}); leave a field empty, or choose degrees whose product divides the device "
        "count and a batch divisible by the number of replicas",
        devices=space.devices,
        batch=space.global_batch,
        given=", ".join(requested) or "-",
    )
