"""The database: connection, transactions, migrations at start-up."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from pydantic_core import to_json
from sqlalchemy import Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError
from sqlalchemy.orm import UOWTransaction
from sqlalchemy.orm.exc import StaleDataError
from sqlmodel import Session, select

from app.errors import BadInput, FieldError, Unavailable, VersionConflict, need
from app.platform.store.account_queries import (
    ANY_ACCOUNT,
    ExternalQueries,
    IdentityQueries,
    SessionQueries,
    replace_sealed,
    sealed_values,
)
from app.platform.store.database_file import DatabaseFile
from app.platform.store.document_queries import ACCELERATORS
from app.platform.store.failures import DAMAGED, GONE, Outage, PatientPool, is_overtaken, watch
from app.platform.store.integration_queries import claim_message, key_of, purge_messages, purge_rates
from app.platform.store.job_queries import (
    claim_job,
    jobs_by_state,
    take_back,
    take_turn,
    waiting_jobs,
    watched_jobs,
)
from app.platform.store.migrate import fits, upgrade
from app.platform.store.proposal_queries import ended_proposals, shared_by
from app.platform.store.repository import Repository
from app.platform.store.tables import WorkspaceRow
from app.platform.store.trail import TrailSession, without_null

P = ParamSpec("P")

T = TypeVar("T")

NULL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""U+0000 as JSON writes it, not a text that spells it with a backslash of its own."""

BUSY_MILLISECONDS = 20_000
"""How long a writer waits for another one on SQLite."""

POOL: dict[str, Any] = {
    "poolclass": PatientPool,
    "pool_size": 10,
    "max_overflow": 30,
    "pool_timeout": 10,
}
"""As many connections as there are threads that answer requests (40), of which ten stay open; so long one
is waited for. [s]"""

POSTGRES_SETTINGS: dict[str, int | str] = {
    "statement_timeout": 30_000,
    "lock_timeout": 5_000,
    "idle_in_transaction_session_timeout": 60_000,
    "plan_cache_mode": "force_custom_plan",
}
"""Settings of one session (PostgreSQL, 20.7.4 and 20.11): limits of a statement, of the wait for a lock, and
of a transaction in which nothing happens [ms]; plans made with the values that are searched for: one for any
values takes twice as long where a word is rare."""

POSTGRES: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 5_000,
}
"""Parameters of libpq (34.1.2): how soon a server that went away without a word is noticed."""


@dataclass(frozen=True, slots=True)
class IdentityStore:
    """The queries about people in one transaction."""

    people: IdentityQueries
    sessions: SessionQueries
    external: ExternalQueries


def across(query: Callable[Concatenate[Session, P], T]) -> Callable[Concatenate[Store, P], T]:
    """Make a query about every workspace, for what the server does for itself, a method of the store."""

    @wraps(query)
    def ask(store: Store, /, *values: P.args, **named: P.kwargs) -> T:
        with Session(store.engine, expire_on_commit=False) as session, session.begin():
            return query(session, *values, **named)

    return ask


class Store:
    """The database of one server."""

    def __init__(self, url: str) -> None:
        self.outage = Outage()
        self.engine = make_engine(url, self.outage)

    def migrate(self) -> None:
        upgrade(self.engine)

    @contextmanager
    def transaction(self, workspace_id: str) -> Iterator[Repository]:
        """Open the queries of one workspace; commit at the end, roll back on an exception."""
        with self._session(workspace_id) as session:
            yield Repository(session, workspace_id)

    @contextmanager
    def identity(self) -> Iterator[IdentityStore]:
        """Open the queries about people; commit at the end, roll back on an exception."""
        with self._session() as session:
            yield IdentityStore(IdentityQueries(session), SessionQueries(session), ExternalQueries(session))

    @contextmanager
    def _session(self, workspace_id: str | None = None) -> Iterator[Session]:
        """Open a session; where two were at the same rows, whoever is too late is told so.

        Queries that expect it catch what their database says before it comes here.
        """
        try:
            with TrailSession(self.engine, expire_on_commit=False) as session, session.begin():
                session.workspace_id = workspace_id
                yield session
        except (IntegrityError, StaleDataError) as error:
            if is_overtaken(error):
                raise VersionConflict(GONE, [FieldError("id", GONE)]) from error
            raise

    @contextmanager
    def counting(self, workspace_id: str) -> Iterator[Repository]:
        """Open a transaction of counts, which may be lost with the power: it does not wait for the disk.

        Other writers wait as briefly as can be for what almost every request does.
        """
        with self.engine.connect() as connection:
            sqlite = connection.dialect.name == "sqlite"
            # SQLite takes it for a connection, outside of its transactions.
            setting = "PRAGMA synchronous=NORMAL" if sqlite else "SET LOCAL synchronous_commit = off"
            connection.exec_driver_sql(setting)
            try:
                with Session(connection) as session:
                    yield Repository(session, workspace_id)
                connection.commit()
            finally:
                if sqlite:
                    connection.rollback()
                    connection.exec_driver_sql("PRAGMA synchronous=FULL")

    def found(self, statement: sa.Executable, **values: Any) -> Sequence[Any]:
        """Return what a statement finds, without the session that changes need."""
        with self.engine.connect() as connection:
            return connection.execute(statement, values).all()

    def any_account(self) -> bool:
        """Tell whether the server has accounts; without any it serves only this machine."""
        return bool(self.found(ANY_ACCOUNT))

    def accelerators(self, workspace_id: str) -> tuple[tuple[str, int, bool], ...]:
        """Return which accelerators a workspace has, in which version, and whether they were deleted."""
        rows = self.found(ACCELERATORS, workspace=workspace_id)
        return tuple((identifier, version, ended is not None) for identifier, version, ended in rows)

    def workspaces(self) -> list[str]:
        with Session(self.engine) as session:
            return list(session.exec(select(WorkspaceRow.id).order_by(WorkspaceRow.id)))

    def check(self) -> None:
        """Raise unless the database can be reached and no damage of it has been met."""
        with self.engine.connect():
            if self.outage.damaged:
                raise Unavailable(DAMAGED)

    def is_ready(self) -> bool:
        """Tell whether the database answers and its tables are those of this program."""
        with self.engine.connect() as connection:
            return fits(connection)

    claim_job = across(claim_job)
    watched_jobs = across(watched_jobs)
    waiting_jobs = across(waiting_jobs)
    take_back = across(take_back)
    jobs_by_state = across(jobs_by_state)
    shared_by = across(shared_by)
    ended_proposals = across(ended_proposals)
    key_of = across(key_of)
    purge_rates = across(purge_rates)
    claim_message = across(claim_message)
    purge_messages = across(purge_messages)
    sealed_values = across(sealed_values)
    replace_sealed = across(replace_sealed)
    _take_turn = across(take_turn)

    def take_turn(self, name: str, moment: datetime, due_before: datetime) -> bool:
        """Take the turn of a recurring chore; false where another server has taken it already."""
        try:
            return self._take_turn(name, moment, due_before)
        except IntegrityError:
            # Another server has just written the chore's first turn.
            return False

    def tidy(self) -> None:
        """Let the database keep its own house: on SQLite, refresh what its planner knows of the tables."""
        if self.engine.dialect.name == "sqlite":
            with self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA optimize")

    def close(self) -> None:
        self.engine.dispose()


def make_engine(url: str, outage: Outage | None = None) -> Engine:
    """Return an engine; on SQLite with write-ahead log, foreign keys and patience."""
    try:
        address = make_url(url)
        if address.get_backend_name() == "postgresql":
            need("psycopg", "postgres")
        engine = sa.create_engine(
            address, hide_parameters=True, json_serializer=written_document, **terms_of(address)
        )
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError):
        message = "this database address cannot be used; enter sqlite:///FILE or postgresql+psycopg://…"
        raise BadInput.at("RACKLINE_DATABASE_URL", message) from None
    outage = outage or Outage()
    if address.get_backend_name() == "sqlite":
        event.listen(engine, "connect", prepare_sqlite)
        if address.database not in {None, "", ":memory:"} and not address.query:
            DatabaseFile(Path(address.database or ""), outage).guard(engine)
    watch(engine, outage)
    return engine


def terms_of(address: URL) -> dict[str, Any]:
    """Return how connections to a database are made and kept."""
    if address.get_backend_name() == "sqlite":
        return POOL if address.database not in {None, "", ":memory:"} else {}
    given = address.query.get("options", "")
    settings = " ".join(f"-c {name}={value}" for name, value in POSTGRES_SETTINGS.items())
    # What the address itself states comes last and holds.
    options = f"{settings} {given if isinstance(given, str) else ' '.join(given)}".strip()
    return {**POOL, "pool_pre_ping": True, "connect_args": {**POSTGRES, "options": options}}


def written_document(document: Any) -> str:
    """Return a document as JSON; U+0000 in an uploaded name, which PostgreSQL refuses, is marked instead."""
    text = to_json(document).decode()
    # Hardly any document has one; to look for it costs a fiftieth of the replacing.
    return NULL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text


@event.listens_for(TrailSession, "before_flush")
def _mark_null(session: Session, context: UOWTransaction, instances: Any) -> None:
    for row in session.new.union(session.dirty):
        for name, value in list(vars(row).items()):
            if (marked := without_null(value)) is not value:
                setattr(row, name, marked)


def prepare_sqlite(connection: sqlite3.Connection, record: Any) -> None:
    """Set what SQLite leaves off."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # What was acknowledged must be there after the power has gone; a commit waits for the disk.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    cursor.close()
