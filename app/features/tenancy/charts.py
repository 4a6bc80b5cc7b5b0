"""Figures of a waiting line: waits by team, by number of machines, and the line over time."""

from __future__ import annotations

from app.engine.units import DAY, HOUR
from app.features.tenancy.model import CountPoint, QueueAnswer, TeamWait
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, reach, whiskers
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

LONG = 4.0 * DAY
"""Target from which waits are shown in days."""

ABOVE = 4.0
"""Waits are drawn up to so many times the target; longer ones are cut off."""


def wait_scale(answer: QueueAnswer) -> Scale:
    """Return one unit for all waits: hours, or days where the target is long."""
    return Scale(DAY, "d") if answer.target_wait >= LONG else Scale(HOUR, "h")


def waits_by_team(answer: QueueAnswer, voice: Voice) -> Figure:
    scale, rows = wait_scale(answer), range(len(answer.teams))
    ninetieth = [team.ninetieth_wait for team in answer.teams]
    means = [team.mean_wait for team in answer.teams]
    target = answer.target_wait / scale.size
    waits = figures.bar(
        voice.gettext("P90 wait"),
        [wait.value / scale.size for wait in ninetieth],
        rows,
        (figures.BLUE, ""),
        [voice.quantity(wait, scale) for wait in ninetieth],
        marker={"color": [colour(team) for team in answer.teams]},
        error_x=whiskers(ninetieth, scale.size),
    )
    mean = figures.points(
        [wait.value / scale.size for wait in means],
        rows,
        {"color": figures.ORANGE, "size": 10, "symbol": "diamond"},
        [voice.quantity(wait, scale) for wait in means],
        name=voice.gettext("Mean wait"),
    )
    limit = figures.limit(voice.gettext("Target"), [target] * 2, [-0.5, len(rows) - 0.5])
    extent = [target, *reach(ninetieth, scale.size)]
    across = axis(voice.gettext("P90 wait"), extent, voice.number, unit=voice.gettext(scale.unit), zero=True)
    return figures.lying([waits, mean, limit], [team.team for team in answer.teams], across)


def waits_by_count(answer: QueueAnswer, voice: Voice) -> Figure:
    scale, points = wait_scale(answer), answer.by_count
    counts, waits = [point.count for point in points], [point.worst_wait for point in points]
    target = answer.target_wait / scale.size
    labels = [
        (voice.number(point.count), voice.quantity(point.worst_wait, scale), point.worst_team)
        for point in points
    ]
    name = voice.gettext("Longest-waiting team")
    *band, drawn = figures.curve(name, counts, waits, scale.size, figures.BLUE, labels, "circle")
    drawn["marker"] |= {
        "color": [colour(point) for point in points],
        "symbol": ["circle" if point.meets else "x" for point in points],
        "size": 9,
    }
    systems, title = voice.gettext("Systems"), voice.gettext("P90 wait")
    ends = (0.0, min(ABOVE * target, 1.05 * max(target, *reach(waits, scale.size))))
    return figure(
        [*band, drawn, figures.limit(voice.gettext("Target"), [min(counts), max(counts)], [target] * 2)],
        axis(systems, counts, voice.number, unit=answer.name, at=counts),
        axis(title, (), voice.number, unit=voice.gettext(scale.unit), ends=ends),
        [systems, title, voice.gettext("Team")],
    )


def line_over_time(answer: QueueAnswer, voice: Voice) -> Figure:
    """Return the waiting jobs over time, mean and range over the runs."""
    days, waiting = [point.day for point in answer.line], [point.jobs for point in answer.line]
    name = voice.gettext("mean of simulation runs")
    labels = [
        (
            voice.number(day),
            f"{voice.number(jobs.value)} ({voice.number(jobs.low)}–{voice.number(jobs.high)})",
        )
        for day, jobs in zip(days, waiting, strict=True)
    ]
    *band, mean = figures.curve(name, days, waiting, 1.0, figures.BLUE, labels)
    for trace in band:
        trace |= {"name": voice.gettext("80 % of simulation runs"), "showlegend": True}
    day, jobs = voice.gettext("Days since start"), voice.gettext("Waiting jobs")
    up = axis(jobs, reach(waiting), voice.number, zero=True)
    return figure([*band, mean], axis(day, days, voice.number, zero=True), up, [day, jobs])


def colour(waits: TeamWait | CountPoint) -> str:
    return figures.BLUE if waits.meets else figures.VERMILION
