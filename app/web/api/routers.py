"""Routers of the JSON API."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from app.web.api.responses import KNOWN
from app.web.bodies import StrictRoute
from app.web.rights import admitted
from app.web.routers import name_of


def api_router(tag: str, prefix: str = "") -> APIRouter:
    """Return a router of the JSON API, for members only."""
    return APIRouter(
        prefix=f"/api/v1{prefix}",
        tags=[tag],
        route_class=StrictRoute,
        responses=KNOWN,
        dependencies=[Depends(admitted)],
        generate_unique_id_function=name_of,
    )
