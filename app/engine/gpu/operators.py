"""Time of every operator of one micro-batch on one GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.gpu.passes import EMBEDDING_PASSES, SOFTMAX_PASSES, pointwise_passes
from app.engine.gpu.products import misalignment, roofline_time, tiled_product_time
from app.engine.operators import Kind, OperatorTable, Pointwise, Split
from app.engine.plans import Bound, OperatorTimes, Plans, Recompute
from app.engine.records import Floats, GpuChip, GpuKernels, GpuSoftware, Indices, Precision

FUSED_BACKWARD = 2.5
"""Products of fused attention's backward pass over those of its forward pass: five instead of
two, one of them recomputed. Dao et al. 2022, "FlashAttention", section 3.2."""

ROW_PADDING = 8.0
"""Channels to which the first convolution's input is padded for the matrix units."""

TF32_ROW_PADDING = 4.0

ROW_BYTES = 4.0
"""Bytes of an element of a looked-up row, which keeps single precision."""

QUANTISED_BYTES = (4.0 + 8.0 / 64.0 + 32.0 / (64.0 * 256.0)) / 8.0
"""Bytes of a weight stored in 4 bit with doubly quantised constants: one of 8 bit for 64 weights, one of
32 bit for 256 of those. Dettmers et al. 2023, section 3."""

LOOP_KERNELS = 2.0
"""Kernels of one step of a recurrent layer in one direction: product and gates."""

GROUP_WIDTH = 16.0
"""Channels of a group that fill a matrix unit."""


def element_bytes(precision: Precision) -> float:
    """Bytes of one activation or weight in the products.

    Parameters
    ----------
    precision : Precision
        Number format. [-]

    Returns
    -------
    size : float
        Size of one element. [B]

    References
    ----------
    .. [1] IEEE 754-2019, binary16 and binary32.

    Examples
    --------
    >>> element_bytes(Precision.BF16), element_bytes(Precision.TF32)
    (2.0, 4.0)
    """
    return 4.0 if precision in (Precision.TF32, Precision.FP32) else 2.0


@dataclass(frozen=True, slots=True)
class _Setting:
    """What all kinds of operators need, expanded to (O, …) on demand."""

    table: OperatorTable
    tensor: Floats
    micro_batch: Floats
    expert: Floats
    peak: float
    bandwidth: float
    size: float
    precision: Precision
    multiprocessors: int
    launch: float
    kernels: GpuKernels
    software: GpuSoftware
    dimensions: int

    def column(self, name: str, index: Indices) -> Floats:
        """Return a column of the table for some operators, with room for the plan's axes."""
        values = np.asarray(getattr(self.table, name))[index]
        return np.asarray(values.reshape(values.shape + (1,) * self.dimensions))

    def divided(self, name: str, index: Indices, split: Split) -> Floats:
        """Return a column, divided by the tensor degree where tensor parallelism divides it."""
        share = np.where(self.column("split", index) == split, self.tensor, 1.0)
        return self.column(name, index) / share

    def experts_apart(self, index: Indices) -> Floats:
        """Return the ranks over which each operator's experts are spread; all of their tokens meet there."""
        return np.where(self.column("active", index) < 1.0, self.expert, 1.0)


def gpu_operator_times(
    table: OperatorTable,
    plans: Plans,
    chip: GpuChip,
    kernels: GpuKernels,
    software: GpuSoftware,
    precision: Precision,
) -> OperatorTimes:
    """Time of every operator for one micro-batch, all repeats, on one of the tensor ranks.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Tensor degree, micro-batch and expert degree count. [-]
    chip : GpuChip
        Rates of the chip. [-]
    kernels : GpuKernels
        Cost of its kernel libraries. [-]
    software : GpuSoftware
        Efficiencies of the software stack, single or samples. [-]
    precision : Precision
        Number format of the products. [-]

    Returns
    -------
    times : OperatorTimes
        Forward and backward, without launches and without repeated forward passes. [s]

    References
    ----------
    .. [1] S. Williams, A. Waterman, D. Patterson, "Roofline," CACM 52(4), 2009.
    .. [2] T. Dao et al., "FlashAttention," NeurIPS, 2022.
    .. [3] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, appendix (products of a layer).

    Examples
    --------
    ``tests/engine/gpu/test_operators.py`` holds worked values.

    >>> Bound(1).name
    'MEMORY'
    """
    arrays = (plans.tensor, plans.micro_batch, plans.expert)
    efficiencies = (software.matrix_efficiency, software.attention_efficiency, software.elementwise_factor)
    shape = np.broadcast_shapes(*(np.shape(x) for x in (*arrays, *efficiencies)))
    peak = chip.matrix_peak[precision]
    if not chip.matrix_units:
        # Mixed precision sums in single precision, which the vector units do at their plain rate.
        peak = min(peak, chip.matrix_peak[Precision.FP32])
    setting = _Setting(
        table=table,
        tensor=plans.tensor,
        micro_batch=plans.micro_batch,
        expert=plans.expert,
        peak=peak * chip.sustained_clock,
        bandwidth=chip.memory_bandwidth * chip.achieved_bandwidth,
        size=element_bytes(precision),
        precision=precision,
        multiprocessors=chip.multiprocessors,
        launch=chip.kernel_overhead,
        kernels=kernels,
        software=software,
        dimensions=len(shape),
    )
    whole = (len(table), *shape)
    times = OperatorTimes(
        forward=np.zeros(whole),
        backward=np.zeros(whole),
        flop=np.zeros(whole),
        traffic=np.zeros(whole),
        bound=np.full(whole, float(Bound.MEMORY)),
    )
    grouped = (table.kind == Kind.CONVOLUTION) & (table.batch > 1)
    dense = np.isin(table.kind, (Kind.MATMUL, Kind.CONVOLUTION, Kind.RECURRENT)) & ~grouped
    attention = _fused_attention if software.fused_attention else _unfused_attention
    for chosen, evaluate in (
        (dense, _products),
        (grouped, _grouped),
        (table.kind == Kind.DEPTHWISE, _depthwise),
        (table.kind == Kind.ATTENTION, attention),
        (np.isin(table.kind, (Kind.POINTWISE, Kind.EMBEDDING)), _pointwise),
    ):
        index = np.flatnonzero(chosen)
        if index.size:
            count = setting.column("count", index)
            forward, backward, flop, traffic, bound = evaluate(setting, index)
            times.forward[index] = forward * count
            times.backward[index] = backward * count
            times.flop[index] = flop * count
            times.traffic[index] = traffic * count
            times.bound[index] = bound
    return times


Evaluated = tuple[Floats, Floats, Floats, Floats, Floats]


def _three_products(setting: _Setting, index: Indices) -> tuple[Floats, ...]:
    """Rows, columns, inner of the forward, input-gradient and weight-gradient products, (3, O, …)."""
    rows = setting.column("rows", index) * setting.micro_batch * setting.experts_apart(index)
    columns = setting.divided("columns", index, Split.COLUMNS)
    inner = setting.divided("inner", index, Split.INNER)
    area, stride = setting.column("kernel_area", index), setting.column("stride", index)
    channels = inner / area
    padding = TF32_ROW_PADDING if setting.size > 2 else ROW_PADDING
    convolution = setting.column("kind", index) == Kind.CONVOLUTION
    channels = np.where(convolution, np.maximum(channels, padding), channels)
    looped = np.where(setting.column("kind", index) == Kind.RECURRENT, setting.column("steps", index), 1.0)
    inner = channels * area
    return (
        np.stack(np.broadcast_arrays(rows, rows * stride**2, columns)),
        np.stack(np.broadcast_arrays(columns, channels, inner)),
        np.stack(np.broadcast_arrays(inner, columns * area / stride**2, rows * looped)),
    )


def _products(setting: _Setting, index: Indices) -> Evaluated:
    rows, columns, inner = _three_products(setting, index)
    batch = setting.divided("batch", index, Split.BATCH) / setting.experts_apart(index)
    steps = setting.column("steps", index)
    convolution = setting.column("kind", index) == Kind.CONVOLUTION
    weights = columns[0] * inner[0] * batch
    image = setting.micro_batch * (
        setting.column("input_elements", index) + setting.column("output_elements", index)
    )
    plain = (rows * inner + inner * columns + rows * columns) * batch
    traffic = setting.size * np.where(convolution, image + weights, plain)
    compute = tiled_product_time(
        rows, columns, inner, batch, setting.peak, setting.multiprocessors, setting.kernels
    )
    slow = misalignment(columns[0], inner[0], setting.kernels.misaligned_8)
    compute = compute * np.where(setting.column("aligned", index) > 0, slow, 1.0)
    seconds = roofline_time(compute, setting.software.matrix_efficiency, traffic, setting.bandwidth)
    moved = np.where(convolution, _layout_traffic(setting, image), 0.0)
    seconds = seconds + moved / setting.bandwidth
    # The steps of a loop wait for one another; the gradient of their weights is one product at the end.
    looped = setting.column("kind", index) == Kind.RECURRENT
    waited = np.where(looped, LOOP_KERNELS * setting.launch, 0.0)
    every = np.stack([np.ones_like(steps), np.ones_like(steps), np.where(looped, 0.0, 1.0)])
    times = np.where(every > 0, steps, 1.0)
    seconds = (seconds + waited * every) * times
    wanted = np.stack(
        [np.ones_like(steps), setting.column("input_gradient", index), setting.column("trained", index)]
    )
    flop = 2.0 * rows[0] * columns[0] * inner[0] * batch * steps * wanted.sum(axis=0)
    limited = compute / setting.software.matrix_efficiency >= traffic / setting.bandwidth
    return (
        seconds[0],
        (seconds * wanted)[1:].sum(axis=0),
        flop,
        ((traffic + moved) * wanted * times).sum(axis=0),
        np.where(limited.sum(axis=0) >= 2, Bound.COMPUTE, Bound.MEMORY).astype(float),
    )


def _layout_traffic(setting: _Setting, image: Floats) -> Floats:
    """Bytes that turn a convolution's input and output between channels first and channels last.

    The matrix units read channels last. A framework that keeps channels first has the library transpose input
    and output of every convolution: one pass reads, one writes (NVIDIA, "Convolutional layers user's guide,"
    2023, section on tensor layouts).
    """
    software = setting.software
    if setting.precision is Precision.FP32:
        return np.zeros_like(image)
    passes = software.layout_passes_tf32 if setting.precision is Precision.TF32 else software.layout_passes
    return np.asarray(passes * setting.size * image)


def _grouped(setting: _Setting, index: Indices) -> Evaluated:
    kernels = setting.kernels
    rows = setting.column("rows", index) * setting.micro_batch
    inner, columns = setting.column("inner", index), setting.column("columns", index)
    batch = setting.column("batch", index)
    channels = inner / setting.column("kernel_area", index)
    padding = np.maximum(1.0, GROUP_WIDTH / channels) * np.maximum(1.0, GROUP_WIDTH / columns)
    flop = 2.0 * rows * inner * columns * batch
    compute = flop / setting.peak * kernels.grouped_factor * (0.5 + 0.5 * padding)
    image = setting.micro_batch * (
        setting.column("input_elements", index) + setting.column("output_elements", index)
    )
    traffic = setting.size * kernels.grouped_traffic * (image + inner * columns * batch)
    one = roofline_time(compute, setting.software.matrix_efficiency, traffic, setting.bandwidth)
    limited = compute / setting.software.matrix_efficiency >= traffic / setting.bandwidth
    bound = np.where(limited, Bound.COMPUTE, Bound.MEMORY).astype(float)
    moved = _layout_traffic(setting, image)
    one = one + moved / setting.bandwidth
    back = 1.0 + setting.column("trained", index)
    return one, back * one, (1.0 + back) * flop, (1.0 + back) * (traffic + moved), bound


def _depthwise(setting: _Setting, index: Indices) -> Evaluated:
    kernels = setting.kernels
    image = setting.micro_batch * (
        setting.column("input_elements", index) + setting.column("output_elements", index)
    )
    area = setting.column("kernel_area", index)
    slow = kernels.depthwise_traffic * (1.0 + area / kernels.depthwise_area)
    one = setting.size * image * slow / setting.bandwidth
    rows = setting.column("rows", index) * setting.micro_batch
    flop = 6.0 * rows * setting.column("inner", index) * setting.column("columns", index)
    flop = flop * setting.column("batch", index)
    memory = np.full_like(one, float(Bound.MEMORY))
    return one, 2.0 * one, flop, 3.0 * setting.size * image, memory


def _fused_attention(setting: _Setting, index: Indices) -> Evaluated:
    heads = setting.divided("batch", index, Split.BATCH) * setting.micro_batch
    width = setting.column("inner", index)
    flop = 4.0 * heads * setting.column("squared", index) * width * setting.column("causal", index)
    slow = np.where(np.isin(width, (64.0, 128.0)), 1.0, setting.kernels.fused_head_penalty)
    rate = np.asarray(setting.software.attention_efficiency) * setting.peak
    forward = flop * slow / rate
    tokens = setting.column("rows", index) + setting.column("columns", index)
    traffic = 4.0 * setting.size * heads * tokens * width
    compute = np.full_like(forward, float(Bound.COMPUTE))
    return forward, FUSED_BACKWARD * forward, (1.0 + FUSED_BACKWARD) * flop, traffic, compute


def _unfused_attention(setting: _Setting, index: Indices) -> Evaluated:
    kernels = setting.kernels
    heads = setting.divided("batch", index, Split.BATCH) * setting.micro_batch
    width, squared = setting.column("inner", index), setting.column("squared", index)
    penalty = misalignment(width, 8.0, kernels.batched_misaligned_8)
    flop = 2.0 * heads * squared * width
    tokens = setting.column("rows", index) + setting.column("columns", index)
    traffic = setting.size * heads * (squared + tokens * width)
    product = roofline_time(
        flop * penalty / setting.peak,
        kernels.batched_efficiency * np.asarray(setting.software.matrix_efficiency),
        traffic,
        setting.bandwidth,
    )
    pass_time = (
        setting.size * heads * squared * np.asarray(setting.software.elementwise_factor) / setting.bandwidth
    )
    forward = 2.0 * product + SOFTMAX_PASSES[0] * pass_time
    backward = 4.0 * product + SOFTMAX_PASSES[1] * pass_time
    moved = 6.0 * traffic + sum(SOFTMAX_PASSES) * setting.size * heads * squared
    return forward, backward, 6.0 * flop, moved, np.full_like(forward, float(Bound.MEMORY))


def _pointwise(setting: _Setting, index: Indices) -> Evaluated:
    kind = np.asarray(setting.table.pointwise)[index]
    trained = np.asarray(setting.table.trained)[index]
    passes = pointwise_passes(kind, trained)
    lookup = np.asarray(setting.table.kind)[index] == Kind.EMBEDDING
    written = EMBEDDING_PASSES[1] * trained
    gathered = np.stack([np.full_like(written, EMBEDDING_PASSES[0]), written])
    passes = np.where(lookup, gathered, passes)
    passes = passes.reshape(passes.shape + (1,) * setting.dimensions)
    elements = setting.divided("elements", index, Split.COLUMNS) * setting.micro_batch
    unit = elements * setting.size / setting.bandwidth
    factor = np.asarray(setting.software.elementwise_factor)
    loss = (kind == Pointwise.CROSS_ENTROPY).reshape((-1,) + (1,) * setting.dimensions)
    loss_factor = np.minimum(factor, setting.kernels.cross_entropy_ceiling)
    loss_time = elements * setting.kernels.cross_entropy_bytes / setting.bandwidth * loss_factor / 2.0
    forward = np.where(loss, loss_time, unit * passes[0] * factor)
    backward = np.where(loss, loss_time, unit * passes[1] * factor)
    moved = np.where(
        loss, elements * setting.kernels.cross_entropy_bytes, elements * setting.size * passes.sum(axis=0)
    )
    # Rows of tables stay in single precision; a sample reads them, and its gradient updates them.
    table = setting.column("sparse", index) > 0
    row = elements * factor / setting.bandwidth
    forward = np.where(table, row * (ROW_BYTES + setting.size), forward)
    backward = np.where(table, row * (2.0 * ROW_BYTES + setting.size), backward)
    moved = np.where(table, elements * (3.0 * ROW_BYTES + 2.0 * setting.size), moved)
    # Weights in 4 bit are turned into the format of the products before each of them, whatever the batch.
    packed = (kind == Pointwise.DEQUANTISE).reshape((-1,) + (1,) * setting.dimensions)
    weights = setting.divided("elements", index, Split.COLUMNS) / setting.experts_apart(index)
    unpacked = weights * (QUANTISED_BYTES + setting.size)
    unpacking = unpacked * setting.kernels.dequantise_factor / setting.bandwidth
    forward = np.where(packed, unpacking, forward)
    backward = np.where(packed, unpacking, backward)
    moved = np.where(packed, 2.0 * unpacked, moved)
    return forward, backward, elements * passes.sum(axis=0), moved, np.full_like(forward, float(Bound.MEMORY))


def recomputed_share(table: OperatorTable, plans: Plans, fused: bool) -> Floats:
    """Return how often each operator's forward pass runs again in the backward pass.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Recomputation of each plan. [-]
    fused : bool
        True where attention is fused, which recomputes within itself. [-]

    Returns
    -------
    share : array
        0 or 1 per operator and plan, (O, …). [-]

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, section 5.

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> layer = OperatorTable.of([dense_layer(name="d", inputs=8, outputs=8)], depth=1, hidden=8, tokens=1)
    >>> recomputed_share(layer, Plans.of(recompute=2.0), False).tolist()
    [1.0]
    """
    shape = (-1,) + (1,) * plans.recompute.ndim
    layer = (table.section == 1).reshape(shape)
    attention = (table.kind == Kind.ATTENTION).reshape(shape)
    full = layer & (plans.recompute == Recompute.FULL)
    selective = attention & (plans.recompute == Recompute.SELECTIVE) & (not fused)
    return np.asarray((full | selective).astype(float))
