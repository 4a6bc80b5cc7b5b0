"""Every query of uploads by name: their files, what names them, and their end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, delete, select, tuple_

from app.store.queries import Queries
from app.store.tables import (
    BillRow,
    CalibrationRow,
    ComparisonOption,
    EstimateRow,
    IdempotencyKey,
    JobRecord,
    Profile,
    ProposalRecord,
    SizingRow,
    StudyRecord,
    StudyVersionRecord,
    SweepRecord,
    UploadFile,
    WorkloadSample,
)

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
