"""One micro-batch: cycles of each operator, seconds of each section, and its loads on an IPU."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.engine.arrays import store
from app.engine.compiled import Matrix, formula, inner, kernel, record
from app.engine.ipu.case import IpuCase
from app.engine.ipu.gemm import (
    FORWARD_GEMMS,
    GEMMS,
    Shapes,
    gemm_cycles,
    gemm_of,
    operator_shapes,
    temporaries,
)
from app.engine.ipu.operator import IpuOperator
from app.engine.ipu.vector import split_ways, vector_passes
from app.engine.operators.table import Section


class Cycles(NamedTuple):
    """Cycles of one repeat of an operator by what they are spent on, named as the parts of a step."""

    gemm: float
    attention: float
    memory_bound: float
    exchange: float
    sync: float


CYCLE_PARTS = Cycles._fields


class StageTime(NamedTuple):
    """Time of one micro-batch in a stage in one direction, by part. [s]"""

    gemm: float
    attention: float
    memory_bound: float
    exchange: float
    sync: float
    tensor_comm: float
    """Waiting for other devices."""


ON_CHIP = len(CYCLE_PARTS)
"""Parts that come first, in the order of :class:`Cycles`."""
LINKS = StageTime._fields.index("tensor_comm")
PARTS = len(StageTime._fields)
FORWARD_TIME, BACKWARD_TIME, RECOMPUTE_TIME, WEIGHTS = 0, PARTS, 2 * PARTS, 3 * PARTS
"""Places of one section's columns: seconds forward, backward, and forward once more of what one device alone
recomputes, by part; then the parameters that unlike layers bring to a stage, without those of the head."""
PLACE = 3 * PARTS + 1
"""Columns of one section."""
EMBEDDING, LAYER, HEAD = float(Section.EMBEDDING), float(Section.LAYER), float(Section.HEAD)
EMBEDDING_PLACE, LAYER_PLACE, HEAD_PLACE = int(Section.EMBEDDING), int(Section.LAYER), int(Section.HEAD)
"""Places of the sections of like layers."""


class WorkKey(NamedTuple):
    """The fields of a plan that one micro-batch depends on."""

    tensor: float
    micro_batch: float
    sequence_parallel: float


class Loads(NamedTuple):
    """What one layer, the embedding and the head bring to an IPU with one micro-batch."""

    layer_weights: float
    """Parameters. [-]"""
    embedding_weights: float
    head_weights: float
    layer_buffers: float
    """Temporaries of the largest product of a layer. [B]"""
    embedding_buffers: float
    head_buffers: float
    boundary: float
    """What one layer or stage hands to the next. [B]"""
    layer: float
    """What the backward pass of one layer needs (of the whole network's average layer). [B]"""
    checkpoints: float
    """Checkpoints of the whole network, all layers on one device. [B]"""
    live: float
    """Activations alive at once between two checkpoints. [B]"""
    embedding: float
    """What the backward pass of what precedes the layers needs. [B]"""


@formula
def allreduce_time(message: float, ranks: float, bandwidth: float) -> float:
    r"""Return the time of an all-reduce over links of equal bandwidth, without start-up.

    .. math:: t = 2 \frac{n - 1}{n} \frac{S}{B}

    Parameters
    ----------
    message : float
        Size reduced on every rank, S. [B]
    ranks : float
        Ranks, n. [-]
    bandwidth : float
        Bandwidth of each, as achieved, B. [B/s]

    Returns
    -------
    seconds : float
        Time until every rank holds the sum. [s]

    References
    ----------
    .. [1] P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
       workstations," J. Parallel Distrib. Comput. 69(2), 2009.

    Examples
    --------
    >>> round(allreduce_time(51e6, 16.0, 22e9) * 1e3, 2)
    4.35
    """
    return 2.0 * (ranks - 1.0) / ranks * message / bandwidth


@inner
def operator_cycles(
    case: IpuCase, row: IpuOperator, shapes: Shapes, backward: bool, passes: float, operations: float
) -> Cycles:
    r"""Return the cycles one repeat of an operator takes in one direction, by part.

    .. math:: C = \sum (C_{amp} + C_{exch} + S) + c_v \frac{\text{passes}}{\text{tiles}} + S_e n_e

    Parameters
    ----------
    case : IpuCase
        Figures of the IPU, and the tiles that compute. [-]
    row : IpuOperator
        The operator. [-]
    shapes : Shapes
        Sides of its product on one device. [-]
    backward : bool
        True for its backward pass, without recomputation. [-]
    passes : float
        Elements that its passes go over. [-]
    operations : float
        Elementwise operations, :math:`n_e`. [-]

    Returns
    -------
    cycles : Cycles
        By part. [cycles]

    References
    ----------
    .. [1] L. Valiant, "A bridging model for parallel computation," CACM 33(8), 1990.
    .. [2] Constants fitted on data/validation/measured.csv.

    Examples
    --------
    >>> from app.engine.ipu.examples import case, row
    >>> from app.engine.operators.layers import dense_layer
    >>> layer = row(dense_layer("a", 1024, 1024))
    >>> spent = operator_cycles(case(), layer, operator_shapes(layer, 1024.0, 1.0), False, 1048576.0, 1.0)
    >>> [round(float(part)) for part in spent]
    [16282, 0, 427, 18354, 6220]
    """
    matrix, exchange, products = 0.0, 0.0, 0.0
    for index in range(FORWARD_GEMMS if backward else 0, GEMMS if backward else FORWARD_GEMMS):
        gemm = gemm_of(row, shapes, index)
        if gemm.repeats > 0.0:
            units, fetched = gemm_cycles(case, gemm)
            matrix += units
            exchange += fetched
            products += gemm.repeats
    elements = case.chip.element_cycles * (case.size / 2.0) * passes / case.usable
    sync = case.chip.operation_cycles * products + case.chip.elementwise_operation_cycles * operations
    attends = row.attends > 0.0
    return Cycles(
        gemm=0.0 if attends else matrix,
        attention=matrix if attends else 0.0,
        memory_bound=elements,
        exchange=exchange,
        sync=sync,
    )


@inner
def both_cycles(case: IpuCase, row: IpuOperator, key: WorkKey) -> tuple[Cycles, Cycles]:
    """Return the cycles of one repeat of an operator, forward and backward."""
    shapes = operator_shapes(row, key.micro_batch, key.tensor)
    passes, backward_passes = vector_passes(row, key.micro_batch, key.tensor, key.sequence_parallel)
    return (
        operator_cycles(case, row, shapes, False, passes, row.forward_operations),
        operator_cycles(case, row, shapes, True, backward_passes, row.backward_operations),
    )


@kernel
def cycles_of_operators(case: IpuCase, operators: Matrix, keys: Matrix, cycles: Matrix) -> None:
    """Write the cycles of each operator (a row) with each key: ten columns, by direction and part."""
    for k in range(keys.shape[0]):
        for o in range(operators.shape[0]):
            row = record(IpuOperator, operators, o)
            forward, backward = both_cycles(case, row, record(WorkKey, keys, k))
            store(cycles, o, 2 * k * ON_CHIP, forward)
            store(cycles, o, (2 * k + 1) * ON_CHIP, backward)


@kernel
def work_of_keys(case: IpuCase, operators: Matrix, keys: Matrix, times: Matrix, loads: Matrix) -> None:
    """Write the time of each section, or unit, given as zeros, and the loads of every key.

    Tensor parallelism reduces the output of each product divided by its inner dimension forward,
    and the input gradient of each product divided by columns backward; embedding rows found on
    other devices arrive by one more reduction (Shoeybi et al. 2019, section 3). Nothing hides them.
    """
    for k in range(keys.shape[0]):
        key = record(WorkKey, keys, k)
        tensor, micro_batch = key.tensor, key.micro_batch
        # Ranks of more than one rack wait for the GW-Links between them.
        bandwidth = (
            case.chip.gateway_bandwidth if tensor > case.chip.pod_size else case.chip.allreduce_bandwidth
        )
        for o in range(operators.shape[0]):
            row = record(IpuOperator, operators, o)
            forward, backward = both_cycles(case, row, key)
            start = int(row.place) * PLACE
            for part in range(ON_CHIP):
                ahead = row.share * (forward[part] / case.chip.clock)
                times[k, start + FORWARD_TIME + part] += ahead
                times[k, start + BACKWARD_TIME + part] += row.share * (backward[part] / case.chip.clock)
                times[k, start + RECOMPUTE_TIME + part] += row.recomputed * ahead
            link = row.share * allreduce_time(case.size * micro_batch * row.results, tensor, bandwidth)
            times[k, start + FORWARD_TIME + LINKS] += link
            times[k, start + RECOMPUTE_TIME + LINKS] += row.recomputed * link
            times[k, start + BACKWARD_TIME + LINKS] += row.share * allreduce_time(
                case.size * micro_batch * row.sources, tensor, bandwidth
            )
            if row.section != HEAD:
                times[k, start + WEIGHTS] += row.share * row.weights / (tensor if row.divided > 0.0 else 1.0)
        store(loads, k, 0, loads_with(case, operators, key))


@inner
def loads_with(case: IpuCase, operators: Matrix, key: WorkKey) -> Loads:
    """Return the loads of one micro-batch.

    A product's temporaries are both factors and the result of its piece on each tile, up to the
    share of the SRAM that the software allows (Graphcore, "Available memory proportion," 2021).
    Logits are not kept: the output product runs in serial parts that fit its temporaries.
    """
    tensor, micro_batch, sequence_parallel = key
    layer_weights, embedding_weights, head_weights = 0.0, 0.0, 0.0
    layer_buffers, embedding_buffers, head_buffers = 0.0, 0.0, 0.0
    layer, embedding = 0.0, 0.0
    limit = case.available_memory * case.chip.sram_per_tile * case.chip.tiles
    for o in range(operators.shape[0]):
        row = record(IpuOperator, operators, o)
        shapes = operator_shapes(row, micro_batch, tensor)
        needed = 0.0
        for index in range(FORWARD_GEMMS):
            gemm = gemm_of(row, shapes, index)
            if gemm.repeats > 0.0:
                needed = max(needed, temporaries(case, gemm) * case.size)
        buffers = min(needed * case.usable, limit)
        weights = row.weights * row.number / (tensor if row.divided > 0.0 else 1.0)
        ways = split_ways(row.saved_split, tensor, sequence_parallel)
        saved = (case.size * row.saved + row.masks) * row.number / ways
        if row.section == LAYER:
            layer_weights += weights
            layer_buffers = max(layer_buffers, buffers)
            layer += saved
        elif row.section == EMBEDDING:
            embedding_weights += weights
            embedding_buffers = max(embedding_buffers, buffers)
            embedding += saved
        else:
            head_weights += weights
            head_buffers = max(head_buffers, buffers)
    boundary = micro_batch * case.tokens * case.hidden * case.size
    if sequence_parallel > 0.0:
        boundary /= tensor
    layer *= micro_batch / case.depth
    checkpoints, live = boundary * case.depth, layer
    if case.repeats <= 0.0:
        checkpoints = micro_batch * case.size * case.checkpoints
        live = micro_batch * case.size * case.live
    return Loads(
        layer_weights=layer_weights / case.depth,
        embedding_weights=embedding_weights,
        head_weights=head_weights,
        layer_buffers=layer_buffers,
        embedding_buffers=embedding_buffers,
        head_buffers=head_buffers,
        boundary=boundary,
        layer=layer,
        checkpoints=checkpoints,
        live=live,
        embedding=micro_batch * embedding,
    )


def micro_batch_work(case: IpuCase, operators: Matrix, keys: Matrix, places: int) -> tuple[Matrix, Matrix]:
    """Return times (K, places · PLACE) and :class:`Loads` as rows of distinct :class:`WorkKey`."""
    times = np.zeros((len(keys), places * PLACE))
    loads = np.empty((len(keys), len(Loads._fields)))
    work_of_keys(case, operators, keys, times, loads)
    return times, loads
