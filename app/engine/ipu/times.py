"""Times of single operators, for the roofline figure and the table of operators."""

from __future__ import annotations

import numpy as np

from app.engine.ipu.activations import recomputed_uncut
from app.engine.ipu.keys import distinct_keys
from app.engine.ipu.products import usable_tiles
from app.engine.ipu.shares import by_operator, split_ways
from app.engine.ipu.work import CYCLE_PARTS, operator_work
from app.engine.operators import OperatorTable, Section
from app.engine.plans import Bound, OperatorTimes, Plans
from app.engine.records import IpuChip, IpuSoftware, Precision

BOUNDS = (Bound.COMPUTE, Bound.COMPUTE, Bound.MEMORY, Bound.EXCHANGE, Bound.LATENCY)
"""What limits an operator by the part of its cycles that is largest, as in the cycles' order."""


def ipu_operator_times(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
) -> OperatorTimes:
    """Return time, arithmetic, exchange and limit of each operator for one micro-batch.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack, single figures. [-]
    precision : Precision
        Number format. [-]

    Returns
    -------
    times : OperatorTimes
        All repeats on one device, (O, …): forward and backward [s], where the backward pass
        includes recomputation; arithmetic [FLOP]; exchanged bytes [B]; limit. [-]

    Notes
    -----
    Parts of an operator's time add up rather than hide one another, so its limit is the largest.

    References
    ----------
    .. [1] S. Williams, A. Waterman, D. Patterson, "Roofline," CACM 52(4), 2009.
    .. [2] L. Valiant, "A bridging model for parallel computation," CACM 33(8), 1990.

    Examples
    --------
    A large product spends more time in the matrix units than on anything else:

    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=4096)], depth=1, hidden=1024,
    ...     tokens=1)
    >>> times = ipu_operator_times(table, Plans.of(micro_batch=4096), BOW, POPART)
    >>> Bound(int(times.bound[0])).name
    'COMPUTE'
    """
    keys = distinct_keys(plans)
    work = operator_work(
        table, keys.micro_batch, keys.tensor, keys.sequence_parallel, chip, software, precision=precision
    )
    count = by_operator(table.count, keys.index)

    # Alone a device recomputes what lies before its last checkpoint, in a pipeline all but the head.
    before = by_operator(table.section != Section.HEAD, keys.index)
    alone = by_operator(recomputed_uncut(table), keys.index)
    repeated = np.where(plans.pipeline > 1, before, alone)
    again = np.where((plans.recompute > 0) | (plans.phases > 1), repeated, 0.0)
    forward = keys.gather(work.forward)
    backward = keys.gather(work.backward) + again * forward
    scale = np.asarray(software.sdk_factor * software.framework_factor / chip.clock)
    both = forward + backward
    width = chip.exchange_bytes_per_cycle * usable_tiles(chip, software)
    ways = keys.gather(split_ways(table.split, keys.tensor, keys.sequence_parallel))
    flop = by_operator(table.forward_flop * (2.0 + table.input_gradient), keys.index)
    extra = by_operator(table.forward_flop, keys.index) * again
    return OperatorTimes(
        forward=count * forward.sum(axis=0) * scale,
        backward=count * backward.sum(axis=0) * scale,
        flop=(flop + extra) * plans.micro_batch / ways,
        traffic=count * both[CYCLE_PARTS.index("exchange")] * width,
        bound=np.asarray(BOUNDS, dtype=float)[np.argmax(both, axis=0)],
    )
