r"""A hierarchical model of what the fitted figures leave: architecture, chip, software, family, laboratory.

The log-error of a run, computed time over measured, is

.. math:: e = -(u_{architecture} + u_{chip} + u_{software} + u_{family}) - d_{laboratory, software}
    - s_{laboratory, software, chip, family} + \varepsilon

Each term is drawn from a normal law whose deviation the runs themselves tell (empirical Bayes by
expectation-maximisation), so that a term with few runs stays near zero. The terms :math:`u` are what a new
laboratory meets too, and become rows of data/effects.csv; what one laboratory or one of its machines has in
common is only taken out of their way. Errors count as in the fit of the figures: each group once, and
beyond two scales linearly.

References: D. Bates et al., "Fitting linear mixed-effects models using lme4," JSS 67(1), 2015; A. Gelman
and J. Hill, "Data analysis using regression and multilevel/hierarchical models," 2007, chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.engine.records import Floats
from app.estimating.effects import Effect
from app.estimating.fitting.least_squares import HUBER, SCALE, on_ipu
from app.estimating.fitting.runs import FitRun
from app.estimating.regimes import FITTED_FAMILIES
from app.estimating.validation.run import group_weights

Mask = npt.NDArray[np.bool_]
Term = tuple[str, str]
"""Kind of a term, and its name."""

SHIPPED = ("architecture", "chip", "software", "family")
START = {"architecture": 0.1, "chip": 0.15, "software": 0.15, "family": 0.15, "laboratory": 0.1, "site": 0.1}
"""Deviations that the search starts from."""
LEAST = 0.003
"""Least deviation of a kind of terms."""
ROUNDS, REWEIGHTED = 30, 6
OUTLYING = 9.0
"""Times the median second moment that a single term counts at most."""
OTHER = 1.5
"""Log-error from which a run did something else than what is computed of it; it tells nothing."""
FEWEST = 3
"""Groups of runs that an effect rests on at least."""
SMALL = 0.04
"""Effects below this are not worth a figure: about the noise between repeated runs."""
ENOUGH = 0.01
"""Relative change of the deviations that ends the search."""


def terms_of(run: FitRun, fitted: Callable[[FitRun], bool], of_chip: Sequence[Term]) -> list[Term]:
    """Return the terms of a run; the fitted figures speak for chips and software they were fitted on."""
    stack = f"{run.laboratory} {run.profile}"
    found = [("laboratory", stack), ("site", f"{stack} {run.chip} {run.family}")]
    if on_ipu(run) or (fitted(run) and run.rests_on_runs):
        return found
    if not fitted(run):
        found += of_chip
    if run.assumed:
        found.append(("software", run.profile))
    if run.family not in FITTED_FAMILIES:
        found.append(("family", run.family))
    return found


def chip_terms(
    runs: Sequence[FitRun], fitted: Callable[[FitRun], bool], architecture: Callable[[str], str]
) -> dict[str, list[Term]]:
    """Return the terms of each chip: its architecture, and itself where that has several measured chips.

    An architecture that figures were fitted on has none: the figures speak for it.
    """
    members: dict[str, set[str]] = {}
    for run in runs:
        members.setdefault(architecture(run.chip), set()).add(series(run.chip))
    known = {architecture(run.chip) for run in runs if fitted(run)}
    found: dict[str, list[Term]] = {}
    for chip in {run.chip for run in runs}:
        name = architecture(chip)
        own = len(members[name]) > 1
        found[chip] = [("architecture", name)] * (name not in known) + [("chip", series(chip))] * own
    return found


def series(chip: str) -> str:
    """Return how the identifiers of chips that differ by their memory alone begin.

    >>> series("h100-sxm-80gb"), series("mi300x"), series("tpu-v5p")
    ('h100-sxm', 'mi300x', 'tpu-v5p')
    """
    stem, _, last = chip.rpartition("-")
    return stem if last.endswith("gb") and stem else chip


@dataclass(frozen=True, slots=True)
class Mixed:
    """Runs with their errors, and the terms that errors are made of."""

    runs: tuple[FitRun, ...]
    errors: Floats
    """ln(computed / measured), without effects, (R,)."""
    terms: tuple[Term, ...]
    design: Floats
    """One where a run has a term, (R, T)."""
    weights: Floats
    """Each group once, (R,)."""

    @classmethod
    def of(
        cls,
        runs: Sequence[FitRun],
        errors: Floats,
        fitted: Callable[[FitRun], bool],
        architecture: Callable[[str], str],
    ) -> Mixed:
        of_chip = chip_terms(runs, fitted, architecture)
        each = [terms_of(run, fitted, of_chip[run.chip]) for run in runs]
        terms = tuple(sorted({term for found in each for term in found}))
        place = {term: number for number, term in enumerate(terms)}
        design = np.zeros((len(runs), len(terms)))
        for row, found in enumerate(each):
            design[row, [place[term] for term in found]] = 1.0
        return cls(tuple(runs), errors, terms, design, group_weights([run.group for run in runs]))

    def posterior(self, deviations: dict[str, float], left_out: Mask | None = None) -> tuple[Floats, Floats]:
        """Return mean and covariance of the terms, some runs left out."""
        kept = self.weights if left_out is None else self.weights * ~left_out
        prior = np.diag([deviations[kind] ** -2.0 for kind, _ in self.terms])
        mean, precision = np.zeros(len(self.terms)), prior
        for _ in range(REWEIGHTED):
            left = np.abs(self.errors + self.design @ mean)
            robust = np.minimum(1.0, HUBER * SCALE / np.maximum(left, 1e-12)) * (left < OTHER)
            weights = kept * robust / SCALE**2
            weighed = self.design * weights[:, np.newaxis]
            precision = weighed.T @ self.design + prior
            mean = np.linalg.solve(precision, -weighed.T @ self.errors)
        return mean, np.linalg.inv(precision)

    def told(self, mean: Floats, covariance: Floats, left_out: Mask | None = None) -> Mask:
        """Return which terms runs tell from nothing, some runs left out, (T,)."""
        kept = np.ones(len(self.runs), dtype=bool) if left_out is None else ~left_out
        groups = np.array(
            [
                len({run.group for run, here in zip(self.runs, column > 0, strict=True) if here})
                for column in (self.design * kept[:, np.newaxis]).T
            ]
        )
        shipped = np.array([kind in SHIPPED for kind, _ in self.terms])
        known = np.sqrt(np.diag(covariance))
        return np.asarray(shipped & (groups >= FEWEST) & (np.abs(mean) > np.maximum(known, SMALL)))

    def deviations(self) -> dict[str, float]:
        """Return the deviation of each kind of terms, by expectation-maximisation."""
        kinds = np.array([kind for kind, _ in self.terms])
        found = {kind: START[kind] for kind in sorted(set(kinds))}
        for _ in range(ROUNDS):
            mean, covariance = self.posterior(found)
            second = mean**2 + np.diag(covariance)
            after = {kind: max(_usual(second[kinds == kind]), LEAST) for kind in found}
            change = max(abs(after[kind] / found[kind] - 1.0) for kind in found)
            found = after
            if change < ENOUGH:
                break
        return found


def _usual(second: Floats) -> float:
    """Return the root of the mean of second moments, with those far beyond the others cut."""
    return float(np.sqrt(np.mean(np.minimum(second, OUTLYING * np.median(second)))))


@dataclass(frozen=True, slots=True)
class FittedEffects:
    model: Mixed
    spread: dict[str, float]
    """Deviation of each kind of terms."""
    effects: tuple[Effect, ...]

    def shifts(self, left_out: Mask | None = None) -> Floats:
        """Return what the effects add to the log-error of each run, some runs left out, (R,)."""
        mean, covariance = self.model.posterior(self.spread, left_out)
        told = self.model.told(mean, covariance, left_out)
        return np.asarray(self.model.design @ np.where(told, mean, 0.0))

    def shifts_without(self, labels: Sequence[str | None]) -> Floats:
        """Return the shift of each run without all that have its label; not a number without a label."""
        found = np.full(len(self.model.runs), np.nan)
        for label in sorted({label for label in labels if label is not None}):
            out = np.array([one == label for one in labels])
            found[out] = self.shifts(out)[out]
        return found


def fit_effects(
    runs: Sequence[FitRun],
    errors: Floats,
    fitted: Callable[[FitRun], bool],
    architecture: Callable[[str], str],
) -> FittedEffects:
    """Fit the terms to errors; told are those of two groups or more that runs tell from nothing.

    Parameters
    ----------
    runs : sequence of FitRun
        Measured runs, with the laboratory of each.
    errors : array
        ln(computed / measured) time of each without effects, (R,).
    fitted : callable
        Tells whether the figures were fitted on the chip of a run.
    architecture : callable
        Architecture of a chip.
    """
    model = Mixed.of(runs, errors, fitted, architecture)
    spread = model.deviations()
    mean, covariance = model.posterior(spread)
    known = np.sqrt(np.diag(covariance))
    effects, told = [], model.told(mean, covariance)
    for place, (kind, name) in enumerate(model.terms):
        own = [run for run, holds in zip(runs, model.design[:, place], strict=True) if holds]
        groups, places = len({run.group for run in own}), len({run.laboratory for run in own})
        if told[place]:
            effects.append(
                Effect(
                    kind,
                    name,
                    float(f"{np.exp(mean[place]):.3g}"),
                    float(f"{known[place]:.2g}"),
                    f"{len(own)} runs in {groups} groups of {places} "
                    + ("laboratory" if places == 1 else "laboratories"),
                )
            )
    order = {kind: number for number, kind in enumerate(SHIPPED)}
    effects.sort(key=lambda effect: (order[effect.kind], effect.name))
    return FittedEffects(model, spread, tuple(effects))
