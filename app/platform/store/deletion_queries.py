"""Queries of what stands on an object, and of its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel, col

from app.platform.store.document_queries import names
from app.platform.store.queries import Queries
from app.platform.store.tables import (
    BillRow,
    ComparisonOption,
    ComparisonRecord,
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
    StudyVersionRecord,
    SweepRecord,
    SweepRowRecord,
)
from app.platform.store.upload_queries import ENDED, tells_of

PARTS: Mapping[type[SQLModel], tuple[tuple[type[SQLModel], str], ...]] = {
    EstimateRow: (),
    ComparisonRecord: ((ComparisonOption, "comparison_id"),),
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
            inside = sa.select(col(ComparisonOption.comparison_id)).where(
                *self.criteria(ComparisonOption, estimate_id=identifier)
            )
            dependents += self._called(
                ComparisonRecord, ComparisonRecord.title, col(ComparisonRecord.id).in_(inside)
            )
            dependents += self._called(BillRow, BillRow.label, names(BillRow.request, identifier))
        if table is PriceBookRecord:
            newest = sa.select(col(StudyVersionRecord.study_id)).where(
                *self.criteria(StudyVersionRecord, names(StudyVersionRecord.content, identifier)),
                col(StudyVersionRecord.version) == col(StudyRecord.version),
                col(StudyVersionRecord.study_id) == col(StudyRecord.id),
            )
            current = (col(StudyRecord.saved), sa.not_(col(StudyRecord.archived)))
            dependents += self._called(StudyRecord, StudyRecord.name, newest.exists(), *current)
            pending = (col(SweepRecord.id).in_(self._open_jobs()), names(SweepRecord.request, identifier))
            dependents += self._called(SweepRecord, SweepRecord.title, *pending)
        return dependents

    def _of_proposal(self, table: type[SQLModel], identifier: str) -> list[Any]:
        if table is ComparisonRecord:
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
