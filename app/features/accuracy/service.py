"""How well measured runs are predicted: read from data/validation, nothing is run here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from app.errors import BadInput
from app.estimating.context import SizingContext
from app.estimating.schema import Document
from app.features.accuracy.agreement import (
    ALL,
    SCALE_CODES,
    SETS,
    Chain,
    ErrorCell,
    ErrorSummary,
    Gaps,
    Ranking,
    RunChoice,
    agreement,
    by_kind,
    cells,
    chains,
    counted,
    gaps,
    ranking,
    worst,
)
from app.features.accuracy.fitted import FittedFigure, fitted_figures
from app.features.accuracy.memory import PeakAgreement, peak_agreements, read_peaks
from app.features.accuracy.predictions import (
    APART,
    COUNTED,
    KINDS,
    Prediction,
    load_patterns,
    read_predictions,
    reason_texts,
)
from app.profiles.presets import data_directory

WORST_SHOWN = 12


class MissedRun(Document):
    """A run with a large error and why it may have one."""

    id: str
    reason: str
    """Empty where none is known."""


class AccuracyFindings(Document):
    """How well the chosen runs are predicted."""

    choice: RunChoice
    measured: int
    """Measured runs in all, whatever is chosen."""
    headline: ErrorSummary
    """Errors of the chosen runs with what was chosen left out of the fit."""
    kinds: dict[str, ErrorSummary]
    """The chosen runs by what the fit knew of them."""
    sets: dict[str, ErrorSummary]
    """The same by set of families, where all are chosen."""
    cells: list[ErrorCell]
    """The chosen runs by family, chip and class of size."""
    chains: list[Chain]
    ranking: Ranking
    """Pairs inside of the chains that are predicted in the right order."""
    worst: list[MissedRun]
    memory: list[PeakAgreement]
    """Peaks of memory that runs logged, whatever is chosen: of all, then by kind."""
    gaps: Gaps
    """What no run tests."""
    fitted: list[FittedFigure]
    """Every figure that was fitted to measured runs."""
    runs: list[Prediction]
    """The chosen runs; those that stand apart come last."""


@functools.cache
def predictions() -> tuple[Prediction, ...]:
    return read_predictions(data_directory())


@functools.cache
def memory() -> tuple[PeakAgreement, ...]:
    return tuple(peak_agreements(read_peaks(data_directory())))


@functools.cache
def reasons() -> dict[str, str]:
    return reason_texts(data_directory())


@functools.lru_cache(maxsize=64)
def chains_of(choice: RunChoice) -> tuple[Chain, ...]:
    repeats = load_patterns(data_directory() / "validation" / "repeats.csv")
    return tuple(chains(filter(choice.holds, counted(predictions())), choice.errors, repeats))


@functools.lru_cache(maxsize=64)
def errors_of(choice: RunChoice) -> Mapping[str, Any]:
    runs = counted(filter(choice.holds, predictions()))
    return {
        "headline": agreement(runs, choice.errors),
        "kinds": by_kind(runs),
        "sets": {
            name: agreement(filter(replace(choice, family=name).holds, runs), choice.errors)
            for name in SETS
            if choice.family == ALL and name != ALL
        },
        "cells": cells(runs),
    }


def allowed() -> dict[str, tuple[str, ...]]:
    """Return the values each field of the address may have."""
    runs = predictions()
    return {
        "family": (*SETS, *sorted({run.family for run in runs})),
        "chip": ("", *sorted({run.chip for run in runs} - {""})),
        "scale": ("", *SCALE_CODES),
        "errors": KINDS,
    }


def choice_of(**fields: str) -> RunChoice:
    """Return the chosen runs; refuse an unknown value at its field."""
    known = allowed()
    usual = asdict(RunChoice())
    chosen = {name: value or usual[name] for name, value in fields.items()}
    for name, value in chosen.items():
        if value not in known[name]:
            raise BadInput.at(
                name,
                "{value} does not exist; allowed: {known}",
                value=f"“{value[:40]}”",
                known=", ".join(filter(None, known[name])),
            )
    return RunChoice(**chosen)


def findings_of(choice: RunChoice, context: SizingContext) -> AccuracyFindings:
    everything = predictions()
    selected = [run for run in everything if choice.holds(run)]
    chosen_chains = chains_of(choice)
    whole = [run for run in selected if run.scope == COUNTED]
    return AccuracyFindings(
        choice=choice,
        measured=len(everything),
        **errors_of(choice),
        chains=list(chosen_chains),
        ranking=ranking(chosen_chains),
        worst=[
            MissedRun(id=run.id, reason=reasons().get(run.reason, ""))
            for run in worst(whole, choice.errors, WORST_SHOWN)
        ],
        memory=list(memory()),
        gaps=gaps(everything, context),
        fitted=list(fitted_figures(context, data_directory())),
        runs=sorted(
            selected, key=lambda run: (run.scope == APART, run.family, run.chip, run.devices, run.id)
        ),
    )
