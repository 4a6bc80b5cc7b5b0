"""Memory of every candidate, then the time of those that fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.engine.gpu.activations import Activations, micro_batch_activations
from app.engine.gpu.exchanges import gradient_exchanges
from app.engine.gpu.memory import gpu_memory
from app.engine.gpu.operators import element_bytes, gpu_operator_times
from app.engine.gpu.step import gpu_step
from app.engine.gpu.weights import device_weights
from app.engine.gpu.work import WORK_KEYS, MicroBatchWork, micro_batch_work
from app.engine.operators import OperatorTable
from app.engine.plans import OperatorTimes, Plans
from app.engine.records import Floats, GpuSoftware, GpuSystem, Precision
from app.engine.search.space import Candidates

Gathered = TypeVar("Gathered", Activations, MicroBatchWork)

CHUNK = 8192
"""Plans whose arrays stay in a core's cache together."""

CELLS = 16_384
"""Operators times combinations that are computed together; all tiles that are tried take some 100 MB."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation gives for every candidate."""

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
        """Return what was found of several sets of candidates, one after the other."""
        return cls(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(cls)))


def evaluate_gpu_plans(
    table: OperatorTable,
    candidates: Candidates,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
    *,
    limit: float,
    host_memory: float = 0.0,
) -> Evaluated:
    """Memory of every candidate, and the step time of those that fit.

    What depends on few of a plan's coordinates is computed once for each combination, by the functions that
    serve a single estimate, and gathered; the rest follows in stretches that stay in a core's cache.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    candidates : Candidates
        The plans and their combinations. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        Efficiencies of the software stack. [-]
    precision : Precision
        Number format of the products. [-]
    optimizer : str
        Name of the optimizer. [-]
    limit : float
        Memory of one device that a plan may fill. [B]
    host_memory : float
        Share of one device of its host's memory; 0 where it is not known. [B]

    Returns
    -------
    evaluated : Evaluated
        Memory, fit and time of each, (N,). [B], [s]

    References
    ----------
    .. [1] M. Isaev et al., "Calculon: a methodology and tool for high-level co-design of systems and large
       language models," SC, 2023 (exhaustive search over execution strategies).

    Examples
    --------
    ``tests/engine/search/test_evaluate.py`` compares it with single plans.

    >>> CHUNK
    8192
    """
    size = element_bytes(precision)
    weights = device_weights(table, candidates.exchange)
    exchanges = gradient_exchanges(table, candidates.exchange, system, software, precision, weights)

    def activations_of(part: Plans) -> Activations:
        return micro_batch_activations(table, part, fused=software.fused_attention, size=size)

    def work_of(part: Plans) -> MicroBatchWork:
        times = _operator_times(table, part, system, software, precision)
        return micro_batch_work(table, part, system, software, precision, times)

    activations = _in_stretches(table, candidates.work, activations_of)
    work = _in_stretches(table, candidates.work, work_of)
    count = candidates.count
    memory, elsewhere = np.empty(count), np.empty(count)
    fits, seconds = np.empty(count, dtype=bool), np.full(count, np.inf)
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        plans = candidates.part(start, stop)
        by_work, by_exchange = candidates.work_index[start:stop], candidates.exchange_index[start:stop]
        held = weights.gather(by_exchange)
        use = gpu_memory(
            table, plans, system.chip, system.kernels, software, precision, optimizer, held,
            activations.gather(by_work), host_memory,
        )  # fmt: skip
        memory[start:stop], elsewhere[start:stop] = use.total, use.streaming
        inside = memory[start:stop] <= limit
        if host_memory:
            inside &= use.streaming <= host_memory
        fits[start:stop] = inside
        kept = np.flatnonzero(inside)
        if kept.size:
            step = gpu_step(
                table, plans.take(kept), system, software, precision, optimizer, held.gather(kept),
                work.gather(by_work[kept]), exchanges.gather(by_exchange[kept]),
            )  # fmt: skip
            seconds[start + kept] = step.total
    return Evaluated(memory, elsewhere, fits, seconds)


def _in_stretches(
    table: OperatorTable, combinations: Plans, compute: Callable[[Plans], Gathered]
) -> Gathered:
    """Return what is computed of combinations, a stretch of them after the other.

    A table of many operators has many values in each.
    """
    stretch = max(CELLS // len(table), 1)
    found = [
        compute(
            Plans.of(**{name: getattr(combinations, name)[start : start + stretch] for name in WORK_KEYS})
        )
        for start in range(0, max(combinations.tensor.size, 1), stretch)
    ]
    names = [entry.name for entry in fields(found[0])]
    return type(found[0])(
        *(np.concatenate([getattr(part, name) for part in found], axis=-1) for name in names)
    )


def _operator_times(
    table: OperatorTable, work: Plans, system: GpuSystem, software: GpuSoftware, precision: Precision
) -> OperatorTimes:
    """Return the operator times of combinations; neighbours that differ in their modes alone share them."""
    keys = np.stack([work.tensor, work.micro_batch, work.expert])
    differs = np.ones(keys.shape[1], dtype=bool)
    differs[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
    place = np.cumsum(differs) - 1
    tensor, micro_batch, expert = keys[:, differs]
    times = gpu_operator_times(
        table,
        Plans.of(tensor=tensor, micro_batch=micro_batch, expert=expert),
        system.chip,
        system.kernels,
        software,
        precision,
    )
    return OperatorTimes(
        **{entry.name: getattr(times, entry.name)[:, place] for entry in fields(OperatorTimes)}
    )
