"""Do jobs and chores and send messages in the background, in one process of each machine.

The rows of the store are the queue: whoever has nothing to do looks for some at short intervals, and at once
where this process itself has made some.
"""

from __future__ import annotations

import fcntl
import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO

from app.errors import Unavailable
from app.features.integrations.webhooks import LEASE, SENDERS, deliver
from app.features.operation.chores import run_due_chores
from app.features.sweeps.run import WorkerPool
from app.features.sweeps.service import compute_sweep
from app.platform.job_running import JobClaim, Turns, Watch, Work
from app.platform.store.queries import now
from app.platform.workspace import Installation

logger = logging.getLogger("rackline.jobs")

IDLE_SECONDS = 0.3
"""Interval between looks for waiting jobs and messages. [s]"""

WATCH_SECONDS = 1.0
"""Interval between checks of the jobs that have not ended, and pause after a failure. [s]"""

CHORE_SECONDS = 10.0
"""Interval between checks for due chores. [s]"""

STOP_SECONDS = 5.0
"""Longest wait for jobs and messages under way when the server ends. [s]"""


class Jobs:
    """The background of one process, which works as soon as no other process of this machine does."""

    def __init__(
        self,
        installation: Installation,
        make_pool: Callable[[], WorkerPool],
        lock: Path | None = None,
        threads: int = 1,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self._installation, self._idle = installation, idle
        self._lock = lock
        self._job_threads = threads
        self._work: Mapping[str, Work] = {"sweep": partial(compute_sweep, make_pool=make_pool)}
        self._turns = Turns(installation.store)
        self._stopping = False
        self._woken = threading.Condition()
        self._claiming = threading.Lock()
        self._threads: list[threading.Thread] = []

    def wake(self) -> None:
        """Have whoever is idle look for work now."""
        with self._woken:
            self._woken.notify_all()

    def start(self) -> None:
        self._begin("jobs", self._work_alone)

    def stop(self) -> None:
        """Stop working; other processes go on with the jobs."""
        self._stopping = True
        self.wake()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin(self, name: str, do: Callable[[], None]) -> None:
        thread = threading.Thread(target=do, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work_alone(self) -> None:
        """Work once no other process of this machine does, and keep the lock until the end."""
        if self._lock is None:
            self._work_on()
            return
        with self._lock.open("ab") as file:
            while not self._stopping and not try_lock(file):
                self._pause(WATCH_SECONDS)
            self._work_on()

    def _work_on(self) -> None:
        for _ in range(self._job_threads):
            self._begin("job", partial(self._repeat, self._do_next, self._idle))
        for _ in range(SENDERS):
            self._begin("webhook", partial(self._repeat, self._send_next, 0.0))
        self._begin(
            "chores", partial(self._repeat, partial(run_due_chores, self._installation), CHORE_SECONDS)
        )
        self._repeat(Watch(self._installation).look, WATCH_SECONDS)

    def _repeat(self, do: Callable[[], object], seconds: float) -> None:
        """Do something until the end, with a pause where there was nothing to do."""
        while not self._stopping:
            try:
                if not do():
                    self._pause(seconds)
            except Unavailable:
                # Logged by the store.
                self._pause(WATCH_SECONDS)
            except Exception:
                logger.exception("work in the background failed; trying again")
                self._pause(WATCH_SECONDS)

    def _pause(self, seconds: float) -> None:
        with self._woken:
            if not self._stopping:
                self._woken.wait(seconds)

    def _do_next(self) -> bool:
        """Work on the job whose turn it is; false where none waits."""
        turn = self._turns.next()
        if turn is None:
            return False
        claim = JobClaim.take(self._installation, turn.id, lambda: self._stopping or turn.over(), turn.charge)
        if claim is not None:
            claim.perform(self._work)
        return True

    def _send_next(self) -> None:
        """Send the message that is due next; one thread at a time looks for it."""
        with self._claiming:
            moment = now()
            message = (
                None if self._stopping else self._installation.store.claim_message(moment, moment + LEASE)
            )
            if message is None:
                self._pause(self._idle)
        if message is not None:
            deliver(self._installation, message)


def try_lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return whether no other process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
