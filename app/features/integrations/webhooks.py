"""Webhooks: create and change them, deliver their messages with retries."""

from __future__ import annotations

import base64
import hashlib
import logging
import secrets
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import httpx
from sqlmodel import col

from app.errors import Conflict, Message
from app.estimating.documents import Text
from app.features.integrations.model import (
    Delivery,
    NewWebhook,
    RotationRequest,
    Webhook,
    WebhookPatch,
    WebhookRequest,
)
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.identity import checked_name
from app.platform.listing import Page, filled, page_of
from app.platform.outgoing import SECRET_MARK, Sender, Undelivered, checked_url, signed_headers
from app.platform.sealing import Unsealable
from app.platform.store.account_tables import WebhookDelivery, WebhookRecord
from app.platform.store.integration_queries import WAITING, DeliveryOutcome, DueMessage, new_message
from app.platform.store.queries import new_id, now
from app.platform.store.repository import Repository
from app.platform.workbench import Workbench, existing, no_such

TEST = "webhook.test"
"""Event of a test message."""

SECRET_BYTES = 32

MOST_WEBHOOKS = 20


def create_webhook(
    bench: Workbench, workspace_id: str, request: WebhookRequest, idempotency: str | None = None
) -> NewWebhook:
    """Create a webhook with a sealed secret; a repeated request gets the answer without it."""
    once = IdempotentCall.of("webhooks", idempotency, request)
    url = checked_url("url", request.url, http=bench.webhook_http, private=bench.webhook_hosts)
    name, secret, moment = shown_name(request.name) or url.host, new_secret(), now()
    identifier = new_id("whk")
    record = WebhookRecord(
        id=identifier,
        workspace_id=workspace_id,
        name=name[:100],
        url=str(url),
        events=sorted(set(request.events)),
        sealed_secret=bench.sealer.seal(purpose(identifier), secret),
        active=True,
        created_at=moment,
        updated_at=moment,
    )

    def make() -> tuple[NewWebhook, Save]:
        def save(repository: Repository) -> None:
            repository.hold()
            if repository.count_rows(WebhookRecord) >= MOST_WEBHOOKS:
                raise Conflict.at("url", "a workspace can have at most {most} webhooks", most=MOST_WEBHOOKS)
            repository.add(record)

        return filled(NewWebhook, document_of(record, moment), secret=None), save

    answer = keep(bench, workspace_id, once, NewWebhook, make)
    return answer.model_copy(update={"secret": secret}) if answer.id == identifier else answer


def shown_name(text: str) -> str:
    return checked_name(text) if text.strip() else ""


def new_secret() -> str:
    return SECRET_MARK + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def purpose(identifier: str) -> str:
    return f"webhook:{identifier}"


def list_webhooks(bench: Workbench, workspace_id: str, limit: int, cursor: str | None) -> Page[Webhook]:
    with bench.store.transaction(workspace_id) as repository:
        return page_of(repository, WebhookRecord, partial(document_of, moment=now()), limit, cursor)


def get_webhook(bench: Workbench, workspace_id: str, identifier: str) -> Webhook:
    with bench.store.transaction(workspace_id) as repository:
        return document_of(existing(repository, WebhookRecord, identifier, "webhook"), now())


def change_webhook(bench: Workbench, workspace_id: str, identifier: str, patch: WebhookPatch) -> Webhook:
    """Change a webhook; switching it off drops its waiting messages."""
    values: dict[str, Any] = {}
    if patch.url is not None:
        values["url"] = str(
            checked_url("url", patch.url, http=bench.webhook_http, private=bench.webhook_hosts)
        )
    if patch.events is not None:
        values["events"] = sorted(set(patch.events))
    if patch.name is not None:
        values["name"] = shown_name(patch.name)
    if patch.active is not None:
        values |= {"active": patch.active, "disabled": None}
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, WebhookRecord, identifier, "webhook")
        if values.get("name") == "":
            values["name"] = httpx.URL(values.get("url", record.url)).host[:100]
        repository.hooks.change(identifier, {**values, "updated_at": now()})
        if patch.active is False:
            repository.hooks.drop(identifier)
    return get_webhook(bench, workspace_id, identifier)


def remove_webhook(bench: Workbench, workspace_id: str, identifier: str) -> None:
    with bench.store.transaction(workspace_id) as repository:
        if not repository.hooks.remove(identifier):
            raise no_such("webhook", identifier)


def rotate_secret(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    request: RotationRequest,
    idempotency: str | None = None,
) -> NewWebhook:
    """Replace the secret; until the grace period ends, messages are signed with the old one too."""
    once = IdempotentCall.of(f"webhooks/{identifier}/rotate", idempotency, request)
    secret, moment = new_secret(), now()
    grace = moment + timedelta(hours=request.grace_hours) if request.grace_hours else None
    sealed = bench.sealer.seal(purpose(identifier), secret)
    with bench.store.transaction(workspace_id) as repository:
        before = existing(repository, WebhookRecord, identifier, "webhook")
    values = {
        "sealed_secret": sealed,
        "previous_sealed": before.sealed_secret if grace else None,
        "previous_until": grace,
        "updated_at": moment,
    }

    def make() -> tuple[NewWebhook, Save]:
        after = document_of(before, moment).model_copy(
            update={"old_secret_until": grace, "updated_at": moment}
        )

        def save(repository: Repository) -> None:
            if not repository.hooks.change(identifier, values, sealed_secret=before.sealed_secret):
                raise Conflict.at(
                    "id", "the webhook secret was changed in the meantime; try again to replace the new one"
                )

        return filled(NewWebhook, after, secret=None), save

    answer = keep(bench, workspace_id, once, NewWebhook, make)
    with bench.store.transaction(workspace_id) as repository:
        mine = existing(repository, WebhookRecord, identifier, "webhook").sealed_secret == sealed
    return answer.model_copy(update={"secret": secret}) if mine else answer


def send_test(
    bench: Workbench, workspace_id: str, identifier: str, idempotency: str | None = None
) -> Delivery:
    """Send a test message at once."""
    once = IdempotentCall.of(f"webhooks/{identifier}/test", idempotency, b"")

    def make() -> tuple[Delivery, Save]:
        message = new_message(identifier, TEST, now(), {"webhook_id": identifier})

        def save(repository: Repository) -> None:
            held_active(repository, identifier)
            repository.add(message)

        return delivery_of(message), save

    answer = keep(bench, workspace_id, once, Delivery, make)
    bench.run_chore("webhooks")
    return answer


def held_active(repository: Repository, identifier: str) -> None:
    """Keep a webhook as it is until the transaction ends; refuse one that is off."""
    repository.hooks.hold(identifier)
    if not existing(repository, WebhookRecord, identifier, "webhook").active:
        raise Conflict.at("active", "the webhook is off; turn it on first")


def list_deliveries(
    bench: Workbench, workspace_id: str, identifier: str, limit: int, cursor: str | None
) -> Page[Delivery]:
    of_webhook = col(WebhookDelivery.webhook_id) == identifier
    with bench.store.transaction(workspace_id) as repository:
        existing(repository, WebhookRecord, identifier, "webhook")
        return page_of(repository, WebhookDelivery, delivery_of, limit, cursor, of_webhook)


def send_again(bench: Workbench, workspace_id: str, identifier: str, message_id: str) -> Delivery:
    """Send a completed message again; a waiting one is unchanged."""
    with bench.store.transaction(workspace_id) as repository:
        held_active(repository, identifier)
        message = repository.hooks.message(identifier, message_id)
        if message is None:
            raise no_such("message", message_id)
        if message.status != WAITING:
            repository.hooks.again(message_id, now())
            message = repository.hooks.message(identifier, message_id)
        assert message is not None, "it was there"
        answer = delivery_of(message)
    bench.run_chore("webhooks")
    return answer


def document_of(record: WebhookRecord, moment: datetime) -> Webhook:
    grace = record.previous_until
    return filled(
        Webhook,
        record,
        disabled_because=record.disabled,
        old_secret_until=grace if grace is not None and grace > moment else None,
    )


def delivery_of(row: WebhookDelivery) -> Delivery:
    return filled(Delivery, row)


logger = logging.getLogger("rackline.webhooks")

DELAYS = (10, 60, 300, 1800, 7200, 21600, 57600)
"""Time between attempts: eight over 24 hours and 36 minutes. [s]"""

SPREAD = 0.1
"""Largest jitter of a delay, so that messages that failed together are not sent together."""

LEASE = timedelta(seconds=90)
"""How long a claimed message is reserved; afterwards it is sent again. Sending takes 15 s at most."""

SENDERS = 8
"""Messages that one server sends in parallel."""

MOST_OF_WORKSPACE = 2
"""Those of one workspace among them in a round: its slow receivers leave senders to others."""

ROUND_SECONDS = 10.0
"""How long a round takes on messages; what is still being sent then is not waited for. [s]"""

LOOK_SECONDS = 1.0
"""Interval at which an idle sender looks for messages while others send. [s]"""

KEPT = timedelta(days=30)
"""How long messages stay in the log."""

GONE = 410
"""Status of a receiver that wants no more messages."""


def deliver_due(bench: Workbench, moment: datetime, sender: Sender) -> int:
    """Send the messages that are due and return their number.

    Two processes never send the same attempt. If one is killed between sending and recording the result, the
    message is sent again after its lease, with the same ``webhook-id``.
    """
    sending = SendingRound(bench, moment, sender)
    pool = ThreadPoolExecutor(SENDERS, "webhooks")
    working = [pool.submit(sending.work) for _ in range(SENDERS)]
    pool.shutdown(wait=False)
    for ended in wait(working, ROUND_SECONDS).done:
        ended.result()
    return sending.count


class SendingRound:
    """Senders that each take on one message after the other until nothing is due."""

    def __init__(self, bench: Workbench, moment: datetime, sender: Sender) -> None:
        self.count = 0
        self._bench, self._moment, self._sender = bench, moment, sender
        self._begun = time.monotonic()
        self._over = False
        # Messages being sent of each workspace; 0 of one that had its turn.
        self._held = Counter[str]()
        self._change = threading.Condition()

    def work(self) -> None:
        while (message := self._next()) is not None:
            try:
                deliver(self._bench, self._now(), self._sender, message)
            finally:
                with self._change:
                    self._held[message.workspace_id] -= 1

    def _next(self) -> DueMessage | None:
        """Take on a message; None if nothing is due or being sent, or after the time of the round."""
        with self._change:
            while not self._over and time.monotonic() - self._begun < ROUND_SECONDS:
                message = self._claim()
                if message is not None:
                    self._held[message.workspace_id] += 1
                    self.count += 1
                    return message
                if self._held.total():
                    self._change.wait(LOOK_SECONDS)
                else:
                    self._over = True
                    self._change.notify_all()
        return None

    def _claim(self) -> DueMessage | None:
        """Claim a message, first of a workspace that had no turn yet."""
        moment, full = self._now(), {name for name, held in self._held.items() if held >= MOST_OF_WORKSPACE}
        for passed in ({*self._held}, full):
            message = self._bench.store.claim_message(moment, moment + LEASE, passed)
            if message is not None:
                return message
        return None

    def _now(self) -> datetime:
        return self._moment + timedelta(seconds=time.monotonic() - self._begun)


def deliver(bench: Workbench, moment: datetime, sender: Sender, message: DueMessage) -> None:
    """Send a message once and record the outcome."""
    with bench.store.transaction(message.workspace_id) as repository:
        webhook = repository.get(WebhookRecord, message.webhook_id)
    if webhook is None or not webhook.active:
        finish(bench, message, DeliveryOutcome("dropped", None, None, "", None))
    else:
        finish(bench, message, attempt(bench, moment, sender, message, webhook), webhook, moment)


def attempt(
    bench: Workbench, moment: datetime, sender: Sender, message: DueMessage, webhook: WebhookRecord
) -> DeliveryOutcome:
    body = message.body.encode()
    try:
        secrets = opened_secrets(bench, webhook, moment)
        headers = signed_headers(secrets, message.id, int(moment.timestamp()), body)
        reply = sender.send(webhook.url, headers, body)
    except Undelivered as error:
        return failure(message, moment, error.message)
    except Exception:
        # Any other error counts as a failed attempt, so that the message is not sent forever.
        logger.exception("message %s could not be sent", message.id)
        return failure(
            message, moment, Message("something went wrong on the server; details are in the server log")
        )
    if 200 <= reply.status < 300:
        return DeliveryOutcome("delivered", None, reply.status, reply.text, None)
    reason = Message("the receiver responded with {status}", {"status": str(reply.status)})
    return failure(message, moment, reason, reply.status, reply.text)


def opened_secrets(bench: Workbench, webhook: WebhookRecord, moment: datetime) -> list[str]:
    """Return the secrets that messages are signed with, the newest first."""
    sealed = [webhook.sealed_secret]
    if webhook.previous_sealed and webhook.previous_until and webhook.previous_until > moment:
        sealed.append(webhook.previous_sealed)
    try:
        return [bench.sealer.open(purpose(webhook.id), secret) for secret in sealed]
    except Unsealable:
        raise Undelivered(
            "the webhook secret cannot be read with the secret of this server; create a new one"
        ) from None


def failure(
    message: DueMessage, moment: datetime, reason: Message, status: int | None = None, text: str = ""
) -> DeliveryOutcome:
    """Return the outcome of a failed attempt: another one later, or the end."""
    last = message.attempt > len(DELAYS) or status == GONE
    after = None if last else moment + delay_after(message.id, message.attempt)
    return DeliveryOutcome(
        "failed" if last else WAITING, after, status, text, Text.of(reason).model_dump(mode="json")
    )


def delay_after(identifier: str, attempt: int) -> timedelta:
    """Return the delay after an attempt, with a jitter that depends on the message.

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
    """Record the outcome of an attempt; disable a webhook that can no longer be reached."""
    with bench.store.transaction(message.workspace_id) as repository:
        repository.hooks.hold(message.webhook_id)
        recorded = repository.hooks.record(message, outcome)
        if not recorded or webhook is None or moment is None:
            return
        if outcome.status == "delivered":
            repository.hooks.change(webhook.id, {"succeeded_at": moment})
        elif outcome.status == "failed":
            reason = why_disabled(repository, message, outcome)
            if reason is not None:
                disabled = Text.of(reason).model_dump(mode="json")
                values = {"active": False, "disabled": disabled, "updated_at": moment}
                repository.hooks.change(webhook.id, values)
                repository.hooks.drop(webhook.id)


def why_disabled(repository: Repository, message: DueMessage, outcome: DeliveryOutcome) -> Message | None:
    """Return why a webhook is disabled after an abandoned message; None if it is not."""
    if outcome.response_status == GONE:
        return Message("the receiver responded with 410: it accepts no more messages")
    webhook = repository.get(WebhookRecord, message.webhook_id)
    if webhook is None or (webhook.succeeded_at is not None and webhook.succeeded_at >= message.created_at):
        return None
    values = {"count": message.attempt, "day": message.created_at.date().isoformat()}
    return Message(
        "no message has been delivered since {day}; one was abandoned after {count} attempts", values
    )


def purge_messages(bench: Workbench, moment: datetime) -> int:
    return bench.store.purge_messages(moment - KEPT)
