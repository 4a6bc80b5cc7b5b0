"""Racks from the front: what stands at which height, racks that are filled alike drawn once."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.features.bills.model import Placement, Rack
from app.platform.charts.svg import Box, Drawing, Label, Line
from app.platform.wording.voice import Voice

UNIT = 12.0
"""Height of one rack unit in the drawing. [px]"""

WIDTH = 168.0

GAP = 44.0

LEFT = 34.0

HEAD = 26.0

FOOT = 46.0

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
"""Use of a thing → class of its box; all others are switches."""


def rack_elevation(racks: Sequence[Rack], voice: Voice) -> Drawing:
    """Return the front of every kind of rack with what stands in it."""
    drawn = racks[:MOST_KINDS]
    height = drawn[0].height if drawn else 42
    tall = HEAD + height * UNIT + FOOT
    rows = -(-len(drawn) // PER_ROW) if drawn else 1
    columns = min(len(drawn), PER_ROW) or 1
    shapes: list[Box | Line | Label] = []
    number = 1
    for index, rack in enumerate(drawn):
        left = LEFT + (index % PER_ROW) * (WIDTH + GAP)
        top = (index // PER_ROW) * tall
        shapes += _rack(rack, left, top, number, voice)
        number += rack.count
    words = voice.say(
        Message(
            "{racks} racks of {height} units; the table below the drawing lists their contents",
            {"racks": sum(rack.count for rack in racks), "height": height},
        )
    )
    return Drawing(
        LEFT + columns * (WIDTH + GAP), rows * tall, voice.gettext("Rack elevation"), words, tuple(shapes)
    )


def _rack(rack: Rack, left: float, top: float, number: int, voice: Voice) -> list[Box | Line | Label]:
    floor = top + HEAD + rack.height * UNIT
    shapes: list[Box | Line | Label] = [
        Label(left, top + 16, heading(rack, number, voice), 12.0, "start"),
        Box(left, top + HEAD, WIDTH, rack.height * UNIT, "frame"),
    ]
    shapes += [
        Label(left - 5, floor - (mark - 1) * UNIT - 1, str(mark), 8.5, "end", "quiet")
        for mark in (1, *range(6, rack.height + 1, 6))
    ]
    for bottom, size, count, one in stretches(rack.placements):
        shapes += _placed(one, left, floor, bottom, size, count, voice)
    shapes.append(
        Label(
            left,
            floor + 15,
            voice.say(
                Message(
                    "{power} kW, at most {most} of {limit} kW",
                    {
                        "power": round(rack.power / 1000, 1),
                        "most": round(rack.power_max / 1000, 1),
                        "limit": round(rack.power_limit / 1000, 1),
                    },
                )
            ),
            11.0,
            "start",
            "over" if rack.power_max > rack.power_limit else "quiet",
        )
    )
    text = Message("{used} of {height} U, {weight} kg", _filled(rack))
    shapes.append(Label(left, floor + 30, voice.say(text), 11.0, "start", "quiet"))
    return shapes


def _filled(rack: Rack) -> dict[str, object]:
    return {"used": rack.used, "height": rack.height, "weight": round(rack.weight)}


def heading(rack: Rack, number: int, voice: Voice) -> str:
    """Return what a rack, or a stretch of racks that are filled alike, is called."""
    if rack.count == 1:
        return voice.say(Message("Rack {number}", {"number": number}))
    values = {"first": number, "last": number + rack.count - 1, "count": rack.count}
    return voice.say(Message("Racks {first}–{last} ({count} identical)", values))


def stretches(placements: Sequence[Placement]) -> list[tuple[int, int, int, Placement]]:
    """Return neighbours of one kind together: bottom, height of one, how many, and one of them."""
    found: list[tuple[int, int, int, Placement]] = []
    for one in placements:
        if found:
            bottom, height, count, other = found[-1]
            joins = (other.item, other.use) == (one.item, one.use) and bottom + height * count == one.bottom
            if joins:
                found[-1] = (bottom, height, count + 1, other)
                continue
        found.append((one.bottom, one.height, 1, one))
    return found


def _placed(
    one: Placement, left: float, floor: float, bottom: int, height: int, count: int, voice: Voice
) -> list[Box | Line | Label]:
    """Boxes of a stretch, and its name once, in the box in its middle."""
    kind = KINDS.get(one.use, "switch")
    called = voice.gettext(one.name)
    tip = f"{called} · {voice.label(one.use, 'bill')}"
    shapes: list[Box | Line | Label] = [
        Box(
            left + 3,
            floor - (bottom - 1 + (index + 1) * height) * UNIT + 0.6,
            WIDTH - 6,
            height * UNIT - 1.2,
            kind,
            tip,
        )
        for index in range(count)
    ]
    middle = floor - (bottom - 1 + height * (count // 2) + height / 2) * UNIT
    name = called if count == 1 else f"{count} × {called}"
    size = 10.0 if height > 1 else 9.0
    inside = "inside" if kind in ("machine", "storage", "spare") else "dark"
    shapes.append(Label(left + WIDTH / 2, middle + 3.2, shortened(name, size), size, kind=inside))
    return shapes


def shortened(name: str, size: float) -> str:
    """Return a name as far as it fits the width of a rack."""
    most = int((WIDTH - 16) / (size * 0.52))
    return name if len(name) <= most else f"{name[: most - 1]}…"
