"""Figures of a break-even: both sides over the months, what each input does, base and peak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from app.features.break_even.model import BreakEven, Mixed, TornadoRow
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names, round_steps, thin
from app.platform.wording.voice import Voice

ROWS_SHOWN = 12
EDGE = 1.12
"""Where bars that never end are cut off, over the latest month there is."""

NEVER_AT = 60.0
"""Month at which they are cut off where no bar ends. [month]"""

BAND = 0.16
"""Opacity of a band, thin enough that both show where they overlap."""


def cash_flow(answer: BreakEven, voice: Voice) -> Figure:
    """Return the cumulated cost of both sides, where they cross, and the horizon."""
    points = answer.cash_flow
    months = [point.month for point in points]
    highest = max(max(point.own_high or point.own, point.cloud_high or point.cloud) for point in points)

    def shown(name: str) -> Callable[[float, float], str]:
        return lambda month, value: f"{name}, {_month(month, voice)}<br>{voice.full(value, answer.currency)}"

    owned, rented = voice.gettext("own cluster"), voice.gettext("cloud")
    own, cloud = [point.own for point in points], [point.cloud for point in points]
    traces: list[dict[str, Any]] = []
    if points[0].own_low is not None:
        traces += [
            _band(months, [(p.own_low or 0.0, p.own_high or 0.0) for p in points], figures.BLUE),
            _band(months, [(p.cloud_low or 0.0, p.cloud_high or 0.0) for p in points], figures.VERMILION),
        ]
    traces += [
        _line(owned, months, own, {"color": figures.BLUE, "width": 2.5, "dash": "solid"}, shown(owned)),
        _line(
            rented, months, cloud, {"color": figures.VERMILION, "width": 2.5, "dash": "dot"}, shown(rented)
        ),
    ]
    if answer.months is not None and answer.months <= months[-1]:
        traces.append(_crossing(answer, answer.months, voice))
    traces.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": voice.gettext("horizon"),
            "x": [answer.horizon_months] * 2,
            "y": [0.0, highest],
            "line": {"color": figures.GREY, "width": 1.5, "dash": "dash"},
            "hoverinfo": "name",
        }
    )
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(voice.gettext("Months since purchase"), rangemode="tozero"),
        yaxis=_money_axis(voice.gettext("Cumulative spend, discounted"), highest, answer.currency, voice),
    )


def tornado(answer: BreakEven, voice: Voice) -> Figure:
    """Return what a fifth less and more of each input do to the month; bars that never end are hatched."""
    rows = answer.tornado[:ROWS_SHOWN]
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    known = [*ends, *([answer.months] if answer.months is not None else [])]
    edge = EDGE * max(known) if known else NEVER_AT
    central = answer.months if answer.months is not None else edge
    never = voice.gettext("never")
    sides = (
        (voice.gettext("20 percent lower"), figures.BLUE, [row.low for row in rows]),
        (voice.gettext("20 percent higher"), figures.ORANGE, [row.high for row in rows]),
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
            "marker": {
                "color": colour,
                "pattern": figures.hatched("") | {"shape": ["/" if end is None else "" for end in values]},
            },
            "hovertext": [f"{name}<br>{never if end is None else _month(end, voice)}" for end in values],
            "hoverinfo": "text",
            "text": [never if end is None else "" for end in values],
            "textposition": "inside",
        }
        for name, colour, values in sides
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


def base_and_peak(mixed: Mixed, currency: str, voice: Voice) -> Figure:
    """Return cost by the capacity that is owned: owned and rented part, and their sum with its lowest."""
    shares = [100.0 * point.owned for point in mixed.points]

    def shown(name: str) -> Callable[[float, float], str]:
        return lambda share, cost: f"{name}<br>{voice.percent(share / 100.0)}<br>{voice.full(cost, currency)}"

    series = (
        (voice.gettext("total"), [p.total for p in mixed.points], figures.BLUE, "solid", 2.5),
        (voice.gettext("owned base load"), [p.own for p in mixed.points], figures.GREEN, "dash", 1.5),
        (voice.gettext("rented peak load"), [p.rent for p in mixed.points], figures.VERMILION, "dot", 1.5),
    )
    traces = [
        _line(name, shares, costs, {"color": colour, "dash": dash, "width": width}, shown(name))
        for name, costs, colour, dash, width in series
    ]
    best = mixed.best
    cheapest = voice.full(best.total, currency)
    traces.append(_diamond(voice.gettext("lowest cost"), 100.0 * best.owned, best.total, cheapest))
    highest = max(point.total for point in mixed.points)
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(voice.gettext("Owned capacity (% of cluster)"), rangemode="tozero"),
        yaxis=_money_axis(voice.gettext("Monthly cost"), highest, currency, voice),
    )


def shown_rows(rows: Sequence[TornadoRow]) -> int:
    return min(len(rows), ROWS_SHOWN)


def _month(month: float, voice: Voice) -> str:
    return voice.gettext("month {month}").format(month=voice.decimal(month, 1))


def _money_axis(title: str, highest: float, currency: str, voice: Voice) -> dict[str, Any]:
    ticks = round_steps(highest)
    return axis(
        f"{title} ({currency})",
        rangemode="tozero",
        tickmode="array",
        tickvals=ticks,
        ticktext=[voice.tick(tick, currency) for tick in ticks],
    )


def _line(
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    style: dict[str, Any],
    shown: Callable[[float, float], str],
) -> dict[str, Any]:
    """Return a line with what is shown at each point."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": style,
        "hovertext": [shown(*point) for point in zip(x, y, strict=True)],
        "hoverinfo": "text",
    }


def _diamond(name: str, x: float, y: float, shown: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [x],
        "y": [y],
        "marker": {"color": figures.ORANGE, "size": 11, "symbol": "diamond"},
        "hovertext": [shown],
        "hoverinfo": "text",
    }


def _band(months: Sequence[float], ends: Sequence[tuple[float, float]], colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*months, *reversed(months)],
        "y": [*(high for _, high in ends), *(low for low, _ in reversed(ends))],
        "fill": "toself",
        "fillcolor": thin(colour, BAND),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _crossing(answer: BreakEven, month: float, voice: Voice) -> dict[str, Any]:
    before = max((point for point in answer.cash_flow if point.month <= month), key=lambda point: point.month)
    after = min((point for point in answer.cash_flow if point.month >= month), key=lambda point: point.month)
    width = after.month - before.month
    share = (month - before.month) / width if width > 0 else 0.0
    spent = before.cloud + share * (after.cloud - before.cloud)
    return _diamond(voice.gettext("break-even"), month, spent, _month(month, voice))
