"""The rule of a decision once more, by plain loops over options and samples, as an independent reference.

Where its definition leaves two readings, this is the one that whoever signs for the money expects:

- An option that does not fit has no probability, with limits or without.
- What cannot be recommended sets no amount of work: the system whose speed turns a busy share into runs is
  one that could be recommended. If none meets the limits, it is chosen as if there were none, so that a
  number of runs stands beside every amount.
- The term is the longest of the options that have a price; without one it is the usual one.
- What is nearest and what overturns change one input and leave everything else as answered, the runs
  included.
- An option is nearest only if it would be recommended: it has a price, is for sale and no published figure.
- The runs that overturn are those from which a rented system takes the place of an owned one, or the other
  way round; towards fewer runs where an owned one is recommended, towards more where a rented one is, and the
  other way where nothing changes there.
- Where nothing has to be paid, only what is free as well ties.
- A limit is met as often as asked when the share of samples is at least the probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.estimating.ranges import SAMPLES

HOUR, DAY, YEAR = 3600.0, 86400.0, 365.25 * 86400.0
ORDER = ("too_late", "over_budget", "over_power")

Amount = tuple[float, list[float]]
"""Central value and samples."""


@dataclass(frozen=True)
class Option:
    """An option as a person would write it down."""

    id: str
    owned: bool
    time: Amount | None
    """[s]"""
    priced: bool = True
    purchase: Amount | None = None
    run: Amount | None = None
    fixed: Amount = (0.0, [0.0] * SAMPLES)
    """Whatever the work, over the term."""
    hourly: Amount = (0.0, [0.0] * SAMPLES)
    """Of an hour of work."""
    commitment: float = 0.0
    """[h]"""
    committed: Amount = (0.0, [0.0] * SAMPLES)
    """Of a committed hour."""
    power: Amount | None = None
    published: bool = False
    on_sale: bool = True
    term: float = 4 * YEAR
    item: str = ""
    shares: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Shares of the purchase, of a run and of the outlay (of its fixed part where owned, of an hour where
    rented) that follow the price of the system.
    """


@dataclass(frozen=True)
class Goal:
    deadline: float | None = None
    budget: float | None = None
    kind: str | None = None
    power: float | None = None
    probability: float = 0.8
    runs: int | None = 1
    per_year: float | None = None
    busy: float | None = None
    term: float = 4 * YEAR

    @property
    def limited(self) -> bool:
        return not (self.deadline is None and self.budget is None and self.power is None)


@dataclass(frozen=True)
class ReferenceRow:
    meets: bool
    probability: float | None
    outlay: Amount | None
    why_not: str | None


@dataclass(frozen=True)
class DecisionReference:
    runs: int
    rows: dict[str, ReferenceRow]
    recommended: str | None
    tied: frozenset[str]


def outlay(option: Option, runs: int) -> Amount | None:
    """All money that leaves over the term for a number of runs."""
    if option.time is None or not option.priced:
        return None

    def total(fixed: float, hourly: float, committed: float, seconds: float) -> float:
        hours = runs * seconds / HOUR
        money = fixed + hourly * hours
        if option.commitment > 0:
            # What is a whole number but for rounding begins no further commitment.
            covering = math.ceil(hours / option.commitment * (1 - 1e-9))
            money += committed * covering * option.commitment
        return money

    samples = [
        total(option.fixed[1][at], option.hourly[1][at], option.committed[1][at], option.time[1][at])
        for at in range(SAMPLES)
    ]
    return total(option.fixed[0], option.hourly[0], option.committed[0], option.time[0]), samples


def keeps(option: Option, asked: Goal, runs: int) -> dict[str, list[bool]]:
    """Which samples of a fitting option keep each limit."""
    assert option.time is not None
    kept: dict[str, list[bool]] = {}
    if asked.deadline is not None:
        kept["too_late"] = [seconds <= asked.deadline for seconds in option.time[1]]
    if asked.budget is not None:
        kind = asked.kind or ("purchase" if option.owned else "run")
        spent: Amount | None
        if kind == "term":
            spent = outlay(option, runs)
        elif kind == "run":
            spent = option.run
        else:
            spent = option.purchase if option.owned else None
        limit = asked.budget
        kept["over_budget"] = (
            [False] * SAMPLES
            if spent is None or not option.priced
            else [money <= limit for money in spent[1]]
        )
    if asked.power is not None:
        drawn = option.power if option.owned else None
        limit_w = asked.power
        kept["over_power"] = [True] * SAMPLES if drawn is None else [watts <= limit_w for watts in drawn[1]]
    return kept


def often(samples: Sequence[bool]) -> float:
    return sum(samples) / len(samples)


def together(kept: dict[str, list[bool]]) -> float:
    return often([all(column) for column in zip(*kept.values(), strict=True)] or [True])


def capable(option: Option, runs: int) -> bool:
    return option.time is not None and runs * option.time[0] <= option.term


def meets(option: Option, asked: Goal, runs: int) -> bool:
    if not capable(option, runs):
        return False
    return together(keeps(option, asked, runs)) >= asked.probability - 1e-12


def candidate(option: Option) -> bool:
    return option.priced and not option.published and option.on_sale and option.time is not None


def runs_of(options: Sequence[Option], asked: Goal) -> int:
    if asked.runs is not None:
        return asked.runs
    if asked.per_year is not None:
        term = max((option.term for option in options if option.priced), default=asked.term)
        return max(1, math.ceil(asked.per_year * term / YEAR - 1e-9))
    assert asked.busy is not None
    unspent = replace(asked, budget=None) if asked.kind == "term" else asked
    could = [option for option in options if candidate(option)]
    for pool in ([option for option in could if meets(option, unspent, 1)], could):
        owned = [option for option in pool if option.owned]
        rented = [option for option in pool if not option.owned]
        if owned:
            chosen = min(owned, key=lambda option: (_spent_first(option), _central_time(option)))
        elif rented:
            chosen = min(
                rented, key=lambda option: (option.hourly[0] + option.committed[0], _central_time(option))
            )
        else:
            continue
        return max(1, math.floor(asked.busy * chosen.term / _central_time(chosen) + 1e-9))
    return 1


def _central_time(option: Option) -> float:
    assert option.time is not None
    return option.time[0]


def _spent_first(option: Option) -> float:
    return option.purchase[0] if option.owned and option.purchase is not None else 0.0


def leaders(options: Sequence[Option], asked: Goal, runs: int) -> list[Option]:
    """The recommended option and those that tie, the recommended first."""
    known = [
        (option, spent)
        for option in options
        if candidate(option) and meets(option, asked, runs) and (spent := outlay(option, runs)) is not None
    ]
    if not known:
        return []
    least, money = min(
        known, key=lambda entry: (entry[1][0], _spent_first(entry[0]), _central_time(entry[0]))
    )
    equal = []
    for option, spent in known:
        if option is least:
            equal.append(option)
        elif money[0] <= 0:
            if spent[0] <= money[0]:
                equal.append(option)
        else:
            higher = spent[0] / money[0] - 1.0
            sure = often([mine > theirs for mine, theirs in zip(spent[1], money[1], strict=True)])
            if higher < 0.05 or (higher < 0.25 and sure < 0.8):
                equal.append(option)
    central = {option.id: spent[0] for option, spent in known}
    return sorted(equal, key=lambda option: (_spent_first(option), _central_time(option), central[option.id]))


def why_not(option: Option, asked: Goal, runs: int, leading: Sequence[Option]) -> str | None:
    if option.time is None:
        return "does_not_fit"
    if any(option is other for other in leading):
        return None
    kept = keeps(option, asked, runs)
    if not option.priced:
        # What has no price is said to have none, not to be too dear.
        kept.pop("over_budget", None)
    shares = {reason: often(samples) for reason, samples in kept.items()}
    for reason in ORDER:
        if reason in shares and shares[reason] < asked.probability - 1e-12:
            return reason
    if shares and together(kept) < asked.probability - 1e-12:
        return min((reason for reason in ORDER if reason in shares), key=lambda reason: shares[reason])
    if not capable(option, runs):
        return "no_capacity"
    if option.published:
        return "published"
    if not option.priced:
        return "no_price"
    return "costs_more" if option.on_sale else "not_on_sale"


def decide(options: Sequence[Option], asked: Goal, runs: int | None = None) -> DecisionReference:
    """Answer a question, for a number of runs other than the demanded ones where given."""
    runs = runs_of(options, asked) if runs is None else runs
    leading = leaders(options, asked, runs)
    rows = {}
    for option in options:
        chance = None
        if asked.limited and option.time is not None:
            chance = together(keeps(option, asked, runs))
        rows[option.id] = ReferenceRow(
            meets=meets(option, asked, runs),
            probability=chance,
            outlay=outlay(option, runs),
            why_not=why_not(option, asked, runs, leading),
        )
    return DecisionReference(
        runs=runs,
        rows=rows,
        recommended=leading[0].id if leading else None,
        tied=frozenset(option.id for option in leading[1:]),
    )


def at_price(option: Option, item: str, factor: float) -> Option:
    """The option when its system costs a factor more, if it is the one that is priced."""
    if option.item != item or not option.priced:
        return option

    def grown(amount: Amount, share: float) -> Amount:
        by = 1.0 + (factor - 1.0) * share
        return amount[0] * by, [by * sample for sample in amount[1]]

    purchase, run, paid = option.shares
    return replace(
        option,
        purchase=None if option.purchase is None else grown(option.purchase, purchase),
        run=None if option.run is None else grown(option.run, run),
        fixed=grown(option.fixed, paid) if option.owned else option.fixed,
        hourly=option.hourly if option.owned else grown(option.hourly, paid),
        committed=grown(option.committed, 1.0),
    )
