"""Runs of plans, central and as samples, and the inputs that the range of their time comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from app.catalog.defaults import ConvergenceTarget
from app.engine.convergence import evaluation_time, samples_to_target
from app.engine.plans import Plans, StepTime
from app.engine.records import FloatLike, Floats
from app.engine.runs import FORWARD_OVER_STEP, RunCase, RunFigures, RunTime
from app.engine.uncertainty import band, linear_effects, share_of_range, variance_shares
from app.estimating.documents import Sensitivity
from app.estimating.hardware import Reliability, checkpointed_bytes
from app.estimating.scenario import Scenario
from app.estimating.workload import Training


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a plan: its steps and everything added to them. Times are in seconds."""

    step: StepTime
    """Central, arrays of length one."""
    time: RunTime
    """Central."""
    least_step: float
    """Lower bound of the samples of the step, where they are clipped."""
    step_samples: Floats
    total_samples: Floats
    training_samples: Floats

    @property
    def steps(self) -> int:
        return int(self.time.steps)

    @property
    def step_seconds(self) -> float:
        """Central step time with the wait for input."""
        return float(self.step.total[0]) + self.time.input_wait

    @property
    def goodput(self) -> float:
        """Share of steps in the time to train."""
        return self.time.training / self.time.total


def samples_at_batch(target: ConvergenceTarget, batch: float) -> float:
    return samples_to_target(
        batch, target.batches, target.samples, target.law_samples, target.law_batch, target.law_exponent
    )


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of plans, however long their runs are. [s]"""

    parts: StepTime
    """Central."""
    central: Floats
    least: Floats
    """Lower bound of the samples."""
    sampled: Floats
    """A row per plan."""


def steps_of(scenario: Scenario, plans: Plans, factors: Floats, normals: Mapping[str, Floats]) -> Steps:
    """Return the steps of plans, central and as samples; ``factors`` has a row of samples per plan."""
    parts = scenario.step(plans)
    central = np.broadcast_to(parts.total, plans.global_batch.shape)
    unbounded = scenario.step(columns(plans), normals).total * np.atleast_2d(factors)
    least = least_step(scenario, plans, central)
    return Steps(parts, central, least, np.maximum(unbounded, least[:, np.newaxis]))


def runs_of(
    scenario: Scenario,
    plans: Plans,
    training: Training,
    *,
    machines: Floats | int,
    assumed: Reliability,
    input_rate: float | None,
    factors: Floats,
    normals: Mapping[str, Floats],
    run_deviation: float,
    steps: Steps | None = None,
) -> list[Run]:
    """Return the run of each plan in one call of the engine, of steps that are known or of new ones."""
    batch = plans.global_batch
    if steps is None:
        steps = steps_of(scenario, plans, factors, normals)
    step, central, least, sampled = steps.parts, steps.central, steps.least, steps.sampled
    rates = assumed.rate * np.exp(assumed.rate_deviation * normals["failure_rate"])
    length_factors = np.exp((run_deviation if training.target is not None else 0.0) * normals["run_length"])
    figures = run_figures(scenario, training, assumed, input_rate=input_rate)
    machine_counts = np.atleast_1d(np.asarray(machines, dtype=float))
    run = figures.runs(batch, machine_counts, central[:, np.newaxis], np.array([assumed.rate]), np.ones(1))
    runs = figures.runs(batch, machine_counts, sampled, rates, np.broadcast_to(length_factors, rates.shape))
    parts = step.parts
    if batch.size > 1:
        parts = {name: np.broadcast_to(part, batch.shape) for name, part in parts.items()}
    return [
        Run(
            time=RunTime(*(float(values[index, 0]) for values in run.values())),
            step=StepTime({name: part[index : index + 1] for name, part in parts.items()})
            if batch.size > 1
            else step,
            least_step=float(least[index]),
            step_samples=sampled[index] + runs["input_wait"][index],
            total_samples=runs["total"][index],
            training_samples=runs["training"][index],
        )
        for index in range(batch.size)
    ]


def run_figures(
    scenario: Scenario,
    training: Training,
    assumed: Reliability,
    *,
    input_rate: float | None,
    devices_per_machine: int = 1,
) -> RunFigures:
    target = training.target
    law = {"law_samples": 0.0, "law_batch": 1.0, "law_exponent": 1.0}
    interval, evaluated = training.evaluation or (0.0, 0.0)
    batches = points = np.empty(0)
    if target is not None:
        law = {name: getattr(target, name) for name in law}
        batches, points = (
            np.ascontiguousarray(values, dtype=float) for values in (target.batches, target.samples)
        )
    case = RunCase(
        samples=float(training.samples or 0.0),
        **law,
        evaluation_interval=interval,
        evaluation_overhead=float(scenario.evaluation_overhead),
        evaluated_samples=evaluated,
        input_rate=float(input_rate or 0.0),
        devices_per_machine=float(devices_per_machine),
        checkpoint_bytes=scenario.table.trained_parameters * checkpointed_bytes(scenario.optimizer),
        bandwidth=assumed.bandwidth,
        storage=assumed.storage,
        storage_per_machine=assumed.storage_per_machine,
        failure_rate=assumed.rate,
        failure_growth=assumed.growth,
        taken_back=assumed.taken_back,
        restart=assumed.restart,
        interval=assumed.interval or 0.0,
    )
    return RunFigures(case, batches, points)


def least_step(scenario: Scenario, plans: Plans, central: Floats) -> Floats:
    """Return the lower bound of each plan's step samples: a perfect step, or the central time if less. [s]"""
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
    """Return the time of all evaluations of a run to a target; 0 where it has none.

    Where other devices evaluate meanwhile, only the fixed time of handing them the weights counts.
    """
    if target is None or target.evaluation_samples is None or target.evaluated_samples is None:
        return np.zeros_like(step)
    overhead = scenario.evaluation_overhead
    evaluated = target.evaluated_samples if training_devices_evaluate else 0.0
    return evaluation_time(
        samples, target.evaluation_samples, overhead, evaluated, FORWARD_OVER_STEP * batch / step
    )


RESIDUAL = "residual"
"""Input that stands for unexplained errors and for interactions of inputs."""
LEAST_WIDTH = 0.01
"""Share of the range below which an input is omitted."""


def sensitivity_of(
    scenario: Scenario,
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
    free = run.step_samples > run.least_step * (1.0 + 1e-9)
    unexplained = logarithm - np.log(factors)
    effects = linear_effects(unexplained[free], table[:, free]) if np.any(free) else np.zeros(len(columns))
    effect_of = dict(zip(columns, map(float, effects), strict=True))
    parts = {name: effect_of[name] * columns[name] for name in columns}
    sensitivities = [
        Sensitivity(input=name, low=low, high=high, share=share, effect=effect_of.get(name))
        for name, share, low, high in parts_of_range(run.total_samples, run.time.total, parts)
    ]
    return sorted(sensitivities, key=lambda part: -part.share)


def parts_of_range(
    samples: Floats, central: float, parts: Mapping[str, Floats]
) -> Iterator[tuple[str, float, float, float]]:
    """Yield inputs with their shares of variance and range, the residual last.

    ``parts`` are the contributions of the inputs to the logarithm of the samples.
    """
    table = np.array(list(parts.values())).reshape(len(parts), samples.size)
    low, high = band(samples, central)
    for name, share in zip([*parts, RESIDUAL], variance_shares(np.log(samples), table), strict=True):
        if share > LEAST_WIDTH**2:
            ends = share_of_range(central, low, high, share)
            yield name, float(share), float(ends[0]), float(ends[1])
