"""Time-sharing: a simulated year of several teams' jobs, and how many machines keep the wait short."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.catalog.catalog import Catalog
from app.engine.partition import Block, Pool
from app.engine.queueing import mean_wait, offered_load, wait_percentile, waiting_probability
from app.engine.records import Floats
from app.engine.uncertainty import band
from app.engine.units import DAY, HOUR
from app.errors import Message
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.hardware import known_id
from app.estimating.ranges import quantity
from app.estimating.schema import Quantity
from app.features.tenancy.jobs import (
    WARM_UP,
    Interruptions,
    JobSequence,
    Stream,
    draw,
    interruptions,
    least_count,
    most_count,
    offered,
    pool_of,
    streams_of,
)
from app.features.tenancy.model import ClosedForm, CountPoint, LinePoint, QueueAnswer, QueueRequest, TeamWait
from app.features.tenancy.room import Site

PASSING = 100
"""Waiting jobs that are tried at most when one in front is blocked."""


@dataclass(frozen=True, slots=True)
class QueueRun:
    """When each job of a run began."""

    jobs: JobSequence
    start: Floats

    @property
    def wait(self) -> Floats:
        """Wait of each job."""
        return self.start - self.jobs.arrival

    @property
    def end(self) -> Floats:
        """When each job was done."""
        return self.start + self.jobs.duration


class PoolQueue:
    """Jobs in front of a pool of devices.

    ``fifo``: nobody passes. ``backfill``: while the first job waits for devices that running jobs will
    give back, later ones may start if they end before it can (EASY backfilling: D. G. Feitelson and
    A. M. Weil, "Utilization and predictability in scheduling the IBM SP2 with backfilling," IPPS, 1998).
    ``fair``: the first job is that of the team which has used the least, and others may pass as before.
    A job that is first and blocked keeps that place until it starts.
    """

    def __init__(self, jobs: JobSequence, streams: Sequence[Stream], pool: Pool, discipline: str) -> None:
        self.now = 0.0
        self.pool = pool
        self.fair = discipline == "fair"
        self.passing = discipline != "fifo"
        self.arrival = jobs.arrival.tolist()
        self.duration = jobs.duration.tolist()
        self.owner = jobs.stream.tolist()
        self.devices = [stream.devices for stream in streams]
        self.start = [0.0] * len(self.arrival)
        self.waiting: dict[int, None] = {}
        self.by_team: list[deque[int]] = [deque() for _ in streams]
        self.used = [0.0] * len(streams)
        self.running: list[tuple[float, int, tuple[Block, ...]]] = []
        """End, number and place of the jobs at work, the first to end in front: a heap."""
        self.blocked: int | None = None
        """The first job, once it has been found not to fit."""
        self.opening = 0.0
        """When it can start at the latest."""

    def run(self) -> Floats:
        """Let all jobs through and return when each began."""
        running = self.running
        for job, moment in enumerate(self.arrival):
            while running and running[0][0] <= moment:
                self._leave()
            self.now = moment
            self._come(job)
        while running:
            self._leave()
        return np.array(self.start)

    def _come(self, job: int) -> None:
        if self.blocked is None:
            # Nobody waits.
            if not self._begin(job):
                self._wait(job)
                self._block(job)
        elif not self._slips_in(job):
            # Nothing has become free: the newcomer alone could begin.
            self._wait(job)

    def _leave(self) -> None:
        self.now, _, blocks = heappop(self.running)
        self.pool.give_back(blocks)
        if self.waiting:
            self._serve()

    def _serve(self) -> None:
        while self.waiting:
            job = self._first() if self.blocked is None else self.blocked
            if not self._begin(job):
                if self.blocked is None:
                    self._block(job)
                if self.passing:
                    for other in list(islice(self.waiting, PASSING)):
                        if other != job and self._slips_in(other):
                            self._wait_no_more(other)
                return
            self._wait_no_more(job)
            self.blocked = None

    def _first(self) -> int:
        if not self.fair:
            return next(iter(self.waiting))
        teams = [team for team, jobs in enumerate(self.by_team) if jobs]
        return self.by_team[min(teams, key=lambda team: self.used[team])][0]

    def _slips_in(self, job: int) -> bool:
        """Let a job pass those before it, where it keeps the blocked one from nothing."""
        return self.passing and self.now + self.duration[job] <= self.opening and self._begin(job)

    def _begin(self, job: int) -> bool:
        team = self.owner[job]
        devices = self.devices[team]
        blocks = self.pool.place(devices) if devices <= self.pool.free else None
        if blocks is None:
            return False
        took = self.duration[job]
        self.start[job] = self.now
        self.used[team] += took * devices
        heappush(self.running, (self.now + took, job, blocks))
        return True

    def _wait(self, job: int) -> None:
        self.waiting[job] = None
        if self.fair:
            self.by_team[self.owner[job]].append(job)

    def _wait_no_more(self, job: int) -> None:
        del self.waiting[job]
        if self.fair:
            self.by_team[self.owner[job]].remove(job)

    def _block(self, job: int) -> None:
        self.blocked = job
        if self.passing:
            self.opening = self._opening(job)

    def _opening(self, job: int) -> float:
        """Return when a blocked job fits once running ones have left, in the order in which they do."""
        pool, devices = self.pool.copy(), self.devices[self.owner[job]]
        for end, _, blocks in sorted(self.running):
            pool.give_back(blocks)
            found = pool.place(devices)
            if found is not None:
                return end
        raise AssertionError("every job fits an empty pool: the request is checked for it")


def run_line(jobs: JobSequence, streams: Sequence[Stream], pool: Pool, discipline: str) -> QueueRun:
    """Return one run of the line."""
    return QueueRun(jobs, PoolQueue(jobs, streams, pool, discipline).run())


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


SIMULATED = 12_000
"""Jobs simulated for one number of machines, over all runs, where one run has fewer."""

MOST_RUNS = 20

AROUND = 2
"""Numbers of machines shown on either side of the fewest that do."""

MOST_COUNTS = 15

FEW_JOBS = 30
"""Jobs of a run below which the 90th percentile rests on three of them."""

NEAR_FULL = 0.9
"""Share of the machines at work from which waits grow steeply."""

PER_1000_NODE_DAYS = 1000.0 * DAY


@dataclass(frozen=True)
class Experiment:
    """Runs of the same jobs on any number of machines."""

    streams: Sequence[Stream]
    site: Site
    window: Window
    runs: int
    seed: int
    broken: Interruptions | None
    discipline: str
    target: float

    @cached_property
    def jobs(self) -> list[JobSequence]:
        """Jobs of each run: the same for every number of machines."""
        return [
            draw(self.streams, self.window.end, (self.seed, run), self.broken) for run in range(self.runs)
        ]

    def at(self, count: int) -> list[QueueRun]:
        """Return the runs with so many systems."""
        site = Site.of(self.site.entry, count)
        return [run_line(one, self.streams, pool_of(site), self.discipline) for one in self.jobs]

    def teams(self, runs: Sequence[QueueRun]) -> list[TeamWait]:
        """Return the waits of each team."""
        return [
            team_wait(index, stream, runs, self.window, self.target)
            for index, stream in enumerate(self.streams)
        ]

    def point(self, count: int, runs: Sequence[QueueRun], teams: Sequence[TeamWait]) -> CountPoint:
        """Return the waits with so many systems in short."""
        worst = max(teams, key=lambda one: one.ninetieth_wait.value)
        devices = count * self.site.entry.devices
        edges = edges_of(self.window, self.runs)
        return CountPoint(
            count=count,
            devices=devices,
            worst_wait=worst.ninetieth_wait,
            worst_team=worst.team,
            mean_wait=mean_wait_of_all(runs, self.window),
            utilisation=over_pieces([busy(run, self.streams, devices, edges) for run in runs]),
            meets=all(one.meets for one in teams),
        )


def simulate(request: QueueRequest, catalog: Catalog, estimates: Mapping[int, Estimate]) -> QueueAnswer:
    """Return the wait each team sees, and the fewest systems that keep it under the target."""
    entry = catalog.system(known_id(catalog, "system", request.system, "system"))
    site = Site.of(entry, request.count)
    streams = streams_of(request, site, estimates)
    window = Window(WARM_UP * request.days * DAY, (1.0 + WARM_UP) * request.days * DAY)
    expected = sum(one.rate for one in streams) * window.end
    experiment = Experiment(
        streams=streams,
        site=site,
        window=window,
        runs=max(1, min(MOST_RUNS, int(SIMULATED / max(expected, 1.0)))),
        seed=request.seed,
        broken=interruptions(request, site, catalog),
        discipline=request.discipline,
        target=request.target_wait_hours * HOUR,
    )
    runs = experiment.at(request.count)
    teams = experiment.teams(runs)
    needed, points = search(experiment, experiment.point(request.count, runs, teams))
    edges = edges_of(window, experiment.runs)
    return QueueAnswer(
        system=entry.id,
        name=entry.name,
        count=request.count,
        devices=site.devices,
        discipline=request.discipline,
        days=request.days,
        warm_up_days=WARM_UP * request.days,
        runs=experiment.runs,
        batches=experiment.runs * len(window.pieces(experiment.runs)),
        seed=request.seed,
        failures_per_1000_node_days=(
            None if experiment.broken is None else experiment.broken.rate * PER_1000_NODE_DAYS
        ),
        offered_load=offered(streams),
        utilisation=over_pieces([busy(run, streams, site.devices, edges) for run in runs]),
        mean_line=over_pieces([waiting(run, edges) for run in runs]),
        target_wait=experiment.target,
        meets=all(one.meets for one in teams),
        teams=teams,
        line=line_over_time(runs, streams, site.devices, window),
        machines_needed=needed,
        most_searched=most_count(site),
        by_count=points,
        closed_form=closed_form(request, streams, site),
        warnings=list(warnings_of(request, streams, site, teams)),
    )


def search(experiment: Experiment, asked: CountPoint) -> tuple[int | None, list[CountPoint]]:
    """Return the fewest systems that meet the target, by bisection, and the waits around it and as asked.

    The jobs are the same for every number of systems, so that more of them do not wait longer by chance.
    """
    least, most = least_count(experiment.streams, experiment.site), most_count(experiment.site)
    known = {asked.count: asked}

    def at(count: int) -> CountPoint:
        if count not in known:
            runs = experiment.at(count)
            known[count] = experiment.point(count, runs, experiment.teams(runs))
        return known[count]

    needed: int | None = None
    if least <= most:
        below, high, step = least - 1, least, max(1, least // MOST_RUNS)
        while not at(high).meets and high < most:
            below, high, step = high, min(high + step, most), 2 * step
        if at(high).meets:
            while high - below > 1:
                middle = (below + high) // 2
                below, high = (below, middle) if at(middle).meets else (middle, high)
            needed = high
            for count in range(max(least, needed - AROUND), min(most, needed + AROUND) + 1):
                at(count)
    wanted = asked.count if needed is None else needed
    near = sorted(known, key=lambda count: (count != asked.count, abs(count - wanted)))
    return needed, [known[count] for count in sorted(near[:MOST_COUNTS])]


def closed_form(request: QueueRequest, streams: Sequence[Stream], site: Site) -> ClosedForm | None:
    """Return Erlang's formula where it holds: jobs alike, exponential, served as they came."""
    first = streams[0]
    alike = all(replace(one, team="", rate=0.0) == replace(first, team="", rate=0.0) for one in streams)
    if not alike or first.distribution != "exponential" or request.discipline == "fair" or request.failures:
        return None
    inside = first.held <= site.size
    servers = site.pods * (site.size // first.held) if inside else site.devices // first.held
    rate = sum(one.rate for one in streams)
    load = float(offered_load(rate, first.mean))
    if (site.ipus and not inside) or load >= servers:
        return None
    return ClosedForm(
        servers=servers,
        offered_load=load,
        waiting_probability=float(waiting_probability(load, servers)),
        mean_wait=float(mean_wait(rate, first.mean, servers)),
        ninetieth_wait=float(wait_percentile(rate, first.mean, servers, SHARE / 100.0)),
    )


def warnings_of(
    request: QueueRequest, streams: Sequence[Stream], site: Site, teams: Sequence[TeamWait]
) -> Iterable[CheckWarning]:
    """Return what to beware of in the waits."""
    share = offered(streams) / site.devices
    values = {"load": round(offered(streams), 1), "devices": site.devices, "days": request.days}
    if share >= 1.0:
        endless = Message(
            "the work keeps {load} accelerators busy, but there are {devices}: the queue grows "
            "without limit; the waits shown are for {days} days and grow with a longer run",
            values,
        )
        yield CheckWarning.of("queue_overloaded", "serious", endless, "count", "teams")
    elif share >= NEAR_FULL:
        steep = Message(
            "{share} % of the accelerators are busy: near full load, waits grow steeply, and a "
            "little more work makes them much longer",
            {"share": round(100 * share, 1)},
        )
        yield CheckWarning.of("queue_near_full", "caution", steep, "count", "teams")
    if any(one.held > one.devices for one in streams):
        rounded = Message(
            "jobs of {teams} take whole nodes and leave part of them idle",
            {"teams": ", ".join(one.team for one in streams if one.held > one.devices)},
        )
        yield CheckWarning.of("whole_nodes", "info", rounded, "teams")
    if any(one.devices > site.size for one in streams) and site.ipus:
        sessions = Message(
            "jobs of {teams} are sessions over several pods, which an orchestrator must join",
            {"teams": ", ".join(one.team for one in streams if one.devices > site.size)},
        )
        yield CheckWarning.of("session_spans_pods", "info", sessions, "teams")
    few = [one.team for one in teams if one.jobs.value < FEW_JOBS]
    if few:
        thin = Message(
            "{teams}: fewer than {least} jobs in {days} days, so the P90 wait depends on two "
            "or three of them in each run",
            {"teams": ", ".join(few), "least": FEW_JOBS, "days": request.days},
        )
        yield CheckWarning.of("queue_few_jobs", "info", thin, "teams", "days")
