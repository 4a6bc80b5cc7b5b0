"""Options side by side: the comparisons that were made, and each of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, BadInput, FieldError
from app.estimating.documents import Estimate
from app.features.comparisons.model import Comparison, ComparisonSummary
from app.features.comparisons.one_basis import BasisAsked
from app.features.comparisons.service import USUAL_BASIS, get_comparison, list_comparisons
from app.features.comparisons.views import comparison_page, scaling_page
from app.features.estimates.service import get_estimate_request, scale_estimate
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.rates import CostClass
from app.platform.web.contexts import Form
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.locale import voice_of
from app.platform.web.needs import needs
from app.platform.web.rendering import render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router

router = page_router()

PARAMETER, UTILISATION, YEARS = ASKED = ("scaling_efficiency", "utilisation", "term_years")

STEPS = (0.25, 0.5, 1, 2, 4)
"""Sizes of the scaling curve, as multiples of the count that was asked for."""


@dataclass(frozen=True, slots=True)
class TypedBasis:
    """What an address states of the basis, as it was typed."""

    scaling_efficiency: str = ""
    utilisation: str = ""
    term_years: str = ""


TypedDep = Annotated[TypedBasis, Depends()]


def share_of(text: str, field: str = PARAMETER) -> float:
    """Return a share from what was typed: 0.85, 85 and 85% all mean the same."""
    try:
        number = float(text.strip().removesuffix("%").replace(",", ".") or "1")
    except ValueError:
        number = 0.0
    share = number / 100 if number > 1 or text.strip().endswith("%") else number
    if not 0 < share <= 1:
        raise BadInput.at(field, "must be above 0 and at most 100")
    return share


def address(identifier: str, share: float, basis: BasisAsked = USUAL_BASIS) -> str:
    """Return the one address of a comparison at a scaling efficiency, its costs on a basis."""
    scaled = [] if share == 1 else [(PARAMETER, f"{share:.6g}")]
    query = urlencode([*scaled, *stated(basis)])
    return f"/comparisons/{identifier}" + (f"?{query}" if query else "")


def stated(basis: BasisAsked) -> list[tuple[str, str]]:
    """Return what an address holds of a basis."""
    asked = {UTILISATION: basis.utilisation, YEARS: basis.term_years}
    return [(name, f"{value:.6g}") for name, value in asked.items() if value is not None]


def basis_of(utilisation: str, term_years: str) -> BasisAsked:
    """Return the basis that was typed: 0.5, 50 and 50% are the same utilisation; empty is the usual."""
    years = None
    if term_years.strip():
        try:
            years = float(term_years.strip().replace(",", "."))
        except ValueError:
            raise BadInput.at(YEARS, "enter a number of years") from None
    basis = BasisAsked(share_of(utilisation, UTILISATION) if utilisation.strip() else None, years)
    basis.check()
    return basis


@resource(router, "/comparisons", "comparisons/comparisons.html", lambda _, stretch: stretch)
def show_comparisons(bench: BenchDep, workspace: WorkspaceDep, cursor: str = "") -> Page[ComparisonSummary]:
    return list_comparisons(bench, workspace, USUAL_ITEMS, cursor or None)


@router.get("/comparisons/{identifier}.json")
def show_comparison_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str, typed: TypedDep
) -> Comparison:
    basis = basis_of(typed.utilisation, typed.term_years)
    return get_comparison(bench, workspace, identifier, share_of(typed.scaling_efficiency), basis).comparison


@router.get("/comparisons/{identifier}", response_class=HTMLResponse)
def show_comparison(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, typed: TypedDep
) -> Response:
    """Show a comparison; shares in percent are sent to the address that holds them as shares."""
    errors: list[FieldError] = []
    share, basis = 1.0, USUAL_BASIS
    try:
        share = share_of(typed.scaling_efficiency)
    except AppError as error:
        errors += error.errors
    try:
        basis = basis_of(typed.utilisation, typed.term_years)
    except AppError as error:
        errors += error.errors
    if not errors and address(identifier, share, basis) != _asked(request):
        return RedirectResponse(address(identifier, share, basis), 303)
    comparison = get_comparison(bench, workspace, identifier, share, basis).comparison
    shown = asdict(typed)
    if not errors:
        usual = comparison.one_basis
        shown = {
            PARAMETER: f"{share * 100:.4g}",
            UTILISATION: f"{usual.utilisation * 100:.4g}" if usual else "",
            YEARS: f"{usual.term_years:.4g}" if usual else "",
        }
    form = Form({name: [text] for name, text in shown.items()}, errors)
    page = comparison_page(comparison, voice_of(request), form, stated(basis))
    return render(request, "comparisons/comparison.html", page, status=400 if errors else 200)


def _asked(request: Request) -> str:
    """Return the address that was asked for; a language beside what it states stays as it is."""
    stated = [(name, value) for name in ASKED if (value := request.query_params.get(name)) is not None]
    return f"{request.url.path}?{urlencode(stated)}" if stated else request.url.path


@router.get("/comparisons/{identifier}/scaling.json")
@needs(cost=CostClass.SEARCH)
def show_scaling_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> dict[str, list[Estimate]]:
    """Return estimates of each modelled option at fewer and more systems, by label."""
    comparison = get_comparison(bench, workspace, identifier).comparison
    curves: dict[str, list[Estimate]] = {}
    for row in comparison.rows:
        if row.estimate is None:
            continue
        asked = get_estimate_request(bench, workspace, row.estimate.id)
        counts = sorted({round(row.estimate.system.count * step) for step in STEPS} - {0})
        curves[row.label] = scale_estimate(bench, workspace, asked, counts)
    return curves


@router.get("/comparisons/{identifier}/scaling", response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_scaling(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show the scaling curve: a part of the page for htmx, a page of its own otherwise."""
    curves = show_scaling_data(bench, workspace, identifier)
    page = scaling_page(identifier, curves, voice_of(request))
    template = "comparisons/_scaling.html" if "HX-Request" in request.headers else "comparisons/scaling.html"
    return render(request, template, page)
