"""Figures of a sizing: options by time and cost with their front, and one system over counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.estimating.schema import Quantity
from app.features.estimates.charts import Series, scaling
from app.features.sizings.model import BudgetKind, ScalingCurve, Sizing, SizingOption
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, plain, time_scale
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

FAINT = 0.55

AXES: Mapping[BudgetKind, str] = {
    "purchase": "Purchase",
    "run": "Cost per run",
    "term": "Cost over the term",
}
"""Cost that ranks → what its axis is called."""


def frontier(sizing: Sizing, voice: Voice) -> Figure:
    """Return time against cost of every priced option, the front drawn through, limits as lines."""
    kind = sizing.ranked_by
    options = [option for option in sizing.options if option.time_to_train and getattr(option.costs, kind)]
    scale = time_scale([option.time_to_train for option in options])
    front = sorted((one for one in options if one.on_front), key=lambda one: _time(one).value)
    limited = sizing.outcome != "front"
    groups = [
        (
            voice.gettext("meets the requirement"),
            figures.BLUE,
            "circle",
            [o for o in options if o.meets and limited],
        ),
        (voice.gettext("misses the requirement"), figures.SILVER, "x", [o for o in options if not o.meets]),
        (voice.gettext("Options"), figures.BLUE, "circle", [o for o in options if not limited]),
    ]
    traces = [
        _points(name, colour, symbol, chosen, scale, kind, voice)
        for name, colour, symbol, chosen in groups
        if chosen
    ]
    if front:
        traces.append(_front(front, scale, kind, voice))
    traces += _limits(sizing, options, scale, voice)
    money = f"{voice.gettext(AXES[kind])} ({sizing.currency})"
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(
            f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})",
            type="log",
            tickformat="~r",
            dtick="D2",
        ),
        yaxis=axis(money, type="log", tickformat="~s", dtick="D2"),
    )


def curve(found: ScalingCurve, voice: Voice) -> Figure:
    """Return time to train over accelerators with ranges, and the count where more stop paying."""
    values = [point.time_to_train for point in found.points]
    drawn = scaling([Series(found.name, [point.accelerators for point in found.points], values)], voice)
    knee = next((point for point in found.points if point.count == found.knee), None)
    if knee is not None and found.knee_inside:
        scale = time_scale(values)
        drawn["data"].append(
            _line(
                voice.gettext("diminishing returns"),
                [knee.accelerators, knee.accelerators],
                [min(one.low for one in values) / scale.size, max(one.high for one in values) / scale.size],
                figures.VERMILION,
            )
        )
    axis_of = drawn["layout"]["xaxis"]
    axis_of |= {"tickmode": "auto", "dtick": 1}
    axis_of.pop("tickvals", None)
    axis_of.pop("ticktext", None)
    return drawn


def _time(option: SizingOption) -> Quantity:
    assert option.time_to_train is not None, "options that are drawn have a time"
    return option.time_to_train


def _cost(option: SizingOption, kind: BudgetKind) -> Quantity:
    cost = getattr(option.costs, kind)
    assert isinstance(cost, Quantity), "options that are drawn have a cost"
    return cost


def _hover(option: SizingOption, scale: Scale, kind: BudgetKind, voice: Voice) -> str:
    sure = "" if option.probability is None else f"<br>{voice.chance(option.probability)}"
    name = plain(f"{option.count} × {option.name}")
    return f"{name}<br>{voice.quantity(_time(option), scale)}<br>{voice.quantity(_cost(option, kind))}{sure}"


def _points(
    name: str,
    colour: str,
    symbol: str,
    options: Sequence[SizingOption],
    scale: Scale,
    kind: BudgetKind,
    voice: Voice,
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [_time(option).value / scale.size for option in options],
        "y": [_cost(option, kind).value for option in options],
        "marker": {"color": colour, "size": 7, "symbol": symbol, "opacity": FAINT},
        "hovertext": [_hover(option, scale, kind, voice) for option in options],
        "hoverinfo": "text",
    }


def _front(front: Sequence[SizingOption], scale: Scale, kind: BudgetKind, voice: Voice) -> dict[str, Any]:
    def bars(values: Sequence[Quantity], size: float) -> dict[str, Any]:
        return {
            "type": "data",
            "symmetric": False,
            "array": [(one.high - one.value) / size for one in values],
            "arrayminus": [(one.value - one.low) / size for one in values],
            "thickness": 1,
            "width": 0,
        }

    times, costs = [_time(one) for one in front], [_cost(one, kind) for one in front]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": voice.gettext("Pareto front (time, cost)"),
        "x": [one.value / scale.size for one in times],
        "y": [one.value for one in costs],
        "error_x": bars(times, scale.size),
        "error_y": bars(costs, 1.0),
        "line": {"color": figures.ORANGE, "width": 2},
        "marker": {"color": figures.ORANGE, "size": 9, "symbol": "diamond"},
        "hovertext": [_hover(option, scale, kind, voice) for option in front],
        "hoverinfo": "text",
    }


def _limits(
    sizing: Sizing, options: Sequence[SizingOption], scale: Scale, voice: Voice
) -> list[dict[str, Any]]:
    if not options:
        return []
    times = [end / scale.size for one in options for end in (_time(one).low, _time(one).high)]
    kind = sizing.ranked_by
    costs = [end for one in options for end in (_cost(one, kind).low, _cost(one, kind).high)]
    # A budget is a line only where it is held against the cost that is drawn.
    drawn = sizing.request.budget is not None and {option.budget_kind for option in options} == {kind}
    # Each line runs past the other, so that the corner both limits leave is seen.
    if sizing.request.deadline_s is not None:
        times.append(sizing.request.deadline_s / scale.size)
    if drawn and sizing.request.budget is not None:
        costs.append(sizing.request.budget)
    found = []
    if sizing.request.deadline_s is not None:
        at = sizing.request.deadline_s / scale.size
        found.append(_line(voice.gettext("Deadline"), [at, at], [min(costs), max(costs)], figures.VERMILION))
    if drawn and sizing.request.budget is not None:
        at = sizing.request.budget
        found.append(_line(voice.gettext("Budget"), [min(times), max(times)], [at, at], figures.PURPLE))
    return found


def _line(name: str, x: Sequence[float], y: Sequence[float], colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": 2, "dash": "dash"},
        "hoverinfo": "name",
    }
