"""What is answered: when an own cluster is cheaper than the cloud, and what that hangs on."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from app.errors import BadInput, Unprocessable
from app.estimating.documents import CheckWarning, Default, Text, TraceStep
from app.estimating.request import Number, Schema, Share, Whole
from app.estimating.schema import Document, Quantity
from app.features.comparisons.model import LEAST_SHARE

DEAREST = 1e18

LONGEST = 600.0
"""Longest horizon. [month]"""

MOST_PERIODS = 8784
"""Most stretches of a demand profile: the hours of a leap year."""


class HardwareInput(Schema):
    """What is bought, priced from the catalogue or a price book."""

    system: str = Field(description="Identifier of a system.", examples=["dgx-a100-320gb"])
    count: Whole = Field(1, ge=1, le=100_000, description="How many of it.")
    fabric: str | None = Field(
        None, description="Identifier of a fabric; left out, what the system comes with."
    )


class RunningInput(Schema):
    """What the running cost is made of; what is left out is the catalogue's."""

    power_kw: Number | None = Field(
        None,
        gt=0,
        le=1e7,
        description="Mean draw of the machines; left out, that of the hardware under a training load. [kW]",
    )
    pue: Number | None = Field(None, ge=1, le=5, description="Power of the site over that of the machines.")
    tariff: Number | None = Field(
        None, ge=0, le=1e6, description="Price of electricity in the currency. [currency/kWh]"
    )
    staff: Number | None = Field(
        None,
        ge=0,
        le=1e5,
        description="Posts that run it; left out, by the number of machines.",
    )
    staff_cost: Number | None = Field(
        None, ge=0, le=DEAREST, description="Cost of a full-time post in the currency. [currency/year]"
    )
    space: Number | None = Field(
        None,
        ge=0,
        le=DEAREST,
        description="Rent of the floor or the racks; left out, by the power drawn. [currency/month]",
    )
    support: Share | None = Field(
        None, ge=0, le=1, description="Support contract, share of the purchase price a year. [1/year]"
    )


class CloudInput(Schema):
    """What the cloud bill is made of."""

    system: str = Field(description="Identifier of a rented system.", examples=["aws-p4d"])
    count: Whole = Field(1, ge=1, le=100_000, description="How many are rented at a time.")
    hours_per_month: Number = Field(
        gt=0, le=744, description="Hours each is rented in a month; 730.5 are all of them. [h/month]"
    )
    hourly_price: Number | None = Field(
        None,
        gt=0,
        le=DEAREST,
        description="Rent of one in the currency; left out, the catalogue's. [currency/h]",
    )
    rental: Literal["on-demand", "reserved-1-year", "reserved-3-years", "spot"] = "on-demand"
    """Kind of rent that is looked up where no price is given."""


class RangeInput(Schema):
    """How far an input may be off: 10th and 90th percentile."""

    low: Number = Field(description="10th percentile, in the unit of the input.")
    high: Number = Field(description="90th percentile, in the unit of the input.")


class RangesInput(Schema):
    """Inputs that are not known exactly; the answer then has a range and a probability."""

    capex: RangeInput | None = None
    """Of the purchase price."""
    onprem_monthly: RangeInput | None = None
    """Of the running cost."""
    cloud_monthly: RangeInput | None = None
    """Of the cloud bill."""
    growth: RangeInput | None = None
    """Of the growth of the bill."""
    utilisation: RangeInput | None = None
    """Of the share of the cluster that is in use."""


class BreakEvenRequest(Schema):
    """A purchase and the cloud bill that it would replace."""

    currency: Literal["USD", "KRW"] = Field(description="Currency of every amount.")
    capex: Number | None = Field(
        None, gt=0, le=DEAREST, description="Purchase price; or give hardware. [currency]", examples=[4.378e9]
    )
    hardware: HardwareInput | None = None
    """What is bought, in place of capex."""
    capex_includes_fabric: bool | None = None
    """Whether the stated price holds switches, cables and installation; left out, it is asked about."""
    onprem_monthly: Number | None = Field(
        None,
        ge=0,
        le=DEAREST,
        description="Running cost of the own cluster; or give onprem. [currency/month]",
        examples=[5e7],
    )
    onprem: RunningInput | None = None
    """What the running cost is made of, in place of onprem_monthly."""
    cloud_monthly: Number | None = Field(
        None,
        gt=0,
        le=DEAREST,
        description="Cloud bill of the work that the cluster takes over; or give cloud. [currency/month]",
        examples=[3e8],
    )
    cloud: CloudInput | None = None
    """What the cloud bill is made of, in place of cloud_monthly."""
    discount_rate: Share = Field(
        0.0, ge=0, le=1, description="Effective yearly interest at which later money counts less. [1/year]"
    )
    horizon_months: Number | None = Field(
        None,
        gt=0,
        le=LONGEST,
        description="How long it is counted; left out, the catalogue's amortisation. [month]",
    )
    residual_share: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Resale at the horizon over the purchase price; left out, the catalogue's where "
        "hardware is given, else none.",
    )
    utilisation: Share | None = Field(
        None,
        ge=LEAST_SHARE,
        le=1,
        description="Share of the cluster's capacity that the work behind the bill fills. The cloud is paid "
        "for what is used, the cluster whether it is used or not.",
    )
    growth: Share | None = Field(
        None, gt=-1, le=5, description="Yearly growth of the work, and so of the cloud bill. [1/year]"
    )
    own_growth: Share | None = Field(
        None, gt=-1, le=5, description="Yearly growth of the running cost. [1/year]"
    )
    teams_now: Whole | None = Field(
        None, ge=1, le=100_000, description="Teams behind the bill, with teams_then."
    )
    teams_then: Whole | None = Field(
        None, ge=1, le=100_000, description="Teams there will be; the bill grows in proportion."
    )
    demand_factor: Number | None = Field(
        None, gt=0, le=1000, description="Work to come over the work behind the bill; 2 is a doubling."
    )
    demand: list[Share] | None = Field(
        None,
        min_length=1,
        max_length=MOST_PERIODS,
        description="Capacity in use over that of the cluster, in equally long stretches of time such as "
        "months; says how much to own where the peak is rented.",
        examples=[[0.4, 0.5, 0.9, 1.2]],
    )
    peak_price_factor: Number = Field(
        1.0, gt=0, le=100, description="Rent of the peak over that behind the bill."
    )
    ranges: RangesInput | None = None
    """Inputs that are not known exactly."""
    price_book_id: str | None = Field(
        None, max_length=100, description="Identifier of a workspace's own prices."
    )


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
        if not 0 <= level <= 100:
            raise BadInput.at(
                f"demand.{place}",
                "must be between {least} and {most}, not {value}",
                value=level,
                least=0,
                most=100,
            )
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
    """One line of an amount."""

    item: str
    """What is paid for."""
    amount: float
    """In the currency; once or every month, as the list it stands in says."""
    rule: Text
    """How it is computed."""


class TornadoRow(Document):
    """What one input alone does to the break-even."""

    input: str
    """Field of the request."""
    value: float
    """What is given."""
    low_input: float
    """The input at its low end, 20 % less."""
    high_input: float
    """The input at its high end, 20 % more or as far as it goes."""
    low: float | None
    """Break-even at the low end of the input; null where it never comes. [month]"""
    high: float | None
    """Break-even at the high end of the input; null where it never comes. [month]"""
    spread: float | None
    """Distance of the two ends; null where an end never comes. [month]"""
    reason: Text | None
    """Why an end is null."""


class CashPoint(Document):
    """Both sides up to one month, discounted to the start."""

    month: float
    """Months from the purchase. [month]"""
    own: float
    """Purchase and running cost so far, less the sale from the horizon on. [currency]"""
    cloud: float
    """Cloud bills so far that the cluster would have replaced. [currency]"""
    saving: float
    """Cloud less own. [currency]"""
    own_low: float | None = None
    """10th percentile of own; null without ranges. [currency]"""
    own_high: float | None = None
    """90th percentile of own. [currency]"""
    cloud_low: float | None = None
    """10th percentile of cloud. [currency]"""
    cloud_high: float | None = None
    """90th percentile of cloud. [currency]"""


class DemandCase(Document):
    """The break-even if there were more or less work."""

    factor: float
    """Work over the work that was asked about."""
    cloud_monthly: float
    """Bill of that work. [currency/month]"""
    replaced_monthly: float
    """Part of the bill that the cluster has room for. [currency/month]"""
    months: float | None
    """Break-even; null where it never comes. [month]"""
    outcome: Outcome
    """Within the horizon, after it, or never."""


class MixedPoint(Document):
    """Cost of owning one capacity and renting the rest."""

    owned: float
    """Capacity owned over that of the cluster."""
    own: float
    """Paid for what is owned, purchase spread over the horizon. [currency/month]"""
    rent: float
    """Paid for what is rented. [currency/month]"""
    total: float
    """Both. [currency/month]"""


class Mixed(Document):
    """Own the base, rent the peak."""

    best: MixedPoint
    """The capacity to own that costs least."""
    all_owned: MixedPoint
    """Capacity for the highest demand, nothing rented."""
    all_rented: MixedPoint
    """Nothing owned."""
    worth_owning_share: float
    """Share of the time for which capacity must be in use to be worth owning."""
    mean_demand: float
    """Mean capacity in use over that of the cluster."""
    peak_demand: float
    """Highest capacity in use over that of the cluster."""
    points: list[MixedPoint]
    """Cost over the capacity owned."""
    load: list[float]
    """Capacity in use over that of the cluster, the highest first."""


class BreakEven(Document):
    """When an own cluster is cheaper than the cloud."""

    months: float | None
    """Months until owning has cost no more than renting, with their fraction; null where it never
    comes. [month]"""
    outcome: Outcome
    """Within the horizon, after it, or never."""
    months_low: float | None
    """10th percentile of the months; null where it never comes, or without ranges. [month]"""
    months_high: float | None
    """90th percentile of the months; null where it never comes, or without ranges. [month]"""
    probability: float | None
    """Share of the samples that break even within the horizon; null without ranges."""
    currency: str
    """Currency of every amount."""
    capex: Quantity
    """Purchase price."""
    capex_lines: list[AmountLine]
    """What it is made of; empty where it was stated."""
    onprem_monthly: float
    """Running cost of the first month. [currency/month]"""
    onprem_lines: list[AmountLine]
    """What it is made of; empty where it was stated."""
    cloud_monthly: float
    """Cloud bill of the first month, with the demand that was asked about. [currency/month]"""
    replaced_monthly: float
    """Part of it that the cluster has room for. [currency/month]"""
    cloud_lines: list[AmountLine]
    """What it is made of; empty where it was stated."""
    discount_rate: float
    """Effective yearly interest. [1/year]"""
    growth: float
    """Yearly growth of the bill. [1/year]"""
    horizon_months: float
    """How long it is counted. [month]"""
    own_at_horizon: float
    """Own cost up to the horizon, discounted, less the sale. [currency]"""
    cloud_at_horizon: float
    """Replaced bills up to the horizon, discounted. [currency]"""
    residual: float
    """Resale at the horizon, not discounted. [currency]"""
    required_cloud_monthly: float
    """Bill of the first month from which a purchase pays by the horizon. [currency/month]"""
    required_utilisation: float | None
    """Share of the cluster that has to be in use for that; null where no utilisation is given or even a
    full cluster does not suffice."""
    sentences: list[Text]
    """The answer in words, the outcome first."""
    tornado: list[TornadoRow]
    """What each input alone does, the strongest first."""
    demand_cases: list[DemandCase]
    """The break-even for more or less work."""
    cash_flow: list[CashPoint]
    """Both sides month by month."""
    mixed: Mixed | None
    """Own the base, rent the peak; null without a demand profile."""
    defaults: list[Default]
    """Every value that was not asked for, and why it was taken."""
    warnings: list[CheckWarning]
    """What has to be known to read it."""
    trace: list[TraceStep]
    """How each number was computed."""
