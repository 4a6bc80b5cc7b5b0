"""Activations an IPU keeps: what the backward pass needs, and what checkpoints make of it.

Repeated layers keep one checkpoint each, their input, and while a layer's backward pass runs the
activations of that layer alone. A network without repeated layers (image networks, whose layers
differ in size) is cut into the square root of its number of layers, evenly by number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine.ipu.shares import by_operator, split_ways
from app.engine.operators import Kind, OperatorTable, Section
from app.engine.records import Floats

PRODUCTS = (Kind.MATMUL, Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.RECURRENT)


@dataclass(frozen=True, slots=True)
class Activations:
    """Bytes of one micro-batch on one IPU, arrays (…)."""

    boundary: Floats
    """What one layer or stage hands to the next. [B]"""
    layer: Floats
    """What the backward pass of one layer needs (of the whole network's average layer). [B]"""
    checkpoints: Floats
    """Checkpoints of the whole network, all layers on one device. [B]"""
    live: Floats
    """Activations alive at once between two checkpoints. [B]"""
    embedding: Floats
    """What the backward pass of what precedes the layers needs. [B]"""


def repeats_layers(table: OperatorTable) -> bool:
    """Return whether a model is a stack of like layers, as transformers are.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]

    Returns
    -------
    repeats : bool
        False for one layer only and for convolutions without attention. [-]

    References
    ----------
    .. [1] K. He et al., "Deep residual learning for image recognition," CVPR, 2016, table 1.

    Examples
    --------
    >>> from app.engine.operators import convolution_layer
    >>> rows = convolution_layer(name="a", channels_in=64, channels_out=64, height=56, width=56)
    >>> repeats_layers(OperatorTable.of(rows, depth=16, hidden=64, tokens=1))
    False
    """
    layers = table.kind[table.section == Section.LAYER]
    convolutional = np.isin(layers, (Kind.CONVOLUTION, Kind.DEPTHWISE)).any()
    return table.depth > 1 and bool(not convolutional or (layers == Kind.ATTENTION).any())


def chain_elements(table: OperatorTable) -> tuple[float, float]:
    """Return checkpoint and live elements of a chain of unlike layers, per sample.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample, in the order they run. [-]

    Returns
    -------
    elements : tuple of float
        Elements of all checkpoints, and of the largest segment between two. [-]

    Notes
    -----
    With n products in the chain there are √n segments of as many products each; a checkpoint is
    the input of the segment's first product. Products that a row repeats are taken one by one.

    References
    ----------
    .. [1] T. Chen et al., "Training deep nets with sublinear memory cost," arXiv:1604.06174, 2016.

    Examples
    --------
    Nine convolutions of 64 channels on 56 × 56 positions form three segments:

    >>> from app.engine.operators import convolution_layer
    >>> rows = convolution_layer(name="a", channels_in=64, channels_out=64, height=56, width=56, count=9)
    >>> table = OperatorTable.of(rows, depth=1, hidden=1, tokens=1)
    >>> [part / (64 * 56 * 56) for part in chain_elements(table)]
    [2.0, 6.0]
    """
    product = np.isin(table.kind, PRODUCTS)
    if not product.any():
        return 0.0, float(np.sum(table.saved * table.count))
    owner = _owner(product)
    kept = np.zeros(int(product.sum()))
    np.add.at(kept, owner, table.saved * table.count / np.maximum(table.count[product][owner], 1.0))
    inputs = table.saved[product]
    runs = _runs(table, product)
    kept, inputs = np.repeat(kept, runs), np.repeat(inputs, runs)
    starts = _segment_starts(len(kept))
    return float(inputs[starts[1:]].sum()), float(np.add.reduceat(kept, starts).max())


def recomputed_uncut(table: OperatorTable) -> Floats:
    """Return the share of each operator's repeats that one device alone computes again.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample, in the order they run. [-]

    Returns
    -------
    share : ndarray
        Between 0 and 1; what follows the last checkpoint is not recomputed, because its backward
        pass starts where its forward pass ends: the head and one of like layers, or the last
        segment of a chain of unlike ones. [-]

    References
    ----------
    .. [1] T. Chen et al., "Training deep nets with sublinear memory cost," arXiv:1604.06174, 2016.

    Examples
    --------
    Of nine convolutions in three segments two thirds:

    >>> from app.engine.operators import convolution_layer
    >>> rows = convolution_layer(name="a", channels_in=64, channels_out=64, height=56, width=56, count=9)
    >>> round(float(recomputed_uncut(OperatorTable.of(rows, depth=1, hidden=1, tokens=1))[0]), 3)
    0.667
    """
    if repeats_layers(table):
        layer = np.where(table.section == Section.LAYER, 1.0 - 1.0 / table.depth, 1.0)
        return np.where(table.section == Section.HEAD, 0.0, layer)
    product = np.isin(table.kind, PRODUCTS)
    if not product.any():
        return np.zeros(len(table))
    runs = _runs(table, product)
    starts = np.cumsum(runs) - runs
    before = np.clip(_segment_starts(int(runs.sum()))[-1] - starts, 0, runs) / runs
    return np.asarray(before[_owner(product)])


def _owner(product: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the product each row belongs to: rows up to the next product go with the one before."""
    return np.asarray(np.maximum(np.cumsum(product) - 1, 0), dtype=np.intp)


def _runs(table: OperatorTable, product: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the repeats of each product as whole numbers."""
    return np.asarray(np.maximum(np.rint(table.count[product]), 1), dtype=np.intp)


def _segment_starts(length: int) -> NDArray[np.intp]:
    """Return where the segments of a chain start, as many as the root of its length."""
    segments = max(round(math.sqrt(length)), 1)
    return np.unique(np.rint(np.arange(segments) * length / segments).astype(np.intp))


def kept_activations(
    table: OperatorTable, micro_batch: Floats, tensor: Floats, sequence_parallel: Floats, size: float
) -> Activations:
    """Return the activations of one micro-batch on one IPU.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    micro_batch : ndarray
        Samples of one micro-batch. [-]
    tensor : ndarray
        Devices that share each layer. [-]
    sequence_parallel : ndarray
        1 where these devices also split tokens. [-]
    size : float
        Size of one element. [B]

    Returns
    -------
    activations : Activations
        Bytes of one micro-batch. [B]

    Notes
    -----
    Logits are not in it: the output product runs in serial parts that fit its temporaries.

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, equation 2: 34 s b h + 5 a s² b bytes a layer.
    .. [2] T. Chen et al., "Training deep nets with sublinear memory cost," arXiv:1604.06174, 2016.

    Examples
    --------
    >>> from app.engine.operators import convolution_layer
    >>> rows = convolution_layer(name="a", channels_in=64, channels_out=64, height=56, width=56, count=9)
    >>> table = OperatorTable.of(rows, depth=1, hidden=64, tokens=56 * 56)
    >>> one = np.array([1.0])
    >>> kept = kept_activations(table, 4 * one, one, 0 * one, 2.0)
    >>> float(kept.live[0]) == 6 * 4 * 64 * 56 * 56 * 2
    True
    """
    ways = split_ways(table.saved_split, tensor, sequence_parallel)
    kept = by_operator((size * table.saved + table.masks) * table.count, micro_batch) / ways
    of_layers = by_operator(table.section == Section.LAYER, micro_batch)
    layer = micro_batch * np.sum(kept * of_layers, axis=0) / table.depth
    tokens = np.where(sequence_parallel > 0, tensor, 1.0)
    boundary = micro_batch * table.tokens * table.hidden * size / tokens
    before = by_operator(table.section == Section.EMBEDDING, micro_batch)
    embedding = micro_batch * np.sum(kept * before, axis=0)
    if repeats_layers(table):
        return Activations(boundary, layer, boundary * table.depth, layer, embedding)
    checkpoints, live = chain_elements(table)
    return Activations(
        boundary, layer, micro_batch * size * checkpoints, micro_batch * size * live, embedding
    )
