"""Build or rent: when an own cluster is cheaper than the cloud."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.services import break_evens
from app.sizing.break_even.documents import BreakEven
from app.sizing.break_even.request import BreakEvenRequest
from app.web.api.examples import BREAK_EVEN, BREAK_EVEN_PRICED
from app.web.api.responses import ASK
from app.web.api.routers import api_router
from app.web.deps import BenchDep, WorkspaceDep

router = api_router("planning")


@router.post("/breakevens", summary="Build or rent", responses=ASK)
def find_break_even(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[BreakEvenRequest, Body(examples=[BREAK_EVEN, BREAK_EVEN_PRICED])],
) -> BreakEven:
    """Months until owning has cost no more than renting, or never; what each input does to it.

    Amounts are stated, or described and priced from the catalogue. Nothing is kept.
    """
    return break_evens.break_even(bench, workspace, body)
