"""An estimated system as an option of a decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind
from app.catalog.figures import Figure
from app.engine.cost.hours import run_cost
from app.engine.units import HOUR, YEAR
from app.errors import Message
from app.estimating.capital import status_of, terms_of
from app.estimating.costing import Charges, power_factors
from app.estimating.decision import Alternative, DecisivePrice, PriceStatus
from app.estimating.hardware import Hardware
from app.estimating.outlay import Uncertain, outlay_of
from app.estimating.prices import site_power_of
from app.estimating.ranges import common_normals, shifted
from app.estimating.request import AssumptionsInput
from app.estimating.schema import Quantity

USED = "used market"
"""Availability of systems that are not sold new."""


def usual_term(assumptions: AssumptionsInput, catalog: Catalog) -> float:
    """Return the term of options without a price. [s]"""
    if assumptions.amortisation_years is not None:
        return assumptions.amortisation_years * YEAR
    return catalog.cost_defaults(ChipKind.GPU).amortisation.si


def alternative_of(
    identifier: str,
    name: Message | str,
    hardware: Hardware,
    charges: Charges | None,
    time: Uncertain | None,
    *,
    assumptions: AssumptionsInput,
    catalog: Catalog,
    family: str | None,
    named: bool,
    doubts: Sequence[str] = (),
    stated: Quantity | None = None,
) -> Alternative:
    """Return a system as an option of a decision; ``charges`` is None where no price is known.

    ``time`` is the time to train, which its estimate has ``stated`` with a range; a run begins with the
    start-up, which a deadline and a rent count too.
    """
    owned = terms_of(hardware, assumptions, catalog).owned
    sold_new = USED not in hardware.entry.availability
    purchase_share, run_share = (1.0, 1.0) if charges is None else charges.shares
    power = run = None
    if owned:
        bought = None if charges is None else charges.found.purchase
        drawn = site_power_of(hardware, assumptions, catalog, family, bought).training
        power = drawn.value, drawn.value * power_factors(drawn, common_normals())
    if charges is not None and time is not None:
        run = float(run_cost(charges.hourly, time[0])), run_cost(charges.hourly_samples, np.asarray(time[1]))
    if time is not None:
        startup = catalog.reliability_defaults(hardware.entry.machine.chip.kind).startup.si
        time = time[0] + startup, np.asarray(time[1]) + startup
        stated = stated and shifted(stated, startup)
    return Alternative(
        id=identifier,
        name=name,
        owned=owned,
        time=time,
        stated=stated,
        purchase=charges.capital if charges is not None and owned else None,
        run=run,
        outlay=outlay_of(hardware, charges, catalog, family) if charges is not None else None,
        power=power,
        price=decisive_price(hardware, charges, catalog) if charges is not None else None,
        purchase_share=purchase_share,
        run_share=run_share,
        on_sale=sold_new or named,
        sold_new=sold_new,
        doubts=tuple(doubts),
    )


def decisive_price(hardware: Hardware, charges: Charges, catalog: Catalog) -> DecisivePrice:
    """Return the price that dominates the cost of a system."""
    rates, entry, currency = charges.found, hardware.entry, charges.currency
    rate = rates.exchange.value
    basis = rates.figures["machines" if rates.terms.owned else "instances"][0]
    status: PriceStatus
    if isinstance(basis, Figure):
        factor = rate if rates.terms.owned else rate * HOUR
        value, low, high = (end * factor for end in (basis.si, basis.si_low, basis.si_high))
        item, status = catalog.items[basis.item].name, status_of(basis, catalog.book)
        part = basis.item == entry.machine.id
    else:
        value = low = high = basis.value * rate if rates.terms.owned else basis.value
        item, status, part = entry.name, "stated", entry.machines == 1
    return DecisivePrice(
        item=item,
        per="hour" if not rates.terms.owned else "machine" if part else "system",
        price=Quantity(value=value, low=low, high=high, unit=currency),
        status=status,
    )
