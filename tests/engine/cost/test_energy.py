"""Power and energy against datasheets and bills."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.cost.hours import average_power, electricity_cost, facility_power, run_energy
from app.engine.errors import EngineError

KILOWATT_HOUR = 3.6e6
watts = st.floats(0.0, 1e7)


def test_ends_of_the_load_are_typical_and_maximum() -> None:
    # IPU-M2000: 1.1 kW typical, about 1.6 kW at most
    assert average_power(1100.0, 1600.0, np.array([0.0, 1.0])).tolist() == [1100.0, 1600.0]


@given(watts, watts, st.floats(0.0, 1.0))
def test_average_lies_between(one: float, other: float, load: float) -> None:
    low, high = sorted((one, other))
    assert low * (1 - 1e-12) <= float(average_power(low, high, load)) <= high * (1 + 1e-12)


def test_a_day_of_a_dgx_a100_in_korea() -> None:
    # 6.5 kW at a PUE of 1.58 and 182.7 won per kWh: 246.48 kWh
    energy = run_energy(facility_power(6500.0, 1.58), 86_400.0)
    assert float(energy) / KILOWATT_HOUR == pytest.approx(246.48)
    cost = electricity_cost(energy, 182.7 / KILOWATT_HOUR)
    assert float(cost) == pytest.approx(45_031.9, rel=1e-6)


@given(watts, st.floats(1.0, 3.0))
def test_a_facility_draws_no_less_than_its_equipment(power: float, effectiveness: float) -> None:
    assert float(facility_power(power, effectiveness)) >= power


@pytest.mark.parametrize("effectiveness", [0.99, 0.0, math.nan])
def test_pue_below_one_is_refused(effectiveness: float) -> None:
    with pytest.raises(EngineError, match="PUE"):
        facility_power(1.0, effectiveness)


@pytest.mark.parametrize("load", [-0.1, 1.1, math.nan])
def test_loads_outside_the_range_are_refused(load: float) -> None:
    with pytest.raises(EngineError, match="load"):
        average_power(1.0, 2.0, load)


def test_maximum_below_typical_is_refused() -> None:
    with pytest.raises(EngineError, match="lower power"):
        average_power(2.0, 1.0, 0.5)
