"""The free figures of the software profiles: coordinates, bounds and what is expected of each.

A profile is expected to be like what it extends. Where that figure is fitted too, the expectation
moves with it: the figure of a class is then the middle of its profiles, and a profile with few runs
stays near its class. The first of a line is expected at the physical value of data/software_priors.csv.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from app.catalog.software import ABSOLUTE, SoftwareCatalog, SoftwareProfile
from app.engine.plans import Plans
from app.engine.records import FloatLike, Floats
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.regimes import regimes
from app.estimating.scenario import Scenario
from app.estimating.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    UnsupportedCase,
    number,
    read_case,
    without_answers,
)
from app.estimating.validation.predict import build, conversion

Key = tuple[str, str]
"""Profile that states a figure, and the figure."""


@dataclass(frozen=True, slots=True)
class FitRun:
    id: str
    group: str
    family: str
    chip: str
    profile: str
    devices: int
    regimes: tuple[str, ...]
    laboratory: str
    """Who measured it: only says what is left out together and how far laboratories scatter."""
    assumed: bool
    """True where its software is named, and no figure of it was fitted."""
    rests_on_runs: bool
    """True where a figure of its software was fitted."""
    stack: tuple[str, ...]
    """Its software profile and what that extends, without classes."""
    keys: tuple[Key, ...]
    """Fitted figures the prediction depends on."""
    predict: Callable[[Mapping[str, Floats]], Floats]
    """Logarithm of the predicted time over the measured one, from samples of the figures in ``keys``."""


SUBMITTER = re.compile(r"submitter ([^,;]+)")


def laboratory_of(source: str) -> str:
    """Return who measured a run: the submitter of a benchmark, else the owner of the publication.

    >>> laboratory_of("MLCommons, MLPerf Training v2.0, submitter Dell, system XE8545; mlcommons/results")
    'Dell'
    >>> laboratory_of("mosaicml/llm-foundry scripts/train/benchmarking/README.md")
    'mosaicml'
    """
    match = SUBMITTER.search(source)
    if match is not None:
        return match.group(1).strip()
    return re.split(r"[/,:@ ]", source.strip())[0]


def free_keys(profile: SoftwareProfile) -> tuple[Key, ...]:
    """Return the fitted figures of a profile, by the profile that states them."""
    return tuple(
        (figure.profile, name)
        for name, figure in sorted(profile.figures.items())
        if figure.status == "fitted"
    )


def runs_of(rows: Sequence[Mapping[str, str]], context: SizingContext) -> list[FitRun]:
    """Return the measured throughputs and steps that can be predicted."""
    runs = (run_of(row, context) for row in rows)
    return [run for run in runs if run is not None]


def run_of(row: Mapping[str, str], context: SizingContext) -> FitRun | None:
    """Return a row of measured.csv as a run; None without a rate or a prediction."""
    measured = number(row.get("value", ""))
    if measured is None or measured <= 0 or row.get("metric") not in THROUGHPUT:
        return None
    try:
        case = read_case(without_answers(row), context.rules)
        if case.profile is None:
            return None
        profile = replace(context.software.profile(case.profile), presumed=case.presumed)
        scenario, _, plans = build(case, context, profile)
    except (UnsupportedCase, AppError):
        return None
    sign = 1.0 if case.metric == "step_time_s" else -1.0
    return FitRun(
        id=case.id,
        group=case.group,
        family=case.family,
        chip=case.chip,
        profile=case.profile,
        devices=case.devices,
        regimes=tuple(regimes(scenario, plans, case.family, context.measured)),
        laboratory=laboratory_of(row.get("source", "")),
        rests_on_runs=profile.rests_on_runs,
        assumed=not profile.is_preset and not profile.rests_on_runs,
        stack=(
            profile.id,
            *(name for name in profile.extends if not context.software.profiles[name].is_preset),
        ),
        keys=free_keys(profile),
        predict=partial(_log_error, case, scenario, plans, context, sign, float(np.log(measured))),
    )


def _log_error(
    case: MeasurementCase,
    scenario: Scenario,
    plans: Plans,
    context: SizingContext,
    sign: float,
    measured: float,
    figures: Mapping[str, Floats],
) -> Floats:
    overrides: dict[str, FloatLike] = dict(scenario.overrides)
    for name, samples in figures.items():
        stated = scenario.software.figures[name].value
        # A rule may have scaled a figure for the machine of the run; the scale stays.
        overrides[name] = samples * (overrides[name] / stated) if name in overrides else samples
    changed = replace(scenario, overrides=overrides)
    value = np.ravel(conversion(case, changed, plans, context)(changed.step(plans).total))
    return np.asarray(sign * (np.log(value) - measured))


SMALLEST = 1e-12


class Figures:
    """Coordinates of the free figures: logarithms, or plain values of shares."""

    def __init__(self, software: SoftwareCatalog, keys: Sequence[Key]) -> None:
        self.keys = tuple(sorted(_with_ancestors(software, keys)))
        self.place = {key: number for number, key in enumerate(self.keys)}
        names = [name for _, name in self.keys]
        priors = software.ranges
        self.plain = np.array([name in ABSOLUTE for name in names], dtype=bool)
        self.width = np.array([priors[name].deviation for name in names])
        self.least = self.coordinates([priors[name].least for name in names])
        self.most = self.coordinates([priors[name].most for name in names])
        expected, parents = [], []
        for key in self.keys:
            above = _above(software, key)
            parents.append(self.place.get(above, -1) if above is not None else -1)
            expected.append(_expected(software, key, above))
        self.parents = np.array(parents, dtype=int)
        self.expected = self.coordinates(expected)

    def coordinates(self, values: Sequence[float]) -> Floats:
        numbers = np.asarray(values, dtype=float)
        return np.where(self.plain, numbers, np.log(np.maximum(numbers, SMALLEST)))

    def values(self, coordinates: Floats) -> Floats:
        return np.where(self.plain, coordinates, np.exp(np.where(self.plain, 0.0, coordinates)))

    def clipped(self, coordinates: Floats) -> Floats:
        """Return coordinates within their plausible bounds."""
        return np.clip(coordinates, self.least, self.most)

    @property
    def pulls(self) -> Floats:
        """Rows of (K, K): each figure minus its parent, in deviations."""
        rows = np.eye(len(self.keys))
        for index, parent in enumerate(self.parents):
            if parent >= 0:
                rows[index, parent] -= 1.0
        return np.asarray(rows / self.width[:, np.newaxis])

    def distances(self, coordinates: Floats) -> Floats:
        """Return the distance of each figure from its expectation, in deviations."""
        fixed = np.where(self.parents >= 0, 0.0, self.expected) / self.width
        return np.asarray(self.pulls @ coordinates - fixed)

    def start(self) -> Floats:
        """Return the expectation of every figure, that of the parent where it is free."""
        point = self.expected.copy()
        for _ in self.keys:
            point = np.where(self.parents >= 0, point[self.parents], point)
        return self.clipped(point)


def _with_ancestors(software: SoftwareCatalog, keys: Sequence[Key]) -> set[Key]:
    ancestors: set[Key] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        ancestors.add(key)
        above = _above(software, key)
        if above is not None and software.profiles[above[0]].figures[above[1]].status == "fitted":
            waiting.append(above)
    return ancestors


def _above(software: SoftwareCatalog, key: Key) -> Key | None:
    """Return the figure that the profile inherits from what it extends."""
    owner, name = key
    inherited = None
    for parent in software.profiles[owner].extends:
        figure = software.profiles[parent].figures.get(name)
        inherited = (figure.profile, name) if figure is not None else inherited
    return inherited


def _expected(software: SoftwareCatalog, key: Key, above: Key | None) -> float:
    """Return the inherited figure, or the prior where it is missing or 0."""
    stated = software.profiles[above[0]].figures[key[1]].value if above is not None else 0.0
    return stated if stated > 0 else software.ranges[key[1]].value
