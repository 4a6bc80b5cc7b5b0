"""Where a browser is sent: to addresses of this server only."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

SIGN_IN = "/sign-in"
MOST = 2000
"""Longest address that is gone back to."""


def local(address: str) -> str:
    r"""Return an address within this server; the first page in the place of every other one.

    What a browser could take for another host is none of ours: two slashes, a backslash, which it reads as a
    slash, a tab or a line's end, which it drops, and everything with a scheme.

    >>> local("/studies?q=%ED%95%9C#top"), local("//evil.example"), local("/\\evil.example")
    ('/studies?q=%ED%95%9C#top', '/', '/')
    >>> local("https://evil.example"), local("/\t/evil.example"), local("/sign-in?next=/"), local("")
    ('/', '/', '/', '/')
    """
    if not address.startswith("/") or address.startswith("//") or len(address) > MOST:
        return "/"
    if "\\" in address or not address.isprintable() or " " in address:
        return "/"
    if address.partition("?")[0].rstrip("/") in {SIGN_IN, f"{SIGN_IN}/code", "/sign-out"}:
        return "/"
    return quote(address, safe="/?#[]@!$&'()*+,;=:%~-._")


def go(address: str) -> RedirectResponse:
    """Send a browser to an address within this server, which it asks for anew."""
    return RedirectResponse(local(address), 303)


def sign_in_address(following: str) -> str:
    """Return the address of the sign-in that leads back to an address."""
    wanted = local(following)
    return SIGN_IN if wanted == "/" else f"{SIGN_IN}?{urlencode({'next': wanted})}"


def to_sign_in(request: Request) -> Response:
    """Send a browser to sign in and from there back to what it asked for.

    A fragment is asked for by a script, which would put the sign-in into the page: it is told to go there.
    """
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = sign_in_address(asked if request.method == "GET" else "/")
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": SIGN_IN})
    response = RedirectResponse(address, 303)
    response.headers["Cache-Control"] = "no-store"
    return response


def to_code(following: str) -> RedirectResponse:
    """Send a browser to give its second factor, and from there on."""
    wanted = local(following)
    tail = "" if wanted == "/" else f"?{urlencode({'next': wanted})}"
    return RedirectResponse(f"{SIGN_IN}/code{tail}", 303)
