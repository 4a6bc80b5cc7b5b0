"""One run of the waiting line: jobs come, wait for a place and leave, as discrete events."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice

import numpy as np

from app.engine.pools import Block, Pool
from app.engine.records import Floats
from app.sizing.tenancy.jobs import JobSequence, Stream

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
