"""POST, list and read calibrations; name them in what is asked later."""

from __future__ import annotations

from typing import Any

import pytest

from app.platform.web.examples import CALIBRATION, FABRIC_GAIN
from tests.support.application import Ask

PATH = "/api/v1/calibrations"


@pytest.fixture(scope="module")
def made(ask: Ask) -> dict[str, Any]:
    response = ask("POST", PATH, json=CALIBRATION)
    assert response.status_code == 201, response.text[:500]
    return dict(response.json())


def test_a_calibration_has_the_shape_of_the_contract(made: dict[str, Any]) -> None:
    assert made.keys() >= {"software", "gap_before", "gap_after", "moved"}
    assert 0 <= made["gap_after"] < made["gap_before"]
    assert all(figure.keys() >= {"parameter", "prior", "posterior"} for figure in made["moved"])
    moves = [abs(figure["deviations"]) for figure in made["moved"]]
    assert moves == sorted(moves, reverse=True)
    assert len(made["runs"]) == len(CALIBRATION["runs"])
    for run in made["runs"]:
        assert run["before"]["low"] <= run["before"]["value"] <= run["before"]["high"]
        assert run["samples_per_s"] == pytest.approx(run["global_batch"] / run["measured"])


def test_estimates_and_comparisons_take_its_profile(ask: Ask, made: dict[str, Any]) -> None:
    request = {**CALIBRATION["estimate"], "software": made["software"]}
    estimate = ask("POST", "/api/v1/estimates", json=request)
    assert estimate.status_code == 201
    assert estimate.json()["software"] == made["software"]
    assert estimate.json()["step_time"] == made["after"]["step_time"]
    rows = [{**CALIBRATION["estimate"], "label": "before"}, {**request, "label": "after"}]
    comparison = ask("POST", "/api/v1/comparisons", json={"rows": rows})
    assert comparison.status_code == 201
    seconds = [row["hours"] * 3600 for row in comparison.json()["rows"]]
    assert seconds == pytest.approx(
        [made["before"]["time_to_train"]["value"], made["after"]["time_to_train"]["value"]]
    )


def test_an_unknown_profile_names_the_close_ones(ask: Ask, made: dict[str, Any]) -> None:
    name = made["software"][:-1] + ("x" if made["software"][-1] != "x" else "y")
    response = ask("POST", "/api/v1/estimates", json={**CALIBRATION["estimate"], "software": name})
    assert response.status_code == 404
    assert made["software"] in response.json()["detail"]
    assert response.json()["errors"][0]["field"] == "software"


def test_the_seed_s_fabrics_are_held_against_the_threshold(ask: Ask) -> None:
    response = ask("POST", PATH, json=FABRIC_GAIN)
    assert response.status_code == 201
    found = response.json()
    assert found["relative_gain"] == pytest.approx(0.0152, abs=1e-4)
    assert (found["recommendation"], found["warnings"]) == ("roce", [])
    assert ask("GET", f"{PATH}/{found['id']}").json() == found
    refused = ask("POST", "/api/v1/estimates", json={**CALIBRATION["estimate"], "software": found["id"]})
    assert refused.status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({**CALIBRATION, "runs": []}, 400, "runs"),
        ({**CALIBRATION, "runs": [{"step_time_s": 1.0}] * 21}, 400, "runs"),
        ({**CALIBRATION, "runs": [{"samples_per_s": 0}]}, 400, "runs[0].samples_per_s"),
        ({**CALIBRATION, "runs": [{"samples_per_s": 5e-324}]}, 400, "runs[0].samples_per_s"),
        ({**FABRIC_GAIN, "runs": {"roce": [1e308, 1e308], "ib": [1e308]}}, 400, "runs.roce[0]"),
        ({**FABRIC_GAIN, "runs": {"roce": [1e-300], "ib": [1.0]}}, 400, "runs.roce[0]"),
        ({**FABRIC_GAIN, "runs": {"roce": [1.0], "ib": [0]}}, 400, "runs.ib[0]"),
        ({**CALIBRATION, "runs": [{}]}, 400, "runs[0].samples_per_s"),
        ({**CALIBRATION, "runs": [{"samples_per_s": "fast"}]}, 422, "runs[0].samples_per_s"),
        ({**CALIBRATION, "runs": [{"samples_per_s": 1, "speed": 2}]}, 422, "runs[0].speed"),
        ({**CALIBRATION, "runs": [{"samples_per_s": 1, "system": "ipu-pod16"}]}, 400, "runs[0].system.id"),
        ({"estimate": CALIBRATION["estimate"]}, 422, "runs"),
        ({"estimate": {**CALIBRATION["estimate"], "software": "none"}, "runs": [{"step_time_s": 1}]}, 404,
         "estimate.software"),
        ({**FABRIC_GAIN, "threshold": -1}, 400, "threshold"),
        ({**FABRIC_GAIN, "runs": {"roce": [1.0]}}, 400, "runs"),
        ({**FABRIC_GAIN, "runs": {"roce": [], "ib": [1.0]}}, 400, "runs.roce"),
        ({**FABRIC_GAIN, "reference": "ethernet"}, 400, "reference"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_at_its_field(
    ask: Ask, body: dict[str, Any], status: int, field: str
) -> None:
    response = ask("POST", PATH, json=body)
    assert response.status_code == status, response.text
    assert field in {error["field"] for error in response.json()["errors"]}
