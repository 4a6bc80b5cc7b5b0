"""Every query by name, each within one workspace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import defer
from sqlmodel import Session, col, delete, select, tuple_, update

from app.store.book_queries import BookQueries
from app.store.integration_tables import ApiKeyRecord, WebhookDelivery, WebhookRecord
from app.store.integrity import IntegrityQueries
from app.store.job_queries import JobQueries
from app.store.key_queries import KeyQueries
from app.store.listed_queries import ListedQueries
from app.store.proposal_queries import ProposalQueries, standing
from app.store.rate_queries import RateQueries
from app.store.retention_queries import RetentionQueries
from app.store.study_queries import StudyQueries
from app.store.sweep_queries import SweepQueries
from app.store.tables import (
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
from app.store.trail import TrailQueries
from app.store.upload_queries import UploadQueries
from app.store.webhook_queries import WebhookQueries

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


class Repository:
    """The queries of one transaction in one workspace."""

    def __init__(self, session: Session, workspace_id: str) -> None:
        self._session = session
        self._workspace_id = workspace_id

    def ensure_workspace(self, name: str) -> None:
        """Make the workspace unless it is there."""
        if self._session.get(Workspace, self._workspace_id) is None:
            self._session.add(Workspace(id=self._workspace_id, name=name))

    def has_workspace(self) -> bool:
        """Tell whether the workspace is there."""
        return self._session.get(Workspace, self._workspace_id) is not None

    def add_profile(self, identifier: str, name: str, kind: str, document: dict[str, object]) -> None:
        """Keep an uploaded model."""
        self._session.add(
            Profile(id=identifier, workspace_id=self._workspace_id, name=name, kind=kind, document=document)
        )

    def profile(self, identifier: str) -> Profile | None:
        """Return an uploaded model."""
        return self._one(Profile, identifier)

    def add_workload_sample(self, identifier: str, name: str, document: dict[str, object]) -> None:
        """Keep what was counted in a sample of the data."""
        self._session.add(
            WorkloadSample(id=identifier, workspace_id=self._workspace_id, name=name, document=document)
        )

    def workload_sample(self, identifier: str) -> WorkloadSample | None:
        """Return what was counted in a sample of the data."""
        return self._one(WorkloadSample, identifier)

    def workload_samples(self, limit: int, after: After | None) -> Listing[WorkloadSample]:
        """Return uploaded samples, newest first."""
        return self._listing(WorkloadSample, limit, after)

    def add_estimate(
        self, identifier: str, label: str, request: dict[str, object], document: dict[str, object]
    ) -> None:
        """Keep an estimate with what was asked."""
        self._session.add(
            EstimateRow(
                id=identifier,
                workspace_id=self._workspace_id,
                label=label,
                request=request,
                document=document,
            )
        )

    def estimate(self, identifier: str) -> EstimateRow | None:
        """Return an estimate."""
        return self._one(EstimateRow, identifier)

    def estimates(self, limit: int, after: After | None) -> Listing[EstimateRow]:
        """Return estimates, newest first."""
        return self._listing(EstimateRow, limit, after)

    def estimates_named(self, identifiers: Iterable[str]) -> dict[str, EstimateRow]:
        """Return estimates by identifier."""
        query = select(EstimateRow).where(
            EstimateRow.workspace_id == self._workspace_id, col(EstimateRow.id).in_(list(identifiers))
        )
        return {row.id: row for row in self._session.exec(query)}

    def add_comparison(
        self, record: ComparisonRecord, options: Iterable[tuple[dict[str, object], str | None]]
    ) -> None:
        """Keep a comparison and its options, each with the identifier of its estimate."""
        record.workspace_id = self._workspace_id
        self._session.add(record)
        self.replace_options(record.id, options)

    def comparison(self, identifier: str) -> ComparisonRecord | None:
        """Return a comparison without its options."""
        return self._one(ComparisonRecord, identifier)

    def comparisons(self, limit: int, after: After | None) -> Listing[ComparisonRecord]:
        """Return comparisons, newest first."""
        return self._listing(ComparisonRecord, limit, after)

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

    def add_calibration(
        self,
        identifier: str,
        label: str,
        request: dict[str, object],
        document: dict[str, object],
        profile: dict[str, object] | None,
    ) -> None:
        """Keep a calibration with what was asked and the profile it fitted."""
        self._session.add(
            CalibrationRow(
                id=identifier,
                workspace_id=self._workspace_id,
                label=label,
                request=request,
                document=document,
                profile=profile,
            )
        )

    def calibration(self, identifier: str) -> CalibrationRow | None:
        """Return a calibration."""
        return self._one(CalibrationRow, identifier)

    def calibrations(self, limit: int, after: After | None) -> Listing[CalibrationRow]:
        """Return calibrations, newest first."""
        return self._listing(CalibrationRow, limit, after)

    def add_sweep(self, record: SweepRecord, job: JobRecord) -> None:
        """Keep a sweep and the job that computes it."""
        record.workspace_id = job.workspace_id = self._workspace_id
        self._session.add(record)
        self._session.add(job)

    def sweep(self, identifier: str) -> SweepRecord | None:
        """Return what a sweep asks."""
        return self._one(SweepRecord, identifier)

    def sweeps(self, limit: int, after: After | None) -> Listing[SweepRecord]:
        """Return sweeps, newest first."""
        return self._listing(SweepRecord, limit, after)

    def job(self, identifier: str) -> JobRecord | None:
        """Return a job."""
        return self._one(JobRecord, identifier)

    def jobs_named(self, identifiers: Iterable[str]) -> dict[str, JobRecord]:
        """Return jobs by identifier."""
        query = select(JobRecord).where(
            JobRecord.workspace_id == self._workspace_id, col(JobRecord.id).in_(list(identifiers))
        )
        return {row.id: row for row in self._session.exec(query)}

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

    def add_sizing(
        self,
        identifier: str,
        label: str,
        request: dict[str, object],
        document: dict[str, object],
        samples: dict[str, object],
    ) -> None:
        """Keep a sizing with what was asked and the samples behind it."""
        self._session.add(
            SizingRow(
                id=identifier,
                workspace_id=self._workspace_id,
                label=label,
                request=request,
                document=document,
                samples=samples,
            )
        )

    def sizing(self, identifier: str) -> SizingRow | None:
        """Return a sizing; its samples are megabytes and are read when they are looked at."""
        return self._one(SizingRow, identifier, "samples")

    def sizings(self, limit: int, after: After | None) -> Listing[SizingRow]:
        """Return sizings, newest first."""
        return self._listing(SizingRow, limit, after)

    def add_proposal(self, record: ProposalRecord) -> None:
        """Keep a proposal."""
        record.workspace_id = self._workspace_id
        self._session.add(record)

    def proposal(self, identifier: str) -> ProposalRecord | None:
        """Return a proposal."""
        return self._one(ProposalRecord, identifier)

    def proposals(
        self, limit: int, after: After | None, status: str | None, today: str
    ) -> Listing[ProposalRecord]:
        """Return proposals that stand so on a day, all of them where nothing is said, newest first."""
        chosen = [] if status is None else [standing(status, today)]
        return self._listing(ProposalRecord, limit, after, *chosen)

    def of_proposal(self, identifier: str) -> ProposalQueries:
        """Return the queries of one proposal: its events, files and links."""
        return ProposalQueries(self._session, self._workspace_id, identifier)

    def price_book(self, identifier: str) -> PriceBookRecord | None:
        """Return a price book without its versions."""
        return self._one(PriceBookRecord, identifier)

    def price_books(self, limit: int, after: After | None) -> Listing[PriceBookRecord]:
        """Return price books, newest first."""
        return self._listing(PriceBookRecord, limit, after)

    @property
    def book_versions(self) -> BookQueries:
        """The queries of the versions of price books."""
        return BookQueries(self._session, self._workspace_id)

    def add_bill(
        self, identifier: str, label: str, request: dict[str, object], document: dict[str, object]
    ) -> None:
        """Keep a bill of materials with what was asked."""
        self._session.add(
            BillRow(
                id=identifier,
                workspace_id=self._workspace_id,
                label=label,
                request=request,
                document=document,
            )
        )

    def bill(self, identifier: str) -> BillRow | None:
        """Return a bill of materials."""
        return self._one(BillRow, identifier)

    def bills(self, limit: int, after: After | None) -> Listing[BillRow]:
        """Return bills of materials, newest first."""
        return self._listing(BillRow, limit, after)

    @property
    def trail(self) -> TrailQueries:
        """The queries of what was done."""
        return TrailQueries(self._session, self._workspace_id)

    def holds(self, identifier: str) -> bool | None:
        """Tell whether an object is of this workspace; None where the identifier is of no kind known."""
        table: Any = KINDS.get(identifier[:4])
        return None if table is None else self._one(table, identifier) is not None

    @property
    def keys(self) -> KeyQueries:
        """The queries of keys of the API."""
        return KeyQueries(self._session, self._workspace_id)

    def api_key(self, identifier: str) -> ApiKeyRecord | None:
        """Return a key of the API."""
        return self._one(ApiKeyRecord, identifier)

    def api_keys(self, limit: int, after: After | None) -> Listing[ApiKeyRecord]:
        """Return keys of the API, newest first."""
        return self._listing(ApiKeyRecord, limit, after)

    @property
    def rates(self) -> RateQueries:
        """The queries of counted requests."""
        return RateQueries(self._session, self._workspace_id)

    @property
    def hooks(self) -> WebhookQueries:
        """The queries of webhooks and their messages."""
        return WebhookQueries(self._session, self._workspace_id)

    def webhook(self, identifier: str) -> WebhookRecord | None:
        """Return a webhook."""
        return self._one(WebhookRecord, identifier)

    def webhooks(self, limit: int, after: After | None) -> Listing[WebhookRecord]:
        """Return webhooks, newest first."""
        return self._listing(WebhookRecord, limit, after)

    def deliveries(self, webhook_id: str, limit: int, after: After | None) -> Listing[WebhookDelivery]:
        """Return the messages to a webhook, newest first."""
        return self._listing(WebhookDelivery, limit, after, col(WebhookDelivery.webhook_id) == webhook_id)

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

    def _one(self, table: type[Listed], identifier: str, *later: str) -> Listed | None:
        query = select(table).where(table.workspace_id == self._workspace_id, table.id == identifier)
        query = query.options(*(defer(getattr(table, name)) for name in later))
        return self._session.exec(query).first()

    def _listing(
        self, table: type[Listed], limit: int, after: After | None, *narrowed: ColumnElement[bool]
    ) -> Listing[Listed]:
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
