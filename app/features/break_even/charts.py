"""Figures of a break-even: both sides over the months, what each input does, base and peak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.features.break_even.model import BreakEven, Mixed, TornadoRow
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names, round_steps
from app.platform.wording.voice import Voice

ROWS_SHOWN = 12

EDGE = 1.12
"""Where bars that never end are cut off, over the latest month there is."""

NEVER_AT = 60.0
"""Month at which they are cut off where no bar ends. [month]"""


def cash_flow(answer: BreakEven, voice: Voice) -> Figure:
    """Return the cumulated cost of both sides, where they cross, and the horizon."""
    points = answer.cash_flow
    months = [point.month for point in points]
    owned, rented = voice.gettext("own cluster"), voice.gettext("cloud")
    highest = max(max(point.own_high or point.own, point.cloud_high or point.cloud) for point in points)
    traces: list[dict[str, Any]] = []
    if points[0].own_low is not None:
        traces += [
            _band(months, [p.own_low or 0.0 for p in points], [p.own_high or 0.0 for p in points], OWN_BAND),
            _band(
                months,
                [p.cloud_low or 0.0 for p in points],
                [p.cloud_high or 0.0 for p in points],
                CLOUD_BAND,
            ),
        ]
    for name, values, colour, dash in (
        (owned, [point.own for point in points], figures.BLUE, "solid"),
        (rented, [point.cloud for point in points], figures.VERMILION, "dot"),
    ):
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": months,
                "y": values,
                "line": {"color": colour, "width": 2.5, "dash": dash},
                "hovertext": [
                    f"{name}, {_month(month, voice)}<br>{voice.full(value, answer.currency)}"
                    for month, value in zip(months, values, strict=True)
                ],
                "hoverinfo": "text",
            }
        )
    if answer.months is not None and answer.months <= months[-1]:
        traces.append(_crossing(answer, voice))
    traces.append(_vertical(voice.gettext("horizon"), answer.horizon_months, highest, figures.GREY))
    ticks = round_steps(highest)
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(voice.gettext("Months since purchase"), rangemode="tozero"),
        yaxis=axis(
            f"{voice.gettext('Cumulative spend, discounted')} ({answer.currency})",
            rangemode="tozero",
            tickmode="array",
            tickvals=ticks,
            ticktext=[voice.tick(tick, answer.currency) for tick in ticks],
        ),
    )


def tornado(answer: BreakEven, voice: Voice) -> Figure:
    """Return what a fifth less and more of each input do to the month; bars that never end are hatched."""
    rows = answer.tornado[:ROWS_SHOWN]
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    known = [*ends, *([answer.months] if answer.months is not None else [])]
    edge = EDGE * max(known) if known else NEVER_AT
    central = answer.months if answer.months is not None else edge
    sides = (
        (voice.gettext("20 percent lower"), figures.BLUE, "", [row.low for row in rows]),
        (voice.gettext("20 percent higher"), figures.ORANGE, "", [row.high for row in rows]),
    )
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "base": central,
            "y": list(range(len(rows))),
            "x": [(edge if end is None else end) - central for end in values],
            "width": 0.6,
            "marker": {"color": colour, "pattern": {**figures.hatched(pattern), "shape": _shapes(values)}},
            "hovertext": [
                f"{name}<br>{voice.gettext('never') if end is None else _month(end, voice)}" for end in values
            ],
            "hoverinfo": "text",
            "text": [voice.gettext("never") if end is None else "" for end in values],
            "textposition": "inside",
        }
        for name, colour, pattern, values in sides
    ]
    labels = [voice.label(row.input) for row in rows]
    return figure(
        traces,
        barmode="overlay",
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(voice.gettext("Break-even (months)")),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )


def base_and_peak(found: Mixed, currency: str, voice: Voice) -> Figure:
    """Return cost by the capacity that is owned: owned and rented part, and their sum with its lowest."""
    shares = [100.0 * point.owned for point in found.points]
    lines = (
        (voice.gettext("total"), [p.total for p in found.points], figures.BLUE, "solid", 2.5),
        (voice.gettext("owned base load"), [p.own for p in found.points], figures.GREEN, "dash", 1.5),
        (voice.gettext("rented peak load"), [p.rent for p in found.points], figures.VERMILION, "dot", 1.5),
    )
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": shares,
            "y": values,
            "line": {"color": colour, "dash": dash, "width": width},
            "hovertext": [
                f"{name}<br>{voice.percent(share / 100.0)}<br>{voice.full(value, currency)}"
                for share, value in zip(shares, values, strict=True)
            ],
            "hoverinfo": "text",
        }
        for name, values, colour, dash, width in lines
    ]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": voice.gettext("lowest cost"),
            "x": [100.0 * found.best.owned],
            "y": [found.best.total],
            "marker": {"color": figures.ORANGE, "size": 11, "symbol": "diamond"},
            "hovertext": [voice.full(found.best.total, currency)],
            "hoverinfo": "text",
        }
    )
    ticks = round_steps(max(point.total for point in found.points))
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(voice.gettext("Owned capacity (% of cluster)"), rangemode="tozero"),
        yaxis=axis(
            f"{voice.gettext('Monthly cost')} ({currency})",
            rangemode="tozero",
            tickmode="array",
            tickvals=ticks,
            ticktext=[voice.tick(tick, currency) for tick in ticks],
        ),
    )


OWN_BAND, CLOUD_BAND = "rgba(0,114,178,0.16)", "rgba(213,94,0,0.16)"
"""Colours of the lines, thin enough that both bands show where they overlap."""


def shown_rows(rows: Sequence[TornadoRow]) -> int:
    """Return how many rows of a tornado are drawn."""
    return min(len(rows), ROWS_SHOWN)


def _shapes(values: Sequence[float | None]) -> list[str]:
    return ["/" if end is None else "" for end in values]


def _month(month: float, voice: Voice) -> str:
    return voice.gettext("month {month}").format(month=voice.decimal(month, 1))


def _band(
    months: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*months, *reversed(months)],
        "y": [*high, *reversed(low)],
        "fill": "toself",
        "fillcolor": colour,
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _crossing(answer: BreakEven, voice: Voice) -> dict[str, Any]:
    month = answer.months or 0.0
    before = max((point for point in answer.cash_flow if point.month <= month), key=lambda one: one.month)
    after = min((point for point in answer.cash_flow if point.month >= month), key=lambda one: one.month)
    width = after.month - before.month
    share = (month - before.month) / width if width > 0 else 0.0
    return {
        "type": "scatter",
        "mode": "markers",
        "name": voice.gettext("break-even"),
        "x": [month],
        "y": [before.cloud + share * (after.cloud - before.cloud)],
        "marker": {"color": figures.ORANGE, "size": 11, "symbol": "diamond"},
        "hovertext": [_month(month, voice)],
        "hoverinfo": "text",
    }


def _vertical(name: str, month: float, highest: float, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [month, month],
        "y": [0.0, highest],
        "line": {"color": colour, "width": 1.5, "dash": "dash"},
        "hoverinfo": "name",
    }
