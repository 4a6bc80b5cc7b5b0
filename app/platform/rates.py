"""How often somebody may ask: windows that slide, counted in this process or in the database."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, TypeVar, cast

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage, Storage
from limits.storage.base import SlidingWindowCounterSupport, TimestampedSlidingWindow
from limits.strategies import SlidingWindowCounterRateLimiter
from sqlalchemy.exc import SQLAlchemyError

from app.errors import Message, TooMany, Unavailable
from app.platform.store.database import Store
from app.platform.workspace import LOCAL_WORKSPACE

logger = logging.getLogger("rackline.rates")

WINDOW = 60
"""Length of the window. [s]"""

NAMESPACE = "rate"


class CostClass(StrEnum):
    """What a request costs; each kind has an allowance of its own."""

    READ = "read"
    ESTIMATE = "estimate"
    SEARCH = "search"


class ClientKind(StrEnum):
    """Who asks; each kind has allowances of its own."""

    KEY = "key"
    PERSON = "person"
    LINK = "link"


SENTENCES = {
    ClientKind.KEY: "limit of this key for “{kind}”: {quota} requests per minute; wait {seconds} s",
    ClientKind.PERSON: "your limit for “{kind}”: {quota} requests per minute; wait {seconds} s",
    ClientKind.LINK: "this link can be opened {quota} times per minute; wait {seconds} s",
}
"""What is said to who has asked too often."""

PROCESSOR = (
    "the searches and large requests of this workspace used {used} s of processor time in the last minute; "
    "the limit is {quota} s; wait {seconds} s"
)

MOST_COUNTED = 2**31 - 1
"""Most that a window counts."""

Counted = TypeVar("Counted")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left to somebody after a request."""

    asker: ClientKind
    effort: CostClass
    quota: int
    """Requests in a window."""
    left: int
    """Requests left now."""
    seconds: int
    """Until then no more than what is left. [s]"""
    granted: bool = True
    """Whether this request is within the quota."""

    def headers(self) -> dict[str, str]:
        """Return the header fields of draft-ietf-httpapi-ratelimit-headers-11.

        >>> Allowance(ClientKind.KEY, CostClass.READ, 600, 599, 42).headers()
        {'RateLimit-Policy': '"read";q=600;w=60', 'RateLimit': '"read";r=599;t=42'}
        """
        return {
            "RateLimit-Policy": f'"{self.effort}";q={self.quota};w={WINDOW}',
            "RateLimit": f'"{self.effort}";r={self.left};t={self.seconds}',
        }

    def check(self) -> None:
        if not self.granted:
            values = {"quota": self.quota, "kind": str(self.effort), "seconds": self.seconds}
            raise TooMany(Message(SENTENCES[self.asker], values), retry_after=self.seconds)


class Count(NamedTuple):
    """What was counted: in the window before, until when that counts, and in this window."""

    before: int
    left: float
    """Rest of this window. [s]"""
    now: int


def weighted(count: Count, window: float) -> float:
    """Return the requests that count: those of the window before by the share of it that still overlaps.

    >>> weighted(Count(before=60, left=30.0, now=10), 60.0)
    40.0
    """
    return count.before * count.left / window + count.now


def wait_for_one(count: Count, quota: int, window: float) -> float:
    """Return after how many seconds one more request is within the quota, if none comes meanwhile.

    >>> wait_for_one(Count(before=60, left=30.0, now=40), 60, 60.0)  # 60 · 20/60 + 40 = 60
    10.0
    >>> wait_for_one(Count(before=0, left=12.0, now=60), 60, 60.0)  # begins to fade with the next window
    12.0
    >>> wait_for_one(Count(before=0, left=12.0, now=3), 60, 60.0)
    0.0
    """
    if weighted(count, window) < quota:
        return 0.0
    if count.now < quota:
        return count.left - (quota - count.now) * window / count.before
    return count.left + window * (1 - quota / count.now)


class Rates:
    """The allowances of keys, people and links."""

    def __init__(
        self,
        quotas: Mapping[ClientKind, Mapping[CostClass, int]],
        shared: Store | None = None,
        processor: int = 120,
    ) -> None:
        """Take the requests a minute by kind; with a store they are counted there, else in this process.

        As long as the store cannot be written they are counted in this process, too: what reads goes on.
        """
        self._items = {
            (asker, effort): RateLimitItemPerMinute(quota, 1, NAMESPACE)
            for asker, of_asker in quotas.items()
            for effort, quota in of_asker.items()
        }
        self._here: Storage = MemoryStorage()
        self._together = None if shared is None else DatabaseStorage(shared)
        self._apart = False
        """Whether the store could not be written at the last request."""
        self._processor = processor
        """Processor time of a workspace in a window. [s]"""

    def count(self, workspace_id: str, asker: ClientKind, identifier: str, effort: CostClass) -> Allowance:
        """Count a request of somebody, unless it is beyond the quota, and return what is left.

        A person has one allowance in all their workspaces together.
        """
        home = LOCAL_WORKSPACE if asker is ClientKind.PERSON else workspace_id
        return self._counting(lambda storage: self._counted(storage, home, asker, identifier, effort))

    def charge(self, workspace_id: str, seconds: float) -> None:
        """Count processor time that a workspace has used."""
        name, spent = processor_of(workspace_id), math.ceil(seconds * 1000)

        def add(storage: Storage) -> None:
            support = cast(SlidingWindowCounterSupport, storage)
            support.acquire_sliding_window_entry(name, MOST_COUNTED, WINDOW, spent)

        self._counting(add)

    def check_processor(self, workspace_id: str) -> None:
        """Refuse a workspace that has used up the processor time of the last minute."""

        def read(storage: Storage) -> Count:
            support = cast(SlidingWindowCounterSupport, storage)
            before, _, now, ends = support.get_sliding_window(processor_of(workspace_id), WINDOW)
            return Count(before, max(0.0, ends - WINDOW), now)

        used, quota = self._counting(read), self._processor * 1000
        seconds = math.ceil(wait_for_one(used, quota, WINDOW))
        if seconds:
            values = {
                "used": round(weighted(used, WINDOW) / 1000),
                "quota": self._processor,
                "seconds": seconds,
            }
            raise TooMany(Message(PROCESSOR, values), retry_after=seconds)

    def _counting(self, count: Callable[[Storage], Counted]) -> Counted:
        """Count in the database where it is shared, and here as long as that cannot be written."""
        if self._together is not None:
            try:
                counter = count(self._together)
            except (SQLAlchemyError, Unavailable):
                if not self._apart:
                    logger.warning("requests cannot be counted in the database: each process counts its own")
                self._apart = True
            else:
                self._apart = False
                return counter
        return count(self._here)

    def _counted(
        self, storage: Storage, workspace_id: str, asker: ClientKind, identifier: str, effort: CostClass
    ) -> Allowance:
        item = self._items[asker, effort]
        granted = SlidingWindowCounterRateLimiter(storage).hit(item, workspace_id, identifier, effort)
        name = item.key_for(workspace_id, identifier, effort)
        support = cast(SlidingWindowCounterSupport, storage)
        before, _, now, ends = support.get_sliding_window(name, WINDOW)
        count = Count(before, max(0.0, round(ends - WINDOW, 3)), now)
        left = max(0, item.amount - math.floor(weighted(count, WINDOW))) if granted else 0
        # Whole seconds, and never too early: a request at the very end of the wait would be one too many.
        seconds = math.ceil(count.left) if left else 1 + int(wait_for_one(count, item.amount, WINDOW))
        return Allowance(asker, effort, item.amount, left, max(1, seconds), granted)


class DatabaseStorage(Storage, SlidingWindowCounterSupport, TimestampedSlidingWindow):
    """Windows in the database: every process and server of one database counts together."""

    STORAGE_SCHEME = None

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    @property
    def base_exceptions(self) -> type[Exception]:
        return SQLAlchemyError

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count requests unless they would be too many."""
        moment = time.time()
        position, left = divmod_window(moment, expiry)
        try:
            with self._store.counting(workspace_of(key)) as repository:
                ends = datetime.fromtimestamp((position + 2) * expiry, UTC)
                now = repository.rates.add(key, position, amount, ends)
                before = repository.rates.hits(key, position - 1)
                if math.floor(weighted(Count(before, left, now - amount), expiry)) + amount > limit:
                    raise _BeyondTheLimit
        except _BeyondTheLimit:
            return False
        return True

    def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """Return the count before, until when it counts, the count now, until when that will count."""
        position, left = divmod_window(time.time(), expiry)
        with self._store.counting(workspace_of(key)) as repository:
            before, now = repository.rates.hits(key, position - 1), repository.rates.hits(key, position)
        return before, left, now, left + expiry

    def clear_sliding_window(self, key: str, expiry: int) -> None:
        self.clear(key)

    def clear(self, key: str) -> None:
        with self._store.counting(workspace_of(key)) as repository:
            repository.rates.clear(key)

    def check(self) -> bool:
        with self._store.engine.connect():
            return True

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Not offered: windows that do not slide let twice the quota pass where two meet."""
        raise NotImplementedError

    def get(self, key: str) -> int:
        raise NotImplementedError

    def get_expiry(self, key: str) -> float:
        raise NotImplementedError

    def reset(self) -> int | None:
        """Not offered: servers share the database."""
        raise NotImplementedError


class _BeyondTheLimit(Exception):
    """Takes back what was counted of a request that is refused."""


def divmod_window(moment: float, expiry: int) -> tuple[int, float]:
    """Return the number of the window of a moment and how much of it is left.

    >>> divmod_window(130.0, 60)
    (2, 50.0)
    """
    position = int(moment // expiry)
    return position, (position + 1) * expiry - moment


def processor_of(workspace_id: str) -> str:
    """Return what the processor time of a workspace is counted under."""
    return f"{NAMESPACE}/{workspace_id}/processor"


def workspace_of(name: str) -> str:
    """Return the workspace in the name of a limit, which begins with the namespace and it.

    >>> workspace_of("rate/ws_local/key_a/read/600/1/minute")
    'ws_local'
    """
    return name.split("/")[1]
