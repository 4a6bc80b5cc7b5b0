"""Conversions are exact both ways and refuse what is not the same kind."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.units import UNITS, convert, engine_unit
from app.errors import BadInput

SAME_KIND = [pair for pair in itertools.permutations(UNITS, 2) if UNITS[pair[0]] == UNITS[pair[1]]]


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (1, "GiB", "B", 1_073_741_824),
        (80, "GB", "GiB", 74.505806),
        (1, "TiB", "KiB", 2**30),
        (200, "Gb/s", "GB/s", 25),
        (312, "TFLOP/s", "FLOP/s", 3.12e14),
        (6.5, "kW", "W", 6500),
        (1, "kWh", "J", 3.6e6),
        (1, "kWh", "MWh", 0.001),
        (0.08, "1/kWh", "1/J", 2.2222222e-8),
        (15, "%", "1", 0.15),
        (250, "us", "ms", 0.25),
        (1, "year", "h", 8766),
        (1, "year", "month", 12),
        (2, "week", "day", 14),
        (1.33, "GHz", "1/s", 1.33e9),
        (6.5, "1/(1000 node day)", "1/day", 0.0065),
        (100, "1/(kW month)", "1/(kW year)", 1200),
        (0.5, "g/kWh", "kg/J", 1.3888889e-10),
    ],
)
def test_known_conversions(value: float, unit: str, to: str, expected: float) -> None:
    assert float(convert(value, unit, to)) == pytest.approx(expected, rel=1e-7)


@given(st.floats(1e-30, 1e30), st.sampled_from(SAME_KIND))
def test_there_and_back_loses_no_more_than_the_last_digits(value: float, pair: tuple[str, str]) -> None:
    back = convert(convert(value, *pair), *reversed(pair))
    assert float(back) == pytest.approx(value, rel=1e-15)


@given(st.floats(1e-30, 1e30), st.sampled_from(SAME_KIND))
def test_the_way_through_the_engine_is_the_direct_one(value: float, pair: tuple[str, str]) -> None:
    unit, to = pair
    inside = convert(value, unit, engine_unit(unit))
    direct = float(convert(value, unit, to))
    assert float(convert(inside, engine_unit(unit), to)) == pytest.approx(direct, rel=1e-15)


def test_whole_numbers_stay_whole() -> None:
    hours = np.arange(1.0, 200.0)
    assert np.array_equal(convert(hours, "h", "s"), hours * 3600)
    assert np.array_equal(convert(hours * 3600, "s", "h"), hours)
    assert [float(convert(share, "%", "1")) for share in range(101)] == [share / 100 for share in range(101)]


def test_arrays_convert_element_by_element() -> None:
    assert convert(np.array([1.0, 2.5]), "h", "min").tolist() == [60.0, 150.0]


@pytest.mark.parametrize(
    ("unit", "to"), [("GB", "GB/s"), ("h", "1/h"), ("W", "J"), ("1/kWh", "1/(kW month)")]
)
def test_other_kinds_are_refused(unit: str, to: str) -> None:
    with pytest.raises(BadInput, match="cannot be converted"):
        convert(1.0, unit, to)


@pytest.mark.parametrize("unit", ["GBs", "gb/s", "USD", ""])
def test_unknown_units_are_named(unit: str) -> None:
    with pytest.raises(BadInput, match=f"“{unit}” is not a unit"):
        engine_unit(unit)
