"""Recurring chores, each done by one of the servers, and deletion of expired data."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.errors import Unavailable
from app.features.integrations.webhooks import KEPT
from app.features.proposals.service import note_expired
from app.features.studies.service import drop_unsaved
from app.platform import sessions
from app.platform.retention import KINDS
from app.platform.store.queries import now
from app.platform.store.upload_files import StoredFile, UploadFiles
from app.platform.workspace import LOCAL_WORKSPACE, Installation, Workspace
from app.telemetry import CHORES

AT_ONCE = 200
"""Rows deleted in one transaction, to keep it short."""

LONGEST_SILENCE = timedelta(days=2)

STEADY = timedelta(days=1)
"""How long the clock must have run without a gap of ``LONGEST_SILENCE`` before anything is deleted: a clock
set years ahead must not delete new data."""


@dataclass(slots=True)
class PurgeCounts:
    """Number of deleted objects by kind."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*KINDS, "files"), 0))
    waiting: int = 0
    """Workspaces in which nothing was deleted because the clock is not trusted yet."""


def purge(
    installation: Installation, moment: datetime, *, dry_run: bool = False, at_once: bool = False
) -> PurgeCounts:
    """Delete expired data of every workspace, and files without a reference."""
    purged = PurgeCounts()
    for workspace in installation.workspaces():
        with workspace.transaction() as repository:
            trusted = dry_run or at_once or repository.retention.steady(moment, LONGEST_SILENCE) >= STEADY
        if not trusted:
            purged.waiting += 1
            continue
        for kind in KINDS:
            before = installation.retention.before(kind, moment)
            if before is not None:
                purged.counts[kind] += PURGES[kind](workspace, before, dry_run)
    purged.counts["files"] = purge_files(installation, dry_run)
    return purged


def purge_estimates(workspace: Workspace, before: datetime, dry_run: bool) -> int:
    with workspace.transaction() as repository:
        chosen = repository.retention.estimates_before(before)
    if dry_run:
        return len(chosen)
    deleted = 0
    for start in range(0, len(chosen), AT_ONCE):
        with workspace.transaction() as repository:
            deleted += repository.retention.delete_estimates(chosen[start : start + AT_ONCE])
    return deleted


def purge_sweeps(workspace: Workspace, before: datetime, dry_run: bool) -> int:
    with workspace.transaction() as repository:
        chosen = repository.retention.sweeps_before(before)
    if dry_run:
        return len(chosen)
    deleted = 0
    for identifier in chosen:
        with workspace.transaction() as repository:
            deleted += repository.retention.delete_sweep(identifier)
    return deleted


def purge_unsaved(workspace: Workspace, before: datetime, dry_run: bool) -> int:
    with workspace.transaction() as repository:
        chosen = repository.retention.unsaved_before(before)
    if not dry_run:
        for identifier in chosen:
            drop_unsaved(workspace, identifier)
    return len(chosen)


def purge_keys(workspace: Workspace, before: datetime, dry_run: bool) -> int:
    with workspace.transaction() as repository:
        return repository.retention.keys(before, dry_run)


def purge_shares(workspace: Workspace, before: datetime, dry_run: bool) -> int:
    with workspace.transaction() as repository:
        return repository.retention.shares(before, dry_run)


PURGES: dict[str, Callable[[Workspace, datetime, bool], int]] = {
    "estimates": purge_estimates,
    "sweeps": purge_sweeps,
    "idempotency": purge_keys,
    "shares": purge_shares,
    "unsaved": purge_unsaved,
}


def purge_files(installation: Installation, dry_run: bool) -> int:
    """Delete files without an upload, and leftovers of interrupted uploads."""
    files = installation.files
    if files is None:
        return 0
    unreferenced = unreferenced_files(installation, files)
    if dry_run:
        return len(unreferenced) + len(list(files.strays()))
    # Each is checked again while no upload is running: one under way has its row by then.
    removed = sum(
        installation.workspace(file.workspace_id).remove_files([file.sha256]) for file in unreferenced
    )
    with installation.workspace(LOCAL_WORKSPACE).without_uploads() as (alone, _):
        for stray in list(files.strays()) if alone else ():
            files.storage.delete(stray)
            removed += 1
    return removed


def unreferenced_files(installation: Installation, files: UploadFiles) -> list[StoredFile]:
    """Return the stored files that no upload refers to."""
    referenced = {}
    for workspace in installation.workspaces():
        with workspace.transaction() as repository:
            referenced[workspace.id] = repository.uploads.addresses()
    return [file for file in files.each() if file.sha256 not in referenced.get(file.workspace_id, set())]


def tidy_integration(installation: Installation) -> None:
    """Record expired proposals, delete old rate counts and messages."""
    moment = now()
    note_expired(installation, moment)
    installation.store.purge_rates(moment)
    installation.store.purge_messages(moment - KEPT)


logger = logging.getLogger("rackline.chores")


@dataclass(frozen=True, slots=True)
class Chore:
    """A recurring chore. Running it twice, or skipping a turn, must be harmless."""

    name: str
    every: timedelta
    run: Callable[[Installation], object]

    def due(self, installation: Installation) -> bool:
        """Claim a turn; false if it is not due or another server has claimed it."""
        moment = now()
        return installation.store.take_turn(self.name, moment, moment - self.every)


HOUSEKEEPING: tuple[Chore, ...] = (
    Chore("tidy-database", timedelta(days=1), lambda installation: installation.store.tidy()),
    Chore("integration", timedelta(minutes=10), tidy_integration),
    Chore(
        "sign-ins",
        timedelta(hours=1),
        lambda installation: sessions.purge(installation.store, installation.session_times),
    ),
    Chore("retention", timedelta(hours=6), lambda installation: purge(installation, now())),
)
"""Every recurring chore of the server, in one place."""


def run_due_chores(installation: Installation) -> None:
    """Run the chores that are due; a failure is logged."""
    for chore in HOUSEKEEPING:
        if chore.due(installation):
            started = time.monotonic()
            try:
                chore.run(installation)
            except Unavailable:
                # The store has logged it.
                CHORES.labels(chore.name, "failed").inc()
            except Exception:
                logger.exception("chore failed", extra={"chore": chore.name})
                CHORES.labels(chore.name, "failed").inc()
            else:
                CHORES.labels(chore.name, "done").inc()
                took = round(time.monotonic() - started, 3)
                logger.info("chore done", extra={"chore": chore.name, "seconds": took})


@dataclass(frozen=True, slots=True)
class JobsInState:
    """Waiting or running jobs of one kind."""

    kind: str
    status: str
    count: int
    oldest: float
    """Age of the oldest one. [s]"""


def jobs_in_states(installation: Installation) -> list[JobsInState]:
    """Return the jobs of every workspace that have not ended, by kind and status."""
    moment = now()
    return [
        # The clock may have been set back.
        JobsInState(kind, status, count, max(0.0, (moment - oldest).total_seconds()))
        for kind, status, count, oldest in installation.store.jobs_by_state()
    ]
