"""How far the winner of a sizing is ahead, how surely, and which price would overturn it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from app.engine.records import Floats
from app.errors import Message
from app.sizing.document import Text
from app.sizing.quantities import chance, duration, money, quantity, significant
from app.sizing.size.changes import enough_budget
from app.sizing.size.documents import Margin, OptionPrice, PriceLimit, SizingOption
from app.sizing.size.judging import Judged, LimitVerdict, SizingLimits, held_kind
from app.sizing.size.request import BudgetKind
from app.sizing.size.sentences import priced

Measure = Literal["purchase", "run", "term", "time"]

SAME = 0.05
"""Lead below which two options are level: no estimate is better than that."""

UNSURE = 0.6
"""Share of samples in which the leader has to lead, so that two options are not level."""

LOWEST, HIGHEST = 0.5, 2.0
"""Prices that are looked at, over the one that was taken."""

AHEAD = {
    "purchase": "It is {share} % cheaper to buy than the runner-up, {count} × {system} ({amount}), and "
    "cheaper with a probability of {probability}",
    "run": "Its run is {share} % cheaper than that of the runner-up, {count} × {system} ({amount}), and "
    "cheaper with a probability of {probability}",
    "term": "It is {share} % cheaper over the term than the runner-up, {count} × {system} ({amount}), and "
    "cheaper with a probability of {probability}",
    "time": "It takes {share} % less time than the runner-up, {count} × {system} ({amount}), and is faster "
    "with a probability of {probability}",
}

SAME_SYSTEM = "The runner-up is another count of the same system: {count} × {system} ({amount})"

LEVEL = {
    "purchase": "A tie: {count} × {system} costs {share} % more to buy and is dearer with a probability of "
    "{probability}; nothing is recommended",
    "run": "A tie: a run on {count} × {system} costs {share} % more and is dearer with a probability of "
    "{probability}; nothing is recommended",
    "term": "A tie: {count} × {system} costs {share} % more over the term and is dearer with a probability "
    "of {probability}; nothing is recommended",
    "time": "A tie: {count} × {system} takes {share} % more time and is slower with a probability of "
    "{probability}; nothing is recommended",
}

SECOND = {
    True: "At about the same cost it takes {share} % less time than the runner-up, {count} × {system} "
    "({amount}), and is faster with a probability of {probability}",
    False: "In about the same time it is {share} % cheaper than the runner-up, {count} × {system} "
    "({amount}), and cheaper with a probability of {probability}",
}
"""Said where the options are level in what ranks, and the winner is ahead in the other: by time or not."""

STATUS = {
    "sourced": Message("a published price"),
    "estimate": Message("an estimate"),
    "recalled": Message("recalled, not checked"),
    "stated": Message("your figure"),
    "book": Message("a price of your price book"),
}

TURNS = {
    ("machine", "below"): "{item} below {price} a machine: {wins} wins (taken: {now}, {status})",
    ("system", "below"): "{item} below {price} a system: {wins} wins (taken: {now}, {status})",
    ("hour", "below"): "{item} below {price} an hour: {wins} wins (taken: {now}, {status})",
    ("machine", "above"): "{item} above {price} a machine: {wins} wins (taken: {now}, {status})",
    ("system", "above"): "{item} above {price} a system: {wins} wins (taken: {now}, {status})",
    ("hour", "above"): "{item} above {price} an hour: {wins} wins (taken: {now}, {status})",
}


def winner_of(
    stated: Sequence[SizingOption],
    options: Sequence[Judged],
    verdict: LimitVerdict,
    first: int,
    *,
    by_time: bool,
) -> int:
    """Return the place of the winner: the first by rank, or one level with it and ahead in the rest."""
    ranks: Measure = "time" if by_time else verdict.ranked_by
    other: Measure = verdict.ranked_by if by_time else "time"
    rivals = _rivals(stated, options, verdict, first, ranks)
    level = [rival for rival in rivals if _level(options[first], options[rival], ranks)]
    if not level or stated[rivals[0]].system == stated[first].system:
        return first
    best = min(level, key=lambda place: _values(options[place], other)[0])
    beaten = [first, *(rival for rival in level if rival != best)]
    ahead = not any(_level(options[best], options[place], other) for place in beaten)
    return best if ahead else first


def margin_of(
    stated: Sequence[SizingOption],
    options: Sequence[Judged],
    verdict: LimitVerdict,
    limits: SizingLimits,
    winner: int,
    *,
    by_time: bool,
) -> Margin | None:
    """Return how far the winner is ahead of the best option of another system; None where it is alone."""
    kind = verdict.ranked_by
    first: Measure = "time" if by_time else kind
    second: Measure = kind if by_time else "time"
    rivals = _rivals(stated, options, verdict, winner, first)
    if not rivals or not math.isfinite(_values(options[winner], first)[0]):
        return None
    by = first
    alone = stated[rivals[0]].system == stated[winner].system
    tied = [rival for rival in rivals if not alone and _level(options[winner], options[rival], first)]
    # Level in what ranks, the winner may yet be ahead in the other measure of every such rival.
    if tied and not any(_level(options[winner], options[rival], second) for rival in tied):
        by, tied = second, []
    runner = (tied or rivals)[0]
    share, probability = _lead(options[winner], options[runner], by)
    other = _values(options[runner], by)
    mine = _values(options[winner], by)
    amount = duration(other[0]) if by == "time" else priced(stated[runner], by)
    relative = other[0] / mine[0] - 1.0 if tied else share
    text = Message(
        _template(by, first, alone=alone, tied=bool(tied)),
        {
            "share": significant(100.0 * relative, 2),
            "count": stated[runner].count,
            "system": stated[runner].name,
            "amount": amount,
            "probability": chance(probability),
        },
    )
    return Margin(
        option=stated[winner].id,
        over=stated[runner].id,
        by=by,
        share=quantity(share, 1.0 - mine[1] / other[1], "1"),
        probability=probability,
        tie=bool(tied),
        tied=[stated[rival].id for rival in tied],
        overturned_by=_limits(
            stated, options, verdict, limits, winner, lead=0.0 if by == first else SAME, by_time=by_time
        ),
        text=Text.of(text),
    )


def _template(by: Measure, first: Measure, *, alone: bool, tied: bool) -> str:
    if alone:
        return SAME_SYSTEM
    if tied:
        return LEVEL[by]
    return AHEAD[by] if by == first else SECOND[by == "time"]


def _values(option: Judged, by: Measure) -> tuple[float, Floats]:
    return (option.seconds, option.seconds_samples) if by == "time" else option.money(by)


def _rivals(
    stated: Sequence[SizingOption], options: Sequence[Judged], verdict: LimitVerdict, winner: int, by: Measure
) -> list[int]:
    """Return the best option that meets of each other system, the best first; else of other counts."""
    meeting = [
        place
        for place in map(int, np.flatnonzero(verdict.meets))
        if place != winner and math.isfinite(_values(options[place], by)[0])
    ]
    ranked = sorted(meeting, key=lambda place: (_values(options[place], by)[0], options[place].seconds))
    best: dict[str, int] = {}
    for place in ranked:
        best.setdefault(stated[place].system, place)
    others = [place for system, place in best.items() if system != stated[winner].system]
    return others or ranked[:1]


def _lead(winner: Judged, rival: Judged, by: Measure) -> tuple[float, float]:
    """Return what the winner takes less, over the rival, and the share of samples in which it leads."""
    (mine, my_samples), (theirs, their_samples) = _values(winner, by), _values(rival, by)
    ahead = np.mean(my_samples < their_samples) + 0.5 * np.mean(my_samples == their_samples)
    return 1.0 - mine / theirs, float(ahead)


def _level(winner: Judged, rival: Judged, by: Measure) -> bool:
    share, probability = _lead(winner, rival, by)
    return share < SAME or probability < UNSURE


def _limits(
    stated: Sequence[SizingOption],
    options: Sequence[Judged],
    verdict: LimitVerdict,
    limits: SizingLimits,
    winner: int,
    *,
    lead: float,
    by_time: bool,
) -> list[PriceLimit]:
    """Return the prices at which another system would win, the nearest to what was taken first.

    A cost grows with a price p by its share s of it, C(p) = C (1 + s (p/p₀ − 1)), so that it comes to C* at
    p = p₀ (1 + (C*/C − 1)/s). Where the winner is ahead in time alone, others have to be cheaper by a lead.
    """
    best: dict[str, tuple[float, PriceLimit]] = {}
    for place, option in enumerate(stated):
        if not _in_time(verdict, place, limits) or not _apart(option, stated[winner]):
            continue
        ratio = _within(option, options[place], limits)
        if not by_time:
            growth = (1.0 - lead) * verdict.costs[winner] / verdict.costs[place]
            ratio = min(ratio, _solved(option, verdict.ranked_by, float(growth)))
        elif verdict.seconds[place] >= verdict.seconds[winner]:
            continue
        if LOWEST <= ratio < 1.0 and ratio > best.get(option.system, (0.0, None))[0]:
            best[option.system] = ratio, _limit(option, ratio, "below", option)
    found = list(best.values())
    if not by_time:
        # The first rival of another price is the one that wins where the winner's price rises.
        rivals = _rivals(stated, options, verdict, winner, verdict.ranked_by)
        for place in [rival for rival in rivals if _apart(stated[rival], stated[winner])][:1]:
            growth = verdict.costs[place] / verdict.costs[winner] / (1.0 - lead)
            ratio = _solved(stated[winner], verdict.ranked_by, float(growth))
            ratio = min(ratio, _within(stated[winner], options[winner], limits))
            if 1.0 < ratio <= HIGHEST:
                found.append((ratio, _limit(stated[winner], ratio, "above", stated[place])))
    # Two prices that only have to meet are as far from each other; which is named first is not for rounding.
    found.sort(key=lambda entry: round(abs(math.log(entry[0])), 9))
    return [limit for _, limit in found]


def _in_time(verdict: LimitVerdict, place: int, limits: SizingLimits) -> bool:
    return bool(np.isfinite(verdict.seconds[place])) and bool(verdict.deadline[place] >= limits.probability)


def _apart(option: SizingOption, winner: SizingOption) -> bool:
    """Say whether two options rest on different prices."""
    if option.price is None or winner.price is None or option.system == winner.system:
        return False
    return (option.price.item, option.price.per) != (winner.price.item, winner.price.per)


def _within(option: SizingOption, sampled: Judged, limits: SizingLimits) -> float:
    """Return the highest price of an option, over the one taken, that keeps the budget."""
    if limits.budget is None:
        return math.inf
    needed = enough_budget(sampled, limits)
    return _solved(option, held_kind(sampled, limits), limits.budget / needed) if needed > 0 else math.inf


def _solved(option: SizingOption, kind: BudgetKind, growth: float) -> float:
    """Return the price, over the one taken, at which a cost has grown by a factor; 0 for none."""
    share = None if option.price is None else getattr(option.price.shares, kind)
    if not share or not math.isfinite(growth):
        return 0.0
    return 1.0 + (growth - 1.0) / float(share)


def _limit(
    option: SizingOption, ratio: float, direction: Literal["below", "above"], wins: SizingOption
) -> PriceLimit:
    price: OptionPrice | None = option.price
    assert price is not None, "only options with a price are looked at"
    value, unit = significant(price.price.value * ratio), price.price.unit
    text = Message(
        TURNS[price.per, direction],
        {
            "price": money(value, unit),
            "wins": Message("{count} × {system}", {"count": wins.count, "system": wins.name}),
            "item": price.item,
            "now": money(price.price.value, unit),
            "status": STATUS[price.status],
        },
    )
    return PriceLimit(
        option=option.id, price=price, value=value, direction=direction, wins=wins.id, text=Text.of(text)
    )
