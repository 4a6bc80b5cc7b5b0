"""Evaluated plans equal single plans, whatever is computed once and gathered."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import app.engine.search.evaluate as evaluate
from app.engine.gpu import gpu_memory, gpu_step
from app.engine.operators import OperatorTable
from app.engine.plans import Sharding
from app.engine.records import GpuSoftware, Precision
from app.engine.search import CHUNK, Candidates, Evaluated, Space, evaluate_gpu_plans, gpu_plans
from tests.engine.gpu.records import dgx, software, table
from tests.engine.search.spaces import space

SYSTEM = dgx()
LENGTHS = {"gpt2-1.5b": 1024, "llama-7b": 2048, "mixtral-8x7b": 512, "bert-large": 128, "resnet50": None}
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
    candidates: Candidates,
    stack: GpuSoftware,
    *,
    limit: float = np.inf,
    host_memory: float = 0.0,
    precision: Precision = Precision.BF16,
    optimizer: str = "adam",
) -> Evaluated:
    return evaluate_gpu_plans(
        model, candidates, SYSTEM, stack, precision, optimizer, limit=limit, host_memory=host_memory
    )


@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(LENGTHS)),
    stack=st.sampled_from(STACKS),
    devices=st.sampled_from([1, 6, 8, 16, 64, 256]),
    batch=st.sampled_from([24, 64, 1536]),
    precision=st.sampled_from([Precision.BF16, Precision.TF32]),
    optimizer=st.sampled_from(["adam", "sgd", "lamb"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_evaluated_plan_equals_that_plan_alone(
    name: str, stack: str, devices: int, batch: int, precision: Precision, optimizer: str, seed: int
) -> None:
    """Experts, fused attention, shards inside a machine and optimizers on the host included."""
    model, figures = table(name, LENGTHS[name]), software(stack)
    candidates = gpu_plans(space_of(model, figures, devices, batch))
    if not candidates.count:
        return
    found = evaluated(model, candidates, figures, precision=precision, optimizer=optimizer)
    assert found.fits.all()
    for place in np.random.default_rng(seed).integers(0, candidates.count, 12):
        alone = candidates.plans.take(np.array([place]))
        memory = gpu_memory(model, alone, SYSTEM.chip, SYSTEM.kernels, figures, precision, optimizer)
        step = gpu_step(model, alone, SYSTEM, figures, precision, optimizer)
        assert found.memory[place] == pytest.approx(float(memory.total[0]), rel=1e-12)
        assert found.elsewhere[place] == pytest.approx(float(memory.streaming[0]), rel=1e-12)
        assert found.seconds[place] == pytest.approx(float(step.total[0]), rel=1e-12)


def test_a_table_of_many_operators_is_computed_in_stretches_without_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, figures = table("gpt2-1.5b", 1024), software("gpu-eager-unfused")
    candidates = gpu_plans(space_of(model, figures, 16, 96))
    whole = evaluated(model, candidates, figures)
    monkeypatch.setattr(evaluate, "CELLS", 7 * len(model))
    parts = evaluated(model, candidates, figures)
    assert candidates.work.tensor.size > 3 * 7
    assert parts.seconds == pytest.approx(whole.seconds, rel=1e-12)
    assert parts.memory == pytest.approx(whole.memory, rel=1e-12)


@pytest.mark.parametrize("name", ["gpt3-175b", "mixtral-8x7b"])
def test_all_plans_of_several_stretches_equal_all_at_once(name: str) -> None:
    model, figures = table(name, 2048), software("megatron-2022")
    candidates = gpu_plans(space_of(model, figures, 256, 512))
    assert candidates.count > 2 * CHUNK
    some = np.sort(np.random.default_rng(7).choice(candidates.count, 3000, replace=False))
    found = evaluated(model, candidates, figures)
    plans = candidates.plans.take(some)
    assert (plans.sharding_ranks < plans.data).any()
    assert (plans.offload > 0).any()
    assert (plans.expert > 1).any() == (name == "mixtral-8x7b")
    step = gpu_step(model, plans, SYSTEM, figures, Precision.BF16, "adam")
    memory = gpu_memory(model, plans, SYSTEM.chip, SYSTEM.kernels, figures, Precision.BF16, "adam")
    np.testing.assert_allclose(found.seconds[some], step.total, rtol=1e-12)
    np.testing.assert_allclose(found.memory[some], memory.total, rtol=1e-12)


@given(limit=st.floats(1e9, 200e9), host=st.one_of(st.just(0.0), st.floats(1e9, 200e9)))
@settings(max_examples=30)
def test_plans_beyond_a_limit_are_infinitely_slow_and_no_others(limit: float, host: float) -> None:
    model, figures = table("llama-7b", 2048), software()
    candidates = gpu_plans(space_of(model, figures, 16, 64))
    free = evaluated(model, candidates, figures)
    found = evaluated(model, candidates, figures, limit=limit, host_memory=host)
    inside = (free.memory <= limit) & ((free.elsewhere <= host) if host else True)
    assert np.array_equal(found.fits, inside)
    assert np.array_equal(np.isfinite(found.seconds), inside)
    assert np.array_equal(found.seconds[inside], free.seconds[inside])
    assert np.array_equal(found.memory, free.memory)


def test_the_memory_of_the_host_bounds_what_is_put_there() -> None:
    """Each of seven billion weights keeps 12 bytes on a host: 84 GB a device, an eighth where eight share."""
    model, figures = table("llama-7b", 2048), software()
    candidates = gpu_plans(space_of(model, figures, 8, 64, tensor=(1.0,), pipeline=(1.0,), offload=(1.0,)))
    sharded = candidates.plans.sharding >= Sharding.OPTIMIZER
    found = evaluated(model, candidates, figures, host_memory=12.0 * model.parameters / 7.9)
    assert found.fits[sharded].all()
    assert not found.fits[~sharded].any()
    unknown = evaluated(model, candidates, figures, host_memory=0.0)
    assert unknown.fits.all()


def test_no_plan_gives_nothing() -> None:
    model, figures = table("llama-7b", 2048), software()
    candidates = gpu_plans(space_of(model, figures, 16, 3, tensor=(1.0,), pipeline=(1.0,)))
    found = evaluated(model, candidates, figures)
    assert found.memory.size == found.seconds.size == found.fits.size == 0


def test_a_faster_fabric_makes_no_evaluated_plan_slower() -> None:
    model, figures = table("mixtral-8x7b", 512), software()
    candidates = gpu_plans(space_of(model, figures, 64, 64))
    before = evaluated(model, candidates, figures).seconds
    better = replace(SYSTEM.fabric, port_bandwidth=2.0 * SYSTEM.fabric.port_bandwidth)
    after = evaluate_gpu_plans(
        model, candidates, replace(SYSTEM, fabric=better), figures, Precision.BF16, "adam", limit=np.inf
    ).seconds
    assert np.all(after <= before * (1.0 + 1e-12))
    assert np.any(after < before)
