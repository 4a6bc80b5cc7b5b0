"""The audit trail: read, narrowed and exported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from app.estimating.schema import filled
from app.features.trail.model import TrailActor, TrailEvent, TrailObject
from app.platform.listing import Page, in_utc, read_cursor, write_cursor
from app.platform.store.queries import After
from app.platform.store.tables import AuditEvent
from app.platform.store.trail import TrailFilter
from app.platform.tables import taken, written
from app.platform.workspace import Workspace

BATCH = 500
"""Events read at once in an export."""

COLUMNS = (
    "at", "action", "actor_kind", "actor_id", "actor_name", "object_kind", "object_id", "address",
    "request_id", "detail",
)  # fmt: skip

NARROWED = ("action", "actor_kind", "actor_id", "object_kind", "object_id")
"""Columns by which events are filtered."""


def filter_of(
    values: Mapping[str, str | None], since: datetime | None = None, until: datetime | None = None
) -> TrailFilter:
    """Return the filter of events; empty values do not filter."""
    return TrailFilter(
        {name: text for name in NARROWED if (text := values.get(name))},
        in_utc("since", since),
        in_utc("until", until),
    )


def list_events(
    workspace: Workspace, chosen: TrailFilter, limit: int, cursor: str | None
) -> Page[TrailEvent]:
    with workspace.transaction() as repository:
        rows, following = repository.trail.listing(chosen, limit, read_cursor(cursor))
    return Page(items=[document_of(row) for row in rows], next=write_cursor(following))


def document_of(row: AuditEvent) -> TrailEvent:
    return filled(
        TrailEvent,
        row,
        actor=TrailActor(kind=row.actor_kind, id=row.actor_id, name=row.actor_name),
        object=TrailObject(kind=row.object_kind, id=row.object_id),
    )


def actions(workspace: Workspace) -> list[str]:
    with workspace.transaction() as repository:
        return list(repository.trail.actions())


def events_csv(workspace: Workspace, chosen: TrailFilter) -> Iterator[str]:
    """Return events as the lines of a CSV file, newest first.

    Text that a spreadsheet would take for a formula is prefixed with an apostrophe.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for rows in batches(workspace, chosen):
        for row in rows:
            cells = [getattr(row, name) for name in COLUMNS[1:-1]]
            detail = json.dumps(row.detail, ensure_ascii=False, sort_keys=True)
            writer.writerow([row.at.isoformat(), *map(written, cells), detail])
        yield taken(buffer)


def events_jsonl(workspace: Workspace, chosen: TrailFilter) -> Iterator[str]:
    """Return events as JSON Lines, newest first, each as the API has it."""
    for rows in batches(workspace, chosen):
        yield "".join(f"{document_of(row).model_dump_json()}\n" for row in rows)


def batches(workspace: Workspace, chosen: TrailFilter) -> Iterator[Sequence[AuditEvent]]:
    after: After | None = None
    while True:
        # One transaction per batch: a slow reader must not hold one open.
        with workspace.transaction() as repository:
            rows, after = repository.trail.listing(chosen, BATCH, after)
        yield rows
        if after is None:
            return
