"""A sheet to draw on, and its SVG."""

from __future__ import annotations

import functools
import io
import textwrap
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from app.reports.fonts import FAMILIES, font_files

WIDTH = 6.7
"""Width of a chart: that of the text on an A4 page. [inch]"""

INK, SOFT, RULE = "#14181f", "#4f5865", "#dfe3e8"
LABEL_WIDTH = 30
LABEL_LINES = 2

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rackline",
    "font.family": list(FAMILIES),
    "font.size": 8.5,
    "text.parse_math": False,
    "text.color": INK,
    "axes.unicode_minus": False,
    "axes.edgecolor": RULE,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.0,
    "ytick.major.size": 0.0,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.handlelength": 1.1,
    "legend.handleheight": 0.9,
    "legend.columnspacing": 1.3,
}

DRAWING = threading.Lock()
"""Matplotlib keeps its settings for the whole process; one chart is drawn at a time."""


@functools.cache
def ready() -> None:
    """Make the fonts known, once."""
    for path in font_files():
        font_manager.fontManager.addfont(path)


@contextmanager
def style() -> Iterator[None]:
    """Draw in our style while nobody else draws."""
    with DRAWING:
        ready()
        with matplotlib.rc_context(STYLE):
            yield


Entry = tuple[str, str, str | None]
"""Name, colour and hatching of an entry of a legend."""

LEGEND_COLUMNS = 3


def drawn(height: float, paint: Callable[[Axes], None], legend: Sequence[Entry] = ()) -> str:
    """Return the SVG of what is painted on one pair of axes."""
    with style():
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        paint(axes)
        if legend:
            handles = [
                Patch(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=name)
                for name, colour, hatch in legend
            ]
            columns = min(LEGEND_COLUMNS, len(handles))
            figure.legend(handles=handles, loc="outside upper left", ncols=columns)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return buffer.getvalue()


def wide(character: str) -> bool:
    """Tell whether a character takes two columns, as Hangul and Hanja do."""
    return unicodedata.east_asian_width(character) in {"W", "F"}


def short(label: str) -> str:
    """Return a label in at most two lines; the table beside the chart has it in full.

    >>> short("a" * 100) == "a" * 30 + chr(10) + "a" * 29 + "…"
    True
    """
    width = LABEL_WIDTH * 2 // 3 if any(wide(character) for character in label) else LABEL_WIDTH
    lines = textwrap.wrap(label, width) or ["–"]
    if len(lines) > LABEL_LINES:
        lines = [*lines[: LABEL_LINES - 1], f"{lines[LABEL_LINES - 1][: width - 1]}…"]
    return "\n".join(lines)
