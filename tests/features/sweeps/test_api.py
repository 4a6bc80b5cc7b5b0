"""Sweeps over the API: asked for, followed, read, downloaded."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import threading
import time
from collections.abc import Iterator

import httpx
import polars
import pytest
from fastapi import FastAPI

from app.platform.web import event_stream
from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from tests.conftest import problem_of, run
from tests.support.application import Ask
from tests.support.jobs import do_all
from tests.support.sweeping import Threads

EVIL = {**PRICE_BOOK, "models": [{**PRICE_BOOK["models"][0], "label": "=HYPERLINK(1)"}]}


@pytest.fixture(scope="module")
def swept(ask: Ask, application: FastAPI) -> str:
    """Address of a complete sweep with a point that is refused."""
    body = {**EVIL, "systems": [*EVIL["systems"], {"id": "nosuch"}]}
    made = ask("POST", "/api/v1/sweeps", json=body)
    assert made.status_code == 201 and made.json()["status"] == "queued"
    compute(application)
    return f"/api/v1/sweeps/{made.json()['id']}"


def compute(application: FastAPI) -> None:
    """Compute every sweep that waits, as the background of the server would."""
    do_all(application.state.installation, Threads)


def test_rows_come_in_stretches_narrowed_and_sorted(ask: Ask, swept: str) -> None:
    whole = ask("GET", swept, params={"limit": 200}).json()
    assert (whole["status"], whole["total"], whole["matching"], whole["next"]) == ("done", 10, 10, None)
    assert whole["sizes"] == {"model": 1, "system": 5, "price": 2, "scenario": 0}
    assert whole["labels"]["system"] == ["DGX A100", "IPU-POD", "nosuch"]
    assert whole["refused"] == 2
    seen, cursor = [], None
    while True:
        params = {"limit": 4, "order": "time_to_train"} | ({"cursor": cursor} if cursor else {})
        stretch = ask("GET", swept, params=params).json()
        seen += stretch["rows"]
        cursor = stretch["next"]
        if cursor is None:
            break
    times = [row["time_to_train"] for row in seen]
    assert len(seen) == 10 and times[:8] == sorted(times[:8]) and times[8:] == [None, None]
    ipu = ask("GET", swept, params={"system": "IPU-POD", "price": "Our discount"}).json()
    assert [(row["system"], row["price"]) for row in ipu["rows"]] == [("IPU-POD", "Our discount")]


def test_a_refused_point_says_why(ask: Ask, swept: str) -> None:
    rows = ask("GET", swept, params={"system": "nosuch"}).json()["rows"]
    assert [row["problem"]["field"] for row in rows] == ["system.id", "system.id"]
    assert "nosuch" in rows[0]["problem"]["message"]


def test_csv_has_every_row_and_no_formula(ask: Ask, swept: str) -> None:
    response = ask("GET", f"{swept}.csv")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"].endswith('.csv"')
    rows = list(csv.DictReader(io.StringIO(response.text)))
    documents = ask("GET", swept, params={"limit": 200}).json()["rows"]
    assert [int(row["position"]) for row in rows] == list(range(10))
    assert {row["model"] for row in rows} == {"'=HYPERLINK(1)"}
    for row, document in zip(rows, documents, strict=True):
        if document["time_to_train"] is None:
            assert row["time_to_train"] == ""
        else:
            assert float(row["time_to_train"]) == document["time_to_train"]


def test_parquet_says_the_same(ask: Ask, swept: str) -> None:
    frame = polars.read_parquet(io.BytesIO(ask("GET", f"{swept}.parquet").content))
    documents = ask("GET", swept, params={"limit": 200}).json()["rows"]
    for name in ("position", "model", "cost", "cost_low", "global_batch", "fits"):
        assert frame[name].to_list() == [row[name] for row in documents]
    assert frame["problem_field"].drop_nulls().to_list() == ["system.id"] * 2


def events(text: str) -> list[tuple[str, str]]:
    """Return names and data of events."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event", ""), fields["data"]))
    return found


@pytest.mark.parametrize("kind", ["sweeps", "jobs"])
def test_events_end_with_the_sweep(ask: Ask, swept: str, kind: str) -> None:
    address = f"{swept}/events" if kind == "sweeps" else swept.replace("sweeps", "jobs")
    response = ask("GET", address, headers={"accept": "text/event-stream"})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert "content-encoding" not in response.headers
    (name, data), last = events(response.text)
    assert name == "progress" and json.loads(data)["done"] == 10
    assert last == ("end", "done")
    again = ask("GET", address, headers={"accept": "text/event-stream", "last-event-id": "end"})
    assert again.status_code == 204


@pytest.fixture
def waiting(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of the events of a sweep that waits, whose streams last a second."""
    monkeypatch.setattr(event_stream, "LONGEST", 1.0)
    made = ask("POST", "/api/v1/sweeps", json=PRICE_BOOK).json()
    yield f"/api/v1/sweeps/{made['id']}/events"
    ask("POST", f"/api/v1/sweeps/{made['id']}/cancel")


def followed(application: FastAPI, address: str, times: int, key: str = "") -> list[httpx.Response]:
    """Return the answers to who follows so many times at once."""
    headers = {"accept": "text/event-stream"} | ({"authorization": f"Bearer {key}"} if key else {})

    async def follow() -> list[httpx.Response]:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.get(address, headers=headers) for _ in range(times)))

    return run(follow())


def test_a_stream_ends_after_its_time_and_can_be_followed_again(application: FastAPI, waiting: str) -> None:
    for _ in range(2):
        (response,) = followed(application, waiting, 1)
        assert [name for name, _ in events(response.text)] == ["progress"]


def test_a_stream_ends_with_its_key(
    ask: Ask, application: FastAPI, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "LONGEST", 30.0)
    monkeypatch.setattr(event_stream, "ADMITTED_SECONDS", 0.2)
    key = ask("POST", "/api/v1/keys", json={"name": "Follows", "scopes": ["read"]}).json()
    revoking = threading.Timer(1.0, lambda: ask("DELETE", f"/api/v1/keys/{key['id']}"))
    revoking.start()
    begun = time.monotonic()
    (response,) = followed(application, waiting, 1, key["secret"])
    assert 0.9 < time.monotonic() - begun < 5.0
    assert [name for name, _ in events(response.text)] == ["progress"]
    assert followed(application, waiting, 1, key["secret"])[0].status_code == 401


def test_nobody_follows_without_end(
    ask: Ask, application: FastAPI, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MOST_ALONE", 3)
    monkeypatch.setattr(event_stream, "MOST_STREAMS", 1)
    key = ask("POST", "/api/v1/keys", json={"name": "Follows", "scopes": ["read"]}).json()["secret"]
    for _ in range(2):
        answers = followed(application, waiting, 4)
        assert sorted(one.status_code for one in answers) == [200, 200, 200, 429]
        refused = next(one for one in answers if one.status_code == 429)
        assert int(refused.headers["retry-after"]) > 0
        assert "3" in refused.json()["detail"]
    assert sorted(one.status_code for one in followed(application, waiting, 2, key)) == [200, 429]


def test_a_job_is_read_as_json(ask: Ask, swept: str) -> None:
    job = ask("GET", swept.replace("sweeps", "jobs")).json()
    assert job == {
        "id": swept.rpartition("/")[2],
        "kind": "sweep",
        "status": "done",
        "total": 10,
        "done": 10,
        "result": swept,
    }
    assert ask("GET", job["result"]).status_code == 200


def test_stopping_and_going_on(ask: Ask, application: FastAPI) -> None:
    made = ask("POST", "/api/v1/sweeps", json=FLEET_PLAN).json()
    address = f"/api/v1/sweeps/{made['id']}"
    assert ask("POST", f"{address}/cancel").json()["status"] == "cancelled"
    assert ask("POST", f"{address}/resume").json()["status"] == "queued"
    compute(application)
    found = ask("GET", address, params={"limit": 200}).json()
    assert (found["status"], found["refused"]) == ("done", 0)
    assert all(row["time_to_train"] for row in found["rows"])
    refused = ask("POST", f"{address}/cancel")
    assert problem_of(refused) == (409, "conflict", "id") and "“done”" in refused.json()["detail"]


@pytest.mark.parametrize("query", ["cursor=0", "cursor=x", "cursor=-1", "order=name", "limit=0"])
def test_wrong_stretches_are_refused(ask: Ask, swept: str, query: str) -> None:
    assert ask("GET", f"{swept}?{query}").status_code in {400, 422}
