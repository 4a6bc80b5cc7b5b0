"""Page of the cost of an estimate on other terms: region, rental, own prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import QueryParams

from app.catalog.defaults import REGIONS
from app.errors import AppError, FieldError
from app.estimating.documents import Estimate
from app.estimating.money import PRICED_ASSUMPTIONS
from app.estimating.numbers import MONEY, PLAIN, SHARE, YEARS, number_in
from app.estimating.request import EstimateRequest
from app.features.estimates.pages import basis_rows
from app.features.estimates.service import create_estimate, get_estimate, priced_estimate
from app.features.price_books.service import list_books
from app.platform.json_bodies import from_validation
from app.platform.web.contexts import REFUSAL, Choice, Form, WarningGroup, grouped
from app.platform.web.deps import ALL, QueryDep, WorkspaceDep, workspace_of
from app.platform.web.forms import refused, typed
from app.platform.web.locale import voice_of
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workspace import Workspace

router = page_router()

WORDS = ("acquisition", "region", "tariff_tier", "rental", "price_date", "price_book_id", "currency")

NUMBERS = {
    "amortisation_years": YEARS,
    "utilisation": SHARE,
    "discount_rate": SHARE,
    "residual_share": SHARE,
    "pue": PLAIN,
    "staff": PLAIN,
    "storage_tb": PLAIN,
    "egress_gb": PLAIN,
    "spot_interruptions_per_month": PLAIN,
}


MOST = 60
"""Most characters of a field."""

WARNINGS = ("price_unknown", "price_after_date", "price_is_estimate", REFUSAL)
"""Codes of the warnings about the cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsPage:
    """Cost of an estimate on other terms."""

    query: str
    """The requested terms, as the query of an address."""
    estimate: Estimate
    form: Form
    usual: Form
    """Defaults of the terms."""
    stale: bool
    """Whether the terms were refused and the stored estimate is shown."""
    owned: bool
    """Whether the system is bought, or nothing is known of its cost."""
    basis: Sequence[tuple[str, str]]
    warnings: Sequence[WarningGroup]
    tiers: Mapping[str, str]
    """Tiers of the tariff of the region → name."""
    books: Sequence[Choice]


def asked_terms(values: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the terms of an address as fields of a request."""
    first = {name: texts[0][:MOST] for name, texts in values.items()}
    words = {name: first[name] for name in WORDS if name in first}
    kinds = NUMBERS | dict.fromkeys(PRICED_ASSUMPTIONS, replace(MONEY, currency=first.get("currency", "")))
    numbers = {name: number_in(first[name], kind, name) for name, kind in kinds.items() if name in first}
    return {**words, **numbers}


def priced(
    workspace: Workspace, identifier: str, values: Mapping[str, Sequence[str]]
) -> tuple[EstimateRequest, Estimate]:
    try:
        return priced_estimate(workspace, identifier, asked_terms(values))
    except ValidationError as error:
        raise from_validation(error.errors(include_url=False)) from None


def terms_in(query: QueryParams) -> dict[str, list[str]]:
    known = {*WORDS, *NUMBERS, *PRICED_ASSUMPTIONS}
    return {name: value for name, value in typed(query).items() if name in known}


def shown_costs(request: Request, estimate: Estimate) -> CostsPage:
    return costs_page(request, estimate, Form(terms_in(request.query_params)), stale=False)


def refused_costs(request: Request, error: AppError) -> CostsPage:
    """Return the estimate as it is stored, with the errors beside the terms."""
    stored = get_estimate(workspace_of(request), request.path_params["identifier"])
    form = at_fields(refused(terms_in(request.query_params), error, ()))
    return costs_page(request, stored, form, stale=True)


@resource(
    router, "/estimates/{identifier}/costs", "price_books/costs.html", shown_costs, refused=refused_costs
)
def show_costs(workspace: WorkspaceDep, identifier: str, query: QueryDep) -> Estimate:
    """Show what an estimate costs on the terms of the address; refused ones beside the kept estimate."""
    return priced(workspace, identifier, terms_in(query))[1]


@router.post("/estimates/{identifier}/costs")
@requires(Right.MAKE)
def keep_costs(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Keep the estimate on the terms of the address as one of its own, and go there."""
    body, _ = priced(workspace, identifier, terms_in(request.query_params))
    return RedirectResponse(f"/estimates/{create_estimate(workspace, body).id}", 303)


def at_fields(form: Form) -> Form:
    """Move the errors of assumptions to the fields of the form."""
    errors = [FieldError(error.field.removeprefix("assumptions."), error.message) for error in form.errors]
    return Form(form.values, errors)


def costs_page(request: Request, estimate: Estimate, form: Form, *, stale: bool) -> CostsPage:
    workspace, voice = workspace_of(request), voice_of(request)
    basis = estimate.cost.basis if estimate.cost else {}
    region = form.get("region") or str(basis.get("region", "korea"))
    tiers = workspace.sizing.catalog.tariffs(region) if region in REGIONS else ()
    books = list_books(workspace, ALL, None).items
    return CostsPage(
        query="" if stale else urlencode(form.firsts),
        estimate=estimate,
        form=form,
        usual=Form({name: [default_text(name, estimate, voice)] for name in (*NUMBERS, *PRICED_ASSUMPTIONS)}),
        stale=stale,
        owned=not estimate.cost or estimate.cost.basis.get("acquisition") != "rent",
        basis=basis_rows(estimate, voice),
        warnings=grouped(("", warning) for warning in estimate.warnings if warning.code in WARNINGS),
        tiers={name: voice.label(name) for name in tiers},
        books=[Choice(book.id, book.name, f"v{book.version}") for book in books],
    )


def default_text(name: str, estimate: Estimate, voice: Voice) -> str:
    """Format the default of a number of the assumptions."""
    defaults = {default.field: default.value for default in estimate.defaults}
    value = defaults.get(f"assumptions.{name}")
    return voice.number(value, digits=6) if isinstance(value, int | float) else ""
