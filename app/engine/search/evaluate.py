"""Memory of every plan, the time of those that fit, and which are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from app.compiled import Matrix, Places, Vector, called, kernel
from app.engine.gpu.case import GpuCase, case_of, software_of
from app.engine.gpu.evaluate import (
    EXCHANGE_COLUMNS,
    KEPT_EXCHANGES,
    KEPT_WORKS,
    WORK_COLUMNS,
    Found,
    Kept,
    evaluate_rows,
    write_steps,
)
from app.engine.gpu.operators import COSTS
from app.engine.plans import PLAN_FIELDS, Plans
from app.engine.records import Floats
from app.engine.search.enumeration import plan_count
from app.engine.search.shares import Options, plans_of_layout


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation gives for every plan."""

    memory: Floats
    """Bytes on the fullest device. [B]"""
    elsewhere: Floats
    """Bytes of one device in host or streaming memory. [B]"""
    seconds: Floats
    """Time of one step; infinite where a plan does not fit. [s]"""

    @property
    def fits(self) -> NDArray[np.bool_]:
        """True where a plan fits. [-]"""
        return np.isfinite(self.seconds)

    @classmethod
    def joined(cls, parts: Sequence[Evaluated]) -> Evaluated:
        """Return what was found of several sets of plans, one after the other."""
        return cls(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(cls)))


@dataclass(frozen=True, slots=True)
class Fitting:
    """The plans that fit, or the one that comes closest where none does."""

    plans: Plans
    evaluated: Evaluated
    count: int
    """All plans, whether they fit or not. [-]"""
    least_memory: float
    """Of all of them. [B]"""

    @classmethod
    def of(cls, rows: Floats, evaluated: Evaluated, ends: Vector, counts: Places) -> Fitting:
        """Return what :func:`keep_rows` left of plans."""
        width, kept, count = len(PLAN_FIELDS), int(counts[0]), int(counts[1])
        if kept == 0 < count:
            closest = Evaluated(ends[width : width + 1], ends[width + 1 : width + 2], np.array([np.inf]))
            return cls(Plans.of_rows(ends[np.newaxis, :width]), closest, count, float(ends[-2]))
        found = Evaluated(*(getattr(evaluated, entry.name)[:kept] for entry in fields(evaluated)))
        return cls(Plans.of_rows(rows[:kept]), found, count, float(ends[-2]))


class GpuEvaluator:
    """Evaluates plans of one case, and keeps from one call to the next what many plans share."""

    def __init__(self, case: GpuCase) -> None:
        self._case = case
        self._works = np.zeros((KEPT_WORKS, WORK_COLUMNS))
        self._exchanges = np.zeros((KEPT_EXCHANGES, EXCHANGE_COLUMNS))
        self._costs = np.empty((case.operators, COSTS))

    def __call__(self, plans: Plans, limit: float) -> Evaluated:
        """Return the memory of plans, and the step time of those that fit into so many bytes of a device."""
        rows, case = plans.rows, self._case
        memory, elsewhere, seconds = (np.empty(len(rows)) for _ in range(3))
        write_steps(
            *case.arrays,
            case.software,
            rows,
            self._works,
            self._exchanges,
            self._costs,
            limit,
            case.host_memory,
            memory,
            elsewhere,
            seconds,
        )
        return Evaluated(memory, elsewhere, seconds)

    def fitting(self, spread: Options, limit: float) -> Fitting:
        """Return the plans of layouts with every option that fit into so many bytes of a device."""
        case, width = self._case, len(PLAN_FIELDS)
        total, most = plan_count(spread)
        block = max(most, BLOCK)
        rows, some = np.empty((total, width)), np.empty((block, width))
        found = Evaluated(*(np.empty(total) for _ in range(3)))
        ends, counts = _nothing_kept()
        search_layouts(
            *case.arrays,
            case.software,
            *spread,
            self._works,
            self._exchanges,
            self._costs,
            limit,
            case.host_memory,
            some,
            *(np.empty(block) for _ in range(3)),
            rows,
            found.memory,
            found.elsewhere,
            found.seconds,
            ends,
            counts,
        )
        return Fitting.of(rows, found, ends, counts)


def evaluate_gpu_plans(case: GpuCase, plans: Plans, *, limit: float) -> Evaluated:
    """Return the memory of plans, and the step time of those that fit into so many bytes of a device."""
    return GpuEvaluator(case)(plans, limit)


def fitting(plans: Plans, evaluated: Evaluated, *, limit: float, elsewhere_limit: float) -> Fitting:
    """Return the plans that fit, moved to the front of their rows: the given plans are used up.

    Parameters
    ----------
    plans : Plans
        The plans, (N,). [-]
    evaluated : Evaluated
        Memory and time of each. [B] [s]
    limit, elsewhere_limit : float
        Bytes of a device, and of its host or streaming memory, 0 where not known; what does not fit is
        held against both. [B]
    """
    ends, counts = _nothing_kept()
    values = evaluated.memory, evaluated.elsewhere, evaluated.seconds
    keep_fitting(plans.rows, *values, limit, elsewhere_limit, ends, counts)
    return Fitting.of(plans.rows, evaluated, ends, counts)


BLOCK = 1024
"""Plans that are evaluated together, so few that they stay in the processor's cache."""


def _nothing_kept() -> tuple[Vector, Places]:
    ends = np.empty(len(PLAN_FIELDS) + 4)
    ends[-2:] = np.inf
    return ends, np.zeros(2, dtype=np.int64)


@called
def keep_rows(
    plans: Matrix,
    count: int,
    found: Found,
    limit: float,
    elsewhere_limit: float,
    to_plans: Matrix,
    to: Found,
    ends: Vector,
    counts: Places,
) -> None:
    """Append plans of finite time to others, which may be the same rows, and count both.

    ``ends`` takes the fields of the plan that is least full, its memory here and elsewhere, the least memory
    of any, and how full that plan is.
    """
    kept, width = counts[0], plans.shape[1]
    memory, elsewhere, seconds = found
    least, fullness = ends[width + 2], ends[width + 3]
    for place in range(count):
        if seconds[place] < np.inf:
            for field in range(width):
                to_plans[kept, field] = plans[place, field]
            to.memory[kept], to.elsewhere[kept] = memory[place], elsewhere[place]
            to.seconds[kept] = seconds[place]
            kept += 1
            least = min(least, memory[place])
            continue
        full = memory[place] / limit
        if elsewhere_limit > 0.0:
            full = max(full, elsewhere[place] / elsewhere_limit)
        least = min(least, memory[place])
        if full < fullness:
            fullness = full
            for field in range(width):
                ends[field] = plans[place, field]
            ends[width], ends[width + 1] = memory[place], elsewhere[place]
    ends[width + 2], ends[width + 3] = least, fullness
    counts[0], counts[1] = kept, counts[1] + count


@kernel
def keep_fitting(
    plans: Matrix,
    memory: Vector,
    elsewhere: Vector,
    seconds: Vector,
    limit: float,
    elsewhere_limit: float,
    ends: Vector,
    counts: Places,
) -> None:
    """Move plans of finite time to the front, in their order."""
    found = Found(memory, elsewhere, seconds)
    keep_rows(plans, plans.shape[0], found, limit, elsewhere_limit, plans, found, ends, counts)


@kernel
def search_layouts(
    numbers: Vector,
    sweep: Matrix,
    tiles: Matrix,
    messages: Matrix,
    norms: Matrix,
    weights: Matrix,
    columns: Matrix,
    stack: Matrix,
    layouts: Matrix,
    ranks: Matrix,
    pipelines: Places,
    chunks: Matrix,
    experts: Places,
    expert_count: int,
    options: Matrix,
    starts: Places,
    works: Matrix,
    exchanges: Matrix,
    costs: Matrix,
    limit: float,
    host_memory: float,
    some: Matrix,
    some_memory: Vector,
    some_elsewhere: Vector,
    some_seconds: Vector,
    plans: Matrix,
    memory: Vector,
    elsewhere: Vector,
    seconds: Vector,
    ends: Vector,
    counts: Places,
) -> None:
    """Write the plans of layouts that fit, with memory and step time, block after block."""
    case = case_of(numbers, sweep, tiles, messages, norms, weights, columns)
    software, kept = software_of(stack[0]), Kept(works, exchanges, costs)
    spread = Options(layouts, ranks, pipelines, chunks, experts, expert_count, options, starts)
    block, found = Found(some_memory, some_elsewhere, some_seconds), Found(memory, elsewhere, seconds)
    count = 0
    for place in range(layouts.shape[0] + 1):
        more = count
        if place < layouts.shape[0]:
            more = plans_of_layout(spread, place, some, count)
        if more > some.shape[0] or place == layouts.shape[0]:
            evaluate_rows(case, software, some, count, kept, limit, host_memory, block)
            keep_rows(some, count, block, limit, host_memory, plans, found, ends, counts)
            more = 0
            if place < layouts.shape[0]:
                more = plans_of_layout(spread, place, some, 0)
        count = more
