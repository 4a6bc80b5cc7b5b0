"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import (
    breakevens,
    calibrations,
    catalog,
    comparisons,
    estimates,
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
    breakevens,
    jobs,
):
    router.include_router(part.router)
