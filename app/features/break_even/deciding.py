"""Build or rent: when a purchase costs no more than the cloud bill it replaces."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from pydantic import JsonValue

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
from app.engine.records import Floats
from app.engine.uncertainty import HIGH, LOW, band, standard_normals
from app.errors import Message
from app.estimating.context import SizingContext
from app.estimating.documents import Text, TraceStep
from app.estimating.hardware import DECILES
from app.estimating.money import rounded
from app.estimating.ranges import SEED
from app.estimating.schema import Quantity
from app.features.break_even.inputs import Amounts, Inputs, rent_lines, running_lines
from app.features.break_even.model import (
    LONGEST,
    BreakEven,
    BreakEvenRequest,
    CashPoint,
    DemandCase,
    FleetMix,
    FleetMixPoint,
    Outcome,
    RangesInput,
    TornadoRow,
    check,
)
from app.features.break_even.words import sentences, warnings_of

Spans = Mapping[str, tuple[float, float]]
"""Input → its 10th and 90th percentile."""

SAMPLES = 512
"""Samples of an answer; a probability then has a resolution of a fifth of a percent."""

DECILE = DECILES / 2.0
"""Standard deviations from the median to the 10th or 90th percentile of a normal distribution."""

POSITIVE = ("capex", "onprem_monthly", "cloud_monthly")
"""Inputs that vary by factors."""

FACTORS = (0.5, 1.0, 1.5, 2.0, 3.0)
"""Demand cases: multiples of the requested work."""

BEYOND = 1.15
"""Multiple of the break-even month up to which both sides are shown."""


def decide(request: BreakEvenRequest, context: SizingContext) -> BreakEven:
    check(request)
    priced = context.priced(request.price_book_id)
    amounts = Amounts(request, priced)
    inputs, values, currency = amounts.inputs, amounts.values, request.currency
    terms, horizon = inputs.terms(), values["horizon_months"]
    months = float(break_even_month(terms))
    bill = float(inputs.bill()) * inputs.factor
    spans = spans_of(request, amounts)
    drawn = replace(inputs, values=sampled(values, spans)).terms() if spans else None
    times = None if drawn is None else break_even_month(drawn)
    required = float(required_bill(terms))
    low, high = spans.get("capex", (values["capex"], values["capex"]))
    answer = BreakEven(
        months=_finite(months),
        outcome=outcome_of(months, horizon),
        months_low=None if times is None else _percentile(times, LOW, months),
        months_high=None if times is None else _percentile(times, HIGH, months),
        probability=None if times is None else float(np.mean(times <= horizon)),
        currency=currency,
        capex=Quantity(value=values["capex"], low=low, high=high, unit=currency),
        capex_lines=amounts.capex_lines,
        onprem_monthly=float(terms.own_monthly),
        onprem_lines=running_lines(amounts),
        cloud_monthly=bill,
        replaced_monthly=float(terms.cloud_monthly),
        cloud_lines=rent_lines(amounts),
        discount_rate=values["discount_rate"],
        growth=values["growth"],
        horizon_months=horizon,
        own_at_horizon=float(own_cost_worth(terms, horizon)),
        cloud_at_horizon=float(replaced_bill_worth(terms, horizon)),
        residual=values["residual_share"] * values["capex"],
        required_cloud_monthly=required,
        required_utilisation=required_utilisation(required, inputs),
        sentences=[],
        tornado=tornado(values, inputs),
        demand_cases=demand_cases(inputs, horizon),
        cash_flow=cash_flow(terms, months, drawn),
        mixed=mixed(terms, bill, request.demand, request.peak_price_factor) if request.demand else None,
        defaults=amounts.defaults,
        warnings=[],
        trace=trace_of(amounts, terms, months),
    )
    texts = [Text.of(sentence) for sentence in sentences(answer, spans, values.get("utilisation"))]
    return answer.model_copy(
        update={"sentences": texts, "warnings": warnings_of(answer, amounts, terms, months)}
    )


def outcome_of(months: float, horizon: float) -> Outcome:
    if not math.isfinite(months):
        return "never"
    return "within_horizon" if months <= horizon else "after_horizon"


def spans_of(request: BreakEvenRequest, amounts: Amounts) -> Spans:
    spans = {} if amounts.capex_range is None else {"capex": amounts.capex_range}
    for name in RangesInput.model_fields if request.ranges is not None else ():
        span = getattr(request.ranges, name)
        if span is not None:
            spans[name] = (span.low, span.high)
    return {name: (low, high) for name, (low, high) in spans.items() if low < high}


def sampled(values: Mapping[str, float], spans: Spans) -> dict[str, Floats]:
    """Return every input as samples; those with a range as two half-normals that meet at the value.

    A tenth of the samples lies below the low end and a tenth above the high one.
    """
    # One column for each input that may vary, so that omitting one leaves the others unchanged.
    table = standard_normals(SAMPLES, len(RangesInput.model_fields), SEED)
    normals = dict(zip(RangesInput.model_fields, table.T, strict=True))
    drawn = {name: np.full(SAMPLES, value) for name, value in values.items()}
    for name, (low, high) in spans.items():
        value, draws = values[name], normals[name] / DECILE
        if name in POSITIVE and value > 0:
            down, up = np.log(value / low), np.log(high / value)
            drawn[name] = value * np.exp(draws * np.where(draws < 0, down, up))
        else:
            drawn[name] = value + draws * np.where(draws < 0, value - low, high - value)
    if "utilisation" in spans:
        drawn["utilisation"] = np.clip(drawn["utilisation"], 0.001, 1.0)
    if "growth" in spans:
        drawn["growth"] = np.clip(drawn["growth"], -0.99, 5.0)
    return drawn


def required_utilisation(required: float, inputs: Inputs) -> float | None:
    """Return the utilisation at which the bill is the required one; None if more than the cluster can do."""
    if inputs.filled is None:
        return None
    # The bill is proportional to the utilisation; growth ends where the cluster is full.
    share = required / (float(inputs.bill()) / inputs.filled)
    return share if share <= 1.0 else None


def cash_flow(terms: BuildOrRent, months: float, drawn: BuildOrRent | None) -> list[CashPoint]:
    """Return both sides month by month, up to past the break-even if there is no resale value."""
    end = horizon = float(terms.horizon)
    if math.isfinite(months) and float(terms.residual_share) == 0.0:
        end = max(horizon, min(math.ceil(BEYOND * months), LONGEST))
    months_shown = np.unique(np.concatenate([np.arange(math.floor(end) + 1.0), [horizon]]))
    own, cloud = own_cost_worth(terms, months_shown), replaced_bill_worth(terms, months_shown)
    columns = {"month": months_shown, "own": own, "cloud": cloud, "saving": cloud - own}
    if drawn is not None:
        # Samples are on the last axis, months before it.
        column = months_shown[:, np.newaxis]
        columns["own_low"], columns["own_high"] = band(own_cost_worth(drawn, column), own)
        columns["cloud_low"], columns["cloud_high"] = band(replaced_bill_worth(drawn, column), cloud)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [CashPoint(**dict(zip(columns, row, strict=True))) for row in rows]


def demand_cases(inputs: Inputs, horizon: float) -> list[DemandCase]:
    terms = inputs.terms(np.array(FACTORS))
    bill = float(inputs.bill()) * inputs.factor
    replaced = np.broadcast_to(np.asarray(terms.cloud_monthly), len(FACTORS))
    return [
        DemandCase(
            factor=factor,
            cloud_monthly=bill * factor,
            replaced_monthly=float(part),
            months=_finite(float(month)),
            outcome=outcome_of(float(month), horizon),
        )
        for factor, part, month in zip(FACTORS, replaced, break_even_month(terms), strict=True)
    ]


def _percentile(times: Floats, share: float, central: float) -> float | None:
    """Percentile of break-even months, some infinite, widened to contain the central answer."""
    ordered = np.sort(times)
    value = float(ordered[round(share * (len(ordered) - 1))])
    return _finite(min(value, central) if share < 0.5 else max(value, central))


def _finite(months: float) -> float | None:
    return months if math.isfinite(months) else None


STEPS = 40
"""Points of the curve besides the levels of demand."""

MOST_SHOWN = 400
"""Most points of the load curve; longer ones are thinned."""


def mixed(terms: BuildOrRent, bill: float, demand: Sequence[float], peak_factor: float) -> FleetMix:
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
    points = [
        FleetMixPoint(owned=float(share), own=float(base), rent=float(peak), total=float(base + peak))
        for share, base, peak in zip(shares, *base_and_peak_cost(shares, used, own, rent), strict=True)
    ]
    # Renting everything has no peak surcharge: it costs the bill itself.
    nothing = FleetMixPoint(owned=0.0, own=0.0, rent=bill, total=bill)
    cheapest = next(point for point in points if point.owned == best)
    load = np.sort(used)[::-1]
    thinned = load[np.linspace(0, len(load) - 1, min(len(load), MOST_SHOWN)).round().astype(int)]
    return FleetMix(
        best=min(cheapest, nothing, key=lambda point: point.total),
        all_owned=points[-1],
        all_rented=nothing,
        worth_owning_share=min(own / rent, 1.0),
        mean_demand=mean,
        peak_demand=top,
        points=points,
        load=[float(level) for level in thinned],
    )


STEP = 0.2
"""Relative change of an input."""

ENDS = {
    "utilisation": (0.0, 1.0),
    "residual_share": (0.0, 1.0),
    "growth": (-0.99, 5.0),
    "own_growth": (-0.99, 5.0),
    "onprem.pue": (1.0, 5.0),
}
"""Input → its bounds."""


def tornado(values: Mapping[str, float], inputs: Inputs) -> list[TornadoRow]:
    """Return one row for each input that is not zero, the strongest first.

    Inputs that decide whether there is a break-even at all come before those that move it. The horizon
    does not affect it.
    """
    names = [name for name, value in values.items() if value != 0.0 and name != "horizon_months"]
    if values.get("utilisation", 0.0) > 1.0:
        # A fifth less than more than the cluster holds may still be more than it holds.
        names.remove("utilisation")
    ends = {name: _ends(name, values[name]) for name in names}
    # One row for each input, one column for each of its ends.
    varied = {name: np.full((len(names), 2), value) for name, value in values.items()}
    for row, name in enumerate(names):
        varied[name][row] = ends[name]
    months = break_even_month(replace(inputs, values=varied).terms())
    rows = [_row(name, values[name], ends[name], months[row].tolist()) for row, name in enumerate(names)]
    return sorted(rows, key=_rank)


def _ends(name: str, value: float) -> tuple[float, float]:
    low, high = sorted((value * (1.0 - STEP), value * (1.0 + STEP)))
    least, most = ENDS.get(name, (-math.inf, math.inf))
    return max(low, least), min(high, most)


def _row(name: str, value: float, ends: tuple[float, float], months: Sequence[float]) -> TornadoRow:
    low, high = (_finite(month) for month in months)
    reason = None
    if low is None and high is None:
        reason = Message("never pays back at either end")
    elif low is None:
        reason = Message("never pays back at the low end")
    elif high is None:
        reason = Message("never pays back at the high end")
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
    """Order: break-even at one end only, then the largest spread, then never at either end."""
    if row.low is None and row.high is None:
        return 2, 0.0
    if row.spread is None:
        return 0, row.low if row.low is not None else row.high or 0.0
    return 1, -row.spread


ECONOMY = "L. Blank and A. Tarquin, Engineering economy, 8th ed., McGraw-Hill, 2018"


def trace_of(amounts: Amounts, terms: BuildOrRent, months: float) -> list[TraceStep]:
    """Return the steps from the amounts to the month."""
    inputs, values, currency = amounts.inputs, amounts.values, amounts.request.currency
    steps: list[TraceStep] = []

    def step(
        name: str,
        formula: str,
        arguments: Mapping[str, JsonValue],
        value: float,
        reference: str = "",
        part: str = "",
        unit: str = currency,
    ) -> None:
        steps.append(
            TraceStep(
                name=name,
                formula=formula,
                inputs=dict(arguments),
                value=value,
                unit=unit,
                reference=reference,
                source=amounts.sources(part),
            )
        )

    if amounts.capex_lines:
        parts = {line.item: line.amount for line in amounts.capex_lines}
        step("capex", "capex = " + " + ".join(parts), parts, values["capex"], part="capex")
    if "onprem_monthly" not in values:
        formula = (
            "own = power · pue · tariff · 730.5 h + staff · staff_cost / 12 + space + support · capex / 12"
        )
        parts = {name: value for name, value in values.items() if name.startswith("onprem.")}
        parts["capex"] = values["capex"]
        step("onprem_monthly", formula, parts, float(terms.own_monthly), ECONOMY, "onprem")
    if "cloud_monthly" not in values:
        formula = "bill = count · hours_per_month · hourly_price"
        rent = {name: values[f"cloud.{name}"] for name in ("hours_per_month", "hourly_price")}
        step("cloud_monthly", formula, {"count": inputs.rented, **rent}, float(inputs.bill()), part="cloud")
    cash_terms = {
        "capex": values["capex"],
        "own": float(terms.own_monthly),
        "bill": float(terms.cloud_monthly),
        "r": values["discount_rate"],
        "g": values["growth"],
        "horizon": values["horizon_months"],
        "residual_share": values["residual_share"],
    }
    if math.isfinite(months):
        formula = "n = capex / (bill − own)"
        if values["growth"] != 0.0 or values["own_growth"] != 0.0:
            formula = "first n with Σ (bill_k − own_k) · v^k = capex,  v = (1 + r)^(−1/12)"
        elif values["discount_rate"] > 0.0:
            formula = "n = −ln(1 − capex · i / (bill − own)) / ln(1 + i),  i = (1 + r)^(1/12) − 1"
        payback = f"{ECONOMY} (payback period, discounted payback)"
        step("break_even_month", formula, cash_terms, months, payback, unit="month")
    step(
        "own_at_horizon",
        "own = capex + Σ own_k · v^k − residual_share · capex · v^horizon,  v = (1 + r)^(−1/12)",
        cash_terms,
        float(own_cost_worth(terms, terms.horizon)),
        f"{ECONOMY} (present worth analysis)",
    )
    step(
        "cloud_at_horizon",
        "cloud = Σ bill_k · v^k,  bill_k = bill · (1 + g)^((k−1)/12) until the cluster is full",
        cash_terms,
        float(replaced_bill_worth(terms, terms.horizon)),
        f"{ECONOMY} (present worth analysis)",
    )
    step(
        "required_cloud_monthly",
        "bill* = (capex + W(own) − residual · v^horizon) / W(1),  W(a) = Σ a · (1 + g)^((k−1)/12) · v^k",
        cash_terms,
        float(required_bill(terms)),
        f"{ECONOMY} (breakeven analysis)",
        "horizon",
    )
    return steps


def cash_flow_csv(answer: BreakEven) -> str:
    """Return both sides month by month as CSV, with the currency in the header."""
    header = [name if name == "month" else f"{name} [{answer.currency}]" for name in CashPoint.model_fields]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    for point in answer.cash_flow:
        month, *amounts = point.model_dump().values()
        cells = ["" if value is None else f"{rounded(value, answer.currency):f}" for value in amounts]
        writer.writerow([f"{month:.10g}", *cells])
    return text.getvalue()
