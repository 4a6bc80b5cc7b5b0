"""A switched network as lines of a bill: switches, cables, transceivers and the adapters machines lack."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.catalog.catalog import Catalog
from app.catalog.figures import Figure, Spread
from app.engine.fat_tree import FatTree, fat_tree
from app.errors import BadInput, FieldError, Message

Group = Literal[
    "machines",
    "hosts",
    "compute_network",
    "storage_network",
    "management_network",
    "cables",
    "storage",
    "racks",
    "spares",
    "installation",
]

DOLLAR = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPart:
    """So many of one item of the catalogue; a figure that nobody publishes is None."""

    item: str
    name: str
    group: Group
    use: str
    """What it is for: leaf, spine, node cable …"""
    count: int
    rule: Message
    """How the count follows."""
    price: Figure | None
    power_typical: Figure | None
    power_max: Figure | None
    rack_units: Figure | None
    weight: Figure | None

    @property
    def height(self) -> float:
        """Height of one in the rack; 0 for what stands in none. [U]"""
        return 0.0 if self.rack_units is None else self.rack_units.si

    @property
    def greatest(self) -> Figure | None:
        """Greatest power of one; the typical where only that is known. [W]"""
        return self.power_max or self.power_typical


def part(catalog: Catalog, item: str, group: Group, use: str, count: int, rule: Message) -> BillPart:
    """Return a line with the figures the catalogue has of its item."""
    return BillPart(
        item=item,
        name=catalog.items[item].name,
        group=group,
        use=use,
        count=count,
        rule=rule,
        price=catalog.find(item, "price"),
        power_typical=catalog.find(item, "power_typical"),
        power_max=catalog.find(item, "power_max"),
        rack_units=catalog.find(item, "rack_units"),
        weight=catalog.find(item, "weight"),
    )


def added(parts: Iterable[tuple[int, Figure | None]], unit: str) -> Spread:
    """Return counts times figures in SI units, added up; what is not known adds nothing.

    Ends of ranges are added: all parts are taken to be dear together or cheap together, since one market
    prices them. The range is therefore no narrower than the true one.
    """
    known = [(count, figure) for count, figure in parts if figure is not None]
    return Spread(
        sum(count * figure.si for count, figure in known),
        sum(count * figure.si_low for count, figure in known),
        sum(count * figure.si_high for count, figure in known),
        unit,
    )


REACHES = ("rack", "row", "hall")
"""How far a cable goes: inside one rack, along the row, across the hall."""

CABLING = "cabling"

KEPT_TREES = 4096
"""Trees kept in memory: a sizing asks for the same few again and again."""


@dataclass(frozen=True, slots=True)
class NetworkBill:
    """A network as it is bought."""

    fabric: str
    switch: str
    """Identifier of the switch it is built of."""
    switch_ports: int
    lines: tuple[BillPart, ...]
    tree: FatTree
    """Counts as arrays without dimensions."""
    price: Spread
    """Sum of the prices that are known. [USD]"""
    power: Spread
    """Typical power of everything that draws any. [W]"""
    complete: bool
    """False where a line has no price, so that the sum is a lower bound."""


def has_bill(catalog: Catalog, fabric: str) -> bool:
    """Tell whether a fabric is built of switches one can buy; those of clouds and pods are not."""
    return bool(catalog.conditions(fabric, "switch"))


def network_bill(
    catalog: Catalog,
    *,
    fabric: str,
    nodes: int,
    ports_per_node: int,
    oversubscription: float = 1.0,
    machine: str | None = None,
    group: Group = "compute_network",
    spread_over: int | None = None,
) -> NetworkBill:
    """Return the network of so many nodes as lines with prices and power from the catalogue.

    Of the switches a fabric may be built of, those are taken that make the cheapest network; without prices,
    the fewest. Switches are counted so that the uplinks of each leaf divide evenly over the spines.
    """
    if not has_bill(catalog, fabric):
        name = catalog.items[fabric].name if fabric in catalog.items else fabric
        raise BadInput.at(
            "fabric",
            "{fabric} comes with its system or from a cloud; no switches are purchased for it",
            fabric=name,
        )
    refusals: list[BadInput] = []
    found: list[NetworkBill] = []
    for switch in catalog.conditions(fabric, "switch"):
        try:
            tree = tree_of(nodes, ports_per_node, ports_of(catalog, fabric, switch), oversubscription)
            found.append(_built(catalog, fabric, switch, tree, machine, group, spread_over or nodes))
        except BadInput as error:
            refusals.append(error)
    if not found:
        message = refusals[0].message
        raise BadInput(message, [FieldError("count", message)])
    return min(found, key=lambda one: (not one.complete, one.price.value, int(one.tree.switches)))


def ports_of(catalog: Catalog, fabric: str, switch: str) -> int:
    """Return the ports of a switch at the rate of a fabric."""
    split = catalog.find(fabric, "switch_ports", switch)
    return round((split or catalog.figure(switch, "ports")).si)


@functools.lru_cache(maxsize=KEPT_TREES)
def tree_of(nodes: int, ports_per_node: int, switch_ports: int, oversubscription: float) -> FatTree:
    """Return the fat tree of so many nodes; the same numbers are asked for many times."""
    return fat_tree(nodes, ports_per_node, switch_ports, oversubscription)


def _built(
    catalog: Catalog,
    fabric: str,
    switch: str,
    tree: FatTree,
    machine: str | None,
    group: Group,
    spread_over: int,
) -> NetworkBill:
    ports = ports_of(catalog, fabric, switch)
    nodes, rails = int(tree.endpoints // tree.rails), int(tree.rails)
    lines = (
        *_switches(catalog, switch, ports, tree, group),
        *_cables(catalog, fabric, spread_over, tree),
        *adapters(catalog, fabric, nodes, rails, machine, group),
    )
    return NetworkBill(
        fabric=fabric,
        switch=switch,
        switch_ports=ports,
        lines=lines,
        tree=tree,
        price=added(((line.count, line.price) for line in lines), DOLLAR),
        power=added(((line.count, line.power_typical) for line in lines), "W"),
        complete=all(line.price is not None for line in lines),
    )


def _switches(catalog: Catalog, switch: str, ports: int, tree: FatTree, group: Group) -> Iterable[BillPart]:
    if tree.levels == 1:
        rule = Message(
            "all {endpoints} ports fit on one {ports}-port switch",
            {"endpoints": int(tree.endpoints), "ports": ports},
        )
        yield part(catalog, switch, group, "single_switch", 1, rule)
        return
    template = (
        (
            "rails × leaves: {rails} × {each}; at most {down} nodes per leaf; {down} of {ports} "
            "ports down, {up} up"
        )
        if tree.rails > 1
        else "at most {down} node ports each: {down} of {ports} ports down, {up} up"
    )
    values = {
        "rails": int(tree.rails),
        "each": int(tree.leaf // tree.rails),
        "down": int(tree.leaf_down),
        "up": int(tree.balanced_up),
        "ports": ports,
    }
    yield part(catalog, switch, group, "leaf", int(tree.leaf), Message(template, values))
    least = {"uplinks": int(tree.uplinks), "least": int(tree.spine), "spines": int(tree.balanced_spine)}
    if tree.levels == 2 and tree.balanced_up > tree.leaf_up:
        rule = Message(
            "{uplinks} uplinks need {least} spines; {spines} are used, with {up} uplinks per "
            "leaf instead of {needed}, so that they spread evenly",
            {**least, "up": int(tree.balanced_up), "needed": int(tree.leaf_up)},
        )
    elif tree.levels == 2 and tree.spine == tree.balanced_spine:
        rule = Message(
            "{uplinks} uplinks need {least} spines; each leaf's uplinks spread evenly across them", least
        )
    elif tree.levels == 2:
        rule = Message(
            "{uplinks} uplinks need {least} spines; {spines} are used so that each leaf's {up} spread evenly",
            {**least, "up": int(tree.balanced_up)},
        )
    else:
        rule = Message(
            "{pods} pods of up to {leaves} leaves, {each} spines per pod",
            {
                "pods": int(tree.pods),
                "leaves": int(tree.pod_leaf),
                "each": int(tree.balanced_spine // tree.pods),
            },
        )
    yield part(catalog, switch, group, "spine", int(tree.balanced_spine), rule)
    if tree.levels == 3:
        rule = Message(
            "{links} links from the spines need {least} core switches; {core} are used for an even split",
            {
                "links": int(tree.spine_links),
                "least": int(tree.core),
                "core": int(tree.balanced_core),
            },
        )
        yield part(catalog, switch, group, "core", int(tree.balanced_core), rule)


def reach(catalog: Catalog, count: int, what: str) -> str:
    """Return how far cables go among so many nodes or switches: rack, row or hall."""
    for place, limit in zip(REACHES, (f"near_{what}", f"row_{what}"), strict=False):
        if count <= catalog.figure(CABLING, limit).si:
            return place
    return REACHES[-1]


def _cables(catalog: Catalog, fabric: str, machines: int, tree: FatTree) -> Iterable[BillPart]:
    near = reach(catalog, machines, "nodes")
    # Nodes share a rack with their switch only where there is one; several switches have racks of their own.
    to_nodes = "row" if near == "rack" and tree.levels > 1 else near
    rule = Message("{endpoints} node ports, one cable each", {"endpoints": int(tree.endpoints)})
    counts = [("node_cable", to_nodes, int(tree.endpoints), rule)]
    between = reach(catalog, int(tree.switches), "switches")
    if tree.levels > 1:
        rule = Message(
            "{leaves} leaves × {up} uplinks", {"leaves": int(tree.leaf), "up": int(tree.balanced_up)}
        )
        counts.append(("leaf_cable", between, int(tree.leaf_links), rule))
    if tree.levels > 2:
        rule = Message(
            "{spines} spines × {up} uplinks", {"spines": int(tree.balanced_spine), "up": int(tree.spine_up)}
        )
        counts.append(("spine_cable", between, int(tree.spine_links), rule))
    for use, place, count, rule in counts:
        cable = catalog.figure(fabric, "cable", place).text
        yield part(catalog, cable, "cables", use, count, rule)
    yield from _optics(catalog, fabric, counts)


def _optics(
    catalog: Catalog, fabric: str, counts: Iterable[tuple[str, str, int, Message]]
) -> Iterable[BillPart]:
    """Transceivers of fabrics whose optical cables are plain fibre."""
    at_node, at_switch = catalog.find(fabric, "end_optics"), catalog.find(fabric, "switch_optics")
    if at_node is None or at_switch is None:
        return
    fibres = [(use, count) for use, place, count, _ in counts if place != REACHES[0]]
    to_nodes = sum(count for use, count in fibres if use == "node_cable")
    ends = sum(count if use == "node_cable" else 2 * count for use, count in fibres)
    each = round(catalog.figure(at_switch.text, "links_per_optics").si)
    if to_nodes:
        rule = Message("{links} fibers, one at the end of each machine", {"links": to_nodes})
        yield part(catalog, at_node.text, "cables", "node_optics", to_nodes, rule)
    if ends:
        rule = Message("{ends} fiber ends at switches, {each} per transceiver", {"ends": ends, "each": each})
        yield part(catalog, at_switch.text, "cables", "switch_optics", -(-ends // each), rule)


def adapters(
    catalog: Catalog, fabric: str, nodes: int, ports_per_node: int, machine: str | None, group: Group
) -> Iterable[BillPart]:
    """Give the line of adapters that a machine does not bring, if any."""
    if machine is None:
        return
    needed = catalog.figure(fabric, "adapter").text
    own, ports = catalog.find(machine, "adapter"), catalog.find(machine, "compute_ports")
    brought = 0
    if own is not None and ports is not None:
        fast = catalog.figure(own.text, "port_rate").si >= catalog.figure(fabric, "line_rate").si
        brought = round(ports.si) if fast else 0
    missing = max(ports_per_node - brought, 0)
    if missing:
        rule = Message(
            "{nodes} nodes × {ports} ports; each machine includes {brought} ports of this rate",
            {"nodes": nodes, "ports": ports_per_node, "brought": brought},
        )
        yield part(catalog, needed, group, "adapter", nodes * missing, rule)
