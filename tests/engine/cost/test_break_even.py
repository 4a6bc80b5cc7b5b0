"""Payback by hand, sums month by month, limits, and what money must not depend on."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.cost.break_even import (
    BuildOrRent,
    base_and_peak_cost,
    break_even_month,
    cheapest_base,
    full_month,
    growing_payments_worth,
    monthly_rate,
    own_cost_worth,
    replaced_bill_worth,
    required_bill,
)
from app.engine.errors import EngineError

ARTICLE = BuildOrRent(capital=4.378e9, own_monthly=5e7, cloud_monthly=3e8)

capitals = st.floats(1e3, 1e12)

bills = st.floats(1.0, 1e10)

rates = st.floats(0.0, 0.5)

growths = st.floats(-0.5, 1.0)


def months(terms: BuildOrRent) -> float:
    return float(break_even_month(terms))


@pytest.mark.parametrize(("bill", "expected"), [(3e8, 17.512), (6e8, 7.96), (5e7, math.inf), (4e7, math.inf)])
def test_the_article(bill: float, expected: float) -> None:
    assert months(replace(ARTICLE, cloud_monthly=bill)) == pytest.approx(expected, abs=5e-4)


def test_discounted_payback_by_hand() -> None:
    """1,000 at 1 % a month, saving 100: the balance left after each month, until it is paid."""
    rate = 1.01**12 - 1
    balance, count = 1000.0, 0
    while balance * 1.01 > 100.0:
        balance = balance * 1.01 - 100.0
        count += 1
    found = months(BuildOrRent(capital=1000.0, own_monthly=0.0, cloud_monthly=100.0, discount_rate=rate))
    assert count < found < count + 1
    assert found == pytest.approx(-math.log(1 - 0.1) / math.log(1.01))


def test_a_saving_below_the_interest_never_repays() -> None:
    interest = 4.378e9 * float(monthly_rate(0.08))
    for saving, ends in ((interest * 0.999, False), (interest * 1.001, True)):
        terms = BuildOrRent(capital=4.378e9, own_monthly=0.0, cloud_monthly=saving, discount_rate=0.08)
        assert math.isfinite(months(terms)) is ends


@given(st.floats(1.0, 1e9), growths, rates, st.integers(1, 240))
def test_growing_payments_are_the_sum_of_the_months(
    payment: float, growth: float, rate: float, count: int
) -> None:
    grow, interest = (1 + growth) ** (1 / 12), (1 + rate) ** (1 / 12)
    summed = math.fsum(payment * grow ** (month - 1) / interest**month for month in range(1, count + 1))
    found = float(growing_payments_worth(payment, growth, rate, float(count)))
    assert found == pytest.approx(summed, rel=1e-9)


def test_payments_that_never_end() -> None:
    perpetuity = float(growing_payments_worth(100.0, 0.0, 1.01**12 - 1, math.inf))
    assert perpetuity == pytest.approx(100.0 / 0.01)
    assert math.isinf(float(growing_payments_worth(100.0, 0.08, 0.08, math.inf)))
    assert float(growing_payments_worth(0.0, 0.5, 0.0, math.inf)) == 0.0


@given(capitals, bills, bills, rates, growths, growths)
def test_break_even_is_earlier_for_a_larger_bill(
    capital: float, own: float, bill: float, rate: float, growth: float, own_growth: float
) -> None:
    terms = BuildOrRent(
        capital=capital,
        own_monthly=own,
        cloud_monthly=bill * np.array([1.0, 1.1, 2.0, 10.0]),
        discount_rate=rate,
        cloud_growth=growth,
        own_growth=own_growth,
    )
    found = break_even_month(terms).tolist()
    for sooner, later in pairwise(reversed(found)):
        assert sooner <= later * (1 + 1e-9)


@given(capitals, bills, bills, rates, growths, st.sampled_from([1100.0, 1 / 1380.0, 0.92]))
def test_the_currency_changes_no_decision(
    capital: float, own: float, bill: float, rate: float, growth: float, exchange: float
) -> None:
    def terms(factor: float) -> BuildOrRent:
        return BuildOrRent(
            capital=capital * factor,
            own_monthly=own * factor,
            cloud_monthly=bill * factor,
            discount_rate=rate,
            cloud_growth=growth,
            residual_share=0.1,
            horizon=48.0,
        )

    assert months(terms(exchange)) == pytest.approx(months(terms(1.0)), rel=1e-6)
    assert float(required_bill(terms(exchange))) == pytest.approx(float(required_bill(terms(1.0))) * exchange)


@given(capitals, bills, st.floats(1.01, 100.0))
def test_no_interest_is_the_limit_of_little_interest(capital: float, own: float, times: float) -> None:
    terms = BuildOrRent(capital=capital, own_monthly=own, cloud_monthly=own * times)
    simple = capital / (own * times - own)
    assert months(terms) == pytest.approx(simple)
    little = 1e-6 / max(simple, 1.0)
    assert months(replace(terms, discount_rate=little)) == pytest.approx(simple, rel=1e-5)


@given(st.floats(1e3, 1e9), st.floats(1.0, 1e6), st.floats(1.01, 100.0), rates)
def test_no_growth_is_the_limit_of_little_growth(
    capital: float, own: float, times: float, rate: float
) -> None:
    steady = BuildOrRent(capital=capital, own_monthly=own, cloud_monthly=own * times, discount_rate=rate)
    expected = months(steady)
    if expected < 600.0:
        growing = replace(steady, cloud_growth=1e-9)
        # Near the length at which interest eats the saving, any growth is a lot.
        assert months(growing) == pytest.approx(expected, rel=1e-3)


@given(capitals, bills, bills, rates, growths, growths)
def test_at_the_break_even_both_sides_cost_the_same(
    capital: float, own: float, bill: float, rate: float, growth: float, own_growth: float
) -> None:
    terms = BuildOrRent(
        capital=capital,
        own_monthly=own,
        cloud_monthly=bill,
        discount_rate=rate,
        cloud_growth=growth,
        own_growth=own_growth,
    )
    found = months(terms)
    if 1e-3 < found < 600.0:
        owned = float(own_cost_worth(terms, found))
        assert float(replaced_bill_worth(terms, found)) == pytest.approx(owned, rel=1e-7)
        earlier = found * 0.999
        assert float(replaced_bill_worth(terms, earlier)) < float(own_cost_worth(terms, earlier))


def test_a_bill_that_grows_past_the_running_cost_pays_back_late() -> None:
    terms = BuildOrRent(capital=1e6, own_monthly=2e4, cloud_monthly=1e4, cloud_growth=0.5)
    assert 12 * math.log(2) / math.log(1.5) < months(terms) < 120
    assert math.isinf(months(replace(terms, cloud_growth=0.0)))


def test_a_running_cost_that_outgrows_the_bill_may_close_the_window() -> None:
    terms = BuildOrRent(capital=1e6, own_monthly=1e4, cloud_monthly=5e4, own_growth=0.5)
    assert months(terms) < 60
    assert math.isinf(months(replace(terms, capital=2e6)))
    # After the window the saving turns into a loss for good.
    assert float(replaced_bill_worth(terms, 240.0)) < float(own_cost_worth(terms, 240.0))


def test_a_full_cluster_replaces_no_more() -> None:
    free = BuildOrRent(capital=1e6, own_monthly=0.0, cloud_monthly=1e4, cloud_growth=1.0)
    limited = replace(free, fullest=2.0)
    assert float(full_month(1.0, 2.0)) == pytest.approx(12.0)
    assert float(replaced_bill_worth(limited, 12.0)) == pytest.approx(float(replaced_bill_worth(free, 12.0)))
    year = float(replaced_bill_worth(limited, 24.0)) - float(replaced_bill_worth(limited, 12.0))
    assert year == pytest.approx(12 * 2e4)
    assert months(limited) > months(free)
    assert months(replace(free, fullest=1.0)) == pytest.approx(100.0)


def test_the_sale_counts_at_the_horizon_only() -> None:
    terms = BuildOrRent(capital=1000.0, own_monthly=0.0, cloud_monthly=10.0, horizon=95.0)
    assert months(terms) == pytest.approx(100.0)
    assert months(replace(terms, residual_share=0.04)) == pytest.approx(100.0)
    assert months(replace(terms, residual_share=0.06)) == 95.0
    assert months(replace(terms, residual_share=0.06, horizon=120.0)) == pytest.approx(100.0)


@given(capitals, bills, rates, st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(1.0, 600.0))
def test_the_required_bill_breaks_even_at_the_horizon(
    capital: float, own: float, rate: float, growth: float, residual: float, horizon: float
) -> None:
    terms = BuildOrRent(
        capital=capital,
        own_monthly=own,
        cloud_monthly=1.0,
        discount_rate=rate,
        cloud_growth=growth,
        residual_share=residual,
        horizon=horizon,
    )
    bill = float(required_bill(terms))
    above, below = (months(replace(terms, cloud_monthly=bill * factor)) for factor in (1.0001, 0.9999))
    assert above <= horizon * (1 + 1e-9) < below * (1 + 2e-9) or bill == 0.0


def test_arrays_are_answered_one_by_one() -> None:
    bills_ = np.array([3e8, 6e8, 4e7])
    growth = np.array([[0.0], [0.1]])
    together = break_even_month(replace(ARTICLE, cloud_monthly=bills_, cloud_growth=growth))
    assert together.shape == (2, 3)
    for row, rate in enumerate((0.0, 0.1)):
        for column, bill in enumerate(bills_):
            alone = months(replace(ARTICLE, cloud_monthly=bill, cloud_growth=rate))
            assert together[row, column] == pytest.approx(alone)


@pytest.mark.parametrize("wrong", [{"discount_rate": -1.0}, {"cloud_growth": -2.0}, {"fullest": 0.5}])
def test_what_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(EngineError):
        break_even_month(replace(ARTICLE, **wrong))


@given(
    st.lists(st.floats(0.0, 3.0), min_size=1, max_size=40),
    st.floats(1.0, 1e6),
    st.floats(1.0, 1e6),
)
def test_no_other_base_costs_less(demand: list[float], own: float, rent: float) -> None:
    used = np.array(demand)
    best = float(cheapest_base(used, own, rent))
    least = sum(float(part) for part in base_and_peak_cost(best, used, own, rent))
    owned, rented = base_and_peak_cost(np.linspace(0.0, 3.0, 301), used, own, rent)
    assert least <= float(np.min(owned + rented)) * (1 + 1e-9)


def test_steady_demand_is_owned_or_rented_whole() -> None:
    steady = np.full(12, 0.7)
    assert float(cheapest_base(steady, 100.0, 300.0)) == 0.7
    assert float(cheapest_base(steady, 300.0, 100.0)) == 0.0
