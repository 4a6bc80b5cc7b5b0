"""Runs of several plans of one scenario in few calls of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.engine.plans import Plans
from app.estimating.estimate import TimedPlan
from app.estimating.ranges import common_normals
from app.estimating.runtime import runs_of

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
            _run(several[start : start + TOGETHER])


def _run(timed: Sequence[TimedPlan]) -> None:
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
