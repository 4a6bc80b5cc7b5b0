"""Parts of the estimate document: system, plan, memory, breakdown and roofline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.figures import Figure
from app.engine.pipeline import bubble_slots, even_chunks, fullest_stage
from app.engine.plans import Bound, Plans
from app.engine.records import Floats, IpuChip
from app.engine.units import HOUR
from app.estimating.costing import system_power
from app.estimating.deciding import PlanDecision
from app.estimating.documents import (
    Memory,
    MemoryPart,
    Part,
    PipelineSchedule,
    PlanSummary,
    Roofline,
    RooflinePoint,
    SystemSummary,
)
from app.estimating.hardware import Hardware, log_deviation
from app.estimating.plan_search import memory_of
from app.estimating.ranges import quantity, spread_quantity
from app.estimating.runtime import Run
from app.estimating.scenario import (
    Scenario,
    as_stated,
    offloaded,
    recompute_name,
    recomputed_layers,
    sharding_name,
)
from app.estimating.schema import Quantity, filled

WHOLE_FIELDS = (
    *("tensor", "pipeline", "data", "micro_batch", "accumulation", "global_batch", "interleave"),
    *("sharding_ranks", "expert", "rts", "rts_optimizer", "phases"),
)


def system_summary(hardware: Hardware, catalog: Catalog, family: str | None = None) -> SystemSummary:
    entry = hardware.entry
    power = system_power(hardware, 1.0, catalog, family)
    return filled(
        SystemSummary,
        hardware,
        id=entry.id,
        name=entry.name,
        chip=entry.machine.chip.id,
        generation={"gc200": "mk2", "bow": "bow"}.get(
            entry.machine.chip.id, entry.machine.chip.id.split("-")[0]
        ),
        power=spread_quantity(power),
        rack_units=entry.rack_units * hardware.count,
    )


def plan_summary(decision: PlanDecision, plans: Plans) -> PlanSummary:
    return plan_summaries(decision, plans)[0]


def plan_summaries(decision: PlanDecision, plans: Plans) -> list[PlanSummary]:
    """Return the fields of each plan, with those that were searched."""
    scenario, depth = decision.scenario, decision.scenario.table.depth
    stated = as_stated(plans)
    idle = decision.hardware.machines - decision.hardware.machines_used(plans)
    searched = list(decision.choice.searched) + (["global_batch"] if decision.batch_searched else [])
    stage_layers = (
        [[int(layers) for layers in stages] for stages in scenario.stage_lists(plans)]
        if scenario.is_ipu
        else [_evenly(depth, int(stages)) for stages in plans.pipeline]
    )
    rows = []
    for index, layers in enumerate(stage_layers):
        whole = {name: round(float(getattr(stated, name)[index])) for name in WHOLE_FIELDS}
        rows.append(
            PlanSummary(
                **whole,
                context=round(float(plans.context[index])),
                recompute=recompute_name(float(plans.recompute[index])),
                recompute_layers=recomputed_layers(float(plans.recompute[index]), depth),
                sequence_parallel=bool(plans.sequence_parallel[index] > 0),
                sharding=sharding_name(float(plans.sharding[index])),
                **offloaded(float(plans.offload[index])),
                stage_layers=layers[: whole["pipeline"]],
                idle_machines=int(idle[index]),
                searched=searched,
            )
        )
    return rows


def _evenly(depth: int, stages: int) -> list[int]:
    """Return the layers of each stage, spread as evenly as they can be."""
    whole, remainder = divmod(depth, stages)
    return [whole + (index < remainder) for index in range(stages)]


def memory_summary(decision: PlanDecision) -> Memory:
    """Return the memory of the fullest device, by part."""
    memory = decision.choice.memory
    capacity = memory_of(decision.scenario.chip)
    streaming = float(np.ravel(memory.streaming)[0])
    has_streaming = bool(memory.streaming_capacity) or streaming > 0
    return Memory(
        per_device=Quantity.exact(float(memory.total[0]), "B"),
        capacity=Quantity.exact(capacity, "B"),
        usable=Quantity.exact(decision.choice.found.limits.memory, "B"),
        parts=[
            MemoryPart(part=name, value=float(np.ravel(value)[0])) for name, value in memory.parts.items()
        ],
        streaming=Quantity.exact(streaming, "B") if has_streaming else None,
        streaming_capacity=Quantity.exact(memory.streaming_capacity, "B") if has_streaming else None,
    )


def breakdown_of(run: Run) -> list[Part]:
    """Return the parts of the time to train; they add up to it."""
    parts = {name: float(np.ravel(value)[0]) * run.steps for name, value in run.step.parts.items()}
    # The step already has the wait for a slow host; that for slow storage is added.
    parts["input"] = parts.get("input", 0.0) + run.time.input_wait * run.steps
    parts |= {
        "evaluation": run.time.evaluation,
        "checkpoint": run.time.checkpoint,
        "failures": run.time.failures,
    }
    return [Part(part=name, seconds=seconds) for name, seconds in parts.items() if seconds > 0]


LOCKSTEP_PARTS = ("gemm", "attention", "memory_bound", "exchange", "sync", "tensor_comm", "pipeline_comm")
"""Parts of a superstep: computation, exchange and synchronisation."""


def schedule_of(scenario: Scenario, plans: Plans, run: Run) -> PipelineSchedule | None:
    """Return the schedule of a step's micro-batches in the pipeline, as it was timed."""
    stages, micro_batches, chunks = (
        int(values[0]) for values in (plans.pipeline, plans.accumulation, plans.interleave)
    )
    if stages == 1:
        return None
    parts = {name: float(np.ravel(seconds)[0]) for name, seconds in run.step.parts.items()}
    bubble = parts["pipeline_bubble"]
    chunks = 1 if scenario.is_ipu else chunks
    counted = even_chunks(fullest_stage(scenario.table.depth, stages), chunks) if chunks > 1 else 1.0
    slot = bubble / float(bubble_slots(stages, counted))
    forward = slot * float(np.ravel(scenario.forward_share(plans))[0])
    length = micro_batches * slot + bubble
    kind = "lockstep" if scenario.is_ipu else "interleaved" if chunks > 1 else "one_forward_one_backward"
    superstep = None
    if scenario.is_ipu:
        seconds_by_part = {name: parts.get(name, 0.0) / micro_batches for name in LOCKSTEP_PARTS}
        superstep = [
            Part(part=name, seconds=seconds) for name, seconds in seconds_by_part.items() if seconds > 0
        ]
    return PipelineSchedule(
        kind=kind,
        stages=stages,
        micro_batches=micro_batches,
        chunks=chunks,
        forward=forward,
        backward=slot - forward,
        length=length,
        bubble=bubble,
        bubble_share=bubble / length,
        after=max(run.step_seconds - length, 0.0),
        superstep=superstep,
    )


def startup_of(figure: Figure) -> Quantity:
    """Return the time from the start of a job to its first step, outside of published times to train."""
    return Quantity(value=figure.si, low=figure.si_low, high=figure.si_high, unit="s")


def all_in_hours(run: Run, plans: Plans, share: Figure, normals: Mapping[str, Floats]) -> Quantity:
    """Return the device hours of the project around a run: steady time over its measured share."""
    hours = float(plans.devices[0]) / HOUR / share.si
    spread = np.exp(log_deviation(share) * normals["failure_rate"])
    return quantity(run.steps * run.step_seconds * hours, run.training_samples * hours * spread, "h")


def roofline_of(scenario: Scenario, plans: Plans) -> dict[str, object]:
    """Return the operators as points under the roof of one device."""
    times = scenario.operator_times(plans)

    def flat(values: Floats) -> Floats:
        return np.asarray(values).reshape(len(scenario.table), -1)[:, 0]

    seconds, flop, traffic, bound = (
        flat(part) for part in (times.forward + times.backward, times.flop, times.traffic, times.bound)
    )
    points = [
        RooflinePoint(
            operator=name,
            intensity=float(flop[index] / traffic[index]),
            attained=float(flop[index] / seconds[index]),
            bound=Bound(int(bound[index])).name.lower(),
            seconds=float(seconds[index]),
        )
        for index, name in enumerate(scenario.table.names)
        if seconds[index] > 0 and traffic[index] > 0 and flop[index] > 0
    ]
    chip = scenario.chip
    if isinstance(chip, IpuChip):
        bandwidth, name = chip.tiles * chip.exchange_bytes_per_cycle * chip.clock, "exchange"
    else:
        bandwidth, name = chip.memory_bandwidth, "memory"
    return {
        "roofline": points,
        "roof": Roofline(peak=scenario.peak, bandwidth=bandwidth, bandwidth_name=name),
    }
