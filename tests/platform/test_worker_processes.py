"""Long computations in processes of their own: shared, given up, measured, told as they are."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from app.errors import BadInput, TooMany, Unavailable
from app.features.sweeps.executors import LocalWorkerPool
from app.platform.store.database import Store
from app.platform.store.trail import Actor, acting, current_actor
from app.platform.worker_processes import MOST_WAITING, ClientGone, Shares, WorkerProcesses, processor_seconds
from app.platform.workspace import LOCAL_WORKSPACE, Installation, Workspace
from tests.conftest import sizing_context
from tests.support.serving import descendants, serving


def spin(workspace: Workspace, seconds: float) -> str:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return f"{workspace.id} {current_actor().name}"


def rest(workspace: Workspace, seconds: float) -> None:
    time.sleep(seconds)


def refuse(workspace: Workspace) -> None:
    raise BadInput.at("model", "must be {what}", what="known")


def die(workspace: Workspace) -> None:
    os._exit(1)


def follow(workspace: Workspace, watch: object) -> None:
    assert callable(watch)
    watch(1, 3)
    watch(2, 3)


@pytest.fixture
def used() -> dict[str, float]:
    return defaultdict(float)


@pytest.fixture
def workers(tmp_path: Path, used: dict[str, float]) -> Iterator[WorkerProcesses]:
    url = f"sqlite:///{tmp_path / 'workers.sqlite3'}"
    made = Installation(sizing_context(), Store(url))
    made.prepare()
    made.store.close()

    def charge(workspace_id: str, seconds: float) -> None:
        used[workspace_id] += seconds

    yield WorkerProcesses(url, 3, charge)


def test_what_is_charged_is_the_processor_and_not_the_clock(
    workers: WorkerProcesses, used: dict[str, float]
) -> None:
    with acting(Actor("person", "acc_1", "Ann")):
        assert workers.run(spin, "ws_one", 0.4) == "ws_one Ann", "it acts in the name of who asks"
    workers.run(rest, "ws_two", 0.5)
    assert 0.4 <= used["ws_one"] < 0.8
    assert used["ws_two"] < 0.2


def test_what_nobody_waits_for_is_stopped_and_charged(
    workers: WorkerProcesses, used: dict[str, float]
) -> None:
    begun = time.monotonic()
    with pytest.raises(ClientGone):
        workers.run(spin, "ws_one", 60.0, gone=lambda: time.monotonic() - begun > 1.0)
    assert time.monotonic() - begun < 3.0
    assert 0.0 < used["ws_one"] < 3.0


def test_what_is_told_and_refused_comes_back_whole(workers: WorkerProcesses) -> None:
    told: list[tuple[int, ...]] = []
    workers.run(follow, LOCAL_WORKSPACE, watch=lambda *values: told.append(values))
    assert told == [(1, 3), (2, 3)]
    with pytest.raises(BadInput) as caught:
        workers.run(refuse, LOCAL_WORKSPACE)
    assert caught.value.errors[0].field == "model"
    assert str(caught.value.message) == "must be known"
    with pytest.raises(Unavailable):
        workers.run(die, LOCAL_WORKSPACE)


def test_a_sweep_that_ends_takes_no_other_computation_with_it(workers: WorkerProcesses) -> None:
    workers.start()
    pool = LocalWorkerPool(1)
    pool.executor().submit(os.getpid).result()
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(workers.run, spin, "ws_one", 1.5)
        time.sleep(0.5)
        pool.close()
        assert str(answer.result()).startswith("ws_one")


def test_no_workspace_takes_every_place_and_who_has_fewest_comes_first() -> None:
    shares, order = Shares(3), list[str]()
    ends = [threading.Event() for _ in range(4)]

    def compute(workspace_id: str, end: threading.Event) -> None:
        with shares.place(workspace_id):
            order.append(workspace_id)
            end.wait(10)

    asked = [("ws_one", ends[0]), ("ws_one", ends[1]), ("ws_one", ends[2]), ("ws_two", ends[3])]
    threads = [threading.Thread(target=compute, args=pair) for pair in asked]
    for thread in threads[:3]:
        thread.start()
        time.sleep(0.1)
    time.sleep(0.3)
    assert order == ["ws_one"] * 2, "one of three places is for others"
    threads[3].start()
    time.sleep(0.3)
    assert order == ["ws_one", "ws_one", "ws_two"], "who comes later and has none is first"
    for end in ends:
        end.set()
    for thread in threads:
        thread.join(10)
    assert order[3:] == ["ws_one"]


def test_few_wait() -> None:
    shares, stop = Shares(1), threading.Event()

    def compute() -> None:
        with suppress(ClientGone), shares.place("ws_one", stop.is_set):
            stop.wait(10)

    threads = [threading.Thread(target=compute) for _ in range(MOST_WAITING + 1)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    with pytest.raises(TooMany), shares.place("ws_one"):
        pass
    stop.set()
    for thread in threads:
        thread.join(10)


def test_a_sizing_ends_with_the_connection_of_who_asked(tmp_path: Path) -> None:
    body = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9, "seq_len": 2048}}
    with serving(tmp_path) as (server, client):
        with pytest.raises(httpx.ReadTimeout):
            client.post("/api/v1/sizings", json=body, timeout=3.0)
        time.sleep(2.0)
        before = sum(map(processor_seconds, descendants(server.pid)))
        time.sleep(1.0)
        after = sum(map(processor_seconds, descendants(server.pid)))
        assert after - before < 0.4, "nobody computes any more"
        assert client.get("/api/v1/sizings").json()["items"] == []
