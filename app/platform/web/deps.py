"""What routes are given: the workbench, the workspace, the caller's key, the stretch of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from anyio import from_thread
from fastapi import Depends, Header, Query, Request
from starlette.datastructures import QueryParams

from app.platform.admission import Principal
from app.platform.idempotency import MAX_KEY
from app.platform.listing import MAX_ITEMS, USUAL_ITEMS
from app.platform.web.auth import PrincipalDep
from app.platform.workbench import Workbench


def workbench_of(request: Request) -> Workbench:
    """Return the workbench of whoever asks, the same for the whole of a request."""
    found = getattr(request.state, "workbench", None)
    if found is None:
        found = request.app.state.workbench
        assert isinstance(found, Workbench)
        principal: Principal | None = getattr(request.state, "principal", None)
        if principal is not None:
            found = request.state.workbench = found.of(principal.workspace_id)
    assert isinstance(found, Workbench)
    return found


def workspace_of(request: Request) -> str:
    """Return whose data the caller sees, on a page that is for members."""
    principal: Principal = request.state.principal
    return principal.workspace_id


# Coroutines, though they wait for nothing: what is not one is handed to a thread and waited for.
async def get_workbench(request: Request) -> Workbench:
    return workbench_of(request)


async def get_workspace(principal: PrincipalDep) -> str:
    """Return whose data the caller sees; without accounts there is one workspace."""
    return principal.workspace_id


BenchDep = Annotated[Workbench, Depends(get_workbench)]

WorkspaceDep = Annotated[str, Depends(get_workspace)]


async def get_query(request: Request) -> QueryParams:
    """Return what an address asks for, to a route that reads names of any number."""
    return request.query_params


async def get_gone(request: Request) -> Callable[[], bool]:
    """Return what tells a thread that answers a request whether its client has left."""
    return lambda: from_thread.run(request.is_disconnected)


GoneDep = Annotated[Callable[[], bool], Depends(get_gone)]

QueryDep = Annotated[QueryParams, Depends(get_query)]

KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same key with the same body returns the same response and stores "
        "once, for 24 hours.",
        examples=["5f0c6a52-quote-17"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    ),
]

LimitQuery = Annotated[
    int, Query(ge=1, le=MAX_ITEMS, description="Maximum number of items to return.", examples=[20])
]

CursorQuery = Annotated[
    str | None,
    Query(
        max_length=200,
        description="Cursor: the “next” value of an earlier response; if omitted, the first page.",
    ),
]

ID = "Identifier, from a list or an earlier response."

USUAL = USUAL_ITEMS

ALL = MAX_ITEMS
