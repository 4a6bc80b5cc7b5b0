"""The answer to a request: each part is computed once, when it is first asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from app.engine.units import YEAR
from app.errors import AppError, BadInput, Message
from app.estimating.capital import check_assumptions, spot_interruptions
from app.estimating.checks import (
    does_not_fit,
    time_checks,
)
from app.estimating.context import CALIBRATION_PREFIX, SizingContext
from app.estimating.costing import RunExpense, run_expense
from app.estimating.deciding import PlanDecision, decide
from app.estimating.defaults import failure_defaults, plan_defaults, system_defaults
from app.estimating.documents import (
    CheckWarning,
    Default,
    Estimate,
    Text,
    Validation,
)
from app.estimating.hardware import Hardware, Reliability, reliability
from app.estimating.plan_search import memory_of
from app.estimating.ranges import (
    common_normals,
    quantity,
    significant,
    stated_samples,
)
from app.estimating.request import EstimateRequest, PlanInput
from app.estimating.summaries import (
    all_in_hours,
    plan_summary,
    startup_of,
    system_summary,
)
from app.estimating.timed_plan import TimedPlan
from app.estimating.total_flop import total_flop_estimate
from app.estimating.trace import measured_effects
from app.estimating.version import engine_version
from app.estimating.workload import GENERATING, resolve_model, summarise, trained
from app.profiles.model import ModelProfile


def estimate(request: EstimateRequest, context: SizingContext) -> Estimate:
    """Return the estimate of a request, without an ``id``: the store sets it."""
    return Answer(request, context).document


Timed: TypeAlias = tuple[float, list[float] | None]
"""Time to train and its samples; no samples where nothing is uncertain. [s]"""


def time_to_train(request: EstimateRequest, context: SizingContext) -> Timed | None:
    """Return the time of an estimate and its samples; None where the model does not fit."""
    answer = Answer(request, context)
    if answer.profile.total_flop is not None:
        bare = answer.document
        return None if bare.time_to_train is None else (bare.time_to_train.value, bare.time_samples)
    if not answer.plan.choice.fits:
        return None
    return answer.timed.run.time.total, stated_samples(answer.timed.run.total_samples)


def seconds_to_train(
    request: EstimateRequest, context: SizingContext, share: float | None = None
) -> float | None:
    """Return the central time to train, or the time that a share of samples keep, start-up included.

    None where the model does not fit or the request is refused.
    """
    try:
        answer = Answer(request, context, remembered=False)
        fits, timed = answer.plan.choice.fits, answer.timed
    except AppError:
        return None
    if not fits or share is None:
        return timed.run.time.total if fits else None
    startup = context.catalog.reliability_defaults(answer.hardware.entry.machine.chip.kind).startup.si
    return float(np.quantile(timed.run.total_samples, share, method="higher")) + startup


def charged_hardware(request: EstimateRequest, estimate: Estimate | None, context: SizingContext) -> Hardware:
    """Return the system of an estimate with the machines that its plan leaves idle."""
    plan = None if estimate is None else estimate.plan
    hardware = context.hardware.asked(request.system)
    return hardware if plan is None else replace(hardware, idle_machines=plan.idle_machines)


def reliability_of(request: EstimateRequest, hardware: Hardware, context: SizingContext) -> Reliability:
    interruptions = spot_interruptions(hardware, request.assumptions, context.catalog)
    defaults = context.catalog.reliability_defaults(hardware.entry.machine.chip.kind)
    return reliability(defaults, request.assumptions, interruptions)


def physical_question(request: EstimateRequest) -> str | None:
    """Return a cache key of model, workload, system and plan, without money and use.

    None where a sample or a calibration is named, which may have been deleted since.
    """
    if request.workload.workload_id is not None or (request.software or "").startswith(CALIBRATION_PREFIX):
        return None
    # Omitted fields differ from fields stated at their default: an answer names its defaults.
    return request.model_dump_json(exclude_unset=True, include=PHYSICAL)


PHYSICAL: dict[str, Any] = {
    **dict.fromkeys(("model", "workload", "system", "plan", "software"), True),
    "assumptions": {"memory_margin"},
}

AMOUNTS: dict[str, Any] = {"workload": {"samples", "tokens", "epochs", "dataset_samples"}}
"""What a step of a plan does not depend on."""


def step_question(request: EstimateRequest) -> str:
    """Return a cache key of what a step of a plan depends on beside the plan that was found."""
    asked = {"model", "workload", "system", "plan", "software"}
    return request.model_dump_json(exclude_unset=True, include=asked, exclude=AMOUNTS)


UNTIMED = dict.fromkeys(
    (
        *("step_time", "throughput", "tokens_per_second", "mfu", "steps", "samples", "time_to_train"),
        *("energy", "cost", "breakdown", "roof"),
    )
)
"""Fields that are unknown for a plan that does not fit."""


def _untimed(plan: PlanDecision) -> BadInput:
    """Return the refusal of training whose time is mostly generation, with the memory that it needs."""
    return BadInput.at(
        "workload.kind",
        "the time of {kind} is mostly that of writing answers, which is not computed; its models need "
        "{needed} of {capacity} GB on each device, and a search for plans says which fit",
        kind=plan.training.kind,
        needed=significant(float(plan.choice.memory.total[0]) / 1e9),
        capacity=significant(memory_of(plan.scenario.chip) / 1e9),
    )


class Answer:
    """The answer to one request; parts without money are shared by requests that differ in money alone."""

    def __init__(self, request: EstimateRequest, context: SizingContext, *, remembered: bool = True) -> None:
        self.request = request
        self._asked = context
        self._question = physical_question(request) if remembered else None

    @cached_property
    def profile(self) -> ModelProfile:
        return resolve_model(self.request.model, self._asked)

    @cached_property
    def context(self) -> SizingContext:
        """Figures with the prices of the request."""
        return self._asked.at_prices(self.request.assumptions)

    @cached_property
    def hardware(self) -> Hardware:
        return self.context.hardware.asked(self.request.system)

    @cached_property
    def plan(self) -> PlanDecision:
        """Batch and plan."""

        def make() -> PlanDecision:
            return decide(self.request, self.profile, self.hardware, self.context)

        question = self._question
        plan: PlanDecision = make() if question is None else self.context.remember(("plan", question), make)
        # A plan from memory was asked for with other prices and another use.
        plan = replace(plan, request=self.request)
        if plan.training.kind in GENERATING:
            raise _untimed(plan)
        return plan

    @cached_property
    def assumed(self) -> Reliability:
        return reliability_of(self.request, self.hardware, self.context)

    @cached_property
    def timed(self) -> TimedPlan:
        def make() -> TimedPlan:
            step = None if self._question is None else step_question(self.request)
            return TimedPlan(self.plan, self.assumed, self.context, step)

        if self._question is None:
            return make()
        rate = self.request.assumptions.input_samples_per_second
        timed: TimedPlan = self.context.remember(("time", self._question, self.assumed, rate), make)
        return timed

    @cached_property
    def _priced(self) -> tuple[RunExpense, list[CheckWarning]]:
        # Plans are kept across price books, the prices of a system are not.
        hardware = replace(self.hardware, idle_machines=self.plan.idle_machines)
        return run_expense(
            self.request, hardware, self.timed.run, self.context, self.profile.family, self.assumed
        )

    @property
    def expense(self) -> RunExpense:
        return self._priced[0]

    @cached_property
    def warnings(self) -> list[CheckWarning]:
        """Warnings of everything; one function for every way to an answer."""
        if not self.timed.fits:
            remedy = _remedy(self.request, self.profile, self.hardware, self.context)
            fit = does_not_fit(self.plan.scenario, self.plan.choice, remedy)
            return [fit, *self.timed.warnings()]
        total, written_off = self.timed.run.time.total, self.expense.written_off
        long = time_checks(total, self.hardware, written_off, self._finishing)
        return [*self.timed.warnings(), *self._priced[1], *long]

    @cached_property
    def validation(self) -> Validation:
        return self.timed.validation

    @cached_property
    def document(self) -> Estimate:
        if self.profile.total_flop is not None:
            return total_flop_estimate(self.request, self.profile.total_flop, self.hardware, self.context)
        return self._complete() if self.plan.choice.fits else self._too_large()

    def _too_large(self) -> Estimate:
        training = self.plan.training
        return Estimate(
            **self._common(),
            **UNTIMED,
            **self.timed.memory,
            fits=False,
            trained=None if training.samples is None else Text.of(trained(training, training.samples)),
            roofline=[],
            sensitivity=[],
            warnings=self.warnings,
            trace=[],
        )

    def _complete(self) -> Estimate:
        check_assumptions(self.request.assumptions)
        timed, hardware, context, expense = self.timed, self.hardware, self.context, self.expense
        run, plan, scenario = timed.run, timed.plan, timed.plan.scenario
        plans, training, figures = plan.choice.plans, plan.training, timed.figures
        failures = context.catalog.reliability_defaults(hardware.entry.machine.chip.kind)
        of_failures = failure_defaults(self.request.assumptions, failures, run, hardware.machines)
        return Estimate(
            **self._common([*of_failures, *expense.defaults]),
            **timed.parts,
            fits=True,
            step_time=figures["step_time_s"],
            throughput=figures["samples_per_s"],
            tokens_per_second=figures.get("tokens_per_s"),
            mfu=timed.mfu,
            steps=run.steps,
            samples=run.time.samples,
            trained=Text.of(trained(training, run.time.samples)),
            time_to_train=timed.time,
            expectation=timed.expectation,
            time_samples=stated_samples(run.total_samples),
            energy=expense.energy,
            cost=expense.cost,
            startup=startup_of(failures.startup),
            goodput=quantity(run.goodput, run.training_samples / run.total_samples, "1"),
            all_in_device_hours=all_in_hours(run, plans, failures.operational_share, common_normals()),
            effects=timed.of_step("effects", lambda: measured_effects(scenario, context.catalog)),
            warnings=self.warnings,
            trace=[*timed.trace(hardware, context.catalog), *expense.trace],
        )

    def _common(self, more: Sequence[Default] = ()) -> dict[str, object]:
        request, hardware, catalog, profile = self.request, self.hardware, self.context.catalog, self.profile
        plan, scenario, training = self.plan, self.plan.scenario, self.plan.training
        of_step = self.timed.of_step
        return {
            "id": "",
            "name": request.label or f"{profile.name} · {hardware.count} × {hardware.entry.name}",
            "engine_version": engine_version(catalog.version),
            "catalog_version": catalog.version,
            "model": of_step("model", lambda: summarise(training, scenario.table)),
            "system": of_step(
                ("system", catalog), lambda: system_summary(hardware, catalog, profile.family)
            ),
            "plan": of_step("plan", lambda: plan_summary(plan, plan.choice.plans)),
            "software": scenario.software.id,
            "precision_used": scenario.precision.value,
            "defaults": [
                *system_defaults(request, hardware), *training.defaults, *plan_defaults(plan), *more,
            ],
            "validation": self.validation,
        }  # fmt: skip

    def _finishing(self) -> int | None:
        """Return a count of the same system that finishes within a year; None where no tried count does."""
        request, hardware = self.request, self.hardware

        def finishes(count: int) -> bool:
            system = request.system.model_copy(update={"count": count})
            larger = request.model_copy(update={"system": system, "plan": PlanInput()})
            seconds = seconds_to_train(larger, self._asked)
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


def _remedy(
    request: EstimateRequest, profile: ModelProfile, hardware: Hardware, context: SizingContext
) -> Message:
    """Return what would fit: another plan, more of the same system, DGX A100 640GB, or nothing tried."""
    free = request.model_copy(update={"plan": PlanInput()})
    system = request.system
    if request.plan != free.plan and _would_fit(free, profile, hardware, context):
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
            if _would_fit(free, profile, hardware, context):
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
    request: EstimateRequest, profile: ModelProfile, hardware: Hardware, context: SizingContext
) -> bool:
    try:
        return decide(request, profile, hardware, context).choice.fits
    except AppError:
        return False


ROOMY_SYSTEM = "dgx-a100-640gb"
"""System that is suggested where no count of the requested one fits."""
MOST_TRIED = 256
MOST_DEVICES_TRIED = 4096
