"""Time of every operator of one micro-batch on one GPU.

An operator's cost on the chip, at full rates, does not depend on the software: a search computes it once for
a tensor degree, a micro-batch and an expert degree, and samples of the software share it.
"""

from __future__ import annotations

from app.compiled import Matrix, inner
from app.engine.gpu.case import AT, LOSS, UNPACKING, Case, Software
from app.engine.gpu.gemm import misalignment, roofline_time, tiled_product_time
from app.engine.gpu.passes import SOFTMAX_PASSES
from app.engine.operators.table import Kind, Split
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

COSTS = 7
"""Columns of an operator's costs: matrix units and memory of three products, a pass over the image. [s]"""

CONVOLUTION, DEPTHWISE, ATTENTION = float(Kind.CONVOLUTION), float(Kind.DEPTHWISE), float(Kind.ATTENTION)

POINTWISE, EMBEDDING, RECURRENT = float(Kind.POINTWISE), float(Kind.EMBEDDING), float(Kind.RECURRENT)

COLUMNS, INNER, BATCH = float(Split.COLUMNS), float(Split.INNER), float(Split.BATCH)

COMPUTE, MEMORY = float(Bound.COMPUTE), float(Bound.MEMORY)


@inner
def _divided(value: float, split: float, by: float, tensor: float) -> float:
    """Return a dimension on one tensor rank."""
    return value / tensor if split == by else value


@inner
def _is_grouped(case: Case, place: int) -> bool:
    return case.operators[AT.kind, place] == CONVOLUTION and case.operators[AT.batch, place] > 1.0


@inner
def operator_costs(
    case: Case, tensor: float, micro_batch: float, expert: float, costs: Matrix, first: int
) -> None:
    """Write the costs of every operator at full rates into rows of a matrix. [s]"""
    operators = case.operators
    for place in range(operators.shape[1]):
        kind, row = operators[AT.kind, place], first + place
        for column in range(COSTS):
            costs[row, column] = 0.0
        if kind == ATTENTION:
            _attention_cost(case, place, tensor, micro_batch, costs, row)
        elif kind in (POINTWISE, EMBEDDING):
            _pointwise_cost(case, place, tensor, micro_batch, expert, costs, row)
        elif kind == DEPTHWISE:
            area = operators[AT.kernel_area, place]
            slow = case.depthwise_traffic * (1.0 + area / case.depthwise_area)
            costs[row, 3] = case.size * micro_batch * operators[AT.image, place] * slow / case.bandwidth
        elif _is_grouped(case, place):
            _grouped_cost(case, place, micro_batch, costs, row)
        else:
            _product_cost(case, place, tensor, micro_batch, expert, costs, row)


@inner
def _product_cost(
    case: Case, place: int, tensor: float, micro_batch: float, expert: float, costs: Matrix, row: int
) -> None:
    """Write the costs of the forward, the input-gradient and the weight-gradient product."""
    operators = case.operators
    split = operators[AT.split, place]
    # All tokens of the experts that are spread over ranks meet there.
    apart = expert if operators[AT.active, place] < 1.0 else 1.0
    rows = operators[AT.rows, place] * micro_batch * apart
    columns = _divided(operators[AT.columns, place], split, COLUMNS, tensor)
    batch = _divided(operators[AT.batch, place], split, BATCH, tensor) / apart
    area = operators[AT.kernel_area, place]
    channels = _divided(operators[AT.inner, place], split, INNER, tensor) / area
    convolution = operators[AT.kind, place] == CONVOLUTION
    if convolution:
        channels = max(channels, TF32_ROW_PADDING if case.size > 2.0 else ROW_PADDING)
    looped = operators[AT.steps, place] if operators[AT.kind, place] == RECURRENT else 1.0
    inner = channels * area
    spread = operators[AT.stride, place] ** 2
    slow = misalignment(columns, inner, case.misaligned_8) if operators[AT.aligned, place] > 0.0 else 1.0
    image = micro_batch * operators[AT.image, place]
    for product in range(3):
        if product == 0:
            m, n, k = rows, columns, inner
        elif product == 1:
            m, n, k = rows * spread, channels, columns * area / spread
        else:
            m, n, k = columns, inner, rows * looped
        compute = tiled_product_time(
            m,
            n,
            k,
            batch,
            case.peak,
            case.multiprocessors,
            case.tiles,
            case.tile_prologue,
            case.split_bandwidth,
        )
        moved = image + columns * inner * batch if convolution else (m * k + k * n + m * n) * batch
        costs[row, product] = compute * slow
        costs[row, 3 + product] = case.size * moved / case.bandwidth
    if convolution:
        costs[row, 6] = case.size * image / case.bandwidth


@inner
def _grouped_cost(case: Case, place: int, micro_batch: float, costs: Matrix, row: int) -> None:
    operators = case.operators
    inner, columns, batch = (
        operators[AT.inner, place],
        operators[AT.columns, place],
        operators[AT.batch, place],
    )
    channels = inner / operators[AT.kernel_area, place]
    padding = max(1.0, GROUP_WIDTH / channels) * max(1.0, GROUP_WIDTH / columns)
    flop = 2.0 * operators[AT.rows, place] * micro_batch * inner * columns * batch
    image = micro_batch * operators[AT.image, place]
    moved = case.size * case.grouped_traffic * (image + inner * columns * batch)
    costs[row, 0] = flop / case.peak * case.grouped_factor * (0.5 + 0.5 * padding)
    costs[row, 3] = moved / case.bandwidth
    costs[row, 6] = case.size * image / case.bandwidth


@inner
def _attention_cost(
    case: Case, place: int, tensor: float, micro_batch: float, costs: Matrix, row: int
) -> None:
    """Write the cost of fused attention, or of one of its products and a pass over its matrix."""
    operators = case.operators
    heads = _divided(operators[AT.batch, place], operators[AT.split, place], BATCH, tensor) * micro_batch
    width, squared = operators[AT.inner, place], operators[AT.squared, place]
    tokens = operators[AT.rows, place] + operators[AT.columns, place]
    if case.fused_attention > 0.0:
        usual = width == 64.0 or width == 128.0
        flop = 4.0 * heads * squared * width * operators[AT.causal, place]
        costs[row, 0] = flop * (1.0 if usual else case.fused_head_penalty) / case.peak
        return
    flop = 2.0 * heads * squared * width
    costs[row, 0] = flop * misalignment(width, 8.0, case.batched_misaligned_8) / case.peak
    costs[row, 3] = case.size * heads * (squared + tokens * width) / case.bandwidth
    costs[row, 6] = case.size * heads * squared / case.bandwidth


@inner
def _pointwise_cost(
    case: Case, place: int, tensor: float, micro_batch: float, expert: float, costs: Matrix, row: int
) -> None:
    """Write the passes of memory-bound operators forward and backward."""
    operators = case.operators
    held = _divided(operators[AT.elements, place], operators[AT.split, place], COLUMNS, tensor)
    elements = held * micro_batch
    if operators[AT.special, place] == UNPACKING:
        # Weights in 4 bit are turned into the format of the products before each of them, whatever the batch.
        weights = held / (expert if operators[AT.active, place] < 1.0 else 1.0)
        unpacked = weights * (QUANTISED_BYTES + case.size) * case.dequantise_factor / case.bandwidth
        costs[row, 3], costs[row, 4] = unpacked, unpacked
    elif operators[AT.sparse, place] > 0.0:
        # Rows of tables stay in single precision; a sample reads them, and its gradient updates them.
        costs[row, 3] = elements / case.bandwidth * (ROW_BYTES + case.size)
        costs[row, 4] = elements / case.bandwidth * (2.0 * ROW_BYTES + case.size)
    elif operators[AT.special, place] == LOSS:
        loss = elements * case.cross_entropy_bytes / case.bandwidth / 2.0
        costs[row, 3], costs[row, 4] = loss, loss
    else:
        unit = elements * case.size / case.bandwidth
        costs[row, 3] = unit * operators[AT.forward_passes, place]
        costs[row, 4] = unit * operators[AT.backward_passes, place]


@inner
def operator_time(case: Case, software: Software, place: int, costs: Matrix, row: int) -> tuple[float, float]:
    """Return the time of an operator forward and backward, one repeat, without launches. [s]"""
    operators = case.operators
    kind = operators[AT.kind, place]
    factor = software.elementwise_factor
    if kind == ATTENTION:
        if case.fused_attention > 0.0:
            forward = costs[row, 0] / software.attention_efficiency
            return forward, FUSED_BACKWARD * forward
        reached = case.batched_efficiency * software.matrix_efficiency
        product = roofline_time(costs[row, 0], reached, costs[row, 3], 1.0)
        one_pass = costs[row, 6] * factor
        forward = 2.0 * product + SOFTMAX_PASSES[0] * one_pass
        return forward, 4.0 * product + SOFTMAX_PASSES[1] * one_pass
    if kind in (POINTWISE, EMBEDDING):
        if operators[AT.special, place] == UNPACKING:
            factor = 1.0
        elif operators[AT.special, place] == LOSS and operators[AT.sparse, place] == 0.0:
            factor = min(factor, case.cross_entropy_ceiling)
        return costs[row, 3] * factor, costs[row, 4] * factor
    if kind == DEPTHWISE:
        return costs[row, 3], 2.0 * costs[row, 3]
    # A framework that keeps channels first has the library transpose input and output of every convolution
    # (NVIDIA, "Convolutional layers user's guide," 2023, section on tensor layouts).
    moved = software.layout_passes * costs[row, 6]
    forward = roofline_time(costs[row, 0], software.matrix_efficiency, costs[row, 3], 1.0) + moved
    if _is_grouped(case, place):
        return forward, (1.0 + operators[AT.trained, place]) * forward
    by_input = roofline_time(costs[row, 1], software.matrix_efficiency, costs[row, 4], 1.0) + moved
    by_weights = roofline_time(costs[row, 2], software.matrix_efficiency, costs[row, 5], 1.0) + moved
    if kind == RECURRENT:
        # The steps of a loop wait for one another; the gradient of their weights is one product at the end.
        steps, launched = operators[AT.steps, place], LOOP_KERNELS * case.launch
        forward, by_input = (forward + launched) * steps, (by_input + launched) * steps
    return forward, by_input * operators[AT.input_gradient, place] + by_weights * operators[AT.trained, place]


@inner
def operator_loads(
    case: Case,
    software: Software,
    place: int,
    tensor: float,
    micro_batch: float,
    expert: float,
    costs: Matrix,
    row: int,
) -> tuple[float, float, float]:
    """Return arithmetic and traffic of an operator in both directions, one repeat, and what limits it."""
    operators = case.operators
    kind = operators[AT.kind, place]
    moved = software.layout_passes * costs[row, 6] * case.bandwidth
    if kind == ATTENTION:
        return _attention_loads(case, place, tensor, micro_batch)
    if kind in (POINTWISE, EMBEDDING):
        return _pointwise_loads(case, place, tensor, micro_batch, costs, row)
    rows = operators[AT.rows, place] * micro_batch
    if kind == DEPTHWISE:
        flop = (
            6.0
            * rows
            * operators[AT.inner, place]
            * operators[AT.columns, place]
            * operators[AT.batch, place]
        )
        return flop, 3.0 * case.size * micro_batch * operators[AT.image, place], MEMORY
    limited = 0
    for product in range(3):
        if costs[row, product] / software.matrix_efficiency >= costs[row, 3 + product]:
            limited += 1
    if _is_grouped(case, place):
        times = 2.0 + operators[AT.trained, place]
        flop = (
            2.0
            * rows
            * operators[AT.inner, place]
            * operators[AT.columns, place]
            * operators[AT.batch, place]
        )
        compute = costs[row, 0] / software.matrix_efficiency >= costs[row, 3]
        traffic = times * (costs[row, 3] * case.bandwidth + moved)
        return times * flop, traffic, COMPUTE if compute else MEMORY
    wanted = operators[AT.input_gradient, place], operators[AT.trained, place]
    steps = operators[AT.steps, place]
    looped = steps if kind == RECURRENT else 1.0
    split = operators[AT.split, place]
    apart = expert if operators[AT.active, place] < 1.0 else 1.0
    inner = _divided(operators[AT.inner, place], split, INNER, tensor)
    if kind == CONVOLUTION:
        area = operators[AT.kernel_area, place]
        inner = max(inner / area, TF32_ROW_PADDING if case.size > 2.0 else ROW_PADDING) * area
    columns = _divided(operators[AT.columns, place], split, COLUMNS, tensor)
    batch = _divided(operators[AT.batch, place], split, BATCH, tensor) / apart
    flop = 2.0 * rows * apart * columns * inner * batch * steps * (1.0 + wanted[0] + wanted[1])
    traffic = (costs[row, 3] * case.bandwidth + moved) * looped
    traffic += (costs[row, 4] * case.bandwidth + moved) * wanted[0] * looped
    traffic += (costs[row, 5] * case.bandwidth + moved) * wanted[1]
    return flop, traffic, COMPUTE if limited >= 2 else MEMORY


@inner
def _attention_loads(case: Case, place: int, tensor: float, micro_batch: float) -> tuple[float, float, float]:
    operators = case.operators
    heads = _divided(operators[AT.batch, place], operators[AT.split, place], BATCH, tensor) * micro_batch
    width, squared = operators[AT.inner, place], operators[AT.squared, place]
    tokens = operators[AT.rows, place] + operators[AT.columns, place]
    if case.fused_attention > 0.0:
        flop = 4.0 * heads * squared * width * operators[AT.causal, place]
        return (1.0 + FUSED_BACKWARD) * flop, 4.0 * case.size * heads * tokens * width, COMPUTE
    passes = SOFTMAX_PASSES[0] + SOFTMAX_PASSES[1]
    traffic = 6.0 * case.size * heads * (squared + tokens * width) + passes * case.size * heads * squared
    return 12.0 * heads * squared * width, traffic, MEMORY


@inner
def _pointwise_loads(
    case: Case, place: int, tensor: float, micro_batch: float, costs: Matrix, row: int
) -> tuple[float, float, float]:
    operators = case.operators
    elements = (
        _divided(operators[AT.elements, place], operators[AT.split, place], COLUMNS, tensor) * micro_batch
    )
    passes = operators[AT.forward_passes, place] + operators[AT.backward_passes, place]
    traffic = (costs[row, 3] + costs[row, 4]) * case.bandwidth
    if operators[AT.special, place] == UNPACKING:
        traffic = traffic / case.dequantise_factor
    return elements * passes, traffic, MEMORY
