"""The people of a workspace, for its owners: members, roles, invitations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.datastructures import FormData

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooMany, Unprocessable
from app.features.accounts import people, second_factor
from app.features.accounts import service as accounts
from app.features.accounts.people import AccountDocument, People, Sent, SessionDocument
from app.features.accounts.second_factor import Enrolment
from app.features.accounts.sign_in_pages import (
    FormDep,
    general,
    private,
    same_twice,
    secret_of,
    text_of,
    waiting,
)
from app.features.accounts.views import AccountPage, PeoplePage, SecondFactorPage, SessionLine
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
    get_principal,
    keep_session,
    visitor_of,
)
from app.platform.web.contexts import Form
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.problems import SIGN_IN, go
from app.platform.web.rendering import render
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
"""What a browser's description holds → its name; the special ones before those they claim to be."""

PLATFORMS = (
    ("Windows", "Windows"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def device(user_agent: str) -> str:
    """Return a browser and where it runs in two words, as far as it says so.

    >>> device("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0")
    'Edge, Windows'
    >>> device("curl/8.5.0"), device("")
    ('curl/8.5.0', '–')
    """
    found = [
        next((name for mark, name in table if mark in user_agent), "") for table in (BROWSERS, PLATFORMS)
    ]
    return ", ".join(one for one in found if one) or user_agent[:40] or "–"


def line_of(session: SessionDocument) -> SessionLine:
    """Return a session in words."""
    return SessionLine(
        id=session.id,
        device=device(session.user_agent),
        address=session.address,
        here=session.here,
        began=session.created_at.date().isoformat(),
        failures=session.failures,
        seen=session.seen_at.date().isoformat(),
    )


def account_page(
    account: AccountDocument,
    workspace_id: str,
    *,
    form: Form | None = None,
    message: Message | None = None,
    done: str = "",
    codes: Sequence[str] = (),
) -> AccountPage:
    """Return the page of an account."""
    return AccountPage(
        account=account,
        sessions=[line_of(one) for one in account.sessions],
        workspace_id=workspace_id,
        form=form or Form(),
        message=message,
        done=done if done in DONE else "",
        codes=codes,
        least=LEAST,
    )


def second_factor_page(offered: Enrolment, form: Form) -> SecondFactorPage:
    """Return the page that offers a second factor; the picture is drawn here and leaves no trace."""
    import segno

    picture = segno.make(offered.uri, error="m", micro=False)
    secret = offered.secret
    return SecondFactorPage(
        picture=Markup(picture.svg_inline(scale=5, border=3, dark="#14181f", light="#fff")),
        secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        sealed=offered.sealed,
        form=form,
    )


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
        people.get_account(identity, account_id, token_of(request)),
        get_principal(request).workspace_id,
        form=Form(errors=wrong),
        message=message,
    )
    return waiting(private(render(request, "accounts/account.html", page, status=error.status)), error)


@router.get("/account.json")
@needs(Right.OWN)
def show_account_data(request: Request, identity: IdentityDep, account_id: AccountDep) -> AccountDocument:
    """Return the account of the page of the same address."""
    return people.get_account(identity, account_id, token_of(request))


@router.get("/account", response_class=HTMLResponse)
@needs(Right.OWN)
def show_account(
    request: Request, identity: IdentityDep, account_id: AccountDep, done: DoneQuery = ""
) -> Response:
    """Show the account of the person who asks."""
    found = people.get_account(identity, account_id, token_of(request))
    page = account_page(found, get_principal(request).workspace_id, done=done)
    return private(render(request, "accounts/account.html", page))


@router.post("/account", response_class=HTMLResponse)
@needs(Right.OWN)
def rename_account(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep
) -> Response:
    """Call the person something else."""
    try:
        accounts.rename(identity, account_id, text_of(form, "name"))
    except BadInput as error:
        return refused(request, identity, account_id, "own", error)
    return go("/account?done=name")


@router.post("/account/password", response_class=HTMLResponse)
@needs(Right.OWN)
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
@needs(Right.OWN)
def show_second_factor(request: Request, identity: IdentityDep, account_id: AccountDep) -> Response:
    """Offer a new second factor."""
    offered = people.offer_second_factor(identity, account_id)
    return private(render(request, "accounts/second_factor.html", second_factor_page(offered, Form())))


@router.post("/account/second-factor", response_class=HTMLResponse)
@needs(Right.OWN)
def turn_on(request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep) -> Response:
    """Keep the second factor once a code of it is right; the recovery codes are shown once."""
    sealed = text_of(form, "sealed")
    try:
        codes = second_factor.turn_on(identity, account_id, sealed, text_of(form, "code"))
    except BadInput as error:
        offered = people.offer_second_factor(identity, account_id, sealed)
        page = second_factor_page(offered, Form(errors=error.errors))
        return private(render(request, "accounts/second_factor.html", page, status=error.status))
    except Conflict as error:
        return refused(request, identity, account_id, "factor", error)
    found = people.get_account(identity, account_id, token_of(request))
    shown = account_page(found, get_principal(request).workspace_id, codes=codes)
    return private(render(request, "accounts/account.html", shown))


@router.post("/account/second-factor/off", response_class=HTMLResponse)
@needs(Right.OWN)
def turn_off(request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep) -> Response:
    """Go without a second factor again."""
    try:
        second_factor.turn_off(identity, account_id, secret_of(form, "password"))
    except (BadInput, TooMany) as error:
        return refused(request, identity, account_id, "factor", error)
    return go("/account?done=factor")


@router.post("/account/recovery-codes", response_class=HTMLResponse)
@needs(Right.OWN)
def other_codes(request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep) -> Response:
    """Make new recovery codes in the place of all earlier ones."""
    try:
        codes = second_factor.other_recovery_codes(identity, account_id, secret_of(form, "password"))
    except (BadInput, Conflict, TooMany) as error:
        return refused(request, identity, account_id, "factor", error)
    found = people.get_account(identity, account_id, token_of(request))
    shown = account_page(found, get_principal(request).workspace_id, codes=codes)
    return private(render(request, "accounts/account.html", shown))


@router.post("/account/sessions/{identifier}/end", response_class=HTMLResponse)
@needs(Right.OWN)
def end_session(identity: IdentityDep, account_id: AccountDep, identifier: str) -> Response:
    """Sign one browser out."""
    sessions.end_session(identity, account_id, identifier)
    return go("/account?done=session")


@router.post("/account/sign-out-everywhere", response_class=HTMLResponse)
@needs(Right.OWN)
def leave_everywhere(request: Request, identity: IdentityDep, account_id: AccountDep) -> Response:
    """Sign all browsers out, this one too."""
    sessions.sign_out_everywhere(identity, account_id)
    response = RedirectResponse(SIGN_IN, 303)
    drop_session(request, response)
    return private(response)


@router.post("/workspace", response_class=HTMLResponse)
@needs(Right.OWN)
def switch(
    request: Request, identity: IdentityDep, account_id: AccountDep, form: FormDep, who: PrincipalDep
) -> Response:
    """Work in another workspace of the account."""
    sessions.switch_workspace(identity, account_id, token_of(request), text_of(form, "workspace"))
    return go("/")


ROLES = [role.value for role in (Role.CONSULTANT, Role.VIEWER, Role.OWNER)]


def role_of(form: FormData) -> Role:
    """Return the role that was chosen."""
    given = text_of(form, "role")
    if given not in ROLES:
        raise Unprocessable.at("role", "must be one of {roles}", roles=", ".join(ROLES))
    return Role(given)


def shown(
    request: Request,
    identity: Identity,
    owner: Principal,
    form: Form,
    error: AppError | None = None,
    sent: Sent | None = None,
) -> Response:
    """Return the page of the people of a workspace."""
    page = PeoplePage(
        people=people.list_people(identity, owner.workspace_id),
        me=owner.account_id or "",
        roles=ROLES,
        form=form,
        message=general(error),
        link=sent.link if sent and not sent.mailed else "",
        mailed=sent is not None and sent.mailed,
    )
    return private(render(request, "accounts/people.html", page, status=error.status if error else 200))


@router.get("/people.json")
@needs(Right.MANAGE)
def show_people_data(identity: IdentityDep, owner: OwnerDep) -> People:
    """Return the people of the page of the same address."""
    return people.list_people(identity, owner.workspace_id)


@router.get("/people", response_class=HTMLResponse)
@needs(Right.MANAGE)
def show_people(request: Request, identity: IdentityDep, owner: OwnerDep) -> Response:
    """Show who works in the workspace and who is invited."""
    return shown(request, identity, owner, Form())


@router.post("/people/invitations", response_class=HTMLResponse)
@needs(Right.MANAGE)
def invite(request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep) -> Response:
    """Invite somebody; without mails the link is shown, once."""
    email = text_of(form, "email")
    try:
        language, asked_at = voice_of(request).language, str(request.base_url)
        sent = people.invite(identity, owner, email, role_of(form), language, asked_at)
    except (BadInput, Conflict) as error:
        kept = Form({"email": [email], "role": [text_of(form, "role")]}, error.errors)
        return shown(request, identity, owner, kept, error)
    return shown(request, identity, owner, Form(), sent=sent)


@router.post("/people/invitations/{identifier}/withdraw", response_class=HTMLResponse)
@needs(Right.MANAGE)
def withdraw(identity: IdentityDep, owner: OwnerDep, identifier: str) -> Response:
    """Take an invitation back."""
    people.withdraw(identity, owner.workspace_id, identifier)
    return go("/people")


@router.post("/people/members/{identifier}", response_class=HTMLResponse)
@needs(Right.MANAGE)
def change_role(
    request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep, identifier: str
) -> Response:
    """Let a member do more or less."""
    try:
        people.change_role(identity, owner.workspace_id, identifier, role_of(form))
    except (BadInput, Conflict) as error:
        return shown(request, identity, owner, Form(errors=error.errors), error)
    return go("/people")


@router.post("/people/members/{identifier}/remove", response_class=HTMLResponse)
@needs(Right.MANAGE)
def remove(request: Request, identity: IdentityDep, owner: OwnerDep, identifier: str) -> Response:
    """End a membership; what the person made stays."""
    try:
        people.remove(identity, owner.workspace_id, identifier)
    except Conflict as error:
        return shown(request, identity, owner, Form(), error)
    return go("/" if identifier == owner.account_id else "/people")


@router.post("/people/workspace", response_class=HTMLResponse)
@needs(Right.MANAGE)
def rename_workspace(request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep) -> Response:
    """Call the workspace something else."""
    try:
        people.rename_workspace(identity, owner.workspace_id, text_of(form, "name"))
    except BadInput as error:
        return shown(request, identity, owner, Form({"name": [text_of(form, "name")]}, error.errors), error)
    return go("/people")
