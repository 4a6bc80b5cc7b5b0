"""Find a figure by item and parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from app.catalog.figures import Claim, Curve, Field, Figure, FigureStatus, Item, Source, Unit
from app.catalog.vendor_ratios import VendorRatio
from app.errors import NotFound

Key = tuple[str, str, str]
"""Item, parameter, condition."""


@dataclass(frozen=True)
class Lookup:
    """Everything data/ says, indexed; accepted figures of one key stand oldest first."""

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
        """Return the accepted figure, None where there is none."""
        series = self.accepted.get((item, parameter, condition), ())
        if on is not None:
            series = tuple(figure for figure in series if figure.as_of <= on)
        return series[-1] if series else None

    def figure(self, item: str, parameter: str, condition: str = "", on: str | None = None) -> Figure:
        """Return the accepted figure as :meth:`find` does, or raise NotFound."""
        found = self.find(item, parameter, condition, on)
        if found is None:
            known = {f"{item} {key[1]}" for key in self.accepted if key[0] == item}
            raise NotFound.named("figure", f"{item} {parameter}", known or self.items)
        return found

    def series(self, item: str, parameter: str, condition: str = "") -> tuple[Figure, ...]:
        """Return every accepted figure of a parameter that varies with time, oldest first."""
        return self.accepted.get((item, parameter, condition), ())

    def conditions(self, item: str, parameter: str) -> tuple[str, ...]:
        """Return the conditions under which a parameter is known."""
        return self.by_parameter.get((item, parameter), ())

    def figures_of(self, item: str, parameters: Iterable[str] | None = None) -> tuple[Figure, ...]:
        """Return all accepted figures of an item in the order of the files."""
        wanted = None if parameters is None else set(parameters)
        known = self.by_item.get(item, ())
        return tuple(figure for figure in known if wanted is None or figure.parameter in wanted)

    @cached_property
    def by_item(self) -> Mapping[str, tuple[Figure, ...]]:
        """Accepted figures by item, in the order of the files."""
        found: dict[str, list[Figure]] = {}
        for (item, _, _), series in self.accepted.items():
            found.setdefault(item, []).extend(series)
        return {item: tuple(figures) for item, figures in found.items()}

    @cached_property
    def by_parameter(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """Conditions by item and parameter, sorted."""
        found: dict[tuple[str, str], list[str]] = {}
        for item, parameter, condition in self.accepted:
            found.setdefault((item, parameter), []).append(condition)
        return {key: tuple(sorted(conditions)) for key, conditions in found.items()}

    def rejected(self, item: str, parameter: str | None = None) -> tuple[Figure, ...]:
        """Return the competing claims that are not used; the note of each says why."""
        return tuple(
            figure
            for figure in self.declined
            if figure.item == item and parameter in (None, figure.parameter)
        )

    def all_figures(self) -> tuple[Figure, ...]:
        """Return every figure, accepted and rejected."""
        return tuple(figure for series in self.accepted.values() for figure in series) + self.declined

    def item(self, kind: str, name: str) -> Item:
        """Return an item of a kind or raise NotFound with the close identifiers."""
        found = self.items.get(name)
        if found is None or kind not in found.kinds:
            raise NotFound.named(kind, name, self.names(kind))
        return found

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the identifiers of a kind in the order of data/items.csv."""
        return tuple(item.id for item in self.items.values() if kind in item.kinds)

    def sources(self) -> tuple[Source, ...]:
        """Return every source."""
        return tuple(self.known_sources.values())

    def source(self, source_id: str) -> Source:
        """Return a source or raise NotFound."""
        found = self.known_sources.get(source_id)
        if found is None:
            raise NotFound.named("source", source_id, self.known_sources)
        return found

    def claims(self, source_id: str | None = None, status: FigureStatus | None = None) -> tuple[Claim, ...]:
        """Return published statements with their verdicts."""
        return tuple(
            claim
            for claim in self.all_claims
            if source_id in (None, claim.source.id) and status in (None, claim.status)
        )

    def claim(self, claim_id: str) -> Claim:
        """Return one published statement or raise NotFound."""
        for claim in self.all_claims:
            if claim.id == claim_id:
                return claim
        raise NotFound.named("claim", claim_id, (claim.id for claim in self.all_claims))
