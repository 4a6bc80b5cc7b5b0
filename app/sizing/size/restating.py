"""A sizing under its limits: judged from samples, so that other limits need no other search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.records import Floats
from app.sizing.size.changes import nearest_of
from app.sizing.size.documents import FrontPoint, Sizing, SizingOption
from app.sizing.size.judging import Limits, Verdict, judge
from app.sizing.size.request import SizingRequest


@dataclass(frozen=True, slots=True)
class SampledOption:
    """An option's document with the samples behind it."""

    document: SizingOption
    seconds: float
    cost: float
    seconds_samples: Floats
    cost_samples: Floats


def sampled_option(document: SizingOption, samples: tuple[Floats, Floats] | None) -> SampledOption:
    """Return an option with its samples; one that does not fit has none."""
    time, cost = document.time_to_train, document.cost
    seconds, costs = samples if samples is not None else (np.full(1, np.inf), np.full(1, np.inf))
    return SampledOption(
        document,
        float("inf") if time is None else time.value,
        float("inf") if cost is None else cost.value,
        seconds,
        costs,
    )


def limits_of(request: SizingRequest) -> Limits:
    """Return what a request asks to be kept."""
    return Limits(request.deadline_s, request.budget, request.probability)


def restated(document: Sizing, options: Sequence[SampledOption], request: SizingRequest) -> Sizing:
    """Return a sizing judged under the limits of a request.

    Parameters
    ----------
    document : Sizing
        The sizing; its options and what follows from them are replaced. [-]
    options : sequence of SampledOption
        All options. [-]
    request : SizingRequest
        Deadline, budget and probability. [-]
    """
    limits = limits_of(request)
    verdict = judge(options, limits)
    stated = [_stated(option.document, verdict, place, limits) for place, option in enumerate(options)]
    nearest = None
    if verdict.cheapest is None:
        nearest = nearest_of(
            stated,
            [option.seconds_samples for option in options],
            [option.cost_samples for option in options],
            verdict,
            limits,
            request,
        )
    cheapest = None if verdict.cheapest is None else stated[verdict.cheapest].id
    fastest = None if verdict.fastest is None else stated[verdict.fastest].id
    front = sorted(np.flatnonzero(verdict.front), key=lambda place: float(verdict.seconds[place]))
    return document.model_copy(
        update={
            "request": request,
            "outcome": ("met" if limits.given else "front") if cheapest is not None else "not_met",
            "cheapest": cheapest,
            "fastest": fastest,
            "nearest": nearest,
            "recommended": _recommended(limits, cheapest, fastest) or (nearest.option if nearest else None),
            "options": _ordered(stated),
            "pareto": [_point(stated[place]) for place in front],
        }
    )


def samples_of(stored: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, tuple[Floats, Floats]]:
    """Return samples as they were kept, as arrays; a run without a price is above every budget."""
    return {name: (np.array(pair[0]), _costs(pair[1], len(pair[0]))) for name, pair in stored.items()}


def _costs(stored: Sequence[float], count: int) -> Floats:
    return np.array(stored, dtype=float) if len(stored) else np.full(count, np.inf)


def _recommended(limits: Limits, cheapest: str | None, fastest: str | None) -> str | None:
    """Return the fastest where only a budget is given, else the cheapest."""
    return fastest if limits.deadline is None and limits.budget is not None else cheapest


def _stated(document: SizingOption, verdict: Verdict, place: int, limits: Limits) -> SizingOption:
    def share(values: Floats, given: bool) -> float | None:
        return float(values[place]) if given and document.fits else None

    return document.model_copy(
        update={
            "probability": share(verdict.probability, limits.given),
            "probability_deadline": share(verdict.deadline, limits.deadline is not None),
            "probability_budget": share(verdict.budget, limits.budget is not None),
            "meets": bool(verdict.meets[place]),
            "on_front": bool(verdict.front[place]),
        }
    )


def _ordered(options: Sequence[SizingOption]) -> list[SizingOption]:
    """Return options that meet before others, the cheapest first."""

    def place(option: SizingOption) -> tuple[bool, bool, float, float]:
        cost = float("inf") if option.cost is None else option.cost.value
        time = float("inf") if option.time_to_train is None else option.time_to_train.value
        return not option.meets, not option.fits, cost, time

    return sorted(options, key=place)


def _point(option: SizingOption) -> FrontPoint:
    assert option.time_to_train is not None, "options on the front have a time"
    return FrontPoint(
        option=option.id,
        system=option.system,
        count=option.count,
        time_to_train=option.time_to_train,
        cost=option.cost,
    )
