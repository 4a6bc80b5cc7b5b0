"""Signing in through a provider: the way there and the way back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, NotFound
from app.services import oidc
from app.services.oidc import LASTS, SingleSignOn
from app.web.auth import OpenIdentityDep, cookie_name, keep_session, reach_of, visitor_of
from app.web.contexts import Form
from app.web.pages.sign_in import private, shown, waiting
from app.web.redirects import go, local, to_code

router = APIRouter(include_in_schema=False)

COOKIE = "rackline_provider"
"""What a browser keeps while it is at the provider: sealed, for this address alone."""
PATH = "/sign-in/oidc"

Text = Annotated[str, Query(max_length=2000)]


def get_single(request: Request) -> SingleSignOn:
    """Return the provider of the server."""
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
    """Send a browser to the provider."""
    try:
        leaving = oidc.begin(identity, single, local(following))
    except AppError as error:
        return sent_back(request, identity.mail is not None, error)
    response = RedirectResponse(leaving.address, 303)
    response.set_cookie(
        COOKIE, leaving.sealed, max_age=LASTS, path=PATH, httponly=True, samesite="lax",
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
        arrived = oidc.complete(identity, single, sealed, state, code, visitor_of(request), earlier)
    except AppError as error:
        return sent_back(request, identity.mail is not None, error)
    response = go(arrived.following) if arrived.started.complete else to_code(arrived.following)
    keep_session(request, response, arrived.started)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="lax")
    return private(response)


def sent_back(request: Request, mails: bool, error: AppError) -> Response:
    """Return the form of the sign-in with what went wrong; what the browser kept is of no use any more."""
    response = waiting(shown(request, Form(), error.message, "/", mails, error.status), error)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="lax")
    return response
