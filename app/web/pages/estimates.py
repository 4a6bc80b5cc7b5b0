"""Estimates: those that were made, and each down to its formulas."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from app.services.estimates import EstimateSummary, get_estimate, list_estimates
from app.services.listing import USUAL_ITEMS, Page
from app.sizing.document import Estimate
from app.web.contexts import EstimatesPage
from app.web.deps import BenchDep, WorkspaceDep
from app.web.locale import voice_of
from app.web.pages.documents import available
from app.web.pages.presenting import estimate_page
from app.web.pages.stretches import at, older
from app.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/estimates.json")
def show_estimates_data(bench: BenchDep, workspace: WorkspaceDep, cursor: str = "") -> Page[EstimateSummary]:
    """Return the estimates of the page of the same address."""
    return list_estimates(bench, workspace, USUAL_ITEMS, cursor or None)


@router.get("/estimates", response_class=HTMLResponse)
def show_estimates(request: Request, bench: BenchDep, workspace: WorkspaceDep, cursor: str = "") -> Response:
    """Show the estimates, newest first."""
    found = list_estimates(bench, workspace, USUAL_ITEMS, cursor or None)
    page = EstimatesPage(
        data_url=at("/estimates.json", cursor),
        documents=available(),
        estimates=found.items,
        next_url=older("/estimates", found),
    )
    return render(request, "estimates.html", page)


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
    return render(request, "estimate.html", estimate_page(found, name, voice_of(request), available()))
