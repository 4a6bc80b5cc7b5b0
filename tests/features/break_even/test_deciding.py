"""Build or rent: the article's figures, what turns the answer, what is warned of, what is refused."""

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from app.errors import AppError, BadInput, NotFound, Unprocessable
from app.estimating.context import SizingContext
from app.estimating.network_parts import network_bill
from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEven, BreakEvenRequest

ARTICLE: dict[str, Any] = {
    "currency": "KRW",
    "capex": 20 * 199_000 * 1_100,
    "onprem_monthly": 50e6,
    "cloud_monthly": 300e6,
}

PRICED: dict[str, Any] = {
    "currency": "KRW",
    "hardware": {"system": "dgx-a100-320gb", "count": 20},
    "onprem": {},
    "cloud": {"system": "aws-p4d", "count": 20, "hours_per_month": 600},
}


def answer(context: SizingContext, base: dict[str, Any] = ARTICLE, **changes: Any) -> BreakEven:
    return decide(BreakEvenRequest.model_validate(base | changes), context)


def codes(found: BreakEven) -> dict[str, dict[str, Any]]:
    """Return the values of each warning."""
    return {warning.code: warning.text.values for warning in found.warnings}


def test_the_article(context: SizingContext) -> None:
    found = answer(context)
    assert found.months == pytest.approx(17.512)
    assert found.outcome == "within_horizon"
    assert found.horizon_months == 48
    assert [row.input for row in found.tornado] == ["cloud_monthly", "capex", "onprem_monthly"]
    assert found.sentences[0].values == {"months": "17.5"}
    doubled = answer(context, cloud_monthly=600e6)
    assert doubled.months == pytest.approx(7.96)
    assert doubled.tornado[0].input == "cloud_monthly"


def test_a_lab_that_doubles_is_asked_in_three_ways(context: SizingContext) -> None:
    expected = pytest.approx(7.96)
    assert answer(context, teams_now=3, teams_then=6).months == expected
    assert answer(context, demand_factor=2).months == expected
    (case,) = (case for case in answer(context).demand_cases if case.factor == 2)
    assert case.months == expected


def test_a_bill_below_the_running_cost_is_never(context: SizingContext) -> None:
    found = answer(context, cloud_monthly=40e6)
    assert (found.months, found.outcome) == (None, "never")
    assert found.sentences[0].values["bill"]["values"]["whole"] == 40e6
    turning = answer(context, cloud_monthly=found.required_cloud_monthly * 1.0001)
    assert turning.outcome == "within_horizon"
    assert turning.months == pytest.approx(48, abs=0.02)


def test_after_the_horizon(context: SizingContext) -> None:
    found = answer(context, horizon_months=12)
    assert found.outcome == "after_horizon"
    assert found.months == pytest.approx(17.512)
    assert found.cash_flow[-1].month > 17.512
    assert found.sentences[0].values == {"horizon": 12, "months": "17.5"}


def test_the_tornado_moves_each_input_by_a_fifth_and_says_never(context: SizingContext) -> None:
    found = answer(context, cloud_monthly=55e6)
    rows = {row.input: row for row in found.tornado}
    assert rows["cloud_monthly"].low is None and rows["onprem_monthly"].high is None
    assert rows["cloud_monthly"].high == pytest.approx(4.378e9 / 16e6)
    assert rows["cloud_monthly"].reason is not None
    assert rows["cloud_monthly"].reason.message
    assert [row.input for row in found.tornado][-1] == "capex", "what changes never to some month sorts first"
    assert rows["capex"].low_input == pytest.approx(0.8 * 4.378e9)
    assert rows["capex"].spread == pytest.approx(0.4 * found.months if found.months else math.nan)


def test_use_of_the_cluster_moves_the_bill_and_ends_when_it_is_full(context: SizingContext) -> None:
    found = answer(context, utilisation=0.9)
    assert found.months == pytest.approx(17.512), "the bill is what is paid for that use"
    (row,) = (row for row in found.tornado if row.input == "utilisation")
    assert row.high_input == 1.0
    assert row.high == pytest.approx(4.378e9 / (300e6 / 0.9 - 50e6))
    assert found.required_utilisation == pytest.approx(0.9 * found.required_cloud_monthly / 300e6)
    doubled = answer(context, utilisation=0.9, demand_factor=2)
    assert doubled.replaced_monthly == pytest.approx(300e6 / 0.9)
    assert doubled.cloud_monthly == pytest.approx(600e6)
    assert "cluster_too_small" in codes(doubled)
    growing = answer(context, utilisation=0.5, growth=1.0)
    assert codes(growing)["cluster_full"] == {"month": "12.0"}


def test_both_sides_meet_at_the_break_even(context: SizingContext) -> None:
    found = answer(context, discount_rate=0.08, growth=0.1)
    assert found.months is not None
    before = [point for point in found.cash_flow if point.month < found.months]
    after = [point for point in found.cash_flow if point.month > found.months]
    assert all(point.saving < 0 for point in before) and all(point.saving > 0 for point in after)
    assert found.cash_flow[0].own == pytest.approx(4.378e9)
    (end,) = (point for point in found.cash_flow if point.month == found.horizon_months)
    assert end.own == pytest.approx(found.own_at_horizon)
    assert end.cloud == pytest.approx(found.cloud_at_horizon)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.floats(1e3, 1e11), st.floats(0.0, 1e9), st.floats(1e3, 1e10), st.sampled_from([1e-3, 7.0, 1380.0]))
def test_the_unit_of_money_decides_nothing(
    context: SizingContext, capex: float, own: float, bill: float, unit: float
) -> None:
    amounts = {"capex": capex, "onprem_monthly": own, "cloud_monthly": bill}
    one = answer(context, amounts | {"currency": "KRW"})
    other = answer(context, {name: value * unit for name, value in amounts.items()} | {"currency": "USD"})
    assert (one.months is None) == (other.months is None)
    if one.months is not None:
        assert other.months == pytest.approx(one.months)
    assert {row.input for row in one.tornado} == {row.input for row in other.tornado}


def test_ranges_give_a_band_and_a_probability(context: SizingContext) -> None:
    found = answer(context, horizon_months=18, ranges={"cloud_monthly": {"low": 240e6, "high": 375e6}})
    assert found.months_low is not None and found.months_high is not None
    assert found.months_low == pytest.approx(4.378e9 / 325e6, rel=0.02), (
        "a tenth of bills is above the high end"
    )
    assert found.months_high == pytest.approx(4.378e9 / 190e6, rel=0.02)
    assert found.probability == pytest.approx(0.55, abs=0.03)
    assert found.cash_flow[-1].cloud_low is not None
    certain = answer(context, ranges={"cloud_monthly": {"low": 20e6, "high": 320e6}})
    assert certain.months_high is None, "the unlucky tenth never breaks even"


def test_a_cluster_is_priced_from_the_catalogue(context: SizingContext) -> None:
    found = answer(context, PRICED)
    lines = {line.item: line.amount for line in found.capex_lines}
    rate = context.catalog.figure("cost-defaults", "exchange_rate", "krw").si
    assert lines["machines"] == pytest.approx(20 * 199_000 * rate)
    network = network_bill(context.catalog, fabric="hdr-infiniband", nodes=20, ports_per_node=8)
    assert lines["fabric"] == pytest.approx(network.price.value * rate), "its switches and cables, no share"
    assert sum(lines.values()) == pytest.approx(found.capex.value)
    assert sum(line.amount for line in found.onprem_lines) == pytest.approx(found.onprem_monthly)
    assert found.cloud_lines[0].amount == pytest.approx(found.cloud_monthly)
    assert codes(found).keys() >= {"exchange_rate_dated", "capacity_compared"}
    assert not codes(found).keys() & {"capex_excludes_fabric", "capacity_not_checked"}
    sources = {one.id for step in found.trace for one in step.source}
    assert {"eetimes-graphcore-2020", "cloud-gpu-pricing-2026", "kepco-tariff-2026"} <= sources
    assert {default.field for default in found.defaults} >= {
        "onprem.pue",
        "onprem.tariff",
        "cloud.hourly_price",
    }
    (use,) = (default.value for default in found.defaults if default.field == "utilisation")
    assert use == pytest.approx(600 / 730.5, rel=1e-5)
    (case,) = (case for case in found.demand_cases if case.factor == 2)
    assert case.replaced_monthly == pytest.approx(found.cloud_monthly * 730.5 / 600), (
        "a full cluster, no more"
    )
    inputs = {row.input for row in found.tornado}
    assert inputs >= {"onprem.power_kw", "onprem.staff", "onprem.tariff", "cloud.hourly_price", "capex"}


def test_stated_parts_replace_those_of_the_catalogue(context: SizingContext) -> None:
    parts = {
        "power_kw": 100,
        "pue": 1.2,
        "tariff": 150,
        "staff": 2,
        "staff_cost": 90e6,
        "space": 0,
        "support": 0,
    }
    found = answer(context, PRICED | {"onprem": parts})
    lines = {line.item: line.amount for line in found.onprem_lines}
    assert lines["power"] == pytest.approx(100 * 1.2 * 730.5 * 150)
    assert lines["staff"] == pytest.approx(15e6)
    assert lines["space"] == lines["support"] == 0


def test_dollars_and_won_decide_alike(context: SizingContext) -> None:
    won, dollars = answer(context, PRICED), answer(context, PRICED | {"currency": "USD"})
    assert dollars.months == pytest.approx(won.months)
    assert dollars.capex.value * 1422.16 == pytest.approx(won.capex.value)


def test_a_cluster_too_small_for_the_bill_is_told(context: SizingContext) -> None:
    found = answer(context, PRICED | {"hardware": {"system": "dgx-a100-320gb", "count": 10}})
    assert (codes(found)["capacity_short"]["own"], codes(found)["capacity_short"]["times"]) == (80, 1.64)
    assert found.replaced_monthly == pytest.approx(found.cloud_monthly * 730.5 / 600 / 2)
    assert "utilisation" not in {row.input for row in found.tornado}
    pod = answer(context, PRICED | {"hardware": {"system": "bow-pod16"}})
    assert "capacity_not_checked" in codes(pod)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "capex_excludes_fabric"),
        ({}, "capacity_not_checked"),
        ({}, "not_discounted"),
        ({"horizon_months": 72}, "horizon_beyond_life"),
        ({"growth": 0.3}, "growth_extrapolated"),
        ({"own_growth": 1.0, "horizon_months": 120}, "advantage_ends"),
    ],
)
def test_what_is_warned_of(context: SizingContext, changes: dict[str, Any], code: str) -> None:
    assert code in codes(answer(context, **changes))


def test_a_complete_statement_is_not_warned_of(context: SizingContext) -> None:
    found = answer(context, capex_includes_fabric=True, discount_rate=0.08, horizon_months=48)
    assert set(codes(found)) == {"capacity_not_checked"}


def test_the_base_is_owned_and_the_peak_rented(context: SizingContext) -> None:
    demand = [0.2] * 9 + [1.0] * 3
    found = answer(context, demand=demand, cloud_monthly=150e6).mixed
    assert found is not None
    own = 4.378e9 / 48 + 50e6
    rent = 150e6 / 0.4
    assert found.worth_owning_share == pytest.approx(own / rent)
    assert found.best.owned == 0.2
    assert found.best.total == pytest.approx(0.2 * own + 0.8 * 3 / 12 * rent)
    assert found.best.total <= min(point.total for point in found.points)
    assert found.all_rented.total == pytest.approx(150e6)
    assert found.all_owned.total == pytest.approx(own)
    assert found.load == sorted(demand, reverse=True)
    mixed = answer(context, demand=demand, cloud_monthly=150e6)
    assert [one.values["share"] for one in mixed.sentences if "owned" in one.values] == [20]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"capex": -1}, "capex"),
        ({"capex": 0}, "capex"),
        ({"capex": math.nan}, "capex"),
        ({"capex": math.inf}, "capex"),
        ({"capex": 1e30}, "capex"),
        ({"onprem_monthly": -1}, "onprem_monthly"),
        ({"cloud_monthly": 0}, "cloud_monthly"),
        ({"discount_rate": -0.1}, "discount_rate"),
        ({"horizon_months": 0}, "horizon_months"),
        ({"horizon_months": 1e6}, "horizon_months"),
        ({"growth": -1}, "growth"),
        ({"utilisation": 1.1}, "utilisation"),
        ({"utilisation": 5e-324}, "utilisation"),
        ({"demand": []}, "demand"),
        ({"demand": [0.5] * 10_000}, "demand"),
        ({"currency": "euro"}, "currency"),
        ({"bill": 3}, "bill"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(
    context: SizingContext, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        answer(context, **changes)
    assert [error["loc"][0] for error in refused.value.errors()] == [field]


@pytest.mark.parametrize(
    ("changes", "kind", "field"),
    [
        ({"capex": None}, Unprocessable, "capex"),
        ({"hardware": {"system": "dgx-a100-320gb"}}, BadInput, "capex"),
        ({"onprem": {}}, BadInput, "onprem_monthly"),
        ({"onprem_monthly": None, "onprem": {}}, Unprocessable, "onprem.power_kw"),
        ({"onprem_monthly": None, "onprem": {"power_kw": 5}}, Unprocessable, "onprem.staff"),
        ({"teams_now": 2}, BadInput, "teams_then"),
        ({"teams_now": 2, "teams_then": 3, "demand_factor": 2}, BadInput, "demand_factor"),
        ({"demand": [0.0, 0.0]}, BadInput, "demand"),
        ({"demand": [1e-300]}, BadInput, "demand"),
        ({"demand": [0.5, -1.0]}, BadInput, "demand.1"),
        ({"ranges": {"capex": {"low": 1, "high": 2}}}, BadInput, "ranges.capex"),
        ({"ranges": {"growth": {"low": 0, "high": 1}}}, BadInput, "ranges.growth"),
        ({"ranges": {"capex": {"low": 0, "high": 1e10}}}, BadInput, "ranges.capex"),
        ({"price_book_id": "pb_nobody"}, NotFound, "price_book_id"),
        ({"capex": None, "hardware": {"system": "dgx-a100"}}, NotFound, "hardware.system"),
        ({"capex": None, "hardware": {"system": "aws-p4d"}}, BadInput, "hardware.system"),
        (
            {"cloud_monthly": None, "cloud": {"system": "dgx-a100-320gb", "hours_per_month": 1}},
            BadInput,
            "cloud.system",
        ),
        (
            {
                "cloud_monthly": None,
                "cloud": {"system": "lambda-8xa100", "hours_per_month": 1, "rental": "spot"},
            },
            BadInput,
            "cloud.rental",
        ),
    ],
)
def test_contradictions_are_refused_at_their_field(
    context: SizingContext, changes: dict[str, Any], kind: type[AppError], field: str
) -> None:
    with pytest.raises(kind) as refused:
        answer(context, **changes)
    assert [error.field for error in refused.value.errors] == [field]


def test_no_answer_holds_a_number_that_is_none(context: SizingContext) -> None:
    """Extremes of every input still give an answer that JSON can say."""
    ends = itertools.product((1e-6, 1e18), (0.0, 1e18), (1e-6, 1e18), (-0.99, 5.0), (0.0, 1.0))
    for capex, own, bill, growth, rate in ends:
        found = answer(
            context,
            capex=capex,
            onprem_monthly=own,
            cloud_monthly=bill,
            growth=growth,
            own_growth=growth,
            discount_rate=rate,
            residual_share=1.0,
            horizon_months=600,
            demand=[1.0],
        )
        json.dumps(found.model_dump(), allow_nan=False)
