"""Figures of a waiting line: waits by team, by number of machines, and the line over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.engine.units import DAY, HOUR
from app.estimating.schema import Quantity
from app.features.tenancy.model import CountPoint, QueueAnswer, TeamWait
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names, plain, thin
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

LONG = 4.0 * DAY
"""Target from which waits are told in days."""

ABOVE = 4.0
"""Targets up to which waits by number of machines are drawn; overloaded ones leave the plot."""


def wait_scale(answer: QueueAnswer) -> Scale:
    """Return one unit for all waits of an answer: hours, or days where the target is long."""
    return Scale(DAY, "d") if answer.target_wait >= LONG else Scale(HOUR, "h")


def waits_by_team(answer: QueueAnswer, voice: Voice) -> Figure:
    """Return the wait nine jobs in ten do not exceed by team, with range, mean and target."""
    scale = wait_scale(answer)
    rows = list(range(len(answer.teams)))
    ninetieth = [team.ninetieth_wait for team in answer.teams]
    means = [team.mean_wait for team in answer.teams]
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": voice.gettext("P90 wait"),
            "y": rows,
            "x": [wait.value / scale.size for wait in ninetieth],
            "width": 0.5,
            "marker": {"color": [colour(team) for team in answer.teams]},
            "error_x": whiskers(ninetieth, scale),
            "hovertext": [voice.quantity(wait, scale) for wait in ninetieth],
            "hoverinfo": "text",
            "showlegend": False,
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": voice.gettext("Mean wait"),
            "y": rows,
            "x": [wait.value / scale.size for wait in means],
            "marker": {"color": figures.ORANGE, "size": 10, "symbol": "diamond"},
            "hovertext": [voice.quantity(wait, scale) for wait in means],
            "hoverinfo": "text",
        },
        target_line([answer.target_wait / scale.size] * 2, [-0.5, len(rows) - 0.5], voice),
    ]
    labels = names([team.team for team in answer.teams])
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(wait_title(scale, voice), rangemode="tozero"),
        yaxis=labels | {"type": "linear", "range": [len(rows) - 0.5, -0.5], "autorange": False},
    )


def waits_by_count(answer: QueueAnswer, voice: Voice) -> Figure:
    """Return the wait of the team worst off over the number of systems, with the target."""
    scale = wait_scale(answer)
    points = answer.by_count
    counts = [point.count for point in points]
    waits = [point.worst_wait for point in points]
    target = answer.target_wait / scale.size
    top = ABOVE * target
    highest = max(wait.high / scale.size for wait in waits)
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": voice.gettext("Longest-waiting team"),
        "x": counts,
        "y": [wait.value / scale.size for wait in waits],
        "error_y": whiskers(waits, scale),
        "line": {"color": figures.BLUE, "width": 2},
        "marker": {
            "size": 9,
            "color": [colour(point) for point in points],
            "symbol": ["circle" if point.meets else "x" for point in points],
        },
        "hovertext": [
            f"{voice.number(point.count)} × {plain(answer.name)}<br>{plain(point.worst_team)}<br>"
            f"{voice.quantity(point.worst_wait, scale)}"
            for point in points
        ],
        "hoverinfo": "text",
    }
    return figure(
        [trace, target_line([min(counts) - 0.5, max(counts) + 0.5], [target] * 2, voice)],
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(
            f"{voice.gettext('Systems')} ({plain(answer.name)})",
            tickmode="array",
            tickvals=counts,
            ticktext=[voice.number(count) for count in counts],
        ),
        yaxis=axis(
            wait_title(scale, voice),
            range=[0.0, min(highest * 1.05, top) if highest > target else top / 2.0],
        ),
    )


def line_over_time(answer: QueueAnswer, voice: Voice) -> Figure:
    """Return the jobs that wait over the run, mean and range over the runs."""
    days = [point.day for point in answer.line]
    waiting = [point.jobs for point in answer.line]
    band = {
        "type": "scatter",
        "mode": "lines",
        "name": voice.gettext("80 % of simulation runs"),
        "x": [*days, *reversed(days)],
        "y": [*(jobs.high for jobs in waiting), *(jobs.low for jobs in reversed(waiting))],
        "fill": "toself",
        "fillcolor": thin(figures.BLUE, 0.16),
        "line": {"color": "rgba(0,0,0,0)", "width": 0},
        "hoverinfo": "skip",
    }
    mean = {
        "type": "scatter",
        "mode": "lines",
        "name": voice.gettext("mean of simulation runs"),
        "x": days,
        "y": [jobs.value for jobs in waiting],
        "line": {"color": figures.BLUE, "width": 2},
        "hovertext": [voice.number(jobs.value) for jobs in waiting],
        "hoverinfo": "text",
    }
    return figure(
        [band, mean] if answer.runs > 1 else [mean],
        showlegend=answer.runs > 1,
        legend=legend_above(),
        xaxis=axis(voice.gettext("Days since start")),
        yaxis=axis(voice.gettext("Waiting jobs"), rangemode="tozero"),
    )


def wait_title(scale: Scale, voice: Voice) -> str:
    return f"{voice.gettext('P90 wait')} ({voice.gettext(scale.unit)})"


def colour(waits: TeamWait | CountPoint) -> str:
    """Return the colour of what meets the target or does not."""
    return figures.BLUE if waits.meets else figures.VERMILION


def whiskers(values: Sequence[Quantity], scale: Scale) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [(wait.high - wait.value) / scale.size for wait in values],
        "arrayminus": [(wait.value - wait.low) / scale.size for wait in values],
        "thickness": 1.5,
        "width": 5,
    }


def target_line(x: Sequence[float], y: Sequence[float], voice: Voice) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": voice.gettext("Target"),
        "x": list(x),
        "y": list(y),
        "line": {"color": figures.GREY, "width": 2, "dash": "dash"},
        "hoverinfo": "name",
    }
