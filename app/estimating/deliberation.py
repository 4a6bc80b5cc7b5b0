"""The rule by which one of several options is recommended, and what would overturn it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.engine.cost.outlay import paid_hours
from app.engine.records import Floats
from app.engine.units import HOUR, YEAR
from app.estimating.decision import (
    Alternative,
    Decision,
    DecisionMargin,
    DecisionOption,
    DecisionQuestion,
    NearestAnswers,
    NearestDate,
    NearestMoney,
    NearestWork,
    Overturn,
    Reason,
)
from app.estimating.decision_words import sentences
from app.estimating.outlay import Uncertain
from app.estimating.ranges import SAMPLES, quantity, significant
from app.estimating.schema import Quantity

SAME = 0.05
"""An option whose outlay is less than this much higher than the least ties with it."""
NEAR = 0.25
"""One that is less than this much higher ties where it is not surely higher."""
SURE = 0.8
"""Share of paired samples from which a difference counts as sure."""
LOWEST, HIGHEST = 0.1, 10.0
"""Least and largest factor on a price that is tried."""
HALVINGS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Alternatives as arrays over options and samples; unknown amounts are infinite."""

    alternatives: Sequence[Alternative]
    seconds: Floats
    time: Floats
    purchase: Floats
    """0 for what is rented."""
    purchase_samples: Floats
    run_samples: Floats
    power_samples: Floats
    term: Floats
    """[s]"""
    fixed: Floats
    fixed_samples: Floats
    hourly: Floats
    hourly_samples: Floats
    commitment: Floats
    committed: Floats
    committed_samples: Floats
    owned: NDArray[np.bool_]
    priced: NDArray[np.bool_]
    candidate: NDArray[np.bool_]
    """Whether an option may be recommended if it meets everything."""

    @classmethod
    def of(cls, alternatives: Sequence[Alternative], term: float) -> Columns:
        """Return the columns of alternatives; those without a price are held against a term. [s]"""

        def central(amounts: Sequence[Uncertain | None], missing: float = math.inf) -> Floats:
            return np.array([missing if amount is None else amount[0] for amount in amounts], dtype=float)

        def sampled(amounts: Sequence[Uncertain | None], missing: float = math.inf) -> Floats:
            rows = [np.broadcast_to(missing if amount is None else amount[1], SAMPLES) for amount in amounts]
            return np.array(rows, dtype=float).reshape(-1, SAMPLES)

        def parts(name: str) -> list[Uncertain | None]:
            return [None if each.outlay is None else getattr(each.outlay, name) for each in alternatives]

        times = [each.time for each in alternatives]
        purchases = [each.purchase for each in alternatives]
        owned = np.array([each.owned for each in alternatives], dtype=bool)
        priced = np.array([each.outlay is not None for each in alternatives], dtype=bool)
        terms = [term if each.outlay is None else each.outlay.term for each in alternatives]
        commitments = [0.0 if each.outlay is None else each.outlay.commitment for each in alternatives]
        return cls(
            alternatives=alternatives,
            seconds=central(times),
            time=sampled(times),
            purchase=np.where(owned, central(purchases), 0.0),
            purchase_samples=sampled(purchases),
            run_samples=sampled([each.run for each in alternatives]),
            power_samples=sampled([each.power for each in alternatives], 0.0),
            term=np.array(terms, dtype=float),
            fixed=central(parts("fixed")),
            fixed_samples=sampled(parts("fixed")),
            hourly=central(parts("hourly")),
            hourly_samples=sampled(parts("hourly")),
            commitment=np.array(commitments, dtype=float),
            committed=central(parts("committed"), 0.0),
            committed_samples=sampled(parts("committed"), 0.0),
            owned=owned,
            priced=priced,
            candidate=priced & np.array([each.on_sale and not each.published for each in alternatives]),
        )

    def outlay(self, runs: float, price: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Return central outlays and their samples, at factors on the price of each option's system."""
        share = np.array(
            [0.0 if each.outlay is None else each.outlay.price_share for each in self.alternatives]
        )
        factor = np.broadcast_to(np.asarray(price, dtype=float), share.shape)
        changed = 1.0 + (factor - 1.0) * share
        fixed, rent = np.where(self.owned, changed, 1.0), np.where(self.owned, 1.0, changed)
        with np.errstate(invalid="ignore"):
            hours = np.where(np.isfinite(self.seconds), self.seconds, 0.0) * (runs / HOUR)
            sampled = np.where(np.isfinite(self.time), self.time, 0.0) * (runs / HOUR)
            paid = paid_hours(hours, self.commitment) * self.committed * factor
            paid_samples = paid_hours(sampled, self.commitment[:, None]) * self.committed_samples
            central = (
                np.where(self.commitment > 0, paid, 0.0) + fixed * self.fixed + rent * self.hourly * hours
            )
            samples = (
                np.where(self.commitment[:, None] > 0, paid_samples * factor[:, None], 0.0)
                + fixed[:, None] * self.fixed_samples
                + (rent[:, None] * self.hourly_samples) * sampled
            )
        unknown = ~(self.priced & np.isfinite(self.seconds))
        return np.where(unknown, np.inf, central), np.where(unknown[:, None], np.inf, samples)


@dataclass(frozen=True, slots=True, eq=False)
class Weighing:
    """Options under one question, for a number of runs at the given prices."""

    columns: Columns
    question: DecisionQuestion
    runs: int
    outlay: Floats
    outlay_samples: Floats
    within: Mapping[Reason, NDArray[np.bool_]]
    """Samples that meet each limit, by the reason of not meeting it."""
    share: Floats
    """Share of samples that meet every limit."""
    meets: NDArray[np.bool_]
    eligible: NDArray[np.bool_]
    leading: Sequence[int]
    """The recommended option, then those that tie with it by outlay; empty for none."""

    @property
    def recommended(self) -> int | None:
        return self.leading[0] if self.leading else None


def within_limits(
    columns: Columns, question: DecisionQuestion, outlay_samples: Floats
) -> dict[Reason, NDArray[np.bool_]]:
    """Return the samples in which each option meets each limit."""
    within: dict[Reason, NDArray[np.bool_]] = {}
    if question.deadline_s is not None:
        within["too_late"] = columns.time <= question.deadline_s
    if question.budget is not None:
        within["over_budget"] = budgeted(columns, question, outlay_samples) <= question.budget
    if question.power_w is not None:
        within["over_power"] = columns.power_samples <= question.power_w
    return within


def budgeted(columns: Columns, question: DecisionQuestion, outlay_samples: Floats) -> Floats:
    """Return the samples of what the budget has to pay; infinite for a purchase of what is rented."""
    if question.budget_kind == "term":
        return outlay_samples
    if question.budget_kind == "run":
        return columns.run_samples
    if question.budget_kind == "purchase":
        return columns.purchase_samples
    return np.where(columns.owned[:, None], columns.purchase_samples, columns.run_samples)


def weigh(columns: Columns, question: DecisionQuestion, runs: int, price: Floats | float = 1.0) -> Weighing:
    """Weigh options by the rule: least outlay, ties by purchase and then by time."""
    outlay, samples = columns.outlay(runs, price)
    within = within_limits(columns, question, samples)
    together = np.isfinite(columns.time)
    for kept in within.values():
        together = together & kept
    share = together.mean(axis=1)
    fits = np.isfinite(columns.seconds)
    capacity = fits & (runs * np.where(fits, columns.seconds, 0.0) <= columns.term)
    meets = capacity & ((share >= question.probability - 1e-12) if question.limited else True)
    eligible = meets & columns.candidate
    return Weighing(
        columns=columns,
        question=question,
        runs=runs,
        outlay=outlay,
        outlay_samples=samples,
        within=within,
        share=share,
        meets=meets,
        eligible=eligible,
        leading=leading(columns, outlay, samples, eligible),
    )


def leading(columns: Columns, outlay: Floats, samples: Floats, eligible: NDArray[np.bool_]) -> list[int]:
    """Return the recommended option and those that tie with the least outlay, the recommended first."""
    indices = np.flatnonzero(eligible)
    if not indices.size:
        return []
    least = int(
        indices[np.lexsort((columns.seconds[indices], columns.purchase[indices], outlay[indices]))[0]]
    )
    higher = outlay[indices] / outlay[least] - 1.0 if outlay[least] > 0 else outlay[indices] - outlay[least]
    surely = (samples[indices] > samples[least]).mean(axis=1) >= SURE
    tied = indices[(indices == least) | (higher < SAME) | ((higher < NEAR) & ~surely)]
    order = np.lexsort((outlay[tied], columns.seconds[tied], columns.purchase[tied]))
    return [int(index) for index in tied[order]]


def demanded_runs(columns: Columns, question: DecisionQuestion, term: float) -> int:
    """Return the runs that every option is charged for; ``term`` is where no option has one. [s]"""
    demand = question.demand
    if demand.runs is not None:
        return int(demand.runs)
    known = columns.term[columns.priced]
    span = float(known[0]) if known.size else term
    if demand.runs_per_year is not None:
        return max(1, math.ceil(demand.runs_per_year * span / YEAR - 1e-9))
    # A budget for the term depends on the runs, so it is held against them afterwards.
    open_question = (
        question.model_copy(update={"budget": None}) if question.budget_kind == "term" else question
    )
    weighed = weigh(columns, open_question, 1)
    for pool in (weighed.eligible, columns.candidate & np.isfinite(columns.seconds)):
        owned, rented = np.flatnonzero(pool & columns.owned), np.flatnonzero(pool & ~columns.owned)
        if owned.size:
            index = owned[np.lexsort((columns.seconds[owned], columns.purchase[owned]))[0]]
        elif rented.size:
            index = rented[np.lexsort((columns.seconds[rented], columns.hourly[rented]))[0]]
        else:
            continue
        seconds = float(columns.seconds[index])
        return max(1, math.floor((demand.utilisation or 0.0) * span / seconds + 1e-9))
    return 1


def decision_of(alternatives: Sequence[Alternative], question: DecisionQuestion, term: float) -> Decision:
    """Return the decision over options; ``term`` is the usual one, for options without a price. [s]"""
    columns = Columns.of(alternatives, term)
    runs = demanded_runs(columns, question, term)
    weighed = weigh(columns, question, runs)
    return Deliberation(weighed).decision


@dataclass(frozen=True, eq=False)
class Deliberation:
    """What follows from options that are weighed."""

    weighed: Weighing

    @property
    def columns(self) -> Columns:
        return self.weighed.columns

    @property
    def alternatives(self) -> Sequence[Alternative]:
        return self.columns.alternatives

    @cached_property
    def decision(self) -> Decision:
        weighed = self.weighed
        chosen = weighed.recommended
        decision = Decision(
            question=weighed.question,
            runs=weighed.runs,
            recommended=None if chosen is None else self.alternatives[chosen].id,
            tied=[self.alternatives[index].id for index in weighed.leading[1:]],
            margin=self.margin,
            options=[self.option(index) for index in range(len(self.alternatives))],
            nearest=self.nearest,
            overturned_by=self.overturned_by,
        )
        return decision.model_copy(update={"sentences": sentences(decision, self.alternatives)})

    def option(self, index: int) -> DecisionOption:
        weighed, columns, each = self.weighed, self.columns, self.alternatives[index]
        currency, fits = weighed.question.currency, each.time is not None

        def amount(known: Uncertain | None) -> Quantity | None:
            return None if known is None else quantity(*known, currency)

        outlay = None
        if columns.priced[index] and fits:
            outlay = quantity(float(weighed.outlay[index]), weighed.outlay_samples[index], currency)
        idle = None
        if each.owned and fits and each.outlay is not None and each.time is not None:
            idle = each.outlay.idle_share(each.time[0], weighed.runs)
        return DecisionOption(
            id=each.id,
            meets=bool(weighed.meets[index]),
            probability=float(weighed.share[index]) if weighed.question.limited and fits else None,
            time=None if each.time is None else quantity(*each.time, "s"),
            outlay=outlay,
            purchase=amount(each.purchase),
            run=amount(each.run) if fits else None,
            idle_share=idle,
            why_not=self.why_not(index),
        )

    def why_not(self, index: int) -> Reason | None:
        """Return the first reason for which an option is not recommended."""
        weighed, each = self.weighed, self.alternatives[index]
        if each.time is None:
            return "does_not_fit"
        if index in weighed.leading:
            return None
        asked = weighed.question.probability - 1e-12
        shares = {reason: float(kept[index].mean()) for reason, kept in weighed.within.items()}
        if each.outlay is None:
            # Without a price no budget is met; what is published or has no price is said as such.
            shares.pop("over_budget", None)
        missed = next((reason for reason, share in shares.items() if share < asked), None)
        if missed is None and shares and each.outlay is not None and weighed.share[index] < asked:
            missed = min(shares.items(), key=lambda entry: entry[1])[0]
        if missed is not None:
            return missed
        if weighed.runs * each.time[0] > self.columns.term[index]:
            return "no_capacity"
        if each.published:
            return "published"
        if each.outlay is None:
            return "no_price"
        return "costs_more" if each.on_sale else "not_on_sale"

    @cached_property
    def margin(self) -> DecisionMargin | None:
        weighed, chosen = self.weighed, self.weighed.recommended
        others = [int(index) for index in np.flatnonzero(weighed.eligible) if index != chosen]
        if chosen is None or not others:
            return None
        other = min(others, key=lambda index: (weighed.outlay[index], self.columns.seconds[index]))
        mine, theirs = weighed.outlay_samples[chosen], weighed.outlay_samples[other]
        ahead = float(np.mean(mine < theirs) + 0.5 * np.mean(mine == theirs))
        central = (
            float(weighed.outlay[other] / weighed.outlay[chosen] - 1.0) if weighed.outlay[chosen] else 0.0
        )
        drawn = theirs / np.where(mine == 0, 1.0, mine) - 1.0
        return DecisionMargin(
            over=self.alternatives[other].id, share=quantity(central, drawn, "1"), probability=ahead
        )

    @cached_property
    def nearest(self) -> NearestAnswers | None:
        """Return what would work where nothing is recommended; None where nothing fits."""
        if self.weighed.recommended is not None or not np.isfinite(self.columns.seconds).any():
            return None
        return NearestAnswers(date=self._date(), money=self._money(), work=self._work())

    def _others(self, reason: Reason) -> NDArray[np.bool_]:
        """Return the samples in which everything but one limit is met, of options that could be chosen."""
        weighed, columns = self.weighed, self.columns
        fits = np.isfinite(columns.seconds)
        capacity = weighed.runs * np.where(fits, columns.seconds, 0.0) <= columns.term
        kept = np.isfinite(columns.time) & (columns.candidate & fits & capacity)[:, None]
        for other, samples in weighed.within.items():
            if other != reason:
                kept = kept & samples
        return kept

    def _least(self, values: Floats, allowed: NDArray[np.bool_]) -> tuple[int, float] | None:
        """Return the option with the least limit that enough samples keep, and that limit."""
        needed = math.ceil(self.weighed.question.probability * SAMPLES - 1e-9)
        ordered = np.sort(np.where(allowed, values, np.inf), axis=1)[:, needed - 1]
        index = int(np.argmin(ordered))
        return (index, rounded_up(float(ordered[index]))) if np.isfinite(ordered[index]) else None

    def _date(self) -> NearestDate | None:
        if self.weighed.question.deadline_s is None:
            return None
        found = self._least(self.columns.time, self._others("too_late"))
        return found and NearestDate(id=self.alternatives[found[0]].id, deadline_s=found[1])

    def _money(self) -> NearestMoney | None:
        question = self.weighed.question
        if question.budget is None:
            return None
        amounts = budgeted(self.columns, question, self.weighed.outlay_samples)
        found = self._least(amounts, self._others("over_budget"))
        return found and NearestMoney(id=self.alternatives[found[0]].id, budget=found[1])

    def _work(self) -> NearestWork | None:
        """Return the option that does the most runs within all limits, if fewer runs help at all."""
        columns, question, least, most = self.columns, self.weighed.question, 0, self.weighed.runs
        chosen: int | None = None
        while most - least > 1:
            middle = (least + most) // 2
            eligible = weigh(columns, question, middle).eligible
            if eligible.any():
                least, chosen = middle, int(np.flatnonzero(eligible)[np.argmin(columns.seconds[eligible])])
            else:
                most = middle
        return None if chosen is None else NearestWork(id=self.alternatives[chosen].id, runs=least)

    @cached_property
    def overturned_by(self) -> list[Overturn]:
        chosen = self.weighed.recommended
        if chosen is None:
            return []
        found = [self._runs(chosen)]
        found += [self._price(chosen, upwards=True)]
        if self.margin is not None:
            ids = [each.id for each in self.alternatives]
            found += [self._price(ids.index(self.margin.over), upwards=False)]
        found += self._deadlines(chosen)
        return [overturn for overturn in found if overturn is not None]

    def _named(self, index: int | None) -> str | None:
        return None if index is None else self.alternatives[index].id

    def _runs(self, chosen: int) -> Overturn | None:
        """Return the runs from which buying takes the place of renting, or the other way round."""
        weighed, columns = self.weighed, self.columns
        meeting = weighed.meets & columns.priced
        if not ((meeting & columns.owned).any() and (meeting & ~columns.owned).any()):
            return None

        def other(runs: int) -> int | None:
            """Return what is recommended for a number of runs, if it is paid in the other way."""
            index = weigh(columns, weighed.question, runs).recommended
            return index if index is not None and columns.owned[index] != columns.owned[chosen] else None

        if columns.owned[chosen]:
            at = _boundary(weighed.runs, 1, other)
        else:
            longest = float(np.max(columns.term[meeting] / columns.seconds[meeting]))
            at = _boundary(weighed.runs, max(math.floor(longest), weighed.runs), other)
        if at is None:
            return Overturn(input="demand.runs", at=None, then=None)
        return Overturn(input="demand.runs", at=Quantity.exact(float(at), "1"), then=self._named(other(at)))

    def _price(self, index: int, *, upwards: bool) -> Overturn | None:
        """Return the price of an option's system from which another option is recommended."""
        weighed, price = self.weighed, self.alternatives[index].price
        if price is None:
            return None
        same = [
            each.price is not None and (each.price.item, each.price.per) == (price.item, price.per)
            for each in self.alternatives
        ]

        def changed(ratio: float) -> Weighing:
            factors = np.where(same, ratio, 1.0)
            return weigh(self._repriced(factors), weighed.question, weighed.runs, factors)

        end = HIGHEST if upwards else LOWEST
        if changed(end).recommended == weighed.recommended:
            return Overturn(input=f"price.{self.alternatives[index].id}", at=None, then=None)
        near, far = 0.0, math.log(end)
        for _ in range(HALVINGS):
            middle = (near + far) / 2.0
            if changed(math.exp(middle)).recommended == weighed.recommended:
                near = middle
            else:
                far = middle
        amount = significant(price.price.value * math.exp(far))
        then = self._named(changed(math.exp(far)).recommended)
        return Overturn(
            input=f"price.{self.alternatives[index].id}",
            at=Quantity.exact(amount, price.price.unit),
            then=then,
        )

    def _repriced(self, factors: Floats) -> Columns:
        """Return the columns with purchases at other prices of systems."""
        shares = np.array([each.outlay.price_share if each.outlay else 0.0 for each in self.alternatives])
        growth = np.where(self.columns.owned, 1.0 + (factors - 1.0) * np.minimum(shares, 1.0), factors)
        return replace(
            self.columns,
            purchase=self.columns.purchase * growth,
            purchase_samples=self.columns.purchase_samples * growth[:, None],
            run_samples=self.columns.run_samples * growth[:, None],
        )

    def _deadlines(self, chosen: int) -> list[Overturn]:
        """Return the deadlines, tighter and looser, from which another option is recommended."""
        weighed, columns = self.weighed, self.columns
        question = weighed.question
        needed = math.ceil(question.probability * SAMPLES - 1e-9)
        allowed = np.where(self._others("too_late"), columns.time, np.inf)
        limits = np.sort(allowed, axis=1)[:, needed - 1]
        deadline = question.deadline_s or math.inf

        def then(limit: float) -> int | None:
            asked = question.model_copy(update={"deadline_s": limit})
            return weigh(columns, asked, weighed.runs).recommended

        found = []
        own = float(limits[chosen])
        if math.isfinite(own):
            tighter = math.nextafter(own, 0.0)
            found.append(
                Overturn(input="deadline_s", at=Quantity.exact(own, "s"), then=self._named(then(tighter)))
            )
        looser = np.unique(limits[(limits > deadline) & np.isfinite(limits)])
        if question.deadline_s is not None and looser.size and then(float(looser[-1])) != chosen:
            low, high = -1, len(looser) - 1
            while high - low > 1:
                middle = (low + high) // 2
                if then(float(looser[middle])) != chosen:
                    high = middle
                else:
                    low = middle
            at = rounded_up(float(looser[high]))
            found.append(Overturn(input="deadline_s", at=Quantity.exact(at, "s"), then=self._named(then(at))))
        return found


def _boundary(start: int, end: int, other: Callable[[int], int | None]) -> int | None:
    """Return the number of runs nearest to the start from which something else is recommended.

    Between start and end it is taken to change once; None where it does not, in steps that double.
    """
    if start == end:
        return None
    step, near, far = 1, start, None
    while far is None:
        tried = min(near + step, end) if end > start else max(near - step, end)
        if other(tried) is not None:
            far = tried
        elif tried == end:
            return None
        else:
            near, step = tried, 2 * step
    while abs(far - near) > 1:
        middle = (near + far) // 2
        near, far = (near, middle) if other(middle) is not None else (middle, far)
    return far


def rounded_up(value: float) -> float:
    """Round a limit up to four significant digits, so that it still suffices."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return significant(math.ceil(value / unit - 1e-9) * unit, 6)
