"""One run of the waiting line: jobs come, wait for a place and leave, as discrete events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from app.engine.pools import Block, Pool
from app.engine.records import Floats
from app.sizing.tenancy.jobs import Jobs, Stream

if TYPE_CHECKING:
    import simpy

PASSING = 100
"""Waiting jobs that are tried at most when one in front is blocked."""


@dataclass(frozen=True, slots=True)
class Ran:
    """When each job of a run began."""

    jobs: Jobs
    start: Floats

    @property
    def wait(self) -> Floats:
        """Wait of each job."""
        return self.start - self.jobs.arrival

    @property
    def end(self) -> Floats:
        """When each job was done."""
        return self.start + self.jobs.duration


class Line:
    """Jobs in front of a pool of devices.

    ``fifo``: nobody passes. ``backfill``: while the first job waits for devices that running jobs will
    give back, later ones may start if they end before it can (EASY backfilling: D. G. Feitelson and
    A. M. Weil, "Utilization and predictability in scheduling the IBM SP2 with backfilling," IPPS, 1998).
    ``fair``: the first job is that of the team which has used the least, and others may pass as before.
    A job that is first and blocked keeps that place until it starts.
    """

    def __init__(self, jobs: Jobs, streams: Sequence[Stream], pool: Pool, discipline: str) -> None:
        import simpy

        self.clock = simpy.Environment()
        self.pool = pool
        self.discipline = discipline
        self.arrival = jobs.arrival.tolist()
        self.duration = jobs.duration.tolist()
        self.owner = jobs.stream.tolist()
        self.devices = [stream.devices for stream in streams]
        self.start = np.full(len(self.arrival), np.nan)
        self.waiting: dict[int, None] = {}
        self.by_team: list[deque[int]] = [deque() for _ in streams]
        self.used = [0.0] * len(streams)
        self.running: dict[int, tuple[float, tuple[Block, ...]]] = {}
        self.blocked: int | None = None
        """The first job, once it has been found not to fit."""
        self.opening = 0.0
        """When it can start at the latest."""

    def run(self) -> Floats:
        """Let all jobs through and return when each began."""
        self.clock.process(self._arrivals())
        self.clock.run()
        return self.start

    def _arrivals(self) -> Generator[simpy.Event, None, None]:
        for job, moment in enumerate(self.arrival):
            yield self.clock.timeout(max(moment - self.clock.now, 0.0))
            self.waiting[job] = None
            if self.discipline == "fair":
                self.by_team[self.owner[job]].append(job)
            if self.blocked is None:
                self._serve()
            elif self.discipline != "fifo":
                # Nothing has become free: the newcomer alone may slip in.
                self._pass(job)

    def _serve(self) -> None:
        while self.waiting:
            job = self._first() if self.blocked is None else self.blocked
            if not self._begin(job):
                if self.blocked is None:
                    self.blocked = job
                    if self.discipline != "fifo":
                        self.opening = self._opening(job)
                if self.discipline != "fifo":
                    for other in list(islice(self.waiting, PASSING)):
                        self._pass(other)
                return
            self.blocked = None

    def _first(self) -> int:
        if self.discipline != "fair":
            return next(iter(self.waiting))
        teams = [team for team, jobs in enumerate(self.by_team) if jobs]
        return self.by_team[min(teams, key=lambda team: self.used[team])][0]

    def _pass(self, job: int) -> None:
        if job != self.blocked and self.clock.now + self.duration[job] <= self.opening:
            self._begin(job)

    def _begin(self, job: int) -> bool:
        team = self.owner[job]
        blocks = self.pool.place(self.devices[team])
        if blocks is None:
            return False
        now, took = self.clock.now, self.duration[job]
        self.start[job] = now
        del self.waiting[job]
        if self.discipline == "fair":
            self.by_team[team].remove(job)
            self.used[team] += took * self.devices[team]
        self.running[job] = now + took, blocks
        self.clock.timeout(took).callbacks.append(self._leaver(job))
        return True

    def _leaver(self, job: int) -> Callable[[simpy.Event], None]:
        def leave(_: simpy.Event) -> None:
            self.pool.give_back(self.running.pop(job)[1])
            self._serve()

        return leave

    def _opening(self, job: int) -> float:
        """Return when a blocked job fits once running ones have left, in the order in which they do."""
        pool, devices = self.pool.copy(), self.devices[self.owner[job]]
        for end, blocks in sorted(self.running.values()):
            pool.give_back(blocks)
            found = pool.place(devices)
            if found is not None:
                return end
        raise AssertionError("every job fits an empty pool: the request is checked for it")


def run_line(jobs: Jobs, streams: Sequence[Stream], pool: Pool, discipline: str) -> Ran:
    """Return one run of the line."""
    return Ran(jobs, Line(jobs, streams, pool, discipline).run())
