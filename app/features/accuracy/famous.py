"""Famous runs: published training runs with the plans of their authors, predicted and never fitted."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.estimating.schema import Document
from app.estimating.validation.cases import read_table
from app.estimating.validation.run import summary
from app.features.accuracy.predictions import (
    FAMOUS_PREDICTIONS,
    FAMOUS_RUNS,
    UNCOUNTED,
    Pattern,
    Prediction,
    first,
    load_patterns,
    read_predictions,
)
from app.profiles.presets import data_directory

HOURS = "gpu_hours"
"""Metric of whole runs; all others are of one step."""


class FamousRun(Document):
    """A published run beside its prediction."""

    run: Prediction
    source: str
    """Where it was published."""
    note: str
    """What the source leaves open, or says besides."""
    uncounted: str
    """Why it is shown and not counted; empty where it counts."""

    @property
    def inside(self) -> bool:
        run = self.run
        return (run.low or 0.0) <= (run.measured or 0.0) <= (run.high or 0.0)


@dataclass(frozen=True, slots=True)
class FamousErrors:
    """Errors of the famous runs that count, of steps or of whole runs."""

    runs: int
    median: float
    """Of |ln(predicted / published)|."""
    inside: int
    """Runs within the 80 % interval."""


class FamousRuns(Document):
    """Famous runs and how well they are predicted."""

    steps: FamousErrors
    hours: FamousErrors
    """Whole runs in hours of accelerators."""
    runs: list[FamousRun]


@functools.cache
def famous_runs() -> FamousRuns:
    """Return the famous runs as last predicted."""
    return famous_of(read_predictions(data_directory(), FAMOUS_PREDICTIONS))


def famous_of(predictions: Iterable[Prediction]) -> FamousRuns:
    """Return predictions with what their rows say besides, those that count and the largest first."""
    directory = data_directory()
    rows = {row["id"]: row for row in read_table(directory / FAMOUS_RUNS)}
    uncounted = load_patterns(directory / UNCOUNTED)
    runs = [_famous(run, rows[run.id], uncounted) for run in predictions]
    runs.sort(key=lambda one: (bool(one.uncounted), -one.run.devices, one.run.id))
    counted = [one for one in runs if not one.uncounted]
    return FamousRuns(
        steps=_errors([one for one in counted if one.run.metric != HOURS]),
        hours=_errors([one for one in counted if one.run.metric == HOURS]),
        runs=runs,
    )


def _famous(run: Prediction, row: Mapping[str, str], uncounted: Sequence[Pattern]) -> FamousRun:
    why = first(uncounted, {"software": row["software"]}, run.devices)
    return FamousRun(
        run=run, source=row["source"], note=row["notes"], uncounted="" if why is None else why["text"]
    )


def _errors(runs: Sequence[FamousRun]) -> FamousErrors:
    median = summary("", [one.run.result() for one in runs]).median
    return FamousErrors(len(runs), 0.0 if median is None else median, sum(one.inside for one in runs))
