"""Several teams on one system."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.features.tenancy import partitions
from app.features.tenancy import service as tenancy
from app.features.tenancy.model import PartitionPlan, PartitionRequest, QueueAnswer, QueueRequest
from app.platform.rates import CostClass
from app.platform.web.api import ASK, api_router
from app.platform.web.deps import WorkspaceDep
from app.platform.web.examples import PARTITIONS, QUEUE, SLICES
from app.platform.web.requirements import Right, requires

router = api_router("planning")


@router.post("/partitions", summary="Share a system among teams", responses=ASK)
@requires(Right.ASK)
def plan_partitions(
    workspace: WorkspaceDep, body: Annotated[PartitionRequest, Body(examples=[PARTITIONS, SLICES])]
) -> PartitionPlan:
    """Allocate devices to teams; report what stays free and what does not keep teams isolated.

    409 names the nearest allowed sizes, the teams that could move, and how many systems would be
    enough.
    """
    return partitions.plan_partitions(body, workspace.sizing.catalog)


@router.post("/queues", summary="Simulate queues on shared machines", responses=ASK)
@requires(Right.ASK, CostClass.SEARCH)
def simulate_queue(
    workspace: WorkspaceDep, body: Annotated[QueueRequest, Body(examples=[QUEUE])]
) -> QueueAnswer:
    """Simulate the jobs of so many days: the wait of each team, and the fewest systems that keep it short."""
    return tenancy.share_time(workspace, body)
