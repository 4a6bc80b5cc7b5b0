"""A sizing under its limits: judged from samples, so that other limits need no other search."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.engine.records import Floats
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money, quantity, significant
from app.features.sizings.judging import (
    Judged,
    LimitVerdict,
    SizingLimits,
    enough_budget,
    held_kind,
    judge,
    nearest_of,
    purchase_needed,
)
from app.features.sizings.model import (
    BudgetKind,
    FrontPoint,
    Margin,
    OptionPrice,
    PriceLimit,
    Sizing,
    SizingOption,
    SizingRequest,
)
from app.features.sizings.words import priced

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
    True: "At about the same cost it takes {share} % less time than the runner-up, {count} × {system} "
    "({amount}), and is faster with a probability of {probability}",
    False: "In about the same time it is {share} % cheaper than the runner-up, {count} × {system} "
    "({amount}), and cheaper with a probability of {probability}",
}
"""Said where the options are level in what ranks, and the winner is ahead in the other: by time or not."""

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


Samples = tuple[Floats, Floats, Floats]
"""Time to train, cost of the run and purchase of one option. [s] [currency] [currency]"""


@dataclass(frozen=True, slots=True)
class SampledOption:
    """An option's document with the samples behind it."""

    document: SizingOption
    seconds_samples: Floats
    run_samples: Floats
    purchase_samples: Floats

    @property
    def seconds(self) -> float:
        """Time to train; infinite where the model does not fit. [s]"""
        time = self.document.time_to_train
        return float("inf") if time is None else time.value

    @property
    def owned(self) -> bool:
        """True where the system is bought."""
        return self.document.acquisition == "own"

    def money(self, kind: BudgetKind) -> tuple[float, Floats]:
        """Return one kind of cost, central and as samples; infinite where there is none. [currency]"""
        central = getattr(self.document.costs, kind)
        if central is None or not self.document.fits:
            return float("inf"), np.full_like(self.seconds_samples, np.inf)
        if kind == "purchase":
            return central.value, self.purchase_samples
        if kind == "run":
            return central.value, self.run_samples
        # Of the run and the term an hour costs the same, sample by sample.
        run = self.document.costs.run
        assert run is not None, "what has a term and fits has a run"
        hourly = self.run_samples / self.seconds_samples
        return central.value, hourly * self.seconds * (central.value / run.value)


def sampled_option(document: SizingOption, samples: Samples | None) -> SampledOption:
    """Return an option with its samples; one that does not fit has none."""
    none = np.full(1, np.inf)
    return SampledOption(document, *(samples if samples is not None else (none, none, none)))


def limits_of(request: SizingRequest) -> SizingLimits:
    """Return what a request asks to be kept."""
    return SizingLimits(request.deadline_s, request.budget, request.probability, request.budget_kind)


def restated(document: Sizing, options: Sequence[SampledOption], request: SizingRequest) -> Sizing:
    """Return a sizing judged under the limits of a request."""
    limits = limits_of(request)
    verdict = judge(options, limits)
    stated = [_stated(option, verdict, place, limits) for place, option in enumerate(options)]
    nearest = needed = None
    margin: Margin | None = None
    if verdict.cheapest is None or verdict.fastest is None:
        nearest = nearest_of(stated, options, verdict, limits, request)
        recommended = nearest.option
    else:
        # Where only a budget is given, it is spent on time.
        by_time = limits.deadline is None and limits.budget is not None
        first = verdict.fastest if by_time else verdict.cheapest
        winner = winner_of(stated, options, verdict, first, by_time=by_time)
        margin = margin_of(stated, options, verdict, limits, winner, by_time=by_time)
        recommended = None if margin is not None and margin.tie else stated[winner].id
        needed = purchase_needed(stated, options, limits, request)
    front = sorted(np.flatnonzero(verdict.front), key=lambda place: float(verdict.seconds[place]))
    met: bool = verdict.cheapest is not None
    return document.model_copy(
        update={
            "request": request,
            "outcome": ("met" if limits.given else "front") if met else "not_met",
            "ranked_by": verdict.ranked_by,
            "cheapest": None if verdict.cheapest is None else stated[verdict.cheapest].id,
            "fastest": None if verdict.fastest is None else stated[verdict.fastest].id,
            "nearest": nearest,
            "recommended": recommended,
            "margin": margin,
            "purchase_needed": needed,
            "options": _ordered(stated, verdict.ranked_by),
            "pareto": [_point(stated[place]) for place in front],
        }
    )


KEPT = np.dtype("<f4")
"""Numbers of samples that are kept: seven digits each, infinite for the cost of an unknown price."""


def stored_samples(samples: Mapping[str, Samples]) -> dict[str, str]:
    """Return samples as they are kept."""
    return {
        name: b64encode(np.stack(parts).astype(KEPT).tobytes()).decode("ascii")
        for name, parts in samples.items()
    }


def samples_of(stored: Mapping[str, object]) -> dict[str, Samples]:
    """Return samples as they were kept, as arrays; those kept otherwise are left out."""
    found: dict[str, Samples] = {}
    for name, text in stored.items():
        if isinstance(text, str):
            seconds, run, purchase = np.frombuffer(b64decode(text), KEPT).astype(float).reshape(3, -1)
            found[name] = seconds, run, purchase
    return found


def _stated(option: SampledOption, verdict: LimitVerdict, place: int, limits: SizingLimits) -> SizingOption:
    document = option.document

    def share(values: Floats, given: bool) -> float | None:
        return float(values[place]) if given and document.fits else None

    return document.model_copy(
        update={
            "probability": share(verdict.probability, limits.given),
            "probability_deadline": share(verdict.deadline, limits.deadline is not None),
            "probability_budget": share(verdict.budget, limits.budget is not None),
            "budget_kind": None if limits.budget is None else held_kind(option, limits),
            "meets": bool(verdict.meets[place]),
            "on_front": bool(verdict.front[place]),
        }
    )


def _ordered(options: Sequence[SizingOption], ranked_by: BudgetKind) -> list[SizingOption]:
    """Return options that meet before others, the cheapest first."""

    def place(option: SizingOption) -> tuple[bool, bool, float, float]:
        cost = getattr(option.costs, ranked_by)
        time = float("inf") if option.time_to_train is None else option.time_to_train.value
        return not option.meets, not option.fits, float("inf") if cost is None else cost.value, time

    return sorted(options, key=place)


def _point(option: SizingOption) -> FrontPoint:
    assert option.time_to_train is not None, "options on the front have a time"
    return FrontPoint(
        option=option.id,
        system=option.system,
        count=option.count,
        time_to_train=option.time_to_train,
        cost=option.cost,
        costs=option.costs,
    )
