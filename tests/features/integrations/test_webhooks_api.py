"""Webhooks over the API, and that every POST that stores honours a key for repeated requests."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from app.features.studies.model import StudyContent
from app.features.studies.service import create_study
from app.platform import idempotency
from app.platform.outgoing import HttpSender
from app.platform.store.queries import now
from app.platform.web.examples import FLEET_PLAN, HEAD_TO_HEAD, SIZING, STUDY
from app.platform.workspace import LOCAL_WORKSPACE
from tests.conftest import problem_of
from tests.support.application import Ask
from tests.support.described import resolved
from tests.support.receiving import Pen, deliver_due

URL = "https://crm.example.com/hooks/unmistakable-token"

REPEATABLE = {
    "archive_study",
    "cancel_sweep",
    "freeze_proposal",
    "resend_delivery",
    "restore_study",
    "resume_sweep",
}
"""POSTs that store and change nothing when they are repeated."""

ARITHMETIC = {
    "answer_study",
    "check_plan",
    "choose_fabric",
    "find_break_even",
    "map_model",
    "plan_fabric",
    "plan_partitions",
    "recognise_file",
    "run_search",
    "scale_system",
    "serve_model",
    "simulate_queue",
}
"""POSTs that store nothing."""


@pytest.fixture
def pen(application: FastAPI) -> Iterator[Pen]:
    """What would be sent, in place of sending it."""
    installation, found = application.state.installation, Pen()
    before, installation.sender = installation.sender, found
    yield found
    installation.sender = before


def made(ask: Ask, **values: Any) -> dict[str, Any]:
    response = ask("POST", "/api/v1/webhooks", json={"url": URL, **values})
    assert response.status_code == 201, response.text
    return dict(response.json())


def test_a_webhook_is_made_read_changed_and_removed(ask: Ask) -> None:
    found = made(ask, events=["proposal.opened", "proposal.opened"])
    address = f"/api/v1/webhooks/{found['id']}"
    assert found["secret"].startswith("whsec_") and len(base64.b64decode(found["secret"][6:])) == 32
    assert (found["name"], found["events"]) == ("crm.example.com", ["proposal.opened"])
    read = ask("GET", address).json()
    assert read == {name: value for name, value in found.items() if name != "secret"}
    assert found["id"] in [one["id"] for one in ask("GET", "/api/v1/webhooks").json()["items"]]
    body = {
        "url": "https://other.example.com/",
        "events": ["proposal.frozen"],
        "name": "CRM",
        "active": False,
    }
    changed = ask("PATCH", address, json=body).json()
    assert {name: changed[name] for name in body} == body
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "url"),
        ({"url": "http://crm.example.com/"}, 400, "url"),
        ({"url": "https://127.0.0.1/"}, 400, "url"),
        ({"url": "https://[::ffff:10.1.2.3]/"}, 400, "url"),
        ({"url": "https://localhost:8000/"}, 400, "url"),
        ({"url": "https://a@b.example/"}, 400, "url"),
        ({"url": "x" * 501}, 400, "url"),
        ({"url": "https://xn--a/x"}, 400, "url"),
        ({"url": URL, "events": []}, 400, "events"),
        ({"url": URL, "events": ["proposal.eaten"]}, 422, "events[0]"),
        ({"url": URL, "name": "a\u0007"}, 400, "name"),
        ({"url": URL, "secret": "mine"}, 422, "secret"),
    ],
)
def test_what_cannot_be_is_refused_by_field(ask: Ask, body: dict[str, Any], status: int, field: str) -> None:
    response = ask("POST", "/api/v1/webhooks", json=body)
    assert response.status_code == status, response.text
    assert [error["field"] for error in response.json()["errors"]] == [field]
    if "url" in body and status == 400 and field == "url":
        kept = made(ask)
        assert ask("PATCH", f"/api/v1/webhooks/{kept['id']}", json=body).status_code == 400
        ask("DELETE", f"/api/v1/webhooks/{kept['id']}")


def test_a_test_stands_in_the_log_and_can_be_sent_again(ask: Ask) -> None:
    found = made(ask)
    address = f"/api/v1/webhooks/{found['id']}"
    sent = ask("POST", f"{address}/test")
    assert sent.status_code == 202
    assert sent.json()["event"] == "webhook.test"
    log = ask("GET", f"{address}/deliveries").json()
    assert [one["id"] for one in log["items"]] == [sent.json()["id"]]
    assert ask("POST", f"{address}/deliveries/{sent.json()['id']}/resend").json()["status"] == "waiting"
    assert ask("POST", f"{address}/deliveries/msg_none/resend").status_code == 404
    ask("PATCH", address, json={"active": False})
    assert problem_of(ask("POST", f"{address}/test")) == (409, "conflict", "active")
    assert ask("GET", f"{address}/deliveries").json()["items"][0]["status"] == "dropped"


def test_a_repeated_request_makes_one_webhook_and_does_not_repeat_the_secret(ask: Ask) -> None:
    headers = {"Idempotency-Key": "hook-1"}
    for path, body in (("", {"url": URL}), ("/{id}/rotate", {})):
        address = "/api/v1/webhooks" + path.replace("{id}", made(ask)["id"])
        first, again = (ask("POST", address, json=body, headers=headers).json() for _ in range(2))
        assert first["secret"] and again == {**first, "secret": None}


def test_a_frozen_shared_and_opened_proposal_is_told(ask: Ask, application: FastAPI, pen: Pen) -> None:
    for one in ask("GET", "/api/v1/webhooks?limit=200").json()["items"]:
        ask("DELETE", f"/api/v1/webhooks/{one['id']}")
    made(ask)
    comparison = ask("POST", "/api/v1/comparisons", json=HEAD_TO_HEAD).json()["id"]
    body = {"comparison_id": comparison, "customer": "unmistakable customer"}
    address = f"/api/v1/proposals/{ask('POST', '/api/v1/proposals', json=body).json()['id']}"
    ask("POST", f"{address}/freeze")
    token = ask("POST", f"{address}/share", json={}).json()["token"]
    ask("GET", f"/s/{token}")
    deliver_due(application.state.installation, now(), pen)
    told = [message.decode() for _, _, message in pen.sent]
    assert [one.split('"')[3] for one in told] == ["proposal.frozen", "proposal.shared", "proposal.opened"]
    for message in told:
        assert token not in message and "unmistakable customer" not in message


def test_no_secret_of_a_webhook_is_written_anywhere(
    ask: Ask, application: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        found = made(ask)
        new = ask("POST", f"/api/v1/webhooks/{found['id']}/rotate", json={}).json()
        listed = ask("GET", "/api/v1/webhooks").text + ask("GET", f"/api/v1/webhooks/{found['id']}").text
    database = Path(application.state.installation.store.engine.url.database)
    stored = b"".join(path.read_bytes() for path in database.parent.iterdir() if path.is_file())
    for secret in (found["secret"], new["secret"]):
        bare = secret.removeprefix("whsec_")
        assert bare not in caplog.text + listed
        assert bare.encode() not in stored and base64.b64decode(bare) not in stored


def test_every_post_honours_a_key_or_changes_nothing_when_repeated(ask: Ask) -> None:
    openapi = resolved(ask("GET", "/api/v1/openapi.json").json())
    without = {
        operations["post"]["operationId"]
        for operations in openapi["paths"].values()
        if "post" in operations
        and "Idempotency-Key" not in {one["name"] for one in operations["post"].get("parameters", [])}
    }
    assert without == REPEATABLE | ARITHMETIC


def test_a_comparison_of_a_study_is_the_same_when_asked_again_after_the_study_changed(ask: Ask) -> None:
    study = ask("POST", "/api/v1/studies", json=STUDY).json()["id"]
    headers = {"Idempotency-Key": "state-1"}
    address = f"/api/v1/studies/{study}/comparison"
    first = ask("POST", address, json={"title": "x"}, headers=headers)
    assert first.status_code == 201
    assert ask("PATCH", f"/api/v1/studies/{study}", json={"knobs": {"count.a": 4}}).status_code == 200
    assert ask("POST", address, json={"title": "x"}, headers=headers).json() == first.json()
    refusal = ask("POST", address, json={"title": "y"}, headers=headers)
    assert problem_of(refusal) == (409, "conflict", "Idempotency-Key")


def test_a_replay_is_noted_once_for_a_key(ask: Ask) -> None:
    comparison = ask("POST", "/api/v1/comparisons", json=HEAD_TO_HEAD).json()["id"]
    body = {"comparison_id": comparison, "customer": "c"}
    address = f"/api/v1/proposals/{ask('POST', '/api/v1/proposals', json=body).json()['id']}"
    headers = {"Idempotency-Key": "replay-1"}
    first, again = (ask("POST", f"{address}/replay", headers=headers).json() for _ in range(2))
    assert first == again
    kinds = [event["kind"] for event in ask("GET", f"{address}/events").json()["items"]]
    assert kinds == ["created", "replayed"]


def test_a_key_for_repeated_requests_is_free_after_a_day(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"Idempotency-Key": "day-1"}
    first = ask("POST", "/api/v1/keys", json={"name": "one"}, headers=headers).json()
    almost = now() + idempotency.KEPT - timedelta(minutes=1)
    monkeypatch.setattr(idempotency, "now", lambda: almost)
    refusal = ask("POST", "/api/v1/keys", json={"name": "two"}, headers=headers)
    assert problem_of(refusal) == (409, "conflict", "Idempotency-Key")
    after = now() + idempotency.KEPT + timedelta(seconds=1)
    monkeypatch.setattr(idempotency, "now", lambda: after)
    other = ask("POST", "/api/v1/keys", json={"name": "two"}, headers=headers)
    assert other.status_code == 201 and other.json()["id"] != first["id"]


LISTS = ("estimates", "comparisons", "sizings", "sweeps", "calibrations", "price-books", "boms", "studies")

CURSORS = (
    "",
    "x",
    "é",
    "1",
    base64.urlsafe_b64encode(b"2026-11-21T00:00:00 est_a").decode(),
    base64.urlsafe_b64encode(b"0001-01-01T00:00:00+14:00 est_a").decode(),
    base64.urlsafe_b64encode(b"9999-12-31T23:59:59-14:00 est_a").decode(),
    base64.urlsafe_b64encode(b"2026-11-21T00:00:00+00:00 a\x00b").decode(),
    base64.urlsafe_b64encode("2026-11-21T00:00:00+00:00 ü".encode()).decode(),
    base64.urlsafe_b64encode(b"2026-11-21T00:00:00+00:00 ' OR 1=1").decode(),
)


@pytest.mark.parametrize("path", [*LISTS, "profiles", "workloads", "proposals", "keys", "webhooks"])
def test_no_list_takes_a_cursor_that_it_did_not_give(ask: Ask, path: str) -> None:
    for cursor in CURSORS:
        response = ask("GET", f"/api/v1/{path}", params={"cursor": cursor})
        assert problem_of(response) == (400, "bad_input", "cursor"), (cursor, response.text)
        assert [error["field"] for error in response.json()["errors"]] == ["cursor"]
    for limit in (0, 201, -1):
        refusal = ask("GET", f"/api/v1/{path}", params={"limit": limit})
        assert problem_of(refusal) == (400, "out_of_range", "limit")


def test_a_list_neither_repeats_nor_leaves_out_while_it_grows(ask: Ask) -> None:
    before = [ask("POST", "/api/v1/keys", json={"name": f"listed {n}"}).json()["id"] for n in range(5)]
    seen: list[str] = []
    cursor = None
    while not set(before) <= set(seen):
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = ask("GET", "/api/v1/keys", params=params).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next"]
        ask("POST", "/api/v1/keys", json={"name": "came in between"})
    assert len(seen) == len(set(seen))
    assert [one for one in seen if one in before] == before[::-1]


def test_studies_sizings_and_sweeps_tell_what_becomes_of_them(
    ask: Ask, application: FastAPI, pen: Pen
) -> None:
    hook = made(ask, events=["*"])
    sizing = ask("POST", "/api/v1/sizings", json=SIZING).json()["id"]
    study = ask("POST", "/api/v1/studies", json=STUDY).json()["id"]
    ask("PATCH", f"/api/v1/studies/{study}", json={"notes": "Secret words"})
    ask("POST", f"/api/v1/studies/{study}/archive")
    ask("DELETE", f"/api/v1/studies/{study}")
    sweep = ask("POST", "/api/v1/sweeps", json=FLEET_PLAN).json()["id"]
    ask("POST", f"/api/v1/sweeps/{sweep}/cancel")
    deliver_due(application.state.installation, now() + timedelta(minutes=1), pen)
    log = ask("GET", f"/api/v1/webhooks/{hook['id']}/deliveries?limit=200").json()["items"]
    told = {one["event"]: json.loads(one["body"])["data"] for one in log}
    for event, data in {
        "sizing.created": {"sizing_id": sizing, "detail": {}},
        "study.created": {"study_id": study, "detail": {}},
        "study.changed": {"study_id": study, "detail": {}},
        "study.archived": {"study_id": study, "detail": {}},
        "study.deleted": {"study_id": study, "detail": {}},
        "sweep.created": {"sweep_id": sweep, "detail": {}},
        "sweep.cancelled": {"sweep_id": sweep, "detail": {}},
    }.items():
        assert told[event] == data, event
    ask("DELETE", f"/api/v1/webhooks/{hook['id']}")


def test_answers_that_are_only_looked_at_tell_nothing(ask: Ask, application: FastAPI) -> None:
    hook = made(ask, events=["study.created", "study.saved"])
    installation = application.state.installation
    kept = create_study(
        installation.workspace(LOCAL_WORKSPACE), StudyContent.model_validate(STUDY), saved=False
    )
    path = f"/api/v1/webhooks/{hook['id']}/deliveries"
    assert ask("GET", path).json()["items"] == []
    with installation.workspace(LOCAL_WORKSPACE).transaction() as repository:
        repository.studies.save(kept.id)
    assert [one["event"] for one in ask("GET", path).json()["items"]] == ["study.saved"]
    ask("DELETE", f"/api/v1/webhooks/{hook['id']}")


def test_a_host_inside_is_for_those_who_allow_it(ask: Ask, application: FastAPI) -> None:
    refused = ask("POST", "/api/v1/webhooks", json={"url": "https://crm.corp.internal/in"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "url")
    assert "RACKLINE_WEBHOOK_HOSTS" in refused.json()["detail"]
    installation = application.state.installation
    before, installation.sender = installation.sender, HttpSender.of(["crm.corp.internal", "10.1.0.0/16"])
    try:
        for url, status in (
            ("https://crm.corp.internal/in", 201),
            ("https://10.1.2.3/in", 201),
            ("https://10.2.2.3/in", 400),
            ("http://crm.corp.internal/in", 400),
            ("https://169.254.169.254/latest", 400),
        ):
            answer = ask("POST", "/api/v1/webhooks", json={"url": url})
            assert answer.status_code == status, url
            if status == 201:
                ask("DELETE", answer.headers["location"])
    finally:
        installation.sender = before
