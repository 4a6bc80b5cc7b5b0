"""Build or rent: the whole answer from a request."""

from __future__ import annotations

import math

import numpy as np

from app.engine.cost.break_even import (
    BuildOrRent,
    break_even_month,
    own_cost_worth,
    replaced_bill_worth,
    required_bill,
)
from app.engine.records import Floats
from app.engine.uncertainty import HIGH, LOW, band
from app.sizing.break_even.amounts import BreakEvenAmounts, amounts_of
from app.sizing.break_even.checks import warnings_of
from app.sizing.break_even.documents import BreakEven, CashPoint, DemandCase, Outcome
from app.sizing.break_even.lines import rent_lines, running_lines
from app.sizing.break_even.mixed import mixed
from app.sizing.break_even.request import LONGEST, BreakEvenRequest, check
from app.sizing.break_even.sentences import sentences
from app.sizing.break_even.spans import sampled, spans_of
from app.sizing.break_even.terms import BreakEvenQuestion, cloud_bill, question_of, terms_of
from app.sizing.break_even.tornado import tornado
from app.sizing.break_even.tracing import trace_of
from app.sizing.context import SizingContext
from app.sizing.document import Quantity, Text

FACTORS = (0.5, 1.0, 1.5, 2.0, 3.0)
"""More or less work, over what was asked about."""

BEYOND = 1.15
"""How far past the break-even both sides are shown."""


def decide(request: BreakEvenRequest, context: SizingContext) -> BreakEven:
    """Return when an own cluster is cheaper than the cloud."""
    check(request)
    priced = context.priced(request.price_book_id)
    amounts = amounts_of(request, priced)
    inputs = amounts.inputs
    question = question_of(request, inputs)
    terms = terms_of(inputs, question)
    months = float(break_even_month(terms))
    horizon = inputs["horizon_months"]
    outcome = outcome_of(months, horizon)
    spans = spans_of(request, amounts)
    drawn = terms_of(sampled(inputs, spans), question) if spans else None
    times = break_even_month(drawn) if drawn is not None else None
    probability = None if times is None else float(np.mean(times <= horizon))
    flow = cash_flow(terms, months, drawn)
    bill = float(cloud_bill(inputs, question)) * question.factor
    required, share = _required(terms, question, inputs)
    found = None
    if request.demand is not None:
        found = mixed(terms, bill, request.demand, request.peak_price_factor)
    own, cloud = float(own_cost_worth(terms, horizon)), float(replaced_bill_worth(terms, horizon))
    told = sentences(
        terms, months, outcome, cloud - own, (required, share), probability, spans, found, request.currency
    )
    return BreakEven(
        months=_finite(months),
        outcome=outcome,
        months_low=None if times is None else _percentile(times, LOW, months),
        months_high=None if times is None else _percentile(times, HIGH, months),
        probability=probability,
        currency=request.currency,
        capex=_price(inputs["capex"], spans.get("capex"), request.currency),
        capex_lines=amounts.capex_lines,
        onprem_monthly=float(terms.own_monthly),
        onprem_lines=running_lines(inputs),
        cloud_monthly=bill,
        replaced_monthly=float(terms.cloud_monthly),
        cloud_lines=rent_lines(request, inputs),
        discount_rate=inputs["discount_rate"],
        growth=inputs["growth"],
        horizon_months=horizon,
        own_at_horizon=own,
        cloud_at_horizon=cloud,
        residual=inputs["residual_share"] * inputs["capex"],
        required_cloud_monthly=required,
        required_utilisation=share,
        sentences=[Text.of(one) for one in told],
        tornado=tornado(inputs, question),
        demand_cases=demand_cases(amounts, question),
        cash_flow=flow,
        mixed=found,
        defaults=amounts.defaults,
        warnings=warnings_of(request, amounts, terms, months, flow, priced),
        trace=trace_of(amounts, question, terms, months, request.currency),
    )


def outcome_of(months: float, horizon: float) -> Outcome:
    """Return how a break-even lies to the horizon."""
    if not math.isfinite(months):
        return "never"
    return "within_horizon" if months <= horizon else "after_horizon"


def cash_flow(terms: BuildOrRent, months: float, drawn: BuildOrRent | None) -> list[CashPoint]:
    """Return both sides month by month, past the break-even where nothing is sold before."""
    horizon = float(terms.horizon)
    end = horizon
    if math.isfinite(months) and float(terms.residual_share) == 0.0:
        end = max(horizon, min(math.ceil(BEYOND * months), LONGEST))
    counted = np.unique(np.concatenate([np.arange(math.floor(end) + 1.0), [horizon]]))
    own, cloud = own_cost_worth(terms, counted), replaced_bill_worth(terms, counted)
    points = [
        CashPoint(month=float(month), own=float(mine), cloud=float(theirs), saving=float(theirs - mine))
        for month, mine, theirs in zip(counted, own, cloud, strict=True)
    ]
    if drawn is None:
        return points
    # Samples stand on the last axis, months before it.
    column = counted[:, np.newaxis]
    mine = band(own_cost_worth(drawn, column), own)
    theirs = band(replaced_bill_worth(drawn, column), cloud)
    return [
        point.model_copy(
            update={
                "own_low": float(mine[0][place]),
                "own_high": float(mine[1][place]),
                "cloud_low": float(theirs[0][place]),
                "cloud_high": float(theirs[1][place]),
            }
        )
        for place, point in enumerate(points)
    ]


def demand_cases(amounts: BreakEvenAmounts, question: BreakEvenQuestion) -> list[DemandCase]:
    """Return the break-even for more or less work."""
    factors = np.array(FACTORS)
    terms = terms_of(amounts.inputs, question, factors * question.factor)
    bill = float(cloud_bill(amounts.inputs, question)) * question.factor
    months = break_even_month(terms)
    replaced = np.broadcast_to(np.asarray(terms.cloud_monthly), factors.shape)
    return [
        DemandCase(
            factor=factor,
            cloud_monthly=bill * factor,
            replaced_monthly=float(part),
            months=_finite(float(month)),
            outcome=outcome_of(float(month), amounts.inputs["horizon_months"]),
        )
        for factor, part, month in zip(FACTORS, replaced, months, strict=True)
    ]


def _required(
    terms: BuildOrRent, question: BreakEvenQuestion, inputs: dict[str, float]
) -> tuple[float, float | None]:
    """Bill from which it pays by the horizon, and the use of the cluster that stands for."""
    required = float(required_bill(terms))
    if question.filled is None:
        return required, None
    # Bill and use go together, and growth ends where the cluster is full: a fuller cluster has less room.
    full = float(cloud_bill(inputs, question)) / question.filled
    share = required / full
    return required, share if share <= 1.0 else None


def _price(value: float, ends: tuple[float, float] | None, currency: str) -> Quantity:
    low, high = ends if ends is not None else (value, value)
    return Quantity(value=value, low=low, high=high, unit=currency)


def _percentile(times: Floats, share: float, central: float) -> float | None:
    """Percentile of months of which some may never come, widened to contain the central answer."""
    ordered = np.sort(times)
    value = float(ordered[round(share * (len(ordered) - 1))])
    return _finite(min(value, central) if share < 0.5 else max(value, central))


def _finite(months: float) -> float | None:
    return months if math.isfinite(months) else None
