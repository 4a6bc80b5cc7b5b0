"""Estimates: how long a training run takes, what it costs and why."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Body, Depends, Path, Request

from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.estimates import service as estimates
from app.features.estimates.document import with_links
from app.features.estimates.model import EstimateSummary
from app.platform.listing import Page
from app.platform.web.api import ASK, CHANGE, LIST, READ, AnswerSelection, api_router
from app.platform.web.auth import located_at
from app.platform.web.deps import ID, KeyHeader, ListDep, ModelQuery, WorkspaceDep
from app.platform.web.examples import BARE_FIGURE, BERT_ON_IPUS, GPT3, OWN_MODEL, RESNET
from app.platform.web.locale import wanted_language
from app.platform.web.requirements import LARGE_BODY, Right, requires
from app.platform.wording.voice import voice

QUANTITIES = ("step_time", "throughput", "tokens_per_second", "mfu", "steps", "time_to_train", "energy")

WARNED = ("warnings.code", "warnings.severity", "warnings.message")

ESTIMATED = (
    *(
        "id",
        "created_at",
        "summary",
        "name",
        "model",
        "system",
        "plan",
        "software",
        "precision_used",
        "fits",
    ),
    *("memory.per_device", "memory.capacity", *QUANTITIES, "cost.run", "cost.capex", "cost.hourly"),
    *("validation.status", "validation.family_error", "validation.basis", *WARNED),
)

ESTIMATES = AnswerSelection(Estimate, *ESTIMATED)

router = api_router("estimates", "/estimates")

NARROW = [Depends(ESTIMATES)]

EstimateId = Annotated[str, Path(alias="id", description=ID, examples=["est_a2b3c4d5e6f7g2h3"])]


def answered(request: Request, estimate: Estimate) -> Estimate:
    """Return an estimate with its addresses, and its summary in the language of a request."""
    return with_links(estimate, voice(wanted_language(request)), partial(located_at, request))


@router.post("", status_code=201, summary="Create an estimate", responses=ASK, dependencies=NARROW)
@requires(Right.MAKE, body=LARGE_BODY)
def create_estimate(
    request: Request,
    workspace: WorkspaceDep,
    body: Annotated[EstimateRequest, Body(examples=[GPT3, RESNET, OWN_MODEL, BERT_ON_IPUS, BARE_FIGURE])],
    key: KeyHeader = None,
) -> Estimate:
    """Compute time to train, memory, energy and cost, each with its range, its warnings and its trace.

    A model that does not fit is also a result: ``fits`` is false and the warning ``does_not_fit`` says
    what would fit.
    """
    return answered(request, estimates.create_estimate(workspace, body, key))


@router.get("", summary="List estimates", responses=LIST)
def list_estimates(workspace: WorkspaceDep, listed: ListDep, model: ModelQuery = "") -> Page[EstimateSummary]:
    """List identifiers and names, newest first."""
    wanted = listed.of(model=model)
    return estimates.list_estimates(workspace, listed.limit, listed.cursor, wanted=wanted)


@router.get("/{id}", summary="Retrieve an estimate", responses=READ, dependencies=NARROW)
def get_estimate(request: Request, workspace: WorkspaceDep, identifier: EstimateId) -> Estimate:
    """Return the result as computed when the estimate was created, with what was asked."""
    return answered(request, estimates.get_estimate(workspace, identifier))


@router.post(
    "/{id}/run", status_code=201, summary="Run an estimate again", responses=ASK, dependencies=NARROW
)
@requires(Right.MAKE)
def run_estimate(
    request: Request, workspace: WorkspaceDep, identifier: EstimateId, key: KeyHeader = None
) -> Estimate:
    """Create an estimate from the request of this one, with the engine and catalogue of today."""
    return answered(request, estimates.run_again(workspace, identifier, key))


@router.delete("/{id}", status_code=204, summary="Delete an estimate", responses=CHANGE)
@requires(Right.MAKE)
def delete_estimate(workspace: WorkspaceDep, identifier: EstimateId) -> None:
    """Delete an estimate; 409 if a comparison, bill of materials or proposal refers to it."""
    estimates.delete_estimate(workspace, identifier)
