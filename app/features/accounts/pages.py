"""The account of the reader, and the people of a workspace: members, roles, invitations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.datastructures import FormData

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooMany, Unprocessable
from app.features.accounts import people, second_factor
from app.features.accounts import service as accounts
from app.features.accounts.people import AccountDocument, NewInvitation, People, SessionDocument
from app.features.accounts.second_factor import Enrolment
from app.features.accounts.sign_in_pages import (
    PRIVATE,
    FormDep,
    general,
    let_in,
    private,
    same_twice,
    secret_of,
    show,
    text_of,
)
from app.platform import sessions
from app.platform.admission import Principal, Role
from app.platform.identity import Identity
from app.platform.passwords import LEAST
from app.platform.web.auth import (
    AccountDep,
    IdentityDep,
    OwnerDep,
    PrincipalDep,
    cookie_name,
    drop_session,
    visitor_of,
)
from app.platform.web.contexts import Form
from app.platform.web.locale import voice_of
from app.platform.web.problems import SIGN_IN, go
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router

DONE = frozenset({"name", "password", "factor", "session"})

BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Whale/", "Whale"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
"""Mark in a user agent → name of the browser; those that claim to be another come first."""

PLATFORMS = (
    ("Windows", "Windows"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def device(user_agent: str) -> str:
    """Return browser and platform of a user agent.

    >>> device("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0")
    'Edge, Windows'
    >>> device("curl/8.5.0"), device("")
    ('curl/8.5.0', '–')
    """
    names = [
        next((name for mark, name in table if mark in user_agent), "") for table in (BROWSERS, PLATFORMS)
    ]
    return ", ".join(filter(None, names)) or user_agent[:40] or "–"


router = page_router()


async def token_of(request: Request) -> str:
    return request.cookies.get(cookie_name(request), "")


TokenDep = Annotated[str, Depends(token_of)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """The account of the person who reads it."""

    account: AccountDocument
    sessions: Sequence[tuple[SessionDocument, str]]
    """Each with its browser and platform."""
    form: Form
    message: Message | None
    """Why a form was refused."""
    done: str
    """What was done, as a key; empty for nothing."""
    codes: Sequence[str]
    """New recovery codes, shown once."""
    least: int = LEAST


def account_page(
    request: Request,
    account: AccountDocument,
    *,
    form: Form | None = None,
    message: Message | None = None,
    codes: Sequence[str] = (),
) -> AccountPage:
    done = request.query_params.get("done", "") if request.method == "GET" else ""
    return AccountPage(
        account=account,
        sessions=[(session, device(session.user_agent)) for session in account.sessions],
        form=form or Form(),
        message=message,
        done=done if done in DONE else "",
        codes=codes,
    )


@resource(router, "/account", "accounts/account.html", account_page, right=Right.OWN, headers=PRIVATE)
def show_account(identity: IdentityDep, account_id: AccountDep, token: TokenDep) -> AccountDocument:
    return people.get_account(identity, account_id, token)


def refused(request: Request, account: AccountDocument, form: str, error: AppError) -> Response:
    errors = [FieldError(f"{form}.{fault.field}", fault.message) for fault in error.errors]
    page = account_page(request, account, form=Form(errors=errors), message=general(error))
    return show(request, "account", page, error)


@router.post("/account", response_class=HTMLResponse)
@requires(Right.OWN)
def rename_account(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep, token: TokenDep
) -> Response:
    try:
        accounts.rename(identity, account_id, text_of(form, "name"))
    except BadInput as error:
        return refused(request, show_account(identity, account_id, token), "own", error)
    return go("/account?done=name")


@router.post("/account/password", response_class=HTMLResponse)
@requires(Right.OWN)
def change_password(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep, token: TokenDep
) -> Response:
    """Change the password; all other browsers are signed out."""
    present = secret_of(form, "present")
    try:
        password, visitor = same_twice(form), visitor_of(request)
        started = accounts.change_password(identity, account_id, present, password, visitor, token)
    except (BadInput, TooMany) as error:
        return refused(request, show_account(identity, account_id, token), "change", error)
    return let_in(request, started, "/account?done=password")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactorPage:
    """A new second factor: what a device scans, and the form that proves it did."""

    picture: Markup
    secret: str
    sealed: str
    form: Form


def second_factor_page(offered: Enrolment, form: Form) -> SecondFactorPage:
    """Return the page that offers a second factor; the QR code is drawn here and not stored."""
    import segno

    picture = segno.make(offered.uri, error="m", micro=False)
    secret = offered.secret
    return SecondFactorPage(
        picture=Markup(picture.svg_inline(scale=5, border=3, dark="#14181f", light="#fff")),
        secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        sealed=offered.sealed,
        form=form,
    )


@router.get("/account/second-factor", response_class=HTMLResponse)
@requires(Right.OWN)
def show_second_factor(request: Request, identity: IdentityDep, account_id: AccountDep) -> Response:
    offered = people.offer_second_factor(identity, account_id)
    return show(request, "second_factor", second_factor_page(offered, Form()))


@router.post("/account/second-factor", response_class=HTMLResponse)
@requires(Right.OWN)
def turn_on(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep, token: TokenDep
) -> Response:
    """Keep the second factor once a code of it is right; the recovery codes are shown once."""
    sealed, code = text_of(form, "sealed"), text_of(form, "code")
    try:
        codes = second_factor.turn_on(identity, account_id, secret_of(form, "password"), sealed, code)
    except (BadInput, TooMany) as error:
        offered = people.offer_second_factor(identity, account_id, sealed)
        return show(request, "second_factor", second_factor_page(offered, Form(errors=error.errors)), error)
    except Conflict as error:
        return refused(request, show_account(identity, account_id, token), "factor", error)
    page = account_page(request, show_account(identity, account_id, token), codes=codes)
    return show(request, "account", page)


@router.post("/account/second-factor/off", response_class=HTMLResponse)
@requires(Right.OWN)
def turn_off(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep, token: TokenDep
) -> Response:
    try:
        second_factor.turn_off(identity, account_id, secret_of(form, "password"))
    except (BadInput, TooMany) as error:
        return refused(request, show_account(identity, account_id, token), "factor", error)
    return go("/account?done=factor")


@router.post("/account/recovery-codes", response_class=HTMLResponse)
@requires(Right.OWN)
def other_codes(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep, token: TokenDep
) -> Response:
    try:
        codes = second_factor.other_recovery_codes(identity, account_id, secret_of(form, "password"))
    except (BadInput, Conflict, TooMany) as error:
        return refused(request, show_account(identity, account_id, token), "factor", error)
    page = account_page(request, show_account(identity, account_id, token), codes=codes)
    return show(request, "account", page)


@router.post("/account/sessions/{identifier}/end", response_class=HTMLResponse)
@requires(Right.OWN)
def end_session(identity: IdentityDep, account_id: AccountDep, identifier: str) -> Response:
    sessions.end_session(identity, account_id, identifier)
    return go("/account?done=session")


@router.post("/account/sign-out-everywhere", response_class=HTMLResponse)
@requires(Right.OWN)
def leave_everywhere(request: Request, identity: IdentityDep, account_id: AccountDep) -> Response:
    """Sign all browsers out, this one too."""
    sessions.sign_out_everywhere(identity, account_id)
    response = RedirectResponse(SIGN_IN, 303)
    drop_session(request, response)
    return private(response)


@router.post("/workspace", response_class=HTMLResponse)
@requires(Right.OWN)
def switch(
    identity: IdentityDep, account_id: AccountDep, form: FormDep, token: TokenDep, who: PrincipalDep
) -> Response:
    sessions.switch_workspace(identity, account_id, token, text_of(form, "workspace"))
    return go("/")


ROLES = [role.value for role in (Role.CONSULTANT, Role.VIEWER, Role.OWNER)]


def role_of(form: FormData) -> Role:
    role = text_of(form, "role")
    if role not in ROLES:
        raise Unprocessable.at("role", "must be one of {roles}", roles=", ".join(ROLES))
    return Role(role)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """The people of a workspace, for its owners."""

    people: People
    roles: Sequence[str]
    form: Form
    message: Message | None
    sent: NewInvitation | None
    """A new invitation; its link is shown once if no mail was sent."""


def people_page(
    _: Request,
    members: People,
    form: Form | None = None,
    error: AppError | None = None,
    sent: NewInvitation | None = None,
) -> PeoplePage:
    return PeoplePage(people=members, roles=ROLES, form=form or Form(), message=general(error), sent=sent)


@resource(router, "/people", "accounts/people.html", people_page, right=Right.MANAGE, headers=PRIVATE)
def show_people(identity: IdentityDep, owner: OwnerDep) -> People:
    return people.list_people(identity, owner.workspace_id)


def people_after(
    request: Request,
    identity: Identity,
    owner: Principal,
    form: Form | None = None,
    error: AppError | None = None,
    sent: NewInvitation | None = None,
) -> Response:
    page = people_page(request, show_people(identity, owner), form, error, sent)
    return show(request, "people", page, error)


@router.post("/people/invitations", response_class=HTMLResponse)
@requires(Right.MANAGE)
def invite(request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep) -> Response:
    """Invite somebody; without mails the link is shown, once."""
    email = text_of(form, "email")
    try:
        language, asked_at = voice_of(request).language, str(request.base_url)
        sent = people.invite(identity, owner, email, role_of(form), language, asked_at)
    except (BadInput, Conflict) as error:
        kept = Form({"email": [email], "role": [text_of(form, "role")]}, error.errors)
        return people_after(request, identity, owner, kept, error)
    return people_after(request, identity, owner, sent=sent)


@router.post("/people/invitations/{identifier}/withdraw", response_class=HTMLResponse)
@requires(Right.MANAGE)
def withdraw(identity: IdentityDep, owner: OwnerDep, identifier: str) -> Response:
    people.withdraw(identity, owner.workspace_id, identifier)
    return go("/people")


@router.post("/people/members/{identifier}", response_class=HTMLResponse)
@requires(Right.MANAGE)
def change_role(
    request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep, identifier: str
) -> Response:
    try:
        people.change_role(identity, owner.workspace_id, identifier, role_of(form))
    except (BadInput, Conflict) as error:
        return people_after(request, identity, owner, Form(errors=error.errors), error)
    return go("/people")


@router.post("/people/members/{identifier}/remove", response_class=HTMLResponse)
@requires(Right.MANAGE)
def remove(request: Request, identity: IdentityDep, owner: OwnerDep, identifier: str) -> Response:
    """End a membership; what the person made stays."""
    try:
        people.remove(identity, owner.workspace_id, identifier)
    except Conflict as error:
        return people_after(request, identity, owner, error=error)
    return go("/" if identifier == owner.account_id else "/people")


@router.post("/people/workspace", response_class=HTMLResponse)
@requires(Right.MANAGE)
def change_workspace(request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep) -> Response:
    try:
        second = text_of(form, "second_approval") == "yes"
        people.change_workspace(identity, owner.workspace_id, text_of(form, "name"), second)
    except BadInput as error:
        typed = Form({"name": [text_of(form, "name")]}, error.errors)
        return people_after(request, identity, owner, typed, error)
    return go("/people")
