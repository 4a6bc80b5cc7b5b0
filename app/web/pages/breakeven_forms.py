"""The form of build or rent: the address to a request, and errors back to its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from app.errors import AppError, FieldError, Message
from app.sizing.break_even.request import BreakEvenRequest
from app.web.contexts import Form
from app.web.pages.forms import checked, nested, plain_number, refused

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
    (Message("Twenty DGX A100 against a cloud bill"), ARTICLE),
    (Message("The lab doubles"), ARTICLE | {"teams_now": "1", "teams_then": "2"}),
    (Message("A bill below the running cost"), ARTICLE | {"cloud_monthly": "40,000,000"}),
    (Message("Own the base, rent the peak"), ARTICLE | PEAKED),
    (Message("Priced from the catalogue"), PRICED),
)
"""Names, and the fields of the form."""

PERCENTS = {
    "discount_percent": "discount_rate",
    "growth_percent": "growth",
    "own_growth_percent": "own_growth",
    "utilisation_percent": "utilisation",
    "residual_percent": "residual_share",
    "onprem.support_percent": "onprem.support",
}
"""Name in the form, typed in percent → field of the request, a share."""

CURRENCIES = ("KRW", "USD")
RENTALS = ("on-demand", "reserved-1-year", "reserved-3-years", "spot")
TEXTS = {
    "currency",
    "capex_includes_fabric",
    "hardware.system",
    "cloud.system",
    "cloud.rental",
    "price_book_id",
}
DEMAND = "demand"
SEPARATORS = re.compile(r"[\s,;]+")

PLAIN = {
    "currency",
    "capex",
    "capex_includes_fabric",
    "onprem_monthly",
    "cloud_monthly",
    "horizon_months",
    "teams_now",
    "teams_then",
    "demand_factor",
    "peak_price_factor",
    "price_book_id",
    "hardware.system",
    "hardware.count",
    "onprem.power_kw",
    "onprem.pue",
    "onprem.tariff",
    "onprem.staff",
    "onprem.staff_cost",
    "onprem.space",
    "cloud.system",
    "cloud.count",
    "cloud.hours_per_month",
    "cloud.hourly_price",
    "cloud.rental",
    "ranges.capex.low",
    "ranges.capex.high",
    "ranges.onprem_monthly.low",
    "ranges.onprem_monthly.high",
    "ranges.cloud_monthly.low",
    "ranges.cloud_monthly.high",
}
KNOWN = PLAIN | PERCENTS.keys() | {DEMAND}

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

NAMES = {field: name for name, field in PERCENTS.items()}


def known_values(values: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the fields of the form, the example's where nothing was typed.

    What an amount is made of stands in its place: a chosen system prices the purchase, whatever was
    typed beside it before.
    """
    typed_in = {name: one[0] for name, one in values.items() if name in KNOWN}
    found = typed_in or dict(ARTICLE)
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


def request_of(values: Mapping[str, str]) -> BreakEvenRequest:
    """Return what a form asks for."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name == DEMAND:
            fields[name] = [_share(part) for part in SEPARATORS.split(value.strip(" ,;")) if part]
        elif name in PERCENTS:
            fields[PERCENTS[name]] = _share(value)
        else:
            fields[name] = value if name in TEXTS else plain_number(value)
    stated = any(name == "onprem_monthly" or name.startswith("onprem.") for name in fields)
    if "hardware.system" in fields and not stated:
        fields["onprem"] = {}
    return checked(BreakEvenRequest, nested(fields))


def query_of(values: Mapping[str, str]) -> str:
    """Return the address of a form."""
    return urlencode(values)


def form_of(values: Mapping[str, str], error: AppError | None = None) -> Form:
    """Return what is shown in the form: what was typed, with errors at the names it was typed under."""
    shown = {name: [value] for name, value in values.items()}
    if error is None:
        return Form(shown)
    found = refused(shown, error, ())
    return Form(shown, [_renamed(one) for one in found.errors])


def open_folds(form: Form) -> frozenset[str]:
    """Return the folds of a form that hold something, or something wrong."""
    filled = {*form.values, *(error.field for error in form.errors)}
    starts = {name.partition(".")[0] for name in filled}
    return frozenset(fold for fold, names in FOLDS.items() if names & starts)


def unplaced(form: Form) -> list[Message]:
    """Return what is wrong that no field of the form shows."""
    return [
        one.message
        for one in form.errors
        if not any(one.field == name or one.field.startswith(f"{name}.") for name in KNOWN)
    ]


def _share(text: str) -> str:
    """Return a percentage as a share; what is no number is left to be refused."""
    number = plain_number(text.rstrip("%"))
    try:
        return repr(float(number) / 100.0)
    except ValueError:
        return number


def _renamed(error: FieldError) -> FieldError:
    """Return an error at the name of the form, its limits in percent where it is typed in percent."""
    base = error.field.partition(".")[0]
    if error.field not in NAMES and base != DEMAND:
        return error
    limits = {
        name: value * 100.0 if isinstance(value, int | float) and not isinstance(value, bool) else value
        for name, value in error.message.values.items()
    }
    message = Message(error.message.template, limits)
    return FieldError(DEMAND if base == DEMAND else NAMES[error.field], message)
