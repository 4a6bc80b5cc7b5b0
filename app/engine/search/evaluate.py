"""Memory of every plan on GPUs, and the time of those that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from app.engine.distinct import distinct_columns
from app.engine.gpu.case import GpuCase
from app.engine.gpu.evaluate import (
    EXCHANGE_COLUMNS,
    WORK_COLUMNS,
    write_exchanges,
    write_steps,
    write_works,
)
from app.engine.gpu.operators import COSTS
from app.engine.gpu.weights import WEIGHT_KEYS
from app.engine.gpu.work import WORK_KEYS
from app.engine.plans import Plans
from app.engine.records import Floats

WORK_ROWS = [Plans.__slots__.index(name) for name in WORK_KEYS]
EXCHANGE_ROWS = [Plans.__slots__.index(name) for name in WEIGHT_KEYS]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation gives for every plan."""

    memory: Floats
    """Bytes on the fullest device. [B]"""
    elsewhere: Floats
    """Bytes of one device in host or streaming memory. [B]"""
    fits: NDArray[np.bool_]
    """True where both stay inside what there is. [-]"""
    seconds: Floats
    """Time of one step; infinite where a plan does not fit. [s]"""

    @classmethod
    def joined(cls, parts: Sequence[Evaluated]) -> Evaluated:
        """Return what was found of several sets of plans, one after the other."""
        return cls(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(cls)))


def evaluate_gpu_plans(case: GpuCase, plans: Plans, *, limit: float) -> Evaluated:
    """Return the memory of every plan, and the step time of those that fit into so many bytes of a device."""
    matrix = plans.matrix
    count = matrix.shape[1]
    work_keys = matrix[WORK_ROWS]
    work, work_index = distinct_columns(work_keys)
    # Neighbours that differ in their modes alone share their operators.
    order = np.lexsort(work_keys[:3, work])
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    exchange, exchange_index = distinct_columns(matrix[EXCHANGE_ROWS])
    memory, elsewhere, seconds = (np.empty(count) for _ in range(3))
    works = np.empty((work.size, WORK_COLUMNS))
    exchanges = np.empty((exchange.size, EXCHANGE_COLUMNS))
    write_works(*case.arrays, case.software, matrix, work[order], np.empty((case.operators, COSTS)), works)
    write_exchanges(*case.arrays, case.software, matrix, exchange, exchanges)
    write_steps(
        *case.arrays,
        case.software,
        matrix,
        works,
        place[work_index],
        exchanges,
        exchange_index,
        limit,
        case.host_memory,
        memory,
        elsewhere,
        seconds,
    )
    return Evaluated(memory, elsewhere, np.isfinite(seconds), seconds)
