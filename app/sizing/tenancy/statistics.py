"""What runs of the line come to: waits by team, the line over time, ranges over pieces of the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.engine.records import Floats
from app.engine.uncertainty import band
from app.engine.units import DAY, HOUR
from app.sizing.document import Quantity
from app.sizing.quantities import quantity
from app.sizing.tenancy.documents import LinePoint, TeamWait
from app.sizing.tenancy.jobs import Stream
from app.sizing.tenancy.line import QueueRun

LEAST_PIECES = 5
"""Pieces over which a range is taken, at least."""
Measure: TypeAlias = Callable[[Floats], float]

SHARE = 90.0
"""Percentile of the waits that is held against the target."""
MOST_POINTS = 60
"""Points of the line over time."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time of a run that is counted."""

    begin: float
    end: float

    def pieces(self, runs: int) -> list[tuple[float, float]]:
        """Return the stretches of one run that ranges are taken over."""
        count = -(-LEAST_PIECES // runs)
        edges = np.linspace(self.begin, self.end, count + 1)
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def ranged(value: float, pieces: Sequence[float], unit: str) -> Quantity:
    """Return a value with the 10th and 90th percentile over pieces, widened to hold it."""
    return quantity(value, np.array(pieces), unit) if pieces else Quantity.exact(value, unit)


def ranged_over_time(series: Floats, unit: str) -> list[Quantity]:
    """Return the mean at each moment over runs, of shape (runs, moments), with its range."""
    values = np.mean(series, axis=0)
    ends = zip(values, *band(series.T, values), strict=True)
    return [Quantity(value=value, low=low, high=high, unit=unit) for value, low, high in ends]


def cut(runs: Sequence[QueueRun], window: Window) -> Iterator[tuple[QueueRun, npt.NDArray[np.bool_]]]:
    """Give each run with the jobs that came in each of its pieces."""
    pieces = window.pieces(len(runs))
    for run in runs:
        for begin, end in pieces:
            yield run, (run.jobs.arrival >= begin) & (run.jobs.arrival < end)


def team_wait(
    index: int, stream: Stream, runs: Sequence[QueueRun], window: Window, target: float
) -> TeamWait:
    """Return the waits of one team; a job is counted by when it came."""
    waits, per_run, finished = [], [], []
    for run, inside in cut(runs, window):
        waits.append(run.wait[inside & (run.jobs.stream == index)])
    for run in runs:
        mine = (run.jobs.stream == index) & (run.jobs.arrival >= window.begin)
        per_run.append(float(np.sum(mine)))
        finished.append(float(np.sum(mine & (run.end <= window.end))))
    pooled = np.concatenate(waits)
    some = [one for one in waits if len(one)]

    def over(measure: Measure, unit: str = "s") -> Quantity:
        value = measure(pooled) if len(pooled) else 0.0
        return ranged(value, [measure(one) for one in some], unit)

    ninetieth = over(lambda one: float(np.percentile(one, SHARE)))
    return TeamWait(
        team=stream.team,
        devices=stream.devices,
        hours=stream.mean / HOUR,
        distribution=stream.distribution,
        jobs=ranged(float(np.mean(per_run)), per_run, "1"),
        finished=ranged(float(np.mean(finished)), finished, "1"),
        mean_wait=over(lambda one: float(np.mean(one))),
        median_wait=over(lambda one: float(np.median(one))),
        ninetieth_wait=ninetieth,
        longest_wait=ranged(
            float(np.mean([np.max(one) for one in some])) if some else 0.0,
            [float(np.max(one)) for one in some],
            "s",
        ),
        at_once=over(lambda one: float(np.mean(one <= 0.0)), "1") if some else Quantity.exact(1.0, "1"),
        meets=ninetieth.value <= target,
    )


def mean_wait_of_all(runs: Sequence[QueueRun], window: Window) -> Quantity:
    """Return the mean wait over all teams."""
    waits = [run.wait[inside] for run, inside in cut(runs, window)]
    pooled = np.concatenate(waits)
    value = float(np.mean(pooled)) if len(pooled) else 0.0
    return ranged(value, [float(np.mean(one)) for one in waits if len(one)], "s")


def means(times: Floats, until: Floats, weights: Floats, edges: Floats) -> Floats:
    """Return how many (weighed) intervals are open on average between each two edges."""

    def passed(moments: Floats, weight: Floats) -> Floats:
        order = np.argsort(moments)
        moments, weight = moments[order], weight[order]
        count = np.searchsorted(moments, edges)
        heavy = np.concatenate([[0.0], np.cumsum(weight)])
        timed = np.concatenate([[0.0], np.cumsum(weight * moments)])
        return np.asarray(edges * heavy[count] - timed[count])

    area = passed(times, weights) - passed(until, weights)
    return np.asarray(np.diff(area) / np.diff(edges))


def waiting(run: QueueRun, edges: Floats) -> Floats:
    """Return the jobs that wait on average between each two edges."""
    return means(run.jobs.arrival, run.start, np.ones_like(run.start), edges)


def busy(run: QueueRun, streams: Sequence[Stream], devices: int, edges: Floats) -> Floats:
    """Return the share of the accelerators that is held between each two edges."""
    held = np.array([stream.held for stream in streams], dtype=float)[run.jobs.stream]
    return means(run.start, run.end, held, edges) / devices


def over_pieces(series: Sequence[Floats]) -> Quantity:
    """Return the mean of shares over all pieces of all runs, with its range."""
    pieces = np.concatenate(series).tolist()
    return ranged(float(np.mean(pieces)), pieces, "1")


def edges_of(window: Window, runs: int) -> Floats:
    """Return the edges of the pieces of one run."""
    pieces = window.pieces(runs)
    return np.array([begin for begin, _ in pieces] + [pieces[-1][1]])


def line_over_time(
    runs: Sequence[QueueRun], streams: Sequence[Stream], devices: int, window: Window
) -> list[LinePoint]:
    """Return the line and the devices at work over time, mean and range over the runs."""
    days = (window.end - window.begin) / DAY
    edges = np.linspace(window.begin, window.end, min(MOST_POINTS, max(int(days), 1)) + 1)
    lines = ranged_over_time(np.array([waiting(run, edges) for run in runs]), "1")
    shares = ranged_over_time(np.array([busy(run, streams, devices, edges) for run in runs]), "1")
    middles = (edges[:-1] + edges[1:]) / 2.0 - window.begin
    return [
        LinePoint(day=float(middle / DAY), jobs=jobs, busy=share)
        for middle, jobs, share in zip(middles, lines, shares, strict=True)
    ]
