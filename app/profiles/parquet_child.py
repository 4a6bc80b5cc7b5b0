"""The process that measures one Parquet file: lengths to standard output, nothing else.

``python -m app.profiles.parquet_child FILE BYTES`` bounds its own address space before the native
reader sees the file.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict

from app.profiles.lengths import estimated_tokens
from app.profiles.sample_files import LENGTH_COLUMNS, LIST_COLUMNS, TEXT_COLUMNS
from app.profiles.sandbox import bound_memory

SLICE = 8_192
"""Rows read at a time."""


def measure(path: str) -> dict[str, object]:
    """Return samples by length, or the columns of the file where none of them can be measured."""
    import polars

    frame = polars.scan_parquet(path)
    schema = frame.collect_schema()
    known = {name.lower(): name for name in schema.names()}
    column = next(
        (known[name] for name in (*LENGTH_COLUMNS, *LIST_COLUMNS, *TEXT_COLUMNS) if name in known), None
    )
    if column is None:
        return {"columns": schema.names()[:50]}
    kind = schema[column]
    counts: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    offset = 0
    while True:
        part = frame.select(column).slice(offset, SLICE).collect().get_column(column)
        for value in part.list.len() if isinstance(kind, polars.List) else part:
            if value is None:
                continue
            if isinstance(value, str):
                estimated = estimated_tokens(value)
                length, low, high = estimated.tokens, estimated.low, estimated.high
            else:
                length = max(int(value), 1)
                low = high = float(length)
            entry = counts[length]
            entry[0] += 1
            entry[1] += low
            entry[2] += high
        offset += SLICE
        if len(part) < SLICE:
            break
    return {
        "lengths": [
            [length, int(count), low / count, high / count] for length, (count, low, high) in counts.items()
        ],
    }


if __name__ == "__main__":
    bound_memory(int(sys.argv[2]))
    sys.stdout.write(json.dumps(measure(sys.argv[1])))
