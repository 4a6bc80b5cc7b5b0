"""Refit everything that was fitted to measured runs, and say what it is worth."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.records import Floats
from app.estimating.context import SizingContext
from app.estimating.fitting.least_squares import (
    LogErrors,
    Solution,
    by_group,
    by_profile,
    by_scale,
    core,
    fit,
    fit_residuals,
    half_width,
    in_sample,
    large,
    misses,
    on_ipu,
    worth,
)
from app.estimating.fitting.runs import Figures, FitRun, Key, runs_of
from app.estimating.regimes import FITTED_FAMILIES

LEAST_DEVIATION = 0.01
"""No figure is known better than to one per cent, however many runs agree."""

KNOWN_REGIMES = (
    "gpu_profile_known",
    "gpu_pipeline",
    "gpu_many_devices",
    "gpu_few_samples",
    "gpu_pcie",
    "gpu_unfitted_family",
    "ipu_known",
    "ipu_few_accumulations",
    "ipu_small_operations",
)
"""Regimes judged by runs left out by group."""

CLASS_REGIMES = ("gpu_class_known", "gpu_unfitted_class")
"""Regimes judged by runs whose software was taken as unknown."""


@dataclass(frozen=True, slots=True)
class FigureFit:
    value: float
    deviation: float
    runs: int
    groups: int
    prior: float
    """Distance from what it is expected like, in deviations."""
    worth: float
    """Growth of the mean left-out error without the figure."""


@dataclass(frozen=True, slots=True)
class Refit:
    """All fitted figures, the widths of the bands and the errors they stand on."""

    figures: Mapping[Key, FigureFit]
    residuals: Mapping[str, float]
    in_sample: LogErrors
    by_group: LogErrors
    by_profile: LogErrors
    by_scale: LogErrors
    unknown_widths: Mapping[str, float]
    """Half the 80 % band of each run whose software was taken as unknown, as a log-error."""


def refit(rows: Sequence[Mapping[str, str]], context: SizingContext) -> Refit:
    """Fit the software figures and the residuals to measured rows, and predict each row left out."""
    solution = fit_software(rows, context)
    groups = by_group(solution)
    profiles = by_profile(solution, {row["id"]: row for row in rows}, context)
    spread = deviations(solution)
    held = dict(context.residuals.deviations)
    held |= fit_residuals(misses(groups, solution, spread), held, KNOWN_REGIMES)
    strangers = misses(profiles, solution, spread)
    unknown = [miss for miss in strangers if set(miss.run.regimes) & set(CLASS_REGIMES)]
    held |= fit_residuals(unknown, held, CLASS_REGIMES)
    return Refit(
        figures=_fitted(solution, spread, worth(solution, groups)),
        residuals={name: held[name] for name in (*KNOWN_REGIMES, *CLASS_REGIMES)},
        in_sample=in_sample(solution),
        by_group=groups,
        by_profile=profiles,
        by_scale=by_scale(solution),
        unknown_widths={miss.run.id: half_width(miss, held) for miss in strangers},
    )


def fit_software(rows: Sequence[Mapping[str, str]], context: SizingContext) -> Solution:
    runs = runs_of(rows, context)
    keys = sorted({key for run in runs for key in run.keys})
    return fit(runs, Figures(context.software, keys))


def deviations(solution: Solution) -> Floats:
    """Return how well each coordinate is known while the others rest.

    Figures that make up for one another are drawn one by one; their joint deviation would count twice.
    """
    return np.asarray(np.maximum(np.diag(solution.curvature) ** -0.5, LEAST_DEVIATION))


def _fitted(solution: Solution, spread: Floats, value: Mapping[Key, float]) -> dict[Key, FigureFit]:
    figures = solution.figures
    values = figures.values(solution.point)
    distances = figures.distances(solution.point)
    found = {}
    for place, key in enumerate(figures.keys):
        used = [run for run in solution.runs if rests_on(run, key, figures)]
        found[key] = FigureFit(
            value=float(f"{values[place]:.4g}"),
            deviation=float(f"{spread[place]:.2g}"),
            runs=len(used),
            groups=len({run.group for run in used}),
            prior=float(distances[place]),
            worth=value.get(key, 0.0),
        )
    return found


def rests_on(run: FitRun, key: Key, figures: Figures) -> bool:
    """Return True where a figure depends on a run: by itself, or as the middle of those that do."""
    place = figures.place[key]
    for own in run.keys:
        at = figures.place.get(own, -1)
        while at >= 0:
            if at == place:
                return True
            at = int(figures.parents[at])
    return False


def software_text(text: str, fitted: Mapping[Key, FigureFit]) -> str:
    """Return the text of software.csv with the fitted values, deviations and the runs they rest on."""

    def change(row: dict[str, str]) -> dict[str, str]:
        found = fitted.get((row["profile"], row["parameter"]))
        if found is None or row["status"] != "fitted":
            return row
        note = f"{found.runs} runs in {found.groups} groups"
        return row | {"value": f"{found.value:g}", "deviation": f"{found.deviation:g}", "note": note}

    return _changed(text, change)


def residuals_text(text: str, residuals: Mapping[str, float]) -> str:
    """Return the text of residuals.csv with the fitted deviations."""
    return _changed(
        text,
        lambda row: (
            row | {"deviation": f"{residuals[row['regime']]:g}"} if row["regime"] in residuals else row
        ),
    )


def held_out_text(found: Refit) -> str:
    """Return data/validation/held_out.csv: the log-error of the time of each run, left out in each way."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "id",
            "in_sample",
            "group_left_out",
            "software_unknown",
            "fitted_on_one_machine",
            "unknown_half_width",
        ]
    )
    columns = zip(
        found.in_sample.runs,
        found.in_sample.values,
        found.by_group.values,
        found.by_profile.values,
        found.by_scale.values,
        strict=True,
    )
    for run, *errors in columns:
        cells = (*errors, found.unknown_widths.get(run.id, np.nan))
        writer.writerow([run.id, *("" if np.isnan(cell) else f"{cell:.4f}" for cell in cells)])
    return out.getvalue()


def _changed(text: str, change: Callable[[dict[str, str]], dict[str, str]]) -> str:
    reader = csv.DictReader(io.StringIO(text))
    out = io.StringIO()
    writer = csv.DictWriter(out, reader.fieldnames or [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(change(row) for row in reader)
    return out.getvalue()


SAME = 0.01
"""Relative difference up to which two fits count as one; other processors round otherwise."""


def differences(found: Refit, context: SizingContext) -> list[str]:
    """Return what of the files is not what a refit gives, one line each."""
    stated = {key: context.software.profiles[key[0]].figures[key[1]].value for key in found.figures} | {
        ("residuals", name): context.residuals[name] for name in found.residuals
    }
    fitted = {key: one.value for key, one in found.figures.items()} | {
        ("residuals", name): value for name, value in found.residuals.items()
    }
    return [
        f"{owner} {name} is {stated[owner, name]:g}, the fit gives {value:g}"
        for (owner, name), value in sorted(fitted.items())
        if abs(value - stated[owner, name]) > SAME * max(abs(value), SAME)
    ]


PARTS: tuple[tuple[str, Callable[[FitRun], bool]], ...] = (
    ("bert, gpt, llama, resnet50 on GPUs", core),
    ("the same beyond one machine", large),
    ("on IPUs", on_ipu),
    ("all fitted families", lambda run: run.family in FITTED_FAMILIES),
    ("all other families", lambda run: run.family not in FITTED_FAMILIES),
)


def figure_cells(found: Refit) -> list[tuple[str, ...]]:
    """Return every fitted figure, a heading first."""
    heading = ("profile", "figure", "value", "deviation", "runs", "groups", "from prior", "worth")
    lines = [
        (
            owner,
            name,
            f"{one.value:g}",
            f"± {one.deviation:g}",
            str(one.runs),
            str(one.groups),
            f"{one.prior:+.1f}",
            f"{one.worth:+.4f}",
        )
        for (owner, name), one in sorted(found.figures.items())
    ]
    lines += [
        ("residuals", name, f"{value:g}", "", "", "", "", "") for name, value in found.residuals.items()
    ]
    return [heading, *lines]


def error_cells(found: Refit) -> list[tuple[str, ...]]:
    """Return median and 90th percentile of the errors, in sample and left out, a heading first."""
    lines: list[tuple[str, ...]] = [("error", "of", "runs", "groups", "median", "90 %", "bias")]
    for errors in (found.in_sample, found.by_group, found.by_profile, found.by_scale):
        for name, chosen in PARTS:
            part = errors.part(name, chosen)
            if part.rows:
                shares = (part.median or 0.0, part.ninetieth or 0.0)
                shown = (*(f"{share:.1%}" for share in shares), f"{part.bias or 0.0:+.1%}")
                lines.append((errors.name, name, str(part.rows), str(part.groups), *shown))
    return lines
