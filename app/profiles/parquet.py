"""Parquet files of samples, read by polars.

A few bytes of Parquet can stand for billions of values, and its reader is native code that a
malformed file may bring down. The file is therefore measured in a process of its own, with a
bound on memory and time; what comes back is a count for every length.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator

from app.profiles.documents import printable, unreadable
from app.profiles.sample_files import LENGTH_COLUMNS, TEXT_COLUMNS, Sample
from app.profiles.sandbox import read_apart

MOST_MEMORY = 4_000_000_000
"""Address space of the measuring process. [B]"""

SECONDS = 60.0
"""Time of the measuring process. [s]"""


def parquet_samples(name: str, stream: io.BufferedReader) -> Iterator[Sample]:
    """Return the samples of a Parquet file, equal lengths together."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as copy:
        shutil.copyfileobj(stream, copy)
        copy.flush()
        answer = _measure(name, copy.name)
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
        case {"lengths": list(lengths)}:
            for length, count, low, high in lengths:
                yield Sample(0, length=length, count=count, low=low, high=high)


def _measure(name: str, path: str) -> object:
    answer = read_apart(name, "app.profiles.parquet_child", path, str(MOST_MEMORY), seconds=SECONDS)
    if answer is None:
        raise unreadable(
            "{file} cannot be read as Parquet within {memory} GB of memory; send a smaller "
            "part, or CSV or JSON lines",
            file=name,
            memory=MOST_MEMORY / 1e9,
        )
    return answer
