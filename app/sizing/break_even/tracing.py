"""How each amount and the break-even were computed, with the sources of what the catalogue added."""

from __future__ import annotations

import math

from app.engine.cost.break_even import BuildOrRent, own_cost_worth, replaced_bill_worth, required_bill
from app.sizing.break_even.amounts import BreakEvenAmounts
from app.sizing.break_even.terms import BreakEvenQuestion, cloud_bill
from app.sizing.document import TraceStep

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
