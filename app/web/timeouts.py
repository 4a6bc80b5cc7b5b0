"""How long the server waits for those who ask: for the head of a request, and for its body.

A sender that dribbles holds a connection and what is kept for it. The head has to be whole after
:data:`HEAD` seconds; a body may take :data:`BODY` seconds and one more for every :data:`RATE` bytes.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import h11
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

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
        """Wait for a first request."""
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
        """Wait no longer."""
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
        begun = monotonic()
        try:
            message = await asyncio.wait_for(receive(), max(left, 0.0))
        except TimeoutError:
            raise HTTPException(
                408, f"the body arrives too slowly: {BODY:g} s and one for every {RATE} bytes are given"
            ) from None
        left += len(message.get("body", b"")) / RATE - (monotonic() - begun)
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
