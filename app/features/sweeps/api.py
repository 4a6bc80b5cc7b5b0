"""Jobs: long work, how far it is and where its result is."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Body, Path, Query, Request
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from app.features.sweeps import event_stream
from app.features.sweeps import service as sweeps
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.rows import Job, SweepAnswer, SweepState
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.api import ASK, CHANGE, LIST, READ, TAGGED, api_router, event_stream_content
from app.platform.web.deps import ID, USUAL, BenchDep, CursorQuery, KeyHeader, LimitQuery, WorkspaceDep
from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from app.platform.web.needs import Right, needs
from app.platform.web.tags import REMEMBER, write_tag

router = api_router("sweeps", "/sweeps")

SweepId = Annotated[str, Path(alias="id", description=ID, examples=["swp_a2b3c4d5e6f7g2h3"])]

LabelQuery = Annotated[str | None, Query(max_length=200, description="Only rows with this label.")]

OrderQuery = Annotated[
    sweeps.RowOrder,
    Query(description="What rows are sorted by; those without the figure come last.", examples=["cost"]),
]

CSV = "text/csv; charset=utf-8"

PARQUET = "application/vnd.apache.parquet"


def attachment(identifier: str, ending: str) -> dict[str, str]:
    """Return the header that makes a browser keep an answer as a file."""
    return {"Content-Disposition": f'attachment; filename="{identifier}.{ending}"'}


@router.post("", status_code=201, summary="Sweep over combinations", responses=ASK)
@needs(Right.MAKE, CostClass.SEARCH)
def create_sweep(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[SweepRequest, Body(examples=[PRICE_BOOK, FLEET_PLAN])],
    key: KeyHeader = None,
) -> SweepState:
    """Estimate every model on every system at every price in every scenario, in the background.

    A combination that cannot be estimated gets a row that says why. Uploaded profiles, samples and
    calibrations are named as in an estimate and must exist when the sweep is asked for.
    """
    return sweeps.create_sweep(bench, workspace, body, key)


@router.get("", summary="Sweeps asked for so far", responses=LIST)
def list_sweeps(
    bench: BenchDep, workspace: WorkspaceDep, limit: LimitQuery = USUAL, cursor: CursorQuery = None
) -> Page[SweepState]:
    """List identifiers, titles and how far each is, newest first."""
    return sweeps.list_sweeps(bench, workspace, limit, cursor)


@router.get(
    "/{id}.csv",
    summary="Results as CSV",
    responses={**READ, 200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    response_class=StreamingResponse,
)
def get_sweep_csv(bench: BenchDep, workspace: WorkspaceDep, identifier: SweepId) -> Response:
    """Read the rows there are in the order of the sweep, one line each; figures in SI units.

    Text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    lines = sweeps.sweep_csv(bench, workspace, identifier)
    return StreamingResponse(lines, media_type=CSV, headers=attachment(identifier, "csv"))


@router.get(
    "/{id}.parquet",
    summary="Results as Parquet",
    responses={**READ, 200: {"content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}}}},
    response_class=Response,
)
def get_sweep_parquet(bench: BenchDep, workspace: WorkspaceDep, identifier: SweepId) -> Response:
    """Read the rows there are as a Parquet file."""
    content = sweeps.sweep_parquet(bench, workspace, identifier)
    return Response(content, media_type=PARQUET, headers=attachment(identifier, "parquet"))


@router.get("/{id}", summary="Read a sweep", responses={**READ, **TAGGED}, dependencies=REMEMBER)
def get_sweep(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: SweepId,
    response: Response,
    limit: LimitQuery = USUAL,
    cursor: CursorQuery = None,
    order: OrderQuery = "position",
    model: LabelQuery = None,
    system: LabelQuery = None,
    price: LabelQuery = None,
    scenario: LabelQuery = None,
) -> SweepAnswer:
    """Read how far a sweep is, with a stretch of the rows there are; the ETag is for If-None-Match."""
    labels = sweeps.stated(model, system, price, scenario)
    place = sweeps.read_place(cursor, order)
    found = sweeps.get_sweep(
        bench, workspace, identifier, limit=limit, after=place, order=order, labels=labels
    )
    response.headers["ETag"] = write_tag(found.done)
    return found


@router.get(
    "/{id}/events",
    summary="Follow a sweep",
    responses={
        **READ,
        200: {"description": "Events until the sweep has ended.", "content": event_stream_content()},
        204: {"description": "The last event was received before; there is nothing to follow."},
    },
    response_class=StreamingResponse,
)
def follow_sweep(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: SweepId) -> Response:
    """Follow a sweep as server-sent events: ``progress`` with its state, at last ``end``."""
    read = partial(sweeps.get_state, bench, workspace, identifier)
    return event_stream.response(request, read, event_stream.as_json)


@router.post("/{id}/cancel", summary="Stop a sweep", responses=CHANGE)
@needs(Right.MAKE)
def cancel_sweep(bench: BenchDep, workspace: WorkspaceDep, identifier: SweepId) -> SweepState:
    """Stop a sweep; the rows there are stay, and it can be resumed."""
    return sweeps.cancel_sweep(bench, workspace, identifier)


@router.post("/{id}/resume", summary="Go on with a sweep", responses=CHANGE)
@needs(Right.MAKE, CostClass.SEARCH)
def resume_sweep(bench: BenchDep, workspace: WorkspaceDep, identifier: SweepId) -> SweepState:
    """Go on with a sweep that was cancelled or has failed, from the rows there are."""
    return sweeps.resume_sweep(bench, workspace, identifier)


jobs_router = api_router("operation", "/jobs")


@jobs_router.get(
    "/{id}",
    summary="Follow long work",
    responses={**READ, 200: {"content": event_stream_content()}},
    response_model=Job,
)
def get_job(
    request: Request,
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["swp_a2b3c4d5e6f7g2h3"])],
) -> Job | Response:
    """Read how far a job is; with ``Accept: text/event-stream``, as events until it has ended.

    The identifier of a job is that of what it makes, such as a sweep's.
    """
    found = sweeps.get_job(bench, workspace, identifier)
    if event_stream.MEDIA_TYPE not in request.headers.get("accept", ""):
        return found
    read = partial(sweeps.get_state, bench, workspace, identifier)
    return event_stream.response(request, read, event_stream.as_json)
