"""What a review found of decisions: recommendations that a consultant would be ashamed of.

Each is a question that was answered badly once, by the API and on its page.
"""

from __future__ import annotations

from typing import Any

import pytest

from app.engine.units import DAY
from tests.support.application import Reader

LORA: dict[str, Any] = {
    "model": {"preset": "llama3-8b"},
    "workload": {"kind": "lora", "tokens": 20e6},
    "currency": "KRW",
}
LLAMA: dict[str, Any] = {"model": {"preset": "llama2-7b"}, "workload": {"tokens": 2e12}, "currency": "KRW"}
GPT3: dict[str, Any] = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 3e11}, "currency": "KRW"}


class Answered:
    """A stored study, as the API answers it and as its page shows it."""

    def __init__(
        self, reader: Reader, base: dict[str, Any], options: dict[str, dict[str, Any]], **limits: Any
    ) -> None:
        stated = [{"key": key, **option} for key, option in options.items()]
        named = ",".join(option["system"]["id"] for option in stated if "system" in option)
        body = {"name": "Reviewed", "base": base, "options": stated, "limits": limits}
        body["views"] = {"systems": {"system": named}}
        made = reader.ask("POST", "/api/v1/studies", json=body)
        assert made.status_code == 201, made.text
        self.id = str(made.json()["id"])
        answer = reader.ask("POST", f"/api/v1/studies/{self.id}/answers", json={}).json()
        self.decision: dict[str, Any] = answer["decision"]
        self.labels = {one["key"]: one["label"] for one in answer["options"]}
        self.options = {one["id"]: one for one in self.decision["options"]}
        self.page = reader.page(f"/studies/{self.id}")
        assert reader.data(f"/studies/{self.id}.json")["decision"] == self.decision

    @property
    def recommended(self) -> str | None:
        """What the API recommends, which stands first on the page."""
        best = self.decision["recommended"]
        first = self.page.select_one(".answer-card.best strong")
        assert (first and first.get_text()) == self.labels.get(best)
        return None if best is None else str(best)


def of(name: str, count: int = 1) -> dict[str, Any]:
    return {"system": {"id": name, "count": count}}


def test_minutes_of_adapters_are_rented_and_not_done_on_eight_bought_machines(reader: Reader) -> None:
    offers = {"one": of("h100-sxm-80gb"), "eight": of("h100-sxm-80gb", 8), "aws": of("aws-p5")}
    found = Answered(reader, LORA, offers)
    assert found.recommended == "aws"
    assert found.options["aws"]["outlay"]["value"] < 100_000 < found.options["one"]["outlay"]["value"]
    bought = Answered(reader, LORA, {key: offers[key] for key in ("one", "eight")})
    assert bought.recommended == "one"


def test_ten_billion_won_buy_no_more_machines_than_the_date_needs(reader: Reader) -> None:
    offers = {f"x{count}": of("dgx-b200", count) for count in (2, 3, 4, 6, 8, 12)}
    limits = {"deadline_s": 60 * DAY, "budget": 10e9, "budget_kind": "purchase"}
    found = Answered(reader, LLAMA, offers, **limits)
    fewest = next(one["id"] for one in found.decision["options"] if one["meets"])
    assert found.recommended == fewest in {"x2", "x3"}


def test_no_option_is_recommended_beyond_the_budget_beside_it(reader: Reader) -> None:
    offers = {"four": of("dgx-h100", 4), "eight": of("h100-sxm-80gb", 8), "aws": of("aws-p5", 8)}
    found = Answered(reader, LLAMA, offers, deadline_s=60 * DAY, budget=5e9)
    assert found.recommended == "aws"
    paid = [one["purchase"] or one["run"] for one in found.decision["options"] if one["meets"]]
    assert paid and all(amount["value"] < 5e9 for amount in paid)
    assert found.options["eight"]["why_not"] == "over_budget"


@pytest.mark.parametrize("currency", ["KRW", "USD"])
def test_page_and_proposal_of_a_study_are_one_decision_in_any_currency(reader: Reader, currency: str) -> None:
    offers = {"dgx": of("dgx-a100-640gb", 20), "aws": of("aws-p4d", 20)}
    limits = {"deadline_s": 180 * DAY, "probability": 0.8, "budget": 20e9, "budget_kind": "term"}
    found = Answered(reader, {**GPT3, "software": "megatron-core"}, offers, **limits)
    body = {"study_id": found.id, "customer": "Customer", "locale": "en", "currency": currency}
    made = reader.ask("POST", "/api/v1/proposals", json=body)
    assert made.status_code == 201, made.text
    content = made.json()["content"]
    told = content["decision"]
    best = found.recommended
    assert best is not None
    assert told["recommended"] == content["advice"]["recommended"] == found.labels[best]
    same = [(one["meets"], one["probability"], one["why_not"]) for one in found.decision["options"]]
    assert [(one["meets"], one["probability"], one["why_not"]) for one in told["options"]] == same
    promised = [one["committed"] for one in content.get("acceptance", ()) if one["figure"] == "time_to_train"]
    assert all(time <= 180 * DAY for time in promised)
    text = reader.page(f"/proposals/{made.json()['id']}").get_text()
    assert found.labels[best] in text
    if currency == "USD":
        rate = content["converted"]["rate"]
        assert told["question"]["budget"] == pytest.approx(20e9 * rate) and rate < 0.001
        assert "₩20,000,000,000" in text and "$20,000,000,000" not in text


def test_published_rows_without_a_price_blind_no_decision(reader: Reader) -> None:
    base = {"model": {"preset": "bert-large"}, "workload": {"samples": 1e7}}
    offers = {"dgx": of("dgx-a100-640gb", 3), "pod": of("bow-pod64")}
    claims = {
        "vendor": {"label": "Vendor", "figure": {"hours": 2.0, "kind": "vendor"}},
        "scaled": {"label": "Scaled", "figure": {"kind": "linear", "scaled_from": "vendor", "factor": 3}},
    }
    alone, beside = Answered(reader, base, offers), Answered(reader, base, offers | claims)
    assert alone.recommended == beside.recommended is not None
    assert alone.decision["margin"] == beside.decision["margin"]
    assert {beside.options[key]["why_not"] for key in claims} == {"published"}


def test_a_sizing_says_of_386_days_what_the_estimate_says(reader: Reader) -> None:
    asked = {**GPT3, "systems": ["bow-pod64"], "counts": [4]}
    (option,) = reader.ask("POST", "/api/v1/sizings", json=asked).json()["options"]
    estimate = reader.ask("POST", "/api/v1/estimates", json=option["estimate"]).json()
    told = {warning["code"] for warning in estimate["warnings"]}
    assert set(option["warnings"]) == told >= {"longer_than_a_year"}
    found = Answered(reader, GPT3, {"pod": of("bow-pod64", 4)}, deadline_s=400 * DAY)
    view = f"/studies/{found.id}/systems"
    assert reader.page(f"{view}?run=wait").select_one("#options") is not None
    options = reader.data(f"{view}.json")["options"]
    (shown,) = [one for one in options if one["count"] == 4]
    assert "longer_than_a_year" in shown["warnings"]


def test_a_study_of_405b_starts_with_a_count_that_trains_it_in_90_days_or_says_that_none_does(
    reader: Reader,
) -> None:
    start = reader.page("/?model.preset=llama3-405b&workload.tokens=15.6T")
    counts = {
        str(field["name"]).removeprefix("count."): int(str(field["value"]))
        for field in start.select("input[name^='count.']")
    }
    assert counts and min(counts.values()) > 1
    for system, count in counts.items():
        asked = {
            "model": {"preset": "llama3-405b"},
            "workload": {"tokens": 15.6e12},
            "system": {"id": system, "count": count},
        }
        estimate = reader.ask("POST", "/api/v1/estimates", json=asked).json()
        assert estimate["time_to_train"]["value"] <= 90 * DAY, (system, count)
