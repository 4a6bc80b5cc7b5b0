"""Every failure as one shape: ``application/problem+json`` (RFC 9457).

A problem never repeats what was sent, except identifiers inside a message that names their close
relatives: raw input may be huge, secret or not representable in JSON.
"""

from __future__ import annotations

import http
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote, urlencode

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from app.engine.errors import EngineError
from app.errors import (
    AppError,
    BadInput,
    Conflict,
    Message,
    NotFound,
    SignInRequired,
    Stale,
    TooLarge,
    TooMany,
    Unavailable,
    Unprocessable,
    VersionConflict,
    of_engine,
    path,
)
from app.platform.json_bodies import CODE_OF, escaped, from_validation
from app.platform.web.locale import wanted_language
from app.platform.wording.voice import voice

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
    target = local(following)
    return SIGN_IN if target == "/" else f"{SIGN_IN}?{urlencode({'next': target})}"


def to_sign_in(request: Request) -> Response:
    """Send a browser to sign in and from there back to what it asked for.

    A fragment is asked for by a script, which would put the sign-in into the page: it is told to go there.
    """
    requested = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = sign_in_address(requested if request.method == "GET" else "/")
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": SIGN_IN})
    response = RedirectResponse(address, 303)
    response.headers["Cache-Control"] = "no-store"
    return response


def to_code(following: str) -> RedirectResponse:
    """Send a browser to give its second factor, and from there on."""
    target = local(following)
    tail = "" if target == "/" else f"?{urlencode({'next': target})}"
    return RedirectResponse(f"{SIGN_IN}/code{tail}", 303)


logger = logging.getLogger("rackline.web")

MEDIA_TYPE = "application/problem+json"

LEFT = 499
"""Status, of no RFC, that servers write down for who went away before the answer."""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""Methods that some address of ours takes."""

PageRenderer = Callable[[Request, AppError], Response]


class ProblemField(BaseModel):
    """An invalid field."""

    model_config = ConfigDict(frozen=True)

    field: str = Field(
        description="Path of the field in the request.", examples=["plan.tensor", "rows[0].hours"]
    )
    code: str = Field(description="Kind of fault; stays when texts change.", examples=["out_of_range"])
    message: str = Field(description="What is wrong with it and what is allowed.")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(
        description="Address of the page about this kind of problem.", examples=["/problems/bad-input"]
    )
    code: str = Field(
        description="Kind of fault, that of the fields if they share one; stays when texts change.",
        examples=["out_of_range"],
    )
    title: str = Field(description="Short description of the problem type.", examples=["Invalid input"])
    status: int = Field(description="HTTP status.", examples=[400])
    detail: str = Field(description="What happened and what to do about it.")
    errors: list[ProblemField] = Field(description="Fields that caused the error; can be empty.")
    instance: str | None = Field(
        None,
        description="Reference to this occurrence, which contains the identifier of the request.",
        examples=["/requests/8f14e45fceea167a5a36dedd"],
    )

    @classmethod
    def of(cls, error: AppError, language: str = "en") -> Problem:
        """Return the problem of an error in a language."""

        def said(message: Message) -> str:
            return str(message) if language == "en" else voice(language).sentence(message)

        fields = [
            ProblemField(
                field=path(item.field),
                code=code_of(item.message, item.slug or error.slug),
                message=said(item.message),
            )
            for item in error.errors
        ]
        detail = said(error.message)
        if [item.message for item in error.errors] == [error.message]:
            detail = f"{fields[0].field}: {detail}"
        codes = {field.code for field in fields}
        return cls(
            type=f"/problems/{error.slug}",
            code=codes.pop() if len(codes) == 1 else code_of(error.message, error.slug),
            title=error.title if language == "en" else voice(language).label(error.title),
            status=error.status,
            detail=detail,
            errors=fields,
        )


class MethodNotAllowed(AppError):
    """The path exists, the method does not."""

    status = 405
    slug = "method-not-allowed"
    title = "Method not allowed"


class TooSlow(AppError):
    """The body did not arrive in time."""

    status = 408
    slug = "too-slow"
    title = "Request timeout"


class HeadTooLarge(AppError):
    """Address and headers are more than a request of ours needs."""

    status = 431
    slug = "head-too-large"
    title = "Request headers too large"


class UnsupportedMediaType(AppError):
    """The body is not in a format this path reads."""

    status = 415
    slug = "unsupported-media-type"
    title = "Unsupported media type"


class Forbidden(AppError):
    """Refused whatever the input."""

    status = 403
    slug = "forbidden"
    title = "Forbidden"


class MisdirectedRequest(AppError):
    """Sent to a host name this server does not answer to."""

    status = 421
    slug = "misdirected-request"
    title = "Misdirected request"


class ServerError(AppError):
    """A fault of ours; the log has it."""

    status = 500
    slug = "server-error"
    title = "Server error"


BY_STATUS: dict[int, type[AppError]] = {
    kind.status: kind
    for kind in (
        BadInput,
        SignInRequired,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        TooSlow,
        Conflict,
        Stale,
        TooLarge,
        UnsupportedMediaType,
        MisdirectedRequest,
        Unprocessable,
        TooMany,
        HeadTooLarge,
        ServerError,
        Unavailable,
    )
}


MEANINGS = {
    400: Message("A value has the right type but is out of range, not finite or contradictory."),
    401: Message(
        "Not authenticated; send “Authorization: Bearer KEY”. A server without accounts never returns this."
    ),
    403: Message("This person or key may not do this, or the workspace does not allow it."),
    404: Message("Unknown identifier; the response names similar ones."),
    405: Message("The address exists, but not with this method; Allow names those it has."),
    408: Message("The body did not arrive in time."),
    409: Message("More devices than exist, an edit conflict, or an idempotency key used for another body."),
    412: Message("The ETag in If-Match belongs to another version."),
    413: Message("Larger than the server accepts."),
    415: Message("Format not supported by this endpoint."),
    421: Message("The server does not answer to this host name."),
    422: Message("A field is missing, unknown or of the wrong type."),
    429: Message("Rate limit exceeded; Retry-After says how long to wait."),
    431: Message("The address and the headers are longer than the server accepts."),
    500: Message("A fault of the server; its log has the details."),
    503: Message("The database is currently unavailable; Retry-After says when to retry."),
}
"""What each status means."""

FAULTS = {
    "missing_field": Message("A required field is missing."),
    "unknown_field": Message("There is no field of this name here."),
    "unknown_parameter": Message("There is no query parameter of this name here."),
    "repeated_name": Message("A name stands more than once in an object."),
    "wrong_type": Message("The value is not of the type of the field."),
    "not_a_choice": Message("The value is none of those allowed."),
    "out_of_range": Message("The number is outside the stated limits."),
    "wrong_length": Message("A text or a list is too short or too long."),
    "wrong_form": Message("The text does not have the form that is stated."),
    "not_finite": Message("The number is infinite or not a number."),
    "unreadable_text": Message("The text contains an incomplete character or U+0000."),
}
"""What each code of a field means; a fault without one of these has that of its kind of problem."""

LIMIT = re.compile(r"must be (?:above|at least|at most|below|between)\b")
"""How a message begins that states the limits of a number."""


def code_of(message: Message, slug: str) -> str:
    """Return what programs tell a fault by; the slug of its error where its message is one of many."""
    if code := CODE_OF.get(message.template):
        return code
    return "out_of_range" if LIMIT.match(message.template) else slug.replace("-", "_")


def from_http(error: HTTPException, path: str) -> AppError:
    """Return the framework's own refusals as errors of ours."""
    kind = BY_STATUS.get(error.status_code, BadInput)
    if error.status_code == http.HTTPStatus.NOT_FOUND:
        return kind(Message("nothing found at {path}", {"path": path[:200]}))
    if error.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "")
        return kind(Message("this address accepts {methods} only", {"methods": allowed or "other methods"}))
    return kind(Message(escaped(str(error.detail))))


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods an address takes; the framework names those of the first route there alone.

    What else matches reads more of the address as an identifier, as ``/{id}`` does of ``/{id}.csv``, and is
    about something else. Files of ours are no routes: nothing is returned for them.
    """
    first: str | None = None
    allowed: set[str] = set()
    for route in iter_route_contexts(app.routes):
        written = route.path_format
        if written is None or not route.methods:
            continue
        if first is None and route.path_regex.match(path):
            first = written
        if written == first:
            allowed |= set(route.methods)
    return [method for method in METHODS if method in allowed]


def problem_response(request: Request, error: AppError, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as the response of the JSON API, in the language that the request asks for."""
    identifier = structlog.contextvars.get_contextvars().get("request_id")
    instance = f"/requests/{identifier}" if identifier else None
    language = wanted_language(request)
    problem = Problem.of(error, language).model_copy(update={"instance": instance})
    body = problem.model_dump_json(exclude_none=True)
    all_headers = {"Content-Language": language, **(headers or {})}
    return Response(body, status_code=error.status, headers=all_headers, media_type=MEDIA_TYPE)


def wants_page(request: Request) -> bool:
    """Tell whether a browser asks for a page rather than for data."""
    path = request.url.path
    if path.startswith("/api/") or path.endswith(".json"):
        return False
    return "text/html" in request.headers.get("accept", "")


def install(
    app: FastAPI, page: PageRenderer | None = None, headers_of_faults: Mapping[str, str] | None = None
) -> None:
    """Answer every failure of an application with a problem; browsers get ``page``, where there is one.

    A fault is answered outside of all middleware: it is given its headers here.
    """

    def answer(request: Request, error: AppError, headers: Mapping[str, str] | None = None) -> Response:
        if page is not None and wants_page(request):
            shown = page(request, error)
            shown.headers.update(headers or {})
            return shown
        return problem_response(request, error, headers)

    async def of_ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, AppError)
        if isinstance(error, VersionConflict) and "if-match" in request.headers:
            error = Stale(error.message, error.errors)
        if isinstance(error, SignInRequired):
            if wants_page(request):
                return to_sign_in(request)
            return answer(request, error, {"WWW-Authenticate": "Bearer"})
        headers = (
            {"Retry-After": str(error.retry_after)} if isinstance(error, TooMany | Unavailable) else None
        )
        return answer(request, error, headers)

    async def of_the_engine(request: Request, error: Exception) -> Response:
        assert isinstance(error, EngineError)
        return await of_ours(request, of_engine(error))

    async def of_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer(request, from_validation(error.errors()))

    async def of_framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
            if request.method == "GET" and wants_page(request):
                # A page that answered a form is loaded anew: the page of the form is above it.
                return RedirectResponse(request.url.path.rpartition("/")[0] or "/", 303)
            methods = allowed_methods(app, request.url.path) or ["GET", "HEAD"]
            error = HTTPException(405, headers={"Allow": ", ".join(methods)})
        return answer(request, from_http(error, request.url.path), error.headers)

    async def of_error(request: Request, error: Exception) -> Response:
        # What has failed here has left the middleware that knew the request's identifier.
        identifier = getattr(request.state, "request_id", "")
        headers = {**(headers_of_faults or {}), **({"X-Request-Id": identifier} if identifier else {})}
        with structlog.contextvars.bound_contextvars(request_id=identifier):
            logger.error("request failed", exc_info=error)
            fault = ServerError("something went wrong on the server; details are in the server log")
            return answer(request, fault, headers)

    async def of_leaving(request: Request, error: Exception) -> Response:
        # Whoever stopped an upload hears no answer, and nothing here went wrong.
        return Response(status_code=LEFT)

    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        AppError: of_ours,
        EngineError: of_the_engine,
        RequestValidationError: of_validation,
        HTTPException: of_framework,
        ClientDisconnect: of_leaving,
        Exception: of_error,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
