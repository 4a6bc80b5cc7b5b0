"""From a break-even to what its page shows; no number is made here."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.figures import break_even as figures
from app.reports.wording import Voice
from app.reports.wording.values import written
from app.sizing.break_even.documents import BreakEven, CashPoint, TornadoRow
from app.web.breakeven_contexts import AnswerView, CashLine, DemandLine, TornadoLine, TraceLine
from app.web.contexts import FigureView
from app.web.pages.presenting import MOST_ROWS, grouped, view

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
            (voice.gettext("Costs least"), answer.mixed.best),
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
            voice.gettext("Cost by the capacity that is owned"),
            "square",
            figures.base_and_peak(answer.mixed, answer.currency, voice),
            "mixed",
        ),
        warnings=grouped(("", one) for one in answer.warnings),
    )


def _cash_chart(answer: BreakEven, voice: Voice) -> FigureView:
    caption = voice.gettext("Paid so far by month")
    note = (
        voice.gettext("The bands hold 80 % of the cases.") if answer.cash_flow[0].own_low is not None else ""
    )
    return view("cash", caption, "square", figures.cash_flow(answer, voice), "cash-flow", note)


def _tornado_chart(answer: BreakEven, voice: Voice) -> FigureView:
    rows = min(figures.shown_rows(answer.tornado) + 2, MOST_ROWS)
    caption = voice.gettext("Break-even by input")
    note = voice.gettext("Each input alone, a fifth less and a fifth more.")
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
