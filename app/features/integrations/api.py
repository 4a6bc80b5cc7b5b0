"""API keys; webhooks: addresses that are told of events, and the log of their messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Response

from app.features.integrations import keys, webhooks
from app.features.integrations.model import (
    ApiKey,
    Delivery,
    KeyRequest,
    NewApiKey,
    NewWebhook,
    RotationRequest,
    Webhook,
    WebhookPatch,
    WebhookRequest,
)
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.web.api import ASK, CHANGE, LIST, READ, api_router
from app.platform.web.deps import ID, CursorQuery, KeyHeader, LimitQuery, WorkspaceDep
from app.platform.web.examples import KEY, ROTATION, WEBHOOK, WEBHOOK_CHANGED
from app.platform.web.requirements import Right, requires

keys_router = api_router("keys", "/keys")

KeyId = Annotated[str, Path(alias="id", description=ID, examples=["key_a2b3c4d5e6f7g2h3"])]

GraceBody = Annotated[RotationRequest, Body(examples=[ROTATION])]

GRACE = RotationRequest()


@keys_router.post("", status_code=201, summary="Create an API key", responses=ASK)
@requires(Right.MANAGE)
def create_key(
    workspace: WorkspaceDep, body: Annotated[KeyRequest, Body(examples=[KEY])], key: KeyHeader = None
) -> NewApiKey:
    """Create a key to send as ``Authorization: Bearer``; its secret is returned only once and not
    stored.
    """
    return keys.create_key(workspace, body, key)


@keys_router.get("", summary="List API keys", responses=LIST)
@requires(Right.MANAGE)
def list_keys(
    workspace: WorkspaceDep, limit: LimitQuery = USUAL_ITEMS, cursor: CursorQuery = None
) -> Page[ApiKey]:
    """List names, prefixes, scopes, expiry and last use, newest first; never a secret."""
    return keys.list_keys(workspace, limit, cursor)


@keys_router.get("/{id}", summary="Retrieve an API key", responses=READ)
@requires(Right.MANAGE)
def get_key(workspace: WorkspaceDep, identifier: KeyId) -> ApiKey:
    """Return the scopes of a key and the time of its last use."""
    return keys.get_key(workspace, identifier)


@keys_router.delete(
    "/{id}", status_code=204, summary="Revoke an API key", responses=READ, response_class=Response
)
@requires(Right.MANAGE)
def revoke_key(workspace: WorkspaceDep, identifier: KeyId) -> None:
    """Revoke a key immediately; it stays in the list as revoked."""
    keys.revoke_key(workspace, identifier)


@keys_router.post("/{id}/rotate", status_code=201, summary="Rotate an API key", responses=ASK)
@requires(Right.MANAGE)
def rotate_key(
    workspace: WorkspaceDep, identifier: KeyId, body: GraceBody = GRACE, key: KeyHeader = None
) -> NewApiKey:
    """Create a key with the same scopes to replace this one, which works until the grace period ends."""
    return keys.rotate_key(workspace, identifier, body, key)


webhooks_router = api_router("webhooks", "/webhooks")

WebhookId = Annotated[str, Path(alias="id", description=ID, examples=["whk_a2b3c4d5e6f7g2h3"])]

NewWebhookBody = Annotated[WebhookRequest, Body(examples=[WEBHOOK])]

ChangeBody = Annotated[WebhookPatch, Body(examples=[WEBHOOK_CHANGED])]

MessageId = Annotated[str, Path(description=ID, examples=["msg_a2b3c4d5e6f7g2h3"])]


@webhooks_router.post("", status_code=201, summary="Create a webhook", responses=ASK)
@requires(Right.HOOK)
def create_webhook(workspace: WorkspaceDep, body: NewWebhookBody, key: KeyHeader = None) -> NewWebhook:
    """Send events to a URL in messages signed as Standard Webhooks; the secret is returned only once."""
    return webhooks.create_webhook(workspace, body, key)


@webhooks_router.get("", summary="Webhooks", responses=LIST)
@requires(Right.HOOK)
def list_webhooks(
    workspace: WorkspaceDep, limit: LimitQuery = USUAL_ITEMS, cursor: CursorQuery = None
) -> Page[Webhook]:
    """List URLs and their events, newest first; never a secret."""
    return webhooks.list_webhooks(workspace, limit, cursor)


@webhooks_router.get("/{id}", summary="Retrieve a webhook", responses=READ)
@requires(Right.HOOK)
def get_webhook(workspace: WorkspaceDep, hook: WebhookId) -> Webhook:
    """Return the events of a webhook and, if it was switched off, the reason."""
    return webhooks.get_webhook(workspace, hook)


@webhooks_router.patch("/{id}", summary="Update a webhook", responses=ASK)
@requires(Right.HOOK)
def change_webhook(workspace: WorkspaceDep, hook: WebhookId, body: ChangeBody) -> Webhook:
    """Change URL, events or name, or switch it on or off; pending messages are dropped if it is off."""
    return webhooks.change_webhook(workspace, hook, body)


@webhooks_router.delete(
    "/{id}", status_code=204, summary="Delete a webhook", responses=READ, response_class=Response
)
@requires(Right.HOOK)
def remove_webhook(workspace: WorkspaceDep, hook: WebhookId) -> None:
    """Delete a webhook, its secret and its log."""
    webhooks.remove_webhook(workspace, hook)


@webhooks_router.post("/{id}/rotate", status_code=201, summary="Rotate a webhook secret", responses=ASK)
@requires(Right.HOOK)
def rotate_webhook_secret(
    workspace: WorkspaceDep, hook: WebhookId, body: GraceBody = GRACE, key: KeyHeader = None
) -> NewWebhook:
    """Create a new secret; until the grace period ends, messages are also signed with the old one."""
    return webhooks.rotate_secret(workspace, hook, body, key)


@webhooks_router.post("/{id}/test", status_code=202, summary="Test a webhook", responses=CHANGE)
@requires(Right.HOOK)
def send_webhook_test(workspace: WorkspaceDep, hook: WebhookId, key: KeyHeader = None) -> Delivery:
    """Send a message of type ``webhook.test``; the log shows the result."""
    return webhooks.send_test(workspace, hook, key)


@webhooks_router.get("/{id}/deliveries", summary="List webhook deliveries", responses=READ)
@requires(Right.HOOK)
def list_deliveries(
    workspace: WorkspaceDep, hook: WebhookId, limit: LimitQuery = USUAL_ITEMS, cursor: CursorQuery = None
) -> Page[Delivery]:
    """List messages with attempts, next attempt and start of the last response, newest first, for 30
    days.
    """
    return webhooks.list_deliveries(workspace, hook, limit, cursor)


@webhooks_router.post(
    "/{id}/deliveries/{message_id}/resend", status_code=202, summary="Resend a message", responses=CHANGE
)
@requires(Right.HOOK)
def resend_delivery(workspace: WorkspaceDep, hook: WebhookId, message_id: MessageId) -> Delivery:
    """Resend a completed message under the same ``webhook-id``; a waiting message is unchanged."""
    return webhooks.send_again(workspace, hook, message_id)
