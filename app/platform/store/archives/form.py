"""The form of an archive: a compressed tar of parts, the last of which says what the others are.

``tables/NAME/0001.jsonl`` holds rows, one JSON array a line, ``uploads/WORKSPACE/ab/abcdef…`` files as they
came. ``manifest.json`` states the columns of each table, how many rows it has, and size and SHA-256 of every
part. Values have the same form whichever database they come from, so that either can take them in.
"""

from __future__ import annotations

import base64
import gzip
import json
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.errors import BadInput
from app.platform.store.migrate import OWN_TABLES

FORMAT = "rackline-backup"

FORMAT_VERSION = 1

MANIFEST = "manifest.json"

PART_BYTES = 32_000_000
"""Rows go into another part beyond this. [B]"""

MOST_PART_BYTES = 600_000_000
"""Largest part that is taken in: a row or an uploaded file. [B]"""

MOST_MANIFEST_BYTES = 200_000_000

MOST_PARTS = 2_000_000

BLOCK = tarfile.BLOCKSIZE

PIECE = 1 << 20

Kind = Literal["text", "integer", "number", "boolean", "moment", "document", "bytes"]

KINDS: Sequence[tuple[type[sa.types.TypeEngine[Any]], Kind]] = (
    (sa.Boolean, "boolean"),
    (sa.DateTime, "moment"),
    (sa.JSON, "document"),
    (sa.LargeBinary, "bytes"),
    (sa.Integer, "integer"),
    (sa.Float, "number"),
    (sa.Numeric, "number"),
    (sa.String, "text"),
)
"""Types of columns as databases tell them; the first that fits."""


class ArchiveColumn(BaseModel):
    """A column of a table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    kind: Kind


class ArchiveTable(BaseModel):
    """A table: its columns in the order of the values, and its rows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    columns: list[ArchiveColumn] = Field(min_length=1, max_length=200)
    rows: int = Field(ge=0)


class ArchivePart(BaseModel):
    """A part of the archive."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(ge=0, le=MOST_PART_BYTES)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Manifest(BaseModel):
    """What an archive holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["rackline-backup"]
    format_version: Literal[1]
    made_at: datetime
    engine_version: str
    database: Literal["sqlite", "postgresql"]
    schema_revision: str = Field(max_length=40)
    tables: list[ArchiveTable] = Field(max_length=1000)
    """In an order in which every row comes after those it refers to."""
    parts: dict[str, ArchivePart] = Field(max_length=MOST_PARTS)


@dataclass(slots=True)
class ArchiveSummary:
    """What was kept or taken in."""

    rows: int = 0
    files: int = 0
    size: int = 0
    """Of the archive. [B]"""
    schema_revision: str = ""
    tables: dict[str, int] = field(default_factory=dict)


def damaged(reason: str = "it is not whole") -> BadInput:
    """Return the error for an archive that cannot be trusted; nothing of it is taken in."""
    return BadInput.at("FILE", "the archive is damaged or was not made by Rackline: {reason}", reason=reason)


def kind_of(column: sa.Column[Any]) -> Kind:
    for known, kind in KINDS:
        if isinstance(column.type, known):
            return kind
    raise TypeError(f"no kind for the type of {column}")


def neutral(value: Any, kind: Kind) -> Any:
    """Return a value, as SQLite or as the text of PostgreSQL's COPY has it, in the form of archives."""
    if value is None or kind in {"text", "document"}:
        return value
    if kind == "boolean":
        return value in {1, "t"}
    if kind == "integer":
        return int(value)
    if kind == "number":
        return float(value)
    if kind == "bytes":
        data = bytes.fromhex(value.removeprefix("\\x")) if isinstance(value, str) else value
        return base64.b64encode(data).decode()
    moment = datetime.fromisoformat(value)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def native(value: Any, kind: Kind) -> Any:
    """Return a value of an archive as Python has it; documents stay text."""
    if value is None:
        return None
    expected = {"text": str, "document": str, "bytes": str, "moment": str, "boolean": bool, "integer": int}
    if not isinstance(value, expected.get(kind, (int, float))):
        raise damaged("a value is not of the kind of its column")
    if kind == "bytes":
        return base64.b64decode(str(value), validate=True)
    return datetime.fromisoformat(str(value)) if kind == "moment" else value


def line_of(values: Sequence[Any], columns: Sequence[ArchiveColumn]) -> bytes:
    written = [neutral(value, column.kind) for value, column in zip(values, columns, strict=True)]
    return json.dumps(written, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def values_of(line: bytes, columns: Sequence[ArchiveColumn]) -> list[Any]:
    try:
        written = json.loads(line)
        if not isinstance(written, list) or len(written) != len(columns):
            raise damaged("a row does not have the columns of its table")
        return [native(value, column.kind) for value, column in zip(written, columns, strict=True)]
    except (ValueError, RecursionError):
        raise damaged("a row cannot be read") from None


class ArchiveMember:
    """A part while it is read from the stream."""

    def __init__(self, stream: BinaryIO, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self._stream = stream
        self._left = size

    def pieces(self) -> Iterator[bytes]:
        while self._left:
            piece = self._stream.read(min(PIECE, self._left))
            if not piece:
                raise damaged()
            self._left -= len(piece)
            yield piece

    def lines(self) -> Iterator[bytes]:
        rest = b""
        for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
        if rest:
            raise damaged("a part ends within a row")


def members(stream: BinaryIO) -> Iterator[ArchiveMember]:
    """Return the parts of a tar one after the other: plain files only, of bounded number and size.

    Each must be used up before the next is asked for; what is left of it is skipped.
    """
    for _ in range(MOST_PARTS + 1):
        header = stream.read(BLOCK)
        if header == bytes(BLOCK):
            # What fills the last record; reading on to the end lets the checksum of the whole be looked at.
            if any(stream.read(tarfile.RECORDSIZE)) or stream.read(1):
                raise damaged("something follows its end")
            return
        info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        most = MOST_MANIFEST_BYTES if info.name == MANIFEST else MOST_PART_BYTES
        if info.type != tarfile.REGTYPE or not 0 <= info.size <= most:
            raise damaged("it holds something else than files of a bounded size")
        member = ArchiveMember(stream, info.name, info.size)
        yield member
        for _ in member.pieces():
            pass
        stream.read(-info.size % BLOCK)
    raise damaged("it has too many parts")


@contextmanager
def opened(archive: Path) -> Iterator[BinaryIO]:
    """Give the content of an archive, uncompressed; what cannot be read of it is damaged."""
    try:
        with archive.open("rb") as raw, gzip.GzipFile(fileobj=raw) as stream:
            yield stream  # type: ignore[misc]
    except FileNotFoundError:
        raise BadInput.at("FILE", "the file {file} does not exist", file=str(archive)) from None
    except IsADirectoryError:
        raise BadInput.at("FILE", "{file} is a directory", file=str(archive)) from None
    except (tarfile.HeaderError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError):
        raise damaged() from None


def read_manifest(content: bytes) -> Manifest:
    """Return the manifest, which must be of a format that is known here."""
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False, include_input=False)[0]["loc"])
        raise damaged(f"its manifest cannot be read at {where or 'the beginning'}") from None


def reflected(connection: sa.Connection) -> list[sa.Table]:
    """Return the tables of a database in an order in which rows come after those they refer to."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    # What is in the job queue or an index of words is in other tables, too.
    left_out = ("alembic_version", *OWN_TABLES)
    return [table for table in metadata.sorted_tables if not table.name.startswith(left_out)]


def tables_of(connection: sa.Connection) -> list[ArchiveTable]:
    """Return the tables of a database as archives have them, not knowing yet of any rows."""
    return [
        ArchiveTable(
            name=table.name,
            columns=[ArchiveColumn(name=column.name, kind=kind_of(column)) for column in table.columns],
            rows=0,
        )
        for table in reflected(connection)
    ]


def quoted(connection: sa.Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote(name)


def names_of(connection: sa.Connection, table: ArchiveTable) -> str:
    return ", ".join(quoted(connection, column.name) for column in table.columns)
