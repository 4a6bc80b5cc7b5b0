"""Who asks: the principal of a request, from the session's cookie or the API key it brings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from app.errors import Unauthorized
from app.services.admission import Credentials, Principal

SESSION_COOKIE = "rackline_session"

BEARER = "bearer "


def credentials_of(request: Request) -> Credentials:
    """Return what a request brings to say who it is."""
    authorization = request.headers.get("authorization", "")
    bearer = authorization[len(BEARER) :].strip() if authorization.lower().startswith(BEARER) else None
    address = request.client.host if request.client else ""
    return Credentials(request.cookies.get(SESSION_COOKIE), bearer, address)


def get_principal(request: Request) -> Principal:
    """Return who asks; refuse nobody known."""
    principal: Principal | None = request.app.state.admission.principal(credentials_of(request))
    if principal is None:
        raise Unauthorized("this server answers to its members only; sign in or send an API key")
    # For the line in the log.
    request.state.principal = principal
    return principal


PrincipalDep = Annotated[Principal, Depends(get_principal)]
