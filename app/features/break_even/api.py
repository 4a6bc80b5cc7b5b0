"""Build or rent: when an own cluster is cheaper than the cloud."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEven, BreakEvenRequest
from app.platform.rates import CostClass
from app.platform.web.api import ASK, api_router
from app.platform.web.deps import WorkspaceDep
from app.platform.web.examples import BREAK_EVEN, BREAK_EVEN_PRICED
from app.platform.web.requirements import Right, requires

router = api_router("planning")


@router.post("/breakevens", summary="Compare owning with renting", responses=ASK)
@requires(Right.ASK, CostClass.SEARCH)
def find_break_even(
    workspace: WorkspaceDep, body: Annotated[BreakEvenRequest, Body(examples=[BREAK_EVEN, BREAK_EVEN_PRICED])]
) -> BreakEven:
    """Compute the months until owning has cost no more than renting, and the effect of each input.

    Give amounts, or describe them to have them priced from the catalogue. Nothing is stored.
    """
    return decide(body, workspace.context())
