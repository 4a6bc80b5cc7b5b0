"""Figures of several options side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.reports.figures import palette
from app.reports.figures.layout import Figure, axis, figure, legend_above, names, plain, wrapped
from app.reports.wording import Voice
from app.reports.wording.scales import HOUR, Scale, scale_of
from app.sizing.document import Comparison, ComparisonRow, Estimate, Quantity

LOGARITHMIC_FROM = 40.0
"""Ratio of the slowest to the fastest option from which bars would hide the fast ones. [-]"""

MOST_STEPS = 6

ROOF_DECADES = 0.5
"""How far a roof is drawn beyond its outermost operators. [decades]"""


@dataclass(frozen=True, slots=True)
class Series:
    """One option over sizes: devices and what they give."""

    label: str
    devices: Sequence[float]
    values: Sequence[Quantity]


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
    quantities = [
        row.estimate.cost.run if row.estimate and row.estimate.cost else None for row in comparison.rows
    ]
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
            "error_x": _whiskers([one for _, one in shown], size),
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


def _whiskers(quantities: Sequence[Quantity], size: float) -> dict[str, Any]:
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


def scaling(series: Sequence[Series], voice: Voice) -> Figure:
    """Return time to train over the number of devices, with ranges and the line of perfect scaling."""
    scale = time_scale([value for one in series for value in one.values])
    traces: list[dict[str, Any]] = []
    for index, one in enumerate(series):
        if not one.values:
            continue
        colour = palette.SERIES[index % len(palette.SERIES)]
        symbol = palette.SYMBOLS[index % len(palette.SYMBOLS)]
        first = one.values[0].value / scale.size
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "showlegend": False,
                "x": list(one.devices),
                "y": [first * one.devices[0] / devices for devices in one.devices],
                "line": {"color": colour, "width": 1, "dash": "dot"},
                "hoverinfo": "skip",
            }
        )
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": plain(one.label),
                "x": list(one.devices),
                "y": [value.value / scale.size for value in one.values],
                "error_y": _whiskers(one.values, scale.size),
                "line": {"color": colour, "width": 2},
                "marker": {"color": colour, "size": 8, "symbol": symbol},
                "hovertext": [voice.quantity(value, scale) for value in one.values],
                "hoverinfo": "text+name",
            }
        )
    sizes = sorted({devices for one in series for devices in one.devices})
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(
            voice.gettext("Devices"),
            type="log",
            tickmode="array",
            tickvals=sizes,
            ticktext=[voice.number(size) for size in sizes],
        ),
        yaxis=axis(f"{voice.gettext('Time to train')} ({voice.gettext(scale.unit)})", type="log"),
    )
