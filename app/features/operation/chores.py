"""What the server does for itself again and again, whichever of several servers comes to it first."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from app.errors import Unavailable
from app.features.integrations.webhooks import deliver_due, purge_messages
from app.features.operation.retention import purge
from app.features.proposals.service import note_expired
from app.platform import sessions
from app.platform.store.types import now
from app.platform.workbench import Workbench
from app.telemetry import CHORES

MOST_SECONDS = 30.0
"""How long messages are sent at one turn; what is left waits for the next. [s]"""

WEBHOOKS = "webhooks"
"""Name of the chore that sends messages, to ask for it at once."""


def tell_webhooks(bench: Workbench) -> None:
    started = time.monotonic()
    while deliver_due(bench, now(), bench.sender) and time.monotonic() - started < MOST_SECONDS:
        pass


def tidy_integration(bench: Workbench) -> None:
    """Note proposals whose last day is over; forget counted requests and old messages."""
    moment = now()
    note_expired(bench, moment)
    bench.store.purge_rates(moment)
    purge_messages(bench, moment)


logger = logging.getLogger("rackline.chores")


@dataclass(frozen=True, slots=True)
class Chore:
    """Something to do again and again. Doing it twice must do no harm, nor leaving out a turn."""

    name: str
    every: timedelta
    run: Callable[[Workbench], object]

    def due(self, bench: Workbench) -> bool:
        """Take its turn; false where it is not due or another server has it."""
        moment = now()
        return bench.store.take_turn(self.name, moment, moment - self.every)


def tidy_database(bench: Workbench) -> None:
    bench.store.tidy()


def delete_what_is_over(bench: Workbench) -> None:
    purge(bench, now())


def forget_sign_ins(bench: Workbench) -> None:
    sessions.purge(bench.store, bench.session_times)


HOUSEKEEPING: tuple[Chore, ...] = (
    Chore("tidy-database", timedelta(days=1), tidy_database),
    Chore(WEBHOOKS, timedelta(seconds=10), tell_webhooks),
    Chore("integration", timedelta(minutes=10), tidy_integration),
    Chore("sign-ins", timedelta(hours=1), forget_sign_ins),
    Chore("retention", timedelta(hours=6), delete_what_is_over),
)
"""Every recurring chore of the server, in one place."""


def run_chore(bench: Workbench, name: str) -> None:
    """Do a chore; a failure is logged and its next turn comes all the same."""
    for chore in HOUSEKEEPING:
        if chore.name == name:
            started = time.monotonic()
            try:
                chore.run(bench)
            except Unavailable:
                # The store has said so in the log.
                CHORES.labels(name, "failed").inc()
            except Exception:
                logger.exception("chore failed", extra={"chore": name})
                CHORES.labels(name, "failed").inc()
            else:
                CHORES.labels(name, "done").inc()
                took = round(time.monotonic() - started, 3)
                logger.info("chore done", extra={"chore": name, "seconds": took})


@dataclass(frozen=True, slots=True)
class JobsInState:
    """Jobs of one kind that wait or are under way."""

    kind: str
    status: str
    count: int
    oldest: float
    """Age of the oldest one. [s]"""


def jobs_in_states(bench: Workbench) -> list[JobsInState]:
    """Return the jobs of every workspace that have not ended, by kind and status."""
    moment = now()
    return [
        # A clock that was put back makes nothing younger than new.
        JobsInState(kind, status, count, max(0.0, (moment - oldest).total_seconds()))
        for kind, status, count, oldest in bench.store.jobs_by_state()
    ]
