"""Serving through the API: figures that agree with each other, refusals by name, never validated."""

from __future__ import annotations

from typing import Any

import pytest

from app.platform.web.examples import INFERENCE
from tests.conftest import problem_of
from tests.support.application import Ask

RANGED = (
    *("time_to_first_token", "decode_step", "time_per_output_token", "tokens_per_second"),
    *("tokens_per_second_per_accelerator", "requests_per_second", "cost_per_million_output_tokens"),
    *("cost_per_million_tokens", "energy_per_million_output_tokens"),
)


def serve(ask: Ask, status: int = 200, **parts: Any) -> Any:
    answered = ask("POST", "/api/v1/inference", json={**INFERENCE, **parts})
    assert answered.status_code == status, answered.text
    return answered.json()


def test_an_answer_agrees_with_itself_and_is_never_validated(ask: Ask) -> None:
    found = serve(ask)
    assert found["warnings"][0]["code"] == "inference_not_validated"
    assert found["model"]["cache_per_token"] == {
        "value": 327680.0, "low": 327680.0, "high": 327680.0, "unit": "B",
    }  # fmt: skip
    for system in found["systems"]:
        served = system["serving"]
        assert system["status"] == "unvalidated" and system["fits"]
        for name in RANGED:
            assert 0 < served[name]["low"] < served[name]["value"] < served[name]["high"], name
        per_token = served["time_per_output_token"]["value"]
        rate = served["replicas"] * served["batch"] / per_token
        assert per_token <= 0.05 and served["meets_limits"]
        assert served["tokens_per_second"]["value"] == pytest.approx(rate)
        devices = system["system"]["devices"]
        assert served["tokens_per_second_per_accelerator"]["value"] == pytest.approx(rate / devices)
        cost = system["hourly"]["value"] / 3600 / rate * 1e6
        assert served["cost_per_million_output_tokens"]["value"] == pytest.approx(cost)
        assert served["cost_per_million_tokens"]["value"] == pytest.approx(cost * 256 / (2048 + 256))
        step = served["decode_step"]["value"]
        assert sum(part["seconds"] for part in served["breakdown"]) == pytest.approx(step)
        parts = {part["part"]: part["value"] for part in system["memory"]["parts"]}
        assert parts["cache"] == pytest.approx(served["batch"] * system["cache_per_sequence"]["value"])
        assert sum(parts.values()) == pytest.approx(system["memory"]["per_device"]["value"])
        assert sum(parts.values()) <= system["memory"]["usable"]["value"]
        assert served["curve"][-1]["batch"] == served["largest_batch"]
        assert [step["name"] for step in system["trace"]][-1] == "tokens_per_second"
    h100, a100 = (one["serving"]["tokens_per_second"]["value"] for one in found["systems"])
    assert h100 > a100


def test_a_stricter_limit_serves_fewer_and_an_impossible_one_is_told(ask: Ask) -> None:
    system = {"systems": [{"id": "dgx-h100"}]}
    loose, strict, none = (
        serve(ask, **system, time_per_output_token_s=limit)["systems"][0] for limit in (0.1, 0.02, 1e-4)
    )
    rates = [one["serving"]["tokens_per_second"]["value"] for one in (loose, strict)]
    assert rates[0] > rates[1] and strict["serving"]["meets_limits"]
    assert not none["serving"]["meets_limits"]
    assert [one["code"] for one in none["warnings"]].count("latency_limit_missed") == 1


def test_batch_and_ranks_are_those_asked_for(ask: Ask) -> None:
    (found,) = serve(ask, systems=[{"id": "dgx-h100"}], batch=17, tensor=8)["systems"]
    served = found["serving"]
    assert (served["batch"], served["tensor"], served["replicas"]) == (17, 8, 1)
    assert 17 in [point["batch"] for point in served["curve"]]


def test_what_is_too_large_is_an_answer(ask: Ask) -> None:
    parts: dict[str, Any] = {"model": {"preset": "deepseek-v3"}, "precision": "fp8"}
    small, large = serve(ask, **parts, systems=[{"id": "dgx-h100"}, {"id": "dgx-h200"}])["systems"]
    assert not small["fits"] and small["serving"] is None
    assert [one["code"] for one in small["warnings"]].count("does_not_fit") == 1
    assert small["memory"]["per_device"]["value"] > small["memory"]["usable"]["value"]
    assert large["fits"] and large["precision_used"] == "fp8"


def test_a_format_that_a_chip_lacks_is_substituted_and_said(ask: Ask) -> None:
    h100, a100 = serve(ask, precision="fp8")["systems"]
    assert (h100["precision_used"], a100["precision_used"]) == ("fp8", "bf16")
    assert "precision_substituted" in [one["code"] for one in a100["warnings"]]


def test_a_narrow_cache_is_half_and_holds_more(ask: Ask) -> None:
    half, eight = (
        serve(ask, systems=[{"id": "dgx-h100"}], tensor=4, cache_precision=one)["systems"][0]
        for one in ("bf16", "fp8")
    )
    assert eight["cache_per_sequence"]["value"] == half["cache_per_sequence"]["value"] / 2
    assert eight["serving"]["largest_batch"] >= 2 * half["serving"]["largest_batch"]


def test_more_machines_serve_in_proportion(ask: Ask) -> None:
    one, four = serve(ask, systems=[{"id": "dgx-h100"}, {"id": "dgx-h100", "count": 4}])["systems"]
    rates = [found["serving"]["tokens_per_second"]["value"] for found in (one, four)]
    assert rates[1] == pytest.approx(4 * rates[0])
    assert four["label"] == "4 × DGX H100"


def test_a_price_of_a_system_is_its_own(ask: Ask) -> None:
    rented = {"id": "dgx-h100", "assumptions": {"acquisition": "rent", "hourly_price": 36.0}}
    (found,) = serve(ask, systems=[rented])["systems"]
    assert found["cost_basis"]["acquisition"] == "rent"
    rate = found["serving"]["tokens_per_second"]["value"]
    cost = found["serving"]["cost_per_million_output_tokens"]["value"]
    assert cost == pytest.approx(found["hourly"]["value"] / 3600 / rate * 1e6)


@pytest.mark.parametrize(
    ("parts", "status", "field"),
    [
        ({"systems": [{"id": "dgx-h100"}, {"id": "ipu-pod64"}]}, 400, "systems[1].id"),
        ({"systems": [{"id": "dgx-h1000"}]}, 404, "systems[0].id"),
        ({"systems": []}, 400, "systems"),
        ({"systems": [{"id": "dgx-h100"}] * 13}, 400, "systems"),
        ({"model": {"preset": "bert-large"}}, 400, "model"),
        ({"model": {"preset": "resnet50"}}, 400, "model"),
        ({"model": {"total_flop": 1e20}}, 400, "model"),
        ({"model": {"preset": "gpt3-175b"}, "prompt_tokens": 4096}, 400, "prompt_tokens"),
        ({"prompt_tokens": 0}, 400, "prompt_tokens"),
        ({"prompt_tokens": "many"}, 422, "prompt_tokens"),
        ({"output_tokens": 10**9}, 400, "output_tokens"),
        ({"batch": 0}, 400, "batch"),
        ({"tensor": 3}, 400, "tensor"),
        ({"precision": "int3"}, 422, "precision"),
        ({"time_per_output_token_s": 0}, 400, "time_per_output_token_s"),
        ({"assumptions": {"memory_margin": 1.5}}, 400, "assumptions.memory_margin"),
        ({"assumptions": {"amortisation_years": -1}}, 400, "assumptions.amortisation_years"),
        (
            {"systems": [{"id": "dgx-h100", "assumptions": {"amortisation_years": -1}}]},
            400,
            "systems[0].assumptions.amortisation_years",
        ),
    ],
)
def test_bad_input_is_named(ask: Ask, parts: dict[str, Any], status: int, field: str) -> None:
    found = serve(ask, status, **parts)
    assert [one["field"] for one in found["errors"]] == [field]


def test_what_must_be_said_is_asked_for(ask: Ask) -> None:
    body = {
        name: value for name, value in INFERENCE.items() if name not in ("prompt_tokens", "output_tokens")
    }
    answered = ask("POST", "/api/v1/inference", json=body)
    assert problem_of(answered) == (422, "missing_field", "output_tokens", "prompt_tokens")
    assert {one["field"] for one in answered.json()["errors"]} == {"prompt_tokens", "output_tokens"}
