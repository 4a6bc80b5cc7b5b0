"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import (
    calibrations,
    catalog,
    comparisons,
    estimates,
    jobs,
    planning,
    proposals,
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
    proposals,
    jobs,
):
    router.include_router(part.router)
