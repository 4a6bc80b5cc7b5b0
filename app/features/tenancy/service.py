"""Several teams on one system: partitions, or a queue."""

from __future__ import annotations

from functools import partial

from app.features.estimates.service import get_estimate
from app.features.tenancy.model import PartitionPlan, PartitionRequest, QueueAnswer, QueueRequest
from app.features.tenancy.nodes import profiles_of
from app.features.tenancy.partitions import plan_partitions
from app.features.tenancy.queue import simulate
from app.platform.workbench import Workbench, found, key_of


def share_devices(bench: Workbench, request: PartitionRequest) -> PartitionPlan:
    return plan_partitions(request, bench.sizing.catalog)


def share_time(bench: Workbench, workspace_id: str, request: QueueRequest) -> QueueAnswer:
    estimates = {
        index: found(
            partial(get_estimate, bench), workspace_id, f"teams.{index}.estimate_id", team.estimate_id
        )
        for index, team in enumerate(request.teams)
        if team.estimate_id is not None
    }
    answer: QueueAnswer = bench.queues.get(
        key_of(workspace_id, request), lambda: simulate(request, bench.sizing.catalog, estimates)
    )
    return answer


def slice_names(bench: Workbench, system: str) -> list[str]:
    """Return the MIG profiles of a system's GPUs, the smallest first; none for other systems."""
    catalog = bench.sizing.catalog
    if system not in catalog.names("system"):
        return []
    return list(profiles_of(catalog, catalog.system(system).chip))
