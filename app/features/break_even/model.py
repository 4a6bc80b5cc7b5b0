"""What is answered: when an own cluster is cheaper than the cloud, and what that hangs on."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from app.errors import BadInput, Unprocessable, check_between
from app.estimating.decision import DEAREST
from app.estimating.documents import CheckWarning, Default, Text, TraceStep
from app.estimating.money import Currency
from app.estimating.naming import FabricName, SystemName
from app.estimating.request import Number, Schema, Share, Whole
from app.estimating.schema import Document, Quantity
from app.features.studies.options import LEAST_SHARE

LONGEST = 600.0
"""Longest horizon. [month]"""

MOST_PERIODS = 8784
"""Most stretches of a demand profile: the hours of a leap year."""


class HardwareInput(Schema):
    """Hardware to buy, priced from the catalogue or a price book."""

    system: SystemName = Field(description="Identifier of a system.", examples=["dgx-a100-320gb"])
    count: Whole = Field(1, ge=1, le=100_000, description="Number of systems.")
    fabric: FabricName | None = None
    """Identifier of a fabric; if omitted, the system's default."""


class RunningInput(Schema):
    """Components of the running cost. Omitted fields come from the catalogue."""

    power_kw: Number | None = Field(None, gt=0, le=1e7)
    """Mean power draw of the machines; if omitted, that of the hardware under a training load. [kW]"""
    pue: Number | None = Field(None, ge=1, le=5)
    """Power usage effectiveness (PUE): power of the site over that of the machines."""
    tariff: Number | None = Field(
        None, ge=0, le=1e6, description="Electricity price, in the currency. [currency/kWh]"
    )
    staff: Number | None = Field(None, ge=0, le=1e5)
    """Full-time positions that operate the cluster; if omitted, computed from the number of machines."""
    staff_cost: Number | None = Field(
        None, ge=0, le=DEAREST, description="Cost of a full-time position, in the currency. [currency/year]"
    )
    space: Number | None = Field(
        None,
        ge=0,
        le=DEAREST,
        description="Rent of floor space or racks; if omitted, computed from the power draw. "
        "[currency/month]",
    )
    support: Share | None = Field(None, ge=0, le=1)
    """Annual support contract, as a share of the purchase price. [1/year]"""


class CloudInput(Schema):
    """Components of the cloud bill."""

    system: SystemName = Field(description="Identifier of a rentable system.", examples=["aws-p4d"])
    count: Whole = Field(1, ge=1, le=100_000, description="Number of systems rented at a time.")
    hours_per_month: Number = Field(
        ge=0.01,
        le=744,
        description="Hours per month for which each system is rented; 730.5 is a full month. [h/month]",
    )
    hourly_price: Number | None = Field(
        None,
        gt=0,
        le=DEAREST,
        description="Hourly price of one system, in the currency; if omitted, the catalogue's. [currency/h]",
    )
    rental: Literal["on-demand", "reserved-1-year", "reserved-3-years", "spot"] = "on-demand"
    """Rental pricing model to look up if no price is given."""


class RangeInput(Schema):
    """Range of an input: 10th and 90th percentile."""

    low: Number = Field(description="10th percentile, in the unit of the input.")
    high: Number = Field(description="90th percentile, in the unit of the input.")


class RangesInput(Schema):
    """Ranges of inputs that are not known exactly; the answer then has a range and a probability."""

    capex: RangeInput | None = Field(None, description="Range of the purchase price.")
    onprem_monthly: RangeInput | None = Field(None, description="Range of the running cost.")
    cloud_monthly: RangeInput | None = Field(None, description="Range of the cloud bill.")
    growth: RangeInput | None = Field(None, description="Range of the growth of the bill.")
    utilisation: RangeInput | None = Field(None, description="Range of the share of the cluster in use.")


class BreakEvenRequest(Schema):
    """A purchase and the cloud bill it would replace."""

    currency: Currency = Field(description="Currency of every amount.")
    capex: Number | None = Field(
        None,
        gt=0,
        le=DEAREST,
        description="Purchase price; alternatively, give hardware. [currency]",
        examples=[4.378e9],
    )
    hardware: HardwareInput | None = Field(None, description="Hardware to buy, instead of capex.")
    capex_includes_fabric: bool | None = None
    """Whether the given price includes switches, cables and installation; if omitted, the result
    carries a warning about it.
    """
    onprem_monthly: Number | None = Field(
        None,
        ge=0,
        le=DEAREST,
        description="Running cost of the owned cluster; alternatively, give onprem. [currency/month]",
        examples=[5e7],
    )
    onprem: RunningInput | None = None
    """Components of the running cost, instead of onprem_monthly."""
    cloud_monthly: Number | None = Field(
        None,
        gt=0,
        le=DEAREST,
        description="Cloud bill of the workload that the cluster takes over; alternatively, "
        "give cloud. [currency/month]",
        examples=[3e8],
    )
    cloud: CloudInput | None = None
    """Components of the cloud bill, instead of cloud_monthly."""
    discount_rate: Share = Field(0.0, ge=0, le=1, description="Effective annual discount rate. [1/year]")
    horizon_months: Number | None = Field(
        None,
        gt=0,
        le=LONGEST,
        description="Horizon of the calculation; if omitted, the catalogue's amortisation period. [month]",
    )
    residual_share: Share = Field(0.0, ge=0, le=1)
    """Resale value at the horizon as a share of the purchase price; if omitted, the catalogue's if hardware
    is given, otherwise none.
    """
    utilisation: Share | None = Field(None, ge=LEAST_SHARE, le=1)
    """Share of the cluster's capacity used by the workload behind the bill. The cloud is paid by use; the
    cluster is paid for whether it is used or not.
    """
    growth: Share | None = Field(None, gt=-1, le=5)
    """Annual growth of the workload, and so of the cloud bill. [1/year]"""
    own_growth: Share | None = Field(None, gt=-1, le=5)
    """Annual growth of the running cost. [1/year]"""
    teams_now: Whole | None = Field(None, ge=1, le=100_000)
    """Number of teams behind the bill; requires teams_then."""
    teams_then: Whole | None = Field(None, ge=1, le=100_000)
    """Future number of teams; the bill grows in proportion."""
    demand_factor: Number | None = Field(None, gt=0, le=1000)
    """Future workload relative to the workload behind the bill; 2 means twice as much."""
    demand: list[Share] | None = Field(
        None,
        min_length=1,
        max_length=MOST_PERIODS,
        description="Demand profile: capacity in use relative to that of the cluster, for "
        "periods of equal length such as months. Determines how much to own if the "
        "peak is rented.",
        examples=[[0.4, 0.5, 0.9, 1.2]],
    )
    peak_price_factor: Number = Field(1.0, gt=0, le=100)
    """Rental price of peak load relative to the price behind the bill."""
    ranges: RangesInput | None = Field(None, description="Ranges of inputs that are not known exactly.")
    price_book_id: str | None = Field(None, max_length=100)
    """Identifier of a price book of the workspace."""


ALTERNATIVES = (("capex", "hardware"), ("onprem_monthly", "onprem"), ("cloud_monthly", "cloud"))
"""Amount and what it is made of: one of the two is needed."""

LEAST_DEMAND = 1e-6
"""Mean demand, over the capacity of the cluster, below which there is nothing to own or rent."""

LIMITS = {
    "capex": (0.0, DEAREST),
    "onprem_monthly": (0.0, DEAREST),
    "cloud_monthly": (0.0, DEAREST),
    "growth": (-1.0, 5.0),
    "utilisation": (0.0, 1.0),
}
"""Input → what the ends of its range lie above, and what they do not exceed."""


def check(request: BreakEvenRequest) -> None:
    """Refuse a request that says nothing, or two things, about one amount."""
    for amount, parts in ALTERNATIVES:
        stated, described = getattr(request, amount) is not None, getattr(request, parts) is not None
        if not stated and not described:
            raise Unprocessable.at(amount, "enter a value, or {parts} to compute it", parts=parts)
        if stated and described:
            raise BadInput.at(amount, "enter {amount} or {parts}, not both", amount=amount, parts=parts)
    _check_demand(request)
    for name in LIMITS if request.ranges is not None else ():
        span: RangeInput | None = getattr(request.ranges, name)
        if span is not None:
            _check_range(name, span, getattr(request, name))


def _check_demand(request: BreakEvenRequest) -> None:
    if (request.teams_now is None) != (request.teams_then is None):
        missing = "teams_now" if request.teams_now is None else "teams_then"
        raise BadInput.at(missing, "enter teams_now and teams_then together")
    if request.teams_now is not None and request.demand_factor is not None:
        raise BadInput.at("demand_factor", "enter teams or demand_factor, not both")
    demand = request.demand or []
    for place, level in enumerate(demand):
        check_between(f"demand.{place}", level, 0, 100)
    if demand and math.fsum(demand) < LEAST_DEMAND * len(demand):
        raise BadInput.at("demand", "demand must be above 0 to decide how much to own")


def _check_range(name: str, span: RangeInput, value: float | None) -> None:
    field, (least, most) = f"ranges.{name}", LIMITS[name]
    ends = {"low": span.low, "high": span.high}
    if value is None:
        raise BadInput.at(field, "a range needs a central value; enter {field} as a number", field=name)
    if not span.low <= value <= span.high:
        raise BadInput.at(field, "the range from {low} to {high} must contain {value}", **ends, value=value)
    if not (least < span.low and span.high <= most):
        raise BadInput.at(
            field,
            "the range from {low} to {high} must be above {least} and at most {most}",
            **ends,
            least=least,
            most=most,
        )


Outcome = Literal["within_horizon", "after_horizon", "never"]


class AmountLine(Document):
    """One line of an amount, with its computation."""

    item: str = Field(description="Cost item.")
    amount: float = Field(description="Amount in the currency; one-off or monthly, depending on the list.")
    rule: Text = Field(description="Explanation of the computation.")


class TornadoRow(Document):
    """Effect of one input alone on the break-even."""

    input: str = Field(description="Field of the request.")
    value: float = Field(description="Given value.")
    low_input: float = Field(description="Low end of the input: 20 % less.")
    high_input: float = Field(description="High end of the input: 20 % more, or its limit.")
    low: float | None
    """Break-even at the low end of the input; null if never reached. [month]"""
    high: float | None
    """Break-even at the high end of the input; null if never reached. [month]"""
    spread: float | None
    """Difference between the two ends; null if break-even is never reached at one end. [month]"""
    reason: Text | None = Field(description="Why one end is null.")


class CashPoint(Document):
    """Cumulative amounts of both sides up to one month, discounted to the start."""

    month: float = Field(description="Months from the purchase. [month]")
    own: float
    """Cumulative purchase and running cost, less the resale value from the horizon on. [currency]"""
    cloud: float
    """Cumulative cloud bills that the cluster would have replaced. [currency]"""
    saving: float = Field(description="Cumulative cloud cost less own cost. [currency]")
    own_low: float | None = Field(None, description="10th percentile of own; null without ranges. [currency]")
    own_high: float | None = Field(None, description="90th percentile of own. [currency]")
    cloud_low: float | None = Field(None, description="10th percentile of cloud. [currency]")
    cloud_high: float | None = Field(None, description="90th percentile of cloud. [currency]")


class DemandCase(Document):
    """Break-even at higher or lower demand."""

    factor: float = Field(description="Demand relative to the requested demand.")
    cloud_monthly: float = Field(description="Cloud bill at that demand. [currency/month]")
    replaced_monthly: float
    """Part of the cloud bill for which the cluster has capacity. [currency/month]"""
    months: float | None = Field(description="Break-even month; null if never reached. [month]")
    outcome: Outcome
    """When break-even is reached: within the horizon, after it, or never."""


class FleetMixPoint(Document):
    """Cost of owning part of the capacity and renting the rest."""

    owned: float = Field(description="Owned capacity relative to that of the cluster.")
    own: float
    """Cost of owned capacity, with the purchase spread over the horizon. [currency/month]"""
    rent: float = Field(description="Cost of rented capacity. [currency/month]")
    total: float = Field(description="Total of owned and rented capacity. [currency/month]")


class FleetMix(Document):
    """Hybrid of owned base load and rented peak load."""

    best: FleetMixPoint = Field(description="Owned capacity with the lowest cost.")
    all_owned: FleetMixPoint
    """Cost with capacity owned for the highest demand and nothing rented."""
    all_rented: FleetMixPoint = Field(description="Cost with nothing owned.")
    worth_owning_share: float
    """Share of the time for which capacity must be in use to be worth owning."""
    mean_demand: float = Field(description="Mean capacity in use relative to that of the cluster.")
    peak_demand: float = Field(description="Highest capacity in use relative to that of the cluster.")
    points: list[FleetMixPoint] = Field(description="Cost by owned capacity.")
    load: list[float]
    """Load profile: capacity in use relative to that of the cluster, highest first."""


class BreakEven(Document):
    """When owning a cluster becomes cheaper than renting in the cloud."""

    months: float | None
    """Number of months, with fraction, until owning has cost no more than renting; null if that never
    happens. [month]
    """
    outcome: Outcome
    """When break-even is reached: within the horizon, after it, or never."""
    months_low: float | None
    """10th percentile of the break-even month; null if never reached, or without ranges. [month]"""
    months_high: float | None
    """90th percentile of the break-even month; null if never reached, or without ranges. [month]"""
    probability: float | None
    """Share of samples that break even within the horizon; null without ranges."""
    currency: str = Field(description="Currency of every amount.")
    capex: Quantity = Field(description="Purchase price.")
    capex_lines: list[AmountLine]
    """Components of the amount; empty if it was given directly."""
    onprem_monthly: float
    """Running cost of the owned cluster in the first month. [currency/month]"""
    onprem_lines: list[AmountLine]
    """Components of the amount; empty if it was given directly."""
    cloud_monthly: float
    """Cloud bill of the first month, at the requested demand. [currency/month]"""
    replaced_monthly: float
    """Part of the cloud bill for which the cluster has capacity. [currency/month]"""
    cloud_lines: list[AmountLine]
    """Components of the amount; empty if it was given directly."""
    discount_rate: float = Field(description="Effective annual interest rate. [1/year]")
    growth: float = Field(description="Annual growth of the bill. [1/year]")
    horizon_months: float = Field(description="Horizon of the calculation. [month]")
    own_at_horizon: float
    """Discounted cost of owning up to the horizon, less the resale value. [currency]"""
    cloud_at_horizon: float
    """Discounted cloud bills replaced up to the horizon. [currency]"""
    residual: float = Field(description="Resale value at the horizon, undiscounted. [currency]")
    required_cloud_monthly: float
    """Smallest first-month cloud bill at which a purchase pays off by the horizon. [currency/month]"""
    required_utilisation: float | None
    """Cluster utilisation required to pay off by the horizon; null if no utilisation is given or if
    even full utilisation is not enough.
    """
    sentences: list[Text] = Field(description="Result in sentences, the outcome first.")
    tornado: list[TornadoRow] = Field(description="Effect of each input on its own, largest first.")
    demand_cases: list[DemandCase] = Field(description="Break-even at higher or lower demand.")
    cash_flow: list[CashPoint] = Field(description="Cumulative cost of both sides, month by month.")
    mixed: FleetMix | None
    """Hybrid of owned base load and rented peak load; null without a demand profile."""
    defaults: list[Default] = Field(description="Default values used, and why.")
    warnings: list[CheckWarning] = Field(description="Warnings to consider when reading the result.")
    trace: list[TraceStep] = Field(description="Trace of the computation of each number.")
