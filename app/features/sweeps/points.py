"""Uploads of a sweep, found before it starts and sent along: workers know no database."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pydantic import BaseModel

from app.catalog.books import PriceBook
from app.catalog.own import OwnAccelerator
from app.catalog.software import SoftwareProfile
from app.errors import BadInput, fields_at
from app.estimating.context import SizingContext, unknown_book, unknown_profile, unknown_workload
from app.estimating.request import (
    AssumptionsInput,
    Currency,
    EstimateRequest,
    PlanInput,
    SystemInput,
    WorkloadInput,
)
from app.features.sweeps.model import (
    MOST_POINTS,
    Prices,
    SweepModel,
    SweepPrices,
    SweepRequest,
    SweepScenario,
    SweepSystem,
)
from app.profiles.model import ModelProfile
from app.profiles.samples import LengthSample

Input = TypeVar("Input", WorkloadInput, AssumptionsInput)

LENGTHS = (
    frozenset({"tokens"}),
    frozenset({"samples"}),
    frozenset({"epochs", "dataset_samples"}),
    frozenset({"target"}),
)
"""Fields of a workload that say how long to train; one way excludes the others."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One combination and the estimate it asks for."""

    position: int
    """Position in the order of the sweep, from 0."""
    key: str
    """Name that follows from what is asked, the same wherever and whenever the sweep is run."""
    model: str
    system: str
    price: str
    """Label of the price list; empty if there is none."""
    scenario: str
    """Label of the scenario; empty if there is none."""
    request: EstimateRequest


@dataclass(frozen=True, slots=True)
class _Sized:
    """A system in one of its counts."""

    place: str
    label: str
    digest: str
    system: SweepSystem
    count: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """The checked lists of a sweep, ready to be combined."""

    request: SweepRequest
    total: int
    """How many points there are."""
    digest: str
    """Name that follows from all points together."""

    @classmethod
    def of(cls, request: SweepRequest) -> Sweep:
        """Check what only the lists together can show."""
        total = _total(request)
        _labels_differ("models", model_labels(request.models))
        _labels_differ("prices", [one.label for one in request.prices])
        _labels_differ("scenarios", [one.label for one in request.scenarios])
        _systems_differ(request.systems)
        _priced_systems_are_asked_for(request)
        return cls(request, total, _digest(request)[:16])

    def labels(self) -> dict[str, list[str]]:
        """Return the labels of models, systems, prices and scenarios in their order."""
        request = self.request
        return {
            "model": model_labels(request.models),
            "system": list(dict.fromkeys(one.label for one in _sized(request.systems))),
            "price": [one.label for one in request.prices],
            "scenario": [one.label for one in request.scenarios],
        }

    def sizes(self) -> dict[str, int]:
        """Return how many models, systems in their counts, prices and scenarios there are."""
        request = self.request
        return {
            "model": len(request.models),
            "system": sum(len(counts_of(system)) for system in request.systems),
            "price": len(request.prices),
            "scenario": len(request.scenarios),
        }

    def points(self) -> Iterator[SweepPoint]:
        """Return the points in their order; scenarios vary fastest, then prices, systems, models."""
        request = self.request
        named = zip(model_labels(request.models), request.models, strict=True)
        models = [(label, _digest(model), model) for label, model in named]
        prices = [(_digest(one) if one else "", one) for one in request.prices or (None,)]
        scenarios = [(_digest(one) if one else "", one) for one in request.scenarios or (None,)]
        systems = _sized(request.systems)
        combinations = itertools.product(models, systems, prices, scenarios)
        for position, (
            (label, digest, model),
            sized,
            (price_digest, price),
            (of_scenario, scenario),
        ) in enumerate(combinations):
            parts = (
                label, digest, sized.label, sized.digest, str(sized.count), price_digest, of_scenario,
                request.currency,
            )  # fmt: skip
            yield SweepPoint(
                position=position,
                key=hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24],
                model=label,
                system=sized.label,
                price=price.label if price else "",
                scenario=scenario.label if scenario else "",
                request=_asked(model, sized, price, scenario, request.currency),
            )


def model_labels(models: Sequence[SweepModel]) -> list[str]:
    given = (entry.label or entry.model.preset or entry.model.profile_id for entry in models)
    return [label[:200] if label else f"model {place}" for place, label in enumerate(given, 1)]


def counts_of(entry: SweepSystem) -> list[int]:
    if entry.counts is not None:
        return list(entry.counts)
    return [1 if entry.count is None else entry.count]


def _total(request: SweepRequest) -> int:
    for place, system in enumerate(request.systems):
        if system.count is not None and system.counts is not None:
            raise BadInput.at(f"systems.{place}.counts", "enter count or counts, not both")
    sized = sum(len(counts_of(system)) for system in request.systems)
    lengths = {
        "models": len(request.models),
        "systems": sized,
        "prices": len(request.prices) or 1,
        "scenarios": len(request.scenarios) or 1,
    }
    total = math.prod(lengths.values())
    if total > MOST_POINTS:
        raise BadInput.at(
            "body",
            "{models} models × {systems} systems × {prices} price lists × {scenarios} "
            "scenarios make {total} points; one sweep computes at most {most}",
            **lengths,
            total=total,
            most=MOST_POINTS,
        )
    return total


def _labels_differ(field: str, labels: Sequence[str]) -> None:
    seen: set[str] = set()
    for place, label in enumerate(labels):
        if label in seen:
            raise BadInput.at(
                f"{field}.{place}.label",
                "“{label}” appears twice; use different labels",
                label=label,
            )
        seen.add(label)


def _systems_differ(systems: Sequence[SweepSystem]) -> None:
    seen: set[tuple[str, int]] = set()
    for one in _sized(systems):
        if (one.label, one.count) in seen:
            raise BadInput.at(
                one.place,
                "{count} × “{label}” appears twice; use different labels",
                count=one.count,
                label=one.label,
            )
        seen.add((one.label, one.count))


def _priced_systems_are_asked_for(request: SweepRequest) -> None:
    known = {system.id for system in request.systems}
    for place, price in enumerate(request.prices):
        for name in price.by_system:
            if name not in known:
                raise BadInput.at(
                    f"prices.{place}.by_system",
                    "“{name}” is not a system of this sweep; choose one of {known}",
                    name=name[:80],
                    known=", ".join(sorted(known)[:20]),
                )


def _sized(systems: Sequence[SweepSystem]) -> list[_Sized]:
    return [
        _Sized(f"systems.{place}", (system.label or system.id)[:200], digest, system, count)
        for place, system in enumerate(systems)
        for digest in (_digest(system, "count", "counts"),)
        for count in counts_of(system)
    ]


def _asked(
    model: SweepModel,
    sized: _Sized,
    price: SweepPrices | None,
    scenario: SweepScenario | None,
    currency: Currency,
) -> EstimateRequest:
    """Return the estimate of one combination; every part has been validated as part of the sweep."""
    system, workload, assumptions = sized.system, model.workload, AssumptionsInput()
    software, plan = system.software, PlanInput()
    if price is not None:
        own = price.by_system.get(system.id)
        for stated in (price, own):
            if stated is not None:
                assumptions = assumptions.model_copy(update=_money(stated))
    if scenario is not None:
        workload = _lasting(workload, scenario.workload)
        assumptions = _over(assumptions, scenario.assumptions)
        software = scenario.software or software
        plan = scenario.plan
    names = [sized.label if sized.count == 1 else f"{sized.count} × {sized.label}"]
    names += [one.label for one in (price, scenario) if one is not None]
    return EstimateRequest(
        model=model.model,
        workload=workload,
        system=SystemInput(
            id=system.id,
            count=sized.count,
            fabric=system.fabric,
            ports_per_node=system.ports_per_node,
            streaming_memory_gb=system.streaming_memory_gb,
        ),
        plan=plan,
        software=software,
        assumptions=assumptions,
        currency=currency,
        label=" · ".join(names)[:200],
    )


def _money(stated: Prices) -> dict[str, object]:
    return {name: getattr(stated, name) for name in Prices.model_fields if getattr(stated, name) is not None}


def _lasting(below: WorkloadInput, above: WorkloadInput) -> WorkloadInput:
    """Return a workload with another one laid over it, whose way to say how long replaces the one below."""
    stated = {name for name in above.model_fields_set if getattr(above, name) is not None}
    if any(way & stated for way in LENGTHS):
        others = {name: None for way in LENGTHS if not way & stated for name in way}
        below = below.model_copy(update=others)
    return _over(below, above)


def _over(below: Input, above: Input) -> Input:
    """Return an input with what another one states laid over it."""
    stated = {name: getattr(above, name) for name in above.model_fields_set}
    return below.model_copy(update={name: value for name, value in stated.items() if value is not None})


def _digest(entry: BaseModel, *apart: str) -> str:
    """Return the SHA-256 of an entry as it was understood."""
    return hashlib.sha256(entry.model_dump_json(exclude_none=True, exclude=set(apart)).encode()).hexdigest()


Found = TypeVar("Found")


@dataclass(frozen=True)
class UploadSet:
    """Model profiles, samples, fitted software profiles, price books and accelerators by identifier."""

    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)
    samples: Mapping[str, LengthSample] = field(default_factory=dict)
    calibrations: Mapping[str, SoftwareProfile] = field(default_factory=dict)
    books: Mapping[str, PriceBook] = field(default_factory=dict)
    own: Mapping[str, OwnAccelerator] = field(default_factory=dict)
    """Accelerators of the workspace."""

    @classmethod
    def of(cls, request: SweepRequest, context: SizingContext) -> UploadSet:
        """Find every upload that a sweep names."""
        profiles: dict[str, ModelProfile] = {}
        samples: dict[str, LengthSample] = {}
        calibrations: dict[str, SoftwareProfile] = {}
        books: dict[str, PriceBook] = {}
        models = [(f"models.{place}", model) for place, model in enumerate(request.models)]
        systems = [(f"systems.{place}", system) for place, system in enumerate(request.systems)]
        scenarios = [(f"scenarios.{place}", scenario) for place, scenario in enumerate(request.scenarios)]
        for path, model in models:
            _keep(profiles, model.model.profile_id, context.find_profile, f"{path}.model.profile_id")
        workloads = [(path, model.workload) for path, model in models]
        workloads += [(path, scenario.workload) for path, scenario in scenarios]
        software = [(path, system.software) for path, system in systems]
        software += [(path, scenario.software) for path, scenario in scenarios]
        for path, workload in workloads:
            _keep(samples, workload.workload_id, context.find_workload, f"{path}.workload.workload_id")
        for path, profile in software:
            if profile is not None and profile not in context.software.profiles:
                _keep(calibrations, profile, context.software_profile, f"{path}.software")
        for path, scenario in scenarios:
            name = scenario.assumptions.price_book_id
            _keep(books, name, context.find_book, f"{path}.assumptions.price_book_id")
        for place, prices in enumerate(request.prices):
            _keep(books, prices.price_book_id, context.find_book, f"prices.{place}.price_book_id")
            for system, own in prices.by_system.items():
                path = f"prices.{place}.by_system.{system}.price_book_id"
                _keep(books, own.price_book_id, context.find_book, path)
        known = context.catalog.own
        accelerators = {one.id: known[one.id] for _, one in systems if one.id in known}
        return cls(profiles, samples, calibrations, books, accelerators)

    def needed(self, requests: Iterable[EstimateRequest]) -> UploadSet:
        """Return those that some estimates name."""
        asked = list(requests)
        return UploadSet(
            _among(self.profiles, (one.model.profile_id for one in asked)),
            _among(self.samples, (one.workload.workload_id for one in asked)),
            _among(self.calibrations, (one.software for one in asked)),
            _among(self.books, (one.assumptions.price_book_id for one in asked)),
            _among(self.own, (one.system.id for one in asked)),
        )

    def within(self, context: SizingContext) -> SizingContext:
        """Return a context that finds these uploads and no others."""
        return replace(
            context,
            catalog=context.catalog.with_own(self.own.values()) if self.own else context.catalog,
            find_profile=lambda name: self.profiles[name] if name in self.profiles else unknown_profile(name),
            find_workload=lambda name: self.samples[name] if name in self.samples else unknown_workload(name),
            find_calibration=self.calibrations.get,
            calibrations=lambda: list(self.calibrations),
            find_book=lambda name: self.books[name] if name in self.books else unknown_book(name),
        )


def _keep(found: dict[str, Found], name: str | None, find: Callable[[str], Found], place: str) -> None:
    if name is None or name in found:
        return
    with fields_at(lambda _: place):
        found[name] = find(name)


def _among(known: Mapping[str, Found], names: Iterable[str | None]) -> dict[str, Found]:
    return {name: known[name] for name in names if name is not None and name in known}
