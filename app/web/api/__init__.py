"""The JSON API under /api/v1."""

from app.web.api import (
    bills,
    breakevens,
    calibrations,
    catalog,
    claims,
    comparisons,
    estimates,
    fabric_choices,
    fabrics,
    jobs,
    keys,
    partitions,
    planning,
    price_books,
    proposals,
    searches,
    sizings,
    studies,
    sweeps,
    trail,
    uploads,
    webhooks,
)
from app.web.routers import routes_of

routes = routes_of(
    (
        catalog.router,
        uploads.router,
        estimates.router,
        searches.router,
        sizings.router,
        comparisons.router,
        studies.router,
        calibrations.router,
        fabric_choices.router,
        planning.router,
        partitions.router,
        sweeps.router,
        proposals.router,
        price_books.router,
        fabrics.router,
        bills.router,
        breakevens.router,
        jobs.router,
        claims.router,
        trail.router,
        keys.router,
        webhooks.router,
    )
)
