"""Sample tables and what is read off them against the distributions they stand for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.errors import EngineError
from app.engine.uncertainty import (
    band,
    probability_below,
    standard_normals,
    student_t_samples,
)

NORMAL_90 = 1.2815516
"""90th percentile of the standard normal distribution."""

TABLE = standard_normals(2048, 8, seed=7)
values = st.floats(1e-6, 1e9)


def test_every_column_is_a_standard_normal() -> None:
    assert np.mean(TABLE, axis=0) == pytest.approx(np.zeros(8), abs=1e-12)
    assert np.std(TABLE, axis=0) == pytest.approx(np.ones(8), abs=2e-3)
    assert np.quantile(TABLE, 0.9, axis=0) == pytest.approx(np.full(8, NORMAL_90), abs=2e-3)


def test_columns_are_unrelated() -> None:
    related = np.corrcoef(TABLE.T) - np.eye(8)
    assert np.max(np.abs(related)) < 4 / math.sqrt(2048)


@given(st.integers(0, 2**32))
def test_a_sum_of_columns_is_normal_again(seed: int) -> None:
    total = np.sum(standard_normals(1024, 6, seed), axis=1) / math.sqrt(6)
    assert np.quantile(total, [0.1, 0.9]) == pytest.approx([-NORMAL_90, NORMAL_90], abs=0.25)


def test_the_same_seed_gives_the_same_table() -> None:
    assert np.array_equal(TABLE, standard_normals(2048, 8, seed=7))
    assert not np.array_equal(TABLE, standard_normals(2048, 8, seed=8))


def test_the_table_of_a_seed_is_fixed() -> None:
    # A change here changes every frozen answer.
    ranks = np.argsort(np.argsort(standard_normals(8, 2, seed=1), axis=0), axis=0)
    assert ranks.T.tolist() == [[2, 4, 7, 5, 0, 6, 3, 1], [1, 6, 4, 7, 3, 0, 2, 5]]


@given(st.integers(1, 64), st.integers(0, 6), st.integers(0, 100))
def test_further_columns_leave_the_first_as_they_are(samples: int, dimensions: int, seed: int) -> None:
    wide = standard_normals(samples, dimensions + 1, seed)
    assert np.array_equal(wide[:, :dimensions], standard_normals(samples, dimensions, seed))


@pytest.mark.parametrize(("samples", "dimensions"), [(0, 1), (1, -1)])
def test_no_table_is_refused(samples: int, dimensions: int) -> None:
    with pytest.raises(EngineError):
        standard_normals(samples, dimensions, 1)


def test_four_degrees_of_freedom() -> None:
    # tables of Student's t: 80 % two-sided 1.533, 99 % two-sided 4.604, at scale 1/sqrt(2)
    table = standard_normals(200_000, 5, seed=3)
    heavy = student_t_samples(table[:, 0], table[:, 1:])
    assert np.std(heavy) == pytest.approx(1.0, abs=0.02)
    assert np.quantile(heavy, 0.9) == pytest.approx(1.533 / math.sqrt(2), rel=0.01)
    assert np.quantile(heavy, 0.995) == pytest.approx(4.604 / math.sqrt(2), rel=0.03)


def test_tails_need_a_variance() -> None:
    with pytest.raises(EngineError, match="degrees of freedom"):
        student_t_samples(np.ones(4), np.ones((4, 2)))


def test_band_of_twenty_percent() -> None:
    low, high = band(10.0 * np.exp(0.2 * TABLE[:, 0]), 10.0)
    assert (float(low), float(high)) == pytest.approx((7.739, 12.921), rel=1e-3)


@given(st.lists(values, min_size=1, max_size=40), values)
def test_band_contains_the_value(samples: list[float], value: float) -> None:
    low, high = band(np.array(samples), value)
    assert float(low) <= value <= float(high)


@given(st.lists(values, min_size=1, max_size=40), values, st.floats(0.5, 2.0))
def test_band_scales_with_the_answer(samples: list[float], value: float, factor: float) -> None:
    low, high = band(np.array(samples), value)
    scaled = band(np.array(samples) * factor, value * factor)
    assert [float(end) for end in scaled] == pytest.approx([float(low) * factor, float(high) * factor])


def test_what_is_certain_has_no_band() -> None:
    low, high = band(np.full(16, 3.0), 3.0)
    assert (float(low), float(high)) == (3.0, 3.0)


def test_bands_of_several_answers() -> None:
    low, high = band(np.stack([TABLE[:, 0], 2 * TABLE[:, 1]]), np.array([0.0, 5.0]))
    assert low == pytest.approx([-NORMAL_90, -2 * NORMAL_90], abs=5e-3)
    assert high == pytest.approx([NORMAL_90, 5.0], abs=5e-3)


def test_probability_of_a_deadline() -> None:
    assert float(probability_below(TABLE[:, 0], 0.0)) == 0.5
    assert float(probability_below(TABLE[:, 0], 1.0)) == pytest.approx(0.8413, abs=1e-3)
    assert float(probability_below(TABLE[:, 0], -100.0)) == 0.0
    assert float(probability_below(TABLE[:, 0], 100.0)) == 1.0


@given(st.floats(-4.0, 4.0), st.floats(0.0, 4.0))
def test_a_later_deadline_is_no_less_likely(limit: float, slack: float) -> None:
    assert probability_below(TABLE[:, 0], limit + slack) >= probability_below(TABLE[:, 0], limit)


def test_probabilities_of_several_options() -> None:
    samples = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert probability_below(samples, 2.0).tolist() == [1.0, 0.0]
    assert probability_below(samples, np.array([1.0, 3.0])).tolist() == [0.5, 0.5]
