"""Amounts of money as they are read aloud: ₩4.38억 in Korean, ₩438M in English, ₩4.38亿 in Chinese."""

from __future__ import annotations

import math
from dataclasses import dataclass

from babel import Locale
from babel.numbers import format_currency

from app.reports.wording.scales import decimal, decimals_of

GROUPS = {
    "ko": ((1e12, "조"), (1e8, "억"), (1e4, "만")),
    "zh": ((1e12, "万亿"), (1e8, "亿"), (1e4, "万")),
    "en": ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")),
}
FROM = {"만": 1e5, "万": 1e5}
"""Unit → amount it is used from, where that is not once the unit: nobody says 1.09만 for 10,900."""
SYMBOLS = {"USD": "$", "KRW": "₩"}
WHOLE = {"KRW"}
"""Currencies without decimals."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """The unit an amount is counted in: 억, M, or one."""

    size: float
    word: str
    decimals: int
    """Decimals that are known; below zero, digits before the point that are not."""

    @classmethod
    def of(cls, amount: float, language: str, digits: int = 3) -> Grouping:
        """Return the largest unit an amount is counted in, with decimals for three digits."""
        found = ((size, word) for size, word in GROUPS[language] if abs(amount) >= FROM.get(word, size))
        size, word = next(found, (1.0, ""))
        decimals = decimals_of(amount / size, digits)
        if not word and abs(amount) >= 10.0**digits:
            decimals = digits - math.floor(math.log10(abs(amount))) - 1
        return cls(size, word, decimals)

    def digits(self, amount: float, trim: bool = False) -> str:
        """Write an amount in this unit; trimmed of the zeros a round value ends on."""
        size = amount / self.size
        known = round(size, self.decimals) if self.decimals < 0 else size
        return f"{decimal(known, max(self.decimals, 0), trim)}{self.word}"


def compact(amount: float, currency: str, language: str, trim: bool = False) -> str:
    """Write an amount in three significant digits.

    >>> compact(437_800_000, "KRW", "ko")
    '₩4.38억'
    >>> compact(437_800_000, "KRW", "en")
    '₩438M'
    """
    grouping = Grouping.of(amount, language)
    if not grouping.word and currency in WHOLE:
        grouping = Grouping(1.0, "", min(grouping.decimals, 0))
    elif not grouping.word and abs(amount) >= 1:
        grouping = Grouping(1.0, "", 2 if abs(amount) < 1000 else grouping.decimals)
    sign = "-" if amount < 0 else ""
    return f"{sign}{SYMBOLS[currency]}{grouping.digits(abs(amount), trim)}"


def full(amount: float, currency: str, locale: Locale) -> str:
    """Write an amount in full; won without decimals, dollars without cents above a thousand.

    >>> full(4_378_000_000, "KRW", Locale("ko"))
    '₩4,378,000,000'
    """
    whole = currency in WHOLE or abs(amount) >= 1000
    pattern = "¤#,##0" if whole else "¤#,##0.00"
    written = str(format_currency(amount, currency, pattern, locale=locale, currency_digits=False))
    return written.replace("US$", "$")
