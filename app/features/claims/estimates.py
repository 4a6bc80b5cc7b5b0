"""Estimates of both sides of claims about training and of measured ratios, central and as samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.catalog.entries import SystemEntry
from app.catalog.vendor_ratios import Machinery, Side, VendorRatio, VendorRun
from app.engine.records import Floats
from app.engine.units import MINUTE
from app.errors import CatalogError
from app.estimating.context import SizingContext
from app.estimating.estimate import Answer
from app.estimating.ranges import OWN, common_normals, own_column, quantity
from app.estimating.request import EstimateRequest
from app.estimating.trace import source_ref
from app.estimating.validation.cases import read_case, without_answers
from app.estimating.validation.pairs import MeasuredPair
from app.estimating.validation.predict import PredictionSamples
from app.estimating.validation.run import predict_run
from app.features.claims.model import Era, PhaseEstimate

ERAS: tuple[Era, ...] = ("of_the_time", "later")


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """One run of one side."""

    estimate: PhaseEstimate
    column: str
    """Its own column of the samples."""
    seconds: float
    samples: Floats
    """Samples of the time. [s]"""


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedSide:
    """One side of a claim over all its phases."""

    entry: SystemEntry
    stated: Machinery
    devices: int
    """Number of accelerators in use."""
    phases: tuple[Phase, ...]
    seconds: float
    samples: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ClaimEstimate:
    """Both sides of a claim with software of one time."""

    claimed: EstimatedSide
    baseline: EstimatedSide
    whole: EstimatedSide
    """The baseline in whole systems; the same if the claim states whole systems."""

    def free_columns(self, count: int) -> list[str]:
        """Return columns of samples that no run uses, so that prices vary independently."""
        used = {phase.column for side in (self.claimed, self.baseline, self.whole) for phase in side.phases}
        return [column for column in OWN if column not in used][:count]


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedRun:
    """One run of a pair as predicted from its configuration, without its value."""

    row: Mapping[str, str]
    prediction: PredictionSamples
    seconds: float
    samples: Floats
    """Samples of the time. [s]"""

    @property
    def column(self) -> str:
        return own_column(self.prediction.scenario.chip, self.prediction.plans)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedPair:
    pair: MeasuredPair
    claimed: EstimatedRun
    baseline: EstimatedRun

    @property
    def free_columns(self) -> list[str]:
        """Columns of samples that neither run uses."""
        return [column for column in OWN if column not in (self.claimed.column, self.baseline.column)]

    @property
    def baseline_samples(self) -> Floats:
        # The number of samples each run happened to need varies on its own and must not cancel in the ratio.
        normals = common_normals()
        own = normals[self.free_columns[-1]] - normals["run_length"]
        return np.asarray(self.baseline.samples * np.exp(self.baseline.prediction.run_deviation * own))


def estimate_pairs(context: SizingContext) -> list[EstimatedPair]:
    return [
        EstimatedPair(pair, estimate_run(pair.claimed, context), estimate_run(pair.baseline, context))
        for pair in context.measured_pairs
    ]


def estimate_run(row: Mapping[str, str], context: SizingContext) -> EstimatedRun:
    case = read_case(without_answers(row), context.rules)
    prediction, samples, _ = predict_run(case, context, context.measured)
    return EstimatedRun(row, prediction, prediction.value * MINUTE, samples * MINUTE)


class Estimates:
    """Estimates of the sides of claims, cached; claims that share a run share its estimate.

    They do not depend on the assumptions: prices, power and scaling efficiency are applied later.
    """

    def __init__(self, context: SizingContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Era], ClaimEstimate] = {}
        self._phases: dict[tuple[str, int, VendorRun, Era, bool], Phase] = {}

    @cached_property
    def pairs(self) -> list[EstimatedPair]:
        return estimate_pairs(self._context)

    def of(self, ratio: VendorRatio, era: Era) -> ClaimEstimate:
        if (ratio.id, era) not in self._known:
            claimed = self._side(ratio, "claimed", era)
            baseline = whole = self._side(ratio, "baseline", era)
            if baseline.devices < baseline.entry.devices * ratio.baseline.count:
                whole = self._side(ratio, "baseline", era, whole=True)
            self._known[ratio.id, era] = ClaimEstimate(claimed, baseline, whole)
        return self._known[ratio.id, era]

    def _side(self, ratio: VendorRatio, side: Side, era: Era, *, whole: bool = False) -> EstimatedSide:
        stated = ratio.claimed if side == "claimed" else ratio.baseline
        entry = self._context.catalog.system(stated.system)
        installed = entry.devices * stated.count
        devices = installed if whole else stated.devices
        phases = []
        for run in ratio.runs:
            if run.side != side:
                continue
            key = (stated.system, stated.count, run, era, devices == installed)
            if key not in self._phases:
                request = request_of(run, era, stated, None if devices == installed else devices)
                self._phases[key] = estimate_phase(run, ratio, request, self._context)
            phases.append(self._phases[key])
        return EstimatedSide(
            entry=entry,
            stated=stated,
            devices=devices,
            phases=tuple(phases),
            seconds=sum(phase.seconds for phase in phases),
            samples=np.sum([phase.samples for phase in phases], axis=0),
        )


def request_of(run: VendorRun, era: Era, stated: Machinery, devices: int | None) -> EstimateRequest:
    """Return the estimate request of one run, data-parallel where it uses part of a system."""
    workload: Mapping[str, object] = {
        "samples": run.samples,
        "seq_len": run.seq_len,
        "image_size": run.image_size,
        "global_batch": run.global_batch,
        "precision": run.precision,
        "optimizer": run.optimizer,
    }
    return EstimateRequest.model_validate(
        {
            "model": {"preset": run.preset},
            "workload": {name: value for name, value in workload.items() if value is not None},
            "system": {"id": stated.system, "count": stated.count},
            "plan": {} if devices is None else {"tensor": 1, "pipeline": 1, "data": devices},
            "software": run.software if era == "of_the_time" else run.software_later,
        }
    )


def estimate_phase(
    stated: VendorRun, ratio: VendorRatio, request: EstimateRequest, context: SizingContext
) -> Phase:
    timed = Answer(request, context).timed
    if not timed.fits:
        raise CatalogError(f"vendor_runs.csv: {stated.phase} of {ratio.id} does not fit {request.system.id}")
    scenario, plans, run = timed.plan.scenario, timed.plan.choice.plans, timed.run
    seconds, samples = run.steps * run.step_seconds, run.training_samples
    if ratio.metric == "time_to_train":
        seconds, samples = run.time.total, run.total_samples
    batch = float(np.ravel(plans.global_batch)[0])
    estimate = PhaseEstimate(
        phase=stated.phase,
        samples=run.time.samples,
        seq_len=stated.seq_len,
        global_batch=int(batch),
        micro_batch=int(np.ravel(plans.micro_batch)[0]),
        precision=scenario.precision.value,
        software=scenario.software.id,
        throughput=quantity(batch / run.step_seconds, batch / run.step_samples, "samples/s"),
        time=quantity(seconds, samples, "s"),
        validation=timed.status,
        basis=stated.note,
        source=source_ref(stated.source),
        request=request.model_dump(mode="json", exclude_unset=True),
    )
    return Phase(estimate, own_column(scenario.chip, plans), seconds, samples)
