"""The bill of a switched network: switches, cables, transceivers and missing adapters."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.catalog.catalog import Catalog
from app.catalog.entries import total
from app.catalog.figures import Figure, Spread
from app.catalog.records import known_figure
from app.engine.fat_tree import FatTree, fat_tree
from app.errors import BadInput, FieldError, Message, engine_errors

Group = Literal[
    "machines",
    "hosts",
    "management",
    "compute_network",
    "storage_network",
    "management_network",
    "cables",
    "storage",
    "racks",
    "spares",
    "software",
    "installation",
]

DOLLAR = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPart:
    """A number of one item; unpublished figures are None."""

    item: str
    name: str
    group: Group
    use: str
    """Purpose: leaf, spine, node cable …"""
    count: int
    rule: Message
    """How the quantity is computed."""
    price: Figure | None = None
    power_typical: Figure | None = None
    power_max: Figure | None = None
    rack_units: Figure | None = None
    weight: Figure | None = None

    @property
    def height(self) -> float:
        """Height of one in the rack; 0 outside of racks. [U]"""
        return 0.0 if self.rack_units is None else self.rack_units.si

    @property
    def greatest(self) -> Figure | None:
        """Greatest power of one; the typical power if that alone is known. [W]"""
        return self.power_max or self.power_typical


def part(catalog: Catalog, item: str, group: Group, use: str, count: int, rule: Message) -> BillPart:
    """Return a line with the catalogue's figures of its item."""
    figures = {
        name: catalog.find(item, name)
        for name in ("price", "power_typical", "power_max", "rack_units", "weight")
    }
    if "machine" in catalog.items[item].kinds:
        figures["weight"] = known_figure(catalog, "machine", item, "weight")
    return BillPart(
        item=item, name=catalog.items[item].name, group=group, use=use, count=count, rule=rule, **figures
    )


REACHES = ("rack", "row", "hall")
"""How far a cable goes: inside one rack, along the row, across the hall."""
CABLING = "cabling"
KEPT_TREES = 4096
"""Cached trees: a sizing uses the same few many times."""


@dataclass(frozen=True, slots=True)
class NetworkBill:
    """The purchase of a network."""

    fabric: str
    switch: str
    switch_ports: int
    lines: tuple[BillPart, ...]
    tree: FatTree
    """Counts as arrays without dimensions."""

    @property
    def price(self) -> Spread:
        """Sum of the prices that are known. [USD]"""
        return total(((line.count, line.price) for line in self.lines), DOLLAR)

    @property
    def power(self) -> Spread:
        """Typical power. [W]"""
        return total(((line.count, line.power_typical) for line in self.lines), "W")

    @property
    def complete(self) -> bool:
        """False where a line has no price, so that the sum is a lower bound."""
        return all(line.price is not None for line in self.lines)


def has_bill(catalog: Catalog, fabric: str) -> bool:
    """Return whether switches of a fabric can be bought; those of clouds and pods cannot."""
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
    """Return the network of a number of nodes as lines with prices and power from the catalogue.

    Of the fabric's switches it takes those of the cheapest network; without prices, of the one with the
    fewest. The uplinks of each leaf divide evenly over the spines.
    """
    if not has_bill(catalog, fabric):
        name = catalog.items[fabric].name if fabric in catalog.items else fabric
        raise BadInput.at(
            "fabric",
            "{fabric} comes with its system or from a cloud; no switches are purchased for it",
            fabric=name,
        )
    refusals: list[BadInput] = []
    bills: list[NetworkBill] = []
    for switch in catalog.conditions(fabric, "switch"):
        at_rate = catalog.find(fabric, "switch_ports", switch) or catalog.figure(switch, "ports")
        ports = round(at_rate.si)
        try:
            tree = tree_of(nodes, ports_per_node, ports, oversubscription)
        except BadInput as error:
            refusals.append(error)
            continue
        lines = (
            *_switches(catalog, switch, ports, tree, group),
            *_cables(catalog, fabric, spread_over or nodes, tree),
            *adapters(catalog, fabric, nodes, ports_per_node, machine, group),
        )
        bills.append(NetworkBill(fabric, switch, ports, lines, tree))
    if not bills:
        message = refusals[0].message
        raise BadInput(message, [FieldError("count", message)])
    return min(bills, key=lambda bill: (not bill.complete, bill.price.value, int(bill.tree.switches)))


@functools.lru_cache(maxsize=KEPT_TREES)
@engine_errors()
def tree_of(nodes: int, ports_per_node: int, switch_ports: int, oversubscription: float) -> FatTree:
    return fat_tree(nodes, ports_per_node, switch_ports, oversubscription)


def _switches(catalog: Catalog, switch: str, ports: int, tree: FatTree, group: Group) -> Iterable[BillPart]:
    rails, leaves = int(tree.rails), int(tree.leaf)
    up, spines, core = int(tree.balanced_up), int(tree.balanced_spine), int(tree.balanced_core)
    if tree.levels == 1:
        values = {"endpoints": int(tree.endpoints), "ports": ports}
        rule = Message("all {endpoints} ports fit on one {ports}-port switch", values)
        yield part(catalog, switch, group, "single_switch", 1, rule)
        return
    template = (
        "rails × leaves: {rails} × {each}; at most {down} nodes per leaf; {down} of {ports} "
        "ports down, {up} up"
        if tree.rails > 1
        else "at most {down} node ports each: {down} of {ports} ports down, {up} up"
    )
    values = {"rails": rails, "each": leaves // rails, "down": int(tree.leaf_down), "up": up, "ports": ports}
    yield part(catalog, switch, group, "leaf", leaves, Message(template, values))
    least = {"uplinks": int(tree.uplinks), "least": int(tree.spine), "spines": spines}
    if tree.levels == 3:
        rule = Message(
            "{pods} pods of up to {leaves} leaves, {each} spines per pod",
            {"pods": int(tree.pods), "leaves": int(tree.pod_leaf), "each": spines // int(tree.pods)},
        )
    elif up > tree.leaf_up:
        rule = Message(
            "{uplinks} uplinks need {least} spines; {spines} are used, with {up} uplinks per "
            "leaf instead of {needed}, so that they spread evenly",
            {**least, "up": up, "needed": int(tree.leaf_up)},
        )
    elif tree.spine == spines:
        rule = Message(
            "{uplinks} uplinks need {least} spines; each leaf's uplinks spread evenly across them", least
        )
    else:
        rule = Message(
            "{uplinks} uplinks need {least} spines; {spines} are used so that each leaf's {up} spread evenly",
            {**least, "up": up},
        )
    yield part(catalog, switch, group, "spine", spines, rule)
    if tree.levels == 3:
        rule = Message(
            "{links} links from the spines need {least} core switches; {core} are used for an even split",
            {"links": int(tree.spine_links), "least": int(tree.core), "core": core},
        )
        yield part(catalog, switch, group, "core", core, rule)


def reach(catalog: Catalog, count: int, kind: str) -> str:
    """Return the reach of cables among a number of nodes or switches: rack, row or hall."""
    for distance, limit in zip(REACHES, (f"near_{kind}", f"row_{kind}"), strict=False):
        if count <= catalog.figure(CABLING, limit).si:
            return distance
    return REACHES[-1]


def _cables(catalog: Catalog, fabric: str, machines: int, tree: FatTree) -> Iterable[BillPart]:
    near = reach(catalog, machines, "nodes")
    # Nodes share a rack with a single switch only; several switches have racks of their own.
    to_nodes = "row" if near == "rack" and tree.levels > 1 else near
    rule = Message("{endpoints} node ports, one cable each", {"endpoints": int(tree.endpoints)})
    counts = [("node_cable", to_nodes, int(tree.endpoints), rule)]
    between = reach(catalog, int(tree.switches), "switches")
    if tree.levels > 1:
        leaves = {"leaves": int(tree.leaf), "up": int(tree.balanced_up)}
        rule = Message("{leaves} leaves × {up} uplinks", leaves)
        counts.append(("leaf_cable", between, int(tree.leaf_links), rule))
    if tree.levels > 2:
        spines = {"spines": int(tree.balanced_spine), "up": int(tree.spine_up)}
        rule = Message("{spines} spines × {up} uplinks", spines)
        counts.append(("spine_cable", between, int(tree.spine_links), rule))
    for use, distance, count, rule in counts:
        cable = catalog.figure(fabric, "cable", distance).text
        yield part(catalog, cable, "cables", use, count, rule)
    yield from _optics(catalog, fabric, counts)


def _optics(
    catalog: Catalog, fabric: str, counts: Iterable[tuple[str, str, int, Message]]
) -> Iterable[BillPart]:
    """Yield the transceivers of fabrics whose optical cables are plain fibre."""
    at_node, at_switch = catalog.find(fabric, "end_optics"), catalog.find(fabric, "switch_optics")
    if at_node is None or at_switch is None:
        return
    fibres = [(use, count) for use, distance, count, _ in counts if distance != REACHES[0]]
    to_nodes = sum(count for use, count in fibres if use == "node_cable")
    ends = sum(count if use == "node_cable" else 2 * count for use, count in fibres)
    per_transceiver = round(catalog.figure(at_switch.text, "links_per_optics").si)
    if to_nodes:
        rule = Message("{links} fibers, one at the end of each machine", {"links": to_nodes})
        yield part(catalog, at_node.text, "cables", "node_optics", to_nodes, rule)
    if ends:
        rule = Message(
            "{ends} fiber ends at switches, {each} per transceiver", {"ends": ends, "each": per_transceiver}
        )
        yield part(catalog, at_switch.text, "cables", "switch_optics", -(-ends // per_transceiver), rule)


def adapters(
    catalog: Catalog, fabric: str, nodes: int, ports_per_node: int, machine: str | None, group: Group
) -> Iterable[BillPart]:
    """Yield the line of adapters that a machine does not include, if any."""
    if machine is None:
        return
    needed = catalog.figure(fabric, "adapter").text
    own, ports = catalog.find(machine, "adapter"), catalog.find(machine, "compute_ports")
    included = 0
    if own is not None and ports is not None:
        fast = catalog.figure(own.text, "port_rate").si >= catalog.figure(fabric, "line_rate").si
        included = round(ports.si) if fast else 0
    missing = max(ports_per_node - included, 0)
    if missing:
        rule = Message(
            "{nodes} nodes × {ports} ports; each machine includes {brought} ports of this rate",
            {"nodes": nodes, "ports": ports_per_node, "brought": included},
        )
        yield part(catalog, needed, group, "adapter", nodes * missing, rule)
