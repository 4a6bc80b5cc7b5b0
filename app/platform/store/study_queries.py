"""Every query of studies by name: lists, versions, and edits that cannot overwrite each other unseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, select, tuple_

from app.platform.store.tables import StudyRecord, StudyVersionRecord
from app.platform.store.trail import TrailQueries
from app.platform.store.types import Queries, countable, now

ESCAPE = "\\"


def folded(text: str) -> str:
    """Return a text as names are searched.

    >>> folded("BERT-Large  für Seoul")
    'bert-large für seoul'
    """
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class StudyFilter:
    """Which studies are meant."""

    sought: str = ""
    """Part of the name."""
    archived: bool = False


class StudyQueries(Queries):
    """The queries of studies in one transaction and workspace."""

    def add(self, record: StudyRecord, content: dict[str, Any], changes: list[dict[str, Any]]) -> None:
        """Keep a new study with its first version."""
        record.workspace_id = self._workspace_id
        record.sought = folded(record.name)[:600]
        self._session.add(record)
        self._session.flush()
        self._add_version(record.id, record.version, content, changes, record.updated_at)

    def find(self, identifier: str) -> StudyRecord | None:
        """Return a study without what it states."""
        query = select(StudyRecord).where(
            StudyRecord.workspace_id == self._workspace_id, StudyRecord.id == identifier
        )
        return self._session.exec(query).first()

    def version(self, identifier: str, version: int) -> StudyVersionRecord | None:
        """Return one version of a study."""
        if not countable(version):
            return None
        query = select(StudyVersionRecord).where(
            StudyVersionRecord.workspace_id == self._workspace_id,
            StudyVersionRecord.study_id == identifier,
            StudyVersionRecord.version == version,
        )
        return self._session.exec(query).first()

    def versions(self, identifier: str) -> Sequence[StudyVersionRecord]:
        """Return all versions of a study, the newest first."""
        query = (
            select(StudyVersionRecord)
            .where(
                StudyVersionRecord.workspace_id == self._workspace_id,
                StudyVersionRecord.study_id == identifier,
            )
            .order_by(col(StudyVersionRecord.version).desc())
        )
        return self._session.exec(query).all()

    def add_next(
        self,
        identifier: str,
        expected: int,
        name: str,
        options: int,
        content: dict[str, Any],
        changes: list[dict[str, Any]],
    ) -> bool:
        """Keep the next version; False where another has been kept since the one expected.

        The number is raised in one statement, so that of two who save at once only one succeeds.
        """
        if not countable(expected):
            return False
        moment = now()
        raised = (
            sa.update(StudyRecord)
            .where(
                col(StudyRecord.workspace_id) == self._workspace_id,
                col(StudyRecord.id) == identifier,
                col(StudyRecord.version) == expected,
                sa.not_(col(StudyRecord.archived)),
            )
            .values(
                version=expected + 1,
                name=name,
                sought=folded(name)[:600],
                options=options,
                updated_at=moment,
            )
            .returning(col(StudyRecord.id))
        )
        if self._session.connection().execute(raised).first() is None:
            return False
        self._add_version(identifier, expected + 1, content, changes, moment)
        return True

    def hold(self, identifier: str) -> None:
        """Let nobody else change, archive or bring back a study until this transaction ends."""
        statement = (
            sa.update(StudyRecord)
            .where(col(StudyRecord.workspace_id) == self._workspace_id, col(StudyRecord.id) == identifier)
            .values(archived=StudyRecord.archived)
        )
        self._session.connection().execute(statement)

    def put_away(self, identifier: str, archived: bool) -> None:
        """Archive a study, or bring it back; one that is so already stays as it is."""
        statement = (
            sa.update(StudyRecord)
            .where(
                col(StudyRecord.workspace_id) == self._workspace_id,
                col(StudyRecord.id) == identifier,
                col(StudyRecord.archived) != archived,
            )
            .values(archived=archived)
        )
        changed = self._session.connection().execute(statement).rowcount
        self._session.expire_all()
        if not changed:
            return
        trail = TrailQueries(self._session, self._workspace_id)
        trail.note("study.archived" if archived else "study.restored", "study", identifier)

    def listing(
        self, chosen: StudyFilter, limit: int, after: tuple[datetime, str] | None
    ) -> tuple[Sequence[StudyRecord], tuple[datetime, str] | None]:
        """Return a stretch of studies, newest first, and behind which the next one begins."""
        query = select(StudyRecord).where(
            StudyRecord.workspace_id == self._workspace_id, col(StudyRecord.archived) == chosen.archived
        )
        for word in folded(chosen.sought).split():
            query = query.where(col(StudyRecord.sought).contains(word, autoescape=True, escape=ESCAPE))
        if after is not None:
            query = query.where(tuple_(col(StudyRecord.created_at), col(StudyRecord.id)) < tuple_(*after))
        query = query.order_by(col(StudyRecord.created_at).desc(), col(StudyRecord.id).desc())
        rows = self._session.exec(query.limit(limit + 1)).all()
        more = len(rows) > limit
        rows = rows[:limit]
        return rows, (rows[-1].created_at, rows[-1].id) if more else None

    def _add_version(
        self,
        identifier: str,
        version: int,
        content: dict[str, Any],
        changes: list[dict[str, Any]],
        moment: datetime,
    ) -> None:
        self._session.add(
            StudyVersionRecord(
                study_id=identifier,
                version=version,
                workspace_id=self._workspace_id,
                content=content,
                changes=changes,
                created_at=moment,
            )
        )
        self._session.flush()
