"""Estimates of both sides of every claim about training, central and as samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.entries import HOST, SystemEntry
from app.catalog.figures import Figure, Spread
from app.catalog.vendor_ratios import Machinery, Side, VendorRatio, VendorRun
from app.engine.comparison import two_piece_samples
from app.engine.records import Floats
from app.errors import BadInput, CatalogError
from app.estimating.context import SizingContext
from app.estimating.deciding import Decision, decide
from app.estimating.hardware import reliability
from app.estimating.nearest import Status, status_of
from app.estimating.ranges import OWN, common_normals, own_column, residual_samples, scatter_of
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest
from app.estimating.runtime import Run, run_of
from app.estimating.summaries import family_error_of, reach_of
from app.estimating.workload import resolve_model
from app.features.claims.model import MACHINE, POD, PRICES, ClaimsRequest, Era


@dataclass(frozen=True, slots=True)
class SystemAmounts:
    """Of one system, bought with its hosts and switches."""

    price: Spread
    """[USD]"""
    typical: Spread
    """Power under a training load. [W]"""
    maximum: Spread
    """[W]"""


def amounts_of(system: str, catalog: Catalog, asked: ClaimsRequest) -> SystemAmounts:
    """Return what one system costs and draws under the assumptions asked for."""
    if system == POD and asked.dgx_per_pod64 is not None:
        machine = amounts_of(MACHINE, catalog, asked)
        return SystemAmounts(*(_times(asked.dgx_per_pod64, one) for one in _each(machine)))
    entry = catalog.system(system)
    stated = next((getattr(asked, name) for name, known in PRICES.items() if known == system), None)
    price = entry.price
    if price is not None and entry.whole_price is None:
        price = _with_fewest_hosts(entry, price, catalog, "price")
    if stated is not None:
        price = Spread(stated, stated, stated, "USD")
    if price is None:
        raise BadInput.at("price_book_id", "{system} has no known price; enter one", system=entry.name)
    return SystemAmounts(
        price,
        _with_fewest_hosts(entry, entry.power_typical, catalog, "power_typical"),
        _with_fewest_hosts(entry, entry.power_max, catalog, "power_max"),
    )


def _each(one: SystemAmounts) -> tuple[Spread, Spread, Spread]:
    return one.price, one.typical, one.maximum


def _times(factor: float, one: Spread) -> Spread:
    return Spread(one.value * factor, one.low * factor, one.high * factor, one.unit)


def _with_fewest_hosts(entry: SystemEntry, total: Spread, catalog: Catalog, name: str) -> Spread:
    """Return a total whose low end counts the fewest hosts a data sheet allows."""
    line = next((line for line in entry.bill if line.item == HOST), None)
    known: Mapping[str, Figure | None] = (
        {"price": line.price, "power_typical": line.power_typical, "power_max": line.power_max}
        if line
        else {}
    )
    figure = known.get(name)
    if line is None or figure is None:
        return total
    spared = max(line.count - round(catalog.figure(entry.id, "hosts").si_low), 0)
    return replace(total, low=total.low - spared * figure.si_low)


def samples_of(one: Spread, column: str) -> Floats:
    """Return samples of an amount on a column of the common samples."""
    return two_piece_samples(one.value, one.low, one.high, common_normals()[column])


def proportional(one: Spread, other: Spread) -> bool:
    """Tell whether one amount is so many times the other, range and all: then both vary together."""
    shares = [one.value / other.value, one.low / other.low, one.high / other.high]
    return bool(np.allclose(shares, shares[0], rtol=1e-9))


def free_columns(taken: Sequence[str], count: int) -> list[str]:
    """Return columns of samples that no run of a claim has to itself, so that prices vary on their own."""
    return [column for column in OWN if column not in taken][:count]


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
