"""The sizing: from a request to the options worth considering and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from app import __version__
from app.errors import BadInput, Message
from app.estimating.context import SizingContext
from app.estimating.documents import Default
from app.estimating.plan_search import memory_of
from app.estimating.ranges import quantity, scaled
from app.estimating.request import PlanInput
from app.estimating.scenario import recompute_name, sharding_name
from app.estimating.workload import resolve_model, summarise
from app.features.sizings.candidates import Candidate, Candidates
from app.features.sizings.margin import SampledOption, Samples, limits_of, restated
from app.features.sizings.model import (
    LeftOut,
    OptionCosts,
    ScalingCurve,
    Sizing,
    SizingOption,
    SizingRequest,
    check,
)
from app.features.sizings.searching import CandidateResult, Explorer, Searcher, curve_of

GPU_FIELDS = ("interleave", "sharding_ranks")

IPU_FIELDS = ("rts", "rts_optimizer", "phases")


def option_document(option: CandidateResult, request: SizingRequest) -> SizingOption:
    """Return an option as a document; what depends on limits is left as if none were given."""
    candidate, sizing, run = option.candidate, option.found.sizing, option.found.run
    hardware, scenario, choice = candidate.hardware, sizing.scenario, sizing.choice
    currency = request.currency
    plan = plan_input(option)
    document: dict[str, JsonValue] = dict(candidate.group.asked)
    if sizing.batch_searched:
        document["workload"] = {**candidate.group.workload, "global_batch": sizing.batch}
    document["plan"] = plan.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    document["system"] = {"id": hardware.entry.id, "count": hardware.count}
    hourly = capex = purchase = cost = term = None
    if candidate.charges is not None:
        charges = candidate.charges
        hourly = quantity(*candidate.hourly, currency)
        term = scaled(hourly, charges.term_hours)
        if charges.owned:
            capex = quantity(*charges.capital, currency)
            purchase = scaled(capex, charges.installed)
        if run is not None:
            cost = quantity(option.cost, option.cost_samples, currency)
    used = -(-int(choice.plans.devices[0]) // hardware.devices_per_machine)
    codes = [*option.found.codes, *(warning.code for warning in candidate.warnings)]
    return SizingOption(
        id=candidate.identifier,
        system=hardware.entry.id,
        name=hardware.entry.name,
        count=hardware.count,
        machines=hardware.machines,
        idle_machines=hardware.machines - used,
        accelerators=hardware.devices,
        chip=hardware.entry.chip,
        fits=option.fits,
        plan=plan,
        global_batch=int(choice.plans.global_batch[0]),
        batch_searched=sizing.batch_searched,
        software=scenario.software.id,
        precision=scenario.precision.value,
        memory_share=float(np.ravel(choice.memory.total)[0]) / memory_of(scenario.chip),
        step_time=None if run is None else quantity(run.step_seconds, run.step_samples, "s"),
        time_to_train=None if run is None else quantity(run.total, run.total_samples, "s"),
        cost=cost,
        hourly=hourly,
        capex=capex,
        costs=OptionCosts(purchase=purchase, run=cost, term=term),
        acquisition="own" if candidate.owned else "rent",
        term_years=None if candidate.charges is None else candidate.charges.found.lifetime,
        price=candidate.price,
        power=candidate.power,
        rack_units=hardware.entry.rack_units * hardware.count,
        probability=None,
        probability_deadline=None,
        probability_budget=None,
        meets=option.fits,
        on_front=False,
        status=option.found.status,
        warnings=codes,
        estimate=document,
    )


def plan_input(option: CandidateResult) -> PlanInput:
    """Return the plan of an option as a request states it."""
    plans = option.found.sizing.choice.plans
    others = IPU_FIELDS if option.found.sizing.scenario.is_ipu else GPU_FIELDS
    whole = ("tensor", "pipeline", "data", "micro_batch", "accumulation", *others)
    values: dict[str, object] = {name: int(np.ravel(getattr(plans, name))[0]) for name in whole}
    values["recompute"] = recompute_name(float(np.ravel(plans.recompute)[0]))
    values["offload"] = bool(np.ravel(plans.offload)[0] > 0)
    if not option.found.sizing.scenario.is_ipu:
        values["sequence_parallel"] = bool(np.ravel(plans.sequence_parallel)[0] > 0)
        values["sharding"] = sharding_name(float(np.ravel(plans.sharding)[0]))
    return PlanInput.model_validate(values)


@dataclass(frozen=True, slots=True)
class Sized:
    """A sizing, and the samples by option with which other limits can be judged."""

    document: Sizing
    samples: Mapping[str, Samples]
    """By option, in the order all estimates share."""


MOST_ROWS = 500
"""Rows of a layer table that each option of a sizing repeats, so that it can be estimated alone."""


def size(
    request: SizingRequest,
    context: SizingContext,
) -> Sized:
    """Return the sizing of a request; its ``id`` is left to whoever keeps it."""
    rows = len(request.model.layers or ())
    if rows > MOST_ROWS:
        raise BadInput.at(
            "model.layers",
            "{rows} rows would be repeated in every option; at most {most} are allowed: upload "
            "the table as a profile and enter its profile_id",
            rows=rows,
            most=MOST_ROWS,
        )
    context = context.at_prices(request.assumptions)
    explorer, systems, searcher = _explorer(request, context)
    explored = explorer.explore(systems, refine=request.counts is None)
    if not explored.options:
        raise searcher.refusal or BadInput.at(
            "workload.global_batch", "no batch size divides evenly over the devices"
        )
    by_id = {option.candidate.identifier: option for option in explored.options}
    sampled = [
        SampledOption(
            option_document(option, request),
            option.seconds_samples,
            option.cost_samples,
            option.money("purchase")[1],
        )
        for option in explored.options
    ]
    sizing = explored.options[0].found.sizing
    training = sizing.training
    searches = searcher.searches
    document = Sizing(
        id="",
        label=request.label or sizing.profile.name,
        engine_version=__version__,
        catalog_version=context.catalog.version,
        request=request,
        model=summarise(training, sizing.scenario.table),
        currency=request.currency,
        outcome="front",
        recommended=None,
        cheapest=None,
        fastest=None,
        nearest=None,
        options=[],
        pareto=[],
        scaling=None,
        considered=len(explored.options) + len(explored.impossible),
        searched=searches,
        left_out=[_left_out(candidate) for candidate in explored.impossible],
        defaults=_defaults(request, batch_searched=sizing.batch_searched),
        warnings=[],
    )
    document = restated(document, sampled, request)
    leader = document.recommended or document.cheapest
    if leader is not None:
        name = by_id[leader].candidate.hardware.entry.id
        scaling = _curve(explorer, name, request)
        document = document.model_copy(
            update={"scaling": scaling, "warnings": [] if scaling is None else scaling.warnings}
        )
    samples = {
        entry.document.id: (entry.seconds_samples, entry.run_samples, entry.purchase_samples)
        for entry in sampled
        if entry.document.fits
    }
    return Sized(document, samples)


def scaling(request: SizingRequest, system: str, context: SizingContext) -> ScalingCurve:
    """Return the scaling curve of one system over the counts of a request."""
    context = context.at_prices(request.assumptions)
    explorer, systems, searcher = _explorer(request.model_copy(update={"systems": [system]}), context)
    explored = explorer.explore(systems, refine=False)
    if not explored.options:
        raise searcher.refusal or BadInput.at(
            "workload.global_batch", "no batch size divides evenly over the devices"
        )
    found = _curve(explorer, system, request)
    if found is None:
        raise BadInput.at(
            "systems.0", "the model does not fit on {system} at any of its counts", system=system
        )
    return found


def _explorer(
    request: SizingRequest, context: SizingContext
) -> tuple[Explorer, dict[str, list[int]], Searcher]:
    check(request)
    rate = request.assumptions.input_samples_per_second
    if rate is not None and rate <= 0:
        raise BadInput.at("assumptions.input_samples_per_second", "must be above 0, not {value}", value=rate)
    profile = resolve_model(request.model, context)
    candidates = Candidates(request, profile, context)
    searcher = Searcher(request, profile, context)
    explorer = Explorer(candidates, searcher, limits_of(request))
    return explorer, candidates.systems(), searcher


def _curve(explorer: Explorer, system: str, request: SizingRequest) -> ScalingCurve | None:
    known = explorer.explored.of(system)
    impossible = [entry for entry in explorer.explored.impossible if entry.hardware.entry.id == system]
    return curve_of([known[count] for count in sorted(known)], impossible, request.currency)


def _left_out(candidate: Candidate) -> LeftOut:
    return LeftOut(system=candidate.hardware.entry.id, count=candidate.hardware.count, reason="no_plan")


def _defaults(request: SizingRequest, *, batch_searched: bool) -> list[Default]:
    """Return what was not asked for and taken."""
    given = request.model_fields_set
    entries = (
        ("systems", "all", Message("every system in the catalogue")),
        ("counts", "lattice", Message("powers of two and multiples of 20 nodes; powers of two for pods")),
        ("most_accelerators", request.most_accelerators, Message("largest system size considered")),
        ("probability", request.probability, Message("80 % by default")),
        ("currency", request.currency, Message("US dollars by default")),
    )
    found = [Default.of(name, value, why) for name, value, why in entries if name not in given]
    if batch_searched:
        why = Message("shortest training time within the range where convergence holds")
        found.append(Default.of("workload.global_batch", None, why))
    return found
