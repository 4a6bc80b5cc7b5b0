"""A sizing under its limits: judged from samples, so that other limits need no other search."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.records import Floats
from app.sizing.size.changes import nearest_of, purchase_needed
from app.sizing.size.documents import FrontPoint, Margin, Sizing, SizingOption
from app.sizing.size.judging import LimitVerdict, SizingLimits, held_kind, judge
from app.sizing.size.margin import margin_of, winner_of
from app.sizing.size.request import BudgetKind, SizingRequest

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
