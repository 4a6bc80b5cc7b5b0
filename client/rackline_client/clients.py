"""The two clients: one that waits for its answers, one whose answers are awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

import httpx

from rackline_client.base import Document, Page
from rackline_client.calls import Answer, AwaitedClient, Call, WaitingClient, address
from rackline_client.operations import Operations
from rackline_client.problems import StillRunning, Unreachable, problem_of
from rackline_client.retries import Exchange, Retries
from rackline_client.wire import States, parts, settings, with_key

if TYPE_CHECKING:
    from rackline_client.documents import Job, SweepRow, SweepState

P = ParamSpec("P")

T = TypeVar("T")

Item = TypeVar("Item", bound=Document)

TIMEOUT = 60.0
"""Longest time that nothing is heard of a call. [s]"""

JOB_TIMEOUT = 600.0
"""Longest time that a job is waited for. [s]"""

FIRST_LOOK, LONGEST_LOOK = 0.2, 5.0
"""Pauses between two looks at a job: the first, and the longest they grow to. [s]"""

ENDED = frozenset({"done", "cancelled", "failed"})
"""Statuses of a job that do not change by themselves."""

STREAM = {"Accept": "text/event-stream"}


class Rackline(Operations, WaitingClient):
    """A client that waits for its answers; to be used as a context, or closed."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout: float = TIMEOUT,
        retries: Retries | None = None,
        allow_plain: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.retries = retries or Retries()
        self._sleep: Callable[[float], None] = time.sleep
        self._http = httpx.Client(transport=transport, **settings(url, key, timeout, allow_plain))

    def __repr__(self) -> str:
        return f"Rackline({str(self._http.base_url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def answer(self, call: Call[T]) -> Answer[T]:
        """Send a call, again where that is safe and may help, and return its answer."""
        exchange, headers = Exchange(call, self.retries), with_key(call)
        while True:
            try:
                response = self._http.send(self._http.build_request(**parts(call, headers)))
            except httpx.RequestError as error:
                pause = exchange.failed(error)
            else:
                outcome = exchange.answered(response)
                if isinstance(outcome, Answer):
                    return outcome
                pause = outcome
            self._sleep(pause)

    def each(self, listing: Callable[P, Page[Item]], *values: P.args, **named: P.kwargs) -> Iterator[Item]:
        """Yield every item of a list: ``for one in rackline.each(rackline.list_estimates, limit=100)``."""
        page_from: Callable[..., Page[Item]] = partial(listing, *values, **named)
        page = page_from()
        while True:
            yield from page.items
            if page.next is None:
                return
            page = page_from(cursor=page.next)

    def rows(
        self,
        identifier: str,
        *,
        limit: int | None = None,
        order: str | None = None,
        model: str | None = None,
        system: str | None = None,
        price: str | None = None,
        scenario: str | None = None,
    ) -> Iterator[SweepRow]:
        """Yield every row of a sweep; narrowed by labels and ordered as :meth:`get_sweep` does."""
        cursor: str | None = None
        while True:
            stretch = self.get_sweep(
                identifier,
                cursor=cursor,
                limit=limit,
                order=order,
                model=model,
                system=system,
                price=price,
                scenario=scenario,
            )
            yield from stretch.rows
            cursor = stretch.next
            if cursor is None:
                return

    def wait(self, identifier: str, timeout: float = JOB_TIMEOUT) -> Job:
        """Return a job once it has ended, whether done, failed or cancelled."""
        deadline, pause = time.monotonic() + timeout, FIRST_LOOK
        while (job := self.get_job(identifier)).status not in ENDED:
            if time.monotonic() + pause > deadline:
                raise still_running(job, timeout)
            self._sleep(pause)
            pause = min(LONGEST_LOOK, 1.5 * pause)
        return job

    def follow_sweep(self, identifier: str) -> Iterator[SweepState]:
        """Yield how far a sweep is whenever that changes, until it has ended."""
        states, path = States(), address("sweeps/{identifier}/events", identifier=identifier)
        try:
            while True:
                with self._http.stream("GET", path, headers=STREAM) as response:
                    if not response.is_success:
                        response.read()
                        raise problem_of(response)
                    for line in response.iter_lines():
                        yield from states.of_line(line)
                if not states.goes_on():
                    break
                self._sleep(FIRST_LOOK)
        except httpx.RequestError as error:
            raise broken_off(identifier) from error
        if not states.ended:
            raise broken_off(identifier)


class AsyncRackline(Operations, AwaitedClient):
    """A client whose answers are awaited; otherwise as :class:`Rackline`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout: float = TIMEOUT,
        retries: Retries | None = None,
        allow_plain: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.retries = retries or Retries()
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self._http = httpx.AsyncClient(transport=transport, **settings(url, key, timeout, allow_plain))

    def __repr__(self) -> str:
        return f"AsyncRackline({str(self._http.base_url)!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def answer(self, call: Call[T]) -> Answer[T]:
        """Send a call, again where that is safe and may help, and return its answer."""
        exchange, headers = Exchange(call, self.retries), with_key(call)
        while True:
            try:
                response = await self._http.send(self._http.build_request(**parts(call, headers)))
            except httpx.RequestError as error:
                pause = exchange.failed(error)
            else:
                outcome = exchange.answered(response)
                if isinstance(outcome, Answer):
                    return outcome
                pause = outcome
            await self._sleep(pause)

    async def each(
        self, listing: Callable[P, Awaitable[Page[Item]]], *values: P.args, **named: P.kwargs
    ) -> AsyncIterator[Item]:
        """Yield every item of a list: ``async for one in rackline.each(rackline.list_estimates)``."""
        page_from: Callable[..., Awaitable[Page[Item]]] = partial(listing, *values, **named)
        page = await page_from()
        while True:
            for one in page.items:
                yield one
            if page.next is None:
                return
            page = await page_from(cursor=page.next)

    async def rows(
        self,
        identifier: str,
        *,
        limit: int | None = None,
        order: str | None = None,
        model: str | None = None,
        system: str | None = None,
        price: str | None = None,
        scenario: str | None = None,
    ) -> AsyncIterator[SweepRow]:
        """Yield every row of a sweep; narrowed by labels and ordered as :meth:`get_sweep` does."""
        cursor: str | None = None
        while True:
            stretch = await self.get_sweep(
                identifier,
                cursor=cursor,
                limit=limit,
                order=order,
                model=model,
                system=system,
                price=price,
                scenario=scenario,
            )
            for one in stretch.rows:
                yield one
            cursor = stretch.next
            if cursor is None:
                return

    async def wait(self, identifier: str, timeout: float = JOB_TIMEOUT) -> Job:
        """Return a job once it has ended; as :meth:`Rackline.wait`."""
        deadline, pause = time.monotonic() + timeout, FIRST_LOOK
        while (job := await self.get_job(identifier)).status not in ENDED:
            if time.monotonic() + pause > deadline:
                raise still_running(job, timeout)
            await self._sleep(pause)
            pause = min(LONGEST_LOOK, 1.5 * pause)
        return job

    async def follow_sweep(self, identifier: str) -> AsyncIterator[SweepState]:
        """Yield how far a sweep is whenever that changes, until it has ended."""
        states, path = States(), address("sweeps/{identifier}/events", identifier=identifier)
        try:
            while True:
                async with self._http.stream("GET", path, headers=STREAM) as response:
                    if not response.is_success:
                        await response.aread()
                        raise problem_of(response)
                    async for line in response.aiter_lines():
                        for state in states.of_line(line):
                            yield state
                if not states.goes_on():
                    break
                await self._sleep(FIRST_LOOK)
        except httpx.RequestError as error:
            raise broken_off(identifier) from error
        if not states.ended:
            raise broken_off(identifier)


def still_running(job: Job, timeout: float) -> StillRunning:
    """Return the error for a job that takes longer than it was given."""
    return StillRunning(f"{job.id} has done {job.done} of {job.total} steps after {timeout:g} s")


def broken_off(identifier: str) -> Unreachable:
    """Return the error for a stream of events that ends before the work does."""
    return Unreachable(f"the events of {identifier} broke off; follow it again")
