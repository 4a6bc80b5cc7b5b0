"""Every query of what is kept for a time only: how much there is of it, and its end, in small bites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, delete, select, tuple_

from app.platform.store.tables import (
    BillRow,
    CalibrationRow,
    ComparisonOption,
    EstimateRow,
    IdempotencyKey,
    JobRecord,
    Profile,
    ProposalRecord,
    ProposalShare,
    RetentionClock,
    SizingRow,
    StudyRecord,
    StudyVersionRecord,
    SweepRecord,
    SweepRowRecord,
    UploadFile,
    WorkloadSample,
)
from app.platform.store.types import Queries

Place = tuple[datetime, str]

NAMING: tuple[tuple[type[Any], str], ...] = (
    (StudyVersionRecord, "content"),
    (SweepRecord, "request"),
    (SizingRow, "request"),
    (BillRow, "request"),
    (CalibrationRow, "request"),
    (ComparisonOption, "request"),
    (ProposalRecord, "content"),
    (EstimateRow, "request"),
)
"""Documents that may name an upload; the many come last."""


def names(document: Any, identifier: str) -> sa.ColumnElement[bool]:
    """Return the condition that a document names an identifier; ours are long and random."""
    return sa.cast(document, sa.Text).contains(identifier, autoescape=True)


class UploadQueries(Queries):
    """The queries of uploads in one transaction and workspace."""

    def add_file(self, profile_id: str, sha256: str, name: str, size: int) -> None:
        """Note the file that a model was read from."""
        self._session.flush()
        self._session.add(
            UploadFile(
                profile_id=profile_id, workspace_id=self._workspace_id, sha256=sha256, name=name, size=size
            )
        )

    def file(self, profile_id: str) -> UploadFile | None:
        """Return the file that a model was read from; None where it was described in JSON."""
        query = select(UploadFile).where(
            UploadFile.workspace_id == self._workspace_id, UploadFile.profile_id == profile_id
        )
        return self._session.exec(query).first()

    def models(self, limit: int, after: Place | None) -> tuple[list[tuple[Any, ...]], Place | None]:
        """Return identifier, name, kind, moment and size of uploaded models, and where the next begin."""
        joined = sa.and_(
            col(UploadFile.profile_id) == col(Profile.id),
            col(UploadFile.workspace_id) == col(Profile.workspace_id),
        )
        query = sa.select(
            col(Profile.id),
            col(Profile.name),
            col(Profile.kind),
            col(Profile.created_at),
            col(UploadFile.size),
        ).outerjoin(UploadFile, joined)
        query = query.where(col(Profile.workspace_id) == self._workspace_id)
        if after is not None:
            query = query.where(tuple_(col(Profile.created_at), col(Profile.id)) < tuple_(*after))
        query = query.order_by(col(Profile.created_at).desc(), col(Profile.id).desc()).limit(limit + 1)
        rows: list[tuple[Any, ...]] = [tuple(row) for row in self._session.connection().execute(query)]
        more = len(rows) > limit
        rows = rows[:limit]
        return rows, (rows[-1][3], rows[-1][0]) if more else None

    def has_profile(self, identifier: str) -> bool:
        """Tell whether there is an uploaded model."""
        return self._there(Profile, identifier)

    def has_sample(self, identifier: str) -> bool:
        """Tell whether there is an uploaded sample of the data."""
        return self._there(WorkloadSample, identifier)

    def in_use(self, identifier: str) -> tuple[list[str], list[str]]:
        """Return the names of studies whose newest version names an upload, and sweeps yet to be computed."""
        newest = sa.and_(
            col(StudyVersionRecord.workspace_id) == col(StudyRecord.workspace_id),
            col(StudyVersionRecord.study_id) == col(StudyRecord.id),
            col(StudyVersionRecord.version) == col(StudyRecord.version),
        )
        studies = (
            sa.select(col(StudyRecord.name))
            .join(StudyVersionRecord, newest)
            .where(
                col(StudyRecord.workspace_id) == self._workspace_id,
                names(StudyVersionRecord.content, identifier),
            )
            .limit(4)
        )
        sweeps = (
            sa.select(col(SweepRecord.title))
            .where(
                col(SweepRecord.workspace_id) == self._workspace_id,
                col(SweepRecord.id).in_(
                    sa.select(col(JobRecord.id)).where(
                        col(JobRecord.workspace_id) == self._workspace_id,
                        col(JobRecord.status).in_(["queued", "running"]),
                    )
                ),
                names(SweepRecord.request, identifier),
            )
            .limit(4)
        )
        connection = self._session.connection()
        return list(connection.scalars(studies)), list(connection.scalars(sweeps))

    def named_anywhere(self, identifier: str) -> bool:
        """Tell whether anything that is kept names an upload."""
        for table, document in NAMING:
            query = sa.select(sa.literal(1)).where(
                table.workspace_id == self._workspace_id, names(getattr(table, document), identifier)
            )
            if self._session.connection().execute(query.limit(1)).first() is not None:
                return True
        return False

    def delete_profile(self, identifier: str) -> str | None:
        """Delete an uploaded model; return the address of its file, which may have to go too."""
        self._session.flush()
        found = self.file(identifier)
        sha256 = None if found is None else found.sha256
        self._delete(UploadFile, UploadFile.profile_id, identifier)
        self._delete(Profile, Profile.id, identifier)
        self.forget_answers(identifier)
        self._session.expire_all()
        return sha256

    def delete_sample(self, identifier: str) -> None:
        """Delete what was counted in a sample of the data."""
        self._delete(WorkloadSample, WorkloadSample.id, identifier)
        self.forget_answers(identifier)
        self._session.expire_all()

    def forget_answers(self, identifier: str) -> None:
        """Delete answers that are kept to be given again and tell of something that was deleted."""
        told = col(IdempotencyKey.answer)["id"].as_string() == identifier
        statement = delete(IdempotencyKey).where(col(IdempotencyKey.workspace_id) == self._workspace_id, told)
        self._session.connection().execute(statement)

    def addresses(self) -> set[str]:
        """Return the addresses of all files that are named."""
        query = sa.select(col(UploadFile.sha256)).where(col(UploadFile.workspace_id) == self._workspace_id)
        return set(self._session.connection().scalars(query))

    def is_named(self, sha256: str) -> bool:
        """Tell whether any upload of the workspace names a file."""
        query = sa.select(sa.literal(1)).where(
            col(UploadFile.workspace_id) == self._workspace_id, col(UploadFile.sha256) == sha256
        )
        return self._session.connection().execute(query.limit(1)).first() is not None

    def delete_study(self, identifier: str) -> Sequence[dict[str, Any]]:
        """Delete a study with all its versions; return what they stated."""
        query = sa.select(col(StudyVersionRecord.content)).where(
            col(StudyVersionRecord.workspace_id) == self._workspace_id,
            col(StudyVersionRecord.study_id) == identifier,
        )
        stated = list(self._session.connection().scalars(query))
        self._delete(StudyVersionRecord, StudyVersionRecord.study_id, identifier)
        self._delete(StudyRecord, StudyRecord.id, identifier)
        self.forget_answers(identifier)
        self._session.expire_all()
        return stated

    def _there(self, table: type[Profile | WorkloadSample], identifier: str) -> bool:
        query = sa.select(sa.literal(1)).where(
            col(table.workspace_id) == self._workspace_id, col(table.id) == identifier
        )
        return self._session.connection().execute(query).first() is not None

    def _delete(self, table: type[Any], key: Any, identifier: str) -> None:
        statement = sa.delete(table).where(table.workspace_id == self._workspace_id, key == identifier)
        self._session.connection().execute(statement)


def identifiers(texts: Iterable[str], prefix: str) -> set[str]:
    """Return the identifiers of a kind that texts name."""
    return {name for text in texts for name in re.findall(rf"\b{prefix}_[a-z2-7]{{16}}\b", text)}


ENDED = ("done", "cancelled", "failed")


class RetentionQueries(Queries):
    """The queries of retention in one transaction and workspace."""

    def steady(self, moment: datetime, longest: timedelta) -> timedelta:
        """Note that the clock was looked at; return for how long it has gone steadily.

        A clock that was put back, or leapt by more than the longest time between two looks, begins anew.
        """
        found = self._session.get(RetentionClock, self._workspace_id)
        if found is None:
            found = RetentionClock(workspace_id=self._workspace_id, seen_at=moment, steady_since=moment)
            self._session.add(found)
        elif not timedelta(0) <= moment - found.seen_at <= longest:
            found.steady_since = moment
        found.seen_at = moment
        return moment - found.steady_since

    def estimates_before(self, moment: datetime) -> list[str]:
        """Return estimates made before a moment that nothing names."""
        used = sa.select(col(ComparisonOption.estimate_id)).where(
            col(ComparisonOption.workspace_id) == self._workspace_id,
            col(ComparisonOption.estimate_id).is_not(None),
        )
        query = sa.select(col(EstimateRow.id)).where(
            col(EstimateRow.workspace_id) == self._workspace_id,
            col(EstimateRow.created_at) < moment,
            col(EstimateRow.id).not_in(used),
        )
        named = self._named_estimates()
        return [found for found in self._all(query) if found not in named]

    def delete_estimates(self, chosen: list[str]) -> int:
        """Delete estimates, unless a comparison has come to name one, and answers that tell of them."""
        used = sa.select(col(ComparisonOption.estimate_id)).where(
            col(ComparisonOption.workspace_id) == self._workspace_id,
            col(ComparisonOption.estimate_id).in_(chosen),
        )
        told = col(IdempotencyKey.answer)["id"].as_string().in_(chosen)
        self._delete(IdempotencyKey, told)
        return self._delete(EstimateRow, col(EstimateRow.id).in_(chosen), col(EstimateRow.id).not_in(used))

    def sweeps_before(self, moment: datetime) -> list[str]:
        """Return sweeps that ended before a moment."""
        query = sa.select(col(JobRecord.id)).where(
            col(JobRecord.workspace_id) == self._workspace_id,
            col(JobRecord.kind) == "sweep",
            col(JobRecord.status).in_(ENDED),
            col(JobRecord.updated_at) < moment,
        )
        return self._all(query)

    def delete_sweep(self, identifier: str) -> int:
        """Delete a sweep with its rows and its job, unless it goes on again."""
        lock = sa.update(JobRecord).where(
            col(JobRecord.workspace_id) == self._workspace_id,
            col(JobRecord.id) == identifier,
            col(JobRecord.status).in_(ENDED),
        )
        touched = self._session.connection().execute(lock.values(runner=None))
        if not touched.rowcount:
            return 0
        self._delete(SweepRowRecord, col(SweepRowRecord.sweep_id) == identifier)
        self._delete(IdempotencyKey, col(IdempotencyKey.answer)["id"].as_string() == identifier)
        self._delete(JobRecord, col(JobRecord.id) == identifier)
        return self._delete(SweepRecord, col(SweepRecord.id) == identifier)

    def count_keys(self, moment: datetime) -> int:
        """Return how many answers are kept to be given again since before a moment."""
        return self._count(IdempotencyKey, col(IdempotencyKey.created_at) < moment)

    def delete_keys(self, moment: datetime) -> int:
        """Delete answers kept to be given again since before a moment."""
        return self._delete(IdempotencyKey, col(IdempotencyKey.created_at) < moment)

    def count_shares(self, moment: datetime) -> int:
        """Return how many links ended before a moment."""
        return self._count(ProposalShare, self._ended(moment))

    def delete_shares(self, moment: datetime) -> int:
        """Delete links that ended before a moment."""
        return self._delete(ProposalShare, self._ended(moment))

    def _ended(self, moment: datetime) -> sa.ColumnElement[bool]:
        return sa.or_(col(ProposalShare.expires_at) < moment, col(ProposalShare.revoked_at) < moment)

    def _named_estimates(self) -> set[str]:
        """Return estimates that bills and proposals name."""
        named: set[str] = set()
        for document, table in ((ProposalRecord.content, ProposalRecord), (BillRow.request, BillRow)):
            query = sa.select(sa.cast(col(document), sa.Text)).where(
                col(table.workspace_id) == self._workspace_id
            )
            named |= identifiers(self._session.connection().scalars(query), "est")
        return named

    def _all(self, query: Any) -> list[str]:
        return list(self._session.connection().scalars(query))

    def _count(self, table: type[Any], condition: sa.ColumnElement[bool]) -> int:
        query = sa.select(sa.func.count()).select_from(table)
        query = query.where(table.workspace_id == self._workspace_id, condition)
        return int(self._session.connection().scalar(query) or 0)

    def _delete(self, table: type[Any], *conditions: sa.ColumnElement[bool]) -> int:
        statement = sa.delete(table).where(table.workspace_id == self._workspace_id, *conditions)
        return int(self._session.connection().execute(statement).rowcount)
