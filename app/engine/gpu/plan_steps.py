"""Steps and memory of many plans or many samples at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.engine.arrays import store
from app.engine.compiled import Matrix, Places, Vector, called, inner, kernel, record
from app.engine.gpu.case import Case, GpuCase, GpuOperator, MicroBatch, SoftwareStack, micro_batch_of
from app.engine.gpu.collectives import GradientCollectives, Weights, device_weights, gradient_collectives
from app.engine.gpu.memory import (
    OFFLOADED_ACTIVATIONS,
    Activations,
    DeviceMemory,
    device_memory,
    micro_batch_activations,
    offloads,
)
from app.engine.gpu.operators import COSTS, OperatorCost, operator_costs, operator_loads, operator_time
from app.engine.gpu.step import GpuStep, least_slot_time, step_time, step_total
from app.engine.gpu.work import Work, forward_share, micro_batch_work
from app.engine.operators.table import OperatorTable
from app.engine.plans import PLAN_FIELDS, MemoryUse, OperatorTimes, Plan, Plans, StepTime
from app.engine.records import Floats, GpuSoftware, GpuSystem, Indices, Precision, ScaleOutFabric
from app.engine.runs import NO_PLAN, RunFigures, run_of_plan, total_time


class GradientKey(NamedTuple):
    """The fields of a plan that the collectives of its gradients depend on."""

    data: float
    pipeline: float
    tensor: float
    expert: float
    sharding_ranks: float


class CostKey(NamedTuple):
    """The fields of a micro-batch that the costs of its operators depend on."""

    tensor: float
    samples: float
    expert: float


WORK = len(MicroBatch._fields)
"""Column of the cached work of a micro-batch, behind its key."""
ACTIVATIONS = WORK + len(Work._fields)
"""Column of the cached activations of a micro-batch, behind its work."""
WEIGHTS = len(GradientKey._fields)
"""Column of the cached weights of a device, behind their key."""
COLLECTIVES = WEIGHTS + len(Weights._fields)
"""Column of the cached collectives of gradients, behind the weights."""
CACHED_WORKS, CACHED_COLLECTIVES = 1024, 256
"""Rows of the caches of micro-batches and of gradients."""
SHARED = [
    PLAN_FIELDS.index(name)
    for name in ("context", "sequence_parallel", "recompute", "expert", "micro_batch", "tensor")
]
"""Fields that the work of a micro-batch depends on."""

PERFECT: Mapping[str, Any] = {
    "matrix_efficiency": 1.0,
    "attention_efficiency": 1.0,
    "elementwise_factor": 1.0,
    "overlap": 1.0,
    "layer_overlap": 1.0,
    "network_efficiency": 1.0,
    "step_overhead": 0.0,
    "dispatch_interval": 0.0,
    "micro_batch_overhead": 0.0,
    "expert_overhead": 0.0,
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


Key = MicroBatch | GradientKey


@inner
def _row_of(rows: int, key: Key) -> int:
    """Return the row of a key in a cache."""
    code = 0
    for index in range(len(key)):
        # Parts of a sample are no whole numbers.
        code = ((code * 31) ^ int(key[index] * 4.0)) * 0x9E3779B1
        code ^= code >> 15
    return code & (rows - 1)


@inner
def _holds(cache: Matrix, row: int, key: Key) -> bool:
    """Return whether a row of a cache holds a key."""
    alike = 0
    while alike < len(key) and cache[row, alike] == key[alike]:
        alike += 1
    return alike == len(key)


class PlanCache(NamedTuple):
    """Results that many plans share, each behind its key; valid for one case."""

    works: Matrix
    collectives: Matrix
    costs: Matrix
    """Of the operators of the last micro-batch."""

    @classmethod
    def empty(cls, case: Case) -> PlanCache:
        works = np.zeros((CACHED_WORKS, ACTIVATIONS + len(Activations._fields)))
        return cls(
            works,
            np.zeros((CACHED_COLLECTIVES, COLLECTIVES + len(GradientCollectives._fields))),
            room_for_costs(case),
        )


class PlanFigures(NamedTuple):
    """Memory and step time of plans."""

    memory: Vector
    """Bytes on the fullest device. [B]"""
    elsewhere: Vector
    """Bytes of one device in host or streaming memory. [B]"""
    seconds: Vector
    """Time of one step; infinite where a plan does not fit. [s]"""
    totals: Vector
    """Time of the whole run; infinite where a plan does not fit. [s]"""

    @classmethod
    def room(cls, count: int) -> PlanFigures:
        return cls(*(np.empty(count) for _ in cls._fields))

    @classmethod
    def joined(cls, parts: Sequence[PlanFigures]) -> PlanFigures:
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def take(self, index: Indices) -> PlanFigures:
        return PlanFigures(*(values[index] for values in self))

    @property
    def fits(self) -> NDArray[np.bool_]:
        return np.isfinite(self.seconds)


class PlanLimits(NamedTuple):
    """What plans are held against."""

    memory: float
    """Bytes of a device that a plan may fill. [B]"""
    host_memory: float
    """Bytes of one device in host memory; 0 where not known. [B]"""
    factor: float
    """On the time of a step. [-]"""
    worth: float
    """How many times as long as the fastest run a run may take; infinite to keep every plan. [-]"""


@inner
def put_work(
    case: Case, stack: SoftwareStack, micro: MicroBatch, works: Matrix, row: int, costs: Matrix
) -> None:
    """Write the work of a micro-batch into a row.

    ``costs`` caches the costs of the operators of the last micro-batch, and behind them their key.
    """
    last = costs.shape[0] - 1
    cached = record(CostKey, costs, last)
    if cached.tensor != micro.tensor or cached.samples != micro.samples or cached.expert != micro.expert:
        key = CostKey(tensor=micro.tensor, samples=micro.samples, expert=micro.expert)
        store(costs, last, 0, key)
        operator_costs(case, micro, costs)
    store(works, row, 0, micro)
    store(works, row, WORK, micro_batch_work(case, stack, micro, costs))


def room_for_costs(case: Case) -> Matrix:
    return np.zeros((len(case.operators) + 1, COSTS))


@inner
def row_of_work(case: Case, stack: SoftwareStack, micro: MicroBatch, cache: PlanCache) -> int:
    """Return the row of the cache that holds the work and the activations of a micro-batch."""
    works, _, costs = cache
    row = _row_of(works.shape[0], micro)
    if not _holds(works, row, micro):
        put_work(case, stack, micro, works, row, costs)
        store(works, row, ACTIVATIONS, micro_batch_activations(case, micro))
    return row


@called
def least_slot(case: Case, stack: SoftwareStack, plan: Plan, cache: PlanCache) -> float:
    """Return the least time of a slot of a plan, wherever its gradients and its state lie. [s]"""
    row = row_of_work(case, stack, micro_batch_of(plan), cache)
    return least_slot_time(case, plan, stack, record(Work, cache.works, row, WORK))


@called
def evaluate_rows(
    case: Case,
    stack: SoftwareStack,
    run: RunFigures,
    limits: PlanLimits,
    plans: Matrix,
    count: int,
    cache: PlanCache,
    evaluated: PlanFigures,
) -> None:
    """Write memory, step time and run of the first ``count`` plans of a matrix."""
    works, collectives, _ = cache
    memory, elsewhere, seconds, totals = evaluated
    work_row, gradient_row, of_plan = 0, 0, NO_PLAN
    for index in range(count):
        plan = record(Plan, plans, index)
        micro = micro_batch_of(plan)
        # Neighbours often share both.
        if not _holds(works, work_row, micro):
            work_row = row_of_work(case, stack, micro, cache)
        gradients = GradientKey(
            data=plan.data,
            pipeline=plan.pipeline,
            tensor=plan.tensor,
            expert=plan.expert,
            sharding_ranks=plan.sharding_ranks,
        )
        if not _holds(collectives, gradient_row, gradients):
            gradient_row = _row_of(collectives.shape[0], gradients)
            if not _holds(collectives, gradient_row, gradients):
                device = device_weights(case, plan)
                store(collectives, gradient_row, 0, gradients)
                store(collectives, gradient_row, WEIGHTS, device)
                sent = gradient_collectives(case, plan, device, stack.network)
                store(collectives, gradient_row, COLLECTIVES, sent)
        weights = record(Weights, collectives, gradient_row, WEIGHTS)
        activations = record(Activations, works, work_row, ACTIVATIONS)
        use = device_memory(case, plan, weights, activations)
        total = use.weights + use.gradients + use.optimizer + use.activations + use.buffers + use.framework
        memory[index], elsewhere[index] = total, use.elsewhere
        seconds[index] = totals[index] = np.inf
        if total <= limits.memory and (limits.host_memory == 0.0 or use.elsewhere <= limits.host_memory):
            work = record(Work, works, work_row, WORK)
            sent = record(GradientCollectives, collectives, gradient_row, COLLECTIVES)
            step = step_time(case, plan, stack, weights, work, sent, activations.layers)
            seconds[index] = limits.factor * step_total(step)
            of_plan = run_of_plan(run, of_plan, plan)
            totals[index] = total_time(run, of_plan, seconds[index])


@kernel
def write_steps(
    case: Case,
    stack: SoftwareStack,
    run: RunFigures,
    limits: PlanLimits,
    plans: Matrix,
    cache: PlanCache,
    evaluated: PlanFigures,
) -> None:
    """Write memory, step time and run of every plan; infinite where it does not fit."""
    evaluate_rows(case, stack, run, limits, plans, plans.shape[0], cache, evaluated)


@kernel
def write_slots(case: Case, stack: SoftwareStack, plans: Matrix, cache: PlanCache, slots: Vector) -> None:
    """Write the least time of a slot of every plan, wherever its gradients and its state lie. [s]"""
    for index in range(plans.shape[0]):
        slots[index] = least_slot(case, stack, record(Plan, plans, index), cache)


@kernel
def sampled_steps(
    case: Case,
    stacks: Matrix,
    plans: Matrix,
    of_plan: Places,
    of_sample: Places,
    works: Matrix,
    costs: Matrix,
    parts: Matrix,
) -> None:
    """Write the parts of a step for pairs of a plan and a sample of the stack, plan by plan.

    ``works`` caches the last micro-batch of each sample, which neighbouring plans often share.
    """
    for pair in range(of_plan.size):
        plan, sample = record(Plan, plans, of_plan[pair]), of_sample[pair]
        stack = record(SoftwareStack, stacks, sample)
        micro = micro_batch_of(plan)
        if not _holds(works, sample, micro):
            put_work(case, stack, micro, works, sample, costs)
        weights, work = device_weights(case, plan), record(Work, works, sample, WORK)
        sent = gradient_collectives(case, plan, weights, stack.network)
        kept = 0.0
        if offloads(plan, OFFLOADED_ACTIVATIONS):
            kept = micro_batch_activations(case, micro).layers
        store(parts, pair, 0, step_time(case, plan, stack, weights, work, sent, kept))


@kernel
def memory_of_plans(case: Case, plans: Matrix, parts: Matrix) -> None:
    for index in range(plans.shape[0]):
        plan = record(Plan, plans, index)
        activations = micro_batch_activations(case, micro_batch_of(plan))
        store(parts, index, 0, device_memory(case, plan, device_weights(case, plan), activations))


class OperatorRow(NamedTuple):
    """What :class:`~app.engine.plans.OperatorTimes` says of one operator, all repeats."""

    forward: float
    backward: float
    flop: float
    traffic: float
    bound: float


OPERATOR_ROW = len(OperatorRow._fields)


@kernel
def times_of_operators(
    case: Case,
    stacks: Matrix,
    plans: Matrix,
    of_plan: Places,
    of_sample: Places,
    costs: Matrix,
    rows: Matrix,
    shares: Vector,
) -> None:
    """Write :class:`OperatorRow` of every operator, and the share of the forward pass."""
    for pair in range(of_plan.size):
        micro = micro_batch_of(record(Plan, plans, of_plan[pair]))
        stack = record(SoftwareStack, stacks, of_sample[pair])
        operator_costs(case, micro, costs)
        for index in range(case.operators.shape[0]):
            row = record(GpuOperator, case.operators, index)
            cost = record(OperatorCost, costs, index)
            forward, backward = operator_time(case, stack, row, cost)
            flop, traffic, bound = operator_loads(case, stack, row, micro, cost)
            values = OperatorRow(
                forward=forward * row.repeats,
                backward=backward * row.repeats,
                flop=flop * row.repeats,
                traffic=traffic * row.repeats,
                bound=bound,
            )
            store(rows, pair, OPERATOR_ROW * index, values)
        shares[pair] = forward_share(case, stack, micro, costs)


class Pairs:
    """Pairs of plans and samples of stack, which broadcast against each other; plan by plan."""

    def __init__(self, plans: Plans, case: GpuCase) -> None:
        self.plans, shape = plans.rows, plans.shape
        self.shape = np.broadcast_shapes(shape, case.shape)
        of_plan = np.broadcast_to(np.arange(len(self.plans)).reshape(shape), self.shape).ravel()
        of_sample = np.broadcast_to(np.arange(len(case.stacks)).reshape(case.shape), self.shape).ravel()
        self.order = np.arange(of_plan.size)
        if len(self.plans) > 1:
            # Plans that share their micro-batch are placed next to each other.
            ranks = np.argsort(np.lexsort(self.plans[:, SHARED].T))
            self.order = np.argsort(ranks[of_plan], kind="stable")
        self.of_plan, self.of_sample = of_plan[self.order], of_sample[self.order]

    def restored(self, rows: Floats) -> Floats:
        """Return columns of rows, (C, …), in the order and shape of the pairs."""
        ordered = np.empty_like(rows)
        ordered[self.order] = rows
        return ordered.T.reshape(-1, *self.shape)


def step_times(case: GpuCase, plans: Plans) -> StepTime:
    """Return the time of one training step by part, of each plan or of each sample. [s]"""
    pairs = Pairs(plans, case)
    parts = np.empty((pairs.of_plan.size, len(GpuStep._fields)))
    works, costs = np.zeros((len(case.stacks), ACTIVATIONS)), room_for_costs(case.case)
    sampled_steps(case.case, case.stacks, pairs.plans, pairs.of_plan, pairs.of_sample, works, costs, parts)
    return StepTime(dict(zip(GpuStep._fields, pairs.restored(parts), strict=True)))


def perfect_gpu_step(
    case: GpuCase, plans: Plans, software: GpuSoftware, fabric: ScaleOutFabric, precision: Precision
) -> Floats:
    """Return the step time with perfect software: a lower bound for the same plan. [s]

    All efficiencies and the hidden share of communication are one; there is no traffic beyond that of fused
    kernels and no fixed time. What the plan costs stays: the pipeline bubble, recomputation, tiles,
    collectives that cannot be hidden.
    """
    return step_times(case.running(software._replace(**PERFECT), fabric, precision), plans).total


MEMORY_PARTS = tuple(name for name in DeviceMemory._fields if name != "elsewhere")


def memory_use(case: GpuCase, plans: Plans) -> MemoryUse:
    """Return the memory of the fullest GPU of each plan, by part. [B]"""
    rows = np.empty((len(plans.rows), len(DeviceMemory._fields)))
    memory_of_plans(case.case, plans.rows, rows)
    memory = dict(zip(DeviceMemory._fields, rows.T.reshape(-1, *plans.shape), strict=True))
    return MemoryUse(
        parts={name: memory[name] for name in MEMORY_PARTS},
        capacity=case.capacity,
        streaming=memory["elsewhere"],
        streaming_capacity=case.host_memory,
    )


def gpu_operator_times(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, precision: Precision
) -> OperatorTimes:
    """Return the time of every operator for one micro-batch, all repeats, on one tensor rank, (O, …)."""
    return operator_times_of(GpuCase.of(table, system, software, precision, "adam"), plans)


def operator_times_of(case: GpuCase, plans: Plans) -> OperatorTimes:
    """Return the time of every operator for one micro-batch, all repeats, on one tensor rank, (O, …).

    Forward and backward, without launches and without repeated forward passes.
    """
    pairs, rows, _ = _operators(case, plans)
    by_operator = rows.reshape(len(rows), len(case.case.operators), OPERATOR_ROW).transpose(2, 1, 0)
    restored = [pairs.restored(column.T) for column in by_operator]
    return OperatorTimes(**dict(zip(OperatorRow._fields, restored, strict=True)))


def gpu_forward_share(case: GpuCase, plans: Plans) -> Floats:
    """Return the forward pass's share of a micro-batch's time in the layers. [-]"""
    pairs, _, shares = _operators(case, plans)
    return pairs.restored(shares[:, np.newaxis])[0]


def _operators(case: GpuCase, plans: Plans) -> tuple[Pairs, Matrix, Vector]:
    pairs = Pairs(plans, case)
    costs, of_pairs = room_for_costs(case.case), (pairs.plans, pairs.of_plan, pairs.of_sample)
    rows = np.empty((pairs.of_plan.size, OPERATOR_ROW * len(case.case.operators)))
    shares = np.empty(pairs.of_plan.size)
    times_of_operators(case.case, case.stacks, *of_pairs, costs, rows, shares)
    return pairs, rows, shares
