"""From one step to a run: steps, evaluation, checkpoints and failures, as values and as samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from app.catalog import ConvergenceTarget
from app.engine.convergence import evaluation_time, samples_to_target, training_steps
from app.engine.plans import Plans, StepTime
from app.engine.records import FloatLike, Floats
from app.engine.reliability import goodput
from app.sizing.failures import Reliability, checkpointed_bytes, losses
from app.sizing.scenario import Scenario
from app.sizing.workload import Training

FORWARD_OVER_STEP = 3.0
"""An evaluated sample costs the forward third of a training sample."""


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
    """Share of the time to train that steps take. [-]"""
    goodput_samples: Floats
    checkpoint_interval: float
    checkpoint_seconds: float
    mean_time_to_failure: float

    @property
    def step_seconds(self) -> float:
        """Central step time with the wait for input. [s]"""
        return float(self.step.total[0]) + self.input_wait


def samples_at(training: Training, batch: float) -> float:
    """Return the samples to train on at a global batch."""
    return float(samples_at_batches(training, np.array([batch]))[0])


def samples_at_batches(training: Training, batch: Floats) -> Floats:
    """Return the samples to train on at each of several global batches.

    Parameters
    ----------
    training : Training
        Samples or target. [-]
    batch : array
        Global batches. [samples]
    """
    if training.target is None:
        return np.full(np.shape(batch), float(training.samples or 0.0))
    return _to_target(training.target, batch)


def samples_at_batch(target: ConvergenceTarget, batch: float) -> float:
    """Return the samples to a target at a global batch, from its reference points and its law.

    Parameters
    ----------
    target : ConvergenceTarget
        Reference points and law. [-]
    batch : float
        Global batch. [samples]
    """
    return float(_to_target(target, np.asarray(batch)))


def _to_target(target: ConvergenceTarget, batch: Floats) -> Floats:
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
    """Return the run of one plan, central and as samples: :func:`runs_of` for a single plan.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    plans : Plans
        One plan. [-]
    training : Training
        Samples or target. [-]
    machines : int
        Machines that can fail and that write checkpoints. [-]
    assumed : Reliability
        Failures and checkpoints. [-]
    input_rate : float or None
        Samples that one machine's input can feed; None for no limit. [samples/s]
    factors : array
        Residual factors on a time. [-]
    normals : mapping
        Standard normals by the name of what is uncertain. [-]
    run_deviation : float
        Log-deviation of the samples to a target from run to run. [-]
    """
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
    """Return the runs of many plans in one call of the engine, central and as samples.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software, which all plans share. [-]
    plans : Plans
        Plans, arrays of shape (P,). [-]
    training : Training
        Samples or target. [-]
    machines : array
        Machines of each plan that can fail and that write checkpoints. [-]
    assumed : Reliability
        Failures and checkpoints. [-]
    input_rate : float or None
        Samples that one machine's input can feed; None for no limit. [samples/s]
    factors : array
        Residual factors on a time, of shape (P, S). [-]
    normals : mapping
        Standard normals by the name of what is uncertain, of shape (S,). [-]
    run_deviation : float
        Log-deviation of the samples to a target from run to run. [-]
    """
    batch = plans.global_batch
    step = scenario.step(plans)
    central = central_runs(
        scenario, plans, step.total, training, machines=machines, assumed=assumed, input_rate=input_rate
    )
    drawn = scenario.step(columns(plans), normals).total * factors
    sampled = np.maximum(drawn, least_step(scenario, plans, np.asarray(step.total))[:, np.newaxis])
    fed = batch / (input_rate * machines) if input_rate else np.zeros_like(batch)
    waits = np.maximum(fed[:, np.newaxis] - sampled, 0.0)
    step_samples = sampled + waits
    target = training.target
    spread = np.exp(run_deviation * normals["run_length"]) if target is not None else 1.0
    by_plan = (central.samples[:, np.newaxis], batch[:, np.newaxis])
    evaluations = evaluations_time(target, scenario, *by_plan, step_samples) * spread
    trained = central.steps * (step.total + central.input_wait)
    traineds = central.steps[:, np.newaxis] * spread * step_samples
    usefuls = traineds + evaluations
    rates = assumed.rate * np.exp(assumed.rate_deviation * normals["failure_rate"])
    checkpoints, failed, _, _ = losses(
        usefuls, central.written[:, np.newaxis], assumed, rates, machines[:, np.newaxis]
    )
    totals = usefuls + checkpoints + failed
    return Runs(
        samples=central.samples,
        steps=central.steps,
        step=step,
        input_wait=central.input_wait,
        evaluation=central.evaluation,
        checkpoint=central.checkpoint,
        failures=central.failures,
        total=central.total,
        step_samples=step_samples,
        total_samples=totals,
        training_samples=traineds,
        goodput=goodput(trained, central.total),
        goodput_samples=goodput(traineds, totals),
        checkpoint_interval=central.interval,
        checkpoint_seconds=central.written,
        mean_time_to_failure=central.mean_time_to_failure,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CentralRuns:
    """Runs of many plans at central values, one entry per plan."""

    samples: Floats
    steps: Floats
    input_wait: Floats
    evaluation: Floats
    useful: Floats
    """Time in steps and evaluations. [s]"""
    written: Floats
    """Time of one checkpoint. [s]"""
    checkpoint: Floats
    failures: Floats
    interval: Floats
    """Between checkpoints. [s]"""
    mean_time_to_failure: Floats

    @property
    def total(self) -> Floats:
        """Time to train. [s]"""
        return np.asarray(self.useful + self.checkpoint + self.failures)


def central_runs(
    scenario: Scenario,
    plans: Plans,
    step: Floats,
    training: Training,
    *,
    machines: Floats,
    assumed: Reliability,
    input_rate: float | None,
) -> CentralRuns:
    """Return what the runs of many plans take from their step times on, all at central values.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    plans : Plans
        Plans, arrays of shape (P,). [-]
    step : array
        Time of one step of each. [s]
    training : Training
        Samples or target. [-]
    machines : array
        Machines of each plan that can fail and that write checkpoints. [-]
    assumed : Reliability
        Failures and checkpoints. [-]
    input_rate : float or None
        Samples that one machine's input can feed; None for no limit. [samples/s]
    """
    batch = plans.global_batch
    fed = batch / (input_rate * machines) if input_rate else np.zeros_like(batch)
    input_wait = np.maximum(fed - step, 0.0)
    samples = samples_at_batches(training, batch)
    steps = training_steps(samples, batch)
    evaluation = evaluations_time(training.target, scenario, samples, batch, step + input_wait)
    useful = steps * (step + input_wait) + evaluation
    written = assumed.write_time(
        scenario.table.trained_parameters * checkpointed_bytes(scenario.optimizer), machines
    )
    checkpoint, failures, interval, mean = losses(useful, written, assumed, assumed.rate, machines)
    return CentralRuns(
        samples=samples,
        steps=steps,
        input_wait=input_wait,
        evaluation=evaluation,
        useful=useful,
        written=written,
        checkpoint=checkpoint,
        failures=failures,
        interval=interval,
        mean_time_to_failure=mean,
    )


def least_step(scenario: Scenario, plans: Plans, central: Floats) -> Floats:
    """Return the least time of a step of each plan, below which no sample is physical. [s]

    Where a calibration already puts the central time below that of a perfect step, the central time is it.
    """
    return np.broadcast_to(np.minimum(scenario.perfect_step(plans), central), central.shape)


def columns(plans: Plans) -> Plans:
    """Return plans as columns, so that they broadcast against samples.

    Parameters
    ----------
    plans : Plans
        Arrays of shape (P,). [-]
    """
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

    Parameters
    ----------
    target : ConvergenceTarget or None
        What is trained to. [-]
    scenario : Scenario
        Model, hardware and software. [-]
    samples : FloatLike
        Samples of the run. [samples]
    batch : FloatLike
        Global batch. [samples]
    step : Floats
        Time of one step. [s]
    training_devices_evaluate : bool
        False where others do. [-]
    """
    if target is None or target.evaluation_samples is None or target.evaluated_samples is None:
        return np.zeros_like(step)
    overhead = scenario.evaluation_overhead
    evaluated = target.evaluated_samples if training_devices_evaluate else 0.0
    return evaluation_time(
        samples, target.evaluation_samples, overhead, evaluated, FORWARD_OVER_STEP * batch / step
    )
