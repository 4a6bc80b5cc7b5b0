"""Which network a workload is worth."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.services.fabric_choices import weigh_fabrics
from app.sizing.fabric_choice.documents import FabricChoice
from app.sizing.fabric_choice.request import FabricChoiceRequest
from app.web.api.examples import FABRIC_CHOICE, FABRICS_MEASURED
from app.web.api.responses import ASK
from app.web.api.routers import api_router
from app.web.deps import BenchDep, WorkspaceDep

router = api_router("fabric choices")


@router.post("/fabric-choices", summary="Choose a network", responses=ASK)
def choose_fabric(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[FabricChoiceRequest, Body(examples=[FABRIC_CHOICE, FABRICS_MEASURED])],
) -> FabricChoice:
    """One workload on several networks: gain, price, which term decides, and whether it is worth it.

    A dearer network is recommended only where it gains the threshold over the cheaper one. Measured runs by
    label take the place of the model. Nothing is kept.
    """
    return weigh_fabrics(bench, workspace, body)
