"""A choice of network through the API: the journey of a consultant who does not sell InfiniBand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from app.platform.web.examples import FABRIC_CHOICE, FABRICS_MEASURED
from tests.support.application import Ask

CONFIG = {
    "model_type": "gpt2",
    "n_layer": 24,
    "n_embd": 1024,
    "n_head": 16,
    "n_positions": 1024,
    "vocab_size": 50257,
}


def weigh(ask: Ask, body: Any, status: int = 200) -> Any:
    answered = ask("POST", "/api/v1/fabric-choices", json=body)
    assert answered.status_code == status, answered.text
    return answered.json()


def test_journey_1_with_the_customers_own_model(ask: Ask) -> None:
    uploaded = ask("POST", "/api/v1/profiles", json={"name": "the customer's", "config": CONFIG})
    assert uploaded.status_code in (200, 201), uploaded.text
    body = copy.deepcopy(FABRICS_MEASURED)
    body["estimate"]["model"] = {"profile_id": uploaded.json()["id"]}

    predicted = weigh(ask, {**body, "measured": {}})
    steps = {one["label"]: one["step_time"] for one in predicted["options"]}
    assert all(0 < one["low"] <= one["value"] <= one["high"] for one in steps.values())
    assert steps["infiniband"]["value"] < steps["roce"]["value"]

    found = weigh(ask, body)
    advice = found["advice"]
    assert advice["gain"]["value"] == pytest.approx(1000 / 985 - 1)
    assert advice["recommendation"] == "roce-100-8" and advice["not_worth_it"]
    values = advice["sentence"]["values"]
    assert (values["gain"], values["threshold"]) == (pytest.approx(1.5, abs=0.05), 5)
    assert {line["use"]: line["count"] for line in advice["not_bought"]} == {
        "single_switch": 1,
        "node_cable": 16,
    }
    measured = {one["label"]: one["measured"] for one in found["options"]}
    assert measured["infiniband"]["mean"] == pytest.approx(1000)
    assert measured["roce"]["deviation"] == pytest.approx(5)
    assert all(one["predicted"]["unit"] == "samples/s" and one["fitted"] for one in measured.values())
    assert found["fitted"]["moved"]

    body["measured"]["roce"] = [700, 701, 699]
    turned = weigh(ask, body)["advice"]
    assert turned["recommendation"] == "hdr-infiniband-8" and not turned["not_worth_it"]
    assert turned["sentence"]["values"]["gain"] == 43


def test_without_options_every_network_that_suits_is_weighed(ask: Ask) -> None:
    found = weigh(ask, FABRIC_CHOICE)
    names = {one["id"] for one in found["options"]}
    assert {
        "roce-100-1",
        "roce-200-8",
        "hdr-infiniband-8",
        "ndr-infiniband-4",
        "roce-400-4",
        "ethernet-100-1",
    } <= (names)
    for one in found["options"]:
        assert one["messages"] and one["network"]["lines"]
        assert one["validation"]["status"] in {"validated", "extrapolated", "unvalidated"}
    assert {one["option"] for one in found["gains"]} == names - {found["reference"]}


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"threshold": -0.1}, 400, "threshold"),
        ({"threshold": "much"}, 422, "threshold"),
        ({"oversubscription": 0.5}, 400, "oversubscription"),
        ({"options": [{"fabric": "roce-100"}]}, 400, "options"),
        ({"options": [{"fabric": "roce-100"}] * 17}, 400, "options"),
        ({"options": [{}, {}]}, 422, "options[0].fabric"),
        ({"measured": {"roce-100-1": []}}, 400, "measured.roce-100-1"),
        ({"measured": {"roce-100-1": [0]}}, 400, "measured.roce-100-1[0]"),
        ({"measured": {"nobody": [1]}}, 404, "measured.nobody"),
        ({"reference": "nobody"}, 404, "reference"),
        ({"estimate": {"model": {"preset": "bert-large"}}}, 422, "estimate.system"),
        (
            {"estimate": {**FABRIC_CHOICE["estimate"], "system": {"id": "bow-pod16"}}},
            409,
            "estimate.system.id",
        ),
        ({"price_book_id": "nobody"}, 404, "price_book_id"),
        ({"colour": "blue"}, 422, "colour"),
    ],
)
def test_what_is_wrong_is_named(ask: Ask, changes: dict[str, Any], status: int, field: str) -> None:
    found = weigh(ask, {**FABRIC_CHOICE, **changes}, status)
    assert field in {one["field"] for one in found["errors"]}
