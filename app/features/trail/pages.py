"""The audit trail as a page: who did what, when and from where."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import Response, StreamingResponse

from app.errors import BadInput
from app.features.trail import service as trail
from app.features.trail.model import TrailEvent
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import CursorQuery, WorkspaceDep, workspace_of
from app.platform.web.locale import CSV, voice_of
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True)
class TrailLine:
    """An event as a line of the table."""

    at: str
    action: str
    actor: str
    """Name, or kind of actor."""
    actor_kind: str
    named: bool
    """Whether the actor is known by more than its kind."""
    object_kind: str
    object_id: str
    object_url: str
    """Address of the object; empty if it has none."""
    address: str
    detail: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailPage:
    """The audit trail, possibly filtered."""

    form: Form
    actions: Sequence[str]
    lines: Sequence[TrailLine]
    next: Choice | None
    """Address of older events."""
    csv_url: str


router = page_router()

PLACES = {
    "estimate": "/estimates", "comparison": "/comparisons", "calibration": "/calibrations",
    "sizing": "/api/v1/sizings", "price-book": "/price-books", "bill": "/api/v1/boms", "sweep": "/sweeps",
    "accelerator": "/accelerators", "study": "/studies", "proposal": "/proposals", "webhook": "/webhooks",
}  # fmt: skip
"""Kind of object → address of its pages."""


class TrailQuery:
    """Filter of events, from the address; days are in UTC."""

    def __init__(
        self,
        action: Annotated[str, Query(max_length=80)] = "",
        actor: Annotated[str, Query(max_length=80)] = "",
        object_id: Annotated[str, Query(max_length=80, alias="object")] = "",
        since: Annotated[str, Query(max_length=10)] = "",
        until: Annotated[str, Query(max_length=10)] = "",
    ) -> None:
        kind = {"actor_kind" if actor in KINDS else "actor_id": actor}
        self.chosen = trail.filter_of(
            {"action": action, "object_id": object_id, **kind}, day(since, "since"), day(until, "until")
        )


HASH = re.compile(r"[0-9a-f]{64}")

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")

FILTERS = ("action", "actor", "object", "since", "until")

KINDS = ("person", "key", "link", "local", "operator", "system")

FilterDep = Annotated[TrailQuery, Depends()]


def day(text: str, field: str) -> datetime | None:
    if not text.strip():
        return None
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise BadInput.at(field, "enter a date such as 2026-11-02") from None


@router.get("/audit.csv")
@requires(Right.MANAGE)
def show_trail_csv(workspace: WorkspaceDep, query: FilterDep) -> Response:
    """Return every event that is meant as a file."""
    headers = {"Content-Disposition": 'attachment; filename="audit-events.csv"'}
    lines = trail.events_csv(workspace, query.chosen)
    return StreamingResponse(lines, media_type=CSV, headers=headers)


def trail_page(request: Request, events: Page[TrailEvent]) -> TrailPage:
    voice = voice_of(request)
    values = {
        name: text.strip() for name, text in request.query_params.items() if name in FILTERS and text.strip()
    }
    query = urlencode(values)
    older = urlencode({**values, "cursor": events.next}) if events.next else ""
    return TrailPage(
        form=Form({name: [text] for name, text in values.items()}),
        actions=trail.actions(workspace_of(request)),
        lines=[line_of(event, voice) for event in events.items],
        next=Choice(f"/audit?{older}", "") if older else None,
        csv_url="/audit.csv" + (f"?{query}" if query else ""),
    )


@resource(router, "/audit", "trail/audit.html", trail_page, right=Right.MANAGE)
def show_trail(workspace: WorkspaceDep, query: FilterDep, cursor: CursorQuery = None) -> Page[TrailEvent]:
    return trail.list_events(workspace, query.chosen, USUAL_ITEMS, cursor)


def line_of(event: TrailEvent, voice: Voice) -> TrailLine:
    folder = PLACES.get(event.object.kind)
    return TrailLine(
        at=event.at.strftime("%Y-%m-%d %H:%M:%S"),
        action=event.action,
        actor=event.actor.name or event.actor.id or voice.label(event.actor.kind, "actor"),
        actor_kind=event.actor.kind,
        named=bool(event.actor.name or event.actor.id),
        object_kind=event.object.kind,
        object_id=event.object.id,
        object_url=f"{folder}/{event.object.id}" if folder and event.object.id else "",
        address=event.address,
        detail=detail_of(event.detail, voice),
        request_id=event.request_id,
    )


def detail_of(detail: Mapping[str, Any], voice: Voice) -> str:
    """Return the details as one line: the name first, then the rest by name."""
    name = [str(detail["name"])] if "name" in detail else []
    rest = [
        f"{voice.label(key, 'detail')}: {value_of(key, value, voice)}"
        for key, value in sorted(detail.items())
        if key != "name" and not isinstance(value, dict)
    ]
    return " · ".join([*name, *rest])


def value_of(key: str, value: Any, voice: Voice) -> str:
    """Format a value of a detail; hashes are shortened."""
    if isinstance(value, list):
        return ", ".join(voice.label(str(item), "detail") for item in value)
    if isinstance(value, bool):
        return voice.gettext("yes") if value else voice.gettext("no")
    text = str(value)
    if HASH.fullmatch(text):
        return f"{text[:12]}…"
    if MOMENT.match(text):
        return f"{text[:10]} {text[11:16]} UTC"
    return voice.label(text, key) if key in {"form", "role"} else text
