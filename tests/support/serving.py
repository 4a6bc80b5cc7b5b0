"""The real server as a process of its own, to be killed and started again."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import ROOT


@contextlib.contextmanager
def serving(
    data_dir: Path, *arguments: str, **settings: str
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Start a server on a directory, perhaps with other settings, and a client of it."""
    environment = {**os.environ, **settings, "RACKLINE_DATA_DIR": str(data_dir)}
    command = [sys.executable, "-m", "app", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stderr)))
            said = threading.Thread(target=lambda: spoken(process).extend(process.stderr or []), daemon=True)
            said.start()
            try:
                with httpx.Client(base_url=found[0], timeout=30, trust_env=False) as client:
                    # The port listens before the application is there to answer; busy machines are slow.
                    client.get("/healthz", timeout=300)
                    yield process, client
            finally:
                process.kill()
                # Who has inherited the pipe may hold it a little longer; it is closed when nobody reads it.
                said.join()
        finally:
            process.kill()


SPOKEN: dict[int, list[str]] = {}


def spoken(process: subprocess.Popen[str]) -> list[str]:
    """Return what a server has written on its error output since it began to serve."""
    return SPOKEN.setdefault(process.pid, [])


def wait_for(client: httpx.Client, address: str, *, rows: int = 0, seconds: float = 120.0) -> dict[str, Any]:
    """Return a sweep once it has so many rows, or has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found: dict[str, Any] = client.get(address, params={"limit": 1}).json()
        if found["status"] in {"done", "failed", "cancelled"} or 0 < rows <= found["done"]:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{address} took longer than {seconds} s")


def all_rows(client: httpx.Client, address: str) -> list[dict[str, Any]]:
    """Return every row of a sweep."""
    found, cursor = [], None
    while True:
        params = {"limit": 200} | ({"cursor": cursor} if cursor else {})
        stretch = client.get(address, params=params).json()
        found += stretch["rows"]
        cursor = stretch["next"]
        if cursor is None:
            return found


def succeeded(command: list[str], folder: Path) -> str:
    """Run a command and return what it said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{command[0]}: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout + done.stderr


def descendants(pid: int) -> list[int]:
    """Return a process, its children and theirs."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for each in threads for child in (each / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(found for child in children for found in descendants(child))]
