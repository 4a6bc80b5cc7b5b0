"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import calibrations, catalog, comparisons, estimates, planning, searches, uploads

router = APIRouter(prefix="/api/v1")
for part in (catalog, uploads, estimates, searches, comparisons, calibrations, planning):
    router.include_router(part.router)
