"""Why a kind of run is missed, and how far repeats of a run differ: data, found by patterns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.errors import CatalogError

PATTERNS = ("software", "profile", "family", "chip", "model", "interconnect", "metric")
"""Columns that hold patterns; never the identifier, the group or the source of a run."""
ENTIRE = frozenset({"profile", "family", "chip", "metric"})
"""Columns whose pattern must match from end to end."""
ENDLESS = 10**9


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a run must be like, and what follows."""

    expressions: Mapping[str, re.Pattern[str]]
    least_devices: int
    most_devices: int
    result: Mapping[str, str]

    def matches(self, facts: Mapping[str, str], devices: int) -> bool:
        """Tell whether a run is of this kind."""
        return self.least_devices <= devices <= self.most_devices and all(
            expression.search(facts.get(name, "")) for name, expression in self.expressions.items()
        )


def load_patterns(path: Path) -> tuple[Pattern, ...]:
    """Return the rows of a table of patterns, in its order."""
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, restval=""))
    found = []
    for line, row in enumerate(rows, start=2):
        if None in row:
            raise CatalogError(f"{path.name} line {line}: too many columns")
        found.append(
            Pattern(
                {
                    name: re.compile(f"^(?:{row[name]})$" if name in ENTIRE else row[name], re.IGNORECASE)
                    for name in PATTERNS
                    if row.get(name)
                },
                int(row.get("least_devices") or 0),
                int(row.get("most_devices") or ENDLESS),
                {name: value for name, value in row.items() if name not in PATTERNS},
            )
        )
    return tuple(found)


def first(patterns: Iterable[Pattern], facts: Mapping[str, str], devices: int) -> Mapping[str, str] | None:
    """Return what follows from the first pattern that matches; None where none does."""
    return next((one.result for one in patterns if one.matches(facts, devices)), None)


def reason_texts(directory: Path) -> dict[str, str]:
    """Return the sentence of every reason by its code."""
    return {
        one.result["reason"]: one.result["text"]
        for one in load_patterns(directory / "validation" / "reasons.csv")
    }
