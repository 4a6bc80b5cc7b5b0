"""Money: amounts as quoted, and the cost of an estimate line by line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue, PlainSerializer

from app.catalog.catalog import Catalog
from app.catalog.defaults import COST, CURRENCIES
from app.catalog.entries import total
from app.catalog.figures import Figure, Spread
from app.errors import BadInput
from app.estimating.schema import Document, Quantity, SourceRef


def _known(currency: object) -> object:
    """Refuse the code of a currency without a rate, as the value that it is of the right type."""
    if isinstance(currency, str) and re.fullmatch("[A-Z]{3}", currency) and currency not in CURRENCIES:
        raise BadInput.at(
            "currency",
            "there is no exchange rate of {currency}; use one of {known}",
            currency=currency,
            known=", ".join(CURRENCIES),
        )
    return currency


Currency = Annotated[Literal["USD", "KRW", "EUR", "JPY", "CNY"], BeforeValidator(_known)]
UNITS: dict[str, Decimal] = {
    name: Decimal(1) if name in ("KRW", "JPY") else Decimal("0.01") for name in CURRENCIES
}
"""Smallest amount that is printed: the minor unit of ISO 4217, which won and yen do not have."""
PRICED_ASSUMPTIONS = ("electricity_per_kwh", "system_price", "hourly_price")
"""Assumptions that are amounts in the currency of the request."""

LARGEST = 1e15
"""Most that one line may come to; below it a float still tells cents apart."""
EXACT = Context(prec=60, rounding=ROUND_HALF_UP)
"""Digits enough for the exact product of two float64 as they are printed."""
Money = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""An amount of money; a number in JSON."""


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """Units of a currency per dollar, in which the catalogue's prices are: the one way to convert them."""

    currency: str
    value: float
    low: float
    high: float
    as_of: str
    """Date of the rate; empty for the dollar."""

    @classmethod
    def of(cls, catalog: Catalog, currency: str) -> ExchangeRate:
        if currency == "USD":
            return cls(currency, 1.0, 1.0, 1.0, "")
        rate = catalog.find(COST, "exchange_rate", currency.lower())
        if rate is None:
            raise BadInput.at("currency", "there is no exchange rate of {currency}", currency=currency)
        return cls(currency, rate.si, rate.si_low, rate.si_high, rate.as_of)

    def amount(self, dollars: Spread) -> Quantity:
        return Quantity(
            value=self.value * dollars.value,
            low=self.low * dollars.low,
            high=self.high * dollars.high,
            unit=self.currency,
        )

    def price(self, figure: Figure) -> Quantity:
        return self.amount(total([(1, figure)], figure.si_unit))


class QuoteLine(Document):
    """One line of a quote."""

    item: str
    """Identifier of the cost item."""
    label: str
    """Name."""
    quantity: Money
    """Number of units."""
    unit_price: Money | None
    """Unit price, not rounded; null if not published."""
    discount: Money
    """Discount on the line, rounded to the currency's unit."""
    total: Money | None
    """Quantity × unit price, rounded, less the discount; null if the price is unknown."""
    source: str
    """Identifier of the source of the price; can be empty."""
    status: str
    """Reliability of the price, taken from its source: for example list, estimate or own."""


class Quote(Document):
    """Lines and their total in one currency."""

    currency: Currency
    """Currency of every amount."""
    lines: list[QuoteLine]
    """Lines, in order."""
    total: Money
    """Exact sum of the known line totals."""
    complete: bool
    """False if a line has no price; the total is then a lower bound."""


def rounded(amount: float | Decimal, currency: str) -> Decimal:
    """Return an amount rounded to a currency's unit, halves away from zero.

    >>> rounded(2.675, "USD"), rounded(-0.5, "KRW")
    (Decimal('2.68'), Decimal('-1'))
    """
    return exact(amount).quantize(UNITS[currency], context=EXACT)


def exact(value: float | Decimal) -> Decimal:
    """Return the decimal that a number is printed as."""
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))


def quote_line(
    item: str,
    label: str,
    quantity: float,
    unit_price: float | None,
    currency: str,
    *,
    discount_share: float = 0.0,
    source: str = "",
    status: str = "",
) -> QuoteLine:
    """Return a line: quantity times unit price less a share of it."""
    if not (math.isfinite(quantity) and quantity >= 0):
        raise BadInput.at("quantity", "the quantity must be at least 0, not {value}", value=quantity)
    if not 0 <= discount_share <= 1:
        raise BadInput.at("discount", "a discount must be between 0 and 1, not {value}", value=discount_share)
    amounts: dict[str, Decimal | None]
    if unit_price is None:
        amounts = {"unit_price": None, "discount": Decimal(0), "total": None}
    else:
        if not (math.isfinite(unit_price) and abs(unit_price) * max(quantity, 1.0) <= LARGEST):
            raise BadInput.at("unit_price", "the line for {item} exceeds {most}", item=item, most=LARGEST)
        with localcontext(EXACT):
            gross = exact(quantity) * exact(unit_price)
            off = rounded(gross * exact(discount_share), currency)
            amounts = {
                "unit_price": exact(unit_price),
                "discount": off,
                "total": rounded(gross, currency) - off,
            }
    return QuoteLine(
        item=item, label=label, quantity=exact(quantity), source=source, status=status, **amounts
    )


def quote(lines: Iterable[QuoteLine], currency: Currency) -> Quote:
    """Return lines with their exact sum; all of them must be in the currency."""
    listed = list(lines)
    with localcontext(EXACT):
        total = sum((line.total for line in listed if line.total is not None), start=Decimal(0))
        return Quote(
            currency=currency,
            lines=listed,
            total=total.quantize(UNITS[currency]),
            complete=all(line.total is not None for line in listed),
        )


class CostFigure(Document):
    """One figure behind a cost, as stated by its source."""

    name: str
    """Name of the figure: price, tariff, pue, …"""
    item: str
    """Catalogue item that the figure describes; empty if it was stated in the request."""
    value: float
    """Value, in the given unit."""
    low: float
    """Low end of the range; equal to the value if none is known."""
    high: float
    """High end of the range; equal to the value if none is known."""
    unit: str
    """Unit as stated."""
    as_of: str
    """Date of the figure; empty if it was stated in the request."""
    status: Literal["sourced", "estimate", "recalled", "stated", "book"]
    """Origin: published, estimated, recalled, stated in the request, or from a price book."""
    default: bool
    """Whether the catalogue's default was used."""
    note: str
    """What limits it."""
    source: SourceRef | None
    """Source of the figure; null if it was stated in the request."""


class CostLine(Document):
    """One line of the cost."""

    item: str
    """Cost item."""
    hourly: float
    """Cost of the item per useful hour."""
    per_month: float | None = None
    """Cost of the item per month, including idle hours."""
    over_term: float | None = None
    """Cost of the item over the term, including the cost of capital."""
    figures: list[CostFigure] = Field(default_factory=list)
    """Figures behind the line."""


class Carbon(Document):
    """Carbon dioxide emissions of the electricity, location-based; manufacturing is not included."""

    run: Quantity
    """For the run."""
    per_year: Quantity
    """For one year of use at the given utilisation."""
    intensity: CostFigure
    """Emission intensity of the grid."""


class Cost(Document):
    """Cost of the run, on a stated basis."""

    run: Quantity
    """Cost of the run."""
    run_samples: list[float] | None = None
    """Samples behind the range of the run's cost, in an order shared by all estimates: comparing two
    estimates sample by sample gives the probability that one is cheaper. [currency]
    """
    capex: Quantity | None
    """Price of the system; null if rented."""
    hourly: Quantity
    """Cost per useful hour."""
    per_accelerator_hour: Quantity | None = None
    """Cost of one accelerator per useful hour."""
    per_month: Quantity | None = None
    """Cost of the system per month."""
    over_term: Quantity | None = None
    """Cost of the system over the whole term, including the cost of capital."""
    present_value: Quantity | None = None
    """Present value of the cost over the term, at the start of the term."""
    carbon: Carbon | None = None
    """Carbon dioxide emissions of the electricity."""
    basis: dict[str, JsonValue]
    """Basis of the cost. Only costs on the same basis can be compared."""
    lines: list[CostLine]
    """Cost lines."""
    figures: list[CostFigure] = Field(default_factory=list)
    """Figures behind all lines: term, cost of capital, utilisation, exchange rates."""
    quote: Quote | None = None
    """Cost lines over the term, rounded to the currency's unit; they add up exactly."""
