"""Sweeps below the web: kept, computed in the background, stopped, taken up again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict, NotFound
from app.features.price_books.model import PriceBookRequest
from app.features.price_books.service import create_book
from app.features.sweeps import service as sweeps
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep
from app.features.sweeps.rows import csv_lines
from app.features.sweeps.run import WorkerFailure, WorkerPool
from app.features.uploads.service import upload_profile, upload_workload
from app.jobs import Jobs
from app.platform.job_running import Watch
from app.platform.store.database import Store
from app.platform.workspace import LOCAL_WORKSPACE, Installation, Workspace
from tests.conftest import sizing_context
from tests.support.jobs import do_next, never
from tests.support.sweeping import BASE, BERT, Threads, wide

OTHER = "ws_other"

CONFIG = b'{"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "vocab_size": 50257}'


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setattr("app.features.sweeps.service.installed_context", sizing_context)
    made = Installation(sizing_context(), Store(f"sqlite:///{tmp_path / 'sweeps.sqlite3'}"))
    made.prepare()
    yield made.workspace(LOCAL_WORKSPACE)
    made.store.close()


def asked(**lists: Any) -> SweepRequest:
    return SweepRequest.model_validate(BASE | lists)


def compute(
    workspace: Workspace, crew: Callable[[], WorkerPool] = Threads, stopping: Callable[[], bool] = never
) -> None:
    """Compute the next sweep that waits."""
    assert do_next(workspace.installation, crew, stopping)


def rows(workspace: Workspace, identifier: str) -> list[int]:
    found = sweeps.get_sweep(workspace, identifier, limit=1000)
    return [row.position for row in found.rows]


def test_a_sweep_is_computed_to_its_end(workspace: Workspace) -> None:
    made = sweeps.create_sweep(workspace, wide(20).request)
    assert (made.status, made.done, made.total) == ("queued", 0, 20)
    compute(workspace)
    found = sweeps.get_sweep(workspace, made.id, limit=5, order="cost")
    assert (found.status, found.done, found.matching, found.refused) == ("done", 20, 20, 0)
    costs = [row.cost for row in found.rows]
    assert found.next is not None and costs == sorted(costs, key=lambda cost: cost or 0)
    assert not do_next(workspace.installation, Threads)


def test_rows_are_the_same_wherever_the_sweep_was_broken_off(workspace: Workspace) -> None:
    made = sweeps.create_sweep(workspace, wide(40).request)
    whole = sweeps.create_sweep(workspace, wide(40).request)
    compute(workspace, stopping=lambda: sweeps.get_state(workspace, made.id).done > 0)
    left = sweeps.get_state(workspace, made.id)
    assert left.status == "queued" and 0 < left.done < 40
    compute(workspace)
    compute(workspace)
    assert rows(workspace, made.id) == rows(workspace, whole.id) == list(range(40))
    texts = [list(csv_lines(sweeps.every_row(workspace, one.id))) for one in (made, whole)]
    assert texts[0] == texts[1]


def test_a_cancelled_sweep_stops_and_goes_on_when_resumed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.platform.job_running.BEAT_SECONDS", 0.01)
    made = sweeps.create_sweep(workspace, wide(80).request)

    def cancelling() -> bool:
        if sweeps.get_state(workspace, made.id).done:
            sweeps.cancel_sweep(workspace, made.id)
        return False

    compute(workspace, stopping=cancelling)
    stopped = sweeps.get_state(workspace, made.id)
    assert stopped.status == "cancelled" and 0 < stopped.done < 80
    assert sweeps.cancel_sweep(workspace, made.id) == stopped
    assert not do_next(workspace.installation, Threads)
    assert sweeps.resume_sweep(workspace, made.id).status == "queued"
    assert sweeps.resume_sweep(workspace, made.id).status == "queued"
    compute(workspace)
    assert rows(workspace, made.id) == list(range(80))
    for change in (sweeps.cancel_sweep, sweeps.resume_sweep):
        with pytest.raises(Conflict, match="“done”"):
            change(workspace, made.id)


def test_workers_that_fail_are_told_and_the_sweep_can_go_on(workspace: Workspace) -> None:
    made = sweeps.create_sweep(workspace, wide(3).request)

    def none() -> WorkerPool:
        raise WorkerFailure("the Dask scheduler tcp://a:1 does not answer")

    compute(workspace, none)
    failed = sweeps.get_state(workspace, made.id)
    assert failed.status == "failed" and failed.message is not None
    assert "does not answer" in failed.message.message
    assert sweeps.resume_sweep(workspace, made.id).message is None
    compute(workspace)
    assert rows(workspace, made.id) == [0, 1, 2]


class Slow(Threads):
    """Workers that take long to be found, as those of a cluster that is asked in vain."""

    def executor(self) -> Executor:
        time.sleep(1.0)
        return super().executor()


def test_who_waits_for_workers_keeps_the_job(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.platform.job_running.BEAT_SECONDS", 0.05)
    monkeypatch.setattr("app.platform.job_running.SILENT_SECONDS", 0.4)
    made = sweeps.create_sweep(workspace, wide(3).request)
    ended = threading.Event()
    watch = Watch(workspace.installation)

    def look() -> None:
        while not ended.wait(0.05):
            watch.look()

    watching = threading.Thread(target=look)
    watching.start()
    compute(workspace, Slow)
    ended.set()
    watching.join()
    assert sweeps.get_state(workspace, made.id).status == "done"


def test_uploads_of_the_workspace_are_sent_along(workspace: Workspace) -> None:
    profile = upload_profile(workspace, "config.json", CONFIG)
    sample = upload_workload(workspace, "a.txt", b"one two three\nfour\n" * 50)
    workload = {"workload_id": sample.id, "samples": 1e6, "global_batch": 256, "seq_len": 128}
    ours = {"label": "ours", "model": {"profile_id": profile.id}, "workload": workload}
    made = sweeps.create_sweep(workspace, asked(models=[ours, BERT]))
    compute(workspace)
    found = sweeps.get_sweep(workspace, made.id, limit=10)
    assert [row.problem for row in found.rows] == [None, None]
    assert found.rows[0].model_id == profile.id
    with pytest.raises(NotFound) as caught:
        sweeps.create_sweep(workspace.installation.workspace(OTHER), asked(models=[ours]))
    assert caught.value.errors[0].field == "models.0.model.profile_id"


def test_price_books_of_the_workspace_are_sent_along(workspace: Workspace) -> None:
    price = {"item": "dgx-a100-640gb", "parameter": "price", "value": 100_000, "unit": "USD"}
    book = create_book(workspace, PriceBookRequest.model_validate({"name": "b", "rows": [price]}))
    ours = {"label": "ours", "price_book_id": book.id}
    apart = {"label": "apart", "by_system": {"dgx-a100-640gb": {"price_book_id": book.id}}}
    made = sweeps.create_sweep(workspace, asked(prices=[{"label": "list"}, ours, apart]))
    compute(workspace)
    found = sweeps.get_sweep(workspace, made.id, limit=10)
    assert [row.problem for row in found.rows] == [None, None, None]
    costs = [row.cost for row in found.rows]
    assert costs[1] == costs[2] != costs[0]
    with pytest.raises(NotFound) as caught:
        sweeps.create_sweep(workspace.installation.workspace(OTHER), asked(prices=[ours]))
    assert caught.value.errors[0].field == "prices.0.price_book_id"


def test_the_background_takes_up_what_is_asked_for(workspace: Workspace) -> None:
    jobs = Jobs(workspace.installation, Threads)
    workspace.installation.wake = jobs.wake
    jobs.start()
    made = [sweeps.create_sweep(workspace, wide(10).request) for _ in range(2)]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if all(sweeps.get_state(workspace, one.id).ended for one in made):
            break
        time.sleep(0.02)
    jobs.stop()
    assert [rows(workspace, one.id) for one in made] == [list(range(10))] * 2


def test_results_are_read_in_stretches(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sweeps.create_sweep(workspace, wide(20).request)
    compute(workspace)
    texts = []
    for batch in (7, 10, 500):
        monkeypatch.setattr("app.features.sweeps.service.BATCH", batch)
        texts.append("".join(csv_lines(sweeps.every_row(workspace, made.id))))
    assert len(set(texts)) == 1 and len(texts[0].splitlines()) == 21


def test_a_sweep_without_a_title_is_called_after_its_lists() -> None:
    lists = {
        "models": [BERT, {"model": {"total_flop": 1e20}}],
        "systems": [{"id": "ipu-pod16", "counts": [1, 2]}],
    }
    assert sweeps.title_of(asked(**lists)) == "bert-large × ipu-pod16"


def test_rows_outlive_the_request_schema_unchanged(workspace: Workspace) -> None:
    """What is stored gives the same points as what was asked, so that a resumed sweep knows its rows."""
    request = asked(prices=[{"label": "a", "by_system": {"dgx-a100-640gb": {"hourly_price": 3}}}])
    kept = SweepRequest.model_validate(request.model_dump(mode="json", exclude_unset=True))
    assert [point.key for point in Sweep.of(kept).points()] == [
        point.key for point in Sweep.of(request).points()
    ]
