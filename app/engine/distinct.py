"""Distinct columns of a matrix: what many plans share is computed once."""

from __future__ import annotations

import numpy as np

from app.compiled import Matrix, Places, kernel
from app.engine.records import Floats, Indices


@kernel
def number_columns(columns: Matrix, slots: Places, first: Places, which: Places) -> None:
    """Write numbers of distinct columns as they appear; ``slots`` is a table of -1, a power of two long."""
    mask = slots.shape[0] - 1
    count = 0
    for place in range(columns.shape[1]):
        code = 0
        for row in range(columns.shape[0]):
            code = ((code ^ int(columns[row, place])) * 0x9E3779B1) & 0xFFFFFFFF
            code ^= code >> 15
        slot = code & mask
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = count
                first[count] = place
                which[place] = count
                count += 1
                break
            same = True
            for row in range(columns.shape[0]):
                same = same and columns[row, place] == columns[row, first[known]]
            if same:
                which[place] = known
                break
            slot = (slot + 1) & mask


def distinct_columns(columns: Floats) -> tuple[Indices, Indices]:
    """Return the first place of each distinct column, (K,), and which of them each column is, (N,).

    >>> first, which = distinct_columns(np.array([[2.0, 1.0, 2.0], [5.0, 5.0, 5.0]]))
    >>> first.tolist(), which.tolist()
    ([0, 1], [0, 1, 0])
    """
    count = columns.shape[1]
    slots = np.full(1 << (2 * count).bit_length(), -1, dtype=np.int64)
    first, which = np.zeros((2, count), dtype=np.int64)
    number_columns(np.ascontiguousarray(columns), slots, first, which)
    return first[: which.max(initial=-1) + 1], which
