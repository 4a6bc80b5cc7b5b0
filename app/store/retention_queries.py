"""Every query of what is kept for a time only: how much there is of it, and its end, in small bites."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import col

from app.store.queries import Queries
from app.store.tables import (
    BillRow,
    ComparisonOption,
    EstimateRow,
    IdempotencyKey,
    JobRecord,
    ProposalRecord,
    ProposalShare,
    RetentionClock,
    SweepRecord,
    SweepRowRecord,
)
from app.store.upload_queries import identifiers

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
