"""Broken files again, made by a fuzzer that sees which lines of the readers they reach.

``python -m tests.endurance.fuzz_guided TARGET [OPTIONS OF LIBFUZZER]``, such as ``graphs -runs=1000000``.
Needs atheris, which stands in no lock because not every machine has a build of it: install it into an
environment of its own beside what the development lock names. It ends with the first file that is answered
with anything but a result or a refusal, takes longer than :data:`SECONDS` or more memory than
:data:`MEGABYTES`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["app"]):
    from app.errors import AppError, Unprocessable
    from app.features.price_books.sheets import read_rows
    from app.platform.json_bodies import read_json
    from app.profiles import readers
    from app.profiles.onnx_graph import read_onnx
    from app.profiles.readers.models import read_profile
    from app.profiles.samples import read_sample

    # It imports readers: of those that were loaded before this block nothing would be seen.
    from tests.endurance.upload_mutations import BOOKS, PROFILES, STUDIES, WORKLOADS, seeds

SECONDS = 5
"""Longest time for a file. [s]"""

MEGABYTES = 2000
"""Most memory of the process. [MB]"""

MOST = 20_000
"""Largest file. [B]"""


def unread(name: str, data: bytes) -> Any:
    """Refuse what a process apart would read: started for every file, it would hide what is reached."""
    raise Unprocessable("read apart")


def model(data: bytes) -> None:
    """Read a model that is text."""
    json.dumps(read_profile("upload", data).to_json(), allow_nan=False)


def graph(data: bytes) -> None:
    """Read a graph as the process apart does."""
    json.dumps(read_onnx("upload", data).to_json(), allow_nan=False)


def sample(data: bytes) -> None:
    """Read a sample of data that is text."""
    if not data.startswith(b"PAR1"):
        json.dumps(read_sample("upload", data).to_json(), allow_nan=False)


def book(data: bytes) -> None:
    """Read a price book."""
    for row in read_rows(data):
        row.model_dump_json()


def body(data: bytes) -> None:
    """Read the body of a request."""
    json.dumps(read_json(data), allow_nan=False)


TARGETS: Mapping[str, tuple[Callable[[bytes], None], str]] = {
    "models": (model, PROFILES),
    "graphs": (graph, PROFILES),
    "samples": (sample, WORKLOADS),
    "books": (book, BOOKS),
    "bodies": (body, STUDIES),
}
"""Target → what reads a file, and the address that such files are sent to."""


def main(target: str, *options: str) -> None:
    """Fuzz until the options say it is enough, or a file is found."""
    read, address = TARGETS[target]
    readers.read_onnx_file = unread

    def one(data: bytes) -> None:
        try:
            read(data)
        except AppError as error:
            assert error.status < 500, error

    with tempfile.TemporaryDirectory() as corpus:
        for position, seed in enumerate(seed for seed in seeds() if seed.path == address):
            if len(seed.content) <= MOST:
                Path(corpus, str(position)).write_bytes(seed.content)
        bounds = (f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-max_len={MOST}")
        atheris.Setup([sys.argv[0], *bounds, *options, corpus], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
