"""Leaves, spines and core of a network with the links between them; many of a kind are drawn as one."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.features.bills.model import FabricPlan
from app.platform.charts.svg import Box, Drawing, Label, Line
from app.platform.wording.voice import Voice

WIDTH = 960.0

MARGIN = 16.0

ROW_HEIGHT = 46.0

ROW_GAP = 84.0

WIDEST = 128.0

GAP = 8.0

MOST_BOXES = 20
"""Switches of a row that are drawn one by one."""

MOST_LINES = 240
"""Pairs of switches whose links are drawn one by one."""

HEAVIEST = 6.0

Row = Sequence[tuple[float, float]]
"""Left edge and width of each box of a row."""


def topology(plan: FabricPlan, voice: Voice) -> Drawing:
    """Return the switches of a network in rows, from the nodes at the bottom to the core at the top."""
    levels = _levels(plan, voice)
    shapes: list[Box | Line | Label] = []
    top = MARGIN + 14.0
    rows: list[tuple[float, Row]] = []
    boxes: list[Box | Line | Label] = []
    for kind, count, names, tips in levels:
        places = spread_over(len(names))
        for (left, width), name, tip in zip(places, names, tips, strict=True):
            boxes.append(Box(left, top, width, ROW_HEIGHT, kind, tip))
            inside = "inside" if kind == "core" else "dark"
            boxes.append(Label(left + width / 2, top + ROW_HEIGHT / 2 + 4, name, 12.0, kind=inside))
        boxes.append(
            Label(
                MARGIN, top - 8, voice.say(Message(SENTENCES[kind], {"count": count})), 12.0, "start", "quiet"
            )
        )
        rows.append((top, places))
        top += ROW_HEIGHT + ROW_GAP
    kinds = [kind for kind, *_ in levels]
    for (upper, above), (lower, below), kind, link in zip(
        rows, rows[1:], kinds, _links(plan, voice), strict=False
    ):
        own = plan.pods > 1 and kind == "spine"
        shapes += _joined(above, upper + ROW_HEIGHT, below, lower, link[0], own)
        boxes.append(Label(WIDTH - MARGIN, lower - 8, link[1], 12.0, "end", "quiet"))
    return Drawing(
        WIDTH,
        top - ROW_GAP + MARGIN,
        voice.gettext("Network topology"),
        voice.say(
            Message(
                "{nodes} nodes × {rails} ports, {leaf} leaf, {spine} spine and {core} core switches",
                {
                    "nodes": plan.nodes,
                    "rails": plan.rails,
                    "leaf": plan.leaf,
                    "spine": plan.balanced_spine,
                    "core": plan.balanced_core,
                },
            )
        ),
        (*shapes, *boxes),
    )


SENTENCES = {
    "core": "Core: {count} switches",
    "spine": "Spine: {count} switches",
    "leaf": "Leaf: {count} switches",
    "nodes": "Nodes: {count}",
}
"""Kind of a row → its heading."""


def _levels(plan: FabricPlan, voice: Voice) -> list[tuple[str, int, list[str], list[str]]]:
    """Kind, count, names and tips of each row, the highest first."""
    found = []
    if plan.levels == 3:
        found.append(("core", plan.balanced_core, *_named("C", plan.balanced_core, voice)))
    if plan.levels > 1:
        if plan.pods > 1:
            each = plan.balanced_spine // plan.pods
            names = [f"{voice.gettext('pod')} {pod + 1}: {each} S" for pod in range(plan.pods)]
            found.append(("spine", plan.balanced_spine, *_folded(names, plan.balanced_spine)))
        else:
            found.append(("spine", plan.balanced_spine, *_named("S", plan.balanced_spine, voice)))
    found.append(("leaf", plan.leaf, *_leaves(plan, voice)))
    text = voice.say(Message("{nodes} nodes × {rails} ports", {"nodes": plan.nodes, "rails": plan.rails}))
    found.append(("nodes", plan.nodes, [text], [text]))
    return found


def _leaves(plan: FabricPlan, voice: Voice) -> tuple[list[str], list[str]]:
    if plan.pods > 1:
        most = plan.leaves_per_pod
        counts = [min(most, plan.leaf - most * pod) for pod in range(plan.pods)]
        names = [f"{voice.gettext('pod')} {pod + 1}: {count} L" for pod, count in enumerate(counts)]
        return _folded(names, plan.leaf)
    if plan.leaf <= MOST_BOXES or plan.levels == 1:
        each = max(plan.leaf // plan.rails, 1)
        tips = [
            voice.say(
                Message(
                    "leaf {number}, rail {rail}: {down} ports down, {up} up",
                    {
                        "number": leaf + 1,
                        "rail": leaf // each + 1,
                        "down": plan.leaf_down,
                        "up": plan.leaf_up,
                    },
                )
            )
            for leaf in range(plan.leaf)
        ]
        return [f"L{leaf + 1}" for leaf in range(plan.leaf)], tips
    each = plan.leaf // plan.rails
    names = [f"{voice.gettext('rail')} {rail + 1}: {each} L" for rail in range(plan.rails)]
    return _folded(names, plan.leaf)


def _named(letter: str, count: int, voice: Voice) -> tuple[list[str], list[str]]:
    if count <= MOST_BOXES:
        names = [f"{letter}{number + 1}" for number in range(count)]
        return names, names
    return _folded([voice.say(Message("{count} switches", {"count": count}))], count)


def _folded(names: list[str], count: int) -> tuple[list[str], list[str]]:
    """Names of a row, the middle ones left out where they are too many."""
    if len(names) > MOST_BOXES:
        names = [*names[: MOST_BOXES // 2 - 1], f"… × {len(names) - MOST_BOXES // 2}", names[-1]]
    return names, names


def spread_over(count: int) -> Row:
    """Return the places of so many boxes, side by side in the middle."""
    room = WIDTH - 2 * MARGIN
    width = room if count == 1 else min(WIDEST, (room - GAP * (count - 1)) / count)
    width = min(width, 420.0) if count == 1 else width
    start = (WIDTH - width * count - GAP * (count - 1)) / 2
    return [(start + index * (width + GAP), width) for index in range(count)]


def _links(plan: FabricPlan, voice: Voice) -> list[tuple[float, str]]:
    """Weight of the lines under each row, and what they stand for."""
    found = []
    if plan.levels == 3:
        text = voice.say(Message("{count} uplinks per spine", {"count": plan.spine_up}))
        found.append((2.0, text))
    if plan.levels > 1:
        text = voice.say(
            Message(
                "{count} uplinks per leaf, {each} to each spine",
                {"count": plan.leaf_up, "each": plan.links_per_pair},
            )
        )
        found.append((min(0.6 + 0.4 * plan.links_per_pair, HEAVIEST), text))
    found.append((2.0, voice.say(Message("at most {count} nodes per leaf", {"count": plan.leaf_down}))))
    return found


def _joined(above: Row, upper: float, below: Row, lower: float, weight: float, own: bool) -> list[Line]:
    """Lines from every box of a row to every box of the next, or each to its own; one trunk for too many."""
    if own:
        return [
            Line(x + w / 2, upper, other + wide / 2, lower, HEAVIEST)
            for (x, w), (other, wide) in zip(above, below, strict=True)
        ]
    if len(above) * len(below) > MOST_LINES:
        return [Line(WIDTH / 2, upper, WIDTH / 2, lower, HEAVIEST, "trunk")]
    if len(below) == 1:
        left, width = below[0]
        return [
            Line(x + w / 2, upper, left + width * (index + 1) / (len(above) + 1), lower, weight)
            for index, (x, w) in enumerate(above)
        ]
    return [
        Line(x + w / 2, upper, other + wide / 2, lower, weight) for x, w in above for other, wide in below
    ]
