"""Figures of a sizing: options by time and cost with their front, and one system over counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.estimating.request import BudgetKind
from app.estimating.schema import Quantity
from app.features.estimates.charts import Series, scaling, scaling_cost
from app.features.sizings.model import ScalingCurve, Sizing, SizingOption
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, reach, time_scale, whiskers
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

FAINT, TALL = 0.55, 420

AXES: Mapping[BudgetKind, str] = {
    "purchase": "Purchase with freight and installation",
    "run": "Cost per run",
    "term": "Outlay",
}


def drawn_kind(sizing: Sizing) -> BudgetKind:
    """Return the money that is drawn: what the budget limits, else the outlay."""
    return sizing.request.budget_kind or "term"


def frontier(sizing: Sizing, voice: Voice) -> Figure:
    """Draw time against cost of every priced option, with the front and the limits as lines."""
    kind = drawn_kind(sizing)
    options = [option for option in sizing.options if option.time_to_train and getattr(option.costs, kind)]
    scale = time_scale([option.time_to_train for option in options])
    front = sorted((option for option in options if option.on_front), key=lambda option: _time(option).value)
    limited = sizing.request.question.limited

    def tips(option: SizingOption) -> tuple[str, str, str, str]:
        name, time = f"{option.count} × {option.name}", voice.quantity(_time(option), scale)
        return name, time, voice.quantity(_cost(option, kind)), voice.chance(option.probability)

    def group(name: str, colour: str, symbol: str, chosen: Sequence[SizingOption]) -> figures.Trace:
        return figures.points(
            [_time(option).value / scale.size for option in chosen],
            [_cost(option, kind).value for option in chosen],
            {"color": colour, "size": 7, "symbol": symbol, "opacity": FAINT},
            [tips(option) for option in chosen],
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
            figures.points(
                [time.value / scale.size for time in times],
                [cost.value for cost in costs],
                {"color": figures.ORANGE, "size": 9, "symbol": "diamond"},
                [tips(option) for option in front],
                mode="lines+markers",
                name=voice.gettext("Pareto front (time, cost)"),
                line={"color": figures.ORANGE, "width": 2},
                error_x=whiskers(times, scale.size),
                error_y=whiskers(costs, 1.0),
            )
        )
    time, money = voice.gettext("Training time"), voice.gettext(AXES[kind])
    limits = _limits(sizing, options, scale, voice)
    across = [end for trace in (*traces, *limits) for end in trace["x"]]
    up = [end for trace in (*traces, *limits) for end in trace["y"]]
    ends = (
        reach([_time(option) for option in front], scale.size),
        reach(_cost(option, kind) for option in front),
    )
    return figure(
        [*traces, *limits],
        axis(time, [*across, *ends[0]], voice.number, unit=voice.gettext(scale.unit), log=True),
        axis(money, [*up, *ends[1]], voice.amount, unit=sizing.currency, log=True),
        [voice.gettext("Option"), time, money, voice.gettext("Probability")],
        height=TALL,
    )


def curve(scaling_curve: ScalingCurve, voice: Voice) -> list[Figure]:
    """Draw time to train over accelerators, and the cost of the run if all of them are known."""
    points = scaling_curve.points
    counts, devices = [point.count for point in points], [point.accelerators for point in points]
    sizes = scaling_curve.name, counts, devices, [point.idle_accelerators for point in points]
    drawn = [scaling([Series(*sizes, [point.time_to_train for point in points])], voice)]
    costs = [point.cost for point in points if point.cost is not None]
    if len(costs) == len(points):
        drawn.append(scaling_cost([Series(*sizes, costs)], costs[0].unit, voice))
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
    kind, deadline, budget = drawn_kind(sizing), sizing.request.deadline_s, sizing.request.budget
    times = [end / scale.size for option in options for end in (_time(option).low, _time(option).high)]
    costs = [end for option in options for end in (_cost(option, kind).low, _cost(option, kind).high)]
    # A budget is a line only if it limits the kind of cost that is drawn.
    if sizing.request.budget_kind != kind:
        budget = None
    # Each line extends past the other, so that their corner is visible.
    times += [] if deadline is None else [deadline / scale.size]
    costs += [] if budget is None else [budget]
    lines = []
    if deadline is not None:
        at = deadline / scale.size
        ends = [min(costs), max(costs)]
        lines.append(figures.limit(voice.gettext("Deadline"), [at, at], ends))
    if budget is not None:
        ends = [min(times), max(times)]
        lines.append(figures.limit(voice.gettext("Budget"), ends, [budget, budget], figures.PURPLE))
    return lines
