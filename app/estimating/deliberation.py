"""The rule by which one of several options is recommended, and what would overturn it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from app.engine.cost.outlay import paid_hours
from app.engine.records import Floats
from app.engine.uncertainty import band, probability_less
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
from app.estimating.decision_words import sentences, verdict
from app.estimating.expectation import spanning
from app.estimating.outlay import Uncertain
from app.estimating.ranges import SAMPLES, quantity
from app.estimating.schema import Quantity

SAME = 0.05
"""An option whose outlay is less than this much higher than the least ties with it."""
NEAR = 0.25
"""One that is less than this much higher ties where it is not surely higher."""
SURE = 0.8
"""Share of paired samples from which a difference counts as sure."""
LOWEST, HIGHEST = 0.1, 10.0
"""Least and largest factor on a price that is tried."""
PRICES = 24
"""Prices that are tried between today's and the last."""
HALVINGS = 20
GROWTH = 1.5
"""Factor between numbers of runs that are tried, beside those at which an option drops out."""

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Alternatives as arrays over options and samples.

    An unknown time, purchase or cost of a run is infinite; parts of an unknown outlay are 0.
    """

    seconds: Floats
    time: Floats
    purchase: Floats
    """0 for what is rented."""
    purchase_samples: Floats
    run: Floats
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
    outlay_share: Floats
    purchase_share: Floats
    run_share: Floats
    owned: Flags
    fits: Flags
    fast: Flags
    """Whether no other option gains too much over it."""
    priced: Flags
    candidate: Flags
    """Whether an option may be recommended if it meets everything."""

    @classmethod
    def of(cls, alternatives: Sequence[Alternative], term: float) -> Self:
        """Return the columns of alternatives; those without a price are held against a term. [s]"""

        def central(amounts: Sequence[Uncertain | None], missing: float) -> Floats:
            return np.array([missing if amount is None else amount[0] for amount in amounts], dtype=float)

        def sampled(amounts: Sequence[Uncertain | None], missing: float) -> Floats:
            rows = [np.broadcast_to(missing if amount is None else amount[1], SAMPLES) for amount in amounts]
            return np.array(rows, dtype=float).reshape(-1, SAMPLES)

        outlays = [each.outlay for each in alternatives]
        fixed = [None if outlay is None else outlay.fixed for outlay in outlays]
        hourly = [None if outlay is None else outlay.hourly for outlay in outlays]
        committed = [None if outlay is None else outlay.committed for outlay in outlays]
        times, runs = [each.time for each in alternatives], [each.run for each in alternatives]
        purchases = [each.purchase for each in alternatives]
        owned = np.array([each.owned for each in alternatives], dtype=bool)
        fits = np.array([time is not None for time in times], dtype=bool)
        priced = np.array([outlay is not None for outlay in outlays], dtype=bool)
        offered = np.array([each.on_sale and not each.published for each in alternatives], dtype=bool)
        fast = np.array([not each.too_slow for each in alternatives], dtype=bool)
        return cls(
            seconds=central(times, math.inf),
            time=sampled(times, math.inf),
            purchase=np.where(owned, central(purchases, math.inf), 0.0),
            purchase_samples=sampled(purchases, math.inf),
            run=central(runs, math.inf),
            run_samples=sampled(runs, math.inf),
            power_samples=sampled([each.power for each in alternatives], 0.0),
            term=np.array([term if outlay is None else outlay.term for outlay in outlays], dtype=float),
            fixed=central(fixed, 0.0),
            fixed_samples=sampled(fixed, 0.0),
            hourly=central(hourly, 0.0),
            hourly_samples=sampled(hourly, 0.0),
            commitment=np.array([0.0 if outlay is None else outlay.commitment for outlay in outlays]),
            committed=central(committed, 0.0),
            committed_samples=sampled(committed, 0.0),
            outlay_share=np.array([0.0 if outlay is None else outlay.price_share for outlay in outlays]),
            purchase_share=np.array([each.purchase_share for each in alternatives], dtype=float),
            run_share=np.array([each.run_share for each in alternatives], dtype=float),
            owned=owned,
            fits=fits,
            fast=fast,
            priced=priced,
            candidate=priced & fits & fast & offered,
        )

    def of_some(self, indices: Whole) -> Self:
        return type(self)(**{entry.name: getattr(self, entry.name)[indices] for entry in fields(self)})

    def outlay(self, runs: float) -> Floats:
        """Return central outlays; infinite where unknown."""
        hours = np.where(self.fits, self.seconds, 0.0) * (runs / HOUR)
        money = self.fixed + self.hourly * hours
        if self.commitment.any():
            money += paid_hours(hours, self.commitment) * self.committed
        return np.where(self.priced & self.fits, money, np.inf)

    def outlay_samples(self, runs: float | Whole, among: Whole | slice = slice(None)) -> Floats:
        """Return the samples of outlays, of one number of runs or of one for each of the options."""
        known = (self.priced & self.fits)[among, None]
        hours = np.where(known, self.time[among], 0.0) * (np.asarray(runs)[..., None] / HOUR)
        money = self.fixed_samples[among] + self.hourly_samples[among] * hours
        commitment = self.commitment[among, None]
        if commitment.any():
            money += paid_hours(hours, commitment) * self.committed_samples[among]
        return np.where(known, money, np.inf)

    def at_price(self, systems: Flags, factor: float, *, sampled: bool = True) -> Self:
        """Return the columns with the price of some systems at a factor of today's, or the central ones."""

        def grown(share: Floats | float, among: Flags) -> Floats:
            return np.where(systems & among, 1.0 + (factor - 1.0) * share, 1.0)

        everything = np.ones_like(self.owned)
        purchase, run = grown(self.purchase_share, self.owned), grown(self.run_share, everything)
        bought, rented = grown(self.outlay_share, self.owned), grown(self.outlay_share, ~self.owned)
        committed = grown(1.0, everything)
        moved: dict[str, Any] = {
            "purchase": self.purchase * purchase,
            "fixed": self.fixed * bought,
            "hourly": self.hourly * rented,
            "committed": self.committed * committed,
        }
        if sampled:
            moved |= {
                "purchase_samples": self.purchase_samples * purchase[:, None],
                "run_samples": self.run_samples * run[:, None],
                "fixed_samples": self.fixed_samples * bought[:, None],
                "hourly_samples": self.hourly_samples * rented[:, None],
                "committed_samples": self.committed_samples * committed[:, None],
            }
        return replace(self, **moved)

    def leading(self, eligible: Flags, outlay: Floats, samples: Callable[[Whole], Floats]) -> list[int]:
        """Return the recommended option and those that tie with the least outlay, the recommended first.

        ``samples`` gives the outlays of some options, which only the doubtful need.
        """
        indices = np.flatnonzero(eligible)
        if not indices.size:
            return []
        money = outlay[indices]
        cheapest = float(money.min())
        near = indices[(money < cheapest * (1.0 + NEAR)) | (money <= cheapest)]
        if near.size > 1 and cheapest > 0:
            least = near[np.lexsort((self.seconds[near], self.purchase[near], outlay[near]))[0]]
            same = outlay[near] / cheapest - 1.0 < SAME
            doubtful = near[~same]
            if doubtful.size:
                drawn = samples(np.append(doubtful, least))
                same[~same] = (drawn[:-1] > drawn[-1]).mean(axis=1) < SURE
            near = near[same]
        order = np.lexsort((outlay[near], self.seconds[near], self.purchase[near]))
        return [int(index) for index in near[order]]


@dataclass(frozen=True, eq=False)
class Weighing:
    """Options under one question, for a number of runs."""

    columns: Columns
    question: DecisionQuestion
    runs: int

    @cached_property
    def outlay(self) -> Floats:
        return self.columns.outlay(self.runs)

    @cached_property
    def outlay_samples(self) -> Floats:
        return self.columns.outlay_samples(self.runs)

    @cached_property
    def budgeted(self) -> Floats:
        """Samples of what the budget has to pay; infinite for a purchase of what is rented."""
        columns, kind = self.columns, self.question.budget_kind
        if kind == "term":
            return self.outlay_samples
        if kind == "run":
            return columns.run_samples
        if kind == "purchase":
            return columns.purchase_samples
        return np.where(columns.owned[:, None], columns.purchase_samples, columns.run_samples)

    @cached_property
    def within(self) -> Mapping[Reason, Flags]:
        """Samples that meet each limit, by the reason of not meeting it."""
        columns, question = self.columns, self.question
        within: dict[Reason, Flags] = {}
        if question.deadline_s is not None:
            within["too_late"] = columns.time <= question.deadline_s
        if question.budget is not None:
            within["over_budget"] = self.budgeted <= question.budget
        if question.power_w is not None:
            within["over_power"] = columns.power_samples <= question.power_w
        return within

    def within_all(self, besides: Reason | None = None) -> Flags:
        """Return the samples that meet every limit, or every other."""
        kept: Flags = np.broadcast_to(self.columns.fits[:, None], self.columns.time.shape)
        for reason, samples in self.within.items():
            if reason != besides:
                kept = kept & samples
        return kept

    @cached_property
    def share(self) -> Floats:
        """Share of samples that meet every limit."""
        shares: Floats = self.within_all().mean(axis=1)
        return shares

    @cached_property
    def often_enough(self) -> Flags:
        return self.share >= self.question.probability - ROUNDING

    @cached_property
    def capable(self) -> Flags:
        """Whether an option fits, is fast enough and does the runs within the term."""
        columns = self.columns
        return columns.fits & columns.fast & (self.runs * columns.seconds <= columns.term)

    @cached_property
    def meets(self) -> Flags:
        return self.capable & self.often_enough if self.question.limited else self.capable

    @cached_property
    def eligible(self) -> Flags:
        return self.meets & self.columns.candidate

    @cached_property
    def leading(self) -> Sequence[int]:
        """The recommended option, then those that tie with it by outlay; empty for none."""
        return self.leading_of(self.eligible)

    @property
    def recommended(self) -> int | None:
        return self.leading[0] if self.leading else None

    def leading_of(self, eligible: Flags) -> list[int]:
        """Return what would lead if other options were eligible."""
        return self.columns.leading(
            eligible, self.outlay, lambda some: self.columns.outlay_samples(self.runs, some)
        )


ROUNDING = 1e-12
"""Share of samples that is taken for rounding."""


def demanded_runs(columns: Columns, question: DecisionQuestion, term: float) -> int:
    """Return the runs that every option is charged for; ``term`` is where no option has one. [s]"""
    demand = question.demand
    if demand.runs is not None:
        return int(demand.runs)
    span = float(columns.term[columns.priced].max(initial=0.0)) or term
    if demand.runs_per_year is not None:
        return max(1, math.ceil(demand.runs_per_year * span / YEAR - 1e-9))
    # A budget for the term depends on the runs, so it is held against them afterwards.
    open_question = (
        question.model_copy(update={"budget": None}) if question.budget_kind == "term" else question
    )
    hourly = columns.hourly + columns.committed
    for pool in (Weighing(columns, open_question, 1).eligible, columns.candidate):
        owned, rented = np.flatnonzero(pool & columns.owned), np.flatnonzero(pool & ~columns.owned)
        if owned.size:
            index = owned[np.lexsort((columns.seconds[owned], columns.purchase[owned]))[0]]
        elif rented.size:
            index = rented[np.lexsort((columns.seconds[rented], hourly[rented]))[0]]
        else:
            continue
        busy = (demand.utilisation or 0.0) * float(columns.term[index])
        return max(1, math.floor(busy / float(columns.seconds[index]) + 1e-9))
    return 1


def decision_of(alternatives: Sequence[Alternative], question: DecisionQuestion, term: float) -> Decision:
    """Return the decision over options; ``term`` is the usual one, for options without a price. [s]"""
    return Deliberation.of(alternatives, question, term).decision


@dataclass(frozen=True, eq=False)
class Deliberation:
    """What follows from options that are weighed. A change of one input leaves the others as they are."""

    alternatives: Sequence[Alternative]
    weighed: Weighing

    @classmethod
    def of(cls, alternatives: Sequence[Alternative], question: DecisionQuestion, term: float) -> Deliberation:
        columns = Columns.of(alternatives, term)
        return cls(alternatives, Weighing(columns, question, demanded_runs(columns, question, term)))

    @property
    def columns(self) -> Columns:
        return self.weighed.columns

    @cached_property
    def decision(self) -> Decision:
        weighed = self.weighed
        decision = Decision(
            question=weighed.question,
            runs=weighed.runs,
            recommended=self._named(weighed.recommended),
            tied=[self.alternatives[index].id for index in weighed.leading[1:]],
            margin=self.margin,
            options=self.options,
            nearest=self.nearest,
            overturned_by=self.overturned_by,
        )
        return decision.model_copy(update={"sentences": sentences(decision, self.alternatives)})

    def _named(self, index: int | None) -> str | None:
        return None if index is None else self.alternatives[index].id

    @property
    def options(self) -> list[DecisionOption]:
        weighed, columns, currency = self.weighed, self.columns, self.weighed.question.currency
        bought = columns.owned & np.isfinite(columns.purchase)
        time = _quantities(columns.seconds, columns.time, "s", columns.fits)
        outlay = _quantities(weighed.outlay, weighed.outlay_samples, currency, columns.priced & columns.fits)
        purchase = _quantities(columns.purchase, columns.purchase_samples, currency, bought)
        run = _quantities(columns.run, columns.run_samples, currency, columns.fits & np.isfinite(columns.run))
        shares = {reason: samples.mean(axis=1) for reason, samples in weighed.within.items()}
        done = np.minimum(whole_runs(columns), weighed.runs)
        reasons = [self._why_not(index, shares) for index in range(len(self.alternatives))]
        return [
            DecisionOption(
                id=each.id,
                meets=bool(weighed.meets[index]),
                probability=(
                    float(weighed.share[index])
                    if weighed.question.limited and each.time is not None
                    else None
                ),
                time=(found := time[index]) and spanning(found, each.stated),
                outlay=outlay[index],
                purchase=purchase[index],
                run=run[index],
                idle_share=(
                    each.outlay.idle_share(each.time[0], weighed.runs)
                    if each.outlay is not None and each.time is not None
                    else None
                ),
                why_not=reasons[index],
                runs=int(done[index]) if columns.fits[index] else None,
                verdict=verdict(
                    reasons[index],
                    {reason: float(share[index]) for reason, share in shares.items()},
                    float(weighed.share[index]),
                    weighed.question.probability,
                    (int(done[index]), weighed.runs),
                ),
            )
            for index, each in enumerate(self.alternatives)
        ]

    def _why_not(self, index: int, shares: Mapping[Reason, Floats]) -> Reason | None:
        """Return the first reason for which an option is not recommended."""
        weighed, each = self.weighed, self.alternatives[index]
        if each.time is None:
            return "does_not_fit"
        if index in weighed.leading:
            return None
        priced = each.outlay is not None
        # What has no price is said to have none, or to be published, not to be too dear.
        alone = {reason: float(share[index]) for reason, share in shares.items()}
        together = float(weighed.share[index])
        if not priced and alone.pop("over_budget", None) is not None:
            together = float(weighed.within_all("over_budget")[index].mean())
        asked = weighed.question.probability - ROUNDING
        missed = next((reason for reason, share in alone.items() if share < asked), None)
        if missed is None and alone and together < asked:
            missed = min(alone.items(), key=lambda entry: entry[1])[0]
        if each.too_slow and missed != "too_late":
            return "too_slow"
        if missed is not None:
            return missed
        if not weighed.capable[index]:
            return "no_capacity"
        if each.published:
            return "published"
        if not priced:
            return "no_price"
        return "costs_more" if each.on_sale else "not_on_sale"

    @cached_property
    def margin(self) -> DecisionMargin | None:
        weighed, chosen = self.weighed, self.weighed.recommended
        others = np.flatnonzero(weighed.eligible)
        others = others[others != chosen]
        if chosen is None or not others.size or not weighed.outlay[chosen] > 0:
            return None
        order = np.lexsort((self.columns.seconds[others], weighed.outlay[others]))
        other = int(others[order[0]])
        mine, theirs = weighed.outlay_samples[chosen], weighed.outlay_samples[other]
        central = float(weighed.outlay[other] / weighed.outlay[chosen] - 1.0)
        return DecisionMargin(
            over=self.alternatives[other].id,
            share=quantity(central, theirs / mine - 1.0, "1"),
            probability=float(probability_less(mine, theirs)),
        )

    @cached_property
    def nearest(self) -> NearestAnswers | None:
        """Return what would work where nothing is recommended; None where nothing fits."""
        weighed = self.weighed
        if weighed.recommended is not None or not self.columns.fits.any():
            return None
        question, answers = weighed.question, NearestAnswers()
        date = self._nearest("too_late", self.columns.time) if question.deadline_s is not None else None
        if date is not None:
            answers = answers.model_copy(update={"date": NearestDate(id=date[0], deadline_s=date[1])})
        money = self._nearest("over_budget", weighed.budgeted) if question.budget is not None else None
        if money is not None:
            answers = answers.model_copy(update={"money": NearestMoney(id=money[0], budget=money[1])})
        most = int(self.most_runs.max(initial=0))
        if most > 0:
            found = self._named(self._at_runs(most)) or ""
            answers = answers.model_copy(update={"work": NearestWork(id=found, runs=most)})
        return answers

    def _nearest(self, reason: Reason, amounts: Floats) -> tuple[str, float] | None:
        """Return the option that would be recommended under the least limit under which one is."""
        limits = self._least_limits(reason, amounts)
        least = float(limits.min(initial=np.inf))
        if not math.isfinite(least):
            return None
        return self.alternatives[self.weighed.leading_of(limits <= least)[0]].id, least

    def _least_limits(self, reason: Reason, amounts: Floats) -> Floats:
        """Return the least limit under which each option could be chosen; infinite for none."""
        weighed = self.weighed
        possible = (self.columns.candidate & weighed.capable)[:, None] & weighed.within_all(reason)
        needed = math.ceil(weighed.question.probability * SAMPLES - 1e-9)
        limits: Floats = np.sort(np.where(possible, amounts, np.inf), axis=1)[:, needed - 1]
        return limits

    @cached_property
    def most_runs(self) -> Whole:
        """The most runs for which each option could be chosen; 0 for none."""
        columns, weighed, question = self.columns, self.weighed, self.weighed.question
        most = np.where(columns.candidate, whole_runs(columns), 0.0).astype(np.int64)
        if question.budget is None or question.budget_kind != "term":
            return np.where(weighed.often_enough, most, 0) if question.limited else most
        others = weighed.within_all("over_budget")
        least, most = np.zeros_like(most), most + 1
        while np.any(most - least > 1):
            middle = (least + most) // 2
            kept = others & (columns.outlay_samples(middle) <= question.budget)
            enough = kept.mean(axis=1) >= question.probability - ROUNDING
            least, most = np.where(enough, middle, least), np.where(enough, most, middle)
        return least

    def _at_runs(self, runs: int) -> int | None:
        """Return what is recommended for another number of runs."""
        columns = self.columns
        return next(
            iter(
                columns.leading(
                    self.most_runs >= runs,
                    columns.outlay(runs),
                    lambda some: columns.outlay_samples(runs, some),
                )
            ),
            None,
        )

    @cached_property
    def overturned_by(self) -> list[Overturn]:
        chosen = self.weighed.recommended
        if chosen is None:
            return []
        ids = [each.id for each in self.alternatives]
        found = [self.other_payment, self._price(chosen, HIGHEST)]
        if self.margin is not None:
            found.append(self._price(ids.index(self.margin.over), LOWEST))
        found += [self._earlier(chosen), self._later(chosen)]
        return [overturn for overturn in found if overturn is not None]

    @cached_property
    def other_payment(self) -> Overturn | None:
        """Runs from which buying takes the place of renting, or the other way round."""
        chosen, columns, runs = self.weighed.recommended, self.columns, self.weighed.runs
        if chosen is None:
            return None
        meeting = self.weighed.meets & columns.priced
        if not ((meeting & columns.owned).any() and (meeting & ~columns.owned).any()):
            return None

        def other(tried: int) -> int | None:
            """Return what is recommended for a number of runs, if it is paid in the other way."""
            index = self._at_runs(tried)
            return index if index is not None and columns.owned[index] != columns.owned[chosen] else None

        # The options that can be chosen change with the runs at these numbers only, and between two of them
        # the more work the better is owning.
        last = int(self.most_runs.max())
        steps = math.ceil(math.log(max(last, 2), GROWTH))
        marks = {math.floor(GROWTH**step) for step in range(steps)} | {
            int(most) + more for most in np.unique(self.most_runs) for more in (0, 1)
        }
        fewer = sorted((mark for mark in marks if 1 <= mark < runs), reverse=True)
        more = sorted(mark for mark in marks if runs < mark <= last)
        for way in (fewer, more) if columns.owned[chosen] else (more, fewer):
            at = _first(other, runs, way)
            if at is not None and (then := other(at)) is not None:
                return Overturn(
                    input="demand.runs",
                    at=Quantity.exact(float(at), "1"),
                    then=self._named(then),
                    even=self._even(chosen, then),
                )
        return Overturn(input="demand.runs", at=None, then=None)

    def _even(self, one: int, other: int) -> Quantity | None:
        """Return the runs at which two outlays are equal; None under commitments or where they never are."""
        columns = self.columns
        pair = np.array([one, other])
        slopes = columns.hourly[pair] * columns.seconds[pair] / HOUR
        if columns.commitment[pair].any() or slopes[0] == slopes[1]:
            return None
        runs = float((columns.fixed[other] - columns.fixed[one]) / (slopes[0] - slopes[1]))
        return Quantity.exact(runs, "1") if runs > 0 else None

    def _price(self, index: int, end: float) -> Overturn | None:
        """Return the price of an option's system from which another option is recommended."""
        weighed, columns, price = self.weighed, self.columns, self.alternatives[index].price
        if price is None:
            return None
        same = np.array(
            [
                each.price is not None and (each.price.item, each.price.per) == (price.item, price.per)
                for each in self.alternatives
            ]
        )
        # What is far above the least outlay at prices that stay as they are can never lead.
        staying = weighed.eligible & ~same
        reach = weighed.outlay[staying].min(initial=np.inf) * (1.0 + NEAR)
        pool = np.flatnonzero((staying & (weighed.outlay <= reach)) | (same & columns.candidate))
        some, systems, runs = columns.of_some(pool), same[pool], weighed.runs
        eligible = weighed.eligible[pool]

        def then(logarithm: float) -> int | None:
            factor = math.exp(logarithm)
            if weighed.question.budget is not None:
                found = Weighing(some.at_price(systems, factor), weighed.question, runs).recommended
                return None if found is None else int(pool[found])

            # No price moves what meets: samples of the doubtful alone are needed.
            def samples(few: Whole) -> Floats:
                return some.of_some(few).at_price(systems[few], factor).outlay_samples(runs)

            priced = some.at_price(systems, factor, sampled=False)
            leading = priced.leading(eligible, priced.outlay(runs), samples)
            return int(pool[leading[0]]) if leading else None

        name, far = f"price.{self.alternatives[index].id}", math.log(end)
        steps = [far * (step + 1) / PRICES for step in range(PRICES)]
        changed = next((step for step, tried in enumerate(steps) if then(tried) != weighed.recommended), None)
        if changed is None:
            return Overturn(input=name, at=None, then=None)
        near, far = steps[changed - 1] if changed else 0.0, steps[changed]
        for _ in range(HALVINGS):
            middle = (near + far) / 2.0
            near, far = (middle, far) if then(middle) == weighed.recommended else (near, middle)
        amount = price.price.value * math.exp(far)
        return Overturn(input=name, at=Quantity.exact(amount, price.price.unit), then=self._named(then(far)))

    @cached_property
    def _deadlines(self) -> Floats:
        """Least deadline of each option. [s]"""
        return self._least_limits("too_late", self.columns.time)

    def _earlier(self, chosen: int) -> Overturn:
        """Return the deadline below which another option is recommended."""
        weighed, deadlines = self.weighed, self._deadlines
        eligible, leading, then = weighed.eligible, weighed.leading, weighed.recommended
        at = math.inf
        while then == chosen:
            # Only without the recommended option or without the least does another lead.
            least = min(leading, key=lambda index: weighed.outlay[index])
            at = float(max(deadlines[chosen], deadlines[least]))
            eligible = eligible & (deadlines < at)
            leading = weighed.leading_of(eligible)
            then = leading[0] if leading else None
        return Overturn(input="deadline_s", at=Quantity.exact(at, "s"), then=self._named(then))

    def _later(self, chosen: int) -> Overturn | None:
        """Return the deadline later than the one asked from which another option is recommended."""
        weighed, deadlines, deadline = self.weighed, self._deadlines, self.weighed.question.deadline_s
        if deadline is None:
            return None
        reach = min(weighed.outlay[index] for index in weighed.leading) * (1.0 + NEAR)
        able = (deadlines > deadline) & np.isfinite(deadlines) & (weighed.outlay <= reach)
        for at in np.unique(deadlines[able]):
            then = weighed.leading_of(deadlines <= at)[0]
            if then != chosen:
                return Overturn(input="deadline_s", at=Quantity.exact(float(at), "s"), then=self._named(then))
        return None


def whole_runs(columns: Columns) -> Floats:
    """Return the runs that each option does one after another within its term."""
    whole = np.floor(columns.term / columns.seconds)
    whole += (whole + 1) * columns.seconds <= columns.term
    whole -= whole * np.where(columns.fits, columns.seconds, 0.0) > columns.term
    return whole


def _quantities(central: Floats, samples: Floats, unit: str, known: Flags) -> list[Quantity | None]:
    """Return amounts with their range; None where unknown."""
    low, high = band(np.where(known[:, None], samples, 0.0), np.where(known, central, 0.0))
    return [
        Quantity(value=float(central[index]), low=float(low[index]), high=float(high[index]), unit=unit)
        if there
        else None
        for index, there in enumerate(known)
    ]


def _first(other: Callable[[int], int | None], start: int, marks: Iterable[int]) -> int | None:
    """Return the number nearest to the start from which something else is recommended."""
    near = start
    for far in marks:
        if other(far) is not None:
            while abs(far - near) > 1:
                middle = (near + far) // 2
                near, far = (near, middle) if other(middle) is not None else (middle, far)
            return far
        near = far
    return None
