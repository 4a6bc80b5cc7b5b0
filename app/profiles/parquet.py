"""Parquet files of samples; needs the extra ``parquet`` (polars).

A few bytes of Parquet can stand for billions of values, and its reader is native code that a
malformed file may bring down. The file is therefore measured in a process of its own, with a
bound on memory and time; what comes back is a count for every length.
"""

from __future__ import annotations

import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.profiles.documents import too_large, unreadable
from app.profiles.numbers import printable
from app.profiles.sample_files import LENGTH_COLUMNS, TEXT_COLUMNS, Sample

MOST_MEMORY = 4_000_000_000
"""Address space of the measuring process. [B]"""

SECONDS = 60.0
"""Time of the measuring process. [s]"""


def parquet_samples(name: str, stream: io.BufferedReader) -> Iterator[Sample]:
    """Return the samples of a Parquet file, equal lengths together."""
    if importlib.util.find_spec("polars") is None:
        raise unreadable(
            "{file}: reading Parquet needs the extra “parquet” of this installation; "
            "save the file as CSV or JSON lines",
            file=name,
        )
    with tempfile.NamedTemporaryFile(suffix=".parquet") as copy:
        shutil.copyfileobj(stream, copy)
        copy.flush()
        answer = _measure(name, copy.name)
    match answer:
        case {"columns": list(columns)}:
            raise unreadable(
                "{file}: no column of lengths ({lengths}) and none of text ({texts}); "
                "its columns are {columns}",
                file=name,
                lengths=", ".join(LENGTH_COLUMNS),
                texts=", ".join(TEXT_COLUMNS),
                columns=printable(", ".join(map(str, columns)), 200),
            )
        case {"lengths": list(lengths)}:
            for length, count, low, high in lengths:
                yield Sample(0, length=length, count=count, low=low, high=high)


def _measure(name: str, path: str) -> object:
    package = str(Path(__file__).resolve().parents[2])
    environment = {"PYTHONPATH": package, "POLARS_MAX_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "app.profiles.parquet_child", path, str(MOST_MEMORY)],
            capture_output=True,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise too_large(
            "reading {file} takes longer than {seconds} s; send a smaller file", file=name, seconds=SECONDS
        ) from error
    if done.returncode:
        raise unreadable(
            "{file} is not a Parquet file that can be read within {memory} GB of memory; "
            "send a smaller part of it, or CSV or JSON lines",
            file=name,
            memory=MOST_MEMORY / 1e9,
        )
    answer: object = json.loads(done.stdout)
    return answer
