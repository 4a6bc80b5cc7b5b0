"""Gains against tables and limits: Student's t, Welch's degrees, ladders of rising cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.comparison import relative_gain, student_t_probability, sufficient_rung, welch_degrees
from app.engine.errors import EngineError
from app.engine.uncertainty import banded_samples

times = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("degrees", "point"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042)],
)
def test_student_t_has_its_tabled_points(degrees: int, point: float) -> None:
    """97.5 % points of Abramowitz and Stegun, table 26.10."""
    assert float(student_t_probability(point, degrees)) == pytest.approx(0.975, abs=5e-5)


@given(st.floats(-50, 50), st.integers(1, 400))
def test_student_t_is_symmetric_and_rises(deviations: float, degrees: int) -> None:
    below, above = (float(student_t_probability(one, degrees)) for one in (-deviations, deviations))
    assert below + above == pytest.approx(1.0, abs=1e-9)
    assert float(student_t_probability(deviations + 0.1, degrees)) >= above - 1e-12


def test_many_degrees_are_the_normal_law() -> None:
    assert float(student_t_probability(1.959964, 10_000)) == pytest.approx(0.975, abs=1e-3)


def test_no_degree_is_refused() -> None:
    with pytest.raises(EngineError):
        student_t_probability(1.0, 0)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(2, 50), st.integers(2, 50))
def test_welch_lies_between_the_smaller_and_the_sum(one: float, other: float, n: int, m: int) -> None:
    degrees = float(welch_degrees(one, other, n, m))
    assert min(n, m) - 1 - 1e-9 <= degrees <= n + m - 2 + 1e-9


@given(times, st.floats(0.001, 2.0))
def test_nothing_above_the_rung_gains_the_threshold_and_below_something_does(
    seconds: list[float], threshold: float
) -> None:
    ladder = np.array(seconds)
    rung = int(sufficient_rung(ladder, threshold))
    assert float(relative_gain(ladder[rung], ladder[rung:].min())) < threshold
    for lower in range(rung):
        assert float(relative_gain(ladder[lower], ladder[lower:].min())) >= threshold


def test_no_rungs_are_refused() -> None:
    with pytest.raises(EngineError):
        sufficient_rung(np.array([]), 0.05)


@given(st.floats(1.0, 1e3), st.floats(0.1, 1.0), st.floats(1.0, 10.0))
def test_samples_have_the_stated_tenth_and_ninetieth_percentile(value: float, down: float, up: float) -> None:
    ends = banded_samples(value, value * down, value * up, np.array([-1.2815516, 0.0, 1.2815516]))
    assert ends == pytest.approx([value * down, value, value * up], rel=1e-6)
