"""Prices and rates that the cost of a system is computed from, in dollars and SI units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from app.catalog.catalog import Catalog
from app.catalog.defaults import CURRENCIES, YEARLY_SHARES, CostDefaults, SupportPlan
from app.catalog.entries import ChipKind, SystemEntry
from app.catalog.figures import Figure, Spread
from app.engine.cost.hours import average_power, site_power
from app.engine.units import GIGABYTE, HOUR, KILOWATT_HOUR, MONTH, YEAR
from app.estimating.capital import (
    STORAGE,
    Basis,
    StatedAssumption,
    Terms,
    capital_of,
    check_assumptions,
    order_of,
    storage_size,
    stored_bytes,
    terms_of,
)
from app.estimating.documents import CheckWarning, caution, info
from app.estimating.hardware import Hardware
from app.estimating.money import ExchangeRate
from app.estimating.purchase import Purchase, equipment_of, power_beside
from app.estimating.regimes import power_kind
from app.estimating.request import AssumptionsInput


@dataclass(frozen=True, slots=True, kw_only=True)
class DollarPrices:
    """Prices and rates of a system, in US dollars."""

    terms: Terms
    defaults: CostDefaults
    """Rates of the region."""
    capital: Mapping[str, float]
    """Purchase price by line. [USD]"""
    deviation: float
    """Log-deviation of the prices."""
    hourly: float | None
    """Rent of one system. [USD/h]"""
    rent: Figure | None
    """The catalogue's figure of the rent; None where the request states it."""
    on_demand: Figure | None
    """The catalogue's price on demand."""
    lifetime: float
    """Term over which a bought system is written off or a rented one is kept. [year]"""
    discount_rate: float
    """[1/year]"""
    residual: float
    """Share of the price at the end of the term."""
    utilisation: float
    pue: float
    electricity: float
    """[USD/J]"""
    demand_power: float
    """Highest draw at the meter. [W]"""
    demand_price: float
    """For it, where the tariff charges it apart. [USD/(W s)]"""
    power: float
    """Mean draw of the equipment over a year, idle hours included. [W]"""
    beside: float
    """Draw of what is bought beside machines and hosts, the same at any load. [W]"""
    staff: float
    """Full-time posts."""
    staff_pay: float
    """[USD/year]"""
    stored: float
    """Shared storage. [B]"""
    egress: float
    """Out of the cloud. [B/s]"""
    egress_price: float
    """[USD/B]"""
    support: SupportPlan | None
    """Plan of a rented system; None for none."""
    exchange: ExchangeRate
    """To the currency of the request."""
    home: str
    """Currency of the customer's own money, in which stated prices are."""
    purchase: Purchase | None
    """What the purchase price is the sum of; None where it is rented, or a line is priced otherwise."""
    figures: Mapping[str, list[Basis]]
    """Figures behind each line; under ``""`` those behind all of them."""

    @property
    def electricity_in_all(self) -> float:
        """Price of a mean unit of energy with the charge for the highest load. [USD/J]"""
        drawn = self.power * self.pue
        return self.electricity + (self.demand_price * self.demand_power / drawn if drawn else 0.0)

    def paid_in(self, line: str) -> str:
        """Return the currency in which a line is paid."""
        source = "machines" if line in FOLLOWING else "power" if line == "idle_power" else line
        basis = self.figures.get(source, [])
        if any(
            isinstance(figure, StatedAssumption) and figure.name in ("system_price", "hourly_price")
            for figure in basis
        ):
            return self.home
        units = {
            figure.unit if isinstance(figure, StatedAssumption) else figure.unit.name for figure in basis
        }
        return next((name for name in CURRENCIES[1:] if any(unit.startswith(name) for unit in units)), "USD")


def prices(
    hardware: Hardware,
    assumptions: AssumptionsInput,
    currency: str,
    catalog: Catalog,
    warnings: list[CheckWarning],
    family: str | None = None,
) -> DollarPrices | None:
    """Return prices and rates of a system; None where no price is published."""
    check_assumptions(assumptions)
    terms = terms_of(hardware, assumptions, catalog)
    defaults = cost_defaults_of(hardware, assumptions, catalog)
    exchange = ExchangeRate.of(catalog, currency)
    rent = None if terms.owned else rent_of(hardware.entry, terms.condition, defaults, catalog)
    hourly = (
        assumptions.hourly_price / exchange.value
        if assumptions.hourly_price is not None
        else rent.si * HOUR
        if rent
        else None
    )
    price = None if assumptions.system_price is None else assumptions.system_price / exchange.value
    capital = capital_of(hardware, price, assumptions, terms, catalog) if terms.owned else None
    if (terms.owned and capital is None) or (not terms.owned and hourly is None):
        warnings.append(_price_unknown(hardware, terms, catalog))
        return None
    counted = STORAGE in terms.include
    utilisation = _or(assumptions.utilisation, defaults.utilisation.si)
    pue = _or(assumptions.pue, defaults.pue.si)
    beside = 0.0 if capital is None else power_beside(capital.purchase.parts, hardware.entry).value
    training = training_power(hardware, catalog, family).value
    rates = DollarPrices(
        terms=terms,
        defaults=defaults,
        capital={} if capital is None else capital.lines,
        purchase=None if capital is None else capital.purchase,
        deviation=0.0 if capital is None else capital.deviation,
        hourly=hourly,
        rent=rent if assumptions.hourly_price is None else None,
        on_demand=None if terms.owned else rent_of(hardware.entry, "", defaults, catalog),
        lifetime=assumptions.amortisation_years or defaults.amortisation.si / YEAR,
        discount_rate=_or(assumptions.discount_rate, defaults.capital_rate.value or 0.0),
        residual=_or(assumptions.residual_share, defaults.residual.si),
        utilisation=utilisation,
        pue=pue,
        electricity=(
            in_dollars(defaults.tariff, defaults)
            if assumptions.electricity_per_kwh is None
            else assumptions.electricity_per_kwh / exchange.value / KILOWATT_HOUR
        ),
        demand_power=float(site_power(training, beside, pue)),
        demand_price=_demand_price(assumptions, defaults, catalog),
        power=mean_power(hardware, catalog, utilisation, family) + beside,
        beside=beside,
        staff=_or(
            assumptions.staff, staff_posts(hardware.entry, hardware.count, defaults) if terms.owned else 0.0
        ),
        staff_pay=in_dollars(defaults.staff_cost, defaults) * YEAR,
        stored=stored_bytes(hardware, assumptions, defaults) if counted else 0.0,
        egress=0.0 if terms.owned else (assumptions.egress_gb or 0.0) * GIGABYTE / MONTH,
        egress_price=in_dollars(defaults.egress, defaults),
        support=None if terms.owned else catalog.support_plan(assumptions.cloud_support),
        exchange=exchange,
        home=assumptions.home_currency or currency,
        figures={
            **({} if capital is None else capital.figures),
            **_figures(hardware, assumptions, terms, defaults, catalog, rent, currency),
        },
    )
    warnings += _doubts(hardware, assumptions, rates)
    return rates


def at_network_price(rates: DollarPrices, dollars: float) -> DollarPrices:
    """Return prices with another price of the network between machines, and what is a share of it."""
    defaults, more = rates.defaults, dollars - rates.capital.get("fabric", 0.0)
    spares = more * defaults.spares_share.si
    service = (more + spares) * (defaults.installation_share.si + defaults.commissioning_share.si)
    moved = {"fabric": more, "spares": spares, "install": service}
    capital = {name: rates.capital.get(name, 0.0) + moved.get(name, 0.0) for name in (*rates.capital, *moved)}
    return replace(rates, capital=capital, purchase=None)


CLOUDS = ("aws", "azure", "gcp")
"""Clouds that publish the PUE of their sites, and whose prices differ by region."""


def rent_of(entry: SystemEntry, condition: str, defaults: CostDefaults, catalog: Catalog) -> Figure | None:
    """Return the rent of a system in a region; one that a price book states holds where it is rented."""
    rent, factor, book = (
        catalog.find(entry.id, "price_hour", condition),
        defaults.region_factor,
        catalog.book,
    )
    own = book is not None and any((row.item, row.parameter) == (entry.id, "price_hour") for row in book.rows)
    if (
        rent is None
        or rent.value is None
        or factor is None
        or own
        or entry.id.partition("-")[0] not in CLOUDS
    ):
        return rent
    value = rent.value * factor.si
    low, high = (
        end if known is None else known for end, known in ((rent.value, rent.low), (rent.value, rent.high))
    )
    note = f"{rent.value:,.15g} × {factor.si:g} ({factor.condition}: {factor.note})"
    return replace(
        rent,
        value=value,
        low=low * factor.si_low,
        high=high * factor.si_high,
        text=repr(value),
        note="; ".join(filter(None, (note, rent.note))),
    )


def _demand_price(assumptions: AssumptionsInput, defaults: CostDefaults, catalog: Catalog) -> float:
    """Return the charge for the highest load; a tariff that is stated or of a price book is all there is."""
    charge, book = defaults.demand_charge, catalog.book
    stated = assumptions.electricity_per_kwh is not None
    own = book is not None and defaults.tariff.source.id == book.source.id
    return 0.0 if charge is None or stated or own else in_dollars(charge, defaults)


def cost_defaults_of(hardware: Hardware, assumptions: AssumptionsInput, catalog: Catalog) -> CostDefaults:
    """Return the cost defaults of a system's region, tariff and operator."""
    terms = terms_of(hardware, assumptions, catalog)
    provider = hardware.entry.id.partition("-")[0]
    operator = "" if terms.owned else provider if provider in CLOUDS else "cloud"
    return catalog.cost_defaults(hardware.entry.machine.chip.kind, terms.region, terms.tier, operator)


def staff_posts(entry: SystemEntry, count: int, defaults: CostDefaults) -> float:
    """Return the full-time administrators of ``count`` systems, at least those that a site needs."""
    servers, appliances = entry.machines, 0
    if entry.machine.chip.kind is ChipKind.IPU:
        servers, appliances = entry.hosts, entry.machines
    posts = defaults.staff_per_node.si * servers + defaults.staff_per_appliance.si * appliances
    return max(posts * count, defaults.staff_per_site.si)


def training_power(hardware: Hardware, catalog: Catalog, family: str | None) -> Spread:
    """Return the power of the equipment while it trains a family of models. [W]"""
    one = _training_power(hardware.entry, catalog, family)
    value, low, high = (end * hardware.count for end in (one.value, one.low, one.high))
    return Spread(value, low, high, "W")


@lru_cache(maxsize=512)
def _training_power(entry: SystemEntry, catalog: Catalog, family: str | None) -> Spread:
    """Return the power of one system.

    The typical power of GPU machines was measured training ResNet; other models draw more or less, at most
    the greatest power. That of IPU machines does not depend on the model.
    """
    typical, most = entry.power_typical, entry.power_max.value
    if family is None or entry.machine.chip.kind is ChipKind.IPU:
        ends = (typical.value, typical.low, typical.high)
    else:
        factor = catalog.figure("power-by-workload", "workload_power", power_kind(family))
        value = min(typical.value * factor.si, most)
        below = math.hypot(math.log(typical.value / typical.low), math.log(factor.si / factor.si_low))
        above = math.hypot(math.log(typical.high / typical.value), math.log(factor.si_high / factor.si))
        ends = (value, value * math.exp(-below), max(min(value * math.exp(above), most), value))
    return Spread(*ends, "W")


def in_dollars(figure: Figure, defaults: CostDefaults) -> float:
    """Return a rate in dollars and SI units, at the dated rate of its currency."""
    rate = defaults.exchange_rates.get(figure.si_unit[:3])
    return figure.si if rate is None else figure.si / rate.si


def idle_power(hardware: Hardware, catalog: Catalog, family: str | None = None) -> float:
    """Return the draw of a system that is on and does no work, at most that of training. [W]"""
    idle = hardware.count * _idle_power(hardware.entry, catalog)
    return min(idle, training_power(hardware, catalog, family).value)


@lru_cache(maxsize=512)
def _idle_power(entry: SystemEntry, catalog: Catalog) -> float:
    idle = 0.0
    for part in entry.bill:
        known = catalog.idle_power(part.item)
        steady = 0.0 if part.power_typical is None else part.power_typical.si
        idle += (steady if known is None else known[0]) * part.count
    return idle


def mean_power(hardware: Hardware, catalog: Catalog, utilisation: float, family: str | None = None) -> float:
    """Return the mean draw of a system's equipment over a year. [W]"""
    training = training_power(hardware, catalog, family).value
    return float(average_power(idle_power(hardware, catalog, family), training, utilisation))


@dataclass(frozen=True, slots=True)
class SitePower:
    """Power at the meter of an owned system: machines, network, storage, servers beside them, cooling."""

    training: Spread
    """[W]"""
    idle: float
    """While the system waits for work. [W]"""


def site_power_of(
    hardware: Hardware,
    assumptions: AssumptionsInput,
    catalog: Catalog,
    family: str | None = None,
    purchase: Purchase | None = None,
) -> SitePower:
    """Return the power of the site of an owned system, whatever its cost counts.

    ``purchase`` is what is bought, if it holds everything that draws power.
    """
    terms = terms_of(hardware, assumptions, catalog)
    usual = cost_defaults_of(hardware, assumptions, catalog)
    pue = usual.pue.si if assumptions.pue is None else assumptions.pue
    if purchase is None or not set(POWERED).issubset(terms.include):
        order = replace(order_of(hardware, None, assumptions, terms, catalog), include=POWERED)
        parts = equipment_of(catalog, order)[0]
    else:
        parts = list(purchase.parts)
    beside, drawn = power_beside(parts, hardware.entry), training_power(hardware, catalog, family)
    ends = zip((drawn.value, drawn.low, drawn.high), (beside.value, beside.low, beside.high), strict=True)
    value, low, high = (float(site_power(machines, other, pue)) for machines, other in ends)
    idle = float(site_power(idle_power(hardware, catalog, family), beside.value, pue))
    return SitePower(Spread(value, low, high, "W"), idle)


POWERED = ("hosts", "fabric", "storage")
"""What draws power beside the machines."""


def _or(value: float | None, usual: float) -> float:
    return usual if value is None else value


def _price_unknown(hardware: Hardware, terms: Terms, catalog: Catalog) -> CheckWarning:
    entry = hardware.entry
    field = "assumptions.system_price" if terms.owned else "assumptions.hourly_price"
    published = ", ".join(
        condition or "on demand" for condition in catalog.conditions(entry.id, "price_hour")
    )
    if not terms.owned and published:
        return caution(
            "price_unknown",
            field,
            "no {rental} price is published for {system}, only {known}; enter the rent per hour",
            system=entry.name,
            rental=str(terms.rental),
            known=published,
        )
    return caution(
        "price_unknown",
        field,
        "{system} has no published purchase price, so its cost is unknown; enter the system price from a "
        "quote"
        if terms.owned
        else "{system} has no published rent, so its cost is unknown; enter the rent per hour from a quote",
        system=entry.name,
    )


def _doubts(hardware: Hardware, assumptions: AssumptionsInput, rates: DollarPrices) -> Iterator[CheckWarning]:
    """Yield warnings of prices from after the requested day, and of estimated ones."""
    day = None if assumptions.price_date is None else assumptions.price_date.isoformat()
    later = {
        figure.parameter
        for figures in rates.figures.values()
        for figure in figures
        if isinstance(figure, Figure) and not figure.estimated and day is not None and figure.as_of > day
    }
    if later:
        yield caution(
            "price_after_date",
            "assumptions.price_date",
            "{figures}: no value from before {day} is known; the oldest known value is used",
            day=day,
            figures=", ".join(sorted(later)),
        )
    decisive = rates.figures.get("machines" if rates.terms.owned else "instances", [])
    estimated = [figure for figure in decisive if isinstance(figure, Figure) and figure.estimated]
    for figure in estimated[:1]:
        low, high = (figure.value if end is None else end for end in (figure.low, figure.high))
        yield info(
            "price_is_estimate",
            "assumptions.system_price" if rates.terms.owned else "assumptions.hourly_price",
            "The price of {system} is an estimate: {price} {unit}, from {low} to {high}. Get a quote or "
            "enter the price before deciding."
            if low != high
            else "The price of {system} is an estimate: {price} {unit}. Get a quote or enter the price "
            "before deciding.",
            system=hardware.entry.name,
            price=figure.value,
            unit=figure.unit.name,
            low=low,
            high=high,
        )


def _figures(
    hardware: Hardware,
    assumptions: AssumptionsInput,
    terms: Terms,
    defaults: CostDefaults,
    catalog: Catalog,
    rent: Figure | None,
    currency: str,
) -> dict[str, list[Basis]]:
    """Return the figures behind each line beside purchase prices."""

    def basis(name: str, unit: str, usual: Figure) -> Basis:
        value = getattr(assumptions, name)
        return usual if value is None else StatedAssumption(name, value, unit)

    common = [
        basis("amortisation_years", "year", defaults.amortisation),
        basis("discount_rate", "1/year", defaults.capital_rate),
        basis("utilisation", "1", defaults.utilisation),
        defaults.exchange_rates["KRW"],
        *(rate for name, rate in defaults.exchange_rates.items() if name == currency != "KRW"),
    ]
    if terms.owned:
        machines = {part.item: part.power_typical for part in hardware.entry.bill}
        drawn: list[Basis] = [figure for figure in machines.values() if figure is not None]
        idle = [catalog.idle_power(item) for item in machines]
        charged = _demand_price(assumptions, defaults, catalog) > 0
        drawn += [power_figure[1] for power_figure in idle if power_figure is not None]
        common[2:2] = [basis("residual_share", "1", defaults.residual)]
        staff: list[Basis] = [defaults.staff_per_node, defaults.staff_per_site]
        if assumptions.staff is not None:
            staff = [StatedAssumption("staff", assumptions.staff, "1")]
        elif hardware.entry.machine.chip.kind is ChipKind.IPU:
            staff.append(defaults.staff_per_appliance)
        owned: dict[str, list[Basis]] = {
            "install": [defaults.installation_share, defaults.commissioning_share],
            "spares": [defaults.spares_share],
            **{line: [share] for line, share in defaults.yearly_shares.items()},
            "power": [
                basis("electricity_per_kwh", f"{currency}/kWh", defaults.tariff),
                *([defaults.demand_charge] if charged and defaults.demand_charge else []),
                basis("pue", "1", defaults.pue),
                *drawn,
            ],
            "space": [defaults.colocation],
            "staff": [*staff, defaults.staff_cost],
        }
        return {"": common, **{name: owned[name] for name in owned if name in (*terms.include, *BOUGHT)}}
    lines: dict[str, list[Basis]] = {
        "instances": [
            rent
            if assumptions.hourly_price is None and rent is not None
            else StatedAssumption("hourly_price", assumptions.hourly_price or 0.0, f"{currency}/h")
        ],
        STORAGE: [
            storage_size(stored_bytes(hardware, assumptions, defaults), assumptions, defaults),
            defaults.storage_object,
        ],
        "egress": [StatedAssumption("egress_gb", assumptions.egress_gb or 0.0, "GB/month"), defaults.egress],
        "staff": [StatedAssumption("staff", assumptions.staff or 0.0, "1"), defaults.staff_cost],
    }
    support = catalog.support_plan(assumptions.cloud_support)
    if support is not None:
        lines["support"] = [*support.figures]
    if terms.spot:
        lines["instances"].append(basis("spot_interruptions_per_month", "1/month", defaults.interruptions))
    return {"": common, **lines}


FOLLOWING = ("install", "spares", "residual", *YEARLY_SHARES)
"""Lines that are shares of what the machines cost."""
BOUGHT = ("install", "spares")
"""Lines that come with everything that is bought."""
