"""Memory of every plan and the time of those that fit, as far as they may be worth it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.compiled import Matrix, Places, Vector, called, inner, kernel, record
from app.engine.gpu.case import Case, GpuCase, SoftwareStack
from app.engine.gpu.plan_steps import (
    PlanCache,
    PlanFigures,
    PlanLimits,
    evaluate_rows,
    least_slot,
    write_slots,
    write_steps,
)
from app.engine.gpu.work import SELECTIVE
from app.engine.plans import PLAN_FIELDS, Plan, Plans
from app.engine.records import Floats
from app.engine.runs import ONE_STEP, RunFigures, least_total_time
from app.engine.search.enumeration import most_plans
from app.engine.search.shares import (
    Layout,
    Options,
    PlanOption,
    choices_of,
    plans_of_layout,
    takes_experts,
)

ENDS = len(PLAN_FIELDS) + 5
CLOSEST_MEMORY, CLOSEST_ELSEWHERE, LEAST_MEMORY, LEAST_FULLNESS, FASTEST = range(len(PLAN_FIELDS), ENDS)
"""Places behind the fields of the least full plan: its memory and memory elsewhere, the least memory of any
plan, how full the least full one is, and the least time of any run."""
KEPT, ALL = 0, 1
"""Counts of plans: that are kept, of all."""
BLOCK = 1024
"""Plans that are evaluated together, so few that they stay in the processor's cache."""
SAMPLED = 16
"""One in so many layouts is looked at first, for a time that the plans of all are held against."""
RECOMPUTE = PLAN_FIELDS.index("recompute")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The plans that fit and are worth it, or the one closest to fitting."""

    plans: Plans
    evaluated: PlanFigures
    count: int
    """All plans, whether they fit or not. [-]"""
    least_memory: float
    """Of all whose memory was computed. [B]"""

    @classmethod
    def of(cls, rows: Floats, evaluated: PlanFigures, ends: Vector, counts: Places) -> Candidates:
        """Return the result of :func:`keep_rows`."""
        kept, count, least = int(counts[KEPT]), int(counts[ALL]), float(ends[LEAST_MEMORY])
        if kept == 0 < count:
            memory, elsewhere = ends[CLOSEST_MEMORY:LEAST_MEMORY, np.newaxis]
            closest = PlanFigures(memory, elsewhere, np.array([np.inf]), np.array([np.inf]))
            return cls(Plans.of_rows(ends[np.newaxis, :CLOSEST_MEMORY]), closest, count, least)
        fitted = PlanFigures(*(values[:kept] for values in evaluated))
        return cls(Plans.of_rows(rows[:kept]), fitted, count, least)


class GpuEvaluator:
    """Evaluates plans of one case, and caches what many plans share."""

    def __init__(self, case: GpuCase) -> None:
        self._case, self._stack, self._host_memory = case.case, case.stack, case.host_memory
        self._cache = PlanCache.empty(case.case)

    def limits(self, memory: float, *, factor: float = 1.0, worth: float = np.inf) -> PlanLimits:
        return PlanLimits(memory, self._host_memory, factor, worth)

    def __call__(self, plans: Plans, limits: PlanLimits, run: RunFigures = ONE_STEP) -> PlanFigures:
        """Return the memory of plans, and step and run of those that fit."""
        evaluated = PlanFigures.room(len(plans.rows))
        write_steps(self._case, self._stack, run, limits, plans.rows, self._cache, evaluated)
        return evaluated

    def slots(self, rows: Floats) -> Vector:
        """Return the least time of a slot of plans, as rows, wherever gradients and state lie. [s]"""
        slots = np.empty(len(rows))
        write_slots(self._case, self._stack, rows, self._cache, slots)
        return slots

    def fitting(
        self, spread: Options, limits: PlanLimits, run: RunFigures = ONE_STEP, fastest: float = np.inf
    ) -> Candidates:
        """Return the plans of layouts with every option that fit and are worth it.

        ``fastest`` is the least time of any other run.
        """
        total, of_one = most_plans(spread)
        rows, evaluated = np.empty((total, len(PLAN_FIELDS))), PlanFigures.room(total)
        size = max(of_one, BLOCK)
        ends, counts = _empty_cache(fastest)
        search_layouts(
            self._case,
            self._stack,
            run,
            limits,
            spread,
            self._cache,
            np.zeros(len(spread.choices)),
            np.empty((size, len(PLAN_FIELDS))),
            PlanFigures.room(size),
            rows,
            evaluated,
            ends,
            counts,
        )
        return Candidates.of(rows, evaluated, ends, counts)

    def recomputing_less(
        self, plans: Plans, limits: PlanLimits, run: RunFigures, slowest: float
    ) -> tuple[Plans, PlanFigures]:
        """Return those plans with the fewest recomputed layers that fit, which gain by not recomputing all.

        ``slowest`` is the time of a run that a plan has to get below.
        """
        rows, evaluated = plans.rows.copy(), PlanFigures.room(len(plans.rows))
        recompute_less(
            self._case,
            self._stack,
            run,
            limits,
            slowest,
            rows,
            self._cache,
            np.empty((1, len(PLAN_FIELDS))),
            PlanFigures.room(1),
            evaluated,
        )
        gained = np.flatnonzero(evaluated.fits)
        return Plans.of_rows(rows[gained]), evaluated.take(gained)


def fitting(plans: Plans, evaluated: PlanFigures, limits: PlanLimits, fastest: float) -> Candidates:
    """Return the plans that fit and are worth it, moved to the front of their rows, which are used up."""
    ends, counts = _empty_cache(fastest)
    keep_fitting(plans.rows, evaluated, limits, ends, counts)
    return Candidates.of(plans.rows, evaluated, ends, counts)


def _empty_cache(fastest: float) -> tuple[Vector, Places]:
    ends = np.empty(ENDS)
    ends[LEAST_MEMORY:] = np.inf
    ends[FASTEST] = fastest
    return ends, np.zeros(2, dtype=np.int64)


@called
def keep_rows(
    plans: Matrix,
    count: int,
    evaluated: PlanFigures,
    limits: PlanLimits,
    to_plans: Matrix,
    to: PlanFigures,
    ends: Vector,
    counts: Places,
) -> None:
    """Append plans that fit and are worth it to others, which may be the same rows; count all.

    ``ends`` receives the fields of the least full plan, and behind them what :data:`CLOSEST_MEMORY` and the
    places after it stand for.
    """
    kept, width = counts[KEPT], plans.shape[1]
    memory, elsewhere, seconds, totals = evaluated
    least, fullness, fastest = ends[LEAST_MEMORY], ends[LEAST_FULLNESS], ends[FASTEST]
    for index in range(count):
        fastest = min(fastest, totals[index])
    for index in range(count):
        least = min(least, memory[index])
        if seconds[index] < np.inf:
            if totals[index] > limits.worth * fastest:
                continue
            for field in range(width):
                to_plans[kept, field] = plans[index, field]
            to.memory[kept], to.elsewhere[kept] = memory[index], elsewhere[index]
            to.seconds[kept], to.totals[kept] = seconds[index], totals[index]
            kept += 1
            continue
        full = memory[index] / limits.memory
        if limits.host_memory > 0.0:
            full = max(full, elsewhere[index] / limits.host_memory)
        if full < fullness:
            fullness = full
            for field in range(width):
                ends[field] = plans[index, field]
            ends[CLOSEST_MEMORY], ends[CLOSEST_ELSEWHERE] = memory[index], elsewhere[index]
    ends[LEAST_MEMORY], ends[LEAST_FULLNESS], ends[FASTEST] = least, fullness, fastest
    counts[KEPT], counts[ALL] = kept, counts[ALL] + count


@kernel
def keep_fitting(
    plans: Matrix, evaluated: PlanFigures, limits: PlanLimits, ends: Vector, counts: Places
) -> None:
    """Move plans that fit and are worth it to the front, in their order."""
    keep_rows(plans, plans.shape[0], evaluated, limits, plans, evaluated, ends, counts)


@called
def put_slots(
    case: Case, stack: SoftwareStack, spread: Options, layout: Layout, cache: PlanCache, slots: Vector
) -> None:
    """Write the least time of a slot of a layout with each of its choices, on whatever ranks experts lie."""
    first, last = choices_of(spread, layout)
    recompute, sequence, least = -1.0, -1.0, np.inf
    for option in range(first, last):
        chosen = record(PlanOption, spread.choices, option)
        # Neighbours differ in where gradients and state lie.
        if chosen.recompute != recompute or chosen.sequence_parallel != sequence:
            recompute, sequence, least = chosen.recompute, chosen.sequence_parallel, np.inf
            for choice in range(spread.experts.size):
                if takes_experts(spread, layout, spread.experts[choice]):
                    plan = Plan(
                        tensor=layout.tensor,
                        pipeline=layout.pipeline,
                        data=layout.data,
                        micro_batch=layout.micro_batch,
                        accumulation=layout.accumulation,
                        interleave=1.0,
                        recompute=recompute,
                        sequence_parallel=sequence,
                        sharding=0.0,
                        sharding_ranks=layout.data,
                        offload=0.0,
                        rts=1.0,
                        rts_optimizer=1.0,
                        phases=1.0,
                        expert=float(spread.experts[choice]),
                        context=layout.context,
                    )
                    least = min(least, least_slot(case, stack, plan, cache))
        slots[option] = least


@inner
def has_same_slots(layout: Layout, other: Layout, experts: int) -> bool:
    """Return whether the slots of layouts with the same choices are the same."""
    return (
        layout.tensor == other.tensor
        and layout.pipeline == other.pipeline
        and layout.micro_batch == other.micro_batch
        and layout.context == other.context
        # Copies decide over which ranks experts can be spread.
        and (experts == 1 or layout.data == other.data)
    )


@kernel
def search_layouts(
    case: Case,
    stack: SoftwareStack,
    run: RunFigures,
    limits: PlanLimits,
    spread: Options,
    cache: PlanCache,
    slots: Vector,
    block: Matrix,
    of_block: PlanFigures,
    plans: Matrix,
    evaluated: PlanFigures,
    ends: Vector,
    counts: Places,
) -> None:
    """Write the plans of layouts that fit and are worth it, with memory and times, in blocks.

    Choices that are too slow by their slots alone are neither written nor counted; ``slots`` are zero.
    """
    layouts = spread.layouts.shape[0]
    bounded = limits.worth < np.inf
    for stride in (SAMPLED, 1):
        if stride > 1 and not bounded:
            continue
        count, index, before, start = 0, 0, -1, 0
        while index < layouts + stride:
            more, longest = count, np.inf
            if index < layouts:
                if bounded:
                    layout = record(Layout, spread.layouts, index)
                    first, _ = choices_of(spread, layout)
                    same = before >= 0 and first == start
                    if same:
                        other = record(Layout, spread.layouts, before)
                        same = has_same_slots(layout, other, spread.experts.size)
                    if not same:
                        put_slots(case, stack, spread, layout, cache, slots)
                        before, start = index, first
                    batch = layout.data * layout.micro_batch * layout.accumulation
                    longest = limits.worth * ends[FASTEST] / least_total_time(run, batch, limits.factor)
                more = plans_of_layout(spread, index, slots, longest, block, count)
            if more > block.shape[0] or index >= layouts:
                evaluate_rows(case, stack, run, limits, block, count, cache, of_block)
                if stride == 1:
                    keep_rows(block, count, of_block, limits, plans, evaluated, ends, counts)
                for row in range(count):
                    ends[FASTEST] = min(ends[FASTEST], of_block.totals[row])
                more = 0
                if index < layouts:
                    more = plans_of_layout(spread, index, slots, longest, block, 0)
            count = more
            index += stride


@kernel
def recompute_less(
    case: Case,
    stack: SoftwareStack,
    run: RunFigures,
    limits: PlanLimits,
    slowest: float,
    plans: Matrix,
    cache: PlanCache,
    one: Matrix,
    of_one: PlanFigures,
    evaluated: PlanFigures,
) -> None:
    """Put into each plan the fewest recomputed layers that fit.

    Infinite figures show that this gains nothing: none has to be, all have to be, or a run is slower than
    ``slowest`` even without any.
    """
    free = PlanLimits(np.inf, 0.0, limits.factor, np.inf)
    for index in range(plans.shape[0]):
        for field in range(plans.shape[1]):
            one[0, field] = plans[index, field]
        low, high, layers = 0.0, case.depth, 0.0
        one[0, RECOMPUTE] = SELECTIVE
        evaluate_rows(case, stack, run, free, one, 1, cache, of_one)
        worth = of_one.totals[0] < slowest
        evaluate_rows(case, stack, run, limits, one, 1, cache, of_one)
        if not worth or of_one.seconds[0] < np.inf:
            low = high
        while high - low > 1.0:
            layers = np.ceil((low + high) / 2.0)
            one[0, RECOMPUTE] = SELECTIVE + layers / case.depth
            evaluate_rows(case, stack, run, limits, one, 1, cache, of_one)
            if of_one.seconds[0] < np.inf:
                high = layers
            else:
                low = layers
        plans[index, RECOMPUTE] = one[0, RECOMPUTE] = SELECTIVE + high / case.depth
        evaluate_rows(case, stack, run, limits, one, 1, cache, of_one)
        gains = high < case.depth
        evaluated.memory[index], evaluated.elsewhere[index] = of_one.memory[0], of_one.elsewhere[0]
        evaluated.seconds[index] = of_one.seconds[0] if gains else np.inf
        evaluated.totals[index] = of_one.totals[0] if gains else np.inf
