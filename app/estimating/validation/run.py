"""Validate the engine: read rows, predict each from its configuration, then compare."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from app.engine.records import Floats
from app.engine.uncertainty import band
from app.errors import AppError, BadInput
from app.estimating.context import SizingContext
from app.estimating.ranges import common_normals, own_column, residual_samples
from app.estimating.regimes import MeasurementCoverage, regimes
from app.estimating.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    UnsupportedCase,
    number,
    read_case,
    without_answers,
)
from app.estimating.validation.predict import PredictionSamples, predict


@dataclass(frozen=True, slots=True)
class RowResult:
    """One row: what was predicted and what was measured."""

    id: str
    group: str
    family: str
    metric: str
    chip: str = ""
    devices: int = 0
    supported: bool = False
    reason: str = ""
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    software: str | None = None
    chain: str = ""
    regimes: tuple[str, ...] = ()
    """Rows of data/residuals.csv that apply to it."""

    @property
    def log_error(self) -> float | None:
        """ln(predicted / measured), where both are known."""
        if self.predicted is None or self.measured is None or self.measured <= 0 or self.predicted <= 0:
            return None
        return math.log(self.predicted) - math.log(self.measured)

    @property
    def time_error(self) -> float | None:
        """ln(predicted / measured) of the time: above zero the prediction is too slow, also of a rate."""
        error = self.log_error
        return error if error is None or self.metric in SLOWER_IS_MORE else -error

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ANSWERED}


ANSWERED = (
    *("id", "group", "family", "supported", "reason", "predicted", "low", "high", "measured", "log_error"),
    "software",
)
"""Fields of a row in the output of the command."""


@dataclass(frozen=True, slots=True)
class ErrorStatistics:
    """Errors of a set of rows, each group weighted once."""

    name: str
    rows: int
    supported: int
    groups: int = 0
    median: float | None = None
    """Of the absolute log-error."""
    ninetieth: float | None = None
    bias: float | None = None
    """Mean log-error of the time: above zero predictions are too slow, those of rates as well."""
    coverage: float | None = None
    """Share of measured values inside the 80 % band."""


def group_weights(groups: Sequence[str]) -> Floats:
    """Return weights by which each group counts once."""
    sizes = Counter(groups)
    return np.array([1.0 / sizes[group] for group in groups])


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Return a quantile of weighted values, interpolated between the middles of their weights."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    middles = (np.cumsum(weights) - 0.5 * weights) / np.sum(weights)
    return float(np.interp(share, middles, values))


def summary(name: str, rows: Sequence[RowResult]) -> ErrorStatistics:
    compared = [row for row in rows if row.log_error is not None]
    counts = ErrorStatistics(name, len(rows), sum(row.supported for row in rows))
    if not compared:
        return counts
    groups = [row.group for row in compared]
    inside = np.array([(row.low or 0.0) <= (row.measured or 0.0) <= (row.high or 0.0) for row in compared])
    return replace(
        with_errors(counts, np.array([row.time_error for row in compared], dtype=float), groups),
        coverage=float(np.average(inside, weights=group_weights(groups))),
    )


def with_errors(part: ErrorStatistics, errors: Floats, groups: Sequence[str]) -> ErrorStatistics:
    """Return a summary with the quantiles of log-errors."""
    weights = group_weights(groups)
    return replace(
        part,
        groups=len(set(groups)),
        median=weighted_quantile(np.abs(errors), weights, 0.5),
        ninetieth=weighted_quantile(np.abs(errors), weights, 0.9),
        bias=float(np.average(errors, weights=weights)),
    )


def summaries(rows: Iterable[RowResult], key: Callable[[RowResult], str]) -> list[ErrorStatistics]:
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
    correlations = {}
    for name, members in sorted(chains.items()):
        if len({row.measured for row in members}) >= SHORTEST_CHAIN:
            predicted = _ranks([row.predicted or 0.0 for row in members])
            measured = _ranks([row.measured or 0.0 for row in members])
            if np.std(predicted) > 0:
                correlations[name] = float(np.corrcoef(predicted, measured)[0, 1])
    return correlations


def _ranks(values: Sequence[float]) -> Floats:
    array = np.asarray(values)
    return np.array([np.mean(np.flatnonzero(np.sort(array) == value)) for value in array])


REQUIRED = ("id", "family", "system", "accelerators", "metric")
MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class ValidationReport:
    rows: tuple[RowResult, ...]
    by_family_and_chip: tuple[ErrorStatistics, ...]
    by_metric: tuple[ErrorStatistics, ...]
    overall: ErrorStatistics
    chains: Mapping[str, float]

    def to_json(self) -> dict[str, object]:
        return {
            "rows": [row.to_json() for row in self.rows],
            "summary": {
                "by_family_and_chip": [asdict(part) for part in self.by_family_and_chip],
                "by_metric": [asdict(part) for part in self.by_metric],
                "overall": asdict(self.overall),
                "chains": dict(self.chains),
            },
        }


def read_rows(text: str) -> list[dict[str, str]]:
    reader = csv.DictReader(io.StringIO(text), restval="")
    missing = [name for name in REQUIRED if name not in (reader.fieldnames or [])]
    if missing:
        raise BadInput.at(
            "file",
            "the columns {missing} are missing; use the columns of data/validation/measured.csv",
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
    results = tuple(
        replace(
            predict_row(without_answers(row), context, context.measured),
            measured=number(row.get("value", "")),
        )
        for row in rows
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


def predict_run(
    case: MeasurementCase, context: SizingContext, measured: MeasurementCoverage
) -> tuple[PredictionSamples, Floats, list[str]]:
    """Return the prediction of a case, samples of its metric, and its regimes.

    Samples of runs that share a table of normals vary together in what both depend on.
    """
    if case.profile is None:
        raise UnsupportedCase("no software profile is known for {software}", software=case.software)
    profile = replace(context.software.profile(case.profile), presumed=case.presumed)
    normals = common_normals()
    prediction = predict(case, context, profile, normals)
    names = regimes(prediction.scenario, prediction.plans, case.family, measured)
    factors = residual_samples(
        names, context.residuals, normals, own_column(prediction.scenario.chip, prediction.plans)
    )
    factors = factors * np.exp(prediction.run_deviation * normals["run_length"])
    samples = prediction.samples * factors if case.metric in SLOWER_IS_MORE else prediction.samples / factors
    return prediction, samples, names


def predict_row(row: Mapping[str, str], context: SizingContext, measured: MeasurementCoverage) -> RowResult:
    """Return the prediction of one row, or the reason why there is none."""
    empty = RowResult(
        id=row.get("id", ""),
        group=row.get("group", "") or row.get("id", ""),
        family=row.get("family", ""),
        metric=row.get("metric", ""),
    )
    try:
        case = read_case(row, context.rules)
    except UnsupportedCase as reason:
        return replace(empty, reason=str(reason))
    described = replace(
        empty,
        chip=case.chip,
        devices=case.devices,
        software=case.profile,
        chain=_chain(case, empty.family),
    )
    try:
        prediction, samples, names = predict_run(case, context, measured)
        low, high = band(samples, prediction.value)
    except (UnsupportedCase, AppError) as reason:
        return replace(described, reason=str(reason))
    return replace(
        described,
        supported=True,
        predicted=prediction.value,
        low=float(low),
        high=float(high),
        regimes=tuple(names),
    )


SLOWER_IS_MORE = frozenset({"step_time_s", "time_to_train_min", "gpu_hours"})


def _chain(case: MeasurementCase, family: str) -> str:
    """Name of the chain a row belongs to: all alike but for devices and batch."""
    size = str(case.seq_len or case.image_size or "")
    return " | ".join((family, case.model, case.software, case.chip, size, case.precision, case.metric))


UNITS = {
    "samples_per_s": "samples/s",
    "tokens_per_s": "tokens/s",
    "tflops_per_accel": "TFLOP/s",
    "step_time_s": "s",
    "time_to_train_min": "min",
    "gpu_hours": "GPU h",
}
"""Unit of each metric; a key of the catalogues."""
