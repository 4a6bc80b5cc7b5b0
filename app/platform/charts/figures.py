"""Figures: pure functions from a document to a Plotly figure without colours of ink."""

from __future__ import annotations

import json
import math
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.engine.units import HOUR
from app.estimating.documents import Memory, MemoryPart, Part
from app.estimating.schema import Quantity
from app.platform.wording.scales import Scale, scale_of

BLUE, SKY, GREEN = "#0072b2", "#56b4e9", "#009e73"

ORANGE, VERMILION, PURPLE = "#e69f00", "#d55e00", "#cc79a7"

GREY, SLATE, SILVER = "#7b828c", "#6b727c", "#aab1bb"

SAND = "#f5cf7a"

GUIDE, SHADE = "rgba(128,136,148,0.9)", "rgba(128,136,148,0.16)"
"""Lines and areas to read others against, on light and dark ground."""

LIMIT, GOOD = VERMILION, GREEN
"""What must not be passed, and the best point of a curve."""

OWNED, RENTED = BLUE, ORANGE

LOWER, HIGHER = (BLUE, ""), (ORANGE, "/")
"""Colour and pattern of both sides of an input."""

BEFORE, AFTER = (SILVER, "/"), (BLUE, "")
"""Colour and pattern of what is compared with, and of what counts."""

SERIES = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GREY, SILVER)

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")

PARTS = {
    "gemm": (BLUE, ""),
    "attention": (SKY, ""),
    "memory_bound": (GREEN, ""),
    "tensor_comm": (VERMILION, ""),
    "expert_comm": (BLUE, "/"),
    "pipeline_bubble": (SILVER, ""),
    "pipeline_comm": (ORANGE, ""),
    "data_comm": (ORANGE, "/"),
    "host_comm": (SAND, ""),
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


def thin(colour: str, opacity: float = 0.16) -> str:
    """Return a colour that lets others through, for bands of ranges.

    >>> thin("#0072b2")
    'rgba(0,114,178,0.16)'
    """
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
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
"""A Plotly figure as JSON: ``data`` and ``layout``.

``layout.meta`` holds the whole labels of its rows, or what the values said at a point are called; the
``meta`` of a trace is the option it belongs to where that is not its name.
"""

Trace = dict[str, Any]
"""A trace of a figure as JSON."""

Axis = dict[str, Any]

FONT = "Rackline Sans, Pretendard Variable, Pretendard, system-ui, sans-serif"

LABEL_WIDTH, LABEL_LINES = 24, 2

HEIGHT, ROW, AROUND_ROWS = 330, 40, 56
"""Of a chart, of one of its named rows, and of the axis below them. [px]"""

MOST_STEPS = 6

LETTERS = 44
"""Letters that fit side by side under the narrowest chart."""

APART = 1.5
"""Least space between two labels of an axis. [letters]"""

ROOM = 0.04
"""Space between the outermost values and the ends of an axis, as a share of it."""

FIGURES_KEPT = 256
"""Of about 10 kB each."""

ALONE = 0.15
"""Half of a logarithmic axis with one value. [decades]"""


def figure(
    data: list[Trace],
    across: Axis,
    up: Axis,
    columns: Sequence[str] = (),
    *,
    height: int = HEIGHT,
    **layout: Any,
) -> Figure:
    """Return a figure on a transparent ground, without a title: the page gives it a caption.

    ``columns`` name what is said at each point.
    """
    base: dict[str, Any] = {
        "font": {"family": FONT, "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 10, "b": 40},
        "height": height,
        "dragmode": False,
        "hovermode": "closest",
        "showlegend": len(legend(data)) > 1,
        "meta": {"columns": list(columns)},
        "xaxis": across,
        "yaxis": up,
    }
    checked: Figure = json.loads(_checked(json.dumps({"data": data, "layout": base | layout}, default=float)))
    return checked


@lru_cache(maxsize=FIGURES_KEPT)
def _checked(drawn: str) -> str:
    """Return a figure as Plotly completes it, both as JSON text: the next reader of a page asks the same."""
    # Loading Plotly takes a moment; only what draws waits for it.
    from plotly import graph_objects

    return json.dumps(graph_objects.Figure(json.loads(drawn)).to_plotly_json())


def legend(data: Iterable[Trace]) -> dict[str, Trace]:
    """Return the traces that a legend names, each name once."""
    traces: dict[str, Trace] = {}
    for trace in data:
        if trace.get("name") and trace.get("showlegend", True):
            traces.setdefault(trace["name"], trace)
    return traces


def axis(
    title: str,
    values: Iterable[float],
    write: Callable[[float], str],
    *,
    unit: str = "",
    log: bool = False,
    zero: bool = False,
    at: Sequence[float] = (),
    ends: tuple[float, float] | None = None,
) -> Axis:
    """Return an axis of numbers with few, round ticks; its unit stands in its title, once.

    Parameters
    ----------
    values
        Everything that is drawn along it, with the ends of ranges.
    write
        How its numbers are written.
    zero
        Whether it begins at zero.
    at
        Values that ticks may stand at, instead of round ones.
    ends
        Where it ends; from its values unless given.
    """
    known = [value for value in values if not log or value > 0]
    low, high = ends or (min(known, default=1.0), max(known, default=1.0))
    low = 0.0 if zero and low > 0 else low
    position = math.log10 if log else float
    least, most = position(low), position(high)
    room = ROOM * (most - least) or (ALONE if log else abs(high) or 1.0)
    if ends is None:
        least, most = least if zero and low == 0 else least - room, most + room
    first, last = (10.0**least, 10.0**most) if log else (least, most)
    ticks = sorted(at) or (log_steps(first, last) if log else round_steps(last, first))
    texts = [(tick, write(tick)) for tick in ticks if first <= tick <= last]
    kept = legible(texts, position, most - least)
    # Round ticks stay evenly apart.
    while not at and len(kept) < len(texts):
        texts = texts[::2]
        kept = legible(texts, position, most - least)
    result = base_axis(
        f"{title} ({unit})" if unit else title,
        type="log" if log else "linear",
        range=[least, most],
        tickvals=[tick for tick, _ in kept],
        ticktext=[text for _, text in kept],
        zeroline=not log and first < 0 < last,
    )
    if log and not at:
        powers = range(math.floor(least), math.ceil(most) + 1)
        between = [digit * 10.0**power for power in powers for digit in range(1, 10)]
        between = [value for value in between if first <= value <= last]
        result["minor"] = {"tickmode": "array", "tickvals": between, "ticks": "outside", "ticklen": 3}
    return result


def base_axis(title: str = "", **more: Any) -> Axis:
    """Return an axis that makes room for its labels and keeps to the ticks it is given."""
    base: Axis = {
        "automargin": True,
        "zeroline": False,
        "fixedrange": True,
        "tickmode": "array",
        "tickangle": 0,
    }
    if title:
        base["title"] = {"text": plain(title), "standoff": 10}
    return base | {"ticks": "outside"} | more


def legible(
    ticks: Sequence[tuple[float, str]], position: Callable[[float], float], length: float
) -> list[tuple[float, str]]:
    """Return ticks without those whose labels would run into the one before."""
    kept: list[tuple[float, str]] = []
    for tick, text in ticks:
        if kept:
            before, label = kept[-1]
            distance = LETTERS * (position(tick) - position(before)) / length
            if distance < (letters(text) + letters(label)) / 2 + APART:
                continue
        kept.append((tick, text))
    return kept


def letters(text: str) -> int:
    """Return how wide a text is; East Asian letters count twice."""
    return sum(2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1 for letter in text)


def round_steps(highest: float, lowest: float = 0.0) -> list[float]:
    """Return the round values that divide an axis into three to six.

    >>> round_steps(4_700_000.0)
    [0.0, 1000000.0, 2000000.0, 3000000.0, 4000000.0]
    >>> round_steps(17.0, -24.0)
    [-20.0, -10.0, 0.0, 10.0]
    """
    span = highest - lowest
    if span <= 0:
        return [lowest]
    power = 10.0 ** math.floor(math.log10(span))
    step = next(step for step in (power / 5, power / 2, power, 2 * power) if span / step < MOST_STEPS)
    first, last = math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9)
    return [float(f"{step * index:.12g}") for index in range(first, last + 1)]


def log_steps(lowest: float, highest: float) -> list[float]:
    """Return powers of ten; 1, 2 and 5 times them where an axis has fewer than two of them.

    >>> log_steps(3.0, 2000.0), log_steps(3.0, 45.0), log_steps(6.0, 9.0)
    ([10.0, 100.0, 1000.0], [5.0, 10.0, 20.0], [6.0, 7.0, 8.0, 9.0])
    """
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    steps = [digit * 10.0**power for power in range(first, last + 1) for digit in (1.0, 2.0, 5.0)]
    inside = [step for step in steps if lowest <= step <= highest]
    powers = [step for step in inside if math.log10(step).is_integer()]
    if len(powers) > 1:
        return powers[:: math.ceil(len(powers) / MOST_STEPS)]
    # Two labels do not show how an axis runs.
    return inside if len(inside) > 2 else round_steps(highest, lowest)


def plain(label: str) -> str:
    """Return a label without what Plotly would read as markup."""
    return label.replace("<", "‹").replace(">", "›").replace("&", "+")


def shortened(label: str) -> str:
    """Return a label in at most two lines; where it is pointed at and in its table it stands in full.

    >>> shortened("a" * 60) == "a" * 24 + "<br>" + "a" * 23 + "…"
    True
    """
    width = LABEL_WIDTH if letters(label) == len(label) else LABEL_WIDTH * 2 // 3
    lines = textwrap.wrap(plain(label), width) or ["–"]
    if len(lines) > LABEL_LINES:
        lines = [*lines[: LABEL_LINES - 1], f"{lines[LABEL_LINES - 1][: width - 1]}…"]
    return "<br>".join(lines)


def bar(
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    style: tuple[str, str],
    texts: Sequence[str],
    **more: Any,
) -> Trace:
    """Return bars that lie in rows; a style is a colour and a pattern."""
    colour, pattern = style
    usual = {"orientation": "h", "width": 0.56, "marker": {"color": colour, "pattern": hatched(pattern)}}
    return {"type": "bar", "name": name, "x": list(x), "y": list(y)} | usual | _said(texts) | more


def line(x: Sequence[float], y: Sequence[float], ink: dict[str, Any], **more: Any) -> Trace:
    """Return a line that says nothing itself; ``ink`` is its colour, width and dash."""
    usual = {"type": "scatter", "mode": "lines", "line": {"width": 2} | ink, "hoverinfo": "skip"}
    return usual | {"x": list(x), "y": list(y)} | more


def points(
    x: Sequence[float | None],
    y: Sequence[float],
    marker: dict[str, Any],
    texts: Sequence[str] | Sequence[Sequence[str]],
    **more: Any,
) -> Trace:
    """Return points; each says one value, or one for each column of the figure."""
    usual = {"type": "scatter", "mode": "markers", "marker": {"size": 8} | marker}
    return usual | {"x": list(x), "y": list(y)} | _said(texts) | more


def _said(texts: Sequence[str] | Sequence[Sequence[str]]) -> Trace:
    """Return what a pointer finds. Plotly's own label would cover the plot, so the page writes it beside."""
    cells = [[text] if isinstance(text, str) else list(text) for text in texts]
    return {"customdata": cells, "hoverinfo": "none"}


def curve(
    name: str,
    x: Sequence[float],
    quantities: Sequence[Quantity],
    size: float,
    colour: str,
    texts: Sequence[Sequence[str]],
    symbol: str = "",
    **more: Any,
) -> list[Trace]:
    """Return a line with its range as a band behind it; one unit of the quantities is ``size``."""
    drawn = points(
        x,
        [quantity.value / size for quantity in quantities],
        {"color": colour, "symbol": symbol or "circle"},
        texts,
        name=plain(name),
        mode="lines+markers" if symbol else "lines",
        line={"color": colour, "width": 2},
        # The band shows the range; files have it from here.
        error_y=whiskers(quantities, size) | {"visible": False},
    )
    if all(quantity.low == quantity.high for quantity in quantities):
        return [drawn | more]
    ends = [*(quantity.high for quantity in quantities), *(quantity.low for quantity in reversed(quantities))]
    band = line(
        [*x, *reversed(x)],
        [end / size for end in ends],
        {"color": colour, "width": 0},
        fill="toself",
        fillcolor=thin(colour),
        showlegend=False,
        meta=plain(name),
    )
    return [band, drawn | more]


def limit(name: str, x: Sequence[float], y: Sequence[float], colour: str = LIMIT) -> Trace:
    """Return a dashed line at what must not be passed."""
    return line(x, y, {"color": colour, "dash": "dash"}, name=name)


def upright(at: float, colour: str = LIMIT) -> dict[str, Any]:
    """Return a line across all rows: dashed at a limit, thin at what rows are read against."""
    ink = (
        {"color": colour, "width": 2, "dash": "dash"} if colour == LIMIT else {"color": colour, "width": 1.2}
    )
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": ink}


def lying(traces: list[Trace], labels: Sequence[str], across: Axis, **layout: Any) -> Figure:
    """Return bars and points in named rows, the first on top, drawn over each other."""
    rows = base_axis(
        range=[len(labels) - 0.5, -0.5],
        ticks="",
        showgrid=False,
        tickvals=list(range(len(labels))),
        ticktext=[shortened(label) for label in labels],
    )
    usual: dict[str, Any] = {
        "barmode": "overlay",
        "meta": {"rows": list(labels)},
        "height": ROW * len(labels) + AROUND_ROWS,
    }
    return figure(traces, across, rows, **usual | layout)


def stacked(traces: list[Trace], labels: Sequence[str], across: Axis, **layout: Any) -> Figure:
    """Return bars in named rows, the parts of each end to end."""
    return lying(traces, labels, across, **{"barmode": "stack"} | layout)


def tornado(
    middle: float,
    size: float,
    sides: Sequence[tuple[str, Sequence[float], Sequence[str]]],
    labels: Sequence[str],
    across: Callable[[Sequence[float]], Axis],
    **layout: Any,
) -> Figure:
    """Return bars from the middle to the ends of each input; one unit of them is ``size``.

    A side is what it is called, its ends, and their texts.
    """
    traces = [
        bar(
            name,
            [(end - middle) / size for end in ends],
            range(len(labels)),
            style,
            texts,
            base=middle / size,
        )
        for style, (name, ends, texts) in zip((LOWER, HIGHER), sides, strict=True)
    ]
    reached = [end / size for _, ends, _ in sides for end in (middle, *ends)]
    shapes = [upright(middle / size, GUIDE), *layout.pop("shapes", ())]
    return lying(traces, labels, across(reached), shapes=shapes, **layout)


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


def time_scale(quantities: Sequence[Quantity | None]) -> Scale:
    """Return one unit for all: that of the shortest time."""
    known = [quantity.value for quantity in quantities if quantity is not None]
    return scale_of(min(known), "s") if known else Scale(HOUR, "h")


def whiskers(quantities: Sequence[Quantity | None], size: float) -> dict[str, Any]:
    """Return ranges as error bars; one unit of the quantities is ``size``, and exact values have none."""
    ranged = [
        quantity if quantity is not None and quantity.high > quantity.low else None for quantity in quantities
    ]
    if not any(ranged):
        return {"visible": False}
    return {
        "type": "data",
        "symmetric": False,
        "array": [
            None if quantity is None else (quantity.high - quantity.value) / size for quantity in ranged
        ],
        "arrayminus": [
            None if quantity is None else (quantity.value - quantity.low) / size for quantity in ranged
        ],
        "thickness": 1.5,
        "width": 4,
    }


def reach(quantities: Iterable[Quantity | None], size: float = 1.0) -> list[float]:
    """Return everything that quantities and their ranges take up on an axis."""
    return [
        end / size
        for quantity in quantities
        if quantity is not None
        for end in (quantity.low, quantity.value, quantity.high)
    ]
