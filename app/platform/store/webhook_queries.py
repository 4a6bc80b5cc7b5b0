"""Every query of webhooks by name: whom to tell, what is due, what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlalchemy.sql.dml import ReturningUpdate
from sqlmodel import Session, col, select

from app.platform.store.account_tables import WebhookDelivery, WebhookRecord
from app.platform.store.types import Queries, new_id

WAITING = "waiting"


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


def claim_message(session: Session, moment: datetime, until: datetime) -> DueMessage | None:
    """Take on the message of any workspace that is due longest, until a moment.

    A webhook is sent one message at a time, so that a slow one holds up no other. Its row is locked
    before its messages are looked at: whoever claims at the same time passes it over, whoever comes next sees
    the claim.
    """
    passed: list[str] = []
    while (webhook_id := lock_webhook(session, moment, passed)) is not None:
        found = session.connection().execute(claim_of(webhook_id, moment, until)).first()
        if found is not None:
            return DueMessage(*found)
        # Another has claimed and let go of the lock between the look at all webhooks and that at this one.
        passed.append(webhook_id)
    return None


def lock_webhook(session: Session, moment: datetime, passed: Sequence[str]) -> str | None:
    """Lock the webhook whose message is due longest for this transaction, beside those that were passed."""
    query = (
        sa.select(col(WebhookRecord.id))
        .join(
            WebhookDelivery,
            sa.and_(
                col(WebhookDelivery.workspace_id) == col(WebhookRecord.workspace_id),
                col(WebhookDelivery.webhook_id) == col(WebhookRecord.id),
            ),
        )
        .where(is_due(moment), col(WebhookRecord.id).not_in(passed))
        .order_by(col(WebhookDelivery.next_try_at), col(WebhookDelivery.id))
        .limit(1)
        # Messages may still be written to it meanwhile: only its key must stay.
        .with_for_update(of=WebhookRecord, key_share=True, skip_locked=True)
    )
    return session.connection().scalar(query)


def is_due(moment: datetime) -> sa.ColumnElement[bool]:
    """Return the criterion of messages that are due, of webhooks to which none is being sent."""
    other = aliased(WebhookDelivery)
    busy = (
        sa.select(col(other.id))
        .where(
            col(other.webhook_id) == col(WebhookDelivery.webhook_id),
            col(other.status) == WAITING,
            col(other.leased_until) > moment,
        )
        .correlate(WebhookDelivery)
        .exists()
    )
    return sa.and_(
        col(WebhookDelivery.status) == WAITING,
        col(WebhookDelivery.next_try_at) <= moment,
        sa.not_(busy),
    )


def claim_of(
    webhook_id: str, moment: datetime, until: datetime
) -> ReturningUpdate[str, str, str, str, int, datetime]:
    """Return the statement that takes on the message to a webhook that is due longest."""
    oldest = (
        sa.select(col(WebhookDelivery.id))
        .where(is_due(moment), col(WebhookDelivery.webhook_id) == webhook_id)
        .order_by(col(WebhookDelivery.next_try_at), col(WebhookDelivery.id))
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    return (
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


def new_message(webhook_id: str, event: str, moment: datetime, data: Mapping[str, Any]) -> WebhookDelivery:
    """Return a message to a webhook in the form of Standard Webhooks."""
    body = {"type": event, "timestamp": moment.isoformat().replace("+00:00", "Z"), "data": dict(data)}
    return WebhookDelivery(
        id=new_id("msg"),
        workspace_id="",
        webhook_id=webhook_id,
        event=event,
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        status=WAITING,
        attempts=0,
        next_try_at=moment,
        created_at=moment,
    )


def purge_messages(session: Session, before: datetime) -> int:
    """Forget messages of every workspace that nothing more becomes of, and return how many."""
    done = session.connection().execute(
        sa.delete(WebhookDelivery).where(
            col(WebhookDelivery.status) != WAITING, col(WebhookDelivery.created_at) < before
        )
    )
    return int(done.rowcount)


class WebhookQueries(Queries):
    """The queries of webhooks in one transaction and workspace."""

    def add(self, record: WebhookRecord) -> None:
        """Keep a webhook."""
        record.workspace_id = self._workspace_id
        self._session.add(record)
        self._session.flush()

    def count(self) -> int:
        """Return how many webhooks there are."""
        query = (
            select(sa.func.count())
            .select_from(WebhookRecord)
            .where(WebhookRecord.workspace_id == self._workspace_id)
        )
        return int(self._session.exec(query).one())

    def change(self, identifier: str, values: Mapping[str, Any], sealed_secret: str | None = None) -> bool:
        """Change a webhook; given a sealed secret, only where it is still that. Tell whether it was."""
        statement = sa.update(WebhookRecord).where(
            col(WebhookRecord.workspace_id) == self._workspace_id, col(WebhookRecord.id) == identifier
        )
        if sealed_secret is not None:
            statement = statement.where(col(WebhookRecord.sealed_secret) == sealed_secret)
        changed = self._session.connection().execute(statement.values(**values))
        self._session.expire_all()
        return bool(changed.rowcount)

    def remove(self, identifier: str) -> None:
        """Forget a webhook and its messages."""
        self._session.connection().execute(
            sa.delete(WebhookDelivery).where(
                col(WebhookDelivery.workspace_id) == self._workspace_id,
                col(WebhookDelivery.webhook_id) == identifier,
            )
        )
        self._session.connection().execute(
            sa.delete(WebhookRecord).where(
                col(WebhookRecord.workspace_id) == self._workspace_id, col(WebhookRecord.id) == identifier
            )
        )

    def tell(self, event: str, moment: datetime, data: Mapping[str, Any]) -> None:
        """Write a message to every webhook that is to be told of an event."""
        query = select(WebhookRecord).where(
            WebhookRecord.workspace_id == self._workspace_id, col(WebhookRecord.active).is_(True)
        )
        for webhook in self._session.exec(query).all():
            if event in webhook.events:
                self.add_message(new_message(webhook.id, event, moment, data))

    def add_message(self, message: WebhookDelivery) -> None:
        """Keep a message, to be sent when this transaction is done."""
        message.workspace_id = self._workspace_id
        self._session.add(message)
        self._session.flush()

    def message(self, webhook_id: str, identifier: str) -> WebhookDelivery | None:
        """Return a message to a webhook."""
        query = select(WebhookDelivery).where(
            WebhookDelivery.workspace_id == self._workspace_id,
            WebhookDelivery.webhook_id == webhook_id,
            WebhookDelivery.id == identifier,
        )
        return self._session.exec(query).first()

    def record(self, message: DueMessage, outcome: DeliveryOutcome) -> bool:
        """Write down what came of a try; False where somebody else has taken the message on since."""
        statement = (
            sa.update(WebhookDelivery)
            .where(
                col(WebhookDelivery.workspace_id) == self._workspace_id,
                col(WebhookDelivery.id) == message.id,
                col(WebhookDelivery.attempts) == message.attempt,
                col(WebhookDelivery.status) == WAITING,
            )
            .values(
                status=outcome.status,
                next_try_at=outcome.next_try_at,
                leased_until=None,
                response_status=outcome.response_status,
                response_text=outcome.response_text,
                reason=outcome.reason,
            )
        )
        return bool(self._session.connection().execute(statement).rowcount)

    def again(self, identifier: str, moment: datetime) -> None:
        """Send a message that has ended once more, beginning with the first try."""
        self._end(col(WebhookDelivery.id) == identifier, WAITING, attempts=0, next_try_at=moment)

    def drop(self, webhook_id: str) -> None:
        """Send nothing more of what waits for a webhook."""
        self._end(
            sa.and_(col(WebhookDelivery.webhook_id) == webhook_id, col(WebhookDelivery.status) == WAITING),
            "dropped",
            next_try_at=None,
        )

    def _end(self, which: sa.ColumnElement[bool], status: str, **values: Any) -> None:
        statement = (
            sa.update(WebhookDelivery)
            .where(col(WebhookDelivery.workspace_id) == self._workspace_id, which)
            .values(status=status, leased_until=None, **values)
        )
        self._session.connection().execute(statement)
        self._session.expire_all()
