"""The catalogue as documents: chips, machines, systems, fabrics, models, software, sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Generic

from app.catalog.catalog import Catalog
from app.catalog.entries import Entry, SystemPart
from app.catalog.figures import DerivedQuantity, Figure, Spread
from app.catalog.software import ABSOLUTE, ProfileFigure, SoftwareProfile, figure_unit
from app.errors import NotFound
from app.estimating.context import SizingContext
from app.estimating.nearest import MeasuredRun
from app.estimating.schema import Item, Quantity, SourceRef, filled
from app.estimating.trace import source_ref
from app.platform.catalogue_model import (
    BillOfSystem,
    CatalogueFigure,
    Chip,
    DerivedFigure,
    Fabric,
    Machine,
    Model,
    ModelSource,
    ModelWithOperators,
    OperatorSummary,
    PublishedParameters,
    PublishedTraining,
    Software,
    SoftwareFigure,
    Statement,
    System,
)
from app.platform.listing import Page, stretch
from app.profiles.model import ModelProfile
from app.profiles.presets import presets

NINETIETH = NormalDist().inv_cdf(0.9)
"""Deviations from the centre to the 90th percentile."""


@dataclass(frozen=True, slots=True)
class Shelf(Generic[Item]):
    """All documents of one kind."""

    kind: str
    documents: Mapping[str, Item]
    withdrawn: frozenset[str] = frozenset()
    """Those that are found by their identifier and not listed."""

    @property
    def listed(self) -> list[Item]:
        return [document for name, document in self.documents.items() if name not in self.withdrawn]

    def page(self, limit: int, cursor: str | None) -> Page[Item]:
        return stretch(self.listed, limit, cursor)

    def get(self, identifier: str) -> Item:
        """Return one of them, or name its close relatives."""
        if identifier not in self.documents:
            raise NotFound.named(self.kind, identifier, self.documents)
        return self.documents[identifier]


class Catalogue:
    """The catalogue as documents, each kind built when it is first asked for.

    Where accelerators of a workspace are laid over a published catalogue, what is published is built once.
    """

    def __init__(self, context: SizingContext, published: Catalogue | None = None) -> None:
        self.catalog = context.catalog
        self.profiles = context.software.profiles
        self.runs = context.runs
        self._published = published
        self._withdrawn = frozenset(
            accelerator.id for accelerator in context.catalog.own.values() if accelerator.withdrawn
        )

    def _shelf(
        self,
        kind: str,
        make: Callable[[Catalog, str], Item],
        shelf: Callable[[Catalogue], Shelf[Item]],
    ) -> Shelf[Item]:
        names = [item.id for item in self.catalog.items.values() if kind in item.kinds]
        known = {} if self._published is None else shelf(self._published).documents
        documents = {name: known[name] if name in known else make(self.catalog, name) for name in names}
        return Shelf(kind, documents, self._withdrawn)

    @cached_property
    def chips(self) -> Shelf[Chip]:
        return self._shelf("chip", chip, lambda known: known.chips)

    @cached_property
    def machines(self) -> Shelf[Machine]:
        return self._shelf("machine", machine, lambda known: known.machines)

    @cached_property
    def systems(self) -> Shelf[System]:
        return self._shelf("system", system, lambda known: known.systems)

    @cached_property
    def fabrics(self) -> Shelf[Fabric]:
        return self._shelf("fabric", fabric, lambda known: known.fabrics)

    @cached_property
    def models(self) -> Shelf[Model]:
        """Every model preset, without its operators."""
        if self._published is not None:
            return self._published.models
        models = {name: model(profile, self.catalog) for name, profile in presets().items()}
        return Shelf("model preset", models)

    @cached_property
    def software(self) -> Shelf[Software]:
        if self._published is not None:
            return self._published.software
        profiles = {
            name: software(profile, self.catalog, [run for run in self.runs if name in run.profiles])
            for name, profile in self.profiles.items()
        }
        return Shelf("software profile", profiles)

    @cached_property
    def sources(self) -> Shelf[SourceRef]:
        return Shelf("source", {source.id: source_ref(source) for source in self.catalog.sources()})

    def model_with_operators(self, identifier: str) -> ModelWithOperators:
        shown = self.models.get(identifier)
        return ModelWithOperators(
            **dict(shown),
            operators=operators(presets()[identifier]),
        )


def chip(catalog: Catalog, identifier: str) -> Chip:
    entry = catalog.chip(identifier)
    follows = derived(catalog.chip_derived(entry.id))
    return Chip(**shared(catalog, entry), kind=entry.kind.value, derived=follows)


def machine(catalog: Catalog, identifier: str) -> Machine:
    entry = catalog.machine_entry(identifier)
    return Machine(
        **shared(catalog, entry), chip=entry.chip.id, devices=entry.devices, intra=entry.intra.value
    )


def fabric(catalog: Catalog, identifier: str) -> Fabric:
    entry = catalog.fabric_entry(identifier)
    return Fabric(**shared(catalog, entry), protocol=entry.protocol)


def system(catalog: Catalog, identifier: str) -> System:
    entry = catalog.system(identifier)
    return filled(
        System,
        entry,
        **shared(catalog, entry),
        machine=entry.machine.id,
        devices_per_machine=entry.machine.devices,
        chip=entry.machine.chip.id,
        chip_kind=entry.machine.chip.kind.value,
        intra=entry.machine.intra.value,
        acquisition=entry.acquisition.value,
        price=spread(entry.price),
        price_hour=figure(catalog, entry.price_hour),
        power_typical=spread(entry.power_typical),
        power_max=spread(entry.power_max),
        bill=[bill_line(catalog, line) for line in entry.bill],
        derived=derived(catalog.derived(entry.id)),
    )


def model(profile: ModelProfile, catalog: Catalog) -> Model:
    source, published = profile.source, profile.published
    return Model(
        id=profile.id,
        name=profile.name,
        family=profile.family,
        parameters=Quantity.exact(profile.parameters, "1"),
        published=None if published.parameters is None else filled(PublishedParameters, published),
        forward_flop_per_sample=Quantity.exact(profile.forward_flop_per_sample, "FLOP"),
        seq_len=profile.default_seq_len,
        image_size=profile.default_image_size,
        hugging_face=list(profile.hugging_face),
        source=source and ModelSource(title=source.title, url=source.url, published=source.date),
        training=filled(PublishedTraining, published, figures=figures_of(catalog, published.training)),
        status="accepted",
        assumptions=[str(assumption) for assumption in profile.assumptions],
    )


def operators(profile: ModelProfile) -> list[OperatorSummary]:
    return [OperatorSummary.model_validate(row) for row in profile.summary()]


def software(profile: SoftwareProfile, catalog: Catalog, runs: Sequence[MeasuredRun]) -> Software:
    """Return one software profile as a document, with the measured runs that it stands for."""
    source = source_ref(catalog.source(profile.source))
    return Software(
        id=profile.id,
        name=profile.title,
        kind="ipu" if profile.kind == "ipu" else "gpu",
        preset=profile.preset,
        as_of=profile.as_of,
        families=sorted({run.family for run in runs}),
        runs=len(runs),
        figures=[software_figure(fact, source) for fact in profile.figures.values()],
        rejected=[],
    )


def software_figure(fact: ProfileFigure, source: SourceRef) -> SoftwareFigure:
    reach = NINETIETH * fact.deviation
    if fact.parameter in ABSOLUTE:
        low, high = max(fact.value - reach, 0.0), min(fact.value + reach, 1.0)
    else:
        low, high = fact.value * math.exp(-reach), fact.value * math.exp(reach)
    unit = figure_unit(fact.parameter)
    return filled(SoftwareFigure, fact, low=low, high=high, unit=unit, source=source)


def shared(catalog: Catalog, entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": entry.name,
        "maker": entry.maker,
        "figures": figures_of(catalog, entry.figures),
        "rejected": [Statement(**statement_fields(fact)) for fact in entry.rejected],
    }


def figure(catalog: Catalog, fact: Figure | None) -> CatalogueFigure | None:
    """Return a figure in use with its competing claims."""
    if fact is None:
        return None
    rivals = catalog.rejected(fact.item, fact.parameter)
    return CatalogueFigure(
        **statement_fields(fact),
        description=catalog.fields[fact.parameter].description,
        rejected=[Statement(**statement_fields(rival)) for rival in rivals],
    )


def figures_of(catalog: Catalog, facts: Iterable[Figure | None]) -> list[CatalogueFigure]:
    return [shown for fact in facts if (shown := figure(catalog, fact)) is not None]


def statement_fields(fact: Figure) -> dict[str, Any]:
    """Return what a figure in use and a rejected one have in common."""
    known = fact.value is not None and fact.unit.factor is not None
    return {
        "parameter": fact.parameter,
        "condition": fact.condition,
        "value": fact.si if known else None,
        "low": fact.si_low if known else None,
        "high": fact.si_high if known else None,
        "unit": fact.si_unit,
        "text": fact.text,
        "stated_unit": fact.unit.name,
        "direction": fact.direction.value,
        "source": source_ref(fact.source),
        "as_of": fact.as_of,
        "status": fact.status.value,
        "estimated": fact.estimated,
        "note": fact.note,
    }


def derived(figures: Iterable[DerivedQuantity]) -> list[DerivedFigure]:
    return [
        filled(DerivedFigure, entry, inputs=[Statement(**statement_fields(fact)) for fact in entry.inputs])
        for entry in figures
    ]


def spread(amount: Spread | None) -> Quantity | None:
    return None if amount is None else filled(Quantity, amount)


def bill_line(catalog: Catalog, line: SystemPart) -> BillOfSystem:
    return filled(
        BillOfSystem,
        line,
        price=figure(catalog, line.price),
        power_typical=figure(catalog, line.power_typical),
        rack_units=figure(catalog, line.rack_units),
    )
