"""What would change the answer where no option meets what is asked: computed from the same samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from app.engine.records import Floats
from app.errors import Message
from app.sizing.document import Text
from app.sizing.quantities import duration, money, significant
from app.sizing.size.documents import Change, Nearest, SizingOption
from app.sizing.size.judging import Judged, LimitVerdict, SizingLimits, held_kind
from app.sizing.size.request import BudgetKind, SizingRequest
from app.sizing.size.sentences import paid, priced

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
                "with a deadline of {time} instead, {count} × {system} would be in time",
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
                "{share} % of the work ({field} {value}) would be done in time on {count} × {system}",
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
            "asked for with a probability of {share} % instead, {count} × {system} would do",
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
    ("term", "own"): "{cost} would buy and keep {count} × {system} for {years} years",
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
                "{system} is rented, which no budget to buy pays for; ask for budget_kind run or term",
                {"system": option.name},
            )
            return Change(field="budget_kind", value=None, option=option.id, text=Text.of(message))
        message = Message(
            "no price is published for {system}; give assumptions.system_price or assumptions.hourly_price",
            {"system": option.name},
        )
        return Change(field="assumptions.system_price", value=None, option=option.id, text=Text.of(message))
    longer = _up(least_limit(seconds, kept, (1.0 + limits.probability) / 2.0))
    amount = _up(least_limit(costs, seconds <= longer, limits.probability))
    text = Message(
        "with a deadline of {time} and {cost} together, {count} × {system} would do",
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
                "no option holds the model: the leanest plan fills {share} % of a device of {count} × "
                "{system}; more accelerators, a smaller model or shorter samples would change that",
                {
                    "share": significant(100.0 * leanest.memory_share),
                    "count": leanest.count,
                    "system": leanest.name,
                },
            )
        ),
    )
