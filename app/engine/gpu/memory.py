"""Memory of the fullest GPU of a plan."""

from __future__ import annotations

import numpy as np

from app.engine.gpu.activations import Activations, activation_bytes, micro_batch_activations
from app.engine.gpu.operators import element_bytes
from app.engine.gpu.weights import DeviceWeights, device_weights, spread_tables
from app.engine.operators import OperatorTable
from app.engine.plans import MemoryUse, Plans, Sharding
from app.engine.records import GpuChip, GpuKernels, GpuSoftware, Precision

STATE_BYTES = {
    "adam": 8.0,
    "lamb": 8.0,
    "momentum": 4.0,
    "sgd": 0.0,
    "adafactor": 4.0,
    "distributed-shampoo": 16.0,
}
"""Single-precision optimizer state per parameter beside the master weights. Adam and LAMB keep two
moments, momentum one; Adafactor keeps rows and columns of the second moment, and a first moment;
Shampoo keeps a moment, a grafting moment and two preconditioners of about the weights' size."""

MASTER_BYTES = 4.0
"""Single-precision copy of a half-precision weight. Micikevicius et al. 2018."""

GRADIENT_BYTES = 4.0
"""Gradients are summed over micro-batches in single precision. Narayanan et al. 2021, appendix."""


def gpu_memory(
    table: OperatorTable,
    plans: Plans,
    chip: GpuChip,
    kernels: GpuKernels,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
    weights: DeviceWeights | None = None,
    activations: Activations | None = None,
    host_memory: float = 0.0,
) -> MemoryUse:
    """Memory of the fullest GPU, by part.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        The plans. [-]
    chip : GpuChip
        Capacity of the chip. [-]
    kernels : GpuKernels
        Memory of libraries and allocator. [-]
    software : GpuSoftware
        Whether attention is fused. [-]
    precision : Precision
        Number format; half precision keeps master weights. [-]
    optimizer : str
        Name of the optimizer, a key of :data:`STATE_BYTES`. [-]
    weights : DeviceWeights or None
        Weights of the device of every plan, if they were computed before; else they are computed here. [-]
    activations : Activations or None
        Activations of one micro-batch of every plan, likewise. [B]
    host_memory : float
        Share of one device of its host's memory; 0 where it is not known. [B]

    Returns
    -------
    memory : MemoryUse
        Weights, gradients, optimizer, activations, buffers, framework. [B]

    References
    ----------
    .. [1] S. Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter
       models," SC, 2020, figure 1.

    Examples
    --------
    ``tests/engine/gpu/test_memory.py`` reproduces published figures.

    >>> STATE_BYTES["adam"]
    8.0
    """
    size = element_bytes(precision)
    if weights is None:
        weights = device_weights(table, plans)
    if activations is None:
        activations = micro_batch_activations(table, plans, fused=software.fused_attention, size=size)
    state = STATE_BYTES[optimizer] + (MASTER_BYTES if size < MASTER_BYTES else 0.0)
    kept, transient = activation_bytes(plans, weights.share, activations, kernels)
    whole, sharded = weights.total, weights.sharded
    stream = plans.sharding >= Sharding.PARAMETERS
    layer = 2.0 * size * (weights.layers / (max(table.depth, 1) * weights.share) + weights.outside)
    on_device = np.where(plans.offload > 0, 0.0, 1.0)
    optimizer_bytes = np.where(plans.sharding >= Sharding.OPTIMIZER, sharded, whole) * state
    gradients = np.where(plans.sharding >= Sharding.GRADIENTS, sharded, whole) * GRADIENT_BYTES
    return MemoryUse(
        parts={
            "weights": np.where(stream, sharded, whole) * size + spread_tables(table, plans) * size,
            "gradients": np.asarray(gradients),
            "optimizer": np.asarray(optimizer_bytes * on_device),
            "activations": kept,
            "buffers": transient + np.where(stream, layer, 0.0),
            "framework": np.full(np.shape(kept), kernels.framework_memory),
        },
        capacity=chip.memory_capacity,
        streaming=np.asarray(optimizer_bytes * (1.0 - on_device)),
        streaming_capacity=host_memory,
    )
