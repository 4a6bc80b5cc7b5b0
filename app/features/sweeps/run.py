"""Run a sweep on any executor in chunks, repeating those that are lost with their worker."""

from __future__ import annotations

import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field, replace
from typing import Protocol

from app.errors import AppError, Message
from app.estimating.context import SizingContext
from app.estimating.estimate import estimate
from app.estimating.version import engine_version
from app.features.sweeps.points import SweepPoint, UploadSet
from app.features.sweeps.rows import SweepRow, problem_row, refused_row, row_of
from app.platform.worker_processes import uncounted

logger = logging.getLogger("rackline.sweep")
ContextMaker = Callable[[], SizingContext]
"""Returns the context of the calling process; importable by name, so that a worker can call it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Points that one worker computes together."""

    points: tuple[SweepPoint, ...]
    uploads: UploadSet
    losses: int = 0
    """Number of times it was lost with its worker."""


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """The rows of a chunk, and the versions that computed them."""

    rows: list[SweepRow]
    versions: tuple[str, str]
    """Versions of the engine and the catalogue of the worker."""
    seconds: float
    """Processor time. [s]"""


def versions_of(context: SizingContext) -> tuple[str, str]:
    return engine_version(context.catalog.version), context.catalog.version


def compute(chunk: Chunk, make_context: ContextMaker) -> ChunkResult:
    started = time.thread_time()
    context = chunk.uploads.within(make_context())
    rows = [row_at(point, context) for point in chunk.points]
    return ChunkResult(rows, versions_of(context), time.thread_time() - started)


def row_at(point: SweepPoint, context: SizingContext) -> SweepRow:
    """Return the row of a point; an error of the request, or a fault of the program, is a row as well."""
    try:
        return row_of(point, estimate(point.request, context))
    except AppError as error:
        return refused_row(point, error, context.catalog.version)
    except Exception:
        logger.exception("point %s of a sweep failed", point.key)
        message = Message("computing this point failed; see the worker's log")
        return problem_row(point, "", message, context.catalog.version)


CHUNK_POINTS = 8
"""Points of a chunk: some tenths of a second of work, so that progress is visible and little is lost."""
CHUNKS_PER_WORKER = 2
"""Chunks submitted per worker: one computed, one waiting."""
MOST_LOSSES = 3
"""Losses after which the points of a chunk are computed one by one."""
MOST_REPLACEMENTS = 5
"""Replacements of the workers that may follow each other without a row in between."""
MOST_ABANDONED = 10
"""Points in a row that may be given up; if more are, the workers are at fault, not the points."""
POLL_SECONDS = 0.2
"""Longest wait for rows before checking again whether the sweep is cancelled. [s]"""


class WorkerFailure(AppError):
    """The workers cannot compute any point."""

    status = 503
    slug = "workers-failed"
    title = "Workers failed"


class WorkerPool(Protocol):
    """The workers of one sweep."""

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """Exceptions of a future whose worker died."""

    def executor(self) -> Executor:
        """Return the executor, started on first use."""

    def size(self) -> int:
        """Return the number of chunks computed at once."""

    def renew(self) -> None:
        """Replace workers that died, unless they are replaced elsewhere."""

    def close(self) -> None:
        """Release the workers without waiting for their results."""


def never() -> bool:
    return False


def run_sweep(
    points: Iterable[SweepPoint],
    make_context: ContextMaker,
    pool: WorkerPool,
    *,
    uploads: UploadSet | None = None,
    done: Collection[str] = (),
    cancelled: Callable[[], bool] = never,
    charge: Callable[[float], None] = uncounted,
) -> Iterator[list[SweepRow]]:
    """Compute the points of a sweep that are not done and yield their rows as they arrive.

    Every point yields exactly one row, in no particular order, unless the sweep is cancelled. A chunk
    whose worker dies is computed again; a point whose worker dies again and again gets a row that says so.
    """
    remaining = (point for point in points if point.key not in done)
    chunks = _chunked(remaining, uploads or UploadSet())
    dispatcher = _Dispatcher(pool, make_context, versions_of(make_context()), charge)
    try:
        while not cancelled():
            dispatcher.fill(chunks)
            if not dispatcher.running:
                return
            yield from dispatcher.collect()
    finally:
        pool.close()


@dataclass
class _Dispatcher:
    """Submits chunks to workers, and again when they are lost."""

    pool: WorkerPool
    make_context: ContextMaker
    versions: tuple[str, str]
    charge: Callable[[float], None]
    running: dict[Future[ChunkResult], tuple[Chunk, Executor]] = field(default_factory=dict)
    retries: deque[Chunk] = field(default_factory=deque)
    suspects: deque[Chunk] = field(default_factory=deque)
    """Single points that may have crashed their worker; each runs when nothing else does."""
    replacements: int = 0
    abandoned: int = 0

    def fill(self, chunks: Iterator[Chunk]) -> None:
        """Submit as many chunks as the workers take."""
        for _ in range(CHUNKS_PER_WORKER * self.pool.size() - len(self.running)):
            chunk = self.retries.popleft() if self.retries else next(chunks, None)
            if chunk is None:
                break
            self.submit(chunk)
        if not self.running and self.suspects:
            self.submit(self.suspects.popleft())

    def submit(self, chunk: Chunk) -> None:
        """Submit a chunk, replacing workers that have died before."""
        while True:
            executor = self.pool.executor()
            try:
                future = executor.submit(compute, chunk, self.make_context)
            except self.pool.lost:
                self.replace_workers(executor)
            else:
                self.running[future] = chunk, executor
                return

    def collect(self) -> Iterator[list[SweepRow]]:
        """Yield the rows of finished chunks, and retry those that were lost."""
        finished, _ = wait(self.running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        lost: list[Chunk] = []
        broken: Executor | None = None
        for future in finished:
            chunk, executor = self.running.pop(future)
            try:
                computed = future.result()
            except self.pool.lost:
                lost.append(replace(chunk, losses=chunk.losses + 1))
                broken = executor
            except Exception as error:
                # Points that cannot be estimated are rows; an exception is about the worker.
                raise unable(error) from error
            else:
                self.replacements = self.abandoned = 0
                self.charge(computed.seconds)
                self.check_versions(computed.versions)
                yield computed.rows
        if broken is not None:
            self.replace_workers(broken)
        for chunk in lost:
            yield from self.retry(chunk)

    def retry(self, chunk: Chunk) -> Iterator[list[SweepRow]]:
        """Queue a lost chunk again, or give its only point up and yield its row."""
        if chunk.losses < MOST_LOSSES:
            (self.retries if len(chunk.points) > 1 else self.suspects).append(chunk)
            return
        self.replacements = 0
        if len(chunk.points) > 1:
            self.suspects.extend(replace(chunk, points=(point,), losses=0) for point in chunk.points)
            return
        self.abandoned += 1
        if self.abandoned > MOST_ABANDONED:
            raise failed()
        message = Message("the worker computing this point crashed {count} times", {"count": chunk.losses})
        yield [problem_row(chunk.points[0], "", message, self.versions[1])]

    def replace_workers(self, broken: Executor) -> None:
        """Replace the workers of an executor unless they have been replaced; fail if this recurs."""
        if broken is not self.pool.executor():
            return
        self.replacements += 1
        if self.replacements > MOST_REPLACEMENTS:
            raise failed()
        self.pool.renew()

    def check_versions(self, versions: tuple[str, str]) -> None:
        if versions != self.versions:
            raise WorkerFailure(
                Message(
                    "the workers run Rackline {theirs} with catalogue {their_catalog}, this "
                    "server runs {ours} with {our_catalog}; install the same on both",
                    {
                        "theirs": versions[0],
                        "their_catalog": versions[1],
                        "ours": self.versions[0],
                        "our_catalog": self.versions[1],
                    },
                )
            )


def failed() -> WorkerFailure:
    """Return the error for workers that crash without returning a row."""
    return WorkerFailure(
        Message(
            "the workers keep crashing without computing anything; they may be short of memory "
            "or unable to import Rackline"
        )
    )


def unable(error: Exception) -> WorkerFailure:
    """Return the error for workers that raise, for example if Rackline is not installed there."""
    reason = f"{type(error).__name__}: {error}"[:300]
    return WorkerFailure(Message("the workers cannot compute: {reason}", {"reason": reason}))


def _chunked(points: Iterator[SweepPoint], uploads: UploadSet) -> Iterator[Chunk]:
    while batch := tuple(itertools.islice(points, CHUNK_POINTS)):
        yield Chunk(batch, uploads.needed([point.request for point in batch]))
