"""The cost of a run on an owned or rented system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pydantic import JsonValue

from app.catalog.catalog import Catalog
from app.catalog.defaults import YEARLY_SHARES
from app.catalog.figures import Figure, Spread
from app.engine.cost.capital import accelerator_hour_cost, present_worth_factor
from app.engine.cost.hours import (
    OwnedSystem,
    emissions,
    facility_power,
    hourly_cost,
    owned_hourly_cost,
    rented_hourly_cost,
    reservation_threshold,
    run_cost,
    run_energy,
    spot_hourly_price,
    support_cost,
)
from app.engine.records import Floats
from app.engine.units import GIGABYTE, HOUR, HOURS_PER_YEAR, KILOWATT_HOUR, MONTH, MONTHS, TERABYTE, YEAR
from app.estimating.capital import STORAGE, cost_figures, taken
from app.estimating.context import SizingContext
from app.estimating.defaults import price_defaults
from app.estimating.documents import CheckWarning, Default, TraceStep
from app.estimating.hardware import DECILES, Hardware, Reliability, log_deviation
from app.estimating.money import Carbon, Cost, CostFigure, CostLine, Currency, quote, quote_line
from app.estimating.prices import (
    DollarPrices,
    cost_defaults_of,
    in_dollars,
    prices,
    training_power,
)
from app.estimating.ranges import SAMPLES, common_normals, quantity, stated_samples
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.runtime import Run
from app.estimating.schema import Quantity, SourceRef
from app.estimating.trace import finite
from app.estimating.trace_amounts import with_amounts

BLANK = "Blank and Tarquin, Engineering economy, 8th ed., 2018"
BARROSO = "Barroso, Hölzle, Ranganathan, The datacenter as a computer, 3rd ed., 2018, chapter 6"
DALY = "Daly, Future Generation Computer Systems 22, 2006; Yi, Kondo, Andrzejak, IEEE CLOUD 2010"


def hourly_trace(rates: DollarPrices, hour: Cost) -> TraceStep:
    """Return the step that leads to the cost of an hour."""
    figures = [*hour.figures, *(figure for line in hour.lines for figure in line.figures)]
    stated: dict[str, JsonValue] = {
        f"{figure.item}.{figure.name}" if figure.item else figure.name: figure.value for figure in figures
    }
    return TraceStep(
        name="cost_per_hour",
        formula="sum of: capital P (f − s (f − r)) / (8,766 h · u), f = r / (1 − (1 + r)^−n); "
        "support, power, space and staff of a year / (8,766 h · u)"
        if rates.terms.owned
        else "(instances × price + storage + egress + support + staff) / u; on demand and spot "
        "instances × price",
        inputs=stated | {line.item: line.hourly for line in hour.lines},
        value=hour.hourly.value,
        unit=hour.hourly.unit,
        reference=f"{BLANK}; {BARROSO}" if rates.terms.owned else BARROSO,
        source=_sources(figures),
    )


def run_trace(
    rates: DollarPrices, cost: Cost, seconds: float, run: Run | None, assumed: Reliability | None
) -> Iterator[TraceStep]:
    """Yield the steps from the cost of an hour to that of a run."""
    yield from _rental(rates, run, assumed)
    yield TraceStep(
        name="cost_of_run",
        formula="cost of an hour × time to train",
        inputs={"cost_per_hour": cost.hourly.value, "time_to_train": seconds},
        value=cost.run.value,
        unit=cost.run.unit,
        reference=BARROSO,
        source=[],
    )
    carbon = cost.carbon
    if carbon is not None:
        yield TraceStep(
            name="carbon_of_run",
            formula="energy at the meter × emissions of the grid",
            inputs={f"{carbon.intensity.item}.carbon": carbon.intensity.value, "time_to_train": seconds},
            value=carbon.run.value,
            unit="kg",
            reference="GHG Protocol, Scope 2 guidance, 2015 (location-based)",
            source=_sources([carbon.intensity]),
        )


def _rental(rates: DollarPrices, run: Run | None, assumed: Reliability | None) -> Iterator[TraceStep]:
    """Yield what interruptions add to a spot price, or the use from which a reservation pays."""
    terms, price, demand = rates.terms, rates.hourly, rates.on_demand
    if rates.terms.owned or price is None:
        return
    if terms.spot and run is not None and assumed is not None:
        useful = run.time.total - run.time.checkpoint - run.time.failures
        rate = 1.0 / run.time.mean_time_to_failure
        effective = spot_hourly_price(
            price, useful, run.time.written, run.time.interval, rate, assumed.restart
        )
        yield TraceStep(
            name="spot_price_of_progress",
            formula="price × (useful time + checkpoints + work done again + restarts) / useful time",
            inputs={
                "price": price,
                "mean_time_to_failure": finite(run.time.mean_time_to_failure),
                "checkpoint_interval": finite(run.time.interval),
                "restart": assumed.restart,
            },
            value=float(effective),
            unit="USD",
            reference=DALY,
            source=[],
        )
    elif terms.rental in ("reserved-1-year", "reserved-3-years") and demand is not None:
        yield TraceStep(
            name="reservation_threshold",
            formula="reserved price / price on demand: the share of the hours in use from which it pays",
            inputs={"reserved": price, "on_demand": demand.si * HOUR},
            value=float(reservation_threshold(price, demand.si * HOUR)),
            unit="1",
            reference="Wang, Liang, Li, IEEE TPDS 26(12), 2015",
            source=[],
        )


def _sources(figures: Iterable[CostFigure]) -> list[SourceRef]:
    return list({figure.source.id: figure.source for figure in figures if figure.source is not None}.values())


def system_power(hardware: Hardware, pue: float, catalog: Catalog, family: str | None = None) -> Spread:
    """Power of the whole system in the facility while it trains a family of models. [W]"""
    drawn = training_power(hardware, catalog, family)
    value, low, high = (float(facility_power(part, pue)) for part in (drawn.value, drawn.low, drawn.high))
    return Spread(value, low, high, "W")


@dataclass(frozen=True, slots=True)
class RunExpense:
    prices: DollarPrices | None
    """None where no price is published."""
    defaults: list[Default]
    """Those of its prices."""
    cost: Cost | None
    energy: Quantity
    trace: list[TraceStep]
    """Steps that lead to the cost; none where no price is known."""

    @property
    def written_off(self) -> float | None:
        """Time over which the system is written off; None where it is rented. [s]"""
        rates = self.prices
        return rates.lifetime * YEAR if rates is not None and rates.terms.owned else None


@dataclass(frozen=True, slots=True)
class PricedSystem:
    """What a system costs and draws, whatever runs on it."""

    rates: DollarPrices | None
    """None where no price is published."""
    doubts: list[CheckWarning]
    defaults: list[Default]
    power: Spread
    """In the facility, while it trains. [W]"""
    drawn: Floats
    """Samples of it. [W]"""
    hour: Cost | None
    """Cost of a run of an hour."""
    hourly: Floats
    """Samples of the cost of an hour. [currency/h]"""
    trace: list[TraceStep]
    """Steps that lead to the cost of an hour."""


def run_expense(
    request: EstimateRequest,
    hardware: Hardware,
    run: Run | float,
    context: SizingContext,
    family: str | None = None,
    assumed: Reliability | None = None,
) -> tuple[RunExpense, list[CheckWarning]]:
    """Return cost and energy of a run, or of a time that is exact, and what is doubtful of its prices."""
    catalog, idle = context.catalog, hardware.idle_machines
    # A price book is another catalogue each time it is laid over.
    asked = request.model_dump_json(include={"system", "assumptions", "currency"}, exclude_unset=True)
    system: PricedSystem = context.remember(
        ("prices", catalog, asked, family, idle),
        lambda: priced_system(hardware, request.assumptions, request.currency, catalog, family),
    )
    timed = None if isinstance(run, float) else run
    seconds, samples = (run, np.full(SAMPLES, run)) if isinstance(run, float) else (
        run.time.total, run.total_samples
    )  # fmt: skip
    used = run_energy(system.drawn, samples)
    energy = quantity(system.power.value * seconds, used, "J")
    cost, trace = None, list[TraceStep]()
    if system.rates is not None and system.hour is not None:
        cost = cost_of(system.rates, system.hour, system.hourly, seconds, samples, energy.value, used)
        of_run = [*run_trace(system.rates, cost, seconds, timed, assumed)]
        trace = [*system.trace, *with_amounts(of_run, catalog, cost)]
    return RunExpense(system.rates, system.defaults, cost, energy, trace), system.doubts


def priced_system(
    hardware: Hardware,
    assumptions: AssumptionsInput,
    currency: Currency,
    catalog: Catalog,
    family: str | None,
) -> PricedSystem:
    doubts: list[CheckWarning] = []
    charges = charges_of(hardware, assumptions, currency, catalog, family, doubts)
    usual = cost_defaults_of(hardware, assumptions, catalog)
    power = system_power(
        hardware, usual.pue.si if assumptions.pue is None else assumptions.pue, catalog, family
    )
    factors = power_factors(power, common_normals())
    drawn, rates = power.value * factors, None if charges is None else charges.found
    defaults = price_defaults(assumptions, rates, usual)
    if charges is None or rates is None:
        return PricedSystem(None, doubts, defaults, power, drawn, None, np.empty(0), [])
    hour = hour_cost(hardware, charges, factors, catalog)
    trace = with_amounts([hourly_trace(rates, hour)], catalog, hour)
    return PricedSystem(rates, doubts, defaults, power, drawn, hour, charges.hourly_samples, trace)


def charges_of(
    hardware: Hardware,
    assumptions: AssumptionsInput,
    currency: Currency,
    catalog: Catalog,
    family: str | None,
    warnings: list[CheckWarning],
) -> Charges | None:
    """Return what a system costs, and append what is doubtful of its prices; None where none is known."""
    rates = prices(hardware, assumptions, currency, catalog, warnings, family)
    return None if rates is None else Charges(hardware, rates, currency)


def hour_cost(hardware: Hardware, charges: Charges, power_factors: Floats, catalog: Catalog) -> Cost:
    """Return the cost of a run of an hour, with the carbon dioxide of a year."""
    rates, currency = charges.found, charges.currency
    hourly, hourly_samples = charges.hourly, charges.hourly_samples
    devices = hardware.devices * hardware.occupied / hardware.count
    yearly = rates.utilisation * HOURS_PER_YEAR
    worth = float(present_worth_factor(rates.discount_rate, rates.lifetime))

    def amount(hours: float) -> Quantity:
        return quantity(hourly * hours, hourly_samples * hours, currency)

    lines = [
        CostLine(
            item=name,
            hourly=value,
            per_month=value * yearly / MONTHS,
            over_term=value * yearly * rates.lifetime,
            figures=cost_figures(rates.figures.get(name, []), catalog.book),
        )
        for name, value in charges.lines.items()
    ]
    intensity = rates.defaults.carbon
    of_year = emissions(run_energy(facility_power(rates.power, rates.pue), YEAR), intensity.si)
    per_year = _on_grid(quantity(float(of_year), of_year * power_factors, "kg"), intensity)
    an_hour = quantity(hourly, hourly_samples, currency)
    return Cost(
        run=an_hour,
        capex=quantity(*charges.capital, currency) if rates.terms.owned else None,
        hourly=an_hour,
        per_accelerator_hour=quantity(
            float(accelerator_hour_cost(hourly, devices)),
            accelerator_hour_cost(hourly_samples, devices),
            currency,
        ),
        per_month=amount(yearly / MONTHS),
        over_term=amount(charges.term_hours),
        present_value=amount(yearly * worth),
        carbon=Carbon(run=per_year, per_year=per_year, intensity=taken(intensity, catalog.book)),
        basis=basis_of(rates, currency, catalog),
        lines=lines,
        figures=cost_figures(rates.figures[""], catalog.book),
        quote=quote(
            [quote_line(line.item, line.item, 1, line.over_term, currency) for line in lines], currency
        ),
    )


def cost_of(
    rates: DollarPrices,
    hour: Cost,
    hourly: Floats,
    seconds: float,
    samples: Floats,
    energy: float,
    used: Floats,
) -> Cost:
    """Return the cost of a run from that of an hour and its energy, central and as samples. [J]"""
    runs, intensity = run_cost(hourly, samples), rates.defaults.carbon
    run = quantity(float(run_cost(hour.hourly.value, seconds)), runs, hour.hourly.unit)
    carbon = quantity(float(emissions(energy, intensity.si)), emissions(used, intensity.si), "kg")
    assert hour.carbon is not None, "the cost of an hour has the carbon dioxide of a year"
    return hour.model_copy(
        update={
            "run": run,
            "run_samples": stated_samples(np.ravel(runs)),
            "carbon": hour.carbon.model_copy(update={"run": _on_grid(carbon, intensity)}),
        }
    )


class Charges:
    """What a system costs in a currency, central and as samples."""

    def __init__(self, hardware: Hardware, rates: DollarPrices, currency: Currency) -> None:
        self.found = rates
        self.currency = currency
        self._factor = np.exp(rates.deviation * common_normals()["price"])
        self._rate = rates.exchange
        self._converted: dict[str, Floats | float] = {}
        self._currencies: dict[str, str] = {}
        # A line is linear in the factor on prices: its ends give every sample of it.
        self._whole = _lines(hardware, rates, np.array([0.0, 1.0]))
        self._occupy(hardware)

    def _occupy(self, hardware: Hardware) -> None:
        self._occupied = hardware.occupied
        share = hardware.occupied / hardware.count
        self._lines = {name: share * ends for name, ends in self._whole.items()}
        self.hourly, self.hourly_samples = self.sampled(self._lines)
        """Of a useful hour of the systems that have work. [currency/h]"""

    def of(self, hardware: Hardware) -> Charges:
        """Return the charges of the same system where a plan leaves machines idle."""
        if hardware.occupied == self._occupied:
            return self
        other = copy(self)
        other._occupy(hardware)
        return other

    @cached_property
    def capital(self) -> tuple[float, Floats]:
        """Purchase, the sum of the lines of its bill, central and as samples. [currency]"""
        central, samples = self.sampled(
            {name: np.array([0.0, price]) for name, price in self.found.capital.items()}
        )
        bought = self.found.purchase
        return (central if bought is None else bought.amount(self._rate)), samples

    @property
    def lines(self) -> dict[str, float]:
        """An hour by line. [currency/h]"""
        return {name: float(ends[1]) * self._rate.value for name, ends in self._lines.items()}

    @property
    def term_hours(self) -> float:
        """Useful hours of the term. [h]"""
        return self.found.utilisation * HOURS_PER_YEAR * self.found.lifetime

    @property
    def shares(self) -> tuple[float, float]:
        """Shares of the purchase and of an hour that are proportional to the price of the system."""
        follows, capital = self.follows, self.found.capital
        moving = sum(price * follows.get(name, 0.0) for name, price in capital.items())
        return moving / (sum(capital.values()) or 1.0), self.price_share(self._lines)

    def price_share(self, lines: Mapping[str, Floats]) -> float:
        """Return the share of lines, at factors 0 and 1 on prices, that is proportional to the system's."""
        follows = self.follows
        moved = sum(
            (float(whole) - float(free)) * follows.get(name, 0.0) for name, (free, whole) in lines.items()
        )
        total = sum(float(ends[1]) for ends in lines.values())
        return moved / total if total else 0.0

    @cached_property
    def follows(self) -> dict[str, float]:
        """Share of each line that is proportional to the price of the system; 0 of those left out."""
        proportional, capital = self.proportional, self.found.capital
        equipment = sum(capital.get(name, 0.0) for name in SUPPORTED)
        own = sum(price for name, price in capital.items() if name in proportional)
        # What is rented has one price, which its support follows.
        share = own / equipment if equipment else 1.0
        # Spare parts, support and resale follow the equipment; freight and installation the racks as well.
        kept = equipment + capital.get("spares", 0.0)
        return dict.fromkeys(proportional, 1.0) | {
            "spares": share,
            "support": share,
            "residual": share,
            "install": share * kept / ((kept + capital.get("racks", 0.0)) or 1.0),
        }

    @property
    def proportional(self) -> set[str]:
        """Lines that are proportional to the price of the system."""
        return {"instances"} | {
            name
            for name, basis in self.found.figures.items()
            # A network without a bill costs a share of everything else.
            if name == "machines"
            or any(getattr(figure, "parameter", "") == "network_share" for figure in basis)
        }

    def sampled(self, lines: Mapping[str, Floats]) -> tuple[float, Floats]:
        """Return the sum of lines, central and as samples, from their values at factors 0 and 1."""
        by_currency: dict[str, Floats] = {}
        for name, ends in lines.items():
            unit = self._paid_in(name)
            by_currency[unit] = by_currency[unit] + ends if unit in by_currency else ends
        central, sampled = 0.0, np.zeros_like(self._factor)
        for unit, (free, whole) in by_currency.items():
            central += whole
            sampled += (free + (whole - free) * self._factor) * self._conversion(unit)
        return float(central) * self._rate.value, sampled * self._rate.value

    def _paid_in(self, line: str) -> str:
        if line not in self._currencies:
            self._currencies[line] = self.found.paid_in(line)
        return self._currencies[line]

    def _conversion(self, paid: str) -> Floats | float:
        """Return the factor of the exchange rate on what is paid in a currency."""
        if paid == self.found.home:
            return 1.0
        if paid not in self._converted:
            rates = self.found.defaults.exchange_rates
            deviation = {"USD": 0.0} | {name: log_deviation(rate) for name, rate in rates.items()}
            power = deviation[self.found.home] - deviation[paid]
            self._converted[paid] = np.exp(power * common_normals()["exchange_rate"])
        return self._converted[paid]


def _lines(hardware: Hardware, rates: DollarPrices, factor: Floats) -> dict[str, Floats]:
    """Return the cost of an hour by line, each in the shape of the factor on prices."""
    if rates.terms.owned:
        lines = included(owned_hourly_cost(owned_system(hardware, rates, factor, rates.power)), rates)
    else:
        lines = _rented(hardware, rates, factor)
    return {name: spread_over(factor, value) for name, value in lines.items()}


def spread_over(factor: Floats, value: float | Floats) -> Floats:
    """Return a value, a number or one for each factor, in the shape of the factors."""
    return value if isinstance(value, np.ndarray) and value.ndim else np.full(factor.shape, value)


def _rented(hardware: Hardware, rates: DollarPrices, factor: Floats) -> dict[str, Floats]:
    # The price of a useful hour is the rent over its utilisation; elastic hours are not paid when idle.
    paid_share = rates.utilisation if rates.terms.elastic else 1.0
    lines = rented_hourly_cost(
        hardware.count,
        paid_share * (rates.hourly or 0.0) * factor,
        rates.stored,
        rates.defaults.storage_object.si,
        rates.utilisation,
        rates.egress,
        rates.egress_price,
    )
    hours = rates.utilisation * HOURS_PER_YEAR
    bill = hourly_cost(lines) * hours / MONTHS
    plan = rates.support
    support = np.zeros_like(factor) if plan is None else support_cost(bill, plan.bands, plan.least)
    return {
        **lines,
        "support": support * MONTHS / hours,
        "staff": np.asarray(rates.staff * rates.staff_pay / hours),
    }


SERVICES = ("install", "licences")
"""Lines of the purchase that cannot be sold again."""
SUPPORTED = ("machines", "hosts", "management", "fabric", "storage")
"""Lines of the purchase whose price the yearly support is a share of."""


def owned_system(hardware: Hardware, rates: DollarPrices, factor: Floats, power: float) -> OwnedSystem:
    """Return a bought system at a factor on its prices, with the draw of its equipment. [W]"""
    bought = {name: price * factor for name, price in rates.capital.items()}
    return OwnedSystem(
        equipment={name: price for name, price in bought.items() if name not in SERVICES},
        services={name: price for name, price in bought.items() if name in SERVICES},
        residual_share=rates.residual,
        discount_rate=rates.discount_rate,
        lifetime=rates.lifetime,
        yearly={
            line: share.si * YEAR * sum(bought.get(name, 0.0) for name in SUPPORTED)
            for line, share in rates.defaults.yearly_shares.items()
        },
        power=facility_power(power, rates.pue),
        electricity_price=rates.electricity,
        demand_power=rates.demand_power,
        demand_price=rates.demand_price,
        reserved_power=hardware.entry.power_max.value * hardware.count,
        space_price=in_dollars(rates.defaults.colocation, rates.defaults),
        staff=rates.staff,
        staff_pay=rates.staff_pay,
        utilisation=rates.utilisation,
    )


OPTIONAL = {"power": "power", "idle_power": "power"} | {
    name: name for name in ("space", "staff", *YEARLY_SHARES)
}
"""Line of the cost of ownership that may be left out → the part of the basis that it belongs to."""


def included(lines: Mapping[str, Floats], rates: DollarPrices) -> dict[str, Floats]:
    """Return the lines of an owned system that its basis includes."""
    return {
        name: value
        for name, value in lines.items()
        if name not in OPTIONAL or OPTIONAL[name] in rates.terms.include
    }


def basis_of(rates: DollarPrices, currency: str, catalog: Catalog) -> dict[str, JsonValue]:
    """Return what two costs must share to be compared, and the rates they were computed with."""
    terms, book = rates.terms, catalog.book
    basis: dict[str, JsonValue] = {
        "acquisition": "own" if rates.terms.owned else "rent",
        "utilisation": rates.utilisation,
        "include": _counted(rates),
        "currency": currency,
        "exchange_rate": rates.exchange.value,
        "won_per_dollar": rates.defaults.exchange_rates["KRW"].si,
        "exchange_rate_as_of": rates.exchange.as_of or rates.defaults.exchange_rates["KRW"].as_of,
        "term_years": rates.lifetime,
        "discount_rate": rates.discount_rate,
        "region": terms.region,
    }
    if rates.terms.owned:
        basis |= {
            "amortisation_years": rates.lifetime,
            "residual_share": rates.residual,
            "tariff_tier": terms.tier,
            "tariff_kind": terms.tier.partition("-")[0],
            "pue": rates.pue,
            "electricity_usd_per_kwh": rates.electricity_in_all * KILOWATT_HOUR,
        }
        if rates.stored:
            basis["storage_tb"] = rates.stored / TERABYTE
    else:
        basis |= {
            "rental": terms.rental,
            "hourly_usd": rates.hourly,
            "as_of": rates.rent.as_of if rates.rent else None,
        }
        if rates.stored:
            basis["storage_tb"] = rates.stored / TERABYTE
        if rates.egress:
            basis["egress_gb"] = rates.egress * MONTH / GIGABYTE
    if catalog.prices_on is not None:
        basis["price_date"] = catalog.prices_on
    if book is not None:
        basis |= {"price_book_id": book.id, "price_book": book.name, "price_book_version": book.version}
    return basis


def _counted(rates: DollarPrices) -> list[JsonValue]:
    if rates.terms.owned:
        return list(rates.terms.include)
    amounts = {
        STORAGE: rates.stored,
        "egress": rates.egress,
        "support": rates.support,
        "staff": rates.staff,
    }
    return [name for name, amount in amounts.items() if amount]


def _on_grid(emitted: Quantity, intensity: Figure) -> Quantity:
    """Return an emission with the range of the grid's intensity added."""
    return emitted.model_copy(
        update={
            "low": emitted.low * intensity.si_low / intensity.si,
            "high": emitted.high * intensity.si_high / intensity.si,
        }
    )


def power_factors(power: Spread, normals: Mapping[str, Floats]) -> Floats:
    """Return samples of a power over its central value."""
    deviation = math.log(power.high / power.low) / DECILES if power.low > 0 else 0.0
    return np.exp(deviation * normals["power"])
