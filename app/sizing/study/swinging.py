"""What if an input is wrong: how far each alone moves the lead of the best option, and which overtake it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from app.engine.contest import lead, part_rescaled
from app.errors import Message
from app.sizing.document import Estimate, Text
from app.sizing.study.documents import Metric, StudyOptionAnswer, Swing, Tornado
from app.sizing.study.request import StudyContent

Amounts = dict[str, float]
"""Time or cost by key of the option."""

RUNNING = {"power", "space", "staff", "electricity", "storage", "egress"}
"""Lines of the hourly cost that do not follow the price of the hardware."""

SHOWN = 10


def tornado_of(
    metric: Metric, content: StudyContent, options: Sequence[StudyOptionAnswer], share: float
) -> Tornado | None:
    """Return what would change the best option; None where fewer than two can be held against each other.

    Every input is taken alone to both ends, all others as they are. Times and costs are those of the answer
    with the part that follows the input scaled, so nothing is estimated again and the plan stays.

    Parameters
    ----------
    metric : str
        Time or cost. [-]
    content : StudyContent
        The study, which says what is scaled from what. [-]
    options : sequence of StudyOptionAnswer
        Its options as answered. [-]
    share : float
        How far off each assumed input is looked at. [-]
    """
    central = {
        option.key: found.value
        for option in options
        if (found := option.time if metric == "time" else option.cost) is not None and found.value > 0
    }
    if len(central) < 2:
        return None
    ranked = sorted(central, key=lambda key: central[key])
    known = [option for option in options if option.key in central]
    inputs = _times(metric, content, known, share)
    if metric == "cost":
        inputs = [*inputs, *_costs(known, share)]
    labels = {option.key: option.label for option in options}
    swings = [
        swing
        for name, key, basis, low, high in inputs
        if (
            swing := _swing(
                name, key, basis, {**central, **low}, {**central, **high}, ranked[0], labels, share
            )
        )
    ]
    swings.sort(key=lambda swing: (swing.overtaken_by is None, -abs(swing.high - swing.low)))
    return Tornado(
        metric=metric,
        best=ranked[0],
        runner_up=ranked[1],
        lead=_lead(central, ranked[0]),
        share=share,
        swings=swings[:SHOWN],
    )


Input = tuple[str, str | None, str, Amounts, Amounts]
"""Input, option, basis, and the amounts it changes at its low and at its high end."""


def _lead(amounts: Amounts, best: str) -> float:
    others = np.array([value for key, value in amounts.items() if key != best])
    return float(lead(amounts[best], others))


def _swing(
    name: str,
    key: str | None,
    basis: str,
    low: Amounts,
    high: Amounts,
    best: str,
    labels: Mapping[str, str],
    share: float,
) -> Swing | None:
    others = np.array([(low[one], high[one]) for one in low if one != best])
    ends = [float(end) for end in lead(np.array([low[best], high[best]]), others)]
    if math.isclose(ends[0], ends[1], rel_tol=1e-9):
        return None
    worse = low if ends[0] < ends[1] else high
    overtaken = min(worse, key=lambda one: worse[one]) if min(ends) < 1.0 else None
    return Swing(
        input=name,
        option=key,
        basis="model" if basis == "model" else "assumed",
        low=ends[0],
        high=ends[1],
        overtaken_by=overtaken,
        text=Text.of(_sentence(name, key, basis, overtaken, best, labels, share)),
    )


def _sentence(
    name: str,
    key: str | None,
    basis: str,
    overtaken: str | None,
    best: str,
    labels: Mapping[str, str],
    share: float,
) -> Message:
    what: object = Message("{fields}", {"fields": name})
    if key is not None:
        what = Message("{fields} of {option}", {"fields": name, "option": labels[key]})
    if overtaken is None:
        template = "{input} off by {share} %: {best} stays the best"
        if basis == "model":
            template = "{input} between its 10th and 90th percentile: {best} stays the best"
        return Message(template, {"input": what, "share": round(100 * share), "best": labels[best]})
    template = "{input} off by {share} %: {other} overtakes {best}"
    if basis == "model":
        template = "{input} between its 10th and 90th percentile: {other} overtakes {best}"
    values = {"input": what, "share": round(100 * share), "other": labels[overtaken], "best": labels[best]}
    return Message(template, values)


def _ends(share: float, scaled: Callable[[float], Amounts]) -> tuple[Amounts, Amounts]:
    return scaled(1.0 - share), scaled(1.0 + share)


def _amount(option: StudyOptionAnswer, metric: Metric) -> float:
    found = option.time if metric == "time" else option.cost
    return found.value if found is not None else 0.0


def _times(
    metric: Metric, content: StudyContent, options: Sequence[StudyOptionAnswer], share: float
) -> list[Input]:
    """Return what moves times, and costs with them: whole estimates, the software's figures, failures."""
    amounts = {option.key: _amount(option, metric) for option in options}
    found: list[Input] = []
    follows = {option.key: _followers(option.key, content) & set(amounts) for option in options}
    for option in options:
        moved = {option.key, *follows[option.key]}

        def together(factor: float, moved: set[str] = moved) -> Amounts:
            return {key: amounts[key] * factor for key in moved}

        low, high = _ends(share, together)
        found.append(("time_to_train", option.key, "assumed", low, high))
    found += _software(metric, options)
    lost = {option.key: _lost(option) for option in options}
    if any(lost.values()):

        def failing(factor: float) -> Amounts:
            return {
                option.key: amounts[option.key] * _rescaled(option, lost[option.key], factor)
                for option in options
                if lost[option.key]
            }

        low, high = _ends(share, failing)
        found.append(("failures", None, "assumed", low, high))
    scaled = [
        option.key
        for option in content.options
        if option.figure is not None and option.figure.kind == "linear" and option.key in amounts
        if (option.figure.factor or 2.0) > 1
    ]
    if scaled:
        efficiency = content.base.scaling_efficiency

        def scaling(factor: float) -> Amounts:
            reached = min(efficiency * factor, 1.0)
            return {key: amounts[key] * efficiency / reached for key in scaled}

        low, high = _ends(share, scaling)
        found.append(("scaling_efficiency", None, "assumed", low, high))
    return found


def _followers(key: str, content: StudyContent) -> set[str]:
    """Return the options that are scaled from one, directly or not."""
    found: set[str] = set()
    fresh = {key}
    while fresh:
        fresh = {
            option.key
            for option in content.options
            if option.figure is not None and option.figure.scaled_from in fresh and option.key not in found
        }
        found |= fresh
    return found - {key}


def _software(metric: Metric, options: Sequence[StudyOptionAnswer]) -> Iterator[Input]:
    """Return the model's own figures; options on one software profile move together."""
    figures: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for option in options:
        estimate = option.estimate
        if estimate is None or estimate.time_to_train is None or estimate.software is None:
            continue
        for one in estimate.sensitivity:
            low, high = (end / estimate.time_to_train.value for end in (one.low, one.high))
            figures.setdefault((estimate.software, one.input), []).append((option.key, low, high))
    amounts = {option.key: _amount(option, metric) for option in options}
    profiles = {profile for profile, _ in figures}
    for (_, name), moved in figures.items():
        least = {key: amounts[key] * factor for key, factor, _ in moved}
        most = {key: amounts[key] * factor for key, _, factor in moved}
        yield name, None if len(profiles) == 1 or len(moved) > 1 else moved[0][0], "model", least, most


def _lost(option: StudyOptionAnswer) -> float:
    parts = option.estimate.breakdown if option.estimate and option.estimate.breakdown else []
    return sum(part.seconds for part in parts if part.part in {"failures", "checkpoint"})


def _rescaled(option: StudyOptionAnswer, part: float, factor: float) -> float:
    time = option.time.value if option.time is not None else 1.0
    return float(part_rescaled(time, part, factor)) / time


def _costs(options: Sequence[StudyOptionAnswer], share: float) -> Iterator[Input]:
    """Return what moves costs alone: prices, the tariff, staff and the share of the time in use."""
    costed = [(option, option.estimate) for option in options if option.estimate and option.estimate.cost]
    amounts = {option.key: _amount(option, "cost") for option, _ in costed}

    def lines(
        option: StudyOptionAnswer, estimate: Estimate, names: set[str] | None
    ) -> Callable[[float], Amounts]:
        """Return the cost of an option with lines of these names scaled; those of hardware where None."""
        cost = estimate.cost
        assert cost is not None
        hour = sum(line.hourly for line in cost.lines) or 1.0
        part = sum(
            line.hourly
            for line in cost.lines
            if (line.item in names if names is not None else line.item not in RUNNING)
        )
        return lambda factor: {
            option.key: amounts[option.key] * float(part_rescaled(hour, part, factor)) / hour
        }

    for option, estimate in costed:
        low, high = _ends(share, lines(option, estimate, None))
        yield "price", option.key, "assumed", low, high
    for name, items in (("electricity_per_kwh", {"power", "electricity"}), ("staff", {"staff"})):

        def all_of(factor: float, items: set[str] = items) -> Amounts:
            return {
                key: value
                for one, estimate in costed
                for key, value in lines(one, estimate, items)(factor).items()
            }

        low, high = _ends(share, all_of)
        yield name, None, "assumed", low, high
    owned = [
        (option.key, float(str(estimate.cost.basis.get("utilisation") or 1.0)))
        for option, estimate in costed
        if estimate.cost is not None and estimate.cost.basis.get("acquisition") == "own"
    ]
    if owned:

        def used(factor: float) -> Amounts:
            return {
                key: amounts[key] * share_used / min(share_used * factor, 1.0) for key, share_used in owned
            }

        low, high = _ends(share, used)
        yield "utilisation", None, "assumed", low, high
