"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import catalog, planning

router = APIRouter(prefix="/api/v1")
for part in (catalog, planning):
    router.include_router(part.router)
