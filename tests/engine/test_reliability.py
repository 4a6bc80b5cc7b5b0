"""Failures of long runs against published rates, a simulation and the limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.reliability import (
    checkpoint_overhead,
    daly_interval,
    failure_overhead,
    job_failure_rate,
    mean_time_to_failure,
    young_interval,
)

DAY = 86_400.0
META = 6.5 / 1000 / DAY
"""Failures per node and second of an A100 cluster (Kokolis et al., 2024)."""

nodes = st.integers(1, 100_000)
times = st.floats(1.0, 1e7)
short = st.floats(1.0, 1e4)


def lost(useful: float, delta: float, restart: float, interval: float, node_count: int) -> float:
    mttf = mean_time_to_failure(job_failure_rate(META, node_count))
    return float(failure_overhead(useful, delta, interval, mttf, restart))


def simulated(useful: float, delta: float, interval: float, mttf: float, restart: float, runs: int) -> float:
    """Mean total time of runs that live through random failures second by second."""
    random = np.random.default_rng(20_061_121)
    total = 0.0
    for _ in range(runs):
        for _ in range(round(useful / interval)):
            while (failure := random.exponential(mttf)) < interval + delta:
                total += failure
                while (failure := random.exponential(mttf)) < restart:
                    total += failure
                total += restart
            total += interval + delta
    return total / runs


def test_meta_cluster_at_1024_gpus() -> None:
    mttf = mean_time_to_failure(job_failure_rate(META, 1024 / 8))
    assert float(mttf) / 3600 == pytest.approx(28.8, abs=0.05)


def test_opt_175b_rate_gives_its_interruptions() -> None:
    # 35 manual and 70 automatic restarts in two months on 124 nodes: 14.1 per 1,000 node-days.
    interruptions = float(job_failure_rate(14.1e-3 / DAY, 124)) * 60 * DAY
    assert interruptions == pytest.approx(105, rel=0.01)


def test_what_never_fails_lasts_for_ever() -> None:
    assert math.isinf(float(mean_time_to_failure(0.0)))
    assert mean_time_to_failure(np.array([0.0, 0.5])).tolist() == [math.inf, 2.0]
    assert float(failure_overhead(1e6, 60.0, math.inf, math.inf, 1200.0)) == 0.0


@pytest.mark.parametrize(
    ("delta", "interval", "mttf", "restart"),
    [(300.0, 7200.0, 86_400.0, 600.0), (300.0, 3600.0, 21_600.0, 600.0), (300.0, 600.0, 900.0, 600.0)],
)
def test_expected_run_time_is_that_of_simulated_runs(
    delta: float, interval: float, mttf: float, restart: float
) -> None:
    useful = 100 * interval
    expected = useful + float(checkpoint_overhead(useful, delta, interval))
    expected += float(failure_overhead(useful, delta, interval, mttf, restart))
    assert expected == pytest.approx(simulated(useful, delta, interval, mttf, restart, 200), rel=0.02)


def test_rare_failures_cost_half_an_interval_and_a_restart() -> None:
    useful, delta, interval, mttf, restart = 1e6, 10.0, 3600.0, 1e8, 1200.0
    failures = useful * (1 + delta / interval) / mttf
    each = (interval + delta) / 2 + restart
    found = float(failure_overhead(useful, delta, interval, mttf, restart))
    assert found == pytest.approx(failures * each, rel=1e-3)


def test_a_failure_loses_no_more_than_the_run() -> None:
    without = float(failure_overhead(600.0, 10.0, math.inf, 1e7, 0.0))
    assert without == pytest.approx(600.0 / 1e7 * 300.0, rel=1e-3)


@given(times, short, short, st.floats(10.0, 1e6), nodes, nodes)
def test_more_nodes_never_lose_less(
    useful: float, delta: float, restart: float, interval: float, some: int, more: int
) -> None:
    few, many = sorted((some, more))
    assert job_failure_rate(META, many) >= job_failure_rate(META, few)
    run = (useful, delta, restart, interval)
    assert lost(*run, many) >= lost(*run, few) - useful * 1e-12


@given(times, short, short, nodes, nodes)
def test_more_nodes_never_finish_the_same_work_sooner_at_the_best_interval(
    useful: float, delta: float, restart: float, some: int, more: int
) -> None:
    few, many = sorted((some, more))
    totals = []
    for count in (few, many):
        mttf = mean_time_to_failure(job_failure_rate(META, count))
        interval = daly_interval(delta, mttf)
        overhead = checkpoint_overhead(useful, delta, interval)
        totals.append(float(useful + overhead + failure_overhead(useful, delta, interval, mttf, restart)))
    assert totals[1] >= totals[0] * (1 - 1e-3)


@given(times, short, st.floats(0.0, 1e5), st.floats(1e-6, 1e9), st.floats(1.0, 1e6))
def test_finite_and_a_share_whatever_the_rate(
    useful: float, delta: float, restart: float, mttf: float, interval: float
) -> None:
    overhead = float(checkpoint_overhead(useful, delta, interval))
    failures = float(failure_overhead(useful, delta, interval, mttf, restart))
    assert math.isfinite(failures) and failures >= 0
    assert 0 <= useful / (useful + overhead + failures) <= 1


@given(times, short, short, st.floats(10.0, 1e6))
def test_goodput_rises_with_time_to_failure(
    useful: float, delta: float, restart: float, interval: float
) -> None:
    mttf = np.geomspace(1.0, 1e9, 40)
    losses = failure_overhead(useful, delta, interval, mttf, restart)
    assert np.all(np.diff(useful / (useful + losses)) >= -1e-12)


def test_samples_of_the_rate_give_samples_of_the_time() -> None:
    rates = np.array([1.3, 6.5, 14.0]) / 1000 / DAY
    mttf = mean_time_to_failure(job_failure_rate(rates, 128))
    together = failure_overhead(30 * DAY, 60.0, young_interval(60.0, mttf), mttf, 1200.0)
    one_by_one = [
        float(failure_overhead(30 * DAY, 60.0, young_interval(60.0, one), one, 1200.0)) for one in mttf
    ]
    assert together.tolist() == one_by_one
