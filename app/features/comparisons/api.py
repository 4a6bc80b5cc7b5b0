"""Comparisons: options side by side, with ratios and warnings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Depends, Path, Query, Request, Response

from app.estimating.capital import BOUNDS
from app.features.comparisons import service as comparisons
from app.features.comparisons.model import (
    Comparison,
    ComparisonOfState,
    ComparisonPatch,
    ComparisonRequest,
    ComparisonSummary,
)
from app.features.estimates.api import ESTIMATED
from app.features.estimates.api import answered as estimate_answered
from app.features.studies.api import StudyId
from app.features.studies.api import router as studies
from app.features.studies.common_basis import BasisRequest
from app.features.studies.options import LEAST_SHARE
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.api import (
    ASK,
    CHANGED,
    DELETE,
    LIST,
    READ,
    AnswerSelection,
    MatchHeader,
    api_router,
    read_tag,
    write_tag,
)
from app.platform.web.deps import ID, KeyHeader, ListDep, WorkspaceDep
from app.platform.web.examples import HEAD_TO_HEAD, MODELLED, RENAMED, STUDY_TO_COMPARE
from app.platform.web.requirements import LARGE_BODY, Right, requires

COMPARISONS = AnswerSelection(
    Comparison,
    *("id", "title", "locale", "currency", "scaling_efficiency", "ratios", "fastest", "fastest_tied"),
    *("cost_ratios", "cheapest", "cheapest_tied", "decision", "warnings"),
    *("rows.label", "rows.kind", "rows.hours", "rows.low", "rows.high", "rows.system", "rows.scaled_from"),
    *("rows.factor", *(f"rows.estimate.{name}" for name in ESTIMATED)),
)

router = api_router("comparisons", "/comparisons")

NARROW = [Depends(COMPARISONS)]


def answered(request: Request, comparison: Comparison) -> Comparison:
    """Return a comparison with its estimates as they are returned alone."""
    rows = [
        row.model_copy(update={"estimate": row.estimate and estimate_answered(request, row.estimate)})
        for row in comparison.rows
    ]
    return comparison.model_copy(update={"rows": rows})


ComparisonId = Annotated[str, Path(alias="id", description=ID, examples=["cmp_a2b3c4d5e6f7g2h3"])]

Efficiency = Annotated[
    float,
    Query(
        ge=LEAST_SHARE,
        le=1,
        allow_inf_nan=False,
        description="Share of linear scaling that linear rows reach; recomputes their hours and the ratios.",
        examples=[0.85],
    ),
]

Utilisation = Annotated[
    float | None,
    Query(
        ge=BOUNDS["utilisation"][0],
        le=BOUNDS["utilisation"][1],
        allow_inf_nan=False,
        description="Utilisation of every option as a share of calendar time; costs are "
        "compared on this basis. If omitted, that of the first owned option.",
        examples=[0.5],
    ),
]

TermYears = Annotated[
    float | None,
    Query(
        ge=BOUNDS["amortisation_years"][0],
        le=BOUNDS["amortisation_years"][1],
        allow_inf_nan=False,
        description="Years over which every option is paid for. If omitted, those of the first owned option.",
        examples=[3],
    ),
]


@router.post("", status_code=201, summary="Create a comparison", responses=ASK, dependencies=NARROW)
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def create_comparison(
    request: Request,
    workspace: WorkspaceDep,
    body: Annotated[ComparisonRequest, Body(examples=[HEAD_TO_HEAD, MODELLED])],
    key: KeyHeader = None,
) -> Comparison:
    """Compute hours of each option and their ratios; rows are estimates to make or published figures."""
    return answered(request, comparisons.create_comparison(workspace, body, key))


@router.get("", summary="List comparisons", responses=LIST)
def list_comparisons(workspace: WorkspaceDep, listed: ListDep) -> Page[ComparisonSummary]:
    """List identifiers and titles, newest first."""
    return comparisons.list_comparisons(workspace, listed.limit, listed.cursor, wanted=listed.wanted)


@router.get("/{id}", summary="Retrieve a comparison", responses=READ, dependencies=NARROW)
def get_comparison(
    request: Request,
    workspace: WorkspaceDep,
    identifier: ComparisonId,
    response: Response,
    scaling_efficiency: Efficiency = 1.0,
    utilisation: Utilisation = None,
    term_years: TermYears = None,
) -> Comparison:
    """Return the options in their current state; use the ETag in If-Match to change them."""
    basis = BasisRequest(utilisation, term_years)
    current = comparisons.get_comparison(workspace, identifier, scaling_efficiency, basis)
    response.headers["ETag"] = write_tag(current.version)
    return answered(request, current.comparison)


@router.patch("/{id}", summary="Update a comparison", responses={**ASK, **CHANGED}, dependencies=NARROW)
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def change_comparison(
    request: Request,
    workspace: WorkspaceDep,
    identifier: ComparisonId,
    body: Annotated[ComparisonPatch, Body(examples=[RENAMED])],
    response: Response,
    tag: MatchHeader = None,
) -> Comparison:
    """Change title, language, currency or rows. Omitted fields are unchanged."""
    changed = comparisons.change_comparison(workspace, identifier, body, read_tag(tag))
    response.headers["ETag"] = write_tag(changed.version)
    return answered(request, changed.comparison)


@studies.post("/{id}/comparison", status_code=201, summary="Create a comparison from a state", responses=ASK)
@requires(Right.MAKE, CostClass.SEARCH)
def compare_study(
    request: Request,
    workspace: WorkspaceDep,
    identifier: StudyId,
    body: Annotated[ComparisonOfState, Body(examples=[STUDY_TO_COMPARE])],
    key: KeyHeader = None,
) -> Comparison:
    """Create a comparison from a state, for use in a proposal."""
    return answered(request, comparisons.comparison_of_state(workspace, identifier, body, key))


@router.delete("/{id}", status_code=204, summary="Delete a comparison", responses=DELETE)
@requires(Right.MAKE)
def delete_comparison(workspace: WorkspaceDep, identifier: ComparisonId, tag: MatchHeader = None) -> None:
    """Delete a comparison; 409 if a proposal was created from it. Its estimates are kept."""
    comparisons.delete_comparison(workspace, identifier, read_tag(tag))
