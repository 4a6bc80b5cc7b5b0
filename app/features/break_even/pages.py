"""Build or rent as a view of a study: an option bought against a cloud bill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from app.errors import Message
from app.estimating.documents import Default
from app.features.break_even import charts
from app.features.break_even.deciding import cash_flow_csv
from app.features.break_even.from_study import (
    OptionAmounts,
    amounts_of,
    decide_of_study,
    is_of_study,
    is_owned,
    usual_fields,
)
from app.features.break_even.model import BreakEven, BreakEvenRequest, TornadoRow
from app.features.studies.frame import OpenView, StudyFrame, old_address, study_view
from app.features.studies.model import free_keys
from app.platform.rates import CostClass
from app.platform.web.choices import RENTED, system_names
from app.platform.web.contexts import ChoiceGroup, FigureView, Form, view
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import Answered, QueryForm
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
"""Fold of the form → first words of its fields."""

REPLACES = {"onprem": "onprem_monthly", "cloud": "cloud_monthly"}
"""What an amount is made of → the amount, which then need not be typed."""

OF_OPTION = ("hardware.", "price_book_id")
"""Beginnings of fields that the study answers."""


def completed(found: dict[str, str]) -> dict[str, str]:
    """Return the fields of the form without those that others take the place of.

    A chosen cloud system makes the bill, and any part of the running cost its sum.
    """
    kept = {name: value for name, value in found.items() if not name.startswith(OF_OPTION)}
    if not kept.get("cloud.system", "").strip():
        kept = {name: value for name, value in kept.items() if not name.startswith("cloud.")}
    for part, amount in REPLACES.items():
        if any(value.strip() for name, value in kept.items() if name.startswith(f"{part}.")):
            replaced = (amount, f"ranges.{amount}.")
            kept = {name: value for name, value in kept.items() if not name.startswith(replaced)}
    return kept


FORM = QueryForm(BreakEvenRequest, complete=completed)


def open_folds(form: Form) -> frozenset[str]:
    """Return the folds of a form that hold something, or something wrong."""
    filled = {*(name for name in form.values if form.get(name)), *(error.field for error in form.errors)}
    starts = {name.partition(".")[0] for name in filled}
    return frozenset(fold for fold, names in FOLDS.items() if names & starts)


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
    """Build or rent for an option of a study."""

    frame: StudyFrame
    result: Answered[BreakEven] | None
    view: BreakEvenView | None
    general: Sequence[Message]
    """What is wrong that no field shows."""
    amounts: OptionAmounts | None
    """What the study says; None where it has no price."""
    kept: frozenset[str]
    """Amounts of the form that are those of the study."""
    add_url: str
    """Address of the study with the rented system that stands in; empty where the study has one."""
    clouds: Sequence[ChoiceGroup]
    """What can be rented."""
    folds: frozenset[str]
    """Folds of the form that are open, for they hold something."""


def break_even_page(request: Request, opened: OpenView, result: Answered[BreakEven] | None) -> BreakEvenPage:
    """Return the page of an answer, of an earlier one where this question is refused."""
    form = Form() if result is None else result.form
    answer = None if result is None else result.answer
    found = None if opened.question is None else amounts_of(opened.question)
    cloud = None if found is None else found.cloud
    add_url = ""
    if cloud is not None and not cloud.key:
        key = next(free_keys({one.key for one in opened.state.content.options}))
        add_url = opened.frame.turned({f"add.{key}": cloud.system, f"count.{key}": str(cloud.count)})
    return BreakEvenPage(
        frame=opened.frame,
        result=result,
        view=None if answer is None else answer_view(answer, voice_of(request)),
        general=FORM.unplaced(form),
        amounts=found,
        kept=frozenset() if answer is None or found is None else kept_amounts(answer, found),
        add_url=add_url,
        clouds=[group for group in system_names(opened.bench.catalogue) if group.name == RENTED],
        folds=open_folds(form),
    )


def kept_amounts(answer: BreakEven, found: OptionAmounts) -> frozenset[str]:
    """Return the amounts of an answer that are those of the study."""
    kept = {"capex"} if is_of_study(answer.capex.value, found.purchase) else set()
    if not answer.onprem_lines and round(answer.onprem_monthly) == round(found.running_monthly):
        kept.add("onprem_monthly")
    if found.cloud is not None and is_of_study(answer.cloud_monthly, found.cloud.monthly):
        kept.add("cloud_monthly")
    return frozenset(kept)


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


def cash_flow_file(_: Request, answer: BreakEven) -> Response:
    """Return the months of an answer as a file."""
    headers = {"Content-Disposition": 'attachment; filename="build-or-rent.csv"'}
    return Response(cash_flow_csv(answer), media_type="text/csv; charset=utf-8", headers=headers)


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
    files={"csv": cash_flow_file},
)


ARTICLE = {
    "currency": "KRW",
    "capex": "4,378,000,000",
    "onprem_monthly": "50,000,000",
    "cloud_monthly": "300,000,000",
    "horizon_months": "48",
}
"""A platform team's twenty machines against its cloud bill; what the old address shows without fields."""


def study_of_purchase(given: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a study of what an old address buys, and the fields of its view."""
    asked = dict(given) or ARTICLE
    chosen = asked.get("hardware.system", "")
    system = {
        "id": chosen or "dgx-a100-320gb",
        "count": asked.get("hardware.count") or ("1" if chosen else "20"),
    }
    assumptions = {"price_book_id": asked["price_book_id"]} if asked.get("price_book_id") else {}
    base = {
        "model": {"preset": "gpt3-175b"},
        "workload": {"tokens": 3e11},
        "currency": asked.get("currency", "KRW"),
        "assumptions": assumptions,
    }
    # Nothing was discounted or sold in the end unless the address said so.
    unsaid = {"discount_percent": ""} if chosen else {"discount_percent": "", "residual_percent": ""}
    fields = {name: text for name, text in asked.items() if name != "currency"}
    return {"name": "GPT-3 175B", "base": base, "options": [{"system": system}]}, {**unsaid, **fields}


old_address(router, "/breakevens", "rent", study_of_purchase, endings=("", ".json", ".csv"))
