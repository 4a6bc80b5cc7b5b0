"""Options over the number of devices: time, efficiency and cost, each with its range as a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.estimating.documents import Estimate, Roofline
from app.estimating.schema import Quantity
from app.platform.charts import figures
from app.platform.charts.figures import (
    Figure,
    axis,
    figure,
    legend_above,
    names,
    plain,
    round_steps,
    time_scale,
    whiskers,
    wrapped,
)
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice

INPUTS_SHOWN = 10


def sensitivity(estimate: Estimate, voice: Voice) -> Figure:
    """Return what each input alone does to the time to train, the strongest on top.

    Ends are those of the time: which end of an input shortens it differs from input to input.
    """
    central = estimate.time_to_train.value if estimate.time_to_train else 0.0
    scale = scale_of(central, "s")
    ranked = sorted(estimate.sensitivity, key=lambda one: -abs(one.high - one.low))[:INPUTS_SHOWN]
    rows = list(range(len(ranked)))

    def side(name: str, colour: str, pattern: str, ends: list[float]) -> dict[str, object]:
        return {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "base": central / scale.size,
            "y": rows,
            "x": [(end - central) / scale.size for end in ends],
            "width": 0.6,
            "marker": {"color": colour, "pattern": figures.hatched(pattern)},
            "hovertext": [voice.value(end, "s", scale, exact=False) for end in ends],
            "hoverinfo": "text+name",
        }

    data = [
        side(voice.gettext("less time"), figures.BLUE, "", [one.low for one in ranked]),
        side(voice.gettext("more time"), figures.ORANGE, "/", [one.high for one in ranked]),
    ]
    labels = [voice.label(one.input) for one in ranked]
    return figure(
        data,
        barmode="overlay",
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})"),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )


ROOF_DECADES = 0.5
"""How far a roof is drawn beyond its outermost operators. [decades]"""


def breakdown(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return where the time of each estimate goes, as shares of its time to train."""
    fitting = [(label, one.breakdown) for label, one in estimates if one.breakdown]
    totals = [sum(part.seconds for part in parts) for _, parts in fitting]
    traces: list[dict[str, Any]] = []
    for name, (colour, pattern) in figures.PARTS.items():
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
                "marker": {"color": colour, "pattern": figures.hatched(pattern)},
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
        xaxis=axis(f"{voice.gettext('Share of training time')} (%)", range=[0, 100]),
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
        colour = figures.SERIES[index % len(figures.SERIES)]
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
                    "symbol": [figures.BOUNDS[point.bound] for point in points],
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
        yaxis=axis(f"{voice.gettext('Achieved per device')} (TFLOP/s)", type="log", dtick=1),
    )


def _ridge(ridge: float, roof: Roofline, index: int, first: bool, voice: Voice) -> dict[str, Any]:
    """Return where the slope meets the peak; its intensity is written beside it once."""
    colour = figures.SERIES[index % len(figures.SERIES)]
    name = voice.gettext("ridge point")
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
    parts = dict.fromkeys([*figures.MEMORY, *(part.part for _, one in known for part in one.parts)])
    traces: list[dict[str, Any]] = []
    for name in parts:
        colour, pattern = figures.MEMORY.get(name, (figures.SILVER, ""))
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
                "marker": {"color": colour, "pattern": figures.hatched(pattern)},
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
                "line": {"color": figures.VERMILION, "width": 2, "dash": "dash"},
            }
        ],
        xaxis=axis(
            f"{voice.gettext('Share of device memory')} (%)",
            range=[0, min(max(fullest, 100.0) * 1.05, MOST_OF_CAPACITY)],
        ),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )  # fmt: skip


BAND = 0.16
"""How much of what lies below a band it hides."""

LOW, HIGH = 10.0, 90.0
"""Ends of a range. [%]"""


@dataclass(frozen=True, slots=True)
class Series:
    """One option over sizes: devices and what they give."""

    label: str
    devices: Sequence[float]
    values: Sequence[Quantity]


def efficiency(first: Estimate, one: Estimate) -> Quantity | None:
    """Return the speed of one size over that of the smallest, times the growth in devices.

    Its range comes from the samples both share, one by one: what slows both says nothing of their ratio.
    """
    if first.time_to_train is None or one.time_to_train is None:
        return None
    growth = first.system.devices / one.system.devices
    value = first.time_to_train.value / one.time_to_train.value * growth
    low = high = value
    if first.time_samples and one.time_samples:
        ratios = np.asarray(first.time_samples) / np.asarray(one.time_samples) * growth
        low, high = (float(end) for end in np.percentile(ratios, (LOW, HIGH)))
    return Quantity(value=value, low=min(low, value), high=max(high, value), unit="1")


def scaling(series: Sequence[Series], voice: Voice) -> Figure:
    """Return time to train over the number of devices, with ranges and the line of perfect scaling."""
    scale = time_scale([value for one in series for value in one.values])
    perfect: list[dict[str, Any]] = []
    for index, one in enumerate(series):
        if one.values:
            first = one.values[0].value / scale.size
            perfect.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "showlegend": False,
                    "x": list(one.devices),
                    "y": [first * one.devices[0] / devices for devices in one.devices],
                    "line": {"color": figures.SERIES[index % len(figures.SERIES)], "width": 1, "dash": "dot"},
                    "hoverinfo": "skip",
                }
            )
    title = f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})"
    texts = [[voice.quantity(value, scale) for value in one.values] for one in series]
    return _figure(series, scale.size, texts, axis(title, type="log", tickformat=",~r"), voice, perfect)


def scaling_efficiency(series: Sequence[Series], voice: Voice) -> Figure:
    """Return the efficiency of each option against its smallest size; 100 % is perfect scaling."""
    highest = max((value.high for one in series for value in one.values), default=1.0)
    upright = axis(voice.gettext("Scaling efficiency"), range=[0, 1.08 * max(highest, 1.0)], tickformat=".0%")
    texts = [[f"{voice.percent(value.value)} ({voice.percent(value.low)}–{voice.percent(value.high)})"
              for value in one.values] for one in series]  # fmt: skip
    line = {"color": figures.SILVER, "width": 1, "dash": "dot"}
    drawn = _figure(series, 1.0, texts, upright, voice)
    drawn["layout"]["shapes"] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line, "layer": "below"}
    ]
    return drawn


def scaling_cost(series: Sequence[Series], currency: str, voice: Voice) -> Figure:
    """Return the cost of the run over the number of devices, with ranges."""
    highest = max((value.high for one in series for value in one.values), default=0.0)
    ticks = round_steps(highest)
    upright = axis(
        f"{voice.gettext('Cost per run')} ({currency})",
        rangemode="tozero",
        tickmode="array",
        tickvals=ticks,
        ticktext=[voice.tick(tick, currency) for tick in ticks],
    )
    texts = [[voice.quantity(value) for value in one.values] for one in series]
    return _figure(series, 1.0, texts, upright, voice)


def _figure(
    series: Sequence[Series],
    size: float,
    texts: Sequence[Sequence[str]],
    upright: dict[str, Any],
    voice: Voice,
    behind: Sequence[dict[str, Any]] = (),
) -> Figure:
    """Return lines with bands over the devices; one unit of the values is ``size``."""
    bands: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for index, (one, written) in enumerate(zip(series, texts, strict=True)):
        if not one.values:
            continue
        colour = figures.SERIES[index % len(figures.SERIES)]
        ends = [*(value.high for value in one.values), *(value.low for value in reversed(one.values))]
        bands.append(
            {
                "type": "scatter",
                "mode": "lines",
                "fill": "toself",
                "fillcolor": figures.thin(colour, BAND),
                "showlegend": False,
                "x": [*one.devices, *reversed(one.devices)],
                "y": [end / size for end in ends],
                "line": {"color": colour, "width": 0},
                "hoverinfo": "skip",
            }
        )
        lines.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": plain(one.label),
                "x": list(one.devices),
                "y": [value.value / size for value in one.values],
                # The band shows the range; the table of the figure has it from here.
                "error_y": whiskers(one.values, size) | {"visible": False},
                "line": {"color": colour, "width": 2},
                "marker": {
                    "color": colour,
                    "size": 8,
                    "symbol": figures.SYMBOLS[index % len(figures.SYMBOLS)],
                },
                "hovertext": list(written),
                "hoverinfo": "text+name",
            }
        )
    sizes = sorted({devices for one in series for devices in one.devices})
    return figure(
        [*bands, *behind, *lines],
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(
            voice.gettext("Devices"),
            type="log",
            tickmode="array",
            tickvals=sizes,
            ticktext=[voice.number(size) for size in sizes],
        ),
        yaxis=upright,
    )
