"""Requests counted in windows of time, by all servers of one database together."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col, select

from app.store.integration_tables import RateWindow
from app.store.queries import Queries


class RateQueries(Queries):
    """The queries of counted requests in one transaction and workspace."""

    def add(self, name: str, position: int, hits: int, ends_at: datetime) -> int:
        """Count requests in a window and return how many it has then.

        The row stays locked until the end of the transaction: of two that count at once, the second sees
        what the first has counted.
        """
        connection = self._session.connection()
        insert = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(RateWindow)
        statement = (
            insert.values(
                workspace_id=self._workspace_id, name=name, position=position, hits=hits, ends_at=ends_at
            )
            .on_conflict_do_update(
                index_elements=["workspace_id", "name", "position"], set_={"hits": RateWindow.hits + hits}
            )
            .returning(col(RateWindow.hits))
        )
        return int(connection.execute(statement).scalar_one())

    def hits(self, name: str, position: int) -> int:
        """Return how many requests a window has."""
        query = select(RateWindow.hits).where(
            RateWindow.workspace_id == self._workspace_id,
            RateWindow.name == name,
            RateWindow.position == position,
        )
        return self._session.exec(query).first() or 0

    def clear(self, name: str) -> None:
        """Forget what was counted under a name."""
        statement = sa.delete(RateWindow).where(
            col(RateWindow.workspace_id) == self._workspace_id, col(RateWindow.name) == name
        )
        self._session.connection().execute(statement)


def purge_rates(session: Session, moment: datetime) -> int:
    """Forget the windows of every workspace that count no longer, and return how many there were."""
    done = session.connection().execute(sa.delete(RateWindow).where(col(RateWindow.ends_at) < moment))
    return int(done.rowcount)
