"""Figures of how well predictions agree with measured runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.features.accuracy.agreement import Chain
from app.platform.charts import figures
from app.platform.charts.figures import Figure, Trace, axis, figure, plain, thin
from app.platform.wording.voice import Voice

NEAR = 0.10
"""Half the width of the guide around perfect agreement."""
WIDEST = 0.11
"""Most by which runs of one size are moved sideways to avoid overlap. [decades]"""

RATIOS = (
    0.02,
    0.05,
    0.1,
    0.2,
    0.33,
    0.5,
    0.7,
    0.8,
    0.9,
    1.0,
    1.1,
    1.25,
    1.5,
    2.0,
    3.0,
    5.0,
    10.0,
    20.0,
    50.0,
)
FEWER_RATIOS = (0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0)
"""Ticks of an axis over a wide range."""
CLOSE = 3.0
"""Ratio of the ends of the axis up to which every tick is written."""
TALL = 420
SIZES = (1, 4, 8, 16, 64, 256, 1024, 4096)


@dataclass(frozen=True, slots=True)
class Mark:
    """One run in a figure."""

    family: str
    tips: tuple[str, ...]
    """What run it is, its software, and its figures."""
    devices: int
    measured: float
    predicted: float
    low: float
    high: float


def ratios(marks: Sequence[Mark], voice: Voice) -> Figure:
    """Return predicted over measured by number of devices, with ranges and a guide of ±10 %."""
    positions = spread_out([mark.devices for mark in marks])
    drawn = [
        (mark, x, mark.predicted / mark.measured, mark.low / mark.measured, mark.high / mark.measured)
        for mark, x in zip(marks, positions, strict=True)
    ]
    least = min([0.8, *(0.96 * y for _, _, y, _, _ in drawn)])
    most = max([1.25, *(1.04 * y for _, _, y, _, _ in drawn)])
    band = {"y0": 1 / (1 + NEAR), "y1": 1 + NEAR, "fillcolor": figures.SHADE, "line": {"width": 0}}
    middle = {"y0": 1, "y1": 1, "line": {"width": 1.2, "color": figures.GUIDE}}
    behind = {"xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    return figure(
        _traces(drawn, families(marks), voice),
        axis(voice.gettext("Devices"), positions, voice.number, log=True, at=SIZES) | {"showgrid": False},
        axis(
            voice.gettext("Predicted / measured"),
            (),
            lambda tick: f"{voice.number(tick)}×",
            log=True,
            at=FEWER_RATIOS if most / least > CLOSE else RATIOS,
            ends=(least, most),
        ),
        _columns(voice),
        height=TALL,
        shapes=[{"type": "rect", **behind, **band}, {"type": "line", **behind, **middle}],
    )


def throughputs(marks: Sequence[Mark], order: Sequence[str], unit: str, voice: Voice) -> Figure:
    """Return predicted against measured throughput, with ranges, the line of equality and ±10 %.

    ``order`` is that of the families, so that a family has one colour in both figures.
    """
    values = [mark.measured for mark in marks] or [1.0, 10.0]
    ends = 0.6 * min(values), 1.7 * max(values)
    guides = [
        figures.line(
            ends,
            [share * end for end in ends],
            {"color": figures.GUIDE, "width": width, "dash": dash},
            showlegend=False,
        )
        for share, width, dash in ((1.0, 1.2, "solid"), (1 + NEAR, 0.8, "dot"), (1 / (1 + NEAR), 0.8, "dot"))
    ]
    points = [(mark, mark.measured, mark.predicted, mark.low, mark.high) for mark in marks]
    written = voice.gettext(unit)
    across, up = (
        axis(title, (), voice.number, unit=written, log=True, ends=ends)
        for title in (voice.gettext("Measured"), voice.gettext("Predicted"))
    )
    return figure([*guides, *_traces(points, order, voice)], across, up, _columns(voice), height=TALL)


def _columns(voice: Voice) -> list[str]:
    words = voice.gettext
    return [words("Run"), words("Software"), words("Measured"), words("Predicted")]


def families(marks: Sequence[Mark]) -> list[str]:
    """Return the families, those with the most runs first."""
    frequent = Counter(mark.family for mark in marks)
    return [name for name, _ in sorted(frequent.items(), key=lambda entry: (-entry[1], entry[0]))]


def _traces(
    drawn: Sequence[tuple[Mark, float, float, float, float]], order: Sequence[str], voice: Voice
) -> list[Trace]:
    """Return points with their ranges as thin lines, one colour and shape per family."""
    listed = order if len(order) <= len(figures.SERIES) else order[: len(figures.SERIES) - 1]
    parts: dict[str, list[tuple[Mark, float, float, float, float]]] = {name: [] for name in listed}
    for point in drawn:
        name = point[0].family if point[0].family in listed else voice.gettext("other families")
        parts.setdefault(name, []).append(point)
    inks = zip(figures.SERIES, figures.SYMBOLS, strict=True)
    return [
        figures.points(
            [short(x) for _, x, *_ in members],
            [short(y) for _, _, y, *_ in members],
            {"color": colour, "symbol": symbol, "size": 6.5, "opacity": 0.85},
            [mark.tips for mark, *_ in members],
            name=plain(name),
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [short(high - y) for _, _, y, _, high in members],
                "arrayminus": [short(y - low) for _, _, y, low, _ in members],
                "color": thin(colour, 0.28),
                "thickness": 1,
                "width": 0,
            },
        )
        for (name, members), (colour, symbol) in zip(parts.items(), inks, strict=False)
        if members
    ]


def short(value: float) -> float:
    """Round a value to the digits that a chart can show, to keep the page small."""
    return float(f"{value:.5g}")


def spread_out(devices: Sequence[int]) -> list[float]:
    """Return positions on a logarithmic axis at which runs of one size are side by side.

    >>> [round(place, 2) for place in spread_out([8, 8, 16])]
    [7.93, 8.07, 16.0]
    """
    total, seen = Counter(devices), Counter[int]()
    positions = []
    for count in devices:
        half = min(WIDEST, 0.004 * (total[count] - 1))
        position = 2.0 * seen[count] / (total[count] - 1) - 1.0 if total[count] > 1 else 0.0
        seen[count] += 1
        positions.append(count * 10.0 ** (half * position))
    return positions


WIDTH, HEIGHT, EDGE = 160.0, 64.0, 6.0
LEAST_SPAN = math.log(1.5)
"""Least height of a small curve, so that noise does not look like shape."""


@dataclass(frozen=True, slots=True)
class ChainDrawing:
    """A scaling chain as a small drawing: measured points, predicted line."""

    measured: Sequence[tuple[float, float]]
    predicted: Sequence[tuple[float, float]]
    line: str
    """Points of a polyline through what was predicted, one per number of devices."""


def curve(chain: Chain) -> ChainDrawing:
    """Return the throughput of one device over the number of devices, both axes logarithmic."""
    values = [math.log(end) for point in chain.points for end in (point.measured, point.predicted)]
    middle, span = (min(values) + max(values)) / 2, max(max(values) - min(values), LEAST_SPAN)
    wide = math.log(chain.most / chain.least) or 1.0

    def across(devices: int) -> float:
        return round(EDGE + (WIDTH - 2 * EDGE) * math.log(devices / chain.least) / wide, 2)

    def up(logarithm: float) -> float:
        return round(HEIGHT / 2 - (HEIGHT - 2 * EDGE) * (logarithm - middle) / span, 2)

    lines: dict[int, list[float]] = {}
    for point in chain.points:
        lines.setdefault(point.devices, []).append(math.log(point.predicted))
    return ChainDrawing(
        measured=[(across(point.devices), up(math.log(point.measured))) for point in chain.points],
        predicted=[(across(point.devices), up(math.log(point.predicted))) for point in chain.points],
        line=" ".join(
            f"{across(devices)},{up(sum(logarithms) / len(logarithms))}"
            for devices, logarithms in lines.items()
        ),
    )
