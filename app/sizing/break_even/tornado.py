"""What each input alone does to the break-even: 20 % less and 20 % more."""

from __future__ import annotations

import math

import numpy as np

from app.engine.cost.break_even import break_even_month
from app.errors import Message
from app.sizing.break_even.documents import TornadoRow
from app.sizing.break_even.terms import BreakEvenQuestion, terms_of
from app.sizing.document import Text

STEP = 0.2
"""How far an input is moved, as a share of it."""

ENDS = {
    "utilisation": (0.0, 1.0),
    "residual_share": (0.0, 1.0),
    "growth": (-0.99, 5.0),
    "own_growth": (-0.99, 5.0),
    "onprem.pue": (1.0, 5.0),
}
"""Input → beyond what it cannot go."""

FIXED = {"horizon_months"}
"""Inputs that say how long it is counted, and move no break-even."""


def tornado(inputs: dict[str, float], question: BreakEvenQuestion) -> list[TornadoRow]:
    """Return one row for each input that is not zero, the strongest first.

    An input that decides whether there is a break-even at all stands above any that moves it.
    """
    names = [name for name, value in inputs.items() if value != 0.0 and name not in FIXED]
    if inputs.get("utilisation", 0.0) > 1.0:
        # A fifth less of more than the cluster holds may still be more than it holds.
        names.remove("utilisation")
    ends = [_ends(name, inputs[name]) for name in names]
    varied = {name: np.full(2 * len(names), value) for name, value in inputs.items()}
    for place, (name, pair) in enumerate(zip(names, ends, strict=True)):
        varied[name][2 * place : 2 * place + 2] = pair
    months = break_even_month(terms_of(varied, question))
    rows = [
        _row(name, inputs[name], pair, (float(months[2 * place]), float(months[2 * place + 1])))
        for place, (name, pair) in enumerate(zip(names, ends, strict=True))
    ]
    return sorted(rows, key=_rank)


def _ends(name: str, value: float) -> tuple[float, float]:
    low, high = sorted((value * (1.0 - STEP), value * (1.0 + STEP)))
    least, most = ENDS.get(name, (-math.inf, math.inf))
    return max(low, least), min(high, most)


def _row(name: str, value: float, ends: tuple[float, float], months: tuple[float, float]) -> TornadoRow:
    low, high = (month if math.isfinite(month) else None for month in months)
    reason = None
    if low is None and high is None:
        reason = Message("never, at either end")
    elif low is None or high is None:
        reason = Message("never, at the low end") if low is None else Message("never, at the high end")
    return TornadoRow(
        input=name,
        value=value,
        low_input=ends[0],
        high_input=ends[1],
        low=low,
        high=high,
        spread=abs(high - low) if low is not None and high is not None else None,
        reason=None if reason is None else Text.of(reason),
    )


def _rank(row: TornadoRow) -> tuple[int, float]:
    """Order: a change between never and some month, then the largest spread, then no change at all."""
    if row.low is None and row.high is None:
        return 2, 0.0
    if row.spread is None:
        return 0, row.low if row.low is not None else row.high or 0.0
    return 1, -row.spread
