"""A whole run: steps, evaluations, checkpoints and failures, of many plans or many samples at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from app.engine.arrays import store
from app.engine.compiled import Matrix, Vector, inner, kernel, record
from app.engine.convergence import evaluation_time, samples_to_target, training_steps
from app.engine.plans import Plan, Plans
from app.engine.records import Floats
from app.engine.reliability import (
    checkpoint_overhead,
    checkpoint_time,
    daly_interval,
    failure_overhead,
    interruption_rate,
    mean_time_to_failure,
    write_bandwidth,
)

FORWARD_OVER_STEP = 3.0
"""An evaluated sample costs the forward third of a training sample."""


class RunCase(NamedTuple):
    """What all plans of a run share."""

    samples: float
    """To train on, where no target says how many. [samples]"""
    law_samples: float
    """Samples to the target in the limit of small batches. [samples]"""
    law_batch: float
    law_exponent: float
    evaluation_interval: float
    """Samples between evaluations; 0 where there are none. [samples]"""
    evaluation_overhead: float
    evaluated_samples: float
    input_rate: float
    """Samples that the input of one machine feeds; 0 for no limit. [samples/s]"""
    devices_per_machine: float
    checkpoint_bytes: float
    bandwidth: float
    """What one machine can send to storage. [B/s]"""
    storage: float
    """What shared storage of a stated size takes from all machines. [B/s]"""
    storage_per_machine: float
    """What shared storage that grows with the machines takes from one of them. [B/s]"""
    failure_rate: float
    """Of a job on one machine. [1/s]"""
    failure_growth: float
    """Power of the machines by which the rate of one of them grows. [-]"""
    taken_back: float
    """Share of the rate with which a provider takes machines back, which does not grow. [-]"""
    restart: float
    """From a failure to training again. [s]"""
    interval: float
    """Between checkpoints; 0 for the optimum after Daly. [s]"""


class RunTime(NamedTuple):
    samples: float
    steps: float
    input_wait: float
    """In every step. [s]"""
    training: float
    """In steps alone. [s]"""
    evaluation: float
    checkpoint: float
    failures: float
    total: float
    """Time to train. [s]"""
    written: float
    """Time of one checkpoint. [s]"""
    interval: float
    """Between checkpoints. [s]"""
    mean_time_to_failure: float


class Upkeep(NamedTuple):
    """Checkpoints and failures of a job on some machines."""

    written: float
    """Time of one checkpoint. [s]"""
    interval: float
    """Between checkpoints; infinite without any. [s]"""
    mean_time_to_failure: float


@inner
def upkeep_of(case: RunCase, machines: float, failure_rate: float) -> Upkeep:
    """Return checkpoints and failures of a job on a number of machines with a failure rate of one."""
    storage = case.storage + case.storage_per_machine * machines
    written = checkpoint_time(case.checkpoint_bytes, write_bandwidth(machines, case.bandwidth, storage))
    rate = interruption_rate(failure_rate, machines, case.failure_growth, case.taken_back)
    mean, interval = mean_time_to_failure(rate), math.inf
    if case.interval > 0.0:
        interval = case.interval
    elif written > 0.0 and mean < math.inf:
        interval = daly_interval(written, mean)
    return Upkeep(written=written, interval=interval, mean_time_to_failure=mean)


@inner
def run_time(
    case: RunCase, upkeep: Upkeep, samples: float, batch: float, machines: float, step: float, more: float
) -> RunTime:
    """Return the times of a run of samples; ``more`` is the factor on steps and evaluations."""
    fed = batch / (case.input_rate * machines) if case.input_rate > 0.0 else 0.0
    wait = max(fed - step, 0.0)
    steps = training_steps(samples, batch)
    training = steps * more * (step + wait)
    evaluation = 0.0
    if case.evaluation_interval > 0.0:
        throughput = FORWARD_OVER_STEP * batch / (step + wait)
        evaluation = more * evaluation_time(
            samples, case.evaluation_interval, case.evaluation_overhead, case.evaluated_samples, throughput
        )
    useful = training + evaluation
    written, interval, mean = upkeep
    checkpoint = checkpoint_overhead(useful, written, interval)
    failures = failure_overhead(useful, written, interval, mean, case.restart)
    return RunTime(
        samples=samples,
        steps=steps,
        input_wait=wait,
        training=training,
        evaluation=evaluation,
        checkpoint=checkpoint,
        failures=failures,
        total=useful + checkpoint + failures,
        written=written,
        interval=interval,
        mean_time_to_failure=mean,
    )


@inner
def samples_of_run(case: RunCase, batches: Vector, points: Vector, batch: float) -> float:
    """Return the samples to train on at a global batch; without reference points, the requested samples."""
    if batches.size == 0:
        return case.samples
    return samples_to_target(batch, batches, points, case.law_samples, case.law_batch, case.law_exponent)


class RunFigures(NamedTuple):
    """What all plans of a run share, with the samples to its target."""

    case: RunCase
    batches: Vector
    """Reference batches of the target; empty without one. [samples]"""
    points: Vector
    """Samples to the target at each. [samples]"""

    def totals(self, plans: Plans, step: Floats) -> Floats:
        """Return the times of whole runs of plans. [s]"""
        totals = np.empty(len(plans.rows))
        write_totals(self, plans.rows, step, totals)
        return totals

    def runs(
        self, batch: Floats, machines: Floats, steps: Floats, rates: Floats, more: Floats
    ) -> dict[str, Floats]:
        """Return the parts of runs of steps, (P, S), at the failure rate and length factor of each sample."""
        rows = np.empty((steps.size, len(RunTime._fields)))
        arrays = (
            np.ascontiguousarray(values, dtype=float) for values in (batch, machines, steps, rates, more)
        )
        write_runs(self.case, self.batches, self.points, *arrays, rows)
        return dict(zip(RunTime._fields, rows.T.reshape(-1, *steps.shape), strict=True))


ONE_STEP = RunFigures(RunCase(*(0.0 for _ in RunCase._fields)), np.empty(0), np.empty(0))
"""A run of unknown length: its total is that of one step."""


class RunOfPlan(NamedTuple):
    """What neighbouring plans often share of a run."""

    batch: float
    samples: float
    machines: float
    upkeep: Upkeep


NO_PLAN = RunOfPlan(0.0, 0.0, 0.0, Upkeep(0.0, math.inf, math.inf))


@inner
def run_of_plan(run: RunFigures, before: RunOfPlan, plan: Plan) -> RunOfPlan:
    """Return the run of a plan, given that of the plan before it or :data:`NO_PLAN`."""
    if run.case.devices_per_machine == 0.0:
        return before
    batch = plan.data * plan.micro_batch * plan.accumulation
    machines = float(math.ceil(plan.tensor * plan.pipeline * plan.data / run.case.devices_per_machine))
    samples, upkeep = before.samples, before.upkeep
    if batch != before.batch:
        samples = samples_of_run(run.case, run.batches, run.points, batch)
    if machines != before.machines:
        upkeep = upkeep_of(run.case, machines, run.case.failure_rate)
    return RunOfPlan(batch=batch, samples=samples, machines=machines, upkeep=upkeep)


@inner
def total_time(run: RunFigures, of_plan: RunOfPlan, step: float) -> float:
    """Return the time of the whole run, from that of one step. [s]"""
    if of_plan.samples == 0.0:
        return step
    times = run_time(run.case, of_plan.upkeep, of_plan.samples, of_plan.batch, of_plan.machines, step, 1.0)
    return times.total


@inner
def least_total_time(run: RunFigures, batch: float, step: float) -> float:
    """Return the time of the steps alone, below which no run gets. [s]"""
    if run.case.devices_per_machine == 0.0:
        return step
    samples = samples_of_run(run.case, run.batches, run.points, batch)
    return step if samples == 0.0 else samples / batch * step


@kernel
def write_totals(run: RunFigures, plans: Matrix, steps: Vector, totals: Vector) -> None:
    """Write the time of the whole run of every plan, from its step time."""
    of_plan = NO_PLAN
    for index in range(steps.size):
        of_plan = run_of_plan(run, of_plan, record(Plan, plans, index))
        totals[index] = total_time(run, of_plan, steps[index])


@kernel
def write_runs(
    case: RunCase,
    batches: Vector,
    points: Vector,
    batch: Vector,
    machines: Vector,
    steps: Matrix,
    rates: Vector,
    more: Vector,
    rows: Matrix,
) -> None:
    """Write the runs of steps, (P, S), a row each, plan by plan.

    ``batch`` and ``machines`` are those of a plan, ``rates`` the failures of one machine and ``more`` the
    factor on samples of each sample.
    """
    for plan in range(steps.shape[0]):
        samples = samples_of_run(case, batches, points, batch[plan])
        for sample in range(steps.shape[1]):
            upkeep = upkeep_of(case, machines[plan], rates[sample])
            step = steps[plan, sample]
            run = run_time(case, upkeep, samples, batch[plan], machines[plan], step, more[sample])
            store(rows, plan * steps.shape[1] + sample, 0, run)
