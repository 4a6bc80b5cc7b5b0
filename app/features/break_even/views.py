"""From a break-even to what its page shows; no number is made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.estimating.documents import Text
from app.features.break_even import charts as figures
from app.features.break_even.model import BreakEven, CashPoint, DemandCase, MixedPoint, TornadoRow
from app.platform.web.contexts import (
    MOST_ROWS,
    Choice,
    ChoiceGroup,
    FigureView,
    Form,
    WarningGroup,
    grouped,
    view,
)
from app.platform.wording.voice import Voice, written


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
class BreakEvenPage:
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


SHARES = {"discount_rate", "growth", "own_growth", "utilisation", "residual_share", "onprem.support"}

AMOUNTS = {
    "capex",
    "onprem_monthly",
    "cloud_monthly",
    "onprem.staff_cost",
    "onprem.space",
    "onprem.tariff",
    "cloud.hourly_price",
}

UNITS = {"onprem.power_kw": "kW", "cloud.hours_per_month": "h", "horizon_months": "months"}


def answer_view(answer: BreakEven, voice: Voice) -> AnswerView:
    """Return an answer written for reading, with its charts."""
    return AnswerView(
        answer=answer,
        months="" if answer.months is None else voice.decimal(answer.months, 1),
        range=_range(answer, voice),
        tornado=[_tornado_line(row, answer.currency, voice) for row in answer.tornado],
        demand=[DemandLine(case, _months(case.months, voice)) for case in answer.demand_cases],
        cash=_cash_lines(answer, voice),
        mixed=[]
        if answer.mixed is None
        else [
            (voice.gettext("Lowest cost"), answer.mixed.best),
            (voice.gettext("All owned"), answer.mixed.all_owned),
            (voice.gettext("All rented"), answer.mixed.all_rented),
        ],
        trace=_trace_lines(answer, voice),
        defaults=[
            (one.field, _input(one.field, one.value, answer.currency, voice), one.text)
            for one in answer.defaults
        ],
        cash_chart=_cash_chart(answer, voice),
        tornado_chart=_tornado_chart(answer, voice),
        mixed_chart=None
        if answer.mixed is None
        else view(
            "mixed",
            voice.gettext("Cost by owned capacity"),
            "square",
            figures.base_and_peak(answer.mixed, answer.currency, voice),
            "mixed",
        ),
        warnings=grouped(("", one) for one in answer.warnings),
    )


def _cash_chart(answer: BreakEven, voice: Voice) -> FigureView:
    caption = voice.gettext("Cumulative spend by month")
    note = voice.gettext("Bands are 80 % intervals.") if answer.cash_flow[0].own_low is not None else ""
    return view("cash", caption, "square", figures.cash_flow(answer, voice), "cash-flow", note)


def _tornado_chart(answer: BreakEven, voice: Voice) -> FigureView:
    rows = min(figures.shown_rows(answer.tornado) + 2, MOST_ROWS)
    caption = voice.gettext("Break-even by input")
    note = voice.gettext("Each input alone, 20 % lower and 20 % higher.")
    return view("tornado", caption, f"rows-{rows}", figures.tornado(answer, voice), "tornado", note)


def _range(answer: BreakEven, voice: Voice) -> str:
    if answer.probability is None:
        return ""
    return f"{_months(answer.months_low, voice)}–{_months(answer.months_high, voice)}"


def _months(months: float | None, voice: Voice) -> str:
    return voice.gettext("never") if months is None else voice.decimal(months, 1)


def _tornado_line(row: TornadoRow, currency: str, voice: Voice) -> TornadoLine:
    return TornadoLine(
        row=row,
        given=_input(row.input, row.value, currency, voice),
        low_input=_input(row.input, row.low_input, currency, voice),
        high_input=_input(row.input, row.high_input, currency, voice),
        low=_months(row.low, voice),
        high=_months(row.high, voice),
        spread="–" if row.spread is None else voice.decimal(row.spread, 1),
    )


def _input(name: str, value: object, currency: str, voice: Voice) -> str:
    """Write an input in its unit: shares in percent, amounts in the currency."""
    if not isinstance(value, int | float):
        return str(value)
    if name in SHARES:
        return voice.percent(value)
    if name in AMOUNTS:
        return voice.full(value, currency)
    unit = UNITS.get(name, "")
    return f"{voice.number(value)}{voice.unit(unit) if unit else ''}"


def _cash_lines(answer: BreakEven, voice: Voice) -> list[CashLine]:
    found: list[CashLine] = []
    before: CashPoint | None = None
    for point in answer.cash_flow:
        crosses = (
            before is not None and answer.months is not None and before.month < answer.months <= point.month
        )
        found.append(
            CashLine(
                month=voice.number(point.month),
                own=voice.full(point.own, answer.currency),
                cloud=voice.full(point.cloud, answer.currency),
                saving=voice.full(point.saving, answer.currency),
                crosses=crosses,
            )
        )
        before = point
    return found


def _trace_lines(answer: BreakEven, voice: Voice) -> Sequence[TraceLine]:
    return [
        TraceLine(
            name=step.name,
            value=voice.full(step.value, answer.currency)
            if step.unit == answer.currency
            else f"{voice.number(step.value, digits=6)}{voice.unit('months')}",
            formula=step.formula,
            inputs=[(name, written(value, voice)) for name, value in step.inputs.items()],
            reference=step.reference,
            sources=step.source,
        )
        for step in answer.trace
    ]
