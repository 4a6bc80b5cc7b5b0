"""Turn checked files into a catalogue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.catalog.catalog import Catalog
from app.catalog.check import check_sheets
from app.catalog.figures import (
    Claim,
    Curve,
    CurvePoint,
    Direction,
    Field,
    Figure,
    FigureStatus,
    Item,
    Source,
    SourceKind,
    Unit,
)
from app.catalog.files import DataRow, Sheets, read_sheets
from app.catalog.lookup import Key
from app.catalog.vendor_ratios import vendor_ratios
from app.errors import CatalogError

SHOWN = 20
"""Faults named in the error; the check command prints all."""


def load_catalog(directory: Path) -> Catalog:
    """Read and check data/; raise CatalogError with file, line and column of each fault.

    The caller keeps the result: the files are read once per process.
    """
    sheets = read_sheets(directory)
    problems = check_sheets(sheets)
    if problems:
        lines = [str(problem) for problem in problems[:SHOWN]]
        if len(problems) > SHOWN:
            lines.append(f"and {len(problems) - SHOWN} more")
        raise CatalogError("\n".join(lines).replace("{", "{{").replace("}", "}}"))
    return _catalog(sheets)


def _catalog(sheets: Sheets) -> Catalog:
    units = {row["unit"]: _unit(row) for row in sheets.rows["units"]}
    sources = {row["id"]: _source(row) for row in sheets.rows["sources"]}
    accepted: dict[Key, list[Figure]] = {}
    declined = []
    for row in sheets.facts():
        figure = _figure(row, units, sources)
        if figure.status is FigureStatus.ACCEPTED:
            accepted.setdefault((figure.item, figure.parameter, figure.condition), []).append(figure)
        else:
            declined.append(figure)
    dates = [row["as_of"] for row in sheets.facts()]
    return Catalog(
        version=sheets.version,
        as_of=max(dates, default=""),
        items={
            row["item"]: Item(row["item"], tuple(row["kinds"].split()), row["name"], row["maker"])
            for row in sheets.rows["items"]
        },
        fields={row["parameter"]: _field(row) for row in sheets.rows["fields"]},
        known_sources=sources,
        accepted={
            key: tuple(sorted(series, key=lambda figure: figure.as_of)) for key, series in accepted.items()
        },
        declined=tuple(declined),
        curves=_curves(sheets, units, sources),
        all_claims=tuple(_claim(row, units, sources) for row in sheets.rows["claims"]),
        vendor_ratios=vendor_ratios(sheets, sources),
        units=units,
    )


def load_training(directory: Path) -> dict[str, tuple[Figure, ...]]:
    """Return how each model preset was trained, as far as it was published: data/training.csv."""
    sheets = read_sheets(directory)
    units = {row["unit"]: _unit(row) for row in sheets.rows["units"]}
    sources = {row["id"]: _source(row) for row in sheets.rows["sources"]}
    found: dict[str, tuple[Figure, ...]] = {}
    for row in sheets.rows["training"]:
        for model in row["models"].split():
            cells = {**row.cells, "item": model, "condition": "", "low": "", "high": "", "direction": ""}
            figure = _figure(replace(row, cells=cells), units, sources)
            if figure.status is FigureStatus.ACCEPTED:
                found[model] = (*found.get(model, ()), figure)
    return found


def _unit(row: DataRow) -> Unit:
    factor = float(row["factor"]) if row["factor"] else None
    return Unit(row["unit"], row["dimension"], factor, row["si_unit"], row["description"])


def _source(row: DataRow) -> Source:
    kind = SourceKind(row["kind"])
    return Source(row["id"], kind, row["title"], row["publisher"], row["published"], row["url"])


def _field(row: DataRow) -> Field:
    return Field(row["parameter"], tuple(row["units"].split(";")), row["varies"] == "yes", row["description"])


def _number(text: str) -> float | None:
    return float(text) if text else None


def _figure(row: DataRow, units: dict[str, Unit], sources: dict[str, Source]) -> Figure:
    unit = units[row["unit"]]
    return Figure(
        item=row["item"],
        parameter=row["parameter"],
        condition=row["condition"],
        value=_number(row["value"]) if unit.numeric else None,
        text=row["value"],
        unit=unit,
        low=_number(row["low"]),
        high=_number(row["high"]),
        direction=Direction(row["direction"]),
        source=sources[row["source"]],
        as_of=row["as_of"],
        status=FigureStatus(row["status"]),
        note=row["note"],
    )


def _claim(row: DataRow, units: dict[str, Unit], sources: dict[str, Source]) -> Claim:
    return Claim(
        id=row["claim"],
        source=sources[row["source"]],
        as_of=row["as_of"],
        statement=row["statement"],
        value=_number(row["value"]),
        unit=units[row["unit"]],
        status=FigureStatus(row["status"]),
        verdict=row["verdict"],
        use=row["use"],
        warning=row["warning"],
    )


def _curves(sheets: Sheets, units: dict[str, Unit], sources: dict[str, Source]) -> dict[str, Curve]:
    points: dict[str, list[CurvePoint]] = {}
    first: dict[str, DataRow] = {}
    for row in sheets.points():
        first.setdefault(row["curve"], row)
        points.setdefault(row["curve"], []).append(CurvePoint(float(row["x"]), float(row["y"])))
    return {
        name: Curve(
            name,
            units[row["x_unit"]],
            units[row["y_unit"]],
            tuple(points[name]),
            sources[row["source"]],
            row["as_of"],
            row["note"],
        )
        for name, row in first.items()
    }
