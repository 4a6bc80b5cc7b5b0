"""Which network a workload is worth."""

from __future__ import annotations

from app.services.workbench import Workbench
from app.sizing.fabric_choice.choosing import choose_fabric
from app.sizing.fabric_choice.documents import FabricChoice
from app.sizing.fabric_choice.request import FabricChoiceRequest


def weigh_fabrics(bench: Workbench, workspace_id: str, request: FabricChoiceRequest) -> FabricChoice:
    """Return every network with what it gains and costs, and the advice; nothing is kept."""
    return choose_fabric(request, bench.context(workspace_id))
