"""Errors of runs that the fit did not see: left out by group, by software profile, and by scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from app.engine.records import Floats
from app.sizing.context import SizingContext
from app.sizing.families import CORE_FAMILIES, IPU_SERIES
from app.sizing.fitting.least_squares import Solution, fit, predicted
from app.sizing.fitting.runs import FitRun, group_weights, run_of
from app.sizing.validation.report import weighted_quantile

SMALL = 8
"""Devices up to which a run counts as small: one machine."""


@dataclass(frozen=True, slots=True)
class LogErrors:
    """Log-errors of some runs under one way to leave runs out; not a number where there is none."""

    name: str
    runs: tuple[FitRun, ...]
    values: Floats

    def part(self, chosen: Callable[[FitRun], bool]) -> Quantiles:
        """Return the quantiles over the runs that a condition holds for."""
        kept = [
            (run, value)
            for run, value in zip(self.runs, self.values, strict=True)
            if chosen(run) and np.isfinite(value)
        ]
        runs = [run for run, _ in kept]
        if not runs:
            return Quantiles(0, 0, None, None, None)
        errors, weights = np.array([value for _, value in kept]), group_weights(runs)
        return Quantiles(
            runs=len(runs),
            groups=len({run.group for run in runs}),
            median=weighted_quantile(np.abs(errors), weights, 0.5),
            ninetieth=weighted_quantile(np.abs(errors), weights, 0.9),
            bias=float(np.average(errors, weights=weights)),
        )


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Median and 90th percentile of the absolute log-error, groups counted once, and the mean error."""

    runs: int
    groups: int
    median: float | None
    ninetieth: float | None
    bias: float | None


def core(run: FitRun) -> bool:
    """Return True for a run of the core families on a GPU."""
    return run.family in CORE_FAMILIES and run.chip not in IPU_SERIES


def on_ipu(run: FitRun) -> bool:
    """Return True for a run on IPUs."""
    return run.chip in IPU_SERIES


def large(run: FitRun) -> bool:
    """Return True for a run of a core family on more than one machine of GPUs."""
    return core(run) and run.devices > SMALL


def in_sample(solution: Solution) -> LogErrors:
    """Return the errors of the fit itself."""
    return LogErrors("in sample", solution.runs, solution.errors)


def by_group(solution: Solution) -> LogErrors:
    """Return the error of each run when the runs of its group are left out."""
    names = np.array([run.group for run in solution.runs])
    values = np.empty(len(names))
    for name in dict.fromkeys(names):
        out = names == name
        point = solution.without(out)
        for place in np.flatnonzero(out):
            values[place] = predicted(solution.runs[place], solution.figures, point)[0]
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

    The profile and all that extends it are taken out of the rules and its runs out of the fit; the
    run then gets what the rules say of the rest of its text, in most cases a class, and is answered
    as a run of that. IPU runs are left aside: their software is one vendor's.
    """
    owners = {run.profile: _owner(run.profile, context) for run in solution.runs}
    names = np.array([owners[run.profile] for run in solution.runs])
    values, runs = np.full(len(names), np.nan), list(solution.runs)
    for name in sorted({owners[run.profile] for run in solution.runs if not on_ipu(run)}):
        out = names == name
        point = solution.without(out)
        unknown = without_profile(context, name)
        for place in np.flatnonzero(out):
            run = run_of(rows[solution.runs[place].id], unknown)
            if run is not None:
                runs[place], values[place] = run, predicted(run, solution.figures, point)[0]
    return LogErrors("software unknown", tuple(runs), values)


def without_profile(context: SizingContext, name: str) -> SizingContext:
    """Return a context whose rules know nothing of a profile and of what extends it."""
    kept = tuple(rule for rule in context.rules.software if _owner(rule.result["profile"], context) != name)
    return replace(context, rules=replace(context.rules, software=kept))


def _owner(profile: str, context: SizingContext) -> str:
    """Return the first of a line of profiles that is not a class."""
    for parent in context.software.profiles[profile].extends:
        if not context.software.profiles[parent].is_preset:
            return _owner(parent, context)
    return profile


def worth(solution: Solution, errors: LogErrors) -> dict[tuple[str, str], float]:
    """Return by how much the left-out error grows when a figure is tied to what it is expected like.

    In the linearised model, with all others refitted: the growth of the absolute errors of all runs, groups
    counted once, over the number of groups that depend on the figure. One that is not above zero did
    not pay for itself out of sample.
    """
    weights = group_weights(solution.runs)
    found = {}
    for number, key in enumerate(solution.figures.keys):
        touched = solution.slopes[:, number] != 0
        if np.any(touched):
            tied = errors.values + solution.slopes @ (solution.tied(number) - solution.point)
            growth = weights * (np.abs(tied) - np.abs(errors.values))
            found[key] = float(np.sum(growth) / np.sum(weights[touched]))
    return found
