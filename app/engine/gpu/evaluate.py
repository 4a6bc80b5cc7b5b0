"""Steps and memory of many plans or many samples at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from app.compiled import Matrix, Places, Vector, called, inner, kernel
from app.engine.gpu.case import AT, Case, GpuCase, Software, case_of, plan_at, software_of
from app.engine.gpu.collectives import Exchanges, Weights, device_weights, gradient_exchanges
from app.engine.gpu.memory import Activations, device_memory, micro_batch_activations
from app.engine.gpu.operators import COSTS, operator_costs, operator_loads, operator_time
from app.engine.gpu.step import Step, step_time, step_total
from app.engine.gpu.work import Work, forward_share, micro_batch_work
from app.engine.operators.table import OperatorTable
from app.engine.plans import PLAN_FIELDS, MemoryUse, OperatorTimes, Plans, StepTime
from app.engine.records import Floats, GpuSoftware, GpuSystem, Precision

KEYS = 5
"""Numbers before what is kept of them."""

SHARED = [
    PLAN_FIELDS.index(name) for name in ("sequence_parallel", "recompute", "expert", "micro_batch", "tensor")
]
"""Fields that the work of a micro-batch depends on."""

KEPT_WORKS, WORK_COLUMNS = 1024, KEYS + 16
"""Micro-batches that are kept, with :class:`Work` and :class:`Activations`."""

KEPT_EXCHANGES, EXCHANGE_COLUMNS = 256, KEYS + 17
"""Copies of weights that are kept, with :class:`Weights` and :class:`Exchanges`."""

PERFECT: Mapping[str, Any] = {
    "matrix_efficiency": 1.0,
    "attention_efficiency": 1.0,
    "elementwise_factor": 1.0,
    "overlap": 1.0,
    "network_efficiency": 1.0,
    "step_overhead": 0.0,
    "dispatch_interval": 0.0,
    "micro_batch_overhead": 0.0,
    "multi_device_overhead": 0.0,
    "broadcast_latency": 0.0,
    "host_time_per_sample": 0.0,
    "input_time_per_sample": 0.0,
    "layout_passes": 0.0,
    "layout_passes_tf32": 0.0,
    "kernels_per_layer": 0.0,
    "kernels_per_convolution": 0.0,
    "optimizer_kernels": 0.0,
}
"""Figures of software that loses nothing."""


@inner
def _write(values: tuple[float, ...], rows: Matrix, row: int, first: int) -> None:
    for column in range(len(values)):
        rows[row, first + column] = values[column]


@inner
def _work_at(rows: Matrix, row: int) -> Work:
    r = rows[row]
    return Work(r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14], r[15], r[16])


@inner
def _activations_at(rows: Matrix, row: int) -> Activations:
    return Activations(rows[row, 17], rows[row, 18], rows[row, 19], rows[row, 20])


@inner
def _weights_at(rows: Matrix, row: int) -> Weights:
    r = rows[row]
    return Weights(r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14], r[15])


@inner
def _exchanges_at(rows: Matrix, row: int) -> Exchanges:
    r = rows[row]
    return Exchanges(r[16], r[17], r[18], r[19], r[20], r[21])


@inner
def _slot(slots: int, a: float, b: float, c: float, d: float, e: float) -> int:
    """Return where what five numbers lead to is kept."""
    code = int(a)
    for value in (b, c, d, e):
        # Parts of a sample are no whole numbers.
        code = ((code * 31) ^ int(value * 4.0)) * 0x9E3779B1
        code ^= code >> 15
    return code & (slots - 1)


@inner
def _holds(kept: Matrix, slot: int, a: float, b: float, c: float, d: float, e: float) -> bool:
    """Return whether a slot holds what five numbers lead to."""
    row = kept[slot]
    return row[0] == a and row[1] == b and row[2] == c and row[3] == d and row[4] == e


class Kept(NamedTuple):
    """What many plans share, behind the five numbers of a plan that it follows from.

    It holds for one case and may be used again for it.
    """

    works: Matrix
    exchanges: Matrix
    costs: Matrix
    """Room for the operators of a micro-batch."""


class Found(NamedTuple):
    """What evaluating plans gives."""

    memory: Vector
    """[B]"""
    elsewhere: Vector
    """[B]"""
    seconds: Vector
    """Of a step; infinite where a plan does not fit. [s]"""


@called
def evaluate_rows(
    case: Case,
    software: Software,
    plans: Matrix,
    count: int,
    kept: Kept,
    limit: float,
    host_memory: float,
    found: Found,
) -> None:
    """Write memory and step time of the first plans of a matrix."""
    works, exchanges, costs = kept
    memory, elsewhere, seconds = found
    tensor, micro_batch, expert = 0.0, 0.0, 0.0
    of_work, slot = 0, 0
    for place in range(count):
        plan = plan_at(plans, place)
        t, b, x, again, by_tokens = (
            plan.tensor,
            plan.micro_batch,
            plan.expert,
            plan.recompute,
            plan.sequence_parallel,
        )
        # Neighbours often share both.
        if not _holds(works, of_work, t, b, x, again, by_tokens):
            of_work = _slot(works.shape[0], b, t, again, by_tokens, x)
        if not _holds(works, of_work, t, b, x, again, by_tokens):
            if t != tensor or b != micro_batch or x != expert:
                tensor, micro_batch, expert = t, b, x
                operator_costs(case, t, b, x, costs, 0)
            work = micro_batch_work(case, software, t, b, x, again, by_tokens, costs, 0)
            _write((t, b, x, again, by_tokens), works, of_work, 0)
            _write(work, works, of_work, KEYS)
            _write(micro_batch_activations(case, t, b, again, by_tokens), works, of_work, KEYS + 12)
        p, d, ranks = plan.pipeline, plan.data, plan.sharding_ranks
        if not _holds(exchanges, slot, t, p, d, x, ranks):
            slot = _slot(exchanges.shape[0], d, p, t, x, ranks)
        if not _holds(exchanges, slot, t, p, d, x, ranks):
            weight = device_weights(case, plan)
            _write((t, p, d, x, ranks), exchanges, slot, 0)
            _write(weight, exchanges, slot, KEYS)
            _write(gradient_exchanges(case, plan, weight, software.network), exchanges, slot, KEYS + 11)
        held = _weights_at(exchanges, slot)
        use = device_memory(case, plan, held, _activations_at(works, of_work))
        total = use.weights + use.gradients + use.optimizer + use.activations + use.buffers + use.framework
        memory[place], elsewhere[place], seconds[place] = total, use.elsewhere, np.inf
        if total <= limit and (host_memory == 0.0 or use.elsewhere <= host_memory):
            work = _work_at(works, of_work)
            sent = _exchanges_at(exchanges, slot)
            seconds[place] = step_total(step_time(case, plan, software, held, work, sent))


@kernel
def write_steps(
    numbers: Vector,
    sweep: Matrix,
    tiles: Matrix,
    messages: Matrix,
    norms: Matrix,
    weights: Matrix,
    columns: Matrix,
    stack: Matrix,
    plans: Matrix,
    works: Matrix,
    exchanges: Matrix,
    costs: Matrix,
    limit: float,
    host_memory: float,
    memory: Vector,
    elsewhere: Vector,
    seconds: Vector,
) -> None:
    """Write memory and step time of every plan; infinite where it does not fit."""
    case = case_of(numbers, sweep, tiles, messages, norms, weights, columns)
    kept, found = Kept(works, exchanges, costs), Found(memory, elsewhere, seconds)
    evaluate_rows(case, software_of(stack[0]), plans, plans.shape[0], kept, limit, host_memory, found)


@kernel
def sampled_steps(
    numbers: Vector,
    sweep: Matrix,
    tiles: Matrix,
    messages: Matrix,
    norms: Matrix,
    weights: Matrix,
    columns: Matrix,
    stacks: Matrix,
    plans: Matrix,
    of_plan: Places,
    of_sample: Places,
    works: Matrix,
    costs: Matrix,
    parts: Matrix,
) -> None:
    """Write the parts of a step for pairs of a plan and a sample of the software, plan by plan.

    ``works`` keeps the last micro-batch of each sample, which plans beside one another often share.
    """
    case = case_of(numbers, sweep, tiles, messages, norms, weights, columns)
    tensor, micro_batch, expert = 0.0, 0.0, 0.0
    for pair in range(of_plan.size):
        plan, sample = plan_at(plans, of_plan[pair]), of_sample[pair]
        software = software_of(stacks[sample])
        t, b, x, again, by_tokens = (
            plan.tensor,
            plan.micro_batch,
            plan.expert,
            plan.recompute,
            plan.sequence_parallel,
        )
        if not _holds(works, sample, t, b, x, again, by_tokens):
            if t != tensor or b != micro_batch or x != expert:
                tensor, micro_batch, expert = t, b, x
                operator_costs(case, t, b, x, costs, 0)
            _write((t, b, x, again, by_tokens), works, sample, 0)
            _write(micro_batch_work(case, software, t, b, x, again, by_tokens, costs, 0), works, sample, KEYS)
        work = _work_at(works, sample)
        held = device_weights(case, plan)
        sent = gradient_exchanges(case, plan, held, software.network)
        _write(step_time(case, plan, software, held, work, sent), parts, pair, 0)


@kernel
def memory_of_plans(
    numbers: Vector,
    sweep: Matrix,
    tiles: Matrix,
    messages: Matrix,
    norms: Matrix,
    weights: Matrix,
    columns: Matrix,
    plans: Matrix,
    parts: Matrix,
) -> None:
    """Write the memory of every plan by part."""
    case = case_of(numbers, sweep, tiles, messages, norms, weights, columns)
    for place in range(plans.shape[0]):
        plan = plan_at(plans, place)
        kept = micro_batch_activations(
            case, plan.tensor, plan.micro_batch, plan.recompute, plan.sequence_parallel
        )
        _write(device_memory(case, plan, device_weights(case, plan), kept), parts, place, 0)


@kernel
def times_of_operators(
    numbers: Vector,
    sweep: Matrix,
    tiles: Matrix,
    messages: Matrix,
    norms: Matrix,
    weights: Matrix,
    columns: Matrix,
    stacks: Matrix,
    plans: Matrix,
    of_plan: Places,
    of_sample: Places,
    costs: Matrix,
    found: Matrix,
    shares: Vector,
) -> None:
    """Write time, arithmetic, traffic and limit of every operator, and the share of the forward pass."""
    case = case_of(numbers, sweep, tiles, messages, norms, weights, columns)
    for pair in range(of_plan.size):
        plan = plan_at(plans, of_plan[pair])
        software = software_of(stacks[of_sample[pair]])
        tensor, micro_batch, expert = plan.tensor, plan.micro_batch, plan.expert
        operator_costs(case, tensor, micro_batch, expert, costs, 0)
        for place in range(costs.shape[0]):
            count = case.operators[AT.repeats, place]
            forward, backward = operator_time(case, software, place, costs, place)
            flop, traffic, bound = operator_loads(
                case, software, place, tensor, micro_batch, expert, costs, place
            )
            _write(
                (forward * count, backward * count, flop * count, traffic * count, bound),
                found,
                pair,
                5 * place,
            )
        shares[pair] = forward_share(
            case,
            software,
            tensor,
            micro_batch,
            expert,
            plan.recompute,
            plan.sequence_parallel,
            costs,
            0,
        )


class Pairs:
    """Plans and samples of software that broadcast against each other, a row for each pair, plan by plan."""

    def __init__(self, plans: Plans, case: GpuCase) -> None:
        self.plans, shape = plans.rows, plans.shape
        self.shape = np.broadcast_shapes(shape, case.shape)
        of_plan = np.broadcast_to(np.arange(len(self.plans)).reshape(shape), self.shape).ravel()
        of_sample = np.broadcast_to(np.arange(len(case.software)).reshape(case.shape), self.shape).ravel()
        # Plans that share their micro-batch stand beside one another.
        ranks = np.argsort(np.lexsort(self.plans[:, SHARED].T))
        self.order = np.argsort(ranks[of_plan], kind="stable")
        self.of_plan, self.of_sample = of_plan[self.order], of_sample[self.order]

    def restored(self, rows: Floats) -> Floats:
        """Return columns of rows, (C, …), in the order and shape of the pairs."""
        found = np.empty_like(rows)
        found[self.order] = rows
        return found.T.reshape(-1, *self.shape)


def gpu_step(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
) -> StepTime:
    """Return the time of one training step by part, of each plan or of each sample. [s]"""
    return step_of(GpuCase.of(table, system, software, precision, optimizer), plans)


def step_of(case: GpuCase, plans: Plans) -> StepTime:
    """Return the time of one training step by part, of each plan or of each sample. [s]"""
    pairs = Pairs(plans, case)
    parts = np.empty((pairs.of_plan.size, len(Step._fields)))
    works, costs = np.zeros((len(case.software), WORK_COLUMNS)), np.empty((case.operators, COSTS))
    of_pairs = pairs.plans, pairs.of_plan, pairs.of_sample
    sampled_steps(*case.arrays, case.software, *of_pairs, works, costs, parts)
    return StepTime(dict(zip(Step._fields, pairs.restored(parts), strict=True)))


def perfect_gpu_step(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
) -> Floats:
    """Return the time of one step if its software were perfect: none can be faster on the same plan. [s]

    Every share that software reaches of a peak or a bandwidth, and the hidden share of communication, is one;
    there is no traffic beyond that of fused kernels and no fixed time. What the plan itself costs stays:
    the pipeline bubble, recomputation, tiles, collectives that cannot be hidden.
    """
    perfect = replace(software, **PERFECT)
    return gpu_step(table, plans, system, perfect, precision, optimizer).total


MEMORY_PARTS = ("weights", "gradients", "optimizer", "activations", "buffers", "framework")


def gpu_memory(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
) -> MemoryUse:
    """Return the memory of the fullest GPU of each plan, by part. [B]"""
    return memory_use(GpuCase.of(table, system, software, precision, optimizer), plans)


def memory_use(case: GpuCase, plans: Plans) -> MemoryUse:
    """Return the memory of the fullest GPU of each plan, by part. [B]"""
    rows = np.empty((len(plans.rows), len(MEMORY_PARTS) + 1))
    memory_of_plans(*case.arrays, plans.rows, rows)
    parts = rows.T.reshape(-1, *plans.shape)
    return MemoryUse(
        parts=dict(zip(MEMORY_PARTS, parts, strict=False)),
        capacity=case.capacity,
        streaming=parts[-1],
        streaming_capacity=case.host_memory,
    )


def gpu_operator_times(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, precision: Precision
) -> OperatorTimes:
    """Return the time of every operator for one micro-batch, all repeats, on one of the tensor ranks.

    Forward and backward, without launches and without repeated forward passes; arrays (O, …).
    """
    case = GpuCase.of(table, system, software, precision, "adam")
    pairs, found, _ = _operators(case, plans)
    by_operator = found.reshape(len(found), case.operators, 5).transpose(2, 1, 0)
    restored = [pairs.restored(column.T) for column in by_operator]
    return OperatorTimes(*restored)


def gpu_forward_share(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, precision: Precision
) -> Floats:
    """Return the share of a micro-batch's time in the layers that its forward pass takes. [-]"""
    pairs, _, shares = _operators(GpuCase.of(table, system, software, precision, "adam"), plans)
    return pairs.restored(shares[:, np.newaxis])[0]


def _operators(case: GpuCase, plans: Plans) -> tuple[Pairs, Matrix, Vector]:
    pairs = Pairs(plans, case)
    count = pairs.of_plan.size
    costs = np.empty((case.operators, COSTS))
    found, shares = np.empty((count, 5 * case.operators)), np.empty(count)
    times_of_operators(
        *case.arrays, case.software, pairs.plans, pairs.of_plan, pairs.of_sample, costs, found, shares
    )
    return pairs, found, shares
