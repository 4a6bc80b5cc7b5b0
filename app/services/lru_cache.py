"""The latest answers kept in memory, bounded, for who asks the same again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

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
        """Return what stands for a key, made where it is not kept."""
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
        """Let go of all."""
        with self._lock:
            self._found.clear()

    def __len__(self) -> int:
        return len(self._found)
