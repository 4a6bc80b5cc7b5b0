"""What the network of every system costs by count: switches, money per port, share of the bill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from app.catalog.entries import Acquisition, ChipKind
from app.estimating.context import SizingContext
from app.estimating.network_parts import DOLLAR, NetworkBill
from app.estimating.purchase import Order, Purchase, purchase_of
from app.features.bills.bill import MOST_SHARE
from app.platform.charts import figures
from tools.markdown import percent, table

COUNTS = range(2, 65)
SHOWN = (2, 3, 4, 8, 16, 32, 64)
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
    share: float | None
    """Of the price of the whole bill; None where the machines have no price."""
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
        per_port = purchase.network_money / int(network.tree.endpoints)
        earlier = NetworkCost(
            count=count,
            bill=network,
            per_port=per_port,
            share=purchase.network_share,
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

![Money per port and share of the bill by count, a plot for every system](img/networks-by-count.svg)

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


WIDE, HIGH, ACROSS = 190, 110, 5
"""Size of the plot of one system, and how many stand beside each other."""
LEFT, TOP, RIGHT, BOTTOM = 34, 24, 182, 92
"""Edges of its axes."""
TOP_SHARE = 0.45
"""Share of the bill at the upper edge; money per port is drawn over its greatest."""


def network_picture(context: SizingContext) -> str:
    """Return a drawing with a plot for every system: share of the bill and money per port over the count."""
    systems = switched_systems(context)
    rows = -(-len(systems) // ACROSS)
    size = f'width="{ACROSS * WIDE}" height="{rows * HIGH}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ACROSS * WIDE} {rows * HIGH}" {size} '
        'font-family="sans-serif" font-size="9" role="img">',
        "<title>Share of the bill (blue, to 45 %) and money per port (orange) for 2 to 64 systems</title>",
        f'<rect width="{ACROSS * WIDE}" height="{rows * HIGH}" fill="white"/>',
    ]
    for position, system in enumerate(systems):
        left, top = WIDE * (position % ACROSS), HIGH * (position // ACROSS)
        plot = _plot(context.catalog.items[system].name, list(network_costs(context, system)))
        parts += [f'<g transform="translate({left} {top})">', *plot, "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _plot(name: str, costs: Sequence[NetworkCost]) -> Iterator[str]:
    most = max(cost.per_port for cost in costs)
    limit = _up(MOST_SHARE / TOP_SHARE)
    yield f'<text x="{LEFT}" y="14" font-weight="bold">{escape(name)}</text>'
    yield f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="#888"/>'
    yield f'<path d="M{LEFT} {limit}H{RIGHT}" stroke="#bbb" stroke-dasharray="3 3"/>'
    for text, height in ((f"${most:,.0f}", TOP + 4), ("30 %", limit + 3)):
        yield f'<text x="{LEFT - 3}" y="{height}" text-anchor="end" font-size="7">{text}</text>'
    for count in (COUNTS[0], COUNTS[-1]):
        yield f'<text x="{_along(count)}" y="{BOTTOM + 11}" text-anchor="middle">{count}</text>'
    yield _curve([(cost.count, cost.per_port / most) for cost in costs], figures.ORANGE)
    shares = [(cost.count, cost.share / TOP_SHARE) for cost in costs if cost.share is not None]
    if shares:
        yield _curve(shares, figures.BLUE)


def _curve(points: Sequence[tuple[int, float]], colour: str) -> str:
    path = " ".join(f"{_along(count)},{_up(part)}" for count, part in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _along(count: int) -> float:
    first, last = math.log(COUNTS[0]), math.log(COUNTS[-1])
    return round(LEFT + (RIGHT - LEFT) * (math.log(count) - first) / (last - first), 1)


def _up(part: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * part, 1)


def _cell(cost: NetworkCost) -> str:
    share = "" if cost.share is None else f", {percent(cost.share)}"
    return f"{cost.switches}; {cost.per_port:,.0f}{share}"


def _reasons(system: str, costs: Mapping[int, NetworkCost]) -> Iterator[str]:
    for count, cost in costs.items():
        if cost.step > MOST_STEP and cost.deeper:
            yield f"× {cost.step:.1f} at {count}: {int(cost.bill.tree.levels)} levels begin"
    if system in DEAR:
        most = max(cost.share or 0.0 for cost in costs.values())
        yield f"up to {percent(most)}: {DEAR[system][1]}"
