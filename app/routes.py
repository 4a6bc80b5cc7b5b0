"""Every route of the application, in the order in which addresses are matched."""

from app.features.accelerators import api as accelerators_api
from app.features.accelerators import pages as accelerators
from app.features.accounts import pages as accounts
from app.features.accounts import sign_in_pages
from app.features.accuracy import api as accuracy_api
from app.features.accuracy import pages as accuracy
from app.features.bills import api as bills_api
from app.features.bills import pages as bills
from app.features.break_even import api as break_even_api
from app.features.break_even import pages as break_even
from app.features.calibration import api as calibration_api
from app.features.calibration import pages as calibration
from app.features.catalogue import api as catalogue_api
from app.features.catalogue import pages as catalogue
from app.features.claims import api as claims_api
from app.features.claims import pages as claims
from app.features.comparisons import api as comparisons_api
from app.features.comparisons import pages as comparisons
from app.features.estimates import api as estimates_api
from app.features.estimates import pages as estimates
from app.features.inference import api as inference_api
from app.features.inference import pages as inference
from app.features.integrations import api as integrations_api
from app.features.integrations import pages as integrations
from app.features.networks import api as networks_api
from app.features.networks import pages as networks
from app.features.plans import api as plans_api
from app.features.plans import pages as plans
from app.features.price_books import api as price_books_api
from app.features.price_books import costs_pages
from app.features.price_books import pages as price_books
from app.features.proposals import api as proposals_api
from app.features.proposals import of_study as study_proposals
from app.features.proposals import pages as proposals
from app.features.proposals import shared_pages
from app.features.sizings import api as sizings_api
from app.features.sizings import pages as sizings
from app.features.start import pages as start
from app.features.studies import api as studies_api
from app.features.studies import pages as studies
from app.features.studies import scaling as studies_scaling
from app.features.sweeps import api as sweeps_api
from app.features.sweeps import pages as sweeps
from app.features.tenancy import api as tenancy_api
from app.features.tenancy import pages as tenancy
from app.features.trail import api as trail_api
from app.features.trail import pages as trail
from app.features.uploads import api as uploads_api
from app.features.uploads import pages as uploads
from app.platform.web import documents, reference, rendering
from app.platform.web.rights import routes_of

API_ROUTES = routes_of(
    (
        catalogue_api.router,
        uploads_api.router,
        estimates_api.router,
        plans_api.router,
        sizings_api.router,
        comparisons_api.router,
        studies_api.router,
        calibration_api.router,
        networks_api.router,
        inference_api.router,
        plans_api.planning_router,
        tenancy_api.router,
        sweeps_api.router,
        proposals_api.router,
        price_books_api.router,
        accelerators_api.router,
        bills_api.fabrics_router,
        bills_api.router,
        break_even_api.router,
        sweeps_api.jobs_router,
        claims_api.router,
        accuracy_api.router,
        trail_api.router,
        integrations_api.keys_router,
        integrations_api.webhooks_router,
    )
)
"""The JSON API under /api/v1."""

OPEN_ROUTES = routes_of((shared_pages.router, sign_in_pages.router))
"""Pages that ask for no session: links to proposals, and where sessions begin."""

PAGE_ROUTES = routes_of(
    (
        start.router,
        comparisons.router,
        estimates.router,
        price_books.router,
        costs_pages.router,
        plans.router,
        sizings.router,
        calibration.router,
        catalogue.router,
        accelerators.router,
        sweeps.router,
        networks.router,
        inference.router,
        study_proposals.router,
        proposals.router,
        tenancy.router,
        claims.router,
        bills.router,
        break_even.router,
        uploads.router,
        studies.router,
        studies_scaling.router,
        trail.router,
        accounts.router,
        integrations.router,
        reference.router,
        *((documents.router, accuracy.router) if rendering.documents() else ()),
    )
)
"""Pages for people: the same documents as the JSON API, as HTML that works without JavaScript."""
