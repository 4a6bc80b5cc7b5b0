"""A decided plan with its run, and runs of several plans in few calls of the engine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from app.catalog.catalog import Catalog
from app.engine.plans import Plans
from app.engine.records import Floats
from app.estimating.basis import three_steps
from app.estimating.calibrated import configurations
from app.estimating.checks import (
    bolder_plan,
    data_sheet_checks,
    model_checks,
    plan_checks,
    rental_checks,
    run_checks,
    validation_checks,
)
from app.estimating.context import SizingContext, critical_batch_checks
from app.estimating.deciding import PlanDecision
from app.estimating.documents import (
    CheckWarning,
    Expectation,
    Sensitivity,
    ThreeSteps,
    TraceStep,
    Validation,
)
from app.estimating.expectation import expectation_of, spanning
from app.estimating.hardware import Hardware, Reliability
from app.estimating.nearest import FamilyError, Status, claimed, status_of
from app.estimating.ranges import (
    NOT_UNDERSTOOD,
    common_normals,
    quantity,
    residual_factors,
)
from app.estimating.regimes import regimes
from app.estimating.runtime import Run, Steps, runs_of, sensitivity_of, steps_of
from app.estimating.scenario import Scenario
from app.estimating.schema import Quantity
from app.estimating.summaries import (
    breakdown_of,
    memory_summary,
    roofline_of,
    schedule_of,
)
from app.estimating.three_steps import after_three_steps
from app.estimating.trace import run_trace, step_trace
from app.estimating.trace_amounts import with_amounts
from app.estimating.validity import (
    SameRuns,
    family_error_of,
    gaps_of,
    measurable,
    outside_checks,
    reach_of,
    same_runs,
    same_work,
    validation_of_step,
)

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
        self._step: dict[Hashable, Any] = {}
        if step is not None:
            key = ("step", step, plan.choice.plans.rows.tobytes(), plan.scenario.team)
            self._step = context.remember(key, dict)

    def of_step(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what depends on a step of the plan alone, made once for runs of any length."""
        if name not in self._step:
            self._step[name] = make()
        found: T = self._step[name]
        return found

    @cached_property
    def regimes(self) -> list[str]:
        plan = self.plan
        return self.of_step(
            "regimes",
            lambda: regimes(plan.scenario, plan.choice.plans, plan.profile.family, self.context.measured),
        )

    @cached_property
    def factors(self) -> Floats:
        """Residual samples of the plan's times, wide enough to hold own runs of the same configuration."""
        plan = self.plan
        factors = self.of_step(
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
        return self.of_step("steps", lambda: self._steps(self.factors))

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
        other._step = self.of_step(name, dict)
        return other

    def over_both(self, figure: Callable[[Run], Quantity]) -> Quantity:
        """Return a figure of the run, with a range over tuned and reported runs."""
        own = figure(self.run)
        return own if self.tuned is self else spanning(own, figure(self.tuned.run))

    @cached_property
    def own_time(self) -> Quantity:
        """Time to train of the run itself."""
        return time_of(self.run)

    @cached_property
    def time(self) -> Quantity:
        """Time to train."""
        return self.own_time if self.tuned is self else spanning(self.own_time, self.tuned.own_time)

    @property
    def mfu(self) -> Quantity:
        """Share of the peak that the work of the model itself takes."""
        scenario, plans = self.plan.scenario, self.plan.choice.plans
        work = scenario.table.training_flop * float(plans.global_batch[0])
        least = work / (scenario.peak * float(plans.devices[0]))
        return self.over_both(lambda run: quantity(least / run.step_seconds, least / run.step_samples, "1"))

    @property
    def expectation(self) -> Expectation:
        reported = None if self.reported is None else self.reported.own_time
        return expectation_of(self.plan.scenario.team, self.tuned.own_time, reported)

    @cached_property
    def family_error(self) -> FamilyError | None:
        return self.of_step("family_error", lambda: family_error_of(self.plan, self.context))

    @cached_property
    def reach(self) -> float:
        """Distance of the nearest measured run of the same kind."""
        return self.of_step("reach", lambda: reach_of(self.plan, self.context, self.gaps))

    @cached_property
    def gaps(self) -> Floats:
        """Distances of the measured runs."""
        return self.of_step("gaps", lambda: gaps_of(self.plan, self.context))

    @property
    def validation(self) -> Validation:
        """How closely measured runs support the estimate."""

        def whatever_runs() -> Validation:
            error, status = self.family_error, self.status
            return validation_of_step(self.plan, self.context, self.regimes, self.gaps, error, status)

        same = self.same
        update = {name: getattr(same, name) for name in ("compared", "outside_count", "contradicted")}
        steps = self.three_steps if self.fits else None
        return self.of_step("validation", whatever_runs).model_copy(
            update={**update, "status": self.status, "three_steps": steps, "outside": list(same.outside)}
        )

    @cached_property
    def same(self) -> SameRuns:
        """Measured runs of the same case."""
        cases = self.of_step("cases", lambda: same_work(self.plan, self.context))
        return same_runs(self.plan, self.context, cases, self.figures)

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
        return {"memory": self.of_step("memory", lambda: memory_summary(self.plan))}

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
            **self.of_step("roofline", lambda: roofline_of(scenario, plans)),
            "sensitivity": _reaching(
                sensitivity_of(scenario, run, self.factors, common_normals(), uncertain),
                self.own_time,
                self.time,
            ),
        }

    def trace(self, hardware: Hardware, catalog: Catalog) -> list[TraceStep]:
        """Return the trace from the figures of a catalogue to the time to train."""
        plan, plans, run = self.plan, self.plan.choice.plans, self.run

        def steps() -> list[TraceStep]:
            steps = step_trace(plan.scenario, plans, run.step, plan.training, hardware, catalog)
            return with_amounts(steps, catalog, None)

        of_run = with_amounts(run_trace(plans, run, plan.training, hardware, catalog), catalog, None)
        return [*self.of_step(("trace", catalog), steps), *of_run]

    @cached_property
    def three_steps(self) -> ThreeSteps | None:
        """How three measured steps would narrow the time; None if by little or if already calibrated."""
        if self.plan.scenario.software.calibration is not None:
            return None

        def calibrated() -> tuple[PlanDecision, Floats, Steps]:
            plan, factors = after_three_steps(self.plan, self.context, self.regimes)
            return plan, factors, steps_of(plan.scenario, plan.choice.plans, factors, common_normals())

        rate = self.plan.request.assumptions.input_samples_per_second
        plan, factors, steps = self.of_step(f"calibrated at {rate}", calibrated)
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


TOGETHER = 64
"""Runs that one call of the engine computes; more take more memory and no less time."""


def run_together(timed: Sequence[TimedPlan]) -> None:
    """Compute the runs of plans that differ in nothing but plan and machines, and as records reach them.

    Plans that do not fit have no run.
    """
    fitting = [each for each in timed if each.fits]
    tuned = [each.tuned for each in fitting if each.tuned is not each]
    for several in (fitting, tuned):
        for start in range(0, len(several), TOGETHER):
            _run_all(several[start : start + TOGETHER])


def _run_all(timed: Sequence[TimedPlan]) -> None:
    first = timed[0]
    training = first.plan.training
    runs = runs_of(
        first.plan.scenario,
        Plans.joined([each.plan.choice.plans for each in timed]),
        training,
        machines=np.array([float(each.plan.machines_used) for each in timed]),
        assumed=first.assumed,
        input_rate=first.plan.request.assumptions.input_samples_per_second,
        factors=np.stack([each.factors for each in timed]),
        normals=common_normals(),
        run_deviation=training.target.scatter if training.target else 0.0,
    )
    for each, run in zip(timed, runs, strict=True):
        each.run = run
