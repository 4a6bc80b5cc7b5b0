"""Cycles of each operator of one micro-batch: matrix units, exchange, operations, elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.ipu.geometry import backward_products, forward_products
from app.engine.ipu.products import (
    ProductCycles,
    Products,
    element_bytes,
    product_cycles,
    usable_tiles,
)
from app.engine.ipu.shares import by_operator
from app.engine.ipu.vector import vector_work
from app.engine.operators import Kind, OperatorTable
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision

CYCLE_PARTS = ("gemm", "attention", "memory_bound", "exchange", "sync")
"""What cycles are spent on, named as the parts of a step."""


@dataclass(frozen=True, slots=True)
class Work:
    """Cycles by part, arrays (5, O, …) in the order of :data:`CYCLE_PARTS`, for one repeat."""

    forward: Floats
    """[cycles]"""
    backward: Floats
    """Without recomputation. [cycles]"""


def operator_work(
    table: OperatorTable,
    micro_batch: Floats,
    tensor: Floats,
    sequence_parallel: Floats,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
) -> Work:
    r"""Return the cycles one repeat of each operator takes, by part.

    .. math:: C = \sum (C_{amp} + C_{exch} + S) + c_v \frac{\text{passes}}{\text{tiles}} + S_e n_e

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
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack. [-]
    precision : Precision
        Number format. [-]

    Returns
    -------
    work : Work
        Forward and backward cycles by part, (5, O, …). [cycles]

    References
    ----------
    .. [1] L. Valiant, "A bridging model for parallel computation," CACM 33(8), 1990.
    .. [2] Constants fitted on data/validation/measured.csv.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=1024)], depth=1, hidden=8,
    ...     tokens=1)
    >>> one = np.array([1.0])
    >>> work = operator_work(table, 1024 * one, one, 0 * one, BOW, POPART)
    >>> [round(float(part)) for part in work.forward[:, 0, 0]]
    [16282, 0, 427, 18354, 6220]
    """
    widen = element_bytes(precision) / element_bytes(Precision.FP16_16)
    tiles = usable_tiles(chip, software)
    vector = vector_work(table, micro_batch, tensor, sequence_parallel)
    attends = by_operator(table.kind == Kind.ATTENTION, micro_batch) > 0

    def parts(products: Products, passes: Floats, operations: Floats) -> Floats:
        spent: ProductCycles = product_cycles(products, chip, software, precision=precision)
        elements = chip.element_cycles * widen * passes / tiles
        sync = chip.operation_cycles * spent.operations + chip.elementwise_operation_cycles * operations
        columns = (
            np.where(attends, 0.0, spent.matrix),
            np.where(attends, spent.matrix, 0.0),
            elements,
            spent.exchange,
            sync,
        )
        return np.stack(np.broadcast_arrays(*columns))

    return Work(
        forward=parts(
            forward_products(table, micro_batch, tensor), vector.forward_passes, vector.forward_operations
        ),
        backward=parts(
            backward_products(table, micro_batch, tensor), vector.backward_passes, vector.backward_operations
        ),
    )
