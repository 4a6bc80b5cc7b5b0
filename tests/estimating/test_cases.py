"""Questions whose answer is known before it is asked: docs/decisions-by-example.md, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from app.catalog.entries import ChipKind
from app.engine.units import DAY
from app.estimating.costing import Charges
from app.estimating.decision import Alternative, Decision, DecisionQuestion
from app.estimating.deliberation import decision_of
from app.estimating.estimate import estimate
from app.estimating.options import alternative_of, usual_term
from app.estimating.outlay import Uncertain
from app.estimating.prices import prices
from app.estimating.ranges import SAMPLES
from app.estimating.request import AssumptionsInput, Demand, EstimateRequest, Limits
from tests.conftest import sizing_context

WORKS: Mapping[str, Mapping[str, Any]] = {
    "lora": {"model": {"preset": "llama3-8b"}, "workload": {"tokens": 2e7, "kind": "lora"}},
    "llama": {"model": {"preset": "llama-7b"}, "workload": {"tokens": 2e12}},
    "gpt3": {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9}},
    "vit": {"model": {"preset": "vit-large"}, "workload": {"epochs": 300, "dataset_samples": 1_281_167}},
    "resnet": {"model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}},
}


@cache
def offered(
    work: str, system: str, count: int = 1, *, name: str = "", named: bool = True, **assumptions: Any
) -> Alternative:
    """Return a system of the catalogue as an option, as its estimate says."""
    context = sizing_context()
    request = EstimateRequest.model_validate(
        {
            **WORKS[work],
            "system": {"id": system, "count": count},
            "assumptions": assumptions,
            "currency": "KRW",
        }
    )
    found = estimate(request, context)
    if work == "llama":
        # With the software of the chip named, options differ by what it reaches on each.
        request = request.model_copy(update={"software": found.software})
        found = estimate(request, context)
    hardware, catalog, family = context.hardware.asked(request.system), context.catalog, found.model.family
    rates = prices(hardware, request.assumptions, "KRW", catalog, [], family)
    time: Uncertain | None = None
    if found.time_to_train is not None and found.time_samples is not None:
        time = found.time_to_train.value, np.array(found.time_samples)
    return alternative_of(
        name or f"{system}-x{count}",
        name or f"{count} × {system}",
        hardware,
        None if rates is None else Charges(hardware, rates, currency="KRW"),
        time,
        assumptions=request.assumptions,
        catalog=catalog,
        family=family,
        named=named,
        doubts=[warning.code for warning in found.warnings],
    )


def asked(*options: Alternative, demand: Demand | None = None, **limits: Any) -> Decision:
    question = DecisionQuestion.of(Limits.model_validate(limits), demand, "KRW")
    return decision_of(options, question, usual_term(AssumptionsInput(), sizing_context().catalog))


def reasons(found: Decision) -> dict[str, str | None]:
    return {option.id: option.why_not for option in found.options}


def lora_options() -> list[Alternative]:
    return [
        offered("lora", "h100-sxm-80gb"),
        offered("lora", "h100-sxm-80gb", 8),
        offered("lora", "aws-p5"),
    ]


def llama_options() -> list[Alternative]:
    bought = [offered("llama", "dgx-b200", count) for count in (2, 3, 4)]
    return [*bought, *(offered("llama", "aws-p5", count) for count in (4, 8, 16))]


def test_1_minutes_of_work_are_rented() -> None:
    found = asked(*lora_options())
    assert found.recommended == "aws-p5-x1"
    assert found.options[2].idle_share is None
    assert (found.options[0].idle_share or 0.0) > 0.99


def test_2_machines_that_save_minutes_are_not_bought() -> None:
    found = asked(*lora_options()[:2])
    assert found.recommended == "h100-sxm-80gb-x1"
    assert reasons(found)["h100-sxm-80gb-x8"] == "costs_more"


def test_3_minutes_of_work_a_hundred_times_a_day_are_owned() -> None:
    found = asked(*lora_options(), demand=Demand(runs_per_year=36_500))
    assert found.runs == 146_000
    assert found.recommended == "h100-sxm-80gb-x1"


def test_4_the_smallest_count_in_time_is_bought() -> None:
    options = [offered("llama", "dgx-b200", count) for count in range(2, 13)]
    for days in (60, 45):
        found = asked(*options, deadline_s=days * DAY, budget=10e9, budget_kind="purchase")
        smallest = next(option.id for option in found.options if option.meets)
        assert (found.recommended, found.tied) == (smallest, [])
        assert smallest in ("dgx-b200-x2", "dgx-b200-x3")
    assert found.recommended == "dgx-b200-x3"
    assert reasons(found)["dgx-b200-x2"] == "too_late"
    assert reasons(found)["dgx-b200-x4"] == "costs_more"


def test_5_one_run_is_rented_and_the_faster_of_equal_rents() -> None:
    found = asked(*llama_options(), deadline_s=45 * DAY, budget=5e9)
    assert (found.recommended, found.tied) == ("aws-p5-x16", ["aws-p5-x8"])
    met = [option.purchase or option.run for option in found.options if option.meets]
    assert all(paid is not None and paid.value < 5e9 for paid in met)


def test_6_ten_runs_a_year_are_owned() -> None:
    found = asked(*llama_options(), demand=Demand(runs_per_year=10), deadline_s=45 * DAY)
    assert found.runs == 40
    assert found.recommended == "dgx-b200-x3"
    (entry,) = [entry for entry in found.overturned_by if entry.input == "demand.runs"]
    assert entry.then is not None and entry.then.startswith("aws-p5")
    assert entry.at is not None and 2 <= entry.at.value < 40


def test_7_what_is_always_busy_is_owned() -> None:
    found = asked(*llama_options(), demand=Demand(utilisation=0.9), deadline_s=45 * DAY)
    assert found.recommended == "dgx-b200-x3"
    assert 0.05 < (next(o.idle_share for o in found.options if o.id == found.recommended) or 0.0) < 0.15


def test_8_a_deadline_decides_the_count() -> None:
    options = [offered("gpt3", "dgx-h100", count) for count in (8, 16, 32, 64, 128)]
    found = asked(*options, deadline_s=30 * DAY)
    assert found.recommended == "dgx-h100-x64"
    assert reasons(found)["dgx-h100-x32"] == "too_late"
    assert reasons(found)["dgx-h100-x128"] == "costs_more"


def test_9_what_does_not_fit_is_not_recommended() -> None:
    found = asked(offered("gpt3", "l40s-8"))
    assert (found.recommended, found.nearest) == (None, None)
    assert reasons(found) == {"l40s-8-x1": "does_not_fit"}
    assert len(found.sentences) == 1


def test_10_late_options_need_time() -> None:
    found = asked(offered("gpt3", "dgx-h100", 4), offered("gpt3", "dgx-h100", 8), deadline_s=10 * DAY)
    assert found.recommended is None
    assert set(reasons(found).values()) == {"too_late"}
    assert found.nearest is not None and found.nearest.date is not None
    assert found.nearest.date.id == "dgx-h100-x8"
    assert 60 * DAY < found.nearest.date.deadline_s < 400 * DAY
    assert found.nearest.money is found.nearest.work is None


def test_11_dear_options_need_money() -> None:
    options = [offered("llama", "dgx-b200", count) for count in (3, 4)]
    found = asked(*options, deadline_s=45 * DAY, budget=1e9, budget_kind="purchase")
    assert found.recommended is None
    assert set(reasons(found).values()) == {"over_budget"}
    assert found.nearest is not None and found.nearest.money is not None
    assert found.nearest.money.id == "dgx-b200-x3"
    assert 1.8e9 < found.nearest.money.budget < 4e9
    assert found.nearest.date is None and found.nearest.work is None


def test_12_a_day_of_vision_is_rented() -> None:
    assert asked(offered("vit", "h100-sxm-80gb"), offered("vit", "aws-p5")).recommended == "aws-p5-x1"


def test_13_a_pod_that_costs_less_and_is_no_slower_is_bought_with_a_warning() -> None:
    found = asked(
        offered("resnet", "bow-pod16"), offered("resnet", "dgx-a100-640gb"), demand=Demand(utilisation=0.75)
    )
    assert found.recommended == "bow-pod16-x1"
    assert any("no longer sold new" in text.template for text in found.sentences)


def test_14_what_is_no_longer_sold_is_not_proposed_unasked() -> None:
    options = [
        offered("llama", "dgx-a100-640gb", named=False),
        offered("llama", "h100-sxm-80gb", named=False),
    ]
    found = asked(*options, demand=Demand(utilisation=0.9))
    assert found.recommended == "h100-sxm-80gb-x1"
    assert reasons(found)["dgx-a100-640gb-x1"] in ("not_on_sale", "no_capacity")


def test_15_prices_that_hardly_differ_tie() -> None:
    found = asked(
        offered("llama", "h100-sxm-80gb", name="first", system_price=4e8),
        offered("llama", "h100-sxm-80gb", name="second", system_price=4.1e8),
    )
    assert (found.recommended, found.tied) == ("first", ["second"])


def test_16_what_has_no_price_takes_no_part_in_the_money() -> None:
    options = llama_options()
    unpriced = replace(options[2], id="unpriced", purchase=None, run=None, outlay=None, price=None)
    limits = {"deadline_s": 45 * DAY}
    without, found = asked(*options, **limits), asked(*options, unpriced, **limits)
    assert (found.recommended, found.tied, found.margin) == (
        without.recommended,
        without.tied,
        without.margin,
    )
    assert found.overturned_by == without.overturned_by
    assert (found.options[-1].meets, found.options[-1].why_not) == (True, "no_price")
    assert asked(*options, unpriced, **limits, budget=5e9).options[-1].meets is False


def test_17_published_figures_are_for_sale_nowhere() -> None:
    figures = [
        Alternative(
            id=name, name=name, owned=True, time=(days * DAY, np.full(SAMPLES, days * DAY)), published=True
        )
        for name, days in (("vendor", 1.0), ("other", 2.0))
    ]
    found = asked(*figures)
    assert found.recommended is None
    assert reasons(found) == {"vendor": "published", "other": "published"}
    assert all(option.meets for option in found.options)
    assert found.nearest is not None
    assert found.nearest.date is found.nearest.money is found.nearest.work is None


def test_18_what_is_rented_draws_no_power_at_the_site() -> None:
    options = [
        offered("llama", "dgx-b200", 2),
        offered("llama", "dgx-b200", 3),
        offered("llama", "aws-p5", 8),
    ]
    found = asked(*options, deadline_s=45 * DAY, power_w=30e3)
    assert found.recommended == "aws-p5-x8"
    assert reasons(found)["dgx-b200-x2"] == "too_late"
    assert reasons(found)["dgx-b200-x3"] == "over_power"


def rents(*ways: str) -> list[Alternative]:
    return [offered("llama", "aws-p4d", 8, name=rental, rental=rental) for rental in ways]


def test_19_a_commitment_for_one_run_is_paid_whole() -> None:
    found = asked(*rents("on-demand", "reserved-1-year"))
    assert found.recommended == "on-demand"


def test_20_a_commitment_that_is_used_pays() -> None:
    found = asked(*rents("on-demand", "reserved-3-years"), demand=Demand(utilisation=1.0))
    assert found.recommended == "reserved-3-years"


def test_21_spot_costs_less_than_its_interruptions() -> None:
    assert asked(*rents("on-demand", "spot")).recommended == "spot"


def test_22_a_budget_for_the_term_is_held_against_all_runs() -> None:
    found = asked(*llama_options(), demand=Demand(runs_per_year=10), budget=6e9, budget_kind="term")
    assert found.recommended == "dgx-b200-x3"
    assert reasons(found)["aws-p5-x8"] == "over_budget"


def test_what_is_not_priced_still_draws_power() -> None:
    priced = offered("llama", "dgx-b200")
    context = sizing_context()
    request = EstimateRequest.model_validate({**WORKS["llama"], "system": {"id": "dgx-b200"}})
    unpriced = alternative_of(
        "x", "x", context.hardware.asked(request.system), None, None,
        assumptions=request.assumptions, catalog=context.catalog, family="llama", named=True,
    )  # fmt: skip
    assert unpriced.power is not None and priced.power is not None
    assert unpriced.power[0] == pytest.approx(priced.power[0])


def test_a_run_begins_with_its_start_up() -> None:
    found = offered("lora", "aws-p5")
    startup = sizing_context().catalog.reliability_defaults(ChipKind.GPU).startup.si
    request = EstimateRequest.model_validate({**WORKS["lora"], "system": {"id": "aws-p5"}})
    trained = estimate(request, sizing_context()).time_to_train
    assert trained is not None and found.time is not None
    assert found.time[0] == pytest.approx(trained.value + startup)
