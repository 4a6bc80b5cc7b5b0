"""The data an estimate is computed from, with the look-ups of a workspace; defaults of software and batch."""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from app.catalog.books import PriceBook
from app.catalog.catalog import Catalog, load_catalog
from app.catalog.entries import ChipKind
from app.catalog.software import DefaultSoftware, SoftwareCatalog, SoftwareProfile, load_software
from app.engine.convergence import critical_batch_at_loss, language_loss, samples_law
from app.errors import BadInput, FieldError, Message, NotFound
from app.estimating.basis import LeftOutErrors, load_left_out
from app.estimating.chips import chip_series
from app.estimating.documents import CheckWarning, Default, caution
from app.estimating.effects import Effects, load_effects
from app.estimating.expectation import Teams, load_teams
from app.estimating.hardware import HardwareFinder
from app.estimating.naming import finder
from app.estimating.nearest import (
    FamilyErrors,
    MeasuredRows,
    MeasuredRuns,
    RunOutcome,
    load_family_errors,
    load_outcomes,
    measured_runs,
    read_measured,
)
from app.estimating.ranges import Residuals, count_of, load_residuals, significant
from app.estimating.regimes import CONVOLUTIONS, RECOMMENDERS, MeasurementCoverage
from app.estimating.request import AssumptionsInput
from app.estimating.validation.cases import Rules, load_rules
from app.estimating.validation.pairs import MeasuredPair, load_pairs
from app.profiles.model import ModelProfile
from app.profiles.samples import LengthSample


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """Global batch up to which convergence holds, as far as published recipes show."""

    kind: str
    """Kind of workload, as finetune; blank for pre-training."""
    family: str
    limit: float
    unit: str
    source: str
    note: str


BatchLimits = Mapping[tuple[str, str], BatchLimit]
"""Batch limits by kind of workload and family; blank is pre-training, and any other family."""


def load_batch_limits(directory: Path) -> BatchLimits:
    with (directory / "batch_limits.csv").open(encoding="utf-8", newline="") as handle:
        return {
            (row["kind"], row["family"]): BatchLimit(
                row["kind"], row["family"], float(row["limit"]), row["unit"], row["source"], row["note"]
            )
            for row in csv.DictReader(handle)
        }


def batch_limit(limits: BatchLimits, kind: str, family: str, convolutional: bool) -> BatchLimit:
    """Return the limit of a kind of workload, else that of pre-training.

    A family without a row takes that of ResNet-50 if it is convolutional, else the default of the kind.
    """
    families = (family, "resnet50", "") if convolutional else (family, "")
    keys = [(of_kind, of_family) for of_kind in (kind, "") for of_family in families]
    return next(limits[key] for key in keys if key in limits)


LANGUAGE = frozenset({"gpt", "llama"})
"""Families that the loss law of language models applies to."""


def critical_batch(parameters: float, tokens: float, catalog: Catalog) -> float:
    """Return the batch at which a language model needs twice its fewest tokens. [tokens]"""

    def law(parameter: str) -> float:
        return catalog.figure("loss-law", parameter).si

    names = ("parameters_scale", "parameters_exponent", "tokens_scale", "tokens_exponent")
    loss = language_loss(parameters, tokens, *(law(name) for name in names))
    return float(critical_batch_at_loss(loss, law("critical_batch_scale"), law("critical_batch_exponent")))


def critical_batch_checks(
    family: str, parameters: float, tokens: float, batch_tokens: float, catalog: Catalog
) -> list[CheckWarning]:
    """Return the warning of a language model trained above its critical batch. [tokens]"""
    if family not in LANGUAGE:
        return []
    critical = critical_batch(parameters, tokens, catalog)
    if batch_tokens <= critical:
        return []
    more = samples_law(batch_tokens, 1.0, critical, 1.0) / samples_law(critical, 1.0, critical, 1.0)
    return [
        caution(
            "batch_beyond_critical",
            "workload.global_batch",
            "steps of {batch} tokens exceed the critical batch of about {critical}: reaching the same loss "
            "takes about {factor} times the tokens needed there",
            batch=count_of(batch_tokens),
            critical=count_of(critical),
            factor=significant(float(more)),
        )
    ]


def unknown_profile(identifier: str) -> ModelProfile:
    raise NotFound.named("uploaded profile", identifier, [], "model.profile_id")


def unknown_workload(identifier: str) -> LengthSample:
    raise NotFound.named("uploaded sample", identifier, [], "workload.workload_id")


def no_calibration(identifier: str) -> SoftwareProfile | None:
    return None


def unknown_book(identifier: str) -> PriceBook:
    message = Message("there is no {kind} “{name}”", {"kind": Message("price book"), "name": identifier[:80]})
    raise NotFound(message)


Remember: TypeAlias = Callable[[Hashable, Callable[[], Any]], Any]
"""Returns the cached value of a key, computing it if missing. Values are shared and must not be changed."""


def make_anew(key: Hashable, make: Callable[[], Any]) -> Any:
    return make()


CALIBRATION_PREFIX = "cal_"


@dataclass(frozen=True)
class SizingContext:
    """Catalogue and look-ups; built once per process, or per workspace for uploads."""

    catalog: Catalog
    software: SoftwareCatalog
    rules: Rules
    residuals: Residuals
    effects: Effects
    teams: Teams
    """What runs of ordinary teams take over tuned ones, by kind of stack."""
    runs: MeasuredRuns
    measured: MeasurementCoverage
    batch_limits: BatchLimits
    family_errors: FamilyErrors
    """Median absolute log-error of throughput by family, chip and kind of software, as last written by
    `python -m tools documents`."""
    left_out: LeftOutErrors
    """Errors of runs whose laboratory or chip was left out of the fit, as last written in the same way."""
    measured_rows: MeasuredRows
    measured_pairs: tuple[MeasuredPair, ...] = ()
    """Measured runs of one benchmark whose ratio is shown; nothing is predicted from them."""
    outcomes: Mapping[str, RunOutcome] = field(default_factory=dict)
    """Measured and predicted value of each run, for display; nothing is predicted from them."""
    find_profile: Callable[[str], ModelProfile] = unknown_profile
    find_workload: Callable[[str], LengthSample] = unknown_workload
    find_calibration: Callable[[str], SoftwareProfile | None] = no_calibration
    calibrations: Callable[[], Sequence[str]] = tuple
    """Identifiers of the workspace's calibrations, to suggest close ones."""
    find_book: Callable[[str], PriceBook] = unknown_book
    """Price book of the workspace, in its newest version or that behind an @."""
    remember: Remember = make_anew
    """Cache of decisions and times."""

    def software_profile(self, identifier: str) -> SoftwareProfile:
        """Return a software profile of the catalogue or a calibration; refuse incomplete profiles."""
        if identifier in self.software.profiles:
            profile = self.software.profiles[identifier]
            if not profile.complete:
                whole = self.software.built_on(identifier)
                raise BadInput.at(
                    "software",
                    "{software} is only a part of software profiles; choose one that includes it: {whole}",
                    software=identifier,
                    whole=", ".join(whole),
                )
            return profile
        calibration = self.find_calibration(identifier)
        if calibration is None:
            # Random identifiers are close to anything, so suggest them only for identifiers like them.
            own = self.calibrations() if identifier.startswith(CALIBRATION_PREFIX) else ()
            profiles = [*self.software.profiles, *own]
            meant = finder("software profile").find(identifier)
            raise NotFound.named("software profile", identifier, profiles, "software", meant)
        return calibration

    def priced(self, price_book_id: str | None, field: str = "price_book_id") -> SizingContext:
        """Return the context with the prices of a price book."""
        if price_book_id is None:
            return self
        try:
            book = self.find_book(price_book_id)
        except NotFound as error:
            raise NotFound(error.message, [FieldError(field, error.message)]) from None
        return replace(self, catalog=self.catalog.overlaid(book))

    def at_prices(self, assumptions: AssumptionsInput) -> SizingContext:
        """Return the context with the price book and the price date of the assumptions."""
        context = self.priced(assumptions.price_book_id, "assumptions.price_book_id")
        if assumptions.price_date is None:
            return context
        return replace(context, catalog=context.catalog.dated(assumptions.price_date.isoformat()))

    @property
    def hardware(self) -> HardwareFinder:
        return HardwareFinder(self.catalog, self.software)


MEASURED = ("measured.csv", "measured-2026.csv")
"""Tables of data/validation: the runs that figures of profiles are fitted to, then newer ones."""


def load_context(directory: Path) -> SizingContext:
    rules = load_rules(directory / "validation")
    fitted, newer = (read_measured(directory / "validation" / name) for name in MEASURED)
    catalog = load_catalog(directory)
    software = load_software(directory)
    presets = {name for name, profile in software.profiles.items() if profile.is_preset}

    rules = replace(rules, usual=partial(usual_software, catalog, software))
    # Figures of profiles are fitted to the first table alone; see docs/decisions/0032.
    runs = MeasuredRuns(
        (*measured_runs(fitted, rules, presets), *measured_runs(newer, rules, software.profiles))
    )
    return SizingContext(
        catalog=catalog,
        software=software,
        rules=rules,
        residuals=load_residuals(directory),
        effects=load_effects(directory, {chip.id: catalog.architecture(chip.id) for chip in catalog.chips()}),
        teams=load_teams(directory),
        runs=runs,
        measured=MeasurementCoverage(
            pairs=frozenset((run.family, run.chip) for run in runs if run.counted),
            series=frozenset(chip_series(run.chip) for run in runs if run.fitted),
            chips=frozenset(chip_series(run.chip) for run in runs),
        ),
        measured_rows=MeasuredRows([*fitted, *newer], rules),
        measured_pairs=load_pairs(directory / "validation" / "ratios.csv", [*fitted, *newer]),
        batch_limits=load_batch_limits(directory),
        family_errors=load_family_errors(directory / "validation" / "errors.csv"),
        left_out=load_left_out(directory / "validation" / "left_out.csv"),
        outcomes=load_outcomes(directory / "validation" / "predictions.csv"),
    )


def usual_software(catalog: Catalog, software: SoftwareCatalog, family: str, chip: str) -> str:
    kind = catalog.chip(chip).kind
    return default_software(family, family in CONVOLUTIONS, chip, kind, catalog, software).profile


def default_software(
    family: str,
    convolutional: bool,
    chip: str,
    kind: ChipKind,
    catalog: Catalog,
    software: SoftwareCatalog,
    target: str = "",
) -> DefaultSoftware:
    formats = (
        [] if kind is ChipKind.IPU else [precision.value for precision in catalog.gpu_chip(chip).matrix_peak]
    )
    network = "convolutional" if convolutional else ""
    return software.default(family, network, target, kind.value, chip, formats)


def _check_made_for(
    profile: SoftwareProfile, family: str, convolutional: bool, chip: str, context: SizingContext
) -> None:
    """Refuse software that is made for other networks or other chips."""
    network = "transformer"
    if family in RECOMMENDERS or convolutional:
        network = "recommendation" if family in RECOMMENDERS else "convolutional"
    if network not in profile.networks:
        raise BadInput.at(
            "software",
            "{software} trains {made} networks, and this model is of another kind ({network}); choose other "
            "software, or leave it empty",
            software=profile.id,
            made=Message(" and ".join(sorted(profile.networks))),
            network=Message(network),
        )
    maker = context.catalog.items[chip].maker if chip in context.catalog.items else ""
    known = {name for other in context.software.profiles.values() for name in other.makers}
    if profile.makers and maker in known - profile.makers:
        raise BadInput.at(
            "software",
            "{software} runs on chips of {makers}; choose other software for {chip}, or leave it empty",
            software=profile.id,
            makers=", ".join(sorted(profile.makers)),
            chip=chip,
        )


def choose_software(
    requested: str | None,
    family: str,
    convolutional: bool,
    chip: str,
    kind: ChipKind,
    context: SizingContext,
    defaults: list[Default],
    target: str = "",
) -> SoftwareProfile:
    """Return the requested software profile, that of the target, or the default of chip and model."""
    if requested is not None:
        profile = context.software_profile(requested)
        if profile.kind != kind.value:
            raise BadInput.at(
                "software",
                "{software} is {kind} software; choose one for {chip}, or leave it empty",
                software=requested,
                kind=profile.kind.upper(),
                chip=chip,
            )
        _check_made_for(profile, family, convolutional, chip, context)
        return profile
    usual = default_software(family, convolutional, chip, kind, context.catalog, context.software, target)
    profile = context.software.profile(usual.profile)
    why = (
        Message(
            "the software of the submissions to {target}; choose your own software if it differs",
            {"target": context.catalog.items[target].name},
        )
        if usual.target
        else Message(
            "usual for {models} on this chip since {since}; choose your own software for a narrower range",
            {"models": Message(usual.models), "since": usual.since[:4]},
        )
    )
    defaults.append(Default.of("software", usual.profile, why))
    return replace(profile, presumed=not usual.target)
