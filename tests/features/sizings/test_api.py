"""POST, list and read sizings; scaling curves."""

from __future__ import annotations

from typing import Any

import pytest

from app.platform.web.examples import SCALING, SIZING
from tests.conftest import problem_of
from tests.support.application import Ask

PATH = "/api/v1/sizings"


@pytest.fixture(scope="module")
def made(ask: Ask) -> dict[str, Any]:
    response = ask("POST", PATH, json=SIZING)
    assert response.status_code == 201, response.text[:500]
    return dict(response.json())


def test_a_sizing_has_the_shape_of_the_contract(made: dict[str, Any]) -> None:
    assert made["options"] and made["pareto"]
    for option in made["options"]:
        keys = {"system", "count", "plan", "time_to_train", "cost", "meets", "probability"}
        assert option.keys() >= keys
        assert 0 <= option["probability"] <= 1
        assert option["costs"].keys() == {"purchase", "run", "term"}
        assert (option["costs"]["purchase"] is None) == (option["acquisition"] == "rent")
        assert option["idle_machines"] >= 0
    assert {option["system"] for option in made["options"]} == set(SIZING["systems"])
    decision = made["decision"]
    assert decision["recommended"] == made["recommended"] and decision["margin"] == made["margin"]
    assert {option["id"] for option in decision["options"]} == {option["id"] for option in made["options"]}
    assert decision["question"]["demand"]["runs"] == 1 and decision["sentences"]
    fronted = {option["id"] for option in made["options"] if option["on_front"]}
    assert {point["option"] for point in made["pareto"]} == fronted


def test_options_beyond_the_first_hundred_come_by_cursor(ask: Ask) -> None:
    body = {**SIZING, "systems": ["dgx-a100-640gb", "aws-p4d"], "counts": list(range(1, 60))}
    made = ask("POST", PATH, json={**body, "most_accelerators": 480}).json()
    assert len(made["options"]) == 100 and made["next"]
    rest = ask("GET", f"{PATH}/{made['id']}?cursor={made['next']}").json()
    assert rest["next"] is None and rest["options"]
    first, second = ({option["id"] for option in part["options"]} for part in (made, rest))
    assert not first & second
    assert rest["decision"] == made["decision"]
    assert problem_of(ask("GET", f"{PATH}/{made['id']}?cursor=soon")) == (400, "bad_input", "cursor")


def test_an_option_is_an_estimate_request(ask: Ask, made: dict[str, Any]) -> None:
    option = made["options"][0]
    answer = ask("POST", "/api/v1/estimates", json=option["estimate"]).json()
    assert answer["time_to_train"]["value"] == pytest.approx(option["time_to_train"]["value"])


def test_a_scaling_curve(ask: Ask) -> None:
    found = ask("POST", "/api/v1/scalings", json=SCALING)
    assert found.status_code == 200, found.text
    assert [point["count"] for point in found.json()["points"]] == SCALING["counts"]
    two = ask("POST", "/api/v1/scalings", json={**SCALING, "systems": ["aws-p4d", "bow-pod16"]})
    assert problem_of(two) == (400, "bad_input", "systems")


@pytest.mark.parametrize(
    ("parts", "status", "field"),
    [
        ({"deadline_s": -5}, 400, "deadline_s"),
        ({"deadline_s": "soon"}, 422, "deadline_s"),
        ({"budget": 0}, 400, "budget"),
        ({"budget_kind": "all"}, 422, "budget_kind"),
        ({"budget_kind": "purchase", "assumptions": {"acquisition": "rent"}}, 400, "budget_kind"),
        ({"counts": [0]}, 400, "counts[0]"),
        ({"systems": ["dgx-a101"]}, 404, "systems[0]"),
        ({"currency": "GBP"}, 400, "currency"),
        ({"workload": {"samples": 1e6, "global_batch": -8}}, 400, "workload.global_batch"),
        ({"power_w": 0}, 400, "power_w"),
        ({"assumptions": {"demand": {"runs": 0}}}, 400, "assumptions.demand.runs"),
        ({"assumptions": {"demand": {"runs": 1.5}}}, 422, "assumptions.demand.runs"),
        ({"assumptions": {"demand": {"utilisation": 1.5}}}, 400, "assumptions.demand.utilisation"),
        ({"assumptions": {"demand": {"runs": 1, "utilisation": 0.5}}}, 400, "assumptions.demand.runs"),
        ({"most_accelerators": 10**9}, 400, "most_accelerators"),
    ],
)
def test_wrong_input_names_its_field(ask: Ask, parts: dict[str, Any], status: int, field: str) -> None:
    response = ask("POST", PATH, json={**SIZING, **parts})
    assert response.status_code == status, response.text
    assert field in [error["field"] for error in response.json()["errors"]]
