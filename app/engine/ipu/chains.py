"""The layers of a table of operators: like or unlike, checkpoints, units that are not cut.

Repeated layers keep one checkpoint each, their input, and while a layer's backward pass runs the
activations of that layer alone. A network without repeated layers (image networks, whose layers
differ in size) is cut into the square root of its number of layers, evenly by number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine.operators.table import Kind, OperatorTable, Section
from app.engine.records import Floats, Indices

PRODUCTS = (Kind.MATMUL, Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.RECURRENT)


@dataclass(frozen=True, slots=True)
class Units:
    """Runs of layers that are not cut, in order, (U,): blocks, and what lies between them."""

    unit: Indices
    """Unit of each operator, (O,). [-]"""
    repeats: Indices
    """Times each unit follows itself. [-]"""
    layers: NDArray[np.bool_]
    """True for a block that counts as a layer, not for what lies between blocks."""


def has_unlike_layers(table: OperatorTable) -> bool:
    """Return whether a pipeline is cut between differing blocks: operators belong to more than one."""
    return len(np.unique(table.block[table.block >= 0])) > 1


def model_units(table: OperatorTable) -> Units:
    """Return the blocks of a model and what lies before, between and behind them, in order.

    >>> from dataclasses import replace
    >>> from app.engine.operators.layers import dense_layer
    >>> one = dense_layer("a", 1, 1)
    >>> rows = [one, replace(one, block=0, block_repeats=3.0, count=3.0), replace(one, block=1)]
    >>> units = model_units(OperatorTable.of(rows, depth=4, hidden=1, tokens=1))
    >>> units.repeats.tolist(), units.unit.tolist()
    ([1, 3, 1], [0, 1, 2])
    """
    first = np.diff(table.block, prepend=np.nan) != 0
    starts = np.flatnonzero(first)
    repeats = np.rint(table.block_repeats[starts]).astype(np.intp)
    return Units(np.cumsum(first) - 1, repeats, table.block[starts] >= 0)


def stated_cut(counted: Floats, split: Sequence[float]) -> Indices:
    """Return the stage of each repeat of each unit from the layers per stage of a configuration.

    What precedes the first block is on the first stage, what lies between or behind blocks on that of the
    block before (Graphcore, examples repository, ``pipeline_splits``).

    >>> stated_cut(np.array([0.0, 1, 1, 1, 1, 0]), (3, 1)).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    ends = np.cumsum(split)
    layer = np.maximum(np.cumsum(counted) - 1, 0)
    return np.asarray(np.minimum(np.searchsorted(ends, layer, side="right"), len(ends) - 1))


def input_elements(table: OperatorTable) -> Floats:
    """Return the input elements of each operator, per sample, (O,).

    An operator that joins a skip connection counts only its input along the path.
    """
    product = np.isin(table.kind, PRODUCTS)
    elements = np.where(product, table.rows * table.inner * table.batch, table.elements)
    elements = np.where(table.input_elements > 0.0, table.input_elements, elements)
    return np.asarray(elements + np.minimum(table.skip, 0.0))


def handed_on(table: OperatorTable, units: Units) -> tuple[Floats, Floats]:
    """Return what a cut before each unit lets through, per sample: its input, and skip connections, (U,).

    A U-Net of two levels keeps the 64 channels of the upper one for the way up:

    >>> from app.profiles.architectures.segmentation import build_nnunet
    >>> table = build_nnunet(None, None, patch="32-32", widths="64-128")
    >>> entering, skipping = handed_on(table, model_units(table))
    >>> [float(part) / 1024 for part in entering[:4]], [float(part) / 1024 for part in skipping[:4]]
    ([1.0, 64.0, 32.0, 128.0], [0.0, 64.0, 64.0, 0.0])
    """
    starts = np.flatnonzero(np.diff(units.unit, prepend=-1))
    skipped = np.cumsum(table.skip * table.count)
    return input_elements(table)[starts], np.append(0.0, skipped)[starts]


def repeats_layers(table: OperatorTable) -> bool:
    """Return whether a model is a stack of like layers, other than convolutions without attention."""
    layers = table.kind[table.section == Section.LAYER]
    convolutional = np.isin(layers, (Kind.CONVOLUTION, Kind.DEPTHWISE)).any()
    return table.depth > 1 and bool(not convolutional or (layers == Kind.ATTENTION).any())


def head_shares_embedding(table: OperatorTable) -> bool:
    """Return whether a product of the head has fewer weights than its matrix: it shares the embedding's."""
    products = (table.section == Section.HEAD) & (table.kind == Kind.MATMUL)
    return bool(np.any(products & (table.weights < table.inner * table.columns * table.batch)))


def chain_elements(table: OperatorTable) -> tuple[float, float]:
    """Return checkpoint and live elements of a chain of unlike layers, per sample.

    With n products in the chain there are √n segments of as many products each; a checkpoint is
    the input of the segment's first product (Chen et al. 2016). Products that a row repeats are taken
    one by one. Nine convolutions of 64 channels on 56 × 56 positions form three segments:

    >>> from app.engine.operators.layers import convolution_layer
    >>> rows = convolution_layer("a", 64, 64, 56, count=9)
    >>> table = OperatorTable.of(rows, depth=1, hidden=1, tokens=1)
    >>> [part / (64 * 56 * 56) for part in chain_elements(table)]
    [2.0, 6.0]
    """
    product = np.isin(table.kind, PRODUCTS)
    if not product.any():
        return 0.0, float(np.sum(table.saved * table.count))
    owner = _owner(product)
    live = np.zeros(int(product.sum()))
    np.add.at(live, owner, table.saved * table.count / np.maximum(table.count[product][owner], 1.0))
    inputs = table.saved[product]
    runs = _runs(table, product)
    live, inputs = np.repeat(live, runs), np.repeat(inputs, runs)
    starts = _segment_starts(len(live))
    return float(inputs[starts[1:]].sum()), float(np.add.reduceat(live, starts).max())


def recomputed_uncut(table: OperatorTable) -> Floats:
    """Return the share of each operator's repeats that one device alone recomputes, (O,).

    What follows the last checkpoint is not recomputed, because its backward pass starts where its
    forward pass ends: the head and one of like layers, or the last segment of a chain of unlike ones.
    Of nine convolutions in three segments two thirds are:

    >>> from app.engine.operators.layers import convolution_layer
    >>> rows = convolution_layer("a", 64, 64, 56, count=9)
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


def _owner(product: NDArray[np.bool_]) -> Indices:
    """Return the product each row belongs to: its own, or the one before."""
    return np.asarray(np.maximum(np.cumsum(product) - 1, 0), dtype=np.intp)


def _runs(table: OperatorTable, product: NDArray[np.bool_]) -> Indices:
    """Return the repeats of each product as whole numbers."""
    return np.asarray(np.maximum(np.rint(table.count[product]), 1), dtype=np.intp)


def _segment_starts(length: int) -> Indices:
    """Return the starts of the segments of a chain, as many as the root of its length."""
    segments = max(round(math.sqrt(length)), 1)
    return np.unique(np.rint(np.arange(segments) * length / segments).astype(np.intp))
