"""The answer of a sizing in sentences, to be shown before any table."""

from __future__ import annotations

from app.errors import Message
from app.sizing.quantities import chance, money, significant
from app.sizing.size.documents import Sizing, SizingOption

DAY, HOUR, MINUTE = 86_400.0, 3_600.0, 60.0


def sentences(sizing: Sizing) -> list[Message]:
    """Return what a sizing found: the best option first, then what would change the answer.

    Parameters
    ----------
    sizing : Sizing
        The sizing. [-]
    """
    by_id = {option.id: option for option in sizing.options}
    if sizing.outcome == "not_met":
        return _not_met(sizing, by_id)
    cheapest = by_id[sizing.cheapest or ""]
    fastest = by_id[sizing.fastest or ""]
    limited = sizing.outcome == "met"
    template = (
        "The cheapest that meets it: {count} × {system}, {time}, {cost}{surely}"
        if limited
        else "The cheapest of all: {count} × {system}, {time}, {cost}{surely}"
    )
    found = [Message(template, _values(cheapest, sizing.currency))]
    if fastest.id != cheapest.id:
        template = (
            "The fastest that meets it: {count} × {system}, {time}, {cost}{surely}"
            if limited
            else "The fastest of all: {count} × {system}, {time}, {cost}{surely}"
        )
        found.append(Message(template, _values(fastest, sizing.currency)))
    return found


def _not_met(sizing: Sizing, by_id: dict[str, SizingOption]) -> list[Message]:
    nearest = sizing.nearest
    if nearest is None or nearest.option is None:
        found = [Message("No system does: none holds the model")]
    else:
        values = _values(by_id[nearest.option], sizing.currency)
        found = [Message("No system does; the nearest is {count} × {system}: {time}, {cost}{surely}", values)]
    changes = nearest.changes if nearest is not None else []
    return [*found, *(Message(change.text.template, dict(change.text.values)) for change in changes)]


def _values(option: SizingOption, currency: str) -> dict[str, object]:
    cost: object = Message("no price published")
    if option.cost is not None:
        cost = money(option.cost.value, currency)
    surely: object = ""
    if option.probability is not None:
        surely = Message(", with a probability of {probability}", {"probability": chance(option.probability)})
    if option.status == "unvalidated":
        surely = Message("{surely}; no run like it was measured", {"surely": surely})
    named = {"system": option.name, "accelerators": option.accelerators}
    return {
        "count": option.count,
        "system": Message("{system} ({accelerators} accelerators)", named),
        "time": duration(option.time_to_train.value) if option.time_to_train else Message("no time"),
        "cost": cost,
        "surely": surely,
    }


def duration(seconds: float) -> Message:
    """Return a time in the unit people would say it in.

    Parameters
    ----------
    seconds : float
        Time. [s]
    """
    if seconds >= 2.0 * DAY:
        return Message("{number} days", {"number": significant(seconds / DAY)})
    if seconds >= 2.0 * HOUR:
        return Message("{number} hours", {"number": significant(seconds / HOUR)})
    if seconds >= 2.0 * MINUTE:
        return Message("{number} minutes", {"number": significant(seconds / MINUTE)})
    return Message("{number} seconds", {"number": significant(seconds)})
