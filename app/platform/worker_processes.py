"""Worker processes: each computes one long use case, and gives way to whoever answers pages.

A process is forked, within some ten milliseconds, from one that has loaded the catalogue and has no threads
(``forkserver`` of :mod:`multiprocessing`). It opens the database itself: whole use cases run there, and only
their answer comes back. What is given up is killed. Places are shared by workspaces: none holds all of them,
and of those that wait, whoever holds the fewest comes first.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from app.errors import AppError, Conflict, TooMany, Unavailable
from app.estimating.context import SizingContext, load_context
from app.profiles.presets import data_directory

if TYPE_CHECKING:
    from app.platform.store.trail import Actor
    from app.platform.workspace import Workspace

logger = logging.getLogger("rackline.workers")

Answer = TypeVar("Answer")

ProgressCallback = Callable[..., None]
"""Hears how far a use case is; what it raises ends it."""

PRELOADED = "app.worker_preload"
"""Module whose import loads what the processes need."""

LOOK_SECONDS = 0.1
"""How often is looked whether somebody still waits, and whether a place is free. [s]"""

ENDING_SECONDS = 2.0
"""How long a process that has answered takes to end at most. [s]"""

MOST_WAITING = 4
"""Questions of a workspace that wait for a place in one process of the server: each holds a thread of it."""

AGAIN = 10
"""When a question beyond these may be asked again. [s]"""


class ClientGone(Conflict):
    """Nobody waits for the answer any more."""


def uncounted(seconds: float) -> None:
    """Count no processor time."""


def never() -> bool:
    return False


class Shares:
    """Places of one server process in which is computed at the same time."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._running = Counter[str]()
        self._waiting = Counter[str]()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def place(self, workspace_id: str, gone: Callable[[], bool] = never) -> Iterator[None]:
        """Wait for a place and hold it, unless nobody waits for the answer any more."""
        with self._lock:
            if self._waiting[workspace_id] >= MOST_WAITING:
                raise TooMany(
                    "this workspace has too many computations waiting; try again later", retry_after=AGAIN
                )
            self._waiting[workspace_id] += 1
        try:
            while not self._taken(workspace_id):
                if gone():
                    raise ClientGone("the request was given up")
                time.sleep(LOOK_SECONDS)
        finally:
            with self._lock:
                self._waiting[workspace_id] -= 1
                self._waiting += Counter()  # Whoever waits for nothing is forgotten.
        try:
            yield
        finally:
            with self._lock:
                self._running[workspace_id] -= 1
                self._running += Counter()

    def _taken(self, workspace_id: str) -> bool:
        with self._lock:
            own = self._running[workspace_id]
            if self._running.total() >= self._places or own >= max(1, self._places - 1):
                return False
            if any(self._running[other] < own for other in self._waiting):
                return False
            self._running[workspace_id] += 1
            return True


class WorkerProcesses:
    """Runs use cases in processes beside a server, and tells how much of a processor each has used."""

    def __init__(
        self, url: str, places: int, charge: Callable[[str, float], None], *, niceness: int = 0
    ) -> None:
        self._url = url
        self._niceness = niceness
        self._shares = Shares(places)
        self._charge = charge
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([PRELOADED])

    def run(
        self,
        function: Callable[..., Answer],
        workspace_id: str,
        *values: object,
        watch: ProgressCallback | None = None,
        gone: Callable[[], bool] = never,
    ) -> Answer:
        """Return what a use case, given by a name that can be imported, answers in another process."""
        # Commands that compute without a database load this module as well.
        from app.platform.store.trail import current_actor

        with self._shares.place(workspace_id, gone):
            receiver, sender = self._context.Pipe(duplex=False)
            work = (function, self._url, workspace_id, values, current_actor(), watch is not None)
            args = (sender, *work, self._niceness)
            process = self._context.Process(target=_compute, args=args, daemon=True)
            used = 0.0
            try:
                process.start()
                sender.close()
                while True:
                    if not receiver.poll(LOOK_SECONDS):
                        if gone():
                            raise ClientGone("the request was given up")
                        continue
                    kind, payload = receiver.recv()
                    if kind == "told" and watch is not None:
                        watch(*payload)
                    elif kind == "used":
                        used = payload
                    elif kind == "raised":
                        raise payload
                    elif kind == "answer":
                        answer: Answer = payload
                        return answer
            except EOFError:
                raise Unavailable("the computation ended early; ask again") from None
            finally:
                receiver.close()
                if process.pid is not None:
                    self._charge(workspace_id, used or processor_seconds(process.pid))
                    # One that has answered ends by itself: its number may soon be that of another process.
                    process.join(ENDING_SECONDS if used else 0)
                    if process.is_alive():
                        process.kill()
                        process.join()

    def start(self) -> None:
        """Load what the processes need before the first question comes."""
        process = self._context.Process(target=_nothing, daemon=True)
        process.start()
        process.join()


def run_in_worker(
    workspace: Workspace,
    function: Callable[..., Answer],
    *values: object,
    watch: ProgressCallback | None = None,
    gone: Callable[[], bool] = never,
) -> Answer:
    """Run a use case in a process of its own, or here where the server has none."""
    if workspace.installation.workers is not None:
        return workspace.installation.workers.run(function, workspace.id, *values, watch=watch, gone=gone)
    return function(workspace, *values, **({} if watch is None else {"watch": watch}))


def _nothing() -> None:
    """Be a process, so that the one all are forked from has started."""


def _compute(
    sender: Connection,
    function: Callable[..., object],
    url: str,
    workspace_id: str,
    values: tuple[object, ...],
    actor: Actor,
    watched: bool,
    niceness: int,
) -> None:
    from app.platform.store.database import Store
    from app.platform.store.trail import acting
    from app.platform.workspace import Installation

    os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_with_parent()
    started = time.process_time()

    def tell(*told: object) -> None:
        sender.send(("told", told))

    store = Store(url)
    try:
        with acting(actor):
            workspace = Installation(installed_context(), store).workspace(workspace_id)
            told = "answer", function(workspace, *values, **({"watch": tell} if watched else {}))
    except AppError as error:
        told = "raised", error
    except Exception:
        logger.exception("a computation failed")
        raise
    finally:
        store.close()
    sender.send(("used", time.process_time() - started))
    sender.send(told)


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process (proc(5), fields 14 and 15), 0 where that is not told. [s]"""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@cache
def installed_context() -> SizingContext:
    """Return the catalogue of this installation."""
    return load_context(data_directory())


def leave_with_parent() -> None:
    """End this process when its parent has ended, however it did."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent.sentinel,), daemon=True).start()


def _leave_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
