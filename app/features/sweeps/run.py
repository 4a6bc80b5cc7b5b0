"""Run a sweep on any executor: chunks out, rows back, lost chunks again, an end in every case."""

from __future__ import annotations

import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field, replace
from typing import Protocol

from app import __version__
from app.errors import AppError, Message
from app.estimating.context import SizingContext
from app.estimating.estimate import estimate
from app.features.sweeps.points import SweepPoint, UploadSet
from app.features.sweeps.rows import SweepRow, problem_row, refused_row, row_of
from app.platform.apart import uncounted

logger = logging.getLogger("rackline.sweep")
ContextMaker = Callable[[], SizingContext]
"""Returns the catalogue where it is called; importable by name, so that a worker can call it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A few points that one worker computes in one go."""

    points: tuple[SweepPoint, ...]
    uploads: UploadSet
    losses: int = 0
    """How often it was lost with its worker."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The rows of a chunk, and what they were computed with."""

    rows: list[SweepRow]
    versions: tuple[str, str]
    """Versions of formulas and figures at the worker."""
    seconds: float
    """Processor time. [s]"""


def versions_of(context: SizingContext) -> tuple[str, str]:
    return __version__, context.catalog.version


def compute(chunk: Chunk, make_context: ContextMaker) -> Computed:
    begun = time.thread_time()
    own = make_context()
    context = chunk.uploads.within(own)
    rows = [row_at(point, context) for point in chunk.points]
    return Computed(rows, versions_of(own), time.thread_time() - begun)


def row_at(point: SweepPoint, context: SizingContext) -> SweepRow:
    """Return the row of a point; a refusal, or a fault of ours, is a row as well."""
    try:
        return row_of(point, estimate(point.request, context))
    except AppError as error:
        return refused_row(point, error, context.catalog.version)
    except Exception:
        logger.exception("point %s of a sweep failed", point.key)
        message = Message("computing this point failed; see the worker's log")
        return problem_row(point, "", message, context.catalog.version)


CHUNK_POINTS = 8
"""Points of a chunk: some tenths of a second of work, so that progress shows and little is lost."""
CHUNKS_PER_WORKER = 2
"""Chunks in flight for each worker: one computed, one waiting."""
MOST_LOSSES = 3
"""How often a chunk may be lost with its worker before its points are computed alone."""
MOST_BARREN = 5
"""How often workers may be replaced without a single row coming back."""
MOST_CONDEMNED = 10
"""How many points in a row may be given up before the workers are to blame rather than the points."""
PATIENCE_SECONDS = 0.2
"""How long is waited for rows before it is asked again whether to stop. [s]"""


class WorkersFailed(AppError):
    """The workers cannot compute, whatever the points."""

    status = 503
    slug = "workers-failed"
    title = "Workers failed"


class WorkerPool(Protocol):
    """The workers of one sweep."""

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """What a future raises whose worker died."""

    def executor(self) -> Executor:
        """Return the executor, started when it is first asked for."""

    def size(self) -> int:
        """Return how many chunks are computed at once."""

    def renew(self) -> None:
        """Replace workers that died, where nobody else does it."""

    def close(self) -> None:
        """Let go of the workers without waiting for what they compute."""


def never() -> bool:
    return False


def run_sweep(
    points: Iterable[SweepPoint],
    make_context: ContextMaker,
    crew: WorkerPool,
    *,
    uploads: UploadSet | None = None,
    done: Collection[str] = (),
    cancelled: Callable[[], bool] = never,
    charge: Callable[[float], None] = uncounted,
) -> Iterator[list[SweepRow]]:
    """Compute the points of a sweep that are not done and yield their rows as they come.

    Every point yields exactly one row, in no particular order, unless the sweep is cancelled. A chunk
    whose worker dies is computed again; a point that keeps killing its worker gets a row that says so.
    """
    left = (point for point in points if point.key not in done)
    flight = _Flight(crew, make_context, versions_of(make_context()), charge)
    try:
        chunks = _chunked(left, uploads or UploadSet())
        while not cancelled():
            flight.fill(chunks)
            if not flight.flying:
                return
            yield from flight.land()
    finally:
        crew.close()


@dataclass
class _Flight:
    """Chunks that are being computed, and those that wait to be computed again."""

    crew: WorkerPool
    make_context: ContextMaker
    versions: tuple[str, str]
    charge: Callable[[float], None]
    flying: dict[Future[Computed], tuple[Chunk, Executor]] = field(default_factory=dict)
    again: deque[Chunk] = field(default_factory=deque)
    alone: deque[Chunk] = field(default_factory=deque)
    """Single points under suspicion of killing their worker; they fly when nothing else is left."""
    barren: int = 0
    condemned: int = 0

    def fill(self, chunks: Iterator[Chunk]) -> None:
        """Send chunks out while there is room."""
        for _ in range(CHUNKS_PER_WORKER * self.crew.size() - len(self.flying)):
            chunk = self.again.popleft() if self.again else next(chunks, None)
            if chunk is None:
                break
            self.send(chunk)
        if not self.flying and self.alone:
            self.send(self.alone.popleft())

    def send(self, chunk: Chunk) -> None:
        """Send a chunk out; workers that have died before they were given it are replaced."""
        while True:
            executor = self.crew.executor()
            try:
                future = executor.submit(compute, chunk, self.make_context)
            except self.crew.lost:
                self.replace_workers(executor)
            else:
                self.flying[future] = chunk, executor
                return

    def land(self) -> Iterator[list[SweepRow]]:
        """Yield the rows that have come back, and take note of chunks that were lost."""
        finished, _ = wait(self.flying, timeout=PATIENCE_SECONDS, return_when=FIRST_COMPLETED)
        lost: list[Chunk] = []
        broken: list[Executor] = []
        for future in finished:
            chunk, executor = self.flying.pop(future)
            try:
                computed = future.result()
            except self.crew.lost:
                lost.append(replace(chunk, losses=chunk.losses + 1))
                broken.append(executor)
            except Exception as error:
                # Points that cannot be estimated are rows; what is raised is about the worker.
                raise unable(error) from error
            else:
                self.barren = self.condemned = 0
                self.charge(computed.seconds)
                yield self.checked(computed).rows
        if broken:
            self.replace_workers(broken[-1])
        for chunk in lost:
            yield from self.retry(chunk)

    def retry(self, chunk: Chunk) -> Iterator[list[SweepRow]]:
        """Line a lost chunk up again; yield the row of a point that is given up."""
        if chunk.losses < MOST_LOSSES:
            (self.again if len(chunk.points) > 1 else self.alone).append(chunk)
            return
        self.barren = 0
        if len(chunk.points) > 1:
            self.alone.extend(replace(chunk, points=(point,), losses=0) for point in chunk.points)
            return
        self.condemned += 1
        if self.condemned > MOST_CONDEMNED:
            raise failed()
        message = Message("the worker computing this point crashed {count} times", {"count": chunk.losses})
        yield [problem_row(chunk.points[0], "", message, self.versions[1])]

    def replace_workers(self, broken: Executor) -> None:
        """Replace workers that died, once each and not for ever."""
        if broken is not self.crew.executor():
            return
        self.barren += 1
        if self.barren > MOST_BARREN:
            raise failed()
        self.crew.renew()

    def checked(self, computed: Computed) -> Computed:
        """Return what a worker of this version has computed."""
        if computed.versions != self.versions:
            raise WorkersFailed(
                Message(
                    "the workers run Rackline {theirs} with catalogue {their_catalog}, this "
                    "server runs {ours} with {our_catalog}; install the same on both",
                    {
                        "theirs": computed.versions[0],
                        "their_catalog": computed.versions[1],
                        "ours": self.versions[0],
                        "our_catalog": self.versions[1],
                    },
                )
            )
        return computed


def failed() -> WorkersFailed:
    """Return the error for workers that die without giving a row."""
    return WorkersFailed(
        Message(
            "the workers keep crashing without computing anything; they may be short of memory "
            "or unable to import Rackline"
        )
    )


def unable(error: Exception) -> WorkersFailed:
    """Return the error for workers that raise, such as for want of Rackline or its catalogue."""
    reason = f"{type(error).__name__}: {error}"[:300]
    return WorkersFailed(Message("the workers cannot compute: {reason}", {"reason": reason}))


def _chunked(points: Iterator[SweepPoint], uploads: UploadSet) -> Iterator[Chunk]:
    while taken := tuple(itertools.islice(points, CHUNK_POINTS)):
        yield Chunk(taken, uploads.needed(point.request for point in taken))
