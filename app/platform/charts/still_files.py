"""The numbers of a figure as a table for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from app.platform.charts.figures import Figure
from app.platform.charts.stills import DRAWING, SETTINGS, learn_fonts, listed
from app.platform.charts.svg import FILLS, GROUND, INK, PANEL, RULE, SOFT, Area, Box, Drawing, Label, Line
from app.platform.tables import written

DOTS = 192
"""Of a picture, twice what a drawing takes on a page. [1/inch]"""

PIXELS = 96.0
"""Of an inch on a page. [px]"""

POINTS = 72.0 / PIXELS
"""Of a pixel of a drawing. [pt/px]"""

WIDEST = 4000.0
"""Of a drawing that is drawn at its full size. [px]"""

ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def sketch(drawing: Drawing, fonts: tuple[str, ...] = ()) -> bytes:
    """Return a drawing as PNG; the same drawing gives the same bytes."""
    learn_fonts(fonts)
    size = (drawing.width / PIXELS, drawing.height / PIXELS)
    dots = DOTS * min(1.0, WIDEST / max(drawing.width, drawing.height))
    with DRAWING, matplotlib.rc_context(SETTINGS):
        canvas = Canvas(figsize=size, dpi=dots, facecolor=GROUND)
        axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0, drawing.width)
        axes.set_ylim(drawing.height, 0)
        for order, one in enumerate(drawing.shapes):
            _draw(axes, one, order)
        written = io.BytesIO()
        canvas.savefig(written, format="png", metadata={"Software": None})
    return written.getvalue()


def _draw(axes: Axes, one: Box | Line | Label | Area, order: int) -> None:
    if isinstance(one, Line):
        axes.plot(
            [one.x1, one.x2],
            [one.y1, one.y2],
            color=SOFT,
            linewidth=one.weight * POINTS,
            alpha=0.35,
            zorder=order,
        )
    elif isinstance(one, Label):
        ink = GROUND if one.kind == "inside" else SOFT if one.kind == "quiet" else INK
        # Quiet text may lie over lines: a rim in the colour of the ground keeps it legible.
        rim = [withStroke(linewidth=4 * POINTS, foreground=GROUND)] if one.kind == "quiet" else None
        axes.text(
            one.x, one.y, one.text, color=ink, fontsize=one.size * POINTS, ha=ALIGNED[one.anchor],
            va="baseline", zorder=order, path_effects=rim,
        )  # fmt: skip
    else:
        boxes = one.boxes if isinstance(one, Area) else ((one.x, one.y, one.width, one.height),)
        edge = RULE if one.kind in ("frame", "band", "nodes") else "none"
        for x, y, width, height in boxes:
            face = FILLS.get(one.kind, PANEL)
            patch = Rectangle((x, y), width, height, facecolor=face, edgecolor=edge, linewidth=POINTS)
            axes.add_patch(patch).set_zorder(order)


Cell = str | int | float | bool | None

HEAD = ("series", "x", "y", "x_low", "x_high", "y_low", "y_high", "note")


def figure_csv(figure: Figure) -> str:
    """Return the points and bars of a figure as CSV (RFC 4180): one row each, with the ends of its range.

    Guides that say nothing themselves are left out.

    The second line names the axes with their units.
    """
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(HEAD)
    layout = figure["layout"]
    titles = [layout.get(f"{name}axis", {}).get("title", {}).get("text", "") for name in ("x", "y")]
    writer.writerow(["", *(written(title) for title in titles), "", "", "", "", ""])
    names = {name: _names(layout.get(f"{name}axis", {})) for name in ("x", "y")}
    for trace in figure["data"]:
        if trace.get("hoverinfo") == "skip":
            continue
        x, y = listed(trace.get("x")), listed(trace.get("y"))
        notes = listed(trace.get("hovertext")) or [""] * len(x)
        ends = [*_ends(trace, "x", x), *_ends(trace, "y", y)]
        for place, (across, up) in enumerate(zip(x, y, strict=True)):
            if across is None or up is None:
                continue
            cells = [
                trace.get("name", ""),
                names["x"].get(across, across),
                names["y"].get(up, up),
                *(end[place] for end in ends),
                notes[place].replace("<br>", " · "),
            ]
            writer.writerow([written(cell) for cell in cells])
    return lines.getvalue()


def rows_csv(rows: Sequence[Sequence[Cell]]) -> str:
    """Return rows as CSV (RFC 4180)."""
    lines = io.StringIO()
    csv.writer(lines).writerows([written(cell) for cell in row] for row in rows)
    return lines.getvalue()


def _names(axis: dict[str, Any]) -> dict[Any, str]:
    """Return what stands at the ticks of an axis of names; ticks of an axis of numbers are not names."""
    if axis.get("type") == "log" or not axis.get("ticktext"):
        return {}
    names = dict(zip(axis["tickvals"], (text.replace("<br>", " ") for text in axis["ticktext"]), strict=True))
    return names if list(names) == list(range(len(names))) else {}


def _ends(trace: dict[str, Any], name: str, values: list[Any]) -> list[list[Any]]:
    bars = trace.get(f"error_{name}")
    if not bars or not bars.get("array"):
        return [[None] * len(values)] * 2
    above, below = bars["array"], bars.get("arrayminus") or bars["array"]
    low = [value - (less or 0.0) for value, less in zip(values, below, strict=True)]
    return [low, [value + (more or 0.0) for value, more in zip(values, above, strict=True)]]
