"""Keys of the API: told once, scoped, ended, replaced; and nothing of a secret anywhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from app.features.integrations import keys
from app.platform.admission import Credentials, Role, Scope
from app.platform.rates import ClientKind, CostClass
from app.platform.store.queries import now
from app.platform.web.examples import CHECK
from app.platform.web.requirements import cost_of
from tests.conftest import problem_of
from tests.support.application import Ask, allowed


def made(ask: Ask, **values: Any) -> dict[str, Any]:
    response = ask("POST", "/api/v1/keys", json={"name": "CRM", **values})
    assert response.status_code == 201, response.text
    return dict(response.json())


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_a_key_has_its_form_and_is_told_once(ask: Ask) -> None:
    found = made(ask, scopes=["read", "estimate"])
    assert keys.FORM.fullmatch(found["secret"])
    assert found["secret"].startswith(found["prefix"] + "_")
    assert found["scopes"] == ["estimate", "read"]
    assert found["status"] == "active"
    read = ask("GET", f"/api/v1/keys/{found['id']}")
    assert "secret" not in read.json()
    assert found["secret"] not in read.text + ask("GET", "/api/v1/keys").text


def test_a_key_works_and_its_use_is_noted_once_a_minute(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(ask)
    assert found["last_used_at"] is None

    def last_used() -> str:
        assert ask("GET", "/api/v1/estimates", headers=bearer(found["secret"])).status_code == 200
        return str(ask("GET", f"/api/v1/keys/{found['id']}").json()["last_used_at"])

    first = last_used()
    assert first != "None"
    assert last_used() == first
    later = now() + timedelta(seconds=61)
    monkeypatch.setattr(keys, "now", lambda: later)
    assert last_used() > first


def test_a_key_stands_for_its_workspace_with_its_scopes_and_never_for_an_owner(
    ask: Ask, application: FastAPI
) -> None:
    for scopes, role in ((["read"], Role.VIEWER), (["read", "propose"], Role.CONSULTANT)):
        found = made(ask, name="Robot", scopes=scopes)
        principal = application.state.admission.principal(Credentials(bearer=found["secret"]))
        assert principal.workspace_id == "ws_local"
        assert principal.key_id == found["id"]
        assert principal.name == "Robot"
        assert principal.role == role
        assert principal.scopes == {Scope(one) for one in scopes}


@pytest.mark.parametrize(
    "key",
    [
        "",
        "x",
        "rk_",
        "rk_abcdefgh",
        f"rk_abcdefgh_{'A' * 43}",
        f"rk_abcdefgh_{'A' * 4000}",
        "é",
        "rk_ABCDEFGH_",
    ],
)
def test_what_is_no_key_is_refused_even_on_a_server_without_accounts(ask: Ask, key: str) -> None:
    for path in ("/api/v1/estimates", "/api/v1/catalog/chips"):
        response = ask("GET", path, headers={b"authorization": f"Bearer {key}".encode()})
        assert response.status_code == 401, path
        assert response.headers["content-type"] == "application/problem+json"
        assert key not in response.json()["detail"] or len(key) < 2


def test_another_secret_behind_the_right_beginning_is_refused(ask: Ask) -> None:
    found = made(ask)
    other = found["secret"][:-1] + ("A" if found["secret"][-1] != "A" else "B")
    assert ask("GET", "/api/v1/estimates", headers=bearer(other)).status_code == 401


def test_a_revoked_key_stops_at_once_and_stays_listed(ask: Ask) -> None:
    found = made(ask)
    assert ask("DELETE", f"/api/v1/keys/{found['id']}").status_code == 204
    assert ask("DELETE", f"/api/v1/keys/{found['id']}").status_code == 204
    assert ask("GET", "/api/v1/estimates", headers=bearer(found["secret"])).status_code == 401
    assert ask("GET", f"/api/v1/keys/{found['id']}").json()["status"] == "revoked"
    assert problem_of(ask("POST", f"/api/v1/keys/{found['id']}/rotate", json={})) == (409, "conflict", "id")


def test_a_key_ends_with_its_time(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    short, lasting = made(ask, expires_in_days=1), made(ask, expires_in_days=None)
    assert lasting["expires_at"] is None
    later = now() + timedelta(days=1, seconds=1)
    monkeypatch.setattr(keys, "now", lambda: later)
    assert ask("GET", "/api/v1/estimates", headers=bearer(short["secret"])).status_code == 401
    assert ask("GET", "/api/v1/estimates", headers=bearer(lasting["secret"])).status_code == 200
    assert ask("GET", f"/api/v1/keys/{short['id']}").json()["status"] == "expired"


def test_both_keys_work_until_the_grace_is_over(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    old = made(ask, scopes=["propose", "read"], expires_in_days=10)
    answer = ask("POST", f"/api/v1/keys/{old['id']}/rotate", json={"grace_hours": 2})
    assert answer.status_code == 201
    new = answer.json()
    assert (new["name"], new["scopes"]) == (old["name"], old["scopes"])
    assert new["expires_at"] >= old["expires_at"]
    before = ask("GET", f"/api/v1/keys/{old['id']}").json()
    assert (before["status"], before["successor_id"]) == ("replaced", new["id"])
    for key in (old, new):
        assert ask("GET", "/api/v1/estimates", headers=bearer(key["secret"])).status_code == 200
    assert problem_of(ask("POST", f"/api/v1/keys/{old['id']}/rotate", json={})) == (409, "conflict", "id")
    later = now() + timedelta(hours=2, seconds=1)
    monkeypatch.setattr(keys, "now", lambda: later)
    assert ask("GET", "/api/v1/estimates", headers=bearer(old["secret"])).status_code == 401
    assert ask("GET", "/api/v1/estimates", headers=bearer(new["secret"])).status_code == 200


def test_without_grace_the_old_key_stops_at_once(ask: Ask) -> None:
    old = made(ask)
    assert ask("POST", f"/api/v1/keys/{old['id']}/rotate", json={"grace_hours": 0}).status_code == 201
    assert ask("GET", "/api/v1/estimates", headers=bearer(old["secret"])).status_code == 401


def test_a_repeated_request_makes_one_key_and_does_not_repeat_the_secret(ask: Ask) -> None:
    headers = {"Idempotency-Key": "key-1"}
    first, again = (
        ask("POST", "/api/v1/keys", json={"name": "once"}, headers=headers).json() for _ in range(2)
    )
    assert first["secret"] and again == {**first, "secret": None}
    address = f"/api/v1/keys/{first['id']}/rotate"
    first, again = (ask("POST", address, json={}, headers=headers).json() for _ in range(2))
    assert first["secret"] and again == {**first, "secret": None}


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "name"),
        ({"name": ""}, 400, "name"),
        ({"name": " "}, 400, "name"),
        ({"name": "a\u0007b"}, 400, "name"),
        ({"name": "x" * 101}, 400, "name"),
        ({"name": "x", "scopes": []}, 400, "scopes"),
        ({"name": "x", "scopes": ["everything"]}, 422, "scopes[0]"),
        ({"name": "x", "expires_in_days": 0}, 400, "expires_in_days"),
        ({"name": "x", "expires_in_days": 10**6}, 400, "expires_in_days"),
        ({"name": "x", "workspace_id": "ws_other"}, 422, "workspace_id"),
    ],
)
def test_what_cannot_be_is_refused_by_field(ask: Ask, body: dict[str, Any], status: int, field: str) -> None:
    response = ask("POST", "/api/v1/keys", json=body)
    assert response.status_code == status, response.text
    assert [error["field"] for error in response.json()["errors"]] == [field]


def test_no_secret_is_written_anywhere(
    ask: Ask, application: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        found = made(ask)
        new = ask("POST", f"/api/v1/keys/{found['id']}/rotate", json={}).json()
        for key in (found, new):
            ask("GET", "/api/v1/estimates", headers=bearer(key["secret"]))
            ask("GET", "/api/v1/estimates", headers=bearer(key["secret"] + "x"))
    database = Path(application.state.installation.store.engine.url.database)
    stored = b"".join(path.read_bytes() for path in database.parent.iterdir() if path.is_file())
    for key in (found, new):
        secret = key["secret"].removeprefix(key["prefix"])
        assert secret not in caplog.text
        assert secret.encode() not in stored
        assert key["prefix"].encode() in stored


def test_a_workspace_has_a_bounded_number_of_keys(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_KEYS", 1)
    made_before = made_or_refused(ask)
    assert made_before == 409


def test_a_successor_needs_room_beside_the_key_it_replaces(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    old = made(ask)
    others = [key for key in ask("GET", "/api/v1/keys?limit=200").json()["items"] if key["id"] != old["id"]]
    for key in others:
        ask("DELETE", f"/api/v1/keys/{key['id']}")
    monkeypatch.setattr(keys, "MOST_KEYS", 2)
    new = ask("POST", f"/api/v1/keys/{old['id']}/rotate", json={"grace_hours": 2})
    assert new.status_code == 201
    address = f"/api/v1/keys/{new.json()['id']}/rotate"
    assert problem_of(ask("POST", address, json={"grace_hours": 2})) == (409, "conflict", "name")
    assert ask("GET", f"/api/v1/keys/{new.json()['id']}").json()["status"] == "active"
    assert ask("POST", address, json={"grace_hours": 0}).status_code == 201


def made_or_refused(ask: Ask) -> int:
    return [ask("POST", "/api/v1/keys", json={"name": "one more"}).status_code for _ in range(2)][-1]


def test_what_is_left_to_a_key_stands_in_every_answer(ask: Ask, application: FastAPI) -> None:
    headers = bearer(made(ask, scopes=["read", "estimate"])["secret"])
    read = ask("GET", "/api/v1/estimates", headers=headers)
    assert read.headers["ratelimit-policy"] == '"read";q=600;w=60'
    assert read.headers["ratelimit"].startswith('"read";r=599;t=')
    missing = ask("GET", "/api/v1/estimates/est_none", headers=headers)
    assert missing.status_code == 404 and missing.headers["ratelimit"].startswith('"read";r=598;')
    searched = ask("POST", "/api/v1/searches", json={}, headers=headers)
    assert searched.headers["ratelimit-policy"] == '"search";q=30;w=60'
    page = ask("GET", "/price-books.json", headers=headers)
    assert page.headers["ratelimit-policy"] == '"estimate";q=120;w=60'
    twin = ask("GET", "/claims/none.json", headers=headers)
    assert twin.headers["ratelimit-policy"] == '"search";q=30;w=60', (
        "the same work costs the same by any door"
    )
    assert "ratelimit" not in ask("GET", "/api/v1/estimates").headers


@pytest.fixture
def few(application: FastAPI) -> Iterator[None]:
    """Hardly anything is granted to a key."""
    with allowed(
        application, {ClientKind.KEY: {CostClass.READ: 3, CostClass.ESTIMATE: 2, CostClass.SEARCH: 1}}
    ):
        yield


@pytest.mark.usefixtures("few")
def test_a_key_that_asks_too_often_waits_and_others_do_not(ask: Ask) -> None:
    first, second = (bearer(made(ask, scopes=["read", "estimate"])["secret"]) for _ in range(2))
    answers = [ask("GET", "/api/v1/catalog/chips", headers=first) for _ in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    refused = answers[-1]
    assert refused.headers["content-type"] == "application/problem+json"
    wait = int(refused.headers["retry-after"])
    assert 0 < wait <= 121
    assert refused.headers["ratelimit"] == f'"read";r=0;t={wait}'
    assert ask("GET", "/api/v1/catalog/chips", headers=second).status_code == 200
    assert ask("POST", "/api/v1/checks", json=CHECK, headers=first).status_code == 200
    assert ask("GET", "/api/v1/catalog/chips").status_code == 200


def test_what_takes_long_is_counted_as_a_search_on_page_and_api(application: FastAPI) -> None:
    costs = {
        f"{method} {context.path}": cost_of(method, str(context.path), context.original_route.endpoint)
        for context in iter_route_contexts(application.routes)
        for method in getattr(context.original_route, "methods", None) or ()
    }
    for address in (
        "POST /api/v1/searches",
        "GET /studies/{identifier}/plan",
        "GET /studies/{identifier}/plan.json",
        "POST /api/v1/sizings",
        "GET /studies/{identifier}/systems",
        "GET /studies/{identifier}/systems/events",
    ):
        assert costs[address] is CostClass.SEARCH, address
    assert costs["GET /api/v1/estimates"] is CostClass.READ
    assert costs["POST /api/v1/estimates"] is costs["GET /index.json"] is CostClass.ESTIMATE


def test_every_endpoint_may_refuse_who_is_unknown_or_too_fast(ask: Ask) -> None:
    paths = ask("GET", "/api/v1/openapi.json").json()["paths"]
    for path, methods in paths.items():
        if path.startswith("/api/"):
            for operation in methods.values():
                assert {"401", "429"} <= operation["responses"].keys(), path
