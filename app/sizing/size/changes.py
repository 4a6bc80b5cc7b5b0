"""What would change the answer where no option meets what is asked: computed from the same samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.engine.records import Floats
from app.errors import Message
from app.sizing.document import Text
from app.sizing.quantities import duration, money, significant
from app.sizing.size.documents import Change, Nearest, SizingOption
from app.sizing.size.judging import Limits, Verdict
from app.sizing.size.request import SizingRequest

WORK = ("tokens", "samples", "epochs")
"""Fields that say how long to train, and with which the time grows in proportion."""


def least_limit(values: Floats, allowed: NDArray[np.bool_], probability: float) -> float:
    """Return the least limit that enough samples keep, of those that are allowed; infinite for none.

    Parameters
    ----------
    values : array
        Samples of what is limited. [any]
    allowed : array of bool
        Samples that keep every other limit. [-]
    probability : float
        Share of all samples that has to keep both. [-]
    """
    needed = math.ceil(probability * values.size - 1e-9)
    kept = np.sort(values[allowed])
    return float(kept[needed - 1]) if 0 < needed <= kept.size else math.inf


def nearest_of(
    options: Sequence[SizingOption],
    seconds: Sequence[Floats],
    costs: Sequence[Floats],
    verdict: Verdict,
    limits: Limits,
    request: SizingRequest,
) -> Nearest:
    """Return the nearest option, and changes of which each alone would let an option meet what is asked.

    Parameters
    ----------
    options : sequence of SizingOption
        All options. [-]
    seconds, costs : sequences of array
        Samples of each option's time [s] and cost [currency].
    verdict : Verdict
        What they come to. [-]
    limits : Limits
        What is asked. [-]
    request : SizingRequest
        The request. [-]
    """
    if verdict.nearest is None:
        return Nearest(option=None, changes=[_memory(options)])
    nearest = options[verdict.nearest]
    changes = []
    deadlines = [
        least_limit(time, _kept(cost, limits.budget), limits.probability)
        for time, cost in zip(seconds, costs, strict=True)
    ]
    budgets = [
        least_limit(cost, _kept(time, limits.deadline), limits.probability)
        for time, cost in zip(seconds, costs, strict=True)
    ]
    if limits.deadline is not None:
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
        place = int(np.argmin(budgets))
        if math.isfinite(budgets[place]):
            amount = _up(budgets[place])
            text = Message(
                "{cost} would pay for {count} × {system}",
                {
                    "cost": money(amount, request.currency),
                    "count": options[place].count,
                    "system": options[place].name,
                },
            )
            changes.append(_change("budget", amount, options[place], text))
    best = float(np.max(verdict.probability[verdict.seconds < np.inf]))
    if best > 0:
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
        changes = [_both(nearest, seconds[verdict.nearest], costs[verdict.nearest], limits, request)]
    return Nearest(option=nearest.id, changes=changes)


def _both(
    option: SizingOption, seconds: Floats, costs: Floats, limits: Limits, request: SizingRequest
) -> Change:
    """Return the deadline and the budget that the nearest option keeps together, where neither alone does."""
    kept = np.isfinite(costs)
    if not kept.any():
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
            "cost": money(amount, request.currency),
            "count": option.count,
            "system": option.name,
        },
    )
    return Change(
        field="deadline_s", value=longer, also={"budget": amount}, option=option.id, text=Text.of(text)
    )


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


def _change(field: str, value: float, option: SizingOption, message: Message) -> Change:
    return Change(field=field, value=value, option=option.id, text=Text.of(message))


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
