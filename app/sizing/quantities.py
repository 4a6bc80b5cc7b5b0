"""Quantities from central values and samples."""

from __future__ import annotations

import numpy as np

from app.catalog import Spread
from app.engine.records import Floats
from app.engine.uncertainty import band
from app.errors import Message
from app.sizing.document import Quantity


def quantity(value: float, samples: Floats, unit: str) -> Quantity:
    """Return a value with the 10th and 90th percentile of its samples, widened to contain it."""
    low, high = band(np.asarray(samples, dtype=float), value)
    return Quantity(value=float(value), low=float(low), high=float(high), unit=unit)


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
