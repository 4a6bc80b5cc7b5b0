"""Risk in the rank: a kind of plan that was never measured has to be faster by more."""

from dataclasses import replace

import numpy as np
import pytest

from app.engine.plans import Plans
from app.engine.records import GpuSystem
from app.errors import BadInput
from app.estimating.deciding import risk_of
from app.estimating.plan_search import SearchRanking, search_space, space_of
from app.estimating.regimes import DEEPEST_INTERLEAVE
from app.estimating.scenario import Scenario
from tests.conftest import sizing_context
from tests.estimating.conftest import scenario_of

CONTEXT = sizing_context()


def gpt3() -> Scenario:
    return scenario_of("gpt3-175b", count=128, seq_len=2048)


def factor(scenario: Scenario, probability: float = 0.8, **plan: float) -> float:
    plans = Plans.of(**({"tensor": 8.0, "pipeline": 8.0, "data": 16.0, "accumulation": 96.0} | plan))
    return float(np.ravel(risk_of(scenario, "gpt", CONTEXT, probability)(plans))[0])


UNMEASURED = [
    {"offload": 1.0},
    {"interleave": 2.0 * DEEPEST_INTERLEAVE},
    {"tensor": 16.0, "data": 8.0},
]


@pytest.mark.parametrize("plan", UNMEASURED)
def test_what_was_never_measured_is_ranked_lower(plan: dict[str, float]) -> None:
    scenario = gpt3()
    # With state on the host neither the plan was measured nor the host.
    assert factor(scenario, **plan) == pytest.approx(1.05**2 if "offload" in plan else 1.05)
    assert factor(scenario) == 1.0


@pytest.mark.parametrize("plan", UNMEASURED)
def test_the_more_runs_are_to_stay_below_the_more_risk_counts(plan: dict[str, float]) -> None:
    scenario = gpt3()
    factors = [factor(scenario, probability, **plan) for probability in (0.5, 0.6, 0.8, 0.9, 0.95)]
    assert np.all(np.diff(factors) > 0)
    extra = [
        found / factor(scenario, at) for found, at in zip(factors, (0.5, 0.6, 0.8, 0.9, 0.95), strict=True)
    ]
    assert np.all(np.diff(extra) > 0)


@pytest.mark.parametrize("plan", UNMEASURED)
def test_at_one_half_plans_rank_by_their_central_times(plan: dict[str, float]) -> None:
    scenario = gpt3()
    assert factor(scenario, 0.5, **plan) == pytest.approx(factor(scenario, 0.5), rel=0.005)


@pytest.mark.parametrize("probability", [0.0, 0.49, 1.0, 2.0])
def test_other_shares_are_refused_by_name(probability: float) -> None:
    with pytest.raises(BadInput) as refused:
        risk_of(gpt3(), "gpt", CONTEXT, probability)
    assert [entry.field for entry in refused.value.errors] == ["probability"]


def host_at(scenario: Scenario, times: float) -> Scenario:
    """Return a scenario whose hosts are reached faster."""
    assert isinstance(scenario.hardware, GpuSystem)
    link, memory = scenario.hardware.host_bandwidth * times, scenario.hardware.host_memory_bandwidth * times
    hardware = replace(scenario.hardware, host_bandwidth=link, host_memory_bandwidth=memory)
    return replace(scenario, hardware=hardware)


def test_an_unmeasured_plan_wins_where_it_is_faster_by_the_factor() -> None:
    """An optimizer on the host against one on the device, as the host comes ever closer."""
    allowed = {
        "tensor": (1.0,), "pipeline": (1.0,), "micro_batch": (1.0,), "recompute": (0.0,), "sharding": (0.0,),
        "offload": (0.0, 1.0),
    }  # fmt: skip

    def found(times: float) -> SearchRanking:
        scenario = host_at(scenario_of("gpt2-1.5b", count=1), times)
        space = space_of(scenario, allowed, devices=8, per_node=8, global_batch=8)
        risk = risk_of(scenario, "gpt", CONTEXT)
        return search_space(scenario, space, margin=0.0, risk=risk, everything=True)

    outcomes = set()
    for times in np.geomspace(0.5, 1e4, 60):
        search = found(float(times))
        assert search.plans.offload.tolist() == [0.0, 1.0]
        here, there = search.evaluated.seconds
        factors = search.cost / search.evaluated.seconds
        needed = factors[1] / factors[0]
        assert needed > 1.02
        away = bool(search.plans.offload[search.best])
        assert away == (there * needed < here)
        outcomes.add((there < here, away))
    # Slower; a little faster and still not chosen; faster by enough.
    assert outcomes == {(False, False), (True, False), (True, True)}
