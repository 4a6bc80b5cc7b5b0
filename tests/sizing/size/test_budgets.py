"""What a budget pays: purchase, run and term; the margin of a winner, and prices that overturn it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import BadInput
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.sizings.answering import SizingSamples, restated, size
from app.features.sizings.judging import sampled_option
from app.features.sizings.model import KINDS, Sizing, SizingOption, SizingRequest
from app.features.sizings.words import sentences
from app.platform.wording.voice import voice
from tests.sizing.asking import sizing_context
from tests.sizing.size.requests import DAY, asked

SYSTEMS = ["dgx-a100-640gb", "dgx-a100-320gb", "aws-p4d", "bow-pod16"]

WON = 1e9


@pytest.fixture(scope="module")
def whole() -> SizingSamples:
    """Owned and rented systems at a few counts, without limits."""
    return size(asked(systems=SYSTEMS, counts=[1, 2, 4, 8]), sizing_context())


def under(whole: SizingSamples, **limits: Any) -> Sizing:
    """Return a sizing judged under limits."""
    options = [sampled_option(one, whole.samples.get(one.id)) for one in whole.document.options]
    return restated(whole.document, options, whole.document.request.model_copy(update=limits))


def by_id(found: Sizing) -> dict[str, SizingOption]:
    """Return the options by identifier."""
    return {option.id: option for option in found.options}


def said(found: Sizing, language: str = "en") -> list[str]:
    """Return the answer in a language."""
    return [voice(language).sentence(one) for one in sentences(found)]


def large(preset: str, tokens: float, days: float, budget: float, **parts: Any) -> Sizing:
    """Return the sizing of a language model over A100 systems, in won."""
    body = {
        "model": {"preset": preset},
        "workload": {"tokens": tokens},
        "deadline_s": days * DAY,
        "budget": budget,
        "currency": "KRW",
        "systems": ["a100-sxm-40gb", "a100-sxm-80gb", "dgx-a100-640gb"],
        "counts": [16, 32, 64, 128, 256],
        **parts,
    }
    return size(SizingRequest.model_validate(body), sizing_context()).document


@pytest.mark.parametrize("kind", [None, "purchase"])
def test_llama2_70b_in_60_days_for_10_billion_won_is_not_met_by_purchase(kind: str | None) -> None:
    """256 nodes, which cost 59 billion to buy, were said to meet a budget of 10 billion."""
    found = large("llama2-70b", 2e12, 60, 10 * WON, budget_kind=kind)
    assert found.outcome == "not_met" and found.ranked_by == "purchase"
    assert {option.budget_kind for option in found.options} == {"purchase"}
    assert found.nearest is not None
    needed = next(change for change in found.nearest.changes if change.field == "budget")
    assert needed.kind == "purchase" and needed.value is not None and needed.value > 50 * WON
    assert "would buy" in needed.text.message


def test_gpt3_175b_in_30_days_for_1_billion_won_names_what_it_costs_to_buy() -> None:
    """“₩1.7 bn would pay for 128 × A100” was said of what costs some 30 billion."""
    found = large("gpt3-175b", 300e9, 30, 1 * WON)
    assert found.outcome == "not_met" and found.nearest is not None
    needed = next(change for change in found.nearest.changes if change.field == "budget")
    bought = by_id(found)[needed.option or ""].costs.purchase
    assert needed.value is not None and bought is not None
    assert bought.value <= needed.value <= bought.high * 1.1
    assert needed.value > 25 * WON
    english, korean = said(found), said(found, "ko")
    assert any(" would buy 128 × HGX A100" in one for one in english)
    assert any("구매할 수 있습니다" in one for one in korean)


def test_only_rented_systems_within_a_budget_say_what_buying_takes(whole: SizingSamples) -> None:
    found = under(whole, deadline_s=5 * 3600.0, budget=1500.0)
    assert found.outcome == "met" and found.ranked_by == "run"
    kinds = {option.acquisition: option.budget_kind for option in found.options}
    assert kinds == {"own": "purchase", "rent": "run"}
    assert {option.acquisition for option in found.options if option.meets} == {"rent"}
    assert found.purchase_needed is not None and found.purchase_needed.kind == "purchase"
    assert any("No purchase meets the budget" in one for one in said(found))
    assert any("구매로는 예산을 맞출 수 없습니다" in one for one in said(found, "ko"))


def test_the_three_costs_are_those_of_the_estimate(whole: SizingSamples) -> None:
    for identifier in ("dgx-a100-640gb-x4", "aws-p4d-x2", "bow-pod16-x1"):
        option = by_id(whole.document)[identifier]
        answer = estimate(EstimateRequest.model_validate(option.estimate), sizing_context())
        cost = answer.cost
        assert cost is not None and option.costs.run is not None and option.costs.term is not None
        assert option.costs.run.value == pytest.approx(cost.run.value)
        assert cost.over_term is not None and option.costs.term.value == pytest.approx(cost.over_term.value)
        if option.acquisition == "rent":
            assert cost.capex is None and option.costs.purchase is None
        else:
            assert cost.capex is not None and option.costs.purchase is not None
            assert option.costs.purchase.value == cost.capex.value
            lines = {line.item for line in cost.lines}
            assert option.count == 1 or "fabric" in lines


def test_a_superpod_costs_what_its_machines_and_their_network_do() -> None:
    found = size(
        asked(systems=["dgx-superpod-a100", "dgx-a100-320gb"], counts=[2, 40], most_accelerators=320),
        sizing_context(),
    ).document
    pods, nodes = (
        by_id(found)[name].costs.purchase for name in ("dgx-superpod-a100-x2", "dgx-a100-320gb-x40")
    )
    assert pods is not None and nodes is not None and pods.value == pytest.approx(nodes.value)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e3, 1e8), st.floats(1.0, 10.0), st.sampled_from([None, *KINDS]))
def test_more_money_never_leaves_fewer_options(
    whole: SizingSamples, budget: float, more: float, kind: str | None
) -> None:
    less = under(whole, budget=budget, budget_kind=kind)
    greater = by_id(under(whole, budget=budget * more, budget_kind=kind))
    for option in less.options:
        assert greater[option.id].meets >= option.meets
        assert (greater[option.id].probability or 0) >= (option.probability or 0)


def test_what_is_rented_keeps_no_budget_to_buy(whole: SizingSamples) -> None:
    found = under(whole, budget=1e9, budget_kind="purchase")
    for option in found.options:
        assert option.meets == (option.acquisition == "own") and option.budget_kind == "purchase"
    rented = size(
        asked(systems=["aws-p4d"], counts=[1], budget=1e9, budget_kind="purchase"), sizing_context()
    )
    assert rented.document.nearest is not None
    assert [change.field for change in rented.document.nearest.changes] == ["budget_kind"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_asked_for_ranks(whole: SizingSamples, kind: str) -> None:
    found = under(whole, deadline_s=DAY, budget_kind=kind)
    costs = [getattr(option.costs, kind) for option in found.options if option.meets]
    known = [cost.value for cost in costs if cost is not None]
    assert found.ranked_by == kind and known == sorted(known)
    cheapest = getattr(by_id(found)[found.cheapest or ""].costs, kind)
    assert cheapest.value == known[0]


def test_term_samples_are_those_of_an_hour_times_the_hours(whole: SizingSamples) -> None:
    option = by_id(whole.document)["dgx-a100-640gb-x2"]
    assert option.costs.term is not None
    value, samples = sampled_option(option, whole.samples[option.id]).money("term")
    assert value == option.costs.term.value
    assert np.percentile(samples, 90) == pytest.approx(option.costs.term.high, rel=1e-6)


def test_the_winner_states_its_margin(whole: SizingSamples) -> None:
    found = under(whole, deadline_s=DAY, budget_kind="purchase")
    margin, options = found.margin, by_id(found)
    assert margin is not None and margin.option == found.cheapest
    assert options[margin.over].system != options[margin.option].system
    if not margin.tie:
        assert found.recommended == margin.option
        first, second = (options[name].costs.purchase for name in (margin.option, margin.over))
        if margin.by == "purchase":
            assert first is not None and second is not None
            assert margin.share.value == pytest.approx(1 - first.value / second.value)
    assert 0 <= margin.probability <= 1


def test_nothing_is_recommended_where_nothing_separates_the_options() -> None:
    """A SuperPOD of 20 and twenty DGX A100 are the same machines on the same network."""
    parts = {"systems": ["dgx-superpod-a100", "dgx-a100-320gb"], "counts": [1, 20]}
    found = size(asked(**parts, deadline_s=30 * DAY, budget_kind="purchase"), sizing_context())
    twenty = [option for option in found.document.options if option.machines == 20]
    keep = {option.id: found.samples[option.id] for option in twenty}
    level = under(SizingSamples(found.document.model_copy(update={"options": twenty}), keep))
    assert level.margin is not None and level.margin.tie and level.recommended is None
    assert level.cheapest is not None and set(level.margin.tied) <= {option.id for option in twenty}
    assert any("nothing is recommended" in one for one in said(level))
    assert any("추천하지 않습니다" in one for one in said(level, "ko"))


def test_a_price_that_overturns_the_answer_does_so() -> None:
    """The price at which the answer turns, put in as the customer's own, makes both cost the same."""
    parts: dict[str, Any] = {"counts": [2], "deadline_s": 5 * DAY, "budget_kind": "purchase"}
    found = size(asked(**parts, systems=["dgx-a100-640gb", "dgx-a100-320gb"]), sizing_context()).document
    assert found.margin is not None and found.cheapest == "dgx-a100-320gb-x2"
    limit = next(one for one in found.margin.overturned_by if one.direction == "below")
    assert limit.wins == "dgx-a100-640gb-x2" and limit.price.status == "estimate"
    stated = {"assumptions": {"system_price": limit.value}}
    turned = size(asked(**parts, systems=["dgx-a100-640gb"], **stated), sizing_context()).document
    mine, theirs = turned.options[0].costs.purchase, by_id(found)["dgx-a100-320gb-x2"].costs.purchase
    assert mine is not None and theirs is not None
    assert mine.value == pytest.approx(theirs.value, rel=0.01)
    assert any("DGX A100 640GB is below $" in one and "estimate" in one for one in said(found))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("system", ["dgx-a100-640gb", "a100-sxm-40gb", "aws-p4d"])
def test_costs_grow_with_a_price_by_its_share(system: str, kind: str) -> None:
    parts: dict[str, Any] = {"systems": [system], "counts": [4]}
    (option,) = size(asked(**parts), sizing_context()).document.options
    assert option.price is not None
    field = "hourly_price" if option.acquisition == "rent" else "system_price"
    more = {"assumptions": {field: option.price.price.value * 1.5}}
    (dearer,) = size(asked(**parts, **more), sizing_context()).document.options
    share, before, after = (getattr(one, kind) for one in (option.price.shares, option.costs, dearer.costs))
    if before is None:
        assert share is None and after is None
    else:
        assert after.value == pytest.approx(before.value * (1 + 0.5 * share), rel=1e-6)


def test_machines_the_plan_leaves_idle_are_counted(whole: SizingSamples) -> None:
    for option in whole.document.options:
        plan = option.plan
        degrees = [plan.tensor or 1, plan.pipeline or 1, plan.data or 1]
        used = int(np.prod(degrees))
        assert 0 <= option.idle_machines < option.machines
        assert (option.machines - option.idle_machines) * option.accelerators >= used * option.machines


def test_a_budget_to_buy_contradicts_renting() -> None:
    with pytest.raises(BadInput) as caught:
        size(asked(budget_kind="purchase", assumptions={"acquisition": "rent"}), sizing_context())
    assert caught.value.errors[0].field == "budget_kind"
