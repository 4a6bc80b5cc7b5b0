"""Figures of a sweep: time against cost, one point for each combination."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.estimating.schema import Quantity
from app.features.sweeps.rows import SweepRow
from app.platform.charts import figures
from app.platform.charts.figures import Axis, Figure, axis, figure, plain, reach, time_scale, whiskers
from app.platform.wording.voice import Voice

MOST_RANGES = 60
"""Points up to which ranges are drawn; more of them would hide each other."""
TALL = 420
LOGARITHMIC_FROM = 10.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""


def time_against_cost(rows: Sequence[SweepRow], voice: Voice) -> Figure:
    """Return a point for each row that has both, with ranges: systems by colour, models by symbol."""
    found = [(row, time, cost) for row in rows if (time := row.duration) and (cost := row.price_of_run)]
    scale = time_scale([time for _, time, _ in found])
    systems = list(dict.fromkeys(row.system for row, _, _ in found))
    models = list(dict.fromkeys(row.model for row, _, _ in found))
    ranged = len(found) <= MOST_RANGES
    traces = []
    for place, system in enumerate(systems):
        shown = [one for one in found if one[0].system == system]
        times, costs = [time for _, time, _ in shown], [cost for _, _, cost in shown]
        symbols = [figures.SYMBOLS[models.index(row.model) % len(figures.SYMBOLS)] for row, _, _ in shown]
        traces.append(
            figures.points(
                [cost.value for cost in costs],
                [time.value / scale.size for time in times],
                {
                    "color": figures.SERIES[place % len(figures.SERIES)],
                    "size": 10,
                    "opacity": 0.85,
                    "symbol": symbols,
                },
                [
                    (
                        row.model,
                        " · ".join(filter(None, (row.named, row.price, row.scenario))),
                        voice.quantity(time, scale),
                        voice.quantity(cost),
                    )
                    for row, time, cost in shown
                ],
                name=plain(system),
                error_x=whiskers(costs, 1.0) if ranged else {"visible": False},
                error_y=whiskers(times, scale.size) if ranged else {"visible": False},
            )
        )
    currency = found[0][0].currency if found else ""
    every_cost, every_time = [cost for _, _, cost in found], [time for _, time, _ in found]
    money, duration = voice.gettext("Cost per run"), voice.gettext("Training time")
    return figure(
        traces,
        _scaled(money, currency, every_cost, 1.0, voice.amount),
        _scaled(duration, voice.gettext(scale.unit), every_time, scale.size, voice.number),
        [voice.gettext("Model"), voice.gettext("Combination"), duration, money],
        height=TALL,
    )


def _scaled(
    title: str, unit: str, quantities: Sequence[Quantity], size: float, write: Callable[[float], str]
) -> Axis:
    """Return an axis from zero, or a logarithmic one where values lie far apart."""
    values = [one.value for one in quantities]
    apart = bool(values) and min(values) > 0 and max(values) / min(values) > LOGARITHMIC_FROM
    return axis(title, reach(quantities, size), write, unit=unit, log=apart, zero=not apart)
