"""Estimates of both sides of every claim about training, central and as samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.catalog import Machinery, SystemEntry, VendorRatio, VendorRun
from app.catalog.vendor_ratios import Side
from app.engine.records import Floats
from app.errors import CatalogError
from app.sizing.claims.documents import Era
from app.sizing.context import SizingContext
from app.sizing.deciding import Decision, decide
from app.sizing.failures import reliability
from app.sizing.models import resolve_model
from app.sizing.nearest import Status, status_of
from app.sizing.regimes import regimes
from app.sizing.request import EstimateRequest
from app.sizing.runtime import Run, run_of
from app.sizing.spread import common_normals, own_column, residual_samples, scatter_of
from app.sizing.summaries import family_error_of, reach_of

ERAS: tuple[Era, ...] = ("of_the_time", "later")


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """One run of one side."""

    stated: VendorRun
    request: EstimateRequest
    sizing: Decision
    run: Run
    status: Status
    column: str
    """Column of the samples that belongs to it alone."""
    seconds: float
    samples: Floats
    """Samples of the time. [s]"""


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedSide:
    """One side of a claim over all its phases."""

    entry: SystemEntry
    count: int
    devices: int
    hours: float | None
    phases: tuple[Phase, ...]
    seconds: float
    samples: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ClaimEstimate:
    """Both sides of a claim with software of one time."""

    claimed: EstimatedSide
    baseline: EstimatedSide
    whole: EstimatedSide
    """The baseline in whole systems; the same where the claim states them."""


class Estimates:
    """Estimates of the sides of claims, made when first asked for; claims that share a run share its numbers.

    They depend on nothing that can be assumed: prices, power and scaling efficiency come in after them.
    """

    def __init__(self, context: SizingContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Era], ClaimEstimate] = {}
        self._phases: dict[tuple[str, int, VendorRun, Era, bool], Phase] = {}

    def of(self, ratio: VendorRatio, era: Era) -> ClaimEstimate:
        """Return both sides of a claim that is modelled."""
        key = (ratio.id, era)
        if key not in self._known:
            self._known[key] = self._made(ratio, era)
        return self._known[key]

    def _made(self, ratio: VendorRatio, era: Era) -> ClaimEstimate:
        claimed = self._side(ratio, "claimed", era, ratio.claimed.devices)
        baseline = self._side(ratio, "baseline", era, ratio.baseline.devices)
        everything = baseline.entry.devices * baseline.count
        alone = baseline.devices < everything
        whole = self._side(ratio, "baseline", era, everything) if alone else baseline
        return ClaimEstimate(claimed, baseline, whole)

    def _side(self, ratio: VendorRatio, side: Side, era: Era, devices: int) -> EstimatedSide:
        stated = ratio.claimed if side == "claimed" else ratio.baseline
        entry = self._context.catalog.system(stated.system)
        everything = entry.devices * stated.count
        phases = []
        for run in ratio.runs:
            if run.side != side:
                continue
            key = (stated.system, stated.count, run, era, devices == everything)
            if key not in self._phases:
                self._phases[key] = _phase(
                    run, ratio, era, stated.system, stated.count, devices, self._context
                )
            phases.append(self._phases[key])
        return _summed(entry, stated, devices, phases)


def _summed(entry: SystemEntry, stated: Machinery, devices: int, phases: Sequence[Phase]) -> EstimatedSide:
    return EstimatedSide(
        entry=entry,
        count=stated.count,
        devices=devices,
        hours=stated.hours,
        phases=tuple(phases),
        seconds=sum(phase.seconds for phase in phases),
        samples=np.sum([phase.samples for phase in phases], axis=0),
    )


def request_of(run: VendorRun, era: Era, system: str, count: int, devices: int | None) -> EstimateRequest:
    """Return the estimate request of one run; accelerators it leaves out hold copies of the model."""
    workload = {
        "samples": run.samples,
        "seq_len": run.seq_len,
        "image_size": run.image_size,
        "global_batch": run.global_batch,
        "precision": run.precision,
        "optimizer": run.optimizer,
    }
    plan = {} if devices is None else {"tensor": 1, "pipeline": 1, "data": devices}
    return EstimateRequest.model_validate(
        {
            "model": {"preset": run.preset},
            "workload": {name: value for name, value in workload.items() if value is not None},
            "system": {"id": system, "count": count},
            "plan": plan,
            "software": run.software if era == "of_the_time" else run.software_later,
        }
    )


def _phase(
    stated: VendorRun,
    ratio: VendorRatio,
    era: Era,
    system: str,
    count: int,
    devices: int,
    context: SizingContext,
) -> Phase:
    hardware = context.hardware.system(system, count)
    request = request_of(stated, era, system, count, None if devices == hardware.devices else devices)
    profile = resolve_model(request.model, context)
    sizing = decide(request, profile, hardware, context)
    if not sizing.choice.fits:
        raise CatalogError(f"vendor_runs.csv: {stated.phase} of {ratio.id} does not fit {system}")
    scenario, plans, training = sizing.scenario, sizing.choice.plans, sizing.training
    normals = common_normals()
    names = regimes(scenario, plans, profile.family, context.measured)
    column = own_column(scenario.chip.name, plans)
    factors = residual_samples(names, context.residuals, normals, column, scatter_of(scenario.software))
    run = run_of(
        scenario,
        plans,
        training,
        machines=sizing.machines_used,
        assumed=reliability(
            context.catalog.reliability_defaults(hardware.entry.chip_kind), request.assumptions
        ),
        input_rate=None,
        factors=factors,
        normals=normals,
        run_deviation=0.0,
    )
    whole_run = ratio.metric == "time_to_train"
    return Phase(
        stated=stated,
        request=request,
        sizing=sizing,
        run=run,
        status=_status(sizing, names, context),
        column=column,
        seconds=run.total if whole_run else run.steps * run.step_seconds,
        samples=run.total_samples if whole_run else run.training_samples,
    )


def _status(sizing: Decision, names: list[str], context: SizingContext) -> Status:
    return status_of(names, reach_of(sizing, context), family_error_of(sizing, context))


def columns_of(estimated: ClaimEstimate) -> Sequence[str]:
    """Return the columns of samples that the runs of a claim have to themselves."""
    sides = (estimated.claimed, estimated.baseline, estimated.whole)
    return sorted({phase.column for side in sides for phase in side.phases})
