"""What a budget pays: purchase, run and term, and what a price moves."""

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import BadInput
from app.estimating.estimate import estimate
from app.estimating.request import BudgetKind, EstimateRequest
from app.features.sizings.answering import SizingSamples, size
from app.features.sizings.model import Sizing, SizingOption, SizingRequest
from tests.conftest import sizing_context
from tests.features.sizings.conftest import DAY, asked, under

KINDS = get_args(BudgetKind)

SYSTEMS = ["dgx-a100-640gb", "dgx-a100-320gb", "aws-p4d", "bow-pod16"]

WON = 1e9


@pytest.fixture(scope="module")
def whole() -> SizingSamples:
    """Owned and rented systems at a few counts, without limits."""
    return size(asked(systems=SYSTEMS, counts=[1, 2, 4, 8]), sizing_context())


def by_id(found: Sizing) -> dict[str, SizingOption]:
    """Return the options by identifier."""
    return {option.id: option for option in found.options}


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
def test_llama2_70b_in_60_days_for_10_billion_won_is_not_met_by_purchase(kind: BudgetKind | None) -> None:
    """256 nodes, which cost 59 billion to buy, were said to meet a budget of 10 billion."""
    found = large("llama2-70b", 2e12, 60, 10 * WON, budget_kind=kind)
    assert found.recommended is None and found.decision.nearest is not None
    needed = found.decision.nearest.money
    assert needed is not None and needed.budget > 50 * WON


def test_gpt3_175b_in_30_days_for_1_billion_won_names_what_it_costs_to_buy() -> None:
    """“₩1.7 bn would pay for 128 × A100” was said of what costs some 30 billion."""
    found = large("gpt3-175b", 300e9, 30, 1 * WON)
    assert found.recommended is None and found.decision.nearest is not None
    needed = found.decision.nearest.money
    assert needed is not None and needed.budget > 25 * WON
    bought = by_id(found)[needed.id].costs.purchase
    assert bought is not None and bought.value <= needed.budget <= bought.high * 1.1


def test_without_a_kind_a_budget_buys_what_is_owned_and_rents_the_rest(whole: SizingSamples) -> None:
    found = under(whole, deadline_s=5 * 3600.0, budget=1500.0)
    assert {option.acquisition for option in found.options if option.meets} == {"rent"}
    assert all(option.why_not for option in found.options if option.acquisition == "own")


def test_the_three_costs_are_those_of_the_estimate(whole: SizingSamples) -> None:
    for identifier in ("dgx-a100-640gb-x4", "aws-p4d-x2", "bow-pod16-x1"):
        option = by_id(whole.document)[identifier]
        answer = estimate(EstimateRequest.model_validate(option.estimate), sizing_context())
        cost = answer.cost
        assert cost is not None and option.costs.run is not None and option.costs.term is not None
        assert option.costs.run.value == pytest.approx(cost.run.value)
        if option.acquisition == "rent":
            assert cost.capex is None and option.costs.purchase is None
            # Rented on demand, one run costs what its hours do.
            hours = answer.time_to_train.value / 3600.0 if answer.time_to_train else 0.0
            assert option.costs.term.value == pytest.approx(cost.hourly.value * hours, rel=0.5)
        else:
            assert cost.capex is not None and option.costs.purchase is not None
            assert option.costs.purchase.value == pytest.approx(cost.capex.value)
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
        assert option.meets == (option.acquisition == "own")
        assert option.meets or option.why_not == "over_budget"


def test_a_superpod_and_its_machines_tie() -> None:
    """A SuperPOD of 20 and twenty DGX A100 are the same machines on the same network."""
    parts = {"systems": ["dgx-superpod-a100", "dgx-a100-320gb"], "counts": [1, 20]}
    found = size(asked(**parts, deadline_s=30 * DAY), sizing_context())
    twenty = [option for option in found.options if option.document.machines == 20]
    level = under(SizingSamples(found.document, twenty))
    assert level.recommended is not None and len(level.decision.tied) == 1


def test_a_price_that_overturns_the_answer_does_so() -> None:
    """The price at which the recommendation turns, put in as the customer's own, turns it."""
    parts: dict[str, Any] = {"counts": [2], "deadline_s": 5 * DAY}
    found = size(asked(**parts, systems=["dgx-a100-640gb", "dgx-a100-320gb"]), sizing_context()).document
    assert found.recommended == "dgx-a100-320gb-x2"
    turn = next(one for one in found.decision.overturned_by if one.input == "price.dgx-a100-640gb-x2")
    assert turn.at is not None and turn.then == "dgx-a100-640gb-x2"
    for price, least in ((0.8 * turn.at.value, True), (1.4 * turn.at.value, False)):
        stated = {"assumptions": {"system_price": price}}
        own = size(asked(**parts, systems=["dgx-a100-640gb"], **stated), sizing_context()).options
        other = size(asked(**parts, systems=["dgx-a100-320gb"]), sizing_context()).options
        both = under(SizingSamples(found, [*own, *other]))
        assert (both.recommended == "dgx-a100-640gb-x2") == least


@pytest.mark.parametrize("kind", ["purchase", "term"])
@pytest.mark.parametrize("system", ["dgx-a100-640gb", "a100-sxm-40gb", "aws-p4d"])
def test_costs_grow_in_proportion_to_a_price(system: str, kind: str) -> None:
    def cost(factor: float) -> float | None:
        field = "hourly_price" if system == "aws-p4d" else "system_price"
        stated = {"assumptions": {field: 1e5 * factor}}
        (option,) = size(asked(systems=[system], counts=[4], **stated), sizing_context()).document.options
        amount = getattr(option.costs, kind)
        return None if amount is None else float(amount.value)

    one, two, three = cost(1.0), cost(2.0), cost(3.0)
    if one is None or two is None or three is None:
        assert (one, two, three) == (None, None, None) and system == "aws-p4d"
        return
    assert two > one and three - two == pytest.approx(two - one)


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
