"""Long work has one owner at a time, whatever clocks say, on each database."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from alembic import op
from sqlalchemy import inspect

from app.platform.store.database import Store, make_engine
from app.platform.store.job_queries import ClaimedJob, WatchedJob
from app.platform.store.migrate import upgrade
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.store.tables import JobRecord, SweepRecord
from tests.platform.store.conftest import compare_with_declaration

WORKSPACE = "ws_one"


def waiting(repository: Repository, name: str = "swp_a") -> None:
    sweep = SweepRecord(id=name, workspace_id="", title="t", request={})
    repository.add(sweep, JobRecord(id=name, workspace_id="", kind="sweep", status="queued", total=3))


@pytest.fixture
def queued(store: Store) -> Store:
    with store.transaction(WORKSPACE) as repository:
        waiting(repository)
    return store


def claimed(store: Store, name: str = "swp_a") -> ClaimedJob:
    found = store.claim_job(name, "here:1", now())
    assert found is not None
    return found


def only(store: Store) -> WatchedJob:
    (found,) = store.watched_jobs()
    return found


def test_a_job_is_claimed_once(queued: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda one: queued.claim_job("swp_a", f"here:{one}", now()), range(8)))
    (claim,) = filter(None, claims)
    assert (claim.workspace_id, claim.id, claim.kind) == (WORKSPACE, "swp_a", "sweep")
    assert (only(queued).status, only(queued).attempts) == ("running", 1)


@pytest.mark.parametrize("status", ["queued", "failed"])
def test_whoever_lost_a_job_writes_nothing_to_it(queued: Store, status: str) -> None:
    first = claimed(queued)
    assert queued.take_back(only(queued), status, None, now())
    second = None
    if status == "queued":
        second = claimed(queued)
    with queued.transaction(WORKSPACE) as repository:
        job = repository.of_job("swp_a")
        assert not job.beat(first.fence)
        assert not job.advance(first.fence, 1, now())
        assert not job.end(first.fence, "done", now())
        if second is not None:
            assert job.beat(second.fence) and job.advance(second.fence, 2, now())
            assert job.end(second.fence, "done", now())
    with queued.transaction(WORKSPACE) as repository:
        found = repository.get(JobRecord, "swp_a")
        assert found is not None
        assert (found.status, found.done) == (("done", 2) if second else ("failed", 0))


def test_a_sign_of_life_keeps_a_job(queued: Store) -> None:
    claim, seen = claimed(queued), only(queued)
    with queued.transaction(WORKSPACE) as repository:
        assert repository.of_job("swp_a").beat(claim.fence)
    assert not queued.take_back(seen, "queued", None, now())
    assert only(queued).fence == claim.fence


def test_attempts_count_until_a_step_is_done(queued: Store) -> None:
    for expected in (1, 2, 3):
        claim = claimed(queued)
        assert only(queued).attempts == expected
        assert queued.take_back(only(queued), "queued", None, now())
    claim = claimed(queued)
    with queued.transaction(WORKSPACE) as repository:
        assert repository.of_job("swp_a").advance(claim.fence, 1, now())
    assert only(queued).attempts == 1


def test_who_cancels_takes_the_job_from_its_runner(queued: Store) -> None:
    claim = claimed(queued)
    with queued.transaction(WORKSPACE) as repository:
        assert repository.of_job("swp_a").move(["queued", "running"], "cancelled", now())
        assert not repository.of_job("swp_a").beat(claim.fence)
    assert queued.claim_job("swp_a", "here:1", now()) is None and queued.watched_jobs() == []


def test_jobs_are_counted_by_state(queued: Store) -> None:
    with queued.transaction("ws_two") as repository:
        waiting(repository, "swp_b")
    claimed(queued)
    assert {(kind, status, count) for kind, status, count, _ in queued.jobs_by_state()} == {
        ("sweep", "queued", 1),
        ("sweep", "running", 1),
    }


def test_a_turn_is_taken_by_one_of_many(store: Store) -> None:
    start = now()

    def taking(seconds: float) -> Callable[[int], bool]:
        moment = start + timedelta(seconds=seconds)
        return lambda _: store.take_turn("tidy", moment, moment - timedelta(seconds=60))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(taking(0), range(8))) == 1
        assert sum(pool.map(taking(59), range(8))) == 0
        assert sum(pool.map(taking(61), range(8))) == 1
        # The clock was set back by a day: the turn that lies in the future does not stop the chore.
        assert sum(pool.map(taking(-86400), range(8))) == 1


def test_servers_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.sqlite3'}"
    stores = [Store(url) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda store: store.migrate(), stores))
    compare_with_declaration(stores[0].engine)
    assert stores[0].is_ready()
    for store in stores:
        store.close()


def test_a_migration_that_breaks_off_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'broken.sqlite3'}")
    execute, statements = op.execute, count(-50)
    with monkeypatch.context() as patched:
        patched.setattr("alembic.op.execute", lambda statement: execute(statement) or 1 / next(statements))
        with pytest.raises(ZeroDivisionError):
            upgrade(engine)
    assert inspect(engine).get_table_names() == []
    upgrade(engine)
    compare_with_declaration(engine)
    engine.dispose()
