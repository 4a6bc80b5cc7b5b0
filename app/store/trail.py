"""The audit trail: who did what, when and from where, written with the change itself.

Rows that are added, changed or dropped are noted by the session that writes them; what is changed by a
statement of its own is noted by the query that does it. Nothing here changes or drops an event, and the
database refuses to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.orm import UOWTransaction
from sqlmodel import Session, SQLModel, col, select, tuple_

from app.store.tables import AuditEvent, ProposalEventRecord, StudyVersionRecord
from app.store.types import new_id, now

ActorKind = Literal["person", "key", "local", "link", "operator", "system"]

MOST_LETTERS = 200
"""Letters of a name that are kept with an event."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something."""

    kind: ActorKind
    id: str = ""
    name: str = ""
    address: str = ""
    """Network address it was asked from."""
    request_id: str = ""
    """Of the request it was asked with."""


SYSTEM = Actor("system", name="Rackline")
"""The server itself: sweeps that end, what is done at the start."""

_ACTING: ContextVar[Actor] = ContextVar("acting", default=SYSTEM)


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Do what follows in somebody's name."""
    before = _ACTING.set(actor)
    try:
        yield
    finally:
        _ACTING.reset(before)


AUDITED: Mapping[str, str] = {
    "profile": "profile",
    "workload_sample": "workload",
    "estimate": "estimate",
    "comparison": "comparison",
    "calibration": "calibration",
    "sizing": "sizing",
    "price_book": "price-book",
    "bill": "bill",
    "sweep": "sweep",
    "api_key": "key",
    "webhook": "webhook",
    "membership": "member",
    "invitation": "invitation",
}
"""Table whose rows are noted as they come, change and go → kind of object."""

SILENT = frozenset({"updated_at", "last_used_at", "used_at", "runner", "heartbeat"})
"""Columns whose change alone is nothing anybody did."""

NAMES = ("name", "title", "label")
"""Columns that hold what an object is called."""


class ForeignRow(RuntimeError):
    """A transaction of one workspace was about to write a row of another."""


def watch(session: Session, workspace_id: str) -> None:
    """Let a session write its trail, and keep it from writing what is not of its workspace."""

    def before_flush(session: Session, context: UOWTransaction, instances: Any) -> None:
        for row in (*session.new, *session.dirty, *session.deleted):
            if getattr(row, "workspace_id", workspace_id) != workspace_id:
                raise ForeignRow(f"a row of {type(row).__name__} belongs to another workspace")
        for event in list(events_of(session, workspace_id)):
            session.add(event)

    sa.event.listen(session, "before_flush", before_flush)


def events_of(session: Session, workspace_id: str) -> Iterator[AuditEvent]:
    """Return the events of what a session is about to write."""
    for row in session.new:
        if isinstance(row, ProposalEventRecord):
            yield made(workspace_id, f"proposal.{row.kind}", "proposal", row.proposal_id, row.detail)
        elif isinstance(row, StudyVersionRecord):
            action = "study.created" if row.version == 1 else "study.changed"
            detail = {"name": row.content.get("name"), "version": row.version}
            yield made(workspace_id, action, "study", row.study_id, detail)
        elif kind := AUDITED.get(str(row.__tablename__)):
            yield made(workspace_id, f"{kind}.created", kind, row.id, named(row))
    for row in session.dirty:
        if kind := AUDITED.get(str(row.__tablename__)):
            fields = sorted(changed(row) - SILENT)
            if fields:
                yield made(workspace_id, f"{kind}.changed", kind, row.id, {**named(row), "fields": fields})
    for row in session.deleted:
        if kind := AUDITED.get(str(row.__tablename__)):
            yield made(workspace_id, f"{kind}.deleted", kind, row.id, named(row))


def named(row: SQLModel) -> dict[str, str]:
    """Return what an object is called, for its event."""
    found = next((getattr(row, name) for name in NAMES if hasattr(row, name)), None)
    return {} if found is None else {"name": str(found)}


def changed(row: SQLModel) -> set[str]:
    """Return the columns of a row that are about to change."""
    state = sa.inspect(row)
    return {one.key for one in state.attrs if one.history.has_changes()}


def made(
    workspace_id: str, action: str, kind: str, identifier: str, detail: Mapping[str, Any]
) -> AuditEvent:
    """Return an event in the name of who acts."""
    actor = _ACTING.get()
    return AuditEvent(
        id=new_id("aud"),
        workspace_id=workspace_id,
        at=now(),
        action=action[:60],
        actor_kind=actor.kind,
        actor_id=actor.id[:80],
        actor_name=actor.name[:MOST_LETTERS],
        object_kind=kind,
        object_id=identifier[:80],
        address=actor.address[:64],
        request_id=actor.request_id[:64],
        detail={name: cut(value) for name, value in detail.items() if value is not None},
    )


def cut(value: Any) -> Any:
    """Return a value as it is kept with an event: texts are not kept at any length."""
    return value[:MOST_LETTERS] if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class TrailFilter:
    """Which events are meant; what is empty narrows nothing."""

    equal: Mapping[str, str] = field(default_factory=dict)
    """Column → value."""
    since: datetime | None = None
    until: datetime | None = None


class TrailQueries:
    """The queries of one workspace's trail in one transaction."""

    def __init__(self, session: Session, workspace_id: str) -> None:
        self._session = session
        self._workspace_id = workspace_id

    def note(self, action: str, kind: str, identifier: str, **detail: Any) -> None:
        """Write down what is done."""
        self._session.add(made(self._workspace_id, action, kind, identifier, detail))

    def listing(
        self, chosen: TrailFilter, limit: int, after: tuple[datetime, str] | None
    ) -> tuple[Sequence[AuditEvent], tuple[datetime, str] | None]:
        """Return a stretch of events, newest first, and behind which the next one begins."""
        query = select(AuditEvent).where(AuditEvent.workspace_id == self._workspace_id)
        for name, value in chosen.equal.items():
            query = query.where(col(getattr(AuditEvent, name)) == value)
        if chosen.since is not None:
            query = query.where(col(AuditEvent.at) >= chosen.since)
        if chosen.until is not None:
            query = query.where(col(AuditEvent.at) < chosen.until)
        if after is not None:
            query = query.where(tuple_(col(AuditEvent.at), col(AuditEvent.id)) < tuple_(*after))
        query = query.order_by(col(AuditEvent.at).desc(), col(AuditEvent.id).desc())
        rows = self._session.exec(query.limit(limit + 1)).all()
        more, rows = len(rows) > limit, rows[:limit]
        return rows, (rows[-1].at, rows[-1].id) if more else None

    def actions(self) -> Sequence[str]:
        """Return the actions there have been, for a list to choose from."""
        query = select(AuditEvent.action).where(AuditEvent.workspace_id == self._workspace_id)
        return sorted(self._session.exec(query.distinct()))
