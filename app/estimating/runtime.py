"""Which inputs the range of the time to train comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from app.catalog.defaults import ConvergenceTarget
from app.engine.convergence import evaluation_time, samples_to_target
from app.engine.plans import Plans, StepTime
from app.engine.records import FloatLike, Floats
from app.engine.runs import FORWARD_OVER_STEP, RunCase, RunTime, write_runs, write_totals
from app.engine.uncertainty import band, linear_effects, share_of_range, variance_shares
from app.estimating.documents import Sensitivity
from app.estimating.hardware import Reliability, checkpointed_bytes
from app.estimating.scenario import Scenario
from app.estimating.workload import Training


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a plan: its steps and all that adds to them."""

    samples: float
    steps: int
    step: StepTime
    """Central, arrays of length one. [s]"""
    input_wait: float
    """Wait for input in every step. [s]"""
    evaluation: float
    checkpoint: float
    failures: float
    total: float
    """Time to train. [s]"""
    step_samples: Floats
    """Samples of the step time. [s]"""
    total_samples: Floats
    """Samples of the time to train. [s]"""
    training_samples: Floats
    """Samples of the time in steps alone. [s]"""
    goodput: float
    """Share of the time to train that steps take."""
    goodput_samples: Floats
    checkpoint_interval: float
    checkpoint_seconds: float
    mean_time_to_failure: float

    @property
    def step_seconds(self) -> float:
        """Central step time with the wait for input. [s]"""
        return float(self.step.total[0]) + self.input_wait


def samples_at_batch(target: ConvergenceTarget, batch: float) -> float:
    """Return the samples to a target at a global batch, from its reference points and its law."""
    return samples_to_target(
        batch, target.batches, target.samples, target.law_samples, target.law_batch, target.law_exponent
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of many plans of one scenario, on as many machines as each has.

    Central values have one entry per plan, samples one row per plan.
    """

    samples: Floats
    steps: Floats
    step: StepTime
    """Central, one entry per plan. [s]"""
    input_wait: Floats
    evaluation: Floats
    checkpoint: Floats
    failures: Floats
    total: Floats
    """Time to train of each plan. [s]"""
    step_samples: Floats
    total_samples: Floats
    training_samples: Floats
    goodput: Floats
    goodput_samples: Floats
    checkpoint_interval: Floats
    checkpoint_seconds: Floats
    mean_time_to_failure: Floats

    @property
    def step_seconds(self) -> Floats:
        """Central step time of each plan with the wait for input. [s]"""
        return np.asarray(self.step.total + self.input_wait)

    def one(self, place: int) -> Run:
        """Return the run of one plan."""
        return Run(
            samples=float(self.samples[place]),
            steps=int(self.steps[place]),
            step=StepTime(
                {
                    name: np.broadcast_to(part, self.total.shape)[place : place + 1]
                    for name, part in self.step.parts.items()
                }
            ),
            input_wait=float(self.input_wait[place]),
            evaluation=float(self.evaluation[place]),
            checkpoint=float(self.checkpoint[place]),
            failures=float(self.failures[place]),
            total=float(self.total[place]),
            step_samples=self.step_samples[place],
            total_samples=self.total_samples[place],
            training_samples=self.training_samples[place],
            goodput=float(self.goodput[place]),
            goodput_samples=self.goodput_samples[place],
            checkpoint_interval=float(self.checkpoint_interval[place]),
            checkpoint_seconds=float(self.checkpoint_seconds[place]),
            mean_time_to_failure=float(self.mean_time_to_failure[place]),
        )


def run_of(
    scenario: Scenario,
    plans: Plans,
    training: Training,
    *,
    machines: int,
    assumed: Reliability,
    input_rate: float | None,
    factors: Floats,
    normals: Mapping[str, Floats],
    run_deviation: float,
) -> Run:
    """Return the run of one plan, central and as samples: :func:`runs_of` for a single plan."""
    return runs_of(
        scenario,
        plans,
        training,
        machines=np.array([float(machines)]),
        assumed=assumed,
        input_rate=input_rate,
        factors=factors[np.newaxis, :],
        normals=normals,
        run_deviation=run_deviation,
    ).one(0)


def runs_of(
    scenario: Scenario,
    plans: Plans,
    training: Training,
    *,
    machines: Floats,
    assumed: Reliability,
    input_rate: float | None,
    factors: Floats,
    normals: Mapping[str, Floats],
    run_deviation: float,
) -> Runs:
    """Return the runs of many plans in one call of the engine, central and as samples."""
    batch = plans.global_batch
    step = scenario.step(plans)
    central = np.broadcast_to(step.total, batch.shape)
    drawn = scenario.step(columns(plans), normals).total * factors
    sampled = np.maximum(drawn, least_step(scenario, plans, central)[:, np.newaxis])
    rates = assumed.rate * np.exp(assumed.rate_deviation * normals["failure_rate"])
    more = np.exp((run_deviation if training.target is not None else 0.0) * normals["run_length"])
    figures = run_figures(scenario, training, assumed, input_rate=input_rate)
    run = figures.runs(batch, machines, central[:, np.newaxis], np.array([assumed.rate]), np.ones(1))
    runs = figures.runs(batch, machines, sampled, rates, np.broadcast_to(more, rates.shape))
    one = {name: values[:, 0] for name, values in run.items()}
    return Runs(
        samples=one["samples"],
        steps=one["steps"],
        step=step,
        input_wait=one["input_wait"],
        evaluation=one["evaluation"],
        checkpoint=one["checkpoint"],
        failures=one["failures"],
        total=one["total"],
        step_samples=sampled + runs["input_wait"],
        total_samples=runs["total"],
        training_samples=runs["training"],
        goodput=one["training"] / one["total"],
        goodput_samples=runs["training"] / runs["total"],
        checkpoint_interval=one["interval"],
        checkpoint_seconds=one["written"],
        mean_time_to_failure=one["mean_time_to_failure"],
    )


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What all runs of a scenario share, as compiled code reads it."""

    case: RunCase
    batches: Floats
    """Reference batches of the target; none where samples were asked for. [samples]"""
    points: Floats
    """Samples to the target at them. [samples]"""

    def totals(self, plans: Plans, step: Floats) -> Floats:
        """Return how long whole runs of plans take, (N,). [s]"""
        found = np.empty(len(plans.rows))
        write_totals(self.case, self.batches, self.points, plans.rows, step, found)
        return found

    def runs(
        self, batch: Floats, machines: Floats, steps: Floats, rates: Floats, more: Floats
    ) -> dict[str, Floats]:
        """Return runs of steps, (P, S), at the failures and the factor of each sample, by what they take."""
        rows = np.empty((steps.size, len(RunTime._fields)))
        arrays = (
            np.ascontiguousarray(values, dtype=float) for values in (batch, machines, steps, rates, more)
        )
        write_runs(self.case, self.batches, self.points, *arrays, rows)
        return dict(zip(RunTime._fields, rows.T.reshape(-1, *steps.shape), strict=True))


def run_figures(
    scenario: Scenario,
    training: Training,
    assumed: Reliability,
    *,
    input_rate: float | None,
    devices_per_machine: int = 1,
) -> RunFigures:
    """Return what all runs of a scenario share."""
    target, law = training.target, (0.0, 1.0, 1.0)
    nothing, evaluations = np.empty(0), (0.0, 0.0, 0.0)
    if target is not None:
        law = target.law_samples, target.law_batch, target.law_exponent
        if target.evaluation_samples is not None and target.evaluated_samples is not None:
            overhead = float(scenario.evaluation_overhead)
            evaluations = target.evaluation_samples, overhead, target.evaluated_samples
    written = scenario.table.trained_parameters * checkpointed_bytes(scenario.optimizer)
    case = RunCase(
        float(training.samples or 0.0),
        *law,
        *evaluations,
        float(input_rate or 0.0),
        float(devices_per_machine),
        written,
        assumed.bandwidth,
        assumed.storage,
        assumed.storage_per_machine,
        assumed.rate,
        assumed.growth,
        assumed.taken_back,
        assumed.restart,
        assumed.interval or 0.0,
    )
    if target is None:
        return RunFigures(case, nothing, nothing)
    batches, points = (
        np.ascontiguousarray(values, dtype=float) for values in (target.batches, target.samples)
    )
    return RunFigures(case, batches, points)


def least_step(scenario: Scenario, plans: Plans, central: Floats) -> Floats:
    """Return the least time of a step of each plan, below which no sample is physical. [s]

    Where a calibration already puts the central time below that of a perfect step, the central time is it.
    """
    return np.broadcast_to(np.minimum(scenario.perfect_step(plans), central), central.shape)


def columns(plans: Plans) -> Plans:
    """Return plans as columns, so that they broadcast against samples."""
    return Plans(**{entry.name: np.reshape(getattr(plans, entry.name), (-1, 1)) for entry in fields(Plans)})


def evaluations_time(
    target: ConvergenceTarget | None,
    scenario: Scenario,
    samples: FloatLike,
    batch: FloatLike,
    step: Floats,
    training_devices_evaluate: bool = True,
) -> Floats:
    """Return the time of all evaluations of a run to a target, nothing where no rule asks for any.

    Where devices that do not train evaluate meanwhile, only handing them the weights takes its fixed time.
    """
    if target is None or target.evaluation_samples is None or target.evaluated_samples is None:
        return np.zeros_like(step)
    overhead = scenario.evaluation_overhead
    evaluated = target.evaluated_samples if training_devices_evaluate else 0.0
    return evaluation_time(
        samples, target.evaluation_samples, overhead, evaluated, FORWARD_OVER_STEP * batch / step
    )


RESIDUAL = "residual"
"""What the figures of the software leave unexplained in measured runs, and what inputs do together."""

LEAST_WIDTH = 0.01
"""Share of the range below which an input is not shown."""


def sensitivity_of(
    scenario: Scenario,
    plans: Plans,
    run: Run,
    factors: Floats,
    normals: Mapping[str, Floats],
    others: Sequence[str],
) -> list[Sensitivity]:
    r"""Return what each uncertain input has of the range of the time to train, the most first.

    The samples are those of the range itself. What the residual factor :math:`f` leaves of the time is
    regressed on the columns of the inputs, where the sample was not clipped. An input has the share of the
    variance of :math:`\ln T` that its part explains, the residual has the rest, and each has the root of its
    share of the range.

    .. math:: \ln T_i - \ln f_i \approx a + \sum_k b_k z_{k i}, \quad
        S_k = \frac{\operatorname{Cov}(b_k z_k, \ln T)}{\operatorname{Var}(\ln T)}

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software.
    plans : Plans
        One plan.
    run : Run
        The run with its samples.
    factors : array
        Residual factors that the samples were drawn with.
    normals : mapping
        Standard normals that they were drawn with.
    others : sequence of str
        What is uncertain of the run beside its software: columns of the normals.
    """
    profile = scenario.software
    software = [
        name
        for name, figure in profile.figures.items()
        if figure.deviation > 0 and name not in scenario.overrides and name in normals
    ]
    drawn = profile.correlated(normals) or normals
    columns = {f"software.{name}": drawn[name] for name in software}
    columns |= {name: normals[name] for name in others}
    logarithm = np.log(run.total_samples)
    table = np.array(list(columns.values())).reshape(len(columns), logarithm.size)
    # A sample that was clipped at the perfect step no longer tells what moved it.
    free = run.step_samples > least_step(scenario, plans, run.step.total)[0] * (1.0 + 1e-9)
    rest = logarithm - np.log(factors)
    effects = linear_effects(rest[free], table[:, free]) if np.any(free) else np.zeros(len(columns))
    shares = variance_shares(logarithm, effects[:, np.newaxis] * table)
    low, high = band(run.total_samples, run.total)
    found = [
        sensitivity(name, float(share), (run.total, float(low), float(high)), effect)
        for name, share, effect in zip(
            [*columns, RESIDUAL], shares, [*map(float, effects), None], strict=True
        )
    ]
    found.sort(key=lambda one: -one.share)
    return [one for one in found if one.share > LEAST_WIDTH**2]


def sensitivity(
    name: str, share: float, band_of: tuple[float, float, float], effect: float | None
) -> Sensitivity:
    """Return what one input has of a range, which is given as value, low and high."""
    low, high = share_of_range(*band_of, share)
    return Sensitivity(input=name, low=float(low), high=float(high), share=share, effect=effect)
