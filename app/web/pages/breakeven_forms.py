"""The form of build or rent: its examples, and which of its fields take the place of others."""

from __future__ import annotations

from typing import Any

from app.errors import Message
from app.sizing.break_even.request import BreakEvenRequest
from app.web.contexts import Form
from app.web.pages.query_forms import QueryForm

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

CURRENCIES = ("KRW", "USD")
RENTALS = ("on-demand", "reserved-1-year", "reserved-3-years", "spot")

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
