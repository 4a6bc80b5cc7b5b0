"""The frozen parts of the catalogue: units, sources, figures, curves and claims."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.errors import CatalogError


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
class DerivedQuantity:
    """A figure computed from others, with the formula in words and its inputs."""

    name: str
    value: float
    unit: str
    formula: str
    inputs: tuple[Figure, ...]


Key = tuple[str, str, str]
"""Item, parameter, condition."""
