"""What stands in front of every route: who may ask, how much may be sent, which headers go back.

Rackline without accounts serves one workspace to whoever reaches it. It therefore listens on this
machine alone and refuses what another site's page could do with the reader's browser: asking
through a name of its own (DNS rebinding), posting across sites, or arriving through a proxy that
would make a stranger look local. With accounts it answers to its public name as well, and believes
the proxies it was told to trust.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.errors import AppError, BadInput
from app.errors import Message as Sentence
from app.platform.json_bodies import too_large
from app.platform.web.problems import Forbidden, HeadTooLarge, MisdirectedRequest, problem_response

MOST_HOPS = 20


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """What stands between a server and those who ask."""

    hosts: frozenset[str]
    """Names that are answered to, with any port."""
    alone: bool = True
    """Without accounts: this machine alone may ask, and never through a proxy."""
    public_url: str = ""
    """Address as people write it; empty where there is none."""
    proxies: tuple[IPv4Network | IPv6Network, ...] = field(default=())
    """Networks of proxies whose word on where a request came from counts."""

    @property
    def https(self) -> bool:
        return self.public_url.startswith("https://")

    def trusts(self, address: str) -> bool:
        parsed = plain_address(address)
        return parsed is not None and not self.alone and any(parsed in network for network in self.proxies)

    def is_stranger(self, scope: Scope) -> bool:
        """Tell whether a server for this machine alone is asked from another one."""
        client = scope.get("client")
        if not self.alone or client is None:
            return False
        parsed = plain_address(client[0])
        return parsed is None or not parsed.is_loopback


class CurrentAccess:
    """How a server is reached now: by its own machine alone until there is an account.

    The first one is made by a command, in another process: no server is told, each looks for itself.
    """

    def __init__(self, alone: ServerAccess, public: ServerAccess, any_account: Callable[[], bool]) -> None:
        self._alone = alone
        self._public = public
        self._any_account = any_account
        self._found = False
        self._looked = 0.0

    @property
    def now(self) -> ServerAccess:
        return self._public if self._found else self._alone

    def look(self, seconds: float = 0.0) -> bool:
        """Tell whether there are accounts; what was seen so long ago will do. Once there are, there are."""
        if not self._found and (not self._looked or monotonic() - self._looked >= seconds):
            self._found = self._any_account()
            self._looked = monotonic()
        return self._found


STRANGERS_LOOK = 1.0
"""Those who are refused because there are no accounts have them looked for this often at most. [s]"""


def plain_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return a network address; one of IPv4 in the dress of IPv6 as what it is."""
    try:
        parsed = ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed


def behind_proxy(scope: Scope, headers: Headers, reach: ServerAccess) -> Scope | None:
    """Return a request as it reached the trusted proxy; None where the proxy's word cannot be read.

    The last address of X-Forwarded-For that is no trusted proxy is the client: what stands before it may
    have been written by anybody.
    """
    client = scope.get("client")
    if client is None or not reach.trusts(client[0]):
        return None
    hops = [part.strip() for line in headers.getlist("x-forwarded-for") for part in line.split(",")]
    if len(hops) > MOST_HOPS:
        return None
    address = client[0]
    for hop in reversed(hops):
        parsed = plain_address(hop)
        if parsed is None:
            return None
        address = str(parsed)
        if not reach.trusts(address):
            break
    scheme = headers.get("x-forwarded-proto", scope["scheme"]).strip().lower()
    if scheme not in {"http", "https"}:
        return None
    return {**scope, "client": (address, 0), "scheme": scheme}


HEAD = 20.0
"""Longest time from the first byte of a request, or from a connection, to the end of its head. [s]"""

BODY = 30.0
"""Time for a body beyond that of its bytes. [s]"""

RATE = 10_000
"""Bytes of a body for which one second more is given. [B/s]"""

CONNECTIONS = 500
"""Connections and requests at once; browsers open up to six each. Those beyond get 503."""

KEPT_OPEN = 75
"""How long a connection waits for its next request: longer than readers look at a page. [s]"""

MOST_HEAD = 32_768
"""Longest line and headers of a request. [B]"""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request does not get to the end of its head."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waiting = self.loop.call_later(HEAD, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Take bytes; while they are no whole request the time runs on from the first of them."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Let what is left of a refused body be sent, but not for ever."""
        super().on_response_complete()
        self._watch(keeps_open=True)

    def _watch(self, *, keeps_open: bool = False) -> None:
        headless = self.conn.their_state is h11.IDLE and not keeps_open
        unwanted = self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE
        if not (headless or unwanted) or self.transport.is_closing():
            self._stop_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(HEAD, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self._waiting = None
        self.transport.close()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def in_time(receive: Receive) -> Receive:
    """Return ``receive`` that waits for a body no longer than its bytes deserve.

    Only waiting counts, not what is done with the bytes in between; once the body is whole, what is
    waited for is the reader's leaving, which has no end.
    """
    left = BODY
    whole = False

    async def receive_in_time() -> Message:
        nonlocal left, whole
        if whole:
            return await receive()
        started = monotonic()
        try:
            message = await asyncio.wait_for(receive(), max(left, 0.0))
        except TimeoutError:
            raise HTTPException(
                408, f"the body arrives too slowly: {BODY:g} s and one for every {RATE} bytes are given"
            ) from None
        left += len(message.get("body", b"")) / RATE - (monotonic() - started)
        whole = not message.get("more_body", False)
        return message

    return receive_in_time


BOUNDS: dict[str, Any] = {
    "http": PatientProtocol,
    "ws": "none",
    "limit_concurrency": CONNECTIONS,
    "h11_max_incomplete_event_size": MOST_HEAD,
    "timeout_keep_alive": KEPT_OPEN,
}
"""What the server of every process is bound by, for :class:`uvicorn.Config`."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content security policy: everything from here, nothing inline, no frames. Charts are saved as
images through ``data:`` and ``blob:``."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

TRANSPORT = "max-age=31536000"
"""Browsers that have come by https come by https for a year."""

HEADERS_OF_FAULTS = {**HEADERS, "Cache-Control": "no-store"}
"""Headers of an answer that the guard does not see pass."""

FORWARDED = re.compile(r"forwarded|via|x-forwarded-.*|x-real-ip|x-original-.*", re.IGNORECASE)

HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?", re.IGNORECASE)

MOST_HEADERS = 100
"""Headers of a request."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """ASGI middleware: host, origin and size checks before, security headers after."""

    def __init__(self, app: ASGIApp, *, access: CurrentAccess, max_body: int, max_upload: int) -> None:
        self.app = app
        self.access = access
        self.max_body = max_body
        self.max_upload = max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                # What is kept here is a customer's: API answers are never stored, pages asked for again.
                api = scope["path"].startswith("/api/")
                headers.setdefault("Cache-Control", "no-store" if api else "private, no-cache")
                if reach.https:
                    headers.setdefault("Strict-Transport-Security", TRANSPORT)
            await send(message)

        headers = Headers(scope=scope)
        limit = self.limit(headers)
        reach = self.access.now
        passed = admitted(scope, headers, limit, reach)
        if isinstance(passed, AppError) and reach.alone:
            # What only a server with accounts lets in; those who are let in anyway wait for nothing.
            with suppress(AppError):
                await asyncio.to_thread(self.access.look, STRANGERS_LOOK)
            reach = self.access.now
            passed = admitted(scope, headers, limit, reach)
        if isinstance(passed, AppError):
            # Where a body in chunks ends may be read in two ways: nothing behind it is a request.
            closing = {"Connection": "close"} if "transfer-encoding" in headers else None
            await problem_response(Request(scope), passed, closing)(scope, receive, send_with_headers)
            return
        await self.app(passed, counted(receive, limit), send_with_headers)

    def limit(self, headers: Headers) -> int:
        """Return the largest body taken: uploads may be larger than JSON and forms."""
        multipart = headers.get("content-type", "").lower().startswith("multipart/form-data")
        return self.max_upload if multipart else self.max_body


def admitted(scope: Scope, headers: Headers, limit: int, reach: ServerAccess) -> Scope | AppError:
    """Return a request as it reached this server or the proxy before it, or why it is not let in."""
    refusal = refused(scope, headers, limit, reach) or overlong(scope) or unreadable(scope)
    if refusal is not None:
        return refusal
    if not any(FORWARDED.fullmatch(name) for name in headers):
        return scope
    passed = behind_proxy(scope, headers, reach)
    if passed is not None:
        return passed
    if reach.alone:
        return Forbidden("requests through a proxy are refused as long as there are no accounts")
    return Forbidden("requests through a proxy are refused unless RACKLINE_TRUSTED_PROXIES lists it")


def refused(scope: Scope, headers: Headers, limit: int, reach: ServerAccess) -> AppError | None:
    """Return why a request is not let in, or None."""
    if not knows(headers.get("host", ""), reach):
        if reach.alone:
            return MisdirectedRequest(
                "this server answers only to the name of this machine, such as localhost"
            )
        return MisdirectedRequest("this server does not answer to this host name")
    if reach.is_stranger(scope):
        return Forbidden("without accounts, this server accepts requests from this machine only")
    if scope["method"] not in SAFE_METHODS and crosses_sites(headers, reach.public_url):
        return Forbidden("only pages of this server can request changes")
    if "transfer-encoding" in headers and "content-length" in headers:
        return BadInput("send the body with a length or in chunks, not both")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 15 or int(length) > limit:
        return too_large(limit)
    return None


def knows(host: str, reach: ServerAccess) -> bool:
    """Tell whether a Host header names this server, with any port."""
    match = HOST.fullmatch(host)
    return match is not None and match["name"].lower() in reach.hosts


def unreadable(scope: Scope) -> AppError | None:
    """Return why an address cannot be looked up, or None: no identifier or text of ours holds U+0000."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return BadInput("the address contains the character U+0000; remove it")
    return None


def overlong(scope: Scope) -> AppError | None:
    """Return why a head is too large, or None; the server itself bounds heads that come in parts only."""
    size = len(scope["path"]) + len(scope["query_string"])
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > MOST_HEAD or len(scope["headers"]) > MOST_HEADERS:
        return HeadTooLarge(
            Sentence(
                "address and headers have more than {bytes} bytes, or there are more than {headers} headers",
                {"bytes": MOST_HEAD, "headers": MOST_HEADERS},
            )
        )
    return None


def crosses_sites(headers: Headers, public_url: str = "") -> bool:
    """Tell whether a browser sends this on behalf of another site's page.

    A page of the same name without encryption is another site: whoever is on the line can write it.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        return True
    origin = headers.get("origin")
    # A page that tells nobody where its links are followed from has no origin either; then the browser's
    # own word that it is one of ours decides, which no page can write.
    if origin is None or (origin == "null" and site == "same-origin"):
        return False
    source, own, public = urlsplit(origin), headers.get("host", "").lower(), urlsplit(public_url)
    if source.netloc.lower() != own:
        return True
    return own == public.netloc and public.scheme == "https" and source.scheme != "https"


def counted(receive: Receive, limit: int) -> Receive:
    """Return ``receive`` that stops at the limit, whatever length was declared, or when its time is up."""
    total = 0
    receive = in_time(receive)

    async def receive_counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > limit:
            # The framework passes its own exceptions on where it would hide others.
            raise HTTPException(413, str(too_large(limit).message))
        return message

    return receive_counted
