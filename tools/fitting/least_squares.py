r"""What runs left out of the fit leave unexplained, by regime: the widths of the bands.

The log-error of a run is taken as Student's t with the degrees of freedom of the bands and the variance

.. math:: s_i^2 = v_i + \sum_{r \in i} \sigma_r^2

where :math:`v_i` comes from the deviations of the fitted figures. The :math:`\sigma_r` maximise the
likelihood with a group counted once and a weak log-normal prior. Profiles that are known are judged by
runs left out by group, classes by runs whose profile was left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.engine.records import Floats
from app.estimating.chips import IPU_SERIES
from app.estimating.context import SizingContext
from app.estimating.ranges import TAILS
from app.estimating.regimes import CORE_FAMILIES, FITTED_FAMILIES
from app.estimating.validation.run import ErrorStatistics, group_weights, with_errors
from tools.fitting.runs import Figures, FitRun, run_of

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
        weights = self.weights * ~left_out
        scaled = self.slopes / SCALE
        curvature = scaled.T @ (scaled * weights[:, np.newaxis]) + _prior_curvature(self.figures)
        gradient = scaled.T @ (weights * self.errors / SCALE) + self._prior_gradient()
        free = _inside(self.figures, self.point, gradient)
        return self.figures.clipped(self.point - _solve(curvature, gradient, free))

    def tied(self, number: int) -> Floats:
        """Return the coordinates with one figure held at its expectation."""
        row = self.figures.pulls[number]
        off = self.figures.distances(self.point)[number]
        inverse = np.linalg.inv(self.curvature)
        change = inverse @ row * (off / float(row @ inverse @ row))
        return self.figures.clipped(self.point - change)

    def _prior_gradient(self) -> Floats:
        return np.asarray(self.figures.pulls.T @ self.figures.distances(self.point))


def fit(runs: Sequence[FitRun], figures: Figures) -> Solution:
    groups = group_weights([run.group for run in runs])
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
        columns = [figures.place[key] for key in run.keys if key in figures.place]
        samples = np.tile(point, (2 * len(columns) + 1, 1))
        for number, column in enumerate(columns):
            samples[2 * number + 1, column] += NUDGE
            samples[2 * number + 2, column] -= NUDGE
        samples = figures.clipped(samples)
        values = predicted(run, figures, samples)
        errors[row] = values[0]
        for number, column in enumerate(columns):
            moved = samples[2 * number + 1, column] - samples[2 * number + 2, column]
            slopes[row, column] = (values[2 * number + 1] - values[2 * number + 2]) / moved
    return errors, cut(runs, slopes)


def cut(runs: Sequence[FitRun], slopes: Floats) -> Floats:
    """Return derivatives without those by which a less well known family would change figures of others."""
    fitted = np.array([run.family in FITTED_FAMILIES for run in runs], dtype=bool)
    informed = np.any(slopes[fitted] != 0, axis=0)
    return np.where(~fitted[:, np.newaxis] & informed, 0.0, slopes)


def predicted(run: FitRun, figures: Figures, coordinates: Floats) -> Floats:
    """Return ln(predicted / measured time) of a run at samples of coordinates, (S, K)."""
    values = figures.values(np.atleast_2d(coordinates))
    chosen = {key[1]: values[:, figures.place[key]] for key in run.keys if key in figures.place}
    errors = run.predict(chosen)
    return np.asarray(np.broadcast_to(errors, (values.shape[0],)))


def _robust(errors: Floats) -> Floats:
    return np.asarray(np.minimum(1.0, HUBER / np.maximum(np.abs(errors) / SCALE, 1e-12)))


def _objective(errors: Floats, groups: Floats, point: Floats, figures: Figures) -> float:
    size = np.abs(errors) / SCALE
    huber = np.where(size <= HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
    return float(np.sum(groups * huber) + 0.5 * np.sum(figures.distances(point) ** 2))


def _prior_curvature(figures: Figures) -> Floats:
    return np.asarray(figures.pulls.T @ figures.pulls)


def _inside(figures: Figures, point: Floats, gradient: Floats) -> Mask:
    """Return which coordinates may move: all but those pressed against a bound."""
    low = (point <= figures.least) & (gradient > 0)
    high = (point >= figures.most) & (gradient < 0)
    return np.asarray(~(low | high))


def _solve(curvature: Floats, gradient: Floats, free: Mask) -> Floats:
    step = np.zeros_like(gradient)
    chosen = np.flatnonzero(free)
    step[chosen] = np.linalg.solve(curvature[np.ix_(chosen, chosen)], gradient[chosen])
    return step


SMALL = 8
"""Devices up to which a run counts as small: one machine."""


@dataclass(frozen=True, slots=True)
class LogErrors:
    """Log-errors of runs under one way to leave runs out; NaN where there is none."""

    name: str
    runs: tuple[FitRun, ...]
    values: Floats

    def part(self, name: str, chosen: Callable[[FitRun], bool]) -> ErrorStatistics:
        """Return the summary of the runs that meet a condition."""
        rows = [
            (run.group, value)
            for run, value in zip(self.runs, self.values, strict=True)
            if chosen(run) and np.isfinite(value)
        ]
        part = ErrorStatistics(name, len(rows), len(rows))
        if not rows:
            return part
        return with_errors(part, np.array([value for _, value in rows]), [group for group, _ in rows])


def core(run: FitRun) -> bool:
    """Return True for a run of the core families on a GPU."""
    return run.family in CORE_FAMILIES and run.chip not in IPU_SERIES


def on_ipu(run: FitRun) -> bool:
    return run.chip in IPU_SERIES


def large(run: FitRun) -> bool:
    """Return True for a run of a core family on more than one machine of GPUs."""
    return core(run) and run.devices > SMALL


def by_group(solution: Solution) -> LogErrors:
    """Return the error of each run when the runs of its group are left out."""
    names = np.array([run.group for run in solution.runs])
    values = np.empty(len(names))
    for name in dict.fromkeys(names):
        out = names == name
        point = solution.without(out)
        for index in np.flatnonzero(out):
            values[index] = predicted(solution.runs[index], solution.figures, point)[0]
    return LogErrors("left out by group", solution.runs, values)


def by_scale(solution: Solution) -> LogErrors:
    """Return the error of each large run when the fit sees none beyond one machine."""
    small = fit([run for run in solution.runs if run.devices <= SMALL], solution.figures)
    values = [
        predicted(run, small.figures, small.point)[0] if run.devices > SMALL else np.nan
        for run in solution.runs
    ]
    return LogErrors("fitted on one machine", solution.runs, np.array(values))


def by_profile(
    solution: Solution, rows: Mapping[str, Mapping[str, str]], context: SizingContext
) -> LogErrors:
    """Return the error of each run when its software is unknown.

    The profile and all that extends it are removed from the rules, and its runs from the fit; the run then
    gets what the rules make of the rest of its text, mostly a class. IPU runs are left aside: their software
    is one vendor's.
    """
    owners = {run.profile: _owner(run.profile, context) for run in solution.runs}
    names = np.array([owners[run.profile] for run in solution.runs])
    values, runs = np.full(len(names), np.nan), list(solution.runs)
    for name in sorted({owners[run.profile] for run in solution.runs if not on_ipu(run)}):
        out = names == name
        point = solution.without(out)
        unknown = without_profile(context, name)
        for index in np.flatnonzero(out):
            run = run_of(rows[solution.runs[index].id], unknown)
            if run is not None:
                runs[index], values[index] = run, predicted(run, solution.figures, point)[0]
    return LogErrors("software unknown", tuple(runs), values)


def without_profile(context: SizingContext, name: str) -> SizingContext:
    rules = tuple(rule for rule in context.rules.software if _owner(rule.result["profile"], context) != name)
    return replace(context, rules=replace(context.rules, software=rules))


def _owner(profile: str, context: SizingContext) -> str:
    """Return the first ancestor of a profile that is not a class."""
    for parent in context.software.profiles[profile].extends:
        if not context.software.profiles[parent].is_preset:
            return _owner(parent, context)
    return profile


def worth(solution: Solution, errors: LogErrors) -> dict[tuple[str, str], float]:
    """Return the growth of the left-out error when a figure is tied to its expectation.

    In the linearised model, with all others refitted: the growth of the absolute errors of all runs, groups
    counted once, over the number of groups that depend on the figure. A figure whose growth is not positive
    does not pay for itself out of sample.
    """
    weights = group_weights([run.group for run in solution.runs])
    growths = {}
    for number, key in enumerate(solution.figures.keys):
        touched = solution.slopes[:, number] != 0
        if np.any(touched):
            tied = errors.values + solution.slopes @ (solution.tied(number) - solution.point)
            growth = weights * (np.abs(tied) - np.abs(errors.values))
            growths[key] = float(np.sum(growth) / np.sum(weights[touched]))
    return growths


PRIOR = 0.08
"""Deviation expected of a regime before any run; twice the noise between repeated runs."""
PRIOR_WIDTH = 1.0
"""Log-deviation of that expectation. A regime with hardly any runs stays near it."""
SMALLEST, LARGEST = 0.005, 1.0
SWEEPS = 6
TRIES = 61


@dataclass(frozen=True, slots=True)
class Miss:
    """The error of a left-out run, and its variance from the fitted figures."""

    run: FitRun
    error: float
    variance: float
    """Of the log-error, from the figures alone."""


def misses(errors: LogErrors, solution: Solution, deviations: Floats) -> list[Miss]:
    """Return left-out errors with the variances from the figures of each run."""
    rows = [(run, value) for run, value in zip(errors.runs, errors.values, strict=True) if np.isfinite(value)]
    _, slopes = linearised([run for run, _ in rows], solution.figures, solution.point)
    variances = np.square(slopes) @ np.square(deviations)
    return [
        Miss(run, float(value), float(variance))
        for (run, value), variance in zip(rows, variances, strict=True)
    ]


def fit_residuals(
    missed: Sequence[Miss], widths: Mapping[str, float], free: Sequence[str]
) -> dict[str, float]:
    weights = _independent([miss.run for miss in missed])
    errors = np.array([miss.error for miss in missed])
    fixed = np.array(
        [
            miss.variance + sum(widths.get(name, 0.0) ** 2 for name in miss.run.regimes if name not in free)
            for miss in missed
        ]
    )
    inside = np.array([[name in miss.run.regimes for name in free] for miss in missed], dtype=float)
    tries = np.exp(np.linspace(math.log(SMALLEST), math.log(LARGEST), TRIES))
    deviations = np.full(len(free), PRIOR)
    for _ in range(SWEEPS):
        for index in range(len(free)):
            other_variance = (
                fixed + inside @ np.square(deviations) - inside[:, index] * deviations[index] ** 2
            )
            variance = other_variance + inside[:, index] * np.square(tries)[:, np.newaxis]
            likelihood = _log_likelihood(errors, variance) @ weights
            prior = -0.5 * np.square(np.log(tries / PRIOR) / PRIOR_WIDTH)
            deviations[index] = tries[int(np.argmax(likelihood + prior))]
    return {name: float(f"{value:.2g}") for name, value in zip(free, deviations, strict=True)}


def _independent(runs: Sequence[FitRun]) -> Floats:
    """Return weights that count a group once, and groups of one site by the root of their number."""
    sites = [(run.laboratory, run.profile, run.chip, run.family) for run in runs]
    groups: dict[tuple[str, ...], set[str]] = {}
    for site, run in zip(sites, runs, strict=True):
        groups.setdefault(site, set()).add(run.group)
    shared = np.array([len(groups[site]) for site in sites])
    return np.asarray(group_weights([run.group for run in runs]) / np.sqrt(shared))


NINETIETH = 1.0842
"""90th percentile of Student's t with four degrees of freedom, scaled to unit variance: 1.5332 / √2."""


def half_width(miss: Miss, deviations: Mapping[str, float]) -> float:
    """Return half the 80 % band of a left-out run, as a log-error."""
    variance = miss.variance + sum(deviations[name] ** 2 for name in miss.run.regimes)
    return NINETIETH * math.sqrt(variance)


HELD = 0.8
"""Share of runs that a band is to hold, groups counted once."""
STEP = 0.01


def held(missed: Sequence[Miss], widths: Mapping[str, float]) -> float:
    """Return the share of left-out runs inside their bands, groups counted once."""
    inside = [abs(miss.error) <= half_width(miss, widths) for miss in missed]
    return float(np.average(inside, weights=group_weights([miss.run.group for miss in missed])))


def widened(missed: Sequence[Miss], widths: Mapping[str, float], name: str) -> dict[str, float]:
    """Return a deviation, as it is or wider, with which the bands of left-out runs hold their share.

    The likeliest deviation of errors with longer tails than Student's t holds fewer.
    """
    deviation = widths[name]
    while deviation < LARGEST and held(missed, {**widths, name: deviation}) < HELD:
        deviation += STEP
    return {name: float(f"{deviation:.2g}")}


def _log_likelihood(errors: Floats, variance: Floats) -> Floats:
    """Student's t of unit variance, scaled, up to a constant."""
    degrees = float(len(TAILS))
    reduced = np.square(errors) / ((degrees - 2.0) * variance)
    return np.asarray(-0.5 * np.log(variance) - 0.5 * (degrees + 1.0) * np.log1p(reduced))
