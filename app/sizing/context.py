"""What a decision is made with: catalogue, software profiles, rules, and ways to find uploads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from app.catalog import Catalog, PriceBook, load_catalog
from app.catalog.software import SoftwareCatalog, SoftwareProfile, load_software
from app.errors import BadInput, FieldError, Message, NotFound
from app.profiles.model import ModelProfile
from app.profiles.samples import LengthSample
from app.sizing.batches import BatchLimits, load_batch_limits
from app.sizing.hardware import HardwareFinder
from app.sizing.nearest import (
    FamilyErrors,
    MeasuredRows,
    MeasuredRun,
    RunOutcome,
    load_family_errors,
    load_outcomes,
    measured_runs,
    read_measured,
)
from app.sizing.regimes import MeasurementCoverage, chip_series
from app.sizing.request import AssumptionsInput
from app.sizing.spread import Residuals, load_residuals
from app.sizing.validation.rules import Rules, load_rules


def unknown_profile(identifier: str) -> ModelProfile:
    """Refuse an uploaded profile where there are none."""
    raise NotFound.named("uploaded profile", identifier, [], "model.profile_id")


def unknown_workload(identifier: str) -> LengthSample:
    """Refuse an uploaded sample where there are none."""
    raise NotFound.named("uploaded sample", identifier, [], "workload.workload_id")


def no_calibration(identifier: str) -> SoftwareProfile | None:
    """Find no software profile beside the catalogue's."""
    return None


def unknown_book(identifier: str) -> PriceBook:
    """Refuse a price book where there are none."""
    message = Message("there is no {kind} “{name}”", {"kind": Message("price book"), "name": identifier[:80]})
    raise NotFound(message)


Remember: TypeAlias = Callable[[Hashable, Callable[[], Any]], Any]
"""Gives what stands for a key, made where it is not kept. What it gives is shared and must not be changed."""


def make_anew(key: Hashable, make: Callable[[], Any]) -> Any:
    """Remember nothing."""
    return make()


CALIBRATION_PREFIX = "cal_"
"""Start of the identifiers of calibrations."""


@dataclass(frozen=True)
class SizingContext:
    """Catalogue and look-ups; built once per process, or per workspace for uploads."""

    catalog: Catalog
    software: SoftwareCatalog
    rules: Rules
    residuals: Residuals
    runs: tuple[MeasuredRun, ...]
    """Configurations of the measured runs."""
    measured: MeasurementCoverage
    """What was measured: families on chips, and chips with fitted software."""
    batch_limits: BatchLimits
    """Global batch up to which convergence holds, by kind of workload and family."""
    family_errors: FamilyErrors
    """Median absolute log-error of throughput by family, chip and kind of software, as `rackline docs` last
    wrote it."""
    measured_rows: MeasuredRows
    """The measured runs one by one."""
    outcomes: Mapping[str, RunOutcome] = field(default_factory=dict)
    """Measured and predicted value of each run, to be shown; nothing is predicted from them."""
    find_profile: Callable[[str], ModelProfile] = unknown_profile
    find_workload: Callable[[str], LengthSample] = unknown_workload
    find_calibration: Callable[[str], SoftwareProfile | None] = no_calibration
    """Software profile of a calibration of the workspace; None where there is none of that name."""
    calibrations: Callable[[], Sequence[str]] = tuple
    """Identifiers of the workspace's calibrations, to offer close ones."""
    find_book: Callable[[str], PriceBook] = unknown_book
    """Price book of the workspace, in its newest version or the one named behind an @."""
    remember: Remember = make_anew
    """Finds what was decided before about the same question."""

    def software_profile(self, identifier: str) -> SoftwareProfile:
        """Return a software profile of the catalogue or a calibration of the workspace.

        Parts that profiles are put together from run nothing by themselves and are refused.
        """
        if identifier in self.software.profiles:
            profile = self.software.profiles[identifier]
            if not profile.complete:
                whole = self.software.built_on(identifier)
                raise BadInput.at(
                    "software",
                    "{software} is a part of software profiles; choose one that has it: {whole}",
                    software=identifier,
                    whole=", ".join(whole),
                )
            return profile
        found = self.find_calibration(identifier)
        if found is None:
            # Random identifiers look like anything; they are offered to those who mean one.
            own = self.calibrations() if identifier.startswith(CALIBRATION_PREFIX) else ()
            known = [*self.software.profiles, *own]
            raise NotFound.named("software profile", identifier, known, "software")
        return found

    def priced(self, price_book_id: str | None, field: str = "price_book_id") -> SizingContext:
        """Return the context whose catalogue has the prices of a price book; itself without one."""
        if price_book_id is None:
            return self
        try:
            book = self.find_book(price_book_id)
        except NotFound as error:
            raise NotFound(error.message, [FieldError(field, error.message)]) from None
        return replace(self, catalog=self.catalog.overlaid(book))

    def at_prices(self, asked: AssumptionsInput) -> SizingContext:
        """Return the context at the prices that assumptions ask for: of a book, as of a day."""
        context = self.priced(asked.price_book_id, "assumptions.price_book_id")
        if asked.price_date is None:
            return context
        return replace(context, catalog=context.catalog.dated(asked.price_date.isoformat()))

    @property
    def hardware(self) -> HardwareFinder:
        """Finder of hardware in the catalogue."""
        return HardwareFinder(self.catalog, self.software)


def measured_by(runs: Sequence[MeasuredRun]) -> MeasurementCoverage:
    """Return what runs have measured."""
    return MeasurementCoverage(
        pairs=frozenset((run.family, run.chip) for run in runs if run.counted),
        series=frozenset(chip_series(run.chip) for run in runs if run.fitted),
    )


def load_context(directory: Path) -> SizingContext:
    """Load everything under the data directory."""
    rules = load_rules(directory / "validation")
    rows = read_measured(directory / "validation" / "measured.csv")
    software = load_software(directory)
    presets = {name for name, profile in software.profiles.items() if profile.is_preset}
    runs = measured_runs(rows, rules, presets)
    return SizingContext(
        catalog=load_catalog(directory),
        software=software,
        rules=rules,
        residuals=load_residuals(directory),
        runs=runs,
        measured=measured_by(runs),
        measured_rows=MeasuredRows(rows, rules),
        batch_limits=load_batch_limits(directory),
        family_errors=load_family_errors(directory / "validation" / "errors.csv"),
        outcomes=load_outcomes(directory / "validation" / "predictions.csv"),
    )
