"""Which inputs the time to train hangs on."""

from __future__ import annotations

import numpy as np

from app.engine.plans import Plans
from app.sizing.document import Sensitivity
from app.sizing.runtime import Run
from app.sizing.scenario import Scenario

SHOWN = 5
ONE_SIDED = 1.2816
"""Standard deviations from the middle to the 90th percentile of a normal distribution."""


def sensitivity_of(scenario: Scenario, plans: Plans, run: Run) -> list[Sensitivity]:
    """Return the time to train at the 10th and 90th percentile of each software figure, largest first.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software. [-]
    plans : Plans
        One plan. [-]
    run : Run
        The central run. [-]
    """
    profile = scenario.software
    names = [
        name
        for name, figure in profile.figures.items()
        if figure.deviation > 0 and name not in scenario.overrides
    ]
    ends = np.array([-ONE_SIDED, ONE_SIDED])
    found = []
    size = 2 * len(names)
    # One evaluation for all figures: figure k moves in samples 2k and 2k + 1 and rests in the others.
    normals = {name: np.zeros(size) for name in names}
    for place, name in enumerate(names):
        normals[name][2 * place : 2 * place + 2] = ends
    if not names:
        return []
    steps = np.ravel(scenario.step(plans, normals).total)
    extra = run.total - run.steps * run.step_seconds
    totals = run.steps * np.maximum(steps, run.step_seconds if run.input_wait > 0 else 0.0) + extra
    for place, name in enumerate(names):
        low, high = sorted(float(total) for total in totals[2 * place : 2 * place + 2])
        found.append(Sensitivity(input=f"software.{name}", low=low, high=high))
    found.sort(key=lambda entry: entry.low - entry.high)
    return found[:SHOWN]
