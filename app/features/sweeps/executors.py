"""Workers of sweeps: processes of this machine, or a Dask cluster."""

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
from app.features.sweeps.run import WorkerFailure, WorkerPool
from app.platform.worker_processes import leave_with_parent

if TYPE_CHECKING:
    from distributed import Client

NICENESS = 19
"""Niceness of the processes, so that pages and interactive requests come first."""
DASK_SECONDS = 15
"""Longest wait for the scheduler to respond and to have a worker. [s]"""


def crew(dask: str, workers: int | None = None) -> WorkerPool:
    """Return the workers for one sweep, from a Dask scheduler if there is one."""
    if dask:
        check_dask()
        return DaskWorkerPool(dask)
    return LocalWorkerPool(workers or processors())


def check_dask() -> None:
    """Raise an error if the Dask client is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise BadInput.at(
            "RACKLINE_DASK",
            "a Dask scheduler is set, but the extra “dask” is not installed; install "
            "rackline[dask] or unset the variable",
        )


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalWorkerPool:
    """Processes of this machine, one for each processor."""

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._others: set[BaseProcess] = set()
        """Child processes from before the pool was started."""

    def executor(self) -> Executor:
        """Return the pool, started on first use."""
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
        """End a broken pool; the next use starts a new one."""
        self.close()

    def close(self) -> None:
        """Terminate the processes at once.

        A pool that is interrupted while it starts loses track of its processes, which would then wait for
        work for ever; so every child spawned since then is terminated.
        """
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)
            for child in set(multiprocessing.active_children()) - self._others:
                # Forked children belong to app.platform.worker_processes.
                if isinstance(child, SpawnProcess):
                    child.terminate()


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Block SIGINT, so that processes started meanwhile never receive it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def enter_service() -> None:
    """Initialise a process of the pool: low priority, no Ctrl-C, and it ends with its parent.

    Otherwise processes whose parent was killed would wait for work for ever, because they hold both ends
    of the pipe.
    """
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_with_parent()


class DaskWorkerPool:
    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Client | None = None
        self._executor: Executor | None = None

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """Exceptions of a future whose worker or scheduler is gone."""
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        return (KilledWorker, CancelledError, CommClosedError)

    def executor(self) -> Executor:
        """Return the executor of the scheduler, which must respond and have a worker."""
        if self._executor is None:
            client = self._connect()
            # Impure, so that a lost chunk is computed again instead of failing again from memory.
            self._executor = client.get_executor(pure=False)
        return self._executor

    def size(self) -> int:
        """Return the number of threads of the current workers."""
        self.executor()
        try:
            threads = self._client.nthreads() if self._client is not None else {}
        except OSError:
            # The scheduler is gone; the futures of its chunks will raise.
            threads = {}
        return max(1, sum(map(int, threads.values())))

    def renew(self) -> None:
        """Reconnect if the scheduler was lost; it replaces its workers itself."""
        if self._client is not None and self._client.status != "running":
            self.close()

    def close(self) -> None:
        """Disconnect from the scheduler, cancelling what it has not computed."""
        client, self._client = self._client, None
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)
        if client is not None:
            client.close(timeout=2)

    def _connect(self) -> Client:
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

    def _unusable(self, template: str) -> WorkerFailure:
        return WorkerFailure(Message(template, {"address": self._address}))
