"""Pages for people: the same documents as the JSON API, as HTML that works without JavaScript."""

from fastapi import APIRouter

from app.web.pages import (
    account,
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
    entrances,
    estimates,
    fabric_choices,
    fabrics,
    keys,
    mappings,
    partitions,
    people,
    plans,
    price_books,
    proposal_networks,
    proposals,
    queues,
    shared,
    sign_in,
    sign_in_oidc,
    sizings,
    start,
    studies,
    studies_guide,
    studies_shelf,
    sweeps,
    trail,
    uploads,
    webhooks,
)
from app.web.pages.documents import available
from app.web.pages.problems import problem_page

open_router = APIRouter(include_in_schema=False)
"""Pages that ask for no session: links to proposals, and where sessions begin."""
for part in (shared, sign_in, sign_in_oidc, entrances):
    open_router.include_router(part.router)

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
    partitions,
    queues,
    claims,
    fabrics,
    bills,
    breakevens,
    uploads,
    studies_guide,
    studies_shelf,
    studies,
    trail,
    account,
    people,
    keys,
    webhooks,
):
    router.include_router(part.router)
if available():
    router.include_router(documents.router)
    router.include_router(accuracy.router)

__all__ = ["open_router", "problem_page", "router"]
