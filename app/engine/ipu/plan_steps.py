"""Memory, step time, phases and operator times of plans on IPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.arrays import distinct_columns
from app.engine.compiled import Matrix, Places, Vector, inner, kernel, record
from app.engine.ipu.case import IpuCase, IpuModel, figures_of, ipu_capacity, model_of
from app.engine.ipu.chains import recomputed_uncut, stated_cut
from app.engine.ipu.layout import (
    KINDS,
    STAGE,
    ChainCases,
    LayerChain,
    Placement,
    lay_like,
    lay_like_layers,
    lay_unlike_layers,
    stage_of,
)
from app.engine.ipu.phases import PHASES, count_phases
from app.engine.ipu.stage_memory import (
    Stage,
    StageMemory,
    stage_memory,
    stage_weights,
    streamed_memory,
    total_memory,
)
from app.engine.ipu.step import IpuStep, SlowestStages, plan_step, slot_time
from app.engine.ipu.vector import split_ways
from app.engine.ipu.work import (
    CYCLE_PARTS,
    PARTS,
    Cycles,
    Loads,
    WorkKey,
    cycles_of_operators,
    micro_batch_work,
)
from app.engine.operators.table import OperatorTable, Section
from app.engine.plans import PLAN_FIELDS, Bound, MemoryUse, OperatorTimes, Plan, Plans, StepTime
from app.engine.records import Floats, Indices, IpuChip, IpuSoftware, Precision

KEY = [PLAN_FIELDS.index(name) for name in WorkKey._fields]
NUMBER = Stage._fields.index("number")
"""Place of the layers by number among the columns of a stage."""
PIPELINE, RECOMPUTE = (PLAN_FIELDS.index(name) for name in ("pipeline", "recompute"))
BOUNDS = Cycles(
    gemm=Bound.COMPUTE,
    attention=Bound.COMPUTE,
    memory_bound=Bound.MEMORY,
    exchange=Bound.EXCHANGE,
    sync=Bound.LATENCY,
)
"""What limits an operator by the part of its cycles that is largest."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A model laid over the stages of every plan."""

    shape: tuple[int, ...]
    """Shape of the plans. [-]"""
    laid: Placement

    @property
    def counts(self) -> Floats:
        """Layers of every stage, (G, …); like layers have three kinds of stages. [-]"""
        stages = self.laid.stages
        by_stage = stages.reshape(len(stages), -1, STAGE)[self.laid.layouts, :, NUMBER]
        return by_stage.T.reshape(-1, *self.shape)


def pipeline_stages(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision,
    optimizer: str,
    split: Sequence[float] = (),
) -> Pipeline:
    """Return a model laid over the stages of every plan.

    ``split`` states the layers of each stage; it applies if their numbers and that of the stages match, and
    layers are balanced by time otherwise. The software's factors are not applied.
    """
    model, rows = model_of(table), plans.rows
    case = figures_of(model, chip, software, precision, optimizer)
    keys, distinct = distinct_keys(rows)
    times, loads = micro_batch_work(case, model.operators, distinct, model.places)
    stated = stated_layers(table, plans, split)
    if model.unlike:
        layouts, stages, slowest = _unlike(model, rows, keys, times, loads, stated)
    else:
        layouts = np.arange(len(keys))
        stages = np.empty((len(keys), (len(stated) or KINDS) * STAGE))
        slowest = np.empty((len(keys), 2 * PARTS))
        layers = np.array(stated, dtype=float)
        lay_like_layers(case, rows, keys, times, loads, layers, np.empty(2 * PARTS), stages, slowest)
    return Pipeline(plans.shape, Placement(case, rows, keys, loads, layouts, stages, slowest))


def stated_layers(table: OperatorTable, plans: Plans, split: Sequence[float]) -> Sequence[float]:
    """Return the layers of each stage that are stated, if they are those of the model and of every plan."""
    return split if sum(split) == table.depth and bool(np.all(plans.pipeline == len(split))) else ()


def distinct_keys(rows: Floats) -> tuple[Indices, Floats]:
    """Return the key of each plan, and the distinct keys, (K, 3): what a micro-batch depends on."""
    of_plans = rows[:, KEY]
    first, keys = distinct_columns(of_plans.T)
    return keys, of_plans[first]


def _unlike(
    model: IpuModel, plans: Floats, keys: Indices, times: Floats, loads: Floats, split: Sequence[float]
) -> tuple[Indices, Floats, Floats]:
    """Return the layout of each plan of a network of unlike layers, their stages and the slowest."""
    recomputes = (plans[:, RECOMPUTE] > 0) | (plans[:, PHASES] > 1)
    columns = np.stack([keys, plans[:, PIPELINE], recomputes])
    first, layouts = distinct_columns(columns)
    cases = ChainCases(*columns.take(first, axis=1))
    count = len(split) or int(cases.pipelines.max(initial=1.0))
    stages, slowest = np.empty((len(first), count * STAGE)), np.empty((len(first), 2 * PARTS))
    mean = max(model.figures["tokens"] * model.figures["hidden"], 1.0)
    layers = LayerChain(
        counted=model.counted,
        saved=model.saved,
        entering=model.entering / mean,
        skipping=model.skipping / mean,
        once=np.empty(len(model.chain)),
        repeated=np.empty(len(model.chain)),
    )
    cut = stated_cut(model.counted, split) if split else np.empty(len(model.chain), dtype=np.int64)
    parts = np.empty(2 * PARTS)
    lay_unlike_layers(cases, times, loads, model.chain, layers, cut, len(split), parts, stages, slowest)
    return layouts, stages, slowest


@inner
def heaviest(loads: Loads, stages: Matrix, c: int) -> float:
    """Return the parameters of the heaviest stage. [-]"""
    weights = 0.0
    for g in range(stages.shape[1] // STAGE):
        stage = stage_of(stages, c, g)
        if stage.present > 0.0:
            weights = max(weights, stage_weights(loads, stage.layers, stage.embedding, stage.head))
    return weights


@inner
def widest(stages: Matrix, c: int) -> float:
    """Return the elements over the widest cut between stages, over what one layer hands to the next. [-]"""
    width = 0.0
    for g in range(1, stages.shape[1] // STAGE):
        stage = stage_of(stages, c, g)
        if stage.present > 0.0:
            width = max(width, stage.received + stage.passing)
    return width


@inner
def fullest(case: IpuCase, loads: Loads, plan: Plan, stages: Matrix, c: int) -> StageMemory:
    """Return the memory of the fullest stage."""
    memory = stage_memory(case, loads, plan, stage_of(stages, c, 0))
    for g in range(1, stages.shape[1] // STAGE):
        stage = stage_of(stages, c, g)
        if stage.present > 0.0:
            candidate = stage_memory(case, loads, plan, stage)
            if total_memory(candidate) > total_memory(memory):
                memory = candidate
    return memory


@kernel
def write_memory(laid: Placement, parts: Matrix) -> None:
    """Write the memory of each plan's fullest IPU by part (a row each), and its streaming memory."""
    for i in range(laid.plans.shape[0]):
        plan, loads, c = record(Plan, laid.plans, i), record(Loads, laid.loads, laid.keys[i]), laid.layouts[i]
        memory = fullest(laid.case, loads, plan, laid.stages, c)
        for part in range(len(memory)):
            parts[part, i] = memory[part]
        parts[len(memory), i] = streamed_memory(laid.case, loads, plan, heaviest(loads, laid.stages, c))


@kernel
def write_ipu_steps(
    laid: Placement, indices: Places, speeds: Vector, returns: Vector, inputs: Vector, parts: Matrix
) -> None:
    """Write steps of plans with samples of software by part (a row each), and their forward share."""
    for row in range(indices.shape[0]):
        i = indices[row]
        plan, loads, c = record(Plan, laid.plans, i), record(Loads, laid.loads, laid.keys[i]), laid.layouts[i]
        slowest, weights = record(SlowestStages, laid.slowest, c), heaviest(loads, laid.stages, c)
        slot = slot_time(laid.case, plan, loads, slowest, widest(laid.stages, c), speeds[row])
        step = plan_step(
            laid.case, plan, loads, slowest, slot, weights, speeds[row], returns[row], inputs[row]
        )
        for part in range(len(step)):
            parts[part, row] = step[part]
        ahead = slot.forward + slot.moved / 2.0
        parts[len(step), row] = ahead / (slot.forward + slot.backward + slot.moved)


@kernel
def write_evaluated(
    laid: Placement,
    alike: bool,
    times: Matrix,
    split: Vector,
    limit: float,
    streaming_capacity: float,
    speed: float,
    returns: float,
    prepared: float,
    parts: Vector,
    memory: Vector,
    streaming: Vector,
    seconds: Vector,
) -> None:
    """Write memory, streaming memory and step time of every plan; infinite where it does not fit.

    Like layers are laid out here, plan by plan.
    """
    for i in range(laid.plans.shape[0]):
        plan, k = record(Plan, laid.plans, i), laid.keys[i]
        loads, c = record(Loads, laid.loads, k), laid.layouts[i]
        if alike:
            lay_like(laid.case, plan, loads, times, k, split, parts, laid.stages, c, laid.slowest)
        weights = heaviest(loads, laid.stages, c)
        memory[i] = total_memory(fullest(laid.case, loads, plan, laid.stages, c))
        streaming[i] = streamed_memory(laid.case, loads, plan, weights)
        seconds[i] = np.inf
        if memory[i] <= limit and (streaming_capacity == 0.0 or streaming[i] <= streaming_capacity):
            slowest = record(SlowestStages, laid.slowest, c)
            slot = slot_time(laid.case, plan, loads, slowest, widest(laid.stages, c), speed)
            step = plan_step(laid.case, plan, loads, slowest, slot, weights, speed, returns, prepared)
            total = 0.0
            for part in range(len(step)):
                total += step[part]
            seconds[i] = total


def ipu_memory(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
    optimizer: str = "lamb",
    split: Sequence[float] = (),
) -> MemoryUse:
    """Return the memory of the fullest IPU, by part, and its streaming memory."""
    pipeline = pipeline_stages(
        table, plans, chip, software, precision=precision, optimizer=optimizer, split=split
    )
    *parts, streaming = _memory(pipeline.laid).reshape(-1, *pipeline.shape)
    return MemoryUse(
        parts=dict(zip(StageMemory._fields, parts, strict=True)),
        capacity=ipu_capacity(chip, software),
        streaming=streaming,
        streaming_capacity=chip.streaming_capacity,
    )


def ipu_step(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
    optimizer: str = "lamb",
    split: Sequence[float] = (),
) -> StepTime:
    """Return the time of one training step by part; the software's factors may be arrays of samples."""
    pipeline = pipeline_stages(
        table, plans, chip, software, precision=precision, optimizer=optimizer, split=split
    )
    *parts, _ = _samples(pipeline, software)
    return StepTime(dict(zip(IpuStep._fields, parts, strict=True)))


def ipu_forward_share(pipeline: Pipeline, software: IpuSoftware) -> Floats:
    """Return the forward superstep's share of both. [-]"""
    return np.asarray(_samples(pipeline, software)[-1])


def _samples(pipeline: Pipeline, software: IpuSoftware) -> Floats:
    """Return parts of the step and forward share of every plan with every sample of the software, (13, …)."""
    plans = np.arange(len(pipeline.laid.keys)).reshape(pipeline.shape)
    return _steps(pipeline.laid, plans, software)


def _steps(laid: Placement, indices: Indices, software: IpuSoftware) -> Floats:
    """Return parts of the step and forward share of some plans with every sample of the software, (13, …)."""
    speed = software.sdk_factor * software.framework_factor
    figures = (speed, software.host_returns_per_update, software.input_time_per_sample)
    plans, *samples = np.broadcast_arrays(indices, *(np.asarray(figure, dtype=float) for figure in figures))
    parts = np.empty((len(IpuStep._fields) + 1, plans.size))
    write_ipu_steps(laid, plans.ravel(), *(values.ravel() for values in samples), parts)
    return parts.reshape(len(parts), *plans.shape)


def _memory(laid: Placement) -> Floats:
    """Return parts of the memory of the fullest IPU of each plan, and its streaming memory, (7, N)."""
    parts = np.empty((len(StageMemory._fields) + 1, len(laid.keys)))
    write_memory(laid, parts)
    return parts


def phases_needed(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
    optimizer: str = "lamb",
) -> Floats:
    """Return the phases a stage needs for the SRAM that is free, whatever those of the plans."""
    resident = replace(plans, phases=np.ones(np.shape(plans.phases)))
    pipeline = pipeline_stages(table, resident, chip, software, precision=precision, optimizer=optimizer)
    phases = np.empty(len(pipeline.laid.keys))
    count_phases(pipeline.laid, phases)
    return phases.reshape(pipeline.shape)


def evaluate_ipu_plans(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision,
    optimizer: str,
    limit: float,
    split: Sequence[float] = (),
) -> tuple[Floats, Floats, Floats]:
    """Return memory, streaming memory and step time of plans, (N,); infinite where one does not fit.

    ``limit`` is on the memory of one device; the software has single figures.
    """
    model, rows = model_of(table), plans.rows
    figures = software.sdk_factor * software.framework_factor, software.host_returns_per_update
    parts, evaluated = np.empty(2 * PARTS), np.empty((3, len(rows)))
    if model.unlike:
        times, stated = np.empty((0, 0)), np.empty(0)
        laid = pipeline_stages(
            table, plans, chip, software, precision=precision, optimizer=optimizer, split=split
        ).laid
    else:
        case = figures_of(model, chip, software, precision, optimizer)
        keys, distinct = distinct_keys(rows)
        times, loads = micro_batch_work(case, model.operators, distinct, model.places)
        stated = np.array(stated_layers(table, plans, split), dtype=float)
        stages, slowest = np.empty((1, (stated.size or KINDS) * STAGE)), np.empty((1, 2 * PARTS))
        laid = Placement(case, rows, keys, loads, np.zeros(len(keys), dtype=np.int64), stages, slowest)
    write_evaluated(
        laid,
        not model.unlike,
        times,
        stated,
        limit,
        chip.streaming_capacity,
        *map(float, figures),
        float(software.input_time_per_sample),
        parts,
        *evaluated,
    )
    memory, streaming, seconds = evaluated
    return memory, streaming, seconds


def ipu_operator_times(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
) -> OperatorTimes:
    """Return time, FLOP, exchange and bound of each operator for one micro-batch, (O, …).

    All repeats on one device; the backward pass includes recomputation. The parts of an operator's time add
    up without overlap, so its bound is the largest.
    """
    shape, model = plans.shape, model_of(table)
    case = figures_of(model, chip, software, precision, "sgd")
    keys, distinct = distinct_keys(plans.rows)
    cycles = np.empty((len(table), len(distinct) * 2 * len(CYCLE_PARTS)))
    cycles_of_operators(case, model.operators, distinct, cycles)
    by_key = cycles.reshape(len(table), len(distinct), 2, len(CYCLE_PARTS))
    forward, backward = np.moveaxis(by_key[:, keys], (2, 3), (0, 1)).reshape(2, 5, len(table), *shape)

    def column(values: Floats) -> Floats:
        return np.asarray(values, dtype=float).reshape(-1, *(1,) * len(shape))

    # Alone a device recomputes what lies before its last checkpoint, in a pipeline all but the head.
    before, alone = column(table.section != Section.HEAD), column(recomputed_uncut(table))
    repeated = np.where(plans.pipeline > 1, before, alone)
    recomputed = np.where((plans.recompute > 0) | (plans.phases > 1), repeated, 0.0)
    backward = backward + recomputed * forward
    scale = column(table.count) * (software.sdk_factor * software.framework_factor / chip.clock)
    total_cycles = forward + backward
    width = chip.exchange_bytes_per_cycle * case.usable
    known = [WorkKey(*key) for key in distinct]
    ways = np.array(
        [[split_ways(kind, key.tensor, key.sequence_parallel) for key in known] for kind in table.split]
    )
    flop = column(table.forward_flop * (2.0 + table.input_gradient)) + column(table.forward_flop) * recomputed
    return OperatorTimes(
        forward=forward.sum(axis=0) * scale,
        backward=backward.sum(axis=0) * scale,
        flop=flop * plans.micro_batch / ways[:, keys].reshape(len(table), *shape),
        traffic=column(table.count) * total_cycles[CYCLE_PARTS.index("exchange")] * width,
        bound=np.asarray(BOUNDS, dtype=float)[np.argmax(total_cycles, axis=0)],
    )
