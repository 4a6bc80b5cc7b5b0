"""Time of every operator of one micro-batch on one GPU.

An operator's cost on the chip, at full rates, does not depend on the software: a search computes it once for
a tensor degree, a micro-batch and an expert degree, and samples of the software share it.
"""

from __future__ import annotations

from app.engine.compiled import Matrix, inner, record
from app.engine.gpu.case import LOSS, UNPACKING, Case, GpuOperator, MicroBatch, Software
from app.engine.gpu.gemm import misalignment, narrowing_time, roofline_time, tiled_gemm_time
from app.engine.gpu.passes import SOFTMAX_PASSES
from app.engine.operators.table import Kind, Section, Split
from app.engine.plans import Bound

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
COSTS = 9
"""Columns of an operator's costs: matrix units and memory of three products, a pass over the image, and what
turns activations and gradients into the format of products in 8 or 4 bit. [s]"""
MATMUL, LAYER = float(Kind.MATMUL), float(Section.LAYER)
CONVOLUTION, DEPTHWISE, ATTENTION = float(Kind.CONVOLUTION), float(Kind.DEPTHWISE), float(Kind.ATTENTION)
POINTWISE, EMBEDDING, RECURRENT = float(Kind.POINTWISE), float(Kind.EMBEDDING), float(Kind.RECURRENT)
COLUMNS, INNER, BATCH = float(Split.COLUMNS), float(Split.INNER), float(Split.BATCH)
COMPUTE, MEMORY = float(Bound.COMPUTE), float(Bound.MEMORY)


@inner
def _divided(value: float, split: float, by: float, tensor: float) -> float:
    """Return a dimension on one tensor rank."""
    return value / tensor if split == by else value


@inner
def _is_grouped(row: GpuOperator) -> bool:
    return row.kind == CONVOLUTION and row.batch > 1.0


@inner
def _spread_over(row: GpuOperator, expert: float) -> float:
    """Return the ranks over which the experts of an operator are spread."""
    return expert if row.active < 1.0 else 1.0


@inner
def busiest_share(case: Case, row: GpuOperator, expert: float) -> float:
    """Return the tokens of the busiest rank over the mean; the others wait for it. [-]"""
    return case.expert_imbalance if row.active < 1.0 and expert > 1.0 else 1.0


@inner
def _input_channels(case: Case, row: GpuOperator, tensor: float) -> float:
    """Return the input channels on one tensor rank at one position of the kernel, padded for matrix units."""
    channels = _divided(row.inner, row.split, INNER, tensor) / row.kernel_area
    if row.kind == CONVOLUTION:
        return max(channels, TF32_ROW_PADDING if case.size > 2.0 else ROW_PADDING)
    return channels


@inner
def operator_costs(case: Case, micro: MicroBatch, costs: Matrix) -> None:
    """Write the costs of every operator at full rates into rows of a matrix. [s]"""
    for index in range(case.operators.shape[0]):
        row = record(GpuOperator, case.operators, index)
        for column in range(COSTS):
            costs[index, column] = 0.0
        if row.kind == ATTENTION:
            _attention_cost(case, row, micro, costs, index)
        elif row.kind in (POINTWISE, EMBEDDING):
            _pointwise_cost(case, row, micro, costs, index)
        elif row.kind == DEPTHWISE:
            slow = case.depthwise_traffic * (1.0 + row.kernel_area / case.depthwise_area)
            costs[index, 3] = case.size * micro.samples * row.image * slow / case.bandwidth
        elif _is_grouped(row):
            _grouped_cost(case, row, micro, costs, index)
        else:
            _gemm_cost(case, row, micro, costs, index)


@inner
def _gemm_cost(case: Case, row: GpuOperator, micro: MicroBatch, costs: Matrix, index: int) -> None:
    """Write the costs of the forward, the input-gradient and the weight-gradient product."""
    # All tokens of the experts that are spread over ranks meet there.
    expert_ranks = _spread_over(row, micro.expert)
    rows = row.rows * micro.samples * expert_ranks * busiest_share(case, row, micro.expert)
    columns = _divided(row.columns, row.split, COLUMNS, micro.tensor)
    batch = _divided(row.batch, row.split, BATCH, micro.tensor) / expert_ranks
    channels = _input_channels(case, row, micro.tensor)
    convolution = row.kind == CONVOLUTION
    looped = row.steps if row.kind == RECURRENT else 1.0
    inner = channels * row.kernel_area
    spread = row.stride**2
    narrow = case.narrow_peak > 0.0 and row.kind == MATMUL and row.section == LAYER
    peak, size = (case.narrow_peak, case.narrow_size) if narrow else (case.peak, case.size)
    slow = misalignment(columns, inner, case.misaligned_8) if row.aligned > 0.0 else 1.0
    image = micro.samples * row.image
    for product in range(3):
        if product == 0:
            m, n, k = rows, columns, inner
        elif product == 1:
            m, n, k = rows * spread, channels, columns * row.kernel_area / spread
        else:
            m, n, k = columns, inner, rows * looped
        compute = tiled_gemm_time(
            m, n, k, batch, peak, case.multiprocessors, case.tiles, case.tile_prologue, case.split_bandwidth
        )
        read = image + columns * inner * batch if convolution else (m * k + k * n) * batch
        written = 0.0 if convolution else m * n * batch
        costs[index, product] = compute * slow
        costs[index, 3 + product] = (size * read + case.size * written) / case.bandwidth
    if narrow:
        costs[index, 7] = narrowing_time(rows * inner * batch, case.narrowing, case.bandwidth)
        costs[index, 8] = narrowing_time(rows * columns * batch, case.narrowing, case.bandwidth)
    if convolution:
        costs[index, 6] = case.size * image / case.bandwidth


@inner
def _grouped_cost(case: Case, row: GpuOperator, micro: MicroBatch, costs: Matrix, index: int) -> None:
    channels = row.inner / row.kernel_area
    padding = max(1.0, GROUP_WIDTH / channels) * max(1.0, GROUP_WIDTH / row.columns)
    flop = 2.0 * row.rows * micro.samples * row.inner * row.columns * row.batch
    image = micro.samples * row.image
    moved = case.size * case.grouped_traffic * (image + row.inner * row.columns * row.batch)
    costs[index, 0] = flop / case.peak * case.grouped_factor * (0.5 + 0.5 * padding)
    costs[index, 3] = moved / case.bandwidth
    costs[index, 6] = case.size * image / case.bandwidth


@inner
def _attention_cost(case: Case, row: GpuOperator, micro: MicroBatch, costs: Matrix, index: int) -> None:
    """Write the cost of fused attention, or of one of its products and one pass over its matrix."""
    heads = _divided(row.batch, row.split, BATCH, micro.tensor) * micro.samples
    tokens = row.rows + row.columns
    if case.fused_attention > 0.0:
        usual = row.inner == 64.0 or row.inner == 128.0
        flop = 4.0 * heads * row.squared * row.inner * row.causal
        costs[index, 0] = flop * (1.0 if usual else case.fused_head_penalty) / case.attention_peak
        return
    flop = 2.0 * heads * row.squared * row.inner
    costs[index, 0] = flop * misalignment(row.inner, 8.0, case.batched_misaligned_8) / case.peak
    costs[index, 3] = case.size * heads * (row.squared + tokens * row.inner) / case.bandwidth
    costs[index, 6] = case.size * heads * row.squared / case.bandwidth


@inner
def _pointwise_cost(case: Case, row: GpuOperator, micro: MicroBatch, costs: Matrix, index: int) -> None:
    """Write the passes of memory-bound operators forward and backward."""
    of_rank = _divided(row.elements, row.split, COLUMNS, micro.tensor)
    elements = of_rank * micro.samples * busiest_share(case, row, micro.expert)
    if row.special == UNPACKING:
        # Weights in 4 bit are turned into the format of the products before each of them, whatever the batch.
        weights = of_rank / _spread_over(row, micro.expert)
        unpacked = weights * (QUANTISED_BYTES + case.size) * case.dequantise_factor / case.bandwidth
        costs[index, 3], costs[index, 4] = unpacked, unpacked
    elif row.sparse > 0.0:
        # Rows of tables stay in single precision; a sample reads them, and its gradient updates them.
        costs[index, 3] = elements / case.bandwidth * (ROW_BYTES + case.size)
        costs[index, 4] = elements / case.bandwidth * (2.0 * ROW_BYTES + case.size)
    elif row.special == LOSS:
        loss = elements * case.cross_entropy_bytes / case.bandwidth / 2.0
        costs[index, 3], costs[index, 4] = loss, loss
    else:
        unit = elements * case.size / case.bandwidth
        costs[index, 3] = unit * row.forward_passes
        costs[index, 4] = unit * row.backward_passes


@inner
def operator_time(
    case: Case, software: Software, row: GpuOperator, costs: Matrix, index: int
) -> tuple[float, float]:
    """Return the time of an operator forward and backward, one repeat, without launches. [s]"""
    factor = software.elementwise_factor
    if row.kind == ATTENTION:
        if case.fused_attention > 0.0:
            forward = costs[index, 0] / software.attention_efficiency
            return forward, FUSED_BACKWARD * forward
        reached = case.batched_efficiency * software.matrix_efficiency
        product = roofline_time(costs[index, 0], reached, costs[index, 3], 1.0)
        one_pass = costs[index, 6] * factor
        forward = 2.0 * product + SOFTMAX_PASSES[0] * one_pass
        return forward, 4.0 * product + SOFTMAX_PASSES[1] * one_pass
    if row.kind in (POINTWISE, EMBEDDING):
        if row.special == UNPACKING:
            factor = 1.0
        elif row.special == LOSS and row.sparse == 0.0:
            factor = min(factor, case.cross_entropy_ceiling)
        return costs[index, 3] * factor, costs[index, 4] * factor
    if row.kind == DEPTHWISE:
        return costs[index, 3], 2.0 * costs[index, 3]
    # A framework that keeps channels first has the library transpose input and output of every convolution
    # (NVIDIA, "Convolutional layers user's guide," 2023, section on tensor layouts).
    moved = software.layout_passes * costs[index, 6]
    forward = roofline_time(costs[index, 0], software.matrix_efficiency, costs[index, 3], 1.0) + moved
    forward += costs[index, 7] * factor
    if _is_grouped(row):
        return forward, (1.0 + row.trained) * forward
    by_input = roofline_time(costs[index, 1], software.matrix_efficiency, costs[index, 4], 1.0) + moved
    by_input += costs[index, 8] * factor
    by_weights = roofline_time(costs[index, 2], software.matrix_efficiency, costs[index, 5], 1.0) + moved
    if row.kind == RECURRENT:
        # The steps of a loop wait for one another; the gradient of their weights is one product at the end.
        launched = LOOP_KERNELS * case.launch
        forward, by_input = (forward + launched) * row.steps, (by_input + launched) * row.steps
    return forward, by_input * row.input_gradient + by_weights * row.trained


@inner
def operator_loads(
    case: Case, software: Software, row: GpuOperator, micro: MicroBatch, costs: Matrix, index: int
) -> tuple[float, float, float]:
    """Return FLOP and traffic of an operator in both directions, one repeat, and its bound."""
    moved = software.layout_passes * costs[index, 6] * case.bandwidth
    if row.kind == ATTENTION:
        return _attention_loads(case, row, micro)
    if row.kind in (POINTWISE, EMBEDDING):
        return _pointwise_loads(case, row, micro, costs, index)
    rows = row.rows * micro.samples
    if row.kind == DEPTHWISE:
        flop = 6.0 * rows * row.inner * row.columns * row.batch
        return flop, 3.0 * case.size * micro.samples * row.image, MEMORY
    limited = 0
    for product in range(3):
        if costs[index, product] / software.matrix_efficiency >= costs[index, 3 + product]:
            limited += 1
    if _is_grouped(row):
        times = 2.0 + row.trained
        flop = 2.0 * rows * row.inner * row.columns * row.batch
        compute = costs[index, 0] / software.matrix_efficiency >= costs[index, 3]
        traffic = times * (costs[index, 3] * case.bandwidth + moved)
        return times * flop, traffic, COMPUTE if compute else MEMORY
    looped = row.steps if row.kind == RECURRENT else 1.0
    expert_ranks = _spread_over(row, micro.expert)
    inner = _divided(row.inner, row.split, INNER, micro.tensor)
    if row.kind == CONVOLUTION:
        inner = _input_channels(case, row, micro.tensor) * row.kernel_area
    columns = _divided(row.columns, row.split, COLUMNS, micro.tensor)
    batch = _divided(row.batch, row.split, BATCH, micro.tensor) / expert_ranks
    products = 1.0 + row.input_gradient + row.trained
    flop = 2.0 * rows * expert_ranks * columns * inner * batch * row.steps * products
    traffic = (costs[index, 3] * case.bandwidth + moved) * looped
    traffic += (costs[index, 4] * case.bandwidth + moved) * row.input_gradient * looped
    traffic += (costs[index, 5] * case.bandwidth + moved) * row.trained
    return flop, traffic, COMPUTE if limited >= 2 else MEMORY


@inner
def _attention_loads(case: Case, row: GpuOperator, micro: MicroBatch) -> tuple[float, float, float]:
    heads = _divided(row.batch, row.split, BATCH, micro.tensor) * micro.samples
    tokens = row.rows + row.columns
    if case.fused_attention > 0.0:
        flop = 4.0 * heads * row.squared * row.inner * row.causal
        return (1.0 + FUSED_BACKWARD) * flop, 4.0 * case.size * heads * tokens * row.inner, COMPUTE
    passes = SOFTMAX_PASSES[0] + SOFTMAX_PASSES[1]
    products = 6.0 * case.size * heads * (row.squared + tokens * row.inner)
    traffic = products + passes * case.size * heads * row.squared
    return 12.0 * heads * row.squared * row.inner, traffic, MEMORY


@inner
def _pointwise_loads(
    case: Case, row: GpuOperator, micro: MicroBatch, costs: Matrix, index: int
) -> tuple[float, float, float]:
    elements = _divided(row.elements, row.split, COLUMNS, micro.tensor) * micro.samples
    traffic = (costs[index, 3] + costs[index, 4]) * case.bandwidth
    if row.special == UNPACKING:
        traffic = traffic / case.dequantise_factor
    return elements * (row.forward_passes + row.backward_passes), traffic, MEMORY
