"""Estimates: how long a training run takes, what it costs and why."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Depends, Path

from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.estimates import service as estimates
from app.features.estimates.model import EstimateSummary
from app.platform.listing import Page
from app.platform.web.api import ASK, LIST, READ, Narrowing, api_router
from app.platform.web.deps import ID, USUAL, BenchDep, CursorQuery, KeyHeader, LimitQuery, WorkspaceDep
from app.platform.web.examples import BARE_FIGURE, BERT_ON_IPUS, GPT3, OWN_MODEL, RESNET
from app.platform.web.needs import Right, needs

QUANTITIES = ("step_time", "throughput", "tokens_per_second", "mfu", "steps", "time_to_train", "energy")

WARNED = ("warnings.code", "warnings.severity", "warnings.message")

ESTIMATED = (
    *("id", "label", "model", "system", "plan", "software", "precision_used", "fits"),
    *("memory.per_device", "memory.capacity", *QUANTITIES, "cost.run", "cost.capex", "cost.hourly"),
    *("validation.status", "validation.family_error", "validation.basis", *WARNED),
)

ESTIMATES = Narrowing(Estimate, *ESTIMATED)

router = api_router("estimates", "/estimates")

NARROW = [Depends(ESTIMATES)]


@router.post("", status_code=201, summary="Create an estimate", responses=ASK, dependencies=NARROW)
@needs(Right.MAKE)
def create_estimate(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[EstimateRequest, Body(examples=[GPT3, RESNET, OWN_MODEL, BERT_ON_IPUS, BARE_FIGURE])],
    key: KeyHeader = None,
) -> Estimate:
    """Compute time to train, memory, energy and cost, each with its range, its warnings and its trace.

    A model that does not fit is also a result: ``fits`` is false and the warning ``does_not_fit`` says
    what would fit.
    """
    return estimates.create_estimate(bench, workspace, body, key)


@router.get("", summary="List estimates", responses=LIST)
def list_estimates(
    bench: BenchDep, workspace: WorkspaceDep, limit: LimitQuery = USUAL, cursor: CursorQuery = None
) -> Page[EstimateSummary]:
    """List identifiers and names, newest first."""
    return estimates.list_estimates(bench, workspace, limit, cursor)


@router.get("/{id}", summary="Retrieve an estimate", responses=READ, dependencies=NARROW)
def get_estimate(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["est_a2b3c4d5e6f7g2h3"])],
) -> Estimate:
    """Return the result as computed when the estimate was created."""
    return estimates.get_estimate(bench, workspace, identifier)
