"""Options over the number of devices: time, efficiency and cost, each with its range as a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.comparison import scaling_knee
from app.estimating.documents import Estimate, RooflinePoint
from app.estimating.schema import Quantity
from app.features.estimates.names import Spot, sides
from app.platform.charts import figures
from app.platform.charts.figures import Axis, Figure, Trace, axis, figure, plain, reach, time_scale
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice

INPUTS_SHOWN = 10


def sensitivity(estimate: Estimate, voice: Voice) -> Figure:
    """Return what each input alone does to the time to train, the strongest on top.

    Ends are those of the time: which end of an input shortens it differs from input to input.
    """
    central = estimate.time_to_train.value if estimate.time_to_train else 0.0
    scale = scale_of(central, "s")
    ranked = sorted(estimate.sensitivity, key=lambda effect: -abs(effect.high - effect.low))[:INPUTS_SHOWN]

    def side(name: str, ends: Sequence[float]) -> tuple[str, Sequence[float], Sequence[str]]:
        return name, ends, [voice.value(end, "s", scale, exact=False) for end in ends]

    title, unit = voice.gettext("Training time"), voice.gettext(scale.unit)
    return figures.tornado(
        central,
        scale.size,
        [
            side(voice.gettext("less time"), [effect.low for effect in ranked]),
            side(voice.gettext("more time"), [effect.high for effect in ranked]),
        ],
        [voice.label(effect.input) for effect in ranked],
        lambda ends: axis(title, ends, voice.number, unit=unit),
    )


ROOF_DECADES = 0.5
"""How far a roof is drawn left of its outermost operator. [decades]"""

NAME_DECADES = 1.4
"""How far it is drawn right of the last, so that names have room. [decades]"""


def breakdown(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return where the time of each estimate goes, as shares of its time to train."""
    fitting = [(label, estimate.breakdown) for label, estimate in estimates if estimate.breakdown]
    totals = [sum(part.seconds for part in parts) for _, parts in fitting]
    traces = []
    for part, style in figures.PARTS.items():
        seconds = [sum(entry.seconds for entry in parts if entry.part == part) for _, parts in fitting]
        if not any(seconds):
            continue
        name = voice.label(part, "part")
        shares = [100 * time / total for time, total in zip(seconds, totals, strict=True)]
        texts = [
            f"{voice.value(time, 's', exact=False)} ({voice.share(share / 100)})"
            for time, share in zip(seconds, shares, strict=True)
        ]
        traces.append(figures.bar(name, shares, range(len(fitting)), style, texts))
    title = axis(voice.gettext("Share of training time"), (), voice.number, unit="%", ends=(0, 100))
    return figures.stacked(traces, [label for label, _ in fitting], title)


SLOPE_STEPS = 24
"""Points of a slope that names keep clear of."""

ROOF_PLOT = (430.0, 200.0)
"""Least plot of a roofline. [px]"""

MOST_NAMED, APART = 4, 0.3
"""Operators that are named in a roofline, and how far apart. [decades]"""


def leading_operators(points: Sequence[RooflinePoint]) -> list[RooflinePoint]:
    """Return the operators that take longest, one of each place."""
    named: list[RooflinePoint] = []
    # Adapters have no names of their own.
    whole = [point for point in points if "." not in point.operator]
    for point in sorted(whole, key=lambda point: -point.seconds):
        gaps = [
            max(abs(np.log10(one.intensity / point.intensity)), abs(np.log10(one.attained / point.attained)))
            for one in named
        ]
        if len(named) < MOST_NAMED and all(gap > APART for gap in gaps):
            named.append(point)
    return named


def roofline(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> Figure:
    """Return operators under the roof of their chip: attained FLOP/s over FLOP per byte, both logarithmic."""
    traces: list[Trace] = []
    operators: list[Trace] = []
    roofs: list[tuple[Spot, Spot]] = []
    slopes: list[Spot] = []
    for index, (label, estimate) in enumerate(estimates):
        points = [point for point in estimate.roofline if point.intensity > 0 and point.attained > 0]
        if not points or estimate.roof is None:
            continue
        colour, roof = figures.SERIES[index % len(figures.SERIES)], estimate.roof
        ridge, peak = roof.peak / roof.bandwidth, roof.peak / 1e12
        left = min([ridge, *(point.intensity for point in points)]) / 10**ROOF_DECADES
        right = max([ridge, *(point.intensity for point in points)]) * 10**NAME_DECADES
        longest = max(point.seconds for point in points) or 1.0
        named = leading_operators(points) if len(estimates) == 1 else ()
        slope, level = (
            voice.value(roof.bandwidth, "B/s", exact=False),
            voice.value(roof.peak, "FLOP/s", exact=False),
        )
        shared = {"name": plain(label), "showlegend": False}
        traces += [
            figures.line(
                [left, ridge, right],
                [left * roof.bandwidth / 1e12, peak, peak],
                {"color": colour},
                name=plain(label),
            ),
            figures.points(
                [ridge],
                [peak],
                {"color": colour, "symbol": "diamond"},
                [(voice.gettext("ridge point"), f"{voice.number(ridge)} FLOP/B", level, slope)],
                **shared,
            ),
            figures.points(
                [point.intensity for point in points],
                [point.attained / 1e12 for point in points],
                {
                    "color": colour,
                    "opacity": 0.85,
                    "symbol": [figures.BOUNDS[point.bound] for point in points],
                    # Area, not diameter, follows the time an operator takes.
                    "size": [6 + 9 * (point.seconds / longest) ** 0.5 for point in points],
                },
                [
                    (
                        voice.label(point.operator, "operator"),
                        f"{voice.number(point.intensity)} FLOP/B",
                        voice.value(point.attained, "FLOP/s", exact=False),
                        voice.label(point.bound, "bound"),
                    )
                    for point in points
                ],
                **shared
                | {
                    "mode": "markers+text",
                    "text": [
                        voice.label(point.operator, "operator") if point in named else "" for point in points
                    ],
                },
            ),
        ]
        operators.append(traces[-1])
        roofs.append(((ridge, peak), (right, peak)))
        steps = (left * (ridge / left) ** (step / SLOPE_STEPS) for step in range(SLOPE_STEPS))
        slopes += [(at, at * roof.bandwidth / 1e12) for at in steps]
        traces += whole_marks(label, estimate, points, colour, voice)
    across, up = ([value for trace in traces for value in trace[name]] for name in ("x", "y"))
    x_axis = axis(voice.gettext("Arithmetic intensity"), across, voice.number, unit="FLOP/B", log=True)
    y_axis = axis(voice.gettext("Achieved per device"), up, voice.number, unit="TFLOP/s", log=True)
    spots = [(x, y) for trace in traces for x, y in zip(trace["x"], trace["y"], strict=True)]
    for trace in operators:
        names = list(zip(zip(trace["x"], trace["y"], strict=True), trace["text"], strict=True))
        trace["textposition"] = sides(names, x_axis, y_axis, [*spots, *slopes], roofs, ROOF_PLOT)
    return figure(
        traces,
        x_axis,
        y_axis,
        [
            voice.gettext("Operator"),
            voice.gettext("Arithmetic intensity"),
            voice.gettext("Attained"),
            voice.gettext("Limited by"),
        ],
    )


def whole_marks(
    label: str, estimate: Estimate, points: Sequence[RooflinePoint], colour: str, voice: Voice
) -> list[Trace]:
    """Mark all operators together, and the nearest measured runs at the intensity of this model."""
    flop = sum(point.attained * point.seconds for point in points)
    seconds = sum(point.seconds for point in points)
    moved = sum(point.attained * point.seconds / point.intensity for point in points)
    if not flop or not seconds:
        return []
    intensity = flop / moved
    text = f"{voice.number(intensity)} FLOP/B"
    name = {"name": plain(label), "showlegend": False}
    whole = voice.gettext("all operators")
    marks = [
        figures.points(
            [intensity],
            [flop / seconds / 1e12],
            {"color": colour, "symbol": "cross", "size": 14},
            [(whole, text, voice.value(flop / seconds, "FLOP/s", exact=False), "–")],
            **name,
        )
    ]
    measured = voice.gettext("measured: {model} on {count} × {system}")
    runs = [
        (run.measured, measured.format(model=run.model, count=run.accelerators, system=run.system))
        for run in estimate.validation.nearest_measured
        if run.metric == "tflops_per_accel" and run.measured is not None
    ]
    if runs:
        marks.append(
            figures.points(
                [intensity] * len(runs),
                [rate for rate, _ in runs],
                {"color": colour, "symbol": "star", "size": 12},
                [(said, text, voice.value(rate * 1e12, "FLOP/s", exact=False), "–") for rate, said in runs],
                **name,
            )
        )
    return marks


LOW, HIGH = 10.0, 90.0
"""Ends of a range. [%]"""


@dataclass(frozen=True, slots=True)
class Series:
    """One option over sizes: devices and what they give."""

    label: str
    counts: Sequence[int]
    devices: Sequence[int]
    idle: Sequence[int]
    """Devices that the plan does not use, of each size."""
    values: Sequence[Quantity]


def idle_devices(estimate: Estimate) -> int:
    plan = estimate.plan
    used = 0 if plan is None else plan.tensor * plan.pipeline * plan.context * plan.data
    return 0 if plan is None else estimate.system.devices - used


def efficiency(first: Estimate, estimate: Estimate) -> Quantity | None:
    """Return the speed of one size over that of the smallest, times the growth in devices.

    Its range is that of the ratio of paired samples, in which common causes cancel.
    """
    if first.time_to_train is None or estimate.time_to_train is None:
        return None
    growth = first.system.devices / estimate.system.devices
    value = first.time_to_train.value / estimate.time_to_train.value * growth
    low = high = value
    if first.time_samples and estimate.time_samples:
        ratios = np.asarray(first.time_samples) / np.asarray(estimate.time_samples) * growth
        low, high = (float(end) for end in np.percentile(ratios, (LOW, HIGH)))
    return Quantity(value=value, low=min(low, value), high=max(high, value), unit="1")


def scaling(series: Sequence[Series], voice: Voice) -> Figure:
    """Return time to train over devices, with ranges, perfect scaling, and where more devices stop paying."""
    scale = time_scale([value for option in series for value in option.values])
    perfect, knees = [], []
    for index, option in enumerate(series):
        if not option.values:
            continue
        ink = {"color": figures.SERIES[index % len(figures.SERIES)], "width": 1, "dash": "dot"}
        first = option.values[0].value / scale.size * option.devices[0]
        ideal = [first / devices for devices in option.devices]
        perfect.append(figures.line(option.devices, ideal, ink, showlegend=False, meta=plain(option.label)))
        knee = scaling_knee(
            np.asarray(option.devices, float), np.asarray([value.value for value in option.values])
        )
        if knee < len(option.values) - 1:
            knees.append((option, option.devices[knee], option.values[knee]))
    marks = _marks(voice.gettext("diminishing returns"), knees, scale.size)
    values = list(reach((value for option in series for value in option.values), scale.size))
    values += [value for trace in perfect for value in trace["y"]]
    title, unit = voice.gettext("Training time"), voice.gettext(scale.unit)
    up = axis(title, values, voice.number, unit=unit, log=True)
    written = [[voice.quantity(value, scale) for value in option.values] for option in series]
    return _figure(series, scale.size, written, (title, up), voice, behind=perfect, marks=marks)


def scaling_efficiency(series: Sequence[Series], voice: Voice) -> Figure:
    """Return the efficiency of each option against its smallest size; 100 % is perfect scaling."""
    values = reach((value for option in series for value in option.values), 0.01)
    title = voice.gettext("Scaling efficiency")
    up = axis(title, [100.0, *values], voice.number, unit="%", zero=True)
    written = [
        [
            f"{voice.percent(value.value)} ({voice.percent(value.low)}–{voice.percent(value.high)})"
            for value in option.values
        ]
        for option in series
    ]
    drawn = _figure(series, 0.01, written, (title, up), voice)
    line = {"color": figures.GUIDE, "width": 1, "dash": "dot"}
    drawn["layout"]["shapes"] = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": 100,
            "y1": 100,
            "line": line,
            "layer": "below",
        }
    ]
    return drawn


def scaling_cost(series: Sequence[Series], currency: str, voice: Voice) -> Figure:
    """Return the cost of the run over devices, with ranges and the least of each option."""
    values = reach(value for option in series for value in option.values)
    title = voice.gettext("Cost per run")
    up = axis(title, values, voice.amount, unit=currency, zero=True)
    written = [[voice.quantity(value) for value in option.values] for option in series]
    least = [
        (option, *min(zip(option.devices, option.values, strict=True), key=lambda point: point[1].value))
        for option in series
        if option.values
    ]
    marks = _marks(voice.gettext("lowest cost"), least, 1.0)
    return _figure(series, 1.0, written, (title, up), voice, marks=marks)


def _marks(name: str, marked: Sequence[tuple[Series, int, Quantity]], size: float) -> list[Trace]:
    """Return one point of each option, marked by a diamond around it."""
    return [
        figures.points(
            [devices],
            [value.value / size],
            {"color": figures.GOOD, "size": 16, "symbol": "diamond-open", "line": {"width": 2}},
            (),
            name=name,
            meta=plain(option.label),
            hoverinfo="skip",
        )
        for option, devices, value in marked
    ]


def _figure(
    series: Sequence[Series],
    size: float,
    texts: Sequence[Sequence[str]],
    up: tuple[str, Axis],
    voice: Voice,
    *,
    behind: Sequence[Trace] = (),
    marks: Sequence[Trace] = (),
) -> Figure:
    """Return lines with bands over the devices, sizes with idle devices marked; one unit is ``size``."""
    bands: list[Trace] = []
    lines: list[Trace] = []
    title, upright = up
    idle = voice.gettext("idle devices")
    for index, (option, written) in enumerate(zip(series, texts, strict=True)):
        if not option.values:
            continue
        tips = [
            (voice.number(count), voice.number(devices), text, voice.number(unused) if unused else "–")
            for count, devices, text, unused in zip(
                option.counts, option.devices, written, option.idle, strict=True
            )
        ]
        colour, symbol = (
            figures.SERIES[index % len(figures.SERIES)],
            figures.SYMBOLS[index % len(figures.SYMBOLS)],
        )
        *band, drawn = figures.curve(option.label, option.devices, option.values, size, colour, tips, symbol)
        bands += band
        lines.append(drawn)
        if any(option.idle):
            indices = [point for point, unused in enumerate(option.idle) if unused]
            lines.append(
                figures.points(
                    [option.devices[point] for point in indices],
                    [drawn["y"][point] for point in indices],
                    {"color": figures.LIMIT, "size": 15, "symbol": "circle-open", "line": {"width": 2}},
                    (),
                    name=idle,
                    meta=plain(option.label),
                    hoverinfo="skip",
                )
            )
    sizes = sorted({devices for option in series for devices in option.devices})
    devices = voice.gettext("Devices")
    across = axis(devices, sizes, voice.number, log=True, at=sizes)
    columns = [voice.gettext("Count"), devices, title, idle]
    return figure([*bands, *behind, *lines, *marks], across, upright, columns)
