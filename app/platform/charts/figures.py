"""Figures: pure functions from a document to a Plotly figure without colours of ink."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.engine.units import HOUR
from app.estimating.documents import Memory, MemoryPart, Part
from app.estimating.schema import Quantity
from app.platform.wording.scales import Scale, scale_of

BLUE, SKY, GREEN = "#0072b2", "#56b4e9", "#009e73"

ORANGE, VERMILION, PURPLE = "#e69f00", "#d55e00", "#cc79a7"

GREY, SILVER = "#7b828c", "#aab1bb"

SERIES = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GREY, SILVER)

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")

PARTS = {
    "gemm": (BLUE, ""),
    "attention": (SKY, ""),
    "memory_bound": (GREEN, ""),
    "tensor_comm": (VERMILION, ""),
    "pipeline_bubble": (SILVER, ""),
    "pipeline_comm": (ORANGE, ""),
    "data_comm": (ORANGE, "/"),
    "exchange": (PURPLE, ""),
    "sync": (PURPLE, "/"),
    "optimizer": (GREEN, "/"),
    "input": (SKY, "/"),
    "fixed": (GREY, ""),
    "checkpoint": (GREY, "/"),
    "failures": (VERMILION, "/"),
    "evaluation": (SILVER, "/"),
}
"""Part of the time to train → colour and pattern, in the order they are stacked."""

MEMORY = {
    "weights": (BLUE, ""),
    "gradients": (SKY, ""),
    "optimizer": (GREEN, ""),
    "activations": (ORANGE, ""),
    "buffers": (PURPLE, ""),
    "exchange": (PURPLE, "/"),
    "framework": (GREY, ""),
    "code": (GREY, "/"),
}
"""Part of the memory of a device → colour and pattern, in the order they are stacked."""

KINDS = {
    "measured": (GREEN, ""),
    "published": (SKY, ""),
    "modelled": (BLUE, ""),
    "vendor": (ORANGE, "/"),
    "linear": (SILVER, "/"),
}
"""Kind of claim → colour and pattern; hatched is what nobody has measured on this machine."""


def thin(colour: str, opacity: float) -> str:
    """Return a colour that lets others through, for bands of ranges.

    >>> thin("#0072b2", 0.15)
    'rgba(0,114,178,0.15)'
    """
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def hatched(shape: str) -> dict[str, object]:
    """Return a pattern drawn in white over the colour of a bar; no pattern where the shape is empty."""
    return {
        "shape": shape,
        "fillmode": "overlay",
        "fgcolor": "rgba(255,255,255,0.75)",
        "solidity": 0.3,
        "size": 7,
    }


BOUNDS = {"compute": "circle", "memory": "square", "exchange": "diamond", "latency": "x"}
"""What limits an operator → symbol."""

Figure = dict[str, Any]
"""A Plotly figure as JSON: ``data`` and ``layout``."""

FONT = "Rackline Sans, Pretendard Variable, Pretendard, system-ui, sans-serif"

LABEL_WIDTH = 24


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """Return a figure on a transparent ground, without a title: the page gives it a caption."""
    base: dict[str, Any] = {
        "font": {"family": FONT, "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 40},
        "dragmode": False,
        "hoverlabel": {"font": {"family": FONT}},
        "showlegend": False,
    }
    return {"data": data, "layout": base | layout}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis that makes room for its labels."""
    base: dict[str, Any] = {"automargin": True, "zeroline": False, "fixedrange": True, "ticks": "outside"}
    if title:
        base["title"] = {"text": title, "standoff": 10}
    return base | more


def names(labels: Sequence[str]) -> dict[str, Any]:
    """Return the axis of named rows, first on top, long names over several lines."""
    return axis(
        type="category",
        autorange="reversed",
        ticks="",
        tickmode="array",
        tickvals=list(range(len(labels))),
        ticktext=[wrapped(label) for label in labels],
    )


def rows(labels: Sequence[str]) -> dict[str, Any]:
    """Return the axis of named rows with room for as many, also where some have nothing to draw."""
    return names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False}


def plain(label: str) -> str:
    """Return a label without what Plotly would read as markup."""
    return label.replace("<", "‹").replace(">", "›").replace("&", "+")


def wrapped(label: str) -> str:
    """Break a long label over several lines."""
    return "<br>".join(textwrap.wrap(plain(label), LABEL_WIDTH)) or "–"


def legend_above() -> dict[str, Any]:
    """Return a legend in rows above the plot, where it never covers data."""
    return {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}}


Trace = dict[str, Any]
"""A trace of a figure as JSON."""


def _trace(kind: Literal["Bar", "Scatter"], **properties: Any) -> Trace:
    """Return a trace that Plotly has checked: a property it does not know raises."""
    # Plotly takes a third of a second to load its rules: the first figure waits for it, not the start.
    from plotly import graph_objects

    trace: Trace = getattr(graph_objects, kind)(**properties).to_plotly_json()
    return trace


def bar(
    name: str, x: Sequence[float], y: Sequence[int], style: tuple[str, str], hover: Sequence[str], **more: Any
) -> Trace:
    """Return bars that lie in rows; a style is a colour and a pattern."""
    colour, pattern = style
    usual = {
        "orientation": "h",
        "width": 0.56,
        "marker": {"color": colour, "pattern": hatched(pattern)},
        "hovertext": list(hover),
        "hoverinfo": "text",
    }
    return _trace("Bar", name=name, x=list(x), y=list(y), **usual | more)


def line(x: Sequence[float], y: Sequence[float], ink: dict[str, Any], **more: Any) -> Trace:
    """Return a line; ``ink`` is its colour, width and dash."""
    usual = {"mode": "lines", "line": {"width": 2} | ink, "hoverinfo": "skip"}
    return _trace("Scatter", x=list(x), y=list(y), **usual | more)


def points(
    x: Sequence[float | None],
    y: Sequence[float],
    marker: dict[str, Any],
    hover: Sequence[str],
    **more: Any,
) -> Trace:
    usual = {"mode": "markers", "marker": marker, "hovertext": list(hover), "hoverinfo": "text"}
    return _trace("Scatter", x=list(x), y=list(y), **usual | more)


def upright(at: float, width: float) -> dict[str, Any]:
    """Return a dashed line across all rows, at a limit."""
    ink = {"color": VERMILION, "width": width, "dash": "dash"}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": ink}


def lying(traces: list[Trace], labels: Sequence[str], title: dict[str, Any], **layout: Any) -> Figure:
    """Return bars in named rows that are drawn over each other, under a legend."""
    usual = {"barmode": "overlay", "showlegend": True, "legend": legend_above()}
    return figure(traces, **usual | layout, xaxis=title, yaxis=rows(labels))


def stacked(traces: list[Trace], labels: Sequence[str], title: dict[str, Any], **layout: Any) -> Figure:
    """Return bars in named rows, the parts of each end to end."""
    legend = legend_above() | {"traceorder": "normal"}
    return lying(traces, labels, title, barmode="stack", legend=legend, **layout)


def tornado(
    middle: float,
    size: float,
    sides: Sequence[tuple[str, Sequence[float], Sequence[str]]],
    labels: Sequence[str],
    title: str,
    *,
    hoverinfo: str = "text",
    **layout: Any,
) -> Figure:
    """Return bars from the middle to the ends of each input; one unit of them is ``size``.

    A side is what it is called, its ends, and their texts.
    """
    styles, places = ((BLUE, ""), (ORANGE, "/")), range(len(labels))
    more = {"base": middle / size, "width": 0.6, "hoverinfo": hoverinfo}
    traces = [
        bar(name, [(end - middle) / size for end in ends], places, style, texts, **more)
        for style, (name, ends, texts) in zip(styles, sides, strict=True)
    ]
    return lying(traces, labels, axis(title), **layout)


WIDTH = 100.0

NARROWEST = 0.15
"""Segments below this share of the width are not drawn; the table beside the bar has them. [%]"""


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a bar."""

    part: str
    start: float
    width: float
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class RangeBar:
    """A bar with its range as a whisker."""

    width: float
    low: float
    high: float
    ranged: bool


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """Memory in use against the line of the capacity."""

    segments: list[Segment]
    capacity: float
    over: bool


def share_bar(parts: Iterable[Part]) -> list[Segment]:
    """Return the time to train as one bar of its parts, which fill it."""
    known = [part for part in parts if part.seconds > 0]
    total = sum(part.seconds for part in known)
    return _stack(((part.part, part.seconds) for part in known), total, total)


def memory_bar(memory: Memory) -> MemoryBar:
    """Return the memory of the fullest device; the bar's end is the larger of use and capacity."""
    total = sum(part.value for part in memory.parts)
    full = max(total, memory.capacity.value)
    parts: list[MemoryPart] = [part for part in memory.parts if part.value > 0]
    segments = _stack(((part.part, part.value) for part in parts), full, total)
    usable = (memory.usable or memory.capacity).value
    return MemoryBar(segments, WIDTH * usable / full, total > usable)


def range_bars(quantities: Sequence[Quantity | None]) -> list[RangeBar | None]:
    """Return bars on one common scale, from zero to the highest end of any range."""
    full = max((quantity.high for quantity in quantities if quantity is not None), default=0.0)
    if full <= 0:
        return [None] * len(quantities)
    return [None if quantity is None else _range_bar(quantity, WIDTH / full) for quantity in quantities]


def _range_bar(quantity: Quantity, size: float) -> RangeBar:
    """Return one bar; ``size`` is the width of one unit."""
    ranged = quantity.low != quantity.high
    return RangeBar(quantity.value * size, quantity.low * size, quantity.high * size, ranged)


def _stack(parts: Iterable[tuple[str, float]], full: float, total: float) -> list[Segment]:
    """Lay parts end to end on a bar that is ``full`` wide; shares are of ``total``."""
    segments: list[Segment] = []
    start = 0.0
    for part, value in parts:
        width = WIDTH * value / full
        if width >= NARROWEST:
            segments.append(Segment(part, start, width, value, value / total))
        start += width
    return segments


LOGARITHMIC_FROM = 40.0
"""Ratio of the slowest to the fastest option from which bars would hide the fast ones."""

MOST_STEPS = 6


def time_scale(quantities: Sequence[Quantity | None]) -> Scale:
    """Return one unit for all: that of the shortest time."""
    known = [quantity.value for quantity in quantities if quantity is not None]
    return scale_of(min(known), "s") if known else Scale(HOUR, "h")


def round_steps(highest: float) -> list[float]:
    """Return from zero upwards the round values that divide an axis into three to six.

    >>> round_steps(4_700_000.0)
    [0.0, 1000000.0, 2000000.0, 3000000.0, 4000000.0]
    """
    if highest <= 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(highest))
    step = next(step for step in (power / 5, power / 2, power, 2 * power) if highest / step < MOST_STEPS)
    return [step * index for index in range(math.floor(highest / step) + 1)]


def error_bars(
    quantities: Sequence[Quantity | None],
    size: float,
    *,
    thickness: float = 1.5,
    width: int = 5,
    none: float | None = 0.0,
) -> dict[str, Any]:
    """Return ranges as error bars; one unit of the quantities is ``size``."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [none if one is None else (one.high - one.value) / size for one in quantities],
        "arrayminus": [none if one is None else (one.value - one.low) / size for one in quantities],
        "thickness": thickness,
        "width": width,
    }


def whiskers(quantities: Sequence[Quantity], size: float) -> dict[str, Any]:
    """Return ranges as error bars; exact values have none."""
    ranged = [one if one.high > one.low else None for one in quantities]
    return error_bars(ranged, size, none=None) if any(ranged) else {"visible": False}
