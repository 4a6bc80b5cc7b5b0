"""Sensitivity of the best option: how far each input alone moves its lead, and which option overtakes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np

from app.engine.records import Floats
from app.engine.uncertainty import band, lead, linear_effects, part_rescaled
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import common_normals
from app.estimating.runtime import parts_of_range
from app.features.studies.common_basis import AmountSamples
from app.features.studies.model import Metric, StudyContent, StudyOptionAnswer, Swing, Tornado

Amounts = dict[str, float]
"""Time or cost by key of the option."""

AssumedInput = tuple[str, str | None, Collection[str], Callable[[str, float], float]]
"""Assumed input, its option, the options that it affects, and the amount of one for a factor on the input."""

RUNNING = {"power", "space", "staff", "electricity", "storage", "egress"}
"""Lines of the hourly cost that are not proportional to the price of the hardware."""

SOFTWARE = "software."

SHOWN = 10


def tornado_of(
    metric: Metric,
    content: StudyContent,
    options: Sequence[StudyOptionAnswer],
    share: float,
    amounts: Mapping[str, AmountSamples | None],
) -> Tornado | None:
    """Return what would change the best option; None if fewer than two can be compared.

    An uncertain input of the model has the root of its share of the variance of the sampled lead. An assumed
    input is varied alone: what depends on it is scaled, and nothing is estimated again.
    """
    central = {
        option.key: quantity.value
        for option in options
        if (quantity := option.time if metric == "time" else option.cost) is not None and quantity.value > 0
    }
    if len(central) < 2:
        return None
    best, runner_up = sorted(central, key=lambda key: central[key])[:2]
    known = [option for option in options if option.key in central]
    labels = {option.key: option.label for option in options}
    samples = {
        key: amount.samples for key in central if (amount := amounts[key]) and amount.samples is not None
    }
    assumed = [*_assumed_times(content, central, samples)]
    if metric == "cost":
        assumed += _assumed_costs(known, central)
    swings = [
        swing
        for assumption in assumed
        if (swing := _assumed_swing(*assumption, central, best, share, labels)) is not None
    ]
    own_lead = _lead(central, best)
    leads, low, high = _lead_samples(central, samples, best), None, None
    if leads is not None:
        low, high = map(float, band(leads, own_lead))
        effects = _effects(metric, content, known, samples)
        slopes = {
            name: slope
            for name, by_key in effects.items()
            if (slope := by_key.get(runner_up, 0.0) - by_key.get(best, 0.0))
        }
        swings += _model_swings(leads, own_lead, slopes, (best, runner_up), labels)
    swings.sort(key=lambda swing: (swing.overtaken_by is None, -abs(swing.high - swing.low)))
    return Tornado(
        metric=metric,
        best=best,
        runner_up=runner_up,
        lead=own_lead,
        low=low,
        high=high,
        share=share,
        swings=swings[:SHOWN],
    )


def _lead(amounts: Amounts, best: str) -> float:
    return float(lead(amounts[best], np.array([value for key, value in amounts.items() if key != best])))


def _lead_samples(central: Amounts, samples: Mapping[str, Floats], best: str) -> Floats | None:
    """Return samples of the lead of the best option; None if it does not vary."""
    if not samples:
        return None
    size = next(iter(samples.values())).size
    table = {key: samples.get(key, np.full(size, value)) for key, value in central.items()}
    leads = lead(table[best], np.array([amounts for key, amounts in table.items() if key != best]))
    return None if float(np.ptp(leads)) <= 1e-9 * float(np.mean(leads)) else leads


def _assumed_times(
    content: StudyContent, amounts: Amounts, samples: Mapping[str, Floats]
) -> Iterator[AssumedInput]:
    """Yield the assumed inputs of times and thus of costs: stated times and how they scale."""
    for key in amounts:
        if key not in samples:
            affected = amounts.keys() & {key, *_followers(key, content)}
            yield "time_to_train", key, affected, lambda option, factor: amounts[option] * factor
    efficiency = content.base.scaling_efficiency
    scaled = [
        option.key
        for option in content.options
        if option.figure is not None and option.figure.kind == "linear" and option.key in amounts
        if (option.figure.factor or 2.0) > 1
    ]
    if scaled:
        yield (
            "scaling_efficiency",
            None,
            scaled,
            lambda option, factor: amounts[option] * efficiency / min(efficiency * factor, 1.0),
        )


def _followers(key: str, content: StudyContent) -> set[str]:
    """Return the options that are scaled from one, directly or indirectly."""
    followers: set[str] = set()
    added = {key}
    while added:
        added = {
            option.key
            for option in content.options
            if option.figure is not None
            and option.figure.scaled_from in added
            and option.key not in followers
        }
        followers |= added
    return followers - {key}


def _assumed_costs(options: Sequence[StudyOptionAnswer], amounts: Amounts) -> Iterator[AssumedInput]:
    """Yield the assumed inputs of costs alone: prices, the tariff, staff and utilisation."""
    costs = {
        option.key: option.estimate.cost for option in options if option.estimate and option.estimate.cost
    }

    def rescaled(follows: Callable[[str], bool], option: str, factor: float) -> float:
        """Return the cost of an option with the lines that follow an input multiplied by a factor."""
        lines = costs[option].lines
        hour = sum(line.hourly for line in lines) or 1.0
        part = sum(line.hourly for line in lines if follows(line.item))
        return amounts[option] * float(part_rescaled(hour, part, factor)) / hour

    for key in costs:
        yield "price", key, [key], partial(rescaled, lambda item: item not in RUNNING)
    yield "electricity_per_kwh", None, costs, partial(rescaled, {"power", "electricity"}.__contains__)
    yield "staff", None, costs, partial(rescaled, {"staff"}.__contains__)
    used = {
        key: float(str(cost.basis.get("utilisation") or 1.0))
        for key, cost in costs.items()
        if cost.basis.get("acquisition") == "own"
    }
    if used:
        yield (
            "utilisation",
            None,
            used,
            lambda option, factor: amounts[option] * used[option] / min(used[option] * factor, 1.0),
        )


def _assumed_swing(
    name: str,
    key: str | None,
    affected: Collection[str],
    amount: Callable[[str, float], float],
    central: Amounts,
    best: str,
    share: float,
    labels: Mapping[str, str],
) -> Swing | None:
    ends = [
        {**central, **{option: amount(option, factor) for option in affected}}
        for factor in (1.0 - share, 1.0 + share)
    ]
    low, high = (_lead(amounts, best) for amounts in ends)
    if math.isclose(low, high, rel_tol=1e-9):
        return None
    worse = ends[0] if low < high else ends[1]
    overtaken = min(worse, key=lambda option: worse[option]) if min(low, high) < 1.0 else None
    return _swing(name, key, "assumed", (low, high), overtaken, best, share, labels)


def _effects(
    metric: Metric, content: StudyContent, options: Sequence[StudyOptionAnswer], samples: Mapping[str, Floats]
) -> dict[str, dict[str, float]]:
    """Return by input the change of the logarithm of each option with one standard deviation of the input."""
    effects: dict[str, dict[str, float]] = {}
    for option in options:
        if option.estimate is None:
            continue
        affected = {option.key, *_followers(option.key, content)}
        for part in option.estimate.sensitivity:
            if part.effect is not None:
                effects.setdefault(part.input, {}).update(dict.fromkeys(affected, part.effect))
        costs, times = samples.get(option.key), option.estimate.time_samples
        if metric == "cost" and costs is not None and times is not None:
            hourly = np.log(costs / np.asarray(times))
            prices = linear_effects(hourly, common_normals(costs.size)["price"][np.newaxis, :])
            effects.setdefault("price", {})[option.key] = float(prices[0])
    return effects


def _model_swings(
    leads: Floats,
    own_lead: float,
    slopes: Mapping[str, float],
    pair: tuple[str, str],
    labels: Mapping[str, str],
) -> Iterator[Swing]:
    """Yield the part of each uncertain input of the model in the range of the lead, the residual last."""
    best, runner_up = pair
    normals = common_normals(leads.size)
    parts = {name: slope * normals[name.removeprefix(SOFTWARE)] for name, slope in slopes.items()}
    for name, _, low, high in parts_of_range(leads, own_lead, parts):
        ends = (low, high) if slopes.get(name, 1.0) > 0 else (high, low)
        overtaken = runner_up if low < 1.0 else None
        yield _swing(name, None, "model", ends, overtaken, best, 0.0, labels)


def _swing(
    name: str,
    key: str | None,
    basis: Literal["assumed", "model"],
    ends: tuple[float, float],
    overtaken: str | None,
    best: str,
    share: float,
    labels: Mapping[str, str],
) -> Swing:
    subject = Message("{fields}", {"fields": name})
    if key is not None:
        subject = Message("{fields} of {option}", {"fields": name, "option": labels[key]})
    values: dict[str, object] = {"input": subject, "share": round(100 * share)}
    if overtaken is None:
        template = "{input} off by {share} %: {best} stays the best"
        if basis == "model":
            template = "{input} from P10 to P90: {best} stays the best"
    else:
        values["other"] = labels[overtaken]
        template = "{input} {share} % higher: {other} overtakes {best}"
        if ends[0] < ends[1]:
            template = "{input} {share} % lower: {other} overtakes {best}"
        if basis == "model":
            template = "{input} from P10 to P90: {other} overtakes {best}"
    text = Text.of(Message(template, {**values, "best": labels[best]}))
    return Swing(
        input=name, option=key, basis=basis, low=ends[0], high=ends[1], overtaken_by=overtaken, text=text
    )
