"""Pages for people: the same documents as the JSON API, as HTML that works without JavaScript."""

from fastapi import APIRouter

from app.web.pages import (
    accuracy,
    bills,
    breakevens,
    calibrations,
    catalog,
    claims,
    comparisons,
    costs,
    decisions,
    documents,
    estimates,
    fabric_choices,
    fabrics,
    mappings,
    partitions,
    plans,
    price_books,
    proposal_networks,
    proposals,
    queues,
    shared,
    sizings,
    start,
    studies,
    studies_guide,
    studies_shelf,
    sweeps,
)
from app.web.pages.documents import available
from app.web.pages.problems import problem_page

router = APIRouter(include_in_schema=False)
for part in (
    start,
    comparisons,
    estimates,
    costs,
    price_books,
    plans,
    sizings,
    calibrations,
    catalog,
    mappings,
    sweeps,
    decisions,
    fabric_choices,
    proposal_networks,
    proposals,
    shared,
    partitions,
    queues,
    claims,
    fabrics,
    bills,
    breakevens,
    studies_guide,
    studies_shelf,
    studies,
):
    router.include_router(part.router)
if available():
    router.include_router(documents.router)
    router.include_router(accuracy.router)

__all__ = ["problem_page", "router"]
