"""How far the best option of a sizing is ahead of the others, and the prices that would overturn it."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from app.engine.records import Floats
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money, quantity, significant
from app.features.sizings.judging import SampledOption, Verdict, budgeted_kind, enough_budget
from app.features.sizings.model import BudgetKind, Margin, PriceLimit, SizingOption
from app.features.sizings.words import priced

Measure = Literal["purchase", "run", "term", "time"]

SAME = 0.05
"""Lead below which two options are level, as no estimate is more exact."""

UNSURE = 0.6
"""Share of samples below which the leader leads too rarely, so that two options are level."""

LOWEST, HIGHEST = 0.5, 2.0
"""Range of prices considered, relative to the one used."""

AHEAD = {
    "purchase": "It is {share} % cheaper to buy than the next best system, {count} × {system} ({amount}), "
    "and cheaper with a probability of {probability}",
    "run": "Its run is {share} % cheaper than that of the next best system, {count} × {system} ({amount}), "
    "and cheaper with a probability of {probability}",
    "term": "It is {share} % cheaper over the term than the next best system, {count} × {system} "
    "({amount}), and cheaper with a probability of {probability}",
    "time": "It takes {share} % less time than the next best system, {count} × {system} ({amount}), and is "
    "faster with a probability of {probability}",
}

SAME_SYSTEM = "Next best is another count of the same system: {count} × {system} ({amount})"

LEVEL = {
    "purchase": "Too close to call: {count} × {system} costs {share} % more to buy and is more "
    "expensive with a probability of {probability}; nothing is recommended",
    "run": "Too close to call: a run on {count} × {system} costs {share} % more and is more "
    "expensive with a probability of {probability}; nothing is recommended",
    "term": "Too close to call: {count} × {system} costs {share} % more over the term and is "
    "more expensive with a probability of {probability}; nothing is recommended",
    "time": "Too close to call: {count} × {system} takes {share} % more time and is slower "
    "with a probability of {probability}; nothing is recommended",
}

SECOND = {
    True: "At about the same cost it takes {share} % less time than the next best system, {count} × {system} "
    "({amount}), and is faster with a probability of {probability}",
    False: "In about the same time it is {share} % cheaper than the next best system, {count} × {system} "
    "({amount}), and cheaper with a probability of {probability}",
}
"""By whether the winner leads in time: options level in what ranks them, with a lead in the other measure."""

STATUS = {
    "sourced": Message("published price"),
    "estimate": Message("an estimate"),
    "recalled": Message("recalled, unverified"),
    "stated": Message("your figure"),
    "book": Message("your price book"),
}

TURNS = {
    ("machine", "below"): "{wins} wins if {item} is below {price} per machine (used: {now}, {status})",
    ("system", "below"): "{wins} wins if {item} is below {price} per system (used: {now}, {status})",
    ("hour", "below"): "{wins} wins if {item} is below {price} per hour (used: {now}, {status})",
    ("machine", "above"): "{wins} wins if {item} exceeds {price} per machine (used: {now}, {status})",
    ("system", "above"): "{wins} wins if {item} exceeds {price} per system (used: {now}, {status})",
    ("hour", "above"): "{wins} wins if {item} exceeds {price} per hour (used: {now}, {status})",
}


def winner_of(verdict: Verdict) -> int | None:
    """Return the best option, or one level with it and ahead in the other measure; None if none meets."""
    best = verdict.fastest if verdict.by_time else verdict.cheapest
    if best is None:
        return None
    options, (ranks, other) = verdict.options, _measures(verdict)
    rivals = _rivals(verdict, best, ranks)
    level = [rival for rival in rivals if _level(options[best], options[rival], ranks)]
    if not level or _same_system(options[rivals[0]], options[best]):
        return best
    first = min(level, key=lambda rival: _values(options[rival], other)[0])
    beaten = [best, *(rival for rival in level if rival != first)]
    return best if any(_level(options[first], options[rival], other) for rival in beaten) else first


def margin_of(verdict: Verdict, winner: int) -> Margin | None:
    """Return the lead of the winner over the best other option; None if there is no other."""
    options, (first, second) = verdict.options, _measures(verdict)
    ahead, by = options[winner], first
    rivals = _rivals(verdict, winner, first)
    if not rivals or not math.isfinite(_values(ahead, first)[0]):
        return None
    alone = _same_system(options[rivals[0]], ahead)
    tied = [rival for rival in rivals if not alone and _level(ahead, options[rival], first)]
    # The winner may lead all rivals that are level with it in the other measure.
    if tied and not any(_level(ahead, options[rival], second) for rival in tied):
        by, tied = second, []
    behind = options[(tied or rivals)[0]]
    share, probability = _lead(ahead, behind, by)
    (mine, my_samples), (theirs, their_samples) = _values(ahead, by), _values(behind, by)
    template = LEVEL[by] if tied else AHEAD[by] if by == first else SECOND[by == "time"]
    text = Message(
        SAME_SYSTEM if alone else template,
        {
            "share": significant(100.0 * (theirs / mine - 1.0 if tied else share), 2),
            "count": behind.document.count,
            "system": behind.document.name,
            "amount": duration(theirs) if by == "time" else priced(behind.document, by),
            "probability": chance(probability),
        },
    )
    return Margin(
        option=ahead.document.id,
        over=behind.document.id,
        by=by,
        share=quantity(share, 1.0 - my_samples / their_samples, "1"),
        probability=probability,
        tie=bool(tied),
        tied=[options[rival].document.id for rival in tied],
        overturned_by=_price_limits(verdict, winner, 0.0 if by == first else SAME),
        text=Text.of(text),
    )


def _measures(verdict: Verdict) -> tuple[Measure, Measure]:
    """Return the measure that ranks options, and the one that decides between level ones."""
    return ("time", verdict.ranked_by) if verdict.by_time else (verdict.ranked_by, "time")


def _values(option: SampledOption, by: Measure) -> tuple[float, Floats]:
    return (option.seconds, option.seconds_samples) if by == "time" else option.money(by)


def _same_system(option: SampledOption, other: SampledOption) -> bool:
    return option.document.system == other.document.system


def _rivals(verdict: Verdict, winner: int, by: Measure) -> list[int]:
    """Return the best option of each other system that meets the limits, else the best other count."""
    options = verdict.options
    meeting = [
        option
        for option in map(int, np.flatnonzero(verdict.meets))
        if option != winner and math.isfinite(_values(options[option], by)[0])
    ]
    ranked = sorted(meeting, key=lambda option: (_values(options[option], by)[0], options[option].seconds))
    best: dict[str, int] = {}
    for option in ranked:
        best.setdefault(options[option].document.system, option)
    others = [option for option in best.values() if not _same_system(options[option], options[winner])]
    return others or ranked[:1]


def _lead(winner: SampledOption, rival: SampledOption, by: Measure) -> tuple[float, float]:
    """Return how much less the winner takes, relative to the rival, and in which share of samples."""
    (mine, my_samples), (theirs, their_samples) = _values(winner, by), _values(rival, by)
    ahead = np.mean(my_samples < their_samples) + 0.5 * np.mean(my_samples == their_samples)
    return 1.0 - mine / theirs if theirs else 0.0, float(ahead)


def _level(winner: SampledOption, rival: SampledOption, by: Measure) -> bool:
    share, probability = _lead(winner, rival, by)
    return share < SAME or probability < UNSURE


def _price_limits(verdict: Verdict, winner: int, lead: float) -> list[PriceLimit]:
    """Return the prices at which another system would win, the nearest to the price used first.

    A cost grows with a price p by its share s of it, C(p) = C (1 + s (p/p₀ − 1)), so that it comes to C* at
    p = p₀ (1 + (C*/C − 1)/s). If the winner leads in time alone, others have to be cheaper by a lead.
    """
    best: dict[str, tuple[float, PriceLimit]] = {}
    won = verdict.options[winner].document
    for index, option in enumerate(verdict.options):
        rival = option.document
        in_time = verdict.in_time[index] >= verdict.request.probability
        if not (np.isfinite(verdict.seconds[index]) and in_time and _price_separately(rival, won)):
            continue
        ratio = _price_in_budget(verdict, index)
        if not verdict.by_time:
            growth = (1.0 - lead) * verdict.costs[winner] / verdict.costs[index]
            ratio = min(ratio, _price_ratio(rival, verdict.ranked_by, float(growth)))
        elif verdict.seconds[index] >= verdict.seconds[winner]:
            continue
        if LOWEST <= ratio < 1.0 and ratio > best.get(rival.system, (0.0, None))[0]:
            best[rival.system] = ratio, _price_limit(rival, ratio, "below", rival)
    limits = list(best.values())
    if not verdict.by_time:
        # If the winner's price rises, the first rival with another price wins.
        for index in _rivals(verdict, winner, verdict.ranked_by):
            if not _price_separately(verdict.options[index].document, won):
                continue
            growth = verdict.costs[index] / verdict.costs[winner] / (1.0 - lead)
            ratio = _price_ratio(won, verdict.ranked_by, float(growth))
            ratio = min(ratio, _price_in_budget(verdict, winner))
            if 1.0 < ratio <= HIGHEST:
                limits.append((ratio, _price_limit(won, ratio, "above", verdict.options[index].document)))
            break
    # Two prices that only have to meet are equally far: rounding keeps their order stable.
    limits.sort(key=lambda entry: round(abs(math.log(entry[0])), 9))
    return [limit for _, limit in limits]


def _price_separately(option: SizingOption, winner: SizingOption) -> bool:
    """Tell whether two options depend on different prices."""
    if option.price is None or winner.price is None or option.system == winner.system:
        return False
    return (option.price.item, option.price.per) != (winner.price.item, winner.price.per)


def _price_in_budget(verdict: Verdict, index: int) -> float:
    """Return the highest price of an option that keeps the budget, relative to the price used."""
    request, option = verdict.request, verdict.options[index]
    if request.budget is None or (needed := enough_budget(option, request)) <= 0:
        return math.inf
    return _price_ratio(option.document, budgeted_kind(option, request), request.budget / needed)


def _price_ratio(option: SizingOption, kind: BudgetKind, growth: float) -> float:
    """Return the relative price at which a cost has grown by a factor; 0 if it does not depend on it."""
    share = None if option.price is None else getattr(option.price.shares, kind)
    if not share or not math.isfinite(growth):
        return 0.0
    return 1.0 + (growth - 1.0) / float(share)


def _price_limit(
    option: SizingOption, ratio: float, direction: Literal["below", "above"], wins: SizingOption
) -> PriceLimit:
    price = option.price
    assert price is not None, "only options with a price are considered"
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
