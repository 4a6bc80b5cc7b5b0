"""Figures of a waiting line: waits by team, by number of machines, and the line over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.engine.units import DAY, HOUR
from app.estimating.schema import Quantity
from app.features.tenancy.model import QueueAnswer
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names, plain
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

LONG = 4.0 * DAY
"""Target from which waits are told in days."""

ABOVE = 4.0
"""Targets up to which waits by number of machines are drawn; overloaded ones leave the plot."""

BAND = "rgba(0,114,178,0.16)"


def wait_scale(answer: QueueAnswer) -> Scale:
    """Return one unit for all waits of an answer: hours, or days where the target is long."""
    return Scale(DAY, "d") if answer.target_wait >= LONG else Scale(HOUR, "h")


def waits_by_team(answer: QueueAnswer, voice: Voice) -> Figure:
    """Return the wait nine jobs in ten do not exceed by team, with range, mean and target."""
    scale = wait_scale(answer)
    rows = list(range(len(answer.teams)))
    ninetieth = [one.ninetieth_wait for one in answer.teams]
    colours = [figures.BLUE if one.meets else figures.VERMILION for one in answer.teams]
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": voice.gettext("P90 wait"),
            "y": rows,
            "x": [one.value / scale.size for one in ninetieth],
            "width": 0.5,
            "marker": {"color": colours},
            "error_x": whiskers(ninetieth, scale),
            "hovertext": [voice.quantity(one, scale) for one in ninetieth],
            "hoverinfo": "text",
            "showlegend": False,
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": voice.gettext("Mean wait"),
            "y": rows,
            "x": [one.mean_wait.value / scale.size for one in answer.teams],
            "marker": {"color": figures.ORANGE, "size": 10, "symbol": "diamond"},
            "hovertext": [voice.quantity(one.mean_wait, scale) for one in answer.teams],
            "hoverinfo": "text",
        },
        line(
            voice.gettext("Target"),
            [answer.target_wait / scale.size] * 2,
            [-0.5, len(rows) - 0.5],
            figures.GREY,
        ),
    ]
    title = f"{voice.gettext('P90 wait')} ({voice.gettext(scale.unit)})"
    labels = names([one.team for one in answer.teams])
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(title, rangemode="tozero"),
        yaxis=labels | {"type": "linear", "range": [len(rows) - 0.5, -0.5], "autorange": False},
    )


def waits_by_count(answer: QueueAnswer, voice: Voice) -> Figure:
    """Return the wait of the team worst off over the number of systems, with the target."""
    scale = wait_scale(answer)
    points = answer.by_count
    counts = [point.count for point in points]
    waits = [point.worst_wait for point in points]
    top = ABOVE * answer.target_wait / scale.size
    highest = max(one.high / scale.size for one in waits)
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": voice.gettext("Longest-waiting team"),
            "x": counts,
            "y": [one.value / scale.size for one in waits],
            "error_y": whiskers(waits, scale),
            "line": {"color": figures.BLUE, "width": 2},
            "marker": {
                "size": 9,
                "color": [figures.BLUE if point.meets else figures.VERMILION for point in points],
                "symbol": ["circle" if point.meets else "x" for point in points],
            },
            "hovertext": [
                f"{voice.number(point.count)} × {plain(answer.name)}<br>{plain(point.worst_team)}<br>"
                f"{voice.quantity(point.worst_wait, scale)}"
                for point in points
            ],
            "hoverinfo": "text",
        },
        line(
            voice.gettext("Target"),
            [min(counts) - 0.5, max(counts) + 0.5],
            [answer.target_wait / scale.size] * 2,
            figures.GREY,
        ),
    ]
    reach = min(highest * 1.05, top) if highest > answer.target_wait / scale.size else top / 2.0
    title = f"{voice.gettext('P90 wait')} ({voice.gettext(scale.unit)})"
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(
            f"{voice.gettext('Systems')} ({plain(answer.name)})",
            tickmode="array",
            tickvals=counts,
            ticktext=[voice.number(count) for count in counts],
        ),
        yaxis=axis(title, range=[0.0, reach]),
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
        "y": [*(one.high for one in waiting), *(one.low for one in reversed(waiting))],
        "fill": "toself",
        "fillcolor": BAND,
        "line": {"color": "rgba(0,0,0,0)", "width": 0},
        "hoverinfo": "skip",
    }
    mean = {
        "type": "scatter",
        "mode": "lines",
        "name": voice.gettext("mean of simulation runs"),
        "x": days,
        "y": [one.value for one in waiting],
        "line": {"color": figures.BLUE, "width": 2},
        "hovertext": [voice.number(one.value) for one in waiting],
        "hoverinfo": "text",
    }
    return figure(
        [band, mean] if answer.runs > 1 else [mean],
        showlegend=answer.runs > 1,
        legend=legend_above(),
        xaxis=axis(voice.gettext("Days since start")),
        yaxis=axis(voice.gettext("Waiting jobs"), rangemode="tozero"),
    )


def whiskers(values: Sequence[Quantity], scale: Scale) -> dict[str, Any]:
    """Return ranges as error bars."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [(one.high - one.value) / scale.size for one in values],
        "arrayminus": [(one.value - one.low) / scale.size for one in values],
        "thickness": 1.5,
        "width": 5,
    }


def line(name: str, x: Sequence[float], y: Sequence[float], colour: str) -> dict[str, Any]:
    """Return a dashed line."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": 2, "dash": "dash"},
        "hoverinfo": "name",
    }
