"""The estimate: from a request to one document that says how long, how much and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from app import __version__
from app.engine.records import Floats
from app.engine.units import DAY, YEAR
from app.errors import AppError, BadInput, Message
from app.estimating.capital import check_assumptions, spot_interruptions
from app.estimating.checks import (
    bolder_plan,
    does_not_fit,
    model_checks,
    plan_checks,
    run_checks,
    time_checks,
    validation_checks,
)
from app.estimating.context import CALIBRATION_PREFIX, SizingContext, critical_batch_checks
from app.estimating.costing import cost_of, cost_trace, energy_of, system_power
from app.estimating.deciding import Decision, decide
from app.estimating.defaults import assumption_defaults, plan_defaults, system_defaults
from app.estimating.documents import (
    CheckWarning,
    Default,
    Estimate,
    ModelSummary,
    Part,
    SystemSummary,
    Text,
    TraceStep,
    Validation,
)
from app.estimating.hardware import Hardware, Reliability, reliability
from app.estimating.nearest import outside_checks
from app.estimating.prices import cost_defaults_of, prices
from app.estimating.ranges import (
    SAMPLES,
    common_normals,
    own_column,
    quantity,
    residual_samples,
    scatter_of,
    significant,
    spread_quantity,
)
from app.estimating.regimes import regimes
from app.estimating.request import AssumptionsInput, EstimateRequest, PlanInput
from app.estimating.runtime import Run, run_of, sensitivity_of
from app.estimating.schema import Quantity
from app.estimating.summaries import (
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
from app.estimating.trace import source_ref, trace_of
from app.estimating.workload import ADAPTER_PAPERS, resolve_model, summarise, trained
from app.profiles.model import ModelProfile

DEFAULT_PEAK = "fp16_dense"


def bare_estimate(
    request: EstimateRequest, total_flop: float, hardware: Hardware, context: SizingContext
) -> Estimate:
    """Return compute over peak × utilisation; no plan, no memory and no range."""
    asked = request.assumptions
    if request.workload.kind in ADAPTER_PAPERS:
        raise BadInput.at(
            "workload.kind",
            "a bare compute figure has no layers for adapters; use a preset or a config",
        )
    defaults: list[Default] = []
    warnings: list[CheckWarning] = []
    utilization = 1.0 if asked.utilization is None else asked.utilization
    if not 0 < utilization <= 1:
        raise BadInput.at(
            "assumptions.utilization", "must be above 0 and at most 1, not {value}", value=utilization
        )
    if asked.utilization is None:
        defaults.append(
            Default.of(
                "assumptions.utilization",
                1.0,
                Message("no run reaches the peak; actual runs reach 30 to 55 %"),
            )
        )
    chip = hardware.entry.chip
    dense = context.catalog.peak(chip, DEFAULT_PEAK)
    sources = []
    if asked.peak_flops is not None:
        if not 0 < asked.peak_flops < 1e30:
            raise BadInput.at(
                "assumptions.peak_flops", "must be above 0, not {value}", value=asked.peak_flops
            )
        # A stated peak is that of one system, as data sheets print it.
        peak, formula = asked.peak_flops * hardware.count, "stated peak × systems"
        per_device = peak / hardware.devices
        name = "peak_flops"
    else:
        name = asked.peak or DEFAULT_PEAK
        derived = context.catalog.peak(chip, name, "assumptions.peak")
        per_device = derived.value
        peak, formula = per_device * hardware.devices, f"{name} × devices"
        sources = [source_ref(figure.source) for figure in derived.inputs]
        if asked.peak is None:
            defaults.append(Default.of("assumptions.peak", name, Message("the dense half-precision peak")))
    if "sparse" in name or per_device > 1.05 * dense.value:
        seconds_dense = total_flop / (dense.value * hardware.devices * utilization)
        warnings.append(
            CheckWarning.of(
                "sparse_peak",
                "serious",
                Message(
                    "the peak exceeds the dense peak of this system, {dense} PFLOP/s, as "
                    "figures with structured sparsity do; at the dense peak the same division "
                    "gives {days} days",
                    {
                        "dense": significant(dense.value * hardware.devices / 1e15, 4),
                        "days": significant(seconds_dense / DAY, 4),
                    },
                ),
                "assumptions.peak_flops" if asked.peak_flops is not None else "assumptions.peak",
            )
        )
    warnings.append(
        CheckWarning.of(
            "bare_division",
            "caution",
            Message("compute divided by peak: memory, communication and plan are not considered"),
            "model.total_flop",
        )
    )
    seconds = total_flop / (peak * utilization)
    normals = common_normals()
    samples = np.full(SAMPLES, seconds)
    found = prices(hardware, asked, request.currency, context.catalog, warnings)
    cost_defaults = cost_defaults_of(hardware, asked, context.catalog)
    written_off = found.lifetime * YEAR if found is not None and found.owned else None
    enough = math.ceil(hardware.count * seconds / YEAR)
    warnings += time_checks(seconds, hardware, written_off, lambda: enough)
    power = system_power(hardware, cost_defaults.pue.si if asked.pue is None else asked.pue, context.catalog)
    cost = None
    if found is not None:
        cost = cost_of(
            hardware,
            found,
            seconds=seconds,
            samples=samples,
            normals=normals,
            currency=request.currency,
            catalog=context.catalog,
        )
    entry = hardware.entry
    return Estimate(
        id="",
        label=request.label or f"{total_flop:.3g} FLOP · {hardware.count} × {entry.name}",
        engine_version=__version__,
        catalog_version=context.catalog.version,
        model=ModelSummary(
            id="total-flop", name="training compute", family="custom", parameters=0.0,
            forward_flop_per_sample=0.0, seq_len=None, image_size=None, assumptions=[],
        ),
        system=SystemSummary(
            id=entry.id, name=entry.name, count=hardware.count, machines=hardware.machines,
            devices=hardware.devices,
            chip=chip, fabric=hardware.fabric, ports_per_node=hardware.ports_per_node,
            generation={"gc200": "mk2", "bow": "bow"}.get(chip, chip.split("-")[0]),
            power=spread_quantity(system_power(hardware, 1.0, context.catalog)),
            rack_units=entry.rack_units * hardware.count,
        ),
        plan=None,
        software=None,
        precision_used=None,
        defaults=[
            *system_defaults(request, hardware),
            *defaults,
            *assumption_defaults(request, found, cost_defaults, None, None),
        ],
        fits=True,
        memory=None,
        step_time=None, throughput=None, tokens_per_second=None, steps=None, samples=None,
        mfu=Quantity.exact(utilization, "1"),
        time_to_train=Quantity.exact(seconds, "s"),
        energy=energy_of(power, seconds, samples, normals),
        cost=cost,
        breakdown=[Part(part="gemm", seconds=seconds)],
        roofline=[],
        roof=None,
        sensitivity=[],
        validation=Validation(nearest_measured=[], family_error=None, status="unvalidated"),
        warnings=warnings,
        trace=[
            TraceStep(
                name="time_to_train",
                formula=f"T = total FLOP / (peak × utilization), peak = {formula}",
                inputs={"total_flop": total_flop, "peak": peak, "utilization": utilization},
                value=seconds,
                unit="s",
                reference="Kaplan et al. 2020, section 2.1 (compute of a training run)",
                source=sources,
            ),
            *cost_trace(found, cost, seconds),
        ],
    )  # fmt: skip


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
        return Message("another plan would fit on the same system; leave the plan empty")
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
                    "{count} × {system} would be enough", {"count": count, "system": hardware.entry.name}
                )
            count *= 2
    return Message(
        "neither more of this system nor {system} would be enough; use a smaller micro-batch, "
        "shorter samples or a smaller model",
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
        raise BadInput.at(
            "assumptions.input_samples_per_second", "must be above 0, not {value}", value=input_rate
        )
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
