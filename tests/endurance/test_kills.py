"""kill -9 of servers and workers, and of PostgreSQL, at random moments: nothing acknowledged is lost, every
job ends with each of its points exactly once. A small one is in the suite; `-m endurance` runs 200 kills."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.endurance.killing import Arena, endure
from tests.support.postgres import OwnCluster, own_cluster

SEED = 20261121


def on_sqlite(folder: Path) -> Arena:
    """A server and a worker of one machine: one of the two does the jobs, the other takes over."""
    return Arena(
        folder,
        f"sqlite:///{folder / 'data' / 'rackline.sqlite3'}",
        {"serve": {}, "work": {}},
        random.Random(SEED),
    )


def on_postgresql(folder: Path, server: OwnCluster) -> Arena:
    """A server that leaves jobs to two workers on machines of their own."""
    roles = {"serve": {"jobs": "elsewhere"}, "work-a": {"home": "a"}, "work-b": {"home": "b"}}
    return Arena(folder, server.make(), roles, random.Random(SEED))


def told(found: dict[str, int], arena: Arena) -> None:
    assert not arena.wrong, arena.wrong
    assert found["kills"] and found["acknowledged"] and found["sweeps"]
    print(found, dict(arena.killed))


def test_a_few_kills(tmp_path: Path) -> None:
    arena = on_sqlite(tmp_path)
    told(endure(arena, 6, 0.3), arena)


@pytest.mark.endurance
def test_200_kills_on_sqlite(tmp_path: Path) -> None:
    arena = on_sqlite(tmp_path)
    told(endure(arena, 200, 1.5), arena)


@pytest.mark.endurance
def test_200_kills_on_postgresql(tmp_path: Path) -> None:
    # Without QUICK: what is killed here must keep what it has acknowledged.
    with own_cluster("") as server:
        arena = on_postgresql(tmp_path, server)

        def crash(count: int) -> None:
            """Every so often kill the database itself, by turns as a whole and one of its processes."""
            if count % 25 == 12:
                arena.killed["postgres"] += 1
                kill_server(server)
                start_again(server)

        told(endure(arena, 200, 1.5, crash), arena)


def kill_server(server: OwnCluster) -> None:
    """Kill the postmaster; its children end by themselves."""
    main = int((server.data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
    os.kill(main, signal.SIGKILL)


def start_again(server: OwnCluster) -> None:
    """Start a killed server as soon as the last of its processes has let go of its memory."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(AssertionError):
            server.start()
            return
        time.sleep(0.5)
    raise AssertionError("PostgreSQL does not come back")
