"""Renting: interruptions only ever cost, and vanish with their rate."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.cost.hours import (
    average_power,
    emissions,
    rented_hourly_cost,
    reservation_threshold,
    reserved_hourly_price,
    spot_hourly_price,
)
from app.engine.errors import EngineError

prices = st.floats(0.01, 1e4)

times = st.floats(3600.0, 1e7)

rates = st.floats(0.0, 1e-4)


@given(prices, times, rates)
def test_an_hour_of_progress_costs_at_least_the_hour_paid(price: float, time: float, rate: float) -> None:
    assert float(spot_hourly_price(price, time, 60.0, 3600.0, rate, 600.0)) >= price


@given(prices, times)
def test_without_interruptions_and_checkpoints_spot_is_the_price(price: float, time: float) -> None:
    assert float(spot_hourly_price(price, time, 0.0, math.inf, 0.0, 600.0)) == pytest.approx(price)


@given(prices, times, rates, st.floats(1.0, 5.0))
def test_more_interruptions_cost_more(price: float, time: float, rate: float, factor: float) -> None:
    few = float(spot_hourly_price(price, time, 60.0, 3600.0, rate, 600.0))
    assert float(spot_hourly_price(price, time, 60.0, 3600.0, rate * factor, 600.0)) >= few * (1 - 1e-12)


@given(prices, prices)
def test_a_reservation_pays_exactly_from_its_threshold(reserved: float, demand: float) -> None:
    share = float(reservation_threshold(reserved, demand))
    if 0 < share <= 1:
        assert float(reserved_hourly_price(reserved, share)) == pytest.approx(demand)


def test_data_kept_and_moved_is_charged_with_the_hour() -> None:
    lines = rented_hourly_cost(2, 10.0, 1e12, 1e-17, 0.5, 1e6, 1e-10)
    assert float(lines["instances"]) == 40.0
    assert float(lines["storage"]) == pytest.approx(1e12 * 1e-17 * 3600 / 0.5)
    assert float(lines["egress"]) == pytest.approx(1e6 * 3600 * 1e-10 / 0.5)


def test_a_megawatt_hour_of_the_korean_grid() -> None:
    assert float(emissions(3.6e9, 0.4173 / 3.6e6)) == pytest.approx(417.3)
    assert float(average_power(1500.0, 4200.0, 1.0)) == 4200.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: spot_hourly_price(1.0, 0.0, 1.0, 1.0, 0.0, 1.0),
        lambda: spot_hourly_price(1.0, 1.0, 1.0, 1.0, -1.0, 1.0),
        lambda: reserved_hourly_price(1.0, 0.0),
        lambda: reservation_threshold(1.0, 0.0),
        lambda: emissions(1.0, -1.0),
    ],
)
def test_what_has_no_meaning_is_refused(call) -> None:
    with pytest.raises(EngineError):
        call()
