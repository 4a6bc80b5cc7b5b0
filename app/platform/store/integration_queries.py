"""Queries of keys of the API, counted requests, and webhooks: whom to tell, what is due, what came of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import aliased
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


@dataclass(frozen=True, slots=True)
class DueMessage:
    """A message that a runner has taken on, and where it goes."""

    id: str
    workspace_id: str
    webhook_id: str
    body: str
    attempt: int
    """Which try this is; whoever records another one has lost it."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """What came of one try."""

    status: str
    next_try_at: datetime | None
    response_status: int | None
    response_text: str
    reason: dict[str, Any] | None


def claim_message(
    session: Session, moment: datetime, until: datetime, passed: Collection[str] = ()
) -> DueMessage | None:
    """Take on the message that is due longest of any workspace but those passed over, until a moment.

    A webhook is sent one message at a time, so that a slow one holds up no other. Its row is locked
    before its messages are looked at: whoever claims at the same time passes it over, whoever comes next sees
    the claim.
    """
    skipped: list[str] = []
    while (webhook_id := lock_webhook(session, moment, skipped, passed)) is not None:
        oldest = (
            sa.select(col(WebhookDelivery.id))
            .where(is_due(moment), col(WebhookDelivery.webhook_id) == webhook_id)
            .order_by(col(WebhookDelivery.next_try_at), col(WebhookDelivery.id))
            .limit(1)
            .with_for_update(skip_locked=True)
            .scalar_subquery()
        )
        claim = (
            sa.update(WebhookDelivery)
            .where(col(WebhookDelivery.id) == oldest)
            .values(leased_until=until, attempts=WebhookDelivery.attempts + 1, tried_at=moment)
            .returning(
                col(WebhookDelivery.id),
                col(WebhookDelivery.workspace_id),
                col(WebhookDelivery.webhook_id),
                col(WebhookDelivery.body),
                col(WebhookDelivery.attempts),
                col(WebhookDelivery.created_at),
            )
        )
        claimed = session.connection().execute(claim).first()
        if claimed is not None:
            return DueMessage(*claimed)
        # Another has claimed and let go of the lock between the look at all webhooks and that at this one.
        skipped.append(webhook_id)
    return None


def lock_webhook(
    session: Session, moment: datetime, skipped: Collection[str], passed: Collection[str]
) -> str | None:
    """Lock the webhook whose message is due longest, none of those skipped or of workspaces passed over."""
    of_webhook = sa.and_(
        col(WebhookDelivery.workspace_id) == col(WebhookRecord.workspace_id),
        col(WebhookDelivery.webhook_id) == col(WebhookRecord.id),
    )
    query = (
        sa.select(col(WebhookRecord.id))
        .join(WebhookDelivery, of_webhook)
        .where(
            is_due(moment),
            col(WebhookRecord.id).not_in(skipped),
            col(WebhookRecord.workspace_id).not_in(passed),
        )
        .order_by(col(WebhookDelivery.next_try_at), col(WebhookDelivery.id))
        .limit(1)
        # Messages may still be written to it meanwhile: only its key must stay.
        .with_for_update(of=WebhookRecord, key_share=True, skip_locked=True)
    )
    return session.connection().scalar(query)


FAR = timedelta(hours=18)
"""No message waits or is sent for so long: what lies further ahead was written while the clock was wrong."""


def is_due(moment: datetime) -> sa.ColumnElement[bool]:
    """Return the criterion of messages that are due, of webhooks to which none is being sent."""
    other = aliased(WebhookDelivery)
    busy = (
        sa.select(col(other.id))
        .where(
            col(other.webhook_id) == col(WebhookDelivery.webhook_id),
            col(other.status) == WAITING,
            col(other.leased_until) > moment,
            col(other.leased_until) < moment + FAR,
        )
        .correlate(WebhookDelivery)
        .exists()
    )
    return sa.and_(
        col(WebhookDelivery.status) == WAITING,
        sa.or_(col(WebhookDelivery.next_try_at) <= moment, col(WebhookDelivery.next_try_at) > moment + FAR),
        sa.not_(busy),
    )


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
    columns = (col(WebhookRecord.id), col(WebhookRecord.events))
    query = sa.select(*columns).where(mine, col(WebhookRecord.active))
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

    def message(self, webhook_id: str, identifier: str) -> WebhookDelivery | None:
        return self.first(WebhookDelivery, webhook_id=webhook_id, id=identifier)

    def record(self, message: DueMessage, outcome: DeliveryOutcome) -> bool:
        """Write down what came of a try; False where somebody else has taken the message on since."""
        values = {**asdict(outcome), "leased_until": None}
        return (
            self.update_rows(WebhookDelivery, values, id=message.id, attempts=message.attempt, status=WAITING)
            > 0
        )

    def again(self, identifier: str, moment: datetime) -> None:
        """Send a message that has ended once more, beginning with the first try."""
        values = {"status": WAITING, "leased_until": None, "attempts": 0, "next_try_at": moment}
        self.update_rows(WebhookDelivery, values, id=identifier)

    def drop(self, webhook_id: str) -> None:
        """Send nothing more of what waits for a webhook."""
        values = {"status": "dropped", "leased_until": None, "next_try_at": None}
        self.update_rows(WebhookDelivery, values, webhook_id=webhook_id, status=WAITING)
