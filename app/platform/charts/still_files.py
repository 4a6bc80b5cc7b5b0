"""Drawings as pictures."""

from __future__ import annotations

import io

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from app.platform.charts.stills import DRAWING, SETTINGS, learn_fonts
from app.platform.charts.svg import FILLS, GROUND, INK, PANEL, RULE, SOFT, Area, Box, Drawing, Label, Line

DOTS = 192
"""Of a picture, twice what a drawing takes on a page. [1/inch]"""

PIXELS = 96.0
"""Of an inch on a page. [px]"""

POINTS = 72.0 / PIXELS
"""Of a pixel of a drawing. [pt/px]"""

WIDEST = 4000.0
"""Of a drawing that is drawn at its full size. [px]"""

ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def sketch(drawing: Drawing) -> bytes:
    """Return a drawing as PNG; the same drawing gives the same bytes."""
    learn_fonts()
    size = (drawing.width / PIXELS, drawing.height / PIXELS)
    dots = DOTS * min(1.0, WIDEST / max(drawing.width, drawing.height))
    with DRAWING, matplotlib.rc_context(SETTINGS):
        canvas = Canvas(figsize=size, dpi=dots, facecolor=GROUND)
        axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0, drawing.width)
        axes.set_ylim(drawing.height, 0)
        for order, shape in enumerate(drawing.shapes):
            _draw(axes, shape, order)
        written = io.BytesIO()
        canvas.savefig(written, format="png", metadata={"Software": None})
    return written.getvalue()


def _draw(axes: Axes, shape: Box | Line | Label | Area, order: int) -> None:
    if isinstance(shape, Line):
        axes.plot(
            [shape.x1, shape.x2],
            [shape.y1, shape.y2],
            color=SOFT,
            linewidth=shape.weight * POINTS,
            alpha=0.35,
            zorder=order,
        )
    elif isinstance(shape, Label):
        ink = GROUND if shape.kind == "inside" else SOFT if shape.kind == "quiet" else INK
        # Quiet text may lie over lines: a rim in the colour of the ground keeps it legible.
        rim = [withStroke(linewidth=4 * POINTS, foreground=GROUND)] if shape.kind == "quiet" else None
        axes.text(
            shape.x, shape.y, shape.text, color=ink, fontsize=shape.size * POINTS, ha=ALIGNED[shape.anchor],
            va="baseline", zorder=order, path_effects=rim,
        )  # fmt: skip
    else:
        boxes = shape.boxes if isinstance(shape, Area) else ((shape.x, shape.y, shape.width, shape.height),)
        edge = RULE if shape.kind in ("frame", "band", "nodes") else "none"
        for x, y, width, height in boxes:
            face = FILLS.get(shape.kind, PANEL)
            patch = Rectangle((x, y), width, height, facecolor=face, edgecolor=edge, linewidth=POINTS)
            axes.add_patch(patch).set_zorder(order)
