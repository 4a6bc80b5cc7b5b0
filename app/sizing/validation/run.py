"""Validate the engine: read rows, predict each from its configuration, then compare."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.uncertainty import band
from app.errors import AppError, BadInput
from app.sizing.context import SizingContext
from app.sizing.regimes import MeasurementCoverage, regimes
from app.sizing.spread import common_normals, own_column, residual_samples
from app.sizing.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    Unsupported,
    number,
    read_case,
    without_answers,
)
from app.sizing.validation.predict import predict
from app.sizing.validation.report import ErrorSummary, RowResult, chain_correlations, summaries, summary

REQUIRED = ("id", "family", "system", "accelerators", "metric")
MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """All rows and their summaries."""

    rows: tuple[RowResult, ...]
    by_family_and_chip: tuple[ErrorSummary, ...]
    by_metric: tuple[ErrorSummary, ...]
    overall: ErrorSummary
    chains: Mapping[str, float]

    def to_json(self) -> dict[str, object]:
        """Return the report as the command answers it."""

        def one(part: ErrorSummary) -> dict[str, object]:
            return {name: getattr(part, name) for name in ErrorSummary.__slots__}

        return {
            "rows": [row.to_json() for row in self.rows],
            "summary": {
                "by_family_and_chip": [one(part) for part in self.by_family_and_chip],
                "by_metric": [one(part) for part in self.by_metric],
                "overall": one(self.overall),
                "chains": dict(self.chains),
            },
        }


def read_rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file with the columns of data/validation/measured.csv."""
    reader = csv.DictReader(io.StringIO(text), restval="")
    missing = [name for name in REQUIRED if name not in (reader.fieldnames or [])]
    if missing:
        raise BadInput.at(
            "file",
            "the columns {missing} are missing; the columns of data/validation/measured.csv are expected",
            missing=", ".join(missing),
        )
    rows: list[dict[str, str]] = []
    for row in reader:
        if len(rows) == MOST_ROWS:
            raise BadInput.at("file", "more than {most} rows; split the file", most=MOST_ROWS)
        rows.append({name: value or "" for name, value in row.items() if isinstance(name, str)})
    return rows


def validate(rows: Sequence[Mapping[str, str]], context: SizingContext) -> ValidationReport:
    """Predict every row without its measured value, then compare."""
    hidden = [without_answers(row) for row in rows]
    measured_pairs = context.measured
    predicted = [predict_row(row, context, measured_pairs) for row in hidden]
    results = tuple(
        replace(result, measured=number(row.get("value", "")))
        for result, row in zip(predicted, rows, strict=True)
    )
    throughput = [row for row in results if row.metric in THROUGHPUT]
    return ValidationReport(
        rows=results,
        by_family_and_chip=tuple(
            summaries(throughput, lambda row: f"{row.family} × {row.chip or 'unknown'}")
        ),
        by_metric=tuple(summaries(results, lambda row: row.metric)),
        overall=summary("all throughput rows", throughput),
        chains=chain_correlations(throughput),
    )


def predict_row(row: Mapping[str, str], context: SizingContext, measured: MeasurementCoverage) -> RowResult:
    """Return the prediction of one row, or the reason why there is none."""
    empty = RowResult(
        id=row.get("id", ""),
        group=row.get("group", "") or row.get("id", ""),
        family=row.get("family", ""),
        chip="",
        metric=row.get("metric", ""),
        devices=0,
        supported=False,
        reason="",
        predicted=None,
        low=None,
        high=None,
        measured=None,
        software=None,
        chain="",
    )
    try:
        case = read_case(row, context.rules)
    except Unsupported as reason:
        return replace(empty, reason=str(reason))
    known = replace(empty, chip=case.chip, devices=case.devices, software=case.profile, chain=_chain(case))
    try:
        if case.profile is None:
            raise Unsupported("no software profile is known for {software}", software=case.software)
        profile = context.software.profile(case.profile)
        normals = common_normals()
        found = predict(case, context, profile, normals)
        names = regimes(found.scenario, found.plans, case.family, measured)
        factors = residual_samples(
            names, context.residuals, normals, own_column(found.scenario.chip.name, found.plans)
        )
        factors = factors * np.exp(found.run_deviation * normals["run_length"])
        samples = found.samples * factors if case.metric in SLOWER_IS_MORE else found.samples / factors
        low, high = band(samples, found.value)
    except (Unsupported, AppError) as reason:
        return replace(known, reason=str(reason))
    return replace(
        known,
        supported=True,
        predicted=found.value,
        low=float(low),
        high=float(high),
        regimes=tuple(names),
    )


SLOWER_IS_MORE = frozenset({"step_time_s", "time_to_train_min", "gpu_hours"})


def _chain(case: MeasurementCase) -> str:
    """Name of the chain a row belongs to: all alike but for devices and batch."""
    return " | ".join(
        (
            case.family,
            case.model,
            case.software,
            case.chip,
            str(case.seq_len or case.image_size or ""),
            case.precision,
            case.metric,
        )
    )
