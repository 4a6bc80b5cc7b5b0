"""Requests and limits in another currency, at the rate of the prices beside them."""

from __future__ import annotations

from app.estimating.context import SizingContext
from app.estimating.money import PRICED_ASSUMPTIONS, ExchangeRate
from app.estimating.request import AssumptionsInput, EstimateRequest


def rate_between(before: str, after: str, assumptions: AssumptionsInput, context: SizingContext) -> float:
    """Return the units of one currency that one unit of another is worth, on the date of the prices."""
    catalog = context.at_prices(assumptions).catalog
    return ExchangeRate.of(catalog, after).value / ExchangeRate.of(catalog, before).value


def in_currency(request: EstimateRequest, currency: str, context: SizingContext) -> EstimateRequest:
    """Return a request in a currency, with the prices that it states."""
    if request.currency == currency:
        return request
    rate = rate_between(request.currency, currency, request.assumptions, context)
    stated = {name: getattr(request.assumptions, name) for name in PRICED_ASSUMPTIONS}
    converted: dict[str, object] = {name: price * rate for name, price in stated.items() if price is not None}
    home = request.assumptions.home_currency or request.currency
    assumptions = request.assumptions.model_copy(update={**converted, "home_currency": home})
    return request.model_copy(update={"currency": currency, "assumptions": assumptions})
