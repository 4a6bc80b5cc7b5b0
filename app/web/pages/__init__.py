"""Pages for people: the same documents as the JSON API, as HTML that works without JavaScript."""

from fastapi import APIRouter

from app.web.pages import (
    accuracy,
    bills,
    calibrations,
    catalog,
    claims,
    comparisons,
    decisions,
    documents,
    estimates,
    fabrics,
    mappings,
    plans,
    sizings,
    start,
    sweeps,
)
from app.web.pages.documents import available
from app.web.pages.problems import problem_page

router = APIRouter(include_in_schema=False)
for part in (
    start,
    comparisons,
    estimates,
    plans,
    sizings,
    calibrations,
    catalog,
    mappings,
    sweeps,
    decisions,
    claims,
    fabrics,
    bills,
):
    router.include_router(part.router)
if available():
    router.include_router(documents.router)
    router.include_router(accuracy.router)

__all__ = ["problem_page", "router"]
