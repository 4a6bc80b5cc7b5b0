"""Global batches up to which convergence holds: data/batch_limits.csv."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """Global batch up to which convergence holds, as far as published recipes show."""

    family: str
    limit: float
    unit: str
    source: str
    note: str


def load_batch_limits(directory: Path) -> Mapping[str, BatchLimit]:
    """Load data/batch_limits.csv by family; the empty family is the default."""
    with (directory / "batch_limits.csv").open(encoding="utf-8", newline="") as handle:
        return {
            row["family"]: BatchLimit(
                row["family"], float(row["limit"]), row["unit"], row["source"], row["note"]
            )
            for row in csv.DictReader(handle)
        }
