"""What to take and what not to, from the options themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from app.engine.units import HOUR
from app.errors import BadInput, Message
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money, significant
from app.features.calibration.model import GainRequest
from app.features.comparisons.compare import Amount, separated
from app.features.comparisons.model import Comparison, ComparisonRow
from app.features.proposals.model import Advice, Reasoned

WORTHWHILE = float(GainRequest.model_fields["threshold"].default)
"""Gain under which a faster network is not worth its price, as measured gains are judged."""

Metric = Literal["time", "cost"]

NO_NETWORKS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CustomerLimits:
    """What the customer allows; None where nothing is said."""

    deadline_s: float | None = None
    budget: float | None = None


def advise(
    comparison: Comparison,
    limits: CustomerLimits,
    chosen: str | None,
    networks: Mapping[str, str] = NO_NETWORKS,
) -> Advice:
    """Return which option to take, which not, and why.

    Among the options that meet the limits the cheapest on one basis is recommended, where every one of them
    has a cost; where several tie in cost, the fastest of them; where a cost is not known, the fastest of all.
    Where options tie in both, none is. Where networks were weighed, the same system on the network that was
    taken goes before. An author's choice goes before the rule, and says so.
    """
    rows = comparison.rows
    running = [row for row in rows if row.hours is not None]
    check_chosen(chosen, rows)
    meeting = [row for row in running if meets(row, limits)]
    costs, times = ranked(meeting, comparison, "cost"), ranked(meeting, comparison, "time")
    cheapest, fastest = only(costs), only(times)
    alone = cheapest or only(ranked(costs or meeting, comparison, "time"))
    if alone is None:
        # Where nothing else separates them, the faster network of two is not worth its price.
        level = costs or times
        by_rule = only([row for row in level if not _on_a_needless_network(row, level, networks)])
    else:
        by_rule = next((row for row in meeting if row.label == networks.get(alone.label)), alone)
    taken = next((row for row in rows if row.label == chosen), by_rule)
    return Advice(
        recommended=None if taken is None else taken.label,
        by_rule=None if by_rule is None else by_rule.label,
        reasons=texts(reasons_for(Chosen(taken, by_rule, alone, costs, times, meeting), comparison, limits)),
        cheapest=None if cheapest is None else cheapest.label,
        fastest=None if fastest is None else fastest.label,
        tied=[row.label for row in costs or times] if by_rule is None else [],
        avoid=[
            Reasoned(label=row.label, reasons=texts(found))
            for row in rows
            if row is not taken and (found := reasons_against(row, taken, comparison, limits))
        ],
        deadline_s=limits.deadline_s,
        budget=limits.budget,
    )


def _on_a_needless_network(
    row: ComparisonRow, level: Sequence[ComparisonRow], networks: Mapping[str, str]
) -> bool:
    """Tell whether another of the options that are level has a network that does as well for no more."""
    others = [other for other in level if other is not row]
    if networks.get(row.label) in {other.label for other in others}:
        return True
    return any(
        seconds(row) < seconds(other)
        and faster_network(row, other)
        and (amount(other) or 0.0) < (amount(row) or 0.0)
        for other in others
    )


def texts(messages: Sequence[Message]) -> list[Text]:
    """Return sentences as documents keep them."""
    return [Text.of(message) for message in messages]


def check_chosen(chosen: str | None, rows: Sequence[ComparisonRow]) -> None:
    """Refuse to recommend what is not there or does not run."""
    if chosen is None:
        return
    row = next((row for row in rows if row.label == chosen), None)
    if row is None:
        raise BadInput.at(
            "recommended",
            "is not one of the options; choose one of {labels}",
            labels=", ".join(r.label for r in rows),
        )
    if row.hours is None:
        raise BadInput.at("recommended", "{label} does not fit and cannot be recommended", label=chosen)


def amount(row: ComparisonRow) -> float | None:
    """Return the central cost of a run, where it is known."""
    cost = row.run_cost
    return None if cost is None else cost.value


def seconds(row: ComparisonRow) -> float:
    """Return the time of an option that runs. [s]"""
    return (row.hours or 0.0) * HOUR


def meets(row: ComparisonRow, limits: CustomerLimits) -> bool:
    """Tell whether an option keeps within what is allowed; an unknown cost keeps within no budget."""
    cost = amount(row)
    in_time = limits.deadline_s is None or seconds(row) <= limits.deadline_s
    in_budget = limits.budget is None or (cost is not None and cost <= limits.budget)
    return in_time and in_budget


def apart(one: ComparisonRow, other: ComparisonRow, comparison: Comparison, metric: Metric) -> bool:
    """Tell whether something separates the times or the costs of two options."""
    labels = {one.label, other.label}
    ratios = (
        [({found.slower, found.faster}, found.tie) for found in comparison.ratios]
        if metric == "time"
        else [({found.dearer, found.cheaper}, found.tie) for found in comparison.cost_ratios]
    )
    tie = next((tie for pair, tie in ratios if pair == labels), None)
    if tie is not None:
        return not tie
    less, more = sorted((measure(one, metric), measure(other, metric)), key=lambda found: found.value)
    return separated(less, more)


def measure(row: ComparisonRow, metric: Metric) -> Amount:
    """Return the central time or cost of an option that has one."""
    return Amount(seconds(row) if metric == "time" else amount(row) or 0.0, None)


def ranked(rows: Sequence[ComparisonRow], comparison: Comparison, metric: Metric) -> list[ComparisonRow]:
    """Return the option with the least time or cost and those that tie with it; none where one is unknown."""
    if not rows or (metric == "cost" and any(amount(row) is None for row in rows)):
        return []
    best = min(rows, key=lambda row: measure(row, metric).value)
    return [best, *(row for row in rows if row is not best and not apart(best, row, comparison, metric))]


def only(rows: Sequence[ComparisonRow]) -> ComparisonRow | None:
    """Return the one option that leads, none where several tie."""
    return rows[0] if len(rows) == 1 else None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which option is taken, and what it was taken from."""

    taken: ComparisonRow | None
    by_rule: ComparisonRow | None
    alone: ComparisonRow | None
    """By time, cost and limits alone."""
    costs: Sequence[ComparisonRow]
    """Options that lead in cost."""
    times: Sequence[ComparisonRow]
    """Options that lead in time."""
    meeting: Sequence[ComparisonRow]
    """Options that keep within the limits."""


def reasons_for(chosen: Chosen, comparison: Comparison, limits: CustomerLimits) -> list[Message]:
    """Return why an option is recommended, and what to beware of in that."""
    taken, by_rule, alone = chosen.taken, chosen.by_rule, chosen.alone
    cheapest, fastest = only(chosen.costs), only(chosen.times)
    if not chosen.meeting and taken is None:
        return [Message("no option is within the limits; none is recommended")]
    if taken is None:
        return [*tied(chosen), *unknown_costs(chosen)]
    named: dict[str, object] = {"option": taken.label, "time": duration(seconds(taken))}
    cost = amount(taken)
    if cost is not None:
        named["cost"] = money(cost, comparison.currency)
    limited = limits.deadline_s is not None or limits.budget is not None
    found: list[Message] = []
    if taken is not by_rule:
        found.append(Message("{option} is the author's choice: {time}", named))
        if by_rule is not None:
            found.append(
                Message(
                    "by time, cost and limits alone, {option} would be recommended", {"option": by_rule.label}
                )
            )
    elif by_rule is not alone and alone is not None:
        found.append(Message("{option} has the network worth paying for: {time}", named))
        found.append(
            Message("by time, cost and limits alone, {option} would be recommended", {"option": alone.label})
        )
    elif alone is None:
        found.append(Message("{option} has the network worth paying for: {time}", named))
    elif taken is cheapest and limited:
        found.append(Message("{option} is the cheapest option within the limits: {cost} in {time}", named))
    elif taken is cheapest:
        found.append(Message("{option} is the cheapest option: {cost} in {time}", named))
    elif chosen.costs:
        found.append(
            Message(
                "{options} tie on cost; {option} is the fastest of them: {time}",
                {**named, "options": joined(chosen.costs)},
            )
        )
    elif limited:
        found.append(Message("{option} is the fastest option within the limits: {time}", named))
    else:
        found.append(Message("{option} is the fastest option: {time}", named))
    if taken is cheapest and taken is fastest:
        found.append(Message("no option within the limits is faster"))
    best = chosen.times[0] if chosen.times else None
    if taken is cheapest and best is not None and not faster_network(best, taken):
        found += dearer_and_faster(best, taken, comparison)
    found += sureness(taken, comparison)
    if taken is by_rule:
        found += unknown_costs(chosen)
    if taken.kind in {"vendor", "linear"}:
        found.append(
            Message(
                "the time of {option} is stated by its vendor or scaled from that; have it "
                "measured with your own model before signing",
                {"option": taken.label},
            )
        )
    return found


def tied(chosen: Chosen) -> list[Message]:
    """Return between which options nothing decides."""
    if chosen.costs:
        both = {"options": joined(chosen.costs)}
        return [Message("{options} tie on cost and time; none is recommended", both)]
    return [Message("{options} tie on time; none is recommended", {"options": joined(chosen.times)})]


def unknown_costs(chosen: Chosen) -> list[Message]:
    """Return for which options no cost is known, so that the time decides."""
    unknown = [row for row in chosen.meeting if amount(row) is None]
    if not unknown:
        return []
    return [Message("the cost of {options} is unknown, so time decides", {"options": joined(unknown)})]


def joined(rows: Sequence[ComparisonRow]) -> str:
    """Return the labels of options as one string."""
    return ", ".join(row.label for row in rows)


def dearer_and_faster(fastest: ComparisonRow, taken: ComparisonRow, comparison: Comparison) -> list[Message]:
    """Return what more money would buy."""
    cost, best = amount(fastest), amount(taken)
    if cost is None or best is None or cost <= best or seconds(fastest) >= seconds(taken):
        return []
    if not (apart(fastest, taken, comparison, "time") and apart(fastest, taken, comparison, "cost")):
        return []
    named = {
        "option": fastest.label,
        "saved": duration(seconds(taken) - seconds(fastest)),
        "extra": money(cost - best, comparison.currency),
    }
    return [Message("{option} would finish {saved} sooner for {extra} more", named)]


def sureness(taken: ComparisonRow, comparison: Comparison) -> list[Message]:
    """Return how sure it is that an option is faster than the next one, or with which options it ties."""
    found = []
    equal = [
        ratio.slower if ratio.faster == taken.label else ratio.faster
        for ratio in comparison.ratios
        if ratio.tie and taken.label in (ratio.faster, ratio.slower)
    ]
    if equal:
        found.append(Message("it ties with {others} on time", {"others": ", ".join(equal)}))
    slower = [
        ratio
        for ratio in comparison.ratios
        if ratio.faster == taken.label and ratio.probability is not None and not ratio.tie
    ]
    for ratio in slower[-1:]:
        assert ratio.probability is not None
        values = {"other": ratio.slower, "probability": chance(ratio.probability)}
        found.append(Message("it is faster than {other} with a probability of {probability}", values))
    return found


def reasons_against(
    row: ComparisonRow, taken: ComparisonRow | None, comparison: Comparison, limits: CustomerLimits
) -> list[Message]:
    """Return why not to buy an option; nothing where nothing speaks against it."""
    if row.hours is None:
        return [does_not_fit(row)]
    found: list[Message] = []
    if limits.deadline_s is not None and seconds(row) > limits.deadline_s:
        late = {"time": duration(seconds(row)), "limit": duration(limits.deadline_s)}
        found.append(Message("misses the deadline: {time}, limit {limit}", late))
    cost = amount(row)
    if limits.budget is not None and cost is not None and cost > limits.budget:
        dear = {"cost": money(cost, comparison.currency), "limit": money(limits.budget, comparison.currency)}
        found.append(Message("exceeds the budget: {cost}, limit {limit}", dear))
    if taken is not None and taken.hours is not None:
        found += against(row, taken, comparison, limits)
    if row.kind == "linear":
        found.append(Message("was never run at this size: its time is an extrapolation that flatters it"))
    return found


def does_not_fit(row: ComparisonRow) -> Message:
    """Return how far a model is from fitting."""
    memory = None if row.estimate is None else row.estimate.memory
    if memory is None:
        return Message("cannot run the model")
    return Message(
        "does not fit: needs {need} GB per device, has {have} GB",
        {
            "need": significant(memory.per_device.value / 1e9),
            "have": significant((memory.usable or memory.capacity).value / 1e9),
        },
    )


def against(
    row: ComparisonRow, taken: ComparisonRow, comparison: Comparison, limits: CustomerLimits
) -> list[Message]:
    """Return what speaks against an option beside the one that is taken."""
    cost, best = amount(row), amount(taken)
    clear = apart(row, taken, comparison, "time")
    slower = clear and seconds(row) > seconds(taken)
    dearer = cost is not None and best is not None and cost > best and apart(row, taken, comparison, "cost")
    if dearer and cost is not None and best is not None:
        extra = money(cost - best, comparison.currency)
        named = {"extra": extra, "option": taken.label, "ratio": significant(seconds(row) / seconds(taken))}
        if slower:
            return [Message("costs {extra} more than {option} and takes {ratio} times as long", named)]
        if faster_network(row, taken):
            return [network_not_worth_it(row, taken, extra)]
        if not clear:
            return [Message("costs {extra} more than {option} and ties with it on time", named)]
        if limits.deadline_s is None:
            return []
        saved = duration(seconds(taken) - seconds(row))
        kept = {"option": taken.label, "extra": extra, "saved": saved}
        return [Message("{option} already meets the deadline; this costs {extra} more to save {saved}", kept)]
    if slower and cost is None and best is None:
        named = {"option": taken.label, "ratio": significant(seconds(row) / seconds(taken))}
        return [Message("takes {ratio} times as long as {option}", named)]
    return []


def faster_network(row: ComparisonRow, taken: ComparisonRow) -> bool:
    """Tell whether an option differs by its network alone, and gains less than is worthwhile."""
    one, other = row.estimate, taken.estimate
    if one is None or other is None:
        return False
    alike = (one.system.id, one.system.count) == (other.system.id, other.system.count)
    gain = seconds(taken) / seconds(row) - 1.0
    return alike and one.system.fabric != other.system.fabric and gain < WORTHWHILE


def network_not_worth_it(row: ComparisonRow, taken: ComparisonRow, extra: Message) -> Message:
    """Return by how little a faster network helps."""
    gain = seconds(taken) / seconds(row) - 1.0
    return Message(
        "not recommended: its network gains {gain} %, below the threshold of {threshold} %, for {extra} more",
        {"gain": significant(100.0 * gain), "threshold": significant(100.0 * WORTHWHILE), "extra": extra},
    )
