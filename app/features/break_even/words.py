"""The answer in words: the outcome, what would change it, and warnings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Literal

from app.catalog.entries import ChipKind
from app.engine.cost.break_even import BuildOrRent, break_even_month, full_month
from app.engine.units import MONTHS, YEAR
from app.errors import Message
from app.estimating.documents import CheckWarning
from app.estimating.ranges import chance, money, significant
from app.features.break_even.inputs import Amounts, used_share
from app.features.break_even.model import BreakEven, FleetMix

LONG_GROWTH = 24.0
"""Months from which extrapolated growth is a caution."""

FAR = 600.0
"""Most months over which growth is extrapolated."""


def written(months: float | None) -> object:
    """Return months as a sentence shows them: with one decimal, or never."""
    return Message("never") if months is None or math.isinf(months) else f"{months:,.1f}"


def sentences(answer: BreakEven, varied: Collection[str], used: float | None) -> Iterator[Message]:
    """Yield the answer in sentences, with the inputs that vary and the share of the time in use, if known."""
    yield _outcome(answer, used)
    if math.isfinite(answer.required_cloud_monthly):
        yield from _turning(answer)
    if answer.probability is not None:
        yield Message(
            "With the ranges of {fields}, the probability of breaking even within the "
            "horizon is {probability}",
            {"probability": chance(answer.probability), "fields": ", ".join(varied)},
        )
    if answer.mixed is not None:
        yield _mixed(answer.mixed, answer.currency)


def _outcome(answer: BreakEven, used: float | None) -> Message:
    values: dict[str, object] = {"months": written(answer.months)}
    if used is not None:
        values["share"] = round(100 * used)
    if answer.outcome == "within_horizon":
        return Message(
            "Owning pays off after {months} months"
            if used is None
            else "In use {share} % of the time, owning pays off after {months} months",
            values,
        )
    if answer.outcome == "after_horizon":
        values["horizon"] = significant(answer.horizon_months, 4)
        return Message(
            "Not within the {horizon}-month horizon: owning pays off only after {months} months"
            if used is None
            else "In use {share} % of the time, not within the {horizon}-month horizon: owning pays off only "
            "after {months} months",
            values,
        )
    bill, own = answer.replaced_monthly, answer.onprem_monthly
    if bill <= own:
        return Message(
            "Never pays back: the cloud bill of {bill} stays below the running cost of {own} a month",
            {"bill": money(bill, answer.currency), "own": money(own, answer.currency)},
        )
    return Message(
        "Never pays back: the saving on the cloud bill, {saving} a month at first, does not "
        "cover the purchase",
        {"saving": money(bill - own, answer.currency)},
    )


def _turning(answer: BreakEven) -> Iterator[Message]:
    saving = answer.cloud_at_horizon - answer.own_at_horizon
    values: dict[str, object] = {
        "bill": money(answer.required_cloud_monthly, answer.currency),
        "horizon": significant(answer.horizon_months, 4),
        "saving": money(saving, answer.currency),
    }
    if answer.outcome != "within_horizon":
        yield Message(
            "A cloud bill of {bill} a month would pay back the purchase within {horizon} months", values
        )
    elif saving < 0:
        yield Message("At the end of the {horizon}-month horizon, the cloud would have been cheaper", values)
    else:
        yield Message(
            "Owning saves {saving} over {horizon} months; the cloud is cheaper if its bill "
            "is below {bill} a month",
            values,
        )
    if answer.required_utilisation is not None:
        yield Message(
            "To pay off by then, the cluster needs {share} % utilization",
            {"share": round(100 * answer.required_utilisation, 1)},
        )


def _mixed(hybrid: FleetMix, currency: str) -> Message:
    values = {
        "share": round(100 * hybrid.best.owned, 1),
        "best": money(hybrid.best.total, currency),
        "owned": money(hybrid.all_owned.total, currency),
        "rented": money(hybrid.all_rented.total, currency),
    }
    if hybrid.best.owned == 0:
        return Message(
            "For this demand, renting everything costs least: {rented} a month, versus {owned} "
            "when owning everything",
            values,
        )
    if hybrid.best.owned >= hybrid.peak_demand:
        return Message(
            "For this demand, owning everything costs least: {owned} a month, versus {rented} "
            "when renting everything",
            values,
        )
    return Message(
        "For this demand, owning {share} % of the cluster and renting the peak costs least: {best} a month, "
        "versus {owned} when owning everything and {rented} when renting everything",
        values,
    )


def warnings_of(answer: BreakEven, amounts: Amounts, terms: BuildOrRent, months: float) -> list[CheckWarning]:
    return [
        *_fabric(amounts, terms, months),
        *_capacity(amounts),
        *_full(amounts, terms),
        *_window(answer, months),
        *_life(amounts),
        *_growth(terms, months),
        *_interest(amounts, terms, months),
        *_exchange(amounts),
    ]


def _fabric(amounts: Amounts, terms: BuildOrRent, months: float) -> Iterator[CheckWarning]:
    if amounts.capex_with_fabric:
        return
    share = amounts.context.catalog.figure("dgx-cluster", "network_share").si
    later = float(break_even_month(replace(terms, capital=float(terms.capital) / (1.0 - share))))
    values = {"share": round(100 * share, 1), "later": written(later), "months": written(months)}
    message = Message(
        "it is unknown whether the purchase price includes switches, cables and installation; "
        "a published cluster spent {share} % of its price on its network",
        values,
    )
    if math.isfinite(later):
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
    yield CheckWarning.of("capex_excludes_fabric", "caution", message, "capex", "capex_includes_fabric")


def _capacity(amounts: Amounts) -> Iterator[CheckWarning]:
    own, rented, cloud = amounts.own, amounts.rented, amounts.request.cloud
    if own is None or rented is None or cloud is None:
        message = Message(
            "the cluster's capacity is not checked against the work behind the cloud bill; "
            "enter hardware and cloud to compare them"
        )
        yield CheckWarning.of("capacity_not_checked", "caution", message, "hardware", "cloud")
        return
    hours = cloud.hours_per_month
    share = used_share(own, rented, hours, amounts.context)
    if share is None:
        message = Message(
            "hours on {own} and {rented} cannot be compared by their peak; estimate the work on both",
            {"own": own.entry.name, "rented": rented.entry.name},
        )
        yield CheckWarning.of("capacity_not_checked", "caution", message, "hardware", "cloud")
        return
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
        yield CheckWarning.of("capacity_short", "serious", message, "hardware.count", "cloud.hours_per_month")
        return
    message = Message(
        "{rented} accelerators rented for {hours} hours a month would keep the cluster's {own} "
        "busy {share} % of the time, by dense peak and at the same efficiency",
        values,
    )
    yield CheckWarning.of("capacity_compared", "info", message, "hardware.count", "cloud.hours_per_month")


def _full(amounts: Amounts, terms: BuildOrRent) -> Iterator[CheckWarning]:
    month = float(full_month(terms.cloud_growth, terms.fullest))
    if float(terms.fullest) <= 1.0 and amounts.values["utilisation"] < 1.0:
        message = Message(
            "future work exceeds the cluster's capacity; the excess is rented either way and "
            "left out on both sides"
        )
        yield CheckWarning.of("cluster_too_small", "caution", message, "utilisation", "demand_factor")
    elif math.isfinite(month) and month < float(terms.horizon):
        message = Message(
            "at this growth the cluster is full from month {month}; the excess is rented "
            "either way and left out on both sides",
            {"month": written(month)},
        )
        yield CheckWarning.of("cluster_full", "caution", message, "growth", "utilisation")


def _window(answer: BreakEven, months: float) -> Iterator[CheckWarning]:
    lost = next((point for point in answer.cash_flow if point.month > months and point.saving < 0), None)
    if lost is None:
        return
    message = Message(
        "the advantage does not last: from month {month} the cloud would have been cheaper again",
        {"month": significant(lost.month)},
    )
    yield CheckWarning.of("advantage_ends", "serious", message, "growth", "own_growth")


def _life(amounts: Amounts) -> Iterator[CheckWarning]:
    horizon = amounts.request.horizon_months
    life = amounts.context.catalog.cost_defaults(ChipKind.GPU).amortisation.si / YEAR
    if horizon is None or horizon <= life * MONTHS:
        return
    message = Message(
        "a horizon of {months} months exceeds the {years} years over which such hardware is "
        "usually depreciated; repairs and replacement are not included",
        {"months": horizon, "years": life},
    )
    yield CheckWarning.of("horizon_beyond_life", "caution", message, "horizon_months")


def _growth(terms: BuildOrRent, months: float) -> Iterator[CheckWarning]:
    growth, horizon = float(terms.cloud_growth), float(terms.horizon)
    if growth == 0.0 or float(terms.fullest) <= 1.0:
        return
    span = min(max(months, horizon) if math.isfinite(months) else horizon, FAR)
    message = Message(
        "the cloud bill is assumed to change by {growth} % a year for {months} months, to "
        "{times} times today's; nobody can predict it that far ahead",
        {
            "growth": round(100 * growth, 1),
            "months": round(span),
            "times": significant((1.0 + growth) ** (span / MONTHS)),
        },
    )
    severity: Literal["info", "caution"] = "caution" if span > LONG_GROWTH else "info"
    yield CheckWarning.of("growth_extrapolated", severity, message, "growth")


def _interest(amounts: Amounts, terms: BuildOrRent, months: float) -> Iterator[CheckWarning]:
    if float(terms.discount_rate) > 0 or not math.isfinite(months):
        return
    rate = amounts.context.catalog.cost_defaults(ChipKind.GPU).capital_rate.si * YEAR
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
    yield CheckWarning.of("not_discounted", "info", message, "discount_rate")


def _exchange(amounts: Amounts) -> Iterator[CheckWarning]:
    for rate in amounts.conversions:
        message = Message(
            "catalogue prices are converted at {rate} {currency} per dollar, the rate of {date}; the "
            "break-even month moves with the rate unless the cloud bill does too",
            {"rate": rate.value, "currency": rate.currency, "date": rate.as_of},
        )
        yield CheckWarning.of("exchange_rate_dated", "info", message, "currency")
