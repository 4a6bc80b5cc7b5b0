"""What copies of weights exchange: volumes, groups, and copies of experts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.collectives import IntraLinks, Network, collective_time
from app.engine.gpu.collectives import GradientCollectives, Weights, device_weights
from app.engine.operators.table import OperatorTable
from app.engine.plans import Plans, Recompute, Sharding
from app.engine.records import GpuSystem, Precision
from tests.engine.conftest import collectives as copy_collectives
from tests.engine.conftest import dgx, gpu_case, gpu_memory, gpu_step, plan_of, software, table

SYSTEM = dgx()

STACK = software("megatron-2022")._replace(gradient_bytes=2.0)

MIXTURE = table("mixtral-8x7b", 512)

DENSE = replace(MIXTURE, active=np.ones_like(MIXTURE.active))
"""The same products with every token at every expert, so that none can be told apart."""


def collectives(model: OperatorTable, system: GpuSystem = SYSTEM, **plan: float) -> GradientCollectives:
    return copy_collectives(model, STACK, system, **plan)


def weights_of(model: OperatorTable, **plan: float) -> Weights:
    return device_weights(gpu_case(model, STACK, SYSTEM).case, plan_of(**plan))


def collective(size: float, ranks: float, near: float, passes: float) -> float:
    network = Network.of(SYSTEM.fabric, float(STACK.network_efficiency))
    return collective_time(size, ranks, near, IntraLinks.of(SYSTEM.machine), network, passes)


def test_one_copy_exchanges_nothing() -> None:
    found = collectives(table("llama-7b"), tensor=8.0)
    assert found == GradientCollectives(*[0.0] * len(found))


def test_scattering_and_gathering_take_as_long_as_reducing_inside_a_machine() -> None:
    """Rajbhandari et al. 2020, section 7.2.1: the volume of both together is that of an all-reduce."""
    model = table("llama-7b")
    found = collectives(model, data=8.0)
    whole = collective(2.0 * model.parameters, 8.0, 8.0, 2.0)
    assert found.scattered + found.gathered == pytest.approx(whole, rel=1e-12)
    # Buckets are smaller messages than all gradients at once.
    assert whole < found.reduced < 1.2 * whole


def test_sharded_parameters_travel_half_as_much_again() -> None:
    """Section 7.2.2: gathered twice and scattered once, 1.5 times the volume of an all-reduce.

    Over one slow port a machine the volume is all that counts.
    """
    found = collectives(table("llama-7b"), dgx("ethernet-25", 1), data=64.0)
    assert found.streamed == pytest.approx(1.5 * found.reduced, rel=0.01)


def test_shards_inside_a_machine_are_gathered_over_its_links_and_summed_between() -> None:
    model = table("llama-7b")
    near = collectives(model, data=64.0, sharding_ranks=8.0)
    far = collectives(model, data=64.0)
    alone = collectives(model, data=8.0)
    assert near.gathered == alone.gathered
    assert near.gathered < far.gathered
    assert near.between == pytest.approx(collective(2.0 * model.parameters / 8, 8.0, 1.0, 2.0), rel=1e-12)
    assert far.between == 0.0
    # Each machine holds a copy, so that all gradients are reduced over all of them.
    assert near.scattered == pytest.approx(collective(2.0 * model.parameters, 64.0, 8.0, 2.0), rel=1e-12)


def test_gradients_shared_inside_a_machine_leave_it_once_a_step() -> None:
    """Each micro-batch scatters over the links; only what a rank keeps is summed over the fabric."""
    model, stack = table("llama-7b"), STACK._replace(overlap=0.0)
    near = collectives(model, data=64.0, sharding_ranks=8.0)
    assert near.scattered_once == float(collectives(model, data=8.0).scattered_once)
    shared = {"data": 64.0, "sharding": float(Sharding.GRADIENTS), "sharding_ranks": 8.0}
    several, one = (
        gpu_step(model, Plans.of(**shared, accumulation=rounds), SYSTEM, stack, Precision.BF16, "adam")
        for rounds in (4.0, 1.0)
    )
    more = float(several.parts["data_comm"] - one.parts["data_comm"])
    assert more == pytest.approx(3.0 * near.scattered_once, rel=1e-9)
    once = float(one.parts["data_comm"])
    latency = 8.0 * float(stack.broadcast_latency)
    assert once == pytest.approx(near.scattered_once + near.gathered + near.between + latency, abs=latency)


@pytest.mark.parametrize("stages", [2.0, 4.0])
def test_a_layer_is_gathered_whole_on_every_stage(stages: float) -> None:
    """A stage gathers fewer layers, each as large as without a pipeline."""
    model = table("gpt2-1.5b")
    plan = {"data": 8.0, "sharding": float(Sharding.PARAMETERS)}
    found, alone = collectives(model, **plan, pipeline=stages), collectives(model, **plan)
    held, whole = (weights_of(model, data=8.0, pipeline=p) for p in (stages, 1.0))
    assert held.layers == pytest.approx(whole.layers / stages)
    assert found.streamed < alone.streamed
    # Of so small a micro-batch that activations are nothing.
    few = {"micro_batch": 1e-9, "recompute": float(Recompute.FULL), "accumulation": 64.0}
    buffers, full = (
        gpu_memory(
            model, Plans.of(**plan, **few, pipeline=p), SYSTEM, STACK, Precision.BF16, "adam",
        ).parts["buffers"]
        for p in (stages, 1.0)
    )  # fmt: skip
    layer = whole.layers / model.depth
    assert float(buffers) == pytest.approx(4.0 * (layer + held.outside))
    assert float(full) == pytest.approx(4.0 * (layer + whole.outside))


def test_tensor_ranks_exchange_their_share_side_by_side() -> None:
    """Eight groups of one rank a machine share its ports: each carries an eighth over an eighth."""
    model = table("gpt3-175b", 2048)
    whole = collectives(model, data=8.0, tensor=8.0)
    weights = weights_of(model, data=8.0, tensor=8.0)
    held = weights.layers + weights.outside
    assert whole.scattered_once == pytest.approx(collective(2.0 * held, 8.0, 1.0, 1.0), rel=1e-12)


@pytest.mark.parametrize("degree", [2.0, 4.0, 8.0])
def test_gradients_of_experts_are_exchanged_over_their_copies(degree: float) -> None:
    weights = weights_of(MIXTURE, data=64.0, expert=degree)
    found = collectives(MIXTURE, data=64.0, expert=degree)
    dense = collective(2.0 * (weights.layers + weights.outside - weights.experts), 64.0, 8.0, 1.0)
    routed = collective(2.0 * weights.experts, 64.0 / degree, 8.0 / degree, 1.0)
    assert found.scattered_once == pytest.approx(dense + routed, rel=1e-12)


def test_experts_with_one_copy_keep_their_gradients() -> None:
    """With as many expert ranks as copies only the other weights are exchanged."""
    weights = weights_of(MIXTURE, data=8.0, expert=8.0)
    others = weights.layers + weights.outside - weights.experts
    found = collectives(MIXTURE, data=8.0, expert=8.0)
    assert found.scattered_once == pytest.approx(collective(2.0 * others, 8.0, 8.0, 1.0), rel=1e-12)
    assert found.gathered == pytest.approx(collective(2.0 * others, 8.0, 8.0, 1.0), rel=1e-12)


@pytest.mark.parametrize("data", [8.0, 64.0])
def test_more_expert_ranks_exchange_fewer_gradients(data: float) -> None:
    found = [collectives(MIXTURE, data=data, expert=degree) for degree in (1.0, 2.0, 4.0, 8.0)]
    for name in ("reduced", "scattered_once"):
        assert np.all(np.diff([getattr(one, name) for one in found]) < 0), name


plans = st.fixed_dictionaries({
    "tensor": st.sampled_from([1.0, 8.0]), "pipeline": st.sampled_from([1.0, 4.0]),
    "data": st.sampled_from([8.0, 64.0]), "micro_batch": st.sampled_from([1.0, 4.0]),
    "accumulation": st.sampled_from([8.0, 64.0]), "recompute": st.sampled_from([float(m) for m in Recompute]),
    "sharding": st.sampled_from([float(mode) for mode in Sharding]),
    "sequence_parallel": st.sampled_from([0.0, 1.0]), "offload": st.sampled_from([0.0, 1.0]),
})  # fmt: skip


@given(plan=plans, ranks=st.sampled_from([1.0, 8.0]))
def test_experts_that_are_not_spread_cost_what_other_weights_cost(
    plan: dict[str, float], ranks: float
) -> None:
    one = Plans.of(**plan, sharding_ranks=plan["data"] / ranks)
    stack = software("megatron-2022")
    for model in (MIXTURE, DENSE):
        assert model.parameters == MIXTURE.parameters
    step, plain = (gpu_step(model, one, SYSTEM, stack, Precision.BF16, "adam") for model in (MIXTURE, DENSE))
    memory, same = (
        gpu_memory(model, one, SYSTEM, stack, Precision.BF16, "adam") for model in (MIXTURE, DENSE)
    )
    assert float(step.total) == pytest.approx(float(plain.total), rel=1e-12)
    assert float(memory.total) == pytest.approx(float(same.total), rel=1e-12)


@given(plan=plans)
def test_more_expert_ranks_need_less_memory(plan: dict[str, float]) -> None:
    spread = Plans.of(**plan, expert=np.array([1.0, 2.0, 4.0, 8.0]))
    use = gpu_memory(MIXTURE, spread, SYSTEM, software("megatron-2022"), Precision.BF16, "adam")
    assert np.all(np.diff(use.total) <= 1e-9 * use.total[0])
    assert np.all(np.diff(use.parts["weights"] + use.parts["buffers"]) < 0)
    # What is shared by all copies is shared by as many ranks, however the experts lie.
    if plan["sharding"] == Sharding.PARAMETERS:
        assert use.parts["weights"] == pytest.approx(use.parts["weights"][0], rel=1e-12)


def test_an_eighth_of_the_experts_is_an_eighth_of_their_weights() -> None:
    whole, spread = (weights_of(MIXTURE, data=8.0, expert=degree) for degree in (1.0, 8.0))
    assert whole.experts == pytest.approx(32 * 3 * 8 * 4096 * 14336)
    assert spread.experts == pytest.approx(whole.experts / 8)
    assert whole.layers - spread.layers == pytest.approx(whole.experts * 7 / 8)
    assert whole.outside == spread.outside
