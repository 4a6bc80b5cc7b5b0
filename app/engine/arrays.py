"""Writing rows of numbers, and finding distinct ones by hashing."""

from __future__ import annotations

import numpy as np

from app.engine.compiled import Matrix, Places, inner, kernel
from app.engine.records import Floats, Indices

MIX = 6_364_136_223_846_793_005
"""Multiplier that spreads neighbouring numbers over all digits (Knuth, MMIX)."""
DIGITS = 0x7FFF_FFFF_FFFF_FFFF


@inner
def store(rows: Matrix, row: int, first: int, values: tuple[float, ...]) -> None:
    """Write numbers into a row, from column ``first`` on."""
    for index in range(len(values)):
        rows[row, first + index] = values[index]


@inner
def _slot(columns: Matrix, column: int, slots: int) -> int:
    """Return the slot at which the search for a column begins."""
    code = 17
    for row in range(columns.shape[0]):
        # Parts of a sample are no whole numbers.
        code = ((code ^ int(columns[row, column] * 4096.0)) * MIX) & DIGITS
        code ^= code >> 31
    return code & (slots - 1)


@inner
def _alike(columns: Matrix, first: int, second: int) -> bool:
    alike = True
    for row in range(columns.shape[0]):
        alike &= columns[row, first] == columns[row, second]
    return alike


@kernel
def number_columns(columns: Matrix, slots: Places, first: Places, index: Places, count: Places) -> None:
    """Write the indices of distinct columns, the number of each column among them, and their count."""
    for slot in range(slots.size):
        slots[slot] = -1
    distinct = 0
    for column in range(columns.shape[1]):
        slot = _slot(columns, column, slots.size)
        while slots[slot] >= 0 and not _alike(columns, first[slots[slot]], column):
            slot = (slot + 1) & (slots.size - 1)
        if slots[slot] < 0:
            slots[slot], first[distinct] = distinct, column
            distinct += 1
        index[column] = slots[slot]
    count[0] = distinct


def distinct_columns(columns: Floats) -> tuple[Indices, Indices]:
    """Return the index of the first of each distinct column, and the number of each column among them.

    >>> [part.tolist() for part in distinct_columns(np.array([[8.0, 2.0, 8.0], [1.0, 1.0, 1.0]]))]
    [[0, 1], [0, 1, 0]]
    """
    size = columns.shape[1]
    slots = np.empty(1 << (2 * size).bit_length(), dtype=np.int64)
    first, index, count = (np.empty(length, dtype=np.int64) for length in (size, size, 1))
    number_columns(np.ascontiguousarray(columns, dtype=float), slots, first, index, count)
    return first[: count[0]], index


def first_seen(known: Floats, rows: Floats) -> Indices:
    """Return the indices of the first of each row that is not among ``known``.

    >>> first_seen(np.array([[1.0], [2.0]]), np.array([[2.0], [3.0], [1.0], [3.0]])).tolist()
    [1]
    """
    first, _ = distinct_columns(np.concatenate([known, rows]).T)
    return np.asarray(first[first >= len(known)] - len(known))
