"""Searches: the best plans of a model on a system."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.services import searches
from app.sizing.search_documents import Search, SearchRequest
from app.web.api.examples import MIXTURE_SEARCH, SEARCH
from app.web.api.responses import ASK
from app.web.api.routers import api_router
from app.web.deps import BenchDep, WorkspaceDep

router = api_router("searches", "/searches")


@router.post("", summary="Search for the best plans", responses=ASK)
def run_search(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[SearchRequest, Body(examples=[SEARCH, MIXTURE_SEARCH])],
) -> Search:
    """Every legal plan, memory first, then time for what fits; the best that differ, and why they win.

    Plans are ranked by an upper quantile of their time, so that a kind of plan that was never measured has to
    be faster by more. Nothing is kept.
    """
    return searches.run_search(bench, workspace, body)
