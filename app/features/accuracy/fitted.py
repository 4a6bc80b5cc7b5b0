"""The figures that were chosen by looking at measured runs, as the data state them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.catalog.figures import Figure, FigureStatus
from app.catalog.software import ProfileFigure
from app.estimating.context import SizingContext
from app.estimating.effects import RESTS_ON
from app.estimating.validation.cases import Rule, read_table

WORTH = re.compile(r"worth ([+-]?\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class FittedFigure:
    """A figure that was chosen by looking at measured runs."""

    file: str
    owner: str
    """Profile, chip or fabric it belongs to; empty if it applies to all."""
    name: str
    value: str
    """As written, with its unit."""
    deviation: float | None
    """Relative, or absolute for shares."""
    runs: int | None
    """Measured runs it was fitted to, if the data say."""
    groups: int | None
    worth: float | None
    """Growth of the error without it, if the data say."""
    note: str

    @classmethod
    def of(
        cls, file: str, owner: str, name: str, value: str, note: str, deviation: float = 0.0
    ) -> FittedFigure:
        """Return a figure with the numbers of runs and groups in its note."""
        rests, worth = RESTS_ON.search(note), WORTH.search(note)
        runs, groups = (int(part.replace(",", "")) for part in rests.groups()) if rests else (None, None)
        return cls(
            file,
            owner,
            name,
            value,
            deviation or None,
            runs,
            groups,
            float(worth[1]) if worth else None,
            note,
        )


def fitted_figures(context: SizingContext, directory: Path) -> tuple[FittedFigure, ...]:
    """Return the fitted figures by file, in the order of the data."""
    software = [
        FittedFigure.of(
            "software.csv",
            figure.profile,
            figure.parameter,
            f"{figure.value:g}",
            figure.note,
            figure.deviation,
        )
        for figure in own_figures(context)
        if figure.status != "assumed"
    ]
    kernels = [
        FittedFigure.of(
            "kernels.csv", "", row["parameter"], _with_unit(row["value"], row["unit"]), row["note"]
        )
        for row in context.software.kernel_rows
        if row["status"] == "fitted"
    ]
    residuals = [
        FittedFigure.of("residuals.csv", "", row["regime"], row["deviation"], row["note"])
        for row in read_table(directory / "residuals.csv")
        if row["basis"] == "fitted"
    ]
    teams = [
        FittedFigure.of(
            "teams.csv",
            team.kind,
            "factor and deviation",
            f"{team.factor:g}",
            f"{team.runs} public runs",
            team.deviation,
        )
        for team in context.teams.values()
    ]
    effects = [
        FittedFigure.of("effects.csv", row.name, row.kind, f"{row.factor:g}", row.note, row.deviation)
        for row in context.effects.rows
    ]
    return (
        *software,
        *effects,
        *teams,
        *kernels,
        *residuals,
        *_rules("validation/completion.csv", context.rules.completion),
        *_rules("validation/networks.csv", context.rules.networks),
        *_catalogue(context),
    )


def own_figures(context: SizingContext) -> list[ProfileFigure]:
    """Return the figures of software by the profile that states them."""
    return [
        figure
        for profile in context.software.profiles.values()
        for figure in profile.figures.values()
        if figure.profile == profile.id
    ]


def _rules(file: str, rules: Iterable[Rule]) -> Iterator[FittedFigure]:
    for rule in rules:
        result = rule.result
        if result.get("status") == "fitted":
            owner = " · ".join(pattern.pattern.strip("^$") for pattern in rule.patterns.values())
            is_field = "field" in result
            name, value = (
                (result["field"], result["value"]) if is_field else ("efficiency", result["efficiency"])
            )
            yield FittedFigure.of(file, owner, name, value, result.get("note", ""))


def accepted_figures(context: SizingContext) -> list[Figure]:
    return [figure for figure in context.catalog.all_figures() if figure.status is FigureStatus.ACCEPTED]


def _catalogue(context: SizingContext) -> Iterator[FittedFigure]:
    """Yield the fitted figures of the catalogue, once for all chips of a series that share one."""
    by_value: dict[tuple[str, float | None], list[Figure]] = {}
    for figure in accepted_figures(context):
        if figure.fitted:
            by_value.setdefault((figure.parameter, figure.value), []).append(figure)
    for (name, value), figures in sorted(
        by_value.items(), key=lambda entry: (entry[0][0], entry[0][1] or 0.0)
    ):
        first = figures[0]
        yield FittedFigure.of(
            "catalogue",
            ", ".join(sorted({figure.item for figure in figures})),
            name,
            _with_unit(first.text if value is None else f"{value:g}", first.unit.name),
            first.note,
        )


def _with_unit(value: str, unit: str) -> str:
    return value if unit in ("", "1", "id", "text") else f"{value} {unit}"
