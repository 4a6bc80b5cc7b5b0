"""Text of a cell of a workbook."""

from __future__ import annotations

import re

ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML, and so a workbook, cannot hold."""

LONGEST = 32_767
"""Characters of a cell (ECMA-376, as Excel keeps it)."""


def legible(value: str) -> str:
    r"""Return text as a cell can hold it: a square for what it cannot, and no longer than it may be.

    >>> legible("a\x01b")
    'a□b'
    """
    return ILLEGAL.sub("□", value)[:LONGEST]
