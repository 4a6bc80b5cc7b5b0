"""Checkpoint intervals against Daly's figures and a numerical minimum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.reliability import checkpoint_overhead, checkpoint_time, daly_interval, young_interval

seconds = st.floats(1e-2, 1e6)


def test_young_of_five_minutes_and_a_day() -> None:
    assert float(young_interval(300.0, 86_400.0)) == 7200.0


@pytest.mark.parametrize(("mttf_hours", "minutes", "digits"), [(24, 117, 0), (6, 57, 0), (0.25, 9.1, 1)])
def test_daly_figures_3_to_5(mttf_hours: float, minutes: float, digits: int) -> None:
    # J. T. Daly, 2006: optimum for a checkpoint of 5 minutes.
    assert round(float(daly_interval(300.0, mttf_hours * 3600)) / 60, digits) == minutes


@given(seconds, st.floats(1.0, 1e4))
def test_daly_is_near_the_minimum_of_the_run_time(delta: float, ratio: float) -> None:
    mttf = delta * ratio

    def stretch(interval: float) -> float:
        return mttf / interval * math.expm1((interval + delta) / mttf)

    best = min(stretch(mttf * 10**exponent) for exponent in np.linspace(-4, 1, 2001))
    assert stretch(float(daly_interval(delta, mttf))) <= best * 1.001


@given(seconds)
def test_daly_approaches_young_for_short_checkpoints(mttf: float) -> None:
    delta = mttf * 1e-8
    assert float(daly_interval(delta, mttf)) == pytest.approx(float(young_interval(delta, mttf)), rel=1e-3)


def test_checkpoints_longer_than_two_failures_apart() -> None:
    assert float(daly_interval(1000.0, 400.0)) == 400.0


@pytest.mark.parametrize("interval", [young_interval, daly_interval])
def test_without_failures_there_is_no_checkpoint(interval) -> None:  # type: ignore[no-untyped-def]
    assert math.isinf(float(interval(60.0, math.inf)))
    assert float(checkpoint_overhead(1e6, 60.0, interval(60.0, math.inf))) == 0.0


@given(seconds, seconds, seconds)
def test_overhead_is_the_share_of_the_interval(useful: float, delta: float, interval: float) -> None:
    assert float(checkpoint_overhead(useful, delta, interval)) / useful == pytest.approx(delta / interval)


def test_writing_takes_bytes_over_bandwidth() -> None:
    # 175 billion parameters at 14 bytes through 10 GiB/s of each of 128 nodes
    assert float(checkpoint_time(175e9 * 14, 128 * 10 * 2**30)) == pytest.approx(1.7826, rel=1e-4)
