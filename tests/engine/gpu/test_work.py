"""Work of a micro-batch: what it adds up, what it exchanges, and what it depends on."""

import numpy as np
import pytest

from app.engine.collectives import IntraLinks, distinct_share, intra_node_allreduce_time
from app.engine.gpu.case import micro_batch_of
from app.engine.gpu.operators import operator_costs
from app.engine.gpu.plan_steps import gpu_operator_times, room_for_costs
from app.engine.gpu.work import Work, micro_batch_work
from app.engine.operators.table import Section
from app.engine.plans import Plans, Recompute
from app.engine.records import Precision
from tests.engine.conftest import dgx, gpu_case, plan_of, software, table

SYSTEM = dgx()

EXPERTS = table("mixtral-8x7b", 2048)

FULL = float(Recompute.FULL)


def work(name: str, *, seq_len: int | None = None, stack: str = "megatron-2022", **values: float) -> Work:
    known = gpu_case(table(name, seq_len), software(stack), SYSTEM)
    micro, costs = micro_batch_of(plan_of(**values)), room_for_costs(known.case)
    operator_costs(known.case, micro, costs)
    return micro_batch_work(known.case, known.stack, micro, costs)


def layers(found: Work) -> float:
    return found.layers_gemm + found.layers_attention + found.layers_memory


def ends(found: Work) -> list[float]:
    """Return what precedes and follows the layers."""
    embedding = [found.embedding_gemm, found.embedding_attention, found.embedding_memory]
    return [*embedding, found.head_gemm, found.head_attention, found.head_memory]


def exchanged(**plan: float) -> float:
    """Return what one micro-batch of the mixture of experts collectives inside its layers. [s]."""
    found = work("mixtral-8x7b", seq_len=2048, **plan)
    return found.tensor_comm + found.expert_comm


@pytest.mark.parametrize("name", ["gpt2-1.5b", "bert-large", "resnet50", "mixtral-8x7b"])
def test_parts_of_all_sections_add_up_to_the_operators(name: str) -> None:
    model, plans = table(name), Plans.of(micro_batch=4.0)
    times = gpu_operator_times(model, plans, SYSTEM, software(), Precision.BF16)
    found = work(name, stack="gpu-fused", micro_batch=4.0)
    assert layers(found) + sum(ends(found)) == pytest.approx(
        float((times.forward + times.backward).sum()), rel=1e-12
    )


def test_full_recomputation_repeats_the_forward_pass_of_the_layers_alone() -> None:
    model, plans = table("gpt2-1.5b"), Plans.of()
    times = gpu_operator_times(model, plans, SYSTEM, software("megatron-2022"), Precision.BF16)
    inside = model.section == Section.LAYER
    plain, full = work("gpt2-1.5b"), work("gpt2-1.5b", recompute=FULL)
    assert layers(full) - layers(plain) == pytest.approx(float(times.forward[inside].sum()), rel=1e-12)
    assert ends(full) == ends(plain)


@pytest.mark.parametrize(("recompute", "each"), [(0.0, 4), (1.0, 4), (FULL, 6)])
def test_a_layer_has_four_all_reduces_and_two_more_where_it_runs_again(recompute: float, each: int) -> None:
    """Shoeybi et al. 2019, figure 4: 2048 tokens by 12 288 half-precision numbers, in 96 layers."""
    message = 2.0 * 2048 * 12288
    one = intra_node_allreduce_time(message, 8.0, IntraLinks.of(SYSTEM.machine))
    found = work("gpt3-175b", seq_len=2048, tensor=8.0, recompute=recompute)
    assert found.tensor_comm == pytest.approx(96 * each * one, rel=1e-12)


def test_experts_of_one_machine_receive_their_tokens_over_its_links() -> None:
    """Seven eighths of 2048 tokens, each to two experts, leave a rank and return, forward and backward."""
    message = 2.0 * 2048 * 2 * 4096
    once = 7.0 / 8.0 * message / SYSTEM.machine.bus_bandwidth + SYSTEM.machine.latency
    assert exchanged(data=8.0, expert=8.0) == pytest.approx(32 * 4 * once, rel=1e-12)
    assert exchanged(data=8.0, expert=8.0, recompute=FULL) == pytest.approx(32 * 6 * once, rel=1e-12)


@pytest.mark.parametrize("tensor", [1.0, 2.0, 8.0])
def test_more_expert_ranks_exchange_more(tensor: float) -> None:
    """None without any; and with eight tensor ranks each expert rank is a machine of its own."""
    none, *times = (exchanged(tensor=tensor, data=8.0, expert=degree) for degree in (1.0, 2.0, 4.0, 8.0))
    assert none == exchanged(tensor=tensor)
    assert np.all(np.diff([none, *times]) > 0)


def test_experts_on_other_machines_wait_for_the_fabric() -> None:
    """A token whose two experts are on the same one of eight machines crosses the fabric once."""
    apart = exchanged(tensor=8.0, data=8.0, expert=8.0) - exchanged(tensor=8.0, data=8.0)
    message = 2.0 * 2048 * 2 * 4096 / 8.0
    port = (
        SYSTEM.fabric.port_bandwidth
        * SYSTEM.fabric.ports_per_node
        * software("megatron-2022").network_efficiency
        / 8
    )
    crossing = 1.0 - 1.0 / 8.0 / 2.0
    once = 7.0 / 8.0 * crossing * message / float(port) + SYSTEM.fabric.message_latency
    assert apart == pytest.approx(32 * 4 * once, rel=1e-9)


def test_spread_experts_compute_as_many_products_in_fewer_and_larger_ones() -> None:
    """All tokens of the group meet at an expert: as many rows in all, and no less work; never slower."""
    whole, spread = (
        gpu_operator_times(
            EXPERTS,
            Plans.of(data=8.0, expert=degree),
            SYSTEM,
            software(),
            Precision.BF16,
        )
        for degree in (1.0, 8.0)
    )
    assert whole.flop.sum() == pytest.approx(spread.flop.sum(), rel=1e-12)
    assert spread.traffic.sum() < whole.traffic.sum()
    assert spread.forward.sum() <= whole.forward.sum()


def test_a_token_crosses_the_fabric_once_for_each_machine() -> None:
    """All draws differ among very many places; all draws are the same where there is one."""
    assert distinct_share(8.0, 1e9) == pytest.approx(1.0)
    assert distinct_share(8.0, 1.0) == pytest.approx(1.0 / 8.0)
    assert distinct_share(1.0, 4.0) == pytest.approx(1.0)
