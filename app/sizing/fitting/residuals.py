r"""What runs left out of the fit leave unexplained, by regime: the widths of the bands.

The log-error of a run is taken as Student's t with the degrees of freedom of the bands and the variance

.. math:: s_i^2 = v_i + \sum_{r \in i} \sigma_r^2

where :math:`v_i` comes from the deviations of the fitted figures. The :math:`\sigma_r` maximise the
likelihood with a group counted once and a weak log-normal prior. Profiles that are known are judged by
runs left out by group, classes by runs whose profile was left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.records import Floats
from app.sizing.fitting.held_out import LogErrors
from app.sizing.fitting.least_squares import Solution, linearised
from app.sizing.fitting.runs import FitRun, group_weights
from app.sizing.spread import TAILS

PRIOR = 0.08
"""Deviation expected of a regime before any run; twice the noise between repeated runs."""

PRIOR_WIDTH = 1.0
"""Log-deviation of that expectation. A regime with hardly any runs stays near it."""

SMALLEST, LARGEST = 0.005, 1.0
SWEEPS = 6
TRIES = 61


@dataclass(frozen=True, slots=True)
class Miss:
    """One left-out run: by how much it was missed, and how far the fitted figures explain that."""

    run: FitRun
    error: float
    variance: float
    """Of the log-error, from the figures alone."""


def misses(errors: LogErrors, solution: Solution, deviations: Floats) -> list[Miss]:
    """Return left-out errors with the variance that the figures of each run give."""
    kept = [(run, value) for run, value in zip(errors.runs, errors.values, strict=True) if np.isfinite(value)]
    _, slopes = linearised([run for run, _ in kept], solution.figures, solution.point)
    variances = np.square(slopes) @ np.square(deviations)
    return [
        Miss(run, float(value), float(variance))
        for (run, value), variance in zip(kept, variances, strict=True)
    ]


def fit_residuals(found: Sequence[Miss], held: Mapping[str, float], free: Sequence[str]) -> dict[str, float]:
    """Return the deviation of each free regime."""
    weights = group_weights([miss.run for miss in found])
    errors = np.array([miss.error for miss in found])
    known = np.array(
        [
            miss.variance + sum(held.get(name, 0.0) ** 2 for name in miss.run.regimes if name not in free)
            for miss in found
        ]
    )
    inside = np.array([[name in miss.run.regimes for name in free] for miss in found], dtype=float)
    tries = np.exp(np.linspace(math.log(SMALLEST), math.log(LARGEST), TRIES))
    deviations = np.full(len(free), PRIOR)
    for _ in range(SWEEPS):
        for place in range(len(free)):
            others = known + inside @ np.square(deviations) - inside[:, place] * deviations[place] ** 2
            variance = others + inside[:, place] * np.square(tries)[:, np.newaxis]
            likelihood = _log_likelihood(errors, variance) @ weights
            prior = -0.5 * np.square(np.log(tries / PRIOR) / PRIOR_WIDTH)
            deviations[place] = tries[int(np.argmax(likelihood + prior))]
    return {name: float(f"{value:.2g}") for name, value in zip(free, deviations, strict=True)}


NINETIETH = 1.0842
"""90th percentile of Student's t with four degrees of freedom, scaled to unit variance: 1.5332 / √2."""


def half_width(miss: Miss, deviations: Mapping[str, float]) -> float:
    """Return half the 80 % band of a left-out run, as a log-error."""
    variance = miss.variance + sum(deviations[name] ** 2 for name in miss.run.regimes)
    return NINETIETH * math.sqrt(variance)


def _log_likelihood(errors: Floats, variance: Floats) -> Floats:
    """Student's t of unit variance, scaled, up to a constant."""
    degrees = float(len(TAILS))
    reduced = np.square(errors) / ((degrees - 2.0) * variance)
    return np.asarray(-0.5 * np.log(variance) - 0.5 * (degrees + 1.0) * np.log1p(reduced))
