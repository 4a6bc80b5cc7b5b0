"""A network by its numbers, and what a declared number of switches leaves open."""

import pytest

from app.errors import BadInput
from app.features.bills.fabric import plan_fabric
from app.features.bills.model import FabricPlan, FabricRequest


def planned(nodes: int = 20, declared: int | None = None, **more: float) -> FabricPlan:
    return plan_fabric(
        FabricRequest.model_validate(
            {
                "nodes": nodes,
                "ports_per_node": 8,
                "port_gbps": 200,
                "switch_ports": 40,
                "declared_switches": declared,
                **more,
            }
        )
    )


def codes(plan: FabricPlan) -> dict[str, str]:
    return {warning.code: warning.severity for warning in plan.warnings}


def test_the_seeds_cluster() -> None:
    plan = planned()
    assert (plan.leaf, plan.spine, plan.balanced_spine, plan.core) == (8, 4, 4, 0)
    assert (plan.minimum_switches, plan.cables, plan.node_tbps, plan.oversubscription) == (12, 320, 1.6, 1.0)
    assert plan.links_per_pair == 5
    assert plan.warnings == []


def test_fourteen_declared_switches_are_asked_about_and_not_corrected() -> None:
    plan = planned(declared=14)
    assert plan.declared_switches == 14
    assert plan.switches == 12
    assert codes(plan) == {"switches_beyond_network": "info"}
    assert 2 in plan.warnings[0].text.values.values()


@pytest.mark.parametrize(
    ("declared", "code", "severity"),
    [(23, "switches_too_few", "serious"), (24, "switches_uneven", "caution"), (26, None, None)],
)
def test_too_few_switches(declared: int, code: str | None, severity: str | None) -> None:
    found = codes(planned(nodes=40, declared=declared))
    assert found.pop("switches_balanced") == "info"
    assert found == ({} if code is None else {code: severity})


def test_oversubscription_is_told_with_what_a_node_keeps() -> None:
    plan = planned(oversubscription=2)
    assert plan.oversubscription == 2.0
    assert "50 %" in plan.warnings[0].message


def test_too_many_nodes_are_refused_at_their_field() -> None:
    with pytest.raises(BadInput) as refusal:
        planned(nodes=2001)
    assert refusal.value.errors[0].field == "nodes"
