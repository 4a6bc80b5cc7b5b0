"""Webhooks as pages: where events are told, what came of each message, and the controls."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError
from app.services import webhooks
from app.sizing.integration.documents import Webhook
from app.sizing.integration.request import RotationRequest, WebhookPatch, WebhookRequest
from app.sizing.kept.documents import Page
from app.web.deps import ALL, BenchDep, CursorQuery, WorkspaceDep
from app.web.pages.forms import typed
from app.web.pages.integration_views import asked, refusal, webhook_page, webhooks_page
from app.web.pages.keys import SECRET
from app.web.pages.start import FormDep
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

LISTS = frozenset({"events"})


@router.get("/webhooks.json")
def show_webhooks_data(bench: BenchDep, workspace: WorkspaceDep) -> Page[Webhook]:
    """Return the webhooks of the page of the same address."""
    return webhooks.list_webhooks(bench, workspace, ALL, None)


@router.get("/webhooks", response_class=HTMLResponse)
def show_webhooks(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the webhooks, and how to make one."""
    return render(request, "webhooks.html", webhooks_page(request, bench, workspace))


@router.post("/webhooks", response_class=HTMLResponse)
def make_webhook(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a webhook and show it with its secret, this once."""
    values = typed(form)
    try:
        made = webhooks.create_webhook(bench, workspace, asked(WebhookRequest, values, LISTS))
    except (AppError, ValidationError) as error:
        shown, message, status = refusal(values, error)
        page = webhooks_page(request, bench, workspace, shown, message)
        return render(request, "webhooks.html", page, status=status)
    page_of_it = webhook_page(request, bench, workspace, made.id, secret=made.secret or "")
    return render(request, "webhook.html", page_of_it, status=201, headers=SECRET)


@router.get("/webhooks/{identifier}.json")
def show_webhook_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Webhook:
    """Return the webhook of the page of the same address."""
    return webhooks.get_webhook(bench, workspace, identifier)


@router.get("/webhooks/{identifier}", response_class=HTMLResponse)
def show_webhook(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, cursor: CursorQuery = None
) -> Response:
    """Show a webhook with its log."""
    return render(request, "webhook.html", webhook_page(request, bench, workspace, identifier, cursor=cursor))


@router.post("/webhooks/{identifier}", response_class=HTMLResponse)
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
        return render(request, "webhook.html", page, status=status)
    return RedirectResponse(f"/webhooks/{identifier}", 303)


@router.post("/webhooks/{identifier}/switch")
def switch_webhook(bench: BenchDep, workspace: WorkspaceDep, form: FormDep, identifier: str) -> Response:
    """Switch a webhook on or off."""
    patch = WebhookPatch(active=form.get("active") == "true")
    webhooks.change_webhook(bench, workspace, identifier, patch)
    return RedirectResponse(f"/webhooks/{identifier}", 303)


@router.post("/webhooks/{identifier}/test", response_class=HTMLResponse)
def try_webhook(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Send a test and show the log."""
    try:
        webhooks.send_test(bench, workspace, identifier)
    except AppError as error:
        page = webhook_page(request, bench, workspace, identifier, message=error.message)
        return render(request, "webhook.html", page, status=error.status)
    return RedirectResponse(f"/webhooks/{identifier}#log", 303)


@router.post("/webhooks/{identifier}/rotate", response_class=HTMLResponse)
def replace_secret(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make a new secret and show it, this once."""
    made = webhooks.rotate_secret(bench, workspace, identifier, RotationRequest())
    page = webhook_page(request, bench, workspace, identifier, secret=made.secret or "")
    return render(request, "webhook.html", page, status=201, headers=SECRET)


@router.post("/webhooks/{identifier}/remove")
def remove_webhook(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Forget a webhook."""
    webhooks.remove_webhook(bench, workspace, identifier)
    return RedirectResponse("/webhooks", 303)


@router.post("/webhooks/{identifier}/deliveries/{message_id}/resend", response_class=HTMLResponse)
def resend_message(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, message_id: str
) -> Response:
    """Send a message that has ended once more."""
    try:
        webhooks.send_again(bench, workspace, identifier, message_id)
    except AppError as error:
        page = webhook_page(request, bench, workspace, identifier, message=error.message)
        return render(request, "webhook.html", page, status=error.status)
    return RedirectResponse(f"/webhooks/{identifier}#log", 303)
