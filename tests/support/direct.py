"""An application asked without a client in between, which would tidy up what it sends."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import dataclass, field
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

Headers = tuple[tuple[bytes, bytes], ...]

HOST: Headers = ((b"host", b"localhost"),)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it stands on the wire."""

    method: str
    path: bytes
    query: bytes = b""
    headers: Headers = ()
    body: bytes = b""


@dataclass(slots=True)
class DirectAnswer:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


async def send(app: ASGIApp, request: Request) -> DirectAnswer:
    """Ask an application; a fault it passes on after its answer is let go, as a server does.

    Of a stream of events the beginning is enough: who asks leaves then.
    """
    answer = DirectAnswer()
    given = False
    left = asyncio.Event()

    async def receive() -> Message:
        nonlocal given
        if given:
            await left.wait()
            return {"type": "http.disconnect"}
        given = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def take(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]
            }
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                left.set()
        elif message["type"] == "http.response.body":
            answer.body += message.get("body", b"")

    length = (b"content-length", str(len(request.body)).encode())
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path.decode("ascii")),
        "raw_path": request.path,
        "root_path": "",
        "query_string": request.query,
        "headers": [*HOST, *request.headers, *([length] if request.body else [])],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    try:
        await app(scope, receive, take)
    except Exception:
        if not answer.status:
            answer.status = 599
    if answer.headers.get("content-encoding") == "gzip":
        answer.body = gzip.decompress(answer.body)
    return answer
