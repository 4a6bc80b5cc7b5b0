"""A study and its proposal are one decision, in any currency."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from tests.support.application import Ask

DAY = 86_400.0

GPT3: dict[str, Any] = {
    "name": "GPT-3 in five months",
    "base": {
        "model": {"preset": "gpt3-175b"},
        "workload": {"tokens": 3e11},
        "software": "megatron-core",
        "currency": "KRW",
    },
    "limits": {"deadline_s": 150 * DAY, "budget": 20e9, "budget_kind": "term", "probability": 0.8},
    "options": [
        {"key": "a", "system": {"id": "dgx-a100-640gb", "count": 20}},
        {"key": "b", "system": {"id": "aws-p4d", "count": 20}},
    ],
}

LORA: dict[str, Any] = {
    "name": "Adapters",
    "base": {
        "model": {"preset": "llama3-8b"},
        "workload": {"kind": "lora", "tokens": 20e6},
        "assumptions": {"demand": {"runs_per_year": 10}},
    },
    "options": [
        {"key": "a", "system": {"id": "dgx-h100"}, "assumptions": {"system_price": 250_000}},
        {"key": "b", "system": {"id": "aws-p5"}},
    ],
}


def study(ask: Ask, body: dict[str, Any]) -> dict[str, Any]:
    made = ask("POST", "/api/v1/studies", json=body)
    assert made.status_code == 201, made.text
    return dict(ask("POST", f"/api/v1/studies/{made.json()['id']}/answers", json={}).json())


def proposal(ask: Ask, identifier: str, **more: Any) -> dict[str, Any]:
    body = {"study_id": identifier, "customer": "하이퍼커넥트", "locale": "en", **more}
    made = ask("POST", "/api/v1/proposals", json=body)
    assert made.status_code == 201, made.text
    return dict(made.json())


def rate(content: dict[str, Any]) -> float:
    costs = [row["estimate"]["cost"] for row in content["comparison"]["rows"]]
    return float(costs[0]["basis"]["won_per_dollar"])


@pytest.mark.parametrize("body", [GPT3, LORA], ids=lambda body: str(body["name"]))
@pytest.mark.parametrize("currency", ["KRW", "USD"])
def test_a_proposal_decides_as_its_study(ask: Ask, body: dict[str, Any], currency: str) -> None:
    answer = study(ask, body)
    content = proposal(ask, answer["id"], currency=currency)["content"]
    labels = {one["key"]: one["label"] for one in answer["options"]}
    asked, told = answer["decision"], content["decision"]
    assert told["recommended"] == labels[asked["recommended"]] == content["advice"]["recommended"]
    assert told["runs"] == asked["runs"]
    own = answer["content"]["base"].get("currency") or "USD"
    times = 1.0 if own == currency else rate(content) if currency == "KRW" else 1 / rate(content)
    for name in ("deadline_s", "probability", "power_w", "budget_kind", "demand"):
        assert told["question"][name] == asked["question"][name], name
    if asked["question"]["budget"] is not None:
        assert told["question"]["budget"] == pytest.approx(asked["question"]["budget"] * times)
    for mine, theirs in zip(told["options"], asked["options"], strict=True):
        assert mine["id"] == labels[theirs["id"]]
        for name in ("meets", "why_not", "time", "idle_share"):
            assert mine[name] == theirs[name], name
        for name in ("outlay", "purchase", "run"):
            if theirs[name] is not None:
                assert mine[name]["unit"] == currency
                assert mine[name]["value"] == pytest.approx(theirs[name]["value"] * times, rel=1e-6)
        assert mine["probability"] == theirs["probability"]


def test_five_months_are_never_promised_to_take_longer(ask: Ask) -> None:
    answer = study(ask, GPT3)
    content = proposal(ask, answer["id"], currency="KRW")["content"]
    assert content["advice"]["recommended"] == "20 × DGX A100 640GB"
    assert {one["label"] for one in content["advice"]["avoid"]} == {"20 × AWS p4d.24xlarge"}
    times = [one["committed"] for one in content["acceptance"] if one["figure"] == "time_to_train"]
    assert times and all(time <= 150 * DAY for time in times)


def test_an_author_who_breaks_a_limit_is_told_by_how_much(ask: Ask) -> None:
    answer = study(ask, GPT3)
    made = proposal(ask, answer["id"], currency="KRW", recommended="20 × AWS p4d.24xlarge")
    content = made["content"]
    assert content["advice"]["by_rule"] == "20 × DGX A100 640GB"
    first = content["advice"]["reasons"][0]
    assert {"time", "excess", "limit"} <= first["values"]["why"]["values"].keys()
    assert "acceptance" not in content
    page = unescape(ask("GET", f"/proposals/{made['id']}", headers={"accept": "text/html"}).text)
    assert first["message"][:60] in page
    assert "within the limits" not in page


def test_every_limit_that_the_author_breaks_is_named_on_the_first_page(ask: Ask) -> None:
    body = {**GPT3, "limits": {"deadline_s": 100 * DAY, "budget": 1e9, "budget_kind": "term"}}
    answer = study(ask, body)
    made = proposal(ask, answer["id"], currency="USD", recommended="20 × AWS p4d.24xlarge")
    missed = [one["values"]["why"] for one in made["content"]["advice"]["reasons"] if "why" in one["values"]]
    assert [list(one["values"]) for one in missed] == [
        ["time", "excess", "limit"],
        ["cost", "excess", "limit"],
    ]
    assert "acceptance" not in made["content"]
    page = unescape(ask("GET", f"/proposals/{made['id']}", headers={"accept": "text/html"}).text)
    first = page[: page.index("What you sign")]
    assert "the deadline by" in first and "the budget by" in first
    assert "(P90)" not in first and "stated as ₩1,000,000,000; 1 USD" in first


def test_without_limits_none_are_spoken_of(ask: Ask) -> None:
    made = proposal(ask, study(ask, LORA)["id"], currency="USD", recommended="DGX H100")
    page = unescape(ask("GET", f"/proposals/{made['id']}", headers={"accept": "text/html"}).text)
    first = page[: page.index("What you sign")]
    text = " ".join(re.sub(r"<[^>]+>", " ", first.partition('class="verdict"')[2]).split())
    assert "limits" not in text and "recommended by outlay" in text


def test_runs_and_networks_of_a_study_reach_its_proposal(ask: Ask) -> None:
    body = {**GPT3, "views": {"network": {"threshold": "5"}}}
    identifier = study(ask, body)["id"]
    content = proposal(ask, identifier, currency="KRW")["content"]
    assert [gain["basis"] for gain in content["evidence"]["gains"]] == ["networks"]
    assert [one["demand"] for one in content["by_demand"]] == [
        one["demand"]
        for one in ask("POST", f"/api/v1/studies/{identifier}/answers", json={}).json()["by_demand"]
    ]
    without = proposal(ask, identifier, currency="KRW", fabric_choice=None)["content"]
    assert "evidence" not in without


def test_limits_of_a_comparison_reach_its_proposal_in_its_currency(ask: Ask) -> None:
    rows = [{"label": "DGX", **LORA["base"], "system": {"id": "dgx-h100"}, "currency": "USD"}]
    limits = {"budget": 1e6, "budget_kind": "purchase"}
    made = ask("POST", "/api/v1/comparisons", json={"rows": rows, "limits": limits}).json()
    body = {"comparison_id": made["id"], "customer": "x", "locale": "en", "currency": "KRW"}
    content = ask("POST", "/api/v1/proposals", json=body).json()["content"]
    assert content["decision"]["question"]["budget"] == pytest.approx(1e6 * rate(content))
    assert content["converted"]["stated"]["value"] == 1e6 and content["converted"]["as_of"]


def test_what_is_rented_is_not_among_what_not_to_buy(ask: Ask) -> None:
    answer = study(ask, LORA)
    assert answer["decision"]["recommended"] == "b"
    advice = proposal(ask, answer["id"], currency="KRW")["content"]["advice"]
    assert advice["recommended"] == "AWS p5.48xlarge"
    assert {one["label"] for one in advice["avoid"]} == {"DGX H100"}


def test_a_new_currency_converts_the_budget_and_a_new_budget_is_taken_as_it_is(ask: Ask) -> None:
    answer = study(ask, GPT3)
    made = proposal(ask, answer["id"], currency="KRW")
    address = f"/api/v1/proposals/{made['id']}"
    changed = ask("PATCH", address, json={"currency": "USD"}).json()["content"]
    assert changed["decision"]["question"]["budget"] == pytest.approx(20e9 / rate(changed))
    stated = ask("PATCH", address, json={"currency": "KRW", "budget": 30e9}).json()["content"]
    assert stated["decision"]["question"]["budget"] == 30e9


@pytest.mark.parametrize("limit", [{"deadline_s": 0}, {"budget": -1}, {"probability": 2}, {"power_w": 0}])
def test_limits_that_can_never_be_right_are_refused(ask: Ask, limit: dict[str, float]) -> None:
    answer = study(ask, LORA)
    body = {"study_id": answer["id"], "customer": "x", **limit}
    refused = ask("POST", "/api/v1/proposals", json=body)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == next(iter(limit))
