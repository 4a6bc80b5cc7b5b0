"""Scaling chains: runs alike but for devices, batch and layout, measured and predicted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from app.engine.uncertainty import shape_error, wilson_interval
from app.estimating.context import SizingContext
from app.estimating.nearest import UNVALIDATED
from app.estimating.regimes import CORE_FAMILIES, REGIMES
from app.estimating.schema import Document, filled
from app.estimating.validation.run import chain_correlations, summary
from app.features.accuracy.predictions import COUNTED, KINDS, Pattern, Prediction, first
from app.profiles.presets import presets

SCALES = ((1, 4), (5, 8), (9, 64), (65, 512), (513, None))
"""Classes of size: least and most devices."""
ALL, CORE, OTHER = "all", "core", "other"
SETS = (ALL, CORE, OTHER)
"""All families, those with the most measured runs, and the rest."""


def scale_code(least: int, most: int | None) -> str:
    """Return a class of size as it is written in an address.

    >>> scale_code(9, 64), scale_code(513, None)
    ('9-64', '513-')
    """
    return f"{least}-{most or ''}"


SCALE_CODES = tuple(scale_code(*ends) for ends in SCALES)


def scale_of(devices: int) -> str:
    """Return the class of size of a run.

    >>> scale_of(8), scale_of(2048)
    ('5-8', '513-')
    """
    return next(
        (scale_code(least, most) for least, most in SCALES if most is not None and devices <= most),
        SCALE_CODES[-1],
    )


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Which runs are considered, and what was left out of the fit."""

    family: str = ALL
    chip: str = ""
    scale: str = ""
    errors: str = "group_left_out"

    def holds(self, run: Prediction) -> bool:
        return (
            in_set(run.family, self.family)
            and self.chip in ("", run.chip)
            and self.scale in ("", scale_of(run.devices))
        )


def in_set(family: str, chosen: str) -> bool:
    """Tell whether a family is the chosen one or belongs to the chosen set."""
    if chosen in SETS:
        return chosen == ALL or (family in CORE_FAMILIES) == (chosen == CORE)
    return family == chosen


class ErrorSummary(Document):
    """Errors of some measured runs; each group of equal machines counts once."""

    runs: int
    """Number of runs."""
    groups: int
    """Number of groups of equal machines."""
    median: float | None
    """Median of |ln(predicted/measured)|; null without runs."""
    ninetieth: float | None
    """90th percentile of |ln(predicted/measured)|."""
    bias: float | None
    """Mean of ln(predicted/measured); above zero the prediction is too large."""
    coverage: float | None
    """Share of measured values inside the 80 % interval."""
    coverage_low: float | None
    """Low end of the 95 % binomial interval of the coverage."""
    coverage_high: float | None
    """High end of the 95 % binomial interval of the coverage."""


class ErrorCell(Document):
    """Errors of one family on one chip at one size."""

    family: str
    """Model family."""
    chip: str
    """Chip."""
    scale: str
    """Class of size: least and most accelerators, such as 9-64."""
    in_sample: ErrorSummary
    """With the runs in the fit."""
    left_out: ErrorSummary
    """With each run's group left out of the fit."""


def counted(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return the runs of the headline: throughput, read from its source, of the first two priorities."""
    return [run for run in predictions if run.scope == COUNTED and run.is_throughput]


def agreement(predictions: Iterable[Prediction], kind: str) -> ErrorSummary:
    part = summary(kind, [run.result(kind) for run in predictions])
    low, high = None, None
    if part.coverage is not None:
        low, high = (float(end) for end in wilson_interval(part.coverage, float(part.groups)))
    return filled(ErrorSummary, part, runs=part.supported, coverage_low=low, coverage_high=high)


def by_kind(predictions: Sequence[Prediction]) -> dict[str, ErrorSummary]:
    return {kind: agreement(predictions, kind) for kind in KINDS}


def cells(predictions: Iterable[Prediction]) -> list[ErrorCell]:
    parts: dict[tuple[str, str, int], list[Prediction]] = {}
    for run in predictions:
        if run.log_error is not None:
            index = SCALE_CODES.index(scale_of(run.devices))
            parts.setdefault((run.family, run.chip, index), []).append(run)
    return [
        ErrorCell(
            family=family,
            chip=chip,
            scale=SCALE_CODES[index],
            in_sample=agreement(members, "in_sample"),
            left_out=agreement(members, "group_left_out"),
        )
        for (family, chip, index), members in sorted(parts.items())
    ]


def worst(predictions: Iterable[Prediction], kind: str, most: int) -> list[Prediction]:
    """Return the worst runs, the worst first: one of each model on each chip with each software.

    Similar runs have similar errors, and listing all of them would hide other kinds.
    """
    missed = [(abs(error), run) for run in predictions if (error := run.error(kind)) is not None]
    chosen: dict[tuple[str, str, str], Prediction] = {}
    for _, run in sorted(missed, key=lambda pair: (-pair[0], pair[1].id)):
        chosen.setdefault((run.model, run.chip, run.software), run)
    return list(chosen.values())[:most]


OF_CALIBRATIONS = frozenset(
    {"gpu_calibrated", "gpu_beyond_calibration", "ipu_calibrated", "ipu_beyond_calibration"}
)
"""Regimes of software calibrated by users, whose runs are not in the data."""


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest run that was measured on a chip."""

    chip: str
    devices: int
    runs: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """What no run of the headline tests."""

    families: tuple[str, ...]
    """Families of models that can be asked for."""
    chips: tuple[str, ...]
    """Chips of the catalogue that can be asked for."""
    largest: tuple[Largest, ...]
    """Beyond these sizes nothing was measured, by chip."""
    regimes: tuple[str, ...]
    """Kinds of plan or hardware of data/residuals.csv."""


def gaps(predictions: Iterable[Prediction], context: SizingContext) -> Gaps:
    known = [run for run in counted(predictions) if run.log_error is not None]
    seen = {regime for run in known for regime in run.regimes.split()}
    families = {profile.family for profile in presets().values()}
    chips = {system.machine.chip.id for system in context.catalog.systems()}
    largest = {
        chip: [run.devices for run in known if run.chip == chip] for chip in {run.chip for run in known}
    }
    return Gaps(
        families=tuple(sorted(families - {run.family for run in known})),
        chips=tuple(sorted(chips - set(largest))),
        largest=tuple(Largest(chip, max(devices), len(devices)) for chip, devices in sorted(largest.items())),
        regimes=tuple(
            regime
            for regime in REGIMES
            if regime in UNVALIDATED or (regime not in seen and regime not in OF_CALIBRATIONS)
        ),
    )


PER_DEVICE = {
    "samples_per_s": "samples/s",
    "tokens_per_s": "tokens/s",
    "tflops_per_accel": "TFLOP/s",
    "step_time_s": "samples/s",
}
"""Unit of the throughput of one device by metric."""

CLEAR = 3.0
"""Repeat deviations by which two runs must differ to be ranked."""


@dataclass(frozen=True, slots=True)
class ChainPoint:
    """One run of a chain."""

    id: str
    group: str
    devices: int
    batch: float | None
    plan: str
    measured: float
    """Throughput of one device, in the unit of the chain."""
    predicted: float
    log_error: float
    """ln(predicted / measured), of the throughput."""

    @property
    def configuration(self) -> tuple[int, float | None, str]:
        """What repeats of a run share."""
        return self.devices, self.batch, self.plan


@dataclass(frozen=True, slots=True)
class Chain:
    """Runs alike but for devices, batch and layout."""

    name: str
    run: Prediction
    """One of them."""
    unit: str
    points: tuple[ChainPoint, ...]
    rank: float
    """Spearman's correlation of predicted with measured values."""
    offset: float
    """Mean log-error of the throughput."""
    shape: float
    """Root mean square of what is left after the offset."""
    repeats: float | None
    """Standard deviation of the logarithm between runs of one configuration; None without any."""
    repeat_deviation: float
    """Deviation of repeats with which pairs are compared."""

    @property
    def least(self) -> int:
        return min(point.devices for point in self.points)

    @property
    def most(self) -> int:
        return max(point.devices for point in self.points)


@dataclass(frozen=True, slots=True)
class Ranking:
    """How many pairs of runs that differ clearly are predicted in the right order."""

    pairs: int
    right: int
    chains: int

    @property
    def share(self) -> float | None:
        """Share of the pairs in the right order; None without pairs."""
        return self.right / self.pairs if self.pairs else None


def chains(predictions: Iterable[Prediction], kind: str, repeats: Sequence[Pattern]) -> list[Chain]:
    """Return the chains of at least three runs, the widest range of devices first."""
    members: dict[str, list[Prediction]] = {}
    for run in predictions:
        if run.error(kind) is not None:
            members.setdefault(run.chain, []).append(run)
    ranks = chain_correlations(run.result(kind) for runs in members.values() for run in runs)
    ordered = [_chain(name, members[name], rank, kind, repeats) for name, rank in ranks.items()]
    return sorted(ordered, key=lambda chain: (-chain.most / chain.least, -len(chain.points), chain.name))


def scaled(curves: Iterable[Chain]) -> list[Chain]:
    """Return the chains over more than one count of devices."""
    return [chain for chain in curves if chain.most > chain.least]


def _chain(
    name: str, members: Sequence[Prediction], rank: float, kind: str, repeats: Sequence[Pattern]
) -> Chain:
    whole = all(run.batch for run in members)
    head = members[0]
    points = tuple(
        sorted(
            (point_of(run, kind, whole=whole) for run in members),
            key=lambda point: (point.devices, point.batch or 0.0, point.id),
        )
    )
    errors = [point.log_error for point in points]
    spread = replicate_deviation(points)
    facts = {"software": head.software, "family": head.family, "metric": head.metric}
    return Chain(
        name=name,
        run=head,
        unit=PER_DEVICE[head.metric] if whole or head.metric != "step_time_s" else "steps/s",
        points=points,
        rank=rank,
        offset=float(np.mean(errors)),
        shape=shape_error(np.array(errors)),
        repeats=spread,
        repeat_deviation=repeat_deviation(points, facts, head.devices, repeats),
    )


def point_of(run: Prediction, kind: str, *, whole: bool) -> ChainPoint:
    """Return a run as throughput of one device."""
    error, measured = run.error(kind) or 0.0, run.measured or math.nan
    error = -error if run.is_duration else error
    rate = measured
    if run.metric == "step_time_s":
        rate = (run.batch or 1.0 if whole else 1.0) / measured
    if run.metric != "tflops_per_accel":
        rate /= run.devices
    return ChainPoint(
        run.id, run.group, run.devices, run.batch, run.plan, rate, rate * math.exp(error), error
    )


def replicate_deviation(points: Iterable[ChainPoint], *, same_group: bool = False) -> float | None:
    """Return the pooled standard deviation of the logarithm between runs of one configuration."""
    alike: dict[object, list[float]] = {}
    for point in points:
        key = (point.configuration, point.group if same_group else "")
        alike.setdefault(key, []).append(math.log(point.measured))
    sets = [values for values in alike.values() if len(values) > 1]
    if not sets:
        return None
    squares = sum(float(np.sum((np.array(values) - np.mean(values)) ** 2)) for values in sets)
    return math.sqrt(squares / sum(len(values) - 1 for values in sets))


def repeat_deviation(
    points: Sequence[ChainPoint], facts: dict[str, str], devices: int, repeats: Sequence[Pattern]
) -> float:
    """Return the deviation of repeats: stated for such runs, measured by replicates, or the default."""
    stated = first([pattern for pattern in repeats if pattern.patterns], facts, devices)
    if stated is not None:
        return float(stated["deviation"])
    replicates = replicate_deviation(points, same_group=True)
    if replicates:
        return replicates
    usual = next(pattern for pattern in repeats if not pattern.patterns)
    return float(usual.result["deviation"])


def ranking(curves: Iterable[Chain]) -> Ranking:
    """Return how many pairs inside chains are ranked right by the throughput of one device.

    A pair counts if the measured values differ by more than three repeat deviations. Throughput per device
    excludes the growth with the number of devices, which any model would rank right.
    """
    return ranked((chain.points, chain.repeat_deviation) for chain in curves)


class ChainOutcome(Protocol):
    """A measured value and its prediction."""

    @property
    def measured(self) -> float:
        """Measured throughput."""

    @property
    def predicted(self) -> float:
        """Predicted throughput."""


def ranked(sets: Iterable[tuple[Sequence[ChainOutcome], float]]) -> Ranking:
    """Rank the clearly different pairs within each set."""
    clear_sets = [clear for outcomes, deviation in sets if (clear := clear_pairs(outcomes, deviation))]
    right = sum(measured * predicted > 0 for clear in clear_sets for measured, predicted in clear)
    return Ranking(sum(map(len, clear_sets)), right, len(clear_sets))


def clear_pairs(outcomes: Sequence[ChainOutcome], deviation: float) -> list[tuple[float, float]]:
    """Return the measured and predicted log-ratio of every pair that differs clearly."""
    return [
        (measured_ratio, math.log(outcome.predicted / other.predicted))
        for outcome, other in itertools.combinations(outcomes, 2)
        if abs(measured_ratio := math.log(outcome.measured / other.measured)) > CLEAR * deviation
    ]
