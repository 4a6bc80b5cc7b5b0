"""Options as documents."""

from __future__ import annotations

import numpy as np
from pydantic import JsonValue

from app.sizing.asked_plan import recompute_name, sharding_name
from app.sizing.planning import memory_of
from app.sizing.quantities import quantity, scaled
from app.sizing.request import PlanInput
from app.sizing.size.documents import OptionCosts, SizingOption
from app.sizing.size.request import SizingRequest
from app.sizing.size.searching import CandidateResult

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
