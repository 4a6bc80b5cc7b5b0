"""Do long work: claim a job, keep what it makes as it comes, let go of it; take it from who falls silent."""

from __future__ import annotations

import logging
import math
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from app.errors import AppError, Message, Unavailable
from app.estimating.documents import Text
from app.platform.store.database import Store
from app.platform.store.job_queries import ClaimedJob, WatchedJob
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.worker_processes import uncounted
from app.platform.workspace import Installation, Workspace
from app.telemetry import JOBS_ENDED

logger = logging.getLogger("rackline.jobs")

BEAT_SECONDS = 1.0
"""Time between two signs of life. [s]"""

SILENT_SECONDS = 5.0
"""How long a runner may be silent before its job is taken from it. [s]"""

MOST_ATTEMPTS = 50
"""Claims without a step done after which a job is given up: it seems to take its runner with it."""


@dataclass
class JobClaim:
    """A job that this runner has taken on."""

    workspace: Workspace
    job: ClaimedJob
    stopping: Callable[[], bool]
    """Whether the server ends, or it is another job's turn."""
    charge: Callable[[float], None]
    """Counts processor time that the work has taken. [s]"""
    lost: bool = False
    """Whether somebody has cancelled it or taken it over."""
    beaten: float = field(default_factory=time.monotonic)

    @classmethod
    def take(
        cls,
        installation: Installation,
        identifier: str,
        stopping: Callable[[], bool],
        charge: Callable[[float], None] = uncounted,
    ) -> JobClaim | None:
        """Take on a job; None where it does not wait, such as when another was faster."""
        job = installation.store.claim_job(identifier, runner_name(), now())
        return cls(installation.workspace(job.workspace_id), job, stopping, charge) if job else None

    def cancelled(self) -> bool:
        """Tell whether to stop; shows that this runner lives. To be asked several times a second."""
        self._beat()
        return self.lost or self.stopping()

    def _beat(self) -> None:
        """Show that this runner lives, where it is time to, and find out whether the job is still its own."""
        if not self.lost and time.monotonic() - self.beaten >= BEAT_SECONDS:
            self.beaten = time.monotonic()
            with self.workspace.transaction() as repository:
                self.lost = not repository.of_job(self.job.id).beat(self.job.fence)

    @contextmanager
    def _living(self) -> Iterator[None]:
        """Show that this runner lives also while the work waits for others, as for a cluster to answer."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(BEAT_SECONDS):
                # Where the store cannot be used, the work itself will meet that.
                with suppress(Unavailable):
                    self._beat()

        beating = threading.Thread(target=beat, name="beat", daemon=True)
        beating.start()
        try:
            yield
        finally:
            ended.set()
            beating.join()

    def advance(self, steps: int, keep: Callable[[Repository], None]) -> None:
        """Keep what some steps have made, unless the job is no longer this runner's."""
        with self.workspace.transaction() as repository:
            self.lost = not repository.of_job(self.job.id).advance(self.job.fence, steps, now())
            if not self.lost:
                keep(repository)
        self.beaten = time.monotonic()

    def perform(self, work: Mapping[str, Work]) -> None:
        """Do the work and say how it ended."""
        try:
            with self._living():
                work[self.job.kind](self)
        except Unavailable:
            # No fault of the job: it is taken back as silent and goes on once the store can be used again.
            raise
        except AppError as error:
            self._end("failed", Text.of(error.message))
        except Exception:
            logger.exception("job failed", extra={"job": self.job.id})
            self._end(
                "failed",
                Text.of(Message("something went wrong on the server; details are in the server log")),
            )
        else:
            self._end("queued" if self.stopping() else "done")

    def _end(self, status: str, message: Text | None = None) -> None:
        # Where the job has been cancelled or taken over, its status is no longer this runner's affair.
        document = message.model_dump(mode="json") if message else None
        with self.workspace.transaction() as repository:
            own = repository.of_job(self.job.id).end(self.job.fence, status, now(), document)
        JOBS_ENDED.labels(self.job.kind, status if own else "lost").inc()


Work: TypeAlias = Callable[[JobClaim], None]
"""What a kind of job does; returns early where :meth:`JobClaim.cancelled` says so."""


def runner_name() -> str:
    """Return which process does a job, for people to find."""
    return f"{platform.node()[:60]}:{os.getpid()}"


class Watch:
    """Takes jobs back from runners that are silent.

    Silence is a beat that does not change for a while of this process's own, monotonic clock. No
    moment written by one machine is ever held against the clock of another, so that clocks may be
    wrong or jump.
    """

    def __init__(self, installation: Installation, clock: Callable[[], float] = time.monotonic) -> None:
        self._installation = installation
        self._clock = clock
        self._seen: dict[str, tuple[WatchedJob, float]] = {}

    def look(self) -> None:
        moment, watched = self._clock(), self._installation.store.watched_jobs()
        before, self._seen = self._seen, {}
        for job in watched:
            known, since = before.get(job.id, (job, moment))
            self._seen[job.id] = (job, since if known == job else moment)
            if job.status == "running" and known == job and moment - since >= SILENT_SECONDS:
                self._take_back(job)

    def _take_back(self, job: WatchedJob) -> None:
        exhausted = job.attempts >= MOST_ATTEMPTS
        message = Text.of(
            Message(
                "the worker stopped {count} times before computing anything; memory may be too low",
                {"count": job.attempts},
            )
        )
        document = message.model_dump(mode="json") if exhausted else None
        taken = self._installation.store.take_back(job, "failed" if exhausted else "queued", document, now())
        if taken:
            logger.warning("job taken from a silent runner", extra={"job": job.id, "attempts": job.attempts})


TURN_SECONDS = 60.0
"""How long a job is worked on while those of others wait. [s]"""

LOOK_SECONDS = 5.0
"""How often a job whose turn has lasted its time looks whether others wait. [s]"""

HALF_LIFE = 600.0
"""After so long, half of the processor time of a workspace counts. [s]"""


class Turns:
    """Whose job is next: that of the workspace whose jobs have lately used the least processor time here."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def next(self) -> Turn | None:
        """Return the turn of the job that is next; None where none waits."""
        waiting = self._store.waiting_jobs()
        if not waiting:
            return None
        # The first of several that have used as little is the oldest.
        workspace_id, chosen = min(waiting, key=lambda job: self.used(job[0]))
        return Turn(self, workspace_id, chosen, self._clock())

    def used(self, workspace_id: str) -> float:
        """Return the processor time that counts of a workspace. [s]"""
        seconds, at = self._used.get(workspace_id, (0.0, 0.0))
        return seconds * math.exp2(-(self._clock() - at) / HALF_LIFE)

    def charge(self, workspace_id: str, seconds: float) -> None:
        with self._lock:
            self._used[workspace_id] = self.used(workspace_id) + seconds, self._clock()

    def over(self, turn: Turn) -> bool:
        """Tell whether a turn has lasted its time and somebody waits who has used less."""
        if self._clock() < turn.until:
            return False
        turn.until = self._clock() + LOOK_SECONDS
        # Its own next job can wait; what it has used counts for less from look to look, and is not another's.
        others = {workspace_id for workspace_id, _ in self._store.waiting_jobs()} - {turn.workspace_id}
        own = self.used(turn.workspace_id)
        return any(self.used(workspace_id) < own for workspace_id in others)


class Turn:
    """A stretch of time in which one job is worked on."""

    def __init__(self, turns: Turns, workspace_id: str, identifier: str, begun: float) -> None:
        self.workspace_id, self.id = workspace_id, identifier
        self.until = begun + TURN_SECONDS
        self._turns = turns
        self._over = False

    def charge(self, seconds: float) -> None:
        self._turns.charge(self.workspace_id, seconds)

    def over(self) -> bool:
        self._over = self._over or self._turns.over(self)
        return self._over
