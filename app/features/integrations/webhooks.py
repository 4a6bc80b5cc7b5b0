"""Webhooks: create and change them, send their messages with retries."""

from __future__ import annotations

import base64
import hashlib
import logging
import secrets
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import httpx
from sqlmodel import col
from standardwebhooks import Webhook as Signer

from app import __version__
from app.errors import Conflict, Message
from app.estimating.documents import Text
from app.estimating.schema import filled
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
from app.platform.listing import Page, page_of
from app.platform.outgoing import Receipt
from app.platform.references import existing, no_such
from app.platform.sealing import Unsealable
from app.platform.store.account_tables import WebhookDelivery, WebhookRecord
from app.platform.store.integration_queries import WAITING, new_message
from app.platform.store.queries import new_id, now
from app.platform.store.repository import Repository
from app.platform.workspace import Installation, Workspace

logger = logging.getLogger("rackline.webhooks")

TEST = "webhook.test"
"""Event of a test message."""

MOST_WEBHOOKS = 20

DELAYS = (10, 60, 300, 1800, 7200, 21600, 57600)
"""Time between attempts, each and up to a tenth more: eight over a little more than a day. [s]"""

LEASE = timedelta(seconds=90)
"""How long a claimed message is reserved. Sending takes 15 s at most: afterwards it is sent again, under the
same ``webhook-id``, since who sent it was killed before the outcome was recorded."""

SENDERS = 16
"""Messages that one process sends in parallel."""

KEPT = timedelta(days=30)
"""How long messages stay in the log."""

GONE = 410
"""Status of a receiver that wants no more messages."""

Shown = TypeVar("Shown", bound=Webhook)


def document_of(record: WebhookRecord, kind: type[Shown], **more: Any) -> Shown:
    grace = record.previous_until
    until = grace if grace is not None and grace > now() else None
    return filled(kind, record, **{"disabled_because": record.disabled, "old_secret_until": until, **more})


def new_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def purpose(identifier: str) -> str:
    """Return what a secret of a webhook is sealed for."""
    return f"webhook:{identifier}"


def found(repository: Repository, identifier: str) -> WebhookRecord:
    return existing(repository, WebhookRecord, identifier, "webhook")


def create_webhook(
    workspace: Workspace, request: WebhookRequest, idempotency: str | None = None
) -> NewWebhook:
    """Create a webhook; its secret is sealed, and a repeated request gets the answer without it."""
    once = IdempotentCall.of("webhooks", idempotency, request)
    url = workspace.installation.sender.checked("url", request.url)
    identifier, secret, moment = new_id("whk"), new_secret(), now()
    record = WebhookRecord(
        id=identifier,
        workspace_id=workspace.id,
        name=checked_name(request.name) if request.name.strip() else url.host[:100],
        url=str(url),
        events=sorted(set(request.events)),
        sealed_secret=workspace.installation.sealer.seal(purpose(identifier), secret),
        active=True,
        created_at=moment,
        updated_at=moment,
    )

    def save(repository: Repository) -> None:
        repository.hold()
        if repository.count_rows(WebhookRecord) >= MOST_WEBHOOKS:
            raise Conflict.at("url", "a workspace can have at most {most} webhooks", most=MOST_WEBHOOKS)
        repository.add(record)

    made = document_of(record, NewWebhook, secret=None)
    answer = keep(workspace, once, NewWebhook, lambda: (made, save))
    return answer.model_copy(update={"secret": secret}) if answer is made else answer


def list_webhooks(workspace: Workspace, limit: int, cursor: str | None) -> Page[Webhook]:
    with workspace.transaction() as repository:
        return page_of(repository, WebhookRecord, partial(document_of, kind=Webhook), limit, cursor)


def get_webhook(workspace: Workspace, identifier: str) -> Webhook:
    with workspace.transaction() as repository:
        return document_of(found(repository, identifier), Webhook)


def change_webhook(workspace: Workspace, identifier: str, patch: WebhookPatch) -> Webhook:
    """Change a webhook; switching it off drops its waiting messages."""
    values = patch.model_dump(exclude_none=True)
    if patch.url is not None:
        values["url"] = str(workspace.installation.sender.checked("url", patch.url))
    if patch.events is not None:
        values["events"] = sorted(set(patch.events))
    if patch.name is not None:
        values["name"] = checked_name(patch.name) if patch.name.strip() else ""
    if patch.active is not None:
        values["disabled"] = None
    with workspace.transaction() as repository:
        record = found(repository, identifier)
        if values.get("name") == "":
            values["name"] = httpx.URL(values.get("url", record.url)).host[:100]
        repository.hooks.change(identifier, {**values, "updated_at": now()})
        if patch.active is False:
            repository.hooks.drop(identifier)
    return get_webhook(workspace, identifier)


def remove_webhook(workspace: Workspace, identifier: str) -> None:
    with workspace.transaction() as repository:
        if not repository.hooks.remove(identifier):
            raise no_such("webhook", identifier)


def rotate_secret(
    workspace: Workspace, identifier: str, request: RotationRequest, idempotency: str | None = None
) -> NewWebhook:
    """Replace the secret; until the grace period ends, messages are signed with the old one too."""
    once = IdempotentCall.of(f"webhooks/{identifier}/rotate", idempotency, request)
    secret, moment = new_secret(), now()
    grace = moment + timedelta(hours=request.grace_hours) if request.grace_hours else None
    with workspace.transaction() as repository:
        before = found(repository, identifier)
    values = {
        "sealed_secret": workspace.installation.sealer.seal(purpose(identifier), secret),
        "previous_sealed": before.sealed_secret if grace else None,
        "previous_until": grace,
        "updated_at": moment,
    }

    def save(repository: Repository) -> None:
        if not repository.hooks.change(identifier, values, sealed_secret=before.sealed_secret):
            raise Conflict.at(
                "id", "the webhook secret was changed in the meantime; try again to replace the new one"
            )

    made = document_of(before, NewWebhook, old_secret_until=grace, updated_at=moment, secret=None)
    answer = keep(workspace, once, NewWebhook, lambda: (made, save))
    return answer.model_copy(update={"secret": secret}) if answer is made else answer


def send_test(workspace: Workspace, identifier: str, idempotency: str | None = None) -> Delivery:
    """Have a test message sent."""
    once = IdempotentCall.of(f"webhooks/{identifier}/test", idempotency, b"")

    def make() -> tuple[Delivery, Save]:
        message = new_message(identifier, TEST, now(), {"webhook_id": identifier})

        def save(repository: Repository) -> None:
            hold_active(repository, identifier)
            repository.add(message)

        return filled(Delivery, message), save

    return keep(workspace, once, Delivery, make)


def hold_active(repository: Repository, identifier: str) -> None:
    """Keep a webhook as it is until the transaction ends; refuse one that is off."""
    repository.hooks.hold(identifier)
    if not found(repository, identifier).active:
        raise Conflict.at("active", "the webhook is off; turn it on first")


def list_deliveries(workspace: Workspace, identifier: str, limit: int, cursor: str | None) -> Page[Delivery]:
    of_webhook = col(WebhookDelivery.webhook_id) == identifier
    with workspace.transaction() as repository:
        found(repository, identifier)
        return page_of(repository, WebhookDelivery, partial(filled, Delivery), limit, cursor, of_webhook)


def send_again(workspace: Workspace, identifier: str, message_id: str) -> Delivery:
    """Have a completed message sent again, from the first attempt; a waiting one is unchanged."""
    with workspace.transaction() as repository:
        hold_active(repository, identifier)
        message = repository.hooks.first(WebhookDelivery, webhook_id=identifier, id=message_id)
        if message is None:
            raise no_such("message", message_id)
        if message.status != WAITING:
            message.status, message.attempts, message.next_try_at = WAITING, 0, now()
        return filled(Delivery, message)


def deliver(installation: Installation, message: WebhookDelivery) -> None:
    """Send a claimed message once and record the outcome; disable a webhook that can no longer be reached."""
    moment, workspace = message.tried_at or now(), installation.workspace(message.workspace_id)
    with workspace.transaction() as repository:
        webhook = repository.get(WebhookRecord, message.webhook_id)
        if webhook is None or not webhook.active:
            repository.hooks.drop(message.webhook_id)
            return
    reply = attempt(workspace, webhook, message, moment)
    again = reply.reason is not None and reply.status != GONE and message.attempts <= len(DELAYS)
    status = "delivered" if reply.reason is None else WAITING if again else "failed"
    outcome = {
        "status": status,
        "next_try_at": moment + delay_after(message) if again else None,
        "response_status": reply.status,
        "response_text": reply.text,
        "reason": stored(reply.reason),
    }
    # Of a message that was taken over, dropped or sent again meanwhile the outcome counts no longer.
    mine = {"id": message.id, "attempts": message.attempts, "status": WAITING}
    with workspace.transaction() as repository:
        repository.hooks.hold(webhook.id)
        recorded = repository.hooks.record(outcome, **mine)
        if recorded and status == "delivered":
            repository.hooks.change(webhook.id, {"succeeded_at": moment})
        reason = why_disabled(repository, message, reply) if recorded and status == "failed" else None
        if reason is not None:
            values = {"active": False, "disabled": stored(reason), "updated_at": moment}
            repository.hooks.change(webhook.id, values)
            repository.hooks.drop(webhook.id)


def attempt(
    workspace: Workspace, webhook: WebhookRecord, message: WebhookDelivery, moment: datetime
) -> Receipt:
    """Send a message, signed with the secret and during the grace period with the one before it."""
    sealed = [webhook.sealed_secret]
    if webhook.previous_sealed and webhook.previous_until and webhook.previous_until > moment:
        sealed.append(webhook.previous_sealed)
    try:
        signers = [
            Signer(workspace.installation.sealer.open(purpose(webhook.id), secret)) for secret in sealed
        ]
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"Rackline/{__version__}",
            "webhook-id": message.id,
            "webhook-timestamp": str(int(moment.timestamp())),
            "webhook-signature": " ".join(one.sign(message.id, moment, message.body) for one in signers),
        }
        return workspace.installation.sender.send(webhook.url, headers, message.body.encode())
    except Unsealable:
        reason = "the webhook secret cannot be read with the secret of this server; create a new one"
        return Receipt(reason=Message(reason))
    except Exception:
        # Any other error counts as a failed attempt, so that the message is not sent forever.
        logger.exception("message %s could not be sent", message.id)
        return Receipt(reason=Message("something went wrong on the server; details are in the server log"))


def delay_after(message: WebhookDelivery) -> timedelta:
    """Return the delay after an attempt: messages that failed together are not sent together."""
    part = hashlib.sha256(f"{message.id}.{message.attempts}".encode()).digest()[0] / 2560
    return timedelta(seconds=DELAYS[message.attempts - 1] * (1 + part))


def stored(reason: Message | None) -> dict[str, Any] | None:
    return Text.of(reason).model_dump(mode="json") if reason else None


def why_disabled(repository: Repository, message: WebhookDelivery, reply: Receipt) -> Message | None:
    """Return why a webhook is disabled after an abandoned message; None if it is not."""
    if reply.status == GONE:
        return Message("the receiver responded with 410: it accepts no more messages")
    last = found(repository, message.webhook_id).succeeded_at
    if last is not None and last >= message.created_at:
        return None
    values = {"count": message.attempts, "day": message.created_at.date().isoformat()}
    return Message(
        "no message has been delivered since {day}; one was abandoned after {count} attempts", values
    )
