"""Every query of one sweep by name: who computes it, how far it is, its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa
from sqlmodel import Session, col, select

from app.store.tables import SweepRecord, SweepRowRecord
from app.store.trail import TrailQueries

Order = Literal["position", "time_to_train", "cost"]
Label = Literal["model", "system", "price", "scenario"]


@dataclass(frozen=True, slots=True)
class ClaimedSweep:
    """A sweep that a runner has taken on."""

    workspace_id: str
    id: str


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which rows are meant, and in which order."""

    labels: Mapping[Label, str] = field(default_factory=dict)
    order: Order = "position"
    answered: bool = False
    """Only rows with a time to train."""


CLOCK_STEP = timedelta(minutes=1)
"""A sign of life from so far in the future is one from before the clock was put back."""


def claim_sweep(
    session: Session, runner: str, moment: datetime, silent_since: datetime
) -> ClaimedSweep | None:
    """Take on the oldest sweep that waits, or whose runner has not been heard of since a moment."""
    oldest = (
        select(SweepRecord.id)
        .where(
            sa.or_(
                col(SweepRecord.status) == "queued",
                sa.and_(
                    col(SweepRecord.status) == "running",
                    sa.or_(
                        col(SweepRecord.heartbeat) < silent_since,
                        col(SweepRecord.heartbeat) > moment + CLOCK_STEP,
                    ),
                ),
            )
        )
        .order_by(col(SweepRecord.created_at), col(SweepRecord.id))
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    claim = (
        sa.update(SweepRecord)
        .where(col(SweepRecord.id) == oldest)
        .values(status="running", runner=runner, heartbeat=moment, updated_at=moment)
        .returning(col(SweepRecord.workspace_id), col(SweepRecord.id))
    )
    found = session.connection().execute(claim).first()
    return ClaimedSweep(*found) if found else None


class SweepQueries:
    """The queries of one sweep in one workspace."""

    def __init__(self, session: Session, workspace_id: str, sweep_id: str) -> None:
        self._session = session
        self._workspace_id = workspace_id
        self._sweep_id = sweep_id

    def beat(self, runner: str, moment: datetime) -> bool:
        """Show that a runner lives; false where the sweep is no longer its own."""
        return self._change({"runner": runner, "status": "running"}, heartbeat=moment)

    def keep(self, runner: str, moment: datetime, rows: Sequence[SweepRowRecord]) -> bool:
        """Keep rows that a runner has computed; false, and nothing kept, where the sweep is not its own."""
        own = self._change(
            {"runner": runner, "status": "running"},
            done=SweepRecord.done + len(rows),
            heartbeat=moment,
            updated_at=moment,
        )
        if own:
            self._session.add_all(rows)
        return own

    def end(self, runner: str, moment: datetime, status: str, message: dict[str, Any] | None = None) -> bool:
        """Let go of a sweep that a runner has computed, given up or left for later."""
        ended = self._change(
            {"runner": runner, "status": "running"},
            status=status,
            message=message,
            runner=None,
            updated_at=moment,
        )
        return self._noted(ended, status)

    def move(self, before: Iterable[str], status: str, moment: datetime) -> bool:
        """Change the status from any of some others, taking the sweep from whoever computes it."""
        moved = self._change(
            {"status": list(before)}, status=status, message=None, runner=None, updated_at=moment
        )
        return self._noted(moved, status)

    def _noted(self, changed: bool, status: str) -> bool:
        if changed:
            trail = TrailQueries(self._session, self._workspace_id)
            trail.note(f"sweep.{status}", "sweep", self._sweep_id)
        return changed

    def keys(self) -> set[str]:
        """Return the keys of the points that have a row."""
        return set(self._session.exec(self._mine(select(SweepRowRecord.key))))

    def refused(self) -> int:
        """Return how many rows have a problem instead of an estimate."""
        query = select(sa.func.count()).select_from(SweepRowRecord).where(col(SweepRowRecord.refused))
        return int(self._session.exec(self._mine(query)).one())

    def count(self, narrowing: Narrowing) -> int:
        """Return how many rows are meant."""
        query = select(sa.func.count()).select_from(SweepRowRecord)
        return int(self._session.exec(self._narrowed(query, narrowing)).one())

    def rows(self, narrowing: Narrowing, limit: int, offset: int = 0) -> list[dict[str, Any]]:
        """Return the documents of rows in their order; those without the figure sorted by come last."""
        query = self._narrowed(select(SweepRowRecord.document), narrowing)
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

    def _narrowed(self, query: Any, narrowing: Narrowing) -> Any:
        query = self._mine(query)
        for name, label in narrowing.labels.items():
            query = query.where(col(getattr(SweepRowRecord, name)) == label)
        return query.where(col(SweepRowRecord.time_to_train).is_not(None)) if narrowing.answered else query

    def _change(self, where: Mapping[str, Any], **values: Any) -> bool:
        """Change the sweep where it is as stated; tell whether it was."""
        query = sa.update(SweepRecord).where(
            col(SweepRecord.workspace_id) == self._workspace_id, col(SweepRecord.id) == self._sweep_id
        )
        for name, value in where.items():
            column = col(getattr(SweepRecord, name))
            query = query.where(column.in_(value) if isinstance(value, list) else column == value)
        changed = self._session.connection().execute(query.values(**values))
        return bool(changed.rowcount)
