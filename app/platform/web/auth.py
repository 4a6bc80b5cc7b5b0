"""Who asks: the principal of a request, from the session's cookie or the API key it brings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from app.errors import NotFound, SignInRequired
from app.platform.admission import Credentials, Principal, Role
from app.platform.identity import Identity, Visitor
from app.platform.sessions import NewSession
from app.platform.web.problems import Forbidden
from app.platform.web.requirements import count_request
from app.platform.web.security import STRANGERS_LOOK, CurrentAccess, ServerAccess

SESSION_COOKIE = "rackline_session"

SECURE_COOKIE = f"__Host-{SESSION_COOKIE}"
"""Name by which a browser keeps the cookie to this very host and to https (RFC 6265bis, 4.1.3.2)."""

BEARER = "bearer "


def access_of(request: Request) -> CurrentAccess:
    access = request.app.state.access
    assert isinstance(access, CurrentAccess)
    return access


def reach_of(request: Request) -> ServerAccess:
    return access_of(request).now


def cookie_name(request: Request) -> str:
    return SECURE_COOKIE if reach_of(request).https else SESSION_COOKIE


def credentials_of(request: Request) -> Credentials:
    authorization = request.headers.get("authorization", "")
    bearer = authorization[len(BEARER) :].strip() if authorization.lower().startswith(BEARER) else None
    return Credentials(request.cookies.get(cookie_name(request)), bearer, address_of(request))


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def visitor_of(request: Request) -> Visitor:
    return Visitor(address_of(request), request.headers.get("user-agent", ""))


def known_principal(request: Request) -> Principal | None:
    """Return who asks, found out once for each request; None for nobody known."""
    if not hasattr(request.state, "principal"):
        request.state.principal = request.app.state.admission.principal(credentials_of(request))
    principal: Principal | None = request.state.principal
    return principal


def get_principal(request: Request) -> Principal:
    """Return who asks; refuse nobody known, and keys that have asked too often."""
    principal = known_principal(request)
    if principal is None:
        raise SignInRequired("this server is for members only; sign in or send an API key")
    # For the line in the log.
    request.state.principal = principal
    count_request(request, principal)
    return principal


def get_identity(request: Request) -> Identity:
    identity = request.app.state.identity
    assert isinstance(identity, Identity)
    return identity


def located_at(request: Request, path: str) -> str:
    """Return the whole address of a path: under the public URL of the server, or where it was asked."""
    return get_identity(request).address_of(path, str(request.base_url))


def get_open_identity(request: Request) -> Identity:
    """Return the accounts of a server that has some; without accounts there is nowhere to sign in."""
    if not access_of(request).look(STRANGERS_LOOK):
        raise NotFound("this server has no accounts and accepts requests from this machine only")
    return get_identity(request)


def get_account(request: Request, principal: PrincipalDep) -> str:
    """Return the account of the person who asks; keys and servers without accounts have none."""
    if principal.account_id is None:
        raise NotFound("this server has no accounts and accepts requests from this machine only")
    return principal.account_id


def get_owner(principal: PrincipalDep) -> Principal:
    """Return the owner who asks; refuse everybody else, and servers without accounts."""
    if principal.account_id is None:
        raise NotFound("this server has no accounts and accepts requests from this machine only")
    if principal.role is not Role.OWNER:
        raise Forbidden("only workspace owners can view and change its members")
    return principal


def keep_session(request: Request, response: Response, started: NewSession) -> None:
    """Let the browser keep a session's token: for this host and its own pages, not for scripts."""
    response.set_cookie(
        cookie_name(request),
        started.token,
        max_age=started.seconds,
        path="/",
        secure=reach_of(request).https,
        httponly=True,
        samesite="lax",
    )


def drop_session(request: Request, response: Response) -> None:
    response.delete_cookie(
        cookie_name(request), path="/", secure=reach_of(request).https, httponly=True, samesite="lax"
    )


PrincipalDep = Annotated[Principal, Depends(get_principal)]

IdentityDep = Annotated[Identity, Depends(get_identity)]

OpenIdentityDep = Annotated[Identity, Depends(get_open_identity)]

AccountDep = Annotated[str, Depends(get_account)]

OwnerDep = Annotated[Principal, Depends(get_owner)]
