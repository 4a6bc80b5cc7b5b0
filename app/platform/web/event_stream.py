"""Server-sent events about long work: how far it is whenever that changes, until it has ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import anyio
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.errors import Message, TooMany
from app.platform.admission import Principal
from app.platform.web.auth import credentials_of, get_principal

MEDIA_TYPE = "text/event-stream"
LOOK_SECONDS = 0.5
"""How often is looked whether something has changed. [s]"""
QUIET_SECONDS = 10.0
"""After this long without an event a comment shows that the stream lives. [s]"""
LONGEST = 300.0
"""After this long a stream ends without its last event: who may follow no more does not come back. [s]"""
MOST_STREAMS = 10
"""Streams at once of a key or a person in one process; each holds one of its connections."""
MOST_ALONE = 100
"""Streams at once of who sits at a server without accounts: nobody else is kept waiting."""
ADMITTED_SECONDS = 2.0
"""How soon a stream ends whose key was revoked, or whose session has ended. [s]"""
END = "end"
"""Name and identifier of the last event."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Progress(Protocol):
    """How far long work is."""

    @property
    def status(self) -> str:
        """Where it stands, in one word."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will change."""


State = TypeVar("State", bound=Progress)


def event(data: str, name: str = "", identifier: str = "") -> str:
    r"""Return one event; without a name, htmx swaps its data in.

    >>> event("a\nb", "progress")
    'event: progress\ndata: a\ndata: b\n\n'
    """
    lines = [f"event: {name}"] if name else []
    lines += [f"id: {identifier}"] if identifier else []
    lines += [f"data: {line}" for line in data.split("\n")]
    return "\n".join(lines) + "\n\n"


class Streams:
    """The streams of one process, by who follows them; all are of one event loop."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def one(self, principal: Principal) -> Iterator[None]:
        """Hold the place of one stream."""
        who = principal.key_id or principal.account_id or ""
        most = MOST_STREAMS if who else MOST_ALONE
        if self._open[who] >= most:
            raise TooMany(Message("at most {most} event streams can be open at once", {"most": most}))
        self._open[who] += 1
        try:
            yield
        finally:
            self._open[who] -= 1
            self._open += Counter()  # Whoever follows nothing is forgotten.


class EventResponse(StreamingResponse):
    """An answer of events that holds a place from its beginning to its end, however it ends."""

    def __init__(self, events: AsyncIterator[str], streams: Streams, principal: Principal) -> None:
        super().__init__(events, media_type=MEDIA_TYPE, headers=HEADERS)
        self._streams = streams
        self._principal = principal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.one(self._principal):
            await super().__call__(scope, receive, send)


async def stream(
    read: Callable[[], State],
    write: Callable[[State, State | None], str],
    stopping: Callable[[], bool] = lambda: False,
    admitted: Callable[[], bool] = lambda: True,
) -> AsyncIterator[str]:
    """Yield the events of long work, the last one named ``end``.

    Where the server ends first, or the stream has lasted its time, it breaks off, and whoever follows
    connects again. It breaks off as well where whoever follows is not let in any more.
    """
    before: State | None = None
    started = last_written = last_checked = time.monotonic()
    while not stopping() and time.monotonic() - started < LONGEST:
        if time.monotonic() - last_checked >= ADMITTED_SECONDS:
            if not await run_sync(admitted):
                return
            last_checked = time.monotonic()
        state = await run_sync(read)
        if state != before:
            yield write(state, before)
            before, last_written = state, time.monotonic()
        elif time.monotonic() - last_written >= QUIET_SECONDS:
            yield ": nothing new\n\n"
            last_written = time.monotonic()
        if state.ended:
            yield event(state.status, END, END)
            return
        await anyio.sleep(LOOK_SECONDS)


def still_admitted(request: Request) -> Callable[[], bool]:
    """Return what tells whether who asked is still let into the same workspace."""
    principal, credentials = get_principal(request), credentials_of(request)

    def admitted() -> bool:
        current: Principal | None = request.app.state.admission.principal(credentials)
        return current is not None and current.workspace_id == principal.workspace_id

    return admitted


def response(
    request: Request,
    read: Callable[[], State],
    write: Callable[[State, State | None], str],
) -> Response:
    """Answer with the events of long work.

    A browser that connects again after the last event is told not to (HTML Living Standard, 9.2.3).
    """
    if read().ended and request.headers.get("last-event-id") == END:
        return Response(status_code=204)
    events = stream(read, write, request.app.state.stopping.is_set, still_admitted(request))
    return EventResponse(events, request.app.state.streams, get_principal(request))
