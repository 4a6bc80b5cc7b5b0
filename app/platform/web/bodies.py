"""Bodies of the JSON API: how much is taken of one, how many large ones at once, and on whose account."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from fastapi import Request
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope

from app.errors import Unavailable
from app.platform.admission import LOCAL, Principal
from app.platform.json_bodies import MAX_ERRORS, read_json, too_large
from app.platform.rates import Rates
from app.platform.web.problems import UnsupportedMediaType
from app.platform.web.requirements import BodyLimit

LARGE = 50_000
"""Size from which a body is read beside the answers to others, and one at a time. [B]"""

PLACES = 1
"""Requests with large bodies that are read and answered at once: threads of Python compute one at a time."""

PATIENCE = 10.0
"""How long a large body waits for a place. [s]"""

UNREAD = object()
"""In the place of a body that its schema refuses, so that the framework finds what else is wrong."""


class BodyPlaces:
    """Places of one server process for requests with large bodies."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PLACES)

    @asynccontextmanager
    async def place(self, size: int) -> AsyncIterator[Callable[[], None]]:
        """Hold a place for a large body, and give what leaves it; refuse the body if none gets free."""
        with ExitStack() as held:
            if size >= LARGE:
                try:
                    await asyncio.wait_for(self._places.acquire(), PATIENCE)
                except TimeoutError:
                    message = "the server is busy with other large requests; try again in a moment"
                    raise Unavailable(message) from None
                held.callback(self._places.release)
            yield held.close


class StrictRequest(Request):
    """A request whose JSON body is received, parsed and read by its schema once, within a limit."""

    def __init__(self, scope: Scope, receive: Receive, limit: BodyLimit) -> None:
        super().__init__(scope, receive)
        self.limit = limit
        self.content = b""
        self.parsed: Any = None
        self.document: Any = None
        """The body as its schema reads it; as it was sent where the route has none."""
        self.wrong: list[Any] = []
        """What pydantic says of a body that its schema refuses."""

    async def body(self) -> bytes:
        return self.content

    async def json(self) -> Any:
        return self.document

    async def take(self, is_json: bool) -> None:
        """Receive a JSON body; refuse another where JSON is due. Forms are read by their routes."""
        kind = self.headers.get("content-type", "").split(";")[0].strip().lower()
        # A form may be larger than JSON: where JSON is due it is not read at all.
        if kind != "multipart/form-data":
            self.content = await self._received()
        takes = kind == "application/json" or kind.endswith("+json")
        if not takes and (is_json if kind == "multipart/form-data" else self.content):
            raise UnsupportedMediaType("send the body as application/json")

    async def _received(self) -> bytes:
        size = int(self.headers.get("content-length", "0"))
        parts = bytearray()
        if size <= self.limit.size:
            async for part in self.stream():
                parts += part
                if (size := len(parts)) > self.limit.size:
                    break
        if size > self.limit.size:
            raise too_large(self.limit.size)
        return bytes(parts)

    async def understand(self, schema: TypeAdapter[Any] | None) -> None:
        """Parse the body and read it by its schema; a large one in a thread, charged to its workspace."""
        if len(self.content) < LARGE:
            self._understand(schema)
        else:
            await run_in_threadpool(self._understand_charged, schema)

    def _understand_charged(self, schema: TypeAdapter[Any] | None) -> None:
        principal: Principal = self.state.principal
        if principal == LOCAL:
            # Nobody else waits.
            self._understand(schema)
            return
        rates: Rates = self.app.state.rates
        rates.check_processor(principal.workspace_id)
        begun = time.thread_time()
        try:
            self._understand(schema)
        finally:
            rates.charge(principal.workspace_id, time.thread_time() - begun)

    def _understand(self, schema: TypeAdapter[Any] | None) -> None:
        self.parsed = self.document = read_json(self.content, self.limit.values)
        if schema is None:
            return
        self.document = UNREAD
        try:
            self.document = schema.validate_python(self.parsed)
        except ValidationError as error:
            found = itertools.islice(error.errors(include_url=False, include_input=False), MAX_ERRORS)
            self.wrong = [{**item, "loc": ("body", *item["loc"])} for item in found]


def places_of(request: Request) -> BodyPlaces:
    places: BodyPlaces = request.app.state.body_places
    return places
