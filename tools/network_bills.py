"""What the network of every system costs by count: switches, money per port, share of the bill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.catalog.entries import Acquisition, ChipKind
from app.estimating.context import SizingContext
from app.estimating.network_parts import DOLLAR, NetworkBill
from app.estimating.purchase import Order, Purchase, cost_line, purchase_of
from tools.markdown import percent, table

COUNTS = range(2, 65)
SHOWN = (2, 3, 4, 8, 16, 32, 64)
MOST_SHARE = 0.30
"""Share of a bill above which a network needs a reason."""
MOST_STEP = 1.3
"""Money per port over that of one system fewer above which a step needs a reason."""

DEAR: Mapping[str, tuple[float, str]] = {
    "gaudi2-8": (0.41, "24 ports on each of the cheapest machines, switches of 32; 3 levels from 22"),
    "gaudi3-8": (
        0.34,
        "24 ports of 200 Gb/s per machine; from 43 on, uplinks need 32 spines",
    ),
    "mi300x-8": (0.32, "8 ports of 400 Gb/s, switches of 32, machines of half the usual price"),
}
"""System → largest share of its bill that its network takes at any count, and why it is above the limit."""


@dataclass(frozen=True, slots=True)
class NetworkCost:
    """The network of one count of a system."""

    count: int
    bill: NetworkBill
    per_port: float
    """[USD]"""
    share: float
    """Of the price of the whole bill."""
    priced: bool
    """Whether the machines have a price, so that the share says something."""
    step: float
    """Money per port over that of one system fewer."""
    deeper: bool
    """Whether another level of switches begins here."""

    @property
    def switches(self) -> str:
        tree = self.bill.tree
        counts = (tree.leaf, tree.balanced_spine, tree.balanced_core)
        return " + ".join(str(int(count)) for count in counts if count)


def network_costs(context: SizingContext, system: str) -> Iterator[NetworkCost]:
    """Yield the networks of a system of GPUs by count; those whose switches cannot be listed are left out."""
    earlier: NetworkCost | None = None
    for count in COUNTS:
        purchase = ordered(context, system, count)
        network = purchase.network
        if network is None:
            continue
        money = sum(
            line.count * line.price.si
            for line in purchase.parts
            if line.price is not None and line.group != "spares" and cost_line(line) == "fabric"
        )
        per_port = money / int(network.tree.endpoints)
        earlier = NetworkCost(
            count=count,
            bill=network,
            per_port=per_port,
            share=money / sum(spread.value for spread in purchase.lines().values()),
            priced=all(line.price is not None for line in purchase.parts if line.group == "machines"),
            step=1.0 if earlier is None else per_port / earlier.per_port,
            deeper=earlier is not None and bool(network.tree.levels > earlier.bill.tree.levels),
        )
        yield earlier


def ordered(context: SizingContext, system: str, count: int) -> Purchase:
    """Return what is bought with a count of a system on its own network."""
    entry = context.catalog.system(system)
    order = Order(system=entry, count=count, fabric=entry.fabric, ports_per_node=entry.ports_per_node)
    return purchase_of(context.catalog, order)


def switched_systems(context: SizingContext) -> list[str]:
    """Return the systems that are bought with switches between their machines."""
    catalog = context.catalog
    entries = [catalog.system(name) for name in catalog.names("system")]
    return [
        entry.id
        for entry in entries
        if entry.acquisition is Acquisition.OWN
        and entry.machine.chip.kind is ChipKind.GPU
        and catalog.conditions(entry.fabric, "switch")
    ]


HEAD = """# Networks by count

What the network between the machines costs, for every system that is bought with its switches, from the same
bill as every price ([how switches are counted](methodology/19-bill-of-materials.md)). Each cell: switches
(leaf + spine + core), {dollar} per port, share of the whole bill. A share above {share} or money per port
above {step} × that of one system fewer has its reason in the last column; machines without a price have none.

"""


def network_document(context: SizingContext) -> str:
    """Return the page with a row for every system."""
    rows = []
    for system in switched_systems(context):
        costs = {cost.count: cost for cost in network_costs(context, system)}
        cells = [_cell(costs[count]) if count in costs else "" for count in SHOWN]
        rows.append([context.catalog.items[system].name, *cells, "; ".join(_reasons(system, costs))])
    head = HEAD.format(dollar=DOLLAR, share=percent(MOST_SHARE), step=MOST_STEP)
    return f"{head}{table(['system', *map(str, SHOWN), 'reasons'], rows)}\n"


def _cell(cost: NetworkCost) -> str:
    share = f", {percent(cost.share)}" if cost.priced else ""
    return f"{cost.switches}; {cost.per_port:,.0f}{share}"


def _reasons(system: str, costs: Mapping[int, NetworkCost]) -> Iterator[str]:
    for count, cost in costs.items():
        if cost.step > MOST_STEP and cost.deeper:
            yield f"× {cost.step:.1f} at {count}: {int(cost.bill.tree.levels)} levels begin"
    if system in DEAR:
        most = max(cost.share for cost in costs.values())
        yield f"up to {percent(most)}: {DEAR[system][1]}"
