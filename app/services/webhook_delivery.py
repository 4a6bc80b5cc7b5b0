"""Deliver messages to webhooks: what is due is sent, tried again, and given up in the end."""

from __future__ import annotations

import hashlib
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial

from app.errors import Message
from app.services.sealing import Unsealable
from app.services.webhook_sending import Sender, Undelivered, signed_headers
from app.services.webhooks import purpose
from app.services.workbench import Workbench
from app.sizing.document import Text
from app.store.integration_tables import WebhookRecord
from app.store.repository import Repository
from app.store.webhook_queries import WAITING, DeliveryOutcome, DueMessage

logger = logging.getLogger("rackline.webhooks")

DELAYS = (10, 60, 300, 1800, 7200, 21600, 57600)
"""Time from each try to the next: eight tries over 24 hours and 36 minutes. [s]"""

SPREAD = 0.1
"""Largest share by which a delay is lengthened, so that what failed together is not sent together."""

LEASE = timedelta(seconds=90)
"""How long a message belongs to whoever sends it; afterwards it is sent again."""

MOST_AT_ONCE = 16
SENDERS = 4
"""Messages sent at the same time; with limits of 5 s for the name and 10 s for the rest, the four rounds of a
batch end within 60 s and so well within the lease."""

KEPT = timedelta(days=30)
"""How long messages stay in the log after their event."""

GONE = 410
"""What a receiver answers that wants no more messages."""


def deliver_due(bench: Workbench, moment: datetime, sender: Sender) -> int:
    """Send the messages that are due, and return how many were tried.

    Two runners never send the same try. One that is killed between sending and writing that down has its
    message sent again when its lease is over, with the same ``webhook-id``.
    """
    due: list[DueMessage] = []
    while len(due) < MOST_AT_ONCE:
        message = bench.store.claim_message(moment, moment + LEASE)
        if message is None:
            break
        due.append(message)
    if due:
        with ThreadPoolExecutor(min(SENDERS, len(due)), "webhooks") as pool:
            list(pool.map(partial(deliver, bench, moment, sender), due))
    return len(due)


def deliver(bench: Workbench, moment: datetime, sender: Sender, message: DueMessage) -> None:
    """Send a message once and write down what came of it."""
    with bench.store.transaction(message.workspace_id) as repository:
        webhook = repository.get(WebhookRecord, message.webhook_id)
    if webhook is None or not webhook.active:
        finish(bench, message, DeliveryOutcome("dropped", None, None, "", None))
    else:
        finish(bench, message, tried(bench, moment, sender, message, webhook), webhook, moment)


def tried(
    bench: Workbench, moment: datetime, sender: Sender, message: DueMessage, webhook: WebhookRecord
) -> DeliveryOutcome:
    """Send a message once and return what came of it."""
    body = message.body.encode()
    try:
        secrets = opened_secrets(bench, webhook, moment)
        headers = signed_headers(secrets, message.id, int(moment.timestamp()), body)
        reply = sender.send(webhook.url, headers, body)
    except Undelivered as error:
        return failure(message, moment, error.message)
    except Exception:
        # Whatever went wrong, the message has its end: it is not sent for ever.
        logger.exception("message %s could not be sent", message.id)
        return failure(message, moment, Message("something went wrong here; it is in the server's log"))
    if 200 <= reply.status < 300:
        return DeliveryOutcome("delivered", None, reply.status, reply.text, None)
    reason = Message("the receiver answered {status}", {"status": str(reply.status)})
    return failure(message, moment, reason, reply.status, reply.text)


def opened_secrets(bench: Workbench, webhook: WebhookRecord, moment: datetime) -> list[str]:
    """Return the secrets that messages are signed with, the newest first."""
    sealed = [webhook.sealed_secret]
    if webhook.previous_sealed and webhook.previous_until and webhook.previous_until > moment:
        sealed.append(webhook.previous_sealed)
    try:
        return [bench.sealer.open(purpose(webhook.id), one) for one in sealed]
    except Unsealable:
        raise Undelivered(
            "the secret of the webhook cannot be read with the secret of this server; make a new one"
        ) from None


def failure(
    message: DueMessage, moment: datetime, reason: Message, status: int | None = None, text: str = ""
) -> DeliveryOutcome:
    """Return what comes of a try that failed: another one later, or the end."""
    last = message.attempt > len(DELAYS) or status == GONE
    after = None if last else moment + delay_after(message.id, message.attempt)
    said = Text.of(reason).model_dump(mode="json")
    return DeliveryOutcome("failed" if last else WAITING, after, status, text, said)


def delay_after(identifier: str, attempt: int) -> timedelta:
    """Return how long to wait after a try, a little longer for some messages than for others.

    >>> [10 <= delay_after(name, 1).total_seconds() <= 11 for name in ("msg_a", "msg_b")]
    [True, True]
    """
    part = int.from_bytes(hashlib.sha256(f"{identifier}.{attempt}".encode()).digest()[:4]) / 2**32
    return timedelta(seconds=DELAYS[attempt - 1] * (1 + SPREAD * part))


def finish(
    bench: Workbench,
    message: DueMessage,
    outcome: DeliveryOutcome,
    webhook: WebhookRecord | None = None,
    moment: datetime | None = None,
) -> None:
    """Write down what came of a try, and switch a webhook off that nothing reaches any more."""
    with bench.store.transaction(message.workspace_id) as repository:
        own = repository.hooks.record(message, outcome)
        if not own or webhook is None or moment is None:
            return
        if outcome.status == "delivered":
            repository.hooks.change(webhook.id, {"succeeded_at": moment})
        elif outcome.status == "failed":
            reason = why_off(repository, message, outcome)
            if reason is not None:
                said = Text.of(reason).model_dump(mode="json")
                repository.hooks.change(webhook.id, {"active": False, "disabled": said, "updated_at": moment})
                repository.hooks.drop(webhook.id)


def why_off(repository: Repository, message: DueMessage, outcome: DeliveryOutcome) -> Message | None:
    """Return why a webhook is switched off after a message was given up; None where it is not."""
    if outcome.response_status == GONE:
        return Message("the receiver answered 410: it wants no more messages")
    webhook = repository.get(WebhookRecord, message.webhook_id)
    if webhook is None or (webhook.succeeded_at is not None and webhook.succeeded_at >= message.created_at):
        return None
    values = {"count": message.attempt, "day": message.created_at.date().isoformat()}
    return Message("no message has arrived since {day}; one was given up after {count} tries", values)


def purge_messages(bench: Workbench, moment: datetime) -> int:
    """Forget old messages, and return how many there were."""
    return bench.store.purge_messages(moment - KEPT)
