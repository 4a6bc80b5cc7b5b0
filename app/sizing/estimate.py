"""The estimate: from a request to one document that says how long, how much and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from app import __version__
from app.engine.ipu import stage_layers as ipu_stage_layers
from app.engine.ipu import stage_list
from app.engine.plans import Bound, Plans
from app.engine.records import Floats, IpuChip
from app.errors import AppError, BadInput, Message
from app.profiles.model import ModelProfile
from app.sizing.bare import bare_estimate
from app.sizing.batches import BatchLimit
from app.sizing.checks import (
    batch_adjusted,
    does_not_fit,
    plan_checks,
    run_checks,
    stage_layers_of,
    validation_checks,
)
from app.sizing.context import SizingContext
from app.sizing.costing import cost_of, energy_of, prices, system_power
from app.sizing.document import (
    CheckWarning,
    Estimate,
    Memory,
    MemoryPart,
    Part,
    PlanSummary,
    Quantity,
    Roofline,
    RooflinePoint,
    SystemSummary,
)
from app.sizing.hardware import Hardware
from app.sizing.models import resolve_model, summarise
from app.sizing.nearest import validation_of
from app.sizing.planning import Choice, choose_plan, given_fields, memory_of, recompute_name, sharding_name
from app.sizing.quantities import quantity, spread_quantity
from app.sizing.request import EstimateRequest, PlanInput
from app.sizing.runtime import Run, reliability, run_of, samples_at
from app.sizing.scenario import Scenario
from app.sizing.sensitivity import sensitivity_of
from app.sizing.software_choice import choose_software
from app.sizing.spread import common_normals, regimes, residual_samples
from app.sizing.trace import trace_of
from app.sizing.workload import Training, batch_candidates, resolve_training


@dataclass(slots=True)
class Sizing:
    """Everything decided before the engine is asked for the final numbers."""

    request: EstimateRequest
    profile: ModelProfile
    hardware: Hardware
    training: Training
    scenario: Scenario
    choice: Choice
    batch: int
    batch_searched: bool
    warnings: list[CheckWarning]


def estimate(request: EstimateRequest, context: SizingContext) -> Estimate:
    """Return the estimate of a request; its ``id`` is left to whoever keeps it.

    Parameters
    ----------
    request : EstimateRequest
        Model, workload, system, plan, software and assumptions. [-]
    context : SizingContext
        Catalogue, software profiles and uploads. [-]

    Returns
    -------
    estimate : Estimate
        Time, cost, memory and their ranges; ``fits`` False where the model is too large. [-]
    """
    profile = resolve_model(request.model, context)
    asked = request.system
    hardware = context.hardware.system(
        asked.id, asked.count, asked.fabric, asked.ports_per_node, asked.streaming_memory_gb
    )
    if profile.total_flop is not None:
        return bare_estimate(request, profile.total_flop, hardware, context)
    sizing = decide(request, profile, hardware, context)
    if not sizing.choice.fits:
        return _too_large(sizing, context)
    return _complete(sizing, context)


def decide(
    request: EstimateRequest, profile: ModelProfile, hardware: Hardware, context: SizingContext
) -> Sizing:
    """Resolve workload and software, then choose batch and plan."""
    chip = hardware.engine if isinstance(hardware.engine, IpuChip) else hardware.engine.chip
    training = resolve_training(request, profile, chip, context)
    software = choose_software(
        request.software,
        profile.family,
        hardware.entry.chip,
        hardware.entry.chip_kind,
        context,
        training.defaults,
    )
    scenario = Scenario(
        table=profile.operators(training.tokens, training.image_size),
        hardware=hardware.engine,
        software=software,
        precision=training.precision,
        optimizer=training.optimizer,
        overrides={},
    )
    margin = request.assumptions.memory_margin
    if margin is not None and not 0 <= margin < 1:
        raise BadInput.at("assumptions.memory_margin", "{value} is not between 0 and 1", value=margin)
    given = given_fields(request.plan)
    devices = hardware.devices
    used = _devices_used(given, devices)
    warnings = list(training.warnings)

    def choose(batch: int) -> Choice:
        return choose_plan(
            scenario,
            given=given,
            devices=used,
            per_node=hardware.devices_per_machine,
            global_batch=batch,
            margin=margin,
        )

    if training.global_batch is not None:
        batch = training.global_batch
        try:
            choice = choose(batch)
        except BadInput:
            adjusted = -(-batch // used) * used
            if given or adjusted == batch:
                raise
            choice = choose(adjusted)
            warnings.append(batch_adjusted(batch, adjusted, used, _dividing_devices(batch, used)))
            batch = adjusted
        return Sizing(request, profile, hardware, training, scenario, choice, batch, False, warnings)
    batch, choice = _best_batch(training, context.batch_limits, scenario, used, given, choose)
    return Sizing(request, profile, hardware, training, scenario, choice, batch, True, warnings)


def _devices_used(given: dict[str, float], devices: int) -> int:
    """Devices a plan occupies: all, unless every degree is given and asks for fewer."""
    degrees = [given.get(name) for name in ("tensor", "pipeline", "data")]
    known = [degree for degree in degrees if degree is not None]
    if len(known) == len(degrees):
        return min(int(np.prod(known)), devices) if np.prod(known) <= devices else devices
    return devices


def _best_batch(
    training: Training,
    limits: Mapping[str, BatchLimit],
    scenario: Scenario,
    devices: int,
    given: Mapping[str, float],
    choose: Callable[[int], Choice],
) -> tuple[int, Choice]:
    """Return the global batch, of those worth trying, with the least time to train.

    Where a target says how many samples a batch costs, the larger batches are compared; else the
    largest batch that fits is taken, as it is the fastest.
    """
    found: list[tuple[float, int, Choice]] = []
    refused: BadInput | None = None
    unit = int(given.get("data", 1.0) * given.get("micro_batch", 1.0) * given.get("accumulation", 1.0))
    all_given = {"data", "micro_batch", "accumulation"} <= set(given)
    candidates = [unit] if all_given else batch_candidates(training, limits, devices)
    for candidate in candidates:
        batch = -(-candidate // unit) * unit
        try:
            choice = choose(batch)
        except BadInput as reason:
            refused = reason
            continue
        seconds = float(scenario.step(choice.plans).total[0]) if choice.fits else float("inf")
        found.append((seconds * samples_at(training, batch) / batch, batch, choice))
        fitting = sum(entry[2].fits for entry in found)
        if fitting and (training.target is None or fitting == COMPARED_BATCHES):
            break
    if not found:
        raise refused or BadInput.at("workload.global_batch", "no batch divides over the devices; give one")
    _, batch, choice = min(found, key=lambda entry: entry[0])
    return batch, choice


COMPARED_BATCHES = 4
"""Batches that fit and are compared where a target costs more samples at a larger one."""


def _dividing_devices(batch: int, devices: int) -> int:
    """Return the largest number of devices, at most as many, that divides a batch."""
    return next(count for count in range(devices, 0, -1) if batch % count == 0)


def _too_large(sizing: Sizing, context: SizingContext) -> Estimate:
    warnings = [
        *sizing.warnings,
        does_not_fit(sizing.scenario, sizing.choice, _remedy(sizing, context)),
        *plan_checks(sizing.scenario, sizing.choice, sizing.hardware, sizing.hardware.devices),
    ]
    names = regimes(sizing.scenario, sizing.choice.plans, sizing.profile.family, context.measured)
    return Estimate(
        **_common(sizing, context, names),
        fits=False,
        memory=_memory(sizing),
        step_time=None, throughput=None, tokens_per_second=None, mfu=None, steps=None, samples=None,
        time_to_train=None, energy=None, cost=None, breakdown=None, roofline=[], roof=None, sensitivity=[],
        warnings=warnings,
        trace=[],
    )  # fmt: skip


def _remedy(sizing: Sizing, context: SizingContext) -> Message:
    """Return what would fit: more of the same system, else DGX A100 640GB, else nothing that was tried."""
    request = sizing.request.model_copy(update={"plan": PlanInput()})
    asked = request.system
    for system_id, start in ((asked.id, asked.count * 2), (ROOMY_SYSTEM, 1)):
        count = start
        while count <= MOST_TRIED:
            hardware = context.hardware.system(system_id, count)
            if hardware.devices > MOST_DEVICES_TRIED:
                break
            try:
                larger = decide(request, sizing.profile, hardware, context)
            except AppError:
                break
            if larger.choice.fits:
                return Message(
                    "{count} × {system} would hold it", {"count": count, "system": hardware.entry.name}
                )
            count *= 2
    return Message(
        "neither more of this system nor {system} would hold it; a smaller micro-batch, shorter samples or a "
        "smaller model would",
        {"system": context.catalog.system(ROOMY_SYSTEM).name},
    )


ROOMY_SYSTEM = "dgx-a100-640gb"
"""System with the most memory per device in the catalogue."""

MOST_TRIED = 256
MOST_DEVICES_TRIED = 4096


def _complete(sizing: Sizing, context: SizingContext) -> Estimate:
    request, scenario, hardware, training = sizing.request, sizing.scenario, sizing.hardware, sizing.training
    plans = sizing.choice.plans
    normals = common_normals(scenario.software)
    names = regimes(scenario, plans, sizing.profile.family, context.measured)
    factors = residual_samples(scenario, names, context.residuals, normals)
    assumed = reliability(context.catalog.reliability_defaults(hardware.entry.chip_kind), request.assumptions)
    rate = request.assumptions.input_samples_per_second
    if rate is not None and rate <= 0:
        raise BadInput.at("assumptions.input_samples_per_second", "{value} is not above 0", value=rate)
    run = run_of(
        scenario,
        plans,
        training,
        machines=hardware.machines,
        assumed=assumed,
        input_rate=rate,
        factors=factors,
        normals=normals,
        run_deviation=context.residuals["run_length"],
    )
    warnings = [*sizing.warnings, *plan_checks(scenario, sizing.choice, hardware, hardware.devices)]
    warnings += run_checks(run, assumed, training)
    common = _common(sizing, context, names)
    warnings += validation_checks(common["validation"].status, names, hardware.entry.chip_kind)  # type: ignore[attr-defined]
    found = prices(hardware, request.assumptions, context.catalog, warnings)
    cost_defaults = context.catalog.cost_defaults(hardware.entry.chip_kind)
    power = system_power(hardware, found, found.pue if found else cost_defaults.pue.si)
    cost = None
    if found is not None:
        cost = cost_of(
            hardware, found, cost_defaults, seconds=run.total, samples=run.total_samples, normals=normals,
            currency=request.currency,
        )  # fmt: skip
    batch = float(plans.global_batch[0])
    flop = 3.0 * float(np.sum(scenario.table.forward_flop))
    peak = scenario.peak * float(plans.devices[0])
    step = run.step_samples
    per_row = training.tokens.mean if training.tokens else None
    return Estimate(
        **common,
        fits=True,
        memory=_memory(sizing),
        step_time=quantity(run.step_seconds, step, "s"),
        throughput=quantity(batch / run.step_seconds, batch / step, "samples/s"),
        tokens_per_second=None
        if per_row is None
        else quantity(batch * per_row / run.step_seconds, batch * per_row / step, "tokens/s"),
        mfu=quantity(flop * batch / run.step_seconds / peak, flop * batch / step / peak, "1"),
        steps=run.steps,
        samples=run.samples,
        time_to_train=quantity(run.total, run.total_samples, "s"),
        energy=energy_of(power, run.total, run.total_samples, normals),
        cost=cost,
        breakdown=_breakdown(run),
        **_roofline(scenario, plans),
        sensitivity=sensitivity_of(scenario, plans, run),
        warnings=warnings,
        trace=trace_of(scenario, plans, run, training, hardware, context),
    )


def _common(sizing: Sizing, context: SizingContext, names: list[str]) -> dict[str, object]:
    training, scenario, hardware = sizing.training, sizing.scenario, sizing.hardware
    plans = sizing.choice.plans
    label = sizing.request.label or f"{sizing.profile.name} · {hardware.count} × {hardware.entry.name}"
    return {
        "id": "",
        "label": label,
        "engine_version": __version__,
        "catalog_version": context.catalog.version,
        "model": summarise(
            sizing.profile, training.seq_len, training.image_size, float(np.sum(scenario.table.forward_flop))
        ),
        "system": _system(hardware),
        "plan": _plan(sizing, plans),
        "software": scenario.software.id,
        "precision_used": scenario.precision.value,
        "defaults": training.defaults,
        "validation": validation_of(
            context.runs,
            names,
            family=sizing.profile.family,
            chip=hardware.entry.chip,
            devices=int(plans.devices[0]),
            parameters=sizing.profile.parameters,
        ),
    }


def _system(hardware: Hardware) -> SystemSummary:
    entry = hardware.entry
    power = system_power(hardware, None, 1.0)
    return SystemSummary(
        id=entry.id,
        name=entry.name,
        count=hardware.count,
        machines=hardware.machines,
        devices=hardware.devices,
        chip=entry.chip,
        fabric=hardware.fabric,
        ports_per_node=hardware.ports_per_node,
        generation={"gc200": "mk2", "bow": "bow"}.get(entry.chip, entry.chip.split("-")[0]),
        power=spread_quantity(power),
        rack_units=entry.rack_units * hardware.count,
    )


def _plan(sizing: Sizing, plans: Plans) -> PlanSummary:
    depth = sizing.scenario.table.depth
    stages = int(plans.pipeline[0])
    layers = ipu_stages(sizing.scenario, plans) if sizing.scenario.is_ipu else stage_layers_of(plans, depth)
    whole = {
        name: int(getattr(plans, name)[0])
        for name in ("tensor", "pipeline", "data", "micro_batch", "accumulation", "interleave", "sharding_ranks",
                     "rts", "rts_optimizer", "phases")
    }  # fmt: skip
    searched = list(sizing.choice.searched) + (["global_batch"] if sizing.batch_searched else [])
    return PlanSummary(
        **whole,
        global_batch=int(plans.global_batch[0]),
        recompute=recompute_name(float(plans.recompute[0])),
        sequence_parallel=bool(plans.sequence_parallel[0] > 0),
        sharding=sharding_name(float(plans.sharding[0])),
        offload=bool(plans.offload[0] > 0),
        stage_layers=layers[:stages],
        searched=searched,
    )


def ipu_stages(scenario: Scenario, plans: Plans) -> list[int]:
    """Return the layers of each stage of an IPU pipeline."""
    stages = ipu_stage_layers(np.asarray(float(scenario.table.depth)), plans.pipeline)
    return [int(layers) for layers in stage_list(stages, scenario.table.depth, int(plans.pipeline[0]))]


def _memory(sizing: Sizing) -> Memory:
    memory = sizing.choice.memory
    capacity = memory_of(sizing.scenario.chip)
    streaming = float(np.ravel(memory.streaming)[0])
    shown = bool(memory.streaming_capacity) or streaming > 0
    return Memory(
        per_device=Quantity.exact(float(memory.total[0]), "B"),
        capacity=Quantity.exact(capacity, "B"),
        parts=[
            MemoryPart(part=name, value=float(np.ravel(value)[0])) for name, value in memory.parts.items()
        ],
        streaming=Quantity.exact(streaming, "B") if shown else None,
        streaming_capacity=Quantity.exact(memory.streaming_capacity, "B") if shown else None,
    )


def _breakdown(run: Run) -> list[Part]:
    parts = {name: float(np.ravel(value)[0]) * run.steps for name, value in run.step.parts.items()}
    parts["input"] = run.input_wait * run.steps
    parts |= {"evaluation": run.evaluation, "checkpoint": run.checkpoint, "failures": run.failures}
    return [Part(part=name, seconds=seconds) for name, seconds in parts.items() if seconds > 0]


def _roofline(scenario: Scenario, plans: Plans) -> dict[str, object]:
    times = scenario.operator_times(plans)

    def flat(values: Floats) -> Floats:
        return np.asarray(values).reshape(len(scenario.table), -1)[:, 0]

    seconds, flop, traffic, bound = (
        flat(part) for part in (times.forward + times.backward, times.flop, times.traffic, times.bound)
    )
    points = [
        RooflinePoint(
            operator=name,
            intensity=float(flop[place] / traffic[place]),
            attained=float(flop[place] / seconds[place]),
            bound=Bound(int(bound[place])).name.lower(),  # type: ignore[arg-type]
            seconds=float(seconds[place]),
        )
        for place, name in enumerate(scenario.table.names)
        if seconds[place] > 0 and traffic[place] > 0 and flop[place] > 0
    ]
    chip = scenario.chip
    if isinstance(chip, IpuChip):
        bandwidth, name = chip.tiles * chip.exchange_bytes_per_cycle * chip.clock, "exchange"
    else:
        bandwidth, name = chip.memory_bandwidth, "memory"
    return {
        "roofline": points,
        "roof": Roofline(peak=scenario.peak, bandwidth=bandwidth, bandwidth_name=name),
    }
