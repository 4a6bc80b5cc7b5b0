"""The audit trail: who did what, when and from where, written with the change itself.

Rows that are added, changed or dropped are noted by the session that writes them; what is changed by a
statement of its own is noted by the query that does it. Nothing here changes or drops an event, and the
database refuses to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal, cast

import sqlalchemy as sa
from sqlalchemy.orm import ORMExecuteState, UOWTransaction
from sqlalchemy.sql import Delete, Update, operators, visitors
from sqlalchemy.sql.elements import BinaryExpression, BindParameter
from sqlmodel import Session, SQLModel, col, select

from app.platform.store.account_tables import Account, AccountSession
from app.platform.store.integration_queries import messages_of
from app.platform.store.queries import CHANGED_COLUMNS, After, Queries, new_id, now
from app.platform.store.tables import AuditEvent, ProposalEventRecord, StudyRecord, StudyVersionRecord

ActorKind = Literal["person", "key", "local", "link", "operator", "system"]

MOST_LETTERS = 200
"""Letters of a text that are kept with an event."""


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


def current_actor() -> Actor:
    """Return in whose name is acted."""
    return _ACTING.get()


def acting_name() -> str:
    """Return the name of the person or key that acts; empty for links and the server itself."""
    actor = _ACTING.get()
    return actor.name if actor.kind in {"person", "key"} else ""


def acting_author() -> str:
    """Return the kind and identifier of who acts."""
    actor = _ACTING.get()
    return f"{actor.kind}:{actor.id}"


AUDITED: Mapping[str, str] = {
    "profile": "profile",
    "workload_sample": "workload",
    "estimate": "estimate",
    "calibration": "calibration",
    "sizing": "sizing",
    "price_book": "price-book",
    "accelerator": "accelerator",
    "bill": "bill",
    "sweep": "sweep",
    "api_key": "key",
    "webhook": "webhook",
    "membership": "member",
    "invitation": "invitation",
}
"""Table whose rows are noted as they come, change and go → kind of object."""

CHANGED = {table: kind for table, kind in AUDITED.items() if table not in {"sweep", "accelerator"}}
"""Tables whose rows may be changed by a statement; other queries note what matters themselves."""

DROPPED = {**AUDITED, "study": "study", "proposal": "proposal", "proposal_share": "link"}
"""Tables whose rows may be dropped by a statement."""

SILENT = frozenset({"updated_at", "last_used_at", "used_at", "succeeded_at"})
"""Columns whose change alone is nothing anybody did."""

NAMES = ("name", "title", "label", "email")
"""Columns that hold what an object is called."""


class ForeignRow(RuntimeError):
    """A transaction of one workspace was about to write a row of another."""


class TrailSession(Session):
    """A session that writes its trail; one that is of a workspace writes nothing that is of another."""

    workspace_id: str | None = None


@sa.event.listens_for(TrailSession, "before_flush")
def _note_rows(session: TrailSession, context: UOWTransaction, instances: Any) -> None:
    workspace_id = session.workspace_id
    for row in (*session.new, *session.dirty, *session.deleted):
        if workspace_id is not None and getattr(row, "workspace_id", workspace_id) != workspace_id:
            raise ForeignRow(f"a row of {type(row).__name__} belongs to another workspace")
    for event in [*events_of(session)]:
        session.add(event)
    for row in [*session.new]:
        if isinstance(row, AuditEvent) and is_told(session, row):
            values = {f"{row.object_kind}_id": row.object_id, "detail": {}}
            session.add_all(messages_of(session, row.workspace_id, row.action, row.at, values))


@sa.event.listens_for(TrailSession, "do_orm_execute")
def _note_statement(execution: ORMExecuteState) -> sa.Result[Any] | None:
    """Carry out a statement of the session's own, none of a flush, and note the rows it reached."""
    statement, changes = execution.statement, execution.is_update
    if not isinstance(statement, Update | Delete):
        return None
    session = cast("TrailSession", execution.session)
    kind = (CHANGED if changes else DROPPED).get(str(statement.table))
    equalities = criteria(statement)
    workspace = session.workspace_id or equalities.get("workspace_id")
    if kind is None or workspace is None:
        return None
    fields = sorted({*execution.execution_options[CHANGED_COLUMNS]} - SILENT) if changes else []
    if changes and not fields:
        return None
    result = cast("sa.CursorResult[Any]", execution.invoke_statement())
    if result.rowcount:
        identifier = str(equalities.get("id") or equalities.get("account_id") or "")
        kind = study_kind(identifier) if kind == "study" else kind
        few = {} if result.rowcount == 1 else {"count": result.rowcount}
        verb, detail = ("changed", {"fields": fields}) if changes else ("deleted", few)
        session.add(made(str(workspace), f"{kind}.{verb}", kind, identifier, detail))
    return result


def insert(session: Session, rows: Sequence[SQLModel]) -> None:
    """Write new rows of one table and their events by a statement each; the session does not hold them."""
    kind = AUDITED.get(str(rows[0].__tablename__))
    events = [
        made(str(getattr(row, "workspace_id", "")), f"{kind}.created", kind, identifier_of(row), named(row))
        for row in rows
        if kind is not None
    ]
    for written in filter(None, (rows, events)):
        table = sa.inspect(type(written[0])).local_table
        names = table.columns.keys()
        session.connection().execute(
            sa.insert(table), [{name: without_null(getattr(row, name)) for name in names} for row in written]
        )


def without_null(value: Any) -> Any:
    """Mark U+0000 in a text that is about to be written."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


TOLD = frozenset({"study", "sizing", "sweep"})
"""Kinds of objects of whose events in the trail webhooks are told; those of proposals tell themselves."""


def is_told(session: Session, event: AuditEvent) -> bool:
    """Tell whether webhooks are told of an event: not of answers that somebody only looks at."""
    if event.object_kind not in TOLD:
        return False
    if event.object_kind != "study":
        return True
    if event.action == "study.deleted":
        # What the server takes away itself was never kept.
        return event.actor_kind != SYSTEM.kind
    saved = select(StudyRecord.saved).where(
        StudyRecord.id == event.object_id, StudyRecord.workspace_id == event.workspace_id
    )
    return session.connection().execute(saved).scalar_one_or_none() is not False


def criteria(statement: Any) -> dict[str, Any]:
    """Return the columns that a statement's rows must have a value in, with the value."""
    clause = statement.whereclause
    if clause is None:
        return {}
    return {
        part.left.name: part.right.value
        for part in visitors.iterate(clause)
        if isinstance(part, BinaryExpression)
        and part.operator is operators.eq
        and isinstance(part.left, sa.Column)
        and isinstance(part.right, BindParameter)
    }


def events_of(session: Session) -> Iterator[AuditEvent]:
    """Return the events of what a session is about to write."""
    for row in session.new:
        workspace = str(getattr(row, "workspace_id", ""))
        if isinstance(row, ProposalEventRecord):
            yield made(workspace, f"proposal.{row.kind}", "proposal", row.proposal_id, row.detail)
        elif isinstance(row, StudyVersionRecord):
            details = {"name": row.content.get("name"), "version": row.version}
            of, verb = study_kind(row.study_id), "created" if row.version == 1 else "changed"
            yield made(workspace, f"{of}.{verb}", of, row.study_id, details)
        elif isinstance(row, AccountSession):
            if row.complete:
                detail = {"agent": row.user_agent, **({"failures": row.failures} if row.failures else {})}
                by = replace(owner_of(session, row), address=row.address)
                yield made(workspace, "session.started", "session", row.id, detail, by)
        elif kind := AUDITED.get(str(row.__tablename__)):
            yield made(workspace, f"{kind}.created", kind, identifier_of(row), named(row))
    for rows, verb in ((session.dirty, "changed"), (session.deleted, "deleted")):
        for row in rows:
            if isinstance(row, AccountSession) and row.complete and verb == "deleted":
                # Who signs out is no longer known by the session.
                actor = _ACTING.get()
                by = owner_of(session, row) if actor.kind == SYSTEM.kind else actor
                yield made(row.workspace_id, "session.ended", "session", row.id, {}, by)
            kind = AUDITED.get(str(row.__tablename__))
            fields = sorted(changed(row) - SILENT)
            if kind is not None and (fields or verb == "deleted"):
                detail = {**named(row), **({"fields": fields} if fields else {})}
                yield made(row.workspace_id, f"{kind}.{verb}", kind, identifier_of(row), detail)


def study_kind(identifier: str) -> str:
    """Return what an object in the table of studies is called."""
    return "comparison" if identifier.startswith("cmp_") else "study"


def owner_of(session: Session, row: AccountSession) -> Actor:
    """Return the person whom a session of a browser belongs to, as who acts."""
    named_by = select(Account.name).where(Account.id == row.account_id)
    name = session.connection().execute(named_by).scalar_one_or_none() or ""
    return replace(_ACTING.get(), kind="person", id=row.account_id, name=name)


def identifier_of(row: Any) -> str:
    """Return by what an object is known; members by their account."""
    return str(getattr(row, "id", "") or getattr(row, "account_id", ""))


def named(row: Any) -> dict[str, str]:
    """Return what an object is called, for its event, and what a member may do."""
    found = next((getattr(row, name) for name in NAMES if hasattr(row, name)), None)
    role = getattr(row, "role", None)
    return {
        **({} if found is None else {"name": str(found)}),
        **({} if role is None else {"role": str(role)}),
    }


def changed(row: Any) -> set[str]:
    state = sa.inspect(row)
    return {column.key for column in state.attrs if column.history.has_changes()}


def made(
    workspace_id: str,
    action: str,
    kind: str,
    identifier: str,
    detail: Mapping[str, Any],
    actor: Actor | None = None,
) -> AuditEvent:
    """Return an event in the name of who acts."""
    actor = actor or _ACTING.get()
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
        detail={
            name: value[:MOST_LETTERS] if isinstance(value, str) else value
            for name, value in detail.items()
            if value is not None
        },
    )


@dataclass(frozen=True, slots=True)
class TrailFilter:
    """Which events are meant; what is empty narrows nothing."""

    equal: Mapping[str, str] = field(default_factory=dict)
    """Column → value."""
    since: datetime | None = None
    until: datetime | None = None


class TrailQueries(Queries):
    """The trail of one workspace."""

    def note(self, action: str, kind: str, identifier: str, **detail: Any) -> AuditEvent:
        event = made(self._workspace_id, action, kind, identifier, detail)
        self._session.add(event)
        return event

    def note_once(self, stretch: timedelta, action: str, kind: str, identifier: str, **detail: Any) -> None:
        """Write down what is done, unless the very same was written down within a stretch of time."""
        event = made(self._workspace_id, action, kind, identifier, detail)
        # A clock that was put back must not silence the events until it has caught up.
        lately = col(AuditEvent.at).between(event.at - stretch, event.at + stretch)
        same = {"action": event.action, "object_kind": event.object_kind, "object_id": event.object_id}
        if event.detail not in self.values(AuditEvent, AuditEvent.detail, lately, **same):
            self._session.add(event)

    def listing(
        self, chosen: TrailFilter, limit: int, after: tuple[datetime, str] | None
    ) -> tuple[Sequence[AuditEvent], After | None]:
        query = select(AuditEvent).filter_by(**chosen.equal)
        if chosen.since is not None:
            query = query.where(col(AuditEvent.at) >= chosen.since)
        if chosen.until is not None:
            query = query.where(col(AuditEvent.at) < chosen.until)
        return self.stretch(query, AuditEvent, limit, after, moment="at")

    def actions(self) -> Sequence[str]:
        """Return the actions there have been, for a list to choose from; one is found behind the other."""
        action, actions = col(AuditEvent.action), [""]
        while (
            following := self.values(AuditEvent, sa.func.min(action), action > actions[-1])[0]
        ) is not None:
            actions.append(following)
        return actions[1:]
