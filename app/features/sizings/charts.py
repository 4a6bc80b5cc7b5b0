"""Figures of a sizing: options by time and cost with their front, and one system over counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    front = sorted((option for option in options if option.on_front), key=lambda option: _time(option).value)
    limited = sizing.outcome != "front"

    def hover(option: SizingOption) -> str:
        sure = "" if option.probability is None else f"<br>{voice.chance(option.probability)}"
        name, time = plain(f"{option.count} × {option.name}"), voice.quantity(_time(option), scale)
        return f"{name}<br>{time}<br>{voice.quantity(_cost(option, kind))}{sure}"

    def group(name: str, colour: str, symbol: str, chosen: Sequence[SizingOption]) -> figures.Trace:
        return figures.points(
            [_time(option).value / scale.size for option in chosen],
            [_cost(option, kind).value for option in chosen],
            {"color": colour, "size": 7, "symbol": symbol, "opacity": FAINT},
            [hover(option) for option in chosen],
            name=name,
        )

    traces = []
    if meeting := [option for option in options if option.meets and limited]:
        traces.append(group(voice.gettext("meets the requirement"), figures.BLUE, "circle", meeting))
    if missing := [option for option in options if not option.meets]:
        traces.append(group(voice.gettext("misses the requirement"), figures.SILVER, "x", missing))
    if options and not limited:
        traces.append(group(voice.gettext("Options"), figures.BLUE, "circle", options))
    if front:
        times, costs = [_time(option) for option in front], [_cost(option, kind) for option in front]
        traces.append(
            figures.line(
                [time.value / scale.size for time in times],
                [cost.value for cost in costs],
                {"color": figures.ORANGE},
                mode="lines+markers",
                name=voice.gettext("Pareto front (time, cost)"),
                error_x=figures.error_bars(times, scale.size, thickness=1, width=0),
                error_y=figures.error_bars(costs, 1.0, thickness=1, width=0),
                marker={"color": figures.ORANGE, "size": 9, "symbol": "diamond"},
                hovertext=[hover(option) for option in front],
                hoverinfo="text",
            )
        )
    title = f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})"
    money = f"{voice.gettext(AXES[kind])} ({sizing.currency})"
    return figure(
        [*traces, *_limits(sizing, options, scale, voice)],
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(title, type="log", tickformat="~r", dtick="D2"),
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
            _dashed(
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


def _limits(
    sizing: Sizing, options: Sequence[SizingOption], scale: Scale, voice: Voice
) -> list[figures.Trace]:
    if not options:
        return []
    kind, deadline, budget = sizing.ranked_by, sizing.request.deadline_s, sizing.request.budget
    times = [end / scale.size for option in options for end in (_time(option).low, _time(option).high)]
    costs = [end for option in options for end in (_cost(option, kind).low, _cost(option, kind).high)]
    # A budget is a line only where it is held against the cost that is drawn.
    if {option.budget_kind for option in options} != {kind}:
        budget = None
    # Each line runs past the other, so that the corner both limits leave is seen.
    times += [] if deadline is None else [deadline / scale.size]
    costs += [] if budget is None else [budget]
    found = []
    if deadline is not None:
        at = deadline / scale.size
        ends = [min(costs), max(costs)]
        found.append(_dashed(voice.gettext("Deadline"), [at, at], ends, figures.VERMILION))
    if budget is not None:
        ends = [min(times), max(times)]
        found.append(_dashed(voice.gettext("Budget"), ends, [budget, budget], figures.PURPLE))
    return found


def _dashed(name: str, x: Sequence[float], y: Sequence[float], colour: str) -> figures.Trace:
    return figures.line(x, y, {"color": colour, "dash": "dash"}, name=name, hoverinfo="name")
