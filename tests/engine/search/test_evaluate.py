"""Evaluated plans equal single plans, whatever is computed once for several and whatever computes it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.compiled import Kernel
from app.engine.gpu.case import GpuCase
from app.engine.gpu.plan_steps import PlanFigures, PlanLimits
from app.engine.operators.table import OperatorTable
from app.engine.plans import Plans, Sharding
from app.engine.records import GpuSoftware, GpuSystem, Precision
from app.engine.runs import ONE_STEP, RunFigures
from app.engine.search import evaluate
from app.engine.search.enumeration import spread_of
from app.engine.search.evaluate import GpuEvaluator, fitting
from app.engine.search.nearby import nearby_plans
from app.engine.search.space import Space, layouts
from tests.engine.conftest import dgx, gpu_memory, gpu_step, software, table
from tests.engine.search.conftest import gpu_plans, space

SYSTEM = replace(dgx(), host_memory=0.0)
"""Machines of whose own memory nothing is known, so that everything fits into it."""

LENGTHS = {"gpt2-1.5b": 1024, "llama-7b": 2048, "mixtral-8x7b": 512, "bert-large": 128, "resnet50": None}

KERNELS = {place: made for place, made in vars(evaluate).items() if isinstance(made, Kernel)}

STACKS = ("gpu-tuned", "gpu-fused", "gpu-eager", "megatron-deepspeed-2022", "megatron-2022", "fsdp-flash")


def space_of(model: OperatorTable, stack: GpuSoftware, devices: int, batch: int, **allowed: object) -> Space:
    return space(
        devices=devices,
        global_batch=batch,
        depth=model.depth,
        heads=int(model.attention_heads),
        experts=model.experts,
        fused_attention=stack.fused_attention,
        allowed=allowed,
    )


def evaluated(
    model: OperatorTable,
    plans: Plans,
    stack: GpuSoftware,
    *,
    system: GpuSystem = SYSTEM,
    limit: float = np.inf,
    precision: Precision = Precision.BF16,
    optimizer: str = "adam",
) -> PlanFigures:
    evaluator = GpuEvaluator(GpuCase.of(model, system, stack, precision, optimizer))
    return evaluator(plans, evaluator.limits(limit))


HOST = (0.0, 1.0), tuple(map(float, range(8)))
"""What may lie on the host: the optimizer, or any of the kinds."""

drawn = {
    "host": st.sampled_from(HOST),
    "stack": st.sampled_from(STACKS),
    "devices": st.sampled_from([1, 6, 8, 16, 64, 256]),
    "batch": st.sampled_from([24, 64, 1536]),
    "precision": st.sampled_from([Precision.BF16, Precision.TF32]),
    "optimizer": st.sampled_from(["adam", "sgd", "lamb"]),
    "seed": st.integers(0, 2**32 - 1),
}


def some_of(plans: Plans, seed: int, count: int) -> Plans:
    return plans.take(np.random.default_rng(seed).integers(0, plans.tensor.size, count))


@settings(max_examples=40)
@given(name=st.sampled_from(sorted(LENGTHS)), **drawn)
def test_every_evaluated_plan_equals_that_plan_alone(
    name: str,
    host: tuple[float, ...],
    stack: str,
    devices: int,
    batch: int,
    precision: Precision,
    optimizer: str,
    seed: int,
) -> None:
    """Experts, fused attention, shards inside a machine and what lies on the host included."""
    model, figures = table(name, LENGTHS[name]), software(stack)
    plans = gpu_plans(space_of(model, figures, devices, batch, offload=host))
    if not plans.tensor.size:
        return
    found = evaluated(model, plans, figures, precision=precision, optimizer=optimizer)
    assert found.fits.all()
    for place in np.random.default_rng(seed).integers(0, plans.tensor.size, 12):
        alone = plans.take(np.array([place]))
        memory = gpu_memory(model, alone, SYSTEM, figures, precision, optimizer)
        step = gpu_step(model, alone, SYSTEM, figures, precision, optimizer)
        assert found.memory[place] == pytest.approx(float(memory.total[0]), rel=1e-12)
        assert found.elsewhere[place] == pytest.approx(float(memory.streaming[0]), rel=1e-12)
        assert found.seconds[place] == pytest.approx(float(step.total[0]), rel=1e-12)


@settings(max_examples=40)
@given(name=st.sampled_from(["bert-large", "mixtral-8x7b", "resnet50"]), **drawn)
def test_compiled_plans_equal_the_same_functions_interpreted(
    name: str,
    host: tuple[float, ...],
    stack: str,
    devices: int,
    batch: int,
    precision: Precision,
    optimizer: str,
    seed: int,
) -> None:
    assert KERNELS
    model, figures = table(name, LENGTHS[name]), software(stack)
    every = gpu_plans(space_of(model, figures, devices, batch, offload=host))
    if not every.tensor.size:
        return
    plans = some_of(every, seed, 6)
    # About half of the plans fit.
    limit = float(np.median(evaluated(model, every, figures).memory))
    asked = {"limit": limit, "precision": precision, "optimizer": optimizer}
    found = evaluated(model, plans, figures, **asked)
    with pytest.MonkeyPatch.context() as patched, np.errstate(all="ignore"):
        for place, made in KERNELS.items():
            patched.setattr(evaluate, place, made.function)
        same = evaluated(model, plans, figures, **asked)
    assert np.array_equal(found.fits, same.fits)
    for part in ("memory", "elsewhere", "seconds"):
        np.testing.assert_allclose(getattr(found, part), getattr(same, part), rtol=1e-12, err_msg=part)


@pytest.mark.parametrize("name", ["gpt3-175b", "mixtral-8x7b"])
def test_plans_of_a_large_space_equal_those_plans_alone(name: str) -> None:
    model, figures = table(name, 2048), software("megatron-2022")
    every = gpu_plans(space_of(model, figures, 256, 512))
    assert every.tensor.size > 16_384
    some = np.sort(np.random.default_rng(7).choice(every.tensor.size, 3000, replace=False))
    found = evaluated(model, every, figures)
    plans = every.take(some)
    assert (plans.sharding_ranks < plans.data).any()
    assert (plans.offload > 0).any()
    assert (plans.expert > 1).any() == (name == "mixtral-8x7b")
    step = gpu_step(model, plans, SYSTEM, figures, Precision.BF16, "adam")
    memory = gpu_memory(model, plans, SYSTEM, figures, Precision.BF16, "adam")
    np.testing.assert_allclose(found.seconds[some], step.total, rtol=1e-12)
    np.testing.assert_allclose(found.memory[some], memory.total, rtol=1e-12)


def test_plans_on_very_many_devices_equal_those_plans_alone() -> None:
    """Degrees whose product is larger than the whole numbers a float tells apart."""
    model, figures = table("mixtral-8x7b", 512), software()
    asked = space_of(model, figures, 2**18, 2**18, micro_batch=(1.0,), recompute=(0.0,), offload=(0.0,))
    every = gpu_plans(asked)
    plans = some_of(every, 3, 300)
    found = evaluated(model, plans, figures)
    step = gpu_step(model, plans, SYSTEM, figures, Precision.BF16, "adam")
    np.testing.assert_allclose(found.seconds, step.total, rtol=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    limit=st.floats(5e9, 90e9),
    host=st.sampled_from([0.0, 2e9, 1e12]),
    worth=st.sampled_from([1.0, 1.5, np.inf]),
)
@settings(max_examples=30)
def test_those_that_fit_and_are_worth_it_are_kept_in_their_order(
    seed: int, limit: float, host: float, worth: float
) -> None:
    model, figures = table("llama-7b", 2048), software()
    plans = some_of(gpu_plans(space_of(model, figures, 16, 64)), seed, 200)
    system = replace(SYSTEM, host_memory=host)
    found = evaluated(model, plans, figures, system=system, limit=limit)
    slowest = worth * np.min(found.totals)
    fits, rows = np.flatnonzero(found.fits & (found.totals <= slowest)), plans.rows.copy()
    memory, elsewhere = found.memory.copy(), found.elsewhere.copy()
    kept = fitting(plans, found, PlanLimits(limit, host, 1.0, worth), np.inf)
    assert kept.least_memory == memory.min()
    if np.isfinite(found.totals).any():
        assert np.array_equal(kept.plans.rows, rows[fits])
        assert np.array_equal(kept.evaluated.memory, memory[fits])
        assert kept.evaluated.fits.all()
    else:
        full = np.maximum(memory / limit, elsewhere / host if host else 0.0)
        assert np.array_equal(kept.plans.rows[0], rows[np.argmin(full)])
        assert not kept.evaluated.fits.any()


TO_A_TARGET = RunFigures(
    ONE_STEP.case._replace(
        law_samples=2e6, law_batch=3000.0, law_exponent=1.0, devices_per_machine=8.0, checkpoint_bytes=1e10,
        bandwidth=1e9, storage=1e11, failure_rate=1e-7, restart=600.0,
    ),
    np.array([64.0, 1024.0]),
    np.array([2e6, 3e6]),
)  # fmt: skip
"""A run that needs more samples the larger its batch."""


@settings(max_examples=30)
@given(name=st.sampled_from(sorted(LENGTHS)), to_target=st.booleans(), lean=st.booleans(), **drawn)
def test_only_plans_that_are_not_worth_it_are_passed_over(
    name: str,
    to_target: bool,
    lean: bool,
    host: tuple[float, ...],
    stack: str,
    devices: int,
    batch: int,
    precision: Precision,
    optimizer: str,
    seed: int,
) -> None:
    """What is bounded by its slots alone is slower than half as long again as the fastest."""
    model, figures = table(name, LENGTHS[name]), software(stack)
    asked = replace(
        space_of(model, figures, devices, batch, offload=host),
        spare=True, any_batch=to_target, quarterings=2, lean=lean,
    )  # fmt: skip
    spread, run = spread_of(asked, layouts(asked)), TO_A_TARGET if to_target else ONE_STEP
    evaluator = GpuEvaluator(GpuCase.of(model, SYSTEM, figures, precision, optimizer))
    every = evaluator.fitting(spread, evaluator.limits(np.inf), run)
    # Most do not fit, so that the fastest are not the first.
    limit = float(np.quantile(every.evaluated.memory, np.random.default_rng(seed).random()))
    every = evaluator.fitting(spread, evaluator.limits(limit), run)
    some = evaluator.fitting(spread, evaluator.limits(limit, worth=1.5), run)
    worth = every.evaluated.totals <= 1.5 * every.evaluated.totals.min()
    found = {tuple(row): total for row, total in zip(some.plans.rows, some.evaluated.totals, strict=True)}
    assert some.count <= every.count
    for row, total in zip(every.plans.rows[worth], every.evaluated.totals[worth], strict=True):
        assert found[tuple(row)] == pytest.approx(total, rel=1e-12)


@settings(max_examples=30)
@given(name=st.sampled_from(sorted(LENGTHS)), slower=st.floats(1.0, 2.0), **drawn)
def test_only_nearby_plans_that_are_too_slow_are_left_out(
    name: str,
    slower: float,
    host: tuple[float, ...],
    stack: str,
    devices: int,
    batch: int,
    precision: Precision,
    optimizer: str,
    seed: int,
) -> None:
    model, figures = table(name, LENGTHS[name]), software(stack)
    asked = replace(
        space_of(model, figures, devices, batch, offload=host), spare=True, any_batch=True, quarterings=2
    )
    evaluator = GpuEvaluator(GpuCase.of(model, SYSTEM, figures, precision, optimizer))
    limits = evaluator.limits(np.inf)
    seeds = some_of(gpu_plans(asked), seed, 6)
    every = nearby_plans(asked, seeds, np.arange(3))
    totals = evaluator(every, limits, TO_A_TARGET).totals
    slowest = slower * float(totals.min(initial=np.inf))
    some = nearby_plans(asked, seeds, np.arange(3), slots=evaluator.slots, run=TO_A_TARGET, slowest=slowest)
    assert len(some.rows) <= len(every.rows)
    assert set(map(tuple, every.rows[totals <= slowest])) <= set(map(tuple, some.rows))


@given(limit=st.floats(1e9, 200e9), host=st.one_of(st.just(0.0), st.floats(1e9, 200e9)))
@settings(max_examples=30)
def test_plans_beyond_a_limit_are_infinitely_slow_and_no_others(limit: float, host: float) -> None:
    model, figures = table("llama-7b", 2048), software()
    plans = gpu_plans(space_of(model, figures, 16, 64))
    free = evaluated(model, plans, figures)
    found = evaluated(model, plans, figures, system=replace(SYSTEM, host_memory=host), limit=limit)
    inside = (free.memory <= limit) & ((free.elsewhere <= host) if host else True)
    assert np.array_equal(found.fits, inside)
    assert np.array_equal(np.isfinite(found.seconds), inside)
    assert np.array_equal(found.seconds[inside], free.seconds[inside])
    assert np.array_equal(found.memory, free.memory)


def test_the_memory_of_the_host_bounds_what_is_put_there() -> None:
    """Each of seven billion weights keeps 16 bytes on a host, an eighth where eight share."""
    model, figures = table("llama-7b", 2048), software()
    asked = space_of(model, figures, 8, 64, tensor=(1.0,), pipeline=(1.0,), offload=(1.0,))
    plans = gpu_plans(asked)
    sharded = plans.sharding >= Sharding.OPTIMIZER
    small = replace(SYSTEM, host_memory=16.0 * model.parameters / 7.9)
    found = evaluated(model, plans, figures, system=small)
    assert found.fits[sharded].all()
    assert not found.fits[~sharded].any()
    assert evaluated(model, plans, figures).fits.all()


def test_no_plan_gives_nothing() -> None:
    model, figures = table("llama-7b", 2048), software()
    plans = gpu_plans(space_of(model, figures, 16, 3, tensor=(1.0,), pipeline=(1.0,)))
    found = evaluated(model, plans, figures)
    assert found.memory.size == found.seconds.size == found.fits.size == 0


def test_a_faster_fabric_makes_no_evaluated_plan_slower() -> None:
    model, figures = table("mixtral-8x7b", 512), software()
    plans = gpu_plans(space_of(model, figures, 64, 64))
    before = evaluated(model, plans, figures).seconds
    better = replace(SYSTEM.fabric, port_bandwidth=2.0 * SYSTEM.fabric.port_bandwidth)
    after = evaluated(model, plans, figures, system=replace(SYSTEM, fabric=better)).seconds
    assert np.all(after <= before * (1.0 + 1e-12))
    assert np.any(after < before)
