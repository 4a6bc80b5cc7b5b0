"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import (
    bills,
    calibrations,
    catalog,
    claims,
    comparisons,
    estimates,
    fabrics,
    jobs,
    planning,
    searches,
    sizings,
    sweeps,
    uploads,
)

router = APIRouter(prefix="/api/v1")
for part in (
    catalog,
    uploads,
    estimates,
    searches,
    sizings,
    comparisons,
    calibrations,
    planning,
    sweeps,
    fabrics,
    bills,
    jobs,
    claims,
):
    router.include_router(part.router)
