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
from app.features.comparisons.one_basis import ways_to_pay
from app.features.proposals.model import Advice, Reasoned
from app.features.studies.model import BudgetKind

WORTHWHILE = float(GainRequest.model_fields["threshold"].default)
"""Gain under which a faster network is not worth its price, as measured gains are judged."""

Metric = Literal["time", "cost"]

NO_NETWORKS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CustomerLimits:
    """What the customer allows; None where nothing is said."""

    deadline_s: float | None = None
    budget: float | None = None
    budget_kind: BudgetKind = "run"


@dataclass(frozen=True, slots=True)
class AdvisedChoice:
    """Which option is taken, and what it was taken from."""

    comparison: Comparison
    limits: CustomerLimits
    taken: ComparisonRow | None
    by_rule: ComparisonRow | None
    alone: ComparisonRow | None
    """By time, cost and limits alone."""
    cheapest: Sequence[ComparisonRow]
    """Options that lead in cost; several tie."""
    fastest: Sequence[ComparisonRow]
    """Options that lead in time; several tie."""
    meeting: Sequence[ComparisonRow]
    """Options that keep within the limits."""

    @property
    def costs_or_times(self) -> Sequence[ComparisonRow]:
        """Those that lead in what decides: cost, or time where a cost is not known."""
        return self.cheapest or self.fastest


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
    check_chosen(chosen, rows)
    meeting = [row for row in rows if row.hours is not None and meets(row, limits)]
    costs, times = ranked(meeting, comparison, "cost"), ranked(meeting, comparison, "time")
    alone = only(costs) or only(ranked(costs or meeting, comparison, "time"))
    if alone is None:
        # Where nothing else separates them, the faster network of two is not worth its price.
        level = costs or times
        by_rule = only([row for row in level if not on_a_needless_network(row, level, networks)])
    else:
        by_rule = next((row for row in meeting if row.label == networks.get(alone.label)), alone)
    taken = next((row for row in rows if row.label == chosen), by_rule)
    choice = AdvisedChoice(comparison, limits, taken, by_rule, alone, costs, times, meeting)
    tied = [row.label for row in costs or times] if by_rule is None and taken is None else []
    # What is offered is not advised against: where nothing separates options, each of them is.
    others = [row for row in rows if row is not taken and row.label not in tied]
    against = {row.label: reasons_against(row, choice) for row in others}
    return Advice(
        recommended=label_of(taken),
        by_rule=label_of(by_rule),
        reasons=texts(reasons_for(choice)),
        cheapest=label_of(only(costs)),
        fastest=label_of(only(times)),
        tied=tied,
        avoid=[
            Reasoned(label=label, reasons=texts(reasons)) for label, reasons in against.items() if reasons
        ],
        deadline_s=limits.deadline_s,
        budget=limits.budget,
        budget_kind=limits.budget_kind,
    )


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


def on_a_needless_network(
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


def label_of(row: ComparisonRow | None) -> str | None:
    return None if row is None else row.label


def joined(rows: Sequence[ComparisonRow]) -> str:
    return ", ".join(row.label for row in rows)


def texts(messages: Sequence[Message]) -> list[Text]:
    return [Text.of(message) for message in messages]


def amount(row: ComparisonRow) -> float | None:
    cost = row.run_cost
    return None if cost is None else cost.value


def held(row: ComparisonRow, kind: BudgetKind) -> float | None:
    """Return what a budget pays for: the run, the purchase (of what is rented its run), or the term."""
    own = next((cost for cost in row.costs if cost.own), None)
    if kind == "run" or own is None:
        return amount(row)
    if kind == "term":
        return own.over_term.value
    return amount(row) if own.purchase is None else own.purchase.value


def seconds(row: ComparisonRow) -> float:
    """Return the time of an option that runs. [s]"""
    return (row.hours or 0.0) * HOUR


def meets(row: ComparisonRow, limits: CustomerLimits) -> bool:
    """Tell whether an option keeps within what is allowed; an unknown cost keeps within no budget."""
    cost = held(row, limits.budget_kind)
    in_time = limits.deadline_s is None or seconds(row) <= limits.deadline_s
    in_budget = limits.budget is None or (cost is not None and cost <= limits.budget)
    return in_time and in_budget


def apart(row: ComparisonRow, other: ComparisonRow, comparison: Comparison, metric: Metric) -> bool:
    """Tell whether something separates the times or the costs of two options."""
    pair = {row.label, other.label}
    if metric == "time":
        ties = [found.tie for found in comparison.ratios if {found.slower, found.faster} == pair]
    else:
        ties = [found.tie for found in comparison.cost_ratios if {found.dearer, found.cheaper} == pair]
    if ties:
        return not ties[0]
    less, more = sorted((measure(row, metric), measure(other, metric)))
    return separated(Amount(less, None), Amount(more, None))


def measure(row: ComparisonRow, metric: Metric) -> float:
    return seconds(row) if metric == "time" else amount(row) or 0.0


def ranked(rows: Sequence[ComparisonRow], comparison: Comparison, metric: Metric) -> list[ComparisonRow]:
    """Return the option with the least time or cost and those that tie with it; none where one is unknown."""
    if not rows or (metric == "cost" and any(amount(row) is None for row in rows)):
        return []
    best = min(rows, key=lambda row: measure(row, metric))
    return [best, *(row for row in rows if row is not best and not apart(best, row, comparison, metric))]


def only(rows: Sequence[ComparisonRow]) -> ComparisonRow | None:
    return rows[0] if len(rows) == 1 else None


def reasons_for(choice: AdvisedChoice) -> list[Message]:
    """Return why an option is recommended, and what to beware of in that."""
    taken, by_rule = choice.taken, choice.by_rule
    if taken is None:
        if not choice.meeting:
            return [Message("no option is within the limits; none is recommended")]
        level = choice.costs_or_times
        return [tied(choice), *unknown_costs(choice), *(said for row in level for said in only_stated(row))]
    cheapest, fastest = only(choice.cheapest), only(choice.fastest)
    reasons = main_reasons(taken, choice)
    if taken is cheapest and taken is fastest:
        reasons.append(Message("no option within the limits is faster"))
    best = choice.fastest[0] if choice.fastest else None
    if taken is cheapest and best is not None and not faster_network(best, taken):
        reasons += dearer_and_faster(best, taken, choice.comparison)
    reasons += sureness(taken, choice.comparison)
    reasons += ways_to_pay({row.label: row.costs for row in choice.comparison.rows})
    if taken is by_rule:
        reasons += unknown_costs(choice)
    return [*reasons, *only_stated(taken)]


def only_stated(row: ComparisonRow) -> list[Message]:
    """Return what to do before an option is signed whose time nobody has estimated or measured."""
    if row.kind not in {"vendor", "linear"}:
        return []
    said = Message(
        "the time of {option} is stated by its vendor or scaled from that; have it "
        "measured with your own model before signing",
        {"option": row.label},
    )
    return [said]


def main_reasons(taken: ComparisonRow, choice: AdvisedChoice) -> list[Message]:
    """Return what decided for an option, and what would have been taken otherwise."""
    by_rule, alone = choice.by_rule, choice.alone
    cost = amount(taken)
    named: dict[str, object] = {"option": taken.label, "time": duration(seconds(taken))}
    if cost is not None:
        named["cost"] = money(cost, choice.comparison.currency)
    limited = choice.limits.deadline_s is not None or choice.limits.budget is not None
    instead: ComparisonRow | None = None
    if taken is not by_rule:
        reason, instead = Message("{option} is the author's choice: {time}", named), by_rule
    elif by_rule is not alone:
        reason, instead = Message("{option} has the network worth paying for: {time}", named), alone
    elif taken is only(choice.cheapest) and limited:
        reason = Message("{option} is the cheapest option within the limits: {cost} in {time}", named)
    elif taken is only(choice.cheapest):
        reason = Message("{option} is the cheapest option: {cost} in {time}", named)
    elif choice.cheapest:
        named["options"] = joined(choice.cheapest)
        reason = Message("{options} tie on cost; {option} is the fastest of them: {time}", named)
    elif limited:
        reason = Message("{option} is the fastest option within the limits: {time}", named)
    else:
        reason = Message("{option} is the fastest option: {time}", named)
    if instead is None:
        return [reason]
    otherwise = {"option": instead.label}
    return [reason, Message("by time, cost and limits alone, {option} would be recommended", otherwise)]


def tied(choice: AdvisedChoice) -> Message:
    both = {"options": joined(choice.costs_or_times)}
    if choice.cheapest:
        return Message("nothing separates {options} in cost and time; each of them is offered", both)
    return Message("nothing separates {options} in time; each of them is offered", both)


def unknown_costs(choice: AdvisedChoice) -> list[Message]:
    """Return for which options no cost is known, so that the time decides."""
    unknown = [row for row in choice.meeting if amount(row) is None]
    if not unknown:
        return []
    return [Message("the cost of {options} is unknown, so time decides", {"options": joined(unknown)})]


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
    reasons = []
    equal = [
        ratio.slower if ratio.faster == taken.label else ratio.faster
        for ratio in comparison.ratios
        if ratio.tie and taken.label in (ratio.faster, ratio.slower)
    ]
    if equal:
        reasons.append(Message("it ties with {others} on time", {"others": ", ".join(equal)}))
    slower = [
        {"other": ratio.slower, "probability": chance(ratio.probability)}
        for ratio in comparison.ratios
        if ratio.faster == taken.label and ratio.probability is not None and not ratio.tie
    ]
    if slower:
        reasons.append(Message("it is faster than {other} with a probability of {probability}", slower[-1]))
    return reasons


def reasons_against(row: ComparisonRow, choice: AdvisedChoice) -> list[Message]:
    """Return why not to buy an option; nothing where nothing speaks against it."""
    if row.hours is None:
        return [does_not_fit(row)]
    limits, currency = choice.limits, choice.comparison.currency
    reasons: list[Message] = []
    if limits.deadline_s is not None and seconds(row) > limits.deadline_s:
        late = {"time": duration(seconds(row)), "limit": duration(limits.deadline_s)}
        reasons.append(Message("misses the deadline: {time}, limit {limit}", late))
    cost = held(row, limits.budget_kind)
    if limits.budget is not None and cost is not None and cost > limits.budget:
        dear = {"cost": money(cost, currency), "limit": money(limits.budget, currency)}
        reasons.append(Message("exceeds the budget: {cost}, limit {limit}", dear))
    if choice.taken is not None and choice.taken.hours is not None:
        reasons += against(row, choice.taken, choice)
    if row.kind == "linear":
        reasons.append(Message("was never run at this size: its time is an extrapolation that flatters it"))
    return reasons


def does_not_fit(row: ComparisonRow) -> Message:
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


def against(row: ComparisonRow, taken: ComparisonRow, choice: AdvisedChoice) -> list[Message]:
    """Return what speaks against an option beside the one that is taken."""
    comparison = choice.comparison
    cost, best = amount(row), amount(taken)
    clear = apart(row, taken, comparison, "time")
    ratio = significant(seconds(row) / seconds(taken))
    slower = clear and seconds(row) > seconds(taken)
    if cost is None or best is None:
        if slower and cost is None and best is None:
            return [
                Message("takes {ratio} times as long as {option}", {"option": taken.label, "ratio": ratio})
            ]
        return []
    if cost <= best or not apart(row, taken, comparison, "cost"):
        return []
    extra = money(cost - best, comparison.currency)
    named = {"extra": extra, "option": taken.label, "ratio": ratio}
    if slower:
        return [Message("a run costs {extra} more than with {option} and takes {ratio} times as long", named)]
    if faster_network(row, taken):
        gain = seconds(taken) / seconds(row) - 1.0
        measured = {"gain": significant(100.0 * gain), "threshold": significant(100.0 * WORTHWHILE)}
        return [
            Message(
                "not recommended: its network gains {gain} %, below the threshold of {threshold} %, "
                "for {extra} more",
                {**measured, "extra": extra},
            )
        ]
    if not clear:
        return [Message("a run costs {extra} more than with {option} and ties with it on time", named)]
    if choice.limits.deadline_s is None:
        return []
    kept = {
        "option": taken.label,
        "extra": extra,
        "saved": duration(seconds(taken) - seconds(row)),
    }
    return [Message("{option} already meets the deadline; this costs {extra} more to save {saved}", kept)]


def faster_network(row: ComparisonRow, taken: ComparisonRow) -> bool:
    """Tell whether an option differs by its network alone, and gains less than is worthwhile."""
    if row.estimate is None or taken.estimate is None:
        return False
    system, other = row.estimate.system, taken.estimate.system
    gain = seconds(taken) / seconds(row) - 1.0
    alike = (system.id, system.count) == (other.id, other.count)
    return alike and system.fabric != other.fabric and gain < WORTHWHILE
