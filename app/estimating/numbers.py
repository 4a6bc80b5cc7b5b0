"""Numbers as people write them, in forms, CSV files and addresses; those of JSON are numbers already.

How a numeral is read:

- A comma followed by exactly three digits, with one to three digits before it that do not begin with 0,
  separates thousands: ``1,234`` and ``12,345`` are 1234 and 12345, as Korean and English write them.
- Any other single comma is a decimal comma: ``15,2``, ``1,5``, ``0,123``, ``1234,567``.
- A single point is always the decimal point: ``1.234`` is a little more than one.
- Where comma and point occur, the last is the decimal one: ``1,234.5`` and ``1.234,5`` are the same.
- Several commas, several points, spaces of any width, apostrophes and underscores separate thousands, and
  only those: ``12,34`` is a decimal, ``12,34,567`` and ``1 2`` are refused.

After it come a magnitude (``k m b t``, ``bn``, ``million``, ``천 만 억 조`` …) and a unit: of time, of money
(before the numeral too) or ``%``. ``m`` is a million, except in lengths of time: after hours it is minutes,
and alone it could be minutes or months, which is refused. ``¥`` is refused unless the amounts are known to be
in yen or in yuan. What is refused is said with the field, what was given, and what to write instead.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Literal, NoReturn

from app.engine.units import DAY, HOUR, MINUTE, MONTH, YEAR
from app.errors import AppError, BadInput, Message, Unprocessable

Dimension = Literal["plain", "duration", "money", "share"]


@dataclass(frozen=True, slots=True)
class NumberKind:
    """What a field expects."""

    dimension: Dimension = "plain"
    unit: float | None = 1.0
    """What 1 is where no unit is written, and what the field is in: seconds of a length of time, 0.01 of a
    percentage. None of a share that is a percentage where it is above 1.
    """
    whole: bool = False
    currency: str = ""
    """Of an amount of money without one; empty where it is not known."""


PLAIN, WHOLE = NumberKind(), NumberKind(whole=True)

DURATIONS = {
    name: NumberKind("duration", unit)
    for name, unit in {
        "s": 1.0,
        "min": MINUTE,
        "h": HOUR,
        "day": DAY,
        "month": MONTH,
        "a": YEAR,
        "year": YEAR,
    }.items()
}
"""Unit of a field of a request → what the field expects."""

HOURS, DAYS, YEARS = DURATIONS["h"], DURATIONS["day"], DURATIONS["year"]

MONEY = NumberKind("money")

PERCENT = NumberKind("share", 0.01)

SHARE, SHARE_OR_PERCENT = NumberKind("share"), NumberKind("share", None)


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with what it measures."""

    value: float
    """As it is, in seconds, in the currency, or as a share."""
    dimension: Dimension
    currency: str = ""
    """Of money; empty where none was written and none is known."""


MAGNITUDES = {
    **dict.fromkeys(("k", "thousand", "thousands"), 10**3),
    **dict.fromkeys(("m", "mn", "mln", "mio", "million", "millions"), 10**6),
    **dict.fromkeys(("b", "bn", "bln", "billion", "billions"), 10**9),
    **dict.fromkeys(("t", "tn", "trn", "trillion", "trillions"), 10**12),
}

SMALL = {"십": 10, "백": 100, "천": 1_000}

LARGE = {"만": 10**4, "억": 10**8, "조": 10**12}
"""Korean magnitudes: sums below ten thousand are counted in the larger ones, as in 1조 2천억."""

LENGTHS = {
    **dict.fromkeys(("ms", "밀리초"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "초"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "분"), MINUTE),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "시간"), HOUR),
    **dict.fromkeys(("d", "day", "days", "일"), DAY),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks", "주", "주일", "주간"), 7.0 * DAY),
    **dict.fromkeys(("mo", "mos", "month", "months", "개월", "달"), MONTH),
    **dict.fromkeys(("y", "yr", "yrs", "a", "year", "years", "년", "년간"), YEAR),
}
"""Units of time. [s]"""

CURRENCIES = {
    **dict.fromkeys(("$", "us$", "usd", "dollar", "dollars", "달러", "불"), "USD"),
    **dict.fromkeys(("₩", "krw", "won", "원"), "KRW"),
    **dict.fromkeys(("€", "eur", "euro", "euros", "유로"), "EUR"),
    **dict.fromkeys(("jpy", "yen", "엔", "円"), "JPY"),
    **dict.fromkeys(("cny", "rmb", "yuan", "위안", "元"), "CNY"),
}

YEN_OR_YUAN = ("JPY", "CNY")
"""What ¥ can be."""

SHARES = frozenset({"%", "percent", "pct", "퍼센트"})

MARKS = str.maketrans("’−", "'-")

LONGEST = 100
"""Most characters of a number."""

TOKEN = re.compile(
    r"\s*(?:(?P<numeral>\.?\d(?:[\d.,'_ ]*\d)?(?:e[+-]?\d{1,4}\b)?)"
    r"|(?P<word>us\$|[a-z]+|[십백천만억조]|[가-힣]+|[円元$₩€¥%]))",
    re.ASCII,
)

GROUPED = re.compile(
    r"(?P<groups>[1-9]\d{0,2}(?P<mark>[.,'_ ])\d{3}(?P<more>(?:(?P=mark)\d{3})*))"
    r"(?:(?!(?P=mark))[.,](?P<decimals>\d+))?"
)

SIMPLE = re.compile(r"(?P<groups>\d*)(?:[.,](?P<decimals>\d+))?")

SEPARATORS = re.compile(r"[ \t\r\n;]+(?![%％])")

DIMENSIONS: dict[Dimension, Message] = {
    "duration": Message("a length of time"),
    "money": Message("an amount of money"),
    "share": Message("a percentage"),
}

EXAMPLES: dict[Dimension, Message] = {
    "plain": Message("a number, such as 1,234.5 or 300B"),
    "duration": Message("a length of time, such as 60 days or 2 weeks"),
    "money": Message("an amount of money, such as 1,200,000 or 5bn"),
    "share": Message("a percentage, such as 80 %"),
}

WHOLE_EXAMPLE = Message("a whole number, such as 1,024")


def number_in(text: str, kind: NumberKind = PLAIN, field: str = "") -> float:
    """Return what was written in the unit of its field; an integer where it is whole.

    >>> number_in("1.234,5"), number_in("15,2"), number_in("5천만"), number_in("1조 2천억")
    (1234.5, 15.2, 50000000, 1200000000000)
    >>> number_in("2 weeks", DAYS), number_in("60", DAYS), number_in("80 %", PERCENT), number_in("5bn", MONEY)
    (14, 60, 0.8, 5000000000)
    """
    value, currency = _measured(text, kind, field)
    if currency != kind.currency:
        raise BadInput.at(field, "“{given}” names a currency; enter the amount without one", given=text[:40])
    if kind.dimension == "duration":
        value /= _exact(kind.unit or 1.0)
    return _as_number(value, text, kind, field)


def measure(text: str, kind: NumberKind, field: str = "") -> Measure:
    """Return what was written with its dimension, which is that of the field.

    >>> measure("3개월", DAYS).value / 86400, measure("$5bn", MONEY)
    (91.3125, Measure(value=5000000000, dimension='money', currency='USD'))
    """
    value, currency = _measured(text, kind, field)
    return Measure(_as_number(value, text, kind, field), kind.dimension, currency)


def numbers_in(text: str, kind: NumberKind = PLAIN, field: str = "") -> list[float]:
    """Return numbers written one after the other, between spaces, semicolons or commas.

    What commas join without a space is refused where it could also be one number.

    >>> numbers_in("8, 16 32"), numbers_in("4,8,16", WHOLE), numbers_in("15.2; 15.3 %", PERCENT)
    ([8, 16, 32], [4, 8, 16], [0.152, 0.153])
    """
    parts = (part.strip(",") for part in SEPARATORS.split(text))
    return [number for part in parts if part for number in _joined(part, kind, field)]


def _joined(part: str, kind: NumberKind, field: str) -> list[float]:
    pieces = part.split(",")
    if len(pieces) == 1:
        return [number_in(part, kind, field)]
    try:
        one = f"{number_in(part, kind):.15g}"
    except AppError:
        one = ""
    if one:
        _refuse_two_readings(part, one, ", ".join(pieces), field)
    return [number_in(piece, kind, field) for piece in pieces if piece]


def _exact(number: float) -> Decimal:
    return Decimal(str(number))


def _as_number(value: Decimal, text: str, kind: NumberKind, field: str) -> float:
    """Return a number as requests hold it."""
    number = float(value)
    if not math.isfinite(number):
        raise BadInput.at(field, "must be a finite number")
    if number.is_integer() and abs(number) < 1e18:
        return int(number)
    if kind.whole:
        _refuse(text, kind, field)
    return number


def _measured(text: str, kind: NumberKind, field: str) -> tuple[Decimal, str]:
    """Return a number in SI units or in its currency, and the currency."""
    tokens = _tokens(text) if len(text) <= LONGEST else []
    sign = -1 if tokens[:1] == ["-"] else 1
    tokens = tokens[1:] if tokens[:1] in (["-"], ["+"]) else tokens
    before = tokens.pop(0) if tokens and _is_currency(tokens[0]) else ""
    try:
        parts = list(_parts(tokens, kind))
    except (ValueError, DecimalException):
        parts = []
    units = [unit for _, unit in parts]
    if not parts or (len(parts) > 1 and not all(unit in LENGTHS or unit == "m" for unit in units)):
        _refuse(text, kind, field)
    unit = units[0]
    dimension = _dimension(unit, before)
    if dimension is None:
        _refuse(text, kind, field)
    if dimension not in {"plain", kind.dimension}:
        _refuse(text, kind, field, dimension)
    value = sign * parts[0][0]
    if dimension == "duration":
        return sign * _length(parts, text, kind, field), ""
    if dimension == "share":
        return value / 100, ""
    if kind.unit is None:
        return value / 100 if value > 1 else value, ""
    if kind.dimension == "money":
        return value, _currency([word for word in (before, unit) if word], text, kind, field)
    return value * _exact(kind.unit), ""


def _tokens(text: str) -> list[str]:
    """Return the numerals and words of a text in small letters; none where it has something else."""
    usual = "".join(
        unicodedata.normalize("NFKC", character)
        if unicodedata.east_asian_width(character) == "F" or unicodedata.category(character) == "Zs"
        else character
        for character in unicodedata.normalize("NFC", text)
    )
    usual = usual.translate(MARKS).casefold().strip()
    tokens: list[str] = []
    place = 0
    while place < len(usual):
        if usual[place] in "+-" and len(tokens) < 2 and not any(map(_has_digit, tokens)):
            tokens.insert(0, usual[place])
            place += 1
            continue
        match = TOKEN.match(usual, place)
        if match is None:
            return []
        tokens.append(match["numeral"] or match["word"])
        place = match.end()
    return tokens


def _has_digit(token: str) -> bool:
    return token[-1:].isdecimal()


def _parts(tokens: Iterable[str], kind: NumberKind) -> Iterator[tuple[Decimal, str]]:
    """Yield each amount with the unit after it; raise a ValueError where they are none."""
    amount = block = Decimal(0)
    pending: Decimal | None = None
    small = large = math.inf
    begun = False
    for token in tokens:
        if _has_digit(token):
            if pending is not None or small == 0:
                raise ValueError(token)
            pending, begun = numeral(token), True
        elif token in SMALL and begun and SMALL[token] < small:
            small = SMALL[token]
            block += (1 if pending is None else pending) * small
            pending = None
        elif token in LARGE and begun and LARGE[token] < large and (pending is not None or block):
            large, small = LARGE[token], math.inf
            amount += (block + (pending or 0)) * LARGE[token]
            block, pending = Decimal(0), None
        elif _is_magnitude(token, kind) and pending is not None and not (amount or block):
            amount, pending = pending * MAGNITUDES[token], None
            small = large = 0
        elif not _is_magnitude(token, kind) and begun:
            yield amount + block + (pending or 0), token
            amount = block = Decimal(0)
            pending, begun = None, False
            small = large = math.inf
        else:
            raise ValueError(token)
    if begun:
        yield amount + block + (pending or 0), ""


def _is_magnitude(token: str, kind: NumberKind) -> bool:
    return token in MAGNITUDES and not (kind.dimension == "duration" and token == "m")


def numeral(text: str) -> Decimal:
    """Return a numeral without magnitude and unit; raise a ValueError where it is none.

    >>> [float(numeral(text)) for text in ("1,234", "12,34", "0,123", "1.234", "1.234,5", "1 234", "2.5e3")]
    [1234.0, 12.34, 0.123, 1.234, 1234.5, 1234.0, 2500.0]
    """
    digits, _, exponent = text.partition("e")
    match = GROUPED.fullmatch(digits)
    if match is None or (match["mark"] == "." and not match["more"] and not match["decimals"]):
        match = SIMPLE.fullmatch(digits)
    if match is None:
        raise ValueError(text)
    whole = "".join(filter(str.isdecimal, match["groups"]))
    return Decimal(f"{whole or '0'}.{match['decimals'] or '0'}e{exponent or '0'}")


def _is_currency(token: str) -> bool:
    return token in CURRENCIES or token == "¥"


def _dimension(unit: str, currency: str) -> Dimension | None:
    """Return what a number with a unit measures; None where the unit is unknown or there are two."""
    if _is_currency(unit) or (currency and not unit):
        return "money"
    if currency:
        return None
    if unit in LENGTHS or unit == "m":
        return "duration"
    return "share" if unit in SHARES else None if unit else "plain"


def _length(parts: Sequence[tuple[Decimal, str]], text: str, kind: NumberKind, field: str) -> Decimal:
    """Return a length of time, whose units fall: 1 year 6 months, 2h 30m. [s]"""
    total, before = Decimal(0), math.inf
    for amount, unit in parts:
        if unit == "m" and before != HOUR:
            number = {"amount": float(amount)}
            _refuse_two_readings(
                text, Message("{amount} minutes", number), Message("{amount} months", number), field
            )
        seconds = MINUTE if unit == "m" else LENGTHS[unit]
        if seconds >= before:
            _refuse(text, kind, field)
        total, before = total + amount * _exact(seconds), seconds
    return total


def _currency(words: Sequence[str], text: str, kind: NumberKind, field: str) -> str:
    """Return the currency of an amount, which is that of its field where one is known."""
    currencies = {
        CURRENCIES.get(word, kind.currency if kind.currency in YEN_OR_YUAN else word) for word in words
    }
    if "¥" in currencies:
        _refuse_two_readings(text, *YEN_OR_YUAN, field)
    if len(currencies) > 1:
        _refuse(text, kind, field)
    currency = currencies.pop() if currencies else kind.currency
    if kind.currency and currency != kind.currency:
        raise BadInput.at(
            field,
            "“{given}” is in {currency}, but amounts here are in {expected}; convert it or choose {currency}",
            given=text[:40],
            currency=currency,
            expected=kind.currency,
        )
    return currency


def _refuse(text: str, kind: NumberKind, field: str, dimension: Dimension | None = None) -> NoReturn:
    allowed = WHOLE_EXAMPLE if kind.whole else EXAMPLES[kind.dimension]
    if not text.strip():
        raise Unprocessable.at(field, "enter {allowed}", allowed=allowed)
    if dimension is None:
        raise Unprocessable.at(
            field, "“{given}” cannot be read; enter {allowed}", given=text[:40], allowed=allowed
        )
    raise Unprocessable.at(
        field,
        "“{given}” is {what}; enter {allowed}",
        given=text[:40],
        what=DIMENSIONS[dimension],
        allowed=allowed,
    )


def _refuse_two_readings(text: str, first: Message | str, second: Message | str, field: str) -> NoReturn:
    raise Unprocessable.at(
        field,
        "“{given}” can be read as {first} or as {second}; write it so that only one is possible",
        given=text[:40],
        first=first,
        second=second,
    )
