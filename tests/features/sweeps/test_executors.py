"""Sweeps on real workers, some of which are killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from app.errors import BadInput
from app.features.sweeps.executors import DaskWorkerPool, LocalWorkerPool, crew, processors
from app.features.sweeps.run import WorkerFailure, WorkerPool, run_sweep
from app.main import create_app
from app.platform.worker_processes import installed_context
from app.settings import Settings
from tests.conftest import ROOT
from tests.support.sweeping import process_is_alive, wide

POINTS = 48


def swept(asked: WorkerPool, kill: object, points: int = POINTS) -> list[int]:
    """Return the positions of the rows of a sweep, ``kill`` called when the first have come."""
    found: list[int] = []
    for rows in run_sweep(wide(points).points(), installed_context, asked):
        assert all(row.problem is None and row.time_to_train for row in rows)
        if not found:
            assert callable(kill)
            kill()
        found.extend(row.position for row in rows)
    return sorted(found)


def test_a_process_killed_in_the_middle_loses_no_point_and_doubles_none() -> None:
    local = LocalWorkerPool(2)
    killed: list[int] = []

    def kill() -> None:
        pool = local.executor()
        assert isinstance(pool, ProcessPoolExecutor)
        killed.append(next(iter(pool._processes)))
        os.kill(killed[0], signal.SIGKILL)

    assert swept(local, kill) == list(range(POINTS))
    assert len(killed) == 1


def test_processes_end_with_the_sweep() -> None:
    local = LocalWorkerPool(1)
    run = run_sweep(wide(20).points(), installed_context, local)
    next(run)
    pool = local.executor()
    assert isinstance(pool, ProcessPoolExecutor)
    (process,) = pool._processes.values()
    run.close()
    process.join(30)
    # Where the pool's own thread learns of the end first, this one is told a moment later.
    end = time.monotonic() + 30
    while process.exitcode is None and time.monotonic() < end:
        time.sleep(0.01)
    assert process.exitcode is not None


ORPHAN = """
import sys
from app.features.sweeps.executors import LocalWorkerPool
from app.platform.worker_processes import installed_context
if __name__ == "__main__":
    pool = LocalWorkerPool(1).executor()
    pool.submit(installed_context).result()
    print(*pool._processes, flush=True)
    sys.stdin.read()
"""


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert process_is_alive(worker)
        parent.kill()
    deadline = time.monotonic() + 5
    while process_is_alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not process_is_alive(worker)


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


@pytest.mark.filterwarnings("ignore")
def test_a_dask_worker_killed_in_the_middle_loses_no_point_and_doubles_none(cluster: LocalCluster) -> None:
    killed: list[int] = []

    def kill() -> None:
        with Client(cluster, set_as_default=False) as client:
            killed.append(min(client.run(os.getpid).values()))
        os.kill(killed[0], signal.SIGKILL)

    assert swept(crew(cluster.scheduler_address), kill) == list(range(POINTS))
    assert len(killed) == 1


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_does_not_answer_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.features.sweeps.executors.DASK_SECONDS", 0.5)
    with pytest.raises(WorkerFailure, match=r"tcp://127\.0\.0\.1:9 does not respond"):
        DaskWorkerPool("tcp://127.0.0.1:9").executor()


def test_a_scheduler_without_its_client_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("app.features.sweeps.executors.importlib.util.find_spec", lambda name: None)
    with pytest.raises(BadInput, match="rackline\\[dask\\]") as caught:
        crew("tcp://127.0.0.1:8786")
    assert caught.value.errors[0].field == "RACKLINE_DASK"
    with pytest.raises(BadInput, match="rackline\\[dask\\]"):
        create_app(Settings.at(tmp_path, dask="tcp://127.0.0.1:8786"))


def test_without_a_scheduler_sweeps_use_this_machine() -> None:
    local = crew("")
    assert isinstance(local, LocalWorkerPool)
    assert local.size() == processors() >= 1
    assert crew("", 3).size() == 3


@pytest.mark.parametrize("address", ["localhost:8786", "http://localhost", "tcp://a b"])
def test_an_unusable_address_names_its_variable(address: str) -> None:
    with pytest.raises(BadInput) as caught:
        Settings.from_environment({"RACKLINE_DASK": address})
    assert caught.value.errors[0].field == "RACKLINE_DASK"
