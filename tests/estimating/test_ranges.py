"""Ranges stay physical, and the tornado explains them: both rest on the same samples."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.uncertainty import share_of_range, variance_shares
from app.estimating.deciding import decide
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.estimating.workload import resolve_model
from tests.conftest import sizing_context

CASES: list[tuple[str, dict[str, Any], str, int]] = [
    ("bert-large", {"target": "mlperf-bert"}, "dgx-a100-640gb", 1),
    ("gpt3-175b", {"tokens": 3e11}, "dgx-a100-640gb", 128),
    ("resnet50", {"samples": 1e7}, "dgx-a100-640gb", 1),
    ("resnet50", {"samples": 1e7}, "bow-pod16", 1),
    ("gpt3-175b", {"tokens": 1e11}, "bow-pod256", 1),
    ("llama-7b", {"tokens": 1e8, "kind": "lora"}, "dgx-a100-640gb", 1),
]


def request(model: str, work: dict[str, Any], system: str, count: int) -> EstimateRequest:
    return EstimateRequest.model_validate(
        {"model": {"preset": model}, "workload": work, "system": {"id": system, "count": count}}
    )


@cache
def made(place: int) -> Estimate:
    return estimate(request(*CASES[place]), sizing_context())


@pytest.mark.parametrize("place", range(len(CASES)))
def test_no_mfu_exceeds_that_of_a_perfect_step(place: int) -> None:
    found, context = made(place), sizing_context()
    asked = request(*CASES[place])
    hardware = context.hardware.system(asked.system.id, asked.system.count)
    decided = decide(asked, resolve_model(asked.model, context), hardware, context)
    plans, scenario = decided.choice.plans, decided.scenario
    least = float(np.ravel(scenario.perfect_step(plans))[0])
    assert found.step_time is not None and found.mfu is not None
    assert least < found.step_time.value, "perfect software is faster than any"
    assert found.step_time.low >= least * (1 - 1e-9)
    flop = scenario.table.training_flop * float(plans.global_batch[0])
    best = flop / least / scenario.peak / float(plans.devices[0])
    assert found.mfu.high <= best * (1 + 1e-9) and best <= 1.0


@pytest.mark.parametrize("place", range(len(CASES)))
def test_the_bars_lie_in_the_range_and_make_it_up(place: int) -> None:
    found = made(place)
    time = found.time_to_train
    assert time is not None and found.sensitivity
    for one in found.sensitivity:
        assert time.low * (1 - 1e-9) <= one.low <= time.value <= one.high <= time.high * (1 + 1e-9)
    whole = (time.high - time.low) / 2
    squares = sum(((one.high - one.low) / 2) ** 2 for one in found.sensitivity)
    assert squares == pytest.approx(whole**2, rel=0.01)
    assert sum(one.share for one in found.sensitivity) == pytest.approx(1.0, abs=0.01)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=6),
    st.floats(0.0, 0.5),
    st.floats(0.1, 0.9),
    st.floats(1.1, 9.0),
    st.integers(0, 2**32 - 1),
)
def test_shares_add_up_and_bars_stay_inside(
    slopes: list[float], rest: float, low: float, high: float, seed: int
) -> None:
    draws = np.random.default_rng(seed).standard_normal((len(slopes) + 1, 128))
    parts = np.array(slopes)[:, np.newaxis] * draws[:-1]
    shares = variance_shares(parts.sum(axis=0) + rest * draws[-1], parts)
    assert np.all(shares >= 0)
    assert float(shares.sum()) == pytest.approx(1.0) or not shares.any()
    lows, highs = share_of_range(1.0, low, high, shares)
    assert np.all(lows >= low - 1e-12) and np.all(highs <= high + 1e-12)
    widths = (highs - lows) / 2
    assert float(np.sum(widths**2)) == pytest.approx(((high - low) / 2) ** 2 * float(shares.sum()))


def test_what_decides_alone_has_the_whole_range() -> None:
    z = np.linspace(-1.0, 1.0, 101)
    assert variance_shares(0.3 * z, np.array([0.3 * z])).tolist() == pytest.approx([1.0, 0.0])
    assert variance_shares(np.ones(5), np.ones((2, 5))).tolist() == [0.0, 0.0, 0.0]
