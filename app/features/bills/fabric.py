"""Networks by their nodes and switches; nothing is stored."""

from __future__ import annotations

from app.engine.fat_tree import FatTree, fat_tree, smallest_fat_tree
from app.errors import Message, fields_at
from app.estimating.documents import CheckWarning
from app.features.bills.model import FabricPlan, FabricRequest

TERA = 1000.0
"""Gigabits of a terabit."""

SAME = (
    *("levels", "rails", "endpoints", "leaf", "leaf_down", "uplinks", "spine", "balanced_spine", "core"),
    *("balanced_core", "pods", "spine_up", "minimum_switches", "switches"),
)
"""Counts with the same name in a plan and its tree."""

OTHERWISE = {
    "leaf_up": "balanced_up",
    "leaves_per_pod": "pod_leaf",
    "cables": "minimum_cables",
    "balanced_cables": "cables",
}
"""Count of a plan → that of its tree."""


def plan_fabric(request: FabricRequest, *, shared: bool = False) -> FabricPlan:
    """Return the network of a request: a leaf or more for every rail, or ``shared`` as in a bill."""
    make = smallest_fat_tree if shared else fat_tree
    with fields_at(lambda _: "nodes"):
        tree = make(request.nodes, request.ports_per_node, request.switch_ports, request.oversubscription)
    return fabric_plan(
        tree, request.nodes, request.switch_ports, request.port_gbps, request.declared_switches
    )


def fabric_plan(
    tree: FatTree, nodes: int, switch_ports: int, port_gbps: float, declared: int | None = None
) -> FabricPlan:
    """Return a fat tree as a document with warnings."""
    names = {**{name: name for name in SAME}, **OTHERWISE}
    counts = {name: int(getattr(tree, own)) for name, own in names.items()}
    spines_of_a_leaf = max(counts["balanced_spine"] // counts["pods"], 1)
    plan = FabricPlan(
        **counts,
        nodes=nodes,
        switch_ports=switch_ports,
        port_gbps=port_gbps,
        links_per_pair=counts["leaf_up"] // spines_of_a_leaf,
        node_tbps=int(tree.endpoints) / nodes * port_gbps / TERA,
        oversubscription=float(tree.oversubscription),
        declared_switches=declared,
        warnings=[],
    )
    return plan.model_copy(update={"warnings": _warnings(plan)})


def _warnings(plan: FabricPlan) -> list[CheckWarning]:
    least, declared = plan.minimum_switches, plan.declared_switches
    warnings: list[CheckWarning] = []
    if plan.switches > least:
        message = Message(
            "the minimum of {least} switches leaves links that do not divide evenly; "
            "{switches} are planned, {more} more",
            {"least": least, "switches": plan.switches, "more": plan.switches - least},
        )
        warnings.append(CheckWarning.of("switches_balanced", "info", message, "balanced_spine"))
    if plan.oversubscription > 1.0:
        message = Message(
            "{down} ports of a leaf go to nodes and {up} are uplinks: when all nodes send at "
            "once, each gets {share} % of its line rate",
            {"down": plan.leaf_down, "up": plan.leaf_up, "share": round(100.0 / plan.oversubscription, 1)},
        )
        warnings.append(CheckWarning.of("network_oversubscribed", "caution", message, "oversubscription"))
    if declared is not None:
        warnings += _declared(plan, declared)
    return warnings


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
            "the network needs {switches} of the {declared} declared switches: what are the "
            "other {others} for? Storage, management or login nodes may have their own leaves",
            {**counts, "others": declared - plan.switches},
        )
        return [CheckWarning.of("switches_beyond_network", "info", message, "declared_switches")]
    return []
