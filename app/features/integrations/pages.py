"""Webhooks as pages: where events are told, what came of each message, and the controls."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError
from app.features.integrations import keys, webhooks
from app.features.integrations.model import (
    ApiKey,
    KeyRequest,
    RotationRequest,
    Webhook,
    WebhookPatch,
    WebhookRequest,
)
from app.features.integrations.views import asked, keys_page, refusal, webhook_page, webhooks_page
from app.platform.listing import Page
from app.platform.web.deps import ALL, BenchDep, CursorQuery, WorkspaceDep
from app.platform.web.forms import FormDep, typed
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router

router = page_router()

SECRET = {"Cache-Control": "no-store"}
"""Of pages with a secret: no browser keeps them."""


@router.get("/keys.json")
@needs(Right.MANAGE)
def show_keys_data(bench: BenchDep, workspace: WorkspaceDep, cursor: CursorQuery = None) -> Page[ApiKey]:
    """Return the keys of the page of the same address."""
    return keys.list_keys(bench, workspace, ALL, cursor)


@router.get("/keys", response_class=HTMLResponse)
@needs(Right.MANAGE)
def show_keys(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, cursor: CursorQuery = None
) -> Response:
    """Show the keys, and how to make one."""
    return render(request, "integrations/keys.html", keys_page(request, bench, workspace, cursor=cursor))


@router.post("/keys", response_class=HTMLResponse)
@needs(Right.MANAGE)
def make_key(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a key and show it, this once."""
    values = typed(form)
    try:
        # A field that was emptied says that the key does not end.
        given: dict[str, Sequence[str | None]] = {"name": [""], "expires_in_days": [None], **values}
        made = keys.create_key(bench, workspace, asked(KeyRequest, given, frozenset({"scopes"})))
    except (AppError, ValidationError) as error:
        shown, message, status = refusal(values, error)
        page = keys_page(request, bench, workspace, form=shown, message=message)
        return render(request, "integrations/keys.html", page, status=status)
    return render(
        request,
        "integrations/keys.html",
        keys_page(request, bench, workspace, made=made),
        status=201,
        headers=SECRET,
    )


@router.post("/keys/{identifier}/rotate", response_class=HTMLResponse)
@needs(Right.MANAGE)
def replace_key(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make a key in the place of another one and show it, this once."""
    try:
        made = keys.rotate_key(bench, workspace, identifier, RotationRequest())
    except AppError as error:
        page = keys_page(request, bench, workspace, message=error.message)
        return render(request, "integrations/keys.html", page, status=error.status)
    return render(
        request,
        "integrations/keys.html",
        keys_page(request, bench, workspace, made=made),
        status=201,
        headers=SECRET,
    )


@router.post("/keys/{identifier}/revoke")
@needs(Right.MANAGE)
def revoke_key(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Take a key back."""
    keys.revoke_key(bench, workspace, identifier)
    return RedirectResponse("/keys", 303)


LISTS = frozenset({"events"})


@router.get("/webhooks.json")
@needs(Right.MANAGE)
def show_webhooks_data(bench: BenchDep, workspace: WorkspaceDep) -> Page[Webhook]:
    """Return the webhooks of the page of the same address."""
    return webhooks.list_webhooks(bench, workspace, ALL, None)


@router.get("/webhooks", response_class=HTMLResponse)
@needs(Right.MANAGE)
def show_webhooks(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the webhooks, and how to make one."""
    return render(request, "integrations/webhooks.html", webhooks_page(request, bench, workspace))


@router.post("/webhooks", response_class=HTMLResponse)
@needs(Right.MANAGE)
def make_webhook(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a webhook and show it with its secret, this once."""
    values = typed(form)
    try:
        made = webhooks.create_webhook(bench, workspace, asked(WebhookRequest, values, LISTS))
    except (AppError, ValidationError) as error:
        shown, message, status = refusal(values, error)
        page = webhooks_page(request, bench, workspace, shown, message)
        return render(request, "integrations/webhooks.html", page, status=status)
    page_of_it = webhook_page(request, bench, workspace, made.id, secret=made.secret or "")
    return render(request, "integrations/webhook.html", page_of_it, status=201, headers=SECRET)


@router.get("/webhooks/{identifier}.json")
@needs(Right.MANAGE)
def show_webhook_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Webhook:
    """Return the webhook of the page of the same address."""
    return webhooks.get_webhook(bench, workspace, identifier)


@router.get("/webhooks/{identifier}", response_class=HTMLResponse)
@needs(Right.MANAGE)
def show_webhook(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, cursor: CursorQuery = None
) -> Response:
    """Show a webhook with its log."""
    return render(
        request,
        "integrations/webhook.html",
        webhook_page(request, bench, workspace, identifier, cursor=cursor),
    )


@router.post("/webhooks/{identifier}", response_class=HTMLResponse)
@needs(Right.MANAGE)
def change_webhook(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep, identifier: str
) -> Response:
    """Change a webhook by what was typed."""
    values = typed(form)
    try:
        patch = asked(WebhookPatch, {"name": [""], "url": [""], **values}, LISTS)
        webhooks.change_webhook(bench, workspace, identifier, patch)
    except (AppError, ValidationError) as error:
        shown, message, status = refusal(values, error)
        page = webhook_page(request, bench, workspace, identifier, form=shown, message=message)
        return render(request, "integrations/webhook.html", page, status=status)
    return RedirectResponse(f"/webhooks/{identifier}", 303)


@router.post("/webhooks/{identifier}/switch")
@needs(Right.MANAGE)
def switch_webhook(bench: BenchDep, workspace: WorkspaceDep, form: FormDep, identifier: str) -> Response:
    """Switch a webhook on or off."""
    patch = WebhookPatch(active=form.get("active") == "true")
    webhooks.change_webhook(bench, workspace, identifier, patch)
    return RedirectResponse(f"/webhooks/{identifier}", 303)


@router.post("/webhooks/{identifier}/test", response_class=HTMLResponse)
@needs(Right.MANAGE)
def try_webhook(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Send a test and show the log."""
    try:
        webhooks.send_test(bench, workspace, identifier)
    except AppError as error:
        page = webhook_page(request, bench, workspace, identifier, message=error.message)
        return render(request, "integrations/webhook.html", page, status=error.status)
    return RedirectResponse(f"/webhooks/{identifier}#log", 303)


@router.post("/webhooks/{identifier}/rotate", response_class=HTMLResponse)
@needs(Right.MANAGE)
def replace_secret(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make a new secret and show it, this once."""
    made = webhooks.rotate_secret(bench, workspace, identifier, RotationRequest())
    page = webhook_page(request, bench, workspace, identifier, secret=made.secret or "")
    return render(request, "integrations/webhook.html", page, status=201, headers=SECRET)


@router.post("/webhooks/{identifier}/remove")
@needs(Right.MANAGE)
def remove_webhook(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Forget a webhook."""
    webhooks.remove_webhook(bench, workspace, identifier)
    return RedirectResponse("/webhooks", 303)


@router.post("/webhooks/{identifier}/deliveries/{message_id}/resend", response_class=HTMLResponse)
@needs(Right.MANAGE)
def resend_message(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, message_id: str
) -> Response:
    """Send a message that has ended once more."""
    try:
        webhooks.send_again(bench, workspace, identifier, message_id)
    except AppError as error:
        page = webhook_page(request, bench, workspace, identifier, message=error.message)
        return render(request, "integrations/webhook.html", page, status=error.status)
    return RedirectResponse(f"/webhooks/{identifier}#log", 303)
