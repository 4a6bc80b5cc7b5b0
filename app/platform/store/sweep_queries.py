"""Every query of the rows of one sweep by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import sqlalchemy as sa
from sqlmodel import Session, col, select

from app.platform.store.tables import SweepRowRecord

Order = Literal["position", "time_to_train", "cost"]

Label = Literal["model", "system", "price", "scenario"]


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Which rows are meant, and in which order."""

    labels: Mapping[Label, str] = field(default_factory=dict)
    order: Order = "position"
    answered: bool = False
    """Only rows with a time to train."""


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a list of rows goes on: behind this row."""

    position: int
    value: float | None = None
    """Figure that rows are sorted by; none where the row has none, or rows stand in their order."""


def behind(order: Order, place: RowPlace) -> sa.ColumnElement[bool]:
    """Return what rows behind a place have in common; rows that come in meanwhile do not move it."""
    later = col(SweepRowRecord.position) > place.position
    if order == "position":
        return later
    column = col(getattr(SweepRowRecord, order))
    if place.value is None:
        return sa.and_(column.is_(None), later)
    return sa.or_(column.is_(None), column > place.value, sa.and_(column == place.value, later))


class SweepQueries:
    """The queries of one sweep in one workspace."""

    def __init__(self, session: Session, workspace_id: str, sweep_id: str) -> None:
        self._session = session
        self._workspace_id = workspace_id
        self._sweep_id = sweep_id

    def keep(self, rows: Iterable[SweepRowRecord]) -> None:
        """Keep rows that have been computed."""
        self._session.add_all(rows)

    def keys(self) -> set[str]:
        """Return the keys of the points that have a row."""
        return set(self._session.exec(self._mine(select(SweepRowRecord.key))))

    def refused(self) -> int:
        """Return how many rows have a problem instead of an estimate."""
        query = select(sa.func.count()).select_from(SweepRowRecord).where(col(SweepRowRecord.refused))
        return int(self._session.exec(self._mine(query)).one())

    def count(self, narrowing: RowSelection) -> int:
        """Return how many rows are meant."""
        query = select(sa.func.count()).select_from(SweepRowRecord)
        return int(self._session.exec(self._narrowed(query, narrowing)).one())

    def rows(
        self, narrowing: RowSelection, limit: int, offset: int = 0, after: RowPlace | None = None
    ) -> list[dict[str, Any]]:
        """Return the documents of rows in their order; those without the figure sorted by come last."""
        query = self._narrowed(select(SweepRowRecord.document), narrowing)
        if after is not None:
            query = query.where(behind(narrowing.order, after))
        if narrowing.order != "position":
            column = col(getattr(SweepRowRecord, narrowing.order))
            query = query.order_by(column.is_(None), column)
        query = query.order_by(col(SweepRowRecord.position)).limit(limit).offset(offset)
        return list(self._session.exec(query))

    def rows_after(self, position: int, limit: int) -> list[dict[str, Any]]:
        """Return the documents of rows behind a position, in their order."""
        query = self._mine(select(SweepRowRecord.document)).where(col(SweepRowRecord.position) > position)
        return list(self._session.exec(query.order_by(col(SweepRowRecord.position)).limit(limit)))

    def _mine(self, query: Any) -> Any:
        return query.where(
            col(SweepRowRecord.workspace_id) == self._workspace_id,
            col(SweepRowRecord.sweep_id) == self._sweep_id,
        )

    def _narrowed(self, query: Any, narrowing: RowSelection) -> Any:
        query = self._mine(query)
        for name, label in narrowing.labels.items():
            query = query.where(col(getattr(SweepRowRecord, name)) == label)
        return query.where(col(SweepRowRecord.time_to_train).is_not(None)) if narrowing.answered else query
