"""Convolutional, dense and recurrent layers, and tables of looked-up rows, as operators.

Arguments that a function does not name are fields of :class:`Operator`.
"""

from __future__ import annotations

import math
from typing import Any

from app.engine.operators.table import Kind, Operator, Pointwise, Section

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
"""Products per step: Hochreiter and Schmidhuber 1997; Cho et al. 2014; Elman 1990."""


def pointwise_layer(name: str, pointwise: Pointwise, elements: float, **more: Any) -> Operator:
    """Return one memory-bound operator that passes over so many elements per sample."""
    return Operator(name=name, kind=Kind.POINTWISE, pointwise=pointwise, elements=elements, **more)


def norm_layer(
    name: str, channels: int, positions: float, norm: Pointwise = Pointwise.LAYER_NORM, **more: Any
) -> Operator:
    """Return a norm with scale and shift, which keeps its input."""
    elements = positions * channels
    return pointwise_layer(name, norm, elements, **{"weights": 2.0 * channels, "saved": elements, **more})


def convolution_layer(
    name: str,
    channels_in: int,
    channels_out: int,
    size: int | tuple[int, ...],
    *,
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
    count: float = 1.0,
    norm: Pointwise = Pointwise.BATCH_NORM,
    activation: Pointwise = Pointwise.RELU,
    bias: bool = False,
    first: bool = False,
) -> list[Operator]:
    """Return a convolution with the norm and the activation that follow it; NONE for nothing.

    The size is that of the input: the side of a square image, or its sides. Padding keeps it, the stride
    divides it, rounded up. The input of the first layer needs no gradient.

    The stem of ResNet-50 costs 118 million multiplications an image (He et al. 2016):

    >>> stem = convolution_layer("stem", 3, 64, 224, kernel=7, stride=2, first=True)[0]
    >>> round(stem.rows * stem.inner * stem.columns * stem.batch / 1e6)
    118
    """
    sides = (size, size) if isinstance(size, int) else size
    area = kernel ** len(sides)
    positions = float(math.prod(-(-side // stride) for side in sides))
    output = positions * channels_out
    source = float(math.prod(sides) * channels_in)
    depthwise = groups == channels_in and groups == channels_out and groups > 1
    operators = [
        Operator(
            name=name,
            kind=Kind.DEPTHWISE if depthwise else Kind.CONVOLUTION,
            count=count,
            rows=positions,
            inner=channels_in / groups * area,
            columns=channels_out / groups,
            batch=float(groups),
            kernel_area=float(area),
            kernel_width=float(kernel),
            stride=float(stride),
            input_elements=source,
            output_elements=output,
            weights=channels_out * channels_in / groups * area + (channels_out if bias else 0),
            saved=source,
            input_gradient=not first,
            aligned=False,
            convolution_launches=1.0,
        )
    ]
    if norm is not Pointwise.NONE:
        operators.append(norm_layer(f"{name}_norm", channels_out, positions, norm, count=count))
    # Without a norm whose kernel it could join, the activation passes over the output by itself.
    if activation is Pointwise.RELU and norm is Pointwise.NONE:
        activation = Pointwise.BIASED_RELU
    if activation is not Pointwise.NONE:
        operators.append(pointwise_layer(f"{name}_activation", activation, output, count=count))
    return operators


def convolution_1d(
    name: str,
    channels_in: int,
    channels_out: int,
    kernel: int,
    steps: float,
    count: float = 1.0,
    *,
    bias: bool = True,
    depthwise: bool = False,
    **more: Any,
) -> Operator:
    """Return a convolution along one axis; where it is depthwise every channel is its own group."""
    groups = channels_in if depthwise else 1
    columns, inner = channels_out // groups, channels_in // groups * kernel
    values: dict[str, Any] = {
        "weights": float(groups * inner * columns + (channels_out if bias else 0)),
        "saved": steps * channels_in,
        "convolution_launches": 0.0 if depthwise else 1.0,
    }
    return Operator(
        name=name,
        kind=Kind.DEPTHWISE if depthwise else Kind.CONVOLUTION,
        count=float(count),
        rows=steps,
        inner=float(inner),
        columns=float(columns),
        batch=float(groups),
        kernel_area=float(kernel),
        kernel_width=float(kernel),
        input_elements=steps * channels_in,
        output_elements=steps * channels_out,
        aligned=False,
        **(values | more),
    )


def dense_layer(
    name: str, inputs: int, outputs: int, rows: float = 1.0, *, bias: bool = True, **more: Any
) -> Operator:
    """Return a fully connected layer that is applied to so many vectors per sample.

    >>> dense_layer("classes", 2048, 1000).weights
    2049000.0
    """
    values: dict[str, Any] = {
        "weights": float(inputs * outputs + (outputs if bias else 0)),
        "saved": rows * inputs,
        "aligned": False,
        "convolution_launches": 0.5,
    }
    return Operator(
        name=name, kind=Kind.MATMUL, rows=rows, inner=float(inputs), columns=float(outputs), **(values | more)
    )


def attention_layer(name: str, heads: float, rows: float, keys: float, inner: float, **more: Any) -> Operator:
    """Return one attention operator over ``rows`` queries and ``keys`` keys, every head ``inner`` wide."""
    squared = rows * keys
    return Operator(
        name=name,
        kind=Kind.ATTENTION,
        rows=rows,
        inner=inner,
        columns=keys,
        batch=heads,
        squared=squared,
        saved=heads * inner * (rows + 2 * keys) + 2 * heads * squared,
        masks=heads * squared,
        keys_values=2 * keys * heads * inner,
        **more,
    )


def embedding_bag(name: str, entries: float, width: int, lookups: float, **more: Any) -> Operator:
    """Return a table whose looked-up rows are summed, as recommendation models use it (Naumov et al. 2019).

    Spread over the devices, it costs memory traffic and an exchange of rows.
    """
    values: dict[str, Any] = {"section": Section.EMBEDDING, "sparse": True}
    return Operator(
        name=name,
        kind=Kind.EMBEDDING,
        rows=lookups,
        columns=float(width),
        elements=lookups * width,
        weights=entries * width,
        input_gradient=False,
        **(values | more),
    )


def recurrent_layer(
    name: str, cell: str, inputs: int, hidden: int, steps: float, *, directions: int = 1, count: float = 1.0
) -> list[Operator]:
    """Return an LSTM, GRU or plain recurrent layer; two directions make it bidirectional.

    The products with the input do not wait for one another and form one large product; the
    products with the state run one step after the other (Appleyard et al. 2016).

    >>> sum(operator.weights for operator in recurrent_layer("encoder", "lstm", 1024, 1024, 50))
    8396800.0
    """
    width = GATES[cell] * directions * hidden
    state = Operator(
        name=f"{name}_state",
        kind=Kind.RECURRENT,
        count=count,
        rows=1.0,
        inner=float(hidden),
        columns=width / directions,
        batch=float(directions),
        steps=steps,
        weights=float(hidden * width + width),
        saved=steps * hidden * directions,
        aligned=False,
    )
    gates = steps * width
    return [
        dense_layer(f"{name}_input", inputs, width, steps, count=count),
        state,
        pointwise_layer(f"{name}_gates", Pointwise.ELEMENTWISE, gates, count=count, saved=gates),
    ]
