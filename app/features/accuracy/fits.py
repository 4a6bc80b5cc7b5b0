"""What a fit found, as lines of a table for the command line."""

from __future__ import annotations

from collections.abc import Callable

from app.estimating.fitting.least_squares import Quantiles, core, large, on_ipu
from app.estimating.fitting.refit import Refit
from app.estimating.fitting.runs import FitRun
from app.estimating.regimes import FITTED_FAMILIES
from app.features.accuracy.evidence import Counts

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
            part = errors.part(chosen)
            if part.runs:
                lines.append((errors.name, name, *_cells(part)))
    return lines


def count_lines(counts: Counts) -> list[str]:
    """Return how many figures were chosen by looking at measured runs, by file and in all."""
    lines = [f"{number:4d}  data/{name}" for name, number in counts.fitted.items()]
    return [
        "figures chosen by looking at measured runs:",
        *lines,
        f"{sum(counts.fitted.values()):4d}  in all",
    ]


def _cells(part: Quantiles) -> tuple[str, ...]:
    return (
        str(part.runs),
        str(part.groups),
        f"{part.median or 0.0:.1%}",
        f"{part.ninetieth or 0.0:.1%}",
        f"{part.bias or 0.0:+.1%}",
    )
