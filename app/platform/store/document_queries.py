"""What lists show of estimates and comparisons, read from a few columns: their documents are large."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from app.platform.store.tables import (
    ComparisonOption,
    EstimateRow,
    PriceBookRecord,
    PriceBookVersion,
    Profile,
)
from app.platform.store.types import Queries, countable


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


@dataclass(frozen=True, slots=True)
class EstimateSubject:
    """What an estimate is of, as its request and the uploads say."""

    preset: str | None
    """Identifier of the preset of the model."""
    upload: str | None
    """Name of the uploaded model; none where it is a preset, stood in the request, or is deleted."""
    system: str
    """Identifier of the system."""
    count: int
    """How many of it."""


class ListedQueries(Queries):
    """The queries of one transaction in one workspace."""

    def subjects(self, identifiers: Iterable[str]) -> dict[str, EstimateSubject]:
        """Return what estimates are of, by identifier, without reading what was answered."""
        asked = col(EstimateRow.request)
        query = (
            sa.select(
                col(EstimateRow.id),
                asked["model", "preset"].as_string(),
                col(Profile.name),
                asked["system"],
            )
            .outerjoin(
                Profile,
                sa.and_(
                    col(Profile.workspace_id) == self._workspace_id,
                    col(Profile.id) == asked["model", "profile_id"].as_string(),
                ),
            )
            .where(
                col(EstimateRow.workspace_id) == self._workspace_id,
                col(EstimateRow.id).in_(list(identifiers)),
            )
        )
        return {
            row[0]: EstimateSubject(row[1], row[2], row[3]["id"], row[3].get("count", 1))
            for row in self._session.execute(query)
        }

    def labels(self, identifiers: Iterable[str]) -> dict[str, list[str]]:
        """Return what the options of comparisons are called, in their order, by comparison."""
        # Only figures somebody has published have their label in the request alone.
        label = sa.func.coalesce(EstimateRow.label, col(ComparisonOption.request)["label"].as_string())
        query = (
            sa.select(col(ComparisonOption.comparison_id), label)
            .outerjoin(
                EstimateRow,
                sa.and_(
                    col(EstimateRow.workspace_id) == self._workspace_id,
                    col(EstimateRow.id) == col(ComparisonOption.estimate_id),
                ),
            )
            .where(
                col(ComparisonOption.workspace_id) == self._workspace_id,
                col(ComparisonOption.comparison_id).in_(list(identifiers)),
            )
            .order_by(col(ComparisonOption.comparison_id), col(ComparisonOption.position))
        )
        found: dict[str, list[str]] = {}
        for identifier, called in self._session.execute(query):
            found.setdefault(identifier, []).append(called)
        return found
