r"""Causes of a gap between measured and predicted steps beside the software: network, input, clocks, plan.

Each hypothesis changes one thing of a system by one number :math:`\theta` and predicts every run again. The
runs tell them apart by how well the changed predictions agree, with what is uncertain of the software and of
every run alone as before:

.. math:: \chi^2_H = \min_\theta \; r^T (\tau^2 I + J J^T)^{-1} r + \pi_H(\theta), \quad
    r = \ln t - f_H(\theta)

The software alone is the hypothesis without a number. Where it explains the runs no other cause is named.

Reference: A. Gelman et al., "Bayesian data analysis," 3rd ed., CRC Press, 2013, chapter 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from app.engine.collectives import node_bandwidth
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.deciding import PlanDecision, choose, question_of
from app.estimating.request import PlanInput
from app.estimating.scenario import Scenario

CauseName = Literal["software", "network", "input", "clocks", "layout", "batch", "slow_node"]
UNEXPLAINED = 5.0
"""Chi-square that the software must leave beyond the number of runs before another cause is named."""
CLEARER = 4.0
"""Chi-square by which another cause must explain the runs better than the software."""
NOISE = 0.04
"""Log-deviation of one run beside what its formulas miss in all runs of one code alike."""
SHARED_SPREAD = 0.15
"""Log-deviation that all runs of one code share: what differs between codes of one stack."""
SHARES = np.geomspace(0.004, 1.0, 80)
"""Shares of the links' rate that are tried."""
CLOCKS = np.linspace(0.5, 0.96, 24)
"""Shares of the usual clock that are tried: below half it is no throttling."""
SLOWER = np.exp(np.linspace(math.log(1.1), math.log(3.0), 60))
"""Factors by which one machine is slower."""
BATCHES = (2.0, 4.0, 8.0, 16.0)
"""Factors by which a batch is counted wrongly."""
PRIORS = {"network": 1.0, "input": 4.0, "clocks": 2.0, "layout": 5.0, "batch": 3.0, "slow_node": 4.0}
"""What each cause must explain better, by how rarely it is met and how many ways it may take."""


@dataclass(frozen=True, slots=True)
class StatedRun:
    """A run with its decided plan and measured time."""

    decision: PlanDecision
    measured: float
    """ln of the measured step time."""
    per_step: bool
    """Whether a step time was stated, which another batch than the stated one would explain."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause, how well it explains the runs, and the number it would need."""

    name: CauseName
    misfit: float
    """Chi-square of the runs with it."""
    needs: float | None = None
    """Rate of the links, of the input, share of the clock, factor on the batch or of the slow machine."""
    usual: float | None = None
    """The same as it is taken to be."""
    plan: PlanInput | None = None


def causes_of(runs: Sequence[StatedRun], context: SizingContext) -> list[Cause]:
    """Return what explains measured runs, the most plausible first; the software alone where it does."""
    base = np.array([_step(run.decision.scenario.tuned, run.decision.choice.plans) for run in runs])
    gaps = np.array([run.measured for run in runs]) - np.log(base)
    software = Cause("software", _misfit(gaps))
    if software.misfit <= len(runs) + UNEXPLAINED:
        return [software]
    others = [*_network(runs), *_input(runs, base), *_clocks(runs)]
    others += [*_layout(runs, context), *_batch(runs, gaps), *_slow_node(runs, gaps)]
    better = [cause for cause in others if cause.misfit + CLEARER < software.misfit]
    return [*sorted(better, key=lambda cause: cause.misfit), software]


def _step(scenario: Scenario, plans: Plans) -> float:
    return float(np.ravel(scenario.step(plans).total)[0])


def _misfit(gaps: Floats) -> float:
    """Return the chi-square of gaps that share what differs between codes."""
    covariance = np.full((gaps.size, gaps.size), SHARED_SPREAD**2) + NOISE**2 * np.eye(gaps.size)
    return float(gaps @ np.linalg.solve(covariance, gaps))


def _best(runs: Sequence[StatedRun], values: Floats, times: Floats) -> tuple[float, float]:
    """Return the least chi-square over the values of a cause, and the value; ``times`` are (V, R)."""
    measured = np.array([run.measured for run in runs])
    tried = [
        (_misfit(measured - np.log(row)), float(value)) for value, row in zip(values, times, strict=True)
    ]
    return min(tried)


def _network(runs: Sequence[StatedRun]) -> Iterator[Cause]:
    several = [run.decision.scenario.hardware for run in runs if _machines(run) > 1]
    if not several or not isinstance(several[0], GpuSystem):
        return
    times = np.stack([_slower_links(run) for run in runs], axis=-1)
    misfit, share = _best(runs, SHARES, times)
    usual = float(np.ravel(node_bandwidth(several[0].fabric))[0])
    yield Cause("network", misfit + PRIORS["network"], share * usual, usual)


def _slower_links(run: StatedRun) -> Floats:
    """Return the step time of a run at each share of the rate of the links between machines."""
    scenario = run.decision.scenario.tuned
    stack = float(np.ravel(scenario.gpu_software().network_efficiency)[0])
    changed = replace(scenario, overrides={**scenario.overrides, "network_efficiency": stack * SHARES})
    return np.broadcast_to(np.ravel(changed.step(run.decision.choice.plans).total), SHARES.shape)


def _input(runs: Sequence[StatedRun], base: Floats) -> Iterator[Cause]:
    fed = np.array([run.decision.batch / _machines(run) for run in runs])
    rates = fed / np.exp([run.measured for run in runs])
    values = np.geomspace(0.9 * rates.min(), 1.1 * rates.max(), 60)
    misfit, rate = _best(runs, values, np.maximum(base, fed / values[:, np.newaxis]))
    yield Cause("input", misfit + PRIORS["input"], rate, float(np.max(fed / base)))


def _clocks(runs: Sequence[StatedRun]) -> Iterator[Cause]:
    if any(run.decision.scenario.is_ipu for run in runs):
        return
    times = [
        [_step(_with_clock(run.decision.scenario.tuned, share), run.decision.choice.plans) for run in runs]
        for share in CLOCKS
    ]
    misfit, share = _best(runs, CLOCKS, np.array(times))
    yield Cause("clocks", misfit + PRIORS["clocks"], share, 1.0)


def _with_clock(scenario: Scenario, share: float) -> Scenario:
    system = scenario.hardware
    assert isinstance(system, GpuSystem)
    chip = system.chip
    slower = replace(
        chip, sustained_clock=chip.sustained_clock * share, narrow_clock=chip.narrow_clock * share
    )
    return replace(scenario, hardware=replace(system, chip=slower))


LAYOUTS = (
    {"recompute": "full"},
    {"recompute": "none"},
    {"sharding": "parameters"},
    {"sharding": "none"},
    {"tensor": 1},
    {"tensor": 2},
    {"tensor": 4},
    {"tensor": 8},
    {"pipeline": 1},
    {"pipeline": 2},
    {"pipeline": 4},
    {"micro_batch": 1},
)
"""Changes of a plan that are tried in place of the one that was stated or found."""


def _layout(runs: Sequence[StatedRun], context: SizingContext) -> Iterator[Cause]:
    """Yield the best of the plans that differ in one field from those of the runs."""
    measured = np.array([run.measured for run in runs])
    tried = []
    for change in LAYOUTS:
        times = [_with_layout(run, change, context) for run in runs]
        known = [time for time in times if time is not None]
        if len(known) == len(runs):
            tried.append((_misfit(measured - np.log(np.array(known))) + PRIORS["layout"], change))
    if tried:
        misfit, change = min(tried, key=lambda pair: pair[0])
        yield Cause("layout", misfit, plan=PlanInput.model_validate(change))


def _with_layout(run: StatedRun, change: Mapping[str, object], context: SizingContext) -> float | None:
    """Return the step time with one field of the plan changed; None where no such plan is legal."""
    decision = run.decision
    if decision.scenario.is_ipu:
        return None
    stated = decision.request.plan.model_dump(exclude_unset=True, exclude_none=True)
    follows = {"data", "accumulation"} | ({"interleave"} if "pipeline" in change else set())
    plan = {name: value for name, value in stated.items() if name not in follows} | dict(change)
    workload = decision.request.workload.model_copy(update={"global_batch": decision.batch})
    request = decision.request.model_copy(
        update={"plan": PlanInput.model_validate(plan), "workload": workload}
    )
    try:
        question = question_of(request, decision.profile, decision.hardware, context)
        found = choose(question, decision.hardware, context)
    except AppError:
        return None
    return _step(found.scenario.tuned, found.choice.plans) if found.choice.fits else None


def _batch(runs: Sequence[StatedRun], gaps: Floats) -> Iterator[Cause]:
    """Yield the factor by which a batch is counted wrongly, or a rate for one device as that of all."""
    devices = np.array([float(run.decision.choice.plans.devices[0]) for run in runs])
    if np.all(devices > 1.0):
        yield Cause("batch", _misfit(gaps - np.log(devices)) + PRIORS["batch"], float(devices.max()), 1.0)
    if all(run.per_step for run in runs):
        measured = np.array([run.measured for run in runs])
        tried = [(_misfit(measured - np.log(_with_batch(runs, factor))), factor) for factor in BATCHES]
        misfit, factor = min(tried)
        yield Cause("batch", misfit + PRIORS["batch"], factor, 1.0)


def _with_batch(runs: Sequence[StatedRun], factor: float) -> Floats:
    plans = [run.decision.choice.plans for run in runs]
    more = [replace(plan, accumulation=plan.accumulation * factor) for plan in plans]
    return np.array([_step(run.decision.scenario.tuned, plan) for run, plan in zip(runs, more, strict=True)])


def _slow_node(runs: Sequence[StatedRun], gaps: Floats) -> Iterator[Cause]:
    """Yield one machine that is in the larger runs and slows all others down."""
    machines = np.array([_machines(run) for run in runs])
    for least in sorted(set(machines[machines > machines.min()])):
        slowed = machines >= least
        tried = [(_misfit(gaps - np.log(factor) * slowed), float(factor)) for factor in SLOWER]
        misfit, factor = min(tried)
        yield Cause("slow_node", misfit + PRIORS["slow_node"], factor, 1.0)


def _machines(run: StatedRun) -> int:
    return run.decision.machines_used
