r"""One training step on IPUs.

.. math:: T = (m + p - 1) \left(\max_i F_i + \max_i B_i\right) + T_{update}

m micro-batches pass through p stages; a backward pass includes the forward pass again where
activations are recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.engine.ipu.pipeline import pipeline_stages
from app.engine.ipu.products import element_bytes
from app.engine.ipu.sections import SLOT_PARTS
from app.engine.ipu.stage_memory import STATE_BYTES
from app.engine.ipu.supersteps import supersteps
from app.engine.ipu.update import (
    fixed_update_time,
    gradient_allreduce_time,
    optimizer_streaming_time,
)
from app.engine.operators import OperatorTable
from app.engine.plans import Plans, StepTime
from app.engine.records import IpuChip, IpuSoftware, Precision


def ipu_step(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
    optimizer: str = "lamb",
    split: Sequence[float] = (),
) -> StepTime:
    r"""Return the time of one training step, by part.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack; its factors may be arrays of samples. [-]
    precision : Precision
        Number format; fp32 and tf32 run in fp32, all else in fp16.16. [-]
    optimizer : str
        A key of :data:`~app.engine.ipu.stage_memory.STATE_BYTES`. [-]
    split : sequence of float
        Layers of each stage as a configuration states them; balanced by time if empty. [-]

    Returns
    -------
    step : StepTime
        gemm, attention, memory_bound, exchange, sync, tensor_comm of all micro-batches on the
        slowest stages; pipeline_comm; pipeline_bubble of fill and drain; data_comm; optimizer
        (everything streamed and not hidden); fixed. They add up to the step. [s]

    Notes
    -----
    The slowest stage forward and the slowest backward need not be the same. Weights sharded over
    replicas are gathered once per pass and micro-batch, or once per phase and step. A phase lasts
    as long as the longer of its computation and of the streaming of its weights. Runs at 4 to 64
    IPUs with convolutional networks and encoders were compared; tensor parallelism, phases and
    more than one pod were not.

    References
    ----------
    .. [1] L. Valiant, "A bridging model for parallel computation," CACM 33(8), 1990.
    .. [2] Y. Huang et al., "GPipe," NeurIPS, 2019, section 2.3 (bubble).
    .. [3] Graphcore, PopART tensor_locations.rst (phased execution, replicated tensor sharding).
    .. [4] Constants fitted on data/validation/measured.csv.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=1024)], depth=1, hidden=1024,
    ...     tokens=1)
    >>> plans = Plans.of(micro_batch=1024, data=16, accumulation=8)
    >>> round(float(ipu_step(table, plans, BOW, POPART).total) * 1e3, 2)
    107.01
    """
    size = element_bytes(precision)
    stages = pipeline_stages(
        table, plans, chip, software, precision=precision, optimizer=optimizer, split=split
    )
    loads = stages.loads
    turns = supersteps(stages, plans, chip, software)
    slowest_forward, slowest_backward, moved = turns.forward, turns.backward, turns.moved
    parts = {
        name: plans.accumulation * (slowest_forward[place] + slowest_backward[place])
        for place, name in enumerate(SLOT_PARTS)
    }
    parts["pipeline_comm"] = plans.accumulation * moved
    parts["pipeline_bubble"] = (plans.pipeline - 1.0) * turns.slot

    weights = stages.layout.weights(loads)
    gathered = (plans.rts - 1.0) / plans.rts * size * weights / chip.allreduce_bandwidth
    passes = np.where(plans.phases > 1, 0.0, 2.0 * plans.accumulation)
    parts["data_comm"] = gradient_allreduce_time(plans, size * weights, chip) + passes * gathered
    loaded = np.where(plans.phases > 1, size * weights / plans.rts / chip.streaming_bandwidth + gathered, 0.0)
    computed = (
        plans.accumulation * slowest_forward.sum(axis=0),
        plans.accumulation * slowest_backward.sum(axis=0),
    )
    exposed = sum(np.maximum(loaded - seconds, 0.0) for seconds in computed)
    parts["optimizer"] = exposed + optimizer_streaming_time(plans, weights, STATE_BYTES[optimizer], chip)
    parts["fixed"] = fixed_update_time(chip, software)
    shape = np.broadcast_shapes(*(np.shape(seconds) for seconds in parts.values()))
    return StepTime({name: np.broadcast_to(seconds, shape) for name, seconds in parts.items()})
