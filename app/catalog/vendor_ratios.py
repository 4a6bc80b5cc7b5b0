"""Published ratios of one machine over another, and the runs that are estimated beside them.

data/vendor_ratios.csv says what was claimed, on which base and by whom; data/vendor_runs.csv says with which
workload, batch and software each side of a claim about training is estimated. Nothing is fitted to either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from app.catalog.figures import FigureStatus, Source
from app.catalog.files import DataProblem, DataRow, Sheets, date_problems, numbers, record_of

Metric = Literal["time_to_train", "training_throughput", "unstated_throughput", "inference_throughput"]
Side = Literal["claimed", "baseline"]
METRICS, SIDES = get_args(Metric), get_args(Side)
ANSWERS = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Machinery:
    """One side of a claim as it is stated."""

    system: str
    count: int
    devices: int
    """Accelerators of all of them that work; fewer than they have where one of several is meant."""
    hours: float | None
    """Published time to train of one of the systems. [h]"""


@dataclass(frozen=True, slots=True)
class VendorRun:
    """One estimate: a phase of training on one side of a claim."""

    side: Side
    phase: str
    preset: str
    seq_len: int | None
    image_size: int | None
    samples: float
    global_batch: int | None
    """Left to the search where None."""
    precision: str
    optimizer: str
    software: str
    """Profile nearest to the time of the claim."""
    software_later: str
    """The best later one."""
    source: Source
    as_of: str
    note: str


@dataclass(frozen=True, slots=True)
class VendorRatio:
    """One published ratio with the base it refers to."""

    id: str
    statement: str
    quote: str
    """The sentence as published, in Chinese."""
    value: float
    also: float | None
    """The same ratio as it is printed elsewhere in the source, or as its own hours give it."""
    metric: Metric
    model: str
    claimed: Machinery
    baseline: Machinery
    linear: bool
    """True where the baseline was never run at its size."""
    software_era: str
    source: Source
    others: tuple[Source, ...]
    """Other sources on the claim."""
    as_of: str
    status: FigureStatus
    modelled: bool
    reason: str
    """Why there is no estimate; empty where there is one."""
    unclear: str
    """What the source leaves unclear."""
    runs: tuple[VendorRun, ...]


def ratio_problems(sheets: Sheets) -> Iterator[DataProblem]:
    """Check both files: provenance, numbers, identifiers, and that modelled claims have both sides."""
    sources = {row["id"] for row in sheets.rows["sources"]}
    units = {row["unit"] for row in sheets.rows["units"] if row["factor"]}
    systems = {row["item"] for row in sheets.rows["items"] if "system" in row["kinds"].split()}
    sides: dict[str, set[str]] = {}
    for row in sheets.rows["vendor_runs"]:
        sides.setdefault(row["ratio"], set()).add(row["side"])
        yield from _provenance(row, sources)
        yield from _listed(row, "side", SIDES)
        yield from _positive(row, "samples", needed=True)
        for column in ("seq_len", "image_size", "global_batch"):
            yield from _counted(row, column, needed=False)
        for column in ("phase", "preset", "precision", "optimizer", "software", "software_later", "note"):
            if not row[column]:
                yield row.problem(column, "must be given: an estimate states all it rests on")
    identifiers: set[str] = set()
    for row in sheets.rows["vendor_ratios"]:
        yield from _provenance(row, sources)
        yield from _claimed(row, identifiers, sources | {""}, units, systems)
        modelled_sides = sides.get(row["ratio"], set())
        if row["modelled"] == "yes" and modelled_sides != set(SIDES):
            yield row.problem("modelled", "a modelled ratio needs runs of both sides in vendor_runs.csv")
        if row["modelled"] == "no" and (modelled_sides or not row["reason"]):
            yield row.problem("reason", "a ratio without an estimate needs the reason, and no runs")
        identifiers.add(row["ratio"])
    for name in sides.keys() - identifiers:
        yield DataProblem("vendor_runs.csv", 0, "ratio", f"no ratio is called “{name}”")


def _claimed(
    row: DataRow, identifiers: set[str], sources: set[str], units: set[str], systems: set[str]
) -> Iterator[DataProblem]:
    if not row["ratio"] or row["ratio"] in identifiers:
        yield row.problem("ratio", "every ratio needs an identifier of its own")
    if row["unit"] not in units:
        yield row.problem("unit", f"unknown unit “{row['unit']}”")
    for column in ("statement", "quote", "model", "software_era", "unclear"):
        if not row[column]:
            yield row.problem(column, "must be given")
    yield from _listed(row, "metric", METRICS)
    yield from _listed(row, "linear", ANSWERS)
    yield from _listed(row, "modelled", ANSWERS)
    for name in row["others"].split(";"):
        if name not in sources:
            yield row.problem("others", f"unknown source “{name}”")
    for column in ("value", "also", "claimed_hours", "baseline_hours"):
        yield from _positive(row, column, needed=column == "value")
    for side in SIDES:
        if row[side] not in systems:
            yield row.problem(side, f"“{row[side]}” is not a system")
        for part in ("count", "devices"):
            yield from _counted(row, f"{side}_{part}", needed=True)


def _provenance(row: DataRow, sources: set[str]) -> Iterator[DataProblem]:
    if row["source"] not in sources:
        yield row.problem("source", f"unknown source “{row['source']}”")
    yield from date_problems(row, "as_of")
    yield from _listed(row, "status", tuple(FigureStatus))


def _listed(row: DataRow, column: str, allowed: Iterable[str]) -> Iterator[DataProblem]:
    if row[column] not in tuple(allowed):
        yield row.problem(column, f"must be one of {', '.join(allowed)}")


def _positive(row: DataRow, column: str, *, needed: bool) -> Iterator[DataProblem]:
    (value,) = yield from numbers(row, column)
    if value is None:
        if needed and not row[column]:
            yield row.problem(column, "the number is missing")
    elif value <= 0:
        yield row.problem(column, "must be above 0")


def _counted(row: DataRow, column: str, *, needed: bool) -> Iterator[DataProblem]:
    text = row[column]
    if (text or needed) and not (text.isdecimal() and int(text) > 0):
        yield row.problem(column, f"“{text[:40]}” is not a whole number above 0")


def vendor_ratios(sheets: Sheets, sources: Mapping[str, Source]) -> tuple[VendorRatio, ...]:
    """Return the ratios of checked files in their order."""
    runs: dict[str, list[VendorRun]] = {}
    for row in sheets.rows["vendor_runs"]:
        run = record_of(VendorRun, row, source=sources[row["source"]])
        runs.setdefault(row["ratio"], []).append(run)
    return tuple(
        record_of(
            VendorRatio,
            row,
            id=row["ratio"],
            claimed=_machinery(row, "claimed"),
            baseline=_machinery(row, "baseline"),
            source=sources[row["source"]],
            others=tuple(sources[name] for name in row["others"].split(";") if name),
            runs=tuple(runs.get(row["ratio"], ())),
        )
        for row in sheets.rows["vendor_ratios"]
    )


def _machinery(row: DataRow, side: str) -> Machinery:
    hours = row[f"{side}_hours"]
    count, devices = int(row[f"{side}_count"]), int(row[f"{side}_devices"])
    return Machinery(row[side], count, devices, float(hours) if hours else None)
