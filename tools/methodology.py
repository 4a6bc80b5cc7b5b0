"""The constants that docs/methodology quotes, with their status, from the data."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from app.errors import CatalogError

QUOTED = re.compile(
    r"^\| `(?P<name>\w+)` \| [^|]* \| [^|]* \| "
    r"`data/(?P<file>\w+)\.csv`(?: (?P<item>[\w. -]+))? \|(?P<rest>.*)$",
    re.MULTILINE,
)
"""A row of a table: name, value, status, file with item, and what the constant is."""

MADE_HERE = {
    "rackline-fit": "fitted",
    "rackline-regression": "curve through published points",
    "rackline-assumption": "assumed",
    "rackline-estimate": "estimated",
    "recalled": "recalled",
}

LONGEST_WHOLE = 1e6
"""Whole numbers up to this are written out."""

Constants = Mapping[tuple[str, str, str], tuple[str, str]]


def read_constants(directory: Path) -> Constants:
    """Return value and status of every constant by file, item and name."""
    constants: dict[tuple[str, str, str], tuple[str, str]] = {}
    for path in sorted(directory.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as handle:
            for row in csv.DictReader(handle):
                entry = _constant(row)
                if entry is not None:
                    item, name, value, status = entry
                    constants[path.stem, item, name] = (value, status)
    return constants


def _constant(row: Mapping[str, str]) -> tuple[str, str, str, str] | None:
    if "regime" in row:
        return "", row["regime"], row["deviation"], row["basis"]
    if "parameter" not in row or "value" not in row or row.get("status") == "rejected":
        return None
    if not row["value"]:
        return None
    # One of several conditions is named after its item.
    item = f"{row.get('item') or row.get('profile') or ''} {row.get('condition') or ''}".strip()
    unit = row.get("unit") or ""
    number = _plain(row["value"])
    value = number if unit in ("", "1", "id", "text") else f"{number} {unit}"
    status = row["status"]
    if status == "accepted":
        status = MADE_HERE.get(row.get("source") or "", "sourced")
    return item, row["parameter"], value, status


def _plain(text: str) -> str:
    """Return a number formatted for reading; other text unchanged."""
    try:
        value = float(text)
    except ValueError:
        return text
    if value.is_integer() and abs(value) < LONGEST_WHOLE:
        return f"{value:,.0f}"
    return f"{value:.4g}".replace("e+0", "e").replace("e+", "e")


def refreshed(text: str, constants: Constants, name: str) -> str:
    """Return a text with its tables of constants updated from the data."""

    def row(match: re.Match[str]) -> str:
        key = (match["file"], match["item"] or "", match["name"])
        if key not in constants:
            raise CatalogError(f"{name}: data/{key[0]}.csv has no {key[2]} {key[1]}".rstrip())
        value, status = constants[key]
        source = f"`data/{key[0]}.csv`" + (f" {key[1]}" if key[1] else "")
        return f"| `{key[2]}` | {value} | {status} | {source} |{match['rest']}"

    return QUOTED.sub(row, text)
