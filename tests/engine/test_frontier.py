"""The front of time and cost, and the knee of a scaling curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from app.engine.comparison import (
    parallel_efficiency,
    pareto_front,
    scaling_knee,
)
from app.engine.errors import EngineError

VALUES = arrays(float, st.integers(1, 30), elements=st.integers(1, 9).map(float))


@given(VALUES)
def test_no_point_of_the_front_is_dominated_and_every_other_is(times: np.ndarray) -> None:
    costs = np.random.default_rng(times.size).integers(1, 9, times.size).astype(float)
    front = pareto_front(times, costs)
    assert front.any()
    for time, cost, on_front in zip(times, costs, front, strict=True):
        better = (times <= time) & (costs <= cost) & ((times < time) | (costs < cost))
        if on_front:
            assert not better.any()
        else:
            same = (times == time) & (costs == cost) & front
            assert better.any() or same.any()


def test_options_of_no_known_price_are_on_the_front_only_where_they_are_fastest() -> None:
    unknown = np.inf
    assert pareto_front(np.array([1.0, 2.0, 3.0]), np.array([unknown, 5.0, unknown])).tolist() == [
        True,
        True,
        False,
    ]


def test_options_that_never_end_are_not_on_the_front() -> None:
    assert pareto_front(np.array([np.inf, 2.0]), np.array([1.0, 5.0])).tolist() == [False, True]
    assert not pareto_front(np.empty(0), np.empty(0)).size


@pytest.mark.parametrize("serial", [0.02, 0.1, 0.2])
def test_the_knee_of_amdahls_law_is_where_half_the_time_is_serial(serial: float) -> None:
    counts = np.arange(1.0, 101.0)
    knee = counts[scaling_knee(counts, serial + (1 - serial) / counts)]
    assert knee == pytest.approx((1 - serial) / serial, abs=1)


def test_perfect_scaling_has_no_knee_before_its_end() -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0])
    assert scaling_knee(counts, 1 / counts) == 3
    assert parallel_efficiency(counts, 1 / counts).tolist() == [1.0, 1.0, 1.0, 1.0]


def test_a_knee_needs_as_many_times_as_counts() -> None:
    with pytest.raises(EngineError):
        scaling_knee(np.array([1.0, 2.0]), np.array([1.0]))
