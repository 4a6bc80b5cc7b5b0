"""Calibrate a software profile with the customer's measured runs, and say what that changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app import __version__
from app.catalog.software import (
    ABSOLUTE,
    GREATEST_OVERLAP,
    OFFSET,
    ProfileFigure,
    SoftwareProfile,
    figure_unit,
)
from app.engine.calibration import effective_parameters, log_spread
from app.engine.records import Floats
from app.errors import BadInput
from app.sizing.calibrated import ProfileFit, fit_profile
from app.sizing.calibration_checks import calibration_checks
from app.sizing.calibration_documents import (
    CalibratedRun,
    CalibrationAnswer,
    CalibrationRequest,
    MovedFigure,
    Outlook,
)
from app.sizing.calibration_runs import PreparedRun, below, case_regimes, check_measurement, decided, prepared
from app.sizing.context import SizingContext
from app.sizing.document import Estimate, Quantity
from app.sizing.estimate import estimate
from app.sizing.summaries import plan_summary

ONE_SIDED = 1.2816
"""Standard deviations from the middle to the 90th percentile of a normal distribution."""

SHOWN_CHANGE = 0.005
"""Figures that moved and narrowed by less, in deviations of their prior, were not learnt of."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The answer, and the profile it names."""

    answer: CalibrationAnswer
    profile: SoftwareProfile


def calibrate(request: CalibrationRequest, context: SizingContext, identifier: str) -> Calibrated:
    """Return the software profile that measured runs make of an estimate's, and what it changes."""
    asked = request.estimate
    if asked.model.total_flop is not None:
        raise BadInput.at("estimate.model.total_flop", "a bare figure has no steps that could be measured")
    for position, run in enumerate(request.runs):
        check_measurement(run, position)
    with below("estimate"):
        target = decided(asked, context)
        before = estimate(asked, context)
    prior = target.scenario.software
    if prior.calibration is not None:
        raise BadInput.at(
            "estimate.software",
            "{software} is a calibration itself; start from {prior} with all runs together",
            software=prior.id,
            prior=prior.calibration.prior,
        )
    runs = prepared(request.runs, asked, target, context)
    fit = fit_profile(
        identifier,
        request.label or prior.title,
        prior,
        context.software.ranges,
        [run.step for run in runs],
        context.residuals,
        target=case_regimes(target, context),
        family=target.profile.family,
        chips=[run.sizing.hardware.entry.chip for run in runs],
        named=asked.software is not None,
    )
    with_fit = replace(context, find_calibration=lambda name: fit.profile if name == identifier else None)
    after = estimate(asked.model_copy(update={"software": identifier}), with_fit)
    gaps = fit.posterior.before - np.array([run.step.measured for run in runs])
    remaining = fit.posterior.after - np.array([run.step.measured for run in runs])
    prior_covariance = np.eye(len(fit.names) + 1)
    answer = CalibrationAnswer(
        id=identifier,
        label=request.label or before.label,
        engine_version=__version__,
        catalog_version=context.catalog.version,
        software=identifier,
        prior_software=prior.id,
        estimate=asked.model_dump(mode="json", exclude_unset=True),
        gap_before=float(np.mean(np.abs(gaps))),
        gap_after=float(np.mean(np.abs(remaining))),
        moved=moved_figures(fit),
        runs=_run_documents(runs, fit),
        before=_outlook(before),
        after=_outlook(after),
        effective_parameters=effective_parameters(fit.posterior.covariance),
        spread_before=_mean_spread(fit.posterior.slopes_before, prior_covariance),
        spread_after=_mean_spread(fit.posterior.slopes_after, fit.posterior.covariance),
        warnings=calibration_checks(
            fit,
            gaps,
            remaining,
            measured_devices=max(run.step.devices for run in runs),
            target_devices=float(target.choice.plans.devices[0]),
            fits=[run.sizing.choice.fits for run in runs],
        ),
    )
    return Calibrated(answer, fit.profile)


def _mean_spread(slopes: Floats, covariance: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(log_spread(slopes, covariance)))))


def _outlook(found: Estimate) -> Outlook:
    return Outlook(
        software=found.software or "", step_time=found.step_time, time_to_train=found.time_to_train
    )


def _run_documents(runs: Sequence[PreparedRun], fit: ProfileFit) -> list[CalibratedRun]:
    posterior = fit.posterior
    wide = log_spread(posterior.slopes_before, np.eye(posterior.mean.size))
    narrow = log_spread(posterior.slopes_after, posterior.covariance)
    documents = []
    for place, run in enumerate(runs):
        sizing, own = run.sizing, fit.own[place]
        measured = math.exp(run.step.measured)
        before, after = float(posterior.before[place]), float(posterior.after[place])
        documents.append(
            CalibratedRun(
                system=sizing.hardware.entry.id,
                system_name=sizing.hardware.entry.name,
                count=sizing.hardware.count,
                devices=int(sizing.choice.plans.devices[0]),
                fabric=sizing.hardware.fabric,
                global_batch=run.batch,
                plan=plan_summary(sizing, sizing.choice.plans),
                measured=measured,
                samples_per_s=run.batch / measured,
                before=_log_normal(before, math.hypot(wide[place], own)),
                after=_log_normal(after, math.hypot(narrow[place], own)),
                gap_before=before - run.step.measured,
                gap_after=after - run.step.measured,
                note=run.asked.note,
            )
        )
    return documents


def _log_normal(middle: float, deviation: float) -> Quantity:
    reach = ONE_SIDED * deviation
    low, value, high = (math.exp(middle + end) for end in (-reach, 0.0, reach))
    return Quantity(value=value, low=low, high=high, unit="s")


def moved_figures(fit: ProfileFit) -> list[MovedFigure]:
    """Return what the runs tell of each figure and of the common offset, the furthest moved first."""
    posterior = fit.posterior
    deviations = np.sqrt(np.diag(posterior.covariance))
    found = []
    for place, name in enumerate((*fit.names, OFFSET)):
        moved, narrowed = float(posterior.mean[place]), float(deviations[place])
        if abs(moved) < SHOWN_CHANGE and 1.0 - narrowed < SHOWN_CHANGE:
            continue
        if name == OFFSET:
            prior, after = (0.0, fit.offset_width), (fit.offset_width * moved, fit.offset_width * narrowed)
            ends = [tuple(math.exp(one) for one in _ends(*pair)) for pair in (prior, after)]
        else:
            ends = [_figure_ends(profile.figures[name], fit) for profile in (fit.prior, fit.profile)]
        (prior_low, central, prior_high), (low, value, high) = ends
        found.append(
            MovedFigure(
                parameter=name,
                unit=figure_unit(name),
                prior=central,
                prior_low=prior_low,
                prior_high=prior_high,
                posterior=value,
                posterior_low=low,
                posterior_high=high,
                deviations=moved,
                narrowed=narrowed,
            )
        )
    return sorted(found, key=lambda one: -abs(one.deviations))


def _ends(middle: float, deviation: float) -> tuple[float, float, float]:
    return middle - ONE_SIDED * deviation, middle, middle + ONE_SIDED * deviation


def _figure_ends(figure: ProfileFigure, fit: ProfileFit) -> tuple[float, ...]:
    """Return the 10th percentile, the value and the 90th percentile of a figure."""
    if figure.parameter in ABSOLUTE:
        return tuple(min(max(one, 0.0), GREATEST_OVERLAP) for one in _ends(figure.value, figure.deviation))
    reach = math.exp(ONE_SIDED * figure.deviation)
    low, high = figure.value / reach, figure.value * reach
    known = fit.profile.calibration
    if known is not None and figure.parameter in known.ends:
        least, most = known.ends[figure.parameter]
        low, high = max(low, least), min(high, most)
    return low, figure.value, high
