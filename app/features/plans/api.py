"""Arithmetic before anything is estimated."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.features.plans import mapping
from app.features.plans.model import (
    Checks,
    ChecksRequest,
    MappingRequest,
    ModelMapping,
    Search,
    SearchRequest,
)
from app.platform.rates import CostClass
from app.platform.web.api import ASK, api_router
from app.platform.web.deps import WorkspaceDep
from app.platform.web.examples import CHECK, MAPPING, MIXTURE_SEARCH, SEARCH
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("searches", "/searches")


@router.post("", summary="Search for the best plans", responses=ASK)
@requires(Right.ASK, CostClass.SEARCH, body=LARGE_BODY)
def run_search(
    workspace: WorkspaceDep, body: Annotated[SearchRequest, Body(examples=[SEARCH, MIXTURE_SEARCH])]
) -> Search:
    """Evaluate every legal plan for memory and, if it fits, time; return the best that differ, and why.

    Plans are ranked by an upper quantile of their time, so that a kind of plan that was never measured
    must be faster by a larger margin. Nothing is stored.
    """
    return mapping.run_search(workspace, body)


planning_router = api_router("planning")


@planning_router.post("/mappings", summary="Map a model onto IPUs", responses=ASK)
@requires(Right.ASK)
def map_model(
    workspace: WorkspaceDep, body: Annotated[MappingRequest, Body(examples=[MAPPING])]
) -> ModelMapping:
    """Compute IPUs, global batch, weights per IPU and phases of a mapping; 409 if the pod is too
    small.
    """
    return mapping.map_onto_ipus(workspace, body)


@planning_router.post("/checks", summary="Check a plan", responses=ASK)
@requires(Right.ASK)
def check_plan(body: Annotated[ChecksRequest, Body(examples=[CHECK])]) -> Checks:
    """Return named warnings about a plan, and the largest device count that divides its batch evenly."""
    return mapping.check_plan(body)
