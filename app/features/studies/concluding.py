"""Conclusion of a study in sentences, and whether its options meet the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money, significant
from app.features.comparisons.common_basis import ways_to_pay
from app.features.comparisons.compare import AmountSamples
from app.features.studies.model import Contest, Metric, StudyLimits, StudyOptionAnswer

USUAL_PROBABILITY = 0.8


def conclusion(
    options: Sequence[StudyOptionAnswer],
    best: Mapping[Metric, Sequence[str]],
    contests: Sequence[Contest],
    limits: StudyLimits,
    spent: Mapping[str, float | None],
) -> list[Text]:
    """Return the result of a study: who is fastest and cheapest, by how much, and who meets the limits.

    ``spent`` is the amount that each option takes of the budget. The last sentences name the way to pay, and
    what another way would cost.
    """
    ways = ways_to_pay({option.label: option.costs for option in options})
    return [Text.of(sentence) for sentence in (*_result(options, best, contests, limits, spent), *ways)]


def _result(
    options: Sequence[StudyOptionAnswer],
    best: Mapping[Metric, Sequence[str]],
    contests: Sequence[Contest],
    limits: StudyLimits,
    spent: Mapping[str, float | None],
) -> list[Message]:
    able = [option for option in options if option.time is not None]
    if not able:
        return [Message("No option can run this training; see what each of them lacks.")]
    sentences = []
    if limits.deadline_s is not None or limits.budget is not None:
        meeting = [option for option in able if (option.meets or 0.0) >= wanted(limits)]
        sentences.append(_against_limits(able, meeting, limits))
        if 0 < len(meeting) < len(able):
            failing = [option for option in able if option not in meeting]
            sentences += [_summary(option, only=False) for option in meeting[:MOST_OTHERS]]
            sentences += [_failing(option, limits, spent[option.key]) for option in failing[:MOST_OTHERS]]
            return sentences
    if len(able) == 1:
        return [*sentences, _summary(able[0], only=len(options) > 1)]
    ranked = {*best["time"], *best["cost"]}
    others = [option for option in able if option.key not in ranked][:MOST_OTHERS] if len(able) > 2 else []
    return [
        *sentences,
        _ranking({option.key: option for option in able}, best, contests),
        *_unpriced(able, best, others),
        *(_summary(option, only=False) for option in others),
    ]


MOST_OTHERS = 3
"""Most options that get a sentence of their own."""


def _unpriced(
    able: Sequence[StudyOptionAnswer],
    best: Mapping[Metric, Sequence[str]],
    others: Sequence[StudyOptionAnswer],
) -> list[Message]:
    """Name the options without a price, unless another sentence does."""
    one_each = len(best["time"]) == len(best["cost"]) == 1
    named = [*(option.key for option in others), *(best["time"] if one_each else ())]
    missing = [option.label for option in able if option.cost is None and option.key not in named]
    if not missing or not best["cost"]:
        return []
    return [
        Message("Costs are compared without {options}: no price is known.", {"options": ", ".join(missing)})
    ]


def wanted(limits: StudyLimits) -> float:
    """Return the probability with which limits have to be met."""
    return limits.probability or USUAL_PROBABILITY


def _summary(option: StudyOptionAnswer, *, only: bool) -> Message:
    values = _values(option)
    if only and option.cost is not None:
        return Message("Only {option} can run this training: {time} and {cost} per run.", values)
    if option.cost is None:
        return Message("{option} takes {time}; no price is known for it.", values)
    return Message("{option} takes {time} and costs {cost} per run.", values)


def _values(option: StudyOptionAnswer) -> dict[str, object]:
    values: dict[str, object] = {"option": option.label, "time": duration(_time(option))}
    if option.cost is not None:
        values["cost"] = _cost(option)
    return values


def _ranking(
    options: Mapping[str, StudyOptionAnswer],
    best: Mapping[Metric, Sequence[str]],
    contests: Sequence[Contest],
) -> Message:
    fastest, cheapest = best["time"], best["cost"]
    if not cheapest:
        return _by_time(options, fastest, contests)
    if len(fastest) == 1 and len(cheapest) == 1:
        if fastest == cheapest:
            return _clear_winner(options, fastest[0])
        return _trade_off(options, cheapest[0], fastest[0], contests)
    values = {
        "fast": _names(options, fastest),
        "cheap": _names(options, cheapest),
        "time": duration(_time(options[fastest[0]])),
        "cost": _cost(options[cheapest[0]]),
    }
    if len(cheapest) == 1:
        others = [key for key in fastest if key != cheapest[0]]
        if len(others) < len(fastest):
            values["others"] = _names(options, others)
            return Message("{cheap} is cheapest at {cost} per run and ties in time with {others}.", values)
        return Message(
            "{cheap} is cheapest at {cost} per run; {fast} tie as the fastest at about {time}.", values
        )
    if len(fastest) == 1:
        others = [key for key in cheapest if key != fastest[0]]
        if len(others) < len(cheapest):
            values["others"] = _names(options, others)
            return Message("{fast} is fastest at {time} and ties in cost with {others}.", values)
        return Message(
            "{fast} is fastest at {time}; {cheap} tie as the cheapest at about {cost} per run.", values
        )
    if set(fastest) == set(cheapest):
        values["cost"] = _cost(options[fastest[0]])
        return Message("{fast} tie in both time and cost: about {time} and {cost} per run.", values)
    return Message(
        "{fast} tie as the fastest at about {time}; {cheap} tie as the cheapest at about {cost} per run.",
        values,
    )


def _time(option: StudyOptionAnswer) -> float:
    assert option.time is not None
    return option.time.value


def _cost(option: StudyOptionAnswer) -> Message:
    assert option.cost is not None
    return money(option.cost.value, option.cost.unit)


def _names(options: Mapping[str, StudyOptionAnswer], keys: Sequence[str]) -> str:
    return ", ".join(options[key].label for key in keys)


def _by_time(
    options: Mapping[str, StudyOptionAnswer], fastest: Sequence[str], contests: Sequence[Contest]
) -> Message:
    first = options[fastest[0]]
    if len(fastest) > 1:
        return Message(
            "{fast} tie as the fastest at about {time}.",
            {"fast": _names(options, fastest), "time": duration(_time(first))},
        )
    second = min((option for option in options.values() if option is not first), key=_time)
    values = {
        "fast": first.label,
        "time": duration(_time(first)),
        "other": second.label,
        "ratio": significant(_time(second) / _time(first)),
    }
    sure = _certainty(contests, first.key, second.key)
    if sure is None:
        return Message("{fast} is fastest at {time}; {other} takes {ratio} times as long.", values)
    return Message(
        "{fast} is fastest at {time}; {other} takes {ratio} times as long ({sure} certain).",
        {**values, "sure": sure},
    )


def _clear_winner(options: Mapping[str, StudyOptionAnswer], key: str) -> Message:
    first = options[key]
    priced = [option for option in options.values() if option is not first and option.cost is not None]
    values = _values(first)
    if not priced:
        return Message("{option} is both fastest and cheapest: {time} and {cost} per run.", values)
    second = min(priced, key=_time)
    assert second.cost is not None and first.cost is not None
    values |= {
        "other": second.label,
        "longer": significant(_time(second) / _time(first)),
        "dearer": significant(second.cost.value / first.cost.value),
    }
    return Message(
        "{option} is both fastest and cheapest: {time} and {cost} per run; {other} takes {longer} times as "
        "long at {dearer} times the cost.",
        values,
    )


def _trade_off(
    options: Mapping[str, StudyOptionAnswer], cheapest: str, fastest: str, contests: Sequence[Contest]
) -> Message:
    cheap, fast = options[cheapest], options[fastest]
    assert cheap.cost is not None
    values: dict[str, object] = {
        "cheap": cheap.label,
        "cost": _cost(cheap),
        "fast": fast.label,
        "less": significant(100 * (1 - _time(fast) / _time(cheap)), 2),
    }
    if fast.cost is None:
        return Message(
            "{cheap} is cheapest at {cost} per run; {fast} takes {less} % less time, but has no known price.",
            values,
        )
    values["dearer"] = significant(fast.cost.value / cheap.cost.value)
    sure = _certainty(contests, fastest, cheapest)
    if sure is None:
        return Message(
            "{cheap} is cheapest at {cost} per run; {fast} takes {less} % less time at {dearer} times the "
            "cost.",
            values,
        )
    return Message(
        "{cheap} is cheapest at {cost} per run; {fast} takes {less} % less time ({sure} certain) at {dearer} "
        "times the cost.",
        {**values, "sure": sure},
    )


def _certainty(contests: Sequence[Contest], first: str, second: str) -> Message | None:
    """Return the probability that one option is faster than another; None if neither has a range."""
    pair = ("time", first, second)
    contest = next(contest for contest in contests if (contest.metric, contest.first, contest.second) == pair)
    return None if contest.probability is None else chance(contest.probability)


def _failing(option: StudyOptionAnswer, limits: StudyLimits, spent: float | None) -> Message:
    """Return the sentence on the limit that an option does not meet."""
    values: dict[str, object] = {"option": option.label, "time": duration(_time(option))}
    if limits.deadline_s is not None and _time(option) > limits.deadline_s:
        values["deadline"] = duration(limits.deadline_s)
        return Message("{option} takes {time}, longer than the {deadline} allowed.", values)
    if limits.budget is not None and option.cost is not None and spent is not None and spent > limits.budget:
        currency = option.cost.unit
        values |= {"spent": money(spent, currency), "budget": money(limits.budget, currency)}
        return Message("{option} needs {spent}, more than the budget of {budget}.", values)
    if limits.budget is not None and spent is None:
        return Message("{option} takes {time}; no price is known for it.", values)
    values["chance"] = chance(option.meets or 0.0)
    return Message("{option} may keep the limits, but that is only {chance} certain.", values)


def _against_limits(
    able: Sequence[StudyOptionAnswer], meeting: Sequence[StudyOptionAnswer], limits: StudyLimits
) -> Message:
    certainty = chance(wanted(limits))
    if len(meeting) == len(able):
        return Message("All options meet the limits with at least {wanted} certainty.", {"wanted": certainty})
    if meeting:
        names = ", ".join(option.label for option in meeting)
        return Message(
            "Within the limits with at least {wanted} certainty: {options}.",
            {"wanted": certainty, "options": names},
        )
    nearest = max(able, key=lambda option: (option.meets or 0.0, -_excess(option, limits)))
    values = {**_values(nearest), "chance": chance(nearest.meets or 0.0), "wanted": certainty}
    currency = nearest.cost.unit if nearest.cost is not None else ""
    if limits.deadline_s is not None:
        values["deadline"] = duration(limits.deadline_s)
    if limits.budget is None:
        return Message(
            "No option is done within {deadline} with {wanted} certainty; {option} comes closest: {time} "
            "({chance} certain).",
            values,
        )
    values["budget"] = money(limits.budget, currency)
    if limits.deadline_s is None:
        return Message(
            "No option stays below {budget} with {wanted} certainty; {option} comes closest ({chance} "
            "certain).",
            values,
        )
    return Message(
        "No option is done within {deadline} and below {budget} with {wanted} certainty; {option} comes "
        "closest: {time} ({chance} certain).",
        values,
    )


def _excess(option: StudyOptionAnswer, limits: StudyLimits) -> float:
    """Return the larger of time over deadline and cost of the run over budget."""
    ratios = [_time(option) / limits.deadline_s] if limits.deadline_s else []
    if limits.budget and option.cost is not None:
        ratios.append(option.cost.value / limits.budget)
    return max(ratios, default=0.0)


def probability_within(
    time: AmountSamples | None, money_spent: AmountSamples | None, limits: StudyLimits
) -> float | None:
    """Return the share of samples in which an option meets the limits; None if there are no limits.

    An option without a time meets no deadline, and one without a price no budget.
    """
    if limits.deadline_s is None and limits.budget is None:
        return None
    met: np.ndarray = np.ones(1, dtype=bool)
    for amount, limit in ((time, limits.deadline_s), (money_spent, limits.budget)):
        if limit is None:
            continue
        if amount is None:
            return 0.0
        met = met & (np.asarray(amount.drawn) <= limit)
    return float(np.mean(met))
