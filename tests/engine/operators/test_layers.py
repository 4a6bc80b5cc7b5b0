"""Convolutional, recurrent and embedding layers against counts known from elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.operators.layers import convolution_layer, dense_layer, embedding_bag, recurrent_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise


def table(*operators: Operator) -> OperatorTable:
    return OperatorTable.of(operators, depth=1, hidden=1, tokens=1)


def convolution(**changes: object) -> Operator:
    values = {"name": "c", "channels_in": 64, "channels_out": 64, "size": 56}
    return convolution_layer(**(values | changes))[0]


@given(
    channels=st.integers(1, 64),
    width=st.integers(1, 64),
    side=st.integers(1, 300),
    kernel=st.sampled_from([1, 3, 5, 7]),
    stride=st.integers(1, 4),
    groups=st.sampled_from([1, 2, 4]),
)
def test_a_convolution_costs_one_product_per_output_and_weight(
    channels: int, width: int, side: int, kernel: int, stride: int, groups: int
) -> None:
    layer = convolution(
        channels_in=channels * groups,
        channels_out=width * groups,
        size=side,
        kernel=kernel,
        stride=stride,
        groups=groups,
    )
    outputs = len(range(0, side, stride)) ** 2
    assert layer.output_elements == outputs * width * groups
    assert layer.weights == width * groups * channels * kernel**2
    assert float(table(layer).forward_flop[0]) == 2 * outputs * layer.weights


def test_a_depthwise_convolution_is_one_group_a_channel() -> None:
    layer = convolution(groups=64)
    assert layer.kind == Kind.DEPTHWISE
    assert layer.weights == 64 * 9
    assert convolution(groups=32).kind == Kind.CONVOLUTION


def test_three_dimensions_of_a_volume() -> None:
    """The first convolution of 3D U-Net: 128³ voxels, 1 to 32 channels, a kernel of 27."""
    layer = convolution(channels_in=1, channels_out=32, size=(128, 128, 128), bias=True)
    assert layer.weights == 27 * 32 + 32
    assert layer.rows == 128**3
    assert layer.kernel_area == 27


def test_norm_and_activation_follow_and_can_be_left_out() -> None:
    values = {"name": "c", "channels_in": 3, "channels_out": 8, "size": 4}
    both = convolution_layer(**values)
    assert [operator.name for operator in both] == ["c", "c_norm", "c_activation"]
    assert both[1].weights == 16
    assert len(convolution_layer(**values, norm=Pointwise.NONE, activation=Pointwise.NONE)) == 1


@pytest.mark.parametrize(
    ("cell", "inputs", "hidden", "directions", "parameters"),
    [
        ("lstm", 1024, 1024, 1, 8_396_800),  # torch.nn.LSTM(1024, 1024)
        ("lstm", 512, 1024, 2, 12_599_296),  # torch.nn.LSTM(512, 1024, bidirectional=True)
        ("gru", 256, 256, 1, 394_752),  # torch.nn.GRU(256, 256)
        ("rnn", 128, 64, 1, 12_416),  # torch.nn.RNN(128, 64)
    ],
)
def test_recurrent_layers_hold_what_pytorch_holds(
    cell: str, inputs: int, hidden: int, directions: int, parameters: int
) -> None:
    layer = recurrent_layer(
        name="r", cell=cell, inputs=inputs, hidden=hidden, steps=10, directions=directions
    )
    assert table(*layer).parameters == parameters


@given(steps=st.integers(1, 1000), directions=st.sampled_from([1, 2]))
def test_recurrent_layers_cost_two_flop_a_weight_and_step(steps: int, directions: int) -> None:
    layer = recurrent_layer(name="r", cell="gru", inputs=96, hidden=64, steps=steps, directions=directions)
    weights = 3 * directions * 64 * (96 + 64)
    assert float(np.sum(table(*layer).forward_flop)) == 2 * steps * weights


def test_embeddings_cost_memory_and_no_products() -> None:
    bag = embedding_bag(name="e", entries=1e6, width=128, lookups=20, count=26)
    model = table(bag)
    assert model.parameters == 26 * 128e6
    assert float(np.sum(model.forward_flop)) == 0
    assert bag.elements == 20 * 128


def test_repeats_multiply_everything() -> None:
    once, often = (table(dense_layer(name="d", inputs=9, outputs=5, rows=3, count=n)) for n in (1, 7))
    assert often.parameters == 7 * once.parameters
    assert often.forward_flop == 7 * once.forward_flop
