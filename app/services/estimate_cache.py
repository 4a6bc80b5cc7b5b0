"""Estimates kept in memory, for who asks the same again while turning a knob beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from pydantic import BaseModel

from app.services.lru_cache import LruCache
from app.sizing.document import Estimate
from app.sizing.request import EstimateRequest

KEPT = 512
"""Estimates kept; one takes some 30 kB as a document."""


def key_of(workspace_id: str, request: BaseModel) -> str:
    """Return what a request of a workspace is kept under; fields that were left out do not count."""
    body = f"{workspace_id}\n{request.model_dump_json(exclude_unset=True)}"
    return hashlib.sha256(body.encode()).hexdigest()


class EstimateCache:
    """The latest estimates by workspace and request; the same request always has the same answer.

    Uploads and calibrations never change under their identifier. Price books do: what is priced by one is
    made anew.
    """

    def __init__(self, size: int = KEPT) -> None:
        self._latest: LruCache[Estimate] = LruCache(size)

    def get(self, workspace_id: str, request: EstimateRequest, make: Callable[[], Estimate]) -> Estimate:
        """Return the estimate of a request, made where it is not kept."""
        if request.assumptions.price_book_id is not None:
            return make()
        return self._latest.get(key_of(workspace_id, request), make)

    def clear(self) -> None:
        """Let go of all."""
        self._latest.clear()

    def __len__(self) -> int:
        return len(self._latest)
