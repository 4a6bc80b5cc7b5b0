"""Links that let somebody in: to set a password, to accept an invitation. Open to whoever has them."""

from __future__ import annotations

from fastapi import APIRouter, BackgroundTasks, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, BadInput, Conflict, Message, NotFound, TooMany
from app.services import accounts, people
from app.services.identity import Identity, folded
from app.services.passwords import LEAST
from app.services.profile import get_account
from app.web.auth import (
    OpenIdentityDep,
    cookie_name,
    keep_session,
    known_principal,
    visitor_of,
)
from app.web.contexts import Form
from app.web.identity_contexts import ForgottenPage, InvitationPage, PasswordPage
from app.web.locale import voice_of
from app.web.pages.sign_in import FormDep, private, secret_of, text_of, waiting
from app.web.redirects import go, sign_in_address
from app.web.rendering import render

router = APIRouter(include_in_schema=False)


def same_twice(form: FormDep) -> str:
    """Return a password that was typed twice."""
    password = secret_of(form, "password")
    if password != secret_of(form, "again"):
        raise BadInput.at("again", "is not the same; type the new password twice")
    return password


def check_mails(identity: Identity) -> None:
    """Refuse what needs mails where none can be sent."""
    if identity.mail is None:
        raise NotFound("this server sends no mails; ask whoever runs it for a link to set a password")


@router.get("/forgotten", response_class=HTMLResponse)
def show_forgotten(request: Request, identity: OpenIdentityDep) -> Response:
    """Ask where to send a link for a new password."""
    check_mails(identity)
    return private(render(request, "forgotten.html", ForgottenPage(sent=False, message=None)))


@router.post("/forgotten", response_class=HTMLResponse)
def send_link(request: Request, identity: OpenIdentityDep, form: FormDep, later: BackgroundTasks) -> Response:
    """Send a link if there is such an account; the answer is the same, and made before it is looked for."""
    check_mails(identity)
    try:
        accounts.begin_reset(identity, visitor_of(request))
    except TooMany as error:
        page = ForgottenPage(sent=False, message=error.message)
        return waiting(private(render(request, "forgotten.html", page, status=429)), error)
    later.add_task(accounts.send_reset, identity, text_of(form, "email"), voice_of(request).language)
    response = private(render(request, "forgotten.html", ForgottenPage(sent=True, message=None)))
    response.background = later
    return response


@router.get("/password/{token}", response_class=HTMLResponse)
def show_password(request: Request, identity: OpenIdentityDep, token: str) -> Response:
    """Show the form that sets a password."""
    return password_page(request, identity, token, Form())


def password_page(
    request: Request, identity: Identity, token: str, form: Form, status: int = 200
) -> Response:
    """Return the form that sets a password."""
    account = accounts.led_to(identity, token)
    page = PasswordPage(token=token, email=account.email, form=form, least=LEAST)
    return private(render(request, "password.html", page, status=status))


@router.post("/password/{token}", response_class=HTMLResponse)
def set_password(request: Request, identity: OpenIdentityDep, form: FormDep, token: str) -> Response:
    """Set a password; where there is a second factor, it is asked for as always."""
    earlier = request.cookies.get(cookie_name(request))
    try:
        started = accounts.set_password(identity, token, same_twice(form), visitor_of(request), earlier)
    except (BadInput, TooMany) as error:
        shown = Form(errors=error.errors or Form().errors)
        return waiting(password_page(request, identity, token, shown, error.status), error)
    if started is None:
        return private(RedirectResponse(sign_in_address("/"), 303))
    response = go("/")
    keep_session(request, response, started)
    return private(response)


@router.get("/invitations/{token}", response_class=HTMLResponse)
def show_invitation(request: Request, identity: OpenIdentityDep, token: str) -> Response:
    """Show what an invitation offers, and the form that accepts it."""
    return invitation_page(request, identity, token, Form(), None)


def invitation_page(
    request: Request, identity: Identity, token: str, form: Form, error: AppError | None
) -> Response:
    """Return the form that accepts an invitation."""
    offered, principal = people.open_invitation(identity, token), known_principal(request)
    mine = False
    if principal is not None and principal.account_id is not None:
        mine = folded(get_account(identity, principal.account_id, "").email) == folded(offered.email)
    page = InvitationPage(
        token=token,
        offered=offered,
        mine=mine,
        form=form,
        message=general(error),
        sign_in_url=sign_in_address(f"/invitations/{token}"),
        least=LEAST,
    )
    status = 200 if error is None else error.status
    return private(render(request, "invitation.html", page, status=status))


def general(error: AppError | None) -> Message | None:
    """Return what is wrong with a form as a whole, beside what is said at its fields."""
    return error.message if error is not None and not error.errors else None


@router.post("/invitations/{token}", response_class=HTMLResponse)
def accept(request: Request, identity: OpenIdentityDep, form: FormDep, token: str) -> Response:
    """Make the account an invitation is for."""
    name, earlier = text_of(form, "name"), request.cookies.get(cookie_name(request))
    try:
        password = same_twice(form)
        started = people.accept(identity, token, name, password, visitor_of(request), earlier)
    except (BadInput, Conflict, TooMany) as error:
        shown = Form({"name": [name]}, error.errors)
        return waiting(invitation_page(request, identity, token, shown, error), error)
    response = go("/")
    keep_session(request, response, started)
    return private(response)


@router.post("/invitations/{token}/join", response_class=HTMLResponse)
def join(request: Request, identity: OpenIdentityDep, token: str) -> Response:
    """Let the account that is signed in accept an invitation to its address."""
    principal = known_principal(request)
    if principal is None or principal.account_id is None:
        return private(RedirectResponse(sign_in_address(f"/invitations/{token}"), 303))
    people.join_by(identity, token, principal.account_id, request.cookies.get(cookie_name(request), ""))
    return private(go("/"))
