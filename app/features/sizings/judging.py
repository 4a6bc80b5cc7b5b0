"""What would change the answer where no option meets what is asked: computed from the same samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.engine.comparison import pareto_front
from app.engine.records import Floats
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import duration, money, significant
from app.features.sizings.model import BudgetKind, Change, Nearest, SizingOption, SizingRequest
from app.features.sizings.words import paid, priced


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


WORK = ("tokens", "samples", "epochs")
"""Fields that say how long to train, and with which the time grows in proportion."""

LIKELY = 0.5
"""Probability below which an option is not offered for one."""


def least_limit(values: Floats, allowed: NDArray[np.bool_], probability: float) -> float:
    """Return the least limit that enough samples keep, of those that are allowed; infinite for none."""
    needed = math.ceil(probability * values.size - 1e-9)
    kept = np.sort(values[allowed])
    return float(kept[needed - 1]) if 0 < needed <= kept.size else math.inf


def enough_budget(option: Judged, limits: SizingLimits, kind: BudgetKind | None = None) -> float:
    """Return the least budget that an option keeps as surely as is asked; infinite for none. [currency]"""
    costs = option.money(kind or held_kind(option, limits))[1]
    return least_limit(costs, _kept(option.seconds_samples, limits.deadline), limits.probability)


def nearest_of(
    options: Sequence[SizingOption],
    sampled: Sequence[Judged],
    verdict: LimitVerdict,
    limits: SizingLimits,
    request: SizingRequest,
) -> Nearest:
    """Return the nearest option, and changes of which each alone would let an option meet what is asked."""
    if verdict.nearest is None:
        return Nearest(option=None, changes=[_memory(options)])
    nearest = options[verdict.nearest]
    changes = []
    if limits.deadline is not None:
        deadlines = [_enough_time(option, limits) for option in sampled]
        place = int(np.argmin(deadlines))
        if math.isfinite(deadlines[place]):
            longer = _up(deadlines[place])
            text = Message(
                "with a deadline of {time}, {count} × {system} would be on time",
                {
                    "time": duration(longer),
                    "count": options[place].count,
                    "system": options[place].name,
                },
            )
            changes.append(_change("deadline_s", longer, options[place], text))
        factor = _down(limits.deadline / deadlines[place])
        asked = next((name for name in WORK if getattr(request.workload, name) is not None), None)
        if asked is not None and 0 < factor < 1:
            text = Message(
                "{count} × {system} would finish {share} % of the work ({field} {value}) on time",
                {
                    "share": significant(100.0 * factor),
                    "field": f"workload.{asked}",
                    "value": getattr(request.workload, asked) * factor,
                    "count": options[place].count,
                    "system": options[place].name,
                },
            )
            value = getattr(request.workload, asked) * factor
            changes.append(_change(f"workload.{asked}", value, options[place], text))
    if limits.budget is not None:
        kinds = [held_kind(option, limits) for option in sampled]
        found = [_least_budget(options, sampled, limits, kind, request) for kind in dict.fromkeys(kinds)]
        changes += sorted((one for one in found if one is not None), key=lambda one: one.value or 0.0)
    best = float(np.max(verdict.probability[verdict.seconds < np.inf]))
    if best >= LIKELY:
        share = math.floor(1000.0 * best) / 1000.0
        place = int(np.argmax(np.where(verdict.seconds < np.inf, verdict.probability, -1.0)))
        text = Message(
            "at a confidence of {share} % instead, {count} × {system} would be enough",
            {
                "share": significant(100.0 * share),
                "count": options[place].count,
                "system": options[place].name,
            },
        )
        changes.append(_change("probability", share, options[place], text))
    if not changes:
        changes = [_both(nearest, sampled[verdict.nearest], limits, request)]
    return Nearest(option=nearest.id, changes=changes)


def purchase_needed(
    options: Sequence[SizingOption], sampled: Sequence[Judged], limits: SizingLimits, request: SizingRequest
) -> Change | None:
    """Return the least budget that buys an option, where only rented ones keep the budget."""
    if limits.budget is None or limits.kind is not None:
        return None
    if any(option.meets and option.acquisition == "own" for option in options):
        return None
    return _least_budget(options, sampled, limits, "purchase", request)


def _least_budget(
    options: Sequence[SizingOption],
    sampled: Sequence[Judged],
    limits: SizingLimits,
    kind: BudgetKind,
    request: SizingRequest,
) -> Change | None:
    """Return the least budget of a kind that lets an option meet what is asked, with what it pays for."""
    budgets = [
        enough_budget(option, limits) if held_kind(option, limits) == kind else math.inf for option in sampled
    ]
    place = int(np.argmin(budgets))
    if not math.isfinite(budgets[place]):
        return None
    amount, option = _up(budgets[place]), options[place]
    values: dict[str, object] = {
        "cost": money(amount, request.currency),
        "count": option.count,
        "system": option.name,
        "purchase": priced(option, "purchase"),
        "years": significant(option.term_years or 0.0),
    }
    return _change("budget", amount, option, Message(PAYS[kind, option.acquisition], values), kind)


PAYS: Mapping[tuple[BudgetKind, str], str] = {
    ("purchase", "own"): "{cost} would buy {count} × {system}",
    ("run", "own"): "{cost} would pay for the run on {count} × {system} ({purchase})",
    ("run", "rent"): "{cost} would rent {count} × {system} for the run",
    ("term", "own"): "{cost} would buy and run {count} × {system} for {years} years",
    ("term", "rent"): "{cost} would rent {count} × {system} for {years} years",
}
"""What a budget pays for: kind and acquisition → sentence."""


def _both(option: SizingOption, sampled: Judged, limits: SizingLimits, request: SizingRequest) -> Change:
    """Return the deadline and the budget that the nearest option keeps together, where neither alone does."""
    kind = held_kind(sampled, limits)
    seconds, costs = sampled.seconds_samples, sampled.money(kind)[1]
    kept = np.isfinite(costs)
    if not kept.any():
        if kind == "purchase" and option.acquisition == "rent":
            message = Message(
                "{system} is rented, so a purchase budget does not apply; set budget_kind to run or term",
                {"system": option.name},
            )
            return Change(field="budget_kind", value=None, option=option.id, text=Text.of(message))
        message = Message(
            "{system} has no published price; enter assumptions.system_price or assumptions.hourly_price",
            {"system": option.name},
        )
        return Change(field="assumptions.system_price", value=None, option=option.id, text=Text.of(message))
    longer = _up(least_limit(seconds, kept, (1.0 + limits.probability) / 2.0))
    amount = _up(least_limit(costs, seconds <= longer, limits.probability))
    text = Message(
        "with a deadline of {time} and a budget of {cost}, {count} × {system} would be enough",
        {
            "time": duration(longer),
            "cost": paid(amount, request.currency, option, kind),
            "count": option.count,
            "system": option.name,
        },
    )
    return Change(
        field="deadline_s",
        value=longer,
        also={"budget": amount},
        kind=kind,
        option=option.id,
        text=Text.of(text),
    )


def _enough_time(option: Judged, limits: SizingLimits) -> float:
    """Return the least deadline that an option keeps with its budget as surely as is asked. [s]"""
    allowed = _kept(option.money(held_kind(option, limits))[1], limits.budget)
    if limits.budget is None:
        allowed = np.ones_like(option.seconds_samples, dtype=bool)
    return least_limit(option.seconds_samples, allowed, limits.probability)


def _kept(values: Floats, limit: float | None) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(values) if limit is None else values <= limit)


def _up(value: float) -> float:
    """Return a value rounded up to three significant digits, so that it still suffices."""
    if not 0 < value < math.inf:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return significant(math.ceil(value / unit - 1e-9) * unit, 6)


def _down(value: float) -> float:
    """Return a value rounded down to two significant digits."""
    if not 0 < value < math.inf:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return significant(math.floor(value / unit) * unit, 6)


def _change(
    field: str, value: float, option: SizingOption, message: Message, kind: BudgetKind | None = None
) -> Change:
    return Change(field=field, value=value, option=option.id, kind=kind, text=Text.of(message))


def _memory(options: Sequence[SizingOption]) -> Change:
    """Return what to alter where no option holds the model."""
    leanest = min(options, key=lambda option: option.memory_share)
    return Change(
        field="model",
        value=None,
        option=leanest.id,
        text=Text.of(
            Message(
                "the model fits on no option: the leanest plan fills {share} % of a device on "
                "{count} × {system}; use more accelerators, a smaller model or shorter samples",
                {
                    "share": significant(100.0 * leanest.memory_share),
                    "count": leanest.count,
                    "system": leanest.name,
                },
            )
        ),
    )
