"""What is answered: when an own cluster is cheaper than the cloud, and what that hangs on."""

from __future__ import annotations

from typing import Literal

from app.sizing.document import CheckWarning, Default, Document, Quantity, Text, TraceStep

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
