"""Advice of a proposal: the decision between its options in words, and what its author chose instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.engine.units import KILOWATT
from app.errors import BadInput, Message
from app.estimating.decision import Decision, DecisionOption
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money, significant
from app.estimating.schema import Quantity
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.model import Advice, OptionReasons


def advise(
    decision: Decision, rows: Sequence[ComparisonRow], powers: Mapping[str, float], chosen: str | None
) -> Advice:
    """Return what is offered and why, and which options are not to be bought.

    The author's choice takes precedence over the decision. ``powers`` are those at the site by label. [W]
    """
    check_chosen(chosen, rows)
    by_rule, question = decision.recommended, decision.question
    objections = Objections(decision, powers)
    recommended = chosen or by_rule
    offered = next((row for row in rows if row.label == recommended), None)
    reasons = [] if offered is None else list(map(Text.of, only_stated(offered)))
    if recommended == by_rule:
        reasons = [*decision.sentences[1:], *reasons]
    elif offered is not None:
        reasons = [*map(Text.of, objections.of_author(offered.label)), *reasons]
    against = {
        row.label: list(objections.against(row))
        for row in rows
        if row.label not in (recommended, by_rule, *decision.tied)
    }
    return Advice(
        recommended=recommended,
        by_rule=by_rule,
        reasons=reasons,
        avoid=[
            OptionReasons(label=label, reasons=list(map(Text.of, reasons)))
            for label, reasons in against.items()
            if reasons
        ],
        deadline_s=question.deadline_s,
        budget=question.budget,
        budget_kind=question.budget_kind,
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
            labels=", ".join(row.label for row in rows),
        )
    if row.hours is None:
        raise BadInput.at("recommended", "{label} does not fit and cannot be recommended", label=chosen)


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


class Objections:
    """What speaks against options of a decision, with the limit that each misses and by how much."""

    def __init__(self, decision: Decision, powers: Mapping[str, float]) -> None:
        self.decision = decision
        self.powers = powers
        self.options = {option.id: option for option in decision.options}

    def against(self, row: ComparisonRow) -> Iterator[Message]:
        """Yield the reasons not to buy an option; what is faster for more money is a choice, no mistake."""
        option = self.options[row.label]
        if option.why_not == "does_not_fit":
            yield does_not_fit(row)
        elif option.why_not != "costs_more" or not self.is_faster(option):
            yield from self.of(option)
        if row.kind == "linear":
            yield Message("was never run at this size: its time is an extrapolation that flatters it")

    def of_author(self, label: str) -> Iterator[Message]:
        """Yield what the author's choice misses or costs, and what would be recommended otherwise."""
        values: dict[str, object] = {"option": label}
        objections = list(self.of(self.options[label]))
        for objection in objections:
            yield Message("{option} is the author's choice: {why}", {**values, "why": objection})
        if not objections:
            yield Message("{option} is the author's choice", values)
        if self.decision.recommended is not None:
            otherwise = {"option": self.decision.recommended}
            limited = self.decision.question.limited
            yield Message(
                "by limits and outlay alone, {option} would be recommended"
                if limited
                else "by outlay alone, {option} would be recommended",
                otherwise,
            )

    def is_faster(self, option: DecisionOption) -> bool:
        best = self.options[self.decision.recommended or ""]
        return option.time is not None and best.time is not None and option.time.value < best.time.value

    def of(self, option: DecisionOption) -> Iterator[Message]:
        """Yield each limit that is missed and by how much, or else why the option is not recommended.

        A limit is missed where the central figure is beyond it, or too few samples keep it.
        """
        question, reason, time = self.decision.question, option.why_not, option.time
        if time is None:
            return
        kept = {"chance": chance(option.probability or 0.0)}
        deadline, budget, paid = question.deadline_s, question.budget, self.budgeted(option)
        if deadline is not None and (reason == "too_late" or time.value > deadline):
            yield missed_deadline(time, deadline, kept)
        if budget is not None and (reason == "over_budget" or (paid and paid.value > budget)):
            yield missed_budget(paid, budget, kept)
        drawn = self.powers.get(option.id, 0.0) / KILOWATT
        limit = (question.power_w or 0.0) / KILOWATT
        if question.power_w is not None and (reason == "over_power" or drawn > limit):
            yield Message(
                "draws {power} kW at the site, {excess} kW above the limit of {limit} kW",
                {
                    "power": significant(drawn),
                    "excess": significant(max(drawn - limit, 0.0)),
                    "limit": significant(limit),
                },
            )
        if reason == "no_capacity":
            values = {"runs": self.decision.runs, "time": duration(time.value)}
            yield Message("cannot do {runs} runs within the term: one takes {time}", values)
        elif reason == "costs_more":
            yield from self.dearer(option)

    def budgeted(self, option: DecisionOption) -> Quantity | None:
        """Return what the budget has to pay of an option; None for the purchase of what is rented."""
        kind = self.decision.question.budget_kind
        if kind == "term":
            return option.outlay
        return option.run if kind == "run" or (kind is None and option.purchase is None) else option.purchase

    def dearer(self, option: DecisionOption) -> Iterator[Message]:
        best = self.options[self.decision.recommended or ""]
        if option.outlay is None or best.outlay is None or option.time is None or best.time is None:
            return
        values: dict[str, object] = {
            "option": best.id,
            "extra": money(option.outlay.value - best.outlay.value, option.outlay.unit),
        }
        if self.is_faster(option):
            values["sooner"] = duration(best.time.value - option.time.value)
            yield Message("costs {extra} more in all than {option}, to be done {sooner} sooner", values)
        else:
            yield Message("costs {extra} more in all than {option} and is not faster", values)


def missed_deadline(time: Quantity, limit: float, kept: Mapping[str, object]) -> Message:
    late = time.value if time.value > limit else max(time.high, limit)
    values = {"time": duration(late), "excess": duration(late - limit), "limit": duration(limit)}
    if time.value > limit:
        return Message("misses the deadline by {excess}: {time}, limit {limit}", values)
    return Message(
        "may miss the deadline of {limit} by {excess}: it may take {time}, and the probability of keeping "
        "the limits is {chance}",
        {**values, **kept},
    )


def missed_budget(cost: Quantity | None, limit: float, kept: Mapping[str, object]) -> Message:
    if cost is None:
        return Message("is rented, which a budget for a purchase does not pay")
    dear = cost.value if cost.value > limit else max(cost.high, limit)
    amounts = {"cost": dear, "excess": dear - limit, "limit": limit}
    values = {name: money(amount, cost.unit) for name, amount in amounts.items()}
    if cost.value > limit:
        return Message("exceeds the budget by {excess}: {cost}, limit {limit}", values)
    return Message(
        "may exceed the budget of {limit} by {excess}: it may cost {cost}, and the probability of keeping "
        "the limits is {chance}",
        {**values, **kept},
    )
