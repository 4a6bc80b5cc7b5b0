"""Options of a sizing with their samples, decided under the limits of a request."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.engine.comparison import pareto_front
from app.engine.records import Floats
from app.estimating.decision import Alternative, Decision
from app.estimating.deliberation import Columns, Weighing, decision_of, demanded_runs
from app.estimating.outlay import Uncertain
from app.estimating.ranges import SAMPLES
from app.features.sizings.model import FrontPoint, OptionCosts, SizingOption, SizingRequest

STORED = np.dtype("<f4")
"""Type of stored samples: seven digits."""


@dataclass(frozen=True, slots=True)
class SampledOption:
    """An option as it is answered, and as a decision sees it."""

    document: SizingOption
    alternative: Alternative
    time: Uncertain | None
    """Time to train; None where the model does not fit. [s]"""

    @property
    def seconds(self) -> float:
        """Time to train; infinite where the model does not fit. [s]"""
        return math.inf if self.time is None else self.time[0]


def stored_samples(options: Iterable[SampledOption]) -> dict[str, str]:
    """Return the samples of the time of every option that fits, as text."""
    return {
        option.document.id: b64encode(np.asarray(option.time[1], STORED).tobytes()).decode("ascii")
        for option in options
        if option.time is not None
    }


def samples_of(stored: Mapping[str, object]) -> dict[str, Floats]:
    """Return stored samples of times; of version 0.1.0 they come first of three. [s]"""
    return {
        option: np.frombuffer(b64decode(text), STORED).astype(float)[:SAMPLES]
        for option, text in stored.items()
        if isinstance(text, str)
    }


def weighing_of(options: Sequence[SampledOption], request: SizingRequest, term: float) -> Weighing:
    """Return options weighed under the limits of a request; ``term`` is for those without a price. [s]"""
    columns, question = Columns.of([option.alternative for option in options], term), request.question
    return Weighing(columns, question, demanded_runs(columns, question, term))


def fronts(weighing: Weighing) -> list[int]:
    """Return the options that no other one, paid for in the same way, beats in both time and outlay."""
    columns = weighing.columns
    front: list[int] = []
    for owned in (True, False):
        indices = np.flatnonzero(columns.owned == owned)
        front += [int(i) for i in indices[pareto_front(columns.seconds[indices], weighing.outlay[indices])]]
    return front


def decided(options: Sequence[SampledOption], request: SizingRequest, term: float) -> dict[str, Any]:
    """Return the fields of a sizing that follow from the limits of a request, without a search."""
    decision = decision_of([option.alternative for option in options], request.question, term)
    front = _front(options, decision)
    by_id = {option.id: option for option in decision.options}
    stated = []
    for option in options:
        weighed = by_id[option.document.id]
        update = {
            "probability": weighed.probability,
            "meets": weighed.meets,
            "on_front": option.document.id in front,
            "costs": OptionCosts(purchase=weighed.purchase, run=weighed.run, term=weighed.outlay),
            "idle_share": weighed.idle_share,
            "why_not": weighed.why_not,
            "verdict": weighed.reason,
        }
        stated.append(option.document.model_copy(update=update))
    order = [decision.recommended, *decision.tied]

    def rank(option: SizingOption) -> tuple[int, bool, bool, float, float]:
        place = order.index(option.id) if option.id in order else len(order)
        outlay = math.inf if option.costs.term is None else option.costs.term.value
        return place, not option.meets, not option.fits, outlay, _time(option)

    listed = sorted(stated, key=rank)
    return {
        "request": request,
        "decision": decision,
        "recommended": decision.recommended,
        "margin": decision.margin,
        "options": listed,
        "pareto": [_front_point(option) for option in sorted(listed, key=_time) if option.on_front],
    }


def _front(options: Sequence[SampledOption], decision: Decision) -> set[str]:
    outlays = [math.inf if option.outlay is None else option.outlay.value for option in decision.options]
    seconds = np.array([option.seconds for option in options])
    front = pareto_front(seconds, np.array(outlays))
    return {option.document.id for option, kept in zip(options, front, strict=True) if kept}


def _time(option: SizingOption) -> float:
    return math.inf if option.time_to_train is None else option.time_to_train.value


def _front_point(option: SizingOption) -> FrontPoint:
    assert option.time_to_train is not None, "options on the front have a time"
    return FrontPoint(
        option=option.id,
        system=option.system,
        count=option.count,
        time_to_train=option.time_to_train,
        cost=option.cost,
        costs=option.costs,
    )
