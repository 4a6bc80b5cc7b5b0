"""Time-sharing: a simulated year of several teams' jobs, and how many machines keep the wait short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from app.catalog import Catalog
from app.engine.queueing import mean_wait, offered_load, wait_percentile, waiting_probability
from app.engine.units import DAY, HOUR
from app.errors import Message
from app.sizing.document import CheckWarning, Estimate
from app.sizing.hardware import known_id
from app.sizing.tenancy import statistics
from app.sizing.tenancy.documents import ClosedForm, CountPoint, QueueAnswer, TeamWait
from app.sizing.tenancy.jobs import Interruptions, JobSequence, Stream, draw
from app.sizing.tenancy.line import QueueRun, run_line
from app.sizing.tenancy.request import QueueRequest
from app.sizing.tenancy.room import Site
from app.sizing.tenancy.statistics import Window
from app.sizing.tenancy.streams import (
    WARM_UP,
    interruptions,
    least_count,
    most_count,
    offered,
    pool_of,
    streams_of,
)

SIMULATED = 12_000
"""Jobs simulated for one number of machines, over all runs, where one run has fewer."""
MOST_RUNS = 20
AROUND = 2
"""Numbers of machines shown on either side of the fewest that do."""
MOST_POINTS = 15
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
            statistics.team_wait(index, stream, runs, self.window, self.target)
            for index, stream in enumerate(self.streams)
        ]

    def point(self, count: int, runs: Sequence[QueueRun], teams: Sequence[TeamWait]) -> CountPoint:
        """Return the waits with so many systems in short."""
        worst = max(teams, key=lambda one: one.ninetieth_wait.value)
        devices = count * self.site.entry.devices
        edges = statistics.edges_of(self.window, self.runs)
        return CountPoint(
            count=count,
            devices=devices,
            worst_wait=worst.ninetieth_wait,
            worst_team=worst.team,
            mean_wait=statistics.mean_wait_of_all(runs, self.window),
            utilisation=statistics.over_pieces(
                [statistics.busy(run, self.streams, devices, edges) for run in runs]
            ),
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
    edges = statistics.edges_of(window, experiment.runs)
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
        utilisation=statistics.over_pieces(
            [statistics.busy(run, streams, site.devices, edges) for run in runs]
        ),
        mean_line=statistics.over_pieces([statistics.waiting(run, edges) for run in runs]),
        target_wait=experiment.target,
        meets=all(one.meets for one in teams),
        teams=teams,
        line=statistics.line_over_time(runs, streams, site.devices, window),
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
    return needed, [known[count] for count in sorted(near[:MOST_POINTS])]


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
        ninetieth_wait=float(wait_percentile(rate, first.mean, servers, statistics.SHARE / 100.0)),
    )


def warnings_of(
    request: QueueRequest, streams: Sequence[Stream], site: Site, teams: Sequence[TeamWait]
) -> Iterable[CheckWarning]:
    """Return what to beware of in the waits."""
    share = offered(streams) / site.devices
    values = {"load": round(offered(streams), 1), "devices": site.devices, "days": request.days}
    if share >= 1.0:
        endless = Message(
            "the work keeps {load} accelerators busy and there are {devices}: the line grows without end; "
            "the waits shown are those of a run of {days} days and longer in a longer one",
            values,
        )
        yield CheckWarning.of("queue_overloaded", "serious", endless, "count", "teams")
    elif share >= NEAR_FULL:
        steep = Message(
            "{share} % of the accelerators are at work: near the full load waits grow steeply, and a "
            "little more work makes them much longer",
            {"share": round(100 * share, 1)},
        )
        yield CheckWarning.of("queue_near_full", "caution", steep, "count", "teams")
    if any(one.held > one.devices for one in streams):
        rounded = Message(
            "jobs of {teams} take whole nodes and leave a part of them idle",
            {"teams": ", ".join(one.team for one in streams if one.held > one.devices)},
        )
        yield CheckWarning.of("whole_nodes", "info", rounded, "teams")
    if any(one.devices > site.size for one in streams) and site.ipus:
        sessions = Message(
            "jobs of {teams} are sessions over several pods, which an orchestrator has to join",
            {"teams": ", ".join(one.team for one in streams if one.devices > site.size)},
        )
        yield CheckWarning.of("session_spans_pods", "info", sessions, "teams")
    few = [one.team for one in teams if one.jobs.value < FEW_JOBS]
    if few:
        thin = Message(
            "{teams}: fewer than {least} jobs in {days} days, so that the wait of the worst tenth rests "
            "on two or three of them in each run",
            {"teams": ", ".join(few), "least": FEW_JOBS, "days": request.days},
        )
        yield CheckWarning.of("queue_few_jobs", "info", thin, "teams", "days")
