"""Measured ratios of two chips in one benchmark, compared with our own of the same runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.catalog.catalog import Catalog
from app.catalog.entries import SystemEntry
from app.catalog.figures import Spread
from app.engine.comparison import footing_ratio, speed_ratio
from app.errors import Message
from app.estimating.documents import CheckWarning
from app.estimating.ranges import quantity
from app.estimating.schema import Quantity
from app.estimating.validation.cases import MeasurementCase
from app.estimating.validation.pairs import measured_seconds
from app.features.claims.estimates import EstimatedPair, EstimatedRun
from app.features.claims.footing import amounts_of, samples_of, times, typical_power
from app.features.claims.model import ClaimsRequest, MeasuredRatio, MeasuredSide, MeasuredVerdict


def measured_ratios(
    pairs: Sequence[EstimatedPair], catalog: Catalog, assumptions: ClaimsRequest
) -> list[MeasuredRatio]:
    return [measured_ratio(pair, catalog, assumptions) for pair in pairs]


def measured_ratio(estimated: EstimatedPair, catalog: Catalog, assumptions: ClaimsRequest) -> MeasuredRatio:
    """Return a measured ratio, ours per chip, dollar and watt, and where the measured one lies."""
    pair, claimed, baseline = estimated.pair, estimated.claimed, estimated.baseline
    case, other = claimed.prediction.case, baseline.prediction.case
    central = float(speed_ratio(baseline.seconds, claimed.seconds))
    samples = speed_ratio(estimated.baseline_samples, claimed.samples)
    ours = quantity(central, samples, "1")
    columns = iter(estimated.free_columns)

    def per(sides: tuple[Spread, Spread] | None) -> Quantity | None:
        if sides is None:
            return None
        return quantity(
            float(footing_ratio(central, *(side.value for side in sides))),
            footing_ratio(samples, *(samples_of(side, next(columns)) for side in sides)),
            "1",
        )

    return MeasuredRatio(
        id=pair.id,
        model=case.model,
        devices=case.devices,
        claimed=measured_side(claimed, catalog),
        baseline=measured_side(baseline, catalog),
        ratio=pair.ratio,
        ours=ours,
        per_dollar=per(prices(case, other, catalog, assumptions)),
        per_watt_typical=per((power(case, catalog), power(other, catalog))),
        verdict=measured_verdict(ours, pair.ratio),
    )


def measured_verdict(ours: Quantity, ratio: float) -> MeasuredVerdict:
    if ratio < ours.low:
        return "below_range"
    return "above_range" if ratio > ours.high else "within_range"


def measured_side(run: EstimatedRun, catalog: Catalog) -> MeasuredSide:
    case = run.prediction.case
    return MeasuredSide(
        run=case.id,
        system=case.system,
        name=catalog.system(case.system).name,
        measured_s=measured_seconds(run.row),
        ours=quantity(run.seconds, run.samples, "s"),
        precision=run.prediction.scenario.precision.value,
        global_batch=int(run.prediction.plans.global_batch[0]),
        software=run.prediction.scenario.software.id,
        software_used=run.row["software"],
        source=run.row["source"],
    )


def share(entry: SystemEntry, case: MeasurementCase) -> float:
    """Return the accelerators of a run as a number of systems."""
    return case.devices / entry.devices


def power(case: MeasurementCase, catalog: Catalog) -> Spread:
    entry = catalog.system(case.system)
    return times(share(entry, case), typical_power(entry, catalog))


def prices(
    case: MeasurementCase, other: MeasurementCase, catalog: Catalog, assumptions: ClaimsRequest
) -> tuple[Spread, Spread] | None:
    """Return what the accelerators of both runs cost with their machines; None where a price is unknown."""
    entries = catalog.system(case.system), catalog.system(other.system)
    if any(entry.price is None for entry in entries):
        return None
    first, second = (
        times(share(entry, run), amounts_of(entry.id, catalog, assumptions).price)
        for entry, run in zip(entries, (case, other), strict=True)
    )
    return first, second


def measured_warnings() -> Iterator[CheckWarning]:
    fitted = Message(
        "measured ratios: many of these runs are among those the software profiles were fitted on, so a "
        "ratio within our range is a check of the fit, not a prediction"
    )
    yield CheckWarning.of("fitted_on_these_runs", "info", fitted, "measured")
    whole = Message(
        "measured ratios: each is of whole submissions, with the number format, batch, software and number "
        "of samples of each side, not of the chips alone"
    )
    yield CheckWarning.of("whole_submissions", "info", whole, "measured")
