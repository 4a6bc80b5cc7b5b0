"""Time-sharing: a simulated year of several teams' jobs, and how many machines keep the wait short."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice, pairwise

import numpy as np

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
from app.estimating.schema import Quantity, filled
from app.features.tenancy.jobs import (
    WARM_UP,
    Interruptions,
    JobSequence,
    Stream,
    busy_devices,
    draw,
    interruptions,
    least_count,
    most_count,
    pool_of,
    streams_of,
)
from app.features.tenancy.model import ClosedForm, CountPoint, LinePoint, QueueAnswer, QueueRequest, TeamWait
from app.features.tenancy.site import Site

MOST_BACKFILLED = 100
"""Waiting jobs that are tried at most while the first one is blocked."""


@dataclass(frozen=True, slots=True)
class QueueRun:
    """When each job of a run began."""

    jobs: JobSequence
    start: Floats

    @property
    def wait(self) -> Floats:
        return self.start - self.jobs.arrival

    @property
    def end(self) -> Floats:
        return self.start + self.jobs.duration


class PoolQueue:
    """Event-driven simulation of jobs that share a pool of devices.

    ``fifo``: jobs start in order of arrival. ``backfill``: while the first job waits for devices that running
    jobs will give back, later ones may start if they end before it can (EASY backfilling: D. G. Feitelson and
    A. M. Weil, "Utilization and predictability in scheduling the IBM SP2 with backfilling," IPPS, 1998).
    ``fair``: the first job is that of the team with the least usage; others backfill.
    A blocked first job stays first until it starts.
    """

    def __init__(self, jobs: JobSequence, streams: Sequence[Stream], pool: Pool, discipline: str) -> None:
        self.now = 0.0
        self.pool = pool
        self.fair = discipline == "fair"
        self.backfill = discipline != "fifo"
        self.arrival = jobs.arrival.tolist()
        self.duration = jobs.duration.tolist()
        self.owner = jobs.stream.tolist()
        self.devices = [stream.devices for stream in streams]
        self.start = [0.0] * len(self.arrival)
        self.waiting: dict[int, None] = {}
        self.by_team: list[deque[int]] = [deque() for _ in streams]
        self.usage = [0.0] * len(streams)
        self.running: list[tuple[float, int, tuple[Block, ...]]] = []
        """Heap of the running jobs: end, number and devices."""
        self.blocked: int | None = None
        """First job in the queue, once it is known not to fit."""
        self.shadow_time = 0.0
        """Latest start of the blocked job; only jobs that end before it may overtake."""

    def run(self) -> Floats:
        """Run all jobs and return the start of each."""
        running = self.running
        for job, moment in enumerate(self.arrival):
            while running and running[0][0] <= moment:
                self._finish_next()
            self.now = moment
            self._arrive(job)
        while running:
            self._finish_next()
        return np.array(self.start)

    def _arrive(self, job: int) -> None:
        if self.blocked is None:
            if not self._try_start(job):
                self._enqueue(job)
                self._block(job)
        elif not self._backfills(job):
            # No device has been freed: only the new job could start.
            self._enqueue(job)

    def _finish_next(self) -> None:
        self.now, _, blocks = heappop(self.running)
        self.pool.give_back(blocks)
        if self.waiting:
            self._serve()

    def _serve(self) -> None:
        while self.waiting:
            job = self._first() if self.blocked is None else self.blocked
            if not self._try_start(job):
                if self.blocked is None:
                    self._block(job)
                if self.backfill:
                    for other in list(islice(self.waiting, MOST_BACKFILLED)):
                        if other != job and self._backfills(other):
                            self._dequeue(other)
                return
            self._dequeue(job)
            self.blocked = None

    def _first(self) -> int:
        if not self.fair:
            return next(iter(self.waiting))
        teams = [team for team, jobs in enumerate(self.by_team) if jobs]
        return self.by_team[min(teams, key=lambda team: self.usage[team])][0]

    def _backfills(self, job: int) -> bool:
        """Start a job ahead of the blocked one if it ends before that can start."""
        return self.backfill and self.now + self.duration[job] <= self.shadow_time and self._try_start(job)

    def _try_start(self, job: int) -> bool:
        team = self.owner[job]
        devices = self.devices[team]
        blocks = self.pool.place(devices) if devices <= self.pool.free else None
        if blocks is None:
            return False
        duration = self.duration[job]
        self.start[job] = self.now
        self.usage[team] += duration * devices
        heappush(self.running, (self.now + duration, job, blocks))
        return True

    def _enqueue(self, job: int) -> None:
        self.waiting[job] = None
        if self.fair:
            self.by_team[self.owner[job]].append(job)

    def _dequeue(self, job: int) -> None:
        del self.waiting[job]
        if self.fair:
            self.by_team[self.owner[job]].remove(job)

    def _block(self, job: int) -> None:
        self.blocked = job
        if self.backfill:
            self.shadow_time = self._earliest_start(job)

    def _earliest_start(self, job: int) -> float:
        """Return when enough running jobs have ended for a blocked job to fit."""
        pool, devices = self.pool.copy(), self.devices[self.owner[job]]
        for end, _, blocks in sorted(self.running):
            pool.give_back(blocks)
            if pool.place(devices) is not None:
                return end
        raise AssertionError("every job fits an empty pool: the request is checked for it")


def run_line(jobs: JobSequence, streams: Sequence[Stream], pool: Pool, discipline: str) -> QueueRun:
    return QueueRun(jobs, PoolQueue(jobs, streams, pool, discipline).run())


LEAST_PIECES = 5
"""Fewest batches from which a range is computed."""

SHARE = 90.0
"""Percentile of the waits that is compared with the target."""

MOST_POINTS = 60
"""Most points of the queue over time."""

SIMULATED = 12_000
"""Jobs simulated for one number of machines, over all runs, where one run has fewer."""

MOST_RUNS = 20
AROUND = 2
"""Numbers of machines shown on either side of the smallest sufficient one."""

MOST_COUNTS = 15
FEW_JOBS = 30
"""Jobs of a run below which the 90th percentile depends on three of them."""

NEAR_FULL = 0.9
"""Utilisation from which waits grow steeply."""

PER_1000_NODE_DAYS = 1000.0 * DAY


def averaged(values: Sequence[float], unit: str) -> Quantity:
    """Return the mean of values of runs or batches, with their range."""
    return quantity(float(np.mean(values)), np.array(values), unit) if values else Quantity.exact(0.0, unit)


def pooled(waits: Sequence[Floats], measure: Callable[[Floats], np.floating], unit: str = "s") -> Quantity:
    """Return a measure of the waits of all batches together, with its range over the batches."""
    batches = [batch for batch in waits if len(batch)]
    if not batches:
        return Quantity.exact(0.0, unit)
    values = np.array([measure(batch) for batch in batches])
    return quantity(float(measure(np.concatenate(batches))), values, unit)


def ranged_over_time(series: Floats, unit: str) -> list[Quantity]:
    """Return the mean at each moment over runs, of shape (runs, moments), with its range."""
    values = np.mean(series, axis=0)
    ends = zip(values, *band(series.T, values), strict=True)
    return [Quantity(value=value, low=low, high=high, unit=unit) for value, low, high in ends]


def means(times: Floats, until: Floats, weights: Floats, edges: Floats) -> Floats:
    """Return the mean (weighted) number of open intervals between each two edges."""

    def cumulated(moments: Floats, weights: Floats) -> Floats:
        order = np.argsort(moments)
        moments, weights = moments[order], weights[order]
        count = np.searchsorted(moments, edges)
        total = np.concatenate([[0.0], np.cumsum(weights)])
        moment = np.concatenate([[0.0], np.cumsum(weights * moments)])
        return np.asarray(edges * total[count] - moment[count])

    area = cumulated(times, weights) - cumulated(until, weights)
    return np.asarray(np.diff(area) / np.diff(edges))


def waiting(run: QueueRun, edges: Floats) -> Floats:
    """Return the mean number of waiting jobs between each two edges."""
    return means(run.jobs.arrival, run.start, np.ones_like(run.start), edges)


def busy(run: QueueRun, streams: Sequence[Stream], devices: int, edges: Floats) -> Floats:
    """Return the mean share of the accelerators in use between each two edges."""
    job_devices = np.array([stream.occupied for stream in streams], dtype=float)[run.jobs.stream]
    return means(run.start, run.end, job_devices, edges) / devices


@dataclass(frozen=True)
class Experiment:
    """The same jobs, run on any number of systems."""

    request: QueueRequest
    streams: Sequence[Stream]
    site: Site
    failures: Interruptions | None

    @property
    def begin(self) -> float:
        """End of the warm-up. [s]"""
        return WARM_UP * self.request.days * DAY

    @property
    def end(self) -> float:
        return (1.0 + WARM_UP) * self.request.days * DAY

    @property
    def target(self) -> float:
        """Target for the P90 wait. [s]"""
        return self.request.target_wait_hours * HOUR

    @cached_property
    def runs(self) -> int:
        expected = sum(stream.rate for stream in self.streams) * self.end
        return max(1, min(MOST_RUNS, int(SIMULATED / max(expected, 1.0))))

    @cached_property
    def edges(self) -> Floats:
        """Edges of the batches of one run. [s]"""
        return np.linspace(self.begin, self.end, -(-LEAST_PIECES // self.runs) + 1)

    @cached_property
    def jobs(self) -> list[JobSequence]:
        return [
            draw(self.streams, self.end, (self.request.seed, run), self.failures) for run in range(self.runs)
        ]

    def simulate(self, count: int) -> Simulation:
        site = Site.of(self.site.entry, count)
        runs = [run_line(jobs, self.streams, pool_of(site), self.request.discipline) for jobs in self.jobs]
        return Simulation(self, site, runs)


@dataclass(frozen=True)
class Simulation:
    """Runs on a number of systems; a job is counted in the batch in which it arrived."""

    experiment: Experiment
    site: Site
    runs: Sequence[QueueRun]

    def waits(self, *streams: int) -> list[Floats]:
        batches = []
        for run in self.runs:
            arrival, mine = run.jobs.arrival, np.isin(run.jobs.stream, streams)
            for begin, end in pairwise(self.experiment.edges):
                batches.append(run.wait[mine & (arrival >= begin) & (arrival < end)])
        return batches

    @cached_property
    def teams(self) -> list[TeamWait]:
        return [self.team(index, stream) for index, stream in enumerate(self.experiment.streams)]

    def team(self, index: int, stream: Stream) -> TeamWait:
        waits = self.waits(index)
        arrived = [
            (run.jobs.stream == index) & (run.jobs.arrival >= self.experiment.begin) for run in self.runs
        ]
        finished = [
            mine & (run.end <= self.experiment.end) for mine, run in zip(arrived, self.runs, strict=True)
        ]
        ninetieth = pooled(waits, lambda batch: np.percentile(batch, SHARE))
        return TeamWait(
            team=stream.team,
            devices=stream.devices,
            hours=stream.mean / HOUR,
            distribution=stream.distribution,
            jobs=averaged([float(np.sum(mine)) for mine in arrived], "1"),
            finished=averaged([float(np.sum(mine)) for mine in finished], "1"),
            mean_wait=pooled(waits, np.mean),
            median_wait=pooled(waits, np.median),
            ninetieth_wait=ninetieth,
            longest_wait=averaged([float(np.max(batch)) for batch in waits if len(batch)], "s"),
            at_once=pooled(waits, lambda batch: np.mean(batch <= 0.0), "1")
            if any(map(len, waits))
            else Quantity.exact(1.0, "1"),
            meets=ninetieth.value <= self.experiment.target,
        )

    @cached_property
    def point(self) -> CountPoint:
        experiment, devices = self.experiment, self.site.devices
        worst = max(self.teams, key=lambda team: team.ninetieth_wait.value)
        shares = [busy(run, experiment.streams, devices, experiment.edges) for run in self.runs]
        return CountPoint(
            count=self.site.count,
            devices=devices,
            worst_wait=worst.ninetieth_wait,
            worst_team=worst.team,
            mean_wait=pooled(self.waits(*range(len(experiment.streams))), np.mean),
            utilisation=averaged(np.concatenate(shares).tolist(), "1"),
            meets=all(team.meets for team in self.teams),
        )

    def mean_line(self) -> Quantity:
        lines = [waiting(run, self.experiment.edges) for run in self.runs]
        return averaged(np.concatenate(lines).tolist(), "1")

    def line_over_time(self) -> list[LinePoint]:
        begin, end = self.experiment.begin, self.experiment.end
        edges = np.linspace(begin, end, min(MOST_POINTS, max(int((end - begin) / DAY), 1)) + 1)
        shares = [busy(run, self.experiment.streams, self.site.devices, edges) for run in self.runs]
        points = zip(
            (edges[:-1] + edges[1:]) / 2.0 - begin,
            ranged_over_time(np.array([waiting(run, edges) for run in self.runs]), "1"),
            ranged_over_time(np.array(shares), "1"),
            strict=True,
        )
        return [LinePoint(day=float(middle / DAY), jobs=jobs, busy=share) for middle, jobs, share in points]


def simulate(request: QueueRequest, catalog: Catalog, estimates: Mapping[int, Estimate]) -> QueueAnswer:
    """Return the wait each team sees, and the fewest systems that keep it under the target."""
    entry = catalog.system(known_id(catalog, "system", request.system, "system"))
    site = Site.of(entry, request.count)
    streams = streams_of(request, site, estimates)
    failures = interruptions(request, site, catalog)
    experiment = Experiment(request, streams, site, failures)
    simulation = experiment.simulate(request.count)
    needed, points = search(experiment, simulation.point)
    return filled(
        QueueAnswer,
        request,
        system=entry.id,
        name=entry.name,
        devices=site.devices,
        warm_up_days=WARM_UP * request.days,
        runs=experiment.runs,
        batches=experiment.runs * (len(experiment.edges) - 1),
        failures_per_1000_node_days=None if failures is None else failures.rate * PER_1000_NODE_DAYS,
        offered_load=busy_devices(streams),
        utilisation=simulation.point.utilisation,
        mean_line=simulation.mean_line(),
        target_wait=experiment.target,
        meets=simulation.point.meets,
        teams=simulation.teams,
        line=simulation.line_over_time(),
        machines_needed=needed,
        most_searched=most_count(site),
        by_count=points,
        closed_form=closed_form(request, streams, site),
        warnings=list(warnings_of(request, streams, site, simulation.teams)),
    )


def search(experiment: Experiment, requested: CountPoint) -> tuple[int | None, list[CountPoint]]:
    """Return the fewest systems that meet the target, by bisection, and the waits near it and as requested.

    All counts run the same jobs, so that more systems never mean longer waits by chance.
    """
    least, most = least_count(experiment.streams, experiment.site), most_count(experiment.site)
    known = {requested.count: requested}

    def point(count: int) -> CountPoint:
        if count not in known:
            known[count] = experiment.simulate(count).point
        return known[count]

    needed: int | None = None
    if least <= most:
        below, high, step = least - 1, least, max(1, least // MOST_RUNS)
        while not point(high).meets and high < most:
            below, high, step = high, min(high + step, most), 2 * step
        if point(high).meets:
            while high - below > 1:
                middle = (below + high) // 2
                below, high = (below, middle) if point(middle).meets else (middle, high)
            needed = high
            for count in range(max(least, needed - AROUND), min(most, needed + AROUND) + 1):
                point(count)
    centre = requested.count if needed is None else needed
    near = sorted(known, key=lambda count: (count != requested.count, abs(count - centre)))
    return needed, [known[count] for count in sorted(near[:MOST_COUNTS])]


def closed_form(request: QueueRequest, streams: Sequence[Stream], site: Site) -> ClosedForm | None:
    """Return the result of Erlang's formula where it applies: equal, exponential jobs in order of arrival."""
    first = streams[0]
    alike = all(replace(stream, team="", rate=0.0) == replace(first, team="", rate=0.0) for stream in streams)
    if not alike or first.distribution != "exponential" or request.discipline == "fair" or request.failures:
        return None
    inside = first.occupied <= site.size
    servers = site.pods * (site.size // first.occupied) if inside else site.devices // first.occupied
    rate = sum(stream.rate for stream in streams)
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
    load = busy_devices(streams)
    share = load / site.devices
    if share >= 1.0:
        endless = Message(
            "the work keeps {load} accelerators busy, but there are {devices}: the queue grows "
            "without limit; the waits shown are for {days} days and grow with a longer run",
            {"load": round(load, 1), "devices": site.devices, "days": request.days},
        )
        yield CheckWarning.of("queue_overloaded", "serious", endless, "count", "teams")
    elif share >= NEAR_FULL:
        steep = Message(
            "{share} % of the accelerators are busy: near full load, waits grow steeply, and a "
            "little more work makes them much longer",
            {"share": round(100 * share, 1)},
        )
        yield CheckWarning.of("queue_near_full", "caution", steep, "count", "teams")
    if any(stream.occupied > stream.devices for stream in streams):
        rounded = Message(
            "jobs of {teams} take whole nodes and leave part of them idle",
            {"teams": ", ".join(stream.team for stream in streams if stream.occupied > stream.devices)},
        )
        yield CheckWarning.of("whole_nodes", "info", rounded, "teams")
    if any(stream.devices > site.size for stream in streams) and site.ipus:
        sessions = Message(
            "jobs of {teams} are sessions over several pods, which an orchestrator must join",
            {"teams": ", ".join(stream.team for stream in streams if stream.devices > site.size)},
        )
        yield CheckWarning.of("session_spans_pods", "info", sessions, "teams")
    few = [team.team for team in teams if team.jobs.value < FEW_JOBS]
    if few:
        thin = Message(
            "{teams}: fewer than {least} jobs in {days} days, so the P90 wait depends on two "
            "or three of them in each run",
            {"teams": ", ".join(few), "least": FEW_JOBS, "days": request.days},
        )
        yield CheckWarning.of("queue_few_jobs", "info", thin, "teams", "days")
