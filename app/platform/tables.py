"""Tables for other programs: CSV lines and cells that no spreadsheet takes for formulas."""

from __future__ import annotations

import io
import re

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that make a spreadsheet read the text of a cell as a formula (OWASP, CSV Injection); the wide
forms of East Asian text among them."""


def taken(buffer: io.StringIO) -> str:
    """Return what has been written to a buffer, and empty it."""
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def written(value: str | int | float | bool | None) -> str:
    """Return a value as a cell of a CSV file.

    >>> written("=1+1"), written(-1.5), written(True), written(None)
    ("'=1+1", '-1.5', 'true', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return repr(value)


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
