"""The charts of a proposal: options with their ranges, where time and money go, what the time hangs on."""

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

from app.estimating.documents import Estimate
from app.estimating.schema import Quantity
from app.features.comparisons.charts import hours_of
from app.features.comparisons.model import Comparison, ComparisonRow
from app.features.proposals.model import Term
from app.platform.charts import figures
from app.platform.charts.figures import LOGARITHMIC_FROM, round_steps, time_scale
from app.platform.fonts import FAMILIES, font_files, printable
from app.platform.wording.voice import MISSING, Voice

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


ROW, HEAD = 0.4, 0.6
"""Height of a bar's row and of what stands around them. [inch]"""

LEGEND_ROW = 0.2

MOST_INPUTS = 8

BESIDE: Any = {"textcoords": "offset points", "va": "center"}
"""Text beside a point."""

HATCHES = {"": None, "/": "////"}

COST_LINES = (
    *(figures.BLUE, figures.SKY, figures.GREEN, figures.ORANGE, figures.VERMILION, figures.PURPLE),
    *(figures.GREY, figures.SILVER),
)


def height(rows: int, entries: int = 0) -> float:
    """Return the height of a chart of so many rows, with a legend of so many entries. [inch]"""
    return HEAD + ROW * rows + LEGEND_ROW * -(-entries // LEGEND_COLUMNS)


def time(comparison: Comparison, voice: Voice) -> str:
    """Return time to train by option, with ranges, as SVG."""
    quantities = [hours_of(row) for row in comparison.rows]
    scale = time_scale(quantities)
    title = f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})"

    def written(one: Quantity) -> str:
        return voice.central(one, scale)

    return bars(comparison, quantities, scale.size, title, written, voice)


def cost(comparison: Comparison, voice: Voice) -> str:
    """Return cost of the run by option, with ranges, as SVG."""
    quantities = [row.run_cost for row in comparison.rows]
    title = f"{voice.gettext('Cost per run')} ({comparison.currency})"
    return bars(comparison, quantities, 1.0, title, voice.central, voice)


def bars(
    comparison: Comparison,
    quantities: Sequence[Quantity | None],
    size: float,
    title: str,
    written: Callable[[Quantity], str],
    voice: Voice,
) -> str:
    """Return a bar per option with its range; points on a logarithmic axis where values span decades."""
    values = [one.value for one in quantities if one is not None]
    spread = bool(values) and min(values) > 0 and max(values) / min(values) > LOGARITHMIC_FROM
    kinds = [kind for kind in figures.KINDS if any(row.kind == kind for row in comparison.rows)]
    highest = max((one.high / size for one in quantities if one is not None), default=1.0)

    def paint(axes: Axes) -> None:
        for place, (row, one) in enumerate(zip(comparison.rows, quantities, strict=True)):
            if one is None:
                left = min(values) if spread else 0.0
                axes.annotate(printable(absent(row, voice)), (left / size, place), xytext=(5, 0), **BESIDE)
                continue
            colour, pattern = figures.KINDS[row.kind]
            value = one.value / size
            if spread:
                axes.plot([value], [place], "o", color=colour, markersize=6)
            else:
                axes.barh(
                    place, value, 0.56, color=colour, hatch=HATCHES[pattern], edgecolor="white", linewidth=0
                )
            if one.high > one.low:
                axes.errorbar(
                    value,
                    place,
                    xerr=[[value - one.low / size], [one.high / size - value]],
                    color=INK,
                    linewidth=0.9,
                    capsize=2.5,
                )
            axes.annotate(
                printable(written(one)),
                (one.high / size, place),
                xytext=(5, 0),
                **BESIDE,
            )
        name_rows(axes, [row.label for row in comparison.rows])
        axes.set_xlabel(printable(title))
        axes.grid(axis="x")
        if spread:
            axes.set_xscale("log")
            axes.margins(x=0.18)
        else:
            ticks = round_steps(highest)
            axes.set_xticks(ticks, [tick_text(tick, comparison.currency, size, voice) for tick in ticks])
            axes.set_xlim(0, highest * 1.18 or 1.0)

    named = [(voice.label(kind), *figures.KINDS[kind]) for kind in kinds] if len(kinds) > 1 else []
    return drawn(height(len(comparison.rows), len(named)), paint, entries(named))


def absent(row: ComparisonRow, voice: Voice) -> str:
    """Return why a row has no bar."""
    return voice.gettext("does not fit") if row.hours is None else MISSING


def tick_text(tick: float, currency: str, size: float, voice: Voice) -> str:
    """Return a round value on an axis: money where the axis is not divided into units of time."""
    return voice.tick(tick, currency) if size == 1.0 else voice.number(tick)


def name_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Name the rows, the first on top."""
    axes.set_yticks(range(len(labels)), [short(printable(label)) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)


def entries(found: Sequence[tuple[str, str, str]]) -> list[Entry]:
    """Return the entries of a legend: name, colour and pattern."""
    return [(printable(name), colour, HATCHES[pattern]) for name, colour, pattern in found]


def stacked(
    labels: Sequence[str],
    parts: Sequence[tuple[str, str, str, Sequence[float]]],
    paint_axis: Callable[[Axes, float], None],
) -> str:
    """Return a stacked bar per row."""
    longest = max((sum(values[row] for *_, values in parts) for row in range(len(labels))), default=1.0)

    def paint(axes: Axes) -> None:
        starts = [0.0] * len(labels)
        for _, colour, pattern, values in parts:
            axes.barh(
                range(len(labels)),
                values,
                0.56,
                left=starts,
                color=colour,
                hatch=HATCHES[pattern],
                edgecolor="white",
                linewidth=0.5,
            )
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        name_rows(axes, labels)
        axes.grid(axis="x")
        paint_axis(axes, longest)

    named = [(name, colour, pattern) for name, colour, pattern, _ in parts]
    return drawn(height(len(labels), len(named)), paint, entries(named))


def breakdown(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> str:
    """Return where the time of each estimate goes, as shares of its time to train, as SVG."""
    found = [(label, one.breakdown) for label, one in estimates if one.breakdown]
    totals = [sum(part.seconds for part in parts) or 1.0 for _, parts in found]
    parts = []
    for name, (colour, pattern) in figures.PARTS.items():
        values = [
            100.0 * sum(part.seconds for part in held if part.part == name) / total
            for (_, held), total in zip(found, totals, strict=True)
        ]
        if any(values):
            parts.append((voice.label(name, "part"), colour, pattern, values))

    def axis(axes: Axes, longest: float) -> None:
        axes.set_xlim(0, 100)
        axes.set_xlabel(printable(f"{voice.gettext('Share of training time')} (%)"))

    return stacked([label for label, _ in found], parts, axis)


def term(found: Term, currency: str, voice: Voice) -> str:
    """Return what each option costs over the term, part by part, as SVG."""
    names = list(dict.fromkeys(line.item for one in found.asked for line in one.lines if line.amount))
    parts = [
        (
            voice.label(name, "cost"),
            COST_LINES[index % len(COST_LINES)],
            "/" if index >= len(COST_LINES) else "",
            [sum(line.amount for line in one.lines if line.item == name) for one in found.asked],
        )
        for index, name in enumerate(names)
    ]

    def axis(axes: Axes, longest: float) -> None:
        ticks = round_steps(longest)
        axes.set_xticks(ticks, [voice.tick(tick, currency) for tick in ticks])
        axes.set_xlim(0, longest * 1.05 or 1.0)
        axes.set_xlabel(printable(f"{voice.gettext('Cost over the term')} ({currency})"))

    return stacked([one.label for one in found.asked], parts, axis)


def sensitivity(estimate: Estimate, voice: Voice) -> str:
    """Return what each input alone does to the time to train, the strongest first, as SVG.

    Ends are those of the time: which end of an input shortens it differs from input to input.
    """
    ranked = sorted(estimate.sensitivity, key=lambda one: -abs(one.high - one.low))
    shown = ranked[:MOST_INPUTS]
    centre = estimate.time_to_train
    assert centre is not None, "sensitivities are those of a time"
    scale = time_scale([centre])

    def paint(axes: Axes) -> None:
        middle = centre.value / scale.size
        for place, one in enumerate(shown):
            ends = (one.low / scale.size, one.high / scale.size)
            axes.barh(place, ends[0] - middle, 0.5, left=middle, color=figures.BLUE)
            axes.barh(
                place,
                ends[1] - middle,
                0.5,
                left=middle,
                color=figures.ORANGE,
                hatch=HATCHES["/"],
                edgecolor="white",
                linewidth=0,
            )
        axes.axvline(middle, color=SOFT, linewidth=0.9)
        name_rows(axes, [voice.label(one.input) for one in shown])
        axes.grid(axis="x")
        axes.set_xlabel(printable(f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})"))

    named = [
        (voice.gettext("less time"), figures.BLUE, ""),
        (voice.gettext("more time"), figures.ORANGE, "/"),
    ]
    return drawn(height(len(shown), 2), paint, entries(named))
