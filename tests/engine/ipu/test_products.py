"""Products on tiles: limits, the cap on temporaries, and the counts of elementwise work."""

from dataclasses import replace

import numpy as np
import pytest

from app.engine.ipu.geometry import backward_products, forward_products
from app.engine.ipu.products import Products, product_cycles, split_product
from app.engine.ipu.vector import vector_work
from app.engine.operators import (
    OperatorTable,
    convolution_layer,
    dense_layer,
    recurrent_layer,
    transformer_layer,
)
from app.engine.operators.transformer import Stack, TransformerShape
from app.engine.records import IpuChip, IpuSoftware, Precision

ONE = np.array([1.0])


def product(rows: float, inner: float, columns: float, groups: float = 1.0) -> Products:
    return Products(*(np.full((1, 1), side) for side in (rows, inner, columns, groups, 1.0, 1.0)))


def table_of(*operators: object) -> OperatorTable:
    return OperatorTable.of(operators, depth=1, hidden=1.0, tokens=1.0)  # type: ignore[arg-type]


def test_one_tile_takes_the_whole_product() -> None:
    assert [float(side) for side in split_product(30, 50, 7, 1)] == pytest.approx([30, 50, 7])


@pytest.mark.parametrize("sides", [(1024, 1024, 4096), (1e6, 3, 8), (16, 16, 16), (5, 1e5, 64)])
def test_pieces_cover_the_product_and_stay_inside_it(sides: tuple[float, float, float]) -> None:
    pieces = [float(side) for side in split_product(*sides, 1472)]
    assert np.prod(pieces) * 1472 == pytest.approx(np.prod(sides))
    assert all(piece <= side * (1 + 1e-9) for piece, side in zip(pieces, sides, strict=True))


def test_without_exchange_only_the_matrix_units_cost(bow: IpuChip, popart: IpuSoftware) -> None:
    free = replace(bow, exchange_multiplier=0.0, amp_efficiency=1.0)
    spent = product_cycles(product(1024, 1024, 4096), free, popart)
    assert float(spent.exchange[0]) == 0
    assert float(spent.matrix[0]) == pytest.approx(1024 * 1024 * 4096 / 1472 / 64)


def test_full_precision_runs_at_a_quarter_and_exchanges_twice(bow: IpuChip, popart: IpuSoftware) -> None:
    half = product_cycles(product(512, 512, 512), bow, popart)
    full = product_cycles(product(512, 512, 512), bow, popart, precision=Precision.FP32)
    assert float(full.matrix[0] / half.matrix[0]) == pytest.approx(4)
    assert float(full.exchange[0] / half.exchange[0]) == pytest.approx(2)


def test_large_products_stay_below_what_memory_allows(bow: IpuChip, popart: IpuSoftware) -> None:
    """The share of the peak saturates near 0.4 rather than rising with size."""
    shares = []
    for side in (2048.0, 8192.0, 65536.0):
        spent = product_cycles(product(side, side, side), bow, popart)
        shares.append(side**3 / 1472 / 64 / float(spent.matrix[0] + spent.exchange[0]))
    assert shares[1] == pytest.approx(0.40, abs=0.02)
    assert shares[2] == pytest.approx(shares[1], abs=0.01)


def test_more_products_than_tiles_run_one_after_the_other(bow: IpuChip, popart: IpuSoftware) -> None:
    few = product_cycles(product(64, 64, 64, 1472.0), bow, popart)
    many = product_cycles(product(64, 64, 64, 1473.0), bow, popart)
    assert float(many.matrix[0] / few.matrix[0]) == pytest.approx(2)


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
    work = vector_work(table_of(*layer), batch * ONE, ONE, 0 * ONE)
    tokens, scores = batch * length * hidden, batch * heads * length**2
    assert work.forward_passes.sum() == tokens * (19 + 3 * ratio) + 5 * scores
    assert work.backward_passes.sum() == (
        tokens * (25 + 4 * ratio) + 6 * scores + (4 + 2 * ratio) * hidden**2
    )
    assert (work.forward_operations.sum(), work.backward_operations.sum()) == (20, 26)


def test_a_convolution_with_norm_and_activation_has_its_passes() -> None:
    layer = convolution_layer(name="a", channels_in=64, channels_out=64, height=56, width=56)
    work = vector_work(table_of(*layer), 4 * ONE, ONE, 0 * ONE)
    elements = 4 * 64 * 56 * 56
    assert work.forward_passes.sum() == 5 * elements
    assert work.backward_passes.sum() == 7.5 * elements + 64 * 64 * 9
    assert (work.forward_operations.sum(), work.backward_operations.sum()) == (4, 5)


def test_gradients_of_a_convolution_multiply_as_often_as_its_forward_pass() -> None:
    layer = convolution_layer(name="a", channels_in=64, channels_out=128, height=56, width=56, stride=2)
    forward = forward_products(table_of(layer[0]), 2 * ONE, ONE)
    backward = backward_products(table_of(layer[0]), 2 * ONE, ONE)

    def multiplications(products: Products) -> list[float]:
        sides = products.rows * products.inner * products.columns * products.groups * products.repeats
        return [float(part) for part in sides[:, 0, 0] if part]

    once = multiplications(forward)[0]
    assert multiplications(backward) == pytest.approx([once, once])


def test_the_first_layer_needs_no_input_gradient() -> None:
    stem = convolution_layer(
        name="stem", channels_in=3, channels_out=64, height=224, width=224, kernel=7, stride=2, first=True
    )
    backward = backward_products(table_of(stem[0]), ONE, ONE)
    assert backward.repeats[:, 0, 0].tolist() == [0, 1, 0, 0]
    assert float(backward.rows[1, 0, 0]) == 4 * 49


def test_depthwise_convolutions_run_sixteen_channels_at_a_time() -> None:
    layer = convolution_layer(name="a", channels_in=256, channels_out=256, height=14, width=14, groups=256)
    forward = forward_products(table_of(layer[0]), ONE, ONE)
    sides = (forward.groups, forward.inner, forward.columns)
    assert [float(side[0, 0, 0]) for side in sides] == [16, 48, 16]


def test_a_recurrent_layer_runs_step_by_step_but_takes_its_weight_gradient_at_once() -> None:
    layers = recurrent_layer(name="a", cell="lstm", inputs=512, hidden=512, steps=50)
    forward = forward_products(table_of(*layers), 8 * ONE, ONE)
    backward = backward_products(table_of(*layers), 8 * ONE, ONE)
    assert forward.repeats[0, :, 0].tolist() == [1, 50, 0]
    assert backward.repeats[:2, 1, 0].tolist() == [50, 1]
    assert float(backward.inner[1, 1, 0]) == 8 * 50


def test_a_layer_divided_by_columns_shrinks_there() -> None:
    layer = dense_layer(name="a", inputs=64, outputs=64)
    whole = forward_products(table_of(layer), ONE, 4 * ONE)
    assert float(whole.columns[0, 0, 0]) == 64
