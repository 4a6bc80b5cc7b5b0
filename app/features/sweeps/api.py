"""Sweeps and jobs."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Body, Depends, Path, Query, Request
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from app.features.sweeps import service as sweeps
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.rows import Job, SweepAnswer, SweepState, csv_lines, parquet
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.rates import CostClass
from app.platform.web import event_stream
from app.platform.web.api import (
    ASK,
    CHANGE,
    LIST,
    READ,
    api_router,
    event_stream_content,
    file_answer,
    write_tag,
)
from app.platform.web.deps import ID, CursorQuery, KeyHeader, LimitQuery, ListDep, WorkspaceDep
from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from app.platform.web.locale import CSV
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("sweeps", "/sweeps")

SweepId = Annotated[str, Path(alias="id", description=ID, examples=["swp_a2b3c4d5e6f7g2h3"])]

LabelQuery = Annotated[str | None, Query(max_length=200, description="Only rows with this label.")]

OrderQuery = Annotated[
    sweeps.RowOrder,
    Query(description="Figure by which rows are sorted; rows without it come last.", examples=["cost"]),
]


class RowFilter:
    """Filters and order of rows, from query parameters."""

    def __init__(
        self,
        model: LabelQuery = None,
        system: LabelQuery = None,
        price: LabelQuery = None,
        scenario: LabelQuery = None,
        order: OrderQuery = "position",
    ) -> None:
        labels: dict[sweeps.RowLabel, str | None] = {
            "model": model, "system": system, "price": price, "scenario": scenario
        }  # fmt: skip
        self.labels = {name: label for name, label in labels.items() if label}
        self.order = order


FilterDep = Annotated[RowFilter, Depends()]

PARQUET = "application/vnd.apache.parquet"


def as_json(state: SweepState, before: SweepState | None = None) -> str:
    """Return a state as an event with JSON data."""
    return event_stream.event(state.model_dump_json(), "progress")


def attachment(identifier: str, ending: str) -> dict[str, str]:
    """Return the header with which a browser saves a response as a file."""
    return {"Content-Disposition": f'attachment; filename="{identifier}.{ending}"'}


@router.post("", status_code=201, summary="Create a sweep", responses=ASK)
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def create_sweep(
    workspace: WorkspaceDep,
    body: Annotated[SweepRequest, Body(examples=[PRICE_BOOK, FLEET_PLAN])],
    key: KeyHeader = None,
) -> SweepState:
    """Estimate every model on every system at every price in every scenario, in the background.

    A combination that cannot be estimated has a row with the reason. Uploaded profiles, samples and
    calibrations are referred to as in an estimate and must exist when the sweep is created.
    """
    return sweeps.create_sweep(workspace, body, key)


@router.get("", summary="List sweeps", responses=LIST)
def list_sweeps(workspace: WorkspaceDep, listed: ListDep) -> Page[SweepState]:
    """List identifiers, titles and progress, newest first."""
    return sweeps.list_sweeps(workspace, listed.limit, listed.cursor, wanted=listed.wanted)


@router.get(
    "/{id}.csv",
    summary="Export results as CSV",
    responses=file_answer(
        "text/csv",
        "One line per result.",
        "position,model,system,count,time_to_train,cost\r\n0,BERT-Large,DGX A100,1,140500.0,2210.0\r\n",
    ),
    response_class=StreamingResponse,
)
def get_sweep_csv(workspace: WorkspaceDep, identifier: SweepId) -> Response:
    """Return the available rows in the order of the sweep, one line each; figures in SI units.

    Text that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
    """
    lines = csv_lines(sweeps.every_row(workspace, identifier))
    return StreamingResponse(lines, media_type=CSV, headers=attachment(identifier, "csv"))


@router.get(
    "/{id}.parquet",
    summary="Export results as Parquet",
    responses=file_answer(PARQUET, "One row per result."),
    response_class=Response,
)
def get_sweep_parquet(workspace: WorkspaceDep, identifier: SweepId) -> Response:
    """Return the available rows as a Parquet file."""
    content = parquet(sweeps.every_row(workspace, identifier))
    return Response(content, media_type=PARQUET, headers=attachment(identifier, "parquet"))


@router.get("/{id}", summary="Retrieve a sweep", responses=READ)
def get_sweep(
    workspace: WorkspaceDep,
    identifier: SweepId,
    response: Response,
    wanted: FilterDep,
    limit: LimitQuery = USUAL_ITEMS,
    cursor: CursorQuery = None,
) -> SweepAnswer:
    """Return the progress of a sweep and one page of its available rows; use the ETag in
    If-None-Match.
    """
    after = sweeps.read_row_cursor(cursor, wanted.order)
    answer = sweeps.get_sweep(
        workspace, identifier, limit=limit, after=after, order=wanted.order, labels=wanted.labels
    )
    response.headers["ETag"] = write_tag(answer.done)
    return answer


@router.get(
    "/{id}/events",
    summary="Follow a sweep",
    responses={
        **READ,
        200: {"description": "Events until the sweep has ended.", "content": event_stream_content()},
        204: {"description": "The last event was already received; no further events follow."},
    },
    response_class=StreamingResponse,
)
def follow_sweep(request: Request, workspace: WorkspaceDep, identifier: SweepId) -> Response:
    """Follow a sweep as server-sent events: ``progress`` with its state, finally ``end``."""
    read = partial(sweeps.get_state, workspace, identifier)
    return event_stream.response(request, read, as_json)


@router.post("/{id}/cancel", summary="Cancel a sweep", responses=CHANGE)
@requires(Right.MAKE)
def cancel_sweep(workspace: WorkspaceDep, identifier: SweepId) -> SweepState:
    """Cancel a sweep; the available rows are kept, and it can be resumed."""
    return sweeps.cancel_sweep(workspace, identifier)


@router.post("/{id}/resume", summary="Resume a sweep", responses=CHANGE)
@requires(Right.MAKE, CostClass.SEARCH)
def resume_sweep(workspace: WorkspaceDep, identifier: SweepId) -> SweepState:
    """Resume a sweep that was cancelled or has failed, starting from the available rows."""
    return sweeps.resume_sweep(workspace, identifier)


@router.delete("/{id}", status_code=204, summary="Delete a sweep", responses=CHANGE)
@requires(Right.MAKE)
def delete_sweep(workspace: WorkspaceDep, identifier: SweepId) -> None:
    """Delete a sweep with its rows; 409 if it is queued or running."""
    sweeps.delete_sweep(workspace, identifier)


jobs_router = api_router("operation", "/jobs")


@jobs_router.get(
    "/{id}",
    summary="Retrieve a job",
    responses={**READ, 200: {"content": event_stream_content()}},
    response_model=Job,
)
def get_job(request: Request, workspace: WorkspaceDep, identifier: SweepId) -> Job | Response:
    """Return the progress of a job; with ``Accept: text/event-stream``, as events until it has ended.

    The identifier of a job is that of the object that it creates, such as a sweep.
    """
    job = sweeps.get_job(workspace, identifier)
    if event_stream.MEDIA_TYPE not in request.headers.get("accept", ""):
        return job
    read = partial(sweeps.get_state, workspace, identifier)
    return event_stream.response(request, read, as_json)
