"""Options over the number of devices: time, efficiency and cost, each with its range as a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.estimating.documents import Estimate
from app.estimating.schema import Quantity
from app.platform.charts import figures
from app.platform.charts.figures import (
    Figure,
    axis,
    figure,
    legend_above,
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

    def side(name: str, ends: Sequence[float]) -> tuple[str, Sequence[float], Sequence[str]]:
        return name, ends, [voice.value(end, "s", scale, exact=False) for end in ends]

    return figures.tornado(
        central,
        scale.size,
        [
            side(voice.gettext("less time"), [one.low for one in ranked]),
            side(voice.gettext("more time"), [one.high for one in ranked]),
        ],
        [voice.label(one.input) for one in ranked],
        f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})",
        hoverinfo="text+name",
    )


ROOF_DECADES = 0.5
"""How far a roof is drawn beyond its outermost operators. [decades]"""


def breakdown(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return where the time of each estimate goes, as shares of its time to train."""
    fitting = [(label, one.breakdown) for label, one in estimates if one.breakdown]
    totals = [sum(part.seconds for part in parts) for _, parts in fitting]
    traces = []
    for part, style in figures.PARTS.items():
        seconds = [sum(one.seconds for one in parts if one.part == part) for _, parts in fitting]
        if not any(seconds):
            continue
        name = voice.label(part, "part")
        shares = [100 * one / total for one, total in zip(seconds, totals, strict=True)]
        texts = [
            f"{name}: {voice.value(one, 's', exact=False)}, {voice.share(share / 100)}"
            for one, share in zip(seconds, shares, strict=True)
        ]
        traces.append(figures.bar(name, shares, range(len(fitting)), style, texts))
    title = axis(f"{voice.gettext('Share of training time')} (%)", range=[0, 100])
    return figures.stacked(traces, [label for label, _ in fitting], title)


def roofline(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return operators under the roof of their chip: attained FLOP/s over FLOP per byte, both logarithmic."""
    traces = []
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
        peak, group = roof.peak / 1e12, str(index)
        traces.append(
            figures.line(
                [left, ridge, right],
                [left * roof.bandwidth / 1e12, peak, peak],
                {"color": colour},
                name=plain(label),
                legendgroup=group,
            )
        )
        # The intensity of the ridge is written beside it once.
        name, written = voice.gettext("ridge point"), voice.number(ridge)
        text = (
            f"{name}: {written} FLOP/B<br>{voice.value(roof.peak, 'FLOP/s', exact=False)}"
            f"<br>{voice.value(roof.bandwidth, 'B/s', exact=False)}"
        )
        traces.append(
            figures.points(
                [ridge],
                [peak],
                {"color": colour, "symbol": "diamond", "size": 8},
                [text],
                name=name,
                mode="markers+text",
                showlegend=False,
                legendgroup=group,
                text=["" if written in named else f"{name} {written}"],
                textposition="top left",
                cliponaxis=False,
            )
        )
        named.add(written)
        traces.append(
            figures.points(
                [point.intensity for point in points],
                [point.attained / 1e12 for point in points],
                {
                    "color": colour,
                    "opacity": 0.85,
                    "symbol": [figures.BOUNDS[point.bound] for point in points],
                    # Area, not diameter, follows the time an operator takes.
                    "size": [7 + 15 * (point.seconds / longest) ** 0.5 for point in points],
                },
                [
                    f"{wrapped(point.operator)}<br>{voice.value(point.attained, 'FLOP/s', exact=False)}"
                    f"<br>{voice.label(point.bound, 'bound')}"
                    for point in points
                ],
                name=plain(label),
                legendgroup=group,
                showlegend=False,
            )
        )
    return figure(
        traces,
        showlegend=len(estimates) > 1,
        legend=legend_above(),
        xaxis=axis(f"{voice.gettext('Arithmetic intensity')} (FLOP/B)", type="log", dtick=1),
        yaxis=axis(f"{voice.gettext('Achieved per device')} (TFLOP/s)", type="log", dtick=1),
    )


MOST_OF_CAPACITY = 250.0
"""Where bars of memory leave the figure: what is far too large would squeeze all others. [%]"""


def memory(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return the memory of the fullest device of each option over what it may fill, by part.

    Devices differ by two orders of magnitude in memory, so that shares of the capacity are drawn.
    """
    known = [(label, one.memory) for label, one in estimates if one.memory is not None]
    parts = dict.fromkeys([*figures.MEMORY, *(part.part for _, one in known for part in one.parts)])
    traces = []
    for part in parts:
        sizes = [sum(one.value for one in whole.parts if one.part == part) for _, whole in known]
        if not any(sizes):
            continue
        name = voice.label(part, "memory")
        shares = [100 * size / whole.capacity.value for size, (_, whole) in zip(sizes, known, strict=True)]
        texts = [f"{name}: {voice.value(size, 'B', exact=False)}" for size in sizes]
        style = figures.MEMORY.get(part, (figures.SILVER, ""))
        traces.append(figures.bar(name, shares, range(len(known)), style, texts))
    fullest = max((100 * one.per_device.value / one.capacity.value for _, one in known), default=100.0)
    title = axis(
        f"{voice.gettext('Share of device memory')} (%)",
        range=[0, min(max(fullest, 100.0) * 1.05, MOST_OF_CAPACITY)],
    )
    labels = [label for label, _ in known]
    return figures.stacked(traces, labels, title, shapes=[figures.upright(100, 2)])


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
    perfect = [
        figures.line(
            one.devices,
            [one.values[0].value / scale.size * one.devices[0] / devices for devices in one.devices],
            {"color": figures.SERIES[index % len(figures.SERIES)], "width": 1, "dash": "dot"},
            showlegend=False,
        )
        for index, one in enumerate(series)
        if one.values
    ]
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
    behind: Sequence[figures.Trace] = (),
) -> Figure:
    """Return lines with bands over the devices; one unit of the values is ``size``."""
    bands, lines = [], []
    for index, (one, written) in enumerate(zip(series, texts, strict=True)):
        if not one.values:
            continue
        colour = figures.SERIES[index % len(figures.SERIES)]
        ends = [*(value.high for value in one.values), *(value.low for value in reversed(one.values))]
        bands.append(
            figures.line(
                [*one.devices, *reversed(one.devices)],
                [end / size for end in ends],
                {"color": colour, "width": 0},
                fill="toself",
                fillcolor=figures.thin(colour, BAND),
                showlegend=False,
            )
        )
        lines.append(
            figures.line(
                one.devices,
                [value.value / size for value in one.values],
                {"color": colour},
                mode="lines+markers",
                name=plain(one.label),
                # The band shows the range; the table of the figure has it from here.
                error_y=whiskers(one.values, size) | {"visible": False},
                marker={"color": colour, "size": 8, "symbol": figures.SYMBOLS[index % len(figures.SYMBOLS)]},
                hovertext=list(written),
                hoverinfo="text+name",
            )
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
