"""The JSON API under /api/v1."""

from fastapi import APIRouter

from app.web.api import catalog, planning, uploads

router = APIRouter(prefix="/api/v1")
for part in (catalog, planning, uploads):
    router.include_router(part.router)
