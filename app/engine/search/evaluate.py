"""Memory of every plan and the time of those that fit, as far as they may be worth it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.compiled import Matrix, Places, Vector, called, kernel
from app.engine.gpu.case import Case, GpuCase, SoftwareStack
from app.engine.gpu.memory import SELECTIVE
from app.engine.gpu.plan_steps import Limits, PlanCache, PlanFigures, evaluate_rows, write_steps
from app.engine.plans import PLAN_FIELDS, Plans
from app.engine.records import Floats
from app.engine.runs import ONE_STEP, RunFigures
from app.engine.search.enumeration import plan_count
from app.engine.search.shares import Options, plans_of_layout

ENDS = len(PLAN_FIELDS) + 4
CLOSEST_MEMORY, CLOSEST_ELSEWHERE, LEAST_MEMORY, LEAST_FULLNESS = range(len(PLAN_FIELDS), ENDS)
"""Places behind the fields of the least full plan: its memory and memory elsewhere, the least memory of any
plan, and how full the least full one is."""
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

    def limits(self, memory: float, *, factor: float = 1.0, worth: float = np.inf) -> Limits:
        return Limits(memory, self._host_memory, factor, worth)

    def __call__(
        self,
        plans: Plans,
        limits: Limits,
        run: RunFigures = ONE_STEP,
        fastest: Vector | None = None,
    ) -> PlanFigures:
        """Return the memory of plans, and step and run of those within the limits."""
        evaluated = PlanFigures.room(len(plans.rows))
        best = np.array([np.inf]) if fastest is None else fastest
        write_steps(self._case, self._stack, run, limits, plans.rows, self._cache, evaluated, best)
        return evaluated

    def fitting(
        self, spread: Options, limits: Limits, run: RunFigures = ONE_STEP, fastest: Vector | None = None
    ) -> Candidates:
        """Return the plans of layouts with every option that keep to the limits.

        ``fastest``, the least time of any run so far, is brought up to date.
        """
        total, most = plan_count(spread)
        rows, evaluated = np.empty((total, len(PLAN_FIELDS))), PlanFigures.room(total)
        size = max(most, BLOCK)
        ends, counts = _empty_cache()
        search_layouts(
            self._case,
            self._stack,
            run,
            limits,
            spread,
            self._cache,
            np.empty((size, len(PLAN_FIELDS))),
            PlanFigures.room(size),
            rows,
            evaluated,
            np.array([np.inf]) if fastest is None else fastest,
            ends,
            counts,
        )
        return Candidates.of(rows, evaluated, ends, counts)

    def recomputing_less(
        self, plans: Plans, limits: Limits, run: RunFigures, fastest: Vector
    ) -> tuple[Plans, PlanFigures]:
        """Return plans with full recompute, with the fewest recomputed layers that fit instead of all."""
        rows, evaluated = plans.rows.copy(), PlanFigures.room(len(plans.rows))
        recompute_less(
            self._case,
            self._stack,
            run,
            limits,
            rows,
            self._cache,
            np.empty((1, len(PLAN_FIELDS))),
            PlanFigures.room(1),
            evaluated,
            fastest,
        )
        return Plans.of_rows(rows), evaluated


def fitting(plans: Plans, evaluated: PlanFigures, limits: Limits, slowest: float) -> Candidates:
    """Return the plans whose runs are no slower than a time, moved to the front: the given are used up."""
    ends, counts = _empty_cache()
    keep_fitting(plans.rows, evaluated, limits, slowest, ends, counts)
    return Candidates.of(plans.rows, evaluated, ends, counts)


def _empty_cache() -> tuple[Vector, Places]:
    ends = np.empty(ENDS)
    ends[LEAST_MEMORY] = ends[LEAST_FULLNESS] = np.inf
    return ends, np.zeros(2, dtype=np.int64)


@called
def keep_rows(
    plans: Matrix,
    count: int,
    evaluated: PlanFigures,
    limits: Limits,
    slowest: float,
    to_plans: Matrix,
    to: PlanFigures,
    ends: Vector,
    counts: Places,
) -> None:
    """Append plans whose runs are no slower than a time to others, which may be the same rows.

    Plans are counted, kept or not. ``ends`` receives the fields of the least full plan, and behind them what
    :data:`CLOSEST_MEMORY` and the places after it stand for.
    """
    kept, width = counts[KEPT], plans.shape[1]
    memory, elsewhere, seconds, totals = evaluated
    least, fullness = ends[LEAST_MEMORY], ends[LEAST_FULLNESS]
    for index in range(count):
        least = min(least, memory[index])
        if seconds[index] < np.inf:
            if totals[index] > slowest:
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
    ends[LEAST_MEMORY], ends[LEAST_FULLNESS] = least, fullness
    counts[KEPT], counts[ALL] = kept, counts[ALL] + count


@kernel
def keep_fitting(
    plans: Matrix, evaluated: PlanFigures, limits: Limits, slowest: float, ends: Vector, counts: Places
) -> None:
    """Move plans whose runs are no slower than a time to the front, in their order."""
    keep_rows(plans, plans.shape[0], evaluated, limits, slowest, plans, evaluated, ends, counts)


@kernel
def search_layouts(
    case: Case,
    stack: SoftwareStack,
    run: RunFigures,
    limits: Limits,
    spread: Options,
    cache: PlanCache,
    block: Matrix,
    of_block: PlanFigures,
    plans: Matrix,
    evaluated: PlanFigures,
    fastest: Vector,
    ends: Vector,
    counts: Places,
) -> None:
    """Write the plans of layouts that keep to the limits, with memory and times, in blocks."""
    layouts = spread.layouts.shape[0]
    for stride in (SAMPLED, 1):
        if stride > 1 and not limits.worth < np.inf:
            continue
        count, index = 0, 0
        while index < layouts + stride:
            more = count
            if index < layouts:
                more = plans_of_layout(spread, index, block, count)
            if more > block.shape[0] or index >= layouts:
                if count > 0:
                    evaluate_rows(case, stack, run, limits, block, count, cache, of_block, fastest)
                if stride == 1:
                    slowest = limits.worth * fastest[0]
                    keep_rows(block, count, of_block, limits, slowest, plans, evaluated, ends, counts)
                more = 0
                if index < layouts:
                    more = plans_of_layout(spread, index, block, 0)
            count = more
            index += stride


@kernel
def recompute_less(
    case: Case,
    stack: SoftwareStack,
    run: RunFigures,
    limits: Limits,
    plans: Matrix,
    cache: PlanCache,
    one: Matrix,
    of_one: PlanFigures,
    evaluated: PlanFigures,
    fastest: Vector,
) -> None:
    """Put into each plan the fewest recomputed layers that fit.

    Infinite figures show that this gains nothing: none has to be, all have to be, or even without any the
    plan is not worth it.
    """
    free = Limits(limits.memory, limits.host_memory, limits.factor, np.inf)
    for index in range(plans.shape[0]):
        low, high, layers = -1.0, case.depth, 0.0
        for field in range(plans.shape[1]):
            one[0, field] = plans[index, field]
        of_one.seconds[0] = np.inf
        while high - low > 1.0:
            one[0, RECOMPUTE] = SELECTIVE + layers / case.depth
            evaluate_rows(case, stack, run, limits if low < 0.0 else free, one, 1, cache, of_one, fastest)
            if of_one.seconds[0] < np.inf:
                high = layers
            elif of_one.memory[0] == np.inf:
                break
            else:
                low = layers
            layers = np.ceil((low + high) / 2.0)
        evaluated.seconds[index] = evaluated.totals[index] = np.inf
        evaluated.memory[index] = evaluated.elsewhere[index] = np.inf
        plans[index, RECOMPUTE] = SELECTIVE + high / case.depth
        if 0.0 < high < case.depth:
            one[0, RECOMPUTE] = plans[index, RECOMPUTE]
            evaluate_rows(case, stack, run, free, one, 1, cache, of_one, fastest)
            evaluated.memory[index], evaluated.elsewhere[index] = of_one.memory[0], of_one.elsewhere[0]
            evaluated.seconds[index], evaluated.totals[index] = of_one.seconds[0], of_one.totals[0]
