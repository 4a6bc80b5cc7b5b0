"""Points of a sweep, and the uploads sent along with them: workers have no database."""

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
from app.estimating.money import Currency
from app.estimating.request import (
    AssumptionsInput,
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
"""Ways to say how long to train, each as fields of a workload; one excludes the others."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One combination with its estimate request."""

    position: int
    """Position in the order of the sweep, from 0."""
    key: str
    """Digest of the request, the same in every run of the sweep."""
    model: str
    system: str
    price: str
    """Label of the price list; empty if there is none."""
    scenario: str
    """Label of the scenario; empty if there is none."""
    request: EstimateRequest


@dataclass(frozen=True, slots=True)
class _CountedSystem:
    """A system at one of its counts."""

    path: str
    label: str
    digest: str
    system: SweepSystem
    count: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """The checked lists of a sweep, ready to be combined."""

    request: SweepRequest
    total: int
    """Number of points."""
    digest: str
    """Digest of the request."""

    @classmethod
    def of(cls, request: SweepRequest) -> Sweep:
        """Check the lists of a request, each and against each other."""
        sweep = cls.restore(request)
        _check_labels_differ("models", model_labels(request.models))
        _check_labels_differ("prices", [price.label for price in request.prices])
        _check_labels_differ("scenarios", [scenario.label for scenario in request.scenarios])
        _check_systems_differ(request.systems)
        _check_priced_systems(request)
        return sweep

    @classmethod
    def restore(cls, request: SweepRequest) -> Sweep:
        """Take up a request that was checked; version 0.1.0 may have left equal labels."""
        return cls(request, _total(request), _digest(request)[:16])

    def labels(self) -> dict[str, list[str]]:
        """Return the labels of models, systems, prices and scenarios in their order."""
        request = self.request
        return {
            "model": model_labels(request.models),
            "system": list(dict.fromkeys(system.label for system in _counted(request.systems))),
            "price": [price.label for price in request.prices],
            "scenario": [scenario.label for scenario in request.scenarios],
        }

    def sizes(self) -> dict[str, int]:
        """Return the number of models, systems at each count, prices and scenarios."""
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
        labelled = zip(model_labels(request.models), request.models, strict=True)
        models = [(label, model, _digest(model)) for label, model in labelled]
        prices = [(price, _digest(price) if price else "") for price in request.prices or (None,)]
        scenarios = [
            (scenario, _digest(scenario) if scenario else "") for scenario in request.scenarios or (None,)
        ]
        combinations = itertools.product(models, _counted(request.systems), prices, scenarios)
        for position, (
            (label, model, model_digest),
            system,
            (price, price_digest),
            (scenario, scenario_digest),
        ) in enumerate(combinations):
            parts = (
                label, model_digest, system.label, system.digest, str(system.count), price_digest,
                scenario_digest, request.currency,
            )  # fmt: skip
            yield SweepPoint(
                position=position,
                key=hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24],
                model=label,
                system=system.label,
                price=price.label if price else "",
                scenario=scenario.label if scenario else "",
                request=_estimate_request(model, system, price, scenario, request.currency),
            )


def model_labels(models: Sequence[SweepModel]) -> list[str]:
    labels = (entry.label or entry.model.preset or entry.model.profile_id for entry in models)
    return [label[:200] if label else f"model {number}" for number, label in enumerate(labels, 1)]


def counts_of(entry: SweepSystem) -> list[int]:
    if entry.counts is not None:
        return list(entry.counts)
    return [1 if entry.count is None else entry.count]


def _total(request: SweepRequest) -> int:
    for index, system in enumerate(request.systems):
        if system.count is not None and system.counts is not None:
            raise BadInput.at(f"systems.{index}.counts", "enter count or counts, not both")
    lengths = {
        "models": len(request.models),
        "systems": sum(len(counts_of(system)) for system in request.systems),
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


def _check_labels_differ(field: str, labels: Sequence[str]) -> None:
    seen: set[str] = set()
    for index, label in enumerate(labels):
        if label in seen:
            raise BadInput.at(
                f"{field}.{index}.label", "“{label}” appears twice; use different labels", label=label
            )
        seen.add(label)


def _check_systems_differ(systems: Sequence[SweepSystem]) -> None:
    seen: set[tuple[str, int]] = set()
    for system in _counted(systems):
        if (system.label, system.count) in seen:
            raise BadInput.at(
                system.path,
                "{count} × “{label}” appears twice; use different labels",
                count=system.count,
                label=system.label,
            )
        seen.add((system.label, system.count))


def _check_priced_systems(request: SweepRequest) -> None:
    known = {system.id for system in request.systems}
    for index, price in enumerate(request.prices):
        for name in price.by_system:
            if name not in known:
                raise BadInput.at(
                    f"prices.{index}.by_system",
                    "“{name}” is not a system of this sweep; choose one of {known}",
                    name=name[:80],
                    known=", ".join(sorted(known)[:20]),
                )


def _counted(systems: Sequence[SweepSystem]) -> list[_CountedSystem]:
    return [
        _CountedSystem(f"systems.{index}", (system.label or system.id)[:200], digest, system, count)
        for index, system in enumerate(systems)
        for digest in (_digest(system, "count", "counts"),)
        for count in counts_of(system)
    ]


def _estimate_request(
    model: SweepModel,
    counted: _CountedSystem,
    price: SweepPrices | None,
    scenario: SweepScenario | None,
    currency: Currency,
) -> EstimateRequest:
    """Return the request of one combination, whose parts have been validated with the sweep."""
    system, workload, assumptions = counted.system, model.workload, AssumptionsInput()
    software, plan = system.software, PlanInput()
    if price is not None:
        for prices in (price, price.by_system.get(system.id, Prices())):
            stated = {
                name: value for name in Prices.model_fields if (value := getattr(prices, name)) is not None
            }
            assumptions = assumptions.model_copy(update=stated)
    if scenario is not None:
        workload = _merged_workload(workload, scenario.workload)
        assumptions = _merged(assumptions, scenario.assumptions)
        software = scenario.software or software
        plan = scenario.plan
    names = [counted.label if counted.count == 1 else f"{counted.count} × {counted.label}"]
    names += [part.label for part in (price, scenario) if part is not None]
    return EstimateRequest(
        model=model.model,
        workload=workload,
        system=SystemInput(
            id=system.id,
            count=counted.count,
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


def _merged_workload(base: WorkloadInput, changes: WorkloadInput) -> WorkloadInput:
    """Return a workload with changes, whose way to say how long to train replaces that of the base."""
    stated = {name for name in changes.model_fields_set if getattr(changes, name) is not None}
    if any(way & stated for way in LENGTHS):
        others = {name: None for way in LENGTHS if not way & stated for name in way}
        base = base.model_copy(update=others)
    return _merged(base, changes)


def _merged(base: Input, changes: Input) -> Input:
    """Return an input with the fields that another one states."""
    stated = {name: getattr(changes, name) for name in changes.model_fields_set}
    return base.model_copy(update={name: value for name, value in stated.items() if value is not None})


def _digest(entry: BaseModel, *exclude: str) -> str:
    """Return the SHA-256 of a validated entry."""
    return hashlib.sha256(entry.model_dump_json(exclude_none=True, exclude=set(exclude)).encode()).hexdigest()


Upload = TypeVar("Upload")


@dataclass(frozen=True)
class UploadSet:
    """Uploads and accelerators of a workspace by identifier."""

    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)
    samples: Mapping[str, LengthSample] = field(default_factory=dict)
    calibrations: Mapping[str, SoftwareProfile] = field(default_factory=dict)
    books: Mapping[str, PriceBook] = field(default_factory=dict)
    own: Mapping[str, OwnAccelerator] = field(default_factory=dict)

    @classmethod
    def of(cls, request: SweepRequest, context: SizingContext) -> UploadSet:
        """Read every upload that a sweep names."""
        profiles: dict[str, ModelProfile] = {}
        samples: dict[str, LengthSample] = {}
        calibrations: dict[str, SoftwareProfile] = {}
        books: dict[str, PriceBook] = {}
        models = [(f"models.{index}", model) for index, model in enumerate(request.models)]
        systems = [(f"systems.{index}", system) for index, system in enumerate(request.systems)]
        scenarios = [(f"scenarios.{index}", scenario) for index, scenario in enumerate(request.scenarios)]
        for path, model in models:
            _read(profiles, model.model.profile_id, context.find_profile, f"{path}.model.profile_id")
        workloads = [(path, model.workload) for path, model in models]
        workloads += [(path, scenario.workload) for path, scenario in scenarios]
        software = [(path, system.software) for path, system in systems]
        software += [(path, scenario.software) for path, scenario in scenarios]
        for path, workload in workloads:
            _read(samples, workload.workload_id, context.find_workload, f"{path}.workload.workload_id")
        for path, profile in software:
            if profile is not None and profile not in context.software.profiles:
                _read(calibrations, profile, context.software_profile, f"{path}.software")
        for path, scenario in scenarios:
            name = scenario.assumptions.price_book_id
            _read(books, name, context.find_book, f"{path}.assumptions.price_book_id")
        for index, price in enumerate(request.prices):
            _read(books, price.price_book_id, context.find_book, f"prices.{index}.price_book_id")
            for system_id, exception in price.by_system.items():
                path = f"prices.{index}.by_system.{system_id}.price_book_id"
                _read(books, exception.price_book_id, context.find_book, path)
        accelerators = _chosen(context.catalog.own, (system.id for system in request.systems))
        return cls(profiles, samples, calibrations, books, accelerators)

    def needed(self, requests: Sequence[EstimateRequest]) -> UploadSet:
        """Return those that some estimate requests name."""
        return UploadSet(
            _chosen(self.profiles, (request.model.profile_id for request in requests)),
            _chosen(self.samples, (request.workload.workload_id for request in requests)),
            _chosen(self.calibrations, (request.software for request in requests)),
            _chosen(self.books, (request.assumptions.price_book_id for request in requests)),
            _chosen(self.own, (request.system.id for request in requests)),
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


def _read(uploads: dict[str, Upload], name: str | None, find: Callable[[str], Upload], path: str) -> None:
    """Add an upload unless it has been added; its errors are placed at ``path``."""
    if name is None or name in uploads:
        return
    with fields_at(lambda _: path):
        uploads[name] = find(name)


def _chosen(uploads: Mapping[str, Upload], names: Iterable[str | None]) -> dict[str, Upload]:
    return {name: uploads[name] for name in names if name is not None and name in uploads}
