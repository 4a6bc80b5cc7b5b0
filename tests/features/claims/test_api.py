"""Vendor claims through the API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.application import Ask


def read(ask: Ask, path: str, status: int = 200) -> Any:
    answered = ask("GET", f"/api/v1{path}")
    assert answered.status_code == status, answered.text
    return answered.json()


def test_claims_come_with_verdicts(ask: Ask) -> None:
    found = read(ask, "/claims")
    assert found["next"] is None and len(found["items"]) == 10
    for claim in found["items"]:
        assert claim["verdict"] and claim["sentence"]["message"]
        assert bool(claim["readings"]) == (
            claim["metric"] != "inference_throughput"
            and claim["model"] not in ("MCMC", "ResNet", "EfficientNet")
        )


def test_one_claim_has_both_readings_and_requests_that_work(ask: Ask) -> None:
    claim = read(ask, "/claims/resnet50-training?m2000_price=60000")
    assert [reading["era"] for reading in claim["readings"]] == ["of_the_time", "later"]
    side = claim["readings"][0]["claimed"]
    assert side["price"] == {"value": 60000, "low": 60000, "high": 60000, "unit": "USD"}
    phase = side["phases"][0]
    made = ask("POST", "/api/v1/estimates", json=phase["request"])
    assert made.status_code == 201, made.text
    assert made.json()["throughput"]["value"] == phase["throughput"]["value"]


def test_refusals_name_the_field(ask: Ask) -> None:
    problem = read(ask, "/claims?scaling_efficiency=1.5", 400)
    assert problem["errors"][0]["field"] == "scaling_efficiency"
    assert read(ask, "/claims?dgx_price=cheap", 422)["errors"][0]["field"].endswith("dgx_price")
    assert read(ask, "/claims?unknown=1", 422)
    assert "resnet50-training" in read(ask, "/claims/resnet50", 404)["detail"]
    assert read(ask, "/claims?price_book_id=none", 404)["errors"][0]["field"] == "price_book_id"


@pytest.mark.parametrize("field", ["scaling_efficiency", "dgx_price"])
def test_a_figure_beyond_all_numbers_is_refused_by_field(ask: Ask, field: str) -> None:
    response = ask("GET", "/api/v1/claims", params={field: 5e-324})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, field)
