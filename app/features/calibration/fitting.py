"""Calibrate a software profile with the customer's measured runs, and say what that changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

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
from app.errors import BadInput, Message, fields_at
from app.estimating.calibrated import MeasuredStep, ProfileFit, configurations, fit_profile
from app.estimating.causes import Cause, StatedRun, causes_of
from app.estimating.context import SizingContext
from app.estimating.deciding import PlanDecision
from app.estimating.documents import CheckWarning, Estimate, Text, caution, info, serious
from app.estimating.estimate import Answer, estimate
from app.estimating.ranges import significant
from app.estimating.regimes import BEYOND
from app.estimating.request import EstimateRequest, PlanInput, SystemInput, WorkloadInput
from app.estimating.schema import Quantity
from app.estimating.summaries import plan_summary
from app.estimating.three_steps import Prediction, case_regimes, step_prediction
from app.estimating.version import engine_version
from app.features.calibration.model import (
    IMPLAUSIBLE,
    MEASUREMENTS,
    CalibratedRun,
    CalibrationAnswer,
    CalibrationCause,
    CalibrationRequest,
    CalibrationRun,
    MovedFigure,
    Outlook,
    RunSystem,
)

SCATTERED = 1.5
"""Largest plausible scatter of the runs over their noise; its square is more than two."""
PERCENT = 100.0


def calibration_checks(
    fit: ProfileFit,
    gaps: Floats,
    remaining: Floats,
    causes: Sequence[Cause],
    *,
    measured_devices: float,
    target_devices: float,
    fits: Sequence[bool],
) -> Iterator[CheckWarning]:
    """Yield the warnings to heed before using a fitted profile."""
    if causes[0].name == "software":
        yield from _implausible(fit, gaps)
    else:
        yield serious(
            "calibration_implausible",
            "runs",
            "the software alone does not explain these runs; most plausible: {cause}",
            cause=cause_sentence(causes[0]),
        )
    # Whether the runs disagree with each other by more than their noise.
    if remaining.size > 1 and fit.scatter > SCATTERED:
        worst = int(np.argmax(np.abs(remaining / fit.own)))
        yield caution(
            "calibration_scatter",
            f"runs.{worst}",
            "the runs disagree by more than usual measurement error; run {run} deviates most, by {gap} %",
            run=worst + 1,
            gap=significant(PERCENT * abs(math.expm1(float(remaining[worst]))), 2),
        )
    if len(gaps) == 1:
        yield info(
            "calibration_single_run",
            "runs",
            "only one run: it cannot show whether the measurement is repeatable, or which figure is wrong",
        )
    if target_devices > BEYOND * measured_devices:
        yield caution(
            "calibration_extrapolates",
            "estimate.system.count",
            "measured on at most {largest} devices but used for {devices}: communication between machines is "
            "hardly measured; add a run on two or more machines",
            largest=int(measured_devices),
            devices=int(target_devices),
        )
    for position, fitting in enumerate(fits):
        if not fitting:
            yield caution(
                "calibration_does_not_fit",
                f"runs.{position}.plan",
                "by the memory model, run {run} does not fit in memory, yet it ran; enter its plan",
                run=position + 1,
            )


def _implausible(fit: ProfileFit, gaps: Floats) -> list[CheckWarning]:
    """Return warnings that the measurement or its description is probably wrong."""
    warnings = []
    for index, name in enumerate((*fit.names, OFFSET)):
        moved = float(fit.posterior.mean[index])
        bound = name in fit.at_bound
        if abs(moved) > IMPLAUSIBLE or bound:
            template = (
                "{parameter} is at the end of its possible range; check the measurement and what was run"
                if bound
                else "{parameter} moved by {deviations} standard deviations; check the measurement and what "
                "was run"
            )
            values = {"parameter": Message(name), "deviations": significant(abs(moved), 2)}
            warnings.append(serious("calibration_implausible", "runs", template, **values))
    slopes = fit.posterior.slopes_before
    covariance = slopes @ slopes.T + np.diag(np.square(fit.own))
    deviation = math.sqrt(float(np.mean(covariance)))
    gap = float(np.mean(gaps))
    if abs(gap) > IMPLAUSIBLE * deviation and not warnings:
        template = (
            "the runs are off by {gap} % on average, where {deviation} % is expected; check the measurement"
            if fit.prior.is_preset
            else "the runs are off by {gap} % on average, where {deviation} % is expected; check the "
            "measurement, or start from a software class instead of a named software"
        )
        off = significant(PERCENT * abs(math.expm1(gap)), 2)
        expected = significant(PERCENT * deviation, 2)
        warnings.append(serious("calibration_implausible", "runs", template, gap=off, deviation=expected))
    return warnings


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run with its plan decided."""

    stated: CalibrationRun
    decision: PlanDecision
    step: MeasuredStep


def check_measurement(run: CalibrationRun, position: int) -> None:
    """Refuse a run that states several measurements, or none."""
    if len(run.stated) != 1:
        raise BadInput.at(
            f"runs.{position}.samples_per_s",
            "enter exactly one of {names} for each run",
            names=", ".join(MEASUREMENTS),
        )


def prepared(
    runs: Sequence[CalibrationRun], request: EstimateRequest, target: PlanDecision, context: SizingContext
) -> list[PreparedRun]:
    """Decide system, workload and plan of each run, once for runs that share them."""
    known: dict[tuple[SystemInput, WorkloadInput, PlanInput], tuple[PlanDecision, Prediction]] = {}
    prepared_runs = []
    for position, run in enumerate(runs):
        system = run_system(run.system, request.system)
        stated = {name: getattr(run.workload, name) for name in run.workload.model_fields_set}
        workload = request.workload.model_copy(update=stated)
        same = system == request.system and workload == request.workload
        plan = run_plan(run.plan, request.plan, same=same)
        if (system, workload, plan) not in known:
            changes = {"system": system, "workload": workload, "plan": plan}
            changed = request.model_copy(update={**changes, "software": target.scenario.software.id})
            with fields_at(f"runs.{position}.{{}}".format):
                _check_kind(system, target, context)
                decision = Answer(changed, context).plan
            known[system, workload, plan] = decision, step_prediction(decision)
        decision, predict = known[system, workload, plan]
        devices = float(decision.choice.plans.devices[0])
        seconds = run.seconds(decision.batch, tokens_of(decision, run, position), devices)
        check_possible(decision, seconds, run, position)
        step = MeasuredStep(predict, math.log(seconds), tuple(case_regimes(decision, context)), devices)
        prepared_runs.append(PreparedRun(run, decision, step))
    return prepared_runs


def run_plan(stated: PlanInput | None, usual: PlanInput, *, same: bool) -> PlanInput:
    """Return the plan of a run: the estimate's with its changes; searched where none holds elsewhere."""
    if stated is None:
        return usual if same else PlanInput()
    changes = {name: getattr(stated, name) for name in stated.model_fields_set}
    follows = () if same else ("data", "accumulation")
    kept = {name: getattr(usual, name) for name in usual.model_fields_set if name not in follows}
    return PlanInput.model_validate({**kept, **changes})


def tokens_of(decision: PlanDecision, run: CalibrationRun, position: int) -> float:
    """Return the tokens of one sample; refuse a rate of tokens where samples have none."""
    tokens = decision.training.tokens
    if tokens is not None:
        return float(tokens.mean)
    (name,) = run.stated
    if name.startswith("tokens"):
        raise BadInput.at(f"runs.{position}.{name}", "samples of this model have no tokens; enter samples/s")
    return 1.0


def check_possible(decision: PlanDecision, seconds: float, run: CalibrationRun, position: int) -> None:
    """Refuse a run that would be faster than the peak of its devices."""
    scenario, plans = decision.scenario, decision.choice.plans
    work = scenario.table.training_flop * decision.batch
    share = work / seconds / (scenario.peak * float(plans.devices[0]))
    if share > 1.0:
        (name,) = run.stated
        raise BadInput.at(
            f"runs.{position}.{name}",
            "would be {share} times the peak of {devices} accelerators; check the unit, the batch and "
            "whether the value is of one accelerator or of all",
            share=significant(share),
            devices=int(plans.devices[0]),
        )


def _check_kind(system: SystemInput, target: PlanDecision, context: SizingContext) -> None:
    """Refuse a run on the other kind of hardware."""
    entry, known = context.hardware.system(system.id, 1).entry, target.hardware.entry.machine.chip.kind
    if entry.machine.chip.kind is not known:
        raise BadInput.at(
            "system.id",
            "{run} has {run_kind}s but the estimate uses {kind}s; one cannot calibrate "
            "software for the other",
            run=entry.name,
            run_kind=entry.machine.chip.kind.value.upper(),
            kind=known.value.upper(),
        )


def run_system(system: RunSystem | str | None, usual: SystemInput) -> SystemInput:
    """Return the system of a run: its own if it names one, otherwise the estimate's with its changes."""
    if system is None:
        return usual
    if isinstance(system, str):
        return SystemInput(id=system)
    stated = {name: value for name in system.model_fields_set if (value := getattr(system, name)) is not None}
    return SystemInput(**stated) if "id" in stated else usual.model_copy(update=stated)


ONE_SIDED = 1.2816
"""Standard deviations from the middle to the 90th percentile of a normal distribution."""
SHOWN_CHANGE = 0.005
"""Smallest shift or narrowing that is reported, in deviations of the prior."""


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    answer: CalibrationAnswer
    profile: SoftwareProfile


def calibrate(request: CalibrationRequest, context: SizingContext, identifier: str) -> CalibrationResult:
    """Fit an estimate's software profile to measured runs, and return it with its effect."""
    estimate_request = request.estimate
    if estimate_request.model.total_flop is not None:
        raise BadInput.at(
            "estimate.model.total_flop", "a model given only as total FLOP has no steps to measure"
        )
    for position, run in enumerate(request.runs):
        check_measurement(run, position)
    with fields_at("estimate.{}".format):
        asked = Answer(estimate_request, context)
        target, before = asked.plan, asked.document
    prior = target.scenario.software
    if prior.calibration is not None:
        raise BadInput.at(
            "estimate.software",
            "{software} is already calibrated; start from {prior} with all runs together",
            software=prior.id,
            prior=prior.calibration.prior,
        )
    runs = prepared(request.runs, estimate_request, target, context)
    fit = fit_profile(
        identifier,
        request.label or prior.title,
        prior,
        context.software.ranges,
        [run.step for run in runs],
        context.residuals,
        target=case_regimes(target, context),
        family=target.profile.family,
        chips=[run.decision.hardware.entry.machine.chip.id for run in runs],
        named=estimate_request.software is not None,
        run_steps=measured_steps(runs),
    )
    gaps = fit.posterior.before - np.array([run.step.measured for run in runs])
    remaining = fit.posterior.after - np.array([run.step.measured for run in runs])
    causes = causes_of(
        [
            StatedRun(run.decision, run.step.measured, run.stated.stated[0].startswith("step_time"))
            for run in runs
        ],
        context,
    )
    warnings = list(
        calibration_checks(
            fit,
            gaps,
            remaining,
            causes,
            measured_devices=max(run.step.devices for run in runs),
            target_devices=float(target.choice.plans.devices[0]),
            fits=[run.decision.choice.fits for run in runs],
        )
    )
    doubts = [warning.text.as_message() for warning in warnings if warning.code == "calibration_implausible"]
    calibration = fit.profile.calibration
    if doubts and calibration is not None:
        doubted = replace(fit.profile, calibration=replace(calibration, doubt=doubts[0]))
        fit = replace(fit, profile=doubted)
    with_fit = replace(context, find_calibration=lambda name: fit.profile if name == identifier else None)
    after = estimate(estimate_request.model_copy(update={"software": identifier}), with_fit)
    prior_covariance = np.eye(len(fit.names) + 1)
    answer = CalibrationAnswer(
        id=identifier,
        name=request.label or before.name,
        engine_version=engine_version(context.catalog.version),
        catalog_version=context.catalog.version,
        software=identifier,
        prior_software=prior.id,
        estimate=estimate_request.model_dump(mode="json", exclude_unset=True),
        study_id=request.study_id,
        gap_before=float(np.mean(np.abs(gaps))),
        gap_after=float(np.mean(np.abs(remaining))),
        moved=moved_figures(fit),
        runs=_run_documents(runs, fit),
        before=_outlook(before),
        after=_outlook(after),
        effective_parameters=effective_parameters(fit.posterior.covariance),
        spread_before=_mean_spread(fit.posterior.slopes_before, prior_covariance),
        spread_after=_mean_spread(fit.posterior.slopes_after, fit.posterior.covariance),
        causes=[cause_document(cause) for cause in causes],
        warnings=warnings,
    )
    return CalibrationResult(answer, fit.profile)


def measured_steps(runs: Sequence[PreparedRun]) -> dict[str, tuple[float, ...]]:
    """Return the measured step times by configuration. [s]"""
    steps: dict[str, tuple[float, ...]] = {}
    for run in runs:
        for key in configurations(run.decision):
            steps[key] = (*steps.get(key, ()), math.exp(run.step.measured))
    return steps


CAUSES = {
    "software": "the software and what differs between codes explain the runs",
    "network": (
        "the links of a machine to the others would carry {needs} of {usual} GB/s; measure an all-reduce "
        "between two machines"
    ),
    "input": (
        "the input would feed {needs} samples/s to each machine, where {usual} are needed; run a few steps "
        "on synthetic data"
    ),
    "clocks": (
        "the clocks would hold {needs} % of what is usual; read clock and power of every device under load"
    ),
    "layout": "another plan would have run: {field} {value}; check the plan in the log",
    "batch": (
        "the batch would be {needs} times the stated one; check whether it counts one accelerator or all, "
        "and the accumulation"
    ),
    "slow_node": "one machine would be {needs} times as slow as the others; run each machine alone",
}
"""Sentence of each cause, with the number it needs and what to measure next."""
SCALES = {"network": 1e-9, "clocks": 100.0}
"""Factor from the SI unit to that of the sentence."""
CAUSE_UNITS = {"network": "B/s", "input": "samples/s"}


def cause_sentence(cause: Cause) -> Message:
    values: dict[str, object] = {}
    if cause.plan is not None:
        field = next(iter(cause.plan.model_fields_set))
        value = getattr(cause.plan, field)
        values |= {"field": field, "value": value if isinstance(value, int) else str(value)}
    elif cause.needs is not None and cause.usual is not None:
        scale = SCALES.get(cause.name, 1.0)
        values["needs"] = significant(scale * cause.needs, 2)
        if cause.name in CAUSE_UNITS:
            values["usual"] = significant(scale * cause.usual, 2)
    return Message(CAUSES[cause.name], values)


def cause_document(cause: Cause) -> CalibrationCause:
    unit = CAUSE_UNITS.get(cause.name, "1")
    return CalibrationCause(
        cause=cause.name,
        text=Text.of(cause_sentence(cause)),
        needs=None if cause.needs is None else Quantity.exact(cause.needs, unit),
        usual=None if cause.usual is None else Quantity.exact(cause.usual, unit),
        misfit=cause.misfit,
    )


def _mean_spread(slopes: Floats, covariance: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(log_spread(slopes, covariance)))))


def _outlook(outcome: Estimate) -> Outlook:
    return Outlook(
        software=outcome.software or "", step_time=outcome.step_time, time_to_train=outcome.time_to_train
    )


def _run_documents(runs: Sequence[PreparedRun], fit: ProfileFit) -> list[CalibratedRun]:
    posterior = fit.posterior
    wide = log_spread(posterior.slopes_before, np.eye(posterior.mean.size))
    narrow = log_spread(posterior.slopes_after, posterior.covariance)
    documents = []
    for index, run in enumerate(runs):
        decision, own = run.decision, fit.own[index]
        measured = math.exp(run.step.measured)
        before, after = float(posterior.before[index]), float(posterior.after[index])
        documents.append(
            CalibratedRun(
                system=decision.hardware.entry.id,
                system_name=decision.hardware.entry.name,
                count=decision.hardware.count,
                devices=int(decision.choice.plans.devices[0]),
                fabric=decision.hardware.fabric,
                global_batch=decision.batch,
                plan=plan_summary(decision, decision.choice.plans),
                measured=measured,
                samples_per_s=decision.batch / measured,
                before=_log_normal(before, math.hypot(wide[index], own)),
                after=_log_normal(after, math.hypot(narrow[index], own)),
                gap_before=before - run.step.measured,
                gap_after=after - run.step.measured,
                note=run.stated.note,
            )
        )
    return documents


def _log_normal(middle: float, deviation: float) -> Quantity:
    reach = ONE_SIDED * deviation
    low, value, high = (math.exp(middle + end) for end in (-reach, 0.0, reach))
    return Quantity(value=value, low=low, high=high, unit="s")


def moved_figures(fit: ProfileFit) -> list[MovedFigure]:
    """Return the figures, and the common offset, that the runs changed, the largest change first."""
    posterior = fit.posterior
    deviations = np.sqrt(np.diag(posterior.covariance))
    figures = []
    for index, name in enumerate((*fit.names, OFFSET)):
        moved, narrowed = float(posterior.mean[index]), float(deviations[index])
        if abs(moved) < SHOWN_CHANGE and 1.0 - narrowed < SHOWN_CHANGE:
            continue
        if name == OFFSET:
            prior, after = (0.0, fit.offset_width), (fit.offset_width * moved, fit.offset_width * narrowed)
            ends = [tuple(math.exp(end) for end in _ends(*pair)) for pair in (prior, after)]
        else:
            ends = [_figure_ends(profile.figures[name], fit) for profile in (fit.prior, fit.profile)]
        (prior_low, central, prior_high), (low, value, high) = ends
        figures.append(
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
    return sorted(figures, key=lambda figure: -abs(figure.deviations))


def _ends(middle: float, deviation: float) -> tuple[float, float, float]:
    return middle - ONE_SIDED * deviation, middle, middle + ONE_SIDED * deviation


def _figure_ends(figure: ProfileFigure, fit: ProfileFit) -> tuple[float, ...]:
    """Return the 10th percentile, the value and the 90th percentile of a figure."""
    if figure.parameter in ABSOLUTE:
        return tuple(min(max(end, 0.0), GREATEST_OVERLAP) for end in _ends(figure.value, figure.deviation))
    reach = math.exp(ONE_SIDED * figure.deviation)
    low, high = figure.value / reach, figure.value * reach
    known = fit.profile.calibration
    if known is not None and figure.parameter in known.ends:
        least, most = known.ends[figure.parameter]
        low, high = max(low, least), min(high, most)
    return low, figure.value, high
