"""Take a backup in again, into an empty database only and after every part has been checked."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from app.errors import BadInput, Conflict, Message, Unavailable
from app.platform.store.archives.form import (
    MANIFEST,
    ArchiveMember,
    ArchiveSummary,
    ArchiveTable,
    Manifest,
    damaged,
    members,
    names_of,
    opened,
    quoted,
    read_manifest,
    reflected,
    tables_of,
    values_of,
)
from app.platform.store.database import make_engine
from app.platform.store.failures import reason_of
from app.platform.store.migrate import knows, upgrade_to
from app.platform.store.postgres import PostgresError
from app.platform.store.upload_files import FileStorage, UploadFiles, forced, name_of

AT_ONCE = 500
"""Rows of one statement."""

BEGUN = ".restoring"
"""File in the data directory that says into which database an archive is being taken in."""


def restore_backup(
    archive: Path, url: str, data_dir: Path, storage: FileStorage | None = None
) -> ArchiveSummary:
    """Take in an archive: its rows into a database, its files where nothing else is yet."""
    manifest = check_archive(archive, free_bytes(data_dir))
    if not knows(manifest.schema_revision):
        raise BadInput.at(
            "FILE",
            "the archive was made by a newer version ({version}); restore it with that version",
            version=manifest.engine_version[:40],
        )
    files = UploadFiles(data_dir / "uploads", storage)
    marker, digest = data_dir / BEGUN, hashlib.sha256(f"{url}\n{manifest}".encode()).hexdigest()
    # What is there may have been left by the same restore, which was killed.
    if not (marker.is_file() and marker.read_text(encoding="ascii") == digest):
        check_no_uploads(files.storage)
    with ExitStack() as on_failure:
        with empty_database(url) as connection:
            on_failure.callback(take_back, files.storage, marker)
            marker.write_text(digest, encoding="ascii")
            upgrade_to(connection, manifest.schema_revision)
            # Before the commit: rows that are kept have their files, and if it fails the files go again.
            summary = take_in(archive, manifest, connection, files)
            upgrade_to(connection, "head")
        on_failure.pop_all()
    marker.unlink()
    summary.size = archive.stat().st_size
    return summary


def free_bytes(directory: Path) -> int:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return shutil.disk_usage(directory).free


def check_archive(archive: Path, room: int) -> Manifest:
    """Read an archive through and hold every part against the manifest."""
    found: dict[str, tuple[int, str]] = {}
    manifest: Manifest | None = None
    with opened(archive) as stream:
        for member in members(stream):
            if manifest is not None or member.name in found:
                raise damaged("a part comes twice, or after the manifest")
            if member.name == MANIFEST:
                manifest = read_manifest(b"".join(member.pieces()))
                continue
            room -= member.size
            if room < 0:
                raise BadInput.at("FILE", "there is not enough disk space to unpack the archive")
            digest = hashlib.sha256()
            for piece in member.pieces():
                digest.update(piece)
            found[member.name] = (member.size, digest.hexdigest())
    if manifest is None:
        raise damaged("it has no manifest")
    if {name: (part.size, part.sha256) for name, part in manifest.parts.items()} != found:
        raise damaged("a part is not what the manifest says of it")
    return manifest


def check_no_uploads(storage: FileStorage) -> None:
    if next(iter(storage.names()), None) is not None:
        message = (
            "{directory} already contains files; set RACKLINE_DATA_DIR to an empty directory, or "
            "RACKLINE_UPLOADS to an empty place"
        )
        raise Conflict(Message(message, {"directory": storage.place("")}))


def take_back(storage: FileStorage, marker: Path) -> None:
    """Take away what a restore that failed has put where nothing was."""
    for name in list(storage.names()):
        storage.delete(name)
    marker.unlink(missing_ok=True)


def not_empty() -> Conflict:
    return Conflict(
        "a backup can only be restored into an empty database; choose another one with --into, "
        "or move this one away"
    )


@contextmanager
def empty_database(url: str) -> Iterator[sa.Connection]:
    """Give a database without tables; what is done to it is kept as a whole or not at all."""
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        path = Path(address.database or "")
        if path.exists() and path.stat().st_size:
            raise not_empty()
        staged = path.with_name(f"{path.name}.restoring")
        remove_database(staged)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        engine = make_engine(address.set(database=str(staged)).render_as_string(hide_password=False))
        try:
            with engine.begin() as connection:
                yield connection
            with engine.connect() as connection:
                driver: Any = connection.connection.driver_connection
                if driver.execute("PRAGMA foreign_key_check").fetchone() is not None:
                    raise damaged("a row refers to another that is not there")
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            engine.dispose()
            staged.replace(path)
            forced(path.parent)
        finally:
            engine.dispose()
            remove_database(staged)
        return
    engine = make_engine(url)
    try:
        with engine.begin() as connection:
            if sa.inspect(connection).get_table_names():
                raise not_empty()
            yield connection
            set_sequences(connection)
    finally:
        engine.dispose()


def remove_database(path: Path) -> None:
    """Remove a SQLite database with what stands beside it."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def take_in(
    archive: Path, manifest: Manifest, connection: sa.Connection, files: UploadFiles
) -> ArchiveSummary:
    """Read an archive that has been checked, and take in every part."""
    here = {table.name: table.columns for table in tables_of(connection)}
    tables = {table.name: table for table in manifest.tables}
    for table in manifest.tables:
        if sorted(here.get(table.name, []), key=str) != sorted(table.columns, key=str):
            raise damaged(f"the table {table.name} is not that of its version")
    summary = ArchiveSummary(schema_revision=manifest.schema_revision)
    with opened(archive) as stream:
        for member in members(stream):
            path = member.name.split("/")
            if member.name == MANIFEST:
                continue
            if path[0] == "tables" and len(path) == 3 and path[1] in tables:
                table = tables[path[1]]
                with plainly():
                    rows = (values_of(line, table.columns) for line in member.lines())
                    count = put_rows(connection, table, rows)
                summary.tables[table.name] = summary.tables.get(table.name, 0) + count
            elif path[0] == "uploads" and len(path) == 4:
                take_file(files, path, member)
                summary.files += 1
            else:
                raise damaged("it holds a part that is none of a backup")
    for table in manifest.tables:
        if summary.tables.get(table.name, 0) != table.rows:
            raise damaged(f"the table {table.name} has not as many rows as the manifest says")
    summary.rows = sum(summary.tables.values())
    return summary


@contextmanager
def plainly() -> Iterator[None]:
    """Turn what drivers say of rows that do not fit, or of a database that fails, into errors of ours."""
    try:
        yield
    except (sqlite3.Error, PostgresError) as error:
        reason = reason_of(error)
        raise (damaged("rows do not fit together") if reason is None else Unavailable(reason)) from None


def take_file(files: UploadFiles, path: Sequence[str], member: ArchiveMember) -> None:
    """Keep an uploaded file at the address it says it has."""
    _, workspace, folder, sha256 = path
    content = b"".join(member.pieces())
    try:
        name = name_of(workspace, sha256)
    except ValueError:
        raise damaged("a file has no address") from None
    if hashlib.sha256(content).hexdigest() != sha256 or name.split("/")[1] != folder:
        raise damaged("a file is not at the address of its content")
    files.put(workspace, content)


def put_rows(connection: sa.Connection, table: ArchiveTable, rows: Iterator[list[Any]]) -> int:
    """Put rows into a table, which come after those they refer to; return how many."""
    names, name = names_of(connection, table), quoted(connection, table.name)
    driver: Any = connection.connection.driver_connection
    count = 0
    if connection.dialect.name == "sqlite":
        moments = [index for index, column in enumerate(table.columns) if column.kind == "moment"]
        statement = f"INSERT INTO {name} ({names}) VALUES ({', '.join('?' for _ in table.columns)})"
        while some := list(islice(rows, AT_ONCE)):
            for row in some:
                for index in moments:
                    if row[index] is not None:
                        row[index] = row[index].strftime("%Y-%m-%d %H:%M:%S.%f")
            driver.executemany(statement, some)
            count += len(some)
        return count
    with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    return count


def set_sequences(connection: sa.Connection) -> None:
    """Let numbers that the database gives go on behind the largest there is."""
    for table in reflected(connection):
        for column in table.primary_key.columns:
            target = {"table": table.name, "column": column.name}
            name = connection.scalar(sa.text("SELECT pg_get_serial_sequence(:table, :column)"), target)
            if name is not None:
                largest = connection.scalar(sa.select(sa.func.max(column)))
                if largest is not None:
                    connection.scalar(
                        sa.text("SELECT setval(:name, :value)"), {"name": name, "value": largest}
                    )
