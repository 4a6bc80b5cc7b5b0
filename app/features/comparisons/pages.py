"""Comparisons shown as unsaved studies; query parameters as people type them."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import QueryParams

from app.errors import BadInput
from app.estimating.numbers import SHARE_OR_PERCENT, YEARS, number_in
from app.features.comparisons.model import Comparison
from app.features.comparisons.service import get_comparison, question_of_comparison
from app.features.studies.common_basis import BasisRequest
from app.features.studies.pages import show_study
from app.features.studies.service import unsaved_under
from app.platform.rates import CostClass
from app.platform.web.deps import QueryDep, WorkspaceDep
from app.platform.web.requirements import requires
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()

PARAMETER, UTILISATION = "scaling_efficiency", "utilisation"


def share_of(text: str, field: str = PARAMETER) -> float:
    """Return a share: 0.85, 85 and 85% mean the same; empty means 1."""
    share = number_in(text, SHARE_OR_PERCENT, field) if text.strip() else 1.0
    if not 0 < share <= 1:
        raise BadInput.at(field, "must be above 0 and at most 100")
    return share


def basis_of(utilisation: str, term_years: str) -> BasisRequest:
    """Return the basis of costs; utilisation 0.5, 50 and 50% mean the same, and empty fields the default."""
    years = number_in(term_years, YEARS, "term_years") if term_years.strip() else None
    basis = BasisRequest(share_of(utilisation, UTILISATION) if utilisation.strip() else None, years)
    basis.check()
    return basis


@router.get("/comparisons/{identifier}.json")
def show_comparison_data(
    workspace: WorkspaceDep,
    identifier: str,
    scaling_efficiency: str = "",
    utilisation: str = "",
    term_years: str = "",
) -> Comparison:
    basis = basis_of(utilisation, term_years)
    return get_comparison(workspace, identifier, share_of(scaling_efficiency), basis).comparison


RENAMED = {"term_years": "years"}
"""Query parameter of a comparison → knob of a study."""


def unsaved_of(workspace: Workspace, identifier: str) -> str:
    """Return the unsaved study of a comparison, which is a new one after its rows have changed."""
    question = question_of_comparison(workspace, identifier)
    return unsaved_under(workspace, f"/comparisons/{identifier}:{question.version}", lambda: question.content)


@router.get("/comparisons/{identifier}", response_class=HTMLResponse)
@requires(cost=CostClass.SEARCH)
def show_comparison(request: Request, workspace: WorkspaceDep, identifier: str, query: QueryDep) -> Response:
    """Show a comparison as its study; knobs in the address redirect to the study."""
    study = unsaved_of(workspace, identifier)
    knobs = [(RENAMED.get(name, name), value) for name, value in query.multi_items()]
    return show_study(request, workspace, study, QueryParams(knobs))
