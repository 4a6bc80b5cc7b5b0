"""Lists of the API: narrowed by words, moment, customer and model, and ordered."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from app.platform.web.examples import CONFIG, FLEET_PLAN, GPT3, HEAD_TO_HEAD, RESNET, SIZING, STUDY
from tests.support.application import Ask
from tools.description import document


def names(ask: Ask, kind: str, **query: Any) -> list[str]:
    """Return the identifiers of all stretches of a list."""
    found: list[str] = []
    while True:
        answer = ask("GET", f"/api/v1/{kind}", params={"limit": 2, **query})
        assert answer.status_code == 200, answer.text
        found += [one["id"] for one in answer.json()["items"]]
        if answer.json()["next"] is None:
            return found
        query["cursor"] = answer.json()["next"]


def made(ask: Ask, kind: str, body: Any) -> str:
    answer = ask("POST", f"/api/v1/{kind}", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "estimates": (GPT3, "label"),
    "comparisons": (HEAD_TO_HEAD, "title"),
    "studies": (STUDY, "name"),
    "sizings": (SIZING, "label"),
    "sweeps": (FLEET_PLAN, "title"),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_list_is_searched_and_ordered(ask: Ask, kind: str) -> None:
    body, field = CASES[kind]
    word = f"Zebra{kind}"
    first, second, third = (made(ask, kind, {**body, field: f"{word} 서울_{n} 100%"}) for n in "abc")
    assert names(ask, kind, search=f"{word.lower()} 서울_") == [third, second, first]
    assert names(ask, kind, search=word, order="oldest") == [first, second, third]
    assert names(ask, kind, search=f"{word} 서울_B") == [second]
    assert names(ask, kind, search=f"{word} 서울xa") == []
    created = ask("GET", f"/api/v1/{kind}", params={"search": f"{word} 서울_b"}).json()["items"][0]
    assert names(ask, kind, search=word, since=created["created_at"]) == [third, second]


def test_what_was_changed_last_comes_first(ask: Ask) -> None:
    older, newer = (made(ask, "studies", {**STUDY, "name": f"Okapi {n}"}) for n in "ab")
    assert names(ask, "studies", search="okapi", order="updated") == [newer, older]
    ask("PATCH", f"/api/v1/studies/{older}", json={"notes": "Changed"})
    assert names(ask, "studies", search="okapi", order="updated") == [older, newer]
    listed = ask("GET", "/api/v1/studies", params={"search": "okapi", "order": "updated"}).json()["items"]
    changed = listed[0]["updated_at"]
    assert names(ask, "studies", search="okapi", since=changed) == [older]


def test_lists_are_of_a_customer_or_a_model(ask: Ask) -> None:
    theirs = made(ask, "studies", {**STUDY, "customer": "Ibex & Söhne"})
    made(ask, "studies", {**STUDY, "customer": "Ibex"})
    assert names(ask, "studies", customer="Ibex & Söhne") == [theirs]
    assert names(ask, "studies", customer="Ibex & Söhne", model="no-such") == []
    preset = STUDY["base"]["model"]["preset"]
    assert names(ask, "studies", customer="Ibex & Söhne", model=preset) == [theirs]
    comparison = made(ask, "comparisons", HEAD_TO_HEAD)
    draft = made(ask, "proposals", {"comparison_id": comparison, "customer": "Ibex & Söhne"})
    assert names(ask, "proposals", customer="Ibex & Söhne") == [draft]
    resnet = made(ask, "estimates", RESNET)
    assert resnet in names(ask, "estimates", model=RESNET["model"]["preset"])
    assert resnet not in names(ask, "estimates", model=GPT3["model"]["preset"])
    profile = made(ask, "profiles", {"config": CONFIG})
    ask("PATCH", f"/api/v1/profiles/{profile}", json={"customer": "Ibex & Söhne"})
    assert names(ask, "profiles", customer="Ibex & Söhne") == [profile]
    uploaded = made(ask, "estimates", {**GPT3, "model": {"profile_id": profile}, "plan": {}})
    assert names(ask, "estimates", model=profile) == [uploaded]


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ({"since": "yesterday"}, 422, "since"),
        ({"since": "1700000000"}, 422, "since"),
        ({"since": "2026-11-01T00:00:00"}, 400, "since"),
        ({"since": "9999-12-31T23:59:59-12:00"}, 400, "since"),
        ({"order": "cheapest"}, 422, "order"),
        ({"search": "x" * 300}, 400, "search"),
        ({"cursor": "x"}, 400, "cursor"),
    ],
)
def test_what_no_list_can_be_asked_for_is_refused(
    ask: Ask, query: dict[str, str], status: int, field: str
) -> None:
    for kind in ("estimates", "studies", "boms", "price-books"):
        refused = ask("GET", f"/api/v1/{kind}", params=query)
        assert refused.status_code in {400, 422}, refused.text
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (status, field)


def test_every_list_says_whether_there_is_more(application: FastAPI) -> None:
    schemas = document(application.routes)["components"]["schemas"]
    lists = {name for name, one in schemas.items() if "items" in one.get("properties", {})}
    assert {name for name in lists if "next" not in schemas[name]["properties"]} == set()
