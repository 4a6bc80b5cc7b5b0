"""Memory of every plan and the time of those that fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.compiled import Matrix, Places, Vector, called, kernel
from app.engine.gpu.case import Case, GpuCase, SoftwareStack
from app.engine.gpu.plan_steps import PlanCache, PlanFigures, evaluate_rows, write_steps
from app.engine.plans import PLAN_FIELDS, Plans
from app.engine.records import Floats
from app.engine.search.enumeration import plan_count
from app.engine.search.shares import Options, plans_of_layout

ENDS = len(PLAN_FIELDS) + 4
CLOSEST_MEMORY, CLOSEST_ELSEWHERE, LEAST_MEMORY, LEAST_FULLNESS = range(len(PLAN_FIELDS), ENDS)
"""Places behind the fields of the least full plan: its memory and memory elsewhere, the least memory of any
plan, and how full the least full one is."""
FITS, ALL = 0, 1
"""Counts of plans: that fit, of all."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The plans that fit, or the one closest to fitting."""

    plans: Plans
    evaluated: PlanFigures
    count: int
    """All plans, whether they fit or not. [-]"""
    least_memory: float
    """Of all of them. [B]"""

    @classmethod
    def of(cls, rows: Floats, evaluated: PlanFigures, ends: Vector, counts: Places) -> Candidates:
        """Return the result of :func:`keep_rows`."""
        fitting_count, count, least = int(counts[FITS]), int(counts[ALL]), float(ends[LEAST_MEMORY])
        if fitting_count == 0 < count:
            closest = PlanFigures(
                memory=ends[CLOSEST_MEMORY : CLOSEST_MEMORY + 1],
                elsewhere=ends[CLOSEST_ELSEWHERE : CLOSEST_ELSEWHERE + 1],
                seconds=np.array([np.inf]),
            )
            return cls(Plans.of_rows(ends[np.newaxis, :CLOSEST_MEMORY]), closest, count, least)
        fitted = PlanFigures(*(values[:fitting_count] for values in evaluated))
        return cls(Plans.of_rows(rows[:fitting_count]), fitted, count, least)


class GpuEvaluator:
    """Evaluates plans of one case, and caches what many plans share."""

    def __init__(self, case: GpuCase) -> None:
        self._case, self._stack, self._host_memory = case.case, case.stack, case.host_memory
        self._cache = PlanCache.empty(case.case)

    def __call__(self, plans: Plans, limit: float) -> PlanFigures:
        """Return the memory of plans, and the step time of those within ``limit`` bytes of a device."""
        evaluated = PlanFigures.room(len(plans.rows))
        write_steps(self._case, self._stack, plans.rows, self._cache, limit, self._host_memory, evaluated)
        return evaluated

    def fitting(self, spread: Options, limit: float) -> Candidates:
        """Return the plans of layouts with every option that fit into ``limit`` bytes of a device."""
        total, most = plan_count(spread)
        rows, evaluated = np.empty((total, len(PLAN_FIELDS))), PlanFigures.room(total)
        size = max(most, BLOCK)
        ends, counts = _empty_cache()
        search_layouts(
            self._case,
            self._stack,
            spread,
            self._cache,
            limit,
            self._host_memory,
            np.empty((size, len(PLAN_FIELDS))),
            PlanFigures.room(size),
            rows,
            evaluated,
            ends,
            counts,
        )
        return Candidates.of(rows, evaluated, ends, counts)


def fitting(plans: Plans, evaluated: PlanFigures, *, limit: float, elsewhere_limit: float) -> Candidates:
    """Return the plans that fit, moved to the front of their rows: the given plans are used up.

    What does not fit is held against the bytes of a device, and of its host or streaming memory, 0 where not
    known.
    """
    ends, counts = _empty_cache()
    keep_fitting(plans.rows, evaluated, limit, elsewhere_limit, ends, counts)
    return Candidates.of(plans.rows, evaluated, ends, counts)


BLOCK = 1024
"""Plans that are evaluated together, so few that they stay in the processor's cache."""


def _empty_cache() -> tuple[Vector, Places]:
    ends = np.empty(ENDS)
    ends[LEAST_MEMORY] = ends[LEAST_FULLNESS] = np.inf
    return ends, np.zeros(2, dtype=np.int64)


@called
def keep_rows(
    plans: Matrix,
    count: int,
    evaluated: PlanFigures,
    limit: float,
    elsewhere_limit: float,
    to_plans: Matrix,
    to: PlanFigures,
    ends: Vector,
    counts: Places,
) -> None:
    """Append plans of finite time to others, which may be the same rows, and count both.

    ``ends`` receives the fields of the least full plan, and behind them what :data:`CLOSEST_MEMORY` and the
    places after it stand for.
    """
    fitting_count, width = counts[FITS], plans.shape[1]
    memory, elsewhere, seconds = evaluated
    least, fullness = ends[LEAST_MEMORY], ends[LEAST_FULLNESS]
    for index in range(count):
        if seconds[index] < np.inf:
            for field in range(width):
                to_plans[fitting_count, field] = plans[index, field]
            to.memory[fitting_count], to.elsewhere[fitting_count] = memory[index], elsewhere[index]
            to.seconds[fitting_count] = seconds[index]
            fitting_count += 1
            least = min(least, memory[index])
            continue
        full = memory[index] / limit
        if elsewhere_limit > 0.0:
            full = max(full, elsewhere[index] / elsewhere_limit)
        least = min(least, memory[index])
        if full < fullness:
            fullness = full
            for field in range(width):
                ends[field] = plans[index, field]
            ends[CLOSEST_MEMORY], ends[CLOSEST_ELSEWHERE] = memory[index], elsewhere[index]
    ends[LEAST_MEMORY], ends[LEAST_FULLNESS] = least, fullness
    counts[FITS], counts[ALL] = fitting_count, counts[ALL] + count


@kernel
def keep_fitting(
    plans: Matrix, evaluated: PlanFigures, limit: float, elsewhere_limit: float, ends: Vector, counts: Places
) -> None:
    """Move plans of finite time to the front, in their order."""
    keep_rows(plans, plans.shape[0], evaluated, limit, elsewhere_limit, plans, evaluated, ends, counts)


@kernel
def search_layouts(
    case: Case,
    stack: SoftwareStack,
    spread: Options,
    cache: PlanCache,
    limit: float,
    host_memory: float,
    block: Matrix,
    of_block: PlanFigures,
    plans: Matrix,
    evaluated: PlanFigures,
    ends: Vector,
    counts: Places,
) -> None:
    """Write the plans of layouts that fit, with memory and step time, in blocks."""
    count, layouts = 0, spread.layouts.shape[0]
    for index in range(layouts + 1):
        more = count
        if index < layouts:
            more = plans_of_layout(spread, index, block, count)
        if more > block.shape[0] or index == layouts:
            evaluate_rows(case, stack, block, count, cache, limit, host_memory, of_block)
            keep_rows(block, count, of_block, limit, host_memory, plans, evaluated, ends, counts)
            more = 0
            if index < layouts:
                more = plans_of_layout(spread, index, block, 0)
        count = more
