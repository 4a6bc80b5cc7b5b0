"""Memory of every plan, the time of those that fit, and which are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from app.compiled import Matrix, Places, Vector, kernel
from app.engine.gpu.case import GpuCase
from app.engine.gpu.evaluate import (
    EXCHANGE_COLUMNS,
    KEPT_EXCHANGES,
    KEPT_WORKS,
    WORK_COLUMNS,
    write_steps,
)
from app.engine.gpu.operators import COSTS
from app.engine.plans import PLAN_FIELDS, Plans
from app.engine.records import Floats


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


def evaluate_gpu_plans(case: GpuCase, plans: Plans, *, limit: float) -> Evaluated:
    """Return the memory of plans, and the step time of those that fit into so many bytes of a device."""
    return GpuEvaluator(case)(plans, limit)


@dataclass(frozen=True, slots=True)
class Fitting:
    """The plans that fit, or the one that comes closest where none does."""

    plans: Plans
    evaluated: Evaluated
    least_memory: float
    """Of all plans, whether they fit or not. [B]"""


def fitting(plans: Plans, evaluated: Evaluated, *, limit: float, elsewhere_limit: float) -> Fitting:
    """Return the plans that fit, moved to the front of their rows: the given plans are used up.

    Parameters
    ----------
    plans : Plans
        The plans, (N,), one at least. [-]
    evaluated : Evaluated
        Memory and time of each. [B] [s]
    limit, elsewhere_limit : float
        Bytes of a device, and of its host or streaming memory, 0 where not known; what does not fit is
        held against both. [B]
    """
    rows, closest, count = plans.rows, np.empty(len(PLAN_FIELDS) + 3), np.zeros(1, dtype=np.int64)
    values = evaluated.memory, evaluated.elsewhere, evaluated.seconds
    keep_fitting(rows, *values, limit, elsewhere_limit, closest, count)
    if count[0] == 0:
        width = len(PLAN_FIELDS)
        alone = Evaluated(closest[width : width + 1], closest[width + 1 : width + 2], np.array([np.inf]))
        return Fitting(Plans.of_rows(closest[np.newaxis, :width]), alone, float(closest[-1]))
    kept = Evaluated(*(column[: count[0]] for column in values))
    return Fitting(Plans.of_rows(rows[: count[0]]), kept, float(closest[-1]))


@kernel
def keep_fitting(
    plans: Matrix,
    memory: Vector,
    elsewhere: Vector,
    seconds: Vector,
    limit: float,
    elsewhere_limit: float,
    closest: Vector,
    count: Places,
) -> None:
    """Move plans of finite time to the front, in their order, and write how many there are.

    ``closest`` takes the fields of the plan that is least full, its memory here and elsewhere, and the least
    memory of any.
    """
    kept, least, fullness, width = 0, np.inf, np.inf, plans.shape[1]
    for place in range(plans.shape[0]):
        full = memory[place] / limit
        if elsewhere_limit > 0.0:
            full = max(full, elsewhere[place] / elsewhere_limit)
        least = min(least, memory[place])
        if full < fullness:
            fullness = full
            for field in range(width):
                closest[field] = plans[place, field]
            closest[width], closest[width + 1] = memory[place], elsewhere[place]
        if seconds[place] < np.inf:
            if kept < place:
                for field in range(width):
                    plans[kept, field] = plans[place, field]
                memory[kept], elsewhere[kept] = memory[place], elsewhere[place]
                seconds[kept] = seconds[place]
            kept += 1
    closest[width + 2] = least
    count[0] = kept
