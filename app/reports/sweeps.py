"""The results of a sweep as tables for other programs: CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from app.sizing.sweep.rows import SweepRow, cells, columns

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that make a spreadsheet read the text of a cell as a formula (OWASP, CSV Injection); the wide
forms of East Asian text among them."""


def csv_lines(rows: Iterable[SweepRow]) -> Iterator[str]:
    """Return the lines of a CSV file (RFC 4180), its head first.

    Text that a spreadsheet would take for a formula begins with an apostrophe, as such programs mark
    text themselves. Truth is written ``true`` or ``false``; what there is not is empty.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(column.name for column in columns())
    for row in rows:
        yield taken(buffer)
        writer.writerow(written(value) for value in cells(row))
    yield taken(buffer)


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


def parquet(rows: Iterable[SweepRow]) -> bytes:
    """Return a Parquet file with one column for each of the CSV, in their own types."""
    import polars

    types = {str: polars.String, int: polars.Int64, float: polars.Float64, bool: polars.Boolean}
    schema = {column.name: types[column.kind] for column in columns()}
    frame = polars.DataFrame([list(cells(row)) for row in rows], schema=schema, orient="row")
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
