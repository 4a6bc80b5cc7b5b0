"""Rows for every table of a database, made from what its columns are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import command
from sqlalchemy import Engine

from app.platform.store import migrate
from app.platform.store.database import Store
from app.platform.store.migrate import WORDS, configuration
from tests.support.objects import step

MOMENT = datetime(2026, 11, 2, 9, 30, 4, 120000, tzinfo=UTC)


def value_for(column: sa.Column[Any], number: int) -> Any:
    """Return a value of a column's type, told from others by its number."""
    kind = column.type
    if isinstance(kind, sa.Boolean):
        return number % 2 == 0
    if isinstance(kind, sa.DateTime):
        return MOMENT if kind.timezone else MOMENT.replace(tzinfo=None)
    if isinstance(kind, sa.JSON):
        return {"name": f"값 {number}", "list": [1.5, None, True], "text": 'quote " and \\ back'}
    if isinstance(kind, sa.LargeBinary):
        return bytes(range(256))
    if isinstance(kind, sa.Integer):
        return number
    if isinstance(kind, sa.Float | sa.Numeric):
        return number + 0.1
    length = getattr(kind, "length", None) or 40
    name = column.table.name if column.name == "id" else column.name
    return f"{name[:20]} {number} — 가\n\\.,\t{'é'}"[:length]


def fill(connection: sa.Connection, per_table: int = 2) -> dict[str, int]:
    """Put rows into every table that has fewer, each referring to rows that are there; return the counts."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    made: dict[str, list[dict[str, Any]]] = {}
    for table in metadata.sorted_tables:
        if table.name.startswith(("alembic_version", WORDS)):
            continue
        there = [dict(row._mapping) for row in connection.execute(sa.select(table))]
        for number in range(len(there), per_table):
            row = {column.name: value_for(column, number) for column in table.columns}
            for key in sorted(table.foreign_key_constraints, key=lambda one: len(one.elements)):
                parents = made.get(key.referred_table.name, [])
                if not parents:
                    continue
                for element in key.elements:
                    row[element.parent.name] = parents[number % len(parents)][element.column.name]
            connection.execute(sa.insert(table), row)
            there.append(row)
        made[table.name] = there
    return {name: len(rows) for name, rows in made.items()}


Row = dict[str, Any]


def contents(connection: sa.Connection) -> dict[str, list[Row]]:
    """Return every row of every table as Python has it, by the names of the columns."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    found = {}
    for table in metadata.sorted_tables:
        if table.name.startswith(("alembic_version", WORDS)):
            continue
        rows = [
            {
                name: value.replace(tzinfo=UTC)
                if isinstance(value, datetime) and value.tzinfo is None
                else value
                for name, value in row.items()
            }
            for row in connection.execute(sa.select(table)).mappings()
        ]
        found[table.name] = sorted(rows, key=lambda row: repr(sorted(row.items())))
    return found


def shared(one: dict[str, list[Row]], other: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the rows of one that are in tables of both, by the columns that both have."""
    return {
        name: [{column: value for column, value in row.items() if column in other[name][0]} for row in rows]
        for name, rows in one.items()
        if other.get(name)
    }


def compare_with_declaration(engine: Engine) -> None:
    with engine.begin() as connection:
        config = configuration()
        config.attributes["connection"] = connection
        command.check(config)


RELEASED = migrate.REVISIONS[0]


def release(store: Store) -> None:
    """Make tables of version 0.1.0 with rows in every one, as its servers left them."""
    step(store, RELEASED)
    told = json.dumps(["proposal.erased", "sweep.done"])
    with store.engine.begin() as connection:
        fill(connection)
        connection.execute(sa.text(f"UPDATE webhook SET events = '{told}'"))
        connection.execute(sa.text("ALTER TABLE alembic_version ADD COLUMN works_from VARCHAR(32)"))
        connection.execute(sa.text("UPDATE alembic_version SET works_from = '0019'"))
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("CREATE TABLE rackline_queue_task (id INTEGER PRIMARY KEY)"))
