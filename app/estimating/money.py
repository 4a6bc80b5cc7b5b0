"""Money: amounts as quoted, and the cost of an estimate line by line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Annotated, Literal

from pydantic import Field, JsonValue, PlainSerializer

from app.errors import BadInput
from app.estimating.schema import Document, Quantity, SourceRef

Currency = Literal["USD", "KRW", "EUR"]
UNITS: dict[str, Decimal] = {"USD": Decimal("0.01"), "EUR": Decimal("0.01"), "KRW": Decimal(1)}
"""Smallest amount that is printed: the minor unit of ISO 4217, which the won does not have."""
LARGEST = 1e15
"""Most that one line may come to; below it a float still tells cents apart."""
EXACT = Context(prec=60, rounding=ROUND_HALF_UP)
"""Digits enough for the exact product of two float64 as they are printed."""
Money = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""An amount of money; a number in JSON."""


class QuoteLine(Document):
    """One line of a quote."""

    item: str
    """Identifier of what is paid for."""
    label: str
    """What to call it."""
    quantity: Money
    """How many."""
    unit_price: Money | None
    """Price of one, not rounded; null where nobody publishes it."""
    discount: Money
    """Taken off the line, rounded to the currency's unit."""
    total: Money | None
    """Quantity times unit price, rounded, less the discount; null where the price is not known."""
    source: str
    """Identifier of the price's source; may be empty."""
    status: str
    """How far the price may be trusted: that of the source, as list, estimate or own."""


class Quote(Document):
    """Lines and their sum in one currency."""

    currency: Currency
    """Currency of every amount."""
    lines: list[QuoteLine]
    """The lines in their order."""
    total: Money
    """Exactly the sum of the line totals that are known."""
    complete: bool
    """False where a line has no price: the total is then a lower bound."""


def rounded(amount: float | Decimal, currency: str) -> Decimal:
    """Return an amount in whole units of a currency, halves away from zero.

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
    known: dict[str, Decimal | None]
    if unit_price is None:
        known = {"unit_price": None, "discount": Decimal(0), "total": None}
    else:
        if not (math.isfinite(unit_price) and abs(unit_price) * max(quantity, 1.0) <= LARGEST):
            raise BadInput.at("unit_price", "the line for {item} exceeds {most}", item=item, most=LARGEST)
        with localcontext(EXACT):
            gross = exact(quantity) * exact(unit_price)
            off = rounded(gross * exact(discount_share), currency)
            known = {
                "unit_price": exact(unit_price),
                "discount": off,
                "total": rounded(gross, currency) - off,
            }
    return QuoteLine(item=item, label=label, quantity=exact(quantity), source=source, status=status, **known)


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
    """One figure a cost rests on, as its source states it."""

    name: str
    """What it is: price, tariff, pue, …"""
    item: str
    """What it is of, in the catalogue; empty where it was stated."""
    value: float
    """The figure in its unit."""
    low: float
    """Low end of its range; the value where none is known."""
    high: float
    """High end of its range; the value where none is known."""
    unit: str
    """Unit as stated."""
    as_of: str
    """Date the figure is true of; empty where it was stated."""
    status: Literal["sourced", "estimate", "recalled", "stated", "book"]
    """Whether it is published, estimated, recalled, stated in the request or in a price book."""
    default: bool
    """Whether the catalogue's default was taken."""
    note: str
    """What limits it."""
    source: SourceRef | None
    """Where it is from; null where it was stated."""


class CostLine(Document):
    """One line of the cost."""

    item: str
    """What is paid for."""
    hourly: float
    """Cost of it in one useful hour."""
    per_month: float | None = None
    """Cost of it in a month, idle hours included."""
    over_term: float | None = None
    """Cost of it over the term, cost of capital included."""
    figures: list[CostFigure] = Field(default_factory=list)
    """What the line rests on."""


class Carbon(Document):
    """Carbon dioxide of the electricity, by location; making the machines is not counted."""

    run: Quantity
    """Of the run."""
    per_year: Quantity
    """Of a year with the system in use as its utilisation says."""
    intensity: CostFigure
    """Emissions of the grid."""


class Cost(Document):
    """What the run costs, on a stated basis."""

    run: Quantity
    """Cost of the run."""
    run_samples: list[float] | None = None
    """Samples behind that range, in the order all estimates share: paired one by one, those of two estimates
    give the probability that one is cheaper. [currency]"""
    capex: Quantity | None
    """Price of the system; null where it is rented."""
    hourly: Quantity
    """Cost of one useful hour."""
    per_accelerator_hour: Quantity | None = None
    """Cost of one accelerator for one useful hour."""
    per_month: Quantity | None = None
    """Cost of keeping the system for a month."""
    over_term: Quantity | None = None
    """Cost of keeping it for the whole term, cost of capital included."""
    present_value: Quantity | None = None
    """What that is worth when the term begins."""
    carbon: Carbon | None = None
    """Carbon dioxide of the electricity."""
    basis: dict[str, JsonValue]
    """What the cost rests on; only costs on one basis can be compared."""
    lines: list[CostLine]
    """Lines of the cost."""
    figures: list[CostFigure] = Field(default_factory=list)
    """What all lines rest on: term, cost of capital, utilisation, exchange rates."""
    quote: Quote | None = None
    """The lines over the term in whole units of the currency; they add up exactly."""
