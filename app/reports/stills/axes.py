"""Axes of a figure in matplotlib: scales, ticks, titles, limits."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from app.reports.stills.traces import RULE, lines

SOFT = "#5b6472"
"""Ticks and titles of axes, on white."""

TICKS = 7
"""Ticks of an axis of numbers at most."""


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


def finish(axes: Axes, name: str, given: dict[str, Any], places: dict[Any, float]) -> None:
    """Set ticks, title and limits of one axis; places are where names stand."""
    scale = axes.xaxis if name == "x" else axes.yaxis
    limits = axes.set_xlim if name == "x" else axes.set_ylim
    logarithmic = given.get("type") == "log"
    if given.get("title", {}).get("text"):
        scale.set_label_text(lines(given["title"]["text"]), color=SOFT, fontsize=9)
    if given.get("tickmode") == "array" and given.get("tickvals") is not None:
        values = [places.get(value, value) for value in given["tickvals"]]
        texts = [lines(text) for text in given.get("ticktext") or values]
        scale.set_major_locator(FixedLocator(values))
        scale.set_minor_locator(NullLocator())
        scale.set_major_formatter(
            FuncFormatter(lambda _, place: texts[place] if place is not None and place < len(texts) else "")
        )
    elif places:
        names = [lines(text) for text in places]
        scale.set_major_locator(FixedLocator(list(places.values())))
        scale.set_major_formatter(FuncFormatter(lambda _, place: names[place] if place is not None else ""))
    else:
        scale.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if logarithmic else MaxNLocator(TICKS))
        scale.set_minor_locator(NullLocator())
        share = "%" in given.get("tickformat", "")
        suffix = given.get("ticksuffix", "")
        scale.set_major_formatter(FuncFormatter(lambda value, _: short(value, share) + suffix))
    if given.get("showgrid", not places):
        scale.grid(True, color=RULE, linewidth=0.6)
    scale.set_tick_params(
        color=RULE, labelcolor=SOFT, labelsize=8.5, length=0 if given.get("ticks") == "" else 3
    )
    if given.get("range"):
        low, high = given["range"]
        limits(*((10.0**low, 10.0**high) if logarithmic else (low, high)))
    elif given.get("autorange") == "reversed":
        scale.set_inverted(True)
    if given.get("rangemode") == "tozero" and not logarithmic:
        limits(0, None)


def short(value: float, share: bool = False) -> str:
    """Write the number of a tick.

    >>> short(0.05, share=True), short(1500.0), short(2.5e6), short(1e-4)
    ('5 %', '1.5k', '2.5M', '1e-04')
    """
    if share:
        return f"{100 * value:.6g} %"
    size = abs(value)
    if size and size < 1e-3:
        return f"{value:.0e}"
    for factor, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= factor:
            return f"{value / factor:.6g}{sign}"
    return f"{0.0 if math.isclose(value, 0.0, abs_tol=1e-12) else value:.6g}"
