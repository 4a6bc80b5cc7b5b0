"""Refit everything that was fitted to measured runs, and say what it is worth."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from app.engine.records import Floats
from app.estimating.chips import chip_series
from app.estimating.context import SizingContext
from app.estimating.effects import Effect, Effects
from tools.fitting.asked import REGIME, asked_runs, fit_asked
from tools.fitting.effects import FittedEffects, fit_effects, series
from tools.fitting.least_squares import (
    LogErrors,
    Miss,
    Solution,
    by_group,
    by_profile,
    by_scale,
    core,
    fit,
    fit_residuals,
    half_width,
    large,
    misses,
    on_ipu,
    predicted,
    worth,
)
from tools.fitting.runs import Figures, FitRun, Key, runs_of

LEAST_DEVIATION = 0.01
"""No figure is known better than to one per cent, however many runs agree."""

KNOWN_REGIMES = (
    "gpu_profile_known",
    "gpu_profile_assumed",
    "gpu_eager_assumed",
    "gpu_recommender",
    "gpu_newer_chip",
    "gpu_experts",
    "gpu_adapters",
    "gpu_long_sequence",
    "gpu_deep_interleave",
    "gpu_pipeline",
    "gpu_many_devices",
    "gpu_few_samples",
    "gpu_pcie",
    "gpu_unfitted_family",
    "ipu_known",
    "ipu_few_accumulations",
    "ipu_small_operations",
)
"""Regimes judged by runs of laboratories left out."""

CLASS_REGIMES = ("gpu_class_known", "gpu_unfitted_class")
"""Regimes judged by runs whose software was taken as unknown."""
UNSEEN_REGIMES = ("gpu_other_chip",)
"""Regimes judged by runs of chips left out."""


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
    """All fitted figures and deviations of bands, with the errors they are based on."""

    figures: Mapping[Key, FigureFit]
    residuals: Mapping[str, float]
    effects: tuple[Effect, ...]
    asked: tuple[tuple[str, ...], ...]
    """Errors of language models whose software nobody names, a heading first."""
    left_out: tuple[HoldOutErrors, ...]
    """Errors under each way to leave runs out."""


@dataclass(frozen=True, slots=True)
class HoldOutErrors:
    """Errors of runs under one way to leave some out, and half their 80 % bands."""

    column: str
    errors: LogErrors
    widths: Mapping[str, float]
    """As a log-error, by run; empty where no width stands on them."""


def refit(
    rows: Sequence[Mapping[str, str]],
    newer: Sequence[Mapping[str, str]],
    context: SizingContext,
    strangers: Sequence[Miss] = (),
) -> Refit:
    """Fit figures, effects and widths to measured rows, and predict each row left out.

    Figures of profiles are fitted to ``rows``; effects and widths also to ``newer`` ones, and widths to what
    ``strangers`` report.
    """
    architectures = context.effects.architectures
    context = replace(context, effects=Effects())
    solution = fit_software(rows, context)
    spread = deviations(solution)
    groups = by_group(solution)
    profiles = by_profile(solution, {row["id"]: row for row in rows}, context)
    runs = (*solution.runs, *runs_of(newer, context))
    errors = np.array([predicted(run, solution.figures, solution.point)[0] for run in runs])
    effects = fit_effects(
        runs,
        errors,
        lambda run: chip_series(run.chip) in context.measured.series,
        context.catalog.architecture,
    )
    laboratories = without(solution, effects, "laboratory left out", lambda run: run.laboratory)
    chips = without(
        solution,
        effects,
        "chip left out",
        lambda run: None if chip_series(run.chip) in context.measured.series else series(run.chip),
    )
    scales = without(solution, effects, "scale left out", lambda run: "large" if at_scale(run) else None)
    widths = dict(context.residuals.deviations)
    profile_misses = misses(profiles, solution, spread)
    widths |= fit_residuals(profile_misses, widths, CLASS_REGIMES)
    known_misses = misses(laboratories, solution, spread)
    widths |= fit_residuals([*known_misses, *strangers], widths, KNOWN_REGIMES)
    unseen_misses = [_unseen(miss) for miss in misses(chips, solution, spread)]
    widths |= fit_residuals(unseen_misses, widths, UNSEEN_REGIMES)
    shipped = replace(context, effects=Effects(effects.effects, architectures))
    asked = fit_asked(asked_runs([*rows, *newer], shipped), widths)
    widths[REGIME] = asked.deviation
    return Refit(
        figures=_fitted(solution, spread, worth(solution, groups)),
        residuals={name: widths[name] for name in (*KNOWN_REGIMES, *CLASS_REGIMES, *UNSEEN_REGIMES, REGIME)},
        effects=(*effects.effects, asked.effect),
        asked=asked.cells,
        left_out=(
            HoldOutErrors("in_sample", LogErrors("in sample", runs, errors + effects.shifts()), {}),
            HoldOutErrors("group_left_out", groups, {}),
            HoldOutErrors("laboratory_left_out", laboratories, _widths(known_misses, widths)),
            HoldOutErrors("chip_left_out", chips, _widths(unseen_misses, widths)),
            HoldOutErrors("scale_left_out", scales, _widths(misses(scales, solution, spread), widths)),
            HoldOutErrors("software_unknown", profiles, _widths(profile_misses, widths)),
            HoldOutErrors("fitted_on_one_machine", by_scale(solution), {}),
        ),
    )


def without(
    solution: Solution, effects: FittedEffects, name: str, label: Callable[[FitRun], str | None]
) -> LogErrors:
    """Return the errors of runs when all with their label are left out of figures and effects."""
    runs = effects.model.runs
    labels = [label(run) for run in runs]
    of_figures = np.array([label(run) for run in solution.runs], dtype=object)
    values = effects.shifts_without(labels)
    points = {
        run_label: solution.without(of_figures == run_label)
        for run_label in set(labels)
        if run_label is not None
    }
    for index, (run, run_label) in enumerate(zip(runs, labels, strict=True)):
        if run_label is not None:
            values[index] += predicted(run, solution.figures, points[run_label])[0]
    return LogErrors(name, runs, values)


LARGE = 1000
"""Devices from which a run counts as large."""


def at_scale(run: FitRun) -> bool:
    return run.devices >= LARGE


def newer_chip(run: FitRun) -> bool:
    return "gpu_newer_chip" in run.regimes


def _unseen(miss: Miss) -> Miss:
    """Return a run as if its chip had never been measured."""
    regimes = tuple("gpu_other_chip" if name == "gpu_newer_chip" else name for name in miss.run.regimes)
    return replace(miss, run=replace(miss.run, regimes=regimes))


def _widths(missed: Sequence[Miss], widths: Mapping[str, float]) -> dict[str, float]:
    return {miss.run.id: half_width(miss, widths) for miss in missed}


def fit_software(rows: Sequence[Mapping[str, str]], context: SizingContext) -> Solution:
    """Fit the figures of software to runs as they are computed without effects."""
    runs = runs_of(rows, replace(context, effects=Effects()))
    keys = sorted({key for run in runs for key in run.keys})
    return fit(runs, Figures(context.software, keys))


def deviations(solution: Solution) -> Floats:
    """Return the deviation of each coordinate with the others fixed.

    Figures that compensate each other are sampled independently; their joint deviation would count twice.
    """
    return np.asarray(np.maximum(np.diag(solution.curvature) ** -0.5, LEAST_DEVIATION))


def _fitted(solution: Solution, spread: Floats, value: Mapping[Key, float]) -> dict[Key, FigureFit]:
    figures = solution.figures
    values = figures.values(solution.point)
    distances = figures.distances(solution.point)
    fits = {}
    for index, key in enumerate(figures.keys):
        used = [run for run in solution.runs if rests_on(run, key, figures)]
        fits[key] = FigureFit(
            value=float(f"{values[index]:.4g}"),
            deviation=float(f"{spread[index]:.2g}"),
            runs=len(used),
            groups=len({run.group for run in used}),
            prior=float(distances[index]),
            worth=value.get(key, 0.0),
        )
    return fits


def rests_on(run: FitRun, key: Key, figures: Figures) -> bool:
    """Return whether a figure depends on a run: directly, or as an ancestor of a figure that does."""
    index = figures.place[key]
    for own in run.keys:
        ancestor = figures.place.get(own, -1)
        while ancestor >= 0:
            if ancestor == index:
                return True
            ancestor = int(figures.parents[ancestor])
    return False


def software_text(text: str, fitted: Mapping[Key, FigureFit]) -> str:
    """Return software.csv with the fitted values, deviations and numbers of runs."""

    def change(row: dict[str, str]) -> dict[str, str]:
        figure = fitted.get((row["profile"], row["parameter"]))
        if figure is None or row["status"] != "fitted":
            return row
        note = f"{figure.runs} runs in {figure.groups} groups"
        return row | {"value": f"{figure.value:g}", "deviation": f"{figure.deviation:g}", "note": note}

    return _changed(text, change)


def residuals_text(text: str, residuals: Mapping[str, float]) -> str:
    """Return residuals.csv with the fitted deviations."""
    return _changed(
        text,
        lambda row: (
            row | {"deviation": f"{residuals[row['regime']]:g}"} if row["regime"] in residuals else row
        ),
    )


def effects_text(effects: Sequence[Effect]) -> str:
    """Return data/effects.csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([entry.name for entry in fields(Effect)])
    writer.writerows(
        [effect.kind, effect.name, f"{effect.factor:g}", f"{effect.deviation:g}", effect.note]
        for effect in effects
    )
    return out.getvalue()


def held_out_text(result: Refit) -> str:
    """Return data/validation/held_out.csv: the log-error of the time of each run, left out in each way.

    Further columns have half the 80 % bands of the runs where they are left out.
    """
    columns: dict[str, Mapping[str, float]] = {}
    for way in result.left_out:
        columns[way.column] = {
            run.id: value
            for run, value in zip(way.errors.runs, way.errors.values, strict=True)
            if np.isfinite(value)
        }
    columns |= {f"{way.column}_half_width": way.widths for way in result.left_out if way.widths}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", *columns])
    for run in result.left_out[0].errors.runs:
        writer.writerow(
            [
                run.id,
                *("" if run.id not in column else f"{column[run.id]:.4f}" for column in columns.values()),
            ]
        )
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


def differences(result: Refit, context: SizingContext) -> list[str]:
    """Return the differences between the files and a refit, one line each."""
    stated = {key: context.software.profiles[key[0]].figures[key[1]].value for key in result.figures} | {
        ("residuals", name): context.residuals[name] for name in result.residuals
    }
    fitted = {key: figure.value for key, figure in result.figures.items()} | {
        ("residuals", name): value for name, value in result.residuals.items()
    }
    stated |= {(row.kind, row.name): row.factor for row in context.effects.rows}
    fitted |= {(row.kind, row.name): row.factor for row in result.effects}
    return [
        f"{owner} {name} is {stated.get((owner, name), 0.0):g}, the fit gives {value:g}"
        for (owner, name), value in sorted(fitted.items())
        if abs(value - stated.get((owner, name), 0.0)) > SAME * max(abs(value), SAME)
    ]


PARTS: tuple[tuple[str, Callable[[FitRun], bool]], ...] = (
    ("bert, gpt, llama, resnet50 on A100", lambda run: core(run) and not newer_chip(run)),
    ("the same beyond one machine", lambda run: large(run) and not newer_chip(run)),
    ("on IPUs", on_ipu),
    ("other families on A100", lambda run: not (core(run) or on_ipu(run) or newer_chip(run))),
    ("bert, gpt, llama, resnet50 on newer chips", lambda run: core(run) and newer_chip(run)),
    ("other families on newer chips", lambda run: not core(run) and newer_chip(run)),
    ("1,000 devices and more", at_scale),
)


def figure_cells(result: Refit) -> list[tuple[str, ...]]:
    """Return every fitted figure, a heading first."""
    heading = ("profile", "figure", "value", "deviation", "runs", "groups", "from prior", "worth")
    lines = [
        (
            owner,
            name,
            f"{figure.value:g}",
            f"± {figure.deviation:g}",
            str(figure.runs),
            str(figure.groups),
            f"{figure.prior:+.1f}",
            f"{figure.worth:+.4f}",
        )
        for (owner, name), figure in sorted(result.figures.items())
    ]
    lines += [
        (row.kind, row.name, f"{row.factor:g}", f"± {row.deviation:g}", row.note, "", "", "")
        for row in result.effects
    ]
    lines += [
        ("residuals", name, f"{value:g}", "", "", "", "", "") for name, value in result.residuals.items()
    ]
    return [heading, *lines]


def error_cells(result: Refit) -> list[tuple[str, ...]]:
    """Return median and 90th percentile of the errors, in sample and left out, a heading first."""
    lines: list[tuple[str, ...]] = [("error", "of", "runs", "groups", "median", "90 %", "bias")]
    for errors in (way.errors for way in result.left_out):
        for name, chosen in PARTS:
            part = errors.part(name, chosen)
            if part.rows:
                shares = (part.median or 0.0, part.ninetieth or 0.0)
                cells = (*(f"{share:.1%}" for share in shares), f"{part.bias or 0.0:+.1%}")
                lines.append((errors.name, name, str(part.rows), str(part.groups), *cells))
    return lines
