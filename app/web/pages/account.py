"""The account of the person who asks: name, password, second factor, sessions, workspaces."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooMany
from app.services import accounts, profile, second_factor, sessions
from app.services.identity import Identity
from app.services.profile import AccountDocument
from app.web.auth import (
    AccountDep,
    IdentityDep,
    PrincipalDep,
    cookie_name,
    drop_session,
    get_principal,
    keep_session,
    visitor_of,
)
from app.web.contexts import Form
from app.web.pages.account_views import account_page, second_factor_page
from app.web.pages.entrances import same_twice
from app.web.pages.sign_in import FormDep, private, secret_of, text_of, waiting
from app.web.redirects import SIGN_IN, go
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

DoneQuery = Annotated[str, Query(max_length=20)]


def token_of(request: Request) -> str:
    """Return the token of this browser's session."""
    return request.cookies.get(cookie_name(request), "")


def refused(request: Request, identity: Identity, account_id: str, form: str, error: AppError) -> Response:
    """Return the page of an account with what is wrong, at the fields of one of its forms."""
    wrong = [FieldError(f"{form}.{one.field}", one.message) for one in error.errors]
    message: Message | None = None if wrong else error.message
    page = account_page(
        profile.get_account(identity, account_id, token_of(request)),
        get_principal(request).workspace_id,
        form=Form(errors=wrong),
        message=message,
    )
    return waiting(private(render(request, "account.html", page, status=error.status)), error)


@router.get("/account.json")
def show_account_data(request: Request, identity: IdentityDep, account_id: AccountDep) -> AccountDocument:
    """Return the account of the page of the same address."""
    return profile.get_account(identity, account_id, token_of(request))


@router.get("/account", response_class=HTMLResponse)
def show_account(
    request: Request, identity: IdentityDep, account_id: AccountDep, done: DoneQuery = ""
) -> Response:
    """Show the account of the person who asks."""
    found = profile.get_account(identity, account_id, token_of(request))
    page = account_page(found, get_principal(request).workspace_id, done=done)
    return private(render(request, "account.html", page))


@router.post("/account", response_class=HTMLResponse)
def rename(request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep) -> Response:
    """Call the person something else."""
    try:
        accounts.rename(identity, account_id, text_of(form, "name"))
    except BadInput as error:
        return refused(request, identity, account_id, "own", error)
    return go("/account?done=name")


@router.post("/account/password", response_class=HTMLResponse)
def change_password(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep
) -> Response:
    """Change the password; all other browsers are signed out."""
    present, token = secret_of(form, "present"), token_of(request)
    try:
        password, visitor = same_twice(form), visitor_of(request)
        started = accounts.change_password(identity, account_id, present, password, visitor, token)
    except (BadInput, TooMany) as error:
        return refused(request, identity, account_id, "change", error)
    response = go("/account?done=password")
    keep_session(request, response, started)
    return private(response)


@router.get("/account/second-factor", response_class=HTMLResponse)
def show_second_factor(request: Request, identity: IdentityDep, account_id: AccountDep) -> Response:
    """Offer a new second factor."""
    offered = profile.offer_second_factor(identity, account_id)
    return private(render(request, "second_factor.html", second_factor_page(offered, Form())))


@router.post("/account/second-factor", response_class=HTMLResponse)
def turn_on(request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep) -> Response:
    """Keep the second factor once a code of it is right; the recovery codes are shown once."""
    sealed = text_of(form, "sealed")
    try:
        codes = second_factor.turn_on(identity, account_id, sealed, text_of(form, "code"))
    except BadInput as error:
        offered = profile.offer_second_factor(identity, account_id, sealed)
        page = second_factor_page(offered, Form(errors=error.errors))
        return private(render(request, "second_factor.html", page, status=error.status))
    except Conflict as error:
        return refused(request, identity, account_id, "factor", error)
    found = profile.get_account(identity, account_id, token_of(request))
    shown = account_page(found, get_principal(request).workspace_id, codes=codes)
    return private(render(request, "account.html", shown))


@router.post("/account/second-factor/off", response_class=HTMLResponse)
def turn_off(request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep) -> Response:
    """Go without a second factor again."""
    try:
        second_factor.turn_off(identity, account_id, secret_of(form, "password"))
    except (BadInput, TooMany) as error:
        return refused(request, identity, account_id, "factor", error)
    return go("/account?done=factor")


@router.post("/account/recovery-codes", response_class=HTMLResponse)
def other_codes(request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep) -> Response:
    """Make new recovery codes in the place of all earlier ones."""
    try:
        codes = second_factor.other_recovery_codes(identity, account_id, secret_of(form, "password"))
    except (BadInput, Conflict, TooMany) as error:
        return refused(request, identity, account_id, "factor", error)
    found = profile.get_account(identity, account_id, token_of(request))
    shown = account_page(found, get_principal(request).workspace_id, codes=codes)
    return private(render(request, "account.html", shown))


@router.post("/account/sessions/{identifier}/end", response_class=HTMLResponse)
def end_session(identity: IdentityDep, account_id: AccountDep, identifier: str) -> Response:
    """Sign one browser out."""
    sessions.end_session(identity, account_id, identifier)
    return go("/account?done=session")


@router.post("/account/sign-out-everywhere", response_class=HTMLResponse)
def leave_everywhere(request: Request, identity: IdentityDep, account_id: AccountDep) -> Response:
    """Sign all browsers out, this one too."""
    sessions.sign_out_everywhere(identity, account_id)
    response = RedirectResponse(SIGN_IN, 303)
    drop_session(request, response)
    return private(response)


@router.post("/workspace", response_class=HTMLResponse)
def switch(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep, who: PrincipalDep
) -> Response:
    """Work in another workspace of the account."""
    sessions.switch_workspace(identity, account_id, token_of(request), text_of(form, "workspace"))
    return go("/")
