"""Memory of the fullest GPU of a plan."""

from __future__ import annotations

import numpy as np

from app.engine.gpu.activations import Activations, activation_bytes, micro_batch_activations
from app.engine.gpu.operators import QUANTISED_BYTES, element_bytes
from app.engine.gpu.weights import DeviceWeights, device_weights, spread_tables
from app.engine.operators import OperatorTable
from app.engine.plans import MemoryUse, Plans, Sharding
from app.engine.records import Floats, GpuChip, GpuKernels, GpuSoftware, Precision

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
    state, gradient_size = trained_bytes(optimizer, size, table.master_weights)
    kept, transient = activation_bytes(plans, weights.share, activations, kernels)
    stream = plans.sharding >= Sharding.PARAMETERS
    packed = np.where(stream, weights.quantised_sharded, weights.quantised)
    stored = (np.where(stream, weights.sharded, weights.total) - packed) * size + packed * QUANTISED_BYTES
    layers = (weights.layers - weights.quantised) * size + weights.quantised * QUANTISED_BYTES
    layer = 2.0 * (layers / (max(table.depth, 1) * weights.share) + weights.outside * size)
    on_device = np.where(plans.offload > 0, 0.0, 1.0)
    changed = weights.trained, weights.trained_sharded
    optimizer_bytes = np.where(plans.sharding >= Sharding.OPTIMIZER, changed[1], changed[0]) * state
    gradients = np.where(plans.sharding >= Sharding.GRADIENTS, changed[1], changed[0]) * gradient_size
    return MemoryUse(
        parts={
            "weights": stored + spread_tables(table, plans) * size,
            "gradients": np.asarray(gradients),
            "optimizer": np.asarray(optimizer_bytes * on_device),
            "activations": kept,
            "buffers": transient + np.where(stream, layer, 0.0) + unpacked_bytes(table, plans, size),
            "framework": np.full(np.shape(kept), kernels.framework_memory),
        },
        capacity=chip.memory_capacity,
        streaming=np.asarray(optimizer_bytes * (1.0 - on_device)),
        streaming_capacity=host_memory,
    )


def trained_bytes(optimizer: str, size: float, master_weights: float = 1.0) -> tuple[float, float]:
    r"""Bytes that a device keeps for a weight because it is trained: optimizer state and gradient.

    .. math:: b = s + [e < 4] m \cdot 4, \qquad g = 4 m + e (1 - m)

    Parameters
    ----------
    optimizer : str
        Name of the optimizer, a key of :data:`STATE_BYTES`, whose state takes :math:`s`. [-]
    size : float
        Bytes of a weight in the products, :math:`e`. [B]
    master_weights : float
        :math:`m`, 1 where there is a single-precision copy and gradients are summed in single precision; 0
        where adapters are updated in the format of the products. [-]

    Returns
    -------
    bytes : tuple of float
        Of optimizer state with the single-precision copy, and of the gradient. [B]

    References
    ----------
    .. [1] P. Micikevicius et al., "Mixed precision training," ICLR, 2018.
    .. [2] T. Dettmers et al., "QLoRA," arXiv:2305.14314, 2023, equation 5 (adapters in bfloat16).

    Examples
    --------
    >>> trained_bytes("adam", 2.0), trained_bytes("adam", 2.0, master_weights=0.0)
    ((12.0, 4.0), (8.0, 2.0))
    """
    master = MASTER_BYTES * master_weights if size < MASTER_BYTES else 0.0
    return STATE_BYTES[optimizer] + master, GRADIENT_BYTES * master_weights + size * (1.0 - master_weights)


def unpacked_bytes(table: OperatorTable, plans: Plans, size: float) -> Floats:
    """Buffer into which the weights of one product are turned from 4 bit before it runs.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Tensor degree. [-]
    size : float
        Bytes of a weight in the products. [B]

    Returns
    -------
    buffer : array
        The largest product's; 0 where nothing is stored in 4 bit. [B]

    References
    ----------
    .. [1] T. Dettmers et al., "QLoRA," arXiv:2305.14314, 2023, section 3 (a weight tensor is dequantised
       whenever it is used).

    Examples
    --------
    >>> from dataclasses import replace
    >>> from app.engine.operators import dense_layer
    >>> layer = replace(dense_layer(name="d", inputs=9, outputs=10), trained=False, quantised=True)
    >>> table = OperatorTable.of([layer], depth=1, hidden=8, tokens=1)
    >>> float(unpacked_bytes(table, Plans.of(tensor=2), 2.0))
    100.0
    """
    largest = float(np.max(table.weights * table.quantised, initial=0.0))
    return np.asarray(largest * size / plans.tensor)
