"""Queries of what stands on an object, and of its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel, col

from app.platform.store.document_queries import NEWEST, names
from app.platform.store.queries import Queries
from app.platform.store.tables import (
    BillRow,
    EstimateRow,
    IdempotencyKey,
    JobRecord,
    PriceBookRecord,
    PriceBookVersion,
    ProposalArtifact,
    ProposalEventRecord,
    ProposalRecord,
    ProposalShare,
    StudyRecord,
    StudyStateRecord,
    StudyVersionRecord,
    SweepRecord,
    SweepRowRecord,
)
from app.platform.store.upload_queries import ENDED, tells_of

PARTS: Mapping[type[SQLModel], tuple[tuple[type[SQLModel], str], ...]] = {
    EstimateRow: (),
    StudyRecord: ((StudyVersionRecord, "study_id"), (StudyStateRecord, "study_id")),
    BillRow: (),
    PriceBookRecord: ((PriceBookVersion, "book_id"),),
    ProposalRecord: tuple(
        (table, "proposal_id") for table in (ProposalEventRecord, ProposalArtifact, ProposalShare)
    ),
    SweepRecord: ((SweepRowRecord, "sweep_id"), (JobRecord, "id")),
}
"""What can be deleted → the tables of its parts, with the column that names it."""

MOST_NAMED = 4


class DeletionQueries(Queries):
    """What stands on an object, and its end."""

    def references_to(self, table: type[SQLModel], identifier: str) -> list[str]:
        """Return what would lose what it rests on: proposals, comparisons, studies, bills, open sweeps."""
        dependents = self._called(ProposalRecord, ProposalRecord.title, *self._of_proposal(table, identifier))
        if table is EstimateRow:
            naming = names(StudyVersionRecord.estimates, identifier)
            inside = sa.select(col(StudyVersionRecord.study_id)).where(
                *self.criteria(StudyVersionRecord, naming)
            )
            dependents += self._called(StudyRecord, StudyRecord.name, col(StudyRecord.id).in_(inside))
            dependents += self._called(BillRow, BillRow.label, names(BillRow.request, identifier))
        if table is PriceBookRecord:
            newest = sa.exists().where(NEWEST, names(StudyVersionRecord.content, identifier))
            current = (col(StudyRecord.saved), sa.not_(col(StudyRecord.archived)))
            listed = (col(StudyRecord.kind) == "study", *current)
            dependents += self._called(StudyRecord, StudyRecord.name, newest, *listed)
            pending = (col(SweepRecord.id).in_(self._open_jobs()), names(SweepRecord.request, identifier))
            dependents += self._called(SweepRecord, SweepRecord.title, *pending)
        return dependents

    def _of_proposal(self, table: type[SQLModel], identifier: str) -> list[Any]:
        if table is StudyRecord:
            return [col(ProposalRecord.request)["comparison_id"].as_string() == identifier]
        if table in {EstimateRow, BillRow, PriceBookRecord}:
            return [names(ProposalRecord.content, identifier)]
        return [sa.false()]

    def _called(self, table: Any, name: Any, *criteria: Any) -> list[str]:
        query = sa.select(col(table.id), name).where(*self.criteria(table, *criteria)).limit(MOST_NAMED)
        return [f"“{called[:80]}” ({identifier})" for identifier, called in self._session.execute(query)]

    def _open_jobs(self) -> Any:
        return sa.select(col(JobRecord.id)).where(
            *self.criteria(JobRecord, col(JobRecord.status).not_in(ENDED))
        )

    def is_running(self, identifier: str) -> bool:
        """Tell whether a job has not ended; none begins again until this transaction ends."""
        self.update_rows(JobRecord, {"runner": JobRecord.runner}, id=identifier)
        return self.exists(JobRecord, col(JobRecord.status).not_in(ENDED), id=identifier)

    def delete(self, table: type[SQLModel], identifier: str) -> None:
        """Delete an object with its parts, and answers that are kept to be given again and tell of it."""
        for part, column in PARTS[table]:
            self.delete_rows(part, **{column: identifier})
        self.forget_answers(identifier)
        self.delete_rows(table, id=identifier)

    def forget_answers(self, identifier: str) -> None:
        """Delete the answers that are kept to be given again and tell of an object."""
        self.delete_rows(IdempotencyKey, tells_of(identifier))
