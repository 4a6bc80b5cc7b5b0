"""What is kept in memory of what was made last."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from pydantic import BaseModel

Item = TypeVar("Item")


class LruCache(Generic[Item]):
    """So many of what was made last by a key; the same key always stands for the same thing.

    What is given out is shared by all who ask and must not be changed. Two who ask for something new at the
    same moment make it twice: neither waits for the other.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._found: OrderedDict[Hashable, Item] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Item]) -> Item:
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


def request_key(request: BaseModel) -> str:
    """Return what the answer to a request is kept under; fields that were left out do not count."""
    return hashlib.sha256(request.model_dump_json(exclude_unset=True).encode()).hexdigest()
