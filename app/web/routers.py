"""Routers that know the whole address of what is in them, and who may come.

What FastAPI includes from router to router it builds anew each time: its routes, the signatures of what they
depend on, the schemas of their bodies. Built whole they are put into applications as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from app.web.rights import admitted


def name_of(route: APIRoute) -> str:
    """Return what an operation is called: as its function."""
    return route.name


def page_router() -> APIRouter:
    """Return a router of pages for members only."""
    return APIRouter(include_in_schema=False, dependencies=[Depends(admitted)])


def routes_of(routers: Iterable[APIRouter]) -> list[BaseRoute]:
    """Return the routes of routers, in their order."""
    return [route for router in routers for route in router.routes]
