"""The estimate: from a request to a document of time, cost and their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from app.engine.records import Floats
from app.engine.units import YEAR
from app.errors import AppError, Message
from app.estimating.basis import measuring_checks, three_steps
from app.estimating.capital import check_assumptions, spot_interruptions
from app.estimating.checks import (
    bolder_plan,
    data_sheet_checks,
    does_not_fit,
    model_checks,
    plan_checks,
    run_checks,
    time_checks,
    validation_checks,
)
from app.estimating.context import CALIBRATION_PREFIX, SizingContext, critical_batch_checks
from app.estimating.costing import cost_trace, run_expense
from app.estimating.deciding import Decision, decide
from app.estimating.defaults import assumption_defaults, plan_defaults, system_defaults
from app.estimating.documents import CheckWarning, Default, Estimate, Text, Validation
from app.estimating.hardware import Hardware, Reliability, reliability
from app.estimating.nearest import claimed
from app.estimating.ranges import NOT_UNDERSTOOD, common_normals, quantity, residual_factors
from app.estimating.regimes import regimes
from app.estimating.request import AssumptionsInput, EstimateRequest, PlanInput
from app.estimating.runtime import Run, runs_of, sensitivity_of
from app.estimating.schema import Quantity
from app.estimating.summaries import (
    all_in_hours,
    breakdown_of,
    memory_summary,
    plan_summary,
    roofline_of,
    schedule_of,
    startup_of,
    system_summary,
)
from app.estimating.three_steps import after_three_steps
from app.estimating.total_flop import total_flop_estimate
from app.estimating.trace import measured_effects, trace_of
from app.estimating.trace_amounts import with_amounts
from app.estimating.validity import measurable, outside_checks, validation_summary
from app.estimating.version import engine_version
from app.estimating.workload import resolve_model, summarise, trained
from app.profiles.model import ModelProfile


def estimate(request: EstimateRequest, context: SizingContext) -> Estimate:
    """Return the estimate of a request, without an ``id``: the store sets it."""
    profile, hardware, context = _resolved(request, context)
    if profile.total_flop is not None:
        return total_flop_estimate(request, profile.total_flop, hardware, context)
    decision = _decided(request, profile, hardware, context)
    return _complete(decision, context) if decision.choice.fits else _too_large(decision, context)


def hardware_of(request: EstimateRequest, context: SizingContext) -> Hardware:
    system = request.system
    return context.hardware.system(
        system.id, system.count, system.fabric, system.ports_per_node, system.streaming_memory_gb
    )


def _resolved(
    request: EstimateRequest, context: SizingContext
) -> tuple[ModelProfile, Hardware, SizingContext]:
    profile = resolve_model(request.model, context)
    context = context.at_prices(request.assumptions)
    return profile, hardware_of(request, context), context


Timed: TypeAlias = tuple[float, list[float] | None]
"""Time to train and its samples; no samples where nothing is uncertain. [s]"""


def time_to_train(request: EstimateRequest, context: SizingContext) -> Timed | None:
    """Return the time of an estimate and its samples; None where the model does not fit."""
    profile, hardware, context = _resolved(request, context)
    if profile.total_flop is not None:
        bare = total_flop_estimate(request, profile.total_flop, hardware, context)
        return None if bare.time_to_train is None else (bare.time_to_train.value, bare.time_samples)
    decision = _decided(request, profile, hardware, context)
    if not decision.choice.fits:
        return None
    run = _timed(decision, _reliability(request, hardware, context), context).run
    return run.total, stated_samples(run.total_samples)


def seconds_to_train(request: EstimateRequest, context: SizingContext) -> float | None:
    """Return the central time to train; None where the model does not fit or the request is refused."""
    try:
        hardware = hardware_of(request, context)
        decision = decide(request, resolve_model(request.model, context), hardware, context)
        assumed = _reliability(request, hardware, context)
    except AppError:
        return None
    if not decision.choice.fits:
        return None
    return _timed(decision, assumed, context, remembered=False).run.total


def stated_samples(samples: Floats) -> list[float]:
    return [float(f"{sample:.5g}") for sample in samples]


def _reliability(request: EstimateRequest, hardware: Hardware, context: SizingContext) -> Reliability:
    interruptions = spot_interruptions(hardware, request.assumptions, context.catalog)
    defaults = context.catalog.reliability_defaults(hardware.entry.chip_kind)
    return reliability(defaults, request.assumptions, interruptions)


def physical_question(request: EstimateRequest) -> str | None:
    """Return a cache key of model, workload, system and plan, without money and use.

    None where a sample or a calibration is named, which may have been deleted since.
    """
    if request.workload.workload_id is not None or (request.software or "").startswith(CALIBRATION_PREFIX):
        return None
    physical = EstimateRequest(
        model=request.model,
        workload=request.workload,
        system=request.system,
        plan=request.plan,
        software=request.software,
        assumptions=AssumptionsInput(memory_margin=request.assumptions.memory_margin),
    )
    # Omitted fields differ from fields stated at their default: an answer names its defaults.
    return physical.model_dump_json(exclude_unset=True)


def _decided(
    request: EstimateRequest, profile: ModelProfile, hardware: Hardware, context: SizingContext
) -> Decision:
    """Return batch and plan, cached where only money and use differ."""

    def make() -> Decision:
        return decide(request, profile, hardware, context)

    question = physical_question(request)
    decision: Decision = make() if question is None else context.remember(("plan", question), make)
    return replace(decision, request=request, hardware=hardware)


@dataclass(frozen=True, slots=True)
class Timing:
    run: Run
    regimes: list[str]
    parts: dict[str, Any]
    """Fields of the answer that follow from plan and run alone."""


def _timed(
    decision: Decision, assumed: Reliability, context: SizingContext, *, remembered: bool = True
) -> Timing:
    """Return the time of the plan, cached where only money and use differ."""
    scenario, training, plans = decision.scenario, decision.training, decision.choice.plans
    input_rate = decision.request.assumptions.input_samples_per_second

    def make() -> Timing:
        normals = common_normals()
        names = regimes(scenario, plans, decision.profile.family, context.measured)
        factors = residual_factors(
            names,
            context.residuals,
            normals,
            scenario,
            plans,
            understood=not decision.profile.doubts,
        )
        run = _run(decision, assumed, factors)
        run_deviation = training.target.scatter if training.target else 0.0
        deviations = {"run_length": run_deviation, "failure_rate": assumed.rate_deviation}
        uncertain = [name for name, deviation in deviations.items() if deviation > 0]
        parts = {
            "memory": memory_summary(decision),
            "breakdown": breakdown_of(run),
            "schedule": schedule_of(scenario, plans, run),
            **roofline_of(scenario, plans),
            "sensitivity": sensitivity_of(scenario, plans, run, factors, normals, uncertain),
        }
        return Timing(run, names, parts)

    question = physical_question(decision.request) if remembered else None
    if question is None:
        return make()
    timing: Timing = context.remember(("time", question, assumed, input_rate), make)
    return timing


def _run(decision: Decision, assumed: Reliability, factors: Floats) -> Run:
    training = decision.training
    (run,) = runs_of(
        decision.scenario,
        decision.choice.plans,
        training,
        machines=decision.machines_used,
        assumed=assumed,
        input_rate=decision.request.assumptions.input_samples_per_second,
        factors=factors,
        normals=common_normals(),
        run_deviation=training.target.scatter if training.target else 0.0,
    )
    return run


def _calibrated_time(decision: Decision, assumed: Reliability, context: SizingContext) -> Quantity:
    """Return the time to train as it would be known after three measured steps."""

    def make() -> Quantity:
        calibrated, factors = after_three_steps(decision, context)
        run = _run(calibrated, assumed, factors)
        return quantity(run.total, run.total_samples, "s")

    question = physical_question(decision.request)
    rate = decision.request.assumptions.input_samples_per_second
    if question is None:
        return make()
    time: Quantity = context.remember(("three steps", question, assumed, rate), make)
    return time


UNTIMED = dict.fromkeys(
    (
        *("step_time", "throughput", "tokens_per_second", "mfu", "steps", "samples", "time_to_train"),
        *("energy", "cost", "breakdown", "roof"),
    )
)
"""Fields that are unknown for a plan that does not fit."""


def _too_large(decision: Decision, context: SizingContext) -> Estimate:
    training, hardware, choice = decision.training, decision.hardware, decision.choice
    names = regimes(decision.scenario, choice.plans, decision.profile.family, context.measured)
    return Estimate(
        **_common(decision, context, validation_summary(decision, context, names, {})),
        **UNTIMED,
        fits=False,
        trained=None if training.samples is None else Text.of(trained(training, training.samples)),
        memory=memory_summary(decision),
        roofline=[],
        sensitivity=[],
        warnings=[
            *decision.warnings,
            does_not_fit(decision.scenario, choice, _remedy(decision, context)),
            *plan_checks(decision.scenario, choice, hardware, hardware.devices),
            *data_sheet_checks(hardware, context.catalog.own, names, None),
        ],
        trace=[],
    )


def _remedy(decision: Decision, context: SizingContext) -> Message:
    """Return what would fit: another plan, more of the same system, DGX A100 640GB, or nothing tried."""
    request = decision.request.model_copy(update={"plan": PlanInput()})
    system = request.system
    if decision.request.plan != request.plan and _would_fit(request, decision, decision.hardware, context):
        return Message("another plan would fit on the same system; leave the plan empty")
    own_options = (system.fabric, system.ports_per_node, system.streaming_memory_gb)
    for system_id, start, options in ((system.id, system.count * 2, own_options), (ROOMY_SYSTEM, 1, ())):
        count = start
        while count <= MOST_TRIED:
            try:
                hardware = context.hardware.system(system_id, count, *options)
            except AppError:
                break
            if hardware.devices > MOST_DEVICES_TRIED:
                break
            if _would_fit(request, decision, hardware, context):
                return Message(
                    "{count} × {system} would be enough", {"count": count, "system": hardware.entry.name}
                )
            count *= 2
    return Message(
        "neither more of this system nor {system} would be enough; use a smaller micro-batch, "
        "shorter samples or a smaller model",
        {"system": context.catalog.system(ROOMY_SYSTEM).name},
    )


def _would_fit(
    request: EstimateRequest, decision: Decision, hardware: Hardware, context: SizingContext
) -> bool:
    try:
        return decide(request, decision.profile, hardware, context).choice.fits
    except AppError:
        return False


ROOMY_SYSTEM = "dgx-a100-640gb"
"""System that is suggested where no count of the requested one fits."""
MOST_TRIED = 256
MOST_DEVICES_TRIED = 4096


def _complete(decision: Decision, context: SizingContext) -> Estimate:
    request, scenario, hardware, training = (
        decision.request, decision.scenario, decision.hardware, decision.training,
    )  # fmt: skip
    profile, plans, normals = decision.profile, decision.choice.plans, common_normals()
    check_assumptions(request.assumptions)
    assumed = _reliability(request, hardware, context)
    timing = _timed(decision, assumed, context)
    run, batch = timing.run, float(plans.global_batch[0])
    warnings = [
        *decision.warnings,
        *plan_checks(scenario, decision.choice, hardware, hardware.devices),
        *run_checks(run, assumed, training),
        *bolder_plan(decision.choice),
    ]
    if training.kind == "pretrain" and training.target is None and training.tokens is not None:
        per_sample = training.tokens.mean
        warnings += critical_batch_checks(
            profile.family,
            float(profile.parameters),
            run.samples * per_sample,
            batch * per_sample,
            context.catalog,
        )
    figures = measurable(decision, run)
    validation = validation_summary(decision, context, timing.regimes, figures)
    presumed = validation.software_presumed and not scenario.is_ipu
    warnings += validation_checks(
        validation.status,
        validation.family_error,
        hardware.entry.chip_kind,
        validation.contradicted,
        software_presumed=presumed,
    )
    validation = validation.model_copy(update={"status": claimed(validation.status, presumed)})
    warnings += outside_checks(validation)
    time = quantity(run.total, run.total_samples, "s")
    if scenario.software.calibration is None:
        calibrated = _calibrated_time(decision, assumed, context)
        validation = validation.model_copy(update={"three_steps": three_steps(time, calibrated)})
        warnings += measuring_checks(validation.three_steps)
    warnings += model_checks(scenario)
    warnings += [
        CheckWarning.of(NOT_UNDERSTOOD, "serious", doubt, "model") for doubt in decision.profile.doubts
    ]
    warnings += data_sheet_checks(hardware, context.catalog.own, timing.regimes, figures["step_time_s"])
    expense = run_expense(request, hardware, run.total, run.total_samples, context, warnings, profile.family)
    warnings += time_checks(run.total, hardware, expense.written_off, lambda: _finishing(decision, context))
    failures = context.catalog.reliability_defaults(hardware.entry.chip_kind)
    assumed_defaults = assumption_defaults(
        request, expense.prices, expense.defaults, failures, run, hardware.machines
    )
    flop, peak = scenario.table.training_flop, scenario.peak * float(plans.devices[0])
    return Estimate(
        **_common(decision, context, validation, assumed_defaults),
        fits=True,
        step_time=figures["step_time_s"],
        throughput=figures["samples_per_s"],
        tokens_per_second=figures.get("tokens_per_s"),
        mfu=quantity(flop * batch / run.step_seconds / peak, flop * batch / run.step_samples / peak, "1"),
        steps=run.steps,
        samples=run.samples,
        trained=Text.of(trained(training, run.samples)),
        time_to_train=time,
        time_samples=stated_samples(run.total_samples),
        energy=expense.energy,
        cost=expense.cost,
        startup=startup_of(failures.startup),
        goodput=quantity(run.goodput, run.training_samples / run.total_samples, "1"),
        all_in_device_hours=all_in_hours(run, plans, failures.operational_share, normals),
        **timing.parts,
        effects=measured_effects(scenario, context.catalog),
        warnings=warnings,
        trace=with_amounts(
            [
                *trace_of(scenario, plans, run, training, hardware, context),
                *cost_trace(expense.prices, expense.cost, run.total, run, assumed),
            ],
            context.catalog,
            expense.cost,
        ),
    )


def _finishing(decision: Decision, context: SizingContext) -> int | None:
    """Return a count of the same system that finishes within a year; None where no tried count does."""
    request, hardware = decision.request, decision.hardware

    def finishes(count: int) -> bool:
        system = request.system.model_copy(update={"count": count})
        larger = request.model_copy(update={"system": system, "plan": PlanInput()})
        seconds = seconds_to_train(larger, context)
        return seconds is not None and seconds <= YEAR

    low, high = hardware.count, 2 * hardware.count
    most = MOST_DEVICES_FINISHING * hardware.count // hardware.devices
    while high <= most and not finishes(high):
        low, high = high, 2 * high
    if high > most:
        return None
    for _ in range(REFINEMENTS):
        middle = (low + high) // 2
        if middle in {low, high}:
            break
        low, high = (low, middle) if finishes(middle) else (middle, high)
    return high


MOST_DEVICES_FINISHING = 16_384
REFINEMENTS = 3
"""Halvings between a count that does not finish and one twice as large that does."""


def _common(
    decision: Decision, context: SizingContext, validation: Validation, more: Sequence[Default] = ()
) -> dict[str, object]:
    training, scenario, hardware = decision.training, decision.scenario, decision.hardware
    plans = decision.choice.plans
    name = decision.request.label or f"{decision.profile.name} · {hardware.count} × {hardware.entry.name}"
    return {
        "id": "",
        "name": name,
        "engine_version": engine_version(context.catalog.version),
        "catalog_version": context.catalog.version,
        "model": summarise(training, scenario.table),
        "system": system_summary(hardware, context.catalog, decision.profile.family),
        "plan": plan_summary(decision, plans),
        "software": scenario.software.id,
        "precision_used": scenario.precision.value,
        "defaults": [
            *system_defaults(decision.request, hardware),
            *training.defaults,
            *plan_defaults(decision),
            *more,
        ],
        "validation": validation,
    }
