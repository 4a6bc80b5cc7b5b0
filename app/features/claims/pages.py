"""Vendor claims beside estimates of our own; what is assumed stands in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from app.errors import AppError
from app.features.claims.model import ClaimsRequest, VendorClaim, VendorClaims
from app.features.claims.service import compare_estimates, compare_published, get_claim, list_claims
from app.features.claims.views import claim_page, claims_page
from app.features.comparisons.pages import PARAMETER, address, share_of
from app.platform.rates import CostClass
from app.platform.web.contexts import Form
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import checked, plain_number, read_form, refused, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

FIELDS = tuple(ClaimsRequest.model_fields)

WORDS = ("price_book_id",)


def asked(values: Mapping[str, Sequence[str]]) -> ClaimsRequest:
    """Return what is assumed, from a query or a form; an empty field assumes nothing."""
    found: dict[str, Any] = {}
    for name in values.keys() & set(FIELDS):
        text = values[name][0]
        found[name] = text if name in WORDS else share_of(text) if name == PARAMETER else plain_number(text)
    return checked(ClaimsRequest, found)


def known(values: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the fields of a query that are assumptions."""
    return {name: list(value[:1]) for name, value in values.items() if name in FIELDS}


@router.get("/claims.json")
@needs(cost=CostClass.SEARCH)
def show_claims_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> VendorClaims:
    """Return the claims of the page of the same address."""
    return list_claims(bench, workspace, asked(typed(request.query_params)))


@router.get("/claims", response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_claims(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the claims; an efficiency in percent is sent to the address that holds it as a share."""
    values = known(typed(request.query_params))
    try:
        wanted = asked(values)
        found = list_claims(bench, workspace, wanted)
    except AppError as error:
        return refusal(request, bench, workspace, refused(values, error, ()), error)
    query = canonical(values, wanted)
    if query != urlencode([one for one in request.query_params.multi_items() if one[0] in FIELDS]):
        return RedirectResponse(f"/claims?{query}" if query else "/claims", 303)
    page = claims_page(found, Form(shown(values, wanted)), query, voice_of(request))
    return render(request, "claims/claims.html", page)


def canonical(values: Mapping[str, Sequence[str]], wanted: ClaimsRequest) -> str:
    """Return the one query of the assumptions: the efficiency as a share, none where it changes nothing."""
    given = {name: value[0] for name, value in values.items() if name != PARAMETER}
    if wanted.scaling_efficiency != 1 and PARAMETER in values:
        given = {PARAMETER: f"{wanted.scaling_efficiency:.6g}", **given}
    return urlencode({name: given[name] for name in FIELDS if name in given})


def shown(values: Mapping[str, Sequence[str]], wanted: ClaimsRequest) -> dict[str, list[str]]:
    """Return the fields of the form; the efficiency in percent."""
    return {
        **{name: list(value) for name, value in values.items()},
        PARAMETER: [f"{wanted.scaling_efficiency * 100:.4g}"],
    }


def refusal(request: Request, bench: Workbench, workspace: str, form: Form, error: AppError) -> Response:
    """Return the claims under the catalogue's figures, with what is wrong beside the fields."""
    found = list_claims(bench, workspace, ClaimsRequest())
    page = claims_page(found, form, "", voice_of(request))
    status = error.status if isinstance(error, AppError) else 422
    return render(request, "claims/claims.html", page, status=status)


@router.get("/claims/{identifier}.json")
@needs(cost=CostClass.SEARCH)
def show_claim_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> VendorClaim:
    """Return the claim of the page of the same address."""
    return get_claim(bench, workspace, identifier, asked(typed(request.query_params)))


@router.get("/claims/{identifier}", response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_claim(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show one claim with both estimates."""
    values = known(typed(request.query_params))
    wanted = asked(values)
    found = get_claim(bench, workspace, identifier, wanted)
    return render(request, "claims/claim.html", claim_page(found, canonical(values, wanted)))


@router.post("/claims/{identifier}/comparison")
@needs(Right.MAKE, CostClass.SEARCH)
def open_comparison(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, phase: int = 0
) -> Response:
    """Make the estimates of a claim, keep them side by side and go there."""
    language = voice_of(request).language
    made = compare_estimates(bench, workspace, identifier, phase, "ko" if language == "ko" else "en")
    return RedirectResponse(f"/comparisons/{made.id}", 303)


@router.post("/claims/published")
@needs(Right.MAKE, CostClass.SEARCH)
def open_published(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep the published hours side by side and go there, at the scaling efficiency of the page."""
    share = share_of(str(form.get(PARAMETER, "")))
    language = voice_of(request).language
    made = compare_published(bench, workspace, "ko" if language == "ko" else "en")
    return RedirectResponse(address(made.id, share), 303)
