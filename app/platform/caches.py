"""What is kept in memory of what was made last."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from pydantic import BaseModel

from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest

Kept = TypeVar("Kept")


class LruCache(Generic[Kept]):
    """So many of what was made last by a key; the same key always stands for the same thing.

    What is given out is shared by all who ask and must not be changed. Two who ask for something new at the
    same moment make it twice: neither waits for the other.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._found: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        with self._lock:
            self._found[key] = made
            while len(self._found) > self._size:
                self._found.popitem(last=False)
        return made

    def clear(self) -> None:
        with self._lock:
            self._found.clear()

    def __len__(self) -> int:
        return len(self._found)


class Scoped(LruCache[Kept]):
    """A cache as those see it who work with another catalogue: theirs are kept beside the others."""

    def __init__(self, shared: LruCache[Kept], scope: Callable[[], Hashable]) -> None:
        self._shared, self._scope = shared, scope

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        scope = self._scope()
        return self._shared.get((scope, key) if scope else key, make)

    def clear(self) -> None:
        self._shared.clear()

    def __len__(self) -> int:
        return len(self._shared)


KEPT = 512
"""Estimates kept; one takes some 300 kB of memory, ten times what it takes as a document."""


def key_of(workspace_id: str, request: BaseModel) -> str:
    """Return what a request of a workspace is kept under; fields that were left out do not count."""
    body = f"{workspace_id}\n{request.model_dump_json(exclude_unset=True)}"
    return hashlib.sha256(body.encode()).hexdigest()


class EstimateCache:
    """The latest estimates by workspace and request; the same request always has the same answer.

    Uploads and calibrations stay as they are under their identifier. Price books change: what is priced by
    one is made anew.
    """

    def __init__(self, latest: LruCache[Estimate] | None = None) -> None:
        self.latest: LruCache[Estimate] = LruCache(KEPT) if latest is None else latest

    def get(self, workspace_id: str, request: EstimateRequest, make: Callable[[], Estimate]) -> Estimate:
        if request.assumptions.price_book_id is not None:
            return make()
        return self.latest.get(key_of(workspace_id, request), make)

    def clear(self) -> None:
        self.latest.clear()

    def __len__(self) -> int:
        return len(self.latest)
