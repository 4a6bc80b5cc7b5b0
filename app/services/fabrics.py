"""Networks by their nodes and switches; nothing is kept."""

from __future__ import annotations

from app.sizing.bill.documents import FabricPlan
from app.sizing.bill.fabric import plan_fabric
from app.sizing.bill.request import FabricRequest


def plan(request: FabricRequest) -> FabricPlan:
    """Return switches and cables of a network."""
    return plan_fabric(request)
