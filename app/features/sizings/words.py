"""The answer of a sizing in sentences, to be shown before any table."""

from __future__ import annotations

from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money, significant
from app.features.sizings.model import BudgetKind, Sizing, SizingOption

SHOWN_LIMITS = 2
"""Most price limits that get a sentence; the document has them all."""


def sentences(sizing: Sizing) -> list[Message]:
    """Return the result of a sizing in sentences: the best option, then what would change the answer."""
    by_id = {option.id: option for option in sizing.options}
    if sizing.outcome == "not_met":
        return _not_met(sizing, by_id)
    cheapest = by_id[sizing.cheapest or ""]
    fastest = by_id[sizing.fastest or ""]
    margin = sizing.margin
    first = by_id[margin.option] if margin is not None else by_id[sizing.recommended or cheapest.id]
    limited = sizing.outcome == "met"
    messages = [
        _option_sentence(first, first is cheapest, limited, sizing, tie=margin is not None and margin.tie)
    ]
    if margin is not None:
        messages.append(_message(margin.text))
        limits = [] if margin.tie else margin.overturned_by[:SHOWN_LIMITS]
        messages += [_message(limit.text) for limit in limits]
    if sizing.purchase_needed is not None:
        text = _message(sizing.purchase_needed.text)
        messages.append(Message("No purchase meets the budget: {text}", {"text": text}))
    other = fastest if first is cheapest else cheapest
    if other.id != first.id:
        messages.append(_option_sentence(other, other is cheapest, limited, sizing))
    return messages


def _message(text: Text) -> Message:
    """Return the message of a document's text, nested ones included."""
    values = {
        name: _message(Text.model_validate(value)) if isinstance(value, dict) else value
        for name, value in text.values.items()
    }
    return Message(text.template, values)


def _option_sentence(
    option: SizingOption, cheapest: bool, limited: bool, sizing: Sizing, *, tie: bool = False
) -> Message:
    template = (
        "Tied with others: {count} × {system}, {time}, {cost}{surely}"
        if tie
        else "Cheapest that meets the requirements: {count} × {system}, {time}, {cost}{surely}"
        if cheapest and limited
        else "Cheapest overall: {count} × {system}, {time}, {cost}{surely}"
        if cheapest
        else "Fastest that meets the requirements: {count} × {system}, {time}, {cost}{surely}"
        if limited
        else "Fastest overall: {count} × {system}, {time}, {cost}{surely}"
    )
    return Message(template, _values(option, sizing))


def _not_met(sizing: Sizing, by_id: dict[str, SizingOption]) -> list[Message]:
    nearest = sizing.nearest
    if nearest is None or nearest.option is None:
        messages = [Message("No system meets the requirements: the model fits on none")]
    else:
        values = _values(by_id[nearest.option], sizing)
        messages = [
            Message(
                "No system meets the requirements; the closest is {count} × {system}: {time}, {cost}{surely}",
                values,
            )
        ]
    changes = nearest.changes if nearest is not None else []
    return [*messages, *(_message(change.text) for change in changes)]


def _values(option: SizingOption, sizing: Sizing) -> dict[str, object]:
    surely: object = ""
    if option.probability is not None:
        surely = Message(", with a probability of {probability}", {"probability": chance(option.probability)})
    if option.status == "unvalidated":
        surely = Message("{surely}; no similar run has been measured", {"surely": surely})
    names = {"system": option.name, "accelerators": option.accelerators}
    return {
        "count": option.count,
        "system": Message("{system} ({accelerators} accelerators)", names),
        "time": duration(option.time_to_train.value) if option.time_to_train else Message("no training time"),
        "cost": _cost(option, sizing.ranked_by),
        "surely": surely,
    }


def _cost(option: SizingOption, kind: BudgetKind) -> Message:
    """Return the cost by which an option is ranked, with the purchase if that is the run."""
    if kind == "run" and option.costs.purchase is not None and option.costs.run is not None:
        both = {"run": priced(option, "run"), "purchase": priced(option, "purchase")}
        return Message("{run}, {purchase}", both)
    return priced(option, kind)


def priced(option: SizingOption, kind: BudgetKind) -> Message:
    amount = getattr(option.costs, kind)
    if amount is None:
        rented = kind == "purchase" and option.acquisition == "rent"
        return Message("rented, no purchase") if rented else Message("no published price")
    return paid(amount.value, amount.unit, option, kind)


def paid(amount: float, currency: str, option: SizingOption, kind: BudgetKind) -> Message:
    """Say what an amount of money pays for."""
    values: dict[str, object] = {"amount": money(amount, currency)}
    if kind == "purchase":
        return Message("{amount} to buy", values)
    if kind == "run":
        rented = option.acquisition == "rent"
        return Message("{amount} rental for the run" if rented else "{amount} for the run", values)
    return Message("{amount} over {years} years", {**values, "years": significant(option.term_years or 0.0)})
