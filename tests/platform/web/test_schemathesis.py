"""A sample of what ``tests/endurance/test_schemathesis.py`` does at length, and what it has found."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI

from app.platform.web.examples import FLEET_PLAN, GPT3, HEAD_TO_HEAD, STUDY, TRANSFORMER
from tests.support.application import Ask
from tests.support.conformance import MORE_THAN_A_SCHEMA_SAYS, examine

COVERED = (
    "^(create_comparison|get_comparison|change_comparison|list_chips|get_chip|get_job|check_plan|plan_fabric|"
    "create_key|revoke_share|health)$"
)
"""Quick operations of each kind, whose every field is gone through within the suite."""


def test_every_example_of_every_operation_conforms(application: FastAPI) -> None:
    found = examine(application, "examples")
    assert not found.failures, found.report()
    assert len(found.operations) >= 90


def test_every_field_of_some_operations_conforms(application: FastAPI) -> None:
    found = examine(application, "coverage", only=COVERED)
    assert not found.failures, found.report()
    assert 1 < len(found.operations) <= COVERED.count("|") + 1


def test_every_narrowed_check_is_of_an_operation_that_is_there(ask: Ask) -> None:
    paths = ask("GET", "/api/v1/openapi.json").json()["paths"]
    named = {one["operationId"] for operations in paths.values() for one in operations.values()}
    for pattern in MORE_THAN_A_SCHEMA_SAYS:
        choices = re.findall(r"\(([^)]*)\)", pattern)
        wanted = (
            [pattern.replace(f"({choices[0]})", one) for one in choices[0].split("|")]
            if choices
            else [pattern]
        )
        assert set(wanted) <= named, pattern


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/v1/estimates", "GET, POST"),
        ("POST", "/api/v1/price-books/pbk_x", "GET, PUT, PATCH, DELETE"),
        ("GET", "/api/v1/proposals/prp_x/share", "POST, DELETE"),
        ("OPTIONS", "/api/v1/searches", "POST"),
        ("POST", "/api/v1/proposals/prp_x.pdf", "GET"),
        ("PUT", "/api/v1/studies/import", "POST"),
        ("DELETE", "/comparisons/x", "GET"),
        ("POST", "/static/css/rackline.css", "GET, HEAD"),
    ],
)
def test_405_names_every_method_that_is_taken(ask: Ask, method: str, path: str, allowed: str) -> None:
    response = ask(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)
    assert allowed in response.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("profiles", {"transformer": {**TRANSFORMER["transformer"], "gated": 0}}, "transformer.gated"),
        ("profiles", {"transformer": {**TRANSFORMER["transformer"], "gated": "true"}}, "transformer.gated"),
        ("profiles", {"transformer": {**TRANSFORMER["transformer"], "layers": "24"}}, "transformer.layers"),
        ("estimates", {**GPT3, "plan": {"offload": 1}}, "plan.offload"),
        ("estimates", {**GPT3, "system": {**GPT3["system"], "count": "128"}}, "system.count"),
        ("estimates", {**GPT3, "workload": {"tokens": "3e11"}}, "workload.tokens"),
        ("estimates", {**GPT3, "workload": {"tokens": True}}, "workload.tokens"),
        ("estimates", {**GPT3, "workload": "tokens"}, "workload"),
        ("estimates", "GPT-3", "body"),
        ("studies/stu_x/answers", "AAA", "body"),
        ("sweeps", {**FLEET_PLAN, "scenarios": [{"plan": {"offload": 0.0}}]}, "scenarios[0].plan.offload"),
    ],
)
def test_one_type_does_not_stand_for_another(ask: Ask, path: str, body: object, field: str) -> None:
    response = ask("POST", f"/api/v1/{path}", json=body)
    assert response.status_code == 422
    assert field in {error["field"] for error in response.json()["errors"]}


def test_rows_that_name_each_other_can_be_proposed(ask: Ask) -> None:
    rows = [
        {"label": label, "hours": 10, "kind": "vendor", "scaled_from": other}
        for label, other in (("a", "b"), ("b", "a"), ("c", "c"))
    ]
    comparison = ask("POST", "/api/v1/comparisons", json={"rows": rows})
    assert comparison.status_code == 201
    body = {"comparison_id": comparison.json()["id"], "customer": "A customer", "options": ["a", "c"]}
    made = ask("POST", "/api/v1/proposals", json=body)
    assert made.status_code == 201
    assert [one["label"] for one in made.json()["content"]["requests"]] == ["a", "b", "c"]


@pytest.mark.parametrize("field", ["hours", "factor"])
@pytest.mark.parametrize("value", [1e308, 5e-324])
def test_no_figure_leads_beyond_all_numbers(ask: Ask, field: str, value: float) -> None:
    row = {"label": "a", "kind": "linear", "hours": 1.0, field: value}
    response = ask("POST", "/api/v1/comparisons", json={**HEAD_TO_HEAD, "rows": [row]})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, f"rows[0].{field}")
    figure = {"hours": 1.0, "kind": "linear", field: value}
    study = {**STUDY, "options": [{"key": "a", "label": "a", "figure": figure}]}
    response = ask("POST", "/api/v1/studies", json=study)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (
        400,
        f"options[0].figure.{field}",
    )


def test_events_are_described_one_by_one(ask: Ask) -> None:
    paths = ask("GET", "/api/v1/openapi.json").json()["paths"]
    for path in ("/api/v1/sweeps/{id}/events", "/api/v1/jobs/{id}"):
        content = paths[path]["get"]["responses"]["200"]["content"]["text/event-stream"]
        assert content["itemSchema"]["properties"].keys() == {"event", "data", "id"}
