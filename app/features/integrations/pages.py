"""Pages of API keys and webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, get_args

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from app.errors import AppError, Message
from app.features.integrations import keys, webhooks
from app.features.integrations.model import (
    ApiKey,
    Delivery,
    EventName,
    KeyRequest,
    KeyScope,
    NewApiKey,
    RotationRequest,
    Webhook,
    WebhookPatch,
    WebhookRequest,
)
from app.platform.json_bodies import checked
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import ALL, CursorQuery, WorkspaceDep, workspace_of
from app.platform.web.documents import older
from app.platform.web.forms import FormDep, typed
from app.platform.web.locale import voice_of
from app.platform.web.rendering import render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()

Body = TypeVar("Body", bound=BaseModel)

Typed = Mapping[str, Sequence[str]]

KEYS, WEBHOOKS, WEBHOOK = (f"integrations/{name}.html" for name in ("keys", "webhooks", "webhook"))

SECRET = {"Cache-Control": "no-store"}
"""Headers of a page with a secret."""

MEANINGS: Mapping[str, Message] = {
    "read": Message("Read estimates, comparisons, proposals and the catalogue."),
    "estimate": Message("Compute and save estimates, sizings, comparisons, studies and uploads."),
    "propose": Message("Create, freeze and share proposals."),
    "approve": Message("Approve proposals of other authors, where the workspace asks for it."),
    "webhooks": Message("Create, change and delete webhooks."),
}
"""What a scope allows."""


def request_of(schema: type[Body], values: Mapping[str, Sequence[str | None]], list_field: str) -> Body:
    """Return the values of a form as a request; ``list_field`` may have several."""
    body = {name: list(value) if name == list_field else value[0] for name, value in values.items()}
    return checked(schema, {list_field: [], **body})


def form_of(values: Typed | None, error: AppError | None, defaults: Typed) -> Form:
    """Return the submitted form with its errors, or one with the defaults."""
    return Form(defaults) if values is None else Form(values, error.errors if error else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysPage:
    """API keys, and the form to create one."""

    keys: Sequence[ApiKey]
    next_url: str
    """Address of older keys; empty at the end."""
    scopes: Sequence[Choice]
    form: Form
    message: Message | None
    """Why the form was refused."""
    made: NewApiKey | None
    """A new key with its secret."""


def keys_page(
    request: Request,
    listed: Page[ApiKey],
    *,
    made: NewApiKey | None = None,
    values: Typed | None = None,
    error: AppError | None = None,
) -> KeysPage:
    voice = voice_of(request)
    scopes: Sequence[str] = get_args(KeyScope)
    return KeysPage(
        keys=listed.items,
        next_url=older("/keys", listed),
        scopes=[Choice(scope, voice.label(scope, "scope"), voice.say(MEANINGS[scope])) for scope in scopes],
        form=form_of(values, error, {"scopes": ["read"], "expires_in_days": ["365"]}),
        message=error.message if error else None,
        made=made,
    )


@resource(router, "/keys", KEYS, keys_page, right=Right.MANAGE)
def show_keys(workspace: WorkspaceDep, cursor: CursorQuery = None) -> Page[ApiKey]:
    return keys.list_keys(workspace, USUAL_ITEMS, cursor)


def changed_keys(
    request: Request,
    workspace: Workspace,
    change: Callable[[], NewApiKey],
    values: Typed | None = None,
) -> Response:
    """Make a key and show it, this once, or why none was made."""
    made, error = None, None
    try:
        made = change()
    except AppError as refusal:
        error = refusal
    kept = None if made else values
    page = keys_page(request, show_keys(workspace), made=made, values=kept, error=error)
    status = error.status if error else 201
    return render(request, KEYS, page, status=status, headers=SECRET if made else None)


@router.post("/keys", response_class=HTMLResponse)
@requires(Right.MANAGE)
def make_key(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    values = typed(form)
    # An emptied field means that the key does not expire.
    fields: dict[str, Sequence[str | None]] = {"name": [""], "expires_in_days": [None], **values}

    def make() -> NewApiKey:
        return keys.create_key(workspace, request_of(KeyRequest, fields, "scopes"))

    return changed_keys(request, workspace, make, values)


@router.post("/keys/{identifier}/rotate", response_class=HTMLResponse)
@requires(Right.MANAGE)
def replace_key(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make a key in the place of another one."""
    return changed_keys(request, workspace, lambda: keys.rotate_key(workspace, identifier, RotationRequest()))


@router.post("/keys/{identifier}/revoke")
@requires(Right.MANAGE)
def revoke_key(workspace: WorkspaceDep, identifier: str) -> Response:
    keys.revoke_key(workspace, identifier)
    return RedirectResponse("/keys", 303)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksPage:
    """Webhooks, and the form to create one."""

    webhooks: Sequence[Webhook]
    events: Sequence[Choice]
    form: Form
    message: Message | None
    """Why the form was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPage:
    """One webhook with its log, and the form to change it."""

    webhook: Webhook
    deliveries: Sequence[Delivery]
    next_url: str
    """Address of older messages; empty at the end."""
    secret: str
    """A new secret; empty otherwise."""
    events: Sequence[Choice]
    form: Form
    message: Message | None
    """Why the form was refused."""


def of_form(request: Request, values: Typed | None, error: AppError | None, usual: Typed) -> dict[str, Any]:
    """Return what both pages show of their form."""
    voice, message = voice_of(request), error.message if error else None
    events = [Choice(event, voice.label(event, "audit"), event) for event in get_args(EventName)]
    return {"events": events, "form": form_of(values, error, usual), "message": message}


def webhooks_page(
    request: Request, listed: Page[Webhook], values: Typed | None = None, error: AppError | None = None
) -> WebhooksPage:
    usual = {"events": WebhookRequest.model_fields["events"].default}
    return WebhooksPage(webhooks=listed.items, **of_form(request, values, error, usual))


def webhook_page(
    request: Request,
    webhook: Webhook,
    *,
    secret: str = "",
    values: Typed | None = None,
    error: AppError | None = None,
) -> WebhookPage:
    """Return the page of a webhook with the page of its log that the address names."""
    cursor = request.query_params.get("cursor") if request.method == "GET" else None
    log = webhooks.list_deliveries(workspace_of(request), webhook.id, USUAL_ITEMS, cursor)
    usual = {"name": [webhook.name], "url": [webhook.url], "events": webhook.events}
    return WebhookPage(
        webhook=webhook,
        deliveries=log.items,
        next_url=older(f"/webhooks/{webhook.id}", log),
        secret=secret,
        **of_form(request, values, error, usual),
    )


@resource(router, "/webhooks", WEBHOOKS, webhooks_page, right=Right.MANAGE)
def show_webhooks(workspace: WorkspaceDep) -> Page[Webhook]:
    return webhooks.list_webhooks(workspace, ALL, None)


@resource(router, "/webhooks/{identifier}", WEBHOOK, webhook_page, right=Right.MANAGE)
def show_webhook(workspace: WorkspaceDep, identifier: str) -> Webhook:
    return webhooks.get_webhook(workspace, identifier)


def with_secret(request: Request, webhook: Webhook, secret: str | None) -> Response:
    """Show a webhook with its new secret, this once."""
    page = webhook_page(request, webhook, secret=secret or "")
    return render(request, WEBHOOK, page, status=201, headers=SECRET)


@router.post("/webhooks", response_class=HTMLResponse)
@requires(Right.MANAGE)
def make_webhook(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    values = typed(form)
    try:
        created = webhooks.create_webhook(workspace, request_of(WebhookRequest, values, "events"))
    except AppError as error:
        page = webhooks_page(request, show_webhooks(workspace), values, error)
        return render(request, WEBHOOKS, page, status=error.status)
    return with_secret(request, created, created.secret)


@router.post("/webhooks/{identifier}/rotate", response_class=HTMLResponse)
@requires(Right.MANAGE)
def replace_secret(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    rotated = webhooks.rotate_secret(workspace, identifier, RotationRequest())
    return with_secret(request, rotated, rotated.secret)


def answered(
    request: Request,
    identifier: str,
    do: Callable[..., object],
    *,
    part: str = "",
    values: Typed | None = None,
) -> Response:
    """Do something with a webhook and go back to a part of its page, or show there why it was refused."""
    own = workspace_of(request), identifier
    try:
        do(*own)
    except AppError as error:
        page = webhook_page(request, webhooks.get_webhook(*own), values=values, error=error)
        return render(request, WEBHOOK, page, status=error.status)
    return RedirectResponse(f"/webhooks/{identifier}{part}", 303)


@router.post("/webhooks/{identifier}", response_class=HTMLResponse)
@requires(Right.MANAGE)
def change_webhook(request: Request, form: FormDep, identifier: str) -> Response:
    values = typed(form)

    def change(workspace: Workspace, identifier: str) -> None:
        patch = request_of(WebhookPatch, {"name": [""], "url": [""], **values}, "events")
        webhooks.change_webhook(workspace, identifier, patch)

    return answered(request, identifier, change, values=values)


@router.post("/webhooks/{identifier}/switch")
@requires(Right.MANAGE)
def switch_webhook(request: Request, form: FormDep, identifier: str) -> Response:
    patch = WebhookPatch.model_validate({"active": form.get("active") == "true"})
    return answered(request, identifier, partial(webhooks.change_webhook, patch=patch))


@router.post("/webhooks/{identifier}/test", response_class=HTMLResponse)
@requires(Right.MANAGE)
def try_webhook(request: Request, identifier: str) -> Response:
    return answered(request, identifier, webhooks.send_test, part="#log")


@router.post("/webhooks/{identifier}/deliveries/{message_id}/resend", response_class=HTMLResponse)
@requires(Right.MANAGE)
def resend_message(request: Request, identifier: str, message_id: str) -> Response:
    return answered(request, identifier, partial(webhooks.send_again, message_id=message_id), part="#log")


@router.post("/webhooks/{identifier}/remove")
@requires(Right.MANAGE)
def remove_webhook(workspace: WorkspaceDep, identifier: str) -> Response:
    webhooks.remove_webhook(workspace, identifier)
    return RedirectResponse("/webhooks", 303)
