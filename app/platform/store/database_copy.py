"""Copying an installation, its rows and its uploaded files, from one database to another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel, col

from app.errors import BadInput, Conflict, Message
from app.platform.store.database import make_engine
from app.platform.store.migrate import bring_up, fits, without_limits
from app.platform.store.tables import UploadFile
from app.platform.store.upload_files import UploadFiles

AT_ONCE = 100
"""Rows of one statement."""

Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table as it was read, and as it was read again in its copy."""

    name: str
    rows: int
    sha256: str
    """Sum of the SHA-256 of its rows, which does not depend on their order."""


def copy_database(
    source_url: str, target_url: str, sources: Sequence[UploadFiles], target_files: UploadFiles
) -> tuple[list[CopiedTable], int]:
    """Copy every row and every uploaded file; return the tables and the number of files.

    Files are looked for in each of the sources. The target is written in one transaction, which is kept if
    what can be read of it is what was read of the source.
    """
    tables = SQLModel.metadata.sorted_tables
    with reading(source_url) as source, writing(target_url) as target:
        if any(target.execute(sa.select(table).limit(1)).first() is not None for table in tables):
            raise Conflict("the database to copy to has rows; name an empty one")
        copied = [copied_table(table, put(target, table, rows_of(source, table))) for table in tables]
        for table, before in zip(tables, copied, strict=True):
            if copied_table(table, rows_of(target, table)) != before:
                message = "the copy of the table {table} differs from what was read; nothing was copied"
                raise Conflict(Message(message, {"table": table.name}))
        return copied, copy_files(source, sources, target_files)


@contextmanager
def reading(url: str) -> Iterator[sa.Connection]:
    """Give one moment of a database to be read, whose tables must be those of this program."""
    engine = make_engine(url)
    sqlite, file = engine.dialect.name == "sqlite", engine.url.database or ""
    if sqlite and not Path(file).is_file():
        raise BadInput.at("FROM", "the file {file} does not exist", file=file)
    try:
        with engine.connect() as connection:
            if sqlite:
                # Python's driver begins transactions for changes only.
                connection.exec_driver_sql("BEGIN")
            else:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
                without_limits(connection)
            if not fits(connection):
                message = "the database tables do not match this version of Rackline; start the server once"
                raise Conflict(message)
            yield connection
    finally:
        engine.dispose()


@contextmanager
def writing(url: str) -> Iterator[sa.Connection]:
    """Give a database with every table to be written; it is kept as a whole or not at all."""
    engine = make_engine(url)
    if engine.dialect.name == "sqlite":
        Path(engine.url.database or "").parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with engine.begin() as connection:
            bring_up(connection)
            yield connection
    finally:
        engine.dispose()


def is_document(column: sa.Column[Any]) -> bool:
    return isinstance(column.type, sa.JSON)


def rows_of(connection: sa.Connection, table: sa.Table) -> Rows:
    """Return the rows of a table, documents as text: an empty column is not a document that is null."""
    columns = (sa.cast(c, sa.Text).label(c.name) if is_document(c) else c for c in table.c)
    found = connection.execute(sa.select(*columns), execution_options={"yield_per": AT_ONCE})
    return (dict(row) for row in found.mappings())


def put(connection: sa.Connection, table: sa.Table, rows: Rows) -> Rows:
    """Put rows into a table and give each on."""
    quote = connection.dialect.identifier_preparer.quote
    document = "CAST(:{} AS JSONB)" if connection.dialect.name == "postgresql" else ":{}"
    names = ", ".join(quote(c.name) for c in table.c)
    values = ", ".join((document if is_document(c) else ":{}").format(c.name) for c in table.c)
    types = [sa.bindparam(c.name, type_=sa.Text() if is_document(c) else c.type) for c in table.c]
    statement = sa.text(f"INSERT INTO {quote(table.name)} ({names}) VALUES ({values})").bindparams(*types)
    while some := list(islice(rows, AT_ONCE)):
        try:
            connection.execute(statement, some)
        except sa.exc.DBAPIError as error:
            message = "the database to copy to refuses a row of the table {table}: {reason}"
            raise Conflict(Message(message, {"table": table.name, "reason": str(error.orig)})) from None
        yield from some


def copied_table(table: sa.Table, rows: Rows) -> CopiedTable:
    documents = {column.name for column in table.c if is_document(column)}
    count = total = 0
    for row in rows:
        neutral = [
            canonical(value) if name in documents and value is not None else value
            for name, value in row.items()
        ]
        count += 1
        total += int.from_bytes(hashlib.sha256(repr(neutral).encode()).digest(), "big")
    return CopiedTable(table.name, count, f"{total % 2**256:064x}")


def canonical(document: str) -> str:
    """Return a document in one form: PostgreSQL sorts fields, and writes 1e3 as 1000 and -0.0 as 0.0."""
    return json.dumps(json.loads(document, parse_int=number, parse_float=number), sort_keys=True)


def number(text: str) -> float:
    return float(text) + 0.0


def copy_files(source: sa.Connection, sources: Sequence[UploadFiles], target: UploadFiles) -> int:
    """Copy the uploaded files that rows name, each of which must be whole; return how many there are."""
    named = sa.select(col(UploadFile.workspace_id), col(UploadFile.sha256)).distinct()
    addresses = source.execute(named).all()
    for workspace, sha256 in addresses:
        found = (files.read(workspace, sha256) for files in sources)
        content = next((content for content in found if content is not None), None)
        if content is None:
            place = sources[0].place(workspace, sha256)
            raise Conflict(Message("an uploaded file is missing: {path}", {"path": place}))
        target.put(workspace, content)
    return len(addresses)
