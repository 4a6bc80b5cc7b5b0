"""Cost of hours and runs against annuity tables, bills and the limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.cost.capital import capital_charge, capital_recovery_factor
from app.engine.cost.hours import OwnedSystem, hourly_cost, owned_hourly_cost, rented_hourly_cost, run_cost
from app.engine.errors import EngineError
from app.engine.units import HOUR, YEAR

MONTH = YEAR / 12

rates = st.floats(1e-6, 0.5)

lifetimes = st.floats(0.5, 50.0)

DGX_CLUSTER = OwnedSystem(
    equipment={
        "machines": 16 * 199_000.0,
        "hosts": 50_000.0,
        "fabric": 670_000.0,
        "storage": 400_000.0,
        "spares": 129_120.0,
    },
    services={"install": 129_120.0},
    residual_share=0.1,
    discount_rate=0.08,
    lifetime=4.0,
    yearly={"support": 430_400.0},
    power=16 * 5350.0 * 1.58,
    electricity_price=0.0806 / (1000 * HOUR),
    demand_power=0.0,
    demand_price=0.0,
    reserved_power=16 * 6500.0,
    space_price=184.1 / (1000 * MONTH),
    staff=0.24,
    staff_pay=160_000.0,
    utilisation=0.75,
)


@pytest.mark.parametrize(
    ("rate", "years", "factor"),
    [(0.08, 4, 0.30192), (0.10, 5, 0.26380), (0.05, 10, 0.12950), (0.07, 20, 0.09439), (0.12, 1, 1.12)],
)
def test_annuity_tables(rate: float, years: float, factor: float) -> None:
    assert float(capital_recovery_factor(rate, years)) == pytest.approx(factor, abs=5e-6)


def test_annuity_limits() -> None:
    assert float(capital_recovery_factor(0.0, 4.0)) == 0.25
    assert float(capital_recovery_factor(0.08, math.inf)) == pytest.approx(0.08)
    assert float(capital_recovery_factor(0.0, math.inf)) == 0.0
    both = capital_recovery_factor(np.array([0.0, 0.08]), 4)
    assert both.tolist() == pytest.approx([0.25, 0.30192], abs=5e-6)


@given(lifetimes)
def test_annuity_is_continuous_at_zero_interest(years: float) -> None:
    assert float(capital_recovery_factor(1e-12, years)) == pytest.approx(1 / years, rel=1e-9)


@given(rates, st.integers(1, 40))
def test_payments_are_worth_the_capital(rate: float, years: int) -> None:
    payment = float(capital_recovery_factor(rate, years))
    owed = 1.0
    for _ in range(years):
        owed = owed * (1 + rate) - payment
    assert owed == pytest.approx(0.0, abs=1e-8 * (1 + rate) ** years)


@given(rates, st.integers(1, 40), st.floats(0.0, 1.0))
def test_charges_and_sale_are_worth_the_price(rate: float, years: int, share: float) -> None:
    charge = float(capital_charge(1000.0, share, rate, years))
    charges = sum(charge / (1 + rate) ** year for year in range(1, years + 1))
    sale = 1000 * share / (1 + rate) ** years
    assert charges + sale == pytest.approx(1000.0, rel=1e-9)


@given(rates, lifetimes, st.floats(0.0, 0.9))
def test_resale_lowers_the_charge(rate: float, years: float, share: float) -> None:
    assert capital_charge(1.0, share + 0.1, rate, years) < capital_charge(1.0, share, rate, years)


def test_what_keeps_its_value_costs_its_interest() -> None:
    assert float(capital_charge(1000.0, 1.0, 0.08, 4.0)) == pytest.approx(80.0)


def test_lines_of_an_owned_cluster() -> None:
    lines = owned_hourly_cost(DGX_CLUSTER)
    equipment = ["machines", "hosts", "fabric", "storage", "spares"]
    assert list(lines) == [*equipment, "install", "support", "power", "space", "staff"]
    # by hand: the charge on 3,184,000 is 0.30192 - 0.1 (0.30192 - 0.08) = 0.27973 a year
    assert float(lines["machines"]) == pytest.approx(3_184_000 * 0.27973 / (8766 * 0.75), rel=1e-4)
    # installation has no resale, spares have
    assert float(lines["install"]) == pytest.approx(129_120 * 0.30192 / (8766 * 0.75), rel=1e-4)
    assert float(lines["spares"]) == pytest.approx(129_120 * 0.27973 / (8766 * 0.75), rel=1e-4)
    assert float(lines["support"]) == pytest.approx(430_400 / (8766 * 0.75), rel=1e-9)
    # 135.25 kW all year at 8.06 cents, spread over three quarters of the hours
    assert float(lines["power"]) == pytest.approx(135.248 * 0.0806 / 0.75, rel=1e-9)
    assert float(lines["space"]) == pytest.approx(104 * 184.1 * 12 / (8766 * 0.75), rel=1e-9)
    assert float(lines["staff"]) == pytest.approx(38_400 / (8766 * 0.75), rel=1e-9)


def test_lines_add_up_to_the_hour_exactly() -> None:
    lines = owned_hourly_cost(DGX_CLUSTER)
    total = 0.0
    for line in lines.values():
        total += float(line)
    assert float(hourly_cost(lines)) == total


@given(st.floats(0.05, 1.0), st.floats(0.01, 0.95))
def test_idle_hours_are_paid_by_the_useful_ones(utilisation: float, cut: float) -> None:
    busy = hourly_cost(owned_hourly_cost(replace(DGX_CLUSTER, utilisation=utilisation)))
    idle = hourly_cost(owned_hourly_cost(replace(DGX_CLUSTER, utilisation=utilisation * cut)))
    assert float(idle) == pytest.approx(float(busy) / cut, rel=1e-12)


def test_arrays_of_prices_cost_as_each_of_them() -> None:
    equipment = {"machines": np.array([149_995.0, 199_000.0])}
    hours = hourly_cost(owned_hourly_cost(replace(DGX_CLUSTER, equipment=equipment)))
    single = [
        float(hourly_cost(owned_hourly_cost(replace(DGX_CLUSTER, equipment={"machines": price}))))
        for price in equipment["machines"]
    ]
    assert hours.tolist() == single


def test_a_day_of_rented_instances() -> None:
    # 16 p4d.24xlarge at 21.96 and 10 TB at 0.08 per GB-month
    stored = 10e12
    price = 0.08 / (1e9 * MONTH)
    lines = rented_hourly_cost(16, 21.96, stored, price, 1.0)
    assert float(lines["instances"]) == pytest.approx(351.36)
    assert float(lines["storage"]) == pytest.approx(800 / 730.5, rel=1e-9)
    assert float(run_cost(hourly_cost(lines), 86_400.0)) == pytest.approx(24 * (351.36 + 800 / 730.5))


@given(st.floats(0.0, 1e6), st.floats(0.0, 1e9), st.floats(0.0, 1e9))
def test_runs_add_up(hour: float, first: float, second: float) -> None:
    apart = float(run_cost(hour, first)) + float(run_cost(hour, second))
    assert float(run_cost(hour, first + second)) == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("utilisation", [0.0, -0.5, 1.01, math.nan])
def test_useful_share_is_a_share(utilisation: float) -> None:
    with pytest.raises(EngineError, match="utilization"):
        owned_hourly_cost(replace(DGX_CLUSTER, utilisation=utilisation))
    with pytest.raises(EngineError, match="utilization"):
        rented_hourly_cost(1, 1.0, 0.0, 0.0, utilisation)


@pytest.mark.parametrize(("rate", "years", "name"), [(-0.01, 4, "discount rate"), (0.08, 0, "lifetime")])
def test_impossible_terms_are_refused(rate: float, years: float, name: str) -> None:
    with pytest.raises(EngineError, match=name):
        capital_recovery_factor(rate, years)
