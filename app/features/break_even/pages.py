"""Build or rent as a view of a study: an option bought against a cloud bill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastapi import Request

from app.errors import Message
from app.features.break_even import charts
from app.features.break_even.deciding import cash_flow_csv
from app.features.break_even.from_study import (
    OptionAmounts,
    amounts_of,
    decide_of_study,
    is_of_study,
    is_owned,
    is_unpriced,
    usual_fields,
)
from app.features.break_even.model import BreakEven, BreakEvenRequest
from app.features.studies.forms import demand_knob
from app.features.studies.frame import OpenView, StudyFrame, study_view
from app.features.studies.options import DemandAnswer
from app.platform.rates import CostClass
from app.platform.web.choices import RENTED, system_names
from app.platform.web.contexts import ChoiceGroup, FigureView, Form, view
from app.platform.web.locale import CSV, attachment, voice_of
from app.platform.web.query_forms import FormOutcome, QueryForm
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice

router = page_router()

FOLDS = {
    "future": {
        "growth_percent",
        "own_growth_percent",
        "utilisation_percent",
        "teams_now",
        "teams_then",
        "demand_factor",
    },
    "running": {"onprem"},
    "cloud": {"cloud"},
    "demand": {"demand", "peak_price_factor"},
    "ranges": {"ranges"},
}
"""Fold of the form → first components of its field names."""

REPLACES = {"onprem": "onprem_monthly", "cloud": "cloud_monthly"}
"""Components of an amount → the amount that they replace."""

OF_OPTION = ("hardware.", "price_book_id")
"""Prefixes of fields that the study provides."""


def completed(fields: dict[str, str]) -> dict[str, str]:
    """Drop fields that others replace: components of an amount replace the amount."""
    kept = {name: value for name, value in fields.items() if not name.startswith(OF_OPTION)}
    if not kept.get("cloud.system", "").strip():
        kept = {name: value for name, value in kept.items() if not name.startswith("cloud.")}
    for part, amount in REPLACES.items():
        if any(value.strip() for name, value in kept.items() if name.startswith(f"{part}.")):
            replaced = (amount, f"ranges.{amount}.")
            kept = {name: value for name, value in kept.items() if not name.startswith(replaced)}
    return kept


FORM = QueryForm(BreakEvenRequest, complete=completed)


def open_folds(form: Form) -> frozenset[str]:
    filled = {*(name for name in form.values if form.get(name)), *(error.field for error in form.errors)}
    starts = {name.partition(".")[0] for name in filled}
    return frozenset(fold for fold, names in FOLDS.items() if names & starts)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenPage:
    """Build or rent for an option of a study."""

    frame: StudyFrame
    result: FormOutcome[BreakEven] | None
    written: Callable[[str, object], str]
    """Writes an input in its unit."""
    cash_chart: FigureView | None
    tornado_chart: FigureView | None
    mixed_chart: FigureView | None
    general: Sequence[Message]
    """Errors that no field shows."""
    amounts: OptionAmounts | None
    """Amounts of the study; None if the option has no price or does not fit."""
    by_demand: Sequence[tuple[DemandAnswer, str]]
    """What to buy or rent by how often the work is done, each with the address of that study."""
    unpriced: bool
    """Whether the option fits and only its price is missing."""
    of_study: frozenset[str]
    """Amounts of the form that are those of the study."""
    clouds: Sequence[ChoiceGroup]
    """Systems that can be rented."""
    folds: frozenset[str]
    """Folds of the form that are open."""


def break_even_page(
    request: Request, opened: OpenView, result: FormOutcome[BreakEven] | None
) -> BreakEvenPage:
    form = Form() if result is None else result.form
    answer, voice = None if result is None else result.answer, voice_of(request)
    amounts = None if opened.question is None else amounts_of(opened.question)
    currency = opened.state.content.base.currency
    return BreakEvenPage(
        frame=opened.frame,
        result=result,
        written=lambda name, value: input_text(name, value, currency, voice),
        cash_chart=None if answer is None else cash_chart(answer, voice),
        tornado_chart=None if answer is None else tornado_chart(answer, voice),
        mixed_chart=None if answer is None else mixed_chart(answer, voice),
        general=FORM.general_errors(form),
        amounts=amounts,
        by_demand=[
            (each, opened.frame.url_with(demand_knob(each.demand)))
            for each in (() if amounts is None or amounts.cloud is None else amounts.by_demand)
        ],
        unpriced=amounts is None and opened.question is not None and is_unpriced(opened.question),
        of_study=frozenset() if answer is None or amounts is None else amounts_of_study(answer, amounts),
        clouds=[group for group in system_names(opened.workspace.catalogue) if group.name == RENTED],
        folds=open_folds(form),
    )


def cash_chart(answer: BreakEven, voice: Voice) -> FigureView:
    note = voice.gettext("Bands are 80 % intervals.") if answer.cash_flow[0].own_low is not None else ""
    return view("cash", voice.gettext("Cumulative spend by month"), charts.cash_flow(answer, voice), note)


def tornado_chart(answer: BreakEven, voice: Voice) -> FigureView:
    note = voice.gettext("Each input alone, 20 % lower and 20 % higher.")
    drawn = charts.tornado(answer, voice)
    return view("tornado", voice.gettext("Break-even by input"), drawn, note, "tornado")


def mixed_chart(answer: BreakEven, voice: Voice) -> FigureView | None:
    if answer.mixed is None:
        return None
    drawn = charts.base_and_peak(answer.mixed, answer.currency, voice)
    return view("mixed", voice.gettext("Cost by owned capacity"), drawn)


def amounts_of_study(answer: BreakEven, amounts: OptionAmounts) -> frozenset[str]:
    kept = {"capex"} if is_of_study(answer.capex.value, amounts.purchase) else set()
    if not answer.onprem_lines and round(answer.onprem_monthly) == round(amounts.running_monthly):
        kept.add("onprem_monthly")
    if amounts.cloud is not None and is_of_study(answer.cloud_monthly, amounts.cloud.monthly):
        kept.add("cloud_monthly")
    return frozenset(kept)


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


def input_text(name: str, value: object, currency: str, voice: Voice) -> str:
    """Write an input in its unit: shares in percent, amounts in the currency."""
    if not isinstance(value, int | float):
        return str(value)
    if name in SHARES:
        return voice.percent(value)
    if name in AMOUNTS:
        return voice.full(value, currency)
    return f"{voice.number(value)}{voice.unit(UNITS.get(name, ''))}"


study_view(
    router,
    "rent",
    "break_even/breakeven.html",
    FORM,
    BreakEven,
    usual=usual_fields,
    answer=decide_of_study,
    page=break_even_page,
    suits=is_owned,
    asked=lambda fields: (
        "capex" in fields and not fields.keys().isdisjoint(("cloud_monthly", "cloud.system"))
    ),
    cost=CostClass.SEARCH,
    files={"csv": lambda _, answer: attachment(cash_flow_csv(answer).encode(), CSV, "build-or-rent.csv")},
)
