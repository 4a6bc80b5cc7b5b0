"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import catalog, comparisons, estimates, planning, uploads

router = APIRouter(prefix="/api/v1")
for part in (catalog, uploads, estimates, comparisons, planning):
    router.include_router(part.router)
