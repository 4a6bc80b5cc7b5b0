"""Elementwise work: passes over elements and operations, by kind of operator.

A pass reads or writes each element of an operator once. The counts are those of the unfused
operations of Graphcore's libraries. For one transformer layer of T tokens, hidden size h,
feed-forward ratio F, a heads and micro-batches of b sequences of length s they add up to
``T h (19 + 3 F) + 5 b a s²`` passes in 20 operations forward and
``T h (25 + 4 F) + 6 b a s² + (4 + 2 F) h²`` in 26 backward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.ipu.shares import by_operator, split_ways, weight_ways
from app.engine.operators import Kind, OperatorTable, Pointwise, Split
from app.engine.records import Floats

Count = tuple[float, float, float, float]

POINTWISE_COUNTS: dict[Pointwise, Count] = {
    Pointwise.NONE: (0, 0, 0, 0),
    # a group norm of one group: moments, normalise, scale and shift; backward two sums each
    Pointwise.LAYER_NORM: (3, 5, 3, 3),
    # Ioffe and Szegedy 2015: the two moments over the batch, normalise, scale and shift
    Pointwise.BATCH_NORM: (4, 6, 3, 3),
    # Wu and He 2018: as above, with the second moment about the mean (the stable algorithm, which
    # Graphcore's programs force) and one more reduction over the groups backward
    Pointwise.GROUP_NORM: (5, 7, 4, 3),
    Pointwise.RELU: (1, 1.5, 1, 1),
    Pointwise.BIASED_RELU: (1, 1.5, 1, 1),
    # x · sigmoid(x): two passes where ReLU needs one
    Pointwise.SWISH: (2, 3, 1, 1),
    # Hendrycks and Gimpel 2016
    Pointwise.GELU: (2, 3, 1, 1),
    # Shazeer 2020: an activation, then the product with the gate
    Pointwise.GATED: (3, 5, 2, 3),
    # dropout and addition; backward the mask and the sum of two branches
    Pointwise.RESIDUAL: (2, 3, 2, 2),
    Pointwise.ADD: (1, 1, 1, 1),
    # over its input: a window maximum forward, the place of the maximum backward
    Pointwise.MAX_POOL: (3, 4, 1, 1),
    Pointwise.AVERAGE_POOL: (1, 1, 1, 1),
    # Hu et al. 2018: mean over positions, two activations of the small products, scale by channel
    Pointwise.SQUEEZE_EXCITE: (2, 4, 4, 5),
    # Su et al. 2021: turn queries and keys
    Pointwise.ROTARY: (3, 3, 2, 2),
    Pointwise.BIAS: (1, 1, 1, 1),
    # queries, keys and values into heads, context out of heads
    Pointwise.HEADS: (4, 4, 2, 2),
    # gather, maximum, exponential, sum, logarithm, pick; backward softmax less the label, scale, scatter
    Pointwise.CROSS_ENTROPY: (4, 3, 6, 3),
    Pointwise.ELEMENTWISE: (2, 3, 1, 1),
    # passes over the label lattice; its operations follow the frames
    Pointwise.CTC_LOSS: (2, 2, 0, 0),
    Pointwise.COPY: (1, 1, 1, 1),
    # Dai et al. 2019: move the scores of relative positions into place and add them
    Pointwise.SHIFT: (2, 2, 2, 2),
    # adapters on frozen weights are computed on GPUs alone
    Pointwise.ADAPTER_SUM: (0, 0, 0, 0),
    Pointwise.DEQUANTISE: (0, 0, 0, 0),
}
"""Passes forward and backward, operations forward and backward, of the memory-bound operators."""

SOFTMAX_COUNTS: Count = (5, 6, 3, 5)
"""Over the scores: scale and mask, softmax, dropout; backward dropout, product, row sum,
difference, scale."""

EMBEDDING_COUNTS: Count = (3, 3, 7, 6)
"""Over the looked-up rows: look-ups of words, positions and segments, their sum, dropout."""

EMBEDDING_UPDATE_SHARE = 0.5
"""Passes over an embedding table per micro-batch: gradients are scattered into the accumulator."""

CTC_OPERATIONS_PER_FRAME = 2.0
"""Forward and backward variables go frame by frame (Graves et al. 2006)."""

RECURRENT_OPERATIONS_PER_STEP = 2.0
"""Sum of the two products and gate arithmetic of one time step."""


@dataclass(frozen=True, slots=True)
class VectorWork:
    """Elementwise work of each operator, once: arrays (O, …)."""

    forward_passes: Floats
    """Element passes over all tiles. [-]"""
    backward_passes: Floats
    """Element passes over all tiles. [-]"""
    forward_operations: Floats
    backward_operations: Floats


def vector_work(
    table: OperatorTable, micro_batch: Floats, tensor: Floats, sequence_parallel: Floats
) -> VectorWork:
    """Return the elementwise work of one micro-batch.

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

    Returns
    -------
    work : VectorWork
        Passes and operations of one repeat of each operator. [-]

    Notes
    -----
    A product adds its bias where it has one, and its weight gradient to the accumulator; the
    latter also for an output layer that shares the weights of the embedding.

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, section 4 (elementwise operations of a layer).
    .. [2] S. Ioffe, C. Szegedy, "Batch normalization," ICML, 2015.
    .. [3] Efficiency per pass and operation fitted on data/validation/measured.csv.

    Examples
    --------
    >>> from app.engine.operators import pointwise_layer
    >>> table = OperatorTable.of([pointwise_layer(name="add", pointwise=Pointwise.ADD, elements=100.0)],
    ...     depth=1, hidden=8, tokens=1)
    >>> one = np.array([1.0])
    >>> vector_work(table, 4 * one, one, 0 * one).forward_passes.tolist()
    [[400.0]]
    """
    counts = np.array(
        [
            _counts(Kind(int(kind)), Pointwise(int(pointwise)))
            for kind, pointwise in zip(table.kind, table.pointwise, strict=True)
        ]
    )
    ways = split_ways(table.split, tensor, sequence_parallel)
    held = weight_ways(table, tensor)
    over = micro_batch * by_operator(_elements(table), micro_batch) / ways

    products = np.isin(table.kind, (Kind.MATMUL, Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.RECURRENT))
    matrix = table.inner * table.columns * table.batch
    biased = by_operator(products & (table.weights > matrix), micro_batch)
    outputs = by_operator(table.rows * table.columns * table.batch * table.steps, micro_batch)
    whole = by_operator(table.split == Split.INNER, micro_batch) > 0
    bias = biased * outputs * micro_batch / np.where(whole, 1.0, ways)
    scattered = np.where(table.kind == Kind.EMBEDDING, EMBEDDING_UPDATE_SHARE * table.weights, 0.0)
    updated = np.where(products, matrix, scattered)
    accumulation = by_operator(updated, micro_batch) / held

    recurrent = table.kind == Kind.RECURRENT
    steps = np.where(recurrent, RECURRENT_OPERATIONS_PER_STEP * table.steps, 0.0)
    frames = np.where(table.pointwise == Pointwise.CTC_LOSS, CTC_OPERATIONS_PER_FRAME * table.tokens, 0.0)
    per_operator = by_operator(steps + frames, micro_batch)
    forward_passes, backward_passes, forward_operations, backward_operations = (
        by_operator(counts[:, place], micro_batch) for place in range(4)
    )
    shape = np.broadcast_shapes(over.shape, held.shape)
    return VectorWork(
        forward_passes=np.broadcast_to(forward_passes * over + bias, shape),
        backward_passes=np.broadcast_to(backward_passes * over + bias + accumulation, shape),
        forward_operations=np.broadcast_to(forward_operations + biased + per_operator, shape),
        backward_operations=np.broadcast_to(
            backward_operations + biased + by_operator(products, micro_batch) + per_operator, shape
        ),
    )


def _counts(kind: Kind, pointwise: Pointwise) -> Count:
    """Return passes and operations of the operator itself, without bias and accumulation."""
    if kind is Kind.ATTENTION:
        return SOFTMAX_COUNTS
    if kind is Kind.EMBEDDING:
        return EMBEDDING_COUNTS
    if kind is Kind.POINTWISE:
        return POINTWISE_COUNTS[pointwise]
    return (0, 0, 0, 0)


def _elements(table: OperatorTable) -> Floats:
    """Return the elements per sample that an operator's passes go over."""
    return np.where(table.kind == Kind.ATTENTION, table.batch * table.squared, table.elements)
