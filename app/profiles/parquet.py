"""Parquet files of samples, read by polars.

A few bytes of Parquet can stand for billions of values, and its reader is native code that a
malformed file may bring down. The file is therefore measured in a process of its own, with a
bound on memory and time; what comes back is a count for every length.
``python -m app.profiles.parquet FILE`` bounds its own address space before the native reader sees the file.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator

from app.errors import need
from app.profiles.documents import printable, unreadable
from app.profiles.sample_lengths import LENGTH_COLUMNS, LIST_COLUMNS, TEXT_COLUMNS, Sample, estimated_tokens
from app.profiles.sandbox import bound_memory, read_in_subprocess

MOST_MEMORY = 4_000_000_000
"""Address space of the measuring process. [B]"""
SECONDS = 15.0
"""Time of the measuring process for a small file. [s]"""
MORE_SECONDS = 1.8e-6
"""Time of it for each byte of the file: one of 25 MB has a minute. [s/B]"""
MOST_SECONDS = 60.0


def parquet_samples(name: str, stream: io.BufferedReader) -> Iterator[Sample]:
    """Return the samples of a Parquet file, equal lengths together."""
    need("polars", "parquet")
    with tempfile.NamedTemporaryFile(suffix=".parquet") as copy:
        shutil.copyfileobj(stream, copy)
        copy.flush()
        seconds = min(round(SECONDS + MORE_SECONDS * copy.tell()), MOST_SECONDS)
        answer = _measure(name, copy.name, seconds)
    match answer:
        case {"columns": list(columns)}:
            raise unreadable(
                "{file}: no length column ({lengths}) and no text column ({texts}); its "
                "columns are {columns}",
                file=name,
                lengths=", ".join(LENGTH_COLUMNS),
                texts=", ".join(TEXT_COLUMNS),
                columns=printable(", ".join(map(str, columns)), 200),
            )
        case {"lengths": list(lengths), "fields": list(fields)}:
            for length, count, low, high in lengths:
                yield Sample(0, length=length, count=count, low=low, high=high, fields=tuple(fields))


def _measure(name: str, path: str, seconds: float) -> object:
    answer = read_in_subprocess(name, "app.profiles.parquet", path, seconds=seconds)
    if answer is None:
        raise unreadable(
            "{file} cannot be read as Parquet within {memory} GB of memory; send a smaller "
            "part, or CSV or JSON lines",
            file=name,
            memory=MOST_MEMORY / 1e9,
        )
    return answer


SLICE = 8_192
"""Rows read at a time."""


def measure(path: str) -> dict[str, object]:
    """Return samples by length, or the columns of the file if none can be measured."""
    import polars

    # Text files name this module, so that it is known only now.
    from app.profiles.sample_files import row_samples

    frame = polars.scan_parquet(path)
    schema = frame.collect_schema()
    columns = {name.lower(): name for name in schema.names()}
    column = next((columns[name] for name in (*LENGTH_COLUMNS, *LIST_COLUMNS) if name in columns), None)
    if column is None and not any(name in columns for name in TEXT_COLUMNS):
        return {"columns": schema.names()[:50]}
    texts = [
        name
        for name, kind in schema.items()
        if kind == polars.String or isinstance(kind, polars.List | polars.Struct | polars.Array)
    ]
    counts: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    fields: Counter[tuple[str, ...]] = Counter()

    def note(length: int, low: float, high: float) -> None:
        entry = counts[length]
        entry[0] += 1
        entry[1] += low
        entry[2] += high

    offset = 0
    while True:
        part = frame.select(column or texts).slice(offset, SLICE).collect()
        if column is not None:
            values = part.get_column(column)
            for value in values.list.len() if isinstance(schema[column], polars.List) else values:
                if value is not None:
                    length = max(int(value), 1)
                    note(length, length, length)
        else:
            for row in part.iter_rows(named=True):
                if not any(row.values()):
                    continue
                for sample in row_samples("", 0, row):
                    estimated = estimated_tokens(sample.text)
                    fields[sample.fields] += 1
                    note(estimated.tokens, estimated.low, estimated.high)
        offset += SLICE
        if len(part) < SLICE:
            break
    return {
        "lengths": [
            [length, int(count), low / count, high / count] for length, (count, low, high) in counts.items()
        ],
        "fields": max(fields, key=fields.__getitem__, default=()),
    }


if __name__ == "__main__":
    bound_memory(MOST_MEMORY)
    sys.stdout.write(json.dumps(measure(sys.argv[1])))
