"""Which matrix products an operator runs, forward and backward.

The product axis comes first: two products forward (attention has scores and context) and four
backward (attention has four; every other operator has an input and a weight gradient). A product
that an operator does not have is repeated zero times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine.ipu.products import AMP_GROUP, Products
from app.engine.ipu.shares import by_operator
from app.engine.operators import Kind, OperatorTable, Split
from app.engine.records import Floats

CHANNEL_GRAIN = 4.0
"""Channels and kernel columns that the narrow convolution vertex takes at a time (poplibs, SLIC)."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Sides of each operator's forward product on one device, arrays (O, …)."""

    positions: Floats
    """Output positions, or tokens, of a micro-batch. [-]"""
    channels: Floats
    """Input channels of one group, or input width. [-]"""
    outputs: Floats
    """Output channels of one group, or output width. [-]"""
    groups: Floats
    area: Floats
    inner: Floats
    """Inner side with the padding that narrow convolutions need. [-]"""
    spread: Floats
    """Input positions per output position of a strided convolution. [-]"""
    steps: Floats
    runs: Floats
    """1 for a product other than attention. [-]"""
    attends: Floats
    """1 for attention. [-]"""


def operator_shapes(table: OperatorTable, micro_batch: Floats, tensor: Floats) -> Shapes:
    """Return the sides of each operator's product once micro-batch and tensor degree are known.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    micro_batch : ndarray
        Samples of one micro-batch. [-]
    tensor : ndarray
        Devices that share each layer. [-]

    Returns
    -------
    shapes : Shapes
        Sides per device. [-]

    Notes
    -----
    Grouped convolutions with fewer than 16 channels a group run sixteen output channels at a time,
    their kernel columns padded to four; a plain convolution pads its input channels to four.

    References
    ----------
    .. [1] Graphcore, poplibs source, ConvPlan.cpp and the SLIC vertex, SDK 2.5.

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=8, outputs=4)], depth=1, hidden=8, tokens=1)
    >>> operator_shapes(table, np.array([32.0]), np.array([1.0])).positions.tolist()
    [[32.0]]
    """

    def column(values: NDArray[Any]) -> Floats:
        return by_operator(values, micro_batch)

    split = column(table.split)
    convolution = column(np.isin(table.kind, (Kind.CONVOLUTION, Kind.DEPTHWISE))) > 0
    attends = column(table.kind == Kind.ATTENTION)
    dense = np.isin(table.kind, (Kind.MATMUL, Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.RECURRENT))
    area = column(np.maximum(table.kernel_area, 1.0))
    inner = np.maximum(column(table.inner) / np.where(split == Split.INNER, tensor, 1.0), 1.0)
    outputs = np.maximum(column(table.columns) / np.where(split == Split.COLUMNS, tensor, 1.0), 1.0)
    batch = np.maximum(column(table.batch) / np.where(split == Split.BATCH, tensor, 1.0), 1.0)
    channels = inner / area
    grouped = convolution & (batch > 1)
    narrow = grouped & (channels < AMP_GROUP)
    width = column(table.kernel_width)
    taps = area / width * np.ceil(width / CHANNEL_GRAIN) * CHANNEL_GRAIN
    narrow_inner = taps * np.maximum(channels, CHANNEL_GRAIN)
    padded = np.where(convolution & ~grouped, np.maximum(channels, CHANNEL_GRAIN), channels)
    return Shapes(
        positions=np.maximum(column(table.rows), 1.0) * np.where(attends > 0, 1.0, micro_batch),
        channels=np.where(narrow, AMP_GROUP, padded),
        outputs=np.where(narrow, AMP_GROUP, outputs),
        groups=np.where(narrow, np.maximum(batch * outputs / AMP_GROUP, 1.0), batch)
        * np.where(attends > 0, micro_batch, 1.0),
        area=area,
        inner=np.where(narrow, narrow_inner, padded * area),
        spread=np.where(area > 1.0, column(table.stride) ** 2, 1.0),
        steps=column(table.steps),
        runs=column(dense),
        attends=attends,
    )


def forward_products(table: OperatorTable, micro_batch: Floats, tensor: Floats) -> Products:
    """Return the products of the forward pass of one micro-batch.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    micro_batch : ndarray
        Samples of one micro-batch. [-]
    tensor : ndarray
        Devices that share each layer. [-]

    Returns
    -------
    products : Products
        Two per operator, (2, O, …). [-]

    References
    ----------
    .. [1] A. Vaswani et al., "Attention is all you need," NeurIPS, 2017 (scores and context).

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=8, outputs=4)], depth=1, hidden=8, tokens=1)
    >>> forward_products(table, np.array([32.0]), np.array([1.0])).repeats[:, 0, 0].tolist()
    [1.0, 0.0]
    """
    shapes = operator_shapes(table, micro_batch, tensor)
    keys = _keys(table, shapes)
    attends = shapes.attends > 0
    first = (
        shapes.positions,
        np.where(attends, shapes.channels, shapes.inner),
        np.where(attends, keys, shapes.outputs),
        shapes.runs * shapes.steps + shapes.attends,
    )
    second = (shapes.positions, keys, shapes.channels, shapes.attends)
    return _stacked([first, second], shapes, [shapes.area, np.ones_like(shapes.area)])


def backward_products(table: OperatorTable, micro_batch: Floats, tensor: Floats) -> Products:
    """Return the products of the backward pass of one micro-batch, without recomputation.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    micro_batch : ndarray
        Samples of one micro-batch. [-]
    tensor : ndarray
        Devices that share each layer. [-]

    Returns
    -------
    products : Products
        Four per operator, (4, O, …): for attention the gradients of probabilities, values, queries
        and keys; else of input and weights. [-]

    Notes
    -----
    The input gradient of a strided convolution meets each output as often as the stride lets it.
    A recurrent operator takes its weight gradient in one product over all steps.

    References
    ----------
    .. [1] V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning,"
       arXiv:1603.07285, 2016 (transposed convolution).

    Examples
    --------
    The weight gradient of an 8 × 4 layer over 32 samples is 8 × 32 by 32 × 4:

    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=8, outputs=4)], depth=1, hidden=8, tokens=1)
    >>> weights = backward_products(table, np.array([32.0]), np.array([1.0]))
    >>> [float(side[1, 0, 0]) for side in (weights.rows, weights.inner, weights.columns)]
    [8.0, 32.0, 4.0]
    """
    shapes = operator_shapes(table, micro_batch, tensor)
    keys = _keys(table, shapes)
    attends = shapes.attends > 0
    wanted = by_operator(table.input_gradient, micro_batch)
    input_inner = shapes.outputs * shapes.inner / shapes.channels / shapes.spread
    probabilities = (
        np.where(attends, shapes.positions, shapes.positions * shapes.spread),
        np.where(attends, shapes.channels, input_inner),
        np.where(attends, keys, shapes.channels),
        shapes.runs * wanted * shapes.steps + shapes.attends,
    )
    values = (
        np.where(attends, keys, shapes.inner),
        np.where(attends, shapes.positions, shapes.positions * shapes.steps),
        np.where(attends, shapes.channels, shapes.outputs),
        shapes.runs + shapes.attends,
    )
    queries = (shapes.positions, keys, shapes.channels, shapes.attends)
    key_gradient = (keys, shapes.positions, shapes.channels, shapes.attends)
    none = np.ones_like(shapes.area)
    reuse = [np.maximum(shapes.area / shapes.spread, 1.0), shapes.area, none, none]
    return _stacked([probabilities, values, queries, key_gradient], shapes, reuse)


def _keys(table: OperatorTable, shapes: Shapes) -> Floats:
    """Return the keys each query meets, from the mean product of the two lengths."""
    mean = table.squared / np.maximum(table.rows, 1.0)
    return np.broadcast_to(
        by_operator(np.maximum(mean, 1.0), shapes.positions[0]), np.shape(shapes.positions)
    )


def _stacked(sides: list[tuple[Floats, ...]], shapes: Shapes, reuse: list[Floats]) -> Products:
    """Return products from the sides of each."""
    shape = np.broadcast_shapes(*(side.shape for product in sides for side in product))

    def stack(arrays: list[Floats]) -> Floats:
        return np.stack([np.broadcast_to(array, shape) for array in arrays])

    return Products(
        rows=stack([product[0] for product in sides]),
        inner=stack([product[1] for product in sides]),
        columns=stack([product[2] for product in sides]),
        groups=stack([shapes.groups] * len(sides)),
        reuse=stack(reuse),
        repeats=stack([product[3] for product in sides]),
    )
