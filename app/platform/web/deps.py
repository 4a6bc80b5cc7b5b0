"""What routes are given: the workspace, the caller's key, the stretch of a list."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from anyio import from_thread
from fastapi import Depends, Header, Query, Request
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from starlette.datastructures import QueryParams

from app.platform.admission import Principal
from app.platform.idempotency import MAX_KEY
from app.platform.listing import MAX_ITEMS, USUAL_ITEMS, ListFilter, ListOrder, in_utc
from app.platform.web.auth import PrincipalDep
from app.platform.web.locale import PARAMETER, voice_of
from app.platform.wording.voice import Voice
from app.platform.workspace import Installation, Workspace

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def as_written(value: object) -> object:
    """Return a moment that is written as a date with a time; a bare number is none."""
    if isinstance(value, str) and not DATE.match(value):
        raise PydanticCustomError("datetime_type", "must be a moment such as 2026-11-01T00:00:00Z")
    return value


def installation_of(request: Request) -> Installation:
    installation: Installation = request.app.state.installation
    return installation


def workspace_of(request: Request) -> Workspace:
    """Return the workspace of whoever asks, the same for the whole of a request."""
    workspace: Workspace | None = getattr(request.state, "workspace", None)
    if workspace is None:
        principal: Principal = request.state.principal
        workspace = request.state.workspace = installation_of(request).workspace(principal.workspace_id)
    return workspace


# Coroutines, though they wait for nothing: what is not one is handed to a thread and waited for.
async def get_installation(request: Request) -> Installation:
    return installation_of(request)


async def get_workspace(request: Request, principal: PrincipalDep) -> Workspace:
    """Return whose data the caller sees; without accounts there is one workspace."""
    return workspace_of(request)


InstallationDep = Annotated[Installation, Depends(get_installation)]

WorkspaceDep = Annotated[Workspace, Depends(get_workspace)]


async def get_query(request: Request) -> QueryParams:
    """Return what an address asks for, to a route that reads names of any number."""
    return request.query_params


async def get_gone(request: Request) -> Callable[[], bool]:
    """Return what tells a thread that answers a request whether its client has left.

    Who asks for it computes in another process: others may have the place of a large body meanwhile.
    """
    getattr(request.state, "leave_place", bool)()
    return lambda: from_thread.run(request.is_disconnected)


GoneDep = Annotated[Callable[[], bool], Depends(get_gone)]

QueryDep = Annotated[QueryParams, Depends(get_query)]

LanguageQuery = Annotated[
    Literal["en", "ko"] | None,
    Query(
        alias=PARAMETER,
        description="Language of headings and texts; if omitted, that of Accept-Language, else English.",
        examples=["ko"],
    ),
]


async def get_file_voice(request: Request, lang: LanguageQuery = None) -> Voice:
    return voice_of(request)


FileVoiceDep = Annotated[Voice, Depends(get_file_voice)]

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

Moment = Annotated[datetime, BeforeValidator(as_written)]

SearchQuery = Annotated[
    str,
    Query(
        max_length=200,
        description="Only items whose name, or customer, contains these words, whatever the case.",
        examples=["bert seoul"],
    ),
]


class ListQuery:
    """Which stretch of a list is meant, of which items and in which order: parameters of the address."""

    def __init__(
        self,
        limit: LimitQuery = USUAL_ITEMS,
        cursor: CursorQuery = None,
        search: SearchQuery = "",
        since: Annotated[
            Moment | None,
            Query(
                description="Only items created or changed at this time or later.",
                examples=["2026-11-01T00:00:00Z"],
            ),
        ] = None,
        order: Annotated[
            ListOrder,
            Query(
                description="Order: newest or oldest first by creation; updated: last changed first. "
                "Use a cursor with the order it came from."
            ),
        ] = "newest",
    ) -> None:
        self.limit, self.cursor = limit, cursor
        self.wanted = ListFilter(search, in_utc("since", since), order)

    def of(self, **narrowed: str) -> ListFilter:
        """Return which items are meant, of a customer or a model."""
        return replace(self.wanted, **narrowed)  # type: ignore[arg-type]


CustomerQuery = Annotated[
    str,
    Query(
        max_length=300, description="Only items of this customer, by the whole name.", examples=["Customer A"]
    ),
]

ModelQuery = Annotated[
    str,
    Query(
        max_length=200,
        description="Only items of this model: the identifier of a preset or an uploaded model.",
        examples=["gpt3-175b"],
    ),
]

ListDep = Annotated[ListQuery, Depends()]

VersionQuery = Annotated[
    int | None, Query(ge=1, description="Version; if omitted, the newest.", examples=[1])
]

ID = "Identifier, from a list or an earlier response."


ALL = MAX_ITEMS
