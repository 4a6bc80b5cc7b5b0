"""The catalogue: figures, entries, engine records, defaults and derived figures behind one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.catalog import defaults, entries, records
from app.catalog.books import PriceBook, overlay
from app.catalog.check import check_sheets
from app.catalog.entries import ChipEntry, ChipKind, FabricEntry, MachineEntry, SystemEntry
from app.catalog.figures import (
    Claim,
    Curve,
    CurvePoint,
    DerivedQuantity,
    Field,
    Figure,
    FigureStatus,
    Item,
    Key,
    Source,
    Unit,
)
from app.catalog.files import DataRow, Sheets, read_sheets, record_of
from app.catalog.lookup import Lookup
from app.catalog.own import OwnAccelerator
from app.catalog.own import overlay as own_overlay
from app.catalog.vendor_ratios import vendor_ratios
from app.errors import CatalogError, Unprocessable


@dataclass(frozen=True, eq=False)
class Catalog(Lookup):
    """All of data/, checked. Build one with :func:`app.catalog.load_catalog` and keep it."""

    book: PriceBook | None = None
    """Price book that overrides its prices."""
    prices_on: str | None = None
    """Day of the figures that vary with time; None for the newest."""
    own: Mapping[str, OwnAccelerator] = field(default_factory=dict)
    """Accelerators of a workspace."""

    chip = entries.chip_entry
    machine_entry = entries.machine_entry
    system = entries.system_entry
    fabric_entry = entries.fabric_entry
    derived = entries.system_derived
    chip_derived = entries.chip_derived
    usual_peak = entries.usual_peak
    gpu_chip = records.gpu_chip
    ipu_chip = records.ipu_chip
    domain_devices = records.domain_devices
    machine = records.machine
    machine_figures = records.machine_figures
    host_memory = records.host_memory
    host_memory_bandwidth = records.host_memory_bandwidth
    idle_power = records.idle_power
    fabric = records.fabric
    fabric_figures = records.fabric_figures
    convergence = defaults.convergence_target
    cost_defaults = defaults.cost_defaults
    reliability_defaults = defaults.reliability_defaults
    tariffs = defaults.tariffs
    tier_of = defaults.tier_of
    support_plan = defaults.support_plan

    def chips(self) -> tuple[ChipEntry, ...]:
        """Return every chip the engine can time."""
        return tuple(self.chip(name) for name in self.names("chip"))

    def machines(self) -> tuple[MachineEntry, ...]:
        return tuple(self.machine_entry(name) for name in self.names("machine"))

    def systems(self) -> tuple[SystemEntry, ...]:
        return tuple(self.system(name) for name in self.names("system"))

    def fabrics(self) -> tuple[FabricEntry, ...]:
        return tuple(self.fabric_entry(name) for name in self.names("fabric"))

    def architecture(self, chip_id: str) -> str:
        """Return the architecture of a chip; empty where it is not stated, as of a workspace's own."""
        figure = self.find(chip_id, "architecture")
        return "" if figure is None else figure.text

    def chip_figures(self, chip_id: str) -> records.Figures:
        if self.chip(chip_id).kind is ChipKind.IPU:
            return records.ipu_figures(self, chip_id)
        return records.gpu_figures(self, chip_id)

    def peak(self, chip_id: str, name: str, field: str = "") -> DerivedQuantity:
        """Return a peak of a chip by name: ``fp16_dense``, ``fp16_sparse``, ``tf32_dense``, ``fp32`` …"""
        peaks = {peak.name: peak for peak in entries.chip_peaks(self, chip_id)}
        if name not in peaks:
            raise Unprocessable.at(
                field,
                "{chip} has no peak named “{name}”; enter one of {known}",
                chip=self.chip(chip_id).name,
                name=name[:80],
                known=", ".join(peaks),
            )
        return peaks[name]

    def rents(self, system_id: str, condition: str = "") -> tuple[Figure, ...]:
        """Return the dated hourly rents of a system under a condition ("", "spot", …), oldest first."""
        return self.series(self.item("system", system_id).id, "price_hour", condition)

    def dated(self, on: str) -> Catalog:
        """Return the catalogue as of a day.

        Of each figure that varies with time the newest stated on or before that day stays, else the oldest.
        """
        dated = {}
        for key, series in self.accepted.items():
            if len(series) > 1 and self.fields[key[1]].varies:
                until = [figure for figure in series if figure.as_of <= on]
                dated[key] = (until[-1] if until else series[0],)
        return replace(self, accepted={**self.accepted, **dated}, prices_on=on)

    def overlaid(self, book: PriceBook) -> Catalog:
        """Return the catalogue with the prices, discounts and rates of a price book."""
        return replace(self, accepted={**self.accepted, **overlay(self, book)}, book=book)

    def with_own(self, accelerators: Iterable[OwnAccelerator]) -> Catalog:
        """Return the catalogue with the accelerators of a workspace."""
        own = {accelerator.id: accelerator for accelerator in accelerators}
        items, sources, figures = own_overlay(self, own.values())
        return replace(
            self,
            items={**self.items, **items},
            known_sources={**self.known_sources, **sources},
            accepted={**self.accepted, **figures},
            own=own,
        )


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
    units, sources = _units(sheets), _sources(sheets)
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
        fields={
            row["parameter"]: record_of(Field, row, units=tuple(row["units"].split(";")))
            for row in sheets.rows["fields"]
        },
        known_sources=sources,
        accepted={
            key: tuple(sorted(series, key=lambda figure: figure.as_of)) for key, series in accepted.items()
        },
        declined=tuple(declined),
        curves=_curves(sheets, units, sources),
        all_claims=tuple(
            record_of(Claim, row, id=row["claim"], unit=units[row["unit"]], source=sources[row["source"]])
            for row in sheets.rows["claims"]
        ),
        vendor_ratios=vendor_ratios(sheets, sources),
        units=units,
    )


def load_training(directory: Path) -> dict[str, tuple[Figure, ...]]:
    """Return the published training of each model preset: data/training.csv."""
    sheets = read_sheets(directory)
    units, sources = _units(sheets), _sources(sheets)
    figures: dict[str, tuple[Figure, ...]] = {}
    for row in sheets.rows["training"]:
        for model in row["models"].split():
            cells = {**row.cells, "item": model, "condition": "", "low": "", "high": "", "direction": ""}
            figure = _figure(replace(row, cells=cells), units, sources)
            if figure.status is FigureStatus.ACCEPTED:
                figures[model] = (*figures.get(model, ()), figure)
    return figures


def _units(sheets: Sheets) -> dict[str, Unit]:
    return {row["unit"]: record_of(Unit, row, name=row["unit"]) for row in sheets.rows["units"]}


def _sources(sheets: Sheets) -> dict[str, Source]:
    return {row["id"]: record_of(Source, row) for row in sheets.rows["sources"]}


def _figure(row: DataRow, units: dict[str, Unit], sources: dict[str, Source]) -> Figure:
    unit, text = units[row["unit"]], row["value"]
    value = float(text) if text and unit.numeric else None
    return record_of(Figure, row, value=value, text=text, unit=unit, source=sources[row["source"]])


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
