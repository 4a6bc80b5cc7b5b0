"""Keys of the API as a page: what there is, what it may do, and a new one shown once."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError
from app.services import keys
from app.sizing.integration.documents import ApiKey
from app.sizing.integration.request import KeyRequest, RotationRequest
from app.sizing.kept.documents import Page
from app.web.deps import ALL, BenchDep, CursorQuery, WorkspaceDep
from app.web.pages.forms import typed
from app.web.pages.integration_views import asked, keys_page, refusal
from app.web.pages.start import FormDep
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

SECRET = {"Cache-Control": "no-store"}
"""Of pages with a secret: no browser keeps them."""


@router.get("/keys.json")
def show_keys_data(bench: BenchDep, workspace: WorkspaceDep, cursor: CursorQuery = None) -> Page[ApiKey]:
    """Return the keys of the page of the same address."""
    return keys.list_keys(bench, workspace, ALL, cursor)


@router.get("/keys", response_class=HTMLResponse)
def show_keys(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, cursor: CursorQuery = None
) -> Response:
    """Show the keys, and how to make one."""
    return render(request, "keys.html", keys_page(request, bench, workspace, cursor=cursor))


@router.post("/keys", response_class=HTMLResponse)
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
        return render(request, "keys.html", page, status=status)
    return render(
        request, "keys.html", keys_page(request, bench, workspace, made=made), status=201, headers=SECRET
    )


@router.post("/keys/{identifier}/rotate", response_class=HTMLResponse)
def replace_key(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make a key in the place of another one and show it, this once."""
    try:
        made = keys.rotate_key(bench, workspace, identifier, RotationRequest())
    except AppError as error:
        page = keys_page(request, bench, workspace, message=error.message)
        return render(request, "keys.html", page, status=error.status)
    return render(
        request, "keys.html", keys_page(request, bench, workspace, made=made), status=201, headers=SECRET
    )


@router.post("/keys/{identifier}/revoke")
def revoke_key(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Take a key back."""
    keys.revoke_key(bench, workspace, identifier)
    return RedirectResponse("/keys", 303)
