"""The answer to a request: each part is computed once, when it is first asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from app.engine.records import Floats
from app.engine.units import YEAR
from app.errors import AppError, BadInput, Message
from app.estimating.basis import three_steps
from app.estimating.calibrated import configurations
from app.estimating.capital import check_assumptions, spot_interruptions
from app.estimating.checks import (
    bolder_plan,
    data_sheet_checks,
    does_not_fit,
    model_checks,
    plan_checks,
    rental_checks,
    run_checks,
    time_checks,
    validation_checks,
)
from app.estimating.context import CALIBRATION_PREFIX, SizingContext, critical_batch_checks
from app.estimating.costing import RunExpense, cost_trace, run_expense
from app.estimating.deciding import PlanDecision, decide
from app.estimating.defaults import assumption_defaults, plan_defaults, system_defaults
from app.estimating.documents import (
    CheckWarning,
    Default,
    Estimate,
    Expectation,
    Sensitivity,
    Text,
    ThreeSteps,
    Validation,
)
from app.estimating.expectation import expectation_of, spanning
from app.estimating.hardware import Hardware, Reliability, reliability
from app.estimating.nearest import FamilyError, Status, claimed, status_of
from app.estimating.plan_search import memory_of
from app.estimating.ranges import (
    NOT_UNDERSTOOD,
    common_normals,
    quantity,
    residual_factors,
    significant,
    stated_samples,
)
from app.estimating.regimes import regimes
from app.estimating.request import EstimateRequest, PlanInput
from app.estimating.runtime import Run, Steps, runs_of, sensitivity_of, steps_of
from app.estimating.scenario import Scenario
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
from app.estimating.validity import (
    SameRuns,
    family_error_of,
    measurable,
    outside_checks,
    reach_of,
    same_runs,
    validation_summary,
)
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


T = TypeVar("T")

BATCH_ADJUSTED = "batch_not_divisible"
IMPLAUSIBLE = "calibration_implausible"


class TimedPlan:
    """A decided plan with its run, and what follows from both without money.

    What depends on a step of the plan alone is shared by runs of any length.
    """

    def __init__(
        self, plan: PlanDecision, assumed: Reliability, context: SizingContext, step: str | None = None
    ) -> None:
        self.plan = plan
        self.assumed = assumed
        self.context = context
        self._step: dict[str, Any] = {}
        if step is not None:
            key = ("step", step, plan.choice.plans.rows.tobytes(), plan.scenario.team)
            self._step = context.remember(key, dict)

    def _of_step(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._step:
            self._step[name] = make()
        found: T = self._step[name]
        return found

    @cached_property
    def regimes(self) -> list[str]:
        plan = self.plan
        return self._of_step(
            "regimes",
            lambda: regimes(plan.scenario, plan.choice.plans, plan.profile.family, self.context.measured),
        )

    @cached_property
    def factors(self) -> Floats:
        """Residual samples of the plan's times, wide enough to hold own runs of the same configuration."""
        plan = self.plan
        factors = self._of_step(
            "factors",
            lambda: residual_factors(
                self.regimes,
                self.context.residuals,
                common_normals(),
                plan.scenario,
                plan.choice.plans,
                understood=not plan.profile.doubts,
            ),
        )
        calibration = plan.scenario.software.calibration
        known = {} if calibration is None else calibration.measured
        own = [step for key in configurations(self.plan) for step in known.get(key, ())] if known else []

        def steps(wider: Floats) -> Floats:
            return _run(plan, self.assumed, wider, self._steps(wider)).step_samples

        return _holding(factors, own, steps)

    @cached_property
    def steps(self) -> Steps:
        return self._of_step("steps", lambda: self._steps(self.factors))

    def _steps(self, factors: Floats) -> Steps:
        return steps_of(self.plan.scenario, self.plan.choice.plans, factors, common_normals())

    @cached_property
    def run(self) -> Run:
        return _run(self.plan, self.assumed, self.factors, self.steps)

    @property
    def fits(self) -> bool:
        return self.plan.choice.fits

    @cached_property
    def figures(self) -> dict[str, Quantity]:
        """Ranges by metric of measured runs; none where the model does not fit."""
        if not self.fits:
            return {}
        figures = measurable(self.plan, self.run)
        if self.tuned is self:
            return figures
        return {name: spanning(figure, self.tuned.figures[name]) for name, figure in figures.items()}

    @cached_property
    def tuned(self) -> TimedPlan:
        """The same plan as published records reach it."""
        return self._of(self.plan.scenario.tuned, "tuned")

    @cached_property
    def reported(self) -> TimedPlan | None:
        """The same plan as ordinary teams report it; None where nothing but records is known."""
        team = self.plan.scenario.team
        if team is None or team.headline:
            return None if team is None else self
        return self._of(replace(self.plan.scenario, team=replace(team, headline=True)), "reported")

    def _of(self, scenario: Scenario, name: str) -> TimedPlan:
        if scenario is self.plan.scenario:
            return self
        other = TimedPlan(replace(self.plan, scenario=scenario), self.assumed, self.context)
        other._step = self._of_step(name, dict)
        return other

    def over_both(self, figure: Callable[[Run], Quantity]) -> Quantity:
        """Return a figure of the run, with a range over tuned and reported runs."""
        own = figure(self.run)
        return own if self.tuned is self else spanning(own, figure(self.tuned.run))

    @property
    def time(self) -> Quantity:
        """Time to train."""
        return self.over_both(time_of)

    @property
    def mfu(self) -> Quantity:
        """Share of the peak that the work of the model itself takes."""
        scenario, plans = self.plan.scenario, self.plan.choice.plans
        work = scenario.table.training_flop * float(plans.global_batch[0])
        least = work / (scenario.peak * float(plans.devices[0]))
        return self.over_both(lambda run: quantity(least / run.step_seconds, least / run.step_samples, "1"))

    @property
    def expectation(self) -> Expectation:
        reported = None if self.reported is None else time_of(self.reported.run)
        return expectation_of(self.plan.scenario.team, time_of(self.tuned.run), reported)

    @cached_property
    def family_error(self) -> FamilyError | None:
        return self._of_step("family_error", lambda: family_error_of(self.plan, self.context))

    @cached_property
    def reach(self) -> float:
        """Distance of the nearest measured run of the same kind."""
        return self._of_step("reach", lambda: reach_of(self.plan, self.context))

    @cached_property
    def same(self) -> SameRuns:
        """Measured runs of the same case."""
        return same_runs(self.plan, self.context, self.figures)

    @property
    def presumed(self) -> bool:
        """Whether the software of a GPU is not named, so that another may run."""
        return self.plan.scenario.software.presumed and not self.plan.scenario.is_ipu

    @cached_property
    def borne_out(self) -> Status:
        """Whether measured runs are close and agree, if the software is the usual one."""
        calibration = self.plan.scenario.software.calibration
        if calibration is not None and calibration.doubt is not None:
            return "extrapolated"
        return status_of(self.regimes, self.reach, self.family_error, self.same.contradicted)

    @property
    def status(self) -> Status:
        return claimed(self.borne_out, self.presumed)

    @cached_property
    def memory(self) -> dict[str, object]:
        return {"memory": self._of_step("memory", lambda: memory_summary(self.plan))}

    @cached_property
    def parts(self) -> dict[str, object]:
        """Fields of the answer that follow from plan and run alone."""
        plan, run = self.plan, self.run
        scenario, plans = plan.scenario, plan.choice.plans
        run_deviation = plan.training.target.scatter if plan.training.target else 0.0
        deviations = {"run_length": run_deviation, "failure_rate": self.assumed.rate_deviation}
        uncertain = [name for name, deviation in deviations.items() if deviation > 0]
        return {
            **self.memory,
            "breakdown": breakdown_of(run),
            "schedule": schedule_of(scenario, plans, run),
            **self._of_step("roofline", lambda: roofline_of(scenario, plans)),
            "sensitivity": _reaching(
                sensitivity_of(scenario, run, self.factors, common_normals(), uncertain),
                time_of(run),
                self.time,
            ),
        }

    @cached_property
    def three_steps(self) -> ThreeSteps | None:
        """How three measured steps would narrow the time; None if by little or if already calibrated."""
        if self.plan.scenario.software.calibration is not None:
            return None

        def calibrated() -> tuple[PlanDecision, Floats, Steps]:
            plan, factors = after_three_steps(self.plan, self.context, self.regimes)
            return plan, factors, steps_of(plan.scenario, plan.choice.plans, factors, common_normals())

        rate = self.plan.request.assumptions.input_samples_per_second
        plan, factors, steps = self._of_step(f"calibrated at {rate}", calibrated)
        run = _run(
            replace(plan, request=self.plan.request, training=self.plan.training),
            self.assumed,
            factors,
            steps,
        )
        return three_steps(self.time, time_of(run))

    def warnings(self, *, stated: bool = False) -> list[CheckWarning]:
        """Return the warnings of plan, run and distance from measured runs, without those of money.

        ``stated`` is for a request that states batch and plan, which then are neither adjusted nor compared.
        """
        plan, hardware, scenario, context = self.plan, self.plan.hardware, self.plan.scenario, self.context
        choice, adjusted = plan.choice, plan.warnings
        if stated:
            space = replace(choice.space, any_batch=False)
            choice = replace(choice, found=replace(choice.found, space=space))
            adjusted = [warning for warning in adjusted if warning.code != BATCH_ADJUSTED]
        warnings = [*adjusted, *plan_checks(scenario, choice, hardware, hardware.devices)]
        own, time = context.catalog.own, self.figures.get("step_time_s")
        if not self.fits:
            return [*warnings, *data_sheet_checks(hardware, own, self.regimes, time)]
        warnings += run_checks(self.run, self.assumed, plan.training)
        warnings += rental_checks(hardware)
        if not stated:
            warnings += bolder_plan(choice)
        warnings += self._batch_checks()
        warnings += validation_checks(
            self.borne_out,
            None if self.family_error is None else self.family_error.median,
            hardware.entry.machine.chip.kind,
            self.same.contradicted,
            software_presumed=self.presumed,
        )
        warnings += outside_checks(self.same)
        calibration = scenario.software.calibration
        if calibration is not None and calibration.doubt is not None:
            warnings.append(CheckWarning.of(IMPLAUSIBLE, "serious", calibration.doubt, "software"))
        warnings += model_checks(scenario)
        doubts = plan.profile.doubts
        warnings += [CheckWarning.of(NOT_UNDERSTOOD, "serious", doubt, "model") for doubt in doubts]
        warnings += data_sheet_checks(hardware, own, self.regimes, time)
        return warnings

    def _batch_checks(self) -> list[CheckWarning]:
        profile, training = self.plan.profile, self.plan.training
        if training.kind != "pretrain" or training.target is not None or training.tokens is None:
            return []
        per_sample = training.tokens.mean
        return critical_batch_checks(
            profile.family,
            float(profile.parameters),
            self.run.time.samples * per_sample,
            float(self.plan.choice.plans.global_batch[0]) * per_sample,
            self.context.catalog,
        )


WIDER = tuple(1.25**power for power in range(16))
"""Factors on the log-deviation of residuals that are tried until a range holds own runs."""


def _holding(factors: Floats, own: Sequence[float], steps: Callable[[Floats], Floats]) -> Floats:
    """Return residuals stretched until the steps they give hold the own runs between their ends."""
    for wider in WIDER if own else ():
        stretched = factors**wider
        low, high = np.quantile(steps(stretched), (0.1, 0.9))
        if low <= min(own) and max(own) <= high:
            return stretched
    return factors ** WIDER[-1] if own else factors


def _reaching(parts: Sequence[Sensitivity], own: Quantity, shown: Quantity) -> list[Sensitivity]:
    """Return parts of a run's own range as parts of the range that is shown, which may be wider."""

    def stretched(end: float, edge: float, to: float) -> float:
        reach = own.value - edge
        return own.value - (own.value - end) * ((own.value - to) / reach if reach else 1.0)

    return [
        part.model_copy(
            update={
                "low": stretched(part.low, own.low, shown.low),
                "high": stretched(part.high, own.high, shown.high),
            }
        )
        for part in parts
    ]


def time_of(run: Run) -> Quantity:
    return quantity(run.time.total, run.total_samples, "s")


def _run(decision: PlanDecision, assumed: Reliability, factors: Floats, steps: Steps) -> Run:
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
        steps=steps,
    )
    return run


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
        run, warnings = self.timed.run, list[CheckWarning]()
        # Plans are kept across price books, the prices of a system are not.
        hardware = replace(self.hardware, idle_machines=self.plan.idle_machines)
        expense = run_expense(
            self.request, hardware, run.time.total, run.total_samples, self.context, warnings,
            self.profile.family,
        )  # fmt: skip
        return expense, warnings

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
        timed = self.timed
        return validation_summary(
            timed.plan,
            self.context,
            timed.regimes,
            timed.same,
            status=timed.status,
            error=timed.family_error,
            steps=timed.three_steps if timed.fits else None,
        )

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
        assumed_defaults = assumption_defaults(
            self.request, expense.prices, expense.defaults, failures, run, hardware.machines
        )
        return Estimate(
            **self._common(assumed_defaults),
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
            effects=measured_effects(scenario, context.catalog),
            warnings=self.warnings,
            trace=with_amounts(
                [
                    *trace_of(scenario, plans, run, training, hardware, context),
                    *cost_trace(expense.prices, expense.cost, run.time.total, run, self.assumed),
                ],
                context.catalog,
                expense.cost,
            ),
        )

    def _common(self, more: Sequence[Default] = ()) -> dict[str, object]:
        request, hardware, catalog, profile = self.request, self.hardware, self.context.catalog, self.profile
        plan, scenario, training = self.plan, self.plan.scenario, self.plan.training
        return {
            "id": "",
            "name": request.label or f"{profile.name} · {hardware.count} × {hardware.entry.name}",
            "engine_version": engine_version(catalog.version),
            "catalog_version": catalog.version,
            "model": summarise(training, scenario.table),
            "system": system_summary(hardware, catalog, profile.family),
            "plan": plan_summary(plan, plan.choice.plans),
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
