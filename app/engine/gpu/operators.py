"""Time of every operator of one micro-batch on one GPU.

An operator's cost on the chip, at full rates, does not depend on the software: a search computes it once for
a tensor degree, a micro-batch and an expert degree, and samples of the software share it.
"""

from __future__ import annotations

from typing import NamedTuple

from app.engine.arrays import store
from app.engine.compiled import Matrix, inner, record
from app.engine.gpu.case import LOSS, UNPACKING, Case, GpuOperator, MicroBatch, SoftwareStack
from app.engine.gpu.gemm import misalignment, narrowing_time, roofline_time, tiled_gemm_time
from app.engine.gpu.passes import SOFTMAX_BACKWARD, SOFTMAX_FORWARD
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
LOOP_KERNELS = 2.0
"""Kernels of one step of a recurrent layer in one direction: product and gates."""
GROUP_WIDTH = 16.0
"""Channels of a group that fill a matrix unit."""
FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT = range(3)
"""Products of an operator with weights."""
MATMUL, LAYER = float(Kind.MATMUL), float(Section.LAYER)
CONVOLUTION, DEPTHWISE, ATTENTION = float(Kind.CONVOLUTION), float(Kind.DEPTHWISE), float(Kind.ATTENTION)
POINTWISE, EMBEDDING, RECURRENT = float(Kind.POINTWISE), float(Kind.EMBEDDING), float(Kind.RECURRENT)
COLUMNS, INNER, BATCH = float(Split.COLUMNS), float(Split.INNER), float(Split.BATCH)
COMPUTE, MEMORY = float(Bound.COMPUTE), float(Bound.MEMORY)


class OperatorCost(NamedTuple):
    """Costs of one repeat of an operator at full rates. [s]"""

    forward: float
    """Matrix units of the forward product, or of one product of attention."""
    input_gradient: float
    weight_gradient: float
    forward_memory: float
    """Memory of the forward product, or passes of a memory-bound operator forward."""
    input_gradient_memory: float
    """The same of the input gradient, or passes backward."""
    weight_gradient_memory: float
    image: float
    """One pass over input and output of a convolution, or over the matrix of attention."""
    narrowed_input: float
    """What turns activations into the format of products in 8 or 4 bit."""
    narrowed_gradient: float
    """The same of gradients."""


COSTS = len(OperatorCost._fields)


@inner
def _forward_cost(compute: float, memory: float, image: float) -> OperatorCost:
    """Return the costs of an operator whose backward pass follows from its forward pass."""
    return OperatorCost(
        forward=compute,
        input_gradient=0.0,
        weight_gradient=0.0,
        forward_memory=memory,
        input_gradient_memory=0.0,
        weight_gradient_memory=0.0,
        image=image,
        narrowed_input=0.0,
        narrowed_gradient=0.0,
    )


@inner
def _passes_cost(forward: float, backward: float) -> OperatorCost:
    """Return the costs of an operator that is bound by memory."""
    return OperatorCost(
        forward=0.0,
        input_gradient=0.0,
        weight_gradient=0.0,
        forward_memory=forward,
        input_gradient_memory=backward,
        weight_gradient_memory=0.0,
        image=0.0,
        narrowed_input=0.0,
        narrowed_gradient=0.0,
    )


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
    """Write :class:`OperatorCost` of every operator into rows of a matrix. [s]"""
    for index in range(case.operators.shape[0]):
        row = record(GpuOperator, case.operators, index)
        if row.kind == ATTENTION:
            store(costs, index, 0, _attention_cost(case, row, micro))
        elif row.kind in (POINTWISE, EMBEDDING):
            store(costs, index, 0, _pointwise_cost(case, row, micro))
        elif row.kind == DEPTHWISE:
            slow = case.kernels.depthwise_traffic * (1.0 + row.kernel_area / case.kernels.depthwise_area)
            moved = case.size * micro.samples * row.image * slow / case.bandwidth
            store(costs, index, 0, _passes_cost(moved, 0.0))
        elif _is_grouped(row):
            store(costs, index, 0, _grouped_cost(case, row, micro))
        else:
            store(costs, index, 0, _gemm_cost(case, row, micro))


@inner
def _gemm_cost(case: Case, row: GpuOperator, micro: MicroBatch) -> OperatorCost:
    """Return the costs of the forward, the input-gradient and the weight-gradient product."""
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
    slow = misalignment(columns, inner, case.kernels.misaligned_8) if row.aligned > 0.0 else 1.0
    image = micro.samples * row.image
    forward, forward_memory = 0.0, 0.0
    input_gradient, input_gradient_memory = 0.0, 0.0
    weight_gradient, weight_gradient_memory = 0.0, 0.0
    for product in range(3):
        if product == FORWARD:
            m, n, k = rows, columns, inner
        elif product == INPUT_GRADIENT:
            m, n, k = rows * spread, channels, columns * row.kernel_area / spread
        else:
            m, n, k = columns, inner, rows * looped
        compute = slow * tiled_gemm_time(
            m,
            n,
            k,
            batch,
            peak,
            case.multiprocessors,
            case.kernels.tiles,
            case.kernels.tile_prologue,
            case.kernels.split_bandwidth,
        )
        read = image + columns * inner * batch if convolution else (m * k + k * n) * batch
        written = 0.0 if convolution else m * n * batch
        memory = (size * read + case.size * written) / case.bandwidth
        if product == FORWARD:
            forward, forward_memory = compute, memory
        elif product == INPUT_GRADIENT:
            input_gradient, input_gradient_memory = compute, memory
        else:
            weight_gradient, weight_gradient_memory = compute, memory
    narrowed_input, narrowed_gradient = 0.0, 0.0
    if narrow:
        narrowed_input = narrowing_time(rows * inner * batch, case.narrowing, case.bandwidth)
        narrowed_gradient = narrowing_time(rows * columns * batch, case.narrowing, case.bandwidth)
    return OperatorCost(
        forward=forward,
        input_gradient=input_gradient,
        weight_gradient=weight_gradient,
        forward_memory=forward_memory,
        input_gradient_memory=input_gradient_memory,
        weight_gradient_memory=weight_gradient_memory,
        image=case.size * image / case.bandwidth if convolution else 0.0,
        narrowed_input=narrowed_input,
        narrowed_gradient=narrowed_gradient,
    )


@inner
def _grouped_cost(case: Case, row: GpuOperator, micro: MicroBatch) -> OperatorCost:
    channels = row.inner / row.kernel_area
    padding = max(1.0, GROUP_WIDTH / channels) * max(1.0, GROUP_WIDTH / row.columns)
    flop = 2.0 * row.rows * micro.samples * row.inner * row.columns * row.batch
    image = micro.samples * row.image
    moved = case.size * case.kernels.grouped_traffic * (image + row.inner * row.columns * row.batch)
    compute = flop / case.peak * case.kernels.grouped_factor * (0.5 + 0.5 * padding)
    return _forward_cost(compute, moved / case.bandwidth, case.size * image / case.bandwidth)


@inner
def _attention_cost(case: Case, row: GpuOperator, micro: MicroBatch) -> OperatorCost:
    """Return the cost of fused attention, or of one of its products and one pass over its matrix."""
    heads = _divided(row.batch, row.split, BATCH, micro.tensor) * micro.samples
    tokens = row.rows + row.columns
    if case.fused_attention > 0.0:
        usual = row.inner == 64.0 or row.inner == 128.0
        flop = 4.0 * heads * row.squared * row.inner * row.causal
        slow = 1.0 if usual else case.kernels.fused_head_penalty
        return _forward_cost(flop * slow / case.attention_peak, 0.0, 0.0)
    flop = 2.0 * heads * row.squared * row.inner
    compute = flop * misalignment(row.inner, 8.0, case.kernels.batched_misaligned_8) / case.peak
    memory = case.size * heads * (row.squared + tokens * row.inner) / case.bandwidth
    return _forward_cost(compute, memory, case.size * heads * row.squared / case.bandwidth)


@inner
def _pointwise_cost(case: Case, row: GpuOperator, micro: MicroBatch) -> OperatorCost:
    """Return the passes of memory-bound operators forward and backward."""
    of_rank = _divided(row.elements, row.split, COLUMNS, micro.tensor)
    elements = of_rank * micro.samples * busiest_share(case, row, micro.expert)
    if row.special == UNPACKING:
        # Weights in 4 bit are turned into the format of the products before each of them, whatever the batch.
        weights = of_rank / _spread_over(row, micro.expert)
        moved = weights * (case.quantised_size + case.size)
        unpacked = moved * case.kernels.dequantise_factor / case.bandwidth
        return _passes_cost(unpacked, unpacked)
    if row.sparse > 0.0:
        # Rows of tables stay in single precision; a sample reads them, and its gradient updates them.
        once = elements / case.bandwidth
        return _passes_cost(once * (ROW_BYTES + case.size), once * (2.0 * ROW_BYTES + case.size))
    if row.special == LOSS:
        loss = elements * case.kernels.cross_entropy_bytes / case.bandwidth / 2.0
        return _passes_cost(loss, loss)
    unit = elements * case.size / case.bandwidth
    return _passes_cost(unit * row.forward_passes, unit * row.backward_passes)


@inner
def operator_time(
    case: Case, stack: SoftwareStack, row: GpuOperator, cost: OperatorCost
) -> tuple[float, float]:
    """Return the time of an operator forward and backward, one repeat, without launches. [s]"""
    factor = stack.software.elementwise_factor
    if row.kind == ATTENTION:
        if case.fused_attention > 0.0:
            forward = cost.forward / stack.software.attention_efficiency
            return forward, FUSED_BACKWARD * forward
        reached = case.kernels.batched_efficiency * stack.software.matrix_efficiency
        product = roofline_time(cost.forward, reached, cost.forward_memory, 1.0)
        one_pass = cost.image * factor
        forward = 2.0 * product + SOFTMAX_FORWARD * one_pass
        return forward, 4.0 * product + SOFTMAX_BACKWARD * one_pass
    if row.kind in (POINTWISE, EMBEDDING):
        if row.special == UNPACKING:
            factor = 1.0
        elif row.special == LOSS and row.sparse == 0.0:
            factor = min(factor, case.kernels.cross_entropy_ceiling)
        return cost.forward_memory * factor, cost.input_gradient_memory * factor
    if row.kind == DEPTHWISE:
        return cost.forward_memory, 2.0 * cost.forward_memory
    # A framework that keeps channels first has the library transpose input and output of every convolution
    # (NVIDIA, "Convolutional layers user's guide," 2023, section on tensor layouts).
    moved = stack.software.layout_passes * cost.image
    forward = roofline_time(cost.forward, stack.software.matrix_efficiency, cost.forward_memory, 1.0) + moved
    forward += cost.narrowed_input * factor
    if _is_grouped(row):
        return forward, (1.0 + row.trained) * forward
    by_input = (
        roofline_time(cost.input_gradient, stack.software.matrix_efficiency, cost.input_gradient_memory, 1.0)
        + moved
    )
    by_input += cost.narrowed_gradient * factor
    by_weights = (
        roofline_time(
            cost.weight_gradient, stack.software.matrix_efficiency, cost.weight_gradient_memory, 1.0
        )
        + moved
    )
    if row.kind == RECURRENT:
        # The steps of a loop wait for one another; the gradient of their weights is one product at the end.
        launched = LOOP_KERNELS * case.launch
        forward, by_input = (forward + launched) * row.steps, (by_input + launched) * row.steps
    return forward, by_input * row.input_gradient + by_weights * row.trained


@inner
def operator_loads(
    case: Case, stack: SoftwareStack, row: GpuOperator, micro: MicroBatch, cost: OperatorCost
) -> tuple[float, float, float]:
    """Return FLOP and traffic of an operator in both directions, one repeat, and its bound."""
    moved = stack.software.layout_passes * cost.image * case.bandwidth
    if row.kind == ATTENTION:
        return _attention_loads(case, row, micro)
    if row.kind in (POINTWISE, EMBEDDING):
        return _pointwise_loads(case, row, micro, cost)
    rows = row.rows * micro.samples
    if row.kind == DEPTHWISE:
        flop = 6.0 * rows * row.inner * row.columns * row.batch
        return flop, 3.0 * case.size * micro.samples * row.image, MEMORY
    reached, limited = stack.software.matrix_efficiency, 0
    limited += 1 if cost.forward / reached >= cost.forward_memory else 0
    limited += 1 if cost.input_gradient / reached >= cost.input_gradient_memory else 0
    limited += 1 if cost.weight_gradient / reached >= cost.weight_gradient_memory else 0
    if _is_grouped(row):
        times = 2.0 + row.trained
        flop = 2.0 * rows * row.inner * row.columns * row.batch
        compute = cost.forward / stack.software.matrix_efficiency >= cost.forward_memory
        traffic = times * (cost.forward_memory * case.bandwidth + moved)
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
    traffic = (cost.forward_memory * case.bandwidth + moved) * looped
    traffic += (cost.input_gradient_memory * case.bandwidth + moved) * row.input_gradient * looped
    traffic += (cost.weight_gradient_memory * case.bandwidth + moved) * row.trained
    return flop, traffic, COMPUTE if limited >= 2 else MEMORY


@inner
def _attention_loads(case: Case, row: GpuOperator, micro: MicroBatch) -> tuple[float, float, float]:
    heads = _divided(row.batch, row.split, BATCH, micro.tensor) * micro.samples
    tokens = row.rows + row.columns
    if case.fused_attention > 0.0:
        flop = 4.0 * heads * row.squared * row.inner * row.causal
        return (1.0 + FUSED_BACKWARD) * flop, 4.0 * case.size * heads * tokens * row.inner, COMPUTE
    passes = SOFTMAX_FORWARD + SOFTMAX_BACKWARD
    products = 6.0 * case.size * heads * (row.squared + tokens * row.inner)
    traffic = products + passes * case.size * heads * row.squared
    return 12.0 * heads * row.squared * row.inner, traffic, MEMORY


@inner
def _pointwise_loads(
    case: Case, row: GpuOperator, micro: MicroBatch, cost: OperatorCost
) -> tuple[float, float, float]:
    elements = _divided(row.elements, row.split, COLUMNS, micro.tensor) * micro.samples
    traffic = (cost.forward_memory + cost.input_gradient_memory) * case.bandwidth
    if row.special == UNPACKING:
        traffic = traffic / case.kernels.dequantise_factor
    return elements * (row.forward_passes + row.backward_passes), traffic, MEMORY
