"""Every query of the versions of price books by name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from app.store.queries import Queries
from app.store.tables import PriceBookRecord, PriceBookVersion
from app.store.types import countable


class VersionTaken(Exception):
    """Somebody else has made this version meanwhile."""


class BookQueries(Queries):
    """The queries of one transaction in one workspace."""

    def add(self, record: PriceBookRecord, version: PriceBookVersion) -> None:
        """Keep a new price book with its first version."""
        record.workspace_id = version.workspace_id = self._workspace_id
        self._session.add(record)
        self._session.flush()
        self._session.add(version)

    def add_version(self, record: PriceBookRecord, version: PriceBookVersion, moment: datetime) -> None:
        """Keep a new version of a price book, which becomes the newest."""
        version.workspace_id = self._workspace_id
        self._session.add(version)
        record.name, record.version = version.name, version.version
        record.row_count, record.updated_at = len(version.rows), moment
        try:
            self._session.flush()
        except IntegrityError as error:
            raise VersionTaken from error

    def find(self, book_id: str, version: int) -> PriceBookVersion | None:
        """Return one version of a price book."""
        if not countable(version):
            return None
        query = select(PriceBookVersion).where(
            PriceBookVersion.workspace_id == self._workspace_id,
            PriceBookVersion.book_id == book_id,
            PriceBookVersion.version == version,
        )
        return self._session.exec(query).first()

    def all(self, book_id: str, limit: int) -> Sequence[PriceBookVersion]:
        """Return the versions of a price book, newest first."""
        query = (
            select(PriceBookVersion)
            .where(
                PriceBookVersion.workspace_id == self._workspace_id,
                PriceBookVersion.book_id == book_id,
            )
            .order_by(col(PriceBookVersion.version).desc())
            .limit(limit)
        )
        return self._session.exec(query).all()
