"""How tensor parallelism divides the work and the weights of each operator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine.operators import Kind, OperatorTable, Split
from app.engine.records import Floats


def by_operator(values: NDArray[Any], like: NDArray[Any]) -> Floats:
    """Return a table column with axes after the operator axis for the plans to broadcast on.

    Parameters
    ----------
    values : ndarray
        Column of an operator table, (O,). [-]
    like : ndarray
        Array of plan coordinates whose axes follow. [-]

    Returns
    -------
    column : ndarray
        The same numbers as (O, 1, …). [-]

    References
    ----------
    .. [1] C. Harris et al., "Array programming with NumPy," Nature 585, 2020 (broadcasting).

    Examples
    --------
    >>> by_operator(np.ones(3), np.ones((5, 2))).shape
    (3, 1, 1)
    """
    column = np.asarray(values, dtype=float)
    return column.reshape(column.shape + (1,) * np.ndim(like))


def split_ways(split: Floats, tensor: Floats, sequence_parallel: Floats) -> Floats:
    """Return over how many devices each operator's elements are spread.

    Parameters
    ----------
    split : ndarray
        :class:`Split` of each operator, (O,). [-]
    tensor : ndarray
        Devices that share each layer. [-]
    sequence_parallel : ndarray
        1 where these devices also split tokens between the layer's two halves. [-]

    Returns
    -------
    ways : ndarray
        Devices, (O, …). [-]

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, section 4.2.

    Examples
    --------
    >>> kinds = np.array([Split.REPLICATED, Split.COLUMNS, Split.SEQUENCE], dtype=float)
    >>> split_ways(kinds, np.array([8.0]), np.array([0.0])).ravel().tolist()
    [1.0, 8.0, 1.0]
    """
    column = by_operator(split, np.asarray(tensor))
    tokens = np.where(np.asarray(sequence_parallel) > 0, tensor, 1.0)
    whole = np.where(column == Split.SEQUENCE, tokens, tensor)
    return np.asarray(np.where(column == Split.REPLICATED, 1.0, whole))


def weight_ways(table: OperatorTable, tensor: Floats) -> Floats:
    """Return over how many devices each operator's weights are spread.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    tensor : ndarray
        Devices that share each layer. [-]

    Returns
    -------
    ways : ndarray
        Devices, (O, …): those of tensor parallelism for products that it divides and for
        embedding tables, which are cut by vocabulary. [-]

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.

    Examples
    --------
    >>> from app.engine.operators import embedding_bag
    >>> table = OperatorTable.of([embedding_bag(name="words", entries=100, width=8, lookups=1)],
    ...     depth=1, hidden=8, tokens=1)
    >>> weight_ways(table, np.array([4.0])).tolist()
    [[4.0]]
    """
    divided = np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH)) | (table.kind == Kind.EMBEDDING)
    return np.asarray(np.where(by_operator(divided, np.asarray(tensor)) > 0, tensor, 1.0))
