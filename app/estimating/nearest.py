"""How far an estimate is from anything measured."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from pathlib import Path
from typing import Literal, NamedTuple

from app.catalog.software import SoftwareCatalog, SoftwareProfile
from app.errors import Message
from app.estimating.documents import CheckWarning, NearestRun, OutsideRun, Validation
from app.estimating.ranges import significant
from app.estimating.regimes import IPU_SERIES
from app.estimating.schema import Quantity
from app.estimating.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    Unsupported,
    number,
    read_case,
    without_answers,
)
from app.estimating.validation.rules import Rules

UNVALIDATED = frozenset(
    {
        "ipu_phased",
        "ipu_decoder",
        "ipu_other_family",
        "gpu_other_chip",
        "gpu_unmeasured_family",
        "gpu_experts",
        "gpu_wide_tensor",
        "gpu_deep_interleave",
        "gpu_offload",
        "gpu_adapters",
    }
)
"""Regimes of data/residuals.csv in which nothing was measured."""

MEASURED = frozenset(
    {
        *("gpu_profile_known", "gpu_class_known", "gpu_software_unnamed", "gpu_calibrated", "gpu_pipeline"),
        *("ipu_known", "ipu_calibrated", "ipu_small_operations"),
    }
)
"""Regimes that many measured runs are in."""

COUNTED = frozenset({"1", "2"})
"""Priorities of measured rows that count for the headline."""
SHOWN = 3
LARGE_FAMILY_ERROR = 0.25
"""Median error beyond which measured runs do not bear an estimate out."""
ONE_IN = 5
"""Of so many measured runs a range may miss one."""
FAR = 2.0
"""Distance beyond which a measured run says little: an eightfold count, or another chip."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What a measured run was, without its value."""

    id: str
    family: str
    model: str
    system: str
    chip: str
    devices: int
    parameters: float
    software: str
    fitted: bool
    """True where a software profile rests on such runs; else they only bound the error."""
    counted: bool
    """True for the rows that the headline of the accuracy report counts: A100 and IPU training."""
    fabric: str = ""
    """Fabric that the run names between its machines; empty where it had one machine, or where the fabric of
    the catalogue only stands in for the one it had."""
    profiles: frozenset[str] = frozenset()
    """Software profiles that the runs of its group stand for."""

    def ran(self, software: SoftwareProfile) -> bool:
        """Tell whether a run of the group ran a profile; presumed software stands for whatever ran.

        So does a class of software that runs of a workspace were fitted on.
        """
        calibrated = () if software.calibration is None else (software.calibration.prior,)
        whatever = software.presumed or (bool(calibrated) and software.is_preset)
        return whatever or not self.profiles.isdisjoint({software.id, *calibrated})


class MeasuredRows:
    """Rows of data/validation/measured.csv without their values, read as cases when they are asked for."""

    def __init__(self, rows: Collection[Mapping[str, str]], rules: Rules) -> None:
        self._rules = rules
        self._rows: dict[tuple[str, str, int], list[dict[str, str]]] = {}
        self._cases: dict[tuple[str, str, int], tuple[MeasurementCase, ...]] = {}
        for row in rows:
            system, devices = rules.systems.get(row["system"]), number(row["accelerators"])
            if system is None or devices is None or row["confidence"] == "memory":
                continue
            key = (row["family"], system["chip"], int(devices))
            self._rows.setdefault(key, []).append(without_answers(row))

    def cases(self, family: str, chip: str, devices: int) -> tuple[MeasurementCase, ...]:
        """Return the measured runs of a family on so many of a chip."""
        key = (family, chip, devices)
        if key not in self._cases:
            found = []
            for row in self._rows.get(key, ()):
                with suppress(Unsupported):
                    found.append(read_case(row, self._rules))
            self._cases[key] = tuple(found)
        return self._cases[key]


def read_measured(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table of data/validation; none where it was not written yet."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def measured_runs(
    rows: Iterable[Mapping[str, str]], rules: Rules, presets: Collection[str]
) -> tuple[MeasuredRun, ...]:
    """Return the configurations of measured rows, one per group."""
    found: dict[str, MeasuredRun] = {}
    profiles: dict[str, set[str]] = {}
    for row in rows:
        devices = number(row["accelerators"])
        system = rules.systems.get(row["system"])
        if devices is None or system is None or row["confidence"] == "memory":
            continue
        facts = {
            "software": row["software"],
            "family": row["family"],
            "chip": system["chip"],
            "model": row["model_name"],
        }
        profile = rules.profile(facts)
        if profile is not None:
            profiles.setdefault(row["group"], set()).add(profile)
        fitted = (
            row["metric"] in THROUGHPUT
            and row["priority"] in COUNTED
            and profile is not None
            and profile not in presets
        )
        known = found.get(row["group"])
        if known is not None and (known.fitted or not fitted):
            continue
        found[row["group"]] = MeasuredRun(
            id=row["id"],
            family=row["family"],
            model=row["model_name"],
            system=system["system"],
            chip=system["chip"],
            devices=int(devices),
            parameters=number(row["params"]) or 0.0,
            software=row["software"],
            fitted=fitted,
            counted=row["priority"] in COUNTED,
            fabric=_fabric(row, system["chip"], rules),
        )
    return tuple(replace(run, profiles=frozenset(profiles.get(group, ()))) for group, run in found.items())


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What was measured in a run, and what was predicted of it."""

    metric: str
    measured: float | None
    predicted: float | None


UNTOLD = RunOutcome("", None, None)


def load_outcomes(path: Path) -> dict[str, RunOutcome]:
    """Return measured and predicted values by run; empty where the table was not written yet.

    They are shown beside an estimate; nothing is predicted from them.
    """
    return {
        row["id"]: RunOutcome(row["metric"], number(row["measured"]), number(row["predicted"]))
        for row in read_measured(path)
    }


NAMED, PRESUMED = "named", "presumed"
"""Measured runs were predicted with the software they named, or with the default that is presumed."""
FamilyErrors = Mapping[tuple[str, str, str], float]
"""Median error by family, chip and whether the software was named or presumed."""


def load_family_errors(path: Path) -> dict[tuple[str, str, str], float]:
    """Return the median errors; empty where the table was not written yet."""
    return {
        (row["family"], row["chip"], row.get("software") or NAMED): float(row["median"])
        for row in read_measured(path)
        if row["median"]
    }


def family_error(
    errors: FamilyErrors,
    runs: Iterable[MeasuredRun],
    software: SoftwareProfile,
    *,
    family: str,
    chip: str,
    usual: str,
) -> float | None:
    """Return the median error of measured runs of a family on a chip with software as an estimate has it.

    None where no run of the family on the chip tells how well the software predicts it.
    """
    if software.presumed:
        return errors.get((family, chip, PRESUMED))
    if runs_of_kind(runs, software, family=family, chip=chip):
        return errors.get((family, chip, NAMED))
    return errors.get((family, chip, PRESUMED)) if software.id == usual else None


def _fabric(row: Mapping[str, str], chip: str, rules: Rules) -> str:
    if (number(row["nodes"]) or 1.0) <= 1 or chip in IPU_SERIES:
        return ""
    network = rules.network({"interconnect": row["interconnect"], "chip": chip})
    return network["fabric"] if network is not None and network["named"] == "yes" else ""


def distance(run: MeasuredRun, family: str, chip: str, devices: int, parameters: float) -> float:
    """Distance of a case from a measured run, in factors of e of size and count."""
    scale = abs(math.log(devices / run.devices))
    size = abs(math.log(parameters / run.parameters)) if parameters > 0 and run.parameters > 0 else 1.0
    other = 0.0 if run.chip == chip else (0.5 if run.chip[:4] == chip[:4] else 3.0)
    return scale + 0.7 * size + other + (0.0 if run.family == family else 2.0)


def reach(
    runs: Iterable[MeasuredRun],
    software: SoftwareProfile,
    *,
    family: str,
    chip: str,
    devices: int,
    parameters: float,
) -> float:
    """Return the distance of the nearest run of a family on a chip with a software; infinite without one."""
    alike = runs_of_kind(runs, software, family=family, chip=chip)
    return min((distance(run, family, chip, devices, parameters) for run in alike), default=math.inf)


def runs_of_kind(
    runs: Iterable[MeasuredRun], software: SoftwareProfile, *, family: str, chip: str
) -> list[MeasuredRun]:
    return [run for run in runs if run.family == family and run.chip == chip and run.ran(software)]


def nearest_runs(
    runs: Iterable[MeasuredRun],
    outcomes: Mapping[str, RunOutcome],
    *,
    family: str,
    chip: str,
    devices: int,
    parameters: float,
) -> list[NearestRun]:
    """Return the measured runs nearest to a case, whatever their software."""
    ranked = ((distance(run, family, chip, devices, parameters), run.id, run) for run in runs)
    return [
        NearestRun(
            id=run.id,
            model=run.model,
            system=run.system,
            accelerators=run.devices,
            software=run.software,
            distance=round(far, 3),
            family=run.family,
            metric=outcome.metric,
            measured=outcome.measured,
            predicted=outcome.predicted,
        )
        for far, _, run in nsmallest(SHOWN, ranked)
        for outcome in (outcomes.get(run.id, UNTOLD),)
    ]


Status = Literal["validated", "extrapolated", "unvalidated"]


def status_of(
    regimes: Collection[str], nearest: float, error: float | None = None, contradicted: bool = False
) -> Status:
    """Return whether measured runs reach as far as a case, and bear it out."""
    if UNVALIDATED & set(regimes):
        return "unvalidated"
    borne_out = not contradicted and (error is None or error <= LARGE_FAMILY_ERROR)
    return "validated" if borne_out and nearest <= FAR and not set(regimes) - MEASURED else "extrapolated"


@dataclass(frozen=True, slots=True)
class EstimateFacts:
    """What an estimate answers, as far as a measured run can be held against it."""

    family: str
    model: str
    """Identifier of its model."""
    chip: str
    devices: int
    parameters: float
    seq_len: int | None
    image_size: int | None
    mean_tokens: float | None
    """Real tokens of a sample; None where it has none."""
    precision: str
    batch: float
    tensor: float
    pipeline: float
    target: str | None
    figures: Mapping[str, Quantity] = field(default_factory=dict)
    """Range of the estimate by the metric of a measured run."""


ALIKE = 0.1
"""Relative difference in tokens of a sample up to which runs train the same samples."""
SAME_SIZE = 0.02
"""Relative difference of parameters up to which two models of a family are one."""
OTHER_BATCH = 1.5
"""Factor between two global batches from which they are told apart."""
WIDE_FORMATS = frozenset({"tf32", "fp32"})


def _same_model(case: MeasurementCase, asked: EstimateFacts) -> bool:
    if case.preset is not None and case.preset == asked.model:
        return True
    if case.parameters is None or not asked.parameters:
        return False
    return abs(case.parameters / asked.parameters - 1.0) <= SAME_SIZE


def _same_work(case: MeasurementCase, asked: EstimateFacts) -> bool:
    rate = case.metric in THROUGHPUT
    if rate and case.includes_evaluation:
        return False
    if case.metric == "time_to_train_min" and case.completed.get("target") != asked.target:
        return False
    if case.metric == "step_time_s" and case.global_batch != asked.batch:
        return False
    if case.seq_len is not None and case.seq_len != asked.seq_len:
        return False
    if case.image_size is not None and case.image_size != asked.image_size:
        return False
    if (case.precision in WIDE_FORMATS) != (asked.precision in WIDE_FORMATS):
        return False
    if asked.mean_tokens is None or case.metric != "samples_per_s":
        return True
    tokens = case.completed.get("mean_tokens") or (case.seq_len or 0.0) / float(
        case.completed.get("packing", 1)
    )
    return abs(float(tokens) / asked.mean_tokens - 1.0) <= ALIKE


class RunComparison(NamedTuple):
    """Measured runs of the same model, system and size beside the range of an estimate."""

    compared: int
    outside_count: int
    outside: list[OutsideRun]
    """One of each software, that which least but its software sets apart; other software first."""
    contradicted: bool
    """True where more than the one in five that a range allows for lie outside at a like batch, of the runs
    of the software that was named, or of all where it is presumed."""


def compare_runs(
    rows: MeasuredRows,
    outcomes: Mapping[str, RunOutcome],
    asked: EstimateFacts,
    software: SoftwareProfile,
    known: SoftwareCatalog,
) -> RunComparison:
    """Return what was measured of the same model, system and size, and how much lies outside the range."""
    compared = count = own = own_outside = 0
    outside: dict[str, list[OutsideRun]] = {}
    same = {software.id} if software.calibration is None else {software.id, software.calibration.prior}
    for case in rows.cases(asked.family, asked.chip, asked.devices):
        if case.metric not in asked.figures or not (_same_model(case, asked) and _same_work(case, asked)):
            continue
        measured, figure = outcomes.get(case.id, UNTOLD).measured, asked.figures[case.metric]
        if not measured or not figure.value:
            continue
        counts = software.presumed or case.profile in same
        compared += 1
        own += counts
        if figure.low <= measured <= figure.high:
            continue
        count += 1
        batch = case.global_batch
        other_batch = batch is not None and max(batch / asked.batch, asked.batch / batch) >= OTHER_BATCH
        own_outside += counts and not other_batch
        named = known.profiles.get(case.profile or "")
        other = named if named is not None and named.complete and named.id not in same else None
        reasons: dict[Apart, bool] = {
            "software": other is not None,
            "global_batch": other_batch,
            "plan": (case.tensor, case.pipeline) != (asked.tensor, asked.pipeline),
        }
        run = OutsideRun(
            id=case.id,
            model=case.model,
            software=case.software,
            profile=other.id if other else None,
            title=other.title if other else "",
            metric=case.metric,
            measured=measured,
            range=figure,
            reasons=[reason for reason, apart in reasons.items() if apart],
        )
        outside.setdefault(case.profile or "", []).append(run)
    # The fewer reasons, the better a run tells what its software makes of the case.
    shown = sorted((min(runs, key=_telling) for runs in outside.values()), key=_telling)
    return RunComparison(compared, count, shown[:SHOWN], ONE_IN * own_outside > own)


def _telling(run: OutsideRun) -> tuple[bool, int, float, str]:
    far = abs(math.log(run.measured / run.range.value))
    return run.profile is None, len(run.reasons), -far, run.id


Apart = Literal["software", "global_batch", "plan"]
"""What sets a run apart from an estimate."""

UNITS = {
    "samples_per_s": "samples/s",
    "tokens_per_s": "tokens/s",
    "step_time_s": "s",
    "time_to_train_min": "min",
}
"""Unit of the metrics that an estimate has a range of; keys of the catalogues."""

SENTENCES: Mapping[tuple[Apart, ...], str] = {
    ("software",): "software differs",
    ("software", "global_batch"): "software and batch size differ",
    ("software", "plan"): "software and plan differ",
    ("software", "global_batch", "plan"): "software, batch size and plan differ",
    ("global_batch",): "batch size differs",
    ("plan",): "plan differs",
    ("global_batch", "plan"): "batch size and plan differ",
}
"""What sets a run apart from an estimate, by its reasons."""


def outside_checks(validation: Validation) -> Iterator[CheckWarning]:
    """Yield the warning that measured runs of the same case lie outside the range, and why."""
    if not validation.outside:
        return
    first = validation.outside[0]
    values: dict[str, object] = {
        "outside": validation.outside_count,
        "compared": validation.compared,
        "measured": significant(first.measured),
        "unit": Message(UNITS[first.metric]),
        "low": significant(first.range.low),
        "high": significant(first.range.high),
    }
    if first.profile:
        values["profile"] = first.profile
    if first.reasons:
        values["reasons"] = Message(SENTENCES[tuple(first.reasons)])
    if first.profile:
        template = (
            "{outside} of {compared} measured runs of this model on the same number of accelerators are "
            "outside the range: {measured} {unit} with {profile}, where {low} to {high} is estimated "
            "({reasons})"
        )
    elif first.reasons:
        template = (
            "{outside} of {compared} measured runs of this model on the same number of accelerators are "
            "outside the range: {measured} {unit}, where {low} to {high} is estimated ({reasons})"
        )
    else:
        template = (
            "{outside} of {compared} measured runs of this model on the same number of accelerators are "
            "outside the range: {measured} {unit}, where {low} to {high} is estimated; the range is an 80 % "
            "interval"
        )
    yield CheckWarning.of(
        "measured_run_outside_range",
        "caution" if validation.contradicted else "info",
        Message(template, values),
        *(first.reasons or ["software"]),
    )
