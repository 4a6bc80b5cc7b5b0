"""A decision in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from app.engine.units import DAY, YEAR
from app.errors import Message
from app.estimating.decision import Alternative, Decision, DecisionOption, Reason
from app.estimating.documents import Text
from app.estimating.ranges import LEAST_CHANCE, TIMES, chance, duration, money, significant

MUCH_FASTER = 0.5
"""Share of the recommended option's time from which a faster option is named with its price."""
MOSTLY_IDLE = 0.5
MUCH_LESS = 0.05
"""Share by which a tied option is cheaper before it is said to be."""
LATER = 1.25
"""Factor on the deadline within which a cheaper answer is named."""
WORTH_WAITING = 0.1
"""Share of the outlay that a later deadline must save to be named."""
MOST_TIED = 2
"""Systems that come to about the same and are named."""
DOUBTS: Mapping[str, str] = {
    "longer_than_a_year": "A run on {option} takes longer than a year.",
    "longer_than_amortisation": "A run on {option} takes longer than the term it is written off over.",
    "family_error_large": (
        "The time of {option} is poorly predicted: comparable runs were missed by more than a quarter. "
        "Measure three steps on it before deciding."
    ),
    "unvalidated": (
        "No measured run combines this model and plan on such a chip; the time of {option} is carried over "
        "from comparable runs."
    ),
    "from_data_sheet": "{option} is known from its data sheet alone; no run on it was measured.",
    "calibration_implausible": "The measured runs behind the time of {option} contradict each other.",
}
"""Code of a warning → the sentence with which it lowers an option."""


SENTENCES: Mapping[str, str] = {
    "too_late": "in time in {share} of cases, {asked} asked",
    "over_budget": "within the budget in {share} of cases, {asked} asked",
    "over_power": "within the power limit in {share} of cases, {asked} asked",
    "together": "within all limits in {share} of cases, {asked} asked",
}
"""Reason of a missed limit → how often it is kept; where each is kept often enough, how often all are."""


def verdict(
    reason: Reason | None,
    alone: Mapping[Reason, float],
    together: float,
    asked: float,
    runs: tuple[int, int],
) -> Text | None:
    """Return how often a missed limit is kept, where it is at all, or the runs that are done of those asked.

    ``alone`` and ``together`` are the shares of samples that keep each limit and all of them.
    """
    if reason == "no_capacity":
        return Text.of(Message("does {some} of {runs} runs in the term", {"some": runs[0], "runs": runs[1]}))
    share = alone.get(reason) if reason is not None else None
    if reason is None or share is None or share < LEAST_CHANCE:
        return None
    missed, share = (reason, share) if share < asked else ("together", together)
    return Text.of(Message(SENTENCES[missed], {"share": chance(share), "asked": chance(asked)}))


def sentences(decision: Decision, alternatives: Sequence[Alternative]) -> list[Text]:
    """Return what is recommended, why, and what would overturn it."""
    return [Text.of(message) for message in _DecisionWriter(decision, alternatives).messages()]


class _DecisionWriter:
    def __init__(self, decision: Decision, alternatives: Sequence[Alternative]) -> None:
        self.decision = decision
        self.alternatives = {each.id: each for each in alternatives}
        self.options = {option.id: option for option in decision.options}
        self.currency = decision.question.currency

    def messages(self) -> Iterator[Message]:
        if self.decision.recommended is None:
            yield from self._none()
            return
        chosen = self.options[self.decision.recommended]
        yield self._recommended(chosen)
        if chosen.probability is not None:
            yield Message(
                "It meets the limits with a probability of {chance}.", {"chance": chance(chosen.probability)}
            )
        yield from self._tied(chosen)
        yield from self._next(chosen)
        yield from self._faster(chosen)
        yield from self._later(chosen)
        yield from self._doubted(chosen)
        if chosen.idle_share is not None and chosen.idle_share > MOSTLY_IDLE:
            rented = any(not each.owned and not each.published for each in self.alternatives.values())
            yield Message(
                "Bought for this work alone, it stands idle for {share} of the term."
                if rented
                else "Bought for this work alone, it stands idle for {share} of the term; no option here is "
                "rented: compare one that is before buying.",
                {"share": chance(chosen.idle_share)},
            )
        yield from self._runs(chosen)

    def _name(self, identifier: str) -> Message | str:
        return self.alternatives[identifier].name

    def _values(self, option: DecisionOption) -> dict[str, object]:
        values: dict[str, object] = {"option": self._name(option.id)}
        if option.time is not None:
            values |= {
                "time": duration(option.time.value),
                "low": duration(option.time.low),
                "high": duration(option.time.high),
            }
        if option.outlay is not None:
            values["outlay"] = money(option.outlay.value, self.currency)
        return values

    def _recommended(self, option: DecisionOption) -> Message:
        values = {**self._values(option), "runs": self.decision.runs}
        outlay = self.alternatives[option.id].outlay
        owned = self.alternatives[option.id].owned
        if outlay is not None:
            values["years"] = significant(outlay.term / YEAR)
        if self.decision.runs == 1:
            return Message(
                "Buy {option}: {outlay} over {years} years in all, and the run takes {time} with start-up "
                "({low} to {high})."
                if owned
                else "Rent {option}: {outlay} in all, and the run takes {time} with start-up ({low} to "
                "{high}).",
                values,
            )
        return Message(
            "Buy {option}: {outlay} over {years} years in all for {runs} runs one after another, {time} each "
            "with start-up ({low} to {high})."
            if owned
            else "Rent {option}: {outlay} in all for {runs} runs one after another, {time} each with "
            "start-up ({low} to {high}).",
            values,
        )

    def _tied(self, chosen: DecisionOption) -> Iterator[Message]:
        for other in self._tied_systems(chosen)[:MOST_TIED]:
            values = {**self._values(other), "chosen": self._name(chosen.id)}
            if _money(other) < (1.0 - MUCH_LESS) * _money(chosen):
                yield Message(
                    "{option} may cost less ({outlay}) and takes {time}; the difference is not sure.", values
                )
            elif _at_start(chosen) < _at_start(other):
                yield Message(
                    "{option} comes to about the same ({outlay}); {chosen} is preferred, because less is "
                    "paid at the start.",
                    values,
                )
            else:
                yield Message(
                    "{option} comes to about the same ({outlay}) in {time}; {chosen} is preferred, because "
                    "it is done sooner.",
                    values,
                )

    def _tied_systems(self, chosen: DecisionOption) -> list[DecisionOption]:
        """Return tied options, one of each system, the one of least outlay first.

        Of the recommended system it is the slowest, which takes the fewest machines.
        """
        by_system: dict[object, DecisionOption] = {}
        for identifier in self.decision.tied:
            price, other = self.alternatives[identifier].price, self.options[identifier]
            system = identifier if price is None else price.item
            known = by_system.setdefault(system, other)
            mine = self.alternatives[chosen.id].price
            if mine is not None and system == mine.item:
                by_system[system] = max(known, other, key=_seconds)
        least = min((self.options[name] for name in self.decision.tied), key=_money, default=chosen)
        others = [other for other in by_system.values() if other is not least]
        return [least, *others] if _money(least) < _money(chosen) else list(by_system.values())

    def _next(self, chosen: DecisionOption) -> Iterator[Message]:
        margin = self.decision.margin
        if margin is None or margin.over in self.decision.tied:
            return
        values = self._values(self.options[margin.over])
        if margin.share.value < 1.0:
            yield Message(
                "The next best, {option}, costs {share} % more ({outlay}); it is dearer with a probability "
                "of {chance}.",
                values
                | {
                    "share": significant(100.0 * margin.share.value, 2),
                    "chance": chance(margin.probability),
                },
            )
        else:
            yield Message(
                "The next best, {option}, costs {times} times as much ({outlay}).",
                values | {"times": significant(1.0 + margin.share.value, 2)},
            )

    def _faster(self, chosen: DecisionOption) -> Iterator[Message]:
        """Yield a faster option that costs more, with the price of its speed."""
        if chosen.time is None or chosen.outlay is None:
            return
        seconds = chosen.time.value
        known = [
            (option, option.time.value, option.outlay.value)
            for option in self.decision.options
            if option.why_not == "costs_more" and option.time is not None and option.outlay is not None
        ]
        fast = [entry for entry in known if entry[1] <= MUCH_FASTER * seconds]
        if not fast:
            return
        option, time, outlay = min(fast, key=lambda entry: entry[2])
        yield Message(
            "{option} is done {sooner} sooner, for {more} more.",
            {
                "option": self._name(option.id),
                "sooner": duration(seconds - time),
                "more": money(outlay - chosen.outlay.value, self.currency),
            },
        )

    def _later(self, chosen: DecisionOption) -> Iterator[Message]:
        """Yield what a deadline that is a little later would save."""
        deadline = self.decision.question.deadline_s
        for entry in self.decision.overturned_by:
            if entry.input != "deadline_s" or entry.at is None or entry.then is None or deadline is None:
                continue
            other = self.options[entry.then]
            saved = _money(chosen) - _money(other)
            if deadline < entry.at.value <= LATER * deadline and saved >= WORTH_WAITING * _money(chosen):
                yield Message(
                    "With a deadline of {time}, {option} would do for {less} less.",
                    {
                        "time": _enough_time(entry.at.value),
                        "option": self._name(other.id),
                        "less": money(saved, self.currency),
                    },
                )

    def _doubted(self, chosen: DecisionOption) -> Iterator[Message]:
        alternative = self.alternatives[chosen.id]
        values = {"option": alternative.name}
        if not alternative.sold_new:
            yield Message(
                "{option} is no longer sold new: confirm stock, delivery and support before ordering.", values
            )
        for code, template in DOUBTS.items():
            if code in alternative.doubts:
                yield Message(template, values)
        if not alternative.owned and chosen.time and self.decision.runs * chosen.time.value < DAY:
            yield Message(
                "Rent is counted for the hours of the run alone; a provider may ask for a longer booking."
            )

    def _runs(self, chosen: DecisionOption) -> Iterator[Message]:
        entry = next((entry for entry in self.decision.overturned_by if entry.input == "demand.runs"), None)
        owned = self.alternatives[chosen.id].owned
        others = any(
            option.why_not in (None, "costs_more") and self.alternatives[option.id].owned != owned
            for option in self.decision.options
        )
        if entry is None or not others:
            return
        if entry.at is None or entry.then is None:
            yield Message(
                "However few the runs, renting does not cost less."
                if owned
                else "However many the runs, buying does not cost less."
            )
            return
        values = {"runs": round(entry.at.value), "option": self._name(entry.then)}
        if entry.at.value < self.decision.runs:
            yield Message(
                "Up to {runs} runs in the term, renting {option} is recommended instead."
                if owned
                else "Up to {runs} runs in the term, buying {option} is recommended instead.",
                values,
            )
        else:
            yield Message(
                "From {runs} runs in the term on, renting {option} is recommended instead."
                if owned
                else "From {runs} runs in the term on, buying {option} is recommended instead.",
                values,
            )
        # The rented one is preferred in a tie, so buying has to cost clearly less.
        if (even := entry.even) is not None and round(even.value) < round(entry.at.value):
            yield Message(
                "The outlays are equal at {runs} runs; up to a quarter more counts as a tie, in which the "
                "one with less to pay at the start is preferred.",
                {"runs": round(even.value)},
            )

    def _none(self) -> Iterator[Message]:
        fitting = [option for option in self.decision.options if option.time is not None]
        if not fitting:
            yield Message("The model fits on none of the options.")
            return
        if any(option.meets for option in fitting):
            yield Message(
                "Nothing can be recommended: no option that meets what is asked has a price and is for sale."
            )
        else:
            yield Message("No option meets what is asked.")
        nearest = self.decision.nearest
        if nearest is None:
            return
        asked = chance(self.decision.question.probability)
        # Rounded up, so that what is read suffices when it is asked.
        if nearest.date is not None:
            yield Message(
                "With a deadline of {time}, {option} would do in {chance} of cases.",
                {
                    "time": _enough_time(nearest.date.deadline_s),
                    "option": self._name(nearest.date.id),
                    "chance": asked,
                },
            )
        if nearest.money is not None:
            amount = money(rounded_up(nearest.money.budget), self.currency)
            yield Message(
                "With a budget of {amount}, {option} would do in {chance} of cases.",
                {"option": self._name(nearest.money.id), "amount": amount, "chance": asked},
            )
        if nearest.work is not None:
            yield Message(
                "{option} would do for a single run."
                if nearest.work.runs == 1
                else "{option} would do for at most {runs} runs in the term.",
                {"option": self._name(nearest.work.id), "runs": nearest.work.runs},
            )
        helps = nearest.date or nearest.money or nearest.work
        if helps is None and self.decision.question.limited:
            yield Message("No other deadline, budget or number of runs alone would change that.")


def _money(option: DecisionOption) -> float:
    return math.inf if option.outlay is None else option.outlay.value


def _seconds(option: DecisionOption) -> float:
    return math.inf if option.time is None else option.time.value


def _at_start(option: DecisionOption) -> float:
    return 0.0 if option.purchase is None else option.purchase.value


def _enough_time(seconds: float) -> Message:
    size, unit = next((size, unit) for limit, size, unit in TIMES if seconds < limit)
    return duration(size * rounded_up(seconds / size, 2 if unit == "years" else 3))


def rounded_up(value: float, digits: int = 3) -> float:
    """Round up to significant digits.

    >>> rounded_up(1234.5), rounded_up(0.42)
    (1240.0, 0.42)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return significant(math.ceil(value / unit * (1.0 - 1e-12)) * unit, digits)
