"""What the template of build or rent is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.sizing.break_even.documents import BreakEven, DemandCase, MixedPoint, TornadoRow
from app.sizing.document import Text
from app.web.contexts import BasePage, Choice, ChoiceGroup, FigureView, Form, WarningGroup


@dataclass(frozen=True, slots=True)
class TornadoLine:
    """What one input does, as it is written."""

    row: TornadoRow
    given: str
    low_input: str
    high_input: str
    low: str
    high: str
    spread: str


@dataclass(frozen=True, slots=True)
class DemandLine:
    """The break-even at another demand, as it is written."""

    case: DemandCase
    months: str


@dataclass(frozen=True, slots=True)
class CashLine:
    """Both sides up to one month, as they are written."""

    month: str
    own: str
    cloud: str
    saving: str
    crosses: bool
    """Whether the break-even lies in the month before."""


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One step with its value as it is written."""

    name: str
    value: str
    formula: str
    inputs: Sequence[tuple[str, str]]
    reference: str
    sources: Sequence[object]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer with its charts and everything written for reading."""

    answer: BreakEven
    months: str
    """Break-even with one decimal, or nothing where it never comes."""
    range: str
    """Its range, or nothing."""
    tornado: Sequence[TornadoLine]
    demand: Sequence[DemandLine]
    cash: Sequence[CashLine]
    mixed: Sequence[tuple[str, MixedPoint]]
    """What is compared of base and peak, by name."""
    trace: Sequence[TraceLine]
    defaults: Sequence[tuple[str, str, Text]]
    """Values taken: field, value as written, and why."""
    cash_chart: FigureView
    tornado_chart: FigureView
    mixed_chart: FigureView | None
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenPage(BasePage):
    """Build or rent, with the address as its state."""

    form: Form
    general: Sequence[object]
    """What is wrong that no field shows."""
    systems: Sequence[ChoiceGroup]
    """What can be bought."""
    clouds: Sequence[ChoiceGroup]
    """What can be rented."""
    books: Sequence[Choice]
    """Price books of the workspace."""
    rentals: Sequence[Choice]
    """Kinds of rent."""
    currencies: Sequence[Choice]
    examples: Sequence[Choice]
    hints: Sequence[str]
    """Fields that still hold the example's value."""
    currency: str
    view: AnswerView | None
    stale: bool
    """Whether the result is that of an earlier question."""
    previous: str
    """Query of the last answer that was possible, kept in the form."""
    csv_url: str
    """Address of the months as CSV; empty where there is no answer."""
    folds: frozenset[str]
    """Folds of the form that are open, for they hold something: future, hardware, cloud, demand, ranges."""
