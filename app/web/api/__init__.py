"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import calibrations, catalog, comparisons, estimates, planning, sizings, uploads

router = APIRouter(prefix="/api/v1")
for part in (catalog, uploads, estimates, comparisons, calibrations, planning, sizings):
    router.include_router(part.router)
