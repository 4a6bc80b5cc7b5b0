"""Choose a plan: every legal one, memory first, then time for what fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from app.engine.gpu import gpu_operator_times, gpu_step
from app.engine.ipu import phases_needed
from app.engine.plans import MemoryUse, OperatorTimes, Plans, Recompute, Sharding
from app.engine.records import Floats, GpuChip, Indices, IpuChip
from app.engine.search import Space, legal_plans
from app.errors import BadInput, Conflict
from app.sizing.request import PlanInput
from app.sizing.scenario import Scenario

GPU_MARGIN = 0.06
"""Share of HBM left free where nothing else is asked: fragmentation and peaks that no formula
counts. SimuMax keeps 6 GiB of 80; published runs of BLOOM filled 94 % at most."""

IPU_MARGIN = 0.05
"""An IPU plan above 95 % of the memory counts as borderline, one above 105 % as too large."""

RECOMPUTE = {"none": 0.0, "selective": 1.0, "full": 2.0}
SHARDING = {"none": 0.0, "optimizer": 1.0, "gradients": 2.0, "parameters": 3.0}
CHUNK = 4096

PHASES_TRIED = (1.0, 1.25, 1.5, 2.0)
"""Multiples of the fewest phases."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan, its memory, and how it was found."""

    plans: Plans
    """One plan, arrays of length one. [-]"""
    memory: MemoryUse
    fits: bool
    borderline: bool
    searched: tuple[str, ...]
    """Fields that were not given. [-]"""
    evaluated: int
    """Plans whose memory was computed. [-]"""
    feasible: int
    """Plans that fit. [-]"""


def given_fields(plan: PlanInput) -> dict[str, float]:
    """Return the fields of a request's plan as numbers; refuse what can never be right."""
    given: dict[str, float] = {}
    for name in PlanInput.model_fields:
        value = getattr(plan, name)
        if value is None:
            continue
        if name == "recompute":
            given[name] = RECOMPUTE[value]
        elif name == "sharding":
            given[name] = SHARDING[value]
        else:
            if not isinstance(value, bool) and not 1 <= value <= MOST:
                raise BadInput.at(
                    f"plan.{name}", "{value} is not between 1 and {most}", value=value, most=MOST
                )
            given[name] = float(value)
    return given


MOST = 1_000_000


def choose_plan(
    scenario: Scenario,
    *,
    given: Mapping[str, float],
    devices: int,
    available: int,
    per_node: int,
    global_batch: int,
    margin: float | None,
) -> Choice:
    """Return the fastest legal plan that fits, or the one that comes closest to fitting.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    given : mapping
        Fields of the plan that are not to be searched. [-]
    devices : int
        Accelerators to use. [-]
    available : int
        Accelerators of the system. [-]
    per_node : int
        Accelerators of one machine. [-]
    global_batch : int
        Samples per step. [-]
    margin : float or None
        Share of the memory to leave free; the default of the hardware where None. [-]
    """
    _check_kind(scenario, given)
    _check_devices(scenario, given, available)
    space = Space(
        devices=devices,
        devices_per_node=per_node,
        global_batch=global_batch,
        depth=scenario.table.depth,
        heads=int(scenario.table.attention_heads),
        ipu=scenario.is_ipu,
        fixed=given,
    )
    plans = legal_plans(space)
    if not plans.tensor.size:
        raise _nothing_legal(given, devices, global_batch)
    memory = scenario.memory(plans)
    strict, loose = _limits(scenario, margin)
    fits = _fits(memory, strict)
    if scenario.is_ipu and not fits.any() and "phases" not in given:
        plans, memory = _phased(scenario, plans)
        fits = _fits(memory, strict)
    borderline = not fits.any() and bool(_fits(memory, loose).any())
    if borderline:
        fits = _fits(memory, loose)
    elsewhere = GPU_ONLY if scenario.is_ipu else {**IPU_ONLY, "offload": 0.0}
    searched = tuple(
        name for name in PlanInput.model_fields if name not in {*given, *elsewhere, "sharding_ranks"}
    )
    evaluated, feasible = int(plans.tensor.size), int(fits.sum())
    if feasible:
        kept = np.flatnonzero(fits)
        seconds = step_seconds(scenario, _take(plans, kept))
        best = int(kept[int(np.argmin(seconds))])
    else:
        best = int(np.argmin(_fullness(memory)))
    chosen = _take(plans, np.array([best]))
    return Choice(
        plans=chosen,
        memory=scenario.memory(chosen),
        fits=bool(feasible),
        borderline=borderline,
        searched=searched,
        evaluated=evaluated,
        feasible=feasible,
    )


def step_seconds(scenario: Scenario, plans: Plans) -> Floats:
    """Return the step time of many plans; operator times once per tensor degree and micro-batch."""
    if isinstance(scenario.hardware, IpuChip):
        return scenario.step(plans).total
    system, software = scenario.hardware, scenario.gpu_software()
    seconds = np.empty(plans.tensor.size)
    for start in range(0, plans.tensor.size, CHUNK):
        part = _take(plans, np.arange(start, min(start + CHUNK, plans.tensor.size)))
        keys, place = np.unique(np.stack([part.tensor, part.micro_batch]), axis=1, return_inverse=True)
        distinct = Plans.of(tensor=keys[0], micro_batch=keys[1], recompute=np.zeros(keys.shape[1]))
        times = gpu_operator_times(
            scenario.table, distinct, system.chip, system.kernels, software, scenario.precision
        )
        gathered = OperatorTimes(
            **{entry.name: getattr(times, entry.name)[:, place.ravel()] for entry in fields(OperatorTimes)}
        )
        step = gpu_step(
            scenario.table, part, system, software, scenario.precision, scenario.optimizer, gathered
        )
        seconds[start : start + part.tensor.size] = step.total
    return seconds


def _take(plans: Plans, index: Indices) -> Plans:
    return Plans(**{entry.name: np.asarray(getattr(plans, entry.name)[index]) for entry in fields(Plans)})


def _limits(scenario: Scenario, margin: float | None) -> tuple[float, float]:
    """Return the memory a plan may fill, and the memory up to which it is called borderline.

    A margin that was asked for is kept to; only that of the default may be eaten into.
    """
    capacity = memory_of(scenario.chip)
    if margin is not None:
        return capacity * (1.0 - margin), capacity * (1.0 - margin)
    if scenario.is_ipu:
        return capacity * (1.0 - IPU_MARGIN), capacity * (1.0 + IPU_MARGIN)
    return capacity * (1.0 - GPU_MARGIN), capacity


def _fits(memory: MemoryUse, limit: float) -> NDArray[np.bool_]:
    inside = memory.total <= limit
    if memory.streaming_capacity:
        inside = inside & (memory.streaming <= memory.streaming_capacity)
    return np.asarray(inside)


def _fullness(memory: MemoryUse) -> Floats:
    """Return the fuller of device memory and streaming memory, as shares of what there is."""
    device = memory.total / memory.capacity
    if not memory.streaming_capacity:
        return np.asarray(device)
    return np.maximum(device, memory.streaming / memory.streaming_capacity)


def _phased(scenario: Scenario, plans: Plans) -> tuple[Plans, MemoryUse]:
    """Return the plans that keep their optimizer off chip, cut into the phases they need."""
    offloaded = _take(plans, np.flatnonzero(plans.offload > 0)) if (plans.offload > 0).any() else plans
    chip = scenario.hardware
    if not isinstance(chip, IpuChip):
        return plans, scenario.memory(plans)
    phases = phases_needed(
        scenario.table,
        offloaded,
        chip,
        scenario.ipu_software(),
        precision=scenario.precision,
        optimizer=scenario.optimizer,
    )
    possible = np.flatnonzero(np.isfinite(phases) & (phases >= 1) & (phases <= scenario.table.depth + 2))
    if not possible.size:
        return plans, scenario.memory(plans)
    least = np.asarray(phases[possible], dtype=float)
    longest = float(scenario.table.depth + 2)
    # Shorter phases leave room where the fewest only just fit.
    several = [np.minimum(np.ceil(least * more), longest) for more in PHASES_TRIED]
    repeated = _take(offloaded, np.tile(possible, len(PHASES_TRIED)))
    found = replace(repeated, phases=np.concatenate(several))
    return found, scenario.memory(found)


IPU_ONLY = {"rts": 1.0, "rts_optimizer": 1.0, "phases": 1.0}
GPU_ONLY = {"interleave": 1.0, "sequence_parallel": 0.0, "sharding": 0.0}
"""Fields of a plan that one kind of hardware has, with the value that changes nothing."""


def _check_kind(scenario: Scenario, given: Mapping[str, float]) -> None:
    other, kind = (GPU_ONLY, "GPU") if scenario.is_ipu else (IPU_ONLY, "IPU")
    for name, neutral in other.items():
        if given.get(name, neutral) != neutral:
            raise BadInput.at(
                f"plan.{name}", "{name} applies to {kind} systems only; leave it out", name=name, kind=kind
            )


def _check_devices(scenario: Scenario, given: Mapping[str, float], devices: int) -> None:
    degrees = [given.get(name, 1.0) for name in ("tensor", "pipeline", "data")]
    needed = int(np.prod(degrees))
    if needed > devices:
        raise Conflict.at(
            next(f"plan.{name}" for name in ("data", "pipeline", "tensor") if name in given),
            "{tensor} × {pipeline} × {data} needs {needed} devices; the system has {devices}",
            tensor=int(degrees[0]),
            pipeline=int(degrees[1]),
            data=int(degrees[2]),
            needed=needed,
            devices=devices,
        )
    if given.get("pipeline", 1) > scenario.table.depth:
        raise BadInput.at(
            "plan.pipeline", "{value} stages: the model has {depth} layers to cut between",
            value=int(given["pipeline"]), depth=scenario.table.depth,
        )  # fmt: skip
    heads = int(scenario.table.attention_heads)
    tensor = int(given.get("tensor", 1))
    if tensor > 1 and not heads:
        raise BadInput.at("plan.tensor", "tensor parallelism does not apply to this model; leave it out")
    if tensor > 1 and heads % tensor and not scenario.is_ipu:
        raise BadInput.at(
            "plan.tensor",
            "{tensor} does not divide the {heads} heads of the model",
            tensor=tensor,
            heads=heads,
        )
    if scenario.is_ipu:
        for name in ("tensor", "pipeline", "data"):
            value = int(given.get(name, 1))
            if value & (value - 1):
                raise BadInput.at(
                    f"plan.{name}", "{value} is no power of two; replicas on an IPU-POD are", value=value
                )


def _nothing_legal(given: Mapping[str, float], devices: int, global_batch: int) -> BadInput:
    return BadInput.at(
        "plan",
        "no plan divides {devices} devices and a global batch of {batch} as asked ({given}); leave a field "
        "out, or choose degrees whose product divides the devices and a batch that the replicas divide",
        devices=devices,
        batch=global_batch,
        given=", ".join(f"{name} {value:g}" for name, value in given.items()) or "-",
    )


def recompute_name(value: float) -> str:
    """Return the name of a recompute mode."""
    return Recompute(int(value)).name.lower()


def sharding_name(value: float) -> str:
    """Return the name of a sharding mode."""
    return Sharding(int(value)).name.lower()


def memory_of(chip: GpuChip | IpuChip) -> float:
    """Return the memory of one device. [B]"""
    return chip.memory_capacity if isinstance(chip, GpuChip) else chip.tiles * chip.sram_per_tile
