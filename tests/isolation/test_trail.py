"""The audit trail: complete, append-only, narrowed, exported, for owners alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from fastapi import FastAPI
from sqlalchemy.exc import DatabaseError

from app.platform.store.database import Store
from app.platform.store.tables import AuditEvent, EstimateRow, WorkloadSample
from app.platform.store.trail import Actor, ForeignRow, TrailFilter, acting, criteria
from tests.conftest import problem_of, run
from tests.isolation.tenants import ONE, TWO, BearerKind, tenants
from tests.support.postgres import PostgresCluster

BASE = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}

FIGURE = {"key": "a", "label": "Reported", "figure": {"hours": 3.5, "kind": "vendor"}}

STUDY = {"name": "Seoul", "base": BASE, "options": [FIGURE]}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with two workspaces and an event in the first, on each database."""
    server: PostgresCluster | None = None
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres")
    made = Store(f"sqlite:///{tmp_path / 'trail.sqlite3'}" if server is None else server.make())
    made.migrate()
    for workspace in (ONE, TWO):
        with made.transaction(workspace) as repository:
            repository.ensure_workspace(workspace)
    actor = Actor("person", "acc_a", "Minji Kim", "192.0.2.7", "req-1")
    with acting(actor), made.transaction(ONE) as repository:
        repository.add(EstimateRow(id="est_a", label="First", request={}, document={}))
    yield made
    made.close()
    if server is not None:
        server.drop(made.engine.url.render_as_string(hide_password=False))


def events(store: Store, workspace: str = ONE) -> list[AuditEvent]:
    """Return the trail of a workspace, the latest first."""
    with store.transaction(workspace) as repository:
        return list(repository.trail.listing(TrailFilter(), 100, None)[0])


def test_a_change_is_written_with_who_made_it(store: Store) -> None:
    [event] = events(store)
    assert (event.action, event.object_kind, event.object_id) == ("estimate.created", "estimate", "est_a")
    assert (event.actor_kind, event.actor_id, event.actor_name) == ("person", "acc_a", "Minji Kim")
    assert (event.address, event.request_id) == ("192.0.2.7", "req-1")
    assert event.detail == {"name": "First"}
    assert events(store, TWO) == []


def test_what_is_taken_back_was_never_done(store: Store) -> None:
    with pytest.raises(RuntimeError), store.transaction(ONE) as repository:
        repository.add(EstimateRow(id="est_b", label="Second", request={}, document={}))
        raise RuntimeError
    assert len(events(store)) == 1


@pytest.mark.parametrize("verb", ["UPDATE audit_event SET action = 'x'", "DELETE FROM audit_event"])
def test_the_database_refuses_to_change_or_drop_an_event(store: Store, verb: str) -> None:
    with pytest.raises(DatabaseError, match="only grows"), store.engine.begin() as connection:
        connection.execute(sa.text(verb))
    assert len(events(store)) == 1


def test_postgresql_refuses_to_empty_the_table(store: Store) -> None:
    if store.engine.dialect.name == "postgresql":
        with pytest.raises(DatabaseError, match="only grows"), store.engine.begin() as connection:
            connection.execute(sa.text("TRUNCATE audit_event"))
    assert len(events(store)) == 1


def test_statements_are_noted_too(store: Store) -> None:
    with acting(Actor("key", "key_a")), store.transaction(ONE) as repository:
        repository.uploads.delete_sample("wkl_missing")
    assert len(events(store)) == 1, "nothing was there to be deleted"
    with store.transaction(ONE) as repository:
        repository.add(WorkloadSample(id="wkl_a", name="sample", document={}))
    with acting(Actor("key", "key_a")), store.transaction(ONE) as repository:
        repository.uploads.delete_sample("wkl_a")
    latest = events(store)[0]
    assert (latest.action, latest.object_id, latest.actor_kind) == ("workload.deleted", "wkl_a", "key")


def test_a_transaction_writes_nothing_of_another_workspace(store: Store) -> None:
    with store.transaction(ONE) as repository:
        row = repository.get(EstimateRow, "est_a")
    assert row is not None
    with pytest.raises(ForeignRow), store.transaction(TWO) as repository:
        row.label = "taken"
        repository._session.add(row)


def test_what_rows_must_be_is_read_from_a_statement() -> None:
    table = AuditEvent.__table__  # type: ignore[attr-defined]
    statement = sa.delete(table).where(table.c.workspace_id == ONE, table.c.id == "a", table.c.action != "b")
    assert criteria(statement) == {"workspace_id": ONE, "id": "a"}
    assert criteria(sa.delete(table)) == {}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """A server on which both have made a study."""
    made = tenants(tmp_path_factory.mktemp("trail"))

    async def fill() -> None:
        ask = BearerKind(made)
        study = (
            await ask("one", "POST", "/api/v1/studies", json={**STUDY, "name": "=cmd|' /C calc'!A0"})
        ).json()
        await ask("one", "PATCH", f"/api/v1/studies/{study['id']}", json={"name": "Seoul, again"})
        await ask("one", "POST", f"/api/v1/studies/{study['id']}/archive")
        await ask("two", "POST", "/api/v1/studies", json={**STUDY, "name": "Two's own"})
        await ask.client.aclose()

    run(fill())
    return made


def got(app: FastAPI, who: str, path: str, **params: Any) -> httpx.Response:
    """Return an answer."""

    async def send() -> httpx.Response:
        ask = BearerKind(app)
        answer = await ask(who, "GET", path, params=params, page=not path.startswith("/api/"))
        await ask.client.aclose()
        return answer

    return run(send())


def test_the_list_says_what_was_done_newest_first(app: FastAPI) -> None:
    items = got(app, "one", "/api/v1/audit-events").json()["items"]
    assert [one["action"] for one in items] == ["study.archived", "study.changed", "study.created"]
    assert {one["actor"]["name"] for one in items} == {"First"}
    assert {one["request_id"] for one in items} == {"the-walk"}
    assert items[1]["detail"] == {"name": "Seoul, again", "version": 2}


def test_the_list_is_narrowed_and_goes_on(app: FastAPI) -> None:
    first = got(app, "one", "/api/v1/audit-events", limit=2).json()
    rest = got(app, "one", "/api/v1/audit-events", limit=2, cursor=first["next"]).json()
    assert [len(first["items"]), len(rest["items"]), rest["next"]] == [2, 1, None]
    only = got(app, "one", "/api/v1/audit-events", action="study.changed").json()["items"]
    assert [one["action"] for one in only] == ["study.changed"]
    assert got(app, "one", "/api/v1/audit-events", until="2020-01-01T00:00:00Z").json()["items"] == []
    assert len(got(app, "one", "/api/v1/audit-events", since="2020-01-01T00:00:00Z").json()["items"]) == 3
    refusal = got(app, "one", "/api/v1/audit-events", since="2020-01-01T00:00:00")
    assert problem_of(refusal) == (400, "bad_input", "since")
    for number in ("1577836800", "-1.2e-99"):
        refusal = got(app, "one", "/api/v1/audit-events", since=number)
        assert problem_of(refusal) == (422, "wrong_type", "since")
    refusal = got(app, "one", "/api/v1/audit-events", cursor="nonsense")
    assert problem_of(refusal) == (400, "bad_input", "cursor")


@pytest.mark.parametrize("path", ["/audit.csv", "/api/v1/audit-events.csv"])
def test_the_export_is_no_formula(app: FastAPI, path: str) -> None:
    rows = list(csv.DictReader(io.StringIO(got(app, "one", path).text)))
    assert [row["action"] for row in rows] == ["study.archived", "study.changed", "study.created"]
    for row in rows:
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row.values())
    assert "cmd|" in rows[2]["detail"]


def test_the_lines_of_the_export_are_the_events_of_the_list(app: FastAPI) -> None:
    answer = got(app, "one", "/api/v1/audit-events.jsonl", since="2020-01-01T00:00:00Z")
    assert answer.headers["content-type"].startswith("application/jsonl")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines == got(app, "one", "/api/v1/audit-events").json()["items"] != []
    assert got(app, "one", "/api/v1/audit-events.jsonl", until="2020-01-01T00:00:00Z").text == ""


@pytest.mark.parametrize("path", [f"/api/v1/audit-events{end}" for end in ("", ".csv", ".jsonl")])
@pytest.mark.parametrize(
    ("field", "moment"), [("since", "0001-01-01T00:00:00+14:00"), ("until", "9999-12-31T23:59:59-14:00")]
)
def test_a_moment_beyond_the_calendar_is_refused_by_field(
    app: FastAPI, path: str, field: str, moment: str
) -> None:
    answer = got(app, "one", path, **{field: moment})
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_page_and_data_agree(app: FastAPI) -> None:
    page = BeautifulSoup(got(app, "one", "/audit").text, "lxml")
    data = got(app, "one", "/audit.json").json()["items"]
    shown = [row.select_one("code").text for row in page.select("#trail tbody tr")]  # type: ignore[union-attr]
    assert shown == [one["object"]["id"] for one in data]
    assert got(app, "one", "/audit", since="yesterday").status_code == 400
    narrowed = BeautifulSoup(got(app, "one", "/audit", actor="key").text, "lxml")
    assert narrowed.select("#trail") == []
