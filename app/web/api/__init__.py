"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import (
    bills,
    breakevens,
    calibrations,
    catalog,
    claims,
    comparisons,
    estimates,
    fabric_choices,
    fabrics,
    jobs,
    keys,
    partitions,
    planning,
    price_books,
    proposals,
    searches,
    sizings,
    studies,
    sweeps,
    trail,
    uploads,
    webhooks,
)
from app.web.api.responses import KNOWN

router = APIRouter(prefix="/api/v1", responses=KNOWN)
for part in (
    catalog,
    uploads,
    estimates,
    searches,
    sizings,
    comparisons,
    studies,
    calibrations,
    fabric_choices,
    planning,
    partitions,
    sweeps,
    proposals,
    price_books,
    fabrics,
    bills,
    breakevens,
    jobs,
    claims,
    trail,
    keys,
    webhooks,
):
    router.include_router(part.router)
