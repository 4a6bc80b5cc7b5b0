"""What to beware of when a profile rests on measured runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.catalog.software import OFFSET
from app.engine.records import Floats
from app.errors import Message
from app.sizing.calibrated import ProfileFit
from app.sizing.document import CheckWarning
from app.sizing.quantities import significant
from app.sizing.regimes import BEYOND

IMPLAUSIBLE = 2.5
"""Standard deviations of the prior beyond which a figure, or the gap as a whole, is suspect: what
chance alone brings about once in eighty."""

SCATTERED = 1.5
"""What remains of the runs over what their noise explains: more than twice in variance."""

PERCENT = 100.0


def calibration_checks(
    fit: ProfileFit,
    gaps: Floats,
    remaining: Floats,
    *,
    measured_devices: float,
    target_devices: float,
    fits: Sequence[bool],
) -> list[CheckWarning]:
    """Return what has to be known before a fitted profile is used."""
    found = [*_implausible(fit, gaps), *_scatter(fit, remaining)]
    if len(gaps) == 1:
        message = Message(
            "a single run: it cannot show whether the measurement repeats, nor which figure is at fault"
        )
        found.append(CheckWarning.of("calibration_single_run", "info", message, "runs"))
    if target_devices > BEYOND * measured_devices:
        message = Message(
            "measured on at most {largest} devices and used for {devices}: communication between machines "
            "was hardly measured; add a run on two or more machines",
            {"largest": int(measured_devices), "devices": int(target_devices)},
        )
        found.append(CheckWarning.of("calibration_extrapolates", "caution", message, "estimate.system.count"))
    for position, held in enumerate(fits):
        if not held:
            message = Message(
                "run {run} does not fit the memory as computed, and yet it ran: state its plan",
                {"run": position + 1},
            )
            found.append(
                CheckWarning.of("calibration_does_not_fit", "caution", message, f"runs.{position}.plan")
            )
    return found


def _implausible(fit: ProfileFit, gaps: Floats) -> list[CheckWarning]:
    """Return what says that the measurement, or what was said of it, should be looked at again."""
    found = []
    for place, name in enumerate((*fit.names, OFFSET)):
        moved = float(fit.posterior.mean[place])
        bound = name in fit.at_bound
        if abs(moved) <= IMPLAUSIBLE and not bound:
            continue
        template = (
            "{parameter} went to the end of what is possible; check the measurement and what ran"
            if bound
            else "{parameter} moved by {deviations} standard deviations; check the measurement and what ran"
        )
        values = {"parameter": Message(name), "deviations": significant(abs(moved), 2)}
        found.append(CheckWarning.of("calibration_implausible", "serious", Message(template, values), "runs"))
    slopes = fit.posterior.slopes_before
    covariance = slopes @ slopes.T + np.diag(np.square(fit.own))
    deviation = math.sqrt(float(np.mean(covariance)))
    gap = float(np.mean(gaps))
    if abs(gap) > IMPLAUSIBLE * deviation and not found:
        template = (
            "the runs are {gap} % off on average where {deviation} % was to be expected; "
            "check the measurement"
            if fit.prior.is_preset
            else "the runs are {gap} % off on average where {deviation} % was to be expected; check the "
            "measurement, or start from a class of software instead of a named one"
        )
        message = Message(
            template,
            {
                "gap": significant(PERCENT * abs(math.expm1(gap)), 2),
                "deviation": significant(PERCENT * deviation, 2),
            },
        )
        found.append(CheckWarning.of("calibration_implausible", "serious", message, "runs"))
    return found


def _scatter(fit: ProfileFit, remaining: Floats) -> list[CheckWarning]:
    """Return a warning where the runs disagree with each other by more than their noise."""
    if remaining.size == 1 or fit.scatter <= SCATTERED:
        return []
    worst = int(np.argmax(np.abs(remaining / fit.own)))
    message = Message(
        "the runs disagree by more than measurements usually do; run {run} stands out with {gap} %",
        {"run": worst + 1, "gap": significant(PERCENT * abs(math.expm1(float(remaining[worst]))), 2)},
    )
    return [CheckWarning.of("calibration_scatter", "caution", message, f"runs.{worst}")]
