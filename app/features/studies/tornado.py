"""What if an input is wrong: how far each alone moves the lead of the best option, and which overtake it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

import numpy as np

from app.engine.records import Floats
from app.engine.uncertainty import band, lead, linear_effects, part_rescaled, share_of_range, variance_shares
from app.errors import Message
from app.estimating.documents import Estimate, Text
from app.estimating.ranges import common_normals
from app.estimating.runtime import LEAST_WIDTH, RESIDUAL
from app.features.studies.model import Metric, StudyContent, StudyOptionAnswer, Swing, Tornado

Amounts = dict[str, float]
"""Time or cost by key of the option."""

RUNNING = {"power", "space", "staff", "electricity", "storage", "egress"}
"""Lines of the hourly cost that do not follow the price of the hardware."""

SOFTWARE = "software."

SHOWN = 10


def tornado_of(
    metric: Metric,
    content: StudyContent,
    options: Sequence[StudyOptionAnswer],
    share: float,
    drawn: Mapping[str, Floats | None],
) -> Tornado | None:
    """Return what would change the best option; None where fewer than two can be held against each other.

    What the model is unsure of comes from the samples of the lead itself: each input has the root of its
    share of their variance of the range. An assumed input is taken alone to both ends, all others as they
    are, the part of the cost that follows it scaled; nothing is estimated again and the plan stays.
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
    certain = {key for key in central if drawn.get(key) is None}
    inputs = _times(metric, content, known, share, certain)
    if metric == "cost":
        inputs = [*inputs, *_costs(known, share)]
    labels = {option.key: option.label for option in options}
    swings = [
        swing
        for name, key, low, high in inputs
        if (swing := _swing(name, key, {**central, **low}, {**central, **high}, ranked[0], labels, share))
    ]
    leads = _lead_samples(central, drawn, ranked[0])
    low, high = (None, None) if leads is None else map(float, band(leads, _lead(central, ranked[0])))
    if leads is not None and low is not None and high is not None:
        moved = _effects(metric, content, known, drawn)
        swings += _model_swings(leads, (_lead(central, ranked[0]), low, high), moved, ranked, labels)
    swings.sort(key=lambda swing: (swing.overtaken_by is None, -abs(swing.high - swing.low)))
    return Tornado(
        metric=metric,
        best=ranked[0],
        runner_up=ranked[1],
        lead=_lead(central, ranked[0]),
        low=low,
        high=high,
        share=share,
        swings=swings[:SHOWN],
    )


Input = tuple[str, str | None, Amounts, Amounts]
"""Assumed input, option, and the amounts it changes at its low and at its high end."""


def _lead(amounts: Amounts, best: str) -> float:
    others = np.array([value for key, value in amounts.items() if key != best])
    return float(lead(amounts[best], others))


def _lead_samples(
    central: Mapping[str, float], drawn: Mapping[str, Floats | None], best: str
) -> Floats | None:
    """Return samples of the lead of the best option; None where neither it nor another has samples."""
    if all(drawn.get(key) is None for key in central):
        return None
    size = next(found.size for key in central if (found := drawn.get(key)) is not None)
    table = {
        key: np.full(size, value) if (found := drawn.get(key)) is None else found
        for key, value in central.items()
    }
    found = lead(table[best], np.array([one for key, one in table.items() if key != best]))
    return None if float(np.ptp(found)) <= 1e-9 * float(np.mean(found)) else found


def _effects(
    metric: Metric,
    content: StudyContent,
    options: Sequence[StudyOptionAnswer],
    drawn: Mapping[str, Floats | None],
) -> dict[str, dict[str, float]]:
    """Return by input how far the logarithm of each option moves with one standard deviation of it."""
    found: dict[str, dict[str, float]] = {}
    for option in options:
        estimate = option.estimate
        if estimate is None:
            continue
        moved = {option.key, *_followers(option.key, content)}
        for one in estimate.sensitivity:
            if one.effect is not None:
                found.setdefault(one.input, {}).update(dict.fromkeys(moved, one.effect))
        costs, times = drawn.get(option.key), estimate.time_samples
        if metric == "cost" and costs is not None and times is not None:
            hourly = np.log(costs / np.asarray(times))
            prices = linear_effects(hourly, common_normals(costs.size)["price"][np.newaxis, :])
            found.setdefault("price", {})[option.key] = float(prices[0])
    return found


def _model_swings(
    leads: Floats,
    ends: tuple[float, float, float],
    moved: Mapping[str, Mapping[str, float]],
    ranked: Sequence[str],
    labels: Mapping[str, str],
) -> Iterator[Swing]:
    """Return what each uncertain input of the model has of the range of the lead, the residual last."""
    best, second = ranked[:2]
    normals = common_normals(leads.size)
    slopes = {name: by.get(second, 0.0) - by.get(best, 0.0) for name, by in moved.items()}
    slopes = {name: slope for name, slope in slopes.items() if slope}
    parts = [slope * normals[name.removeprefix(SOFTWARE)] for name, slope in slopes.items()]
    shares = variance_shares(np.log(leads), np.array(parts).reshape(len(parts), leads.size))
    for name, slope, part in zip([*slopes, RESIDUAL], [*slopes.values(), 1.0], shares, strict=True):
        if part <= LEAST_WIDTH**2:
            continue
        low, high = (float(end) for end in share_of_range(*ends, part))
        overtaken = second if low < 1.0 else None
        yield Swing(
            input=name,
            option=None,
            basis="model",
            low=low if slope > 0 else high,
            high=high if slope > 0 else low,
            overtaken_by=overtaken,
            text=Text.of(_sentence(name, None, "model", overtaken, best, labels, 0.0)),
        )


def _swing(
    name: str,
    key: str | None,
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
        basis="assumed",
        low=ends[0],
        high=ends[1],
        overtaken_by=overtaken,
        text=Text.of(_sentence(name, key, "assumed", overtaken, best, labels, share)),
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
            template = "{input} from P10 to P90: {best} stays the best"
        return Message(template, {"input": what, "share": round(100 * share), "best": labels[best]})
    template = "{input} off by {share} %: {other} overtakes {best}"
    if basis == "model":
        template = "{input} from P10 to P90: {other} overtakes {best}"
    values = {"input": what, "share": round(100 * share), "other": labels[overtaken], "best": labels[best]}
    return Message(template, values)


def _ends(share: float, scaled: Callable[[float], Amounts]) -> tuple[Amounts, Amounts]:
    return scaled(1.0 - share), scaled(1.0 + share)


def _amount(option: StudyOptionAnswer, metric: Metric) -> float:
    found = option.time if metric == "time" else option.cost
    return found.value if found is not None else 0.0


def _times(
    metric: Metric,
    content: StudyContent,
    options: Sequence[StudyOptionAnswer],
    share: float,
    certain: Set[str],
) -> list[Input]:
    """Return what is assumed of times, and of costs with them: stated times and how they scale."""
    amounts = {option.key: _amount(option, metric) for option in options}
    found: list[Input] = []
    follows = {option.key: _followers(option.key, content) & set(amounts) for option in options}
    for option in options:
        if option.key not in certain:
            continue
        moved = {option.key, *follows[option.key]}

        def together(factor: float, moved: set[str] = moved) -> Amounts:
            return {key: amounts[key] * factor for key in moved}

        low, high = _ends(share, together)
        found.append(("time_to_train", option.key, low, high))
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
        found.append(("scaling_efficiency", None, low, high))
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
        yield "price", option.key, low, high
    for name, items in (("electricity_per_kwh", {"power", "electricity"}), ("staff", {"staff"})):

        def all_of(factor: float, items: set[str] = items) -> Amounts:
            return {
                key: value
                for one, estimate in costed
                for key, value in lines(one, estimate, items)(factor).items()
            }

        low, high = _ends(share, all_of)
        yield name, None, low, high
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
        yield "utilisation", None, low, high
