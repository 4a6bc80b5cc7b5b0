"""Networks by their nodes and switches; nothing is kept."""

from __future__ import annotations

from app.engine.fat_tree import FatTree, fat_tree
from app.errors import BadInput, FieldError, Message
from app.estimating.documents import CheckWarning
from app.features.bills.model import FabricPlan, FabricRequest

TERA = 1000.0
"""Gigabits of a terabit."""


def plan_fabric(request: FabricRequest) -> FabricPlan:
    """Return switches and cables of a network."""
    try:
        tree = fat_tree(request.nodes, request.ports_per_node, request.switch_ports, request.oversubscription)
    except BadInput as error:
        raise BadInput(error.message, [FieldError("nodes", error.message)]) from None
    plan = described(tree, request.nodes, request.switch_ports, request.port_gbps)
    return plan.model_copy(
        update={
            "declared_switches": request.declared_switches,
            "warnings": fabric_warnings(plan, request.oversubscription, request.declared_switches),
        }
    )


def described(tree: FatTree, nodes: int, switch_ports: int, port_gbps: float) -> FabricPlan:
    """Return a fat tree as a document."""
    spines_of_a_leaf = max(int(tree.balanced_spine // tree.pods), 1)
    return FabricPlan(
        nodes=nodes,
        switch_ports=switch_ports,
        port_gbps=port_gbps,
        levels=int(tree.levels),
        rails=int(tree.rails),
        endpoints=int(tree.endpoints),
        leaf=int(tree.leaf),
        leaf_down=int(tree.leaf_down),
        leaf_up=int(tree.balanced_up),
        uplinks=int(tree.uplinks),
        spine=int(tree.spine),
        balanced_spine=int(tree.balanced_spine),
        core=int(tree.core),
        balanced_core=int(tree.balanced_core),
        pods=int(tree.pods),
        leaves_per_pod=int(tree.pod_leaf),
        links_per_pair=int(tree.balanced_up) // spines_of_a_leaf,
        spine_up=int(tree.spine_up),
        minimum_switches=int(tree.minimum_switches),
        switches=int(tree.switches),
        cables=int(tree.minimum_cables),
        balanced_cables=int(tree.cables),
        node_tbps=float(tree.rails) * port_gbps / TERA,
        oversubscription=float(tree.oversubscription),
        declared_switches=None,
        warnings=[],
    )


def fabric_warnings(plan: FabricPlan, asked: float, declared: int | None) -> list[CheckWarning]:
    """Return what to ask about a network, and what to beware of."""
    found: list[CheckWarning] = []
    if plan.switches > plan.minimum_switches:
        message = Message(
            "the minimum of {least} switches leaves links that do not divide evenly; "
            "{switches} are planned, {more} more",
            {
                "least": plan.minimum_switches,
                "switches": plan.switches,
                "more": plan.switches - plan.minimum_switches,
            },
        )
        found.append(CheckWarning.of("switches_balanced", "info", message, "balanced_spine"))
    if plan.oversubscription > 1.0:
        message = Message(
            "{down} ports of a leaf go to nodes and {up} are uplinks: when all nodes send at "
            "once, each gets {share} % of its line rate",
            {
                "down": plan.leaf_down,
                "up": plan.leaf_up,
                "share": round(100.0 / plan.oversubscription, 1),
            },
        )
        found.append(CheckWarning.of("network_oversubscribed", "caution", message, "oversubscription"))
    if declared is not None:
        found += _declared(plan, declared)
    return found


def _declared(plan: FabricPlan, declared: int) -> list[CheckWarning]:
    counts = {"declared": declared, "switches": plan.switches, "least": plan.minimum_switches}
    if declared < plan.minimum_switches:
        message = Message(
            "{declared} switches are declared, but at least {least} are needed: nodes would share links",
            counts,
        )
        return [CheckWarning.of("switches_too_few", "serious", message, "declared_switches")]
    if declared < plan.switches:
        message = Message(
            "{declared} switches carry every link, but unevenly: a leaf's uplinks divide "
            "evenly over the spines with {switches}",
            counts,
        )
        return [CheckWarning.of("switches_uneven", "caution", message, "declared_switches")]
    if declared > plan.switches:
        message = Message(
            "{switches} switches carry this network, but {declared} are declared: what are the "
            "other {others} for? Storage, management or login nodes may have their own leaves",
            {**counts, "others": declared - plan.switches},
        )
        return [CheckWarning.of("switches_beyond_network", "info", message, "declared_switches")]
    return []


def plan(request: FabricRequest) -> FabricPlan:
    """Return switches and cables of a network."""
    return plan_fabric(request)
