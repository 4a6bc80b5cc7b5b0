"""What the template of the accuracy page is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.figures.agreement import ChainDrawing
from app.services.accuracy import (
    Agreement,
    AgreementCell,
    Chain,
    FittedFigure,
    Gaps,
    Prediction,
    Ranking,
    RunChoice,
)
from app.web.contexts import BasePage, Choice, FigureView


@dataclass(frozen=True, slots=True)
class RunFilter:
    """One way to narrow the runs: a field of the address and its values."""

    field: str
    label: str
    chosen: str
    choices: Sequence[Choice]


@dataclass(frozen=True, slots=True)
class ChainView:
    """A scaling chain with its small drawing."""

    chain: Chain
    curve: ChainDrawing


@dataclass(frozen=True, slots=True)
class RunView:
    """One run of the list, with the error that was chosen."""

    run: Prediction
    unit: str
    """Unit of its metric, as it stands after a number."""
    predicted: float | None
    low: float | None
    high: float | None
    ratio: float | None
    """Predicted over measured."""
    inside: bool
    """Whether the measured value is inside the range."""
    reason: str
    """Key of the likely reason where runs of this kind are missed."""


@dataclass(frozen=True, slots=True)
class FittedFile:
    """The fitted figures of one file."""

    file: str
    title: str
    figures: Sequence[FittedFigure]
    owned: bool
    """Whether any belongs to a profile, chip or fabric."""
    rests: bool
    """Whether the file says which runs a figure rests on."""
    weighed: bool
    """Whether the file says what a figure is worth."""
    noted: bool
    """Whether any has a note beside the runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyPage(BasePage):
    """How well measured runs are predicted."""

    choice: RunChoice
    filters: Sequence[RunFilter]
    narrowed: bool
    """Whether anything but the usual was chosen."""
    measured: int
    """Measured runs in all, whatever is chosen."""
    headline: Agreement
    """Errors of the chosen runs with what was chosen left out."""
    in_sample: Agreement
    kinds: Sequence[tuple[str, Agreement]]
    """The chosen runs by what the fit knew of them."""
    sets: Sequence[tuple[str, Agreement]]
    """Where all families are chosen: those with the most runs, and the rest."""
    fitted_total: int
    figures: Sequence[FigureView]
    cells: Sequence[AgreementCell]
    curves: Sequence[ChainView]
    """Chains over more than one number of devices."""
    chain_count: int
    """All chains, those of one number of devices too."""
    in_order: int
    """Chains in exact order."""
    ranking: Ranking
    worst: Sequence[RunView]
    gaps: Gaps
    fitted: Sequence[FittedFile]
    runs: Sequence[RunView]
    """A stretch of the chosen runs."""
    run_count: int
    """All of them."""
    start: int = 0
    """Those before the stretch."""
    earlier: str | None = None
    """Cursor of the stretch before; empty for the first one."""
    later: str | None = None
    """Cursor of the stretch behind."""
    choice_query: str
    """What was chosen, as the query of an address."""
    families: dict[str, str]
    """What families are called, by code."""
    report_url: str
    """The same at length, as a document."""
