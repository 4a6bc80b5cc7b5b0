"""What has to be known to read a break-even."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from app.catalog.entries import ChipKind
from app.engine.cost.break_even import BuildOrRent, break_even_month
from app.engine.cost.growing_payments import full_month
from app.engine.units import MONTHS, YEAR
from app.errors import Message
from app.sizing.break_even.amounts import BreakEvenAmounts
from app.sizing.break_even.capacity import used_share
from app.sizing.break_even.documents import CashPoint
from app.sizing.break_even.request import BreakEvenRequest
from app.sizing.context import SizingContext
from app.sizing.document import CheckWarning
from app.sizing.quantities import significant

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
        "nothing says that the purchase price holds switches, cables and installation; a published cluster "
        "spent {share} % of its price on its network",
        values,
    )
    if math.isfinite(whole):
        message = Message(
            "nothing says that the purchase price holds switches, cables and installation; where they are "
            "missing, with {share} % of a published cluster spent on its network the month is {later} "
            "instead of {months}",
            values,
        )
    elif math.isfinite(months):
        message = Message(
            "nothing says that the purchase price holds switches, cables and installation; where they are "
            "missing, with {share} % of a published cluster spent on its network it never pays back, "
            "instead of in month {months}",
            values,
        )
    return CheckWarning.of("capex_excludes_fabric", "caution", message, "capex", "capex_includes_fabric")


def _capacity(
    request: BreakEvenRequest, amounts: BreakEvenAmounts, context: SizingContext
) -> CheckWarning | None:
    own, rented = amounts.own, amounts.rented
    if own is None or rented is None or request.cloud is None:
        message = Message(
            "nobody checked that the cluster does the work behind the bill; give hardware and cloud, and "
            "their capacity is compared"
        )
        return CheckWarning.of("capacity_not_checked", "caution", message, "hardware", "cloud")
    hours = request.cloud.hours_per_month
    share = used_share(own, rented, hours, context)
    if share is None:
        message = Message(
            "hours of {own} and of {rented} do not compare by their peak; estimate the work on both",
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
            "{rented} accelerators rented for {hours} hours a month do {times} times what {own} of the "
            "cluster can in a whole month, by their dense peak; it takes over {part} % of the bill at most",
            values,
        )
        return CheckWarning.of(
            "capacity_short", "serious", message, "hardware.count", "cloud.hours_per_month"
        )
    message = Message(
        "{rented} accelerators rented for {hours} hours a month would keep the {own} of the cluster busy "
        "for {share} % of the time, by their dense peak and at the same efficiency",
        values,
    )
    return CheckWarning.of("capacity_compared", "info", message, "hardware.count", "cloud.hours_per_month")


def _full(amounts: BreakEvenAmounts, terms: BuildOrRent) -> CheckWarning | None:
    month = float(full_month(terms.cloud_growth, terms.fullest))
    if float(terms.fullest) <= 1.0 and amounts.inputs["utilisation"] < 1.0:
        message = Message(
            "the work to come is more than the cluster holds; what exceeds it is rented either way and "
            "counts on neither side"
        )
        return CheckWarning.of("cluster_too_small", "caution", message, "utilisation", "demand_factor")
    if math.isfinite(month) and month < float(terms.horizon):
        message = Message(
            "at this growth the cluster is full from month {month} on; what exceeds it is rented either "
            "way and counts on neither side",
            {"month": written(month)},
        )
        return CheckWarning.of("cluster_full", "caution", message, "growth", "utilisation")
    return None


def _window(months: float, flow: Sequence[CashPoint]) -> CheckWarning | None:
    lost = next((point for point in flow if point.month > months and point.saving < 0), None)
    if lost is None:
        return None
    message = Message(
        "the advantage does not last: from month {month} on the cloud would have been cheaper again",
        {"month": significant(lost.month)},
    )
    return CheckWarning.of("advantage_ends", "serious", message, "growth", "own_growth")


def _life(request: BreakEvenRequest, context: SizingContext) -> CheckWarning | None:
    figure = context.catalog.cost_defaults(ChipKind.GPU).amortisation
    life = figure.si / YEAR
    if request.horizon_months is None or request.horizon_months <= life * MONTHS:
        return None
    message = Message(
        "a horizon of {months} months is longer than the {years} years over which such hardware is usually "
        "written off; repairs and a successor are not counted",
        {"months": request.horizon_months, "years": life},
    )
    return CheckWarning.of("horizon_beyond_life", "caution", message, "horizon_months")


def _growth(terms: BuildOrRent, months: float) -> CheckWarning | None:
    growth = float(terms.cloud_growth)
    if growth == 0.0 or float(terms.fullest) <= 1.0:
        return None
    span = min(max(months, float(terms.horizon)) if math.isfinite(months) else float(terms.horizon), 600.0)
    message = Message(
        "the bill is taken to change by {growth} % a year for {months} months, to {times} times what it is; "
        "nobody knows it that far ahead",
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
        "no discount rate applied; at {rate} % a year the month is {later} instead of {months}",
        values,
    )
    if math.isinf(later):
        message = Message(
            "no discount rate applied; at {rate} % a year it never pays back, instead of in month {months}",
            values,
        )
    return CheckWarning.of("not_discounted", "info", message, "discount_rate")


def _exchange(amounts: BreakEvenAmounts) -> CheckWarning | None:
    if not amounts.conversions:
        return None
    figure = amounts.conversions[0]
    message = Message(
        "prices of the catalogue are converted at {rate} won a dollar, the rate of {date}; the month moves "
        "with it where the bill does not",
        {"rate": figure.si, "date": figure.as_of},
    )
    return CheckWarning.of("exchange_rate_dated", "info", message, "currency")
