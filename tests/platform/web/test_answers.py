"""What every answer of the API has in common: where a thing is, its tag, HEAD, chosen fields, replays."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI

from app.platform.web.examples import (
    BILL,
    BOOK,
    CALIBRATION,
    CONFIG,
    FLEET_PLAN,
    GPT3,
    HEAD_TO_HEAD,
    KEY,
    RESNET,
    SIZING,
    STUDY,
)
from tests.conftest import problem_of
from tests.support.application import Ask
from tools.description import document

BODIES = {
    "estimates": (GPT3, "label"),
    "comparisons": (HEAD_TO_HEAD, "title"),
    "studies": (STUDY, "name"),
    "boms": (BILL, "label"),
    "price-books": (BOOK, "name"),
    "sizings": (SIZING, "label"),
    "sweeps": (FLEET_PLAN, "title"),
    "calibrations": (CALIBRATION, "label"),
    "profiles": ({"config": CONFIG}, "name"),
    "proposals": ({"customer": "A customer"}, "customer"),
    "keys": (KEY, "name"),
}
"""Kind of object → a body, and the field that names it."""


@pytest.mark.parametrize("kind", BODIES)
def test_what_is_made_with_a_key_is_made_once_and_read_back(ask: Ask, kind: str) -> None:
    path, key = f"/api/v1/{kind}", {"Idempotency-Key": "answers-1"}
    body, name = BODIES[kind]
    if kind == "proposals":
        comparison = ask("POST", "/api/v1/comparisons", json=HEAD_TO_HEAD).json()["id"]
        body = {**body, "comparison_id": comparison}
    made = ask("POST", path, json=body, headers=key)
    assert made.status_code == 201, made.text
    assert "idempotency-replayed" not in made.headers
    assert re.fullmatch(r'"\d+-[0-9a-f]{16}"', made.headers["etag"])
    identifier = made.json()["id"]
    assert made.headers["location"] == f"{path}/{identifier}"
    again = ask("POST", path, json=dict(reversed(body.items())), headers=key)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == made.headers["location"]
    refusal = ask("POST", path, json={**body, name: "Another"}, headers=key)
    assert problem_of(refusal) == (409, "conflict", "Idempotency-Key")
    found = ask("GET", made.headers["location"])
    assert found.status_code == 200
    if kind not in {"keys", "sweeps"}:  # A secret is told once, and a sweep goes on.
        assert found.json() == again.json() == made.json()
    assert [one["id"] for one in ask("GET", f"{path}?limit=200").json()["items"]].count(identifier) == 1


def test_an_upload_is_kept_once_for_a_key(ask: Ask) -> None:
    headers = {"Idempotency-Key": "sample"}
    first, again, other = (
        ask("POST", "/api/v1/workloads", files={"file": ("a.txt", words)}, headers=headers)
        for words in (b"one two three\n", b"one two three\n", b"one two three four\n")
    )
    assert again.json() == first.json() and problem_of(other) == (409, "conflict", "Idempotency-Key")


@pytest.mark.parametrize("path", ["chips", "chips/bow", "systems", "models/gpt3-175b", "sources"])
def test_the_catalogue_is_not_sent_again(ask: Ask, path: str) -> None:
    whole = ask("GET", f"/api/v1/catalog/{path}")
    again = ask("GET", f"/api/v1/catalog/{path}", headers={"If-None-Match": whole.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    part = ask("GET", f"/api/v1/catalog/{path}?fields=id", headers={"If-None-Match": whole.headers["etag"]})
    assert part.status_code == 200


def test_every_address_that_is_read_answers_a_head(ask: Ask, application: FastAPI) -> None:
    for path, operations in document(application.routes)["paths"].items():
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
        for path, operations in document(application.routes)["paths"].items()
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


def test_an_estimate_says_what_it_is_of(ask: Ask) -> None:
    made = ask("POST", "/api/v1/estimates", json=RESNET).json()
    found = ask("GET", made["links"]["self"]).json()
    assert found == made
    assert ask("GET", made["links"]["page"]).status_code == 200
    assert found["request"] == RESNET
    assert found["created_at"].endswith("Z")
    workload = found["workload"]
    assert workload["global_batch"] == found["plan"]["global_batch"]
    assert (workload["precision"], workload["image_size"]) == (found["precision_used"], 224)
    assert workload["target"] == RESNET["workload"]["target"] and workload["tokens"] is None
    assert {one["field"] for one in found["defaults"] if one["field"].startswith("assumptions.")} == {
        f"assumptions.{name}" for name in found["assumptions"].keys() - RESNET.get("assumptions", {}).keys()
    }
    again = ask("POST", "/api/v1/estimates", json=found["request"]).json()
    assert again["time_to_train"] == found["time_to_train"]


def test_an_estimate_is_run_again_by_its_identifier(ask: Ask) -> None:
    first = ask("POST", "/api/v1/estimates", json=GPT3).json()
    path, key = f"/api/v1/estimates/{first['id']}/run", {"Idempotency-Key": "again-1"}
    second = ask("POST", path, headers=key)
    assert second.status_code == 201
    assert second.json()["id"] != first["id"]
    assert second.headers["location"] == f"/api/v1/estimates/{second.json()['id']}"
    assert second.json()["time_to_train"] == first["time_to_train"]
    assert ask("POST", path, headers=key).json()["id"] == second.json()["id"]
    assert ask("GET", f"/api/v1/estimates/{first['id']}").json() == first
    assert ask("POST", "/api/v1/estimates/est_a2b3c4d5e6f7g2h3/run").status_code == 404


def test_a_summary_is_a_few_lines_in_the_language_of_the_reader(ask: Ask) -> None:
    made = ask("POST", "/api/v1/estimates?fields=id,summary", json=GPT3)
    lines = made.json()["summary"]
    assert 3 <= len(lines) <= 7 and "GPT-3" in lines[0]
    assert any(line.startswith("Training time: ") for line in lines)
    korean = ask("GET", made.headers["location"], headers={"Accept-Language": "ko"}).json()["summary"]
    assert any(line.startswith("학습 시간: ") for line in korean)


def test_the_inputs_of_a_trace_have_si_units(ask: Ask) -> None:
    trace = ask("POST", "/api/v1/estimates", json=GPT3).json()["trace"]
    peak = next(step for step in trace if step["name"] == "peak")
    assert peak["quantities"]["peak_bf16_dense"] == {"value": 312e12, "unit": "FLOP/s"}
    for step in trace:
        numbers = {name for name, value in step["inputs"].items() if isinstance(value, int | float)}
        assert step["quantities"].keys() == numbers, step["name"]
    total = next(step for step in trace if step["name"] == "time_to_train")
    parts = {name: one["value"] for name, one in total["quantities"].items()}
    assert {one["unit"] for name, one in total["quantities"].items() if name != "steps"} == {"s"}
    spent = parts.pop("steps") * parts.pop("step_time") + sum(parts.values())
    assert spent == pytest.approx(total["value"], rel=1e-9)
    hour = next(step for step in trace if step["name"] == "cost_per_hour")
    lines = [one["value"] for one in hour["quantities"].values() if one["unit"] == "USD/s"]
    assert sum(lines) * 3600 == pytest.approx(hour["value"])
