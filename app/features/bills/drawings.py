"""Drawings of racks from the front and of a network's switches in rows; identical racks are drawn once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from app.engine.units import KILOWATT
from app.errors import Message
from app.features.bills.model import FabricPlan, Rack, RackPlacement
from app.platform.charts.svg import Box, Drawing, Label, Line
from app.platform.wording.voice import Voice

Shapes = list[Box | Line | Label]

UNIT = 15.0
"""Height of one rack unit in the drawing. [px]"""

RACK_WIDTH = 168.0

RACK_GAP = 44.0

LEFT = 34.0

HEAD = 26.0

FOOT = 46.0

FREE, LEAST_FREE = 3, 6
"""Units drawn for a stretch that is free in all racks, and the shortest stretch that is drawn so."""

PER_ROW = 5

MOST_KINDS = 15
"""Kinds of rack that are drawn; a bill may have more, which its table lists."""

KINDS = {
    "machine": "machine",
    "host": "host",
    "storage_server": "storage",
    "spare_machine": "spare",
    "spare_host": "spare",
    "management_switch": "management",
}
"""Use of equipment → class of its box; all other uses are switches."""


def rack_elevation(racks: Sequence[Rack], voice: Voice) -> Drawing:
    """Draw the front of every kind of rack with its contents."""
    drawn = racks[:MOST_KINDS]
    height = drawn[0].height if drawn else 42
    levels = levels_of(drawn, height)
    tall = HEAD + levels[-1] * UNIT + FOOT
    rows = -(-len(drawn) // PER_ROW) if drawn else 1
    columns = min(len(drawn), PER_ROW) or 1
    shapes: Shapes = []
    number = 1
    for index, rack in enumerate(drawn):
        left = LEFT + (index % PER_ROW) * (RACK_WIDTH + RACK_GAP)
        shapes += _rack(rack, left, (index // PER_ROW) * tall, number, levels, voice)
        number += rack.count
    text = Message(
        "{racks} racks of {height} units; the table below the drawing lists their contents",
        {"racks": sum(rack.count for rack in racks), "height": height},
    )
    width = LEFT + columns * (RACK_WIDTH + RACK_GAP)
    return Drawing(width, rows * tall, voice.gettext("Rack elevation"), voice.say(text), tuple(shapes))


def levels_of(racks: Sequence[Rack], height: int) -> list[float]:
    """Return the level of the floor and of each unit's upper edge, from the floor. [units of the drawing]

    Units that no rack uses are drawn together where they are many.

    >>> levels_of([], 8)
    [0.0, 0.375, 0.75, 1.125, 1.5, 1.875, 2.25, 2.625, 3.0]
    """
    used = {
        placement.bottom + unit
        for rack in racks
        for placement in rack.placements
        for unit in range(placement.height)
    }
    levels = [0.0]
    for taken, stretch in itertools.groupby(range(1, height + 1), used.__contains__):
        count = len(list(stretch))
        each = 1.0 if taken or count < LEAST_FREE else FREE / count
        levels += [levels[-1] + each * step for step in range(1, count + 1)]
    return levels


def _rack(rack: Rack, left: float, top: float, number: int, levels: Sequence[float], voice: Voice) -> Shapes:
    tall = levels[rack.height] * UNIT
    floor = top + HEAD + tall
    shapes: Shapes = [
        Label(left, top + 16, heading(rack, number, voice), 12.0, "start"),
        Box(left, top + HEAD, RACK_WIDTH, tall, "frame"),
    ]
    marks = (1, *range(6, rack.height + 1, 6))
    shapes += [
        Label(left - 5, floor - levels[mark - 1] * UNIT - 2, str(mark), 10.0, "end", "quiet")
        for mark in marks
        if levels[mark] - levels[mark - 1] == 1.0
    ]
    for count, placement in stretches(rack.placements):
        shapes += _stretch(placement, count, left, floor, levels, voice)
    kilowatts = {"power": rack.power, "most": rack.power_max, "limit": rack.power_limit}
    power = Message(
        "{power} kW, at most {most} of {limit} kW",
        {name: round(watts / 1000, 1) for name, watts in kilowatts.items()},
    )
    filled = Message(
        "{used} of {height} U, {weight} kg",
        {"used": rack.used, "height": rack.height, "weight": round(rack.weight)},
    )
    over = "over" if rack.power_max > rack.power_limit else "quiet"
    shapes.append(Label(left, floor + 15, voice.say(power), 11.0, "start", over))
    shapes.append(Label(left, floor + 30, voice.say(filled), 11.0, "start", "quiet"))
    return shapes


def heading(rack: Rack, number: int, voice: Voice) -> str:
    """Return the name of a rack, or of a range of identical racks."""
    if rack.count == 1:
        return voice.say(Message("Rack {number}", {"number": number}))
    values = {"first": number, "last": number + rack.count - 1, "count": rack.count}
    return voice.say(Message("Racks {first}–{last} ({count} identical)", values))


def stretches(placements: Sequence[RackPlacement]) -> list[tuple[int, RackPlacement]]:
    """Group adjacent units of one kind: their number, and the lowest of them."""
    groups: list[tuple[int, RackPlacement]] = []
    for placement in placements:
        if groups:
            count, lowest = groups[-1]
            above = lowest.bottom + lowest.height * count
            if (lowest.item, lowest.use, above) == (placement.item, placement.use, placement.bottom):
                groups[-1] = (count + 1, lowest)
                continue
        groups.append((1, placement))
    return groups


def _stretch(
    lowest: RackPlacement, count: int, left: float, floor: float, levels: Sequence[float], voice: Voice
) -> Shapes:
    """Return the boxes of a group of units, with its name in the middle box."""
    bottom, height = lowest.bottom, lowest.height
    kind = KINDS.get(lowest.use, "switch")
    name = voice.gettext(lowest.name)
    tip = f"{name} · {voice.label(lowest.use, 'bill')}"
    shapes: Shapes = []
    for index in range(count):
        top = floor - levels[bottom - 1 + (index + 1) * height] * UNIT
        shapes.append(Box(left + 3, top + 0.6, RACK_WIDTH - 6, height * UNIT - 1.2, kind, tip))
    first = bottom - 1 + height * (count // 2)
    middle = floor - (levels[first] + levels[first + height]) / 2 * UNIT
    text = name if count == 1 else f"{count} × {name}"
    size = 12.0 if height > 1 else 11.0
    most = int((RACK_WIDTH - 16) / (size * 0.52))
    if len(text) > most:
        text = f"{text[: most - 1]}…"
    inside = "inside" if kind in ("machine", "storage", "spare") else "dark"
    shapes.append(Label(left + RACK_WIDTH / 2, middle + 3.8, text, size, kind=inside))
    return shapes


FEED_TOP, FEED_GAP, STRIP_TOP, STRIP_HEIGHT = 18.0, 22.0, 76.0, 30.0

STRIP_WIDTH, LEAST_WIDTH = 80.0, 640.0


def power_feeds(racks: Sequence[Rack], voice: Voice) -> Drawing | None:
    """Draw the feeds of every kind of rack and the PDUs on each; None where a bill did not keep them."""
    drawn = [rack for rack in racks if rack.feeds and rack.pdu_power][:MOST_KINDS]
    if not drawn:
        return None
    feeds = max(rack.feeds or 0 for rack in drawn)
    strip_top = STRIP_TOP + FEED_GAP * (feeds - 2)
    rack_top = strip_top + STRIP_HEIGHT + 26.0
    tall = rack_top + 64.0
    columns = min(len(drawn), PER_ROW) or 1
    wide = max(RACK_WIDTH, feeds * (STRIP_WIDTH + 8.0))
    end = LEFT + columns * (wide + RACK_GAP) - RACK_GAP
    # Letters keep their size beside a single rack.
    width = max(end, LEAST_WIDTH)
    shapes: Shapes = []
    for row in range(-(-len(drawn) // PER_ROW)):
        for feed in range(feeds):
            height = row * tall + FEED_TOP + feed * FEED_GAP
            name = voice.say(Message("Feed {letter}", {"letter": chr(ord("A") + feed)}))
            shapes.append(Label(0.0, height - 4.0, name, 11.0, "start"))
            shapes.append(Line(0.0, height, end, height, 3.0))
    number = 1
    for index, rack in enumerate(drawn):
        left, top = LEFT + (index % PER_ROW) * (wide + RACK_GAP), (index // PER_ROW) * tall
        step, each = wide / feeds, round((rack.pdu_power or 0.0) / KILOWATT, 1)
        for feed in range(feeds):
            middle = left + step * (feed + 0.5)
            shapes.append(Line(middle, top + FEED_TOP + feed * FEED_GAP, middle, top + rack_top, 1.5))
            box = middle - STRIP_WIDTH / 2
            shapes.append(Box(box, top + strip_top, STRIP_WIDTH, STRIP_HEIGHT, "leaf"))
            text = f"{rack.pdus_per_feed} × {each:g} kW"
            shapes.append(Label(middle, top + strip_top + 19.0, text, 10.5, kind="dark"))
        power = {"power": round(rack.power_max / KILOWATT, 1)}
        shapes.append(Box(left, top + rack_top, wide, 46.0, "frame"))
        shapes.append(Label(left + wide / 2, top + rack_top + 18.0, heading(rack, number, voice), 11.0))
        most = voice.say(Message("at most {power} kW", power))
        shapes.append(Label(left + wide / 2, top + rack_top + 36.0, most, 11.0, kind="quiet"))
        number += rack.count
    rows = -(-len(drawn) // PER_ROW)
    told = feed_words(racks, voice)
    return Drawing(width, rows * tall, voice.gettext("Power feeds"), told, tuple(shapes))


def feed_words(racks: Sequence[Rack], voice: Voice) -> str:
    feeds, power = racks[0].feeds or 0, racks[0].pdu_power or 0.0
    strips = feeds * sum(rack.count * (rack.pdus_per_feed or 0) for rack in racks)
    values = {"feeds": feeds, "strips": strips, "each": round(power / KILOWATT, 1)}
    return voice.say(
        Message("{feeds} feeds with {strips} PDUs of {each} kW; each feed can carry the racks alone", values)
    )


WIDTH = 820.0

ASIDE = 222.0
"""Room for the words left of the rows."""

MARGIN = 16.0

MIDDLE = (ASIDE + WIDTH - MARGIN) / 2

ROW_HEIGHT = 46.0

ROW_GAP = 64.0

WIDEST = 128.0

GAP = 8.0

MOST_BOXES = 20
"""Switches of a row that are drawn one by one."""

MOST_LINES = 240
"""Pairs of switches whose links are drawn one by one."""

HEAVIEST = 6.0

SENTENCES = {
    "core": "Core switches: {count}",
    "spine": "Spine switches: {count}",
    "leaf": "Leaf switches: {count}",
    "nodes": "Nodes: {count}",
}
"""Kind of a row → its heading."""

Row = Sequence[tuple[float, float]]
"""Left edge and width of each box of a row."""


def topology(plan: FabricPlan, voice: Voice) -> Drawing:
    """Draw the switches of a network in rows, from the nodes at the bottom to the core at the top."""
    rows = _rows(plan, voice)
    spans = [_spread_over(len(names)) for _, _, names, _ in rows]
    tops = [MARGIN + index * (ROW_HEIGHT + ROW_GAP) for index in range(len(rows))]
    lines: Shapes = []
    boxes: Shapes = []
    for (kind, count, names, tips), row, top in zip(rows, spans, tops, strict=True):
        inside = "inside" if kind == "core" else "dark"
        for (left, width), name, tip in zip(row, names, tips, strict=True):
            boxes.append(Box(left, top, width, ROW_HEIGHT, kind, tip))
            size = min(12.0, 1.7 * width / max(len(name), 1))
            boxes.append(Label(left + width / 2, top + ROW_HEIGHT / 2 + 4, name, size, kind=inside))
        text = voice.say(Message(SENTENCES[kind], {"count": count}))
        boxes.append(Label(0.0, top + ROW_HEIGHT / 2 + 4, text, 12.0, "start"))
    for index, (weight, text) in enumerate(_links(plan, voice)):
        upper, lower = tops[index] + ROW_HEIGHT, tops[index + 1]
        own = plan.pods > 1 and rows[index][0] == "spine"
        lines += _lines_between(spans[index], upper, spans[index + 1], lower, weight, own)
        boxes.append(Label(0.0, (upper + lower) / 2 + 4, text, 12.0, "start", "quiet"))
    description = Message(
        "{nodes} nodes × {rails} ports, {leaf} leaf, {spine} spine and {core} core switches",
        {
            "nodes": plan.nodes,
            "rails": plan.endpoints // plan.nodes,
            "leaf": plan.leaf,
            "spine": plan.balanced_spine,
            "core": plan.balanced_core,
        },
    )
    height, title = tops[-1] + ROW_HEIGHT + MARGIN, voice.gettext("Network topology")
    return Drawing(WIDTH, height, title, voice.say(description), (*lines, *boxes))


def _rows(plan: FabricPlan, voice: Voice) -> list[tuple[str, int, list[str], list[str]]]:
    """Kind, count, names and tips of each row, the highest first."""
    rows = []
    core, spine = plan.balanced_core, plan.balanced_spine
    if plan.levels == 3:
        names = _numbered("C", core, voice)
        rows.append(("core", core, names, names))
    if plan.levels > 1:
        if plan.pods > 1:
            names = _in_parts(voice.gettext("pod"), [f"{spine // plan.pods} S"] * plan.pods)
        else:
            names = _numbered("S", spine, voice)
        rows.append(("spine", spine, names, names))
    rows.append(("leaf", plan.leaf, *_leaves(plan, voice)))
    ports = plan.endpoints // plan.nodes
    text = voice.say(Message("{nodes} nodes × {rails} ports", {"nodes": plan.nodes, "rails": ports}))
    rows.append(("nodes", plan.nodes, [text], [text]))
    return rows


def _leaves(plan: FabricPlan, voice: Voice) -> tuple[list[str], list[str]]:
    per_rail = max(plan.leaf // plan.rails, 1)
    if plan.pods > 1:
        most = plan.leaves_per_pod
        counts = [min(most, plan.leaf - most * pod) for pod in range(plan.pods)]
        names = _in_parts(voice.gettext("pod"), [f"{count} L" for count in counts])
    elif plan.leaf > MOST_BOXES and plan.levels > 1 and plan.rails > 1:
        names = _in_parts(voice.gettext("rail"), [f"{per_rail} L"] * plan.rails)
    elif plan.leaf > MOST_BOXES:
        names = _numbered("L", plan.leaf, voice)
    else:
        template = (
            "leaf {number}, rail {rail}: {down} ports down, {up} up"
            if plan.rails > 1
            else "leaf {number}: {down} ports down, {up} up"
        )
        ports = {"down": plan.leaf_down, "up": plan.leaf_up}
        tips = [
            voice.say(Message(template, {"number": leaf + 1, "rail": leaf // per_rail + 1, **ports}))
            for leaf in range(plan.leaf)
        ]
        return [f"L{leaf + 1}" for leaf in range(plan.leaf)], tips
    return names, names


def _numbered(letter: str, count: int, voice: Voice) -> list[str]:
    if count <= MOST_BOXES:
        return [f"{letter}{number + 1}" for number in range(count)]
    return [voice.say(Message("Switches: {count}", {"count": count}))]


def _in_parts(word: str, contents: list[str]) -> list[str]:
    """Return the names of pods or rails with their contents; the middle ones are left out if too many."""
    names = [f"{word} {number}: {content}" for number, content in enumerate(contents, start=1)]
    if len(names) > MOST_BOXES:
        names = [*names[: MOST_BOXES // 2 - 1], f"… × {len(names) - MOST_BOXES // 2}", names[-1]]
    return names


def _spread_over(count: int) -> Row:
    """Return left edge and width of a number of boxes, side by side in the middle."""
    room = WIDTH - ASIDE - MARGIN
    width = min(room, 420.0) if count == 1 else min(WIDEST, (room - GAP * (count - 1)) / count)
    start = MIDDLE - (width * count + GAP * (count - 1)) / 2
    return [(start + index * (width + GAP), width) for index in range(count)]


def _links(plan: FabricPlan, voice: Voice) -> list[tuple[float, str]]:
    """Weight of the lines under each row, and what they stand for."""
    links = []
    if plan.levels == 3:
        links.append((2.0, Message("{count} uplinks per spine", {"count": plan.spine_up})))
    if plan.levels > 1:
        values = {"count": plan.leaf_up, "each": plan.links_per_pair}
        weight = min(0.6 + 0.4 * plan.links_per_pair, HEAVIEST)
        links.append((weight, Message("{count} uplinks per leaf, {each} to each spine", values)))
    links.append((2.0, Message("at most {count} node ports per leaf", {"count": plan.leaf_down})))
    return [(weight, voice.say(message)) for weight, message in links]


def _lines_between(
    above: Row, upper: float, below: Row, lower: float, weight: float, own: bool
) -> list[Line]:
    """Connect every box with every box of the next row, or with its own; too many lines are one trunk."""
    starts, ends = ([left + width / 2 for left, width in row] for row in (above, below))
    if own:
        return [Line(x, upper, end, lower, HEAVIEST) for x, end in zip(starts, ends, strict=True)]
    if len(above) * len(below) > MOST_LINES:
        return [Line(MIDDLE, upper, MIDDLE, lower, HEAVIEST, "trunk")]
    if len(below) == 1:
        left, width = below[0]
        return [
            Line(x, upper, left + width * number / (len(above) + 1), lower, weight)
            for number, x in enumerate(starts, start=1)
        ]
    return [Line(x, upper, end, lower, weight) for x in starts for end in ends]
