"""Collectives against published figures, and what must hold for any message and any ranks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.collectives import (
    IntraLinks,
    Network,
    all_to_all_time,
    collective_time,
    exposed_time,
    intra_node_allreduce_time,
    node_bandwidth,
)
from app.engine.records import Intra, Node, ScaleOutFabric
from tests.engine.conftest import catalog, dgx

HDR = dgx()
NODE = IntraLinks.of(HDR.machine)
PCIE = catalog().machine("a100-pcie-80gb")
SLOTS = IntraLinks.of(PCIE)
LARGE = 16 * 2.0**30

sizes = st.floats(1.0, 1e11)
counts = st.integers(2, 2048)
per_node = st.sampled_from([1, 2, 4, 8])
passes = st.sampled_from([1.0, 2.0])
fabrics = st.sampled_from(["hdr-infiniband", "edr-infiniband", "roce-100", "ethernet-25", "efa-400"])


def bus_bandwidth(size: float, ranks: float, seconds: float) -> float:
    """Bus bandwidth as NVIDIA's nccl-tests report it: 2 (n - 1)/n × size / time."""
    return 2.0 * (ranks - 1) / ranks * size / seconds


def between(
    size: float,
    ranks: float,
    local: float = 8,
    *,
    fabric: ScaleOutFabric = HDR.fabric,
    machine: Node = HDR.machine,
    share: float = 1.0,
    passes: float = 2.0,
) -> float:
    return collective_time(size, ranks, local, IntraLinks.of(machine), Network.of(fabric, share), passes)


def test_one_dgx_a100_reaches_the_published_bus_bandwidth() -> None:
    """232 GB/s at large messages (NVIDIA, GTC 2024; nccl-tests issue 175: 232.54)."""
    seconds = intra_node_allreduce_time(LARGE, 8, NODE)
    assert bus_bandwidth(LARGE, 8, seconds) == pytest.approx(232e9, rel=0.02)


def test_small_messages_are_bound_by_latency() -> None:
    """43.8 µs for 32 KiB on eight GPUs (measured sweep): 1 GB/s of bus bandwidth."""
    seconds = intra_node_allreduce_time(32 * 1024, 8, NODE)
    assert seconds == pytest.approx(43.83e-6)
    assert intra_node_allreduce_time(1.0, 8, NODE) == seconds


@pytest.mark.parametrize(("nodes", "allowed"), [(2, 0.01), (4, 0.01), (16, 0.01), (128, 0.05)])
def test_machines_on_eight_hdr_ports_reach_the_published_bandwidth(nodes: int, allowed: float) -> None:
    """192 GB/s between machines of eight 200 Gb/s ports (NVIDIA, GTC 2024)."""
    assert float(node_bandwidth(HDR.fabric)) == 192e9
    seconds = between(LARGE, 8 * nodes)
    assert bus_bandwidth(LARGE, 8 * nodes, seconds) == pytest.approx(192e9, rel=allowed)


@pytest.mark.parametrize(("ports", "gigabytes"), [(1, 24.0), (4, 96.0), (8, 192.0), (16, 232.0)])
def test_ports_add_up_until_the_links_in_the_machine_limit(ports: int, gigabytes: float) -> None:
    seconds = between(LARGE, 32, fabric=catalog().fabric("hdr-infiniband", ports))
    assert bus_bandwidth(LARGE, 32, seconds) == pytest.approx(gigabytes * 1e9, rel=0.01)


def test_groups_of_one_rank_a_machine_share_its_ports() -> None:
    """With tensor parallelism over eight GPUs, eight reductions run at once over the same ports."""
    alone = between(LARGE, 16, 1)
    assert bus_bandwidth(LARGE, 16, alone) == pytest.approx(24e9, rel=0.01)


def test_oversubscription_divides_the_bandwidth() -> None:
    halved = replace(HDR.fabric, oversubscription=2.0)
    assert float(node_bandwidth(halved)) == 96e9
    assert between(LARGE, 64, fabric=halved) == pytest.approx(2 * between(LARGE, 64), rel=0.01)


def test_a_ring_pays_for_every_machine_and_a_tree_for_every_doubling() -> None:
    """At small messages a reduce-scatter grows with the machines, an all-reduce with their logarithm."""
    nodes = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0])
    ring, tree = ([between(1e3, 8 * count, passes=kind) for count in nodes] for kind in (1.0, 2.0))
    per_machine = np.diff(ring) / np.diff(nodes)
    assert per_machine == pytest.approx(per_machine[0], rel=1e-4)
    assert per_machine[0] > HDR.fabric.hop_latency
    assert np.diff(tree) == pytest.approx(2 * HDR.fabric.tree_latency, rel=1e-4)
    assert tree[-1] < ring[-1]


@given(size=sizes, ranks=counts, local=per_node, kind=passes)
def test_one_rank_or_no_bytes_cost_nothing(size: float, ranks: int, local: int, kind: float) -> None:
    assert between(size, 1, local, passes=kind) == 0
    assert between(0.0, ranks, local, passes=kind) == 0
    assert intra_node_allreduce_time(size, 1, NODE) == 0
    assert intra_node_allreduce_time(0.0, 8, SLOTS) == 0


@given(size=sizes, more=st.floats(1.0, 100.0), ranks=counts, local=per_node, kind=passes, name=fabrics)
def test_larger_messages_are_never_faster(
    size: float, more: float, ranks: int, local: int, kind: float, name: str
) -> None:
    fabric = catalog().fabric(name, 4)
    before = between(size, ranks, local, passes=kind, fabric=fabric)
    assert between(size * more, ranks, local, passes=kind, fabric=fabric) >= before > 0
    whole = min(ranks, 8)
    for links in (NODE, SLOTS):
        before = intra_node_allreduce_time(size, whole, links)
        assert intra_node_allreduce_time(size * more, whole, links) >= before > 0


@given(
    size=sizes, nodes=st.integers(1, 256), more=st.integers(1, 64), local=per_node, kind=passes, name=fabrics
)
def test_more_machines_are_never_faster(
    size: float, nodes: int, more: int, local: int, kind: float, name: str
) -> None:
    fabric = catalog().fabric(name, 8)
    before = between(size, nodes * local, local, passes=kind, fabric=fabric)
    assert between(size, (nodes + more) * local, local, passes=kind, fabric=fabric) >= before


@given(size=sizes, ranks=st.integers(1, 7))
def test_more_ranks_in_a_machine_are_never_faster(size: float, ranks: int) -> None:
    for links in (NODE, SLOTS, IntraLinks.of(catalog().machine("dgx1-v100"))):
        before = intra_node_allreduce_time(size, ranks, links)
        assert intra_node_allreduce_time(size, ranks + 1, links) >= before


@given(
    size=sizes,
    ranks=counts,
    local=per_node,
    kind=passes,
    better=st.floats(1.0, 20.0),
    efficiency=st.floats(0.05, 1.0),
)
def test_more_bandwidth_and_less_latency_are_never_slower(
    size: float, ranks: int, local: int, kind: float, better: float, efficiency: float
) -> None:
    before = between(size, ranks, local, passes=kind, share=efficiency)
    faster = replace(HDR.fabric, port_bandwidth=HDR.fabric.port_bandwidth * better)
    nearer = replace(
        HDR.fabric,
        hop_latency=HDR.fabric.hop_latency / better,
        tree_latency=HDR.fabric.tree_latency / better,
        message_latency=HDR.fabric.message_latency / better,
    )
    wider = replace(
        HDR.machine,
        bus_bandwidth=HDR.machine.bus_bandwidth * better,
        allreduce_seconds=HDR.machine.allreduce_seconds / better,
    )
    assert between(size, ranks, local, passes=kind, share=efficiency, fabric=faster) <= before
    assert between(size, ranks, local, passes=kind, share=efficiency, fabric=nearer) <= before
    assert between(size, ranks, local, passes=kind, share=efficiency, machine=wider) <= before


@pytest.mark.parametrize("ranks", [8, 16, 1024])
def test_reducing_to_everyone_sends_a_large_message_twice(ranks: int) -> None:
    ratio = between(LARGE, ranks, passes=2.0) / between(LARGE, ranks, passes=1.0)
    assert ratio == pytest.approx(2.0, rel=0.05)


def test_pcie_is_an_order_slower_than_nvswitch() -> None:
    assert PCIE.intra is Intra.PCIE
    ratio = intra_node_allreduce_time(1e9, 4, SLOTS) / intra_node_allreduce_time(1e9, 4, NODE)
    assert ratio > 8


@given(seconds=st.floats(0.0, 1e3), overlap=st.floats(0.0, 1.0), cover=st.floats(0.0, 1e3))
def test_hiding_never_gives_time_back(seconds: float, overlap: float, cover: float) -> None:
    left = float(exposed_time(seconds, overlap, cover))
    assert 0 <= left <= seconds
    assert left >= seconds - cover
    assert left >= seconds * (1 - overlap) - 1e-12
    assert exposed_time(seconds, overlap, 0.0) == seconds == exposed_time(seconds, 0.0, cover)


def all_to_all(
    size: float, ranks: float, local: float, *, fabric: ScaleOutFabric = HDR.fabric, share: float = 1.0
) -> float:
    return all_to_all_time(size, ranks, local, NODE, Network.of(fabric, share))


def test_one_rank_has_nobody_to_send_to() -> None:
    assert all_to_all(LARGE, 1, 1) == 0.0


@given(size=sizes, ranks=st.sampled_from([2, 4, 8]), share=st.floats(0.1, 1.0))
def test_an_all_to_all_inside_a_machine_never_sees_the_fabric(size: float, ranks: int, share: float) -> None:
    expected = (ranks - 1) / ranks * size / NODE.bus_bandwidth + NODE.latency
    assert all_to_all(size, ranks, 8, share=share) == pytest.approx(expected)


@given(size=sizes, local=per_node)
def test_an_all_to_all_over_very_many_ranks_sends_all_it_holds_through_its_port(
    size: float, local: int
) -> None:
    """One of eight HDR ports a rank, at 24 GB/s."""
    assert all_to_all(size, 1e7, local) == pytest.approx(size / 24e9 + HDR.fabric.message_latency, rel=1e-5)


@given(size=sizes, ranks=counts, local=per_node)
def test_an_all_to_all_takes_longer_for_more_bytes_more_ranks_and_fewer_neighbours(
    size: float, ranks: int, local: int
) -> None:
    before = all_to_all(size, ranks, local)
    assert all_to_all(2 * size, ranks, local) > before
    assert all_to_all(size, 2 * ranks, local) >= before
    assert all_to_all(size, ranks, 2 * local if local < 8 else 8) <= before
    assert all_to_all(size, ranks, local, share=0.5) >= before


@given(size=sizes, ranks=counts)
def test_an_all_to_all_of_lone_ranks_sends_as_much_as_a_reduce_scatter(size: float, ranks: int) -> None:
    """Each sends (n - 1)/n of what it holds; the ring passes it on step by step, with a start for each."""
    apart = all_to_all(size, ranks, 1)
    ring = between(size, ranks, 1, passes=1.0)
    steps = HDR.fabric.hop_latency * (ranks - 1)
    assert apart == pytest.approx(ring - steps, rel=1e-9, abs=1e-12)


@given(size=sizes, ranks=counts, local=per_node)
def test_switches_that_sum_never_slow_an_all_reduce(size: float, ranks: int, local: int) -> None:
    summing = replace(HDR.fabric, in_network_reduction=True)
    assert between(size, ranks, local, fabric=summing) <= between(size, ranks, local)


def test_switches_that_sum_help_no_sharded_optimizer() -> None:
    """A reduce-scatter and an all-gather send each byte once already."""
    summing = replace(HDR.fabric, in_network_reduction=True)
    assert between(1e9, 256, fabric=summing, passes=1.0) == between(1e9, 256, passes=1.0)


def test_switches_that_sum_reach_the_published_bus_bandwidth() -> None:
    """480 GB/s between H100 machines where switches sum, 380 where they do not (NVIDIA, GTC 2024).

    The vendor's figure has the switch inside the machine sum as well, which ours does not.
    """
    known = catalog()
    machine = known.machine("dgx-h100")
    plain, summing = (
        bus_bandwidth(LARGE, 256, between(LARGE, 256, fabric=known.fabric(name, 8), machine=machine))
        for name in ("ndr-infiniband", "ndr-infiniband-sharp")
    )
    assert plain == pytest.approx(380e9, rel=0.06)
    assert 400e9 < summing < 480e9


def test_latency_of_a_torus_grows_with_its_edge() -> None:
    known = catalog()
    whole, part = (IntraLinks.of(known.machine("tpu-v5e", devices)) for devices in (256, 16))
    tiny = [intra_node_allreduce_time(1.0, links.devices, links) - links.latency for links in (whole, part)]
    assert tiny[0] == pytest.approx(4 * tiny[1], rel=1e-3)
    assert tiny[0] == pytest.approx(32e-6, rel=1e-3)
