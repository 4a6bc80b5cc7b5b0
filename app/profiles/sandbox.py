"""Native readers in a process of their own, with bounds on memory, time and what they write.

A malformed file may bring native code down, make it loop, or stand for far more than its size. What
happens to the process of the reader does not happen to the server; what comes back is JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import BoundedSemaphore

from app.errors import TooMany
from app.profiles.documents import too_large

AT_ONCE = 2
"""Processes that read at the same time: each may take as much memory as its bound."""
PATIENCE = 5.0
"""How long a file waits for its turn before it is refused. [s]"""
AGAIN = 20
"""When a refused file may be sent again. [s]"""
MOST_WRITTEN = 256_000_000
"""Largest answer of a reader. [B]"""
_turns = BoundedSemaphore(AT_ONCE)


def bound_memory(most: int) -> None:
    """Limit memory and file sizes of the calling process and disable core dumps, before it reads a file."""
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_WRITTEN, MOST_WRITTEN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_in_subprocess(
    name: str, module: str, *arguments: str, content: bytes = b"", seconds: float
) -> object | None:
    """Return the answer of one of our modules, run as a program on a file."""
    package = str(Path(__file__).resolve().parents[2])
    environment = {"PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1", "POLARS_MAX_THREADS": "1"}
    if not _turns.acquire(timeout=PATIENCE):
        raise TooMany("the server is reading other files; send this one again later", retry_after=AGAIN)
    try:
        with tempfile.TemporaryFile() as written:
            done = subprocess.run(
                [sys.executable, "-m", module, *arguments],
                check=False,
                env=environment,
                input=content,
                stdout=written,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
            )
            written.seek(0)
            answer: object = json.load(written) if done.returncode == 0 else None
            return answer
    except subprocess.TimeoutExpired as error:
        raise too_large(
            "reading {file} takes longer than {seconds} s; send a smaller file", file=name, seconds=seconds
        ) from error
    finally:
        _turns.release()
