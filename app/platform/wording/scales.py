"""Amounts of money as they are read aloud: ₩4.38억 in Korean, ₩438M in English, ₩4.38亿 in Chinese."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from babel import Locale
from babel.numbers import format_currency

from app.engine.units import YEAR
from app.estimating.ranges import TIMES as SPOKEN


@dataclass(frozen=True, slots=True)
class Scale:
    """A display unit: how many base units it holds, and its gettext key."""

    size: float
    unit: str

    @property
    def digits(self) -> int:
        """Significant digits of a value that is not exact; nobody knows the third of so many years."""
        return 2 if self.size == YEAR and self.unit == "years" else 3


TIMES = (
    (1e-3, Scale(1e-6, "µs")),
    (1.0, Scale(1e-3, "ms")),
    *((limit, Scale(size, sign)) for limit, size, sign in SPOKEN),
)
"""Below this many seconds → this unit."""

PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
PREFIXED = {"B", "B/s", "FLOP", "FLOP/s", "W", "bit/s", "Wh"}
"""Units that take SI prefixes; counts per second are written out."""
TONNE = 1000.0
"""Kilograms of a tonne, in which emissions are written from there on."""
JOULES_PER_WATT_HOUR = 3600.0


def scale_of(value: float, unit: str) -> Scale:
    """Return the display unit of a value in SI units.

    >>> scale_of(47520.0, "s")
    Scale(size=3600.0, unit='h')
    >>> scale_of(80e9, "B")
    Scale(size=1000000000.0, unit='GB')
    """
    magnitude = abs(value)
    if unit == "s":
        return next(scale for limit, scale in TIMES if magnitude < limit) if magnitude else Scale(1.0, "s")
    if unit == "J":
        return _energy(magnitude)
    if unit == "1":
        return Scale(1.0, "")
    if unit == "kg" and magnitude >= TONNE:
        return Scale(TONNE, "t")
    if unit in PREFIXED and magnitude >= 1e3:
        size, prefix = next((size, prefix) for size, prefix in PREFIXES if magnitude >= size)
        return Scale(size, f"{prefix}{unit}")
    return Scale(1.0, unit)


def _energy(joules: float) -> Scale:
    """Return the scale of an energy: watt-hours, as bills are written."""
    watt_hours = joules / JOULES_PER_WATT_HOUR
    if watt_hours < 1e3:
        return Scale(JOULES_PER_WATT_HOUR, "Wh")
    size, prefix = next((size, prefix) for size, prefix in PREFIXES if watt_hours >= size)
    return Scale(size * JOULES_PER_WATT_HOUR, f"{prefix}Wh")


def decimals_of(value: float, digits: int = 3, exact: bool = False) -> int:
    """Return the decimals that show a value in so many significant digits.

    An exact value of three digits before the point keeps one decimal: a division that was carried
    out without assumptions, such as 726.9 days, is not known to three digits only.

    >>> decimals_of(13.2), decimals_of(0.0123), decimals_of(726.85, exact=True)
    (1, 4, 1)
    """
    if not math.isfinite(value) or value == 0:
        return 0
    before = math.floor(math.log10(abs(value))) + 1
    if exact and before >= digits:
        return 1
    return max(0, digits - before)


def decimal(value: float, decimals: int, trim: bool = False) -> str:
    """Write a number with so many decimals, as Korean, English and Chinese readers all do.

    >>> decimal(1234.5, 2), decimal(1234.5, 2, trim=True), decimal(-0.004, 2)
    ('1,234.50', '1,234.5', '0.00')
    """
    # Of the digits that are shown of the number, half to even, as Babel rounds, in a fortieth of its time:
    # pages write thousands of numbers.
    text = f"{Decimal(str(value)):,.{decimals}f}"
    if text.startswith("-") and not text.strip("-0.,"):
        text = text[1:]  # what rounds to nothing has no sign
    return text.rstrip("0").rstrip(".") if trim and decimals else text


GROUPS = {
    "ko": ((1e12, "조"), (1e8, "억"), (1e4, "만")),
    "zh": ((1e12, "万亿"), (1e8, "亿"), (1e4, "万")),
    "en": ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")),
}

FROM = {"만": 1e5, "万": 1e5}
"""Unit → amount it is used from, where that is not once the unit: nobody says 1.09만 for 10,900."""
SYMBOLS = {"USD": "$", "KRW": "₩", "EUR": "€", "JPY": "JP¥", "CNY": "CN¥"}
DOLLARS = {"ko": "달러", "zh": "美元"}
"""How dollars are named where nobody writes their sign before units of ten thousand and more."""
WHOLE = {"KRW", "JPY"}
"""Currencies without decimals."""


@dataclass(frozen=True, slots=True)
class CountingUnit:
    """The unit an amount is counted in: 억, M, or one."""

    size: float
    word: str
    decimals: int
    """Decimals that are known; below zero, digits before the point that are not."""

    @classmethod
    def of(cls, amount: float, language: str, digits: int = 3) -> CountingUnit:
        """Return the largest unit an amount is counted in, with decimals for three digits."""
        fitting = ((size, word) for size, word in GROUPS[language] if abs(amount) >= FROM.get(word, size))
        size, word = next(fitting, (1.0, ""))
        decimals = decimals_of(amount / size, digits)
        if not word and abs(amount) >= 10.0**digits:
            decimals = digits - math.floor(math.log10(abs(amount))) - 1
        return cls(size, word, decimals)

    def digits(self, amount: float, trim: bool = False) -> str:
        """Write an amount in this unit; trimmed of the zeros a round value ends on."""
        size = amount / self.size
        rounded = round(size, self.decimals) if self.decimals < 0 else size
        return f"{decimal(rounded, max(self.decimals, 0), trim)}{self.word}"


def compact(amount: float, currency: str, language: str) -> str:
    """Write an amount in three significant digits.

    >>> compact(437_800_000, "KRW", "ko")
    '₩4.38억'
    >>> compact(437_800_000, "KRW", "en")
    '₩438M'
    >>> compact(15_950_000, "USD", "ko")
    '1,595만 달러'
    >>> compact(10.594, "USD", "ko")
    '10.59달러'
    """
    grouping = CountingUnit.of(amount, language)
    if not grouping.word and currency in WHOLE:
        grouping = CountingUnit(1.0, "", min(grouping.decimals, 0))
    elif not grouping.word and abs(amount) >= 1:
        grouping = CountingUnit(1.0, "", 2 if abs(amount) < 1000 else grouping.decimals)
    sign, digits = "-" if amount < 0 else "", grouping.digits(abs(amount))
    if currency == "USD" and language in DOLLARS:
        return f"{sign}{digits}{' ' if grouping.word and language == 'ko' else ''}{DOLLARS[language]}"
    return f"{sign}{SYMBOLS[currency]}{digits}"


def full(amount: float, currency: str, locale: Locale) -> str:
    """Write an amount in full; won and yen without decimals, others without cents above a thousand.

    >>> full(4_378_000_000, "KRW", Locale("ko"))
    '₩4,378,000,000'
    """
    whole = currency in WHOLE or abs(amount) >= 1000
    pattern = f"'{SYMBOLS[currency]}'#,##0" if whole else f"'{SYMBOLS[currency]}'#,##0.00"
    if currency == "USD" and locale.language in DOLLARS:
        pattern = f"#,##0{'' if whole else '.00'}{DOLLARS[locale.language]}"
    return str(format_currency(amount, currency, pattern, locale=locale, currency_digits=False))
