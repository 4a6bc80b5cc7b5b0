"""The answer in words: the outcome first, then what would turn it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from app.catalog.entries import ChipKind
from app.engine.cost.break_even import BuildOrRent, break_even_month, full_month
from app.engine.units import MONTHS, YEAR
from app.errors import Message
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning
from app.estimating.ranges import chance, money, significant
from app.features.break_even.amounts import BreakEvenAmounts, used_share
from app.features.break_even.model import BreakEvenRequest, CashPoint, Mixed, Outcome

LONG_GROWTH = 24.0
"""Months over which growth that goes on is more than a plan for the next budget."""


def written(months: float) -> object:
    """Return months as a sentence shows them: with one decimal, or never."""
    return f"{months:,.1f}" if math.isfinite(months) else Message("never")


def warnings_of(
    request: BreakEvenRequest,
    amounts: BreakEvenAmounts,
    terms: BuildOrRent,
    months: float,
    flow: Sequence[CashPoint],
    context: SizingContext,
) -> list[CheckWarning]:
    """Return everything that was found."""
    found = [
        _fabric(amounts, terms, months, context),
        _capacity(request, amounts, context),
        _full(amounts, terms),
        _window(months, flow),
        _life(request, context),
        _growth(terms, months),
        _interest(terms, months, context),
        _exchange(amounts),
    ]
    return [one for one in found if one is not None]


def _fabric(
    amounts: BreakEvenAmounts, terms: BuildOrRent, months: float, context: SizingContext
) -> CheckWarning | None:
    if amounts.capex_with_fabric:
        return None
    share = context.catalog.figure("dgx-cluster", "network_share").si
    whole = float(break_even_month(replace(terms, capital=float(terms.capital) / (1.0 - share))))
    values = {"share": round(100 * share, 1), "later": written(whole), "months": written(months)}
    message = Message(
        "it is unknown whether the purchase price includes switches, cables and installation; "
        "a published cluster spent {share} % of its price on its network",
        values,
    )
    if math.isfinite(whole):
        message = Message(
            "it is unknown whether the purchase price includes switches, cables and "
            "installation; if not, with {share} % spent on the network as in a published "
            "cluster, break-even is in month {later} instead of {months}",
            values,
        )
    elif math.isfinite(months):
        message = Message(
            "it is unknown whether the purchase price includes switches, cables and "
            "installation; if not, with {share} % spent on the network as in a published "
            "cluster, it never pays back, rather than in month {months}",
            values,
        )
    return CheckWarning.of("capex_excludes_fabric", "caution", message, "capex", "capex_includes_fabric")


def _capacity(
    request: BreakEvenRequest, amounts: BreakEvenAmounts, context: SizingContext
) -> CheckWarning | None:
    own, rented = amounts.own, amounts.rented
    if own is None or rented is None or request.cloud is None:
        message = Message(
            "the cluster's capacity is not checked against the work behind the cloud bill; "
            "enter hardware and cloud to compare them"
        )
        return CheckWarning.of("capacity_not_checked", "caution", message, "hardware", "cloud")
    hours = request.cloud.hours_per_month
    share = used_share(own, rented, hours, context)
    if share is None:
        message = Message(
            "hours on {own} and {rented} cannot be compared by their peak; estimate the work on both",
            {"own": own.entry.name, "rented": rented.entry.name},
        )
        return CheckWarning.of("capacity_not_checked", "caution", message, "hardware", "cloud")
    values = {
        "own": own.devices,
        "rented": rented.devices,
        "hours": significant(hours, 4),
        "share": round(100 * share),
        "times": significant(share),
        "part": round(100 / share),
    }
    if share > 1.0:
        message = Message(
            "{rented} accelerators rented for {hours} hours a month do {times} times the work "
            "that the cluster's {own} can do in a whole month, by dense peak; the cluster "
            "replaces at most {part} % of the bill",
            values,
        )
        return CheckWarning.of(
            "capacity_short", "serious", message, "hardware.count", "cloud.hours_per_month"
        )
    message = Message(
        "{rented} accelerators rented for {hours} hours a month would keep the cluster's {own} "
        "busy {share} % of the time, by dense peak and at the same efficiency",
        values,
    )
    return CheckWarning.of("capacity_compared", "info", message, "hardware.count", "cloud.hours_per_month")


def _full(amounts: BreakEvenAmounts, terms: BuildOrRent) -> CheckWarning | None:
    month = float(full_month(terms.cloud_growth, terms.fullest))
    if float(terms.fullest) <= 1.0 and amounts.inputs["utilisation"] < 1.0:
        message = Message(
            "future work exceeds the cluster's capacity; the excess is rented either way and "
            "left out on both sides"
        )
        return CheckWarning.of("cluster_too_small", "caution", message, "utilisation", "demand_factor")
    if math.isfinite(month) and month < float(terms.horizon):
        message = Message(
            "at this growth the cluster is full from month {month}; the excess is rented "
            "either way and left out on both sides",
            {"month": written(month)},
        )
        return CheckWarning.of("cluster_full", "caution", message, "growth", "utilisation")
    return None


def _window(months: float, flow: Sequence[CashPoint]) -> CheckWarning | None:
    lost = next((point for point in flow if point.month > months and point.saving < 0), None)
    if lost is None:
        return None
    message = Message(
        "the advantage does not last: from month {month} the cloud would have been cheaper again",
        {"month": significant(lost.month)},
    )
    return CheckWarning.of("advantage_ends", "serious", message, "growth", "own_growth")


def _life(request: BreakEvenRequest, context: SizingContext) -> CheckWarning | None:
    figure = context.catalog.cost_defaults(ChipKind.GPU).amortisation
    life = figure.si / YEAR
    if request.horizon_months is None or request.horizon_months <= life * MONTHS:
        return None
    message = Message(
        "a horizon of {months} months exceeds the {years} years over which such hardware is "
        "usually depreciated; repairs and replacement are not included",
        {"months": request.horizon_months, "years": life},
    )
    return CheckWarning.of("horizon_beyond_life", "caution", message, "horizon_months")


def _growth(terms: BuildOrRent, months: float) -> CheckWarning | None:
    growth = float(terms.cloud_growth)
    if growth == 0.0 or float(terms.fullest) <= 1.0:
        return None
    span = min(max(months, float(terms.horizon)) if math.isfinite(months) else float(terms.horizon), 600.0)
    message = Message(
        "the cloud bill is assumed to change by {growth} % a year for {months} months, to "
        "{times} times today's; nobody can predict it that far ahead",
        {
            "growth": round(100 * growth, 1),
            "months": round(span),
            "times": significant((1.0 + growth) ** (span / MONTHS)),
        },
    )
    severity = "caution" if span > LONG_GROWTH else "info"
    return CheckWarning.of("growth_extrapolated", severity, message, "growth")  # type: ignore[arg-type]


def _interest(terms: BuildOrRent, months: float, context: SizingContext) -> CheckWarning | None:
    if float(terms.discount_rate) > 0 or not math.isfinite(months):
        return None
    rate = context.catalog.cost_defaults(ChipKind.GPU).capital_rate.si * YEAR
    later = float(break_even_month(replace(terms, discount_rate=rate)))
    values = {"rate": round(100 * rate, 2), "later": written(later), "months": written(months)}
    message = Message(
        "no discount rate applied; at {rate} % a year, break-even is in month {later} instead of {months}",
        values,
    )
    if math.isinf(later):
        message = Message(
            "no discount rate applied; at {rate} % a year it never pays back, rather than in month {months}",
            values,
        )
    return CheckWarning.of("not_discounted", "info", message, "discount_rate")


def _exchange(amounts: BreakEvenAmounts) -> CheckWarning | None:
    if not amounts.conversions:
        return None
    figure = amounts.conversions[0]
    message = Message(
        "catalogue prices are converted at {rate} won per dollar, the rate of {date}; the "
        "break-even month moves with the rate unless the cloud bill does too",
        {"rate": figure.si, "date": figure.as_of},
    )
    return CheckWarning.of("exchange_rate_dated", "info", message, "currency")


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
                "With the ranges of {fields}, the probability of breaking even within the "
                "horizon is {probability}",
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
            "Not within the {horizon}-month horizon: owning pays off only after {months} months",
            {"horizon": horizon, "months": written(months)},
        )
    bill, own = float(terms.cloud_monthly), float(terms.own_monthly)
    if bill <= own:
        return Message(
            "Never pays back: the cloud bill of {bill} stays below the running cost of {own} a month",
            {"bill": money(bill, currency), "own": money(own, currency)},
        )
    return Message(
        "Never pays back: the saving on the cloud bill, {saving} a month at first, does not "
        "cover the purchase",
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
        turning = [
            Message(
                "A cloud bill of {bill} a month would pay back the purchase within {horizon} months", values
            )
        ]
    elif saving < 0:
        turning = [
            Message("At the end of the {horizon}-month horizon, the cloud would have been cheaper", values)
        ]
    else:
        turning = [
            Message(
                "Owning saves {saving} over {horizon} months; the cloud is cheaper if its bill "
                "is below {bill} a month",
                values,
            )
        ]
    if share is not None:
        turning.append(
            Message(
                "To pay off by then, the cluster needs {share} % utilization",
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
            "For this demand, renting everything costs least: {rented} a month, versus {owned} "
            "when owning everything",
            values,
        )
    if found.best.owned >= found.peak_demand:
        return Message(
            "For this demand, owning everything costs least: {owned} a month, versus {rented} "
            "when renting everything",
            values,
        )
    return Message(
        "For this demand, owning {share} % of the cluster and renting the peak costs least: "
        "{best} a month, versus {owned} when owning everything and {rented} when renting "
        "everything",
        values,
    )
