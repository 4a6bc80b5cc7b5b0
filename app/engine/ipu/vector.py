"""Elementwise work: passes over elements and operations, by kind of operator.

A pass reads or writes each element of an operator once. The counts are those of the unfused
operations of Graphcore's libraries. For one transformer layer of T tokens, hidden size h,
feed-forward ratio F, a heads and micro-batches of b sequences of length s they add up to
``T h (19 + 3 F) + 5 b a s²`` passes in 20 operations forward and
``T h (25 + 4 F) + 6 b a s² + (4 + 2 F) h²`` in 26 backward.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.engine.compiled import inner
from app.engine.ipu.operator import IpuOperator
from app.engine.operators.table import Kind, OperatorTable, Pointwise, Split
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
INNER = float(Split.INNER)
REPLICATED = float(Split.REPLICATED)
SEQUENCE = float(Split.SEQUENCE)


class VectorCounts(NamedTuple):
    """Passes and operations of operators, (O,) each."""

    forward_passes: Floats
    backward_passes: Floats
    forward_operations: Floats
    backward_operations: Floats


def own_counts(table: OperatorTable) -> VectorCounts:
    """Return passes and operations of the operators themselves, without bias and accumulation."""
    by_kind = {Kind.ATTENTION: SOFTMAX_COUNTS, Kind.EMBEDDING: EMBEDDING_COUNTS}
    counts = [
        POINTWISE_COUNTS[Pointwise(int(pointwise))]
        if kind == Kind.POINTWISE
        else by_kind.get(Kind(int(kind)), (0, 0, 0, 0))
        for kind, pointwise in zip(table.kind, table.pointwise, strict=True)
    ]
    return VectorCounts(*np.array(counts, dtype=float).reshape(-1, len(VectorCounts._fields)).T)


@inner
def split_ways(split: float, tensor: float, sequence_parallel: float) -> float:
    """Return over how many devices an operator's elements are spread.

    >>> [split_ways(float(kind), 8.0, 0.0) for kind in (Split.REPLICATED, Split.COLUMNS, Split.SEQUENCE)]
    [1.0, 8.0, 1.0]
    """
    if split == REPLICATED or (split == SEQUENCE and sequence_parallel <= 0.0):
        return 1.0
    return tensor


@inner
def vector_passes(
    row: IpuOperator, micro_batch: float, tensor: float, sequence_parallel: float
) -> tuple[float, float]:
    """Return the element passes of one repeat of an operator, forward and backward.

    A product adds its bias where it has one, and its weight gradient to the accumulator; the
    latter also for an output layer that shares the weights of the embedding.
    """
    ways = split_ways(row.split, tensor, sequence_parallel)
    over = micro_batch * row.elements / ways
    bias = micro_batch * row.bias / (1.0 if row.split == INNER else ways)
    accumulation = row.accumulated / (tensor if row.divided > 0.0 else 1.0)
    return row.forward_passes * over + bias, row.backward_passes * over + bias + accumulation
