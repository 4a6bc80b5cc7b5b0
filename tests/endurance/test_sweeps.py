"""Sweeps over minutes while workers and servers are killed again and again; small ones are in the suite."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from app.features.sweeps.executors import DaskWorkerPool, LocalWorkerPool
from app.features.sweeps.run import WorkerPool, run_sweep
from app.platform.web.examples import FLEET_PLAN
from app.platform.worker_processes import installed_context
from tests.support.serving import all_rows, serving, wait_for
from tests.support.sweeping import wide

pytestmark = pytest.mark.endurance

POINTS = 3000

SEED = 20261121

EVERY = 4.0
"""How often one is killed; a sweep of so many points takes some 20 s. [s]"""


@contextlib.contextmanager
def killing(victims: Callable[[], list[int]], every: float) -> Iterator[list[int]]:
    """Kill one of some processes every so many seconds."""
    chance, stop, killed = random.Random(SEED), threading.Event(), []

    def kill() -> None:
        while not stop.wait(every):
            living = victims()
            if living:
                killed.append(chance.choice(living))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


def positions(crew: WorkerPool) -> list[int]:
    found = []
    for rows in run_sweep(wide(POINTS).points(), installed_context, crew):
        assert all(row.problem is None for row in rows)
        found += [row.position for row in rows]
    return sorted(found)


def test_processes_killed_again_and_again() -> None:
    crew = LocalWorkerPool(2)

    def victims() -> list[int]:
        pool = crew._pool
        return list(pool._processes or {}) if isinstance(pool, ProcessPoolExecutor) else []

    with killing(victims, EVERY) as killed:
        assert positions(crew) == list(range(POINTS))
    assert len(killed) >= 3


@pytest.mark.filterwarnings("ignore")
def test_dask_workers_killed_again_and_again() -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
        killing(lambda: list(client.run(os.getpid, on_error="ignore").values()), EVERY) as killed,
    ):
        assert positions(DaskWorkerPool(cluster.scheduler_address)) == list(range(POINTS))
    assert len(killed) >= 3


def test_a_server_killed_again_and_again(tmp_path: Path) -> None:
    counts = list(range(1, 65))
    systems = [{"id": name, "counts": counts} for name in ("dgx-a100-640gb", "dgx-a100-320gb", "ipu-pod16")]
    total, address, rows = 3 * 64 * 3, "", 0
    while True:
        with serving(tmp_path) as (server, client):
            if not address:
                made = client.post("/api/v1/sweeps", json={**FLEET_PLAN, "systems": systems}).json()
                address = f"/api/v1/sweeps/{made['id']}"
            rows += 60
            state = wait_for(client, address, rows=rows, seconds=300)
            if state["status"] != "running":
                break
            server.kill()
            server.wait()
    with serving(tmp_path) as (_, client):
        found = all_rows(client, address)
    assert state["status"] == "done"
    assert [row["position"] for row in found] == list(range(total))
