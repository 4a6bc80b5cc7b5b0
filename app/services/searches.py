"""Search for plans and say how long it took."""

from __future__ import annotations

import time

from app.services.estimate_cache import key_of
from app.services.workbench import Workbench
from app.sizing.context import SizingContext
from app.sizing.search_documents import Search, SearchRequest
from app.sizing.searching import search
from app.telemetry import SEARCHES


def run_search(bench: Workbench, workspace_id: str, request: SearchRequest) -> Search:
    """Return the best plans of a model on a system."""
    found = timed_search(request, bench.context(workspace_id))
    SEARCHES.labels("plans").inc()
    return found


def kept_search(bench: Workbench, workspace_id: str, request: SearchRequest) -> Search:
    """Return the best plans of a model on a system, those of a question asked lately from memory."""
    key = key_of(workspace_id, request)
    return bench.searches.get(key, lambda: run_search(bench, workspace_id, request))


def timed_search(request: SearchRequest, context: SizingContext) -> Search:
    """Return the best plans, with the seconds that the search took."""
    started = time.perf_counter()
    found = search(request, context)
    return found.model_copy(update={"seconds": time.perf_counter() - started})
