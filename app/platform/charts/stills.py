"""Figures without a browser: the same data as a picture, for readers without scripts, slides and print.

Understands what our figures use of Plotly's language: lines, points and bars with their ranges, linear,
log and named axes, shapes, legends. Anything else is a mistake in the figure and raises.
"""

from __future__ import annotations

import io
import math
import re
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

from app.platform.charts import figures, svg
from app.platform.charts.figures import Figure
from app.platform.fonts import FAMILIES, font_files

INK, RULE = "#1f2430", "#d9dde3"
"""Ranges and lines without a colour of their own, on white."""

DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}

MARKERS = {
    "circle": "o",
    "circle-open": "o",
    "diamond-open": "D",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
    "line-ns": "|",
}

COLOUR = re.compile(r"rgba\((\d+), ?(\d+), ?(\d+), ?([\d.]+)\)")


def colour(value: str) -> Any:
    """Return a colour of a figure as matplotlib takes it.

    >>> colour("rgba(128,136,148,0.5)")[3], colour("#102030")
    (0.5, '#102030')
    """
    match = COLOUR.fullmatch(value)
    if match is None:
        return value
    red, green, blue = (int(part) / 255 for part in match.groups()[:3])
    return red, green, blue, float(match[4])


def listed(values: Any) -> list[Any]:
    """Return the values of a trace; none where it has none."""
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str) else []


def lines(text: object) -> str:
    return str(text).replace("<br>", "\n")


def _name(trace: dict[str, Any]) -> str | None:
    return trace.get("name") if trace.get("showlegend", True) and trace.get("name") else None


def bars(
    axes: Axes,
    trace: dict[str, Any],
    lengths: list[float],
    places: list[float],
    ends: dict[Any, float] | None,
) -> None:
    """Draw bars that lie; those of a stack begin where the last one ends, which ``ends`` keeps."""
    marker, base = trace["marker"], trace.get("base", 0.0)
    fill, pattern = marker["color"], marker.get("pattern", {}).get("shape", "")
    starts = [base if ends is None else ends.get(position, 0.0) for position in places]
    tips = [start + length for start, length in zip(starts, lengths, strict=True)]
    if ends is not None:
        ends |= dict(zip(places, tips, strict=True))
    drawn = axes.barh(
        places,
        lengths,
        trace["width"],
        starts,
        color=[colour(value) for value in fill] if isinstance(fill, list) else colour(fill),
        edgecolor="white",
        linewidth=0.4,
        label=_name(trace),
    )
    patterns = pattern if isinstance(pattern, list) else [pattern] * len(places)
    for bar, shape in zip(drawn, patterns, strict=True):
        if shape:
            bar.set_hatch("////")
    _ranges(axes, trace, tips, places)


BESIDE: dict[str, dict[str, Any]] = {
    f"{up} {aside}": {"xytext": (shift * 5, rise * 5), "va": upright, "ha": across}
    for up, rise, upright in (("top", 1, "bottom"), ("middle", 0, "center"), ("bottom", -1, "top"))
    for aside, shift, across in (("left", -1, "right"), ("center", 0, "center"), ("right", 1, "left"))
}
"""Place of a text → where it stands beside its point. [pt]"""


def points(axes: Axes, trace: dict[str, Any], x: list[Any], y: list[Any], order: int) -> None:
    """Draw a line, its points, what it encloses and the texts at its points."""
    mode, line, marker = trace.get("mode", "lines"), trace.get("line", {}), trace.get("marker", {})
    usual = figures.SERIES[order % len(figures.SERIES)]
    ink, label = line.get("color") or marker.get("color") or usual, _name(trace)
    opacity = trace.get("opacity")
    if trace.get("fill") == "toself":
        axes.fill(x, y, color=colour(trace["fillcolor"]), linewidth=0, label=label)
        label = None
    if "lines" in mode:
        style: dict[str, Any] = {"drawstyle": "steps-post"} if line.get("shape") == "hv" else {}
        axes.plot(
            x,
            y,
            color=colour(ink if isinstance(ink, str) else usual),
            linewidth=0.8 * line.get("width", 2),
            linestyle=DASHES.get(line.get("dash", "solid"), "--"),
            alpha=opacity,
            label=None if "markers" in mode else label,
            **style,
        )
    if "markers" in mode:
        _markers(axes, marker, x, y, usual if "lines" not in mode else ink, label)
    if "text" in mode:
        place = trace.get("textposition", "middle right")
        places = place if isinstance(place, list) else [place] * len(x)
        for spot, height, text, place in zip(x, y, listed(trace.get("text")), places, strict=False):
            axes.annotate(lines(text), (spot, height), textcoords="offset points", **BESIDE[place])
    _ranges(axes, trace, x, y)


def _markers(
    axes: Axes, marker: dict[str, Any], x: list[Any], y: list[Any], usual: Any, label: str | None
) -> None:
    def each(name: str, otherwise: Any) -> list[Any]:
        value = marker.get(name, otherwise)
        return list(value) if isinstance(value, list) else [value] * len(x)

    colours, symbols, sizes = each("color", usual), each("symbol", "circle"), each("size", 7)
    for symbol in dict.fromkeys(symbols):
        indices = [index for index, other in enumerate(symbols) if other == symbol]
        inks = [colour(colours[index]) for index in indices]
        hollow, stroke = symbol.endswith("-open"), symbol.startswith("line-")
        axes.scatter(
            [x[index] for index in indices],
            [y[index] for index in indices],
            s=[(0.72 * sizes[index]) ** 2 for index in indices],
            marker=MARKERS[symbol],
            facecolors="none" if hollow else inks,
            edgecolors=None if stroke else inks if hollow else "white",
            linewidths=0.72 * marker.get("line", {}).get("width", 1) if stroke else 0.8 if hollow else 0.4,
            alpha=marker.get("opacity"),
            label=label,
            zorder=3,
        )
        label = None


def _ranges(axes: Axes, trace: dict[str, Any], x: list[Any], y: list[Any]) -> None:
    error_bars = {name: trace.get(f"error_{name}") for name in ("x", "y")}
    visible: dict[str, Any] = {
        name: bars for name, bars in error_bars.items() if bars and bars.get("visible", True)
    }
    if not visible:
        return

    def ends(bars: dict[str, Any] | None) -> list[list[float]] | None:
        if not bars or not bars.get("array"):
            return None
        above = [end or 0.0 for end in bars["array"]]
        below = [end or 0.0 for end in bars.get("arrayminus") or above]
        return [below, above]

    axes.errorbar(
        x,
        y,
        xerr=ends(visible.get("x")),
        yerr=ends(visible.get("y")),
        fmt="none",
        ecolor=colour(next(iter(visible.values())).get("color", INK)),
        elinewidth=0.9,
        capsize=1.5,
        zorder=4,
    )


def shape(axes: Axes, shape: dict[str, Any]) -> None:
    """Draw a line or a band across the whole plot."""
    line = shape["line"]
    if shape["type"] == "rect":
        axes.axhspan(shape["y0"], shape["y1"], color=colour(shape["fillcolor"]), linewidth=0, zorder=0)
        return
    ink = {"color": colour(line["color"]), "linewidth": 0.8 * line["width"]}
    dash = DASHES[line.get("dash", "solid")]
    if shape.get("xref") == "paper":
        axes.axhline(shape["y0"], linestyle=dash, zorder=1, **ink)
    else:
        axes.axvline(shape["x0"], linestyle=dash, zorder=1, **ink)


SOFT = "#5b6472"
"""Ticks and titles of axes, on white."""


def prepare(axes: Axes, layout: dict[str, Any]) -> None:
    """Set what has to stand before anything is drawn: scales and the frame."""
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(RULE)
    for name in ("x", "y"):
        if layout.get(f"{name}axis", {}).get("type") == "log":
            (axes.set_xscale if name == "x" else axes.set_yscale)("log")


def finish(axes: Axes, name: str, settings: dict[str, Any]) -> None:
    """Set ticks, title and limits of one axis."""
    scale = axes.xaxis if name == "x" else axes.yaxis
    limits = axes.set_xlim if name == "x" else axes.set_ylim
    logarithmic = settings.get("type") == "log"
    if settings.get("title"):
        scale.set_label_text(lines(settings["title"]["text"]))
    scale.set_major_locator(FixedLocator(settings["tickvals"]))
    scale.set_major_formatter(FixedFormatter([lines(text) for text in settings["ticktext"]]))
    between = settings.get("minor", {}).get("tickvals")
    scale.set_minor_locator(FixedLocator(between) if between else NullLocator())
    scale.set_minor_formatter(NullFormatter())
    if settings.get("showgrid", True):
        scale.grid(True, color=RULE, linewidth=0.6)
    scale.set_tick_params(length=0 if settings.get("ticks") == "" else 3)
    low, high = settings["range"]
    limits(*((10.0**low, 10.0**high) if logarithmic else (low, high)))
    if settings.get("zeroline"):
        (axes.axvline if name == "x" else axes.axhline)(0.0, color=SOFT, linewidth=0.9, zorder=1)


Format = Literal["svg", "png"]

WIDTH, PIXELS, LEGEND_LINE = 7.6, 85.0, 0.22
"""Of a picture; pixels of a chart to an inch of it; a line of its legend. [inch]"""

DOTS = 160
"""Of a picture in dots. [1/inch]"""

LEGEND_COLUMNS, LEGEND_LETTERS = 4, 76
"""Names of a legend in one row at most, and letters of it that fit the width."""

SETTINGS: dict[Any, Any] = {
    "font.family": ["Pretendard", "Noto Sans CJK SC", "DejaVu Sans"],
    "font.size": 9.5,
    "svg.hashsalt": "rackline",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 9,
    **{f"{axis}tick.color": RULE for axis in "xy"},
    **{f"{axis}tick.labelcolor": SOFT for axis in "xy"},
    **{f"{axis}tick.labelsize": 8.5 for axis in "xy"},
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.labelcolor": INK,
}

PRINTED = SETTINGS | {
    "font.family": list(FAMILIES),
    "font.size": 8.5,
    "svg.fonttype": "none",
    "text.color": svg.INK,
    "axes.labelcolor": svg.SOFT,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.left": False,
    "xtick.labelcolor": svg.SOFT,
    "xtick.major.width": 0.6,
    "ytick.labelcolor": svg.INK,
    "hatch.linewidth": 0.7,
    "legend.fontsize": 8.0,
    "legend.labelcolor": svg.INK,
    "legend.handlelength": 1.1,
    "legend.handleheight": 0.9,
    "legend.columnspacing": 1.3,
}
"""Of a figure on a printed page, whose type is smaller."""

PRINT_WIDTH, PRINT_HEAD, PRINT_ROW, PRINT_LEGEND = 6.7, 0.6, 0.36, 0.2
"""Text of an A4 page; what stands around the rows, one row, and one line of the legend. [inch]"""

PRINT_ROWS = 6
"""Height of a figure without named rows, in rows."""

PRINT_COLUMNS = 3
"""Names of a printed legend in one row at most."""

DRAWING = threading.Lock()
"""Matplotlib's settings are those of the process."""


@cache
def learn_fonts() -> None:
    """Tell matplotlib of the fonts that pictures are written with, once."""
    for file in font_files():
        font_manager.fontManager.addfont(str(file))


def still(figure: Figure, form: Format, *, title: str = "") -> bytes:
    """Return a figure as a picture; the same figure gives the same bytes."""
    learn_fonts()
    names = list(figures.legend(figure["data"])) if figure["layout"]["showlegend"] else []
    lines_of_legend = math.ceil(len(names) / _columns(names)) if names else 0
    size = (WIDTH, figure["layout"]["height"] / PIXELS + LEGEND_LINE * lines_of_legend)
    with DRAWING, matplotlib.rc_context({**SETTINGS, "svg.fonttype": "path"}):
        canvas = Canvas(figsize=size, dpi=DOTS, layout="constrained", facecolor="white")
        axes = canvas.add_subplot()
        handles, labels = _draw(axes, figure)
        if labels:
            axes.legend(
                handles,
                labels,
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=_columns(labels),
                borderaxespad=0.2,
            )
        metadata = {"Date": None, "Title": title or None} if form == "svg" else {"Software": None}
        return _saved(canvas, format=form, metadata=metadata)


def printed(figure: Figure) -> str:
    """Return a figure as SVG for a printed page: text stays text, the paper is the ground."""
    learn_fonts()
    rows = len(figure["layout"]["meta"].get("rows") or ()) or PRINT_ROWS
    names = figures.legend(figure["data"]) if figure["layout"]["showlegend"] else ()
    height = PRINT_HEAD + PRINT_ROW * rows + PRINT_LEGEND * math.ceil(len(names) / PRINT_COLUMNS)
    with DRAWING, matplotlib.rc_context(PRINTED):
        canvas = Canvas(figsize=(PRINT_WIDTH, height), layout="constrained")
        handles, labels = _draw(canvas.add_subplot(), figure)
        if labels:
            columns = min(PRINT_COLUMNS, len(labels))
            canvas.legend(handles, labels, loc="outside upper left", ncols=columns)
        metadata = {"Date": None, "Creator": None}
        return _saved(canvas, format="svg", metadata=metadata, transparent=True).decode()


def _saved(canvas: Canvas, **how: Any) -> bytes:
    written = io.BytesIO()
    canvas.savefig(written, **how)
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


def _draw(axes: Axes, figure: Figure) -> tuple[list[Any], list[str]]:
    """Draw a figure on axes and return what its legend names; nothing where it has none."""
    layout, data = figure["layout"], figure["data"]
    prepare(axes, layout)
    ends: dict[Any, float] = {}
    for order, trace in enumerate(data):
        x, y = listed(trace.get("x")), listed(trace.get("y"))
        if trace["type"] == "bar":
            bars(axes, trace, x, y, ends if layout["barmode"] == "stack" else None)
        elif trace["type"] == "scatter":
            points(axes, trace, x, y, order)
        else:
            raise ValueError(f"a figure of the kind {trace['type']} is not drawn here")
    for mark in layout.get("shapes", ()):
        shape(axes, mark)
    for name in ("x", "y"):
        finish(axes, name, layout[f"{name}axis"])
    handles, labels = axes.get_legend_handles_labels()
    handle_of = dict(zip(labels, handles, strict=True))
    return (list(handle_of.values()), list(handle_of)) if layout["showlegend"] else ([], [])


def _columns(labels: Sequence[str]) -> int:
    """Return how many names of a legend stand side by side."""
    longest = max(len(label) for label in labels) + 4
    return max(min(len(labels), LEGEND_COLUMNS, LEGEND_LETTERS // longest), 1)
