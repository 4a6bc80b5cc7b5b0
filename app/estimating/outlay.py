"""All money that leaves the customer over the term for the demanded work on one system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from app.catalog.catalog import Catalog
from app.engine.cost.hours import facility_power, support_cost
from app.engine.cost.outlay import owned_outlay, rented_outlay
from app.engine.records import Floats
from app.engine.units import HOURS_PER_YEAR, MONTHS, YEAR
from app.estimating.costing import Charges, included, owned_system, spread_over
from app.estimating.hardware import Hardware
from app.estimating.prices import DollarPrices, idle_power, training_power

Uncertain: TypeAlias = tuple[float, Floats]
"""A central value and its samples, which options share column by column."""

MONTH_HOURS = HOURS_PER_YEAR / MONTHS

COMMITMENTS: Mapping[str, float] = {
    "reserved-1-year": HOURS_PER_YEAR,
    "reserved-3-years": 3 * HOURS_PER_YEAR,
}
"""Way to rent → hours of one commitment. [h]"""


@dataclass(frozen=True, slots=True, eq=False)
class Outlay:
    """What work on one system costs over the term; linear in the hours of work but for commitments."""

    owned: bool
    term: float
    """[s]"""
    fixed: Uncertain
    """Whatever the work. [currency]"""
    hourly: Uncertain
    """Of an hour of work. [currency/h]"""
    commitment: float
    """Hours that are paid together; 0 where only those in use are paid. [h]"""
    committed: Uncertain
    """Of an hour of a commitment. [currency/h]"""
    price_share: float
    """Share of the fixed part of an owned system, or of an hour of a rented one, that is proportional to the
    price of the system; a commitment is wholly so.
    """

    def idle_share(self, seconds: float, runs: float) -> float | None:
        """Return the share of the term that an owned system does not work; None if rented."""
        return max(1.0 - runs * seconds / self.term, 0.0) if self.owned else None


def outlay_of(hardware: Hardware, charges: Charges, catalog: Catalog, family: str | None) -> Outlay:
    """Return the outlay of a system in the currency of its charges."""
    ends = np.array([0.0, 1.0])
    rates, none = charges.found, (0.0, np.zeros_like(charges.hourly_samples))
    idle, busy = (outlay_lines(hardware, rates, hours, ends, catalog, family) for hours in (0.0, 1.0))
    fixed, one = charges.sampled(idle), charges.sampled(busy)
    hourly = one[0] - fixed[0], one[1] - fixed[1]
    commitment, committed = COMMITMENTS.get(rates.terms.rental or "", 0.0), none
    if commitment:
        instances = np.array([0.0, hardware.occupied * (rates.hourly or 0.0)])
        committed = charges.sampled({"instances": instances})
    return Outlay(
        owned=rates.terms.owned,
        term=rates.lifetime * YEAR,
        fixed=fixed,
        hourly=hourly,
        commitment=commitment,
        committed=committed,
        price_share=charges.price_share(idle if rates.terms.owned else busy),
    )


def outlay_lines(
    hardware: Hardware,
    rates: DollarPrices,
    hours: float,
    factor: Floats,
    catalog: Catalog,
    family: str | None,
) -> dict[str, Floats]:
    """Return what is paid over the term, by line, each in the shape of the factor on prices. [USD]

    Of rented systems under a commitment without the instances, whose hours are paid in whole commitments.
    """
    if rates.terms.owned:
        training = training_power(hardware, catalog, family).value + rates.beside
        idle = idle_power(hardware, catalog, family) + rates.beside
        system = owned_system(hardware, rates, factor, idle)
        lines = included(owned_outlay(system, facility_power(training, rates.pue), hours), rates)
    else:
        rent = (rates.hourly or 0.0) * factor
        lines = rented_outlay(
            hardware.occupied,
            rent if rates.terms.elastic else 0.0,
            hours,
            stored_bytes=rates.stored,
            storage_price=rates.defaults.storage_object.si,
            egress_rate=rates.egress,
            egress_price=rates.egress_price,
        )
        months = hours / MONTH_HOURS
        if rates.support is not None:
            # Runs follow one another, so that a month of work has the bill of a whole month.
            bill = hardware.occupied * rent * MONTH_HOURS
            lines["support"] = support_cost(bill, rates.support.bands, rates.support.least) * months
        lines["staff"] = np.asarray(rates.staff * rates.staff_pay * months / MONTHS)
    return {name: spread_over(factor, line) for name, line in lines.items()}
