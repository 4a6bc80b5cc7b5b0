"""data/validation/errors.csv and left_out.csv: how far predictions miss, which estimates quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.estimating.basis import chip_set, family_set
from app.estimating.nearest import NAMED
from app.estimating.regimes import MeasurementCoverage
from app.estimating.validation.run import RowResult, ValidationReport, summaries
from app.features.accuracy.agreement import agreement, counted
from app.features.accuracy.predictions import Prediction
from tools.accuracy import throughput


def errors_table(
    reports: Mapping[str, tuple[ValidationReport, ...]], predictions: Sequence[Prediction]
) -> str:
    """Return the errors by family, chip and kind of software, which every estimate quotes.

    Runs are taken without their laboratory in the fit where it knows them.
    """
    known = {run.id: run for run in predictions}
    lines = ["family,chip,software,rows,supported,groups,median,ninetieth,coverage"]
    for software, tables in reports.items():
        rows = [row for report in tables for row in throughput(report)]
        if software == NAMED:
            rows = [_left_out(row, known) for row in rows]
        for part in summaries(rows, lambda row: f"{row.family} × {row.chip or 'unknown'}"):
            family, chip = part.name.split(" × ")
            counts = (str(count) for count in (part.rows, part.supported, part.groups))
            figures = (part.median, part.ninetieth, part.coverage)
            cells = ("" if figure is None else f"{figure:.3f}" for figure in figures)
            lines.append(",".join([family, chip, software, *counts, *cells]))
    return "\n".join(lines) + "\n"


def _left_out(row: RowResult, known: Mapping[str, Prediction]) -> RowResult:
    run = known.get(row.id)
    if run is None or run.error(LABORATORY) is None:
        return row
    return run.result(LABORATORY)


LABORATORY = "laboratory_left_out"


def left_out_table(predictions: Sequence[Prediction], measured: MeasurementCoverage) -> str:
    """Return the errors with a run's laboratory or chip left out, by sets of families and chips."""
    parts: dict[tuple[str, ...], list[Prediction]] = {}
    for left_out in ("laboratory", "chip"):
        for run in counted(predictions):
            if run.error(f"{left_out}_left_out") is not None:
                sets = family_set(run.family), chip_set(run.chip, measured)
                parts.setdefault((left_out, *sets), []).append(run)
    lines = ["left_out,families,chips,runs,groups,median,ninetieth"]
    for key, runs in sorted(parts.items()):
        errors = agreement(runs, f"{key[0]}_left_out")
        figures = (f"{figure:.3f}" for figure in (errors.median, errors.ninetieth))
        lines.append(",".join([*key, str(errors.runs), str(errors.groups), *figures]))
    return "\n".join(lines) + "\n"
