"""Money over a term against tables, limits and the two ways to count capital."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.cost.capital import (
    accelerator_hour_cost,
    capital_charge,
    monthly_payment,
    present_worth_factor,
)
from app.engine.errors import EngineError

rates = st.floats(1e-6, 0.5)

terms = st.floats(0.5, 50.0)


@pytest.mark.parametrize(
    ("rate", "years", "factor"), [(0.08, 4, 3.3121), (0.10, 5, 3.7908), (0.05, 10, 7.7217)]
)
def test_present_worth_tables(rate: float, years: float, factor: float) -> None:
    assert float(present_worth_factor(rate, years)) == pytest.approx(factor, abs=5e-5)


def test_present_worth_limits() -> None:
    assert float(present_worth_factor(0.0, 7.0)) == 7.0
    assert float(present_worth_factor(0.08, math.inf)) == pytest.approx(12.5)


@given(st.floats(1.0, 1e9), st.floats(0.0, 1.0), rates, terms)
def test_yearly_charges_are_worth_the_purchase_less_its_sale(
    price: float, share: float, rate: float, years: float
) -> None:
    charges = capital_charge(price, share, rate, years) * present_worth_factor(rate, years)
    worth = price - price * share / (1 + rate) ** years
    assert float(charges) == pytest.approx(worth, rel=1e-6, abs=1e-6 * price)


@given(st.floats(1.0, 1e9), rates, st.integers(1, 600))
def test_monthly_payments_repay_the_sum(principal: float, rate: float, months: int) -> None:
    payment = float(monthly_payment(principal, rate, months))
    monthly = (1 + rate) ** (1 / 12) - 1
    worth = sum(payment / (1 + monthly) ** month for month in range(1, months + 1))
    assert worth == pytest.approx(principal, rel=1e-6)
    assert payment >= principal / months * (1 - 1e-12)


@given(terms, rates, st.floats(1e-4, 0.1))
def test_higher_interest_makes_later_payments_worth_less(years: float, rate: float, more: float) -> None:
    less = float(present_worth_factor(rate + more, years))
    assert less <= float(present_worth_factor(rate, years)) * (1 + 1e-12)


def test_arrays_are_scalars_side_by_side() -> None:
    many = present_worth_factor(np.array([0.0, 0.1]), 5.0)
    assert many.tolist() == pytest.approx([5.0, float(present_worth_factor(0.1, 5.0))])
    assert accelerator_hour_cost(np.array([8.0, 16.0]), 8).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: present_worth_factor(-0.1, 4),
        lambda: present_worth_factor(0.1, 0),
        lambda: monthly_payment(1.0, -0.1, 12),
        lambda: monthly_payment(1.0, 0.1, 0),
        lambda: accelerator_hour_cost(1.0, 0),
        lambda: present_worth_factor(float("nan"), 4),
    ],
)
def test_what_has_no_meaning_is_refused(call) -> None:
    with pytest.raises(EngineError):
        call()
