"""Build or rent as a form: the address is its state, with or without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from app.errors import Message
from app.estimating.documents import Default
from app.features.break_even import charts
from app.features.break_even.deciding import break_even, cash_flow_csv
from app.features.break_even.model import BreakEven, BreakEvenRequest, TornadoRow
from app.features.price_books.service import list_books
from app.platform.rates import CostClass
from app.platform.web.choices import RENTED, system_names
from app.platform.web.contexts import Choice, ChoiceGroup, FigureView, Form, view
from app.platform.web.deps import ALL, BenchDep, WorkspaceDep
from app.platform.web.locale import voice_of
from app.platform.web.needs import needs
from app.platform.web.query_forms import Answered, QueryForm
from app.platform.web.resources import question
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

ARTICLE = {
    "currency": "KRW",
    "capex": "4,378,000,000",
    "onprem_monthly": "50,000,000",
    "cloud_monthly": "300,000,000",
    "horizon_months": "48",
}
"""A platform team's twenty machines against its cloud bill; shown to who asks for nothing."""

PRICED = {
    "currency": "KRW",
    "hardware.system": "dgx-a100-320gb",
    "hardware.count": "20",
    "cloud.system": "aws-p4d",
    "cloud.count": "20",
    "cloud.hours_per_month": "600",
    "discount_percent": "8",
    "residual_percent": "10",
    "horizon_months": "48",
}

PEAKED = {"demand": "15, 15, 20, 25, 40, 45, 40, 70, 95, 100, 60, 25", "peak_price_factor": "1.5"}
"""A year's use in percent by month."""

EXAMPLES = (
    (Message("Twenty DGX A100 versus a cloud bill"), ARTICLE),
    (Message("The lab doubles in size"), ARTICLE | {"teams_now": "1", "teams_then": "2"}),
    (Message("A cloud bill below the running cost"), ARTICLE | {"cloud_monthly": "40,000,000"}),
    (Message("Own the base, rent the peak"), ARTICLE | PEAKED),
    (Message("Catalogue prices"), PRICED),
)
"""Names, and the fields of the form."""

REPLACES = {"hardware": "capex", "onprem": "onprem_monthly", "cloud": "cloud_monthly"}
"""What an amount is made of → the amount, which then need not be typed."""

FOLDS = {
    "future": {
        "growth_percent",
        "own_growth_percent",
        "utilisation_percent",
        "residual_percent",
        "teams_now",
        "teams_then",
        "demand_factor",
    },
    "hardware": {"hardware", "onprem"},
    "cloud": {"cloud"},
    "demand": {"demand", "peak_price_factor"},
    "ranges": {"ranges"},
}
"""Fold of the form → first words of its fields."""


def completed(found: dict[str, str]) -> dict[str, str]:
    """Return the fields of the form without those that others take the place of.

    A chosen system prices the purchase, whatever was typed beside it before.
    """
    found.setdefault("currency", "KRW")
    for part in ("hardware", "cloud"):
        chosen = f"{part}.system" in found
        dropped = {REPLACES[part], f"ranges.{REPLACES[part]}.low", f"ranges.{REPLACES[part]}.high"}
        found = {
            name: value
            for name, value in found.items()
            if (name not in dropped if chosen else not name.startswith(f"{part}."))
        }
    described = any(name.startswith("onprem.") for name in found)
    if described:
        found.pop("onprem_monthly", None)
    if "onprem_monthly" not in found:
        found = {name: value for name, value in found.items() if not name.startswith("ranges.onprem")}
    return found


def implied(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request in which a chosen system runs at the catalogue's cost where nothing else is said."""
    stated = "onprem_monthly" in body or "onprem" in body
    return {**body, "onprem": {}} if "hardware" in body and not stated else body


FORM = QueryForm(BreakEvenRequest, ARTICLE, complete=completed, implied=implied)


def open_folds(form: Form) -> frozenset[str]:
    """Return the folds of a form that hold something, or something wrong."""
    filled = {*form.values, *(error.field for error in form.errors)}
    starts = {name.partition(".")[0] for name in filled}
    return frozenset(fold for fold, names in FOLDS.items() if names & starts)


router = page_router()


@router.get("/breakevens.csv")
@needs(cost=CostClass.SEARCH)
def show_break_even_csv(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Return the months of the page of the same address."""
    answer = break_even(bench, workspace, FORM.request(FORM.values(request.query_params)))
    headers = {"Content-Disposition": 'attachment; filename="build-or-rent.csv"'}
    return Response(cash_flow_csv(answer), media_type="text/csv; charset=utf-8", headers=headers)


@dataclass(frozen=True, slots=True)
class BreakEvenView:
    """What a page shows of an answer besides the answer itself."""

    tornado: Sequence[tuple[TornadoRow, str, str, str]]
    """What each input alone does, with the input as it is, lower and higher."""
    defaults: Sequence[tuple[Default, str]]
    """Values taken, as they are written."""
    cash_chart: FigureView
    tornado_chart: FigureView
    mixed_chart: FigureView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenPage:
    """Build or rent, with the address as its state."""

    result: Answered[BreakEven]
    view: BreakEvenView | None
    general: Sequence[Message]
    """What is wrong that no field shows."""
    systems: Sequence[ChoiceGroup]
    """What can be bought."""
    clouds: Sequence[ChoiceGroup]
    """What can be rented."""
    books: Sequence[Choice]
    """Price books of the workspace."""
    examples: Sequence[tuple[Message, Mapping[str, str]]]
    hints: Sequence[str]
    """Fields that still hold the example's value."""
    folds: frozenset[str]
    """Folds of the form that are open, for they hold something."""


def break_even_page(
    request: Request, bench: Workbench, workspace: str, result: Answered[BreakEven]
) -> BreakEvenPage:
    """Return the page of an answer, of an earlier one where this question is refused."""
    form, answer = result.form, result.answer
    groups = system_names(bench.catalogue)
    return BreakEvenPage(
        result=result,
        view=None if answer is None else answer_view(answer, voice_of(request)),
        general=FORM.unplaced(form),
        systems=[group for group in groups if group.name != RENTED],
        clouds=[group for group in groups if group.name == RENTED],
        books=[Choice(book.id, book.name) for book in list_books(bench, workspace, ALL, None).items],
        examples=EXAMPLES,
        hints=[name for name, value in ARTICLE.items() if form.get(name) == value],
        folds=open_folds(form),
    )


def answer_view(answer: BreakEven, voice: Voice) -> BreakEvenView:
    """Return an answer's charts, and its inputs as they are written."""

    def text(name: str, value: object) -> str:
        return input_text(name, value, answer.currency, voice)

    return BreakEvenView(
        tornado=[
            (row, text(row.input, row.value), text(row.input, row.low_input), text(row.input, row.high_input))
            for row in answer.tornado
        ],
        defaults=[(default, text(default.field, default.value)) for default in answer.defaults],
        cash_chart=view(
            "cash",
            voice.gettext("Cumulative spend by month"),
            charts.cash_flow(answer, voice),
            voice.gettext("Bands are 80 % intervals.") if answer.cash_flow[0].own_low is not None else "",
        ),
        tornado_chart=view(
            "tornado",
            voice.gettext("Break-even by input"),
            charts.tornado(answer, voice),
            voice.gettext("Each input alone, 20 % lower and 20 % higher."),
            "tornado",
        ),
        mixed_chart=None
        if answer.mixed is None
        else view(
            "mixed",
            voice.gettext("Cost by owned capacity"),
            charts.base_and_peak(answer.mixed, answer.currency, voice),
        ),
    )


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


question(
    router,
    "/breakevens",
    "break_even/breakeven.html",
    FORM,
    BreakEven,
    break_even,
    break_even_page,
    cost=CostClass.SEARCH,
)
