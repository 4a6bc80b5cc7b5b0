"""Migrations, run at start-up rather than by hand, and whether the tables are whole.

Alembic takes a quarter of a second to load, and is only needed where something is to be migrated.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from app.errors import Conflict, Message, Unavailable
from app.platform.store.failures import DAMAGED

if TYPE_CHECKING:
    from alembic.config import Config


SCRIPTS = Path(__file__).parent / "migrations"

REVISIONS = sorted(path.name.partition("_")[0] for path in (SCRIPTS / "versions").glob("[0-9]*.py"))
"""Each migration's file begins with its revision, and they follow one another; the first is version 0.1.0."""

VERSION = "alembic_version"
"""Table with the revision of the tables."""

WORDS = "estimate_words"
"""What the names of tables begin with whose content is in others, too: of an index of words."""

LOCK = 7239541
"""Number of the lock that whoever migrates holds on PostgreSQL; any will do that nothing else uses."""


def upgrade(engine: Engine) -> None:
    """Bring the tables up to the newest revision; does nothing where they are.

    All of it is one transaction that shuts out every other server's: several may be started at once,
    and one that is killed half way leaves the tables as they were.
    """
    with engine.begin() as connection:
        bring_up(connection)


def bring_up(connection: Connection) -> None:
    """Bring the tables up within a transaction of the caller's, or say which version must do so."""
    shut_others_out(connection)
    there = revision_of(connection)
    if there == REVISIONS[-1]:
        return
    if there is not None and there not in REVISIONS:
        older = there < REVISIONS[0]
        raise Conflict(Message(TOO_OLD if older else TOO_NEW, {"revision": there}))
    from alembic import command

    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


TOO_OLD = (
    "the database has tables of a version before 0.1.0 ({revision}), which this one cannot upgrade; start "
    "version 0.1.0 on it once, then this one"
)

TOO_NEW = (
    "the database was upgraded by a newer version of Rackline to tables ({revision}) that this one cannot "
    "use; start the newer version, or restore the backup made before the upgrade"
)


def shut_others_out(connection: Connection) -> None:
    """Wait until no other server migrates, and let none begin before this transaction ends."""
    if connection.dialect.name == "sqlite":
        # Python's driver begins transactions for rows only, not for tables.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        without_limits(connection)
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")


def without_limits(connection: Connection) -> None:
    """Let this transaction take as long as it takes; what is copied or changed as a whole may take hours."""
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {limit} = 0")


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the tables; None where there are none."""
    if not sa.inspect(connection).has_table(VERSION):
        return None
    revision: str | None = connection.scalar(sa.text(f"SELECT version_num FROM {VERSION}"))
    return revision


def fits(connection: Connection) -> bool:
    """Tell whether the tables are those of this program."""
    return revision_of(connection) == REVISIONS[-1]


def configuration() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


Said = tuple[str, dict[str, object]]

MOST = 20
"""Faults of one kind that are told."""


RESTORE = "the database is damaged: stop every server and restore the newest backup, as the runbook says"


def database_problems(engine: Engine) -> Iterator[Said]:
    """Return what is wrong with the tables: pages, indexes and references."""
    try:
        yield from table_problems(engine)
    except Unavailable as error:
        if error.message is not DAMAGED:
            raise
        yield RESTORE, {}


def table_problems(engine: Engine) -> Iterator[Said]:
    with engine.connect() as connection:
        without_limits(connection)
        if not fits(connection):
            yield ("the database tables do not match this version of Rackline; start the server once"), {}
            return
        if connection.dialect.name == "sqlite":
            yield from sqlite_problems(connection)
        else:
            yield from broken_references(connection)


def sqlite_problems(connection: sa.Connection) -> Iterator[Said]:
    faults = connection.exec_driver_sql(f"PRAGMA integrity_check({MOST})").scalars().all()
    if faults != ["ok"]:
        for fault in faults:
            yield "SQLite finds fault with its file: {said}", {"said": str(fault)}
        yield RESTORE, {}
        return
    for number, (table, row, parent, _) in enumerate(connection.exec_driver_sql("PRAGMA foreign_key_check")):
        if number < MOST:
            values = {"table": table, "row": str(row), "parent": parent}
            yield "row {row} of {table} refers to a row of {parent} that is not there", values


def broken_references(connection: sa.Connection) -> Iterator[Said]:
    """Return references that lead nowhere; each reads a table and so finds pages that cannot be read."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    for table in metadata.sorted_tables:
        for key in table.foreign_key_constraints:
            parent = key.referred_table.alias()
            pairs = [(element.parent, parent.c[element.column.name]) for element in key.elements]
            joined = sa.and_(*(own == other for own, other in pairs))
            not_null = [own.is_not(None) for own, _ in pairs]
            query = sa.select(sa.func.count()).select_from(table.outerjoin(parent, joined))
            count = connection.scalar(query.where(pairs[0][1].is_(None), *not_null))
            if count:
                values: dict[str, Any] = {
                    "count": count,
                    "table": table.name,
                    "parent": key.referred_table.name,
                }
                yield "{count} rows of {table} refer to rows of {parent} that are not there", values
