"""The estimate: from a request to one document that says how long, how much and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from app import __version__
from app.engine.records import Floats
from app.engine.units import YEAR
from app.errors import AppError, BadInput, Message
from app.profiles.model import ModelProfile
from app.sizing.bare import bare_estimate
from app.sizing.batches import critical_batch_checks
from app.sizing.checks import (
    bolder_plan,
    does_not_fit,
    model_checks,
    plan_checks,
    run_checks,
    time_checks,
    validation_checks,
)
from app.sizing.context import CALIBRATION_PREFIX, SizingContext
from app.sizing.cost.prices import cost_defaults_of, prices
from app.sizing.cost.terms import check_assumptions, spot_interruptions
from app.sizing.cost.trace import cost_trace
from app.sizing.costing import cost_of, energy_of, system_power
from app.sizing.deciding import Decision, decide
from app.sizing.defaults import assumption_defaults, plan_defaults, system_defaults
from app.sizing.document import Default, Estimate, Text, Validation
from app.sizing.failures import Reliability, reliability
from app.sizing.hardware import Hardware
from app.sizing.models import resolve_model, summarise
from app.sizing.nearest import outside_checks
from app.sizing.quantities import quantity
from app.sizing.regimes import regimes
from app.sizing.request import AssumptionsInput, EstimateRequest, PlanInput
from app.sizing.runtime import Run, run_of
from app.sizing.sensitivity import sensitivity_of
from app.sizing.spread import common_normals, own_column, residual_samples, scatter_of
from app.sizing.summaries import (
    all_in_hours,
    breakdown_of,
    measurable,
    memory_summary,
    plan_summary,
    roofline_of,
    schedule_of,
    startup_of,
    system_summary,
    validation_summary,
)
from app.sizing.trace import trace_of
from app.sizing.workload import trained


def estimate(request: EstimateRequest, context: SizingContext) -> Estimate:
    """Return the estimate of a request; its ``id`` is left to whoever keeps it."""
    profile = resolve_model(request.model, context)
    context = context.at_prices(request.assumptions)
    hardware = hardware_of(request, context)
    if profile.total_flop is not None:
        return bare_estimate(request, profile.total_flop, hardware, context)
    question = physical_question(request)
    sizing = _decided(question, request, profile, hardware, context)
    if not sizing.choice.fits:
        return _too_large(sizing, context)
    return _complete(question, sizing, context)


def hardware_of(request: EstimateRequest, context: SizingContext) -> Hardware:
    """Return the hardware that a request names."""
    asked = request.system
    return context.hardware.system(
        asked.id, asked.count, asked.fabric, asked.ports_per_node, asked.streaming_memory_gb
    )


Timed: TypeAlias = tuple[float, list[float] | None]
"""Time to train and its samples; no samples where nothing is uncertain. [s]"""


def time_to_train(request: EstimateRequest, context: SizingContext) -> Timed | None:
    """Return the time of an estimate and its samples, without the rest; None where the model does not fit."""
    profile = resolve_model(request.model, context)
    context = context.at_prices(request.assumptions)
    hardware = hardware_of(request, context)
    if profile.total_flop is not None:
        made = bare_estimate(request, profile.total_flop, hardware, context)
        return None if made.time_to_train is None else (made.time_to_train.value, made.time_samples)
    question = physical_question(request)
    sizing = _decided(question, request, profile, hardware, context)
    if not sizing.choice.fits:
        return None
    assumed, rate = _reliability(request, hardware, context), request.assumptions.input_samples_per_second
    run = _timed(question, sizing, assumed, rate, context).run
    return run.total, stated_samples(run.total_samples)


def stated_samples(samples: Floats) -> list[float]:
    """Return samples as an answer states them."""
    return [float(f"{one:.5g}") for one in samples]


def _reliability(request: EstimateRequest, hardware: Hardware, context: SizingContext) -> Reliability:
    interruptions = spot_interruptions(hardware, request.assumptions, context.catalog)
    defaults = context.catalog.reliability_defaults(hardware.entry.chip_kind)
    return reliability(defaults, request.assumptions, interruptions)


def physical_question(request: EstimateRequest) -> str | None:
    """Return what is asked about model, work, system and plan, without money and use.

    None where a sample or a calibration is named: it may have been deleted since it was last asked about.
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
    # What was left out and what was stated as the default are told apart: an answer names its defaults.
    return physical.model_dump_json(exclude_unset=True)


def _decided(
    question: str | None,
    request: EstimateRequest,
    profile: ModelProfile,
    hardware: Hardware,
    context: SizingContext,
) -> Decision:
    """Return batch and plan, from memory where only money and use are asked about anew."""

    def make() -> Decision:
        return decide(request, profile, hardware, context)

    found: Decision = make() if question is None else context.remember(("plan", question), make)
    return replace(found, request=request, hardware=hardware)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a plan takes, and what an answer says of that."""

    run: Run
    regimes: list[str]
    parts: dict[str, Any]
    """Fields of the answer that follow from plan and run alone."""


def _timed(
    question: str | None,
    sizing: Decision,
    assumed: Reliability,
    input_rate: float | None,
    context: SizingContext,
) -> Timing:
    """Return how long the plan takes, from memory where only money and use are asked about anew."""
    scenario, training, plans = sizing.scenario, sizing.training, sizing.choice.plans

    def make() -> Timing:
        normals = common_normals()
        names = regimes(scenario, plans, sizing.profile.family, context.measured)
        factors = residual_samples(
            names,
            context.residuals,
            normals,
            own_column(scenario.chip.name, plans),
            scatter_of(scenario.software),
        )
        run_deviation = training.target.scatter if training.target else 0.0
        run = run_of(
            scenario,
            plans,
            training,
            machines=sizing.machines_used,
            assumed=assumed,
            input_rate=input_rate,
            factors=factors,
            normals=normals,
            run_deviation=run_deviation,
        )
        others = {"run_length": run_deviation, "failure_rate": assumed.rate_deviation}
        uncertain = [name for name, deviation in others.items() if deviation > 0]
        parts = {
            "memory": memory_summary(sizing),
            "breakdown": breakdown_of(run),
            "schedule": schedule_of(scenario, plans, run),
            **roofline_of(scenario, plans),
            "sensitivity": sensitivity_of(scenario, plans, run, factors, normals, uncertain),
        }
        return Timing(run, names, parts)

    if question is None:
        return make()
    found: Timing = context.remember(("time", question, assumed, input_rate), make)
    return found


def _too_large(sizing: Decision, context: SizingContext) -> Estimate:
    warnings = [
        *sizing.warnings,
        does_not_fit(sizing.scenario, sizing.choice, _remedy(sizing, context)),
        *plan_checks(sizing.scenario, sizing.choice, sizing.hardware, sizing.hardware.devices),
    ]
    names = regimes(sizing.scenario, sizing.choice.plans, sizing.profile.family, context.measured)
    return Estimate(
        **_common(sizing, context, validation_summary(sizing, context, names, {})),
        fits=False,
        trained=None if sizing.training.samples is None
        else Text.of(trained(sizing.training, sizing.training.samples)),
        memory=memory_summary(sizing),
        step_time=None, throughput=None, tokens_per_second=None, mfu=None, steps=None, samples=None,
        time_to_train=None, energy=None, cost=None, breakdown=None, roofline=[], roof=None, sensitivity=[],
        warnings=warnings,
        trace=[],
    )  # fmt: skip


def _remedy(sizing: Decision, context: SizingContext) -> Message:
    """Return what would fit: another plan, more of the same, else DGX A100 640GB, else nothing tried."""
    request = sizing.request.model_copy(update={"plan": PlanInput()})
    asked = request.system
    if sizing.request.plan != request.plan and _would_fit(request, sizing, sizing.hardware, context):
        return Message("another plan on the same system would fit; leave the plan out")
    same = (asked.fabric, asked.ports_per_node, asked.streaming_memory_gb)
    for system_id, start, options in ((asked.id, asked.count * 2, same), (ROOMY_SYSTEM, 1, ())):
        count = start
        while count <= MOST_TRIED:
            try:
                hardware = context.hardware.system(system_id, count, *options)
            except AppError:
                break
            if hardware.devices > MOST_DEVICES_TRIED:
                break
            if _would_fit(request, sizing, hardware, context):
                return Message(
                    "{count} × {system} would hold it", {"count": count, "system": hardware.entry.name}
                )
            count *= 2
    return Message(
        "neither more of this system nor {system} would hold it; a smaller micro-batch, shorter samples or a "
        "smaller model would",
        {"system": context.catalog.system(ROOMY_SYSTEM).name},
    )


def _would_fit(
    request: EstimateRequest, sizing: Decision, hardware: Hardware, context: SizingContext
) -> bool:
    try:
        return decide(request, sizing.profile, hardware, context).choice.fits
    except AppError:
        return False


ROOMY_SYSTEM = "dgx-a100-640gb"
"""System with the most memory per device in the catalogue."""

MOST_TRIED = 256
MOST_DEVICES_TRIED = 4096


def _complete(question: str | None, sizing: Decision, context: SizingContext) -> Estimate:
    request, scenario, hardware, training = sizing.request, sizing.scenario, sizing.hardware, sizing.training
    plans = sizing.choice.plans
    normals = common_normals()
    reliability_defaults = context.catalog.reliability_defaults(hardware.entry.chip_kind)
    check_assumptions(request.assumptions)
    assumed = _reliability(request, hardware, context)
    input_rate = request.assumptions.input_samples_per_second
    if input_rate is not None and input_rate <= 0:
        raise BadInput.at("assumptions.input_samples_per_second", "{value} is not above 0", value=input_rate)
    timing = _timed(question, sizing, assumed, input_rate, context)
    run, names = timing.run, timing.regimes
    warnings = [*sizing.warnings, *plan_checks(scenario, sizing.choice, hardware, hardware.devices)]
    bolder = bolder_plan(sizing.choice)
    warnings += [*run_checks(run, assumed, training), *([] if bolder is None else [bolder])]
    if training.kind == "pretrain" and training.target is None and training.tokens is not None:
        per_sample = training.tokens.mean
        warnings += critical_batch_checks(
            sizing.profile.family,
            float(sizing.profile.parameters),
            run.samples * per_sample,
            float(plans.global_batch[0]) * per_sample,
            context.catalog,
        )
    batch = float(plans.global_batch[0])
    step = run.step_samples
    figures = measurable(sizing, run)
    validation = validation_summary(sizing, context, names, figures)
    warnings += validation_checks(
        validation.status, validation.family_error, hardware.entry.chip_kind, validation.contradicted
    )
    warnings += outside_checks(validation)
    warnings += model_checks(scenario)
    family = sizing.profile.family
    found = prices(hardware, request.assumptions, request.currency, context.catalog, warnings, family)
    defaults = cost_defaults_of(hardware, request.assumptions, context.catalog)
    stated = request.assumptions.pue
    power = system_power(hardware, defaults.pue.si if stated is None else stated, context.catalog, family)
    cost = None
    if found is not None:
        cost = cost_of(
            hardware, found, seconds=run.total, samples=run.total_samples, normals=normals,
            currency=request.currency, catalog=context.catalog, family=family,
        )  # fmt: skip
    written_off = found.lifetime * YEAR if found is not None and found.owned else None
    warnings += time_checks(run.total, hardware, written_off, lambda: _finishing(sizing, context))
    taken = assumption_defaults(request, found, defaults, reliability_defaults, run, hardware.machines)
    flop = scenario.table.training_flop
    peak = scenario.peak * float(plans.devices[0])
    return Estimate(
        **_common(sizing, context, validation, taken),
        fits=True,
        step_time=figures["step_time_s"],
        throughput=figures["samples_per_s"],
        tokens_per_second=figures.get("tokens_per_s"),
        mfu=quantity(flop * batch / run.step_seconds / peak, flop * batch / step / peak, "1"),
        steps=run.steps,
        samples=run.samples,
        trained=Text.of(trained(training, run.samples)),
        time_to_train=quantity(run.total, run.total_samples, "s"),
        time_samples=stated_samples(run.total_samples),
        energy=energy_of(power, run.total, run.total_samples, normals),
        cost=cost,
        startup=startup_of(reliability_defaults.startup),
        goodput=quantity(run.goodput, run.goodput_samples, "1"),
        all_in_device_hours=all_in_hours(run, plans, reliability_defaults.operational_share, normals),
        **timing.parts,
        warnings=warnings,
        trace=[
            *trace_of(scenario, plans, run, training, hardware, context),
            *cost_trace(found, cost, run.total, run, assumed),
        ],
    )


def seconds_to_train(request: EstimateRequest, context: SizingContext) -> float | None:
    """Return the central time to train; None where the model does not fit or the request is refused."""
    try:
        profile = resolve_model(request.model, context)
        hardware = hardware_of(request, context)
        made = decide(request, profile, hardware, context)
        assumed = _reliability(request, hardware, context)
    except AppError:
        return None
    if not made.choice.fits:
        return None
    rate = request.assumptions.input_samples_per_second
    return _timed(None, made, assumed, rate, context).run.total


def _finishing(sizing: Decision, context: SizingContext) -> int | None:
    """Return a count of the same system that finishes within a year; None where none that is tried does."""
    request, hardware = sizing.request, sizing.hardware

    def finishes(count: int) -> bool:
        system = request.system.model_copy(update={"count": count})
        asked = request.model_copy(update={"system": system, "plan": PlanInput()})
        seconds = seconds_to_train(asked, context)
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
    sizing: Decision, context: SizingContext, validation: Validation, more: Sequence[Default] = ()
) -> dict[str, object]:
    training, scenario, hardware = sizing.training, sizing.scenario, sizing.hardware
    plans = sizing.choice.plans
    label = sizing.request.label or f"{sizing.profile.name} · {hardware.count} × {hardware.entry.name}"
    return {
        "id": "",
        "label": label,
        "engine_version": __version__,
        "catalog_version": context.catalog.version,
        "model": summarise(training, scenario.table),
        "system": system_summary(hardware, context.catalog, sizing.profile.family),
        "plan": plan_summary(sizing, plans),
        "software": scenario.software.id,
        "precision_used": scenario.precision.value,
        "defaults": [
            *system_defaults(sizing.request, hardware),
            *training.defaults,
            *plan_defaults(sizing),
            *more,
        ],
        "validation": validation,
    }
