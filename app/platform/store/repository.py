"""Every query by name, each within one workspace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import defer
from sqlmodel import col, delete, select, tuple_, update

from app.platform.store.account_tables import ApiKeyRecord, WebhookDelivery, WebhookRecord
from app.platform.store.document_queries import BookQueries, ListedQueries
from app.platform.store.integrity import IntegrityQueries
from app.platform.store.job_queries import JobQueries
from app.platform.store.key_queries import KeyQueries, RateQueries
from app.platform.store.proposal_queries import ProposalQueries, standing
from app.platform.store.study_queries import StudyQueries
from app.platform.store.sweep_queries import SweepQueries
from app.platform.store.tables import (
    BillRow,
    CalibrationRow,
    ComparisonOption,
    ComparisonRecord,
    EstimateRow,
    IdempotencyKey,
    JobRecord,
    PriceBookRecord,
    Profile,
    ProposalRecord,
    SizingRow,
    StudyRecord,
    SweepRecord,
    WorkloadSample,
    Workspace,
)
from app.platform.store.trail import TrailQueries
from app.platform.store.types import Queries
from app.platform.store.upload_queries import RetentionQueries, UploadQueries
from app.platform.store.webhook_queries import WebhookQueries

Listed = TypeVar(
    "Listed",
    Profile,
    WorkloadSample,
    EstimateRow,
    ComparisonRecord,
    CalibrationRow,
    SizingRow,
    SweepRecord,
    JobRecord,
    ProposalRecord,
    PriceBookRecord,
    BillRow,
    ApiKeyRecord,
    WebhookRecord,
    WebhookDelivery,
)


class Row(Protocol):
    """A row of a table that belongs to a workspace."""

    workspace_id: str


KINDS = {
    "prf_": Profile,
    "wkl_": WorkloadSample,
    "est_": EstimateRow,
    "cmp_": ComparisonRecord,
    "cal_": CalibrationRow,
    "siz_": SizingRow,
    "swp_": SweepRecord,
    "prp_": ProposalRecord,
    "pbk_": PriceBookRecord,
    "bom_": BillRow,
    "stu_": StudyRecord,
}
"""Beginning of an identifier → what it names."""

DOCUMENTS = ("request", "document", "samples", "content")
"""Columns that lists leave out."""

LATER = ("samples",)
"""Columns of megabytes, which are read when they are looked at."""


@dataclass(frozen=True, slots=True)
class After:
    """Where a listing goes on: behind the row made at this moment with this identifier."""

    created_at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[Listed]):
    """A stretch of rows, newest first, and where the next one begins."""

    rows: Sequence[Listed]
    next: After | None


class AlreadyAnswered(Exception):
    """Another request with the same key has been answered meanwhile."""


class Repository(Queries):
    """The queries of one transaction in one workspace."""

    def ensure_workspace(self, name: str) -> None:
        """Make the workspace unless it is there."""
        if self._session.get(Workspace, self._workspace_id) is None:
            self._session.add(Workspace(id=self._workspace_id, name=name))

    def has_workspace(self) -> bool:
        """Tell whether the workspace is there."""
        return self._session.get(Workspace, self._workspace_id) is not None

    def add(self, *rows: Row) -> None:
        """Keep rows in the workspace."""
        for row in rows:
            row.workspace_id = self._workspace_id
            self._session.add(row)

    def get(self, table: type[Listed], identifier: str) -> Listed | None:
        """Return a row of the workspace."""
        query = select(table).where(table.workspace_id == self._workspace_id, table.id == identifier)
        later = [getattr(table, name) for name in LATER if name in table.model_fields]
        query = query.options(*(defer(column) for column in later))
        return self._session.exec(query).first()

    def named(self, table: type[Listed], identifiers: Iterable[str]) -> dict[str, Listed]:
        """Return rows by identifier."""
        query = select(table).where(
            table.workspace_id == self._workspace_id, col(table.id).in_(list(identifiers))
        )
        return {row.id: row for row in self._session.exec(query)}

    def page(
        self, table: type[Listed], limit: int, after: After | None, *narrowed: ColumnElement[bool]
    ) -> Listing[Listed]:
        """Return a stretch of rows of the workspace, newest first, without their documents."""
        query = select(table).where(table.workspace_id == self._workspace_id, *narrowed)
        # A document may take a hundred kilobytes; a list shows none.
        left = [getattr(table, name) for name in DOCUMENTS if name in table.model_fields]
        query = query.options(*(defer(column, raiseload=True) for column in left))
        if after is not None:
            place = tuple_(col(table.created_at), col(table.id))
            query = query.where(place < tuple_(after.created_at, after.id))
        query = query.order_by(col(table.created_at).desc(), col(table.id).desc()).limit(limit + 1)
        rows = self._session.exec(query).all()
        more = len(rows) > limit
        rows = rows[:limit]
        return Listing(rows, After(rows[-1].created_at, rows[-1].id) if more else None)

    def add_comparison(
        self, record: ComparisonRecord, options: Iterable[tuple[dict[str, object], str | None]]
    ) -> None:
        """Keep a comparison and its options, each with the identifier of its estimate."""
        self.add(record)
        self.replace_options(record.id, options)

    def comparison_options(self, identifier: str) -> Sequence[ComparisonOption]:
        """Return the options of a comparison in their order."""
        query = (
            select(ComparisonOption)
            .where(
                ComparisonOption.workspace_id == self._workspace_id,
                ComparisonOption.comparison_id == identifier,
            )
            .order_by(col(ComparisonOption.position))
        )
        return self._session.exec(query).all()

    def change_comparison(self, identifier: str, version: int, values: dict[str, Any]) -> bool:
        """Change a comparison of this version; tell whether it was still of it."""
        changed = self._session.execute(
            update(ComparisonRecord)
            .where(
                col(ComparisonRecord.workspace_id) == self._workspace_id,
                col(ComparisonRecord.id) == identifier,
                col(ComparisonRecord.version) == version,
            )
            .values(**values)
        )
        return changed.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def replace_options(
        self, identifier: str, options: Iterable[tuple[dict[str, object], str | None]]
    ) -> None:
        """Give a comparison other options."""
        self._session.flush()
        self._session.exec(
            delete(ComparisonOption).where(
                col(ComparisonOption.workspace_id) == self._workspace_id,
                col(ComparisonOption.comparison_id) == identifier,
            )
        )
        self._session.add_all(
            ComparisonOption(
                comparison_id=identifier,
                position=position,
                workspace_id=self._workspace_id,
                request=request,
                estimate_id=estimate_id,
            )
            for position, (request, estimate_id) in enumerate(options)
        )

    def of_job(self, identifier: str) -> JobQueries:
        """Return the queries of one job: who does it and how far it is."""
        return JobQueries(self._session, self._workspace_id, identifier)

    def of_sweep(self, identifier: str) -> SweepQueries:
        """Return the queries of the rows of one sweep."""
        return SweepQueries(self._session, self._workspace_id, identifier)

    @property
    def studies(self) -> StudyQueries:
        """The queries of studies and their versions."""
        return StudyQueries(self._session, self._workspace_id)

    @property
    def uploads(self) -> UploadQueries:
        """The queries of uploads, their files and what names them."""
        return UploadQueries(self._session, self._workspace_id)

    @property
    def integrity(self) -> IntegrityQueries:
        """The queries of what was frozen."""
        return IntegrityQueries(self._session, self._workspace_id)

    @property
    def shown(self) -> ListedQueries:
        """The queries of what lists show of estimates and comparisons."""
        return ListedQueries(self._session, self._workspace_id)

    @property
    def retention(self) -> RetentionQueries:
        """The queries of what is kept for a time only."""
        return RetentionQueries(self._session, self._workspace_id)

    def proposals(
        self, limit: int, after: After | None, status: str | None, today: str
    ) -> Listing[ProposalRecord]:
        """Return proposals that stand so on a day, all of them where nothing is said, newest first."""
        chosen = [] if status is None else [standing(status, today)]
        return self.page(ProposalRecord, limit, after, *chosen)

    def of_proposal(self, identifier: str) -> ProposalQueries:
        """Return the queries of one proposal: its events, files and links."""
        return ProposalQueries(self._session, self._workspace_id, identifier)

    @property
    def book_versions(self) -> BookQueries:
        """The queries of the versions of price books."""
        return BookQueries(self._session, self._workspace_id)

    @property
    def trail(self) -> TrailQueries:
        """The queries of what was done."""
        return TrailQueries(self._session, self._workspace_id)

    def holds(self, identifier: str) -> bool | None:
        """Tell whether an object is of this workspace; None where the identifier is of no kind known."""
        table: Any = KINDS.get(identifier[:4])
        return None if table is None else self.get(table, identifier) is not None

    @property
    def keys(self) -> KeyQueries:
        """The queries of keys of the API."""
        return KeyQueries(self._session, self._workspace_id)

    @property
    def rates(self) -> RateQueries:
        """The queries of counted requests."""
        return RateQueries(self._session, self._workspace_id)

    @property
    def hooks(self) -> WebhookQueries:
        """The queries of webhooks and their messages."""
        return WebhookQueries(self._session, self._workspace_id)

    def deliveries(self, webhook_id: str, limit: int, after: After | None) -> Listing[WebhookDelivery]:
        """Return the messages to a webhook, newest first."""
        return self.page(WebhookDelivery, limit, after, col(WebhookDelivery.webhook_id) == webhook_id)

    def idempotent_answer(self, endpoint: str, key: str, since: datetime) -> IdempotencyKey | None:
        """Return the first answer given under a key, if it was given since a moment."""
        found = self._session.get(IdempotencyKey, (self._workspace_id, endpoint, key))
        return found if found is not None and found.created_at >= since else None

    def add_idempotent_answer(
        self, endpoint: str, key: str, body_sha256: str, answer: dict[str, object], since: datetime
    ) -> None:
        """Keep the first answer given under a key since a moment, in place of one from before."""
        self._session.flush()
        self._session.exec(
            delete(IdempotencyKey).where(
                col(IdempotencyKey.workspace_id) == self._workspace_id,
                col(IdempotencyKey.endpoint) == endpoint,
                col(IdempotencyKey.key) == key,
                col(IdempotencyKey.created_at) < since,
            )
        )
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
            raise AlreadyAnswered from error
