r"""A hierarchical model of what the fitted figures leave: architecture, chip, software, family, laboratory.

The log-error of a run, computed time over measured, is

.. math:: e = -(u_{architecture} + u_{chip} + u_{software} + u_{family}) - d_{laboratory, software}
    - s_{laboratory, software, chip, family} + \varepsilon

Each term has a normal prior whose deviation is fitted to the runs (empirical Bayes by
expectation-maximisation), so that a term with few runs stays near zero. The terms :math:`u` hold for new
laboratories too, and become rows of data/effects.csv; the terms of a laboratory or one of its machines only
keep its errors out of them. Errors count as in the fit of the figures: each group once, and beyond two
scales linearly.

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
from app.estimating.regimes import FITTED_FAMILIES
from app.estimating.validation.run import group_weights
from tools.fitting.least_squares import HUBER, SCALE, on_ipu
from tools.fitting.runs import FitRun

Mask = npt.NDArray[np.bool_]
Term = tuple[str, str]
"""Kind of a term, and its name."""
SHIPPED = ("architecture", "chip", "software", "family")
START = {"architecture": 0.1, "chip": 0.15, "software": 0.15, "family": 0.15, "laboratory": 0.1, "site": 0.1}
"""Initial deviations."""
LEAST = 0.003
"""Least deviation of a kind of term."""
ROUNDS, REWEIGHTED = 30, 6
OUTLYING = 9.0
"""Largest second moment of a term, over the median."""
OTHER = 1.5
"""Log-error beyond which a run is ignored: it did something else than what is computed."""
FEWEST = 3
"""Fewest groups of runs of an effect."""
SMALL = 0.04
"""Smallest effect that is kept: about the noise between repeated runs."""
ENOUGH = 0.01
"""Relative change of the deviations that ends the search."""


def terms_of(run: FitRun, fitted: Callable[[FitRun], bool], of_chip: Sequence[Term]) -> list[Term]:
    """Return the terms of a run; fitted figures cover the chips and software they were fitted on."""
    stack = f"{run.laboratory} {run.profile}"
    terms = [("laboratory", stack), ("site", f"{stack} {run.chip} {run.family}")]
    if on_ipu(run) or (fitted(run) and run.rests_on_runs):
        return terms
    if not fitted(run):
        terms += of_chip
    if run.assumed:
        terms += [("software", name) for name in run.stack]
    if run.family not in FITTED_FAMILIES:
        terms.append(("family", run.family))
    return terms


def chip_terms(
    runs: Sequence[FitRun], fitted: Callable[[FitRun], bool], architecture: Callable[[str], str]
) -> dict[str, list[Term]]:
    """Return the terms of each chip: its architecture, and itself where that has several measured chips.

    An architecture that figures were fitted on has no term.
    """
    members: dict[str, set[str]] = {}
    for run in runs:
        members.setdefault(architecture(run.chip), set()).add(series(run.chip))
    fitted_architectures = {architecture(run.chip) for run in runs if fitted(run)}
    terms: dict[str, list[Term]] = {}
    for chip in {run.chip for run in runs}:
        name = architecture(chip)
        own = len(members[name]) > 1
        terms[chip] = [("architecture", name)] * (name not in fitted_architectures) + [
            ("chip", series(chip))
        ] * own
    return terms


def series(chip: str) -> str:
    """Return the identifier of a chip without its memory size.

    >>> series("h100-sxm-80gb"), series("mi300x"), series("tpu-v5p")
    ('h100-sxm', 'mi300x', 'tpu-v5p')
    """
    stem, _, last = chip.rpartition("-")
    return stem if last.endswith("gb") and stem else chip


@dataclass(frozen=True, slots=True)
class EffectDesign:
    """Runs with their errors, and the terms of these."""

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
    ) -> EffectDesign:
        of_chip = chip_terms(runs, fitted, architecture)
        terms_by_run = [terms_of(run, fitted, of_chip[run.chip]) for run in runs]
        terms = tuple(sorted({term for run_terms in terms_by_run for term in run_terms}))
        column = {term: number for number, term in enumerate(terms)}
        design = np.zeros((len(runs), len(terms)))
        for row, run_terms in enumerate(terms_by_run):
            design[row, [column[term] for term in run_terms]] = 1.0
        return cls(tuple(runs), errors, terms, design, group_weights([run.group for run in runs]))

    def posterior(self, deviations: dict[str, float], left_out: Mask | None = None) -> tuple[Floats, Floats]:
        """Return mean and covariance of the terms, some runs left out."""
        base_weights = self.weights if left_out is None else self.weights * ~left_out
        prior = np.diag([deviations[kind] ** -2.0 for kind, _ in self.terms])
        mean, precision = np.zeros(len(self.terms)), prior
        for _ in range(REWEIGHTED):
            residual = np.abs(self.errors + self.design @ mean)
            robust = np.minimum(1.0, HUBER * SCALE / np.maximum(residual, 1e-12)) * (residual < OTHER)
            weights = base_weights * robust / SCALE**2
            weighed = self.design * weights[:, np.newaxis]
            precision = weighed.T @ self.design + prior
            mean = np.linalg.solve(precision, -weighed.T @ self.errors)
        return mean, np.linalg.inv(precision)

    def significant(self, mean: Floats, covariance: Floats, left_out: Mask | None = None) -> Mask:
        """Return which terms differ significantly from zero, some runs left out, (T,)."""
        included = np.ones(len(self.runs), dtype=bool) if left_out is None else ~left_out
        groups = np.array(
            [
                len({run.group for run, has_term in zip(self.runs, column > 0, strict=True) if has_term})
                for column in (self.design * included[:, np.newaxis]).T
            ]
        )
        shipped = np.array([kind in SHIPPED for kind, _ in self.terms])
        deviation = np.sqrt(np.diag(covariance))
        return np.asarray(shipped & (groups >= FEWEST) & (np.abs(mean) > np.maximum(deviation, SMALL)))

    def deviations(self) -> dict[str, float]:
        """Return the deviation of each kind of term, by expectation-maximisation."""
        kinds = np.array([kind for kind, _ in self.terms])
        current = {kind: START[kind] for kind in sorted(set(kinds))}
        for _ in range(ROUNDS):
            mean, covariance = self.posterior(current)
            second = mean**2 + np.diag(covariance)
            after = {kind: max(_usual(second[kinds == kind]), LEAST) for kind in current}
            change = max(abs(after[kind] / current[kind] - 1.0) for kind in current)
            current = after
            if change < ENOUGH:
                break
        return current


def _usual(second: Floats) -> float:
    """Return the root of the mean of second moments, with outliers cut."""
    return float(np.sqrt(np.mean(np.minimum(second, OUTLYING * np.median(second)))))


@dataclass(frozen=True, slots=True)
class FittedEffects:
    model: EffectDesign
    spread: dict[str, float]
    """Deviation of each kind of terms."""
    effects: tuple[Effect, ...]

    def shifts(self, left_out: Mask | None = None) -> Floats:
        """Return what the effects add to the log-error of each run, some runs left out, (R,)."""
        mean, covariance = self.model.posterior(self.spread, left_out)
        certain = self.model.significant(mean, covariance, left_out)
        return np.asarray(self.model.design @ np.where(certain, mean, 0.0))

    def shifts_without(self, labels: Sequence[str | None]) -> Floats:
        """Return the shift of each run without all that have its label; not a number without a label."""
        shifts = np.full(len(self.model.runs), np.nan)
        for label in sorted({label for label in labels if label is not None}):
            out = np.array([run_label == label for run_label in labels])
            shifts[out] = self.shifts(out)[out]
        return shifts


def fit_effects(
    runs: Sequence[FitRun],
    errors: Floats,
    fitted: Callable[[FitRun], bool],
    architecture: Callable[[str], str],
) -> FittedEffects:
    """Fit the terms to ``errors``, ln(computed / measured) without effects, (R,); keep the significant ones.

    ``fitted`` is whether figures were fitted on the chip of a run, ``architecture`` that of a chip.
    """
    model = EffectDesign.of(runs, errors, fitted, architecture)
    spread = model.deviations()
    mean, covariance = model.posterior(spread)
    deviations = np.sqrt(np.diag(covariance))
    effects, certain = [], model.significant(mean, covariance)
    for index, (kind, name) in enumerate(model.terms):
        own = [run for run, holds in zip(runs, model.design[:, index], strict=True) if holds]
        groups, places = len({run.group for run in own}), len({run.laboratory for run in own})
        if certain[index]:
            effects.append(
                Effect(
                    kind,
                    name,
                    float(f"{np.exp(mean[index]):.3g}"),
                    float(f"{deviations[index]:.2g}"),
                    f"{len(own)} runs in {groups} groups of {places} "
                    + ("laboratory" if places == 1 else "laboratories"),
                )
            )
    order = {kind: number for number, kind in enumerate(SHIPPED)}
    effects.sort(key=lambda effect: (order[effect.kind], effect.name))
    return FittedEffects(model, spread, tuple(effects))
