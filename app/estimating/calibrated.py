"""Turn measured steps into a calibrated software profile."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from app.catalog.software import (
    ABSOLUTE,
    OFFSET,
    Calibration,
    FigureRange,
    ProfileFigure,
    SoftwareCatalog,
    SoftwareProfile,
)
from app.engine.calibration import (
    Posterior,
    birge_ratio,
    effective_parameters,
    laplace_posterior,
    posterior_transform,
)
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem
from app.errors import engine_errors
from app.estimating.deciding import PlanDecision
from app.estimating.documents import Text
from app.estimating.ranges import SHARED, Residuals

NOISE = "measurement"
"""Row of data/residuals.csv with the log-deviation between repeated runs of one configuration."""


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """One measured run, ready to be predicted with other figures."""

    predict: Callable[[SoftwareProfile, Mapping[str, Floats]], Floats]
    """Logarithm of the step time with a profile, from standard normals by figure."""
    measured: float
    regimes: tuple[str, ...]
    """Regimes of data/residuals.csv that the run is in, the base first."""
    devices: float


@dataclass(frozen=True, slots=True)
class ProfileFit:
    prior: SoftwareProfile
    profile: SoftwareProfile
    names: tuple[str, ...]
    """Fitted figures."""
    posterior: Posterior
    own: Floats
    """Log-deviation of each run alone."""
    scatter: float
    """Scatter of the runs over what their deviations explain."""
    offset_width: float
    """Log-deviation of the common offset before calibration."""
    at_bound: tuple[str, ...]
    """Figures at the bounds of what is plausible."""


def configurations(decision: PlanDecision) -> list[str]:
    """Return keys of what a step computes and on what, equal for runs that must take the same time.

    One holds for the plan, another for any plan where the request states none.
    """
    scenario, plans = decision.scenario, decision.choice.plans
    hardware, table = scenario.hardware, scenario.table
    fabric = hardware.fabric.name if isinstance(hardware, GpuSystem) else ""
    layout = [float(np.ravel(getattr(plans, entry.name))[0]) for entry in fields(Plans)]
    work = (table.parameters, table.training_flop, scenario.precision.value, scenario.optimizer)
    free = (scenario.chip.name, fabric, decision.hardware.devices, decision.batch, work)
    searched = not decision.request.plan.model_dump(exclude_none=True)
    identities = [(*free, layout), *([free] if searched else [])]
    return [f"{zlib.crc32(repr(identity).encode()):08x}" for identity in identities]


def prior_of(profile: SoftwareProfile, ranges: Mapping[str, FigureRange], *, named: bool) -> SoftwareProfile:
    """Return the prior of a calibration: the profile, with wider deviations if it stands for many stacks.

    The figures of a class preset, or of a profile that was not named, differ between stacks by more than its
    deviations; the rest of that difference is in the residual of its regime, which a calibration replaces.
    """
    if named and not profile.is_preset:
        return profile
    figures = dict(profile.figures)
    for name, figure in figures.items():
        if figure.deviation > 0 and name in ranges:
            figures[name] = replace(figure, deviation=max(figure.deviation, ranges[name].deviation))
    return replace(profile, figures=figures)


def fit_profile(
    identifier: str,
    title: str,
    profile: SoftwareProfile,
    ranges: Mapping[str, FigureRange],
    steps: Sequence[MeasuredStep],
    residuals: Residuals,
    *,
    target: Sequence[str],
    family: str,
    chips: Collection[str],
    named: bool = True,
    run_steps: Mapping[str, tuple[float, ...]] = MappingProxyType({}),
) -> ProfileFit:
    prior = prior_of(profile, ranges, named=named)
    names = tuple(sorted(name for name, figure in prior.figures.items() if figure.deviation > 0))
    figures = [prior.figures[name] for name in names]
    least = np.array([_bound(figure, ranges, low=True) for figure in figures])
    most = np.array([_bound(figure, ranges, low=False) for figure in figures])

    def predict(points: Floats) -> Floats:
        normals = {name: points[:, column] for column, name in enumerate(names)}
        # Runs of one case share what predicts them: it is asked once.
        cases = {id(step.predict): step.predict for step in steps}
        predictions = {name: case(prior, normals) for name, case in cases.items()}
        return np.stack([predictions[id(step.predict)] for step in steps])

    variances = [
        (
            sum(residuals[name] ** 2 for name in step.regimes if name in target),
            sum(residuals[name] ** 2 for name in step.regimes if name not in target),
        )
        for step in steps
    ]
    shared = np.array([math.sqrt(SHARED * common) for common, _ in variances])
    own = np.array(
        [
            math.sqrt(residuals[NOISE] ** 2 + (1 - SHARED) * common + untargeted)
            for common, untargeted in variances
        ]
    )
    measured = np.array([step.measured for step in steps])
    with engine_errors():
        posterior = laplace_posterior(predict, measured, shared, own, least, most)
    scatter = birge_ratio(
        posterior.after - measured, own, posterior.weights, effective_parameters(posterior.covariance)
    )
    deviations = np.sqrt(np.diag(posterior.covariance))
    fitted_figures = dict(prior.figures)
    for index, figure in enumerate(figures):
        fitted_figures[figure.parameter] = _moved(
            figure, posterior.mean[index], deviations[index], identifier
        )
    measured_regimes = frozenset(name for step in steps for name in step.regimes)
    width = math.sqrt(SHARED * sum(residuals[name] ** 2 for name in measured_regimes & set(target)))
    calibration = Calibration(
        prior=profile.id,
        family=family,
        chips=frozenset(chips),
        devices=max(step.devices for step in steps),
        regimes=measured_regimes,
        coordinates=(*names, OFFSET),
        root=posterior_transform(posterior.covariance) / deviations[:, np.newaxis],
        offset=float(posterior.mean[-1]) * width,
        offset_deviation=float(deviations[-1]) * width,
        scatter=float(np.min(own)) * math.sqrt(max(scatter**2 - 1.0, 0.0)),
        ends={
            figure.parameter: _ends(figure, ranges[figure.parameter])
            for figure in figures
            if figure.parameter in ranges
        },
        measured=run_steps,
    )
    at_bound = tuple(
        name
        for index, name in enumerate(names)
        if posterior.mean[index] != 0 and not least[index] < posterior.mean[index] < most[index]
    )
    fitted = replace(
        profile, id=identifier, title=title, figures=fitted_figures, calibration=calibration, presumed=False
    )
    return ProfileFit(prior, fitted, names, posterior, own, scatter, width, at_bound)


def _bound(figure: ProfileFigure, ranges: Mapping[str, FigureRange], *, low: bool) -> float:
    """Return a bound of a figure in deviations from its value."""
    limits = ranges.get(figure.parameter)
    if limits is None:
        return -math.inf if low else math.inf
    end = _ends(figure, limits)[0 if low else 1]
    if figure.parameter in ABSOLUTE:
        return (end - figure.value) / figure.deviation
    return math.log(end / figure.value) / figure.deviation


def _ends(figure: ProfileFigure, limits: FigureRange) -> tuple[float, float]:
    """Return the bounds of a figure, widened to its value in the catalogue."""
    return min(limits.least, figure.value), max(limits.most, figure.value)


def _moved(figure: ProfileFigure, mean: float, deviation: float, owner: str) -> ProfileFigure:
    change = mean * figure.deviation
    value = figure.value + change if figure.parameter in ABSOLUTE else figure.value * math.exp(change)
    return replace(
        figure,
        value=float(value),
        deviation=float(deviation * figure.deviation),
        status="fitted",
        note="",
        profile=owner,
    )


def profile_to_json(profile: SoftwareProfile) -> dict[str, object]:
    """Return what a calibrated profile changes of its prior, for storage."""
    calibration = profile.calibration
    assert calibration is not None, "only calibrated profiles are kept"
    own = {name: figure for name, figure in profile.figures.items() if name in calibration.coordinates}
    return {
        "title": profile.title,
        "prior": calibration.prior,
        "family": calibration.family,
        "chips": sorted(calibration.chips),
        "devices": calibration.devices,
        "regimes": sorted(calibration.regimes),
        "coordinates": list(calibration.coordinates),
        "root": calibration.root.tolist(),
        "offset": calibration.offset,
        "offset_deviation": calibration.offset_deviation,
        "scatter": calibration.scatter,
        "ends": {name: list(pair) for name, pair in calibration.ends.items()},
        "doubt": None if calibration.doubt is None else Text.of(calibration.doubt).model_dump(),
        "measured": {name: list(steps) for name, steps in calibration.measured.items()},
        "figures": {
            name: {"value": figure.value, "deviation": figure.deviation} for name, figure in own.items()
        },
    }


def profile_from_json(
    identifier: str, document: Mapping[str, Any], software: SoftwareCatalog
) -> SoftwareProfile:
    """Return a stored calibrated profile; what it does not state is that of its prior today."""
    prior = software.profile(document["prior"])
    figures = dict(prior.figures)
    for name, stated in document["figures"].items():
        figures[name] = ProfileFigure(name, stated["value"], stated["deviation"], "fitted", "", identifier)
    calibration = Calibration(
        prior=prior.id,
        family=document["family"],
        chips=frozenset(document["chips"]),
        devices=document["devices"],
        regimes=frozenset(document["regimes"]),
        coordinates=tuple(document["coordinates"]),
        root=np.array(document["root"]),
        offset=document["offset"],
        offset_deviation=document["offset_deviation"],
        scatter=document["scatter"],
        ends={name: (least, most) for name, (least, most) in document["ends"].items()},
        doubt=None if document.get("doubt") is None else Text(**document["doubt"]).as_message(),
        measured={name: tuple(steps) for name, steps in document.get("measured", {}).items()},
    )
    title = document["title"]
    return replace(
        prior, id=identifier, title=title, figures=figures, calibration=calibration, presumed=False
    )
