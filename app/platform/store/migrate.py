"""Migrations, run at start-up rather than by hand, and whether the tables are whole.

Versions run side by side while servers are upgraded one after another. A migration therefore either adds
what programs of before need not know, or takes away what those since a revision that it names
(``works_from``) no longer use. The tables state since which revision programs work with them, so that an
older one knows whether it does.

Alembic takes a quarter of a second to load, and is only needed where something is to be migrated.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from app.errors import Conflict, Message

if TYPE_CHECKING:
    from alembic.config import Config


SCRIPTS = Path(__file__).parent / "migrations"

REVISIONS = sorted(path.name.partition("_")[0] for path in (SCRIPTS / "versions").glob("[0-9]*.py"))
"""Each migration's file begins with its revision, and they follow one another."""

VERSION = "alembic_version"
"""Table with the revision of the tables."""

WORKS_FROM = "works_from"
"""Its column that says since which revision programs work with the tables."""

FIRST = "0019"
"""Programs of before refuse any tables but their own."""

OWN_TABLES = ("estimate_words",)
"""What the names of tables of words begin with, whose content is in others, too."""

LOCK = 7239541
"""Number of the lock that whoever migrates holds on PostgreSQL; any will do that nothing else uses."""


def upgrade(engine: Engine) -> None:
    """Bring the tables up to the newest revision; does nothing where they are.

    All of it is one transaction that shuts out every other server's: several may be started at once,
    and one that is killed half way leaves the tables as they were.
    """
    with engine.begin() as connection:
        shut_others_out(connection)
        if fits(connection):
            return
        there = revision_of(connection)
        if there is not None and not knows(there):
            raise Conflict(
                Message(
                    "the database was upgraded by a newer version of Rackline to tables ({revision}) that "
                    "this one cannot use; start the newer version",
                    {"revision": there},
                )
            )
        upgrade_to(connection, "head")


def shut_others_out(connection: Connection) -> None:
    """Wait until no other server migrates, and let none begin before this transaction ends."""
    if connection.dialect.name == "sqlite":
        # Python's driver begins transactions for rows only, not for tables.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        without_limits(connection)
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")


def upgrade_to(connection: Connection, revision: str) -> None:
    """Bring the tables up to a revision within a transaction of the caller's."""
    from alembic import command
    from alembic.script import ScriptDirectory

    without_limits(connection)
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    there = revision_of(connection)
    applied = ScriptDirectory.from_config(config).iterate_revisions(there, "base")
    starting_revisions = [str(getattr(script.module, "works_from", "")) for script in applied]
    if WORKS_FROM not in {column["name"] for column in sa.inspect(connection).get_columns(VERSION)}:
        connection.exec_driver_sql(f"ALTER TABLE {VERSION} ADD COLUMN {WORKS_FROM} VARCHAR(32)")
    version = sa.table(VERSION, sa.column(WORKS_FROM))
    connection.execute(
        sa.update(version).values({WORKS_FROM: min(max(*starting_revisions, FIRST), there or FIRST)})
    )


def without_limits(connection: Connection) -> None:
    """Let this transaction take as long as it takes; what is copied or changed as a whole may take hours."""
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {limit} = 0")


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the tables; None where there are none."""
    return stated_of(connection)[0]


def stated_of(connection: Connection) -> tuple[str | None, str | None]:
    """Return the revision of the tables, and that since which programs work with them; None where none is."""
    if not sa.inspect(connection).has_table(VERSION):
        return None, None
    row = connection.execute(sa.text(f"SELECT * FROM {VERSION}")).mappings().first()
    return (None, None) if row is None else (row["version_num"], row.get(WORKS_FROM))


def newest_revision() -> str:
    return REVISIONS[-1]


def knows(revision: str) -> bool:
    return revision in REVISIONS


def fits(connection: Connection) -> bool:
    """Tell whether this program works with the tables: they are its own, or newer and made for it as well."""
    revision, works_from = stated_of(connection)
    if revision is None or knows(revision):
        return revision == newest_revision()
    return works_from is not None and works_from <= newest_revision()


def configuration() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


Said = tuple[str, dict[str, object]]

MOST = 20
"""Faults of one kind that are told."""


def database_faults(engine: Engine) -> Iterator[Said]:
    """Return what is wrong with the tables: pages, indexes and references."""
    with engine.connect() as connection:
        without_limits(connection)
        if not fits(connection):
            yield ("the database tables do not match this version of Rackline; start the server once"), {}
            return
        if connection.dialect.name == "sqlite":
            yield from sqlite_faults(connection)
        else:
            yield from broken_references(connection)


def sqlite_faults(connection: sa.Connection) -> Iterator[Said]:
    for (fault,) in connection.exec_driver_sql(f"PRAGMA integrity_check({MOST})"):
        if fault != "ok":
            yield "SQLite finds fault with its file: {said}", {"said": str(fault)}
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
