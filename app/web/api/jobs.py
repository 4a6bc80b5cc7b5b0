"""Jobs: long work, how far it is and where its result is."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Path, Request
from starlette.responses import Response

from app.services import sweeps
from app.sizing.sweep.documents import Job
from app.web import event_stream
from app.web.api.responses import READ, event_stream_content
from app.web.api.routers import api_router
from app.web.deps import ID, BenchDep, WorkspaceDep

router = api_router("operation", "/jobs")


@router.get(
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
