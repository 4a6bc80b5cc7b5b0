"""Figures of a sweep: time against cost, one point for each combination."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from app.estimating.schema import Quantity
from app.features.sweeps.rows import SweepRow
from app.platform.charts import figures
from app.platform.charts.figures import (
    Figure,
    axis,
    figure,
    legend_above,
    plain,
    round_steps,
    time_scale,
    wrapped,
)
from app.platform.wording.voice import Voice

MOST_RANGES = 60
"""Points up to which ranges are drawn; more of them would hide each other."""
LOGARITHMIC_FROM = 10.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
MOST_DECADES = 3
"""Powers of ten up to which an axis has ticks between them."""


def time_of(row: SweepRow) -> Quantity | None:
    return _quantity(row.time_to_train, row.time_to_train_low, row.time_to_train_high, "s")


def cost_of(row: SweepRow) -> Quantity | None:
    return _quantity(row.cost, row.cost_low, row.cost_high, row.currency)


def called(row: SweepRow) -> str:
    """Return the system of a row with its count."""
    return row.system if row.count == 1 else f"{row.count} × {row.system}"


def time_against_cost(rows: Sequence[SweepRow], voice: Voice) -> Figure:
    """Return a point for each row that has both, with ranges: systems by colour, models by symbol."""
    found = [(row, time, cost) for row in rows if (time := time_of(row)) and (cost := cost_of(row))]
    scale = time_scale([time for _, time, _ in found])
    systems = list(dict.fromkeys(row.system for row, _, _ in found))
    models = list(dict.fromkeys(row.model for row, _, _ in found))
    ranged = len(found) <= MOST_RANGES
    traces: list[dict[str, Any]] = []
    for place, system in enumerate(systems):
        shown = [one for one in found if one[0].system == system]
        times, costs = [time for _, time, _ in shown], [cost for _, _, cost in shown]
        colour = figures.SERIES[place % len(figures.SERIES)]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain(system),
                "x": [cost.value for cost in costs],
                "y": [time.value / scale.size for time in times],
                "error_x": _range(costs, 1.0) if ranged else {"visible": False},
                "error_y": _range(times, scale.size) if ranged else {"visible": False},
                "marker": {
                    "color": colour,
                    "size": 10,
                    "opacity": 0.85,
                    "symbol": [
                        figures.SYMBOLS[models.index(row.model) % len(figures.SYMBOLS)] for row, _, _ in shown
                    ],
                },
                "hovertext": [
                    "<br>".join(
                        [
                            wrapped(row.model),
                            wrapped(" · ".join(filter(None, (called(row), row.price, row.scenario)))),
                            f"{voice.quantity(time, scale)}, {voice.quantity(cost)}",
                        ]
                    )
                    for row, time, cost in shown
                ],
                "hoverinfo": "text",
            }
        )
    currency = found[0][0].currency if found else ""
    prices = [cost.value for _, _, cost in found]
    seconds = [time.value for _, time, _ in found]
    return figure(
        traces,
        showlegend=len(systems) > 1,
        legend=legend_above(),
        xaxis=_scaled(
            f"{voice.gettext('Cost per run')} ({currency})",
            prices,
            lambda tick: voice.tick(tick, currency),
        ),
        yaxis=_scaled(
            f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})",
            [one / scale.size for one in seconds],
            voice.number,
        ),
    )


def _quantity(value: float | None, low: float | None, high: float | None, unit: str) -> Quantity | None:
    if value is None or low is None or high is None:
        return None
    return Quantity(value=value, low=low, high=high, unit=unit)


def _range(quantities: Sequence[Quantity], size: float) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [(one.high - one.value) / size for one in quantities],
        "arrayminus": [(one.value - one.low) / size for one in quantities],
        "thickness": 1,
        "width": 3,
    }


def _scaled(title: str, values: Sequence[float], write: Callable[[float], str]) -> dict[str, Any]:
    """Return an axis from zero, or a logarithmic one where values lie far apart."""
    if not values or min(values) <= 0 or max(values) / min(values) <= LOGARITHMIC_FROM:
        ticks = round_steps(max(values, default=0.0))
        return axis(
            title, rangemode="tozero", tickmode="array", tickvals=ticks, ticktext=[*map(write, ticks)]
        )
    ticks = decade_steps(min(values), max(values))
    return axis(title, type="log", tickmode="array", tickvals=ticks, ticktext=[*map(write, ticks)])


def decade_steps(lowest: float, highest: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten about a range; the powers alone where it is wide.

    >>> decade_steps(3.0, 90.0)
    [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    """
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    digits = (1.0, 2.0, 5.0) if last - first <= MOST_DECADES else (1.0,)
    steps = [digit * 10.0**power for power in range(first, last + 1) for digit in digits]
    return [step for step in steps if lowest / 2.5 < step < highest * 2.5]
