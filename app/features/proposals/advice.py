"""Advice on the options of a comparison: which to choose, which not, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from app.engine.units import HOUR
from app.errors import BadInput, Message
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money, significant
from app.estimating.request import BudgetKind
from app.features.calibration.model import GainRequest
from app.features.comparisons.common_basis import ways_to_pay
from app.features.comparisons.compare import AmountSamples, separated
from app.features.comparisons.model import Comparison, ComparisonRow
from app.features.proposals.model import Advice, Reasoned

WORTHWHILE = float(GainRequest.model_fields["threshold"].default)
"""Gain below which a faster network is not worth its price: the default for measured gains."""

Metric = Literal["time", "cost"]

NO_NETWORKS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CustomerLimits:
    """The customer's limits; None if unlimited."""

    deadline_s: float | None = None
    budget: float | None = None
    budget_kind: BudgetKind = "run"


@dataclass(frozen=True, slots=True)
class AdvisedChoice:
    """The recommended option, and those it was chosen from."""

    comparison: Comparison
    limits: CustomerLimits
    recommended: ComparisonRow | None
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
        """The cheapest options, or the fastest if a cost is unknown."""
        return self.cheapest or self.fastest


def advise(
    comparison: Comparison,
    limits: CustomerLimits,
    chosen: str | None,
    networks: Mapping[str, str] = NO_NETWORKS,
) -> Advice:
    """Return which option to take, which not, and why.

    Among the options within the limits the cheapest on one basis is recommended if all costs are known; of
    several that tie in cost, the fastest of them; if a cost is unknown, the fastest of all. Options that tie
    in both leave none recommended. If networks were compared, the same system on the network worth paying
    for is preferred. The author's choice takes precedence over the rule.
    """
    rows = comparison.rows
    check_chosen(chosen, rows)
    meeting = [row for row in rows if row.hours is not None and meets(row, limits)]
    costs, times = least(meeting, comparison, "cost"), least(meeting, comparison, "time")
    alone = only(costs) or only(least(costs or meeting, comparison, "time"))
    if alone is None:
        # Of two networks that nothing else separates, the faster is not worth its price.
        level = costs or times
        by_rule = only([row for row in level if not on_a_needless_network(row, level, networks)])
    else:
        by_rule = next((row for row in meeting if row.label == networks.get(alone.label)), alone)
    recommended = next((row for row in rows if row.label == chosen), by_rule)
    choice = AdvisedChoice(comparison, limits, recommended, by_rule, alone, costs, times, meeting)
    tied = [row.label for row in costs or times] if by_rule is None and recommended is None else []
    # Options that tie are all offered, so none of them is advised against.
    others = [row for row in rows if row is not recommended and row.label not in tied]
    against = {row.label: reasons_against(row, choice) for row in others}
    return Advice(
        recommended=label_of(recommended),
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
    """Check that the author's choice is one of the options and runs."""
    if chosen is None:
        return
    row = next((row for row in rows if row.label == chosen), None)
    if row is None:
        raise BadInput.at(
            "recommended",
            "is not one of the options; choose one of {labels}",
            labels=labels(rows),
        )
    if row.hours is None:
        raise BadInput.at("recommended", "{label} does not fit and cannot be recommended", label=chosen)


def on_a_needless_network(
    row: ComparisonRow, level: Sequence[ComparisonRow], networks: Mapping[str, str]
) -> bool:
    """Return whether a tied option has a network that another option matches at no higher cost."""
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


def labels(rows: Sequence[ComparisonRow]) -> str:
    return ", ".join(row.label for row in rows)


def texts(messages: Sequence[Message]) -> list[Text]:
    return [Text.of(message) for message in messages]


def amount(row: ComparisonRow) -> float | None:
    cost = row.run_cost
    return None if cost is None else cost.value


def budgeted_cost(row: ComparisonRow, kind: BudgetKind) -> float | None:
    """Return the cost a budget covers: the run, the purchase (for rented options the run), or the term."""
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
    """Return whether an option is within the limits; an unknown cost is within no budget."""
    cost = budgeted_cost(row, limits.budget_kind)
    in_time = limits.deadline_s is None or seconds(row) <= limits.deadline_s
    in_budget = limits.budget is None or (cost is not None and cost <= limits.budget)
    return in_time and in_budget


def differ_clearly(row: ComparisonRow, other: ComparisonRow, comparison: Comparison, metric: Metric) -> bool:
    """Return whether the times or costs of two options differ clearly."""
    pair = {row.label, other.label}
    if metric == "time":
        ties = [ratio.tie for ratio in comparison.ratios if {ratio.slower, ratio.faster} == pair]
    else:
        ties = [ratio.tie for ratio in comparison.cost_ratios if {ratio.dearer, ratio.cheaper} == pair]
    if ties:
        return not ties[0]
    less, more = sorted((measure(row, metric), measure(other, metric)))
    return separated(AmountSamples(less, None), AmountSamples(more, None))


def measure(row: ComparisonRow, metric: Metric) -> float:
    return seconds(row) if metric == "time" else amount(row) or 0.0


def least(rows: Sequence[ComparisonRow], comparison: Comparison, metric: Metric) -> list[ComparisonRow]:
    """Return the option with the least time or cost and those that tie with it; none if one is unknown."""
    if not rows or (metric == "cost" and any(amount(row) is None for row in rows)):
        return []
    best = min(rows, key=lambda row: measure(row, metric))
    return [
        best,
        *(row for row in rows if row is not best and not differ_clearly(best, row, comparison, metric)),
    ]


def only(rows: Sequence[ComparisonRow]) -> ComparisonRow | None:
    return rows[0] if len(rows) == 1 else None


def reasons_for(choice: AdvisedChoice) -> list[Message]:
    """Return why an option is recommended, and its caveats."""
    recommended, by_rule = choice.recommended, choice.by_rule
    if recommended is None:
        if not choice.meeting:
            return [Message("no option is within the limits; none is recommended")]
        level = choice.costs_or_times
        return [tie(choice), *unknown_costs(choice), *(hint for row in level for hint in only_stated(row))]
    cheapest, fastest = only(choice.cheapest), only(choice.fastest)
    reasons = main_reasons(recommended, choice)
    if recommended is cheapest and recommended is fastest:
        reasons.append(Message("no option within the limits is faster"))
    best = choice.fastest[0] if choice.fastest else None
    if recommended is cheapest and best is not None and not faster_network(best, recommended):
        reasons += dearer_and_faster(best, recommended, choice.comparison)
    reasons += sureness(recommended, choice.comparison)
    reasons += ways_to_pay({row.label: row.costs for row in choice.comparison.rows})
    if recommended is by_rule:
        reasons += unknown_costs(choice)
    return [*reasons, *only_stated(recommended)]


def only_stated(row: ComparisonRow) -> list[Message]:
    """Return the advice to measure an option whose time is only stated or scaled."""
    if row.kind not in {"vendor", "linear"}:
        return []
    hint = Message(
        "the time of {option} is stated by its vendor or scaled from that; have it "
        "measured with your own model before signing",
        {"option": row.label},
    )
    return [hint]


def main_reasons(recommended: ComparisonRow, choice: AdvisedChoice) -> list[Message]:
    """Return the main reason for an option, and which one the rule would recommend otherwise."""
    by_rule, alone = choice.by_rule, choice.alone
    cost = amount(recommended)
    values: dict[str, object] = {"option": recommended.label, "time": duration(seconds(recommended))}
    if cost is not None:
        values["cost"] = money(cost, choice.comparison.currency)
    limited = choice.limits.deadline_s is not None or choice.limits.budget is not None
    instead: ComparisonRow | None = None
    if recommended is not by_rule:
        reason, instead = Message("{option} is the author's choice: {time}", values), by_rule
    elif by_rule is not alone:
        reason, instead = Message("{option} has the network worth paying for: {time}", values), alone
    elif recommended is only(choice.cheapest) and limited:
        reason = Message("{option} is the cheapest option within the limits: {cost} in {time}", values)
    elif recommended is only(choice.cheapest):
        reason = Message("{option} is the cheapest option: {cost} in {time}", values)
    elif choice.cheapest:
        values["options"] = labels(choice.cheapest)
        reason = Message("{options} tie on cost; {option} is the fastest of them: {time}", values)
    elif limited:
        reason = Message("{option} is the fastest option within the limits: {time}", values)
    else:
        reason = Message("{option} is the fastest option: {time}", values)
    if instead is None:
        return [reason]
    otherwise = {"option": instead.label}
    return [reason, Message("by time, cost and limits alone, {option} would be recommended", otherwise)]


def tie(choice: AdvisedChoice) -> Message:
    both = {"options": labels(choice.costs_or_times)}
    if choice.cheapest:
        return Message("nothing separates {options} in cost and time; each of them is offered", both)
    return Message("nothing separates {options} in time; each of them is offered", both)


def unknown_costs(choice: AdvisedChoice) -> list[Message]:
    """Return a remark naming the options whose cost is unknown, so that time decides."""
    unknown = [row for row in choice.meeting if amount(row) is None]
    if not unknown:
        return []
    return [Message("the cost of {options} is unknown, so time decides", {"options": labels(unknown)})]


def dearer_and_faster(fastest: ComparisonRow, other: ComparisonRow, comparison: Comparison) -> list[Message]:
    """Return how much sooner a dearer option would finish."""
    cost, best = amount(fastest), amount(other)
    if cost is None or best is None or cost <= best or seconds(fastest) >= seconds(other):
        return []
    if not (
        differ_clearly(fastest, other, comparison, "time")
        and differ_clearly(fastest, other, comparison, "cost")
    ):
        return []
    values = {
        "option": fastest.label,
        "saved": duration(seconds(other) - seconds(fastest)),
        "extra": money(cost - best, comparison.currency),
    }
    return [Message("{option} would finish {saved} sooner for {extra} more", values)]


def sureness(recommended: ComparisonRow, comparison: Comparison) -> list[Message]:
    """Return how likely an option is faster than the next one, and with which options it ties."""
    reasons = []
    tied_labels = [
        ratio.slower if ratio.faster == recommended.label else ratio.faster
        for ratio in comparison.ratios
        if ratio.tie and recommended.label in (ratio.faster, ratio.slower)
    ]
    if tied_labels:
        reasons.append(Message("it ties with {others} on time", {"others": ", ".join(tied_labels)}))
    slower = [
        {"other": ratio.slower, "probability": chance(ratio.probability)}
        for ratio in comparison.ratios
        if ratio.faster == recommended.label and ratio.probability is not None and not ratio.tie
    ]
    if slower:
        reasons.append(Message("it is faster than {other} with a probability of {probability}", slower[-1]))
    return reasons


def reasons_against(row: ComparisonRow, choice: AdvisedChoice) -> list[Message]:
    if row.hours is None:
        return [does_not_fit(row)]
    limits, currency = choice.limits, choice.comparison.currency
    reasons: list[Message] = []
    if limits.deadline_s is not None and seconds(row) > limits.deadline_s:
        late = {"time": duration(seconds(row)), "limit": duration(limits.deadline_s)}
        reasons.append(Message("misses the deadline: {time}, limit {limit}", late))
    cost = budgeted_cost(row, limits.budget_kind)
    if limits.budget is not None and cost is not None and cost > limits.budget:
        dear = {"cost": money(cost, currency), "limit": money(limits.budget, currency)}
        reasons.append(Message("exceeds the budget: {cost}, limit {limit}", dear))
    if choice.recommended is not None and choice.recommended.hours is not None:
        reasons += against(row, choice.recommended, choice)
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


def against(row: ComparisonRow, recommended: ComparisonRow, choice: AdvisedChoice) -> list[Message]:
    """Return the reasons against an option compared with the recommended one."""
    comparison = choice.comparison
    cost, best = amount(row), amount(recommended)
    clear = differ_clearly(row, recommended, comparison, "time")
    ratio = significant(seconds(row) / seconds(recommended))
    slower = clear and seconds(row) > seconds(recommended)
    if cost is None or best is None:
        if slower and cost is None and best is None:
            values = {"option": recommended.label, "ratio": ratio}
            return [Message("takes {ratio} times as long as {option}", values)]
        return []
    if cost <= best or not differ_clearly(row, recommended, comparison, "cost"):
        return []
    extra = money(cost - best, comparison.currency)
    values = {"extra": extra, "option": recommended.label, "ratio": ratio}
    if slower:
        return [
            Message("a run costs {extra} more than with {option} and takes {ratio} times as long", values)
        ]
    if faster_network(row, recommended):
        gain = seconds(recommended) / seconds(row) - 1.0
        measured = {"gain": significant(100.0 * gain), "threshold": significant(100.0 * WORTHWHILE)}
        return [
            Message(
                "not recommended: its network gains {gain} %, below the threshold of {threshold} %, "
                "for {extra} more",
                {**measured, "extra": extra},
            )
        ]
    if not clear:
        return [Message("a run costs {extra} more than with {option} and ties with it on time", values)]
    if choice.limits.deadline_s is None:
        return []
    kept = {
        "option": recommended.label,
        "extra": extra,
        "saved": duration(seconds(recommended) - seconds(row)),
    }
    return [Message("{option} already meets the deadline; this costs {extra} more to save {saved}", kept)]


def faster_network(row: ComparisonRow, recommended: ComparisonRow) -> bool:
    """Return whether an option differs only by its network, and gains less than is worthwhile."""
    if row.estimate is None or recommended.estimate is None:
        return False
    system, other = row.estimate.system, recommended.estimate.system
    gain = seconds(recommended) / seconds(row) - 1.0
    alike = (system.id, system.count) == (other.id, other.count)
    return alike and system.fabric != other.fabric and gain < WORTHWHILE
