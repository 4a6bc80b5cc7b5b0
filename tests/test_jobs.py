"""The background: messages that carry nothing but names, a watch that needs no clock, a queue that may go."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from huey.registry import Message

from app import jobs
from app.errors import BadInput
from app.features.operation import chores as housekeeping
from app.features.operation.chores import Chore
from app.features.sweeps import service as sweeps
from app.jobs import Jobs, JsonSerializer, default_queue, disconnect, open_queue, try_lock
from app.platform import job_running
from app.platform.job_running import JobClaim, Watch
from app.platform.store.database import Store
from app.platform.store.trail import TrailFilter
from app.platform.workbench import LOCAL_WORKSPACE, Workbench
from tests.clocks import moved_clock
from tests.jobs import do_next, never
from tests.postgres import Cluster
from tests.sizing.asking import sizing_context
from tests.sizing.sweeping import Threads, wide


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    monkeypatch.setattr("app.features.sweeps.service.installed_context", sizing_context)
    made = Workbench(sizing_context(), Store(f"sqlite:///{tmp_path / 'jobs.sqlite3'}"))
    made.prepare()
    yield made
    made.store.close()


def sweep_of(bench: Workbench, points: int = 4) -> str:
    return sweeps.create_sweep(bench, LOCAL_WORKSPACE, wide(points).request).id


def until(said: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not said():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def status(bench: Workbench, identifier: str) -> str:
    return sweeps.get_state(bench, LOCAL_WORKSPACE, identifier).status


class Listening:
    """A bell, a clock that is set by hand, and the watch that uses both."""

    def __init__(self, bench: Workbench) -> None:
        self.rung: list[str] = []
        self.time = 0.0
        bench.ring = self.rung.append
        self.watch = Watch(bench, lambda: self.time)

    def look(self, after: float, *, idle: bool = True) -> list[str]:
        self.time += after
        self.rung.clear()
        self.watch.look(idle=idle)
        return list(self.rung)


def test_a_job_that_waits_without_a_message_is_rung_for(bench: Workbench) -> None:
    listening = Listening(bench)
    made = sweep_of(bench)
    assert listening.look(1) == []
    assert listening.look(1, idle=False) == []
    assert listening.look(1) == [made]
    assert do_next(bench, Threads)
    assert listening.look(1) == []


def test_a_silent_runner_loses_its_job_and_writes_nothing_more(bench: Workbench) -> None:
    made = sweep_of(bench)
    claim = JobClaim.take(bench, made, never)
    assert claim is not None
    listening = Listening(bench)
    assert listening.look(0) == [] and listening.look(job_running.SILENT_SECONDS - 0.1) == []
    claim.beaten -= job_running.BEAT_SECONDS
    assert not claim.cancelled()
    # It has been heard of meanwhile, so that its time begins anew.
    assert listening.look(1) == [] and listening.look(job_running.SILENT_SECONDS - 0.1) == []
    assert listening.look(0.2) == [made]
    claim.advance(1, lambda repository: pytest.fail("nothing may be kept"))
    assert claim.lost and claim.cancelled()
    assert do_next(bench, Threads)
    found = sweeps.get_sweep(bench, LOCAL_WORKSPACE, made, limit=10)
    assert (found.status, [row.position for row in found.rows]) == ("done", [0, 1, 2, 3])


@pytest.mark.parametrize("hours", [-48, 48])
def test_clocks_that_jump_take_no_job_from_who_does_it(bench: Workbench, hours: int) -> None:
    made = sweep_of(bench)
    claim = JobClaim.take(bench, made, never)
    assert claim is not None
    listening = Listening(bench)
    with moved_clock() as clock:
        for _ in range(20):
            clock.by = -clock.by + datetime.timedelta(hours=hours)
            claim.beaten -= job_running.BEAT_SECONDS
            assert not claim.cancelled()
            assert listening.look(1) == []
        clock.by = datetime.timedelta(0)
    assert claim.job.fence == 1 and not claim.lost


def test_a_job_that_takes_its_runners_with_it_is_given_up(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_running, "MOST_ATTEMPTS", 3)
    made = sweep_of(bench)
    listening = Listening(bench)
    for attempt in range(3):
        assert JobClaim.take(bench, made, never) is not None
        listening.look(1)
        assert listening.look(job_running.SILENT_SECONDS) == ([made] if attempt < 2 else [])
    state = sweeps.get_state(bench, LOCAL_WORKSPACE, made)
    assert state.status == "failed" and state.message is not None and "3 times" in state.message.message
    with bench.store.transaction(LOCAL_WORKSPACE) as repository:
        (event, *_), _ = repository.trail.listing(TrailFilter(), 10, None)
    assert (event.action, event.object_id, event.actor_kind) == ("sweep.failed", made, "system")
    sweeps.resume_sweep(bench, LOCAL_WORKSPACE, made)
    assert do_next(bench, Threads) and status(bench, made) == "done"


def test_messages_are_names_and_identifiers() -> None:
    message = Message(id="m", name="app.jobs.perform", args=("swp_a",), kwargs={}, retries=0)
    written = JsonSerializer().serialize(message)
    assert written == b'{"id": "m", "name": "app.jobs.perform", "args": ["swp_a"]}'
    read = JsonSerializer().deserialize(written)
    assert (read.id, read.name, list(read.args)) == ("m", "app.jobs.perform", ["swp_a"])


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04K\x01.",
        b"{",
        b'{"name": "x"}',
        b'{"name": "x", "args": [{}]}',
        b'{"name": "x", "args": "ab"}',
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        JsonSerializer().deserialize(data)


def test_a_foreign_message_stops_nobody(bench: Workbench, tmp_path: Path) -> None:
    queue = f"sqlite:///{tmp_path / 'queue.sqlite3'}"
    storage = open_queue("jobs", queue).storage
    for data in (b"\x80\x04K\x01.", b'{"id": "a", "name": "os.system", "args": ["true"]}'):
        storage.enqueue(data)
    made = sweep_of(bench)
    background = Jobs(bench, Threads, queue)
    bench.ring = background.ring
    background.start()
    until(lambda: status(bench, made) == "done")
    background.stop()


def test_a_queue_that_is_lost_loses_no_job(bench: Workbench, tmp_path: Path) -> None:
    file = tmp_path / "queue.sqlite3"
    made = [sweep_of(bench) for _ in range(2)]
    file.write_bytes(b"this is not a database, and it is long enough to be looked at" * 20)
    background = Jobs(bench, Threads, f"sqlite:///{file}")
    bench.ring = background.ring
    background.start()
    until(lambda: all(status(bench, one) == "done" for one in made))
    background.stop()


def test_a_queue_on_postgresql_and_two_who_listen(
    bench: Workbench, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.make()
    both = [Jobs(bench, Threads, url) for _ in range(2)]
    bench.ring = both[0].ring
    for one in both:
        one.start()
    made = [sweep_of(bench) for _ in range(6)]
    until(lambda: all(status(bench, one) == "done" for one in made))
    for one in both:
        one.stop()
    assert [job.fence for job in bench.store.watched_jobs()] == []


def test_threads_that_notify_at_the_same_time_close_one_connection(postgres: Cluster) -> None:
    queue = open_queue("jobs", postgres.make())

    def notify(_: int) -> None:
        queue.storage.queue_size()
        disconnect(queue)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(notify, range(400)))
    queue.storage.close()


def test_one_process_of_a_machine_does_jobs(bench: Workbench, tmp_path: Path) -> None:
    lock, queue = tmp_path / "jobs.lock", f"sqlite:///{tmp_path / 'queue.sqlite3'}"
    first, second = (Jobs(bench, Threads, queue, lock) for _ in range(2))
    first.start()
    until(lambda: bool(first._consumers))
    second.start()
    time.sleep(0.3)
    assert not second._consumers
    with lock.open("ab") as file:
        assert not try_lock(file)
    first.stop()
    until(lambda: bool(second._consumers))
    second.stop()


def test_chores_are_done_and_one_that_fails_harms_nobody(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    chores = (
        Chore("fails", datetime.timedelta(0), lambda _: 1 / 0),
        Chore("works", datetime.timedelta(0), lambda _: done.append("works")),
    )
    for module in (jobs, housekeeping):
        monkeypatch.setattr(module, "HOUSEKEEPING", chores)
    monkeypatch.setattr(jobs._Scheduler, "periodic_task_seconds", 0.5)
    background = Jobs(bench, Threads, f"sqlite:///{tmp_path / 'queue.sqlite3'}")
    background.start()
    until(lambda: len(done) >= 2)
    background.stop()


def test_every_chore_has_a_name_of_its_own() -> None:
    names = [chore.name for chore in housekeeping.HOUSEKEEPING]
    assert len(set(names)) == len(names) and all(len(name) <= 40 for name in names)


def test_where_the_queue_is(tmp_path: Path) -> None:
    assert default_queue("postgresql+psycopg://a/b", tmp_path) == "postgresql+psycopg://a/b"
    assert default_queue("sqlite:///x", tmp_path) == f"sqlite:///{tmp_path / 'queue.sqlite3'}"
    for address, word in (("redis://localhost/1", "redis"), ("amqp://a", "sqlite")):
        with pytest.raises(BadInput, match=word) as caught:
            open_queue("jobs", address)
        assert caught.value.errors[0].field == "RACKLINE_QUEUE_URL"
