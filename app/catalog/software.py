"""Software profiles, defaults and kernel constants: data/software*.csv and data/kernels.csv as records.

A profile is a named, dated set of a few efficiencies. It extends one or more others, so that it
states only what sets it apart; each figure says whether it was fitted to measured runs or assumed,
and with which relative deviation it is known.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from app.engine.records import FloatLike, Floats, GpuKernels, GpuSoftware, IpuSoftware
from app.errors import CatalogError, Message, NotFound

LISTS = ("families", "chips")
"""Columns of data/software_defaults.csv that list several."""
STATUSES = frozenset({"fitted", "measured", "assumed"})
"""How a figure was found: by the fit of all runs, from single measured runs, or on physical grounds."""
ABSOLUTE = frozenset({"overlap", "layer_overlap"})
"""Figures between 0 and 1 with absolute deviations; all others are relative."""
GREATEST_OVERLAP = 0.98
SWITCHES = frozenset(
    {
        *("fused_attention", "native_attention", "fused_norms", "narrow_weights"),
        *("balanced_head", "blocking_pipeline", "scattered_pipeline"),
    }
)
OPTIONAL = frozenset({"optimizer_bytes"})
"""Figures that a profile may omit."""

PLAN_KINDS = frozenset(
    {
        *("tensor", "pipeline", "interleave", "context", "expert", "sharding"),
        *("offload", "offload_parameters", "offload_activations"),
    }
)
"""Fields of a plan that not every stack has: degrees, shards of more than the optimizer, offload."""
NETWORKS = frozenset({"transformer", "convolutional", "recommendation"})
"""Kinds of network that a stack may be made for."""
LISTED = ("plans", "networks", "makers")
"""Columns of data/software_profiles.csv that list several."""
NONE = "none"
"""Stands in data/software_profiles.csv for an empty list; a blank cell is as in the profile it extends."""

NEEDED = {
    kind: frozenset(record._fields) - OPTIONAL
    for kind, record in (("gpu", GpuSoftware), ("ipu", IpuSoftware))
}
"""Figures that a complete profile of each kind must have."""


def figure_unit(parameter: str) -> str:
    """Return the unit of a field of the engine's software records, which follows from its name."""
    if parameter.endswith(("_overhead", "_latency", "_seconds")):
        return "s"
    return "B" if parameter.endswith("_bytes") else "1"


@dataclass(frozen=True, slots=True)
class ProfileFigure:
    parameter: str
    value: float
    deviation: float
    status: str
    note: str
    profile: str
    """The profile that states it, possibly one that this profile extends."""


@dataclass(frozen=True, slots=True)
class FigureRange:
    """How far a figure may plausibly be from that of its class, and its bounds."""

    value: float
    """Expected before any run. [any]"""
    deviation: float
    """Of the logarithm; absolute for the figures in :data:`ABSOLUTE`."""
    least: float
    most: float


OFFSET = "offset"
"""Coordinate of the factor that no figure of a calibrated profile explains."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of fitting a profile to measured runs: its figures are no longer independent."""

    prior: str
    """The profile it started from."""
    family: str
    chips: frozenset[str]
    """Measured chips; for others, or another family, the narrower range does not hold."""
    devices: float
    """Devices of the largest run."""
    regimes: frozenset[str]
    """Regimes of data/residuals.csv the measured runs were in."""
    coordinates: tuple[str, ...]
    """Names of the correlated coordinates: figures, then :data:`OFFSET`."""
    root: Floats
    """Matrix from independent to correlated standard normals, one row per coordinate."""
    offset: float
    """Logarithm of the factor on every step that no figure explains."""
    offset_deviation: float
    scatter: float
    """Log-deviation of the measured runs beyond that of a regime."""
    ends: Mapping[str, tuple[float, float]]
    """Bounds of each figure."""
    doubt: Message | None = None
    """Why the runs are implausible; every answer that uses them says so."""
    measured: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Step times of the runs by configuration. [s]"""

    def holds_for(self, family: str, chip: str) -> bool:
        """Return whether a family of models was measured on a chip."""
        return family == self.family and chip in self.chips

    def correlated(self, normals: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return normals with the calibrated coordinates correlated; missing ones are zero."""
        size = next((column.shape for column in normals.values()), (1,))
        columns = np.stack([normals.get(name, np.zeros(size)) for name in self.coordinates])
        moved = self.root @ columns
        return {**normals, **dict(zip(self.coordinates, moved, strict=True))}


@dataclass(frozen=True, slots=True)
class SoftwareProfile:
    """Efficiencies of a software stack with their uncertainties."""

    id: str
    title: str
    kind: str
    """``gpu`` or ``ipu``."""
    preset: str
    """``tuned``, ``fused`` or ``eager``."""
    as_of: str
    source: str
    extends: tuple[str, ...]
    """Profiles that it takes its other figures from, later ones winning."""
    figures: Mapping[str, ProfileFigure]
    plans: frozenset[str] = PLAN_KINDS
    """Kinds of plan that it can run (:data:`PLAN_KINDS`), beside copies and a sharded optimizer."""
    networks: frozenset[str] = NETWORKS
    """Kinds of network that it trains (:data:`NETWORKS`); others are nobody's in particular."""
    makers: frozenset[str] = frozenset()
    """Makers of the chips that it runs on; empty for any."""
    calibration: Calibration | None = None
    presumed: bool = False
    """True where no software was named and the usual one of the chip is used."""

    @property
    def fitted(self) -> int:
        """Number of its own figures that were fitted to or measured in runs."""
        return sum(
            figure.status != "assumed" and figure.profile == self.id for figure in self.figures.values()
        )

    @property
    def rests_on_runs(self) -> bool:
        """True where one of its figures, those of classes aside, was fitted to or measured in runs."""
        return any(
            figure.status != "assumed" and not figure.profile.startswith("gpu-")
            for figure in self.figures.values()
        )

    @property
    def complete(self) -> bool:
        """False for a part of profiles, such as a framework without its SDK."""
        return NEEDED[self.kind] <= self.figures.keys()

    @property
    def is_preset(self) -> bool:
        """True for a class of software, or a calibration of one, rather than a measured stack."""
        name = self.id if self.calibration is None else self.calibration.prior
        return name.startswith("gpu-") or name == "ipu-base"

    def value(self, parameter: str, normals: Mapping[str, Floats] | None = None) -> FloatLike:
        figure = self.figures[parameter]
        if normals is None or figure.deviation == 0 or parameter not in normals:
            return figure.value
        moved = figure.deviation * normals[parameter]
        if parameter in ABSOLUTE:
            return np.clip(figure.value + moved, 0.0, GREATEST_OVERLAP)
        samples = np.asarray(figure.value * np.exp(moved))
        if self.calibration is not None and parameter in self.calibration.ends:
            return np.clip(samples, *self.calibration.ends[parameter])
        return samples

    def correlated(self, normals: Mapping[str, Floats] | None) -> Mapping[str, Floats] | None:
        """Return normals with the correlations of a calibration."""
        if normals is None or self.calibration is None:
            return normals
        return self.calibration.correlated(normals)

    def time_factor(self, normals: Mapping[str, Floats] | None = None) -> FloatLike:
        """Return the factor on every step that no figure explains: one unless calibrated."""
        if self.calibration is None:
            return 1.0
        if normals is None:
            return math.exp(self.calibration.offset)
        column = self.calibration.correlated(normals)[OFFSET]
        return np.asarray(np.exp(self.calibration.offset + self.calibration.offset_deviation * column))

    def gpu(self, normals: Mapping[str, Floats] | None = None) -> GpuSoftware:
        normals = self.correlated(normals)
        values: dict[str, object] = {}
        for name in GpuSoftware._fields:
            if name in OPTIONAL and name not in self.figures:
                values[name] = 0.0
            elif name in SWITCHES:
                values[name] = bool(self.figures[name].value)
            else:
                values[name] = self.value(name, normals)
        return GpuSoftware(**values)  # type: ignore[arg-type]

    def ipu(self, normals: Mapping[str, Floats] | None = None) -> IpuSoftware:
        normals = self.correlated(normals)
        values: dict[str, object] = {name: self.value(name, normals) for name in IpuSoftware._fields}
        values["io_tiles"] = int(self.figures["io_tiles"].value)
        return IpuSoftware(**values)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class DefaultSoftware:
    """One row of data/software_defaults.csv: the usual software of a kind of model on a kind of chip."""

    kind: str
    """``gpu`` or ``ipu``."""
    families: frozenset[str]
    """Families of models; empty for all."""
    network: str
    """Kind of network, as ``convolutional``; empty for all."""
    target: str
    """Beginning of the name of the target that is trained to, as ``mlperf``; empty for all."""
    chips: frozenset[str]
    """Chips; empty for all."""
    format: str
    """Format that the chip's matrix units must have, a mark of its generation; empty for all."""
    since: str
    """Day from which it is usual, as ISO date."""
    profile: str
    models: str
    """Name of such models."""

    def holds_for(self, family: str, network: str, target: str, chip: str, formats: Collection[str]) -> bool:
        """Return whether a row applies to a model on a chip."""
        return (
            (not self.families or family in self.families)
            and target.startswith(self.target)
            and self.network in ("", network)
            and (not self.chips or chip in self.chips)
            and (not self.format or self.format in formats)
        )

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, bool, str]:
        """Order of rows that apply to the same case: the narrower wins, then the newer."""
        narrow = (self.target, self.chips, self.families, self.network, self.format)
        target, chips, families, network, format_ = map(bool, narrow)
        return target, chips, families, network, format_, self.since


@dataclass(frozen=True, slots=True, eq=False)
class SoftwareCatalog:
    """All profiles, and the costs of the kernel libraries."""

    profiles: Mapping[str, SoftwareProfile]
    kernels: GpuKernels
    kernel_rows: tuple[Mapping[str, str], ...]
    ranges: Mapping[str, FigureRange] = field(default_factory=dict)
    """How far figures differ between stacks of one class, by parameter."""
    defaults: tuple[DefaultSoftware, ...] = ()
    """Usual software where none is named, the narrowest and newest first."""

    def default(
        self, family: str, network: str, target: str, kind: str, chip: str, formats: Collection[str]
    ) -> DefaultSoftware:
        return next(
            row
            for row in self.defaults
            if row.kind == kind and row.holds_for(family, network, target, chip, formats)
        )

    def profile(self, name: str, field: str = "software") -> SoftwareProfile:
        if name not in self.profiles:
            raise NotFound.named("software profile", name, self.profiles, field)
        return self.profiles[name]

    def built_on(self, part: str) -> list[str]:
        """Return the complete profiles that extend a part, directly or indirectly."""
        parts = {part}
        for profile in self.profiles.values():
            # Profiles come after those they extend.
            if parts & set(profile.extends):
                parts.add(profile.id)
        return sorted(name for name in parts if self.profiles[name].complete)

    @property
    def fitted(self) -> int:
        """Number of fitted figures of all profiles and kernels."""
        kernels = sum(row["status"] == "fitted" for row in self.kernel_rows)
        return kernels + sum(profile.fitted for profile in self.profiles.values())


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def load_software(directory: Path) -> SoftwareCatalog:
    own: dict[str, dict[str, ProfileFigure]] = {}
    for line, row in enumerate(_rows(directory / "software.csv"), start=2):
        try:
            value, deviation = float(row["value"]), float(row["deviation"] or 0.0)
        except ValueError as error:
            raise CatalogError(f"software.csv line {line}: value and deviation must be numbers") from error
        if not math.isfinite(value) or row["status"] not in STATUSES:
            raise CatalogError(
                f"software.csv line {line}: a finite value, {', '.join(sorted(STATUSES))}, is needed"
            )
        values: dict[str, Any] = {**row, "value": value, "deviation": deviation}
        figure = ProfileFigure(**values)
        own.setdefault(figure.profile, {})[figure.parameter] = figure
    profiles: dict[str, SoftwareProfile] = {}
    for row in _rows(directory / "software_profiles.csv"):
        figures: dict[str, ProfileFigure] = {}
        lists: dict[str, Any] = {
            name: _listed(row, name, profiles) for name in ("plans", "networks", "makers")
        }
        unknown = (lists["plans"] - PLAN_KINDS) | (lists["networks"] - NETWORKS)
        if unknown:
            raise CatalogError(f"software_profiles.csv: {row['profile']}: unknown {sorted(unknown)}")
        for parent in filter(None, row["extends"].split(";")):
            if parent not in profiles:
                raise CatalogError(
                    f"software_profiles.csv: {row['profile']} extends {parent}, which is not above it"
                )
            figures |= profiles[parent].figures
        figures |= own.pop(row["profile"], {})
        profiles[row["profile"]] = SoftwareProfile(
            id=row["profile"],
            title=row["title"],
            kind=row["kind"],
            preset=row["class"],
            as_of=row["as_of"],
            source=row["source"],
            extends=tuple(filter(None, row["extends"].split(";"))),
            figures=figures,
            **lists,
        )
    if own:
        raise CatalogError(f"software.csv: no such profile in software_profiles.csv: {sorted(own)}")
    kernel_rows = tuple(_rows(directory / "kernels.csv"))
    ranges = {
        row["parameter"]: FigureRange(*(float(row[name]) for name in ("value", "deviation", "least", "most")))
        for row in _rows(directory / "software_priors.csv")
    }
    return SoftwareCatalog(
        profiles=profiles,
        kernels=_kernels(kernel_rows),
        kernel_rows=kernel_rows,
        ranges=ranges,
        defaults=_defaults(directory, profiles),
    )


def _listed(row: Mapping[str, str], name: str, profiles: Mapping[str, SoftwareProfile]) -> frozenset[str]:
    """Return a list of a profile; that of the last profile it extends where the cell is blank."""
    if row[name]:
        return frozenset(row[name].split(";")) - {NONE}
    parents = [profiles[parent] for parent in row["extends"].split(";") if parent in profiles]
    usual: dict[str, frozenset[str]] = {"plans": PLAN_KINDS, "networks": NETWORKS, "makers": frozenset()}
    inherited: frozenset[str] = getattr(parents[-1], name) if parents else usual[name]
    return inherited


def _defaults(directory: Path, profiles: Mapping[str, SoftwareProfile]) -> tuple[DefaultSoftware, ...]:
    rows = []
    for line, row in enumerate(_rows(directory / "software_defaults.csv"), start=2):
        profile = profiles.get(row["profile"])
        if profile is None or profile.kind != row["kind"] or not profile.complete:
            raise CatalogError(
                f"software_defaults.csv line {line}: {row['profile']} is no profile of {row['kind']} software"
            )
        try:
            date.fromisoformat(row["since"])
        except ValueError as error:
            raise CatalogError(f"software_defaults.csv line {line}: since must be a date") from error
        cells: dict[str, Any] = {entry.name: row[entry.name] for entry in fields(DefaultSoftware)}
        cells |= {name: frozenset(filter(None, row[name].split(";"))) for name in LISTS}
        rows.append(DefaultSoftware(**cells))
    for kind in ("gpu", "ipu"):
        if not any(row.kind == kind and not any(row.rank[:-1]) for row in rows):
            raise CatalogError(f"software_defaults.csv: no row holds for every model on {kind}")
    return tuple(sorted(rows, key=lambda row: row.rank, reverse=True))


def _kernels(rows: tuple[Mapping[str, str], ...]) -> GpuKernels:
    values = {row["parameter"]: float(row["value"]) for row in rows}
    names = [name for name in values if name.startswith("tile_") and name != "tile_prologue"]
    tiles = [(name.removeprefix("tile_").split("x"), values.pop(name)) for name in names]
    expected = set(GpuKernels._fields) - {"tiles"}
    if expected != set(values):
        raise CatalogError(
            f"kernels.csv: missing {sorted(expected - set(values))}, unknown {sorted(set(values) - expected)}"
        )
    return GpuKernels(
        tiles=np.array([(float(rows), float(columns), rate) for (rows, columns), rate in tiles]).T.copy(),
        **values,
    )
