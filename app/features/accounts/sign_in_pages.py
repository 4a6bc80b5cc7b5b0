"""Links that let somebody in: to set a password, to accept an invitation. Open to whoever has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from app.errors import AppError, BadInput, FieldError, Message, NotFound, TooMany
from app.features.accounts import oidc, people
from app.features.accounts import service as sign_in
from app.features.accounts.oidc import LASTS, SingleSignOn
from app.features.accounts.people import InvitationView, get_account
from app.features.accounts.service import SignInRefusal
from app.platform import sessions
from app.platform.identity import Identity, folded
from app.platform.passwords import LEAST
from app.platform.sessions import NewSession
from app.platform.web.auth import (
    OpenIdentityDep,
    cookie_name,
    drop_session,
    keep_session,
    known_principal,
    reach_of,
    visitor_of,
)
from app.platform.web.contexts import Form
from app.platform.web.forms import read_fields
from app.platform.web.locale import voice_of
from app.platform.web.problems import go, local, sign_in_address, to_code
from app.platform.web.rendering import render
from app.platform.web.rights import with_link

router = APIRouter(include_in_schema=False)

FormDep = Annotated[FormData, Depends(read_fields)]

NextQuery = Annotated[str, Query(alias="next")]

MOST_TYPED = 4000
"""Most characters of a field; longer ones are cut."""

PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"}
"""Headers that keep a page out of caches, and its address, which may hold a secret, from other sites."""


def private(response: Response) -> Response:
    response.headers.update(PRIVATE)
    return response


def show(request: Request, name: str, page: object, error: AppError | None = None) -> Response:
    """Render a private page, with Retry-After for too many attempts."""
    headers = dict(PRIVATE)
    if isinstance(error, TooMany):
        headers["Retry-After"] = str(error.retry_after)
    status = 200 if error is None else error.status
    return render(request, f"accounts/{name}.html", page, status=status, headers=headers)


def let_in(request: Request, started: NewSession, following: str = "/") -> Response:
    """Set the session cookie and redirect, to the second factor if it is still missing."""
    response = go(following) if started.complete else to_code(following)
    keep_session(request, response, started)
    return private(response)


def secret_of(form: FormData, name: str) -> str:
    """Return a field as typed: spaces may belong to a password."""
    value = form.get(name)
    return value[:MOST_TYPED] if isinstance(value, str) else ""


def text_of(form: FormData, name: str) -> str:
    return secret_of(form, name).replace("\0", "").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPage:
    """The form that asks for address and password."""

    form: Form
    message: Message | None
    """Why the last attempt was refused."""
    following: str
    """Address to go to after signing in."""
    mails: bool
    """Whether a link to set a new password can be sent."""
    provider: bool
    """Whether people may sign in through a provider."""


def sign_in_page(
    request: Request,
    identity: Identity,
    following: str,
    form: Form | None = None,
    error: AppError | None = None,
) -> Response:
    page = SignInPage(
        form=form or Form(),
        message=error.message if error else None,
        following=following,
        mails=identity.mail is not None,
        provider=request.app.state.single_sign_on is not None,
    )
    return show(request, "sign_in", page, error)


@router.get("/sign-in", response_class=HTMLResponse)
def show_sign_in(request: Request, identity: OpenIdentityDep, following: NextQuery = "/") -> Response:
    """Ask for address and password; who is signed in goes on."""
    if known_principal(request) is not None:
        return go(following)
    return sign_in_page(request, identity, local(following))


@router.post("/sign-in", response_class=HTMLResponse)
def enter(request: Request, identity: OpenIdentityDep, form: FormDep) -> Response:
    """Start a session, or ask for the second factor."""
    email, following = text_of(form, "email"), local(text_of(form, "next"))
    earlier = request.cookies.get(cookie_name(request))
    try:
        started = sign_in.sign_in(identity, email, secret_of(form, "password"), visitor_of(request), earlier)
    except (SignInRefusal, TooMany) as error:
        return sign_in_page(request, identity, following, Form({"email": [email]}), error)
    return let_in(request, started, following)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePage:
    """The form that asks for a code of the second factor."""

    form: Form
    following: str


@router.get("/sign-in/code", response_class=HTMLResponse)
def show_code(request: Request, identity: OpenIdentityDep, following: NextQuery = "/") -> Response:
    return show(request, "sign_in_code", CodePage(form=Form(), following=local(following)))


@router.post("/sign-in/code", response_class=HTMLResponse)
def enter_code(request: Request, identity: OpenIdentityDep, form: FormDep) -> Response:
    token, following = request.cookies.get(cookie_name(request), ""), local(text_of(form, "next"))
    try:
        started = sign_in.give_code(identity, token, text_of(form, "code"), visitor_of(request))
    except (BadInput, TooMany) as error:
        errors = error.errors or [FieldError("code", error.message)]
        page = CodePage(form=Form(errors=errors), following=following)
        return show(request, "sign_in_code", page, error)
    except SignInRefusal as error:
        return sign_in_page(request, identity, following, error=error)
    return let_in(request, started, following)


@router.post("/sign-out", response_class=HTMLResponse)
def leave(request: Request, identity: OpenIdentityDep) -> Response:
    token = request.cookies.get(cookie_name(request))
    if token:
        sessions.sign_out(identity, token)
    response = go("/")
    drop_session(request, response)
    return private(response)


COOKIE = "rackline_provider"
"""Cookie with the sealed state of a sign-in at the provider."""

PATH = "/sign-in/oidc"

Text = Annotated[str, Query(max_length=2000)]


def get_single(request: Request) -> SingleSignOn:
    single: SingleSignOn | None = request.app.state.single_sign_on
    if single is None:
        raise NotFound("this server has no sign-in provider")
    return single


SingleDep = Annotated[SingleSignOn, Depends(get_single)]


@router.get(PATH, response_class=HTMLResponse)
def leave_for_provider(
    request: Request,
    identity: OpenIdentityDep,
    single: SingleDep,
    following: Annotated[str, Query(alias="next", max_length=2000)] = "/",
) -> Response:
    try:
        address, sealed = oidc.begin(identity, single, local(following))
    except AppError as error:
        return sent_back(request, identity, error)
    response = RedirectResponse(address, 303)
    response.set_cookie(
        COOKIE, sealed, max_age=LASTS, path=PATH, httponly=True, samesite="lax",
        secure=reach_of(request).https,
    )  # fmt: skip
    return private(response)


@router.get(f"{PATH}/callback", response_class=HTMLResponse)
def come_back(
    request: Request, identity: OpenIdentityDep, single: SingleDep, state: Text = "", code: Text = ""
) -> Response:
    """Start a session for whom the provider vouches for, or say why not."""
    sealed, earlier = request.cookies.get(COOKIE, ""), request.cookies.get(cookie_name(request))
    try:
        found = oidc.complete(identity, single, sealed, state, code, visitor_of(request), earlier)
    except AppError as error:
        return sent_back(request, identity, error)
    response = let_in(request, *found)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="lax")
    return response


def sent_back(request: Request, identity: Identity, error: AppError) -> Response:
    """Return the sign-in form with the error, and drop the state of the sign-in."""
    response = sign_in_page(request, identity, "/", error=error)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="lax")
    return response


def same_twice(form: FormDep) -> str:
    password = secret_of(form, "password")
    if password != secret_of(form, "again"):
        raise BadInput.at("again", "does not match; enter the new password twice")
    return password


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenPage:
    """The form that asks where to send a link for a new password."""

    sent: bool = False
    """Whether a link was requested."""
    message: Message | None = None


def check_mails(identity: Identity) -> None:
    if identity.mail is None:
        raise NotFound("this server does not send email; ask its operator for a link to set a password")


@router.get("/forgotten", response_class=HTMLResponse)
def show_forgotten(request: Request, identity: OpenIdentityDep) -> Response:
    check_mails(identity)
    return show(request, "forgotten", ForgottenPage())


@router.post("/forgotten", response_class=HTMLResponse)
def send_link(request: Request, identity: OpenIdentityDep, form: FormDep, later: BackgroundTasks) -> Response:
    """Send a link if there is such an account; the answer is the same, and made before it is looked for."""
    check_mails(identity)
    try:
        sign_in.begin_reset(identity, visitor_of(request))
    except TooMany as error:
        return show(request, "forgotten", ForgottenPage(message=error.message), error)
    later.add_task(sign_in.send_reset, identity, text_of(form, "email"), voice_of(request).language)
    response = show(request, "forgotten", ForgottenPage(sent=True))
    response.background = later
    return response


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordPage:
    """The form that sets a password by a link."""

    token: str
    email: str
    form: Form
    least: int = LEAST
    """Fewest characters of a password."""


@router.get("/password/{token}", response_class=HTMLResponse)
def show_password(request: Request, identity: OpenIdentityDep, token: str) -> Response:
    return password_page(request, identity, token)


def password_page(
    request: Request, identity: Identity, token: str, error: AppError | None = None
) -> Response:
    email = sign_in.led_to(identity, token).email
    page = PasswordPage(token=token, email=email, form=Form(errors=error.errors if error else ()))
    return show(request, "password", page, error)


@router.post("/password/{token}", response_class=HTMLResponse, dependencies=[Depends(with_link)])
def set_password(request: Request, identity: OpenIdentityDep, form: FormDep, token: str) -> Response:
    """Set a password; where there is a second factor, it is asked for as always."""
    earlier = request.cookies.get(cookie_name(request))
    try:
        started = sign_in.set_password(identity, token, same_twice(form), visitor_of(request), earlier)
    except (BadInput, TooMany) as error:
        return password_page(request, identity, token, error)
    if started is None:
        return private(RedirectResponse(sign_in_address("/"), 303))
    return let_in(request, started)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationPage:
    """An invitation: the same page whether its address has an account or not."""

    token: str
    offered: InvitationView
    mine: bool
    """Whether the invited account is signed in here."""
    sign_in_url: str
    mails: bool
    """Whether a link to set a password can be sent."""


@router.get("/invitations/{token}", response_class=HTMLResponse)
def show_invitation(request: Request, identity: OpenIdentityDep, token: str) -> Response:
    offered, principal = people.open_invitation(identity, token), known_principal(request)
    mine = False
    if principal is not None and principal.account_id is not None:
        mine = folded(get_account(identity, principal.account_id, "").email) == folded(offered.email)
    page = InvitationPage(
        token=token,
        offered=offered,
        mine=mine,
        sign_in_url=sign_in_address(f"/invitations/{token}"),
        mails=identity.mail is not None,
    )
    return show(request, "invitation", page)


def general(error: AppError | None) -> Message | None:
    """Return the error of a form as a whole; None if it has errors at fields."""
    return error.message if error is not None and not error.errors else None


@router.post("/invitations/{token}/join", response_class=HTMLResponse)
def join(request: Request, identity: OpenIdentityDep, token: str) -> Response:
    """Let the account that is signed in accept an invitation to its address."""
    principal = known_principal(request)
    if principal is None or principal.account_id is None:
        return private(RedirectResponse(sign_in_address(f"/invitations/{token}"), 303))
    people.join_by(identity, token, principal.account_id, request.cookies.get(cookie_name(request), ""))
    return private(go("/"))
