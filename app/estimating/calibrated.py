"""Turn measured steps into a calibrated software profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
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
from app.engine.records import Floats
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
    """Figures that were free."""
    posterior: Posterior
    own: Floats
    """Log-deviation of each run that is its own."""
    scatter: float
    """Scatter of the runs over what their deviations explain."""
    offset_width: float
    """Log-deviation of the common offset of the estimate before anything was measured."""
    at_bound: tuple[str, ...]
    """Figures at the end of what is plausible at all."""


def prior_of(profile: SoftwareProfile, ranges: Mapping[str, FigureRange], *, named: bool) -> SoftwareProfile:
    """Return a profile as it stands for a customer's own code, before anything is measured.

    A class preset, or a profile that nobody named, stands for many stacks, whose figures differ by
    more than the profile's own deviations say; the rest of that difference is in the residual of
    its regime, which calibrating replaces.
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
        known = {name: case(prior, normals) for name, case in cases.items()}
        return np.stack([known[id(step.predict)] for step in steps])

    variances = [
        (
            sum(residuals[name] ** 2 for name in step.regimes if name in target),
            sum(residuals[name] ** 2 for name in step.regimes if name not in target),
        )
        for step in steps
    ]
    shared = np.array([math.sqrt(SHARED * common) for common, _ in variances])
    own = np.array(
        [math.sqrt(residuals[NOISE] ** 2 + (1 - SHARED) * common + other) for common, other in variances]
    )
    measured = np.array([step.measured for step in steps])
    posterior = laplace_posterior(predict, measured, shared, own, least, most)
    scatter = birge_ratio(
        posterior.after - measured, own, posterior.weights, effective_parameters(posterior.covariance)
    )
    deviations = np.sqrt(np.diag(posterior.covariance))
    moved = dict(prior.figures)
    for place, figure in enumerate(figures):
        moved[figure.parameter] = _moved(figure, posterior.mean[place], deviations[place], identifier)
    seen = frozenset(name for step in steps for name in step.regimes)
    width = math.sqrt(SHARED * sum(residuals[name] ** 2 for name in seen & set(target)))
    calibration = Calibration(
        prior=profile.id,
        family=family,
        chips=frozenset(chips),
        devices=max(step.devices for step in steps),
        regimes=seen,
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
    )
    at_bound = tuple(
        name
        for place, name in enumerate(names)
        if posterior.mean[place] != 0 and not least[place] < posterior.mean[place] < most[place]
    )
    fitted = replace(
        profile, id=identifier, title=title, figures=moved, calibration=calibration, presumed=False
    )
    return ProfileFit(prior, fitted, names, posterior, own, scatter, width, at_bound)


def _bound(figure: ProfileFigure, ranges: Mapping[str, FigureRange], *, low: bool) -> float:
    """Return the end of what a figure may be, in its deviations from where it is."""
    known = ranges.get(figure.parameter)
    if known is None:
        return -math.inf if low else math.inf
    end = _ends(figure, known)[0 if low else 1]
    if figure.parameter in ABSOLUTE:
        return (end - figure.value) / figure.deviation
    return math.log(end / figure.value) / figure.deviation


def _ends(figure: ProfileFigure, known: FigureRange) -> tuple[float, float]:
    """Return what a figure can be; never less than what the catalogue says it is."""
    return min(known.least, figure.value), max(known.most, figure.value)


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
    """Return a calibrated profile as it is kept: what sets it apart from the profile it started from."""
    known = profile.calibration
    assert known is not None, "only calibrated profiles are kept"
    own = {name: figure for name, figure in profile.figures.items() if name in known.coordinates}
    return {
        "title": profile.title,
        "prior": known.prior,
        "family": known.family,
        "chips": sorted(known.chips),
        "devices": known.devices,
        "regimes": sorted(known.regimes),
        "coordinates": list(known.coordinates),
        "root": known.root.tolist(),
        "offset": known.offset,
        "offset_deviation": known.offset_deviation,
        "scatter": known.scatter,
        "ends": {name: list(pair) for name, pair in known.ends.items()},
        "figures": {
            name: {"value": figure.value, "deviation": figure.deviation} for name, figure in own.items()
        },
    }


def profile_from_json(
    identifier: str, document: Mapping[str, Any], software: SoftwareCatalog
) -> SoftwareProfile:
    """Return a calibrated profile that was kept; what it does not state is its start's of today."""
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
    )
    title = document["title"]
    return replace(
        prior, id=identifier, title=title, figures=figures, calibration=calibration, presumed=False
    )
