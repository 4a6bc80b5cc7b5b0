"""What every answer of the API has in common: where a thing is, its tag, HEAD, chosen fields, replays."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI

from app.features.operation.api import document
from app.platform.web.examples import BILL, BOOK, FLEET_PLAN, GPT3, HEAD_TO_HEAD, KEY, SIZING, STUDY
from tests.web.api.conftest import Ask

BODIES = {
    "estimates": GPT3,
    "comparisons": HEAD_TO_HEAD,
    "studies": STUDY,
    "boms": BILL,
    "price-books": BOOK,
    "sizings": SIZING,
    "sweeps": FLEET_PLAN,
    "keys": KEY,
}


@pytest.mark.parametrize("kind", BODIES)
def test_what_is_made_says_where_it_is_and_what_was_made_before(ask: Ask, kind: str) -> None:
    path, key = f"/api/v1/{kind}", {"Idempotency-Key": "answers-1"}
    made = ask("POST", path, json=BODIES[kind], headers=key)
    assert made.status_code == 201, made.text
    assert "idempotency-replayed" not in made.headers
    assert re.fullmatch(r'"\d+-[0-9a-f]{16}"', made.headers["etag"])
    assert made.headers["location"] == f"{path}/{made.json()['id']}"
    found = ask("GET", made.headers["location"])
    assert (found.status_code, found.json()["id"]) == (200, made.json()["id"])
    again = ask("POST", path, json=BODIES[kind], headers=key)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == made.headers["location"]


@pytest.mark.parametrize("path", ["chips", "chips/bow", "systems", "models/gpt3-175b", "sources"])
def test_the_catalogue_is_not_sent_again(ask: Ask, path: str) -> None:
    whole = ask("GET", f"/api/v1/catalog/{path}")
    again = ask("GET", f"/api/v1/catalog/{path}", headers={"If-None-Match": whole.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    part = ask("GET", f"/api/v1/catalog/{path}?fields=id", headers={"If-None-Match": whole.headers["etag"]})
    assert part.status_code == 200


def test_every_address_that_is_read_answers_a_head(ask: Ask, application: FastAPI) -> None:
    for path, operations in document(application)["paths"].items():
        if not path.startswith("/api/") or "get" not in operations or "{" in path or path.endswith("compare"):
            continue
        whole, head = ask("GET", path), ask("HEAD", path)
        assert (head.status_code, head.content) == (whole.status_code, b""), path
        for name in ("content-type", "etag"):
            assert head.headers.get(name) == whole.headers.get(name), path
    assert ask("HEAD", "/api/v1/catalog/chips/no-such").status_code == 404
    assert ask("HEAD", "/api/v1/searches").status_code == 405


def described(application: FastAPI) -> dict[str, Any]:
    return {
        f"{method} {path}": operation
        for path, operations in document(application)["paths"].items()
        for method, operation in operations.items()
        if path.startswith("/api/")
    }


def test_what_answers_with_a_document_takes_fields(ask: Ask, application: FastAPI) -> None:
    for name, operation in described(application).items():
        answers = [found for status, found in operation["responses"].items() if status.startswith("2")]
        schemas = [answer.get("content", {}).get("application/json", {}).get("schema") for answer in answers]
        taken = "fields" in {one["name"] for one in operation.get("parameters", ())}
        assert taken == any(schema and "$ref" in str(schema) for schema in schemas), name
    part = ask("POST", "/api/v1/studies?fields=id,content.name", json=STUDY)
    assert part.json()["content"].keys() == {"name"}
    refused = ask("GET", "/api/v1/studies?fields=nme")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "fields")
