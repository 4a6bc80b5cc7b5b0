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


def significant(value: float, digits: int = 3) -> float:
    """Return a value to a number of significant digits, as a sentence shows it."""
    return float(f"{value:.{digits}g}")
