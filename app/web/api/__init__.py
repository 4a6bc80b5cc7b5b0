"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import (
    calibrations,
    catalog,
    claims,
    comparisons,
    estimates,
    jobs,
    partitions,
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
    partitions,
    sweeps,
    jobs,
    claims,
):
    router.include_router(part.router)
