"""Which options keep deadline and budget, which of those are best, and which form the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.engine.frontier import pareto_front
from app.engine.records import Floats
from app.sizing.size.request import BudgetKind


@dataclass(frozen=True, slots=True)
class SizingLimits:
    """What is to be kept, and how surely."""

    deadline: float | None
    """[s]"""
    budget: float | None
    """[currency]"""
    probability: float
    kind: BudgetKind | None = None
    """What the budget has to pay; None: the purchase of what is owned, the run of what is rented."""

    @property
    def given(self) -> bool:
        """True where there is anything to keep."""
        return self.deadline is not None or self.budget is not None


class Judged(Protocol):
    """What is judged: central time and cost, and the samples of both."""

    @property
    def seconds(self) -> float:
        """Time to train; infinite where the model does not fit. [s]"""

    @property
    def seconds_samples(self) -> Floats:
        """Samples of the time. [s]"""

    @property
    def owned(self) -> bool:
        """True where the system is bought."""

    def money(self, kind: BudgetKind) -> tuple[float, Floats]:
        """One kind of cost, central and as samples in the same order; infinite where not known. [currency]"""


@dataclass(frozen=True, slots=True)
class LimitVerdict:
    """What a set of options comes to under limits; arrays have one entry per option."""

    seconds: Floats
    ranked_by: BudgetKind
    costs: Floats
    """By the kind of cost that ranks. [currency]"""
    probability: Floats
    deadline: Floats
    """Share of samples that keep the deadline."""
    budget: Floats
    """Share of samples that keep the budget."""
    meets: NDArray[np.bool_]
    front: NDArray[np.bool_]
    cheapest: int | None
    """Cheapest option that meets; the fastest of those of no known price where none has one."""
    fastest: int | None
    """Fastest option that meets."""
    nearest: int | None
    """Option that fits and comes nearest to what is asked."""


def held_kind(option: Judged, limits: SizingLimits) -> BudgetKind:
    """Return which of an option's costs a budget is held against."""
    return limits.kind or ("purchase" if option.owned else "run")


def ranking(options: Sequence[Judged], limits: SizingLimits) -> BudgetKind:
    """Return the kind of cost by which options are ranked.

    The kind that was asked for; else the one a budget is held against, where it is the same for all; else
    the run, which owned and rented systems have in common.
    """
    if limits.kind is not None or limits.budget is None:
        return limits.kind or "run"
    kinds = {held_kind(option, limits) for option in options}
    return kinds.pop() if len(kinds) == 1 else "run"


def judge(options: Sequence[Judged], limits: SizingLimits) -> LimitVerdict:
    """Judge options against deadline and budget.

    Both are counted on the same samples: the probability is the share of them in which the run is in time and
    within the budget. What has no known price is within no budget, and what is rented within none to buy.
    """
    seconds = np.array([option.seconds for option in options], dtype=float)
    ranked_by = ranking(options, limits)
    costs = np.array([option.money(ranked_by)[0] for option in options], dtype=float)
    fits = np.isfinite(seconds)
    shares = np.array([_shares(option, limits) for option in options], dtype=float).reshape(-1, 3)
    probability, in_time, within = shares.T
    meets = fits & (probability >= limits.probability) if limits.given else fits
    return LimitVerdict(
        seconds=seconds,
        ranked_by=ranked_by,
        costs=costs,
        probability=probability,
        deadline=in_time,
        budget=within,
        meets=meets,
        front=pareto_front(seconds, costs),
        cheapest=_least(meets, costs, seconds),
        fastest=_least(meets, seconds, costs),
        nearest=_nearest(options, fits, probability, seconds, limits),
    )


def _shares(option: Judged, limits: SizingLimits) -> tuple[float, float, float]:
    """Return the share of samples that keep both limits, the deadline, and the budget."""
    everything = np.ones(1, dtype=bool)
    in_time = everything if limits.deadline is None else option.seconds_samples <= limits.deadline
    within = everything
    if limits.budget is not None:
        within = option.money(held_kind(option, limits))[1] <= limits.budget
    return float(np.mean(in_time & within)), float(np.mean(in_time)), float(np.mean(within))


def _least(chosen: NDArray[np.bool_], first: Floats, second: Floats) -> int | None:
    """Return the chosen option with the least first value, by the second where that is equal."""
    places = np.flatnonzero(chosen)
    if not places.size:
        return None
    return int(places[np.lexsort((second[places], first[places]))[0]])


def _nearest(
    options: Sequence[Judged],
    fits: NDArray[np.bool_],
    probability: Floats,
    seconds: Floats,
    limits: SizingLimits,
) -> int | None:
    """Return the option with the highest probability, then with the least excess over the limits."""
    places = np.flatnonzero(fits)
    if not places.size:
        return None
    excess = np.ones_like(seconds)
    if limits.deadline is not None:
        excess = np.maximum(excess, seconds / limits.deadline)
    if limits.budget is not None:
        held = np.array([option.money(held_kind(option, limits))[0] for option in options])
        excess = np.maximum(excess, held / limits.budget)
    order = np.lexsort((seconds[places], excess[places], -probability[places]))
    return int(places[order[0]])
