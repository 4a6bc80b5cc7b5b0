r"""What an IPU holds: weights, gradients, optimizer state, activations, temporaries and code.

All of it lies in the SRAM of the tiles; only what a plan moves to streaming memory does not. The
part that no formula of the plan gives, program and vertex state, is a share of the SRAM.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from app.engine.ipu.layout import Layout
from app.engine.ipu.loads import Loads, ipu_capacity
from app.engine.ipu.pipeline import pipeline_stages
from app.engine.ipu.products import element_bytes
from app.engine.ipu.stage_memory import FITS_BELOW, STATE_BYTES
from app.engine.operators import OperatorTable
from app.engine.plans import MemoryUse, Plans
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision

REFUSED_ABOVE = 1.05
"""Filled share above which a plan is said not to fit. The band between is as wide as the spread of
the code share over published configurations (Graphcore examples repository)."""


class Fit(IntEnum):
    """What is said of a plan's memory; a percentage would promise more than is known."""

    FITS = 0
    BORDERLINE = 1
    DOES_NOT_FIT = 2


def memory_fit(filled: Floats) -> Floats:
    """Return what is said of a plan that fills a share of its memory.

    Parameters
    ----------
    filled : ndarray
        Bytes needed over bytes there are. [-]

    Returns
    -------
    fit : ndarray
        :class:`Fit` of each plan. [-]

    References
    ----------
    .. [1] Graphcore, examples repository (configurations that run).

    Examples
    --------
    >>> memory_fit(np.array([0.9, 1.0, 1.1])).tolist()
    [0, 1, 2]
    """
    share = np.asarray(filled)
    return np.asarray(np.where(share <= FITS_BELOW, Fit.FITS, np.where(share <= REFUSED_ABOVE, 1, 2)))


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
    """Return the memory of the fullest IPU, by part, and what it keeps in streaming memory.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack. [-]
    precision : Precision
        Number format. [-]
    optimizer : str
        A key of :data:`STATE_BYTES`. [-]
    split : sequence of float
        Layers of each stage as a configuration states them; balanced by time if empty. [-]

    Returns
    -------
    memory : MemoryUse
        Parts of the fullest stage, capacity, streaming memory. [B]

    References
    ----------
    .. [1] Graphcore, "Memory and performance optimisation on the IPU," section 3.3 (memory classes).
    .. [2] Graphcore, PopART tensor_locations.rst (streaming memory, replicated tensor sharding).

    Examples
    --------
    One dense layer leaves an IPU mostly empty:

    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=1024)], depth=1, hidden=1024,
    ...     tokens=1)
    >>> use = ipu_memory(table, Plans.of(micro_batch=64), BOW, POPART)
    >>> bool(use.total < 0.3 * use.capacity)
    True
    """
    stages = pipeline_stages(
        table, plans, chip, software, precision=precision, optimizer=optimizer, split=split
    )
    loads, layout = stages.loads, stages.layout
    parts = layout.memory(table, plans, loads, chip, precision=precision, optimizer=optimizer)
    names = tuple(parts)
    stacked = np.stack(np.broadcast_arrays(*(parts[name] for name in names)))
    total = np.where(layout.present > 0, stacked.sum(axis=0), -np.inf)
    fullest = np.argmax(total, axis=0)[None, None]
    chosen = np.take_along_axis(stacked, fullest, axis=1)[:, 0]
    return MemoryUse(
        parts=dict(zip(names, chosen, strict=True)),
        capacity=ipu_capacity(chip, software),
        streaming=_streamed(plans, loads, layout, element_bytes(precision), STATE_BYTES[optimizer]),
        streaming_capacity=chip.streaming_capacity,
    )


def _streamed(plans: Plans, loads: Loads, layout: Layout, size: float, state: float) -> Floats:
    """Return the bytes the heaviest stage keeps in streaming memory."""
    weights = layout.weights(loads)
    optimizer = np.where((plans.offload > 0) | (plans.phases > 1), state * weights / plans.rts_optimizer, 0.0)
    # Between phases wait the weights, their gradients and the activations of every micro-batch.
    handed_on = plans.accumulation * plans.phases * loads.activations.boundary / plans.tensor
    phased = np.where(plans.phases > 1, 2.0 * size * weights / plans.rts + handed_on, 0.0)
    return np.asarray(optimizer + phased)
