"""Uploads of a sweep, found before it starts and sent along: workers know no database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.catalog import PriceBook
from app.catalog.software import SoftwareProfile
from app.errors import FieldError, NotFound
from app.profiles.model import ModelProfile
from app.profiles.samples import LengthSample
from app.sizing.context import SizingContext, unknown_book, unknown_profile, unknown_workload
from app.sizing.request import EstimateRequest
from app.sizing.sweep.request import SweepRequest

Found = TypeVar("Found")


@dataclass(frozen=True)
class UploadSet:
    """Model profiles, samples of data, fitted software profiles and price books by identifier."""

    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)
    samples: Mapping[str, LengthSample] = field(default_factory=dict)
    calibrations: Mapping[str, SoftwareProfile] = field(default_factory=dict)
    books: Mapping[str, PriceBook] = field(default_factory=dict)

    @classmethod
    def of(cls, request: SweepRequest, context: SizingContext) -> UploadSet:
        """Find every upload that a sweep names."""
        profiles: dict[str, ModelProfile] = {}
        samples: dict[str, LengthSample] = {}
        calibrations: dict[str, SoftwareProfile] = {}
        workloads = [(f"models.{place}", model.workload) for place, model in enumerate(request.models)]
        workloads += [(f"scenarios.{place}", one.workload) for place, one in enumerate(request.scenarios)]
        software = [(f"systems.{place}", one.software) for place, one in enumerate(request.systems)]
        software += [(f"scenarios.{place}", one.software) for place, one in enumerate(request.scenarios)]
        for place, model in enumerate(request.models):
            _keep(profiles, model.model.profile_id, context.find_profile, f"models.{place}.model.profile_id")
        for prefix, workload in workloads:
            _keep(samples, workload.workload_id, context.find_workload, f"{prefix}.workload.workload_id")
        for prefix, name in software:
            if name is not None and name not in context.software.profiles:
                _keep(calibrations, name, context.software_profile, f"{prefix}.software")
        books: dict[str, PriceBook] = {}
        for place, scenario in enumerate(request.scenarios):
            name = scenario.assumptions.price_book_id
            _keep(books, name, context.find_book, f"scenarios.{place}.assumptions.price_book_id")
        for place, prices in enumerate(request.prices):
            _keep(books, prices.price_book_id, context.find_book, f"prices.{place}.price_book_id")
            for system, own in prices.by_system.items():
                field = f"prices.{place}.by_system.{system}.price_book_id"
                _keep(books, own.price_book_id, context.find_book, field)
        return cls(profiles, samples, calibrations, books)

    def needed(self, requests: Iterable[EstimateRequest]) -> UploadSet:
        """Return those that some estimates name."""
        asked = list(requests)
        return UploadSet(
            _among(self.profiles, (one.model.profile_id for one in asked)),
            _among(self.samples, (one.workload.workload_id for one in asked)),
            _among(self.calibrations, (one.software for one in asked)),
            _among(self.books, (one.assumptions.price_book_id for one in asked)),
        )

    def within(self, context: SizingContext) -> SizingContext:
        """Return a context that finds these uploads and no others."""
        return replace(
            context,
            find_profile=lambda name: self.profiles[name] if name in self.profiles else unknown_profile(name),
            find_workload=lambda name: self.samples[name] if name in self.samples else unknown_workload(name),
            find_calibration=self.calibrations.get,
            calibrations=lambda: list(self.calibrations),
            find_book=lambda name: self.books[name] if name in self.books else unknown_book(name),
        )


def _keep(found: dict[str, Found], name: str | None, find: Callable[[str], Found], place: str) -> None:
    if name is None or name in found:
        return
    try:
        found[name] = find(name)
    except NotFound as error:
        raise NotFound(error.message, [FieldError(place, error.message)]) from None


def _among(known: Mapping[str, Found], names: Iterable[str | None]) -> dict[str, Found]:
    return {name: known[name] for name in names if name is not None and name in known}
