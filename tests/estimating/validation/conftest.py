"""What calibrating is worth: predict large measured runs of a code from three small ones.

Every profile is left out in turn. Its runs are predicted with the class preset that the rules
choose for software they do not know; then three of its runs on at most eight devices calibrate
that preset, and its runs on 64 devices and more are predicted again. Which three is decided by
their configuration alone; no answer of a predicted run is read before it is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.catalog.software import SoftwareProfile
from app.engine.records import FloatLike, Floats
from app.errors import AppError
from app.estimating.calibrated import MeasuredStep, ProfileFit, fit_profile
from app.estimating.context import SizingContext
from app.estimating.ranges import common_normals
from app.estimating.regimes import regimes
from app.estimating.validation.cases import (
    THROUGHPUT,
    MeasurementCase,
    UnsupportedCase,
    number,
    read_case,
    without_answers,
)
from app.estimating.validation.predict import build, conversion

RUNS = 3
"""Measured runs that calibrate."""

SMALL = 8

LARGE = 64
"""Devices at most of a run that calibrates, and at least of one that is predicted."""

NETWORK = "network_efficiency"

Configuration = tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class PredictedRun:
    """A run that was left out, predicted before and after."""

    id: str
    devices: int
    before: float
    """ln(predicted / measured time) with the class preset."""
    after: float
    """The same with the calibrated profile."""
    spread: float
    """Log-deviation that the posterior of figures and offset makes."""


@dataclass(frozen=True, slots=True)
class HoldOutErrors:
    """One code: a software text on a family and a chip, with its profile left out."""

    profile: str
    software: str
    family: str
    chip: str
    preset: str
    calibrated_with: tuple[str, ...]
    runs: tuple[PredictedRun, ...]

    @property
    def before(self) -> float:
        """Median absolute log-error with the class preset."""
        return float(np.median([abs(run.before) for run in self.runs]))

    @property
    def after(self) -> float:
        """Median absolute log-error with the calibrated profile."""
        return float(np.median([abs(run.after) for run in self.runs]))


def check_calibration(
    rows: Sequence[Mapping[str, str]], context: SizingContext, *, least: int = LARGE, runs: int = RUNS
) -> list[HoldOutErrors]:
    """Return every code that has enough small runs and a large one, predicted before and after."""
    codes: dict[tuple[str, str, str, str], dict[Configuration, tuple[MeasurementCase, float]]] = {}
    for row in rows:
        measured = number(row.get("value", ""))
        if row.get("metric") not in THROUGHPUT or not measured or row.get("confidence") == "memory":
            continue
        try:
            case = read_case(without_answers(row), context.rules)
        except UnsupportedCase:
            continue
        # A rate that counts evaluation is not what somebody measures who times a few steps.
        if case.profile is None or case.includes_evaluation:
            continue
        key = (case.profile, case.software, case.family, case.chip)
        codes.setdefault(key, {}).setdefault(configuration(case), (case, measured))
    found = []
    for key, cases in sorted(codes.items()):
        ordered = [cases[one] for one in sorted(cases)]
        preset = unknown_software(ordered[0][0], context)
        if context.software.profile(key[0]).is_preset or preset is None:
            continue
        one = _left_out(key, preset, ordered, context, least, runs)
        if one is not None:
            found.append(one)
    return found


def medians(codes: Sequence[HoldOutErrors]) -> tuple[float, float]:
    """Return the median absolute log-error of all runs before and after."""
    runs = [run for code in codes for run in code.runs]
    return (
        float(np.median([abs(run.before) for run in runs])),
        float(np.median([abs(run.after) for run in runs])),
    )


def residual_deviation(codes: Sequence[HoldOutErrors]) -> float:
    """Return the log-deviation that explains what the posterior's own spread leaves unexplained."""
    variances = [np.mean([run.after**2 - run.spread**2 for run in code.runs]) for code in codes]
    return float(np.sqrt(max(float(np.mean(variances)), 0.0)))


def configuration(case: MeasurementCase) -> Configuration:
    """Return what tells two runs of one code apart, devices first."""
    sizes = (case.seq_len, case.image_size, case.global_batch, case.micro_batch)
    return (case.devices, case.model, case.precision, *(float(size or 0.0) for size in sizes))


def unknown_software(case: MeasurementCase, context: SizingContext) -> SoftwareProfile | None:
    """Return the class preset of a run whose software text no rule knows; None where it has none."""
    name = context.rules.usual(case.family, case.chip)
    profile = None if name is None else context.software.profile(name)
    return profile if profile is not None and profile.is_preset else None


def _left_out(
    key: tuple[str, str, str, str],
    preset: SoftwareProfile,
    cases: Sequence[tuple[MeasurementCase, float]],
    context: SizingContext,
    least: int,
    runs: int,
) -> HoldOutErrors | None:
    small, large = [], []
    for case, measured in cases:
        try:
            step = measured_step(case, measured, preset, context)
        except (UnsupportedCase, AppError):
            continue
        if case.devices <= SMALL:
            small.append((case, step))
        elif case.devices >= least:
            large.append((case, step))
    if len(small) < runs:
        return None
    places = sorted({round(place) for place in np.linspace(0, len(small) - 1, runs)})
    chosen = [small[place] for place in places]
    # What a small run was not used for is predicted too, where small ones are asked about.
    large += [one for place, one in enumerate(small) if place not in places and one[0].devices >= least]
    if not large:
        return None
    fit = fit_profile(
        "calibrated",
        preset.title,
        preset,
        context.software.ranges,
        [step for _, step in chosen],
        context.residuals,
        target=large[0][1].regimes,
        family=key[2],
        chips=[key[3]],
    )
    return HoldOutErrors(
        *key,
        preset=preset.id,
        calibrated_with=tuple(case.id for case, _ in chosen),
        runs=tuple(_predicted(case, step, preset, fit) for case, step in large),
    )


def _predicted(
    case: MeasurementCase, step: MeasuredStep, preset: SoftwareProfile, fit: ProfileFit
) -> PredictedRun:
    normals = common_normals()
    before = float(step.predict(preset, {})[0])
    after = float(step.predict(fit.profile, {})[0])
    spread = float(np.std(step.predict(fit.profile, normals)))
    return PredictedRun(case.id, case.devices, before - step.measured, after - step.measured, spread)


def measured_step(
    case: MeasurementCase, measured: float, profile: SoftwareProfile, context: SizingContext
) -> MeasuredStep:
    """Return a measured run, ready to be predicted with other figures."""
    scenario, _, plans = build(case, context, profile)
    names = regimes(scenario, plans, case.family, context.measured)
    sign = 1.0 if case.metric == "step_time_s" else -1.0
    network = scenario.overrides.get(NETWORK)
    # A rule may have scaled a figure for the network of the run; the scale stays.
    scale = None if network is None else network / profile.value(NETWORK)

    def predict(changed: SoftwareProfile, normals: Mapping[str, Floats]) -> Floats:
        overrides: dict[str, FloatLike] = dict(scenario.overrides)
        if scale is not None:
            overrides[NETWORK] = scale * changed.value(NETWORK, changed.correlated(normals))
        case_of = replace(scenario, software=changed, overrides=overrides)
        step = case_of.step(plans, normals or None).total
        convert: Callable[[Floats], Floats] = conversion(case, case_of, plans, context)
        return np.asarray(sign * np.log(np.ravel(convert(step))))

    regime = tuple("gpu_profile_known" if name == "gpu_class_known" else name for name in names)
    return MeasuredStep(predict, sign * float(np.log(measured)), regime, float(case.devices))
