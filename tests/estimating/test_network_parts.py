"""Networks as they are bought: counts of published clusters at the catalogue's prices."""

import dataclasses

import pytest

from app.errors import BadInput
from app.estimating.context import SizingContext
from app.estimating.network_parts import NetworkBill, network_bill


def bought(context: SizingContext, fabric: str, nodes: int, ports: int, **more: object) -> NetworkBill:
    return network_bill(context.catalog, fabric=fabric, nodes=nodes, ports_per_node=ports, **more)  # type: ignore[arg-type]


def counts(bill: NetworkBill) -> dict[str, int]:
    return {line.use: line.count for line in bill.lines}


def test_twenty_dgx_have_the_switches_of_the_seeds_cluster(context: SizingContext) -> None:
    bill = bought(context, "hdr-infiniband", 20, 8, machine="dgx-a100-640gb")
    assert bill.switch == "qm8790"
    assert counts(bill) == {"leaf": 8, "spine": 4, "node_cable": 160, "leaf_cable": 160}
    # 12 switches at 14,900 (12,000 to 18,000) and the cables of 160 nodes' ports and 160 uplinks.
    switches = 12 * 14_900
    assert switches < bill.price.value < switches + 320 * 1_200
    assert 12 * 12_000 < bill.price.low < bill.price.value < bill.price.high < 12 * 18_000 + 320 * 1_200
    assert bill.complete


def test_forty_nodes_are_balanced_beyond_the_bound(context: SizingContext) -> None:
    bill = bought(context, "hdr-infiniband", 40, 8)
    assert (counts(bill)["leaf"], counts(bill)["spine"], int(bill.tree.spine)) == (16, 10, 8)


def test_three_nodes_share_one_switch_with_copper(context: SizingContext) -> None:
    bill = bought(context, "hdr-infiniband", 3, 8)
    assert counts(bill) == {"single_switch": 1, "node_cable": 24}
    assert {line.item for line in bill.lines} == {"qm8790", "cable-hdr-copper"}


def test_longer_cables_and_a_core_where_nodes_fill_a_hall(context: SizingContext) -> None:
    bill = bought(context, "hdr-infiniband", 140, 8)
    assert counts(bill)["leaf"] == 56
    assert counts(bill)["core"] >= 28
    cables = {(line.use, line.item): line.count for line in bill.lines if line.group == "cables"}
    # Forty nodes stand in the row of the switches, the others across the hall.
    assert cables["node_cable", "cable-hdr-active"] == 40 * 8
    assert cables["node_cable", "cable-hdr-active-30"] == 100 * 8
    beyond = cables["leaf_cable", "cable-hdr-active-30"]
    assert cables["leaf_cable", "cable-hdr-active"] + beyond == 56 * 20 and 0 < beyond < 56 * 10


def test_the_cheaper_of_two_switches_is_taken(context: SizingContext) -> None:
    assert bought(context, "roce-200", 4, 8).switch == "sn3700"
    assert bought(context, "roce-200", 20, 8).switch == "sn4600"


def test_adapters_are_bought_where_the_machine_brings_none_of_the_rate(context: SizingContext) -> None:
    brings = bought(context, "roce-200", 20, 8, machine="dgx-a100-640gb")
    lacks = bought(context, "hdr-infiniband", 20, 8, machine="a100-sxm-80gb")
    slow = bought(context, "ndr-infiniband", 20, 8, machine="dgx-a100-640gb")
    assert "adapter" not in counts(brings)
    assert counts(lacks)["adapter"] == counts(slow)["adapter"] == 160


def test_fibre_needs_transceivers_at_both_ends(context: SizingContext) -> None:
    bill = bought(context, "ndr-infiniband", 20, 8)
    found = counts(bill)
    assert found["node_optics"] == found["node_cable"] == 160
    assert found["switch_optics"] == 80


def test_oversubscription_saves_spines_and_cables(context: SizingContext) -> None:
    full, half = (bought(context, "hdr-infiniband", 40, 8, oversubscription=o) for o in (1.0, 2.0))
    assert half.price.value < full.price.value
    assert half.tree.oversubscription <= 2.0 + 1e-9


def test_networks_of_clouds_and_pods_are_not_bought(context: SizingContext) -> None:
    for fabric in ("efa-400", "ipu-fabric"):
        with pytest.raises(BadInput) as refused:
            bought(context, fabric, 4, 1)
        assert refused.value.message.values["fabric"] == context.catalog.items[fabric].name
    with pytest.raises(BadInput, match="more ports"):
        bought(context, "hdr-infiniband", 2001, 8)


def test_a_missing_price_makes_the_sum_a_lower_bound(context: SizingContext) -> None:
    kept = {key: found for key, found in context.catalog.accepted.items() if key[:2] != ("qm8790", "price")}
    bill = network_bill(
        dataclasses.replace(context.catalog, accepted=kept),
        fabric="hdr-infiniband",
        nodes=20,
        ports_per_node=8,
    )
    assert not bill.complete
    assert bill.price.value < 12 * 14_900
