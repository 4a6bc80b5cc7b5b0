"""Pairs of measured runs whose ratio is published: one benchmark on as many accelerators of two kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.engine.comparison import speed_ratio
from app.engine.units import MINUTE
from app.errors import CatalogError
from app.estimating.validation.cases import number, read_table

ALIKE = ("model_name", "seq_len", "image_size", "accelerators", "metric")
"""Columns in which both runs must agree."""
METRIC = "time_to_train_min"


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """Two measured rows of data/validation."""

    id: str
    claimed: Mapping[str, str]
    baseline: Mapping[str, str]

    @property
    def ratio(self) -> float:
        """How many times as fast the first was."""
        return float(speed_ratio(measured_seconds(self.baseline), measured_seconds(self.claimed)))


def measured_seconds(row: Mapping[str, str]) -> float:
    """Return the measured time to train of a row. [s]"""
    minutes = number(row["value"])
    if row["metric"] != METRIC or minutes is None or minutes <= 0:
        raise CatalogError(f"ratios.csv: {row['id']} has no time to train")
    return minutes * MINUTE


def load_pairs(path: Path, rows: Iterable[Mapping[str, str]]) -> tuple[MeasuredPair, ...]:
    """Return the pairs of a table; refuse runs that are unknown, or not of the same work."""
    listed = read_table(path)
    identifiers = {pair[side] for pair in listed for side in ("claimed", "baseline")}
    rows_by_id = {row["id"]: row for row in rows if row["id"] in identifiers}
    if missing := identifiers - rows_by_id.keys():
        raise CatalogError(f"{path.name}: no measured run is called {', '.join(sorted(missing))}")
    pairs = tuple(
        MeasuredPair(pair["ratio"], rows_by_id[pair["claimed"]], rows_by_id[pair["baseline"]])
        for pair in listed
    )
    for pair in pairs:
        differing = [name for name in ALIKE if pair.claimed[name] != pair.baseline[name]]
        if differing:
            raise CatalogError(f"{path.name}: the runs of {pair.id} differ in {', '.join(differing)}")
        measured_seconds(pair.claimed), measured_seconds(pair.baseline)
    return pairs
