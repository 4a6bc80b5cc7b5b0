"""The end of what is kept, unless something that stays stands on it."""

from __future__ import annotations

from typing import Any

from app.errors import Conflict, Stale, VersionConflict
from app.platform.references import existing
from app.platform.store.tables import (
    BillRow,
    EstimateRow,
    OwnedRow,
    PriceBookRecord,
    ProposalRecord,
    StudyRecord,
    SweepRecord,
)
from app.platform.workspace import Workspace

DELETABLE: dict[type[OwnedRow], str] = {
    EstimateRow: "estimate",
    StudyRecord: "comparison",
    BillRow: "bill of materials",
    PriceBookRecord: "price book",
    ProposalRecord: "proposal",
    SweepRecord: "sweep",
}
"""Tables of what can be deleted → what it is called."""


def delete(workspace: Workspace, table: type[Any], identifier: str, expected: int | None = None) -> None:
    """Delete an object; with a version, only where it still is of that version."""
    with workspace.transaction() as repository:
        # Before anything is looked at: whoever keeps what stands on it holds the workspace, and whoever
        # changes it the row. A sweep is held by its job, as by its runner.
        repository.hold()
        record = existing(repository, table, identifier, DELETABLE[table], lock=table is not SweepRecord)
        if expected is not None and expected != record.version:
            conflict = VersionConflict.since(expected, record.version)
            raise Stale(conflict.message, conflict.errors)
        if isinstance(record, ProposalRecord) and record.frozen_at is not None:
            raise Conflict.at("id", "a frozen proposal cannot be deleted; only drafts can")
        if isinstance(record, SweepRecord) and repository.deletions.is_running(identifier):
            raise Conflict.at("id", "the sweep has not ended; cancel it first")
        users = repository.deletions.references_to(table, identifier)
        if users:
            names = ", ".join(users[:3]) + (" …" if len(users) > 3 else "")
            raise Conflict.at("id", "{names} stands on it; delete that first", names=names)
        repository.deletions.delete(table, identifier)
