"""Every figure that was fitted to measured runs, one by one, as the data hold them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.catalog import FigureStatus
from app.sizing.context import SizingContext
from app.sizing.validation.rules import Rule

RESTS_ON = re.compile(r"(\d[\d,]*) runs? in (\d[\d,]*) groups?")
WORTH = re.compile(r"worth ([+-]?\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class FittedFigure:
    """A figure that was chosen by looking at measured runs."""

    file: str
    owner: str
    """Profile, chip or fabric it belongs to; empty where it is everybody's."""
    name: str
    value: str
    """As written, with its unit."""
    deviation: float | None
    """Relative, or absolute for shares."""
    runs: int | None
    """Measured runs it rests on, where the data say."""
    groups: int | None
    worth: float | None
    """What the error grows by without it, where the data say."""
    note: str


def fitted_figures(context: SizingContext, directory: Path) -> tuple[FittedFigure, ...]:
    """Return the fitted figures by file, in the order of the data."""
    software = [
        _figure("software.csv", profile.id, one.parameter, f"{one.value:g}", one.deviation, one.note)
        for profile in context.software.profiles.values()
        for one in profile.figures.values()
        if one.profile == profile.id and one.status != "assumed"
    ]
    kernels = [
        _figure("kernels.csv", "", row["parameter"], _with_unit(row["value"], row["unit"]), None, row["note"])
        for row in context.software.kernel_rows
        if row["status"] == "fitted"
    ]
    return (
        *software,
        *kernels,
        *_residuals(directory),
        *_rules("validation/completion.csv", context.rules.completion),
        *_rules("validation/networks.csv", context.rules.networks),
        *_catalogue(context),
    )


def _residuals(directory: Path) -> list[FittedFigure]:
    with (directory / "residuals.csv").open(encoding="utf-8", newline="") as handle:
        return [
            _figure("residuals.csv", "", row["regime"], row["deviation"], None, row["note"])
            for row in csv.DictReader(handle)
            if row["basis"] == "fitted"
        ]


def _rules(file: str, rules: Iterable[Rule]) -> list[FittedFigure]:
    found = []
    for rule in rules:
        result = rule.result
        if result.get("status") == "fitted":
            owner = " · ".join(pattern.pattern.strip("^$") for pattern in rule.patterns.values())
            name, value = _stated(result)
            found.append(_figure(file, owner, name, value, None, result.get("note", "")))
    return found


def _stated(result: Mapping[str, str]) -> tuple[str, str]:
    if "field" in result:
        return result["field"], result["value"]
    return "efficiency", result.get("efficiency", "")


def _catalogue(context: SizingContext) -> list[FittedFigure]:
    """Return the fitted figures of the catalogue; chips of one series share one, it was chosen once."""
    found: dict[tuple[str, float | None], list[str]] = {}
    accepted = [
        one for one in context.catalog.all_figures() if one.status is FigureStatus.ACCEPTED and one.fitted
    ]
    for one in accepted:
        found.setdefault((one.parameter, one.value), []).append(one.item)
    first = {(one.parameter, one.value): one for one in reversed(accepted)}
    return [
        _figure(
            "catalogue",
            ", ".join(sorted(set(items))),
            key[0],
            _with_unit(f"{key[1]:g}" if key[1] is not None else first[key].text, first[key].unit.name),
            None,
            first[key].note,
        )
        for key, items in sorted(found.items(), key=lambda entry: (entry[0][0], entry[0][1] or 0.0))
    ]


def _figure(file: str, owner: str, name: str, value: str, deviation: float | None, note: str) -> FittedFigure:
    rests, worth = RESTS_ON.search(note), WORTH.search(note)
    runs, groups = (int(part.replace(",", "")) for part in rests.groups()) if rests else (None, None)
    return FittedFigure(
        file=file,
        owner=owner,
        name=name,
        value=value,
        deviation=deviation or None,
        runs=runs,
        groups=groups,
        worth=float(worth[1]) if worth else None,
        note=note,
    )


def _with_unit(value: str, unit: str) -> str:
    return value if unit in ("", "1", "id", "text") else f"{value} {unit}"
