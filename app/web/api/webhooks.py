"""Webhooks: addresses that are told of events of proposals, and the log of their messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Response

from app.services import webhooks
from app.sizing.integration.documents import Delivery, NewWebhook, Webhook
from app.sizing.integration.request import RotationRequest, WebhookPatch, WebhookRequest
from app.sizing.kept.documents import Page
from app.web.api.examples import ROTATION, WEBHOOK, WEBHOOK_CHANGED
from app.web.api.responses import ASK, CHANGE, LIST, READ
from app.web.api.routers import api_router
from app.web.deps import ID, USUAL, BenchDep, CursorQuery, KeyHeader, LimitQuery, WorkspaceDep

router = api_router("webhooks", "/webhooks")

WebhookId = Annotated[str, Path(alias="id", description=ID, examples=["whk_a2b3c4d5e6f7g2h3"])]
MessageId = Annotated[str, Path(description=ID, examples=["msg_a2b3c4d5e6f7g2h3"])]
USUAL_ROTATION = RotationRequest()


@router.post("", status_code=201, summary="Make a webhook", responses=ASK)
def create_webhook(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[WebhookRequest, Body(examples=[WEBHOOK])],
    key: KeyHeader = None,
) -> NewWebhook:
    """Have an address told of events, in messages signed as Standard Webhooks; the secret is told once."""
    return webhooks.create_webhook(bench, workspace, body, key)


@router.get("", summary="Webhooks", responses=LIST)
def list_webhooks(
    bench: BenchDep, workspace: WorkspaceDep, limit: LimitQuery = USUAL, cursor: CursorQuery = None
) -> Page[Webhook]:
    """List addresses and what they are told of, newest first; never a secret."""
    return webhooks.list_webhooks(bench, workspace, limit, cursor)


@router.get("/{id}", summary="Read a webhook", responses=READ)
def get_webhook(bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId) -> Webhook:
    """Read what a webhook is told of and, where it was switched off, why."""
    return webhooks.get_webhook(bench, workspace, identifier)


@router.patch("/{id}", summary="Change a webhook", responses=ASK)
def change_webhook(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: WebhookId,
    body: Annotated[WebhookPatch, Body(examples=[WEBHOOK_CHANGED])],
) -> Webhook:
    """Change address, events or name, or switch it on or off; what waits for one that is off is dropped."""
    return webhooks.change_webhook(bench, workspace, identifier, body)


@router.delete("/{id}", status_code=204, summary="Remove a webhook", responses=READ, response_class=Response)
def remove_webhook(bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId) -> None:
    """Forget a webhook, its secret and its log."""
    webhooks.remove_webhook(bench, workspace, identifier)


@router.post("/{id}/rotate", status_code=201, summary="Replace a webhook's secret", responses=ASK)
def rotate_webhook_secret(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: WebhookId,
    body: Annotated[RotationRequest, Body(examples=[ROTATION])] = USUAL_ROTATION,
    key: KeyHeader = None,
) -> NewWebhook:
    """Make a new secret; until the grace is over messages carry a signature by the old one as well."""
    return webhooks.rotate_secret(bench, workspace, identifier, body, key)


@router.post("/{id}/test", status_code=202, summary="Try a webhook", responses=CHANGE)
def send_webhook_test(
    bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId, key: KeyHeader = None
) -> Delivery:
    """Send a message of the type ``webhook.test``; the log says what came of it."""
    return webhooks.send_test(bench, workspace, identifier, key)


@router.get("/{id}/deliveries", summary="Log of a webhook", responses=READ)
def list_deliveries(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: WebhookId,
    limit: LimitQuery = USUAL,
    cursor: CursorQuery = None,
) -> Page[Delivery]:
    """List messages with tries, next try and the beginning of the last answer, newest first, for 30 days."""
    return webhooks.list_deliveries(bench, workspace, identifier, limit, cursor)


@router.post(
    "/{id}/deliveries/{message_id}/resend", status_code=202, summary="Send a message again", responses=CHANGE
)
def resend_delivery(
    bench: BenchDep, workspace: WorkspaceDep, identifier: WebhookId, message_id: MessageId
) -> Delivery:
    """Send a message that has ended once more, under the same ``webhook-id``; one that waits still does."""
    return webhooks.send_again(bench, workspace, identifier, message_id)
