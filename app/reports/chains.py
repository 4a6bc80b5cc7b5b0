"""Scaling chains: runs alike but for devices, batch and layout, measured and predicted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from app.engine.agreement import shape_error
from app.reports.predictions import Prediction
from app.reports.reasons import Pattern, first
from app.sizing.validation.report import chain_correlations

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
        """What a repeat of it has in common with it."""
        return self.devices, self.batch, self.plan


@dataclass(frozen=True, slots=True)
class Chain:
    """Runs alike but for devices, batch and layout."""

    name: str
    family: str
    model: str
    software: str
    chip: str
    length: str
    precision: str
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
    """What is taken for it where pairs are compared."""

    @property
    def least(self) -> int:
        """Fewest devices."""
        return min(point.devices for point in self.points)

    @property
    def most(self) -> int:
        """Most devices."""
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
    """Return the chains of three runs at least, the widest range of devices first."""
    members: dict[str, list[Prediction]] = {}
    for one in predictions:
        if one.error(kind) is not None:
            members.setdefault(one.chain, []).append(one)
    ranks = chain_correlations(one.result(kind) for found in members.values() for one in found)
    made = [_chain(name, members[name], rank, kind, repeats) for name, rank in ranks.items()]
    return sorted(made, key=lambda one: (-one.most / one.least, -len(one.points), one.name))


def scaled(found: Iterable[Chain]) -> list[Chain]:
    """Return the chains over more than one count of devices."""
    return [one for one in found if one.most > one.least]


def _chain(
    name: str, members: Sequence[Prediction], rank: float, kind: str, repeats: Sequence[Pattern]
) -> Chain:
    whole = all(one.batch for one in members)
    head = members[0]
    points = tuple(
        sorted(
            (point_of(one, kind, whole=whole) for one in members),
            key=lambda point: (point.devices, point.batch or 0.0, point.id),
        )
    )
    errors = [point.log_error for point in points]
    spread = replicate_deviation(points)
    facts = {"software": head.software, "family": head.family, "metric": head.metric}
    return Chain(
        name=name,
        family=head.family,
        model=head.model,
        software=head.software,
        chip=head.chip,
        length=head.length,
        precision=head.precision,
        unit=PER_DEVICE[head.metric] if whole or head.metric != "step_time_s" else "steps/s",
        points=points,
        rank=rank,
        offset=float(np.mean(errors)),
        shape=shape_error(np.array(errors)),
        repeats=spread,
        repeat_deviation=repeat_deviation(points, facts, head.devices, repeats),
    )


def point_of(one: Prediction, kind: str, *, whole: bool) -> ChainPoint:
    """Return a run as throughput of one device."""
    error, measured = one.error(kind) or 0.0, one.measured or math.nan
    error = -error if one.is_duration else error
    rate = measured
    if one.metric == "step_time_s":
        rate = (one.batch or 1.0 if whole else 1.0) / measured
    if one.metric != "tflops_per_accel":
        rate /= one.devices
    return ChainPoint(
        one.id, one.group, one.devices, one.batch, one.plan, rate, rate * math.exp(error), error
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
    """Return what repeats of a run differ by: as measured apart, as replicates say, or the usual."""
    stated = first([one for one in repeats if one.expressions], facts, devices)
    if stated is not None:
        return float(stated["deviation"])
    found = replicate_deviation(points, same_group=True)
    if found:
        return found
    usual = next(one for one in repeats if not one.expressions)
    return float(usual.result["deviation"])


def ranking(found: Iterable[Chain]) -> Ranking:
    """Return how many pairs inside chains are ranked right by the throughput of one device.

    A pair counts where the measured values differ by more than three repeat deviations; the growth
    with the number of devices is taken out, for any model would rank that.
    """
    pairs = right = with_pairs = 0
    for chain in found:
        clear = clear_pairs(chain.points, chain.repeat_deviation)
        pairs += len(clear)
        right += sum(measured * predicted > 0 for measured, predicted in clear)
        with_pairs += bool(clear)
    return Ranking(pairs, right, with_pairs)


class ChainOutcome(Protocol):
    """What was measured and what was predicted of it."""

    @property
    def measured(self) -> float:
        """Measured throughput."""

    @property
    def predicted(self) -> float:
        """Predicted throughput."""


def clear_pairs(outcomes: Sequence[ChainOutcome], deviation: float) -> list[tuple[float, float]]:
    """Return how far two outcomes lie apart, measured and predicted, for every pair that differs clearly."""
    return [
        (apart, math.log(one.predicted / other.predicted))
        for one, other in itertools.combinations(outcomes, 2)
        if abs(apart := math.log(one.measured / other.measured)) > CLEAR * deviation
    ]
