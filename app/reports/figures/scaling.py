"""Options over the number of devices: time, efficiency and cost, each with its range as a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.reports.figures import palette
from app.reports.figures.comparisons import round_steps, time_scale, whiskers
from app.reports.figures.layout import Figure, axis, figure, legend_above, plain
from app.reports.wording import Voice
from app.sizing.document import Estimate, Quantity

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
                    "line": {"color": palette.SERIES[index % len(palette.SERIES)], "width": 1, "dash": "dot"},
                    "hoverinfo": "skip",
                }
            )
    title = f"{voice.gettext('Time to train')} ({voice.gettext(scale.unit)})"
    texts = [[voice.quantity(value, scale) for value in one.values] for one in series]
    return _figure(series, scale.size, texts, axis(title, type="log", tickformat=",~r"), voice, perfect)


def scaling_efficiency(series: Sequence[Series], voice: Voice) -> Figure:
    """Return the efficiency of each option against its smallest size; 100 % is perfect scaling."""
    highest = max((value.high for one in series for value in one.values), default=1.0)
    upright = axis(voice.gettext("Scaling efficiency"), range=[0, 1.08 * max(highest, 1.0)], tickformat=".0%")
    texts = [[f"{voice.percent(value.value)} ({voice.percent(value.low)}–{voice.percent(value.high)})"
              for value in one.values] for one in series]  # fmt: skip
    line = {"color": palette.SILVER, "width": 1, "dash": "dot"}
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
        f"{voice.gettext('Cost of the run')} ({currency})",
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
        colour = palette.SERIES[index % len(palette.SERIES)]
        ends = [*(value.high for value in one.values), *(value.low for value in reversed(one.values))]
        bands.append(
            {
                "type": "scatter",
                "mode": "lines",
                "fill": "toself",
                "fillcolor": palette.thin(colour, BAND),
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
                    "symbol": palette.SYMBOLS[index % len(palette.SYMBOLS)],
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
