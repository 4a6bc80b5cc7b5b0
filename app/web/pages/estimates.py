"""One estimate, down to its formulas."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from app.services.estimates import get_estimate
from app.sizing.document import Estimate
from app.web.deps import BenchDep, WorkspaceDep
from app.web.locale import voice_of
from app.web.pages.documents import available
from app.web.pages.presenting import estimate_page
from app.web.rendering import render

router = APIRouter(include_in_schema=False)


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
