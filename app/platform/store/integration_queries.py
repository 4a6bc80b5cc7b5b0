"""Queries of keys of the API, counted requests, and webhooks: whom to tell, what is due, what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from app.platform.store.account_tables import ApiKeyRecord, RateWindow, WebhookDelivery, WebhookRecord
from app.platform.store.queries import Queries, Statements, new_id


def ends_at(record: ApiKeyRecord) -> datetime | None:
    """Return when a key stops working: revoked, expired or replaced, whichever is first."""
    ends = (record.revoked_at, record.expires_at, record.grace_ends_at)
    return min((moment for moment in ends if moment), default=None)


def key_of(session: Session, prefix: str) -> ApiKeyRecord | None:
    """Return the key of any workspace with a prefix, whether it still works or not."""
    return Statements(session).first(ApiKeyRecord, prefix=prefix)


class KeyQueries(Queries):
    """Keys of the API."""

    def count(self, moment: datetime) -> int:
        """Return how many keys work at a moment."""
        ends = (col(ApiKeyRecord.expires_at), col(ApiKeyRecord.grace_ends_at))
        not_over = [sa.or_(end.is_(None), end > moment) for end in ends]
        return self.count_rows(ApiKeyRecord, *not_over, revoked_at=None)

    def used(self, identifier: str, moment: datetime, unless_since: datetime) -> None:
        """Write down that a key was used, unless that was done since a moment."""
        last = col(ApiKeyRecord.last_used_at)
        long_ago = sa.or_(last.is_(None), last < unless_since)
        self.update_rows(ApiKeyRecord, {"last_used_at": moment}, long_ago, id=identifier)

    def revoke(self, identifier: str, moment: datetime) -> None:
        """Take a key back; one that was taken back before stays as it is."""
        self.update_rows(ApiKeyRecord, {"revoked_at": moment}, id=identifier, revoked_at=None)

    def replace(self, identifier: str, successor: str, grace_ends_at: datetime) -> bool:
        """Name the key that takes another's place; False where it has a successor or was taken back."""
        values = {"successor_id": successor, "grace_ends_at": grace_ends_at}
        return self.update_rows(ApiKeyRecord, values, id=identifier, revoked_at=None, successor_id=None) > 0


class RateQueries(Queries):
    """Requests counted in windows of time, by all servers of one database together."""

    def add(self, name: str, position: int, hits: int, ends_at: datetime) -> int:
        """Count requests in a window and return how many it has then.

        The row stays locked until the end of the transaction: of two that count at once, the second sees
        what the first has counted.
        """
        window = {"workspace_id": self._workspace_id, "name": name, "position": position}
        statement = (
            self.insert(RateWindow)
            .values(**window, hits=hits, ends_at=ends_at)
            .on_conflict_do_update(index_elements=list(window), set_={"hits": RateWindow.hits + hits})
            .returning(RateWindow.hits)
        )
        return int(self._session.connection().execute(statement).scalar_one())

    def hits(self, name: str, position: int) -> int:
        return sum(self.values(RateWindow, RateWindow.hits, name=name, position=position))

    def clear(self, name: str) -> None:
        self.delete_rows(RateWindow, name=name)


def purge_rates(session: Session, moment: datetime) -> int:
    """Forget the windows of every workspace that count no longer, and return how many there were."""
    return Statements(session).delete_rows(RateWindow, col(RateWindow.ends_at) < moment)


WAITING = "waiting"

EVERY = "*"
"""Stands for all events in what a webhook is told of."""


MOST_OF_WORKSPACE = 2
"""Messages of one workspace that are sent at a time: its slow receivers leave others room."""

FAR = timedelta(hours=18)
"""No message waits or is sent for so long: what lies further ahead was written while the clock was wrong."""

CLAIM_LOCK = 7239543
"""Number of the lock of whoever claims a message on PostgreSQL; any will do that nothing else uses."""


def claim_message(session: Session, moment: datetime, until: datetime) -> WebhookDelivery | None:
    """Take on the message that is due longest until a moment; None where none may be sent now.

    Of a webhook one message is sent at a time, of a workspace a few, whoever sends them.
    """
    waits, next_try = col(WebhookDelivery.status) == WAITING, col(WebhookDelivery.next_try_at)
    leased = col(WebhookDelivery.leased_until)
    being_sent = (waits, leased > moment, leased < moment + FAR)
    busy = sa.select(col(WebhookDelivery.webhook_id)).where(*being_sent)
    workspace_id = col(WebhookDelivery.workspace_id)
    full = sa.select(workspace_id).where(*being_sent).group_by(workspace_id)
    due = (
        sa.select(col(WebhookDelivery.id))
        .where(waits, sa.or_(next_try <= moment, next_try > moment + FAR))
        .where(col(WebhookDelivery.webhook_id).not_in(busy))
        .where(workspace_id.not_in(full.having(sa.func.count() >= MOST_OF_WORKSPACE)))
        .order_by(next_try, col(WebhookDelivery.id))
        .limit(1)
    )
    connection = session.connection()
    if connection.scalar(due) is None:
        return None
    if connection.dialect.name == "postgresql":
        # Who claims at the same time must see this claim; SQLite has one writer at a time.
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CLAIM_LOCK)))
    claim = (
        sa.update(WebhookDelivery)
        .where(col(WebhookDelivery.id) == due.scalar_subquery(), waits)
        .values(leased_until=until, attempts=WebhookDelivery.attempts + 1, tried_at=moment)
        .returning(WebhookDelivery)
    )
    return session.execute(claim, execution_options={"synchronize_session": False}).scalar()


def new_message(
    webhook_id: str, event: str, moment: datetime, data: Mapping[str, Any], workspace_id: str = ""
) -> WebhookDelivery:
    """Return a message to a webhook in the form of Standard Webhooks."""
    body = {"type": event, "timestamp": moment.isoformat().replace("+00:00", "Z"), "data": dict(data)}
    return WebhookDelivery(
        id=new_id("msg"),
        webhook_id=webhook_id,
        workspace_id=workspace_id,
        event=event,
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        status=WAITING,
        attempts=0,
        next_try_at=moment,
        created_at=moment,
    )


def messages_of(
    session: Session, workspace_id: str, event: str, moment: datetime, data: Mapping[str, Any]
) -> list[WebhookDelivery]:
    """Return a message for every webhook of a workspace that is to be told of an event.

    None of the webhooks is deleted until this transaction ends.
    """
    connection, mine = session.connection(), col(WebhookRecord.workspace_id) == workspace_id
    if connection.dialect.name == "sqlite":
        # What is only read belongs to no transaction; a write (of no row) begins it and shuts others out.
        connection.execute(sa.delete(WebhookRecord).where(mine, col(WebhookRecord.id) == ""))
    query = sa.select(col(WebhookRecord.id), col(WebhookRecord.events)).where(mine, col(WebhookRecord.active))
    rows = connection.execute(query.with_for_update(read=True, key_share=True))
    return [
        new_message(identifier, event, moment, data, workspace_id)
        for identifier, events in rows
        if {event, EVERY} & {*events}
    ]


def purge_messages(session: Session, before: datetime) -> int:
    """Forget messages of every workspace that nothing more becomes of, and return how many."""
    ended = (col(WebhookDelivery.status) != WAITING, col(WebhookDelivery.created_at) < before)
    return Statements(session).delete_rows(WebhookDelivery, *ended)


class WebhookQueries(Queries):
    """Webhooks and the messages to them."""

    def change(self, identifier: str, values: Mapping[str, Any], **before: Any) -> bool:
        """Change a webhook where it still is as stated; tell whether it was."""
        return self.update_rows(WebhookRecord, values, id=identifier, **before) == 1

    def hold(self, identifier: str) -> bool:
        """Let nobody else change or delete a webhook until this transaction ends; False where it is gone.

        Whoever changes both locks the webhook before its messages, so that nobody waits in a circle.
        """
        return self.change(identifier, {"updated_at": WebhookRecord.updated_at})

    def remove(self, identifier: str) -> bool:
        """Forget a webhook and its messages; False where it is gone."""
        if not self.hold(identifier):
            return False
        # Whoever is writing a message to it is waited for, and whoever comes next finds it gone.
        mine = sa.select(col(WebhookRecord.id)).where(*self.criteria(WebhookRecord, id=identifier))
        self._session.execute(mine.with_for_update())
        self.delete_rows(WebhookDelivery, webhook_id=identifier)
        return self.delete_rows(WebhookRecord, id=identifier) > 0

    def tell(self, event: str, moment: datetime, data: Mapping[str, Any]) -> None:
        """Write a message to every webhook that is to be told of an event."""
        self._add(*messages_of(self._session, self._workspace_id, event, moment, data))
        self._session.flush()

    def record(self, values: Mapping[str, Any], **which: Any) -> bool:
        """Write down what becomes of messages, which nobody sends any more; False where there are none."""
        return self.update_rows(WebhookDelivery, {"leased_until": None, **values}, **which) > 0

    def drop(self, webhook_id: str) -> None:
        """Send nothing more of what waits for a webhook."""
        self.record({"status": "dropped", "next_try_at": None}, webhook_id=webhook_id, status=WAITING)
