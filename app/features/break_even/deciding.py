"""Build or rent: the whole answer from a request."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.cost.break_even import (
    BuildOrRent,
    base_and_peak_cost,
    break_even_month,
    cheapest_base,
    own_cost_worth,
    replaced_bill_worth,
    required_bill,
)
from app.engine.cost.capital import monthly_payment
from app.engine.records import FloatLike, Floats
from app.engine.uncertainty import HIGH, LOW, band, standard_normals
from app.engine.units import MONTHS
from app.errors import Message
from app.estimating.context import SizingContext
from app.estimating.documents import Text, TraceStep
from app.estimating.hardware import DECILES
from app.estimating.ranges import SEED
from app.estimating.schema import Quantity
from app.features.break_even.amounts import (
    HOURS_PER_MONTH,
    BreakEvenAmounts,
    amounts_of,
    rent_lines,
    running_lines,
)
from app.features.break_even.checks import sentences, warnings_of
from app.features.break_even.model import (
    LONGEST,
    BreakEven,
    BreakEvenRequest,
    CashPoint,
    DemandCase,
    Mixed,
    MixedPoint,
    Outcome,
    RangesInput,
    TornadoRow,
    check,
)

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


SAMPLES = 512
"""Samples of an answer; a probability is then known to a fifth of a percent."""

DECILE = DECILES / 2.0
"""Standard deviations from the middle to the 10th or the 90th percentile of a normal distribution."""

AMOUNTS = ("capex", "onprem_monthly", "cloud_monthly")
"""Inputs that are above zero, and vary by factors."""


def spans_of(request: BreakEvenRequest, amounts: BreakEvenAmounts) -> dict[str, tuple[float, float]]:
    """Return the inputs that are not known exactly, each with its ends."""
    found = {}
    if amounts.capex_range is not None:
        found["capex"] = amounts.capex_range
    if request.ranges is not None:
        for name in RangesInput.model_fields:
            given = getattr(request.ranges, name)
            if given is not None:
                found[name] = (given.low, given.high)
    return {name: ends for name, ends in found.items() if ends[0] < ends[1]}


def sampled(inputs: dict[str, float], spans: dict[str, tuple[float, float]]) -> dict[str, Floats]:
    """Return every input as samples; those with ends as two half-normals that meet at the value.

    A tenth of the samples lies below the low end and a tenth above the high one.
    """
    # One column for each input that may vary, so that leaving one out leaves the others as they are.
    table = standard_normals(SAMPLES, len(RangesInput.model_fields), SEED)
    normals = dict(zip(RangesInput.model_fields, table.T, strict=True))
    drawn = {name: np.full(SAMPLES, value) for name, value in inputs.items()}
    for name, (low, high) in spans.items():
        value, draws = inputs[name], normals[name] / DECILE
        if name in AMOUNTS and value > 0:
            down, up = np.log(value / low), np.log(high / value)
            drawn[name] = value * np.exp(draws * np.where(draws < 0, down, up))
        else:
            drawn[name] = value + draws * np.where(draws < 0, value - low, high - value)
    if "utilisation" in spans:
        drawn["utilisation"] = np.clip(drawn["utilisation"], 0.001, 1.0)
    if "growth" in spans:
        drawn["growth"] = np.clip(drawn["growth"], -0.99, 5.0)
    return drawn


STEPS = 40
"""Points of the curve besides the levels of demand themselves."""

MOST_SHOWN = 400
"""Most stretches of time that the load curve keeps; more are thinned."""


def mixed(terms: BuildOrRent, bill: float, demand: Sequence[float], peak_factor: float) -> Mixed:
    """Return what owning any part of the cluster costs where the rest is rented.

    Both sides are proportional to capacity: the cluster's cost over the horizon, spread evenly, for
    one unit of it owned; the bill over the mean demand for one unit rented.
    """
    used = np.asarray(demand, dtype=float)
    horizon = np.asarray(terms.horizon, dtype=float)
    worth = own_cost_worth(terms, horizon)
    own = float(monthly_payment(worth, terms.discount_rate, horizon))
    mean = float(np.mean(used))
    rent = bill / mean * peak_factor
    best = float(cheapest_base(used, own, rent))
    top = float(np.max(used))
    shares = np.unique(np.concatenate([np.linspace(0.0, top, STEPS + 1), [best]]))
    points = _points(shares, used, own, rent)
    # Who rents everything has no peak to pay extra for: that is the bill itself.
    nothing = MixedPoint(owned=0.0, own=0.0, rent=bill, total=bill)
    cheapest = next(point for point in points if point.owned == best)
    load = np.sort(used)[::-1]
    thinned = load[np.linspace(0, len(load) - 1, min(len(load), MOST_SHOWN)).round().astype(int)]
    return Mixed(
        best=min(cheapest, nothing, key=lambda point: point.total),
        all_owned=points[-1],
        all_rented=nothing,
        worth_owning_share=min(own / rent, 1.0),
        mean_demand=mean,
        peak_demand=top,
        points=points,
        load=[float(level) for level in thinned],
    )


def _points(shares: Floats, used: Floats, own: float, rent: float) -> list[MixedPoint]:
    owned, rented = base_and_peak_cost(shares, used, own, rent)
    return [
        MixedPoint(owned=float(share), own=float(one), rent=float(other), total=float(one + other))
        for share, one, other in zip(shares, owned, rented, strict=True)
    ]


STEP = 0.2
"""How far an input is moved, as a share of it."""

ENDS = {
    "utilisation": (0.0, 1.0),
    "residual_share": (0.0, 1.0),
    "growth": (-0.99, 5.0),
    "own_growth": (-0.99, 5.0),
    "onprem.pue": (1.0, 5.0),
}
"""Input → beyond what it cannot go."""

FIXED = {"horizon_months"}
"""Inputs that say how long it is counted, and move no break-even."""


def tornado(inputs: dict[str, float], question: BreakEvenQuestion) -> list[TornadoRow]:
    """Return one row for each input that is not zero, the strongest first.

    An input that decides whether there is a break-even at all stands above any that moves it.
    """
    names = [name for name, value in inputs.items() if value != 0.0 and name not in FIXED]
    if inputs.get("utilisation", 0.0) > 1.0:
        # A fifth less of more than the cluster holds may still be more than it holds.
        names.remove("utilisation")
    ends = [_ends(name, inputs[name]) for name in names]
    varied = {name: np.full(2 * len(names), value) for name, value in inputs.items()}
    for place, (name, pair) in enumerate(zip(names, ends, strict=True)):
        varied[name][2 * place : 2 * place + 2] = pair
    months = break_even_month(terms_of(varied, question))
    rows = [
        _row(name, inputs[name], pair, (float(months[2 * place]), float(months[2 * place + 1])))
        for place, (name, pair) in enumerate(zip(names, ends, strict=True))
    ]
    return sorted(rows, key=_rank)


def _ends(name: str, value: float) -> tuple[float, float]:
    low, high = sorted((value * (1.0 - STEP), value * (1.0 + STEP)))
    least, most = ENDS.get(name, (-math.inf, math.inf))
    return max(low, least), min(high, most)


def _row(name: str, value: float, ends: tuple[float, float], months: tuple[float, float]) -> TornadoRow:
    low, high = (month if math.isfinite(month) else None for month in months)
    reason = None
    if low is None and high is None:
        reason = Message("never pays back at either end")
    elif low is None or high is None:
        reason = (
            Message("never pays back at the low end")
            if low is None
            else Message("never pays back at the high end")
        )
    return TornadoRow(
        input=name,
        value=value,
        low_input=ends[0],
        high_input=ends[1],
        low=low,
        high=high,
        spread=abs(high - low) if low is not None and high is not None else None,
        reason=None if reason is None else Text.of(reason),
    )


def _rank(row: TornadoRow) -> tuple[int, float]:
    """Order: a change between never and some month, then the largest spread, then no change at all."""
    if row.low is None and row.high is None:
        return 2, 0.0
    if row.spread is None:
        return 0, row.low if row.low is not None else row.high or 0.0
    return 1, -row.spread


ECONOMY = "L. Blank and A. Tarquin, Engineering economy, 8th ed., McGraw-Hill, 2018"


def trace_of(
    amounts: BreakEvenAmounts, question: BreakEvenQuestion, terms: BuildOrRent, months: float, currency: str
) -> list[TraceStep]:
    """Return the steps from the amounts to the month."""
    steps = []
    inputs = amounts.inputs
    if amounts.capex_lines:
        steps.append(
            TraceStep(
                name="capex",
                formula="capex = " + " + ".join(line.item for line in amounts.capex_lines),
                inputs={line.item: line.amount for line in amounts.capex_lines},
                value=inputs["capex"],
                unit=currency,
                reference="",
                source=amounts.sources("capex"),
            )
        )
    if "onprem_monthly" not in inputs:
        parts = {name: value for name, value in inputs.items() if name.startswith("onprem.")}
        steps.append(
            TraceStep(
                name="onprem_monthly",
                formula="own = power · pue · tariff · 730.5 h + staff · staff_cost / 12 + space "
                "+ support · capex / 12",
                inputs=parts | {"capex": inputs["capex"]},
                value=float(terms.own_monthly),
                unit=currency,
                reference=ECONOMY,
                source=amounts.sources("onprem"),
            )
        )
    if "cloud_monthly" not in inputs:
        steps.append(
            TraceStep(
                name="cloud_monthly",
                formula="bill = count · hours_per_month · hourly_price",
                inputs={
                    "count": question.rented,
                    "hours_per_month": inputs["cloud.hours_per_month"],
                    "hourly_price": inputs["cloud.hourly_price"],
                },
                value=float(cloud_bill(inputs, question)),
                unit=currency,
                reference="",
                source=amounts.sources("cloud"),
            )
        )
    stated: dict[str, float] = {
        "capex": inputs["capex"],
        "own": float(terms.own_monthly),
        "bill": float(terms.cloud_monthly),
        "r": inputs["discount_rate"],
        "g": inputs["growth"],
        "horizon": inputs["horizon_months"],
        "residual_share": inputs["residual_share"],
    }
    if math.isfinite(months):
        steps.append(
            TraceStep(
                name="break_even_month",
                formula=_formula(terms),
                inputs=dict(stated),
                value=months,
                unit="month",
                reference=f"{ECONOMY} (payback period, discounted payback)",
                source=[],
            )
        )
    for name, formula, value in (
        (
            "own_at_horizon",
            "own = capex + Σ own_k · v^k − residual_share · capex · v^horizon,  v = (1 + r)^(−1/12)",
            own_cost_worth(terms, terms.horizon),
        ),
        (
            "cloud_at_horizon",
            "cloud = Σ bill_k · v^k,  bill_k = bill · (1 + g)^((k−1)/12) until the cluster is full",
            replaced_bill_worth(terms, terms.horizon),
        ),
    ):
        steps.append(
            TraceStep(
                name=name,
                formula=formula,
                inputs=dict(stated),
                value=float(value),
                unit=currency,
                reference=f"{ECONOMY} (present worth analysis)",
                source=[],
            )
        )
    steps.append(
        TraceStep(
            name="required_cloud_monthly",
            formula="bill* = (capex + W(own) − residual · v^horizon) / W(1),  "
            "W(a) = Σ a · (1 + g)^((k−1)/12) · v^k",
            inputs=dict(stated),
            value=float(required_bill(terms)),
            unit=currency,
            reference=f"{ECONOMY} (breakeven analysis)",
            source=amounts.sources("horizon"),
        )
    )
    return steps


def _formula(terms: BuildOrRent) -> str:
    if float(terms.cloud_growth) != 0.0 or float(terms.own_growth) != 0.0:
        return "first n with Σ (bill_k − own_k) · v^k = capex,  v = (1 + r)^(−1/12)"
    if float(terms.discount_rate) > 0.0:
        return "n = −ln(1 − capex · i / (bill − own)) / ln(1 + i),  i = (1 + r)^(1/12) − 1"
    return "n = capex / (bill − own)"


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
