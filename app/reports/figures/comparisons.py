"""Figures of several options side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from app.engine.units import HOUR
from app.reports.figures import palette
from app.reports.figures.layout import Figure, axis, figure, legend_above, names, plain, wrapped
from app.reports.wording import Voice
from app.reports.wording.scales import Scale, scale_of
from app.sizing.document import Comparison, ComparisonRow, Estimate, Quantity, Roofline

LOGARITHMIC_FROM = 40.0
"""Ratio of the slowest to the fastest option from which bars would hide the fast ones."""

MOST_STEPS = 6

ROOF_DECADES = 0.5
"""How far a roof is drawn beyond its outermost operators. [decades]"""


def hours_of(row: ComparisonRow) -> Quantity | None:
    """Return the time of a row in seconds, where there is one."""
    if row.hours is None:
        return None
    low = row.hours if row.low is None else row.low
    high = row.hours if row.high is None else row.high
    return Quantity(value=row.hours * HOUR, low=low * HOUR, high=high * HOUR, unit="s")


def time_scale(quantities: Sequence[Quantity | None]) -> Scale:
    """Return one unit for all: that of the shortest time."""
    known = [quantity.value for quantity in quantities if quantity is not None]
    return scale_of(min(known), "s") if known else Scale(HOUR, "h")


def time_to_train(comparison: Comparison, voice: Voice) -> Figure:
    """Return time to train by option, with ranges."""
    quantities = [hours_of(row) for row in comparison.rows]
    scale = time_scale(quantities)
    title = f"{voice.gettext('Time to train')} ({voice.gettext(scale.unit)})"
    return _bars(comparison, quantities, scale.size, title, voice)


def cost_to_train(comparison: Comparison, voice: Voice) -> Figure:
    """Return cost of the run by option, with ranges."""
    quantities = [row.run_cost for row in comparison.rows]
    title = f"{voice.gettext('Cost of the run')} ({comparison.currency})"
    drawn = _bars(comparison, quantities, 1.0, title, voice)
    highest = max((one.high for one in quantities if one is not None), default=0.0)
    if drawn["layout"]["xaxis"].get("type") != "log":
        ticks = round_steps(highest)
        written = [voice.tick(tick, comparison.currency) for tick in ticks]
        drawn["layout"]["xaxis"] |= {"tickmode": "array", "tickvals": ticks, "ticktext": written}
    return drawn


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


def _bars(
    comparison: Comparison, quantities: Sequence[Quantity | None], size: float, title: str, voice: Voice
) -> Figure:
    """Return one horizontal bar per option, coloured by who claims it; points where values span decades."""
    values = [one.value for one in quantities if one is not None]
    spread = bool(values) and min(values) > 0 and max(values) / min(values) > LOGARITHMIC_FROM
    kinds = [kind for kind in palette.KINDS if any(row.kind == kind for row in comparison.rows)]
    scale = time_scale(quantities)
    traces = []
    for kind in kinds:
        rows = enumerate(zip(comparison.rows, quantities, strict=True))
        shown = [(index, one) for index, (row, one) in rows if row.kind == kind and one is not None]
        colour, pattern = palette.KINDS[kind]
        trace: dict[str, Any] = {
            "name": voice.label(kind),
            "y": [index for index, _ in shown],
            "x": [one.value / size for _, one in shown],
            "error_x": whiskers([one for _, one in shown], size),
            "hovertext": [voice.quantity(one, scale if one.unit == "s" else None) for _, one in shown],
            "hoverinfo": "text",
        }
        if spread:
            trace |= {"type": "scatter", "mode": "markers", "marker": {"color": colour, "size": 12}}
        else:
            marker = {"color": colour, "pattern": palette.hatched(pattern)}
            trace |= {"type": "bar", "orientation": "h", "width": 0.56, "marker": marker}
        traces.append(trace)
    labels = [row.label for row in comparison.rows]
    return figure(
        traces,
        barmode="overlay",
        showlegend=len(kinds) > 1,
        legend=legend_above(),
        xaxis=axis(title, type="log") if spread else axis(title, rangemode="tozero"),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )


def whiskers(quantities: Sequence[Quantity], size: float) -> dict[str, Any]:
    """Return ranges as error bars; exact values have none."""
    ranged = [one.high > one.low for one in quantities]
    if not any(ranged):
        return {"visible": False}
    return {
        "type": "data",
        "symmetric": False,
        "array": [
            (one.high - one.value) / size if has else None
            for one, has in zip(quantities, ranged, strict=True)
        ],
        "arrayminus": [
            (one.value - one.low) / size if has else None for one, has in zip(quantities, ranged, strict=True)
        ],
        "thickness": 1.5,
        "width": 5,
    }


def breakdown(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return where the time of each estimate goes, as shares of its time to train."""
    fitting = [(label, one.breakdown) for label, one in estimates if one.breakdown]
    totals = [sum(part.seconds for part in parts) for _, parts in fitting]
    traces: list[dict[str, Any]] = []
    for name, (colour, pattern) in palette.PARTS.items():
        seconds = [sum(part.seconds for part in parts if part.part == name) for _, parts in fitting]
        if not any(seconds):
            continue
        shares = [100 * one / total for one, total in zip(seconds, totals, strict=True)]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": voice.label(name, "part"),
                "y": list(range(len(fitting))),
                "x": shares,
                "width": 0.56,
                "marker": {"color": colour, "pattern": palette.hatched(pattern)},
                "hovertext": [
                    f"{voice.label(name, 'part')}: "
                    f"{voice.value(one, 's', exact=False)}, {voice.share(share / 100)}"
                    for one, share in zip(seconds, shares, strict=True)
                ],
                "hoverinfo": "text",
            }
        )
    labels = [label for label, _ in fitting]
    return figure(
        traces,
        barmode="stack",
        showlegend=True,
        legend=legend_above() | {"traceorder": "normal"},
        xaxis=axis(f"{voice.gettext('Share of the time to train')} (%)", range=[0, 100]),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )


def roofline(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return operators under the roof of their chip: attained FLOP/s over FLOP per byte, both logarithmic."""
    traces: list[dict[str, Any]] = []
    named: set[str] = set()
    for index, (label, estimate) in enumerate(estimates):
        points = [point for point in estimate.roofline if point.intensity > 0 and point.attained > 0]
        if not points or estimate.roof is None:
            continue
        colour = palette.SERIES[index % len(palette.SERIES)]
        roof = estimate.roof
        ridge = roof.peak / roof.bandwidth
        left = min([ridge, *(point.intensity for point in points)]) / 10**ROOF_DECADES
        right = max([ridge, *(point.intensity for point in points)]) * 10**ROOF_DECADES
        longest = max(point.seconds for point in points) or 1.0
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": plain(label),
                "legendgroup": str(index),
                "x": [left, ridge, right],
                "y": [left * roof.bandwidth / 1e12, roof.peak / 1e12, roof.peak / 1e12],
                "line": {"color": colour, "width": 2},
                "hoverinfo": "skip",
            }
        )
        traces.append(_ridge(ridge, roof, index, voice.number(ridge) not in named, voice))
        named.add(voice.number(ridge))
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain(label),
                "legendgroup": str(index),
                "showlegend": False,
                "x": [point.intensity for point in points],
                "y": [point.attained / 1e12 for point in points],
                "marker": {
                    "color": colour,
                    "opacity": 0.85,
                    "symbol": [palette.BOUNDS[point.bound] for point in points],
                    # Area, not diameter, follows the time an operator takes.
                    "size": [7 + 15 * (point.seconds / longest) ** 0.5 for point in points],
                },
                "hovertext": [
                    f"{wrapped(point.operator)}<br>{voice.value(point.attained, 'FLOP/s', exact=False)}"
                    f"<br>{voice.label(point.bound, 'bound')}"
                    for point in points
                ],
                "hoverinfo": "text",
            }
        )
    return figure(
        traces,
        showlegend=len(estimates) > 1,
        legend=legend_above(),
        xaxis=axis(f"{voice.gettext('Arithmetic intensity')} (FLOP/B)", type="log", dtick=1),
        yaxis=axis(f"{voice.gettext('Attained per device')} (TFLOP/s)", type="log", dtick=1),
    )


def _ridge(ridge: float, roof: Roofline, index: int, first: bool, voice: Voice) -> dict[str, Any]:
    """Return where the slope meets the peak; its intensity is written beside it once."""
    colour = palette.SERIES[index % len(palette.SERIES)]
    name = voice.gettext("ridge")
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "showlegend": False,
        "legendgroup": str(index),
        "x": [ridge],
        "y": [roof.peak / 1e12],
        "marker": {"color": colour, "symbol": "diamond", "size": 8},
        "text": [f"{name} {voice.number(ridge)}" if first else ""],
        "textposition": "top left",
        "cliponaxis": False,
        "hovertext": [
            f"{name}: {voice.number(ridge)} FLOP/B<br>{voice.value(roof.peak, 'FLOP/s', exact=False)}"
            f"<br>{voice.value(roof.bandwidth, 'B/s', exact=False)}"
        ],
        "hoverinfo": "text",
    }


MOST_OF_CAPACITY = 250.0
"""Where bars of memory leave the figure: what is far too large would squeeze all others. [%]"""


def memory(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return the memory of the fullest device of each option over what it may fill, by part.

    Devices differ by two orders of magnitude in memory, so that shares of the capacity are drawn.
    """
    known = [(label, one.memory) for label, one in estimates if one.memory is not None]
    parts = dict.fromkeys([*palette.MEMORY, *(part.part for _, one in known for part in one.parts)])
    traces: list[dict[str, Any]] = []
    for name in parts:
        colour, pattern = palette.MEMORY.get(name, (palette.SILVER, ""))
        size = [sum(part.value for part in one.parts if part.part == name) for _, one in known]
        if not any(size):
            continue
        label = voice.label(name, "memory")
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "y": list(range(len(known))),
                "x": [100 * one / whole.capacity.value for one, (_, whole) in zip(size, known, strict=True)],
                "width": 0.56,
                "marker": {"color": colour, "pattern": palette.hatched(pattern)},
                "hovertext": [f"{label}: {voice.value(one, 'B', exact=False)}" for one in size],
                "hoverinfo": "text",
            }
        )
    labels = [label for label, _ in known]
    fullest = max((100 * one.per_device.value / one.capacity.value for _, one in known), default=100.0)
    return figure(
        traces,
        barmode="stack",
        showlegend=True,
        legend=legend_above() | {"traceorder": "normal"},
        shapes=[
            {
                "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": 100, "x1": 100,
                "line": {"color": palette.VERMILION, "width": 2, "dash": "dash"},
            }
        ],
        xaxis=axis(
            f"{voice.gettext('Share of the capacity of a device')} (%)",
            range=[0, min(max(fullest, 100.0) * 1.05, MOST_OF_CAPACITY)],
        ),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )  # fmt: skip
