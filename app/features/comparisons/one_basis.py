"""Owned and rented on one basis: the same useful hours, the same term, every way to pay side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.catalog.books import RENTALS
from app.engine.cost.hours import run_cost
from app.engine.units import HOUR, HOURS_PER_YEAR, YEAR
from app.errors import Message, NotFound, check_between
from app.estimating.capital import BOUNDS, terms_of
from app.estimating.context import SizingContext
from app.estimating.costing import Charges
from app.estimating.documents import Estimate
from app.estimating.estimate import Timed, hardware_of, stated_samples, time_to_train
from app.estimating.money import CostLine
from app.estimating.prices import prices
from app.estimating.ranges import common_normals, money, quantity
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.schema import Quantity
from app.features.comparisons.compare import (
    SAME_COST,
    Amount,
    ComparisonEntry,
    cost_bases_differ,
    leaders,
    ratios_of,
)
from app.features.comparisons.model import BasisCost, Comparison, CostRatio, OneBasis

SHARED = ("price_book_id", "price_date", "discount_rate", "include", "storage_tb", "egress_gb")
"""Assumptions that all options take from the first that states them; region and tariff stay their own."""


@dataclass(frozen=True, slots=True)
class BasisAsked:
    """What is asked of the basis; None is that of the first owned option, else the catalogue's."""

    utilisation: float | None = None
    term_years: float | None = None

    def check(self) -> None:
        limits = {"utilisation": BOUNDS["utilisation"], "term_years": BOUNDS["amortisation_years"]}
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if value is not None:
                check_between(name, value, least, most)


@dataclass(frozen=True, slots=True)
class OneBasisCosts:
    basis: OneBasis
    costs: Mapping[str, list[BasisCost]]
    """By label or key, the option's own way to pay first; nothing for what has no known cost."""
    amounts: Mapping[str, Amount | None]
    """Cost of a run as each option is had, with its samples."""
    purchases: Mapping[str, Amount | None]
    """What has to be paid before the first run; None for what is rented."""
    terms: Mapping[str, Amount]
    """Cost over the term."""


def on_one_basis(
    comparison: Comparison, options: Sequence[ComparisonEntry], context: SizingContext, asked: BasisAsked
) -> Comparison:
    """Return a comparison with the costs of all rows on one basis, and which of them is the cheapest."""
    labels = [row.label for row in comparison.rows]
    found = costs_on_one_basis(dict(zip(labels, options, strict=True)), context, asked)
    if found is None:
        return comparison
    rows = [row.model_copy(update={"costs": found.costs.get(row.label, [])}) for row in comparison.rows]
    ratios = [
        CostRatio(cheaper=cheaper, dearer=dearer, **ratio)
        for cheaper, dearer, ratio in ratios_of(found.amounts, SAME_COST)
    ]
    first = leaders(found.amounts, SAME_COST)
    warnings = [one for one in comparison.warnings if one.code != "cost_bases_differ"]
    differ = cost_bases_differ(rows)
    return comparison.model_copy(
        update={
            "rows": rows,
            "one_basis": found.basis,
            "cost_ratios": ratios,
            "cheapest": first[0] if len(first) == 1 else None,
            "cheapest_tied": first if len(first) > 1 else [],
            "warnings": [*warnings, differ] if differ is not None else warnings,
        }
    )


def costs_on_one_basis(
    options: Mapping[str, ComparisonEntry], context: SizingContext, asked: BasisAsked
) -> OneBasisCosts | None:
    """Return the cost of every option for the same useful hours of the same term; None where none is known.

    An owned system and a commitment are paid for every hour of the term, list and spot prices for the hours
    in use. The time of a run is that of its estimate; interruptions of spot instances lengthen it.
    """
    asked.check()
    costed = {
        name: (option.request, option.estimate)
        for name, option in options.items()
        if isinstance(option.request, EstimateRequest)
        and option.estimate is not None
        and option.estimate.cost is not None
        and option.estimate.time_to_train is not None
    }
    if not costed:
        return None
    stated = [request.assumptions for request, _ in costed.values()]
    basis = _basis([one for _, one in costed.values()], stated, asked, context)
    shared = _shared(stated, SHARED)
    shared |= {"utilisation": basis.utilisation, "amortisation_years": basis.term_years}
    costs: dict[str, list[BasisCost]] = {}
    spent: dict[str, Spending] = {}
    for name, (request, made) in costed.items():
        try:
            ways = list(_ways(request, made, shared, basis, context))
        except NotFound:  # A price book or an upload that has been deleted since.
            continue
        costs[name] = [way for way, _ in ways]
        own = next((spending for way, spending in ways if way.own), None)
        if own is not None:
            spent[name] = own
    if not costs:
        return None
    return OneBasisCosts(
        basis,
        costs,
        {name: spent[name].run if name in spent else None for name in costs},
        {name: one.purchase for name, one in spent.items()},
        {name: one.term for name, one in spent.items()},
    )


WAYS: Mapping[str, Message] = {
    "on-demand": Message("on demand"),
    "reserved-1-year": Message("reserved for 1 year"),
    "reserved-3-years": Message("reserved for 3 years"),
    "spot": Message("spot"),
}
"""Way to rent → as a sentence says it."""


def ways_to_pay(costs: Mapping[str, Sequence[BasisCost]]) -> list[Message]:
    """Say on which way to pay the costs of rented options stand, and which other ways undercut the cheapest.

    ``costs`` are those of the options by their labels, on one basis.
    """
    own = [(label, cost) for label, found in costs.items() for cost in found if cost.own]
    rented = {cost.rental for _, cost in own if cost.rental is not None}
    if not rented:
        return []
    least = min((cost for _, cost in own), key=lambda cost: cost.run.value)
    said = [
        Message("Rented options are compared at the price of the way to pay each of them states.")
        if len(rented) > 1
        else Message("Rented options are compared at their price {way}.", {"way": WAYS[rented.pop()]})
    ]
    for ways in (("on-demand",), ("reserved-1-year", "reserved-3-years"), ("spot",)):
        others = [
            (label, cost)
            for label, found in costs.items()
            for cost in found
            if cost.rental in ways and not cost.own and cost.run.value < least.run.value
        ]
        if others:
            label, cost = min(others, key=lambda one: one[1].run.value)
            way = WAYS[cost.rental or ""]
            values = {"option": label, "way": way, "cost": money(cost.run.value, cost.run.unit)}
            said.append(Message("Paid {way}, {option} would be cheaper still: {cost} per run.", values))
    return said


@dataclass(frozen=True, slots=True)
class Spending:
    """What an option costs, paid for in one way."""

    run: Amount
    purchase: Amount | None
    """None for what is rented."""
    term: Amount


def _basis(
    estimates: Sequence[Estimate],
    stated: Sequence[AssumptionsInput],
    asked: BasisAsked,
    context: SizingContext,
) -> OneBasis:
    known = _shared(stated, ("utilisation", "amortisation_years"))
    bases = [one.cost.basis for one in estimates if one.cost is not None]
    owned = [basis for basis in bases if basis.get("acquisition") == "own"]
    usual = context.catalog.cost_defaults(context.catalog.system(estimates[0].system.id).chip_kind)
    share, years = usual.utilisation.si, usual.amortisation.si / YEAR
    if owned:
        known |= {
            "utilisation": owned[0].get("utilisation"),
            "amortisation_years": owned[0].get("term_years"),
        }
    share = float(str(known.get("utilisation") or share))
    years = float(str(known.get("amortisation_years") or years))
    share = share if asked.utilisation is None else asked.utilisation
    return OneBasis(
        utilisation=share,
        term_years=years if asked.term_years is None else asked.term_years,
        useful_hours_per_year=share * HOURS_PER_YEAR,
    )


def _shared(stated: Sequence[AssumptionsInput], names: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in names:
        value = next((value for one in stated if (value := getattr(one, name)) is not None), None)
        if value is not None:
            found[name] = value
    return found


def _ways(
    request: EstimateRequest,
    made: Estimate,
    shared: Mapping[str, object],
    basis: OneBasis,
    context: SizingContext,
) -> Iterator[tuple[BasisCost, Spending]]:
    """Give every way to pay for an option that has a price, its own first."""
    asked = request.assumptions.model_copy(update=shared)
    priced = context.at_prices(asked)
    hardware = hardware_of(request, priced)
    own = terms_of(hardware, asked, priced.catalog)
    others = [name for name in RENTALS if name != own.rental]
    # A stated rent is that of the option's own way to rent.
    rentals = [own.rental] if own.owned or asked.hourly_price is not None else [own.rental, *others]
    for rental in rentals:
        terms = request.assumptions.model_copy(update={**shared, "rental": rental})
        time = made.time_to_train
        timed = None if time is None else (time.value, made.time_samples)
        if "spot" in (rental, own.rental) and rental != own.rental:
            # Interruptions lengthen the run; plan and step are those of the option.
            if priced.catalog.find(hardware.entry.id, "price_hour", RENTALS[rental or ""]) is None:
                continue
            timed = time_to_train(request.model_copy(update={"assumptions": terms}), context)
        if timed is None:
            continue
        family = made.model.family or None
        found = prices(hardware, terms, request.currency, priced.catalog, [], family)
        if found is None:
            continue
        charges = Charges(hardware, found, normals=common_normals(), currency=request.currency)
        yield _way(charges, rental, rental == own.rental, timed, basis)


def _way(
    charges: Charges, rental: str | None, own: bool, timed: Timed, basis: OneBasis
) -> tuple[BasisCost, Spending]:
    year = basis.useful_hours_per_year * HOUR
    term = year * basis.term_years
    currency = charges.currency
    seconds, drawn = timed
    runs = run_cost(charges.hourly_samples, np.asarray(seconds if drawn is None else drawn))
    run = quantity(float(run_cost(charges.hourly, seconds)), runs, currency)
    hourly = quantity(charges.hourly, charges.hourly_samples, currency)

    def used(duration: float) -> Quantity:
        value, low, high = (float(run_cost(end, duration)) for end in (hourly.value, hourly.low, hourly.high))
        return Quantity(value=value, low=low, high=high, unit=currency)

    bought = charges.purchase
    way = BasisCost(
        acquisition="rent" if rental is not None else "own",
        rental=rental,
        own=own,
        run=run,
        hourly=hourly,
        yearly=used(year),
        over_term=used(term),
        capex=quantity(*charges.capital, currency) if charges.owned else None,
        purchase=None if bought is None else quantity(*bought, currency),
        runs=term / seconds,
        lines=[
            CostLine(item=name, hourly=amount, over_term=float(run_cost(amount, term)))
            for name, amount in charges.lines.items()
        ],
    )
    spending = Spending(
        run=Amount(run.value, np.array(stated_samples(runs))),
        purchase=None if bought is None else Amount(bought[0], bought[1]),
        term=Amount(way.over_term.value, run_cost(charges.hourly_samples, np.asarray(term))),
    )
    return way, spending
