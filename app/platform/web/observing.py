"""What is known of every request afterwards: its identifier, a line in the log, a count.

An address is logged and counted by its template, ``/s/{token}``, never as it was asked for: it may hold
a token, and its query may hold anything.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.platform.admission import Principal
from app.telemetry import IN_FLIGHT, REQUESTS

logger = logging.getLogger("rackline.request")

HEADER = "X-Request-Id"

SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{7,63}")
"""An identifier that is taken from whoever asks; what else comes is replaced."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

OPERATION = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by what looks after the server: logged only when something is wrong."""

NO_ROUTE = "(none)"

FILES = "/static/"


class Observer:
    """ASGI middleware, outermost: what the others refuse is counted too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        identifier = request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = identifier
        status, route = 500, ""

        async def send_with_identifier(message: Message) -> None:
            nonlocal status, route
            if message["type"] == "http.response.start":
                status, route = message["status"], route_of(scope)
                MutableHeaders(scope=message)[HEADER] = identifier
            await send(message)

        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=identifier), IN_FLIGHT.track_inprogress():
            try:
                await self.app(scope, receive, send_with_identifier)
            finally:
                note(scope, route or route_of(scope), status, time.perf_counter() - started)


def request_id(headers: Mapping[str, str]) -> str:
    """Return the identifier that came along where it is a sane one, else a new one."""
    identifier = headers.get(HEADER.lower(), "")
    return identifier if SANE.fullmatch(identifier) else secrets.token_hex(12)


def route_of(scope: Scope) -> str:
    path = getattr(scope.get("route"), "path", None)
    if path is None and scope.get("path", "").startswith(FILES):
        # Files lie under a mount, which is no route.
        return FILES
    return path or NO_ROUTE


def note(scope: Scope, route: str, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in METHODS else "(other)"
    REQUESTS.labels(method, route, str(status)).observe(seconds)
    severity = logging.ERROR if status >= 500 else logging.INFO
    if route in OPERATION and status < 400:
        severity = logging.DEBUG
    if not logger.isEnabledFor(severity):
        return
    about: dict[str, Any] = {
        "method": method,
        "route": route,
        "status": status,
        "ms": round(seconds * 1000, 1),
    }
    principal = scope["state"].get("principal")
    if isinstance(principal, Principal):
        about["principal"] = principal.account_id or principal.key_id or "local"
        about["workspace"] = principal.workspace_id
    with structlog.contextvars.bound_contextvars(**about):
        logger.log(severity, "request")
