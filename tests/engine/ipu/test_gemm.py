"""Products on tiles: limits, the cap on temporaries, and the counts of elementwise work."""

from collections.abc import Iterable

import numpy as np
import pytest

from app.engine.compiled import record
from app.engine.ipu.case import IpuCase, figures_of, model_of
from app.engine.ipu.gemm import GEMMS, Gemm, gemm_cycles, gemm_of, operator_shapes, split_gemm
from app.engine.ipu.operator import IpuOperator
from app.engine.ipu.vector import vector_passes
from app.engine.operators.layers import convolution_layer, dense_layer, recurrent_layer
from app.engine.operators.table import OperatorTable
from app.engine.operators.transformer import Stack, TransformerShape, transformer_layer
from app.engine.records import IpuChip, IpuSoftware, Precision


def product(rows: float, inner: float, columns: float, groups: float = 1.0) -> Gemm:
    return Gemm(rows, inner, columns, groups, 1.0, 1.0)


def figures(chip: IpuChip, software: IpuSoftware, precision: Precision = Precision.FP16_16) -> IpuCase:
    return figures_of(model_of(table_of()), chip, software, precision, "sgd")


def table_of(*operators: object) -> OperatorTable:
    return OperatorTable.of(operators, depth=1, hidden=1.0, tokens=1.0)  # type: ignore[arg-type]


def products(operator: object, micro_batch: float = 1.0, tensor: float = 1.0) -> list[Gemm]:
    """Return the products of an operator: two forward, then four backward."""
    operators = model_of(table_of(operator)).operators
    row = record(IpuOperator, operators, 0)
    shapes = operator_shapes(row, micro_batch, tensor)
    return [gemm_of(row, shapes, place) for place in range(GEMMS)]


def passes(operators: Iterable[object], micro_batch: float) -> tuple[np.ndarray, tuple[float, float]]:
    """Return passes and operations of operators, forward and backward."""
    matrix = model_of(table_of(*operators)).operators
    rows = [record(IpuOperator, matrix, place) for place in range(len(matrix))]
    both = np.sum([vector_passes(row, micro_batch, 1.0, 0.0) for row in rows], axis=0)
    return both, (sum(row.forward_operations for row in rows), sum(row.backward_operations for row in rows))


def test_one_tile_takes_the_whole_product() -> None:
    assert [float(side) for side in split_gemm(30, 50, 7, 1)] == pytest.approx([30, 50, 7])


@pytest.mark.parametrize("sides", [(1024, 1024, 4096), (1e6, 3, 8), (16, 16, 16), (5, 1e5, 64)])
def test_pieces_cover_the_product_and_stay_inside_it(sides: tuple[float, float, float]) -> None:
    pieces = [float(side) for side in split_gemm(*sides, 1472)]
    assert np.prod(pieces) * 1472 == pytest.approx(np.prod(sides))
    assert all(piece <= side * (1 + 1e-9) for piece, side in zip(pieces, sides, strict=True))


def test_without_exchange_only_the_matrix_units_cost(bow: IpuChip, popart: IpuSoftware) -> None:
    free = bow._replace(exchange_multiplier=0.0, amp_efficiency=1.0)
    matrix, exchange = gemm_cycles(figures(free, popart), product(1024, 1024, 4096))
    assert exchange == 0
    assert matrix == pytest.approx(1024 * 1024 * 4096 / 1472 / 64)


def test_full_precision_runs_at_a_quarter_and_exchanges_twice(bow: IpuChip, popart: IpuSoftware) -> None:
    half = gemm_cycles(figures(bow, popart), product(512, 512, 512))
    full = gemm_cycles(figures(bow, popart, Precision.FP32), product(512, 512, 512))
    assert np.divide(full, half) == pytest.approx([4, 2])


def test_large_products_stay_below_what_memory_allows(bow: IpuChip, popart: IpuSoftware) -> None:
    """The share of the peak saturates near 0.4 rather than rising with size."""
    shares = []
    for side in (2048.0, 8192.0, 65536.0):
        spent = gemm_cycles(figures(bow, popart), product(side, side, side))
        shares.append(side**3 / 1472 / 64 / sum(spent))
    assert shares[1] == pytest.approx(0.40, abs=0.02)
    assert shares[2] == pytest.approx(shares[1], abs=0.01)


def test_more_products_than_tiles_run_one_after_the_other(bow: IpuChip, popart: IpuSoftware) -> None:
    few, _ = gemm_cycles(figures(bow, popart), product(64, 64, 64, 1472.0))
    many, _ = gemm_cycles(figures(bow, popart), product(64, 64, 64, 1473.0))
    assert many / few == pytest.approx(2)


def test_a_transformer_layer_has_its_published_passes() -> None:
    hidden, heads, length, batch, ratio = 1024, 16, 128, 8, 4
    shape = TransformerShape(
        layers=1,
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=64,
        feed_forward=ratio * hidden,
        vocabulary=1,
        stack=Stack.ENCODER,
    )
    layer = transformer_layer(shape, count=1, tokens=length, squared=length**2, causal=False)
    (forward, backward), operations = passes(layer, batch)
    tokens, scores = batch * length * hidden, batch * heads * length**2
    assert forward == tokens * (19 + 3 * ratio) + 5 * scores
    assert backward == tokens * (25 + 4 * ratio) + 6 * scores + (4 + 2 * ratio) * hidden**2
    assert operations == (20, 26)


def test_a_convolution_with_norm_and_activation_has_its_passes() -> None:
    layer = convolution_layer(name="a", channels_in=64, channels_out=64, size=56)
    both, operations = passes(layer, 4.0)
    elements = 4 * 64 * 56 * 56
    assert both.tolist() == [5 * elements, 7.5 * elements + 64 * 64 * 9]
    assert operations == (4, 5)


def test_gradients_of_a_convolution_multiply_as_often_as_its_forward_pass() -> None:
    layer = convolution_layer(name="a", channels_in=64, channels_out=128, size=56, stride=2)
    sides = np.array(products(layer[0], micro_batch=2.0))[:, [0, 1, 2, 3, 5]].prod(axis=1)
    assert sides[2:4] == pytest.approx([sides[0], sides[0]])
    assert sides[[1, 4, 5]].tolist() == [0, 0, 0]


def test_the_first_layer_needs_no_input_gradient() -> None:
    stem = convolution_layer(
        name="stem", channels_in=3, channels_out=64, size=224, kernel=7, stride=2, first=True
    )
    backward = products(stem[0])[2:]
    assert [each.repeats for each in backward] == [0, 1, 0, 0]
    assert backward[1].rows == 4 * 49


def test_depthwise_convolutions_run_sixteen_channels_at_a_time() -> None:
    layer = convolution_layer(name="a", channels_in=256, channels_out=256, size=14, groups=256)
    forward = products(layer[0])[0]
    assert (forward.groups, forward.inner, forward.columns) == (16, 48, 16)


def test_a_recurrent_layer_runs_step_by_step_but_takes_its_weight_gradient_at_once() -> None:
    layers = recurrent_layer(name="a", cell="lstm", inputs=512, hidden=512, steps=50)
    every = [products(layer, micro_batch=8.0) for layer in layers]
    assert [each[0].repeats for each in every] == [1, 50, 0]
    assert (every[1][2].repeats, every[1][3].repeats) == (50, 1)
    assert every[1][3].inner == 8 * 50


def test_a_layer_divided_by_columns_shrinks_there() -> None:
    layer = dense_layer(name="a", inputs=64, outputs=64)
    assert products(layer, tensor=4.0)[0].columns == 64
