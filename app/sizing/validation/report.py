"""Summary of a validation: by family and chip, coverage and order within scaling chains."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.records import Floats


@dataclass(frozen=True, slots=True)
class RowResult:
    """One row: what was predicted and what was measured."""

    id: str
    group: str
    family: str
    chip: str
    metric: str
    devices: int
    supported: bool
    reason: str
    predicted: float | None
    low: float | None
    high: float | None
    measured: float | None
    software: str | None
    chain: str
    regimes: tuple[str, ...] = ()
    """What its error may come from, of data/residuals.csv."""

    @property
    def log_error(self) -> float | None:
        """ln(predicted / measured), where both are known."""
        if self.predicted is None or self.measured is None or self.measured <= 0 or self.predicted <= 0:
            return None
        return math.log(self.predicted) - math.log(self.measured)

    def to_json(self) -> dict[str, object]:
        """Return the row as the command answers it."""
        return {
            "id": self.id,
            "group": self.group,
            "family": self.family,
            "supported": self.supported,
            "reason": self.reason,
            "predicted": self.predicted,
            "low": self.low,
            "high": self.high,
            "measured": self.measured,
            "log_error": self.log_error,
            "software": self.software,
        }


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Errors of a set of rows, each group weighted once."""

    name: str
    rows: int
    supported: int
    groups: int
    median: float | None
    ninetieth: float | None
    bias: float | None
    coverage: float | None


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Return a quantile of weighted values, interpolated between the middles of their weights."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    middles = (np.cumsum(weights) - 0.5 * weights) / np.sum(weights)
    return float(np.interp(share, middles, values))


def summary(name: str, rows: Sequence[RowResult]) -> ErrorSummary:
    """Return the summary of some rows."""
    compared = [row for row in rows if row.log_error is not None]
    supported = sum(row.supported for row in rows)
    if not compared:
        return ErrorSummary(name, len(rows), supported, 0, None, None, None, None)
    sizes: dict[str, int] = defaultdict(int)
    for row in compared:
        sizes[row.group] += 1
    weights = np.array([1.0 / sizes[row.group] for row in compared])
    errors = np.array([row.log_error for row in compared], dtype=float)
    inside = np.array([(row.low or 0.0) <= (row.measured or 0.0) <= (row.high or 0.0) for row in compared])
    return ErrorSummary(
        name=name,
        rows=len(rows),
        supported=supported,
        groups=len(sizes),
        median=weighted_quantile(np.abs(errors), weights, 0.5),
        ninetieth=weighted_quantile(np.abs(errors), weights, 0.9),
        bias=float(np.average(errors, weights=weights)),
        coverage=float(np.average(inside, weights=weights)),
    )


def summaries(rows: Iterable[RowResult], key: Callable[[RowResult], str]) -> list[ErrorSummary]:
    """Return a summary per value of a key."""
    parts: dict[str, list[RowResult]] = defaultdict(list)
    for row in rows:
        parts[key(row)].append(row)
    return [summary(name, parts[name]) for name in sorted(parts)]


SHORTEST_CHAIN = 3


def chain_correlations(rows: Iterable[RowResult]) -> dict[str, float]:
    """Return Spearman's rank correlation of predicted with measured in each scaling chain.

    A chain holds rows alike but for the number of devices or the batch; those shorter than three
    are left out.
    """
    chains: dict[str, list[RowResult]] = defaultdict(list)
    for row in rows:
        if row.log_error is not None and row.chain:
            chains[row.chain].append(row)
    found = {}
    for name, members in sorted(chains.items()):
        if len({row.measured for row in members}) >= SHORTEST_CHAIN:
            predicted = _ranks([row.predicted or 0.0 for row in members])
            measured = _ranks([row.measured or 0.0 for row in members])
            if np.std(predicted) > 0:
                found[name] = float(np.corrcoef(predicted, measured)[0, 1])
    return found


def _ranks(values: Sequence[float]) -> Floats:
    array = np.asarray(values)
    return np.array([np.mean(np.flatnonzero(np.sort(array) == value)) for value in array])
