"""Traces of a figure in matplotlib: bars, lines and points with their ranges, and shapes behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from app.reports.figures import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, RULE = "#1f2430", "#d9dde3"
"""Ranges and lines without a colour of their own, on white."""

DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
MARKERS = {
    "circle": "o",
    "circle-open": "o",
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

    >>> colour("rgba(128,136,148,0.5)")[3], colour("#0072b2")
    (0.5, '#0072b2')
    """
    found = COLOUR.fullmatch(value)
    if found is None:
        return value
    red, green, blue = (int(part) / 255 for part in found.groups()[:3])
    return red, green, blue, float(found[4])


def listed(values: Any) -> list[Any]:
    """Return the values of a trace; none where it has none."""
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str) else []


def lines(text: object) -> str:
    """Return text of a figure, its breaks as lines of their own."""
    return str(text).replace("<br>", "\n")


def _name(trace: dict[str, Any]) -> str | None:
    return trace.get("name") if trace.get("showlegend", True) and trace.get("name") else None


def bars(
    axes: Axes, trace: dict[str, Any], x: list[Any], y: list[Any], ends: dict[Any, float] | None
) -> None:
    """Draw bars; those of a stack begin where the last of the same sign ends, which ``ends`` keeps."""
    lying = trace.get("orientation") == "h"
    place, length = (y, x) if lying else (x, y)
    marker = trace.get("marker", {})
    fill, pattern = marker.get("color", palette.BLUE), marker.get("pattern", {}).get("shape", "")
    fills = [colour(one) for one in fill] if isinstance(fill, list) else [colour(fill)] * len(place)
    patterns = pattern if isinstance(pattern, list) else [pattern] * len(place)
    base = trace.get("base")
    starts = list(base) if isinstance(base, list) else [base or 0.0] * len(place)
    if ends is not None and base is None:
        starts = [ends.get((spot, (size or 0) < 0), 0.0) for spot, size in zip(place, length, strict=True)]
        for spot, size, start in zip(place, length, starts, strict=True):
            ends[spot, (size or 0) < 0] = start + (size or 0.0)
    width = trace.get("width", 0.7)
    widths = width if isinstance(width, list) else [width] * len(place)
    draw = axes.barh if lying else axes.bar
    drawn = draw(
        place,
        [size or 0.0 for size in length],
        widths,
        starts,
        color=fills,
        edgecolor="white",
        linewidth=0.4,
        alpha=marker.get("opacity", trace.get("opacity")),
        label=_name(trace),
    )
    for bar, shape in zip(drawn, patterns, strict=True):
        if shape:
            bar.set_hatch({"/": "////", "\\": "\\\\\\\\", "x": "xxx", ".": "..."}.get(shape, shape))
    tips = [start + (size or 0.0) for start, size in zip(starts, length, strict=True)]
    _ranges(axes, trace, *((tips, place) if lying else (place, tips)))


def points(axes: Axes, trace: dict[str, Any], x: list[Any], y: list[Any], order: int) -> None:
    """Draw a line, its points, what it encloses and the texts at its points."""
    mode, line, marker = trace.get("mode", "lines"), trace.get("line", {}), trace.get("marker", {})
    usual = palette.SERIES[order % len(palette.SERIES)]
    ink, label = line.get("color") or marker.get("color") or usual, _name(trace)
    opacity = trace.get("opacity")
    if trace.get("fill") in ("toself", "tozeroy", "tonexty"):
        if trace["fill"] == "tozeroy":
            axes.fill_between(x, y, color=colour(trace.get("fillcolor", ink)), linewidth=0, label=label)
        elif trace["fill"] == "toself":
            axes.fill(x, y, color=colour(trace.get("fillcolor", ink)), linewidth=0, label=label)
        elif axes.lines:
            below = axes.lines[-1]
            axes.fill_between(
                x,
                y,
                list(np.asarray(below.get_ydata(), dtype=float)),
                color=colour(trace.get("fillcolor", ink)),
                linewidth=0,
                label=label,
            )
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
        for spot, height, text in zip(x, y, listed(trace.get("text")), strict=False):
            axes.annotate(
                lines(text), (spot, height), (0, 5), textcoords="offset points", ha="center", fontsize=8
            )
    _ranges(axes, trace, x, y)


def _markers(
    axes: Axes, marker: dict[str, Any], x: list[Any], y: list[Any], usual: Any, label: str | None
) -> None:
    def each(name: str, otherwise: Any) -> list[Any]:
        value = marker.get(name, otherwise)
        return list(value) if isinstance(value, list) else [value] * len(x)

    colours, symbols, sizes = each("color", usual), each("symbol", "circle"), each("size", 7)
    for symbol in dict.fromkeys(symbols):
        chosen = [place for place, one in enumerate(symbols) if one == symbol]
        inks = [colour(colours[place]) for place in chosen]
        hollow, stroke = symbol.endswith("-open"), symbol.startswith("line-")
        axes.scatter(
            [x[place] for place in chosen],
            [y[place] for place in chosen],
            s=[(0.72 * sizes[place]) ** 2 for place in chosen],
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
    given = {name: trace.get(f"error_{name}") for name in ("x", "y")}
    given = {name: bars for name, bars in given.items() if bars and bars.get("visible", True)}
    if not given:
        return

    def ends(bars: dict[str, Any] | None) -> list[list[float]] | None:
        if not bars or not bars.get("array"):
            return None
        above = [one or 0.0 for one in bars["array"]]
        below = [one or 0.0 for one in bars.get("arrayminus") or above]
        return [below, above]

    axes.errorbar(
        x,
        y,
        xerr=ends(given.get("x")),
        yerr=ends(given.get("y")),
        fmt="none",
        ecolor=INK,
        elinewidth=0.9,
        capsize=1.5,
        zorder=4,
    )


def shape(axes: Axes, shape: dict[str, Any]) -> None:
    """Draw a line or a box across the whole plot or between two values."""
    line = shape.get("line", {})
    ink, width = colour(line.get("color", RULE)), 0.8 * line.get("width", 1)
    dash = DASHES.get(line.get("dash", "solid"), "--")
    across, up = shape.get("xref") == "paper", shape.get("yref") == "paper"
    if shape["type"] == "line" and across:
        axes.axhline(shape["y0"], color=ink, linewidth=width, linestyle=dash, zorder=1)
    elif shape["type"] == "line" and up:
        axes.axvline(shape["x0"], color=ink, linewidth=width, linestyle=dash, zorder=1)
    elif shape["type"] == "line":
        axes.plot(
            [shape["x0"], shape["x1"]], [shape["y0"], shape["y1"]], color=ink, linewidth=width, linestyle=dash
        )
    elif across:
        axes.axhspan(shape["y0"], shape["y1"], color=colour(shape["fillcolor"]), linewidth=0, zorder=0)
    elif up:
        axes.axvspan(shape["x0"], shape["x1"], color=colour(shape["fillcolor"]), linewidth=0, zorder=0)
    else:
        corners = (
            [shape[name] for name in ("x0", "x1", "x1", "x0")],
            [shape[name] for name in ("y0", "y0", "y1", "y1")],
        )
        axes.fill(*corners, facecolor=colour(shape.get("fillcolor", "none")), edgecolor=ink, linewidth=width)
