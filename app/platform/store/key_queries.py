"""Requests counted in windows of time, by all servers of one database together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col, select

from app.platform.store.account_tables import ApiKeyRecord, RateWindow
from app.platform.store.types import Queries


@dataclass(frozen=True, slots=True)
class FoundKey:
    """What a key proves, if its secret is the right one."""

    id: str
    workspace_id: str
    name: str
    secret_sha256: str
    scopes: tuple[str, ...]
    ends_at: datetime | None
    """When it stops working, for whatever reason; none where it does not."""
    last_used_at: datetime | None


def ends_at(record: ApiKeyRecord) -> datetime | None:
    """Return when a key stops working: revoked, expired or replaced, whichever is first."""
    return min(
        (one for one in (record.revoked_at, record.expires_at, record.grace_ends_at) if one), default=None
    )


def key_of(session: Session, prefix: str) -> FoundKey | None:
    """Return the key of any workspace with a prefix, whether it still works or not."""
    found = session.exec(select(ApiKeyRecord).where(ApiKeyRecord.prefix == prefix)).first()
    if found is None:
        return None
    return FoundKey(
        id=found.id,
        workspace_id=found.workspace_id,
        name=found.name,
        secret_sha256=found.secret_sha256,
        scopes=tuple(found.scopes),
        ends_at=ends_at(found),
        last_used_at=found.last_used_at,
    )


class KeyQueries(Queries):
    """The queries of keys in one transaction and workspace."""

    def add(self, record: ApiKeyRecord) -> None:
        """Keep a key."""
        record.workspace_id = self._workspace_id
        self._session.add(record)
        self._session.flush()

    def count(self, moment: datetime) -> int:
        """Return how many keys work at a moment."""
        query = (
            select(sa.func.count())
            .select_from(ApiKeyRecord)
            .where(
                ApiKeyRecord.workspace_id == self._workspace_id,
                col(ApiKeyRecord.revoked_at).is_(None),
                sa.or_(col(ApiKeyRecord.expires_at).is_(None), col(ApiKeyRecord.expires_at) > moment),
                sa.or_(col(ApiKeyRecord.grace_ends_at).is_(None), col(ApiKeyRecord.grace_ends_at) > moment),
            )
        )
        return int(self._session.exec(query).one())

    def used(self, identifier: str, moment: datetime, unless_since: datetime) -> None:
        """Write down that a key was used, unless that was done since a moment."""
        statement = (
            sa.update(ApiKeyRecord)
            .where(
                col(ApiKeyRecord.workspace_id) == self._workspace_id,
                col(ApiKeyRecord.id) == identifier,
                sa.or_(
                    col(ApiKeyRecord.last_used_at).is_(None), col(ApiKeyRecord.last_used_at) < unless_since
                ),
            )
            .values(last_used_at=moment)
        )
        self._session.connection().execute(statement)

    def revoke(self, identifier: str, moment: datetime) -> None:
        """Take a key back; one that was taken back before stays as it is."""
        statement = (
            sa.update(ApiKeyRecord)
            .where(
                col(ApiKeyRecord.workspace_id) == self._workspace_id,
                col(ApiKeyRecord.id) == identifier,
                col(ApiKeyRecord.revoked_at).is_(None),
            )
            .values(revoked_at=moment)
        )
        self._session.connection().execute(statement)

    def replace(self, identifier: str, successor: str, grace_ends_at: datetime) -> bool:
        """Name the key that takes another's place; False where it has a successor or was taken back."""
        statement = (
            sa.update(ApiKeyRecord)
            .where(
                col(ApiKeyRecord.workspace_id) == self._workspace_id,
                col(ApiKeyRecord.id) == identifier,
                col(ApiKeyRecord.revoked_at).is_(None),
                col(ApiKeyRecord.successor_id).is_(None),
            )
            .values(successor_id=successor, grace_ends_at=grace_ends_at)
        )
        return bool(self._session.connection().execute(statement).rowcount)


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
