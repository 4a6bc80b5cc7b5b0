"""Where the name of a point stands on a chart: beside it, clear of other points, names and lines."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence

from app.platform.charts.figures import Axis

Spot = tuple[float, float]
"""Place on a chart, in the units of its axes."""

PLOT = (620.0, 230.0)
"""Plot that names are placed for; a wider one has more room. [px]"""

LETTER, HEIGHT, AWAY, POINT, STROKE = 6.6, 14.0, 8.0, 8.0, 3.0
"""Width and height of letters, their distance from a point, half a point and half a line. [px]"""

SIDES = (
    "top right", "bottom right", "top left", "bottom left",
    "middle right", "middle left", "top center", "bottom center",
)  # fmt: skip

OUTSIDE = 20.0
"""How much worse a letter beyond the edge is than one over a line."""

Rectangle = tuple[float, float, float, float]


def sides(
    named: Sequence[tuple[Spot, str]],
    across: Axis,
    up: Axis,
    points: Iterable[Spot] = (),
    lines: Iterable[tuple[Spot, Spot]] = (),
    plot: tuple[float, float] = PLOT,
) -> list[str]:
    """Return the side of each name, the first chosen first; ``points`` and ``lines`` are what else is drawn.

    ``plot`` is the room of the chart. [px]

    >>> axis = {"type": "linear", "range": [0, 10]}
    >>> sides([((9.8, 5), "a name"), ((1, 5), "")], axis, axis)
    ['top left', 'top right']
    """

    def spot(at: Spot) -> Spot:
        return _along(at[0], across) * plot[0], (1.0 - _along(at[1], up)) * plot[1]

    taken = [_grown(*spot(at), *spot(at), POINT) for at in [*(at for at, _ in named), *points]]
    taken += [_grown(*spot(start), *spot(end), STROKE) for start, end in lines]
    chosen = []
    for at, name in named:
        x, y = spot(at)
        wide = LETTER * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in name)
        places = {side: _beside(x, y, wide, side) for side in SIDES}
        best = min(SIDES, key=lambda side: _covered(places[side], taken, plot))
        chosen.append(best)
        if name:
            taken.append(places[best])
    return chosen


def _along(value: float, axis: Axis) -> float:
    """Return where a value stands on its axis, from 0 to 1."""
    low, high = (float(end) for end in axis["range"])
    place = value if axis["type"] != "log" else math.log10(value) if value > 0 else low
    return (place - low) / (high - low or 1.0)


def _grown(x: float, y: float, other_x: float, other_y: float, room: float) -> Rectangle:
    return min(x, other_x) - room, min(y, other_y) - room, max(x, other_x) + room, max(y, other_y) + room


def _beside(x: float, y: float, wide: float, side: str) -> Rectangle:
    rise, aside = side.split()
    left = {"left": x - AWAY - wide, "center": x - wide / 2, "right": x + AWAY}[aside]
    top = {"top": y - AWAY - HEIGHT, "middle": y - HEIGHT / 2, "bottom": y + AWAY}[rise]
    return left, top, left + wide, top + HEIGHT


def _covered(place: Rectangle, taken: Sequence[Rectangle], plot: tuple[float, float]) -> float:
    """Return how much of a name lies over others or beyond the edges. [px²]"""
    left, top, right, bottom = place
    over = sum(
        max(0.0, min(right, one[2]) - max(left, one[0])) * max(0.0, min(bottom, one[3]) - max(top, one[1]))
        for one in taken
    )
    beyond = max(0.0, -left) + max(0.0, right - plot[0]), max(0.0, -top) + max(0.0, bottom - plot[1])
    return over + OUTSIDE * (beyond[0] * HEIGHT + beyond[1] * (right - left))
