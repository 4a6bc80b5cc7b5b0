"""What a transaction of one workspace is about: rows of every table, and the queries of each subject."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import ColumnElement
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import defer
from sqlmodel import Session, col, select

from app.platform.store.deletion_queries import DeletionQueries
from app.platform.store.document_queries import (
    AcceleratorQueries,
    BookQueries,
    ListingQueries,
    StudyQueries,
    SweepQueries,
)
from app.platform.store.integration_queries import KeyQueries, RateQueries, WebhookQueries
from app.platform.store.job_queries import JobQueries
from app.platform.store.proposal_queries import ProposalQueries, next_number, reviewed, status_criterion
from app.platform.store.queries import EVERYTHING, After, ListFilter, Listing, Queries, Statements
from app.platform.store.tables import (
    AcceleratorRecord,
    AuditEvent,
    BillRow,
    CalibrationRow,
    EstimateRow,
    IdempotencyKey,
    JobRecord,
    OwnedRow,
    PriceBookRecord,
    Profile,
    ProposalRecord,
    SizingRow,
    StudyRecord,
    SweepRecord,
    WorkloadSample,
    WorkspaceRow,
)
from app.platform.store.trail import TrailQueries, insert
from app.platform.store.upload_queries import RetentionQueries, UploadQueries

Listed = TypeVar("Listed", bound=OwnedRow)

KINDS: dict[str, type[OwnedRow]] = {
    "prf_": Profile,
    "wkl_": WorkloadSample,
    "est_": EstimateRow,
    "cmp_": StudyRecord,
    "cal_": CalibrationRow,
    "siz_": SizingRow,
    "swp_": SweepRecord,
    "prp_": ProposalRecord,
    "pbk_": PriceBookRecord,
    "own-": AcceleratorRecord,
    "bom_": BillRow,
    "stu_": StudyRecord,
}
"""Beginning of an identifier → what it names."""

DOCUMENTS = ("request", "document", "samples", "content")
"""Columns that lists leave out."""

LARGE = ("samples",)
"""Columns of megabytes, which are read where a row is wanted whole."""


class AnswerExists(Exception):
    """Another request with the same key has been answered meanwhile."""


class Repository(Queries):
    """The queries of one transaction in one workspace."""

    def __init__(self, session: Session, workspace_id: str) -> None:
        super().__init__(session, workspace_id)
        self.studies = StudyQueries(session, workspace_id, "study")
        self.comparisons = StudyQueries(session, workspace_id, "comparison")
        self.uploads = UploadQueries(session, workspace_id)
        self.listings = ListingQueries(session, workspace_id)
        self.retention = RetentionQueries(session, workspace_id)
        self.book_versions = BookQueries(session, workspace_id)
        self.accelerators = AcceleratorQueries(session, workspace_id)
        self.trail = TrailQueries(session, workspace_id)
        self.keys = KeyQueries(session, workspace_id)
        self.rates = RateQueries(session, workspace_id)
        self.hooks = WebhookQueries(session, workspace_id)
        self.deletions = DeletionQueries(session, workspace_id)

    def of_job(self, identifier: str) -> JobQueries:
        return JobQueries(self._session, self._workspace_id, identifier)

    def of_sweep(self, identifier: str) -> SweepQueries:
        return SweepQueries(self._session, self._workspace_id, identifier)

    def next_proposal_number(self, year: int) -> str:
        return next_number(self._session, self._workspace_id, year)

    def of_proposal(self, identifier: str) -> ProposalQueries:
        return ProposalQueries(self._session, self._workspace_id, identifier)

    def ensure_workspace(self, name: str) -> None:
        """Make the workspace unless it is there."""
        if not self.has_workspace():
            self._session.add(WorkspaceRow(id=self._workspace_id, name=name))

    def has_workspace(self) -> bool:
        return self._session.get(WorkspaceRow, self._workspace_id) is not None

    def asks_second_approval(self) -> bool:
        row = self._session.get(WorkspaceRow, self._workspace_id)
        return row is not None and row.second_approval

    def price_columns(self) -> dict[str, dict[str, str]]:
        row = self._session.get(WorkspaceRow, self._workspace_id)
        return {} if row is None else row.price_columns

    def keep_price_columns(self, chosen: dict[str, dict[str, str]]) -> None:
        Statements(self._session).update_rows(WorkspaceRow, {"price_columns": chosen}, id=self._workspace_id)

    def hold(self) -> None:
        """Let nobody else who holds the workspace go on until this transaction ends.

        What is counted or looked for afterwards is still so when the transaction writes.
        """
        Statements(self._session).update_rows(
            WorkspaceRow, {"name": WorkspaceRow.name}, id=self._workspace_id
        )

    def open_jobs_of(self, actor_kind: str, actor_id: str) -> list[str]:
        """Return the jobs that have not ended of whoever asked for them, as the trail tells."""
        requested = sa.select(col(AuditEvent.object_id)).where(
            *self.criteria(AuditEvent, actor_kind=actor_kind, actor_id=actor_id),
            col(AuditEvent.action).like("%.created"),
        )
        not_ended = col(JobRecord.status).in_(("queued", "running"))
        return self.values(JobRecord, JobRecord.id, not_ended, col(JobRecord.id).in_(requested))

    def add(self, *rows: Any) -> None:
        self._add(*rows)

    def write(self, *rows: OwnedRow) -> None:
        """Write rows of one table, with their events in the trail; nothing of them is held for a change."""
        for row in rows:
            row.workspace_id = self._workspace_id
        if rows:
            insert(self._session, rows)

    def get(
        self, table: type[Listed], identifier: str, *, whole: bool = False, lock: bool = False
    ) -> Listed | None:
        """Return a row; one that is held nobody else changes until this transaction ends.

        SQLite has one writer at a time, and holds it for who has written before.
        """
        query = select(table).where(*self.criteria(table, id=identifier))
        if lock:
            query = query.with_for_update()
        left = [] if whole else [getattr(table, name) for name in LARGE if name in table.model_fields]
        # A column that is read later is read by a statement of its own, which does not name the workspace.
        return self._session.exec(query.options(*(defer(column, raiseload=True) for column in left))).first()

    def named(self, table: type[Listed], identifiers: Iterable[str]) -> dict[str, Listed]:
        return {row.id: row for row in self.every(table, col(table.id).in_(list(identifiers)))}

    def page(
        self,
        table: type[Listed],
        limit: int,
        after: After | None,
        *narrowed: ColumnElement[bool],
        wanted: ListFilter = EVERYTHING,
    ) -> Listing[Listed]:
        """Return a stretch of rows of the workspace in their order, without their documents."""
        # A document may take a hundred kilobytes; a list shows none.
        left = [getattr(table, name) for name in DOCUMENTS if name in table.model_fields]
        query = select(table).where(*narrowed).options(*(defer(column, raiseload=True) for column in left))
        return Listing(*self.stretch(query, table, limit, after, wanted=wanted))

    def holds(self, identifier: str) -> bool | None:
        """Tell whether an object is of this workspace; None where the identifier is of no kind known."""
        table = KINDS.get(identifier[:4])
        return None if table is None else self.exists(table, id=identifier)

    def proposals(
        self,
        limit: int,
        after: After | None,
        status: str | None,
        today: str,
        review: str | None = None,
        study: str | None = None,
        wanted: ListFilter = EVERYTHING,
    ) -> Listing[ProposalRecord]:
        """Return proposals that stand so on a day, all of them where nothing is said, newest first."""
        study_id = col(ProposalRecord.request)["study_id"].as_string()
        criteria = [] if study is None else [study_id == study]
        criteria += [] if status is None else [status_criterion(status, today)]
        criteria += [] if review is None else [reviewed(review, today)]
        return self.page(ProposalRecord, limit, after, *criteria, wanted=wanted)

    def idempotent_answer(self, endpoint: str, key: str, since: datetime) -> IdempotencyKey | None:
        """Return the first answer given under a key, if it was given since a moment."""
        row = self._session.get(IdempotencyKey, (self._workspace_id, endpoint, key))
        return row if row is not None and row.created_at >= since else None

    def add_idempotent_answer(
        self, endpoint: str, key: str, body_sha256: str, answer: dict[str, object], since: datetime
    ) -> None:
        """Keep the first answer given under a key since a moment, in place of one from before.

        An empty one holds the key for a request that has not ended.
        """
        self._session.flush()
        self.delete_rows(IdempotencyKey, col(IdempotencyKey.created_at) < since, endpoint=endpoint, key=key)
        self._session.add(
            IdempotencyKey(
                workspace_id=self._workspace_id,
                endpoint=endpoint,
                key=key,
                body_sha256=body_sha256,
                answer=answer,
            )
        )
        try:
            self._session.flush()
        except IntegrityError as error:
            raise AnswerExists from error

    def drop_idempotent_answer(self, endpoint: str, key: str) -> None:
        self.delete_rows(IdempotencyKey, endpoint=endpoint, key=key)
