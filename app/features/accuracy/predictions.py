"""Every measured run with its prediction, as ``python -m tools documents`` wrote it into a file.

What the accuracy document and the accuracy page say is computed from this file.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from app.estimating.validation.cases import THROUGHPUT, Rule, read_table, rule_of
from app.estimating.validation.run import SLOWER_IS_MORE, RowResult

PATTERNS = ("software", "profile", "family", "chip", "model", "interconnect", "metric")
"""Columns that hold patterns; never the identifier, the group or the source of a run."""

ENTIRE = frozenset({"profile", "family", "chip", "metric"})
"""Columns whose pattern must match from end to end."""


@dataclass(frozen=True, slots=True)
class Pattern(Rule):
    """A rule about runs of some numbers of devices."""

    least_devices: int = 0
    most_devices: float = math.inf


def load_patterns(path: Path) -> tuple[Pattern, ...]:
    patterns = []
    for row in read_table(path):
        rule = rule_of(row, PATTERNS, ENTIRE)
        least, most = int(row.get("least_devices") or 0), float(row.get("most_devices") or math.inf)
        patterns.append(Pattern(rule.patterns, rule.result, least, most))
    return tuple(patterns)


def first(patterns: Iterable[Pattern], facts: Mapping[str, str], devices: int) -> Mapping[str, str] | None:
    """Return the result of the first pattern that matches; None if none does."""
    return next(
        (
            pattern.result
            for pattern in patterns
            if pattern.least_devices <= devices <= pattern.most_devices and pattern.matches(facts)
        ),
        None,
    )


def reason_texts(directory: Path) -> dict[str, str]:
    return {
        pattern.result["reason"]: pattern.result["text"]
        for pattern in load_patterns(directory / "validation" / "reasons.csv")
    }


PREDICTIONS = "validation/predictions.csv"
FAMOUS_RUNS = "validation/famous-runs.csv"
"""Published runs with the plans of their authors; nothing is fitted to them."""
FAMOUS_PREDICTIONS = "validation/famous-predictions.csv"
UNCOUNTED = "validation/famous-uncounted.csv"
"""Software of famous runs that are shown and not counted, and why."""

IN_SAMPLE, GROUP_LEFT_OUT = "in_sample", "group_left_out"

WITH_WIDTHS = ("laboratory_left_out", "chip_left_out", "scale_left_out", "software_unknown")
"""Ways to leave runs out whose bands are not those of the runs themselves."""

LEFT_OUT = (GROUP_LEFT_OUT, *WITH_WIDTHS, "fitted_on_one_machine")

KINDS = (IN_SAMPLE, *LEFT_OUT)
"""What the fit knew of a run when it was predicted."""

COUNTED, APART = "counted", "apart"


@dataclass(frozen=True, slots=True)
class Prediction:
    """One measured run with its predictions by what was left out of the fit."""

    id: str
    group: str
    family: str
    model: str
    chip: str
    system: str
    devices: int
    metric: str
    software: str
    """Software as the row names it."""
    profile: str
    """Software profile it was predicted with."""
    length: str
    """Tokens or side of the image of a sample."""
    precision: str
    batch: float | None
    """Global batch, where the row states it. [samples]"""
    plan: str
    """Layout as the row states it."""
    scope: str
    """Whether it counts for the headline, or stands apart."""
    status: str
    regimes: str
    reason: str
    """Code of the likely reason where runs of this kind are missed; empty where none is known."""
    measured: float | None
    predicted: float | None
    low: float | None
    high: float | None
    log_error: float | None
    group_left_out: float | None
    software_unknown: float | None
    fitted_on_one_machine: float | None
    laboratory_left_out: float | None = None
    chip_left_out: float | None = None
    scale_left_out: float | None = None
    laboratory_left_out_half_width: float | None = None
    """Half the band without the laboratory, as a log-error."""
    chip_left_out_half_width: float | None = None
    scale_left_out_half_width: float | None = None
    software_unknown_half_width: float | None = None

    @property
    def chain(self) -> str:
        """Chain it belongs to: all alike but for devices, batch and layout."""
        return " | ".join(
            (self.family, self.model, self.software, self.chip, self.length, self.precision, self.metric)
        )

    @property
    def is_throughput(self) -> bool:
        """Whether a rate or a step was measured, not a whole run."""
        return self.metric in THROUGHPUT

    @property
    def is_duration(self) -> bool:
        """Whether more of the metric is slower."""
        return self.metric in SLOWER_IS_MORE

    def error(self, kind: str) -> float | None:
        """Return ln(predicted / measured) by what the fit knew.

        Without its group, a run that nothing was fitted to has the same error as in sample.
        """
        value: float | None = self.log_error if kind == IN_SAMPLE else getattr(self, kind)
        return self.log_error if value is None and kind == GROUP_LEFT_OUT else value

    def result(self, kind: str = IN_SAMPLE) -> RowResult:
        """Return the run as a row of a validation; the band moves with the prediction."""
        error = self.error(kind)
        known = RowResult(
            id=self.id,
            group=self.group,
            family=self.family,
            metric=self.metric,
            chip=self.chip,
            devices=self.devices,
            supported=error is not None,
            reason=self.reason,
            measured=self.measured,
            software=self.profile,
            chain=self.chain,
            regimes=tuple(self.regimes.split()),
        )
        if error is None or self.measured is None or self.log_error is None:
            return known
        predicted = self.measured * math.exp(error)
        width: float | None = getattr(self, f"{kind}_half_width", None)
        if width is not None:
            factor = math.exp(width)
            return replace(known, predicted=predicted, low=predicted / factor, high=predicted * factor)
        moved = math.exp(error - self.log_error)
        return replace(
            known, predicted=predicted, low=(self.low or 0.0) * moved, high=(self.high or 0.0) * moved
        )


COLUMNS = tuple(entry.name for entry in fields(Prediction))

HALF_WIDTHS = tuple(f"{kind}_half_width" for kind in WITH_WIDTHS)

LOGARITHMS = ("log_error", *LEFT_OUT, *HALF_WIDTHS)

NUMBERS = ("batch", "measured", "predicted", "low", "high", *LOGARITHMS)


def read_predictions(directory: Path, name: str = PREDICTIONS) -> tuple[Prediction, ...]:
    """Return every run of a file as last predicted; empty before that."""
    path = directory / name
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(_read(row) for row in csv.DictReader(handle))


def _read(row: Mapping[str, str]) -> Prediction:
    numbers = {name: float(row[name]) if row[name] else None for name in NUMBERS}
    words = {name: row[name] for name in COLUMNS if name not in NUMBERS and name != "devices"}
    return Prediction(**words, **numbers, devices=int(row["devices"]))  # type: ignore[arg-type]
