r"""Robust, regularised least squares over the free figures.

.. math:: \sum_g \frac{1}{n_g} \sum_{i \in g} \rho\!\left(\frac{e_i}{s}\right)
    + \tfrac{1}{2} \sum_k \left(\frac{\theta_k - \theta_{above(k)}}{\sigma_k}\right)^2

with Huber's :math:`\rho` and a group counted once. Runs of families whose operators are less well known
inform only the figures that no other run informs: what they miss must not bend the others.

Damped Gauss-Newton steps from the expectations, never from the present values, so that a second fit
finds what the first one found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.engine.records import Floats
from app.sizing.families import FITTED_FAMILIES
from app.sizing.fitting.figures import Figures
from app.sizing.fitting.runs import FitRun, group_weights

Mask = npt.NDArray[np.bool_]

SCALE = 0.05
"""Log-error that counts as one: about twice the noise between repeated runs (BLOOM iterations 0.027,
MLPerf replicates 0.01 to 0.05)."""

HUBER = 2.0
"""Errors beyond this many scales count linearly: something unknown slowed the run."""

STEPS = 30
NUDGE = 0.02
"""Perturbation of a coordinate for its derivative."""

ENOUGH = 1e-5
"""Change of a coordinate that ends the search."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The fitted coordinates and the objective's shape around them."""

    runs: tuple[FitRun, ...]
    figures: Figures
    point: Floats
    errors: Floats
    """ln(predicted / measured) of each run, (R,)."""
    slopes: Floats
    """Derivative of each error by each coordinate, (R, K)."""
    weights: Floats
    """Weight of each run, group and robustness together, (R,)."""

    @property
    def curvature(self) -> Floats:
        """Half the objective's second derivative, (K, K)."""
        scaled = self.slopes / SCALE
        return np.asarray(scaled.T @ (scaled * self.weights[:, np.newaxis]) + _prior_curvature(self.figures))

    def without(self, left_out: Mask) -> Floats:
        """Return the coordinates when some runs are left out, by one Newton step from the solution."""
        kept = self.weights * ~left_out
        scaled = self.slopes / SCALE
        curvature = scaled.T @ (scaled * kept[:, np.newaxis]) + _prior_curvature(self.figures)
        gradient = scaled.T @ (kept * self.errors / SCALE) + self._prior_gradient()
        free = _inside(self.figures, self.point, gradient)
        return self.figures.clipped(self.point - _solve(curvature, gradient, free))

    def tied(self, number: int) -> Floats:
        """Return the coordinates when one figure is held at what it is expected to be like."""
        row = self.figures.pulls[number]
        off = self.figures.distances(self.point)[number]
        inverse = np.linalg.inv(self.curvature)
        change = inverse @ row * (off / float(row @ inverse @ row))
        return self.figures.clipped(self.point - change)

    def _prior_gradient(self) -> Floats:
        return np.asarray(self.figures.pulls.T @ self.figures.distances(self.point))


def fit(runs: Sequence[FitRun], figures: Figures) -> Solution:
    """Return the best figures for some runs."""
    groups = group_weights(runs)
    point, damping = figures.start(), 1e-3
    errors, slopes = linearised(runs, figures, point)
    value = _objective(errors, groups, point, figures)
    for _ in range(STEPS):
        weights = groups * _robust(errors)
        solution = Solution(tuple(runs), figures, point, errors, slopes, weights)
        curvature = solution.curvature
        gradient = (slopes / SCALE).T @ (weights * errors / SCALE) + solution._prior_gradient()
        free = _inside(figures, point, gradient)
        damped = curvature + damping * np.diag(np.diag(curvature))
        trial = figures.clipped(point - _solve(damped, gradient, free))
        change = float(np.max(np.abs(trial - point), initial=0.0))
        tried, tried_slopes = linearised(runs, figures, trial)
        after = _objective(tried, groups, trial, figures)
        if after <= value:
            point, errors, slopes, value = trial, tried, tried_slopes, after
            damping *= 0.2
        else:
            damping *= 8.0
        if change < ENOUGH:
            break
    return Solution(tuple(runs), figures, point, errors, slopes, groups * _robust(errors))


def linearised(runs: Sequence[FitRun], figures: Figures, point: Floats) -> tuple[Floats, Floats]:
    """Return the error of each run, (R,), and its derivatives, (R, K)."""
    errors, slopes = np.empty(len(runs)), np.zeros((len(runs), len(figures.keys)))
    for row, run in enumerate(runs):
        places = [figures.place[key] for key in run.keys if key in figures.place]
        samples = np.tile(point, (2 * len(places) + 1, 1))
        for number, place in enumerate(places):
            samples[2 * number + 1, place] += NUDGE
            samples[2 * number + 2, place] -= NUDGE
        samples = figures.clipped(samples)
        found = predicted(run, figures, samples)
        errors[row] = found[0]
        for number, place in enumerate(places):
            moved = samples[2 * number + 1, place] - samples[2 * number + 2, place]
            slopes[row, place] = (found[2 * number + 1] - found[2 * number + 2]) / moved
    return errors, cut(runs, slopes)


def cut(runs: Sequence[FitRun], slopes: Floats) -> Floats:
    """Return derivatives without those by which a less well known family would bend figures of others."""
    fitted = np.array([run.family in FITTED_FAMILIES for run in runs], dtype=bool)
    informed = np.any(slopes[fitted] != 0, axis=0)
    return np.where(~fitted[:, np.newaxis] & informed, 0.0, slopes)


def predicted(run: FitRun, figures: Figures, coordinates: Floats) -> Floats:
    """Return ln(predicted / measured time) of a run at samples of coordinates, (S, K)."""
    values = figures.values(np.atleast_2d(coordinates))
    chosen = {key[1]: values[:, figures.place[key]] for key in run.keys if key in figures.place}
    found = run.predict(chosen)
    return np.asarray(np.broadcast_to(found, (values.shape[0],)))


def _robust(errors: Floats) -> Floats:
    return np.asarray(np.minimum(1.0, HUBER / np.maximum(np.abs(errors) / SCALE, 1e-12)))


def _objective(errors: Floats, groups: Floats, point: Floats, figures: Figures) -> float:
    size = np.abs(errors) / SCALE
    huber = np.where(size <= HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
    return float(np.sum(groups * huber) + 0.5 * np.sum(figures.distances(point) ** 2))


def _prior_curvature(figures: Figures) -> Floats:
    return np.asarray(figures.pulls.T @ figures.pulls)


def _inside(figures: Figures, point: Floats, gradient: Floats) -> Mask:
    """Return which coordinates may move: all but those that press against a bound."""
    low = (point <= figures.least) & (gradient > 0)
    high = (point >= figures.most) & (gradient < 0)
    return np.asarray(~(low | high))


def _solve(curvature: Floats, gradient: Floats, free: Mask) -> Floats:
    step = np.zeros_like(gradient)
    chosen = np.flatnonzero(free)
    step[chosen] = np.linalg.solve(curvature[np.ix_(chosen, chosen)], gradient[chosen])
    return step
