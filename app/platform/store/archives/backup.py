"""Make a backup while the server runs: one moment of the database, and the files it names."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from app import __version__
from app.errors import BadInput, Unavailable
from app.platform.store.archives.form import (
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    PART_BYTES,
    ArchivePart,
    ArchiveSummary,
    ArchiveTable,
    Manifest,
    line_of,
    names_of,
    quoted,
    tables_of,
)
from app.platform.store.database import Store
from app.platform.store.migrate import revision_of, without_limits
from app.platform.store.queries import now
from app.platform.store.upload_files import UploadFiles, forced, name_of, private

LEVEL = 5
"""Of compression: most of the size at half the time of the highest."""

DRAFT = ".rackline-backup-"
"""What the folder of a backup under way begins with; it lies beside the archive."""

HELD = "held"
"""File in that folder which its backup has locked: who is killed lets go of it."""


class ArchiveWriter:
    """Puts parts into a tar and remembers them for the manifest."""

    def __init__(self, stream: BinaryIO) -> None:
        self.parts: dict[str, ArchivePart] = {}
        self._tar = tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115

    def add(self, name: str, content: BinaryIO, size: int) -> None:
        """Put a part in; it is hashed as it goes by."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        hashed = HashingReader(content)
        self._tar.addfile(info, hashed)
        self.parts[name] = ArchivePart(size=size, sha256=hashed.digest.hexdigest())

    def close(self) -> None:
        self._tar.close()


class HashingReader(io.RawIOBase):
    """A stream whose content is hashed as it is read."""

    def __init__(self, stream: BinaryIO) -> None:
        self.digest = hashlib.sha256()
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self.digest.update(piece)
        return piece


def make_backup(store: Store, files: UploadFiles, target: Path) -> ArchiveSummary:
    """Write everything that is kept to one archive; the server may go on meanwhile."""
    if target.exists():
        raise BadInput.at("FILE", "{file} already exists; choose another name", file=str(target))
    try:
        # Of two backups to one name neither writes into what the other has begun.
        with draft_folder(target.parent) as folder:
            with open(folder / "part", "xb", opener=private) as raw:
                with gzip.GzipFile(
                    fileobj=raw, filename="", mode="wb", compresslevel=LEVEL, mtime=0
                ) as stream:
                    summary = write_archive(store, files, stream, folder)  # type: ignore[arg-type]
                raw.flush()
                os.fsync(raw.fileno())
                summary.size = raw.tell()
            # Whoever ends second says so rather than overwriting what the first has made.
            os.link(folder / "part", target)
            forced(target.parent)
    except FileExistsError:
        raise BadInput.at("FILE", "{file} already exists; choose another name", file=str(target)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = "{file} cannot be written: {reason}"
        raise BadInput.at("FILE", message, file=str(target), reason=reason) from None
    return summary


@contextmanager
def draft_folder(parent: Path) -> Iterator[Path]:
    """Give a folder for what is not whole yet; those of backups that were killed go."""
    for lock in parent.glob(f"{DRAFT}*/{HELD}"):
        with suppress(OSError), lock.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The lock goes last: who is killed at this has it done by the next one.
            for folder in lock.parent.glob("*/"):
                shutil.rmtree(folder)
            shutil.rmtree(lock.parent)
    with (
        tempfile.TemporaryDirectory(prefix=DRAFT, dir=parent) as made,
        (Path(made) / "new").open("wb") as file,
    ):
        # Not every file system can lock: there nobody takes away what others have begun.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        # Others find it by this name, and locked.
        (Path(made) / "new").replace(Path(made) / HELD)
        with tempfile.TemporaryDirectory(dir=made) as draft:
            yield Path(draft)


def write_archive(store: Store, files: UploadFiles, stream: BinaryIO, folder: Path) -> ArchiveSummary:
    """Write an archive to a stream; the folder takes a copy of a SQLite database meanwhile."""
    archive = ArchiveWriter(stream)
    summary = ArchiveSummary()
    # No file goes while the lock is held, so that those the rows name are there to be copied.
    with files.shared(), store.files_held():
        with snapshot(store, folder) as connection:
            revision = revision_of(connection)
            if revision is None:
                raise BadInput("the database has no tables yet; there is nothing to back up")
            tables = []
            for table in tables_of(connection):
                count = write_rows(archive, table, rows_of(connection, table))
                tables.append(table.model_copy(update={"rows": count}))
            addresses = named_files(connection)
        for workspace, sha256 in sorted(addresses):
            name = name_of(workspace, sha256)
            size, content = files.storage.size(name), files.storage.open(name)
            if size is None or content is None:
                raise Unavailable(
                    "a file that an upload refers to is missing, so no backup was made; “rackline "
                    "check-store” names it"
                )
            with content:
                archive.add(f"uploads/{name}", content, size)
    manifest = Manifest(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        made_at=now(),
        engine_version=__version__,
        database="sqlite" if store.engine.dialect.name == "sqlite" else "postgresql",
        schema_revision=revision,
        tables=tables,
        parts=archive.parts,
    )
    text = manifest.model_dump_json(indent=1).encode()
    archive.add(MANIFEST, io.BytesIO(text), len(text))
    archive.close()
    summary.tables = {table.name: table.rows for table in tables}
    summary.rows, summary.files = sum(summary.tables.values()), len(addresses)
    summary.schema_revision = revision
    return summary


def write_rows(archive: ArchiveWriter, table: ArchiveTable, rows: Iterator[tuple[Any, ...]]) -> int:
    """Put the rows of a table in, in as many parts as they need; return how many there are."""
    count = number = 0
    with tempfile.SpooledTemporaryFile(max_size=PART_BYTES * 2) as part:

        def put() -> None:
            nonlocal number
            number += 1
            size = part.tell()
            part.seek(0)
            archive.add(f"tables/{table.name}/{number:04}.jsonl", part, size)  # type: ignore[arg-type]
            part.seek(0)
            part.truncate()

        for row in rows:
            part.write(line_of(row, table.columns))
            count += 1
            if part.tell() >= PART_BYTES:
                put()
        if part.tell():
            put()
    return count


def named_files(connection: sa.Connection) -> set[tuple[str, str]]:
    """Return workspace and address of every file that is named; tables of before files name none."""
    if not sa.inspect(connection).has_table("upload_file"):
        return set()
    rows = connection.execute(sa.text("SELECT DISTINCT workspace_id, sha256 FROM upload_file"))
    return {(workspace, sha256) for workspace, sha256 in rows}


@contextmanager
def snapshot(store: Store, folder: Path) -> Iterator[sa.Connection]:
    """Give one moment of the database to be read, while others write."""
    if store.engine.dialect.name == "sqlite":
        copy = folder / "snapshot.sqlite3"
        with closing(sqlite3.connect(copy)) as target:
            source = store.engine.raw_connection()
            try:
                # In one step: it reads one moment, and in write-ahead mode nobody waits for it.
                source.driver_connection.backup(target, pages=-1)  # type: ignore[union-attr]
            finally:
                source.close()
        engine = sa.create_engine(f"sqlite:///{copy}")
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()
        return
    with store.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        without_limits(connection)
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        for setting in ("TimeZone = 'UTC'", "DateStyle = 'ISO'", "bytea_output = 'hex'"):
            connection.exec_driver_sql(f"SET LOCAL {setting}")
        yield connection


def rows_of(connection: sa.Connection, table: ArchiveTable) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a table: on SQLite as they are stored, on PostgreSQL by COPY, as text."""
    query = f"SELECT {names_of(connection, table)} FROM {quoted(connection, table.name)}"
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        yield from driver.execute(query)
        return
    with driver.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
        yield from copy.rows()
