"""When a call is sent again, and after how long."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Generic, TypeVar

import httpx
from pydantic import ValidationError

from rackline_client.calls import Answer, Call
from rackline_client.problems import BadAnswer, Unreachable, problem_of

T = TypeVar("T")

BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures after which the server cannot have seen the call."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is sent and how long is waited in between."""

    attempts: int = 4
    """Times a call is sent at most."""
    first: float = 0.5
    """Longest pause before the second attempt; doubled before each further one. [s]"""
    longest: float = 30.0
    """Longest pause; where the server asks for a longer one, the call fails instead. [s]"""
    chance: Callable[[], float] = field(default=random.random, repr=False)
    """Share of the pause that is taken, so that clients that failed together do not come back together."""
    clock: Callable[[], float] = field(default=time.time, repr=False)
    """Seconds since 1970, against which a date in Retry-After is read."""

    def pause(self, attempt: int, wanted: str | None) -> float | None:
        """Return the seconds to wait after an attempt; None after the last, or where the wait is too long."""
        if attempt >= self.attempts:
            return None
        asked = self.asked(wanted)
        if asked is not None:
            return asked if asked <= self.longest else None
        return self.chance() * min(self.longest, self.first * 2.0 ** (attempt - 1))

    def asked(self, wanted: str | None) -> float | None:
        """Return the seconds that Retry-After asks for, as a number or a date (RFC 9110, 10.2.3)."""
        if wanted is None:
            return None
        if wanted.strip().isdecimal():
            return float(wanted)
        try:
            moment = parsedate_to_datetime(wanted).timestamp()
        except (ValueError, TypeError):
            return None
        return max(0.0, moment - self.clock())


class Exchange(Generic[T]):
    """One call from its first attempt to its answer; knows nothing of how it is sent."""

    def __init__(self, call: Call[T], retries: Retries) -> None:
        self.call = call
        self.retries = retries
        self.attempts = 0

    @property
    def repeatable(self) -> bool:
        return self.call.repeatable or self.call.keyed

    def answered(self, response: httpx.Response) -> Answer[T] | float:
        """Return the answer, or the seconds after which to send the call again."""
        self.attempts += 1
        if response.is_success:
            try:
                value = self.call.read(response)
            except (ValidationError, UnicodeDecodeError) as error:
                raise BadAnswer(
                    f"the answer to {self.call.method} {self.call.path} is not what the API describes"
                ) from error
            return Answer(value, response.status_code, response.headers.get("etag"), self.attempts)
        busy = response.status_code in BUSY
        # 429 is said before anything is done, 503 perhaps after.
        safe = self.repeatable or response.status_code == HTTPStatus.TOO_MANY_REQUESTS
        if busy and safe:
            pause = self.retries.pause(self.attempts, response.headers.get("retry-after"))
            if pause is not None:
                return pause
        raise problem_of(response)

    def failed(self, error: httpx.RequestError) -> float:
        """Return the seconds after which to send the call again."""
        self.attempts += 1
        if self.repeatable or isinstance(error, NEVER_SENT):
            pause = self.retries.pause(self.attempts, None)
            if pause is not None:
                return pause
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        reason = str(error) or type(error).__name__
        raise Unreachable(
            f"no answer to {self.call.method} {self.call.path}, sent {times}: {reason}"
        ) from error
