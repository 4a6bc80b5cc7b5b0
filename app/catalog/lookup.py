"""All figures of the catalogue, looked up by item and parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from app.catalog.figures import Claim, Curve, Field, Figure, FigureStatus, Item, Key, Source, Unit
from app.catalog.vendor_ratios import VendorRatio
from app.errors import NotFound


@dataclass(frozen=True, eq=False)
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
