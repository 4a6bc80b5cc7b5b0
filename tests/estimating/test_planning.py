"""Plans that are chosen: what is searched, what fits, and what is said where nothing does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem
from app.errors import BadInput, Conflict
from app.estimating.plan_search import (
    MARGIN_PRICE,
    PlanChoice,
    SearchRanking,
    choose_plan,
    memory_of,
    search_space,
    space_of,
)
from app.estimating.scenario import Scenario, offload_sums
from tests.estimating.conftest import scenario_of


def searched(
    scenario: Scenario,
    devices: int = 16,
    batch: int = 64,
    margin: float | None = None,
    **allowed: Sequence[float],
) -> SearchRanking:
    space = space_of(
        scenario,
        allowed,
        devices=devices,
        per_node=4 if scenario.is_ipu else 8,
        global_batch=batch,
    )
    return search_space(scenario, space, margin=margin, everything=True)


def chosen(
    scenario: Scenario, given_plan: Mapping[str, float] | None = None, margin: float | None = None
) -> PlanChoice:
    space = space_of(
        scenario,
        {name: (value,) for name, value in (given_plan or {}).items()},
        devices=16,
        per_node=4 if scenario.is_ipu else 8,
        global_batch=64,
    )
    return choose_plan(scenario, search_space(scenario, space, margin=margin))


def with_host_memory(scenario: Scenario, share: float) -> Scenario:
    """Return a scenario whose devices each have a share of a host's memory. [B]"""
    assert isinstance(scenario.hardware, GpuSystem)
    return replace(scenario, hardware=replace(scenario.hardware, host_memory=share))


@pytest.mark.parametrize(
    ("model", "system", "devices"),
    [
        ("gpt2-355m", "dgx-a100-640gb", 16),
        ("mixtral-8x7b", "dgx-a100-640gb", 16),
        ("bert-large", "bow-pod16", 16),
        ("resnet50", "ipu-pod64", 64),
    ],
)
def test_memory_and_time_of_a_search_are_those_of_every_plan_anew(
    model: str, system: str, devices: int
) -> None:
    scenario = scenario_of(model, system, count=2 if "dgx" in system else 1)
    found = searched(scenario, devices)
    memory = scenario.memory(found.plans)
    np.testing.assert_allclose(found.evaluated.memory, memory.total, rtol=1e-12)
    np.testing.assert_allclose(found.evaluated.elsewhere, memory.streaming, rtol=1e-12)
    kept = np.flatnonzero(found.evaluated.fits)
    assert found.feasible == kept.size > 0
    step = scenario.step(found.plans.take(kept)).total
    np.testing.assert_allclose(found.evaluated.seconds[kept], step, rtol=1e-12)
    # What fills a device ranks as slower for it.
    assert found.best == np.argmin(found.cost)
    assert found.evaluated.seconds[found.best] <= (1.0 + MARGIN_PRICE) * step.min()


@settings(max_examples=25)
@given(margin=st.floats(0.0, 0.9))
def test_a_margin_that_was_asked_for_is_kept_to(margin: float) -> None:
    scenario = scenario_of("llama-7b")
    found = searched(scenario, margin=margin, tensor=(2.0,))
    limit = memory_of(scenario.chip) * (1.0 - margin)
    assert found.limits.memory == pytest.approx(limit)
    assert not found.borderline
    assert np.array_equal(found.evaluated.fits, (found.evaluated.memory <= limit) & host_room(found))


def host_room(found: SearchRanking) -> Floats:
    return found.evaluated.elsewhere <= found.limits.host_memory


def test_a_plan_that_leaves_nothing_free_ranks_as_slower_and_is_no_less_a_plan() -> None:
    scenario = scenario_of("llama-7b")
    one = {"tensor": (1.0,), "pipeline": (1.0,), "sharding": (1.0,), "offload": (0.0,), "recompute": (2.0,)}
    usual = searched(scenario, **one)
    least = float(usual.evaluated.memory.min())
    assert isinstance(scenario.hardware, GpuSystem)
    chip = replace(scenario.hardware.chip, memory_capacity=least / 0.97)
    tight = replace(scenario, hardware=replace(scenario.hardware, chip=chip))
    found = searched(tight, **one)
    assert found.feasible and not found.borderline
    ranked = found.cost[found.best] / found.totals[found.best]
    assert ranked * (1.0 + 1e-12) >= 1.0 + 0.7 * MARGIN_PRICE and ranked <= 1.0 + MARGIN_PRICE
    assert not searched(tight, margin=0.06, **one).feasible


def test_where_nothing_fits_the_plan_that_comes_closest_is_shown() -> None:
    choice = chosen(scenario_of("gpt3-175b"), {"offload": 0.0})
    assert not choice.fits
    assert choice.found.feasible == 0
    found = searched(scenario_of("gpt3-175b"), offload=(0.0,))
    assert float(choice.memory.total[0]) == pytest.approx(found.evaluated.memory.min())
    assert np.isinf(found.cost).all()


def test_the_memory_of_the_hosts_limits_what_is_put_there() -> None:
    """Adam keeps 16 bytes a weight there; less than that for the 7 billion on one device is no plan."""
    scenario = scenario_of("llama-7b")
    alone = {"tensor": (1.0,), "pipeline": (1.0,), "sharding": (0.0,), "offload": (1.0,)}
    needed = 16.0 * scenario.table.parameters
    assert searched(with_host_memory(scenario, 1.01 * needed), **alone).feasible
    short = searched(with_host_memory(scenario, 0.99 * needed), **alone)
    assert not short.feasible
    assert short.fullness.min() > 1.0
    # Sixteen copies that share the optimizer need a sixteenth each.
    shared = alone | {"sharding": (1.0,), "sharding_ranks": (16.0,)}
    assert searched(with_host_memory(scenario, 1.01 * needed / 16), **shared).feasible
    assert not searched(with_host_memory(scenario, 0.99 * needed / 16), **shared).feasible


def short_of_memory(scenario: Scenario, **allowed: Sequence[float]) -> Scenario:
    """Return a scenario whose devices are too small for any plan that offloads at most the optimizer."""
    least = float(searched(scenario, margin=0.0, **allowed, offload=(0.0, 1.0)).evaluated.memory.min())
    assert isinstance(scenario.hardware, GpuSystem)
    chip = replace(scenario.hardware.chip, memory_capacity=0.9 * least)
    return replace(scenario, hardware=replace(scenario.hardware, chip=chip))


def test_weights_and_activations_go_to_the_host_where_nothing_else_fits() -> None:
    """And of all plans that keep some of them there the best is found, leanly searched or not."""
    one: dict[str, Sequence[float]] = {"tensor": (1.0,), "pipeline": (1.0,)}
    tight = short_of_memory(scenario_of("llama-7b"), **one)
    found = searched(tight, margin=0.0, **one)
    assert found.feasible and np.all(found.plans.offload[found.evaluated.fits] > 1.0)
    every = searched(tight, margin=0.0, **one, offload=offload_sums(tight))
    assert set(np.unique(every.plans.offload)) == set(offload_sums(tight)) == set(map(float, range(8)))
    assert found.cost[found.best] == every.cost.min()
    space = space_of(tight, one, devices=16, per_node=8, global_batch=64, lean=True)
    lean = search_space(tight, space, margin=0.0)
    assert lean.cost[lean.best] == pytest.approx(every.cost.min(), rel=1e-3)


def test_nothing_goes_to_a_host_of_unknown_memory_or_that_the_software_cannot_send() -> None:
    one: dict[str, Sequence[float]] = {"tensor": (1.0,), "pipeline": (1.0,)}
    tight = short_of_memory(scenario_of("llama-7b"), **one)
    assert not searched(with_host_memory(tight, 0.0), margin=0.0, **one).feasible
    plans = tight.software.plans - {"offload_parameters", "offload_activations"}
    without = replace(tight, software=replace(tight.software, plans=plans))
    assert not searched(without, margin=0.0, **one).feasible
    with pytest.raises(BadInput) as refused:
        searched(without, margin=0.0, **one, offload_parameters=(1.0,))
    assert [entry.field for entry in refused.value.errors] == ["plan.offload_parameters"]


def test_who_says_what_goes_to_the_host_gets_that() -> None:
    scenario = scenario_of("llama-7b")
    both = chosen(scenario, {"offload": 1.0, "offload_activations": 1.0})
    assert both.plans.offload[0] == 5.0 and both.memory.streaming[0] > 0
    none = chosen(scenario, {"offload": 0.0, "offload_parameters": 0.0})
    assert none.plans.offload[0] == 0.0


def test_what_is_given_is_kept_and_the_rest_is_said_to_be_searched() -> None:
    given_plan = {"tensor": 2.0, "micro_batch": 2.0, "recompute": 0.0}
    choice = chosen(scenario_of("gpt2-355m"), given_plan)
    for name, value in given_plan.items():
        assert getattr(choice.plans, name) == [value]
    assert not set(given_plan) & set(choice.searched)
    assert {"pipeline", "data", "sharding", "offload", "interleave"} <= set(choice.searched)
    assert not {"expert", "rts", "phases"} & set(choice.searched)
    assert "expert" in chosen(scenario_of("mixtral-8x7b")).searched
    assert not {"interleave", "sharding", "expert"} & set(
        chosen(scenario_of("bert-large", "bow-pod16", 1)).searched
    )


@pytest.mark.parametrize(
    ("system", "given_plan", "error", "field"),
    [
        ("dgx-a100-640gb", {"rts": 2.0}, BadInput, "plan.rts"),
        ("bow-pod16", {"sharding": 1.0}, BadInput, "plan.sharding"),
        ("bow-pod16", {"data": 3.0}, BadInput, "plan.data"),
        ("dgx-a100-640gb", {"tensor": 8.0, "data": 4.0}, Conflict, "plan.data"),
        ("dgx-a100-640gb", {"pipeline": 16.0, "tensor": 4.0}, Conflict, "plan.pipeline"),
        ("dgx-a100-640gb", {"micro_batch": 5.0}, BadInput, "plan.micro_batch"),
        ("dgx-a100-640gb", {"expert": 2.0}, BadInput, "plan.expert"),
    ],
)
def test_plans_that_cannot_be_are_refused_by_name(
    system: str, given_plan: dict[str, float], error: type[BadInput | Conflict], field: str
) -> None:
    with pytest.raises(error) as refused:
        chosen(scenario_of("gpt2-355m", system, 1 if "pod" in system else 2), given_plan)
    assert [entry.field for entry in refused.value.errors] == [field]


def test_a_risk_moves_the_rank_and_not_the_times() -> None:
    scenario = scenario_of("gpt2-355m")
    # The layers recomputed are tried on what ranks best.
    space = space_of(scenario, {"recompute": (0.0, 1.0, 2.0)}, devices=16, per_node=8, global_batch=64)

    def wary(plans: Plans) -> Floats:
        return np.where(plans.tensor == 1, 1e6, 1.0)

    calm, risky = (search_space(scenario, space, risk=risk, everything=True) for risk in (None, wary))
    assert np.array_equal(calm.evaluated.seconds, risky.evaluated.seconds)
    assert calm.plans.tensor[calm.best] == 1
    assert risky.plans.tensor[risky.best] > 1
    others = np.where(calm.plans.tensor > 1, calm.evaluated.seconds, np.inf)
    assert risky.best == np.argmin(others)


@pytest.mark.parametrize("offload", [0.0, 1.0])
def test_a_state_over_all_replicas_is_never_worse(offload: float) -> None:
    """Which is why a search leaves out sharding it over some of them."""
    scenario = scenario_of("bert-large", system="bow-pod64", count=1)
    powers = 2.0 ** np.arange(5)
    plans = Plans.of(
        pipeline=np.full(5, 4.0), data=np.full(5, 16.0), micro_batch=2.0, accumulation=16.0, offload=offload,
        rts_optimizer=powers,
    )  # fmt: skip
    assert np.all(np.diff(scenario.memory(plans).total) <= 0)
    assert np.all(np.diff(scenario.step(plans).total) <= 0)
