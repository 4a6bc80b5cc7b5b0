"""From one step to a run: steps, evaluation, checkpoints and failures, as values and as samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.catalog import ConvergenceTarget, Figure, ReliabilityDefaults
from app.engine.checkpoints import checkpoint_overhead, checkpoint_time, daly_interval
from app.engine.convergence import evaluation_time, samples_to_target, training_steps
from app.engine.gpu.memory import MASTER_BYTES, STATE_BYTES
from app.engine.plans import Plans, StepTime
from app.engine.records import Floats
from app.engine.reliability import failure_overhead, goodput, job_failure_rate, mean_time_to_failure
from app.errors import BadInput
from app.sizing.request import AssumptionsInput
from app.sizing.scenario import Scenario
from app.sizing.workload import Training

DAY = 86_400.0
HOUR = 3_600.0
MINUTE = 60.0
DECILES = 2.0 * 1.2816
"""Standard deviations between the 10th and the 90th percentile of a normal distribution."""

FORWARD_OVER_STEP = 3.0
"""An evaluated sample costs the forward third of a training sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Failures and checkpoints of a run on some machines."""

    rate: float
    """Of one machine. [1/s]"""
    rate_deviation: float
    """Log-deviation of the rate. [-]"""
    restart: float
    """From a failure to training again, with what starts anew. [s]"""
    interval: float | None
    """Between checkpoints; the optimum after Daly where None. [s]"""
    bandwidth: float
    """Into storage, of one machine. [B/s]"""


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


def reliability(defaults: ReliabilityDefaults, asked: AssumptionsInput) -> Reliability:
    """Return what is assumed of failures: what was asked, else the catalogue's figures."""
    for name in ("failures_per_1000_node_days", "restart_minutes", "checkpoint_minutes"):
        value = getattr(asked, name)
        least = 0.0 if name != "checkpoint_minutes" else 1e-3
        if value is not None and not least <= value <= 1e6:
            raise BadInput.at(
                f"assumptions.{name}",
                "{value} is not between {least} and 1,000,000",
                value=value,
                least=least,
            )
    figure = defaults.failure_rate
    deviation = log_deviation(figure)
    stated = asked.failures_per_1000_node_days
    return Reliability(
        rate=figure.si if stated is None else stated / (1000.0 * DAY),
        rate_deviation=deviation if stated is None else 0.0,
        restart=defaults.restart.si if asked.restart_minutes is None else asked.restart_minutes * MINUTE,
        interval=None if asked.checkpoint_minutes is None else asked.checkpoint_minutes * MINUTE,
        bandwidth=defaults.checkpoint_bandwidth.si,
    )


def log_deviation(figure: Figure) -> float:
    """Return the log-deviation of a figure whose low and high are its 10th and 90th percentile.

    Parameters
    ----------
    figure : Figure
        With a range. [-]
    """
    return math.log(figure.si_high / figure.si_low) / DECILES


def samples_at(training: Training, batch: float) -> float:
    """Return the samples to train on at a global batch."""
    if training.target is None:
        return float(training.samples or 0.0)
    return samples_at_batch(training.target, batch)


def samples_at_batch(target: ConvergenceTarget, batch: float) -> float:
    """Return the samples to a target at a global batch, from its reference points and its law.

    Parameters
    ----------
    target : ConvergenceTarget
        Reference points and law. [-]
    batch : float
        Global batch. [samples]
    """
    return float(
        samples_to_target(
            batch, target.batches, target.samples, target.law_samples, target.law_batch, target.law_exponent
        )
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
    """Return the run of one plan, central and as samples.

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
    batch = float(plans.global_batch[0])
    step = scenario.step(plans)
    central = float(step.total[0])
    sampled = np.ravel(scenario.step(plans, normals).total) * factors
    fed = batch / (input_rate * machines) if input_rate else 0.0
    waits = np.maximum(fed - sampled, 0.0)
    input_wait = max(fed - central, 0.0)
    samples = samples_at(training, batch)
    steps = int(training_steps(samples, batch))
    step_samples = sampled + waits
    spread = np.exp(run_deviation * normals["run_length"]) if training.target is not None else 1.0
    target = training.target
    evaluation = evaluations_time(target, scenario, samples, batch, np.array([central + input_wait]))
    evaluations = evaluations_time(target, scenario, samples, batch, step_samples) * spread
    trained = np.array([steps * (central + input_wait)])
    traineds = steps * spread * step_samples
    useful, usefuls = trained + evaluation, traineds + evaluations
    written = checkpoint_time(
        scenario.table.parameters * checkpointed_bytes(scenario.optimizer), assumed.bandwidth * machines
    )
    seconds = float(written)
    rates = assumed.rate * np.exp(assumed.rate_deviation * normals["failure_rate"])
    checkpoint, failures, interval, mean = _losses(useful, seconds, assumed, assumed.rate, machines)
    checkpoints, failed, _, _ = _losses(usefuls, seconds, assumed, rates, machines)
    total = useful + checkpoint + failures
    totals = usefuls + checkpoints + failed
    return Run(
        samples=samples,
        steps=steps,
        step=step,
        input_wait=input_wait,
        evaluation=float(evaluation[0]),
        checkpoint=float(checkpoint[0]),
        failures=float(failures[0]),
        total=float(total[0]),
        step_samples=step_samples,
        total_samples=totals,
        training_samples=traineds,
        goodput=float(goodput(trained, total)[0]),
        goodput_samples=goodput(traineds, totals),
        checkpoint_interval=interval,
        checkpoint_seconds=seconds,
        mean_time_to_failure=mean,
    )


def checkpointed_bytes(optimizer: str) -> float:
    """Return the bytes of a checkpoint per parameter: half-precision and master weights, and the state.

    Parameters
    ----------
    optimizer : str
        Name of the optimizer. [-]
    """
    return 2.0 + MASTER_BYTES + STATE_BYTES[optimizer]


def evaluations_time(
    target: ConvergenceTarget | None,
    scenario: Scenario,
    samples: float,
    batch: float,
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
    samples : float
        Samples of the run. [samples]
    batch : float
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


def _losses(
    useful: Floats, written: float, assumed: Reliability, rate: float | Floats, machines: int
) -> tuple[Floats, Floats, float, float]:
    """Return checkpoint and failure time, the checkpoint interval and the mean time to failure."""
    failing = job_failure_rate(rate, machines)
    mean = mean_time_to_failure(failing)
    if assumed.interval is not None:
        interval = np.asarray(assumed.interval)
    elif written > 0 and np.all(np.isfinite(mean)):
        interval = daly_interval(written, mean)
    else:
        interval = np.asarray(np.inf)
    checkpoint = np.broadcast_to(checkpoint_overhead(useful, written, interval), useful.shape)
    failures = np.broadcast_to(
        failure_overhead(useful, written, interval, mean, assumed.restart), useful.shape
    )
    return checkpoint, failures, float(np.ravel(interval)[0]), float(np.ravel(mean)[0])
