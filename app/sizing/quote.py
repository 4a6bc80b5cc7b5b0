"""Money to be printed: lines rounded to the currency's unit, and a total that is exactly their sum.

Everything else in Rackline computes money in float64. Only what is quoted is rounded, here and once for each
line: a line is the rounded product of quantity and unit price less its rounded discount, and the total adds
lines as they are printed, so a customer with a calculator finds the same number. Halves are rounded away
from zero, as commercial invoices do, so a discount is rounded like the price that it is taken from. Each of
the two roundings of a line moves it by half a unit of the currency at most: a total stays within one unit a
line of the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Annotated, Literal

from pydantic import PlainSerializer

from app.errors import BadInput
from app.sizing.document_base import Document

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
        raise BadInput.at("quantity", "{value} is not a quantity of 0 or more", value=quantity)
    if not 0 <= discount_share <= 1:
        raise BadInput.at("discount", "a discount is a share from 0 to 1, not {value}", value=discount_share)
    known: dict[str, Decimal | None]
    if unit_price is None:
        known = {"unit_price": None, "discount": Decimal(0), "total": None}
    else:
        if not (math.isfinite(unit_price) and abs(unit_price) * max(quantity, 1.0) <= LARGEST):
            raise BadInput.at("unit_price", "a line of {item} over {most}", item=item, most=LARGEST)
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
