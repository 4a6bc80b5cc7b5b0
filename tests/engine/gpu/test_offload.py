"""Weights and activations in host memory: what leaves a device, and what the link to its host takes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.gpu.collectives import device_weights
from app.engine.gpu.step import host_transfer_time
from app.engine.plans import Offload, Plans, Recompute, Sharding
from app.engine.records import GpuSystem, Precision
from tests.engine.conftest import dgx, gpu_case, gpu_memory, gpu_step, plan_of, software, table

SYSTEM, MODEL, STACK = dgx(), table("llama-7b", 2048), software("gpu-flash")
ZERO3 = {"data": 8.0, "sharding": float(Sharding.PARAMETERS), "recompute": float(Recompute.FULL)}
ALL = float(sum(Offload))


def bytes_of(**plan: float) -> tuple[dict[str, float], float]:
    """Return the bytes on a device by part, and those on its host."""
    use = gpu_memory(MODEL, Plans.of(**plan), SYSTEM, STACK, Precision.BF16, "adam")
    return {name: float(size) for name, size in use.parts.items()}, float(use.streaming)


def seconds(system: GpuSystem = SYSTEM, **plan: float) -> dict[str, float]:
    step = gpu_step(MODEL, Plans.of(**plan), system, STACK, Precision.BF16, "adam")
    return {name: float(part) for name, part in step.parts.items()}


def test_a_rank_brings_its_share_of_the_weights_for_every_pass_and_sends_its_gradients() -> None:
    """ZeRO-Infinity, section 4.1: three times the weights with recomputation, once the gradients."""
    plan = plan_of(**ZERO3, offload=float(Offload.OPTIMIZER | Offload.PARAMETERS))
    case = gpu_case(MODEL, STACK, SYSTEM).case
    found = host_transfer_time(case, plan, device_weights(case, plan), 0.0)
    assert found == pytest.approx((3 * 2 + STACK.gradient_bytes) * MODEL.parameters / 8 / 24e9, rel=1e-6)


def test_activations_leave_and_come_back() -> None:
    plan = plan_of(offload=float(Offload.ACTIVATIONS))
    case = gpu_case(MODEL, STACK, SYSTEM).case
    assert host_transfer_time(case, plan, device_weights(case, plan), 24e9) == pytest.approx(2.0)


def test_weights_move_to_the_host_whole() -> None:
    (here, none), (there, host) = bytes_of(), bytes_of(offload=float(Offload.PARAMETERS))
    assert none == 0.0 and there["weights"] == 0.0 and host == here["weights"]
    assert {name: there[name] for name in ("gradients", "optimizer")} == {
        name: here[name] for name in ("gradients", "optimizer")
    }


def test_two_layers_of_activations_stay() -> None:
    (here, _), (there, host) = bytes_of(), bytes_of(offload=float(Offload.ACTIVATIONS))
    assert host == here["activations"]
    assert there["activations"] == pytest.approx(here["activations"] * 2 / MODEL.depth)


def test_an_optimizer_on_the_host_takes_the_gradients_of_weights_that_are_there() -> None:
    parts, host = bytes_of(offload=float(Offload.OPTIMIZER | Offload.PARAMETERS))
    assert parts["gradients"] == parts["optimizer"] == parts["weights"] == 0.0
    assert host == pytest.approx((2 + 16) * MODEL.parameters)


@given(
    kinds=st.integers(0, int(ALL)),
    more=st.sampled_from(list(Offload)),
    data=st.sampled_from([1.0, 8.0]),
    sharding=st.sampled_from(list(Sharding)),
    recompute=st.sampled_from(list(Recompute)),
    accumulation=st.sampled_from([1.0, 4.0]),
    pipeline=st.sampled_from([1.0, 4.0]),
)
def test_each_kind_frees_a_device_fills_its_host_and_never_saves_time(
    kinds: int, more: Offload, **plan: float
) -> None:
    without, with_more = float(kinds & ~more), float(kinds | more)
    freed = [bytes_of(**plan, offload=offload) for offload in (without, with_more)]
    live = [sum(parts.values()) for parts, _ in freed]
    # Layers that are brought need room while they are used.
    two_layers = 4.0 * MODEL.parameters / MODEL.depth + 8.0 * MODEL.parameters / MODEL.depth
    assert live[1] <= live[0] + two_layers and freed[1][1] >= freed[0][1]
    if more is not Offload.OPTIMIZER:
        times = [seconds(**plan, offload=offload) for offload in (without, with_more)]
        assert times[1]["host_comm"] >= times[0]["host_comm"]


def test_over_a_link_without_limit_only_the_room_is_different() -> None:
    fast = replace(SYSTEM, host_bandwidth=np.inf)
    kinds = float(Offload.PARAMETERS | Offload.ACTIVATIONS)
    assert seconds(fast, **ZERO3, offload=kinds) == pytest.approx(seconds(fast, **ZERO3))


def test_what_computation_hides_is_not_waited_for() -> None:
    """Many samples a micro-batch hide the weights that come for it; few do not."""
    few, many = (
        seconds(**ZERO3, micro_batch=size, offload=float(Offload.PARAMETERS)) for size in (1.0, 64.0)
    )
    assert many["host_comm"] / 64 < 0.5 * few["host_comm"]
