"""How much a few measured steps would narrow a range, before they are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.catalog.software import SoftwareProfile
from app.engine.records import Floats
from app.estimating.calibrated import MeasuredStep, fit_profile
from app.estimating.context import SizingContext
from app.estimating.deciding import PlanDecision
from app.estimating.ranges import common_normals, residual_factors
from app.estimating.regimes import regimes

Prediction = Callable[[SoftwareProfile, Mapping[str, Floats]], Floats]
"""Logarithm of a step time with a profile, from standard normals by figure."""
STEPS = 3
"""Runs of a code from which a calibration is judged: `gpu_calibrated` of data/residuals.csv."""


def step_prediction(decision: PlanDecision) -> Prediction:
    """Return the logarithm of a case's step time as a function of profile and normals."""
    rate = decision.request.assumptions.input_samples_per_second
    fed = decision.batch / (rate * decision.machines_used) if rate else 0.0

    def predict(profile: SoftwareProfile, normals: Mapping[str, Floats]) -> Floats:
        scenario = decision.scenario.tuned.calibrated(profile)
        step = np.ravel(scenario.step(decision.choice.plans, normals).total)
        return np.asarray(np.log(np.maximum(step, fed)))

    return predict


def case_regimes(decision: PlanDecision, context: SizingContext) -> list[str]:
    """Return the regimes of a case as a calibration counts them."""
    plans, family = decision.choice.plans, decision.profile.family
    return of_profile(regimes(decision.scenario, plans, family, context.measured))


def of_profile(names: Sequence[str]) -> list[str]:
    """Return the regimes of a case, with that of a class replaced by that of a profile.

    The wider figures that a calibration starts from already cover how stacks of a class differ.
    """
    own = [name for name in names if name != "gpu_software_unnamed"]
    return ["gpu_profile_known" if name == "gpu_class_known" else name for name in own]


def after_three_steps(
    decision: PlanDecision, context: SizingContext, names: Sequence[str]
) -> tuple[PlanDecision, Floats]:
    """Return a case calibrated with three steps at the predicted time, and its residual factors."""
    scenario, plans, family = decision.scenario, decision.choice.plans, decision.profile.family
    predict, names = step_prediction(decision), of_profile(names)
    central = float(predict(scenario.software, {})[0])
    step = MeasuredStep(predict, central, tuple(names), float(plans.devices[0]))
    fit = fit_profile(
        scenario.software.id,
        scenario.software.title,
        scenario.software,
        context.software.ranges,
        [step] * STEPS,
        context.residuals,
        target=names,
        family=family,
        chips=[decision.hardware.entry.machine.chip.id],
        named=decision.request.software is not None,
    )
    calibrated = scenario.tuned.calibrated(fit.profile)
    remaining = regimes(calibrated, plans, family, context.measured)
    factors = residual_factors(remaining, context.residuals, common_normals(), calibrated, plans)
    return replace(decision, scenario=calibrated), factors
