"""Estimates kept in memory, for who asks the same again while turning a knob beside it."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from app.sizing.document import Estimate
from app.sizing.request import EstimateRequest

KEPT = 512
"""Estimates kept; one takes some 30 kB as a document."""


class EstimateCache:
    """The latest estimates by workspace and request; the same request always has the same answer.

    Uploads and calibrations never change under their identifier. Price books do: what is priced by one is
    made anew.
    """

    def __init__(self, size: int = KEPT) -> None:
        self._size = size
        self._found: OrderedDict[str, Estimate] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, workspace_id: str, request: EstimateRequest, make: Callable[[], Estimate]) -> Estimate:
        """Return the estimate of a request, made where it is not kept."""
        if request.assumptions.price_book_id is not None:
            return make()
        body = f"{workspace_id}\n{request.model_dump_json(exclude_unset=True)}"
        key = hashlib.sha256(body.encode()).hexdigest()
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
