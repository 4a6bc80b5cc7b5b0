"""Who did what in the workspace, for its owners."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from app.features.trail import service as trail
from app.features.trail.model import TrailEvent
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.web.api import LIST, api_router, file_answer
from app.platform.web.deps import CursorQuery, LimitQuery, Moment, WorkspaceDep
from app.platform.web.locale import CSV
from app.platform.web.requirements import Right, requires

router = api_router("audit", "/audit-events")

JSON_LINES = "application/jsonl"


class TrailParameters:
    """Filter of events, from the parameters of the address."""

    def __init__(
        self,
        action: Annotated[
            str | None,
            Query(max_length=80, description="Only events with this action.", examples=["proposal.frozen"]),
        ] = None,
        actor_kind: Annotated[
            str | None,
            Query(max_length=80, description="Only events by this kind of actor.", examples=["link"]),
        ] = None,
        actor_id: Annotated[
            str | None,
            Query(max_length=80, description="Only events by this actor.", examples=["acc_a2b3c4d5e6f7g2h3"]),
        ] = None,
        object_kind: Annotated[
            str | None,
            Query(max_length=80, description="Only events on this kind of object.", examples=["proposal"]),
        ] = None,
        object_id: Annotated[
            str | None,
            Query(
                max_length=80, description="Only events on this object.", examples=["prp_a2b3c4d5e6f7g2h3"]
            ),
        ] = None,
        since: Annotated[
            Moment | None,
            Query(description="Only events from this time on.", examples=["2026-11-01T00:00:00Z"]),
        ] = None,
        until: Annotated[
            Moment | None,
            Query(description="Only events before this time.", examples=["2026-12-01T00:00:00Z"]),
        ] = None,
    ) -> None:
        values = {
            "action": action, "actor_kind": actor_kind, "actor_id": actor_id, "object_kind": object_kind,
            "object_id": object_id,
        }  # fmt: skip
        self.chosen = trail.filter_of(values, since, until)


NarrowingDep = Annotated[TrailParameters, Depends()]


@router.get("", summary="List audit events", responses=LIST)
@requires(Right.MANAGE)
def list_audit_events(
    workspace: WorkspaceDep,
    narrowing: NarrowingDep,
    limit: LimitQuery = USUAL_ITEMS,
    cursor: CursorQuery = None,
) -> Page[TrailEvent]:
    """List actions in the workspace with actor and address, newest first; owners only, no API keys."""
    return trail.list_events(workspace, narrowing.chosen, limit, cursor)


@router.get(
    ".csv",
    summary="Export audit events as CSV",
    responses=file_answer(
        "text/csv",
        "One line per event.",
        "at,action,actor_kind,actor_id,object_kind,object_id\r\n"
        "2026-11-02T09:30:00+00:00,proposal.frozen,local,,proposal,prp_a2b3c4d5e6f7g2h3\r\n",
        LIST,
    ),
    response_class=StreamingResponse,
)
@requires(Right.MANAGE)
def export_audit_events(workspace: WorkspaceDep, narrowing: NarrowingDep) -> Response:
    """Return all matching events as a file, newest first.

    Text that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
    """
    lines = trail.events_csv(workspace, narrowing.chosen)
    headers = {"Content-Disposition": 'attachment; filename="audit-events.csv"'}
    return StreamingResponse(lines, media_type=CSV, headers=headers)


@router.get(
    ".jsonl",
    summary="Export audit events as JSON Lines",
    responses=file_answer(
        JSON_LINES,
        "One event per line.",
        '{"id":"evt_a2b3c4d5e6f7g2h3","at":"2026-11-02T09:30:00Z","action":"proposal.frozen"}\n',
        LIST,
    ),
    response_class=StreamingResponse,
)
@requires(Right.MANAGE)
def export_audit_lines(workspace: WorkspaceDep, narrowing: NarrowingDep) -> Response:
    """Return all matching events as a file, newest first, one JSON object per line."""
    lines = trail.events_jsonl(workspace, narrowing.chosen)
    headers = {"Content-Disposition": 'attachment; filename="audit-events.jsonl"'}
    return StreamingResponse(lines, media_type=JSON_LINES, headers=headers)
