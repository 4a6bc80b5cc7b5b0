"""Costs of owned and rented options on one basis: the same useful hours over the same term."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from pydantic import JsonValue

from app.catalog.books import RENTALS
from app.engine.cost.hours import run_cost
from app.engine.records import FloatLike, Floats
from app.engine.units import HOUR, HOURS_PER_YEAR, YEAR
from app.errors import Message, NotFound, check_between
from app.estimating.capital import BOUNDS, terms_of
from app.estimating.context import SizingContext
from app.estimating.costing import Charges, charges_of
from app.estimating.documents import Estimate
from app.estimating.estimate import Timed, charged_hardware, time_to_train
from app.estimating.money import CostLine
from app.estimating.ranges import quantity, stated_samples
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.schema import Quantity
from app.features.studies.options import BasisCost, CommonBasis
from app.platform.wording.voice import Voice

Made = TypeVar("Made")

Way: TypeAlias = tuple[BasisCost, "AmountSamples"]
"""One way to pay for an option, and its samples."""

SHARED = ("price_book_id", "price_date", "discount_rate", "include", "storage_tb", "egress_gb")
"""Assumptions that all options take from the first one that states them."""


@dataclass(frozen=True, slots=True)
class BasisRequest:
    """Requested basis; None means that of the first owned option, else the default of the catalogue."""

    utilisation: float | None = None
    term_years: float | None = None

    def check(self) -> None:
        limits = {"utilisation": BOUNDS["utilisation"], "term_years": BOUNDS["amortisation_years"]}
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if value is not None:
                check_between(name, value, least, most)


USUAL_BASIS = BasisRequest()


@dataclass(frozen=True, slots=True, eq=False)
class AmountSamples:
    """Time or cost of one option with its range and its samples."""

    value: float
    samples: Floats | None = None
    low: float | None = None
    high: float | None = None

    @property
    def drawn(self) -> FloatLike:
        """Samples, or the exact value if there are none."""
        return self.value if self.samples is None else self.samples

    def quantity(self, unit: str) -> Quantity:
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        return Quantity(value=self.value, low=low, high=high, unit=unit)

    def times(self, factor: float) -> AmountSamples:
        ends = (None if end is None else end * factor for end in (self.low, self.high))
        return AmountSamples(
            self.value * factor, None if self.samples is None else self.samples * factor, *ends
        )

    def over(self, divisor: float) -> AmountSamples:
        ends = (None if end is None else end / divisor for end in (self.low, self.high))
        return AmountSamples(
            self.value / divisor, None if self.samples is None else self.samples / divisor, *ends
        )


@dataclass(frozen=True, slots=True)
class CommonBasisCosts:
    basis: CommonBasis
    costs: Mapping[str, list[BasisCost]]
    """By label or key, the option's own way to pay first; only options with a known cost."""
    amounts: Mapping[str, AmountSamples | None]
    """Cost per run of each option, paid for in its own way."""


def common_basis_costs(
    costed: Mapping[str, tuple[EstimateRequest, Estimate]], context: SizingContext, requested: BasisRequest
) -> CommonBasisCosts | None:
    """Return the cost of every option for the same useful hours of the same term; None if none is known.

    Owned systems and commitments are paid for every hour of the term, on-demand and spot instances for the
    hours in use. The time of a run is that of its estimate; interruptions of spot instances lengthen it.
    """
    requested.check()
    if not costed:
        return None
    stated = [request.assumptions for request, _ in costed.values()]
    basis = _basis([estimate for _, estimate in costed.values()], stated, requested, context)
    shared = _shared(stated, SHARED)
    shared |= {"utilisation": basis.utilisation, "amortisation_years": basis.term_years}
    costs: dict[str, list[BasisCost]] = {}
    amounts: dict[str, AmountSamples | None] = {}
    terms = repr((shared, basis))
    for name, (request, estimate) in costed.items():
        made = partial(list[Way], _ways(request, estimate, shared, basis, context))
        try:
            if "price_book_id" in shared:
                ways = made()
            else:
                ways = remembered(("ways", terms), request, estimate, context, made)
        except NotFound:  # A price book or an upload has been deleted.
            continue
        costs[name] = [cost for cost, _ in ways]
        amounts[name] = next((run for cost, run in ways if cost.own), None)
    return CommonBasisCosts(basis, costs, amounts) if costs else None


WAYS: Mapping[str, Message] = {
    "on-demand": Message("on demand"),
    "reserved-1-year": Message("reserved for 1 year"),
    "reserved-3-years": Message("reserved for 3 years"),
    "spot": Message("spot"),
}
"""Way to rent → words within a sentence."""


def _basis(
    estimates: Sequence[Estimate],
    stated: Sequence[AssumptionsInput],
    requested: BasisRequest,
    context: SizingContext,
) -> CommonBasis:
    values = _shared(stated, ("utilisation", "amortisation_years"))
    bases = [estimate.cost.basis for estimate in estimates if estimate.cost is not None]
    owned = [basis for basis in bases if basis.get("acquisition") == "own"]
    if owned:
        values["utilisation"] = owned[0].get("utilisation")
        values["amortisation_years"] = owned[0].get("term_years")
    defaults = context.catalog.cost_defaults(context.catalog.system(estimates[0].system.id).machine.chip.kind)
    utilisation, years = requested.utilisation, requested.term_years
    if utilisation is None:
        utilisation = float(str(values.get("utilisation") or defaults.utilisation.si))
    if years is None:
        years = float(str(values.get("amortisation_years") or defaults.amortisation.si / YEAR))
    return CommonBasis(
        utilisation=utilisation, term_years=years, useful_hours_per_year=utilisation * HOURS_PER_YEAR
    )


def _shared(stated: Sequence[AssumptionsInput], names: Sequence[str]) -> dict[str, object]:
    """Return the fields with these names, each from the first assumptions that state it."""
    return {
        name: value
        for name in names
        for assumptions in reversed(stated)
        if (value := getattr(assumptions, name)) is not None
    }


def remembered(
    key: tuple[str, ...],
    request: EstimateRequest,
    estimate: Estimate,
    context: SizingContext,
    make: Callable[[], Made],
) -> Made:
    """Return what follows from one estimate, made once for as long as it is the same; price books change."""
    if request.assumptions.price_book_id is not None:
        return make()
    known, made = context.remember((id(estimate), key), lambda: (estimate, make()))
    return made if known is estimate else make()


def _ways(
    request: EstimateRequest,
    estimate: Estimate,
    shared: Mapping[str, object],
    basis: CommonBasis,
    context: SizingContext,
) -> Iterator[Way]:
    """Yield every way to pay for an option that has a price, its own first."""
    assumptions = request.assumptions.model_copy(update=shared)
    priced = context.at_prices(assumptions)
    hardware = charged_hardware(request, estimate, priced)
    own = terms_of(hardware, assumptions, priced.catalog)
    others = [name for name in RENTALS if name != own.rental]
    # A stated rent is that of the option's own way to rent.
    rentals = [own.rental] if own.owned or assumptions.hourly_price is not None else [own.rental, *others]
    for rental in rentals:
        terms = assumptions.model_copy(update={"rental": rental})
        time = estimate.time_to_train
        timed = None if time is None else (time.value, estimate.time_samples)
        if "spot" in (rental, own.rental) and rental != own.rental:
            # Interruptions lengthen the run; plan and step are those of the option.
            if priced.catalog.find(hardware.entry.id, "price_hour", RENTALS[rental or ""]) is None:
                continue
            timed = time_to_train(request.model_copy(update={"assumptions": terms}), context)
        if timed is None:
            continue
        family = estimate.model.family or None
        charges = charges_of(hardware, terms, request.currency, priced.catalog, family, [])
        if charges is None:
            continue
        yield _way(charges, rental, rental == own.rental, timed, basis)


def _way(charges: Charges, rental: str | None, own: bool, timed: Timed, basis: CommonBasis) -> Way:
    year = basis.useful_hours_per_year * HOUR
    term = year * basis.term_years
    currency = charges.currency
    seconds, samples = timed
    runs = run_cost(charges.hourly_samples, np.asarray(seconds if samples is None else samples))
    run = quantity(float(run_cost(charges.hourly, seconds)), runs, currency)
    hourly = quantity(charges.hourly, charges.hourly_samples, currency)

    def cost_of(duration: float) -> Quantity:
        value, low, high = (float(run_cost(end, duration)) for end in (hourly.value, hourly.low, hourly.high))
        return Quantity(value=value, low=low, high=high, unit=currency)

    purchase = charges.capital if charges.found.terms.owned else None
    cost = BasisCost(
        acquisition="rent" if rental is not None else "own",
        rental=rental,
        own=own,
        run=run,
        hourly=hourly,
        yearly=cost_of(year),
        over_term=cost_of(term),
        capex=None if purchase is None else quantity(*purchase, currency),
        purchase=None if purchase is None else quantity(*purchase, currency),
        runs=term / seconds,
        lines=[
            CostLine(item=name, hourly=amount, over_term=float(run_cost(amount, term)))
            for name, amount in charges.lines.items()
        ],
    )
    return cost, AmountSamples(run.value, np.array(stated_samples(runs)))


def exchange_sentence(basis: Mapping[str, JsonValue], voice: Voice) -> str:
    """Return the sentence on the rate and date at which a cost was converted."""
    return voice.gettext("1 USD = {rate} {currency} ({day}).").format(
        rate=voice.number(float(str(basis["exchange_rate"])), 5),
        currency=basis["currency"],
        day=voice.date(str(basis["exchange_rate_as_of"])),
    )
