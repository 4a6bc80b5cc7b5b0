"""Memory of the fullest GPU of a plan."""

from __future__ import annotations

import numpy as np

from app.engine.gpu.operators import element_bytes
from app.engine.operators import Kind, OperatorTable, Section, Split
from app.engine.plans import MemoryUse, Plans, Recompute, Sharding
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


def rank_weights(table: OperatorTable, plans: Plans) -> tuple[Floats, Floats]:
    """Parameters of the fullest device: those of its layers, and those outside the layers.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Tensor and pipeline degrees, interleave. [-]

    Returns
    -------
    weights : tuple of arrays
        Of the layers of one stage, and of the embedding and the head that this stage holds. [-]

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> layer = OperatorTable.of([dense_layer(name="d", inputs=9, outputs=10)], depth=4, hidden=8, tokens=1)
    >>> [float(part) for part in rank_weights(layer, Plans.of(pipeline=2))]
    [50.0, 0.0]
    """
    shape = (-1,) + (1,) * np.broadcast(plans.tensor, plans.pipeline).ndim
    divided = np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH)).reshape(shape)
    lookup = (table.kind == Kind.EMBEDDING).reshape(shape)
    dense = np.where(table.sparse > 0, 0.0, table.weights * table.count)
    weights = dense.reshape(shape) / np.where(divided | lookup, plans.tensor, 1.0)
    section = table.section.reshape(shape)
    layers = np.sum(np.where(section == Section.LAYER, weights, 0.0), axis=0)
    first = np.sum(np.where(section == Section.EMBEDDING, weights, 0.0), axis=0)
    last = np.sum(np.where(section == Section.HEAD, weights, 0.0), axis=0)
    outside = np.where(plans.pipeline > 1, np.maximum(first, last), first + last)
    return layers * stage_share(table.depth, plans), outside


def spread_tables(table: OperatorTable, plans: Plans) -> Floats:
    """Parameters of the looked-up tables on one device, spread evenly over all.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Plans, whose devices share the tables. [-]

    Returns
    -------
    parameters : array
        Zero for models without such tables. [-]

    References
    ----------
    .. [1] M. Naumov et al., "Deep learning recommendation model," arXiv:1906.00091, 2019, section 4
       (tables model-parallel, the rest data-parallel).

    Examples
    --------
    >>> from app.engine.operators import embedding_bag
    >>> bags = OperatorTable.of(
    ...     [embedding_bag(name="users", entries=1e6, width=128, lookups=1)], depth=1, hidden=8, tokens=1)
    >>> float(spread_tables(bags, Plans.of(data=8)))
    16000000.0
    """
    held = float(np.sum(np.where(table.sparse > 0, table.weights * table.count, 0.0)))
    return np.asarray(held / plans.devices)


def stage_share(depth: int, plans: Plans) -> Floats:
    """Share of the layers that the fullest pipeline stage holds.

    Parameters
    ----------
    depth : int
        Layers of the model. [-]
    plans : Plans
        Pipeline degree and interleave. [-]

    Returns
    -------
    share : array
        1 over the stages where the layers divide evenly, more where they do not. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2.

    Examples
    --------
    >>> float(stage_share(24, Plans.of(pipeline=4))), float(stage_share(26, Plans.of(pipeline=4)))
    (0.25, 0.2692307692307692)
    """
    chunks = plans.pipeline * plans.interleave
    return np.asarray(np.ceil(depth / chunks) * plans.interleave / depth)


def activation_bytes(
    table: OperatorTable, plans: Plans, kernels: GpuKernels, *, fused: bool, size: float
) -> tuple[Floats, Floats]:
    r"""Activations kept for the backward pass on the first pipeline stage.

    With 1F1B the first of :math:`p` stages holds :math:`p` micro-batches of :math:`L/p` layers: as
    much as the whole model of one; in :math:`v > 1` chunks :math:`1 + (p-1)/(p v)` times that; never
    more micro-batches than a step has. Stages that layers do not divide over are counted at the
    fullest. Full recomputation keeps the input of each layer and the inside of one; selective
    recomputation keeps one attention matrix at a time, fused attention none.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Tensor and pipeline degrees, micro-batch, recomputation, sequence parallelism. [-]
    kernels : GpuKernels
        Fragmentation of the allocator. [-]
    fused : bool
        True where attention never writes its matrix. [-]
    size : float
        Bytes of one activation. [B]

    Returns
    -------
    stored : tuple of arrays
        Bytes kept in flight, and bytes of the largest transient (recomputed layer, loss). [B]

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, equations 2 to 5.

    Examples
    --------
    ``tests/engine/gpu/test_memory.py`` reproduces the paper's figure 1.

    >>> int(Recompute.FULL)
    2
    """
    shape = (-1,) + (1,) * np.broadcast(plans.tensor, plans.recompute).ndim
    column = {
        name: np.asarray(getattr(table, name)).reshape(shape)
        for name in ("saved", "masks", "saved_split", "count", "section", "kind", "batch", "squared")
    }
    attention = column["kind"] == Kind.ATTENTION
    matrix = column["batch"] * column["squared"]
    dropped = attention & (fused | (plans.recompute == Recompute.SELECTIVE))
    saved = size * (column["saved"] - np.where(dropped, 2.0 * matrix, 0.0))
    saved = saved + np.where(dropped, 0.0, column["masks"])
    split = column["saved_split"]
    by_tensor = np.isin(split, (Split.COLUMNS, Split.INNER, Split.BATCH))
    by_tokens = (split == Split.SEQUENCE) & (plans.sequence_parallel > 0)
    saved = saved * plans.micro_batch / np.where(by_tensor | by_tokens, plans.tensor, 1.0)
    layer = column["section"] == Section.LAYER
    layers = np.sum(np.where(layer, saved * column["count"], 0.0), axis=0)
    outside = np.sum(np.where(layer, 0.0, saved * column["count"]), axis=0)
    last = np.sum(np.where(column["section"] == Section.HEAD, saved * column["count"], 0.0), axis=0)
    inputs = size * table.hidden * table.tokens * table.depth * plans.micro_batch
    inputs = inputs / np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)
    full = plans.recompute == Recompute.FULL
    filling = (plans.pipeline - 1.0) / (plans.pipeline * plans.interleave)
    # A stage never holds more micro-batches than the step has.
    waiting = plans.pipeline * (1.0 + np.where(plans.interleave > 1, filling, 0.0))
    in_flight = np.minimum(waiting, plans.accumulation) * stage_share(table.depth, plans)
    one = np.where(full, np.minimum(inputs, layers), layers)
    kept = one * in_flight
    # The last stage holds one micro-batch of its layers and of the head.
    at_the_end = np.maximum(one * stage_share(table.depth, plans) + last - kept, 0.0)
    matrices = (2.0 * size + 1.0) * matrix * plans.micro_batch / np.where(by_tensor, plans.tensor, 1.0)
    recomputed = np.max(np.where(attention, matrices, 0.0), axis=0, initial=0.0)
    again = np.where((plans.recompute == Recompute.SELECTIVE) & (not fused), recomputed, 0.0)
    again = np.where(full, layers / table.depth, again)
    transient = again + np.where(plans.pipeline > 1, at_the_end, outside)
    return np.asarray(kept * kernels.fragmentation), np.asarray(transient * kernels.fragmentation)


def gpu_memory(
    table: OperatorTable,
    plans: Plans,
    chip: GpuChip,
    kernels: GpuKernels,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
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
    layers, outside = rank_weights(table, plans)
    weights = layers + outside
    shards = plans.sharding_ranks
    state = STATE_BYTES[optimizer] + (MASTER_BYTES if size < MASTER_BYTES else 0.0)
    state_shards = np.where(plans.sharding >= Sharding.OPTIMIZER, shards, 1.0)
    gradient_shards = np.where(plans.sharding >= Sharding.GRADIENTS, shards, 1.0)
    weight_shards = np.where(plans.sharding >= Sharding.PARAMETERS, shards, 1.0)
    kept, transient = activation_bytes(table, plans, kernels, fused=software.fused_attention, size=size)
    gathered = np.where(
        plans.sharding >= Sharding.PARAMETERS,
        2.0 * size * (layers / np.maximum(table.depth, 1) + outside),
        0.0,
    )
    on_device = np.where(plans.offload > 0, 0.0, 1.0)
    optimizer_bytes = weights * state / state_shards
    return MemoryUse(
        parts={
            "weights": np.asarray(weights * size / weight_shards + spread_tables(table, plans) * size),
            "gradients": np.asarray(weights * GRADIENT_BYTES / gradient_shards),
            "optimizer": np.asarray(optimizer_bytes * on_device),
            "activations": kept,
            "buffers": np.asarray(transient + gathered),
            "framework": np.asarray(np.full(np.shape(kept), kernels.framework_memory)),
        },
        capacity=chip.memory_capacity,
        streaming=np.asarray(optimizer_bytes * (1.0 - on_device)),
        streaming_capacity=0.0,
    )
