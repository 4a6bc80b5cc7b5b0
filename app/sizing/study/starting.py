"""Whether a system holds a model at all, before anything is estimated."""

from __future__ import annotations

from app.errors import AppError
from app.sizing.context import SizingContext
from app.sizing.deciding import decide
from app.sizing.models import resolve_model
from app.sizing.request import EstimateRequest


def holds(request: EstimateRequest, context: SizingContext) -> bool:
    """Return True where some plan of the request fits the memory.

    Parameters
    ----------
    request : EstimateRequest
        Model, workload and system. [-]
    context : SizingContext
        Catalogue, software profiles and uploads. [-]
    """
    asked = request.system
    try:
        profile = resolve_model(request.model, context)
        hardware = context.hardware.system(asked.id, asked.count, asked.fabric, asked.ports_per_node)
        return decide(request, profile, hardware, context).choice.fits
    except AppError:
        return False
