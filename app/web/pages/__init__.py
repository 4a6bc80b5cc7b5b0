"""Pages for people: the same documents as the JSON API, as HTML that works without JavaScript."""

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
from app.web.routers import routes_of

open_routes = routes_of((shared.router, sign_in.router, sign_in_oidc.router, entrances.router))
"""Pages that ask for no session: links to proposals, and where sessions begin."""

routes = routes_of(
    (
        start.router,
        comparisons.router,
        estimates.router,
        costs.router,
        price_books.router,
        plans.router,
        sizings.router,
        calibrations.router,
        catalog.router,
        mappings.router,
        sweeps.router,
        decisions.router,
        fabric_choices.router,
        proposal_networks.router,
        proposals.router,
        partitions.router,
        queues.router,
        claims.router,
        fabrics.router,
        bills.router,
        breakevens.router,
        uploads.router,
        studies_guide.router,
        studies_shelf.router,
        studies.router,
        trail.router,
        account.router,
        people.router,
        keys.router,
        webhooks.router,
        *((documents.router, accuracy.router) if available() else ()),
    )
)

__all__ = ["open_routes", "problem_page", "routes"]
