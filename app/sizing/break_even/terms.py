"""Inputs by field to the terms of the engine; one or many values of each alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.engine.cost.break_even import BuildOrRent
from app.engine.records import FloatLike, Floats
from app.engine.units import MONTHS
from app.sizing.break_even.lines import HOURS_PER_MONTH
from app.sizing.break_even.request import BreakEvenRequest

Inputs = Mapping[str, FloatLike]


@dataclass(frozen=True, slots=True)
class BreakEvenQuestion:
    """What does not vary: how many are rented, and how much work there will be."""

    rented: int
    """Systems rented at a time."""
    factor: float
    """Work to come over the work behind the bill."""
    filled: float | None
    """Share of the cluster that the work behind the bill fills; above 1 it is more than the cluster holds.
   """


def question_of(request: BreakEvenRequest, inputs: Mapping[str, float]) -> BreakEvenQuestion:
    """Return what does not vary."""
    factor = 1.0 if request.demand_factor is None else request.demand_factor
    if request.teams_now is not None and request.teams_then is not None:
        factor = request.teams_then / request.teams_now
    return BreakEvenQuestion(
        rented=request.cloud.count if request.cloud is not None else 1,
        factor=factor,
        filled=inputs.get("utilisation"),
    )


def running_cost(inputs: Inputs) -> Floats:
    """Return the running cost of the first month. [currency/month]"""
    if "onprem_monthly" in inputs:
        return np.asarray(inputs["onprem_monthly"], dtype=float)
    given = {name: np.asarray(value, dtype=float) for name, value in inputs.items()}
    power = given["onprem.power_kw"] * given["onprem.pue"] * given["onprem.tariff"] * HOURS_PER_MONTH
    staff = given["onprem.staff"] * given["onprem.staff_cost"] / MONTHS
    support = given["onprem.support"] * given["capex"] / MONTHS
    return np.asarray(power + staff + given["onprem.space"] + support)


def cloud_bill(inputs: Inputs, question: BreakEvenQuestion) -> Floats:
    """Return the bill as it was stated or described, before any change in demand. [currency/month]"""
    if "cloud_monthly" in inputs:
        return np.asarray(inputs["cloud_monthly"], dtype=float)
    hours = np.asarray(inputs["cloud.hours_per_month"], dtype=float)
    return np.asarray(hours * inputs["cloud.hourly_price"] * question.rented)


def terms_of(inputs: Inputs, question: BreakEvenQuestion, factor: FloatLike | None = None) -> BuildOrRent:
    """Return the terms of the engine.

    With a utilisation the bill follows the work on the cluster, up to a full one: what exceeds it is
    rented either way and stands on neither side.
    """
    work = np.asarray(question.factor if factor is None else factor, dtype=float)
    bill = cloud_bill(inputs, question)
    replaced, fullest = bill * work, np.asarray(np.inf)
    if question.filled is not None:
        filled = np.minimum(np.asarray(inputs["utilisation"], dtype=float) * work, 1.0)
        replaced, fullest = bill / question.filled * filled, np.asarray(1.0 / filled)
    return BuildOrRent(
        capital=inputs["capex"],
        own_monthly=running_cost(inputs),
        cloud_monthly=replaced,
        discount_rate=inputs["discount_rate"],
        cloud_growth=inputs["growth"],
        own_growth=inputs["own_growth"],
        fullest=fullest,
        residual_share=inputs["residual_share"],
        horizon=inputs["horizon_months"],
    )
