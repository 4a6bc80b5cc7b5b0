"""Long work in the background of the server: one thread that computes the sweeps that wait.

The whole interface is :meth:`Jobs.start` and :meth:`Jobs.stop`; work comes in through the store, so that it
outlives the server.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from app.errors import Unavailable
from app.services.integration_chores import TIDY_SECONDS, tell_webhooks, tidy_integration
from app.services.sweep_running import Claim
from app.services.workbench import Workbench
from app.sizing.sweep.run import Crew
from app.store.types import new_id

logger = logging.getLogger("rackline.jobs")

IDLE_SECONDS = 2.0
"""How often is looked for work that other servers have left. [s]"""

STOP_SECONDS = 5.0
"""How long the end of the server waits for the thread to put its work down. [s]"""


class Jobs:
    """The thread that computes sweeps."""

    def __init__(self, bench: Workbench, make_crew: Callable[[], Crew]) -> None:
        self._bench = bench
        self._make_crew = make_crew
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Put the work down for whoever comes next."""
        self._stop.set()
        self._bench.work.set()
        self._thread.join(STOP_SECONDS)

    def _work(self) -> None:
        runner, tidied = new_id("run"), float("-inf")
        while not self._stop.is_set():
            # Cleared before looking: what is announced while looking is looked for again.
            self._bench.work.clear()
            try:
                tell_webhooks(self._bench)
                if time.monotonic() - tidied >= TIDY_SECONDS:
                    tidied = time.monotonic()
                    tidy_integration(self._bench)
                claim = Claim.next(self._bench, runner, self._stop.is_set)
                if claim is not None:
                    claim.compute(self._make_crew)
                    continue
            except Unavailable:
                # The store has said so in the log; work goes on where it was put down.
                pass
            except SQLAlchemyError:
                logger.exception("the store cannot be used; trying again")
            self._bench.work.wait(IDLE_SECONDS)
