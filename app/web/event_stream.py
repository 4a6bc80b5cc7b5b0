"""Server-sent events about a sweep: its state whenever it changes, until it has ended."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

import anyio
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.responses import Response, StreamingResponse

from app.services.sweeps import SweepState

MEDIA_TYPE = "text/event-stream"

LOOK_SECONDS = 0.5
"""How often is looked whether something has changed. [s]"""

QUIET_SECONDS = 10.0
"""After this long without an event a comment shows that the stream lives. [s]"""

END = "end"
"""Name and identifier of the last event."""

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def event(data: str, name: str = "", identifier: str = "") -> str:
    r"""Return one event; without a name, htmx swaps its data in.

    >>> event("a\nb", "progress")
    'event: progress\ndata: a\ndata: b\n\n'
    """
    lines = [f"event: {name}"] if name else []
    lines += [f"id: {identifier}"] if identifier else []
    lines += [f"data: {line}" for line in data.split("\n")]
    return "\n".join(lines) + "\n\n"


async def stream(
    read: Callable[[], SweepState],
    write: Callable[[SweepState, SweepState | None], str],
    stopping: Callable[[], bool] = lambda: False,
) -> AsyncIterator[str]:
    """Yield the events of a sweep, the last one named ``end``.

    Where the server ends first the stream breaks off, and whoever follows connects again.

    Parameters
    ----------
    read : callable
        Returns the state as it is now. [-]
    write : callable
        Returns the events of a state, given the one before. [-]
    stopping : callable
        Tells whether the server ends. [-]
    """
    before: SweepState | None = None
    said = time.monotonic()
    while not stopping():
        state = await run_sync(read)
        if state != before:
            yield write(state, before)
            before, said = state, time.monotonic()
        elif time.monotonic() - said >= QUIET_SECONDS:
            yield ": nothing new\n\n"
            said = time.monotonic()
        if state.ended:
            yield event(state.status, END, END)
            return
        await anyio.sleep(LOOK_SECONDS)


def response(
    request: Request,
    read: Callable[[], SweepState],
    write: Callable[[SweepState, SweepState | None], str],
) -> Response:
    """Answer with the events of a sweep.

    A browser that connects again after the last event is told not to (HTML Living Standard, 9.2.3).
    """
    if read().ended and request.headers.get("last-event-id") == END:
        return Response(status_code=204)
    events = stream(read, write, request.app.state.stopping.is_set)
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers=HEADERS)


def as_json(state: SweepState, before: SweepState | None = None) -> str:
    """Return a state as an event of JSON."""
    return event(state.model_dump_json(), "progress")
