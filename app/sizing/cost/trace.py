"""The trace of a cost: from prices and rates to the hour, the run and its carbon dioxide."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pydantic import JsonValue

from app.engine.cost import reservation_threshold, spot_hourly_price
from app.engine.units import HOUR
from app.sizing.cost.documents import Cost, CostFigure
from app.sizing.cost.prices import DollarPrices
from app.sizing.document import SourceRef, TraceStep
from app.sizing.failures import Reliability
from app.sizing.runtime import Run

BLANK = "Blank and Tarquin, Engineering economy, 8th ed., 2018"
BARROSO = "Barroso, Hölzle, Ranganathan, The datacenter as a computer, 3rd ed., 2018, chapter 6"
DALY = "Daly, Future Generation Computer Systems 22, 2006; Yi, Kondo, Andrzejak, IEEE CLOUD 2010"


def cost_trace(
    found: DollarPrices | None,
    cost: Cost | None,
    seconds: float,
    run: Run | None = None,
    assumed: Reliability | None = None,
) -> list[TraceStep]:
    """Return the steps that lead to the cost of a run; none where no price is known."""
    if found is None or cost is None:
        return []
    figures = [*cost.figures, *(figure for line in cost.lines for figure in line.figures)]
    steps = [
        TraceStep(
            name="cost_per_hour",
            formula="sum of: capital P (f − s (f − r)) / (8,766 h · u), f = r / (1 − (1 + r)^−n); "
            "support, power, space and staff of a year / (8,766 h · u)"
            if found.owned
            else "(instances × price + storage + egress) / u",
            inputs=_inputs(figures) | {line.item: line.hourly for line in cost.lines},
            value=cost.hourly.value,
            unit=cost.hourly.unit,
            reference=f"{BLANK}; {BARROSO}" if found.owned else BARROSO,
            source=_sources(figures),
        )
    ]
    steps += _rental(found, run, assumed)
    steps.append(
        TraceStep(
            name="cost_of_run",
            formula="cost of an hour × time to train",
            inputs={"cost_per_hour": cost.hourly.value, "time_to_train": seconds},
            value=cost.run.value,
            unit=cost.run.unit,
            reference=BARROSO,
            source=[],
        )
    )
    if cost.carbon is not None:
        carbon = cost.carbon
        steps.append(
            TraceStep(
                name="carbon_of_run",
                formula="energy at the meter × emissions of the grid",
                inputs={f"{carbon.intensity.item}.carbon": carbon.intensity.value, "time_to_train": seconds},
                value=carbon.run.value,
                unit="kg",
                reference="GHG Protocol, Scope 2 guidance, 2015 (location-based)",
                source=_sources([carbon.intensity]),
            )
        )
    return steps


def _rental(found: DollarPrices, run: Run | None, assumed: Reliability | None) -> list[TraceStep]:
    """Return what interruptions add to a spot price, or from which use on a reservation pays."""
    terms, price = found.terms, found.hourly
    if found.owned or price is None:
        return []
    if terms.spot and run is not None and assumed is not None:
        useful = run.total - run.checkpoint - run.failures
        rate = 1.0 / run.mean_time_to_failure
        effective = spot_hourly_price(
            price, useful, run.checkpoint_seconds, run.checkpoint_interval, rate, assumed.restart
        )
        return [
            TraceStep(
                name="spot_price_of_progress",
                formula="price × (useful time + checkpoints + work done again + restarts) / useful time",
                inputs={
                    "price": price,
                    "mean_time_to_failure": finite(run.mean_time_to_failure),
                    "checkpoint_interval": finite(run.checkpoint_interval),
                    "restart": assumed.restart,
                },
                value=float(effective),
                unit="USD",
                reference=DALY,
                source=[],
            )
        ]
    demand = found.on_demand
    if terms.rental in ("reserved-1-year", "reserved-3-years") and demand is not None:
        return [
            TraceStep(
                name="reservation_threshold",
                formula="reserved price / price on demand: the share of the hours in use from which it pays",
                inputs={"reserved": price, "on_demand": demand.si * HOUR},
                value=float(reservation_threshold(price, demand.si * HOUR)),
                unit="1",
                reference="Wang, Liang, Li, IEEE TPDS 26(12), 2015",
                source=[],
            )
        ]
    return []


def finite(value: float) -> float | None:
    """Return a number, or None where it is infinite."""
    return value if math.isfinite(value) else None


def _inputs(figures: Iterable[CostFigure]) -> dict[str, JsonValue]:
    return {
        f"{figure.item}.{figure.name}" if figure.item else figure.name: figure.value for figure in figures
    }


def _sources(figures: Iterable[CostFigure]) -> list[SourceRef]:
    return list({figure.source.id: figure.source for figure in figures if figure.source is not None}.values())
