"""Fit the software profiles to measured runs, held near physical priors.

Every fitted figure of data/software.csv is a free number; what a profile inherits or what is
marked assumed stays. Figures that share no run are fitted apart. The objective is

    Σ over groups (mean of ρ(ln(predicted / measured) / s)) + w Σ over figures ((θ − μ) / σ)²

with Huber's ρ, the prior μ from the class of the profile, σ from data/software_priors.csv, and
w one: a prior counts as much as a group. Weaker priors fit no better out of sample and predict
large machines from small ones worse. Minimised by damped Gauss-Newton steps
with one evaluation of all perturbed figures at once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from app.catalog.software import ABSOLUTE, SoftwareCatalog, SoftwareProfile
from app.engine.plans import Plans
from app.engine.records import FloatLike, Floats
from app.errors import AppError
from app.sizing.context import SizingContext
from app.sizing.scenario import Scenario
from app.sizing.validation.cases import Case, Unsupported, number, read_case
from app.sizing.validation.predict import build, conversion
from app.sizing.validation.report import weighted_quantile

SCALE = 0.05
"""Log-error that counts as one: about twice the noise between repeated runs."""

HUBER = 2.0
"""Errors beyond this many scales count linearly: a run that something unknown slowed."""

PRIOR_WEIGHT = 1.0
STEPS = 12
LEAST_DEVIATION = 0.01
"""No figure is known better than to one per cent, however many runs agree."""

STEPS_NEAR = 4
"""Steps where few runs are left out, so that the answer lies near that of all."""

FEW = 4
"""A fold with less than one run in so many counts as few."""

NUDGE = 0.02
"""Perturbation of a figure for its derivative, in its own coordinates."""

FITTED_FAMILIES = frozenset({"gpt", "llama", "bert", "resnet50", "resnext101", "efficientnet", "t5"})
"""Families whose operators are known well enough that a misfit tells something of the software."""

SAME_RUN = "gpu-"
"""Start of the names of class presets, which are set by hand and not fitted to single runs."""

Key = tuple[str, str]
"""Profile that states a figure, and the figure."""


@dataclass(frozen=True, slots=True)
class Prior:
    """How far a figure may plausibly be from that of its class."""

    deviation: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run, ready to be predicted with other figures."""

    id: str
    group: str
    profile: str
    devices: int
    keys: tuple[Key, ...]
    predict: Callable[[Mapping[str, Floats]], Floats]
    """Logarithm of the predicted value from samples of the figures in ``keys``. [-]"""
    sign: float
    """1 where more time means a larger value, else −1. [-]"""
    measured: float
    """Logarithm of the measured value. [-]"""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The result for one figure."""

    value: float
    deviation: float
    runs: int
    groups: int


def load_priors(directory: Path) -> Mapping[str, Prior]:
    """Load data/software_priors.csv."""
    with (directory / "software_priors.csv").open(encoding="utf-8", newline="") as handle:
        return {
            row["parameter"]: Prior(float(row["deviation"]), float(row["least"]), float(row["most"]))
            for row in csv.DictReader(handle)
        }


def free_keys(profile: SoftwareProfile) -> tuple[Key, ...]:
    """Return the fitted figures that a profile uses, by the profile that states them."""
    return tuple(
        (figure.profile, name)
        for name, figure in sorted(profile.figures.items())
        if figure.status == "fitted" and not figure.profile.startswith(SAME_RUN)
    )


def runs_of(rows: Sequence[Mapping[str, str]], context: SizingContext) -> list[Run]:
    """Return the measured throughputs and steps that can be predicted, as runs to fit.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of measured.csv. [-]
    context : SizingContext
        Catalogue, profiles and rules. [-]
    """
    found = []
    for row in rows:
        measured = number(row.get("value", ""))
        if measured is None or measured <= 0 or row.get("metric") in {"time_to_train_min", "gpu_hours"}:
            continue
        if row.get("family") not in FITTED_FAMILIES:
            continue
        try:
            case = read_case({name: value for name, value in row.items() if name != "value"}, context.rules)
            if case.profile is None:
                continue
            profile = context.software.profile(case.profile)
            keys = free_keys(profile)
            scenario, _, plans = build(case, context, profile)
        except (Unsupported, AppError):
            continue

        found.append(
            Run(
                id=case.id,
                group=case.group,
                profile=case.profile,
                devices=case.devices,
                keys=keys,
                predict=partial(_predict, case, scenario, plans, context),
                sign=1.0 if case.metric == "step_time_s" else -1.0,
                measured=float(np.log(measured)),
            )
        )
    return found


def _predict(
    case: Case, scenario: Scenario, plans: Plans, context: SizingContext, figures: Mapping[str, Floats]
) -> Floats:
    """Return the logarithm of the predicted value at samples of some software figures."""
    held: dict[str, FloatLike] = dict(scenario.overrides)
    for name, samples in figures.items():
        known = scenario.software.figures[name].value
        # A rule may have scaled a figure for the machine of the run; the scale stays.
        held[name] = samples * (held[name] / known) if name in held else samples
    changed = replace(scenario, overrides=held)
    step = changed.step(plans).total
    return np.asarray(np.log(np.ravel(conversion(case, changed, plans, context)(step))))


class Figures:
    """Coordinates of a set of figures: logarithms, or the plain value for shares."""

    def __init__(self, keys: Sequence[Key], software: SoftwareCatalog, priors: Mapping[str, Prior]) -> None:
        self.keys = tuple(keys)
        self.priors = [priors[name] for _, name in self.keys]
        self.plain = np.array([name in ABSOLUTE for _, name in self.keys])
        self.start = self.coordinates(
            [software.profiles[owner].figures[name].value for owner, name in self.keys]
        )
        self.prior = self.coordinates([_class_value(software, owner, name) for owner, name in self.keys])
        self.width = np.array([prior.deviation for prior in self.priors])
        self.least = self.coordinates([prior.least for prior in self.priors])
        self.most = self.coordinates([prior.most for prior in self.priors])

    def coordinates(self, values: Sequence[float]) -> Floats:
        """Return values as coordinates."""
        numbers = np.asarray(values, dtype=float)
        return np.where(self.plain, numbers, np.log(np.maximum(numbers, 1e-12)))

    def values(self, coordinates: Floats) -> Floats:
        """Return coordinates, (…, K), as values."""
        return np.where(self.plain, coordinates, np.exp(np.where(self.plain, 0.0, coordinates)))

    def clipped(self, coordinates: Floats) -> Floats:
        """Return coordinates within what is plausible at all."""
        return np.clip(coordinates, self.least, self.most)


def _class_value(software: SoftwareCatalog, owner: str, name: str) -> float:
    """Return the figure of the class of a profile; its own where the class has none."""
    profile = software.profiles[owner]
    preset = software.profiles.get(f"gpu-{profile.preset}") if profile.kind == "gpu" else None
    base = preset or software.profiles["ipu-base"]
    figure = base.figures.get(name)
    stated = figure.value if figure is not None else 0.0
    return stated if stated > 0 else profile.figures[name].value


def log_errors(runs: Sequence[Run], figures: Figures, coordinates: Floats) -> Floats:
    """Return ln(predicted / measured time) of each run, (R, S), at samples of coordinates, (S, K)."""
    values = figures.values(np.atleast_2d(coordinates))
    place = {key: column for column, key in enumerate(figures.keys)}
    errors = np.empty((len(runs), values.shape[0]))
    for row, run in enumerate(runs):
        chosen = {name: values[:, place[(owner, name)]] for owner, name in run.keys if (owner, name) in place}
        errors[row] = run.sign * (run.predict(chosen) - run.measured)
    return errors


def fit(
    runs: Sequence[Run], figures: Figures, start: Floats | None = None, steps: int = STEPS
) -> tuple[Floats, Floats]:
    """Return the best coordinates of a set of figures and the curvature of the objective there.

    Parameters
    ----------
    runs : sequence of Run
        Measured runs. [-]
    figures : Figures
        What is free. [-]
    start : array, optional
        Coordinates to start from; those of the figures as they are if left out. [-]
    steps : int
        Gauss-Newton steps at most. [-]
    """
    weights = group_weights(runs)
    point = figures.clipped(figures.start if start is None else start)
    count = len(figures.keys)
    damping = 1e-3
    step = np.eye(count) * NUDGE
    best, curvature = np.inf, np.eye(count)
    for _ in range(steps):
        samples = np.vstack([point, figures.clipped(point + step), figures.clipped(point - step)])
        errors = log_errors(runs, figures, samples)
        moved = np.diagonal(samples[1 : count + 1] - samples[count + 1 :])
        slope = (errors[:, 1 : count + 1] - errors[:, count + 1 :]) / np.where(moved == 0, 1.0, moved)
        residual = errors[:, 0] / SCALE
        robust = np.minimum(1.0, HUBER / np.maximum(np.abs(residual), 1e-12))
        scaled = slope / SCALE
        weighted = scaled * (weights * robust)[:, np.newaxis]
        pull = PRIOR_WEIGHT / figures.width**2
        gradient = weighted.T @ residual + pull * (point - figures.prior)
        curvature = weighted.T @ scaled + np.diag(pull)
        objective = _objective(residual, weights, point, figures)
        damping = damping * 0.5 if objective < best else damping * 4.0
        best = min(best, objective)
        change = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), -gradient)
        trial = figures.clipped(point + change)
        after = _objective(log_errors(runs, figures, trial)[:, 0] / SCALE, weights, trial, figures)
        if after <= objective:
            point = trial
        if np.max(np.abs(change)) < 1e-5:
            break
    return point, curvature


def _objective(residual: Floats, weights: Floats, point: Floats, figures: Figures) -> float:
    size = np.abs(residual)
    huber = np.where(size <= HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
    prior = PRIOR_WEIGHT * ((point - figures.prior) / figures.width) ** 2
    return float(np.sum(weights * huber) + 0.5 * np.sum(prior))


def group_weights(runs: Sequence[Run]) -> Floats:
    """Return weights with which each group counts once."""
    sizes: dict[str, int] = {}
    for run in runs:
        sizes[run.group] = sizes.get(run.group, 0) + 1
    return np.array([1.0 / sizes[run.group] for run in runs])


def components(runs: Sequence[Run]) -> list[tuple[tuple[Key, ...], list[Run]]]:
    """Return sets of figures that share runs, each with its runs."""
    parent: dict[Key, Key] = {}

    def root(key: Key) -> Key:
        while parent[key] != key:
            key = parent[key]
        return key

    for run in runs:
        for key in run.keys:
            parent.setdefault(key, key)
            parent[root(key)] = root(run.keys[0])
    sets: dict[Key, list[Key]] = {}
    for key in parent:
        sets.setdefault(root(key), []).append(key)
    return [
        (tuple(sorted(keys)), [run for run in runs if run.keys and root(run.keys[0]) == head])
        for head, keys in sorted(sets.items())
    ]


def fit_all(runs: Sequence[Run], software: SoftwareCatalog, priors: Mapping[str, Prior]) -> dict[Key, Fitted]:
    """Return every figure that runs tell something about, fitted."""
    found: dict[Key, Fitted] = {}
    for keys, members in components(runs):
        figures = Figures(keys, software, priors)
        point, curvature = fit(members, figures)
        values = figures.values(point)
        groups = len({run.group for run in members})
        for place, key in enumerate(keys):
            used = [run for run in members if key in run.keys]
            found[key] = Fitted(
                value=float(f"{values[place]:.4g}"),
                deviation=float(f"{max(curvature[place, place] ** -0.5, LEAST_DEVIATION):.2g}"),
                runs=len(used),
                groups=min(groups, len({run.group for run in used})),
            )
    return found


def refitted(text: str, fitted: Mapping[Key, Fitted]) -> str:
    """Return the text of software.csv with the fitted values, deviations and the runs they rest on.

    The deviation of a figure is the one it has while the others of its set rest: figures that make
    up for one another are drawn one by one, and their joint deviation would count twice.

    Parameters
    ----------
    text : str
        The file as it is. [-]
    fitted : mapping
        Result by profile and figure. [-]
    """
    reader = csv.DictReader(io.StringIO(text))
    out = io.StringIO()
    writer = csv.DictWriter(out, reader.fieldnames or [], lineterminator="\n")
    writer.writeheader()
    for row in reader:
        found = fitted.get((row["profile"], row["parameter"]))
        if found is not None and row["status"] == "fitted":
            row["value"], row["deviation"] = f"{found.value:g}", f"{found.deviation:g}"
            row["note"] = f"{found.runs} runs in {found.groups} groups"
        writer.writerow(row)
    return out.getvalue()


def held_out_errors(
    runs: Sequence[Run],
    software: SoftwareCatalog,
    priors: Mapping[str, Prior],
    folds: Callable[[Run], str],
) -> dict[str, float]:
    """Return the log-error of each run when all runs of its fold are left out of the fit.

    Parameters
    ----------
    runs : sequence of Run
        Measured runs. [-]
    software : SoftwareCatalog
        Profiles. [-]
    priors : mapping
        Priors. [-]
    folds : callable
        Name of the fold of a run. [-]
    """
    errors: dict[str, float] = {}
    for keys, members in components(runs):
        figures = Figures(keys, software, priors)
        whole = fit(members, figures)[0]
        for name in sorted({folds(run) for run in members}):
            out = [run for run in members if folds(run) == name]
            kept = [run for run in members if folds(run) != name]
            few = len(out) * FEW < len(members)
            near, steps = (whole, STEPS_NEAR) if few else (figures.prior, STEPS)
            point = fit(kept, figures, near, steps)[0] if kept else figures.prior
            for run, error in zip(out, log_errors(out, figures, point)[:, 0], strict=True):
                errors[run.id] = float(error)
    for run in runs:
        if not run.keys:
            errors[run.id] = float(run.sign * (run.predict({})[0] - run.measured))
    return errors


def held_out_quantiles(
    runs: Sequence[Run],
    software: SoftwareCatalog,
    priors: Mapping[str, Prior],
    folds: Callable[[Run], str],
) -> tuple[float, float]:
    """Return median and 90th percentile of the absolute log-error with runs left out, groups once each."""
    errors = held_out_errors(runs, software, priors, folds)
    sizes = np.abs([errors[run.id] for run in runs])
    weights = group_weights(runs)
    return weighted_quantile(sizes, weights, 0.5), weighted_quantile(sizes, weights, 0.9)


FOLDS: Mapping[str, Callable[[Run], str]] = {
    "group": lambda run: run.group,
    "profile": lambda run: run.profile,
    "scale": lambda run: "more than eight devices" if run.devices > SMALL else "up to eight devices",
}
"""Ways to leave runs out: one group, one profile, or all machines beyond eight devices."""

SMALL = 8
