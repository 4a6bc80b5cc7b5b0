"""Which network a workload is worth."""

from __future__ import annotations

from app.errors import AppError
from app.services.estimate_cache import key_of
from app.services.workbench import Workbench
from app.sizing.fabric_choice.choosing import choose_fabric
from app.sizing.fabric_choice.documents import FabricChoice
from app.sizing.fabric_choice.options import usual_networks
from app.sizing.fabric_choice.request import FabricChoiceRequest
from app.sizing.request import EstimateRequest


def weigh_fabrics(bench: Workbench, workspace_id: str, request: FabricChoiceRequest) -> FabricChoice:
    """Return every network with what it gains and costs, and the advice; nothing is stored."""

    def choose() -> FabricChoice:
        return choose_fabric(request, bench.context(workspace_id))

    books = (request.price_book_id, request.estimate.assumptions.price_book_id)
    # Price books change under their identifier.
    if any(book is not None for book in books):
        return choose()
    return bench.choices.get(key_of(workspace_id, request), choose)


def usual_options(bench: Workbench, estimate: EstimateRequest) -> list[tuple[str, str]]:
    """Return identifier and label of the networks that are weighed where nothing else is asked."""
    asked = estimate.system
    try:
        hardware = bench.sizing.hardware.system(asked.id, asked.count, asked.fabric, asked.ports_per_node)
    except AppError:
        return []
    return [(one.id, one.label) for one in usual_networks(hardware, bench.sizing.catalog)]
