"""Several teams on one system: partitions, or a queue."""

from __future__ import annotations

from functools import partial

from app.features.estimates.service import get_estimate
from app.features.tenancy.model import QueueAnswer, QueueRequest
from app.features.tenancy.nodes import profiles_of
from app.features.tenancy.queue import simulate
from app.platform.workspace import Workspace, found


def share_time(workspace: Workspace, request: QueueRequest) -> QueueAnswer:
    estimates = {
        index: found(partial(get_estimate, workspace), f"teams.{index}.estimate_id", team.estimate_id)
        for index, team in enumerate(request.teams)
        if team.estimate_id is not None
    }
    return workspace.cached(
        workspace.installation.queues, request, lambda: simulate(request, workspace.sizing.catalog, estimates)
    )


def slice_names(workspace: Workspace, system: str) -> list[str]:
    """Return the MIG profiles of a system's GPUs, the smallest first; none for other systems."""
    catalog = workspace.sizing.catalog
    if system not in catalog.names("system"):
        return []
    return list(profiles_of(catalog, catalog.system(system).machine.chip.id))
