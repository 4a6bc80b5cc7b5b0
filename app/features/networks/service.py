"""Which network a workload is worth."""

from __future__ import annotations

from app.errors import AppError
from app.estimating.request import EstimateRequest
from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoice, FabricChoiceRequest
from app.features.networks.options import usual_networks
from app.platform.workbench import Workbench, key_of


def weigh_fabrics(bench: Workbench, workspace_id: str, request: FabricChoiceRequest) -> FabricChoice:
    """Return every network with what it gains and costs, and the advice; nothing is stored."""

    def choose() -> FabricChoice:
        return choose_fabric(request, bench.context(workspace_id))

    books = (request.price_book_id, request.estimate.assumptions.price_book_id)
    # Price books change under their identifier.
    if any(book is not None for book in books):
        return choose()
    found: FabricChoice = bench.choices.get(key_of(workspace_id, request), choose)
    return found


def usual_options(bench: Workbench, estimate: EstimateRequest) -> list[tuple[str, str]]:
    """Return identifier and label of the networks that are weighed where nothing else is asked."""
    asked = estimate.system
    try:
        hardware = bench.sizing.hardware.system(asked.id, asked.count, asked.fabric, asked.ports_per_node)
    except AppError:
        return []
    return [(one.id, one.label) for one in usual_networks(hardware, bench.sizing.catalog)]
