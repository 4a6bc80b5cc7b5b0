"""Figures without a browser: the same data as a picture, for readers without scripts, slides and print.

Understands what our figures use of Plotly's language: lines, points and bars with their ranges, linear,
log and named axes, shapes, legends. Anything else is a mistake in the figure and raises.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from app.reports.figures.layout import Figure
from app.reports.stills.axes import SOFT, finish, prepare
from app.reports.stills.traces import INK, RULE, bars, listed, points, shape

Format = Literal["svg", "png"]

WIDTH, HEIGHT = 7.6, 3.9
"""Of a picture. [inch]"""
ROWS, ROW = 8, 0.34
"""Named rows that fit its height, and what each further one takes. [inch]"""
DOTS = 160
"""Of a picture in dots. [1/inch]"""
LEGEND_COLUMNS, LEGEND_LETTERS = 4, 76
"""Names of a legend in one row at most, and letters of it that fit the width."""

SETTINGS: dict[Any, Any] = {
    "font.family": ["Pretendard", "Noto Sans CJK SC", "DejaVu Sans"],
    "font.size": 9.5,
    "svg.hashsalt": "rackline",
    "axes.unicode_minus": False,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,
}

DRAWING = threading.Lock()
"""Matplotlib's settings are those of the process."""


@cache
def learn_fonts(files: tuple[str, ...]) -> None:
    """Tell matplotlib of font files, once."""
    for file in files:
        font_manager.fontManager.addfont(file)


def still(
    figure: Figure, form: Format, fonts: tuple[str, ...] = (), *, outlines: bool = True, title: str = ""
) -> bytes:
    """Return a figure as a picture; the same figure gives the same bytes."""
    learn_fonts(fonts)
    with DRAWING, matplotlib.rc_context({**SETTINGS, "svg.fonttype": "path" if outlines else "none"}):
        canvas = Canvas(figsize=(WIDTH, _height(figure)), dpi=DOTS, layout="constrained", facecolor="white")
        _draw(canvas.add_subplot(), figure)
        written = io.BytesIO()
        metadata = {"Date": None, "Title": title or None} if form == "svg" else {"Software": None}
        canvas.savefig(written, format=form, metadata=metadata)
    return written.getvalue()


DARK = {
    b"#ffffff": b"#12151b",
    b"white": b"#12151b",
    INK.encode(): b"#eceff4",
    SOFT.encode(): b"#a9b2c0",
    RULE.encode(): b"#3a4250",
}
"""Ink of a picture on white → the same on the ground of dark pages; colours of data stay."""


def darkened(picture: bytes) -> bytes:
    """Return an SVG of :func:`still` for readers of dark pages."""
    for light, dark in DARK.items():
        picture = picture.replace(b": " + light, b": " + dark)
    return picture


def _height(figure: Figure) -> float:
    rows = len(figure["layout"].get("yaxis", {}).get("ticktext") or ())
    return HEIGHT + max(rows - ROWS, 0) * ROW


def _draw(axes: Axes, figure: Figure) -> None:
    layout, data = figure["layout"], figure["data"]
    stands = {name: _places(data, layout, name) for name in ("x", "y")}
    prepare(axes, layout)
    ends: dict[Any, float] = {}
    for order, trace in enumerate(data):
        x = [stands["x"].get(value, value) for value in listed(trace.get("x"))]
        y = [stands["y"].get(value, value) for value in listed(trace.get("y"))]
        if trace["type"] == "bar":
            bars(axes, trace, x, y, ends if layout.get("barmode", "stack") in ("stack", "relative") else None)
        elif trace["type"] == "scatter":
            points(axes, trace, x, y, order)
        else:
            raise ValueError(f"a figure of the kind {trace['type']} is not drawn here")
    for one in layout.get("shapes", ()):
        shape(axes, one)
    for name in ("x", "y"):
        finish(axes, name, layout.get(f"{name}axis", {}), stands[name])
    if layout.get("showlegend"):
        handles, labels = axes.get_legend_handles_labels()
        if labels:
            axes.legend(
                handles,
                labels,
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=_columns(labels),
                frameon=False,
                fontsize=8.5,
                labelcolor=INK,
                borderaxespad=0.2,
            )


def _places(data: Sequence[dict[str, Any]], layout: dict[str, Any], name: str) -> dict[Any, float]:
    """Return where the names of an axis stand; empty for one of numbers."""
    found: dict[Any, float] = {}
    for trace in data:
        for value in listed(trace.get(name)):
            if isinstance(value, str):
                found.setdefault(value, float(len(found)))
    return found


def _columns(labels: Sequence[str]) -> int:
    """Return how many names of a legend stand side by side."""
    longest = max(len(label) for label in labels) + 4
    return max(min(len(labels), LEGEND_COLUMNS, LEGEND_LETTERS // longest), 1)
