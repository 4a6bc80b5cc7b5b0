"""Sizings: which system, and how many of it, by deadline and budget."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Depends, Path, Query

from app.features.estimates.api import WARNED
from app.features.sizings import service as sizings
from app.features.sizings.model import ScalingCurve, Sizing, SizingRequest, SizingSummary
from app.features.sizings.service import OPTIONS
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.api import ASK, LIST, READ, AnswerSelection, api_router
from app.platform.web.deps import ID, CursorQuery, GoneDep, KeyHeader, ListDep, ModelQuery, WorkspaceDep
from app.platform.web.examples import SCALING, SIZING
from app.platform.web.requirements import LARGE_BODY, Right, requires

SIZINGS = AnswerSelection(
    Sizing,
    *("id", "name", "currency", "decision", "recommended", "margin"),
    *("next", "considered", "searched", "left_out", "pareto", *WARNED),
    *(
        f"options.{name}"
        for name in (
            *("id", "system", "name", "count", "accelerators", "idle_machines", "fits", "time_to_train"),
            *("cost", "costs", "acquisition", "probability", "meets", "on_front", "status", "warnings"),
        )
    ),
)

router = api_router("sizings")

NARROW = [Depends(SIZINGS)]

OptionsQuery = Annotated[
    int, Query(ge=1, le=OPTIONS, description="Maximum number of options to return.", examples=[20])
]


@router.post(
    "/sizings", status_code=201, summary="Size by deadline and budget", responses=ASK, dependencies=NARROW
)
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def create_sizing(
    workspace: WorkspaceDep,
    body: Annotated[SizingRequest, Body(examples=[SIZING])],
    gone: GoneDep,
    key: KeyHeader = None,
    limit: OptionsQuery = OPTIONS,
) -> Sizing:
    """Return options over systems and counts, the decision among them, and the Pareto front.

    ``decision`` says which option is recommended for the demanded work under the limits, how far it is
    ahead and what would overturn it; if none is, what would work. ``budget_kind`` says what the budget
    must cover. At most a hundred options are returned, or fewer with
    ``limit``; ``next`` is the cursor for those that follow.
    """
    return sizings.create_sizing(workspace, body, key, limit, gone)


@router.get("/sizings", summary="List sizings", responses=LIST)
def list_sizings(workspace: WorkspaceDep, listed: ListDep, model: ModelQuery = "") -> Page[SizingSummary]:
    """List identifiers and names, newest first."""
    return sizings.list_sizings(workspace, listed.limit, listed.cursor, wanted=listed.of(model=model))


@router.get("/sizings/{id}", summary="Retrieve a sizing", responses=READ, dependencies=NARROW)
def get_sizing(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["siz_a2b3c4d5e6f7g2h3"])],
    limit: OptionsQuery = OPTIONS,
    cursor: CursorQuery = None,
) -> Sizing:
    """Return the result as computed when the sizing was created; a cursor returns the options that
    follow.
    """
    return sizings.paged(sizings.get_sizing(workspace, identifier), limit, cursor)


@router.post("/scalings", summary="Compute a scaling curve", responses=ASK)
@requires(Right.ASK, CostClass.SEARCH, body=LARGE_BODY)
def scale_system(
    workspace: WorkspaceDep, body: Annotated[SizingRequest, Body(examples=[SCALING])]
) -> ScalingCurve:
    """Compute time, cost and efficiency of one system over counts, and where more machines stop
    paying.
    """
    return sizings.scale_system(workspace, body)
