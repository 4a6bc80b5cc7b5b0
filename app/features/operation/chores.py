"""What the server does again and again, whichever server comes first; what is deleted after its time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.errors import Unavailable
from app.features.integrations.webhooks import deliver_due, purge_messages
from app.features.proposals.service import note_expired, render_missing
from app.features.studies.service import drop_unsaved
from app.platform import sessions
from app.platform.retention import KINDS
from app.platform.store.queries import now
from app.platform.workbench import LOCAL_WORKSPACE, Workbench, nobody_uploads, remove_files
from app.telemetry import CHORES

AT_ONCE = 200
"""Rows deleted in one transaction, so that nobody waits long for it."""

LONGEST_SILENCE = timedelta(days=2)

STEADY = timedelta(days=1)
"""The clock must have gone steadily for so long, looked at no less often than this, before anything goes by
it: a clock that leaps years ahead must not delete what is new."""


@dataclass(slots=True)
class Purged:
    """What has gone, or would go."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*KINDS, "files"), 0))
    waiting: int = 0
    """Workspaces in which nothing was deleted, because the clock has not gone steadily long enough."""


def purge(bench: Workbench, moment: datetime, *, dry_run: bool = False, at_once: bool = False) -> Purged:
    """Delete what has had its time in every workspace, and files that nothing names."""
    purged = Purged()
    for workspace in bench.store.workspaces():
        with bench.store.transaction(workspace) as repository:
            trusted = dry_run or at_once or repository.retention.steady(moment, LONGEST_SILENCE) >= STEADY
        if not trusted:
            purged.waiting += 1
            continue
        for kind in KINDS:
            before = bench.retention.before(kind, moment)
            if before is not None:
                purged.counts[kind] += PURGES[kind](bench, workspace, before, dry_run)
    purged.counts["files"] = purge_files(bench, dry_run)
    return purged


def purge_estimates(bench: Workbench, workspace: str, before: datetime, dry_run: bool) -> int:
    with bench.store.transaction(workspace) as repository:
        chosen = repository.retention.estimates_before(before)
    if dry_run:
        return len(chosen)
    deleted = 0
    for start in range(0, len(chosen), AT_ONCE):
        with bench.store.transaction(workspace) as repository:
            deleted += repository.retention.delete_estimates(chosen[start : start + AT_ONCE])
    return deleted


def purge_sweeps(bench: Workbench, workspace: str, before: datetime, dry_run: bool) -> int:
    with bench.store.transaction(workspace) as repository:
        chosen = repository.retention.sweeps_before(before)
    if dry_run:
        return len(chosen)
    deleted = 0
    for identifier in chosen:
        with bench.store.transaction(workspace) as repository:
            deleted += repository.retention.delete_sweep(identifier)
    return deleted


def purge_unsaved(bench: Workbench, workspace: str, before: datetime, dry_run: bool) -> int:
    with bench.store.transaction(workspace) as repository:
        chosen = repository.retention.unsaved_before(before)
    if not dry_run:
        for identifier in chosen:
            drop_unsaved(bench, workspace, identifier)
    return len(chosen)


def purge_keys(bench: Workbench, workspace: str, before: datetime, dry_run: bool) -> int:
    with bench.store.transaction(workspace) as repository:
        return repository.retention.keys(before, dry_run)


def purge_shares(bench: Workbench, workspace: str, before: datetime, dry_run: bool) -> int:
    with bench.store.transaction(workspace) as repository:
        return repository.retention.shares(before, dry_run)


PURGES: dict[str, Callable[[Workbench, str, datetime, bool], int]] = {
    "estimates": purge_estimates,
    "sweeps": purge_sweeps,
    "idempotency": purge_keys,
    "shares": purge_shares,
    "unsaved": purge_unsaved,
}


def purge_files(bench: Workbench, dry_run: bool) -> int:
    """Delete files that no upload names, and what uploads that were broken off have left."""
    files = bench.files
    if files is None:
        return 0
    named = {workspace: named_files(bench, workspace) for workspace in bench.store.workspaces()}
    unnamed = [one for one in files.each() if one.sha256 not in named.get(one.workspace_id, set())]
    if dry_run:
        return len(unnamed) + len(list(files.strays()))
    # Each is looked for again while nobody brings a file: one that was on its way has its row by then.
    gone = sum(remove_files(bench, one.workspace_id, [one.sha256]) for one in unnamed)
    with nobody_uploads(bench, LOCAL_WORKSPACE) as (alone, _):
        for stray in list(files.strays()) if alone else ():
            files.storage.delete(stray)
            gone += 1
    return gone


def named_files(bench: Workbench, workspace: str) -> set[str]:
    with bench.store.transaction(workspace) as repository:
        return repository.uploads.addresses()


MOST_SECONDS = 30.0
"""How long messages are sent at one turn; what is left waits for the next. [s]"""

WEBHOOKS = "webhooks"
"""Name of the chore that sends messages, to ask for it at once."""


def tell_webhooks(bench: Workbench) -> None:
    started = time.monotonic()
    while deliver_due(bench, now(), bench.sender) and time.monotonic() - started < MOST_SECONDS:
        pass


def tidy_integration(bench: Workbench) -> None:
    """Note proposals whose last day is over, render documents that are missing; forget counted requests and
    old messages.
    """
    moment = now()
    note_expired(bench, moment)
    render_missing(bench)
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
