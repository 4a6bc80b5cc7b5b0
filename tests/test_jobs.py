"""The background: rows that are the queue, a watch that needs no clock, one process of each machine."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app import jobs
from app.errors import Unavailable
from app.features.operation import chores as housekeeping
from app.features.operation.chores import Chore
from app.features.sweeps import service as sweeps
from app.jobs import Jobs, try_lock
from app.platform import job_running
from app.platform.job_running import JobClaim, Watch
from app.platform.store.database import Store
from app.platform.store.trail import TrailFilter
from app.platform.workspace import LOCAL_WORKSPACE, Installation
from tests.conftest import sizing_context, until
from tests.support.jobs import do_next, never
from tests.support.objects import moved_clock
from tests.support.postgres import PostgresCluster
from tests.support.sweeping import Threads, wide


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.setattr("app.features.sweeps.service.installed_context", sizing_context)
    made = Installation(sizing_context(), Store(f"sqlite:///{tmp_path / 'jobs.sqlite3'}"))
    made.prepare()
    yield made
    made.store.close()


def sweep_of(installation: Installation, points: int = 4) -> str:
    return sweeps.create_sweep(installation.workspace(LOCAL_WORKSPACE), wide(points).request).id


def status(installation: Installation, identifier: str) -> str:
    return sweeps.get_state(installation.workspace(LOCAL_WORKSPACE), identifier).status


class HandWatch:
    """A watch with a clock that is set by hand."""

    def __init__(self, installation: Installation) -> None:
        self.time = 0.0
        self._installation = installation
        self._watch = Watch(installation, lambda: self.time)

    def look(self, after: float) -> list[str]:
        """Look after some time and return the jobs that wait then."""
        self.time += after
        self._watch.look()
        return [identifier for _, identifier in self._installation.store.waiting_jobs()]


def test_a_silent_runner_loses_its_job_and_writes_nothing_more(installation: Installation) -> None:
    made = sweep_of(installation)
    claim = JobClaim.take(installation, made, never)
    assert claim is not None
    watching = HandWatch(installation)
    assert watching.look(0) == [] and watching.look(job_running.SILENT_SECONDS - 0.1) == []
    claim.beaten -= job_running.BEAT_SECONDS
    assert not claim.cancelled()
    # It has been heard of meanwhile, so that its time begins anew.
    assert watching.look(1) == [] and watching.look(job_running.SILENT_SECONDS - 0.1) == []
    assert watching.look(0.2) == [made]
    claim.advance(1, lambda repository: pytest.fail("nothing may be kept"))
    assert claim.lost and claim.cancelled()
    assert do_next(installation, Threads)
    found = sweeps.get_sweep(installation.workspace(LOCAL_WORKSPACE), made, limit=10)
    assert (found.status, [row.position for row in found.rows]) == ("done", [0, 1, 2, 3])


@pytest.mark.parametrize("hours", [-48, 48])
def test_clocks_that_jump_take_no_job_from_who_does_it(installation: Installation, hours: int) -> None:
    made = sweep_of(installation)
    claim = JobClaim.take(installation, made, never)
    assert claim is not None
    watching = HandWatch(installation)
    with moved_clock() as clock:
        for _ in range(20):
            clock.by = -clock.by + datetime.timedelta(hours=hours)
            claim.beaten -= job_running.BEAT_SECONDS
            assert not claim.cancelled()
            assert watching.look(1) == []
        clock.by = datetime.timedelta(0)
    assert claim.job.fence == 1 and not claim.lost


def test_a_job_that_takes_its_runners_with_it_is_given_up(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_running, "MOST_ATTEMPTS", 3)
    made = sweep_of(installation)
    watching = HandWatch(installation)
    for attempt in range(3):
        assert JobClaim.take(installation, made, never) is not None
        watching.look(1)
        assert watching.look(job_running.SILENT_SECONDS) == ([made] if attempt < 2 else [])
    state = sweeps.get_state(installation.workspace(LOCAL_WORKSPACE), made)
    assert state.status == "failed" and state.message is not None and "3 times" in state.message.message
    with installation.workspace(LOCAL_WORKSPACE).transaction() as repository:
        (event, *_), _ = repository.trail.listing(TrailFilter(), 10, None)
    assert (event.action, event.object_id, event.actor_kind) == ("sweep.failed", made, "system")
    sweeps.resume_sweep(installation.workspace(LOCAL_WORKSPACE), made)
    assert do_next(installation, Threads) and status(installation, made) == "done"


def test_a_job_that_this_process_has_made_is_begun_at_once(installation: Installation) -> None:
    background = Jobs(installation, Threads, idle=600.0)
    installation.wake = background.wake
    background.start()
    # Nothing waits: from now on only who is woken looks.
    until(lambda: len(background._threads) > 2)
    time.sleep(0.3)
    made = sweep_of(installation)
    until(lambda: status(installation, made) == "done", 10)
    background.stop()


def test_two_who_work_on_one_database_share_its_jobs(
    installation: Installation, postgres: PostgresCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Installation(sizing_context(), Store(postgres.make()))
    other.prepare()
    both = [Jobs(other, Threads) for _ in range(2)]
    for one in both:
        one.start()
    made = [sweep_of(other) for _ in range(6)]
    until(lambda: all(status(other, one) == "done" for one in made))
    for one in both:
        one.stop()
    assert other.store.watched_jobs() == []
    other.store.close()


def test_a_store_that_is_away_for_a_while_stops_nobody(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.05)
    failures = iter([Unavailable("away"), ZeroDivisionError()])
    claim, waiting = installation.store.claim_message, installation.store.waiting_jobs

    def failing(*values: Any) -> Any:
        for error in failures:
            raise error
        return claim(*values) if values else waiting()

    monkeypatch.setattr(installation.store, "claim_message", failing)
    monkeypatch.setattr(installation.store, "waiting_jobs", failing)
    background = Jobs(installation, Threads)
    background.start()
    made = sweep_of(installation)
    until(lambda: status(installation, made) == "done")
    background.stop()


def test_one_process_of_a_machine_does_jobs(installation: Installation, tmp_path: Path) -> None:
    lock = tmp_path / "jobs.lock"
    first, second = (Jobs(installation, Threads, lock) for _ in range(2))
    first.start()
    until(lambda: len(first._threads) > 1)
    second.start()
    time.sleep(0.3)
    assert len(second._threads) == 1
    with lock.open("ab") as file:
        assert not try_lock(file)
    first.stop()
    assert not any(thread.is_alive() for thread in first._threads)
    until(lambda: len(second._threads) > 1)
    second.stop()


def test_a_job_under_way_is_put_down_in_good_order(installation: Installation) -> None:
    background = Jobs(installation, Threads)
    background.start()
    made = sweep_of(installation, 5000)
    until(lambda: status(installation, made) == "running")
    begun = time.monotonic()
    background.stop()
    assert time.monotonic() - begun < jobs.STOP_SECONDS and status(installation, made) == "queued"


def test_chores_are_done_and_one_that_fails_harms_nobody(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    chores = (
        Chore("fails", datetime.timedelta(0), lambda _: 1 / 0),
        Chore("works", datetime.timedelta(0), lambda _: done.append("works")),
    )
    monkeypatch.setattr(housekeeping, "HOUSEKEEPING", chores)
    monkeypatch.setattr(jobs, "CHORE_SECONDS", 0.1)
    background = Jobs(installation, Threads)
    background.start()
    until(lambda: len(done) >= 2)
    background.stop()


def test_every_chore_has_a_name_of_its_own() -> None:
    names = [chore.name for chore in housekeeping.HOUSEKEEPING]
    assert len(set(names)) == len(names) and all(len(name) <= 40 for name in names)
