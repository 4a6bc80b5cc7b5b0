"""Waiting lines against textbook values, limits and each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.errors import EngineError
from app.engine.queueing import (
    blocking_probability,
    mean_wait,
    utilisation,
    wait_percentile,
    waiting_probability,
)

LOADS = st.floats(0.01, 40)


def test_the_hospital_with_two_doctors() -> None:
    """Hillier and Lieberman, Introduction to Operations Research: two patients an hour, three an hour "
    "each."""
    assert float(mean_wait(2.0, 1 / 3, 2)) == pytest.approx(1 / 24)
    assert float(mean_wait(2.0, 1 / 3, 1)) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("load", "servers", "blocked"),
    # Erlang's table of losses: 1 % on 10 lines at 4.461 erlang, 2 % on 30 at 21.93, 10 % on 5 at 2.881.
    [(4.461, 10, 0.01), (21.93, 30, 0.02), (2.881, 5, 0.10)],
)
def test_the_table_of_losses(load: float, servers: int, blocked: float) -> None:
    assert float(blocking_probability(load, servers)) == pytest.approx(blocked, rel=2e-3)


@given(LOADS, st.integers(1, 50))
def test_waiting_is_the_sum_of_the_textbook(load: float, servers: int) -> None:
    if load >= servers:
        assert float(waiting_probability(load, servers)) == 1.0
        return
    last = math.exp(servers * math.log(load) - math.lgamma(servers + 1)) * servers / (servers - load)
    below = sum(math.exp(k * math.log(load) - math.lgamma(k + 1)) for k in range(servers))
    assert float(waiting_probability(load, servers)) == pytest.approx(last / (below + last), rel=1e-9)


@given(LOADS, st.integers(1, 50))
def test_more_servers_never_wait_longer(load: float, servers: int) -> None:
    more, fewer = mean_wait(load, 1.0, servers + 1), mean_wait(load, 1.0, servers)
    assert float(more) <= float(fewer)


def test_one_server_is_the_line_of_pollaczek_and_khinchine() -> None:
    """M/G/1 is exact: constant times wait half as long as exponential ones."""
    assert float(mean_wait(0.5, 1.0, 1)) == pytest.approx(1.0)
    assert float(mean_wait(0.5, 1.0, 1, 0.0)) == pytest.approx(0.5)


def test_the_percentile_is_that_of_the_exponential_tail() -> None:
    waiting = float(waiting_probability(3.0, 4))
    wait = float(wait_percentile(3.0, 1.0, 4, 0.9))
    assert waiting * math.exp(-(4 - 3) * wait) == pytest.approx(0.1)
    assert float(wait_percentile(0.1, 1.0, 4, 0.9)) == 0.0


def test_an_overloaded_line_has_no_end() -> None:
    assert np.isinf(mean_wait(4.0, 1.0, 4)) and np.isinf(wait_percentile(5.0, 1.0, 4, 0.5))
    assert float(utilisation(5.0, 4)) == 1.25


def test_arrays_are_worked_on_at_once() -> None:
    found = blocking_probability(np.array([1.0, 2.0, 2.0]), np.array([1, 3, 0]))
    assert found == pytest.approx([0.5, 4 / 19, 1.0])


@pytest.mark.parametrize(("load", "servers"), [(-1.0, 2), (1.0, -1), (1.0, 2.5), (1.0, 1e9)])
def test_what_makes_no_sense_is_refused(load: float, servers: float) -> None:
    with pytest.raises(EngineError):
        blocking_probability(load, servers)
