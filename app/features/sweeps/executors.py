"""Where sweeps are computed: on this machine's processors, or on a Dask cluster.

Nothing else knows of either; a sweep sees a :class:`app.features.sweeps.run.WorkerPool`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

from app.errors import BadInput, Message
from app.features.sweeps.run import WorkerPool, WorkersFailed
from app.platform.apart import leave_with_parent

if TYPE_CHECKING:
    from distributed import Client


GIVES_WAY = 19
"""Niceness of the processes: whoever answers pages, and whoever is waited for, comes first."""
MOST_PROCESSES = 61
"""What Windows can wait for at once."""
DASK_SECONDS = 15
"""How long a scheduler may take to answer and to have a worker. [s]"""


def crew(dask: str, workers: int | None = None) -> WorkerPool:
    """Return the workers of one sweep: those of a Dask scheduler, or processes of this machine."""
    if dask:
        check_dask()
        return DaskWorkerPool(dask)
    return LocalWorkerPool(workers or processors())


def check_dask() -> None:
    """Refuse a scheduler where its client is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise BadInput.at(
            "RACKLINE_DASK",
            "a Dask scheduler is set, but the extra “dask” is not installed; install "
            "rackline[dask] or unset the variable",
        )


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalWorkerPool:
    """Processes of this machine, one for each processor."""

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)

    def __init__(self, workers: int) -> None:
        self._workers = min(workers, MOST_PROCESSES)
        self._pool: ProcessPoolExecutor | None = None
        self._others: set[BaseProcess] = set()
        """Children of this process that were there before."""

    def executor(self) -> Executor:
        """Return the pool, started when it is first asked for."""
        if self._pool is None:
            # Spawned, not forked: the server has threads, and a fork copies their locks.
            context = multiprocessing.get_context("spawn")
            self._others = set(multiprocessing.active_children())
            self._pool = ProcessPoolExecutor(self._workers, mp_context=context, initializer=enter_service)
            with without_interrupts():
                self._pool.submit(os.getpid)
        return self._pool

    def size(self) -> int:
        return self._workers

    def renew(self) -> None:
        """Let go of a broken pool; the next one starts when it is needed."""
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are at.

        A pool that is interrupted while it starts forgets the processes it has started, which would
        then wait for work for ever; so all spawned children that came since are ended, known to it or not.
        """
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)
            for child in set(multiprocessing.active_children()) - self._others:
                # Forked ones compute for somebody else (app.platform.apart).
                if isinstance(child, SpawnProcess):
                    child.terminate()


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, from their first instruction on."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def enter_service() -> None:
    """Prepare a process of the pool: it gives way, leaves Ctrl-C to its parent and ends with it.

    A pool whose parent is killed would wait for work for ever: its processes hold both ends of the
    pipe that work comes through.
    """
    os.nice(GIVES_WAY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_with_parent()


class DaskWorkerPool:
    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Client | None = None
        self._executor: Executor | None = None

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """What a future raises whose worker, or whose scheduler, is gone."""
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        return (KilledWorker, CancelledError, CommClosedError)

    def executor(self) -> Executor:
        """Return the executor of the scheduler, which must answer and have a worker."""
        if self._executor is None:
            client = self._connected()
            # Impure: a chunk that was lost is computed again rather than remembered as lost.
            self._executor = client.get_executor(pure=False)
        return self._executor

    def size(self) -> int:
        """Return how many chunks the workers there are now compute at once."""
        self.executor()
        try:
            threads = self._client.nthreads() if self._client is not None else {}
        except OSError:
            # The scheduler is gone; the chunks that were sent to it will tell.
            threads = {}
        return max(1, sum(map(int, threads.values())))

    def renew(self) -> None:
        """Connect anew where the scheduler was lost; it replaces its own workers."""
        if self._client is not None and self._client.status != "running":
            self.close()

    def close(self) -> None:
        """Let go of the scheduler; what it has not computed is cancelled."""
        client, self._client = self._client, None
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)
        if client is not None:
            client.close(timeout=2)

    def _connected(self) -> Client:
        from distributed import Client

        try:
            client = Client(self._address, timeout=DASK_SECONDS, set_as_default=False)
        except (OSError, ValueError):
            raise self._unusable("the Dask scheduler {address} does not respond") from None
        self._client = client
        try:
            client.wait_for_workers(1, timeout=DASK_SECONDS)
        except TimeoutError:
            self.close()
            raise self._unusable("the Dask scheduler {address} has no workers") from None
        return client

    def _unusable(self, template: str) -> WorkersFailed:
        return WorkersFailed(Message(template, {"address": self._address}))
