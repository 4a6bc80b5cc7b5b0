"""Steps on GPUs: published ratios, and what must hold for any plan."""

from dataclasses import replace
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.engine.gpu.step import GpuStep
from app.engine.operators.table import OperatorTable
from app.engine.plans import Plans, Recompute, Sharding, StepTime
from app.engine.records import GpuSoftware, GpuSystem, Precision
from tests.engine.conftest import dgx, gpu_step, software, table

SYSTEM = dgx()

MODELS = ("bert-large", "resnet50", "megatron-1.7b", "llama-7b")

STACKS = ("gpu-tuned", "gpu-fused", "gpu-eager", "megatron-deepspeed-2022", "fsdp-flash", "internlm")


def step(
    model: OperatorTable, stack: GpuSoftware | None = None, system: GpuSystem = SYSTEM, **plan: object
) -> StepTime:
    return gpu_step(model, Plans.of(**plan), system, stack or software(), Precision.BF16, "adam")


def seconds(
    model: OperatorTable, stack: GpuSoftware | None = None, system: GpuSystem = SYSTEM, **plan: object
) -> float:
    return float(step(model, stack, system, **plan).total)


def faster(factor: float, *, fabric: bool) -> GpuSystem:
    """Return machines with a faster network, or with faster memory."""
    if fabric:
        better = replace(SYSTEM.fabric, port_bandwidth=SYSTEM.fabric.port_bandwidth * factor)
        return replace(SYSTEM, fabric=better)
    return replace(SYSTEM, chip=replace(SYSTEM.chip, memory_bandwidth=SYSTEM.chip.memory_bandwidth * factor))


degrees = st.sampled_from([1.0, 2.0, 4.0, 8.0])

plans = st.fixed_dictionaries({
    "tensor": degrees,
    "pipeline": degrees,
    "data": st.sampled_from([1.0, 2.0, 4.0, 16.0, 64.0]),
    "micro_batch": st.sampled_from([1.0, 2.0, 8.0]),
    "accumulation": st.sampled_from([8.0, 64.0]),
    "recompute": st.sampled_from([float(mode) for mode in Recompute]),
    "sequence_parallel": st.sampled_from([0.0, 1.0]),
    "sharding": st.sampled_from([float(mode) for mode in Sharding]),
    "offload": st.sampled_from([0.0, 1.0]),
})  # fmt: skip

models = st.sampled_from(MODELS)

stacks = st.sampled_from(STACKS)


def allowed(name: str, plan: dict[str, float]) -> dict[str, float]:
    """Return a plan that the model takes: convolutional networks are copied only."""
    return plan if name != "resnet50" else plan | {"tensor": 1.0, "pipeline": 1.0, "sequence_parallel": 0.0}


@given(name=models, stack=stacks, plan=plans)
def test_parts_are_known_and_never_negative(name: str, stack: str, plan: dict[str, float]) -> None:
    found = step(table(name), software(stack), **allowed(name, plan))
    assert tuple(found.parts) == GpuStep._fields
    assert all(np.all(part >= 0) and np.all(np.isfinite(part)) for part in found.parts.values())
    assert found.total > 0


@given(name=models, stack=stacks, plan=plans, factor=st.floats(1.01, 10.0), fabric=st.booleans())
def test_more_bandwidth_is_never_slower(
    name: str, stack: str, plan: dict[str, float], factor: float, fabric: bool
) -> None:
    plan = allowed(name, plan)
    before = seconds(table(name), software(stack), **plan)
    after = seconds(table(name), software(stack), faster(factor, fabric=fabric), **plan)
    # Where the host sets the pace, the GPU's time and its wait add up to the same but for rounding.
    assert after <= before * (1.0 + 1e-12)


@given(name=models, stack=stacks, plan=plans, ways=st.sampled_from([2.0, 4.0, 8.0]))
def test_device_time_never_falls_with_more_replicas(
    name: str, stack: str, plan: dict[str, float], ways: float
) -> None:
    """The same global batch over more replicas, with fewer micro-batches each."""
    plan = allowed(name, plan)
    wider = plan | {"data": plan["data"] * ways, "accumulation": plan["accumulation"] / ways}
    before = seconds(table(name), software(stack), **plan)
    assert ways * seconds(table(name), software(stack), **wider) >= before * (1 - 1e-12)


@given(name=models, stack=stacks, plan=plans)
def test_more_micro_batches_take_longer_but_less_each(name: str, stack: str, plan: dict[str, float]) -> None:
    plan = allowed(name, plan)
    before = seconds(table(name), software(stack), **plan)
    after = seconds(table(name), software(stack), **plan | {"accumulation": 2 * plan["accumulation"]})
    assert before < after <= 2 * before


@given(name=models, plan=plans)
def test_computing_again_is_never_faster(name: str, plan: dict[str, float]) -> None:
    plan = allowed(name, plan)
    model = table(name)
    none, selective, full = (seconds(model, **plan | {"recompute": float(mode)}) for mode in Recompute)
    assert none <= selective <= full


@given(name=models, plan=plans, better=st.floats(1.0, 3.0))
def test_a_better_stack_is_never_slower(name: str, plan: dict[str, float], better: float) -> None:
    assume(plan["sharding"] == 0)
    plan = allowed(name, plan)
    stack = software()
    improved = stack._replace(
        matrix_efficiency=stack.matrix_efficiency * min(better, 1.2),
        elementwise_factor=stack.elementwise_factor / better,
        step_overhead=stack.step_overhead / better,
        network_efficiency=min(1.0, stack.network_efficiency * better),
    )
    assert seconds(table(name), improved, **plan) <= seconds(table(name), stack, **plan)


def test_plans_in_one_array_equal_each_alone() -> None:
    model = table("megatron-1.7b")
    many = {
        "tensor": np.array([1.0, 2.0, 8.0]), "pipeline": np.array([1.0, 2.0, 4.0]),
        "data": np.array([8.0, 2.0, 4.0]), "accumulation": 16.0, "sharding": np.array([3.0, 0.0, 1.0]),
        "sharding_ranks": np.array([8.0, 2.0, 4.0]), "recompute": np.array([0.0, 2.0, 1.0]),
        "sequence_parallel": np.array([0.0, 1.0, 1.0]),
    }  # fmt: skip
    together = step(model, **many).total
    alone = [
        seconds(model, **{name: value if np.ndim(value) == 0 else value[place]
                          for name, value in many.items()})
        for place in range(3)
    ]  # fmt: skip
    assert together == pytest.approx(alone, rel=1e-12)


def test_samples_of_a_stack_equal_each_alone() -> None:
    stack = software()
    factors = np.array([1.0, 1.5, 2.0])
    model = table("bert-large")
    together = step(model, stack._replace(elementwise_factor=factors), data=np.array([8.0])).total
    alone = [seconds(model, stack._replace(elementwise_factor=one), data=8.0) for one in factors]
    assert np.ravel(together) == pytest.approx(alone, rel=1e-12)


def test_one_device_sends_nothing() -> None:
    parts = step(table("bert-large")).parts
    assert parts["tensor_comm"] == parts["pipeline_comm"] == parts["data_comm"] == 0
    assert parts["pipeline_bubble"] == 0


KORTHIKANTI = {
    "megatron-22b": (8.0, 1.0, 1.0, 4.0, 1.0, 1.42, 1.10),
    "gpt3-175b": (8.0, 8.0, 3.0, 1.0, 64.0, 18.13, 13.75),
    "mt-nlg-530b": (8.0, 35.0, 3.0, 1.0, 280.0, 49.05, 37.83),
    "megatron-1t": (8.0, 64.0, 1.0, 1.0, 512.0, 94.42, 71.49),
}
"""Tensor, pipeline, chunks, micro-batch, micro-batches; iteration with full recomputation and with
selective recomputation and sequence parallelism. Korthikanti et al. 2022, table 5. [s]"""


@pytest.mark.parametrize("name", KORTHIKANTI)
def test_iterations_of_four_sizes_with_and_without_full_recomputation(name: str) -> None:
    tensor, pipeline, chunks, micro_batch, rounds, full, present = KORTHIKANTI[name]
    degrees = {
        "tensor": tensor, "pipeline": pipeline, "interleave": chunks, "micro_batch": micro_batch,
        "accumulation": rounds,
    }  # fmt: skip
    stack, model = software("megatron-2022"), table(name, 2048)
    before = seconds(model, stack, **degrees, recompute=float(Recompute.FULL))
    after = seconds(model, stack, **degrees, recompute=float(Recompute.SELECTIVE), sequence_parallel=1.0)
    assert before == pytest.approx(full, rel=0.15)
    assert after == pytest.approx(present, rel=0.15)
    assert before / after == pytest.approx(full / present, rel=0.06)


def test_a_slow_network_is_felt_by_replicas_that_share_their_parameters() -> None:
    """DeepSpeed's stage 3 gathers weights for every micro-batch; plain replicas reduce once."""
    model = table("llama-7b")
    slow = dgx("ethernet-25", 1)
    shared = {"data": 16.0, "sharding": float(Sharding.PARAMETERS), "accumulation": 4.0}
    alone = {"data": 16.0, "accumulation": 4.0}
    assert seconds(model, system=slow, **shared) > 3 * seconds(model, **shared)
    assert seconds(model, system=slow, **shared) > seconds(model, system=slow, **alone)


def test_copied_tables_leave_less_to_exchange() -> None:
    stack = software()._replace(row_exchange=1.0)
    plan = {"data": 64.0, "micro_batch": 1024.0}
    spread = float(step(table("dlrm"), stack, **plan).parts["data_comm"])
    copied = float(step(table("dlrm"), stack._replace(row_exchange=0.3), **plan).parts["data_comm"])
    none = float(step(table("dlrm"), stack._replace(row_exchange=0.0), **plan).parts["data_comm"])
    assert none < copied < spread
    assert (copied - none) / (spread - none) == pytest.approx(0.3)
    # Two exchanges have to start even where they carry next to nothing.
    assert none >= 2 * SYSTEM.fabric.message_latency


def test_one_device_exchanges_no_rows() -> None:
    assert float(step(table("dlrm"), micro_batch=1024.0).parts["data_comm"]) == 0.0


def test_figures_of_software_are_numbers_that_a_row_holds() -> None:
    assert {*get_type_hints(GpuSoftware).values()} == {float}
