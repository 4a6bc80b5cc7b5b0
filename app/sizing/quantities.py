"""Quantities from central values and samples."""

from __future__ import annotations

import math

import numpy as np

from app.catalog import Spread
from app.engine.records import Floats
from app.engine.uncertainty import band
from app.engine.units import DAY, HOUR, MINUTE, YEAR
from app.errors import Message
from app.sizing.document import Quantity


def quantity(value: float, samples: Floats, unit: str) -> Quantity:
    """Return a value with the 10th and 90th percentile of its samples, widened to contain it."""
    low, high = band(np.asarray(samples, dtype=float), value)
    return Quantity(value=float(value), low=float(low), high=float(high), unit=unit)


def scaled(amount: Quantity, factor: float) -> Quantity:
    """Return so many times an amount."""
    ends = (factor * end for end in (amount.value, amount.low, amount.high))
    return Quantity(**dict(zip(("value", "low", "high"), ends, strict=True)), unit=amount.unit)


def spread_quantity(spread: Spread) -> Quantity:
    """Return a catalogue spread as a quantity."""
    return Quantity(value=spread.value, low=spread.low, high=spread.high, unit=spread.unit)


MONEY = "{amount} {currency}"
"""Template of an amount of money in a sentence, which every language writes in its own way."""


def money(value: float, currency: str) -> Message:
    """Return an amount of money as a sentence shows it."""
    return Message(MONEY, {"amount": significant(value), "currency": currency})


LEAST_CHANCE = 0.01
"""Probability below which, and below one less which, samples cannot tell how sure something is."""


def chance(probability: float) -> Message:
    """Return a probability as a sentence shows it, never as impossible or certain: samples cannot tell."""
    if probability < LEAST_CHANCE:
        return Message("below {share} %", {"share": 1})
    if probability > 1.0 - LEAST_CHANCE:
        return Message("above {share} %", {"share": 99})
    return Message("{share} %", {"share": round(100.0 * probability)})


def significant(value: float, digits: int = 3) -> float:
    """Return a value to a number of significant digits, as a sentence shows it."""
    return float(f"{value:.{digits}g}")


TIMES = (
    (90.0, 1.0, "s"),
    (90 * MINUTE, MINUTE, "min"),
    (96 * HOUR, HOUR, "h"),
    (2 * YEAR, DAY, "d"),
    (math.inf, YEAR, "years"),
)
"""Below this many seconds → this unit: its seconds and its sign in a figure."""

COUNTS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
"""From this count on → the word of a sentence."""

SENTENCES = {
    "s": "{number} seconds",
    "min": "{number} minutes",
    "h": "{number} hours",
    "d": "{number} days",
    "years": "{number} years",
    "trillion": "{number} trillion",
    "billion": "{number} billion",
    "million": "{number} million",
}
"""Unit of a time or word of a count → how a sentence says it."""


def duration(seconds: float) -> Message:
    """Return a time in the unit people would say it in.

    >>> str(duration(4010 * DAY)), str(duration(5 * DAY))
    ('11 years', '5 days')
    """
    size, unit = next((size, unit) for limit, size, unit in TIMES if seconds < limit)
    return Message(SENTENCES[unit], {"number": significant(seconds / size, 2 if size == YEAR else 3)})


def count_of(value: float) -> Message | float:
    """Return a large count in words: 300 billion; a smaller one as it is.

    >>> str(count_of(3.49e12)), str(count_of(1281167)), count_of(40_000.0)
    ('3.49 trillion', '1.28 million', 40000.0)
    """
    for size, word in COUNTS:
        if value >= size:
            return Message(SENTENCES[word], {"number": significant(value / size), "count": value})
    return significant(value, 6)
