"""Requests drawn from the description of the API, each with one fault: it is named by path and code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import BaseModel

from app.estimating.request import EstimateRequest
from app.platform.web import validation
from app.platform.web.problems import BY_STATUS, FAULTS
from tests.conftest import problem_of
from tests.support.application import Ask
from tests.support.described import resolved
from tests.support.faulty import HANGUL, Description, draw

DRAWN = 120


@pytest.fixture(scope="module")
def description(ask: Ask) -> Description:
    return Description(resolved(ask("GET", "/api/v1/openapi.json").json()))


def test_a_fault_of_a_body_is_named_by_path_and_code(ask: Ask, description: Description) -> None:
    drawn = draw(ask, description, DRAWN)
    assert not drawn.wrong, (len(drawn.wrong), drawn.wrong[:10])
    assert drawn.kinds.keys() == FAULTS.keys()


def test_every_operation_refuses_a_query_parameter_that_it_does_not_know(
    ask: Ask, description: Description
) -> None:
    asked = 0
    for address, operations in description.document["paths"].items():
        for method in operations:
            if not address.startswith("/api/v1/"):
                continue
            answer = ask(method.upper(), re.sub(r"{\w+}", "none", address), params={"no_such": "1"})
            said = answer.json()
            assert answer.status_code == 422, (method, address, said)
            named = {one["field"]: one["code"] for one in said["errors"]}
            assert named.pop("no_such") == "unknown_parameter"
            assert set(named.values()) <= {"missing_field"}, (method, address, said)
            asked += 1
    assert asked > 80


def test_a_misspelt_parameter_is_answered_with_the_right_one(ask: Ask) -> None:
    said = ask("GET", "/api/v1/claims", params={"scaling_eficiency": "0.9"}).json()
    (error,) = said["errors"]
    assert (error["field"], error["code"]) == ("scaling_eficiency", "unknown_parameter")
    assert "scaling_efficiency" in error["message"]
    korean = ask("GET", "/api/v1/claims", params={"scaling_eficiency": "0.9", "lang": "ko"})
    assert korean.headers["content-language"] == "ko" and HANGUL.search(korean.json()["detail"])


@pytest.mark.parametrize(
    ("written", "close"),
    [
        ("DGX A100", {"dgx-a100-320gb", "dgx-a100-640gb", "dgx-superpod-a100"}),
        ("ipu-bod-16", {"ipu-pod16", "ipu-pod64", "ipu-pod256"}),
    ],
)
def test_the_nearest_systems_are_offered(ask: Ask, written: str, close: set[str]) -> None:
    body = {
        "model": {"preset": "gpt2-355m"},
        "workload": {"samples": 1e6},
        "system": {"id": written},
    }
    said = ask("POST", "/api/v1/estimates", json=body).json()
    assert close <= set(re.split(r"[ ,;]+", said["detail"]))


def test_an_unknown_identifier_has_one_status_and_code(ask: Ask, description: Description) -> None:
    asked = 0
    for address, operations in description.document["paths"].items():
        if "{" not in address or "get" not in operations:
            continue
        for language in ("en", "ko"):
            place = re.sub(r"{\w+}", "no_such", address)
            required = {
                parameter["name"]: "no_such"
                for parameter in operations["get"].get("parameters", [])
                if parameter["in"] == "query" and parameter.get("required")
            }
            answer = ask("GET", place, params=required, headers={"accept-language": language})
            said = answer.json()
            assert (answer.status_code, said["code"]) == (404, "not_found"), (address, said)
            assert bool(HANGUL.search(said["detail"])) == (language == "ko"), (address, said["detail"])
            asked += 1
    assert asked > 50


def test_every_kind_of_problem_has_a_page(ask: Ask) -> None:
    for kind in BY_STATUS.values():
        for language in ("en", "ko"):
            page = ask("GET", f"/problems/{kind.slug}", headers={"accept-language": language})
            assert page.status_code == 200 and kind.slug in page.text
    assert ask("GET", "/problems/no-such").status_code == 404
    assert all(code in ask("GET", "/problems").text for code in FAULTS)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"model": {"total_flop": 1e21}, "plan": {"tensor": 8, "data": 2}}, ["plan.tensor", "plan.data"]),
        (
            {"model": {"preset": "resnet50"}, "workload": {"samples": 1e6, "seq_len": 512}},
            ["workload.seq_len"],
        ),
        ({"plan": {"pipeline": 1, "interleave": 2}}, ["plan.interleave"]),
    ],
)
def test_what_would_have_no_effect_is_refused(ask: Ask, change: dict[str, Any], field: list[str]) -> None:
    body = {
        "model": {"preset": "gpt2-355m"},
        "workload": {} if "total_flop" in change.get("model", {}) else {"samples": 1e6},
        "system": {"id": "dgx-a100-640gb", "count": 2},
    }
    answer = ask("POST", "/api/v1/estimates", json=body | change)
    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["errors"]] == field


def test_a_search_gives_what_is_interleaved_more_than_one_stage(ask: Ask) -> None:
    body = {
        "model": {"preset": "gpt2-355m"},
        "workload": {"samples": 1e6},
        "system": {"id": "dgx-a100-640gb", "count": 2},
        "plan": {"interleave": 2},
    }
    plan = ask("POST", "/api/v1/estimates", json=body).json()["plan"]
    assert plan["interleave"] == 2 and plan["pipeline"] > 1


def test_a_parameter_sent_twice_is_not_read_once(ask: Ask) -> None:
    answer = ask("GET", "/api/v1/studies", params=[("limit", "1"), ("limit", "2"), ("limt", "3")])
    assert problem_of(answer) == (422, "unprocessable_input", "limit", "limt")
    assert {(one["field"], one["code"]) for one in answer.json()["errors"]} == {
        ("limit", "repeated_name"),
        ("limt", "unknown_parameter"),
    }


ESTIMATE = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e6},
    "system": {"id": "dgx-a100-640gb"},
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("workload.samples", 1e29),
        ("workload.samples", 1e-300),
        ("assumptions.storage_tb", 1e-300),
        ("assumptions.input_samples_per_second", 5e-324),
    ],
)
def test_a_number_that_means_nothing_is_refused(ask: Ask, field: str, value: float) -> None:
    part, name = field.split(".")
    body = {**ESTIMATE, part: {**(ESTIMATE["workload"] if part == "workload" else {}), name: value}}
    answer = ask("POST", "/api/v1/estimates", json=body)
    assert (answer.status_code, [one["field"] for one in answer.json()["errors"]]) == (400, [field])


@pytest.mark.parametrize(
    ("demand", "status", "field"),
    [
        ({"runs": 0}, 400, "assumptions.demand.runs"),
        ({"runs": 1.5}, 422, "assumptions.demand.runs"),
        ({"runs": 1, "utilisation": 0.5}, 400, "assumptions.demand.runs"),
        ({}, 400, "assumptions.demand"),
    ],
)
@pytest.mark.parametrize("model", [ESTIMATE, {"model": {"total_flop": 3e23}, "system": ESTIMATE["system"]}])
def test_an_estimate_refuses_a_demand_that_means_nothing(
    ask: Ask, model: dict[str, Any], demand: dict[str, Any], status: int, field: str
) -> None:
    answer = ask("POST", "/api/v1/estimates", json={**model, "assumptions": {"demand": demand}})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)


def test_a_peak_that_no_machine_has_is_refused(ask: Ask) -> None:
    body = {"model": {"total_flop": 3e23}, "system": {"id": "dgx-a100-640gb"}}
    for name in ("peak_flops", "utilization"):
        answer = ask("POST", "/api/v1/estimates", json={**body, "assumptions": {name: 5e-324}})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, f"assumptions.{name}")


@pytest.mark.parametrize(
    ("path", "body", "status", "faults"),
    [
        (
            "estimates?limt=1&view=x",
            {**ESTIMATE, "currency": "dollars", "system": {"id": "no-such", "count": "2"}},
            422,
            {
                "limt": "unknown_parameter",
                "view": "not_a_choice",
                "currency": "not_a_choice",
                "system.count": "wrong_type",
                "system.id": "not_found",
            },
        ),
        (
            "estimates",
            {**ESTIMATE, "model": {"preset": "no-such"}, "system": {"id": "no-such"}, "software": "no-such"},
            404,
            {"model.preset": "not_found", "system.id": "not_found", "software": "not_found"},
        ),
        (
            "estimates",
            {
                **ESTIMATE,
                "model": {"preset": "resnet50"},
                "workload": {"samples": 1e6, "seq_len": 512},
                "software": "no-such",
            },
            400,
            {"workload.seq_len": "bad_input", "software": "not_found"},
        ),
        (
            "comparisons",
            {
                "rows": [
                    {**ESTIMATE, "model": {"preset": "no-such"}},
                    {"label": "a", "hours": 1, "kind": "vendr"},
                    {**ESTIMATE, "system": {"id": "no-such"}},
                ]
            },
            422,
            {
                "rows[0].model.preset": "not_found",
                "rows[1].kind": "not_a_choice",
                "rows[2].system.id": "not_found",
            },
        ),
    ],
)
def test_all_faults_are_told_at_once(
    ask: Ask, path: str, body: dict[str, Any], status: int, faults: dict[str, str]
) -> None:
    for language in ("en", "ko"):
        answer = ask("POST", f"/api/v1/{path}", json=body, headers={"accept-language": language})
        said = answer.json()
        assert answer.status_code == status
        assert {one["field"]: one["code"] for one in said["errors"]} == faults
        assert all(bool(HANGUL.search(one["message"])) == (language == "ko") for one in said["errors"])


def test_every_kind_of_unreadable_value_is_told_at_once(ask: Ask) -> None:
    body = '{"model": {"preset": "a\\u0000"}, "workload": {"samples": NaN}, "label": "a", "label": "b"}'
    answer = ask("POST", "/api/v1/estimates", content=body, headers={"content-type": "application/json"})
    assert {one["field"]: one["code"] for one in answer.json()["errors"]} == {
        "model.preset": "unreadable_text",
        "workload.samples": "not_finite",
        "label": "repeated_name",
    }


def test_all_that_is_wrong_with_a_form_is_named_at_once(ask: Ask) -> None:
    parts = {"seq_len": "long", "lenght": "1"}
    answer = ask("POST", "/api/v1/workloads", data=parts, files={"text": b"{}"})
    assert problem_of(answer) == (422, "unprocessable_input", "file", "lenght", "seq_len", "text")
    found = {fault["field"]: fault["code"] for fault in answer.json()["errors"]}
    unknown = dict.fromkeys(("lenght", "text"), "unknown_field")
    assert found == {"seq_len": "wrong_type", "file": "missing_field", **unknown}


@pytest.mark.parametrize("body", [[{}] * 10_000, [[{}] * 100] * 100, {"model": {}, "other": [{}] * 10_000}])
def test_of_many_objects_no_more_are_looked_at_than_are_told_of(
    monkeypatch: pytest.MonkeyPatch, body: Any
) -> None:
    looked = 0

    def documents(annotation: Any) -> list[type[BaseModel]]:
        nonlocal looked
        looked += 1
        return [EstimateRequest]

    monkeypatch.setattr(validation, "documents", documents)
    list(validation.objects(EstimateRequest, body))
    assert looked <= validation.MOST_CHECKED
