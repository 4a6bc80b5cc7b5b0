"""Messages as published parameters have them, and many networks in one call."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.collectives import IntraLinks, Network, allreduce_algorithm
from app.engine.gpu.collectives import device_weights, message_group
from app.engine.plans import Plans
from app.engine.records import GpuSystem, Precision
from tests.engine.conftest import dgx, gpu_case, gpu_step, plan_of, software, table

SYSTEM = dgx()

STACK = software("megatron-2022")._replace(gradient_bytes=2.0)


@pytest.mark.parametrize(("model", "parameters"), [("bert-large", 335e6), ("resnet50", 25.6e6)])
def test_data_parallel_bytes_are_the_gradients(model: str, parameters: float) -> None:
    """Published parameters, two bytes each, whatever batch and however many copies."""
    case = gpu_case(table(model), STACK, SYSTEM).case
    for data, micro_batch in ((16.0, 8.0), (64.0, 64.0)):
        plan = plan_of(data=data, micro_batch=micro_batch)
        group = message_group(case, plan, device_weights(case, plan), False)
        assert group.gradients == pytest.approx(2.0 * parameters, rel=0.02)


def on(port_bandwidth: object, ports: object = 8) -> GpuSystem:
    fabric = replace(SYSTEM.fabric, port_bandwidth=port_bandwidth, ports_per_node=ports)  # type: ignore[arg-type]
    return replace(SYSTEM, fabric=fabric)


def step(system: GpuSystem, **plan: float) -> np.ndarray:
    plans = Plans.of(**plan)
    return np.asarray(gpu_step(table("bert-large"), plans, system, STACK, Precision.BF16, "adam").total)


def test_several_networks_in_one_call_are_the_same_as_one_by_one() -> None:
    rates = np.array([11.5e9, 24e9, 48e9])
    together = step(on(rates), data=64.0, micro_batch=8.0)
    alone = [float(step(on(rate), data=64.0, micro_batch=8.0)) for rate in rates]
    assert together == pytest.approx(alone)


@given(st.floats(1e9, 50e9), st.floats(1.0, 4.0), st.sampled_from([1.0, 2.0, 8.0]))
def test_a_step_never_grows_with_bandwidth(rate: float, factor: float, accumulation: float) -> None:
    slow, fast = (
        float(step(on(one), data=64.0, micro_batch=8.0, accumulation=accumulation))
        for one in (rate, rate * factor)
    )
    assert fast <= slow * (1 + 1e-12)


def test_small_messages_over_many_machines_take_the_tree() -> None:
    links, network = IntraLinks.of(SYSTEM.machine), Network.of(SYSTEM.fabric, 1.0)
    ring, tree, summed = 0.0, 1.0, 2.0
    assert allreduce_algorithm(1e6, 512, 8, links, network) == tree
    assert allreduce_algorithm(10e9, 512, 8, links, network) == ring
    assert allreduce_algorithm(10e9, 512, 8, links, network._replace(in_network_reduction=1.0)) == summed
    assert allreduce_algorithm(1e6, 8, 8, links, network) == ring
