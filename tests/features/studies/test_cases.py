"""Cases whose decision was once embarrassing, each by its name."""

from __future__ import annotations

from typing import Any

from app.estimating.decision import Decision
from app.features.studies.model import StudyContent
from tests.features.studies.conftest import answer_of

DAY = 86_400.0

LLAMA: dict[str, Any] = {
    "model": {"preset": "llama2-7b"},
    "workload": {"tokens": 2e12},
    "currency": "KRW",
}


def decision(options: list[dict[str, Any]], base: dict[str, Any], **limits: Any) -> Decision:
    body = {"name": "Case", "base": base, "options": options, "limits": limits}
    return answer_of(StudyContent.model_validate(body)).decision


def systems(*named: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"key": f"{name[:3]}{count}", "system": {"id": name, "count": count}} for name, count in named]


def test_adapters_of_an_eight_billion_model_are_trained_on_a_rented_machine() -> None:
    base = {
        "model": {"preset": "llama3-8b"},
        "workload": {"kind": "lora", "tokens": 20e6},
        "currency": "KRW",
    }
    found = decision(systems(("dgx-h100", 1), ("dgx-h100", 8), ("aws-p5", 1)), base)
    assert found.recommended == "aws1" and found.tied == []
    assert found.overturned_by[0].input == "demand.runs"
    rented = next(one for one in found.options if one.id == "aws1")
    assert rented.outlay is not None and rented.outlay.value < 100_000


def test_a_purchase_within_ten_billion_won_is_no_larger_than_the_date_needs() -> None:
    counts = (2, 3, 4, 6, 8, 12)
    found = decision(
        systems(*(("dgx-b200", count) for count in counts)),
        LLAMA,
        deadline_s=60 * DAY,
        budget=10e9,
        budget_kind="purchase",
    )
    fewest = next(one for one in found.options if one.meets)
    assert found.recommended == fewest.id in {"dgx2", "dgx3"}
    assert fewest.purchase is not None and 1e9 < fewest.purchase.value < 3e9


def test_one_run_of_five_billion_won_is_rented_and_nothing_over_the_budget_is_named() -> None:
    found = decision(
        systems(("dgx-h100", 4), ("dgx-h100", 8), ("aws-p5", 8)), LLAMA, deadline_s=60 * DAY, budget=5e9
    )
    assert found.recommended == "aws8"
    rented = next(one for one in found.options if one.id == "aws8")
    assert rented.run is not None and 0.3e9 < rented.run.value < 0.6e9
    for one in found.options:
        assert one.why_not != "over_budget" or one.purchase is None or one.purchase.value > 4e9


def test_what_is_half_likely_to_meet_a_date_is_too_late() -> None:
    base = {
        "model": {"preset": "gpt3-175b"},
        "workload": {"tokens": 3e11},
        "currency": "KRW",
        "software": "megatron-core",
    }
    found = decision(
        systems(("dgx-a100-640gb", 20), ("aws-p4d", 20)),
        base,
        deadline_s=150 * DAY,
        probability=0.8,
        budget=20e9,
        budget_kind="term",
    )
    assert found.recommended == "dgx20"
    assert {one.id: one.why_not for one in found.options} == {"dgx20": None, "aws20": "too_late"}


def test_published_rows_change_nothing_between_offers() -> None:
    base = {"model": {"preset": "bert-large"}, "workload": {"samples": 1e7}}
    offers = systems(("dgx-a100-640gb", 3), ("bow-pod64", 1))
    rows = [
        {"key": "v", "label": "Vendor", "figure": {"hours": 2.0, "kind": "vendor"}},
        {"key": "w", "label": "Scaled", "figure": {"kind": "linear", "scaled_from": "v", "factor": 3}},
    ]
    alone, beside = decision(offers, base), decision([*offers, *rows], base)
    assert alone.recommended == beside.recommended is not None
    assert alone.tied == beside.tied and alone.margin == beside.margin
    assert [one.why_not for one in beside.options[2:]] == ["published", "published"]
