"""Measured runs, ready to be predicted with other software figures than those of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from app.catalog.software import SoftwareProfile
from app.engine.plans import Plans
from app.engine.records import FloatLike, Floats
from app.errors import AppError
from app.sizing.context import SizingContext
from app.sizing.regimes import regimes
from app.sizing.scenario import Scenario
from app.sizing.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    Unsupported,
    number,
    read_case,
    without_answers,
)
from app.sizing.validation.predict import build, conversion

Key = tuple[str, str]
"""Profile that states a figure, and the figure."""


@dataclass(frozen=True, slots=True)
class FitRun:
    """One measured run, ready to be predicted."""

    id: str
    group: str
    family: str
    chip: str
    profile: str
    devices: int
    regimes: tuple[str, ...]
    keys: tuple[Key, ...]
    """Fitted figures the prediction depends on."""
    predict: Callable[[Mapping[str, Floats]], Floats]
    """Logarithm of the predicted time over the measured one, from samples of the figures in ``keys``."""


def free_keys(profile: SoftwareProfile) -> tuple[Key, ...]:
    """Return the fitted figures that a profile uses, by the profile that states them."""
    return tuple(
        (figure.profile, name)
        for name, figure in sorted(profile.figures.items())
        if figure.status == "fitted"
    )


def runs_of(rows: Sequence[Mapping[str, str]], context: SizingContext) -> list[FitRun]:
    """Return the measured throughputs and steps that can be predicted."""
    found = (run_of(row, context) for row in rows)
    return [run for run in found if run is not None]


def run_of(row: Mapping[str, str], context: SizingContext) -> FitRun | None:
    """Return a row of measured.csv as a run; None where it has no rate or cannot be predicted."""
    measured = number(row.get("value", ""))
    if measured is None or measured <= 0 or row.get("metric") not in THROUGHPUT:
        return None
    try:
        case = read_case(without_answers(row), context.rules)
        if case.profile is None:
            return None
        profile = context.software.profile(case.profile)
        scenario, _, plans = build(case, context, profile)
    except (Unsupported, AppError):
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
    held: dict[str, FloatLike] = dict(scenario.overrides)
    for name, samples in figures.items():
        known = scenario.software.figures[name].value
        # A rule may have scaled a figure for the machine of the run; the scale stays.
        held[name] = samples * (held[name] / known) if name in held else samples
    changed = replace(scenario, overrides=held)
    value = np.ravel(conversion(case, changed, plans, context)(changed.step(plans).total))
    return np.asarray(sign * (np.log(value) - measured))


def group_weights(runs: Sequence[FitRun]) -> Floats:
    """Return weights with which each group of runs counts once."""
    sizes: dict[str, int] = {}
    for run in runs:
        sizes[run.group] = sizes.get(run.group, 0) + 1
    return np.array([1.0 / sizes[run.group] for run in runs])
