"""Webhooks: addresses that are told of events of proposals, and the log of their messages."""

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
from app.platform.listing import Page
from app.platform.web.api import ASK, CHANGE, LIST, READ, api_router
from app.platform.web.deps import ID, USUAL, BenchDep, CursorQuery, KeyHeader, LimitQuery, WorkspaceDep
from app.platform.web.examples import KEY, ROTATION, WEBHOOK, WEBHOOK_CHANGED
from app.platform.web.needs import Right, needs

keys_router = api_router("keys", "/keys")

KeyId = Annotated[str, Path(alias="id", description=ID, examples=["key_a2b3c4d5e6f7g2h3"])]

USUAL_ROTATION = RotationRequest()


@keys_router.post("", status_code=201, summary="Create key", responses=ASK)
@needs(Right.MANAGE)
def create_key(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[KeyRequest, Body(examples=[KEY])],
    key: KeyHeader = None,
) -> NewApiKey:
    """Make a key to be sent as ``Authorization: Bearer``; its secret is told once and not kept."""
    return keys.create_key(bench, workspace, body, key)


@keys_router.get("", summary="Keys made so far", responses=LIST)
@needs(Right.MANAGE)
def list_keys(
    bench: BenchDep, workspace: WorkspaceDep, limit: LimitQuery = USUAL, cursor: CursorQuery = None
) -> Page[ApiKey]:
    """List names, beginnings, scopes, ends and last uses, newest first; never a secret."""
    return keys.list_keys(bench, workspace, limit, cursor)


@keys_router.get("/{id}", summary="Read a key", responses=READ)
@needs(Right.MANAGE)
def get_key(bench: BenchDep, workspace: WorkspaceDep, identifier: KeyId) -> ApiKey:
    """Read what a key may do and when it was last used."""
    return keys.get_key(bench, workspace, identifier)


@keys_router.delete("/{id}", status_code=204, summary="Revoke a key", responses=READ, response_class=Response)
@needs(Right.MANAGE)
def revoke_key(bench: BenchDep, workspace: WorkspaceDep, identifier: KeyId) -> None:
    """Make a key stop working at once; it stays in the list as revoked."""
    keys.revoke_key(bench, workspace, identifier)


@keys_router.post("/{id}/rotate", status_code=201, summary="Replace a key", responses=ASK)
@needs(Right.MANAGE)
def rotate_key(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: KeyId,
    body: Annotated[RotationRequest, Body(examples=[ROTATION])] = USUAL_ROTATION,
    key: KeyHeader = None,
) -> NewApiKey:
    """Make a key with the same scopes in the place of this one, which works on until the grace is over."""
    return keys.rotate_key(bench, workspace, identifier, body, key)


webhooks_router = api_router("webhooks", "/webhooks")

WebhookId = Annotated[str, Path(alias="id", description=ID, examples=["whk_a2b3c4d5e6f7g2h3"])]

MessageId = Annotated[str, Path(description=ID, examples=["msg_a2b3c4d5e6f7g2h3"])]


@webhooks_router.post("", status_code=201, summary="Create webhook", responses=ASK)
@needs(Right.MANAGE)
def create_webhook(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[WebhookRequest, Body(examples=[WEBHOOK])],
    key: KeyHeader = None,
) -> NewWebhook:
    """Have an address told of events, in messages signed as Standard Webhooks; the secret is told once."""
    return webhooks.create_webhook(bench, workspace, body, key)


@webhooks_router.get("", summary="Webhooks", responses=LIST)
@needs(Right.MANAGE)
def list_webhooks(
    bench: BenchDep, workspace: WorkspaceDep, limit: LimitQuery = USUAL, cursor: CursorQuery = None
) -> Page[Webhook]:
    """List addresses and what they are told of, newest first; never a secret."""
    return webhooks.list_webhooks(bench, workspace, limit, cursor)


@webhooks_router.get("/{id}", summary="Read a webhook", responses=READ)
@needs(Right.MANAGE)
def get_webhook(bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId) -> Webhook:
    """Read what a webhook is told of and, where it was switched off, why."""
    return webhooks.get_webhook(bench, workspace, identifier)


@webhooks_router.patch("/{id}", summary="Change a webhook", responses=ASK)
@needs(Right.MANAGE)
def change_webhook(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: WebhookId,
    body: Annotated[WebhookPatch, Body(examples=[WEBHOOK_CHANGED])],
) -> Webhook:
    """Change address, events or name, or switch it on or off; what waits for one that is off is dropped."""
    return webhooks.change_webhook(bench, workspace, identifier, body)


@webhooks_router.delete(
    "/{id}", status_code=204, summary="Remove a webhook", responses=READ, response_class=Response
)
@needs(Right.MANAGE)
def remove_webhook(bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId) -> None:
    """Forget a webhook, its secret and its log."""
    webhooks.remove_webhook(bench, workspace, identifier)


@webhooks_router.post("/{id}/rotate", status_code=201, summary="Replace a webhook's secret", responses=ASK)
@needs(Right.MANAGE)
def rotate_webhook_secret(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: WebhookId,
    body: Annotated[RotationRequest, Body(examples=[ROTATION])] = USUAL_ROTATION,
    key: KeyHeader = None,
) -> NewWebhook:
    """Make a new secret; until the grace is over messages carry a signature by the old one as well."""
    return webhooks.rotate_secret(bench, workspace, identifier, body, key)


@webhooks_router.post("/{id}/test", status_code=202, summary="Try a webhook", responses=CHANGE)
@needs(Right.MANAGE)
def send_webhook_test(
    bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId, key: KeyHeader = None
) -> Delivery:
    """Send a message of the type ``webhook.test``; the log says what came of it."""
    return webhooks.send_test(bench, workspace, identifier, key)


@webhooks_router.get("/{id}/deliveries", summary="Log of a webhook", responses=READ)
@needs(Right.MANAGE)
def list_deliveries(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: WebhookId,
    limit: LimitQuery = USUAL,
    cursor: CursorQuery = None,
) -> Page[Delivery]:
    """List messages with tries, next try and the beginning of the last answer, newest first, for 30 days."""
    return webhooks.list_deliveries(bench, workspace, identifier, limit, cursor)


@webhooks_router.post(
    "/{id}/deliveries/{message_id}/resend", status_code=202, summary="Send a message again", responses=CHANGE
)
@needs(Right.MANAGE)
def resend_delivery(
    bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId, message_id: MessageId
) -> Delivery:
    """Send a message that has ended once more, under the same ``webhook-id``; one that waits still does."""
    return webhooks.send_again(bench, workspace, identifier, message_id)
