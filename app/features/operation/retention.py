"""What is kept for a time only, and what has to go with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.platform.retention import KINDS
from app.platform.workbench import Workbench

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
}


def purge_files(bench: Workbench, dry_run: bool) -> int:
    """Delete files that no upload names, and what uploads that were broken off have left."""
    files = bench.files
    if files is None or not files.directory.is_dir():
        return 0
    gone = 0
    with files.alone() as alone:
        if not alone:
            return 0
        named = {workspace: named_files(bench, workspace) for workspace in bench.store.workspaces()}
        for kept in list(files.each()):
            if kept.sha256 not in named.get(kept.workspace_id, set()):
                gone += 1
                if not dry_run:
                    files.remove(kept.workspace_id, kept.sha256)
        for stray in list(files.strays()):
            gone += 1
            if not dry_run:
                stray.unlink(missing_ok=True)
    return gone


def named_files(bench: Workbench, workspace: str) -> set[str]:
    with bench.store.transaction(workspace) as repository:
        return repository.uploads.addresses()
