"""Arithmetic before anything is estimated: IPU mappings, checks of a plan."""

from __future__ import annotations

import time

from app.estimating.context import SizingContext
from app.features.plans.mapping import map_model
from app.features.plans.model import Mapping, MappingRequest, Search, SearchRequest
from app.features.plans.searching import search
from app.platform.workbench import Workbench, key_of
from app.telemetry import SEARCHES


def run_search(bench: Workbench, workspace_id: str, request: SearchRequest) -> Search:
    found = timed_search(request, bench.context(workspace_id))
    SEARCHES.labels("plans").inc()
    return found


def kept_search(bench: Workbench, workspace_id: str, request: SearchRequest) -> Search:
    """Return the best plans of a model on a system, those of a question asked lately from memory."""
    key = key_of(workspace_id, request)
    found: Search = bench.searches.get(key, lambda: run_search(bench, workspace_id, request))
    return found


def timed_search(request: SearchRequest, context: SizingContext) -> Search:
    """Return the best plans, with the seconds that the search took."""
    started = time.perf_counter()
    found = search(request, context)
    return found.model_copy(update={"seconds": time.perf_counter() - started})


IPU_SOFTWARE = "ipu-base"
"""What every IPU stack starts from: no SDK or framework changes how much memory a mapping takes."""


def map_onto_ipus(bench: Workbench, request: MappingRequest) -> Mapping:
    software = bench.sizing.software.profile(IPU_SOFTWARE).ipu()
    return map_model(request, bench.sizing.catalog, software)
