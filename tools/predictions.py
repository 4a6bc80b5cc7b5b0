"""data/validation/predictions.csv: every measured run with its prediction.

It is rounded, so that every machine writes the same text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.estimating.validation.cases import number, read_table
from app.estimating.validation.run import SLOWER_IS_MORE, RowResult
from app.features.accuracy.predictions import (
    COLUMNS,
    HALF_WIDTHS,
    LEFT_OUT,
    LOGARITHMS,
    Pattern,
    Prediction,
    first,
)

DIGITS = 5
"""Significant digits of a value."""

DECIMALS = 4
"""Decimals of a log-error."""

PLAN = (
    ("micro_batch", "micro-batch"),
    ("dp", "data"),
    ("tp", "tensor"),
    ("pp", "pipeline"),
    ("zero", "ZeRO"),
    ("recompute", "recompute"),
)
"""Columns of a measured row that tell its plan, and how they are called."""


def predictions_of(
    results: Iterable[tuple[str, RowResult]],
    configurations: Mapping[str, Mapping[str, str]],
    held_out: Path | None,
    reasons: Sequence[Pattern],
) -> tuple[Prediction, ...]:
    slower = {row["id"]: row for row in read_table(held_out)} if held_out else {}
    predictions = [
        _prediction(scope, row, configurations[row.id], slower.get(row.id, {}), reasons)
        for scope, row in results
    ]
    return tuple(sorted(predictions, key=lambda run: run.id))


def _prediction(
    scope: str,
    result: RowResult,
    row: Mapping[str, str],
    slower: Mapping[str, str],
    reasons: Sequence[Pattern],
) -> Prediction:
    chain = result.chain.split(" | ")
    shared = {
        **{name: getattr(result, name) for name in ("family", "chip", "metric")},
        "model": row["model_name"],
        "software": row["software"],
        "profile": result.software or "",
    }
    facts = shared | {"interconnect": row["interconnect"]}
    reason = first(reasons, facts, result.devices) if result.supported else None
    sign = 1.0 if result.metric in SLOWER_IS_MORE else -1.0
    widths: dict[str, Any] = {name: number(slower.get(name, "")) for name in HALF_WIDTHS}
    left_out: dict[str, Any] = {
        name: _decimals(sign * float(slower[name])) if result.supported and slower.get(name) else None
        for name in LEFT_OUT
    }
    plan = [
        f"{name} {row[column]}" for column, name in PLAN if row.get(column) not in {None, "", "0", "none"}
    ]
    return Prediction(
        **shared,
        id=result.id,
        group=result.group,
        system=row["system"],
        devices=result.devices,
        length=chain[-3] if len(chain) > 1 else "",
        precision=chain[-2] if len(chain) > 1 else "",
        batch=_digits(number(row["global_batch"])),
        plan=", ".join(plan),
        scope=scope,
        status="predicted" if result.supported else "refused",
        regimes=" ".join(result.regimes),
        reason=reason["reason"] if reason else "",
        measured=_digits(result.measured),
        predicted=_digits(result.predicted),
        low=_digits(result.low),
        high=_digits(result.high),
        log_error=_decimals(result.log_error),
        **left_out,
        **widths,
    )


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _decimals(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def predictions_text(predictions: Iterable[Prediction]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in predictions:
        writer.writerow(_cell(name, getattr(run, name)) for name in COLUMNS)
    return written.getvalue()


def _cell(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        exact = f"{value:.{DECIMALS}f}" if name in LOGARITHMS else repr(value)
        return exact.removesuffix(".0")
    return str(value)
