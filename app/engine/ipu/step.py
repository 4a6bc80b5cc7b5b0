r"""One training step on IPUs.

.. math:: T = (m + p - 1) \left(\max_i F_i + \max_i B_i\right) + T_{update}

m micro-batches pass through p stages; a backward pass includes the forward pass again where
activations are recomputed.
"""

from __future__ import annotations

import numpy as np

from app.engine.ipu.keys import distinct_keys
from app.engine.ipu.layout import STATE_BYTES, Layout, plan_layout
from app.engine.ipu.loads import stage_loads
from app.engine.ipu.products import element_bytes
from app.engine.ipu.sections import SLOT_PARTS, end_layers, section_times
from app.engine.ipu.update import (
    fixed_update_time,
    gradient_allreduce_time,
    optimizer_streaming_time,
)
from app.engine.operators import OperatorTable
from app.engine.plans import Plans, StepTime
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision


def stage_contents(layout: Layout) -> Floats:
    """Return how often each kind of stage runs embedding, layer and head.

    Parameters
    ----------
    layout : Layout
        Stages of every plan. [-]

    Returns
    -------
    contents : ndarray
        (3, S, …): kind of stage, section; all zero where a plan has no such stage. [-]

    References
    ----------
    .. [1] Y. Huang et al., "GPipe," NeurIPS, 2019.

    Examples
    --------
    ``tests/engine/ipu/test_step.py`` compares stages with a plain sum over them.

    >>> SLOT_PARTS[-1]
    'tensor_comm'
    """
    members = np.broadcast_arrays(layout.embedding, layout.layers, layout.head)
    return np.stack([layout.present * member for member in members], axis=1)


def ipu_step(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
    optimizer: str = "lamb",
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
        A key of :data:`~app.engine.ipu.layout.STATE_BYTES`. [-]

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
    102.71
    """
    size = element_bytes(precision)
    loads = stage_loads(table, plans, chip, software, precision)
    keys = distinct_keys(plans)
    times = section_times(table, keys, chip, software, precision)
    ends = end_layers(times, keys, plans)
    layout = plan_layout(table, plans, loads, ends, chip, software, precision=precision, optimizer=optimizer)
    contents = stage_contents(layout)
    forward = _on_stages(keys.gather(times.forward), contents)
    backward = _on_stages(keys.gather(times.backward), contents)
    backward = backward + np.where((plans.recompute > 0) | (plans.phases > 1), forward, 0.0)
    speed = np.asarray(software.sdk_factor * software.framework_factor)
    slowest_forward, slowest_backward = _scaled(_slowest(forward), speed), _scaled(_slowest(backward), speed)

    parts = {
        name: plans.accumulation * (slowest_forward[place] + slowest_backward[place])
        for place, name in enumerate(SLOT_PARTS)
    }
    handed_on = 2.0 * loads.activations.boundary
    between_phases = plans.phases * handed_on / plans.tensor / chip.streaming_bandwidth
    # A pipeline longer than a rack has a hop over GW-Links, for which every slot waits.
    beyond = plans.tensor * plans.pipeline > chip.pod_size
    link = np.where(beyond, chip.gateway_bandwidth, chip.link_bandwidth)
    moved = np.where(plans.pipeline > 1, handed_on / link, 0.0) + np.where(
        plans.phases > 1, 2.0 * between_phases, 0.0
    )
    parts["pipeline_comm"] = plans.accumulation * moved
    slot = slowest_forward.sum(axis=0) + slowest_backward.sum(axis=0) + moved
    parts["pipeline_bubble"] = (plans.pipeline - 1.0) * slot

    weights = np.max(layout.present * loads.weights(layout.layers, layout.embedding, layout.head), axis=0)
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


def _on_stages(seconds: Floats, contents: Floats) -> Floats:
    """Return the time of each kind of stage by part, (6, 3, …)."""
    return np.asarray(np.einsum("ps...,gs...->pg...", seconds, contents))


def _slowest(seconds: Floats) -> Floats:
    """Return the parts of the slowest stage, (6, …)."""
    stage = np.argmax(seconds.sum(axis=0), axis=0)
    return np.take_along_axis(seconds, stage[None, None], axis=1)[:, 0]


def _scaled(seconds: Floats, factor: Floats) -> Floats:
    """Return the parts with what runs on the chip times the software's factor, links as they are."""
    missing = max(factor.ndim - (seconds.ndim - 1), 0)
    seconds = seconds.reshape(len(seconds), *(1,) * missing, *seconds.shape[1:])
    on_chip = seconds[:-1] * factor
    links = np.broadcast_to(seconds[-1:], (1, *on_chip.shape[1:]))
    return np.concatenate([on_chip, links])
