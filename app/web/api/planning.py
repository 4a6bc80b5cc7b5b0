"""Arithmetic before anything is estimated."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.services import planning
from app.sizing.questions import Checks, ChecksRequest, Mapping, MappingRequest
from app.web.api.examples import CHECK, MAPPING
from app.web.api.responses import ASK
from app.web.api.routers import api_router
from app.web.deps import BenchDep

router = api_router("planning")


@router.post("/mappings", summary="Map a model onto IPUs", responses=ASK)
def map_model(bench: BenchDep, body: Annotated[MappingRequest, Body(examples=[MAPPING])]) -> Mapping:
    """IPUs, global batch, weights per IPU and phases of a mapping; 409 where the pod is too small."""
    return planning.map_onto_ipus(bench, body)


@router.post("/checks", summary="Check a plan", responses=ASK)
def check_plan(body: Annotated[ChecksRequest, Body(examples=[CHECK])]) -> Checks:
    """Named warnings about a plan, and the most devices over which its batch divides."""
    return planning.run_checks(body)
