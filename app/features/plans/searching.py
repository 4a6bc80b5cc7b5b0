"""The best plans of a model on a system, why they win, and what other hardware would change."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import numpy as np

from app.engine.plans import Plans, StepTime
from app.engine.records import Indices, IpuChip
from app.engine.search.selection import best_that_differ, pareto_set
from app.errors import AppError, BadInput, Message, refuse
from app.estimating.checks import data_sheet_checks, does_not_fit, model_checks, plan_checks
from app.estimating.context import SizingContext
from app.estimating.deciding import PlanDecision, decide, risk_of, usual_run
from app.estimating.defaults import plan_defaults, system_defaults
from app.estimating.documents import Part
from app.estimating.estimate import reliability_of
from app.estimating.nearest import UNVALIDATED
from app.estimating.plan_search import Risk, SearchRanking, memory_of, search_space
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest, PlanInput
from app.estimating.scenario import (
    Scenario,
    as_stated,
    given_fields,
    layer_errors,
    plan_number,
    recompute_name,
    sharding_name,
    with_offload,
    with_recomputed_layers,
)
from app.estimating.schema import Quantity
from app.estimating.summaries import plan_summaries, plan_summary, system_summary
from app.estimating.timed_plan import TimedPlan, run_together
from app.estimating.version import engine_version
from app.estimating.workload import resolve_model, summarise
from app.features.plans.model import (
    MOST_KEPT,
    Dimension,
    MapCell,
    PlanPoint,
    Search,
    SearchConstraints,
    SearchedPlan,
    SearchRequest,
    WhatIf,
)

MATERIAL = ("tensor", "pipeline", "data", "recompute", "offload", "phases", "expert")
"""Fields in which plans differ materially; the best of each combination stands for it."""

MOST_POINTS = 48
"""Points of the front that are shown."""

DOUBLED = 2.0

AMOUNTS = ("samples", "tokens", "epochs", "target")
"""Fields of a workload that say how much is to be done."""


def allowed_values(constraints: SearchConstraints) -> dict[str, tuple[float, ...]]:
    """Return the allowed numbers of each constrained field; refuse values that are never valid."""
    allowed: dict[str, tuple[float, ...]] = {}
    for name in PlanInput.model_fields:
        value = getattr(constraints, name)
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        allowed[name] = tuple(sorted({plan_number(name, entry) for entry in values}))
    return allowed


def search(request: SearchRequest, context: SizingContext) -> Search:
    """Return the best plans of a request, with ``seconds`` zero; :func:`timed_search` fills them in."""
    try:
        return _search(request, context)
    except AppError as error:
        # What an estimate calls its plan and its margin are constraints here.
        error.errors = tuple(
            replace(entry, field=FIELDS.sub("constraints", entry.field)) for entry in error.errors
        )
        raise


FIELDS = re.compile(r"^plan\b|^assumptions(?=\.memory_margin$)")


def _search(request: SearchRequest, context: SizingContext) -> Search:
    if not 1 <= request.keep <= MOST_KEPT:
        raise BadInput.at(
            "keep", "must be between 1 and {most}, not {value}", value=request.keep, most=MOST_KEPT
        )
    if request.model.total_flop is not None:
        raise BadInput.at(
            "model.total_flop",
            "a model given only as total FLOP has no layers to place on devices; enter a "
            "preset, a config or a layer table",
        )
    estimate = _estimate_request(request)
    profile = resolve_model(request.model, context)
    hardware = context.hardware.asked(request.system)
    allowed = allowed_values(request.constraints)
    chosen = None
    if estimate.workload.global_batch is None:
        # The plans that are shown share the batch that is chosen.
        chosen = decide(
            estimate, profile, hardware, context, allowed=allowed, probability=request.probability
        )
        workload = estimate.workload.model_copy(update={"global_batch": chosen.batch})
        estimate = estimate.model_copy(update={"workload": workload})
    sizing = decide(
        estimate, profile, hardware, context, allowed=allowed, probability=request.probability, lean=False
    )
    if chosen is not None:
        sizing = replace(sizing, batch_searched=chosen.batch_searched, warnings=chosen.warnings)
    searched, scenario = sizing.choice.found, sizing.scenario
    risk = risk_of(scenario, profile.family, context, request.probability)
    warnings = [*sizing.warnings, *model_checks(scenario)]
    space = replace(searched.space, any_batch=sizing.batch_searched)
    choice = replace(sizing.choice, found=replace(searched, space=space))
    warnings += plan_checks(scenario, choice, hardware, hardware.devices)
    names = regimes(scenario, sizing.choice.plans, profile.family, context.measured)
    warnings += data_sheet_checks(hardware, context.catalog.own, names, None)
    if not searched.feasible:
        remedy = Message("more accelerators, other constraints or a smaller batch may make it fit")
        warnings.append(does_not_fit(scenario, sizing.choice, remedy))
    return Search(
        engine_version=engine_version(context.catalog.version),
        catalog_version=context.catalog.version,
        model=summarise(sizing.training, scenario.table),
        system=system_summary(hardware, context.catalog, profile.family),
        software=scenario.software.id,
        precision_used=scenario.precision.value,
        global_batch=sizing.batch,
        defaults=[*system_defaults(estimate, hardware), *sizing.training.defaults, *plan_defaults(sizing)],
        probability=request.probability,
        fits=searched.feasible > 0,
        memory_limit=Quantity.exact(searched.limits.memory, "B"),
        memory_capacity=Quantity.exact(memory_of(scenario.chip), "B"),
        enumerated=searched.enumerated,
        evaluated=searched.count,
        feasible=searched.feasible,
        seconds=0.0,
        dimensions=_dimensions(searched.plans, scenario),
        plans=_best(
            sizing, request.keep, request.beside, context, None if chosen is None else chosen.choice.plans
        ),
        pareto=_front(sizing),
        map=_map(sizing),
        what_if=_what_if(sizing, risk, context) if request.what_if and searched.feasible else [],
        warnings=warnings,
    )


def _estimate_request(request: SearchRequest) -> EstimateRequest:
    """Return the search as an estimate's request without a plan, which the constraints replace."""
    margin = request.constraints.memory_margin
    assumptions = request.assumptions
    if margin is not None:
        assumptions = assumptions.model_copy(update={"memory_margin": margin})
    workload = request.workload
    if workload.global_batch is not None and not any(getattr(workload, name) for name in AMOUNTS):
        # The rank of plans at a given batch does not depend on how much there is to do.
        workload = workload.model_copy(update={"samples": max(float(workload.global_batch), 1.0)})
    changed = {"workload": workload, "assumptions": assumptions}
    return EstimateRequest(**{**request.asked, **changed}, system=request.system)


def _dimensions(plans: Plans, scenario: Scenario) -> list[Dimension]:
    dimensions, stated = [], as_stated(plans)
    for name in Plans.__slots__:
        values = getattr(stated, name)
        if np.all(values == values[:1]):
            continue
        written = [plan_value(name, float(value)) for value in np.unique(values)]
        dimensions.append(Dimension(field=name, values=list(dict.fromkeys(written))))
    return dimensions


def plan_value(name: str, value: float) -> float | str | bool:
    """Return a value of a plan's field as it is written in requests and answers."""
    if name == "recompute":
        return recompute_name(value)
    if name == "sharding":
        return sharding_name(value)
    if name in ("sequence_parallel", "offload"):
        return value > 0
    return value


def _best(
    sizing: PlanDecision, keep: int, beside: PlanInput | None, context: SizingContext, known: Plans | None
) -> list[SearchedPlan]:
    """Return the best materially different plans, with ranges and their differences from the first."""
    searched, scenario = sizing.choice.found, sizing.scenario
    # However many layers are recomputed, it is one kind of plan.
    kinds = replace(searched.plans, recompute=np.ceil(searched.plans.recompute))
    # Of plans that are equally fast the one that an estimate takes.
    others = None if known is None else np.any(searched.plans.rows != known.rows, axis=1).astype(float)
    chosen = best_that_differ(kinds, searched.cost, MATERIAL, keep, others)
    if not chosen.size:
        return []
    if beside is not None:
        chosen = np.union1d(chosen, _fastest_of(searched, beside))
        chosen = chosen[np.argsort(searched.cost[chosen], kind="stable")]
    if np.any(searched.cost[chosen] < searched.cost[searched.best]):
        # On fewer devices another plan would be chosen, which is the faster at central values.
        chosen = np.concatenate([[searched.best], chosen[chosen != searched.best]])[: max(keep, 1)]
    several = searched.plans.take(chosen)
    assumed = reliability_of(sizing.request, sizing.hardware, context)
    timings = []
    for rank in range(chosen.size):
        choice = replace(sizing.choice, plans=several.take(np.array([rank])))
        timings.append(TimedPlan(replace(sizing, choice=choice), assumed, context))
    if searched.feasible:
        run_together(timings)
    first, cost, totals = timings[0], searched.cost[chosen], searched.totals[chosen]
    return [
        SearchedPlan(
            plan=plan,
            step_time=timed.figures["step_time_s"],
            ranked_time=timed.run.step_seconds * float(ranked / total),
            behind=float(ranked / cost[0]) - 1.0,
            throughput=timed.figures["samples_per_s"],
            mfu=timed.mfu,
            memory=Quantity.exact(memory, "B"),
            memory_share=memory / memory_of(scenario.chip),
            parts=_parts(timed.run.step),
            more=_differences(timed.run.step, first.run.step),
            unmeasured=[name for name in timed.regimes if name in UNVALIDATED],
        )
        for timed, plan, ranked, total, memory in zip(
            timings,
            plan_summaries(sizing, several),
            cost,
            totals,
            searched.evaluated.memory[chosen].tolist(),
            strict=True,
        )
    ]


def _fastest_of(searched: SearchRanking, wanted: PlanInput) -> Indices:
    """Return the index of the best plan that matches a wanted one; empty if none fits."""
    like = searched.evaluated.fits.copy()
    space = searched.space
    try:
        stated = {name: (value,) for name, value in given_fields(wanted).items()}
        refuse(layer_errors(stated, space.depth))
        numbers = dict(with_recomputed_layers(with_offload(stated), space.depth))
    except AppError as error:
        error.errors = tuple(
            replace(entry, field=f"beside{entry.field.removeprefix('plan')}") for entry in error.errors
        )
        raise
    plans = as_stated(searched.plans)
    for name, values in numbers.items():
        like &= np.isin(getattr(plans, name), values)
    several = np.flatnonzero(like)
    return several[np.argmin(searched.cost[several], keepdims=True)] if several.size else several


def _parts(step: StepTime) -> list[Part]:
    return [
        Part(part=name, seconds=float(seconds[0])) for name, seconds in step.parts.items() if seconds[0] > 0
    ]


def _differences(step: StepTime, first: StepTime) -> list[Part]:
    """Return how much longer each part of a plan's step is than in the first plan, largest first."""
    more = {name: float(seconds[0] - first.parts[name][0]) for name, seconds in step.parts.items()}
    order = sorted(more.items(), key=lambda entry: abs(entry[1]), reverse=True)
    return [Part(part=name, seconds=seconds) for name, seconds in order if seconds]


def _front(sizing: PlanDecision) -> list[PlanPoint]:
    searched = sizing.choice.found
    front = pareto_set(searched.evaluated.seconds, searched.evaluated.memory)
    if front.size > MOST_POINTS:
        front = front[np.linspace(0, front.size - 1, MOST_POINTS).round().astype(int)]
    plans = plan_summaries(sizing, searched.plans.take(front))
    return [
        PlanPoint(
            plan=plan,
            step_time=float(searched.evaluated.seconds[index]),
            memory=float(searched.evaluated.memory[index]),
        )
        for index, plan in zip(front.tolist(), plans, strict=True)
    ]


def _map(sizing: PlanDecision) -> list[MapCell]:
    """Return the best plan of every tensor and pipeline degree, or the leanest if none fits."""
    searched, capacity = sizing.choice.found, memory_of(sizing.scenario.chip)
    tensor, pipeline = searched.plans.tensor.astype(int), searched.plans.pipeline.astype(int)
    code = tensor * (int(pipeline.max()) + 1) + pipeline
    counts = np.bincount(code)
    feasible = np.bincount(code, searched.evaluated.fits, minlength=counts.size).astype(int)
    degrees, most = ("tensor", "pipeline"), int(np.count_nonzero(counts))
    best = best_that_differ(searched.plans, searched.cost, degrees, most, ties=searched.fullness)
    leanest = best_that_differ(searched.plans, searched.fullness, degrees, most)
    firsts = np.concatenate([best, leanest[feasible[code[leanest]] == 0]])
    firsts = firsts[np.argsort(code[firsts])]
    return [
        MapCell(
            tensor=plan.tensor,
            pipeline=plan.pipeline,
            plans=count,
            feasible=feasible,
            step_time=float(searched.evaluated.seconds[index]) if feasible else None,
            memory_share=float(searched.evaluated.memory[index]) / capacity,
            plan=plan,
        )
        for index, count, feasible, plan in zip(
            firsts.tolist(),
            counts[code[firsts]].tolist(),
            feasible[code[firsts]].tolist(),
            plan_summaries(sizing, searched.plans.take(firsts)),
            strict=True,
        )
    ]


def _what_if(sizing: PlanDecision, risk: Risk, context: SizingContext) -> list[WhatIf]:
    """Return the best plan with doubled memory, memory bandwidth or network bandwidth."""
    searched = sizing.choice.found
    before = float(searched.cost[searched.best])
    answer = []
    for change, scenario in _doubled(sizing.scenario):
        run = usual_run(scenario, sizing.training, sizing.hardware, context)
        after = search_space(scenario, sizing.choice.space, margin=sizing.margin, risk=risk, run=run)
        best = after.best
        answer.append(
            WhatIf(
                change=change,
                factor=DOUBLED,
                plan=plan_summary(replace(sizing, scenario=scenario), after.plans.take(np.array([best]))),
                step_time=float(after.evaluated.seconds[best]),
                gain=max(1.0 - float(after.cost[best]) / before, 0.0),
            )
        )
    return answer


def _doubled(scenario: Scenario) -> list[tuple[str, Scenario]]:
    hardware = scenario.hardware
    if isinstance(hardware, IpuChip):
        more = {
            "memory_capacity": hardware._replace(sram_per_tile=DOUBLED * hardware.sram_per_tile),
            "memory_bandwidth": hardware._replace(
                exchange_bytes_per_cycle=DOUBLED * hardware.exchange_bytes_per_cycle,
                streaming_bandwidth=DOUBLED * hardware.streaming_bandwidth,
            ),
            "network_bandwidth": hardware._replace(
                link_bandwidth=DOUBLED * hardware.link_bandwidth,
                allreduce_bandwidth=DOUBLED * hardware.allreduce_bandwidth,
                gateway_bandwidth=DOUBLED * hardware.gateway_bandwidth,
            ),
        }
        return [(change, replace(scenario, hardware=chip)) for change, chip in more.items()]
    chip, fabric = hardware.chip, hardware.fabric
    systems = {
        "memory_capacity": replace(
            hardware, chip=replace(chip, memory_capacity=DOUBLED * chip.memory_capacity)
        ),
        "memory_bandwidth": replace(
            hardware, chip=replace(chip, memory_bandwidth=DOUBLED * chip.memory_bandwidth)
        ),
        "network_bandwidth": replace(
            hardware, fabric=replace(fabric, port_bandwidth=DOUBLED * fabric.port_bandwidth)
        ),
    }
    return [(change, replace(scenario, hardware=system)) for change, system in systems.items()]


def timed_search(request: SearchRequest, context: SizingContext) -> Search:
    """Return the best plans with the duration of the search."""
    started = time.perf_counter()
    answer = search(request, context)
    return answer.model_copy(update={"seconds": time.perf_counter() - started})
