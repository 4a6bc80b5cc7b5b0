"""Prices and rates that the cost of a system is computed from, in dollars and SI units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.catalog.catalog import Catalog
from app.catalog.defaults import YEARLY_SHARES, CostDefaults
from app.catalog.entries import ChipKind, SystemEntry
from app.catalog.figures import Figure, Spread
from app.engine.cost.hours import average_power
from app.engine.units import GIGABYTE, HOUR, KILOWATT_HOUR, MONTH, YEAR
from app.estimating.capital import (
    NOTHING,
    STORAGE,
    Basis,
    StatedAssumption,
    Terms,
    capital_of,
    check_assumptions,
    storage_size,
    stored_bytes,
    terms_of,
)
from app.estimating.documents import CheckWarning, caution, info
from app.estimating.hardware import Hardware
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
    power: float
    """Mean draw of the equipment over a year, idle hours included. [W]"""
    staff: float
    """Full-time posts."""
    staff_pay: float
    """[USD/year]"""
    stored: float
    """Rented storage. [B]"""
    egress: float
    """Out of the cloud. [B/s]"""
    egress_price: float
    """[USD/B]"""
    rate: float
    """Won per dollar."""
    currency: str
    """Of the request, in which stated prices are."""
    figures: Mapping[str, list[Basis]]
    """Figures behind each line; under ``""`` those behind all of them."""

    @property
    def owned(self) -> bool:
        return self.terms.owned

    def paid_in(self, line: str) -> str:
        """Return the currency in which a line is paid."""
        source = "machines" if line in FOLLOWING else "power" if line == "idle_power" else line
        basis = self.figures.get(source, [])
        if any(
            isinstance(figure, StatedAssumption) and figure.name in ("system_price", "hourly_price")
            for figure in basis
        ):
            return self.currency
        units = {
            figure.unit if isinstance(figure, StatedAssumption) else figure.unit.name for figure in basis
        }
        return next((name for name in ("KRW", "EUR") if any(unit.startswith(name) for unit in units)), "USD")

    @property
    def include(self) -> tuple[str, ...]:
        return self.terms.include


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
    won = defaults.won_per_dollar.si
    exchange = won if currency == "KRW" else 1.0
    rent = None if terms.owned else catalog.find(hardware.entry.id, "price_hour", terms.condition)
    hourly = (
        assumptions.hourly_price / exchange
        if assumptions.hourly_price is not None
        else rent.si * HOUR
        if rent
        else None
    )
    price = None if assumptions.system_price is None else assumptions.system_price / exchange
    capital = capital_of(hardware, price, assumptions, terms, defaults, catalog) if terms.owned else NOTHING
    if (terms.owned and not capital.lines) or (not terms.owned and hourly is None):
        warnings.append(_price_unknown(hardware, terms, catalog))
        return None
    counted = STORAGE in terms.include
    utilisation = _or(assumptions.utilisation, defaults.utilisation.si)
    rates = DollarPrices(
        terms=terms,
        defaults=defaults,
        capital=capital.lines,
        deviation=capital.deviation,
        hourly=hourly,
        rent=rent if assumptions.hourly_price is None else None,
        on_demand=None if terms.owned else catalog.find(hardware.entry.id, "price_hour"),
        lifetime=assumptions.amortisation_years or defaults.amortisation.si / YEAR,
        discount_rate=_or(assumptions.discount_rate, defaults.capital_rate.value or 0.0),
        residual=_or(assumptions.residual_share, defaults.residual.si),
        utilisation=utilisation,
        pue=_or(assumptions.pue, defaults.pue.si),
        electricity=(
            in_dollars(defaults.tariff, defaults)
            if assumptions.electricity_per_kwh is None
            else assumptions.electricity_per_kwh / exchange / KILOWATT_HOUR
        ),
        power=mean_power(hardware, catalog, utilisation, family),
        staff=_or(assumptions.staff, staff_posts(hardware.entry, hardware.count, defaults)),
        staff_pay=in_dollars(defaults.staff_cost, defaults) * YEAR,
        stored=stored_bytes(hardware, assumptions, defaults) if counted and not terms.owned else 0.0,
        egress=0.0 if terms.owned else (assumptions.egress_gb or 0.0) * GIGABYTE / MONTH,
        egress_price=in_dollars(defaults.egress, defaults),
        rate=won,
        currency=currency,
        figures={
            **capital.figures,
            **_figures(hardware, assumptions, terms, defaults, catalog, rent, currency),
        },
    )
    warnings += _doubts(hardware, assumptions, rates)
    return rates


CLOUDS = ("aws", "azure", "gcp")
"""Clouds that publish the PUE of their sites."""


def cost_defaults_of(hardware: Hardware, assumptions: AssumptionsInput, catalog: Catalog) -> CostDefaults:
    """Return the cost defaults of a system's region, tariff and operator."""
    terms = terms_of(hardware, assumptions, catalog)
    provider = hardware.entry.id.partition("-")[0]
    operator = "" if terms.owned else provider if provider in CLOUDS else "cloud"
    return catalog.cost_defaults(hardware.entry.chip_kind, terms.region, terms.tier, operator)


def staff_posts(entry: SystemEntry, count: int, defaults: CostDefaults) -> float:
    """Return the full-time administrators of ``count`` systems."""
    if entry.chip_kind is not ChipKind.IPU:
        return defaults.staff_per_node.si * count * entry.machines
    posts = defaults.staff_per_node.si * entry.hosts + defaults.staff_per_appliance.si * entry.machines
    return posts * count


def training_power(hardware: Hardware, catalog: Catalog, family: str | None) -> Spread:
    """Return the power of the equipment while it trains a family of models. [W]

    The typical power of GPU machines was measured training ResNet; other models draw more or less, at most
    the greatest power. That of IPU machines does not depend on the model.
    """
    typical, most = hardware.entry.power_typical, hardware.entry.power_max.value
    if family is None or hardware.entry.chip_kind is ChipKind.IPU:
        ends = (typical.value, typical.low, typical.high)
    else:
        factor = catalog.figure("power-by-workload", "workload_power", power_kind(family))
        value = min(typical.value * factor.si, most)
        below = math.hypot(math.log(typical.value / typical.low), math.log(factor.si / factor.si_low))
        above = math.hypot(math.log(typical.high / typical.value), math.log(factor.si_high / factor.si))
        ends = (value, value * math.exp(-below), max(min(value * math.exp(above), most), value))
    value, low, high = (end * hardware.count for end in ends)
    return Spread(value, low, high, "W")


def in_dollars(figure: Figure, defaults: CostDefaults) -> float:
    """Return a rate in dollars and SI units, at the dated rate of its currency."""
    rates = {"KRW": defaults.won_per_dollar.si, "EUR": defaults.euro_per_dollar.si}
    return figure.si / rates.get(figure.si_unit[:3], 1.0)


def mean_power(hardware: Hardware, catalog: Catalog, utilisation: float, family: str | None = None) -> float:
    """Return the mean draw of a system's equipment over a year. [W]"""
    training = training_power(hardware, catalog, family).value
    return float(average_power(idle_power(hardware, catalog, training), training, utilisation))


def idle_power(hardware: Hardware, catalog: Catalog, most: float) -> float:
    """Return the draw of a system's equipment between runs, at most that of training. [W]"""
    idle = 0.0
    for part in hardware.entry.bill:
        known = catalog.idle_power(part.item)
        steady = 0.0 if part.power_typical is None else part.power_typical.si
        idle += (steady if known is None else known[0]) * part.count * hardware.count
    return min(idle, most)


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
    decisive = rates.figures.get("machines" if rates.owned else "instances", [])
    estimated = [figure for figure in decisive if isinstance(figure, Figure) and figure.estimated]
    for figure in estimated[:1]:
        low, high = (figure.value if end is None else end for end in (figure.low, figure.high))
        yield info(
            "price_is_estimate",
            "assumptions.system_price" if rates.owned else "assumptions.hourly_price",
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
        defaults.won_per_dollar,
    ]
    if terms.owned:
        machines = {part.item: part.power_typical for part in hardware.entry.bill}
        drawn: list[Basis] = [figure for figure in machines.values() if figure is not None]
        idle = [catalog.idle_power(item) for item in machines]
        drawn += [power_figure[1] for power_figure in idle if power_figure is not None]
        common[2:2] = [basis("residual_share", "1", defaults.residual)]
        staff: list[Basis] = [defaults.staff_per_node]
        if assumptions.staff is not None:
            staff = [StatedAssumption("staff", assumptions.staff, "1")]
        elif hardware.entry.chip_kind is ChipKind.IPU:
            staff.append(defaults.staff_per_appliance)
        owned: dict[str, list[Basis]] = {
            "install": [defaults.installation_share],
            "spares": [defaults.spares_share],
            **{line: [share] for line, share in defaults.yearly_shares.items()},
            "power": [
                basis("electricity_per_kwh", f"{currency}/kWh", defaults.tariff),
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
    }
    if terms.spot:
        lines["instances"].append(basis("spot_interruptions_per_month", "1/month", defaults.interruptions))
    return {"": common, **lines}


FOLLOWING = ("install", "spares", "residual", *YEARLY_SHARES)
"""Lines that are shares of what the machines cost."""
BOUGHT = ("install", "spares")
"""Lines that come with everything that is bought."""
