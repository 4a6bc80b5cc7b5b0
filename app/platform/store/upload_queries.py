"""Queries of uploads, and of what is kept for a time only, whose end comes in small bites."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel, col

from app.platform.store.document_queries import NEWEST, names
from app.platform.store.queries import EVERYTHING, After, ListFilter, Queries
from app.platform.store.tables import (
    BillRow,
    CalibrationRow,
    EstimateRow,
    IdempotencyKey,
    JobRecord,
    PriceBookVersion,
    Profile,
    ProposalRecord,
    ProposalShare,
    RetentionClock,
    SizingRow,
    StudyRecord,
    StudyStateRecord,
    StudyVersionRecord,
    SweepRecord,
    SweepRowRecord,
    UploadFile,
    WorkloadSample,
)
from app.platform.store.upload_files import LOCK_PATIENCE

NAMING: tuple[tuple[type[Any], str], ...] = (
    (StudyVersionRecord, "content"),
    (StudyStateRecord, "document"),
    (SweepRecord, "request"),
    (SizingRow, "request"),
    (SizingRow, "document"),
    (BillRow, "request"),
    (CalibrationRow, "request"),
    (ProposalRecord, "content"),
    (PriceBookVersion, "rows"),
    (EstimateRow, "request"),
)
"""Documents that may name an upload or an accelerator; the many come last."""


NAMING_ESTIMATES: tuple[tuple[type[Any], Any], ...] = (
    (StudyVersionRecord, StudyVersionRecord.estimates),
    (ProposalRecord, ProposalRecord.content),
    (BillRow, BillRow.request),
)
"""Documents that may name an estimate."""


def tells_of(*identifiers: str) -> Any:
    """Return the condition that an answer kept to be given again tells of one of these objects."""
    return col(IdempotencyKey.answer)["id"].as_string().in_(identifiers)


FILES_LOCK = 7239542
"""Number of the lock on PostgreSQL between those who bring files and those who take them away."""


class UploadQueries(Queries):
    """Uploads, their files and what names them."""

    def add_file(self, profile_id: str, sha256: str, name: str, size: int) -> None:
        """Note the file that a model was read from."""
        self._session.flush()
        self._add(UploadFile(profile_id=profile_id, sha256=sha256, name=name, size=size))

    def file(self, profile_id: str) -> UploadFile | None:
        """Return the file that a model was read from; None where it was described in JSON."""
        return self.first(UploadFile, profile_id=profile_id)

    def models(
        self, limit: int, after: tuple[datetime, str] | None, wanted: ListFilter = EVERYTHING
    ) -> tuple[Sequence[Any], After | None]:
        """Return identifier, name, moment and size of uploaded models, and where the next begin."""
        joined = sa.and_(
            col(UploadFile.profile_id) == col(Profile.id),
            col(UploadFile.workspace_id) == col(Profile.workspace_id),
        )
        columns = (
            *(col(Profile.id), col(Profile.name), col(Profile.customer), col(Profile.created_at)),
            col(UploadFile.size),
        )
        query = sa.select(*columns).outerjoin(UploadFile, joined)
        return self.stretch(query, Profile, limit, after, wanted=wanted)

    def has_profile(self, identifier: str) -> bool:
        return self.exists(Profile, id=identifier)

    def has_sample(self, identifier: str) -> bool:
        return self.exists(WorkloadSample, id=identifier)

    def in_use(self, identifier: str) -> tuple[list[str], list[str]]:
        """Return the names of studies whose newest version names an upload, and sweeps yet to be computed."""
        naming = self.criteria(StudyRecord, names(StudyVersionRecord.content, identifier), kind="study")
        studies = sa.select(col(StudyRecord.name)).join(StudyVersionRecord, NEWEST).where(*naming).limit(4)
        open_jobs = sa.select(col(JobRecord.id)).where(
            *self.criteria(JobRecord, col(JobRecord.status).in_(["queued", "running"]))
        )
        of_open_jobs = (col(SweepRecord.id).in_(open_jobs), names(SweepRecord.request, identifier))
        sweeps = sa.select(col(SweepRecord.title)).where(*self.criteria(SweepRecord, *of_open_jobs)).limit(4)
        return list(self._session.scalars(studies)), list(self._session.scalars(sweeps))

    def named_anywhere(self, identifier: str) -> bool:
        """Tell whether anything that is kept names an upload or an accelerator."""
        return any(
            self.exists(table, names(getattr(table, document), identifier)) for table, document in NAMING
        )

    def delete_profile(self, identifier: str) -> str | None:
        """Delete an uploaded model; return the address of its file, which may have to go too."""
        self._session.flush()
        file = self.file(identifier)
        self.delete_rows(UploadFile, profile_id=identifier)
        self._delete(Profile, identifier)
        return None if file is None else file.sha256

    def delete_sample(self, identifier: str) -> None:
        self._delete(WorkloadSample, identifier)

    def addresses(self) -> set[str]:
        return set(self.values(UploadFile, UploadFile.sha256))

    def hold_files(self) -> None:
        """Let no machine take a file away until this transaction ends.

        SQLite serves one machine, which has a lock of its own (:meth:`UploadFiles.shared`).
        """
        connection = self._session.connection()
        if connection.dialect.name != "sqlite":
            # The store of files may take longer for a large one than a transaction may be idle.
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(FILES_LOCK)))

    def take_files(self) -> bool:
        """Let no machine bring a file until this transaction ends; false where uploads are under way."""
        connection = self._session.connection()
        if connection.dialect.name == "sqlite":
            return True
        until = time.monotonic() + LOCK_PATIENCE
        while not connection.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(FILES_LOCK))):
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        return True

    def is_named(self, sha256: str) -> bool:
        return self.exists(UploadFile, sha256=sha256)

    def delete_study(self, identifier: str) -> Sequence[dict[str, Any]]:
        """Delete a study with all its versions; return what they stated."""
        contents = self.values(StudyVersionRecord, StudyVersionRecord.content, study_id=identifier)
        self.delete_rows(StudyVersionRecord, study_id=identifier)
        self.delete_rows(StudyStateRecord, study_id=identifier)
        self._delete(StudyRecord, identifier)
        return contents

    def _delete(self, table: type[SQLModel], identifier: str) -> None:
        """Delete an object, and answers that are kept to be given again and tell of it."""
        self.delete_rows(table, id=identifier)
        self.delete_rows(IdempotencyKey, tells_of(identifier))


def identifiers(texts: Iterable[str], prefix: str) -> set[str]:
    """Return the identifiers of a kind that texts name."""
    return {name for text in texts for name in re.findall(rf"\b{prefix}_[a-z2-7]{{16}}\b", text)}


ENDED = ("done", "cancelled", "failed")


class RetentionQueries(Queries):
    """What is kept for a time only."""

    def steady(self, moment: datetime, longest: timedelta) -> timedelta:
        """Note that the clock was looked at; return for how long it has gone steadily.

        A clock that was put back, or leapt by more than the longest time between two looks, begins anew.
        """
        clock = self._session.get(RetentionClock, self._workspace_id)
        if clock is None:
            clock = RetentionClock(workspace_id=self._workspace_id, seen_at=moment, steady_since=moment)
            self._session.add(clock)
        elif not timedelta(0) <= moment - clock.seen_at <= longest:
            clock.steady_since = moment
        clock.seen_at = moment
        return moment - clock.steady_since

    def estimates_before(self, moment: datetime) -> list[str]:
        """Return estimates made before a moment that nothing names."""
        # A comparison names estimates that are kept together with it: those that are seen here first, it
        # is seen to name afterwards.
        made = self.values(EstimateRow, EstimateRow.id, col(EstimateRow.created_at) < moment)
        named: set[str] = set()
        for table, document in NAMING_ESTIMATES:
            named |= identifiers(self.values(table, sa.cast(col(document), sa.Text)), "est")
        return [identifier for identifier in made if identifier not in named]

    def delete_estimates(self, chosen: list[str]) -> int:
        """Delete estimates, and answers that tell of them."""
        self.delete_rows(IdempotencyKey, tells_of(*chosen))
        return self.delete_rows(EstimateRow, col(EstimateRow.id).in_(chosen))

    def sweeps_before(self, moment: datetime) -> list[str]:
        ended = (col(JobRecord.status).in_(ENDED), col(JobRecord.updated_at) < moment)
        return self.values(JobRecord, JobRecord.id, *ended, kind="sweep")

    def delete_sweep(self, identifier: str) -> int:
        """Delete a sweep with its rows and its job, unless it goes on again."""
        if not self.update_rows(JobRecord, {"runner": None}, col(JobRecord.status).in_(ENDED), id=identifier):
            return 0
        self.delete_rows(SweepRowRecord, sweep_id=identifier)
        self.delete_rows(IdempotencyKey, tells_of(identifier))
        self.delete_rows(JobRecord, id=identifier)
        return self.delete_rows(SweepRecord, id=identifier)

    def unsaved_before(self, moment: datetime) -> list[str]:
        """Return studies that nobody has saved, made before a moment."""
        return self.values(StudyRecord, StudyRecord.id, col(StudyRecord.created_at) < moment, saved=False)

    def keys(self, moment: datetime, dry_run: bool) -> int:
        """Delete answers kept to be given again since before a moment, or only count them."""
        return self._over(IdempotencyKey, col(IdempotencyKey.created_at) < moment, dry_run)

    def shares(self, moment: datetime, dry_run: bool) -> int:
        """Delete links that ended before a moment, or only count them."""
        ended = sa.or_(col(ProposalShare.expires_at) < moment, col(ProposalShare.revoked_at) < moment)
        return self._over(ProposalShare, ended, dry_run)

    def _over(self, table: type[SQLModel], criterion: Any, dry_run: bool) -> int:
        return self.count_rows(table, criterion) if dry_run else self.delete_rows(table, criterion)
