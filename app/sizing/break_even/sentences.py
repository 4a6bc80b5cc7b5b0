"""The answer in words: the outcome first, then what would turn it."""

from __future__ import annotations

import math
from collections.abc import Collection

from app.engine.cost.break_even import BuildOrRent
from app.errors import Message
from app.sizing.break_even.checks import written
from app.sizing.break_even.documents import Mixed, Outcome
from app.sizing.quantities import chance, money, significant


def sentences(
    terms: BuildOrRent,
    months: float,
    outcome: Outcome,
    saving: float,
    required: tuple[float, float | None],
    probability: float | None,
    varied: Collection[str],
    found: Mixed | None,
    currency: str,
) -> list[Message]:
    """Return the sentences."""
    answer = [_outcome(terms, months, outcome, currency)]
    answer += _turning(terms, outcome, saving, required, currency)
    if probability is not None:
        answer.append(
            Message(
                "With the ranges of {fields} it breaks even within the horizon with a probability of "
                "{probability}",
                {"probability": chance(probability), "fields": ", ".join(varied)},
            )
        )
    if found is not None:
        answer.append(_mixed(found, currency))
    return answer


def _outcome(terms: BuildOrRent, months: float, outcome: Outcome, currency: str) -> Message:
    horizon = significant(float(terms.horizon), 4)
    if outcome == "within_horizon":
        return Message("Owning pays off after {months} months", {"months": written(months)})
    if outcome == "after_horizon":
        return Message(
            "Not within the horizon of {horizon} months: an own cluster is cheaper only from month {months} "
            "on",
            {"horizon": horizon, "months": written(months)},
        )
    bill, own = float(terms.cloud_monthly), float(terms.own_monthly)
    if bill <= own:
        return Message(
            "Never: the cloud bill of {bill} stays below the running cost of {own} a month",
            {"bill": money(bill, currency), "own": money(own, currency)},
        )
    return Message(
        "Never: what is saved on the cloud bill, {saving} a month at first, does not repay the purchase",
        {"saving": money(bill - own, currency)},
    )


def _turning(
    terms: BuildOrRent,
    outcome: Outcome,
    saving: float,
    required: tuple[float, float | None],
    currency: str,
) -> list[Message]:
    bill, share = required
    values: dict[str, object] = {
        "bill": money(bill, currency),
        "horizon": significant(float(terms.horizon), 4),
        "saving": money(saving, currency),
    }
    if not math.isfinite(bill):
        return []
    if outcome != "within_horizon":
        turning = [Message("A cloud bill of {bill} a month would repay it within {horizon} months", values)]
    elif saving < 0:
        turning = [Message("At the horizon of {horizon} months the cloud would have been cheaper", values)]
    else:
        turning = [
            Message(
                "Over {horizon} months it saves {saving}; the cloud would be cheaper with a bill below "
                "{bill} a month",
                values,
            )
        ]
    if share is not None:
        turning.append(
            Message(
                "The cluster has to be in use for {share} % of its capacity to pay by then",
                {"share": round(100 * share, 1)},
            )
        )
    return turning


def _mixed(found: Mixed, currency: str) -> Message:
    values = {
        "share": round(100 * found.best.owned, 1),
        "best": money(found.best.total, currency),
        "owned": money(found.all_owned.total, currency),
        "rented": money(found.all_rented.total, currency),
    }
    if found.best.owned == 0:
        return Message(
            "For this demand renting everything costs least: {rented} a month, against {owned} all owned",
            values,
        )
    if found.best.owned >= found.peak_demand:
        return Message(
            "For this demand owning everything costs least: {owned} a month, against {rented} all rented",
            values,
        )
    return Message(
        "For this demand owning {share} % of the cluster and renting the peak costs least: {best} a month, "
        "against {owned} all owned and {rented} all rented",
        values,
    )
