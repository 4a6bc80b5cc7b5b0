"""The frozen parts of the catalogue: units, sources, figures, curves and claims; and their look-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from app.errors import CatalogError, NotFound

if TYPE_CHECKING:
    from app.catalog.vendor_ratios import VendorRatio


class FigureStatus(StrEnum):
    """Whether a figure is used, or rejected for the reason in its note."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Direction(StrEnum):
    """Which directions a bandwidth counts."""

    NONE = ""
    ONE_WAY = "one-way"
    BOTH_WAYS = "both-ways"


class SourceKind(StrEnum):
    """Kind of a source, by its reliability."""

    DATASHEET = "datasheet"
    BENCHMARK = "benchmark"
    PAPER = "paper"
    PRESS = "press"
    VENDOR = "vendor"
    CUSTOMER = "customer"
    ESTIMATE = "estimate"


RECALLED = "recalled"
"""Id of the source of unverified figures; never a default where a verified one exists."""
FITTED = "rackline-fit"
"""Id of the source of figures fitted to the measured runs."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of the closed list; ``factor`` turns a value into ``si_unit``."""

    name: str
    dimension: str
    factor: float | None
    si_unit: str
    description: str

    @property
    def numeric(self) -> bool:
        """False for identifiers and words."""
        return self.factor is not None


@dataclass(frozen=True, slots=True)
class Source:
    id: str
    kind: SourceKind
    title: str
    publisher: str
    published: str
    url: str


@dataclass(frozen=True, slots=True)
class Field:
    """Meaning of a parameter, the units it may be stated in, and whether it changes with time."""

    parameter: str
    units: tuple[str, ...]
    varies: bool
    description: str


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    kinds: tuple[str, ...]
    name: str
    maker: str
    withdrawn: bool = False
    """Whether it is found by its identifier alone, and offered nowhere."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One fact: a number (or an identifier or words) with unit, range, direction, source and date.

    ``value``, ``low`` and ``high`` are in ``unit``; ``si`` and its range are in ``si_unit``. Where
    the unit is not numeric, or a rejected row says "not found", ``value`` is None.
    """

    item: str
    parameter: str
    condition: str
    value: float | None
    text: str
    unit: Unit
    low: float | None
    high: float | None
    direction: Direction
    source: Source
    as_of: str
    status: FigureStatus
    note: str

    @property
    def si(self) -> float:
        """Value in the SI unit."""
        if self.value is None or self.unit.factor is None:
            raise CatalogError(f"{self.item} {self.parameter} has no number")
        return self.value * self.unit.factor

    @property
    def si_low(self) -> float:
        """Low end of the range in the SI unit; the value itself where no range is given."""
        return self.si if self.low is None or self.unit.factor is None else self.low * self.unit.factor

    @property
    def si_high(self) -> float:
        """High end of the range in the SI unit; the value itself where no range is given."""
        return self.si if self.high is None or self.unit.factor is None else self.high * self.unit.factor

    @property
    def si_unit(self) -> str:
        return self.unit.si_unit

    @property
    def recalled(self) -> bool:
        """True where the figure is unverified."""
        return self.source.id == RECALLED

    @property
    def fitted(self) -> bool:
        return self.source.id == FITTED

    @property
    def estimated(self) -> bool:
        """True for recalled, fitted, assumed and estimated figures: shown as such on every page."""
        return self.source.kind is SourceKind.ESTIMATE


@dataclass(frozen=True, slots=True)
class CurvePoint:
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A measured curve with rising ``x``."""

    item: str
    x_unit: Unit
    y_unit: Unit
    points: tuple[CurvePoint, ...]
    source: Source
    as_of: str
    note: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A published statement, whether it holds, and what Rackline uses instead."""

    id: str
    source: Source
    as_of: str
    statement: str
    value: float | None
    unit: Unit
    status: FigureStatus
    verdict: str
    use: str
    warning: str


@dataclass(frozen=True, slots=True)
class Spread:
    """A computed amount with the range of its inputs."""

    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A figure computed from others, with the formula in words and its inputs."""

    name: str
    value: float
    unit: str
    formula: str
    inputs: tuple[Figure, ...]


Key = tuple[str, str, str]
"""Item, parameter, condition."""


@dataclass(frozen=True)
class Lookup:
    """All data of data/, indexed; accepted figures of one key are in order of date."""

    version: str
    as_of: str
    items: Mapping[str, Item]
    fields: Mapping[str, Field]
    known_sources: Mapping[str, Source]
    accepted: Mapping[Key, tuple[Figure, ...]]
    declined: tuple[Figure, ...]
    curves: Mapping[str, Curve]
    all_claims: tuple[Claim, ...]
    vendor_ratios: tuple[VendorRatio, ...]
    units: Mapping[str, Unit]

    def find(self, item: str, parameter: str, condition: str = "", on: str | None = None) -> Figure | None:
        """Return the accepted figure, if any."""
        series = self.accepted.get((item, parameter, condition), ())
        if on is not None:
            series = tuple(figure for figure in series if figure.as_of <= on)
        return series[-1] if series else None

    def figure(self, item: str, parameter: str, condition: str = "", on: str | None = None) -> Figure:
        figure = self.find(item, parameter, condition, on)
        if figure is None:
            names = {f"{item} {key[1]}" for key in self.accepted if key[0] == item}
            raise NotFound.named("figure", f"{item} {parameter}", names or self.items)
        return figure

    def series(self, item: str, parameter: str, condition: str = "") -> tuple[Figure, ...]:
        return self.accepted.get((item, parameter, condition), ())

    def conditions(self, item: str, parameter: str) -> tuple[str, ...]:
        return self.by_parameter.get((item, parameter), ())

    def figures_of(self, item: str, parameters: Iterable[str] | None = None) -> tuple[Figure, ...]:
        """Return all accepted figures of an item in the order of the files."""
        chosen = None if parameters is None else set(parameters)
        figures = self.by_item.get(item, ())
        return tuple(figure for figure in figures if chosen is None or figure.parameter in chosen)

    @cached_property
    def by_item(self) -> Mapping[str, tuple[Figure, ...]]:
        """Accepted figures by item, in the order of the files."""
        series_by_item: dict[str, list[Figure]] = {}
        for (item, _, _), series in self.accepted.items():
            series_by_item.setdefault(item, []).extend(series)
        return {item: tuple(figures) for item, figures in series_by_item.items()}

    @cached_property
    def by_parameter(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        conditions_of: dict[tuple[str, str], list[str]] = {}
        for item, parameter, condition in self.accepted:
            conditions_of.setdefault((item, parameter), []).append(condition)
        return {key: tuple(sorted(conditions)) for key, conditions in conditions_of.items()}

    def rejected(self, item: str, parameter: str | None = None) -> tuple[Figure, ...]:
        """Return the rejected claims; the note of each says why."""
        return tuple(
            figure
            for figure in self.declined
            if figure.item == item and parameter in (None, figure.parameter)
        )

    def all_figures(self) -> tuple[Figure, ...]:
        return tuple(figure for series in self.accepted.values() for figure in series) + self.declined

    def item(self, kind: str, name: str) -> Item:
        """Return an item of a kind or raise NotFound with the close identifiers."""
        item = self.items.get(name)
        if item is None or kind not in item.kinds:
            raise NotFound.named(kind, name, self.names(kind))
        return item

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the identifiers of a kind in the order of data/items.csv, without withdrawn ones."""
        return tuple(item.id for item in self.items.values() if kind in item.kinds and not item.withdrawn)

    def sources(self) -> tuple[Source, ...]:
        return tuple(self.known_sources.values())

    def source(self, source_id: str) -> Source:
        source = self.known_sources.get(source_id)
        if source is None:
            raise NotFound.named("source", source_id, self.known_sources)
        return source

    def claims(self, source_id: str | None = None, status: FigureStatus | None = None) -> tuple[Claim, ...]:
        return tuple(
            claim
            for claim in self.all_claims
            if source_id in (None, claim.source.id) and status in (None, claim.status)
        )

    def claim(self, claim_id: str) -> Claim:
        for claim in self.all_claims:
            if claim.id == claim_id:
                return claim
        raise NotFound.named("claim", claim_id, (claim.id for claim in self.all_claims))
