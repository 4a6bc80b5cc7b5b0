"""Figure of a sweep: time against cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.estimating.schema import Quantity
from app.features.sweeps.rows import SweepRow
from app.platform.charts import figures
from app.platform.charts.figures import Axis, Figure, axis, figure, plain, reach, time_scale, whiskers
from app.platform.wording.voice import Voice

MOST_RANGES = 60
"""Most points with ranges; more would overlap."""
HEIGHT = 420
LOGARITHMIC_FROM = 10.0
"""Ratio of largest to smallest value above which an axis is logarithmic."""


def time_against_cost(rows: Sequence[SweepRow], voice: Voice) -> Figure:
    """Return a point with ranges for each row that has both: systems by colour, models by symbol."""
    points = [(row, time, cost) for row in rows if (time := row.duration) and (cost := row.price_of_run)]
    scale = time_scale([time for _, time, _ in points])
    systems = list(dict.fromkeys(row.system for row, _, _ in points))
    models = list(dict.fromkeys(row.model for row, _, _ in points))
    ranged = len(points) <= MOST_RANGES
    traces = []
    for index, system in enumerate(systems):
        of_system = [point for point in points if point[0].system == system]
        times, costs = [time for _, time, _ in of_system], [cost for _, _, cost in of_system]
        symbols = [figures.SYMBOLS[models.index(row.model) % len(figures.SYMBOLS)] for row, _, _ in of_system]
        traces.append(
            figures.points(
                [cost.value for cost in costs],
                [time.value / scale.size for time in times],
                {
                    "color": figures.SERIES[index % len(figures.SERIES)],
                    "size": 10,
                    "opacity": 0.85,
                    "symbol": symbols,
                },
                [
                    (
                        row.model,
                        " · ".join(filter(None, (row.system_label, row.price, row.scenario))),
                        voice.quantity(time, scale),
                        voice.quantity(cost),
                    )
                    for row, time, cost in of_system
                ],
                name=plain(system),
                error_x=whiskers(costs, 1.0) if ranged else {"visible": False},
                error_y=whiskers(times, scale.size) if ranged else {"visible": False},
            )
        )
    currency = points[0][0].currency if points else ""
    every_cost, every_time = [cost for _, _, cost in points], [time for _, time, _ in points]
    money, duration = voice.gettext("Cost per run"), voice.gettext("Training time")
    return figure(
        traces,
        _scaled(money, currency, every_cost, 1.0, voice.amount),
        _scaled(duration, voice.gettext(scale.unit), every_time, scale.size, voice.number),
        [voice.gettext("Model"), voice.gettext("Combination"), duration, money],
        height=HEIGHT,
    )


def _scaled(
    title: str, unit: str, quantities: Sequence[Quantity], size: float, write: Callable[[float], str]
) -> Axis:
    """Return an axis from zero, or a logarithmic one if values lie far apart."""
    values = [quantity.value for quantity in quantities]
    log = bool(values) and min(values) > 0 and max(values) / min(values) > LOGARITHMIC_FROM
    return axis(title, reach(quantities, size), write, unit=unit, log=log, zero=not log)
