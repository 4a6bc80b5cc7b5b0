"""The bill of a switched network: switches, cables, transceivers and missing adapters."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.catalog.catalog import Catalog
from app.catalog.entries import SystemPart, total
from app.catalog.figures import Figure, Spread
from app.catalog.records import known_figure
from app.engine.fat_tree import FatTree, smallest_fat_tree
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
    "spares",
    "racks",
    "software",
    "installation",
]
"""Groups in the order they are listed."""

DOLLAR = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPart(SystemPart):
    """A line of a bill."""

    group: Group
    use: str
    """Purpose: leaf, spine, node cable …"""
    rule: Message
    """How the quantity is computed."""
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
    def per_port(self) -> float:
        """Price for each port of a machine. [USD]"""
        return self.price.value / int(self.tree.endpoints)

    @property
    def power(self) -> Spread:
        """Typical power. [W]"""
        return total(((line.count, line.power_typical) for line in self.lines), "W")

    @property
    def complete(self) -> bool:
        """False where a line has no price, so that the sum is a lower bound."""
        return all(line.price is not None for line in self.lines)


@functools.lru_cache(maxsize=256)
def listed_network(
    catalog: Catalog, *, fabric: str, nodes: int, ports_per_node: int, oversubscription: float, machine: str
) -> NetworkBill | None:
    """Return the network between machines; None where it is not sold by the switch, or not in this size."""
    try:
        return network_bill(
            catalog,
            fabric=fabric,
            nodes=nodes,
            ports_per_node=ports_per_node,
            oversubscription=oversubscription,
            machine=machine,
        )
    except BadInput:
        return None


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
    switches = catalog.conditions(fabric, "switch")
    if not switches:
        name = catalog.items[fabric].name if fabric in catalog.items else fabric
        raise BadInput.at(
            "fabric",
            "{fabric} comes with its system or from a cloud; no switches are purchased for it",
            fabric=name,
        )
    refusals: list[BadInput] = []
    bills: list[NetworkBill] = []
    for switch in switches:
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
    return smallest_fat_tree(nodes, ports_per_node, switch_ports, oversubscription)


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


def reaches(catalog: Catalog, count: int, kind: str, beside: int = 0) -> list[int]:
    """Return how many of a number of nodes or switches stand in one rack, along the row, across the hall.

    Cables run to what stands in the first rack, where ``beside`` others have their places before them.
    """
    ends = [round(catalog.figure(CABLING, name).si) for name in (f"near_{kind}", f"row_{kind}")]
    within = [min(max(end - beside, 0), count) for end in ends]
    return [within[0], within[1] - within[0], count - within[1]]


def _cables(catalog: Catalog, fabric: str, machines: int, tree: FatTree) -> Iterable[BillPart]:
    near, row, hall = reaches(catalog, machines, "nodes")
    if tree.levels > 1:
        # Nodes share a rack with a single switch only; several switches have racks of their own.
        near, row = 0, near + row
    rule = Message("{endpoints} node ports, one cable each", {"endpoints": int(tree.endpoints)})
    counts = [("node_cable", int(tree.endpoints), [near, row, hall], rule)]
    if tree.levels > 1:
        leaves, above = int(tree.leaf), int(tree.balanced_spine + tree.balanced_core)
        rule = Message("{leaves} leaves × {up} uplinks", {"leaves": leaves, "up": int(tree.balanced_up)})
        counts.append(("leaf_cable", int(tree.leaf_links), reaches(catalog, leaves, "switches", above), rule))
    if tree.levels > 2:
        spines, core = int(tree.balanced_spine), int(tree.balanced_core)
        rule = Message("{spines} spines × {up} uplinks", {"spines": spines, "up": int(tree.spine_up)})
        counts.append(
            ("spine_cable", int(tree.spine_links), reaches(catalog, spines, "switches", core), rule)
        )
    fibres: dict[str, int] = {}
    for use, links, among, rule in counts:
        for distance, count in zip(REACHES, _shared_out(links, among), strict=True):
            if count:
                cable = catalog.figure(fabric, "cable", distance).text
                yield part(catalog, cable, "cables", use, count, rule)
            if distance != REACHES[0]:
                fibres[use] = fibres.get(use, 0) + count
    yield from _optics(catalog, fabric, fibres)


def _shared_out(links: int, among: Sequence[int]) -> list[int]:
    """Share links out in proportion, the longest rounded up."""
    ends = [links * sum(among[: index + 1]) // sum(among) for index in range(len(among))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _optics(catalog: Catalog, fabric: str, fibres: Mapping[str, int]) -> Iterable[BillPart]:
    """Yield the transceivers of fabrics whose optical cables are plain fibre, by the use of the fibres."""
    at_node, at_switch = catalog.find(fabric, "end_optics"), catalog.find(fabric, "switch_optics")
    if at_node is None or at_switch is None:
        return
    to_nodes = fibres["node_cable"]
    ends = sum(count if use == "node_cable" else 2 * count for use, count in fibres.items())
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
