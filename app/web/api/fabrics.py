"""Networks: switches and cables of so many nodes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.services import fabrics
from app.sizing.bill.documents import FabricPlan
from app.sizing.bill.request import FabricRequest
from app.web.api.examples import FABRIC
from app.web.api.responses import ASK
from app.web.api.routers import api_router

router = api_router("bills")


@router.post("/fabrics", summary="Plan a network", responses=ASK)
def plan_fabric(body: Annotated[FabricRequest, Body(examples=[FABRIC])]) -> FabricPlan:
    """Leaf, spine and core switches and cables; declared switches are asked about, not corrected."""
    return fabrics.plan(body)
