"""Read the CSV files of data/ line by line, noting every fault with its file, line and column."""

from __future__ import annotations

import csv
import functools
import hashlib
import math
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, get_args, get_type_hints

FACT_FILES = (
    "chips", "machines", "systems", "links", "prices", "cloud", "energy", "tco", "reliability",
    "convergence",
)  # fmt: skip
CURVE_FILES = ("collectives", "convergence_points")
FACT_COLUMNS = (
    "item", "parameter", "condition", "value", "unit", "low", "high", "direction", "source", "as_of",
    "status", "note",
)  # fmt: skip
CURVE_COLUMNS = ("curve", "x", "x_unit", "y", "y_unit", "source", "as_of", "status", "note")
COLUMNS = {
    **dict.fromkeys(FACT_FILES, FACT_COLUMNS),
    **dict.fromkeys(CURVE_FILES, CURVE_COLUMNS),
    "claims": (
        "claim", "source", "as_of", "statement", "value", "unit", "status", "verdict", "use",
        "warning",
    ),
    "vendor_ratios": (
        "ratio", "statement", "quote", "value", "also", "unit", "metric", "model", "claimed",
        "claimed_count", "claimed_devices", "claimed_hours", "baseline", "baseline_count",
        "baseline_devices", "baseline_hours", "linear", "software_era", "source", "others", "as_of",
        "status", "modelled", "reason", "unclear",
    ),
    "vendor_runs": (
        "ratio", "side", "phase", "preset", "seq_len", "image_size", "samples", "global_batch",
        "precision", "optimizer", "software", "software_later", "source", "as_of", "status", "note",
    ),
    "training": ("models", "parameter", "value", "unit", "source", "as_of", "status", "note"),
    "sources": ("id", "kind", "title", "publisher", "published", "url"),
    "units": ("unit", "dimension", "factor", "si_unit", "description"),
    "fields": ("parameter", "units", "varies", "description"),
    "items": ("item", "kinds", "name", "maker"),
}  # fmt: skip
DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
UNDATED = "undated"
"""Date of a source without one; its figures have the day they were read."""


@dataclass(frozen=True, slots=True)
class DataProblem:
    """One fault of a data file; line 0 stands for the whole file."""

    file: str
    line: int
    column: str
    message: str

    def __str__(self) -> str:
        position = f"{self.file}:{self.line}" if self.line else self.file
        return f"{position}: {self.column}: {self.message}" if self.column else f"{position}: {self.message}"


@dataclass(frozen=True, slots=True)
class DataRow:
    """One line of a file: its cells by column and its position."""

    file: str
    line: int
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells[column]

    def problem(self, column: str, message: str) -> DataProblem:
        return DataProblem(self.file, self.line, column, message)


@dataclass(slots=True)
class Sheets:
    """Rows of every file by its name without ``.csv``, and the faults found while reading."""

    rows: dict[str, list[DataRow]] = field(default_factory=dict)
    problems: list[DataProblem] = field(default_factory=list)
    version: str = ""

    def facts(self) -> Iterator[DataRow]:
        for name in FACT_FILES:
            yield from self.rows[name]

    def points(self) -> Iterator[DataRow]:
        for name in CURVE_FILES:
            yield from self.rows[name]


def read_sheets(directory: Path) -> Sheets:
    """Read every file of the catalogue."""
    sheets = Sheets(version=hash_files(directory, "*.csv", "models/**/*.json"))
    for name, columns in COLUMNS.items():
        path = directory / f"{name}.csv"
        sheets.rows[name] = []
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            sheets.problems.append(DataProblem(path.name, 0, "", "the file is missing"))
            continue
        except UnicodeDecodeError:
            sheets.problems.append(DataProblem(path.name, 0, "", "the file is not UTF-8"))
            continue
        sheets.rows[name] = list(_rows(path.name, text, columns, sheets.problems))
    return sheets


def hash_files(directory: Path, *patterns: str, beside: str = "") -> str:
    """Return a short hash of the files that match, and of a text; it is the same on every platform."""
    digest = hashlib.sha256(beside.encode())
    paths = [path for pattern in patterns for path in directory.glob(pattern)]
    for name, path in sorted((path.relative_to(directory).as_posix(), path) for path in paths):
        digest.update(name.encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:12]


def _rows(file: str, text: str, columns: tuple[str, ...], problems: list[DataProblem]) -> Iterator[DataRow]:
    reader = csv.reader(text.splitlines(keepends=True))
    header = next(reader, [])
    if tuple(header) != columns:
        problems.append(DataProblem(file, 1, "", f"the columns must be {', '.join(columns)}"))
        return
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(columns):
            message = f"{len(cells)} cells where {len(columns)} columns are declared"
            problems.append(DataProblem(file, reader.line_num, "", message))
            continue
        stripped = {column: cell.strip() for column, cell in zip(columns, cells, strict=True)}
        yield DataRow(file, reader.line_num, stripped)


def numbers(row: DataRow, *columns: str) -> Generator[DataProblem, None, list[float | None]]:
    """Yield the faults of numeric cells, and return their numbers: None where a cell is empty or wrong."""
    values: list[float | None] = []
    for column in columns:
        text, value = row[column], None
        try:
            value = float(text) if text else None
        except ValueError:
            yield row.problem(column, f"“{text[:40]}” is not a number")
        if value is not None and not math.isfinite(value):
            yield row.problem(column, f"“{text[:40]}” is not finite")
            value = None
        values.append(value)
    return values


def date_problems(row: DataRow, column: str) -> Iterator[DataProblem]:
    """Check a date: year, year-month or year-month-day."""
    if not row[column]:
        yield row.problem(column, "the date is missing")
    elif not DATE.fullmatch(row[column]):
        yield row.problem(column, f"“{row[column][:40]}” is not a date (2026, 2026-11 or 2026-11-21)")


Record = TypeVar("Record")


def record_of(kind: Callable[..., Record], row: DataRow, **overrides: object) -> Record:
    """Return a record of a checked row; fields without overrides are its cells, converted to their types."""
    cells = {name: _value(hint, row[name]) for name, hint in _hints(kind).items() if name not in overrides}
    return kind(**cells, **overrides)


@functools.cache
def _hints(kind: Callable[..., object]) -> dict[str, object]:
    return get_type_hints(kind)


def _value(hint: object, text: str) -> object:
    if hint is bool:
        return text == "yes"
    choices = get_args(hint)
    if type(None) in choices:
        return _value(choices[0], text) if text else None
    return hint(text) if isinstance(hint, type) else text
