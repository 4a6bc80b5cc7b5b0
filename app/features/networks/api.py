"""Which network a workload is worth."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.features.networks.answering import weigh_fabrics
from app.features.networks.model import FabricChoice, FabricChoiceRequest
from app.platform.rates import CostClass
from app.platform.web.api import ASK, api_router
from app.platform.web.deps import WorkspaceDep
from app.platform.web.examples import FABRIC_CHOICE, FABRICS_MEASURED
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("fabric choices")


@router.post("/fabric-choices", summary="Choose a network", responses=ASK)
@requires(Right.ASK, CostClass.SEARCH, body=LARGE_BODY)
def choose_fabric(
    workspace: WorkspaceDep,
    body: Annotated[FabricChoiceRequest, Body(examples=[FABRIC_CHOICE, FABRICS_MEASURED])],
) -> FabricChoice:
    """Compare networks for one workload: gain, price, deciding term, and whether they are worth it.

    A dearer network is recommended only if its gain over the cheaper one reaches the threshold.
    Measured runs by label replace those of the model. Nothing is stored.
    """
    return weigh_fabrics(workspace, body)
