"""Tables for other programs: CSV lines and cells that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from app.errors import BadInput, FieldError, Message, TooLarge

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that make a spreadsheet read the text of a cell as a formula (OWASP, CSV Injection); the wide
forms of East Asian text among them."""

NEGATIVE = re.compile(r"-[\d.,]+\s?%?")
"""A number as it is written, which no spreadsheet takes for more."""


def taken(buffer: io.StringIO) -> str:
    """Return what has been written to a buffer, and empty it."""
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def written(value: str | int | float | bool | None) -> str:
    """Return a value as a cell of a CSV file.

    >>> written("=1+1"), written("-14.2%"), written(-1.5), written(True), written(None)
    ("'=1+1", '-14.2%', '-1.5', 'true', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) and not NEGATIVE.fullmatch(value) else value
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


def read_cells(content: bytes, field: str, most: int) -> Iterator[tuple[int, list[str]]]:
    """Give number and cells of each line of a CSV file that is not empty; errors name a field."""
    if len(content) > most:
        message = Message("the file is larger than {limit} bytes", {"limit": most})
        raise TooLarge(message, [FieldError(field, message)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput.at(field, "the file is not UTF-8 text; save it as CSV UTF-8") from None
    if "\0" in text:
        raise BadInput.at(field, "the file is not text")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if any(stripped := [cell.strip() for cell in cells]):
                yield reader.line_num, stripped
    except csv.Error:
        raise BadInput.at(
            field, "the file is not valid CSV: a quote is not closed or a cell is too long"
        ) from None
