"""Estimates: those that were made, and each down to its formulas."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.estimates.model import EstimateSummary
from app.features.estimates.service import create_estimate, get_estimate, get_estimate_request, list_estimates
from app.features.estimates.views import EstimatesPage, estimate_page
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.web import choices
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.documents import older
from app.platform.web.forms import read_form, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]


@router.get("/estimates.json")
def show_estimates_data(bench: BenchDep, workspace: WorkspaceDep, cursor: str = "") -> Page[EstimateSummary]:
    """Return the estimates of the page of the same address."""
    return list_estimates(bench, workspace, USUAL_ITEMS, cursor or None)


@router.get("/estimates", response_class=HTMLResponse)
def show_estimates(request: Request, bench: BenchDep, workspace: WorkspaceDep, cursor: str = "") -> Response:
    """Show the estimates, newest first."""
    found = list_estimates(bench, workspace, USUAL_ITEMS, cursor or None)
    page = EstimatesPage(
        estimates=found.items,
        next_url=older("/estimates", found),
    )
    return render(request, "estimates/estimates.html", page)


@router.get("/estimates/{identifier}.json")
def show_estimate_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Estimate:
    """Return the estimate of the page of the same address."""
    return get_estimate(bench, workspace, identifier)


@router.get("/estimates/{identifier}", response_class=HTMLResponse)
def show_estimate(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show an estimate."""
    found = get_estimate(bench, workspace, identifier)
    fabric = bench.catalogue.fabrics.documents.get(found.system.fabric)
    name = fabric.name if fabric else found.system.fabric
    voice = voice_of(request)
    chip = bench.catalogue.systems.documents.get(found.system.id)
    softwares = choices.softwares(bench, voice, chip.chip_kind) if chip and found.software else []
    page = estimate_page(found, name, voice, softwares)
    return render(request, "estimates/estimate.html", page)


@router.post("/estimates/{identifier}/software")
@needs(Right.MAKE)
def use_software(bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Make the same estimate with other software and go there; without a name with the usual one."""
    asked = get_estimate_request(bench, workspace, identifier)
    chosen = typed(form).get("software", [""])[0]
    changed = asked.model_dump(mode="json", exclude_unset=True) | {"software": chosen or None}
    made = create_estimate(bench, workspace, EstimateRequest.model_validate(changed))
    return RedirectResponse(f"/estimates/{made.id}", 303)
