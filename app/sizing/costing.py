"""What a run costs: a system owned or rented, on a stated basis."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping

import numpy as np
from pydantic import JsonValue

from app.catalog import Catalog, Figure, Spread
from app.engine.cost import (
    OwnedSystem,
    accelerator_hour_cost,
    hourly_cost,
    owned_hourly_cost,
    present_worth_factor,
    rented_hourly_cost,
    run_cost,
)
from app.engine.energy import emissions, facility_power, run_energy
from app.engine.records import FloatLike, Floats
from app.engine.units import HOURS_PER_YEAR, YEAR
from app.sizing.cost.documents import Carbon, CostLine
from app.sizing.cost.figures import shown, taken
from app.sizing.cost.prices import (
    GIGABYTE,
    KILOWATT_HOUR,
    MONTH,
    Prices,
    cost_defaults_of,
    in_dollars,
    prices,
    training_power,
)
from app.sizing.cost.terms import INCLUDED, STORAGE
from app.sizing.document import Cost, Quantity
from app.sizing.failures import DECILES, log_deviation
from app.sizing.hardware import Hardware
from app.sizing.quantities import quantity
from app.sizing.quote import Currency, quote, quote_line

__all__ = [
    "INCLUDED",
    "KILOWATT_HOUR",
    "Prices",
    "capital_quantity",
    "cost_defaults_of",
    "cost_of",
    "energy_of",
    "hourly_samples",
    "price_shares",
    "prices",
    "purchase_samples",
    "system_power",
    "term_hours",
]

MONTHS = 12.0
TERABYTE = 1e12


def system_power(hardware: Hardware, pue: float, catalog: Catalog, family: str | None = None) -> Spread:
    """Power of the whole system in the facility while it trains a family of models. [W]"""
    drawn = training_power(hardware, catalog, family)
    value, low, high = (float(facility_power(part, pue)) for part in (drawn.value, drawn.low, drawn.high))
    return Spread(value, low, high, "W")


def cost_of(
    hardware: Hardware,
    found: Prices,
    *,
    seconds: float,
    samples: Floats,
    normals: Mapping[str, Floats],
    currency: Currency,
    catalog: Catalog,
    family: str | None = None,
) -> Cost:
    """Return the cost of a run of a system on its basis.

    Parameters
    ----------
    hardware : Hardware
        The system. [-]
    found : Prices
        Prices and rates. [USD]
    seconds : float
        Time to train. [s]
    samples : array
        Samples of it. [s]
    normals : mapping
        Standard normals, of which the prices take a column. [-]
    currency : str
        Currency of the answer. [-]
    catalog : Catalog
        With the price book that the basis names. [-]
    family : str or None
        Family of the model that is trained. [-]
    """
    exchange = found.rate if currency == "KRW" else 1.0
    central = {name: float(amount[0]) for name, amount in _lines(hardware, found, np.array([1.0])).items()}
    hourly, sampled = hourly_samples(hardware, found, normals=normals, currency=currency)
    capital = capital_quantity(found, normals=normals, currency=currency)
    yearly = found.utilisation * HOURS_PER_YEAR
    worth = float(present_worth_factor(found.discount_rate, found.lifetime))

    def amount(hours: float) -> Quantity:
        """Return what so many useful hours cost."""
        return quantity(hourly * hours, sampled * hours, currency)

    lines = [
        CostLine(
            item=name,
            hourly=value * exchange,
            per_month=value * exchange * yearly / MONTHS,
            over_term=value * exchange * yearly * found.lifetime,
            figures=shown(found.figures.get(name, []), catalog.book),
        )
        for name, value in central.items()
    ]
    runs = run_cost(sampled, samples)
    return Cost(
        run=quantity(float(run_cost(hourly, seconds)), runs, currency),
        run_samples=[float(f"{amount:.5g}") for amount in np.ravel(runs)],
        capex=capital if found.owned else None,
        hourly=quantity(hourly, sampled, currency),
        per_accelerator_hour=quantity(
            float(accelerator_hour_cost(hourly, hardware.devices)),
            accelerator_hour_cost(sampled, hardware.devices),
            currency,
        ),
        per_month=amount(yearly / MONTHS),
        over_term=amount(term_hours(found)),
        present_value=amount(yearly * worth),
        carbon=_carbon(hardware, found, seconds, samples, normals, catalog, family),
        basis=_basis(found, currency, catalog),
        lines=lines,
        figures=shown(found.figures[""], catalog.book),
        quote=quote(
            [quote_line(line.item, line.item, 1, line.over_term, currency) for line in lines], currency
        ),
    )


def hourly_samples(
    hardware: Hardware, found: Prices, *, normals: Mapping[str, Floats], currency: str
) -> tuple[float, Floats]:
    """Return the cost of one hour of a system, central and as samples.

    Parameters
    ----------
    hardware : Hardware
        The system. [-]
    found : Prices
        Prices and rates. [USD]
    normals : mapping
        Standard normals, of which the prices take a column. [-]
    currency : str
        Currency of the answer. [-]
    """
    exchange = found.rate if currency == "KRW" else 1.0
    factor = np.exp(found.deviation * normals["price"])
    # A line is linear in the factor on prices: its ends give every sample of it.
    lines = _lines(hardware, found, np.array([0.0, 1.0]))
    paid: dict[str, Floats] = {}
    for name, ends in lines.items():
        paid[found.paid_in(name)] = paid.get(found.paid_in(name), 0.0) + ends
    sampled = sum(
        (
            (free + (whole - free) * factor) * _converted(found, unit, currency, normals)
            for unit, (free, whole) in paid.items()
        ),
        np.zeros_like(factor),
    )
    return float(hourly_cost(lines)[1]) * exchange, sampled * exchange


def capital_quantity(found: Prices, *, normals: Mapping[str, Floats], currency: str) -> Quantity:
    """Return the price of a bought system in a currency, with the ranges of prices and exchange rate."""
    return quantity(*_capital_samples(found, normals, currency), currency)


def _capital_samples(found: Prices, normals: Mapping[str, Floats], currency: str) -> tuple[float, Floats]:
    exchange = found.rate if currency == "KRW" else 1.0
    factor = np.exp(found.deviation * normals["price"])
    paid: dict[str, float] = {}
    for name, price in found.capital.items():
        paid[found.paid_in(name)] = paid.get(found.paid_in(name), 0.0) + price
    sampled = sum(
        (price * factor * _converted(found, unit, currency, normals) for unit, price in paid.items()),
        np.zeros_like(factor),
    )
    return sum(found.capital.values()) * exchange, sampled * exchange


def _converted(found: Prices, paid: str, currency: str, normals: Mapping[str, Floats]) -> Floats | float:
    """Return the factor by which what is paid in a currency moves with the exchange rate; 1 in its own."""
    if paid == currency:
        return 1.0
    deviation = {
        "USD": 0.0,
        "KRW": log_deviation(found.defaults.won_per_dollar),
        "EUR": log_deviation(found.defaults.euro_per_dollar),
    }
    return np.exp((deviation[currency] - deviation[paid]) * normals["exchange_rate"])


def purchase_samples(
    found: Prices, *, normals: Mapping[str, Floats], currency: str
) -> tuple[float, Floats] | None:
    """Return what has to be paid before the first run, central and as samples; None where it is rented.

    Machines, hosts, network and storage that are counted, and their freight and installation.
    """
    if not found.owned:
        return None
    amount, samples = _capital_samples(found, normals, currency)
    installed = 1.0 + found.defaults.installation_share.si
    return amount * installed, samples * installed


def term_hours(found: Prices) -> float:
    """Return the useful hours of the term. [h]"""
    return found.utilisation * HOURS_PER_YEAR * found.lifetime


def price_shares(hardware: Hardware, found: Prices) -> tuple[float, float]:
    """Return the shares of the purchase and of an hour that are proportional to the price of the system.

    Costs are linear in that price: the share is what they grow by where it doubles.
    """
    doubled = {
        name
        for name, basis in found.figures.items()
        # A network without a bill costs a share of everything else.
        if name == "machines" or any(getattr(one, "parameter", "") == "network_share" for one in basis)
    }
    whole, grown = hourly_cost(_lines(hardware, found, np.array([1.0, 2.0]), doubled))
    bought = sum(found.capital.values())
    more = sum(price for name, price in found.capital.items() if name in doubled)
    return more / bought if bought else 0.0, float(grown / whole) - 1.0


def _lines(
    hardware: Hardware, found: Prices, factor: Floats, moving: Container[str] | None = None
) -> dict[str, Floats]:
    """Return the lines that are counted, in the shape of the factor on all prices, or on some of them."""
    if found.owned:
        moves = {name: moving is None or name in moving for name in found.capital}
        capital = {name: price * factor if moves[name] else price for name, price in found.capital.items()}
        lines = _owned(hardware, found, capital)
    else:
        lines = _rented(hardware, found, factor)
    return {
        name: np.broadcast_to(np.asarray(value, dtype=float), factor.shape) for name, value in lines.items()
    }


def _rented(hardware: Hardware, found: Prices, factor: Floats) -> dict[str, Floats]:
    lines = rented_hourly_cost(
        hardware.count,
        (found.hourly or 0.0) * factor,
        found.stored,
        found.defaults.storage_object.si,
        found.utilisation,
        found.egress,
        found.egress_price,
    )
    counted = {"instances": True, STORAGE: found.stored > 0, "egress": found.egress > 0}
    return {name: value for name, value in lines.items() if counted[name]}


def _owned(hardware: Hardware, found: Prices, capital: Mapping[str, FloatLike]) -> dict[str, Floats]:
    defaults, include = found.defaults, found.include
    lines = owned_hourly_cost(
        OwnedSystem(
            equipment=capital,
            install_share=defaults.installation_share.si,
            spares_share=defaults.spares_share.si,
            residual_share=found.residual,
            discount_rate=found.discount_rate,
            lifetime=found.lifetime,
            support_rate=defaults.support_rate.si * YEAR,
            power=facility_power(found.power, found.pue),
            electricity_price=found.electricity,
            reserved_power=hardware.entry.power_max.value * hardware.count,
            space_price=in_dollars(defaults.colocation, defaults),
            staff=found.staff,
            staff_pay=found.staff_pay,
            utilisation=found.utilisation,
        )
    )
    optional = {"power", "space", "staff", "support"}
    return {name: value for name, value in lines.items() if name not in optional or name in include}


def _basis(found: Prices, currency: str, catalog: Catalog) -> dict[str, JsonValue]:
    """Return everything that two costs must share, and the rates they were made with."""
    terms, book = found.terms, catalog.book
    basis: dict[str, JsonValue] = {
        "acquisition": "own" if found.owned else "rent",
        "utilisation": found.utilisation,
        "include": _counted(found),
        "currency": currency,
        "won_per_dollar": found.rate,
        "exchange_rate_as_of": found.defaults.won_per_dollar.as_of,
        "term_years": found.lifetime,
        "discount_rate": found.discount_rate,
        "region": terms.region,
    }
    if found.owned:
        basis |= {
            "amortisation_years": found.lifetime,
            "residual_share": found.residual,
            "tariff_tier": terms.tier,
            "pue": found.pue,
            "electricity_usd_per_kwh": found.electricity * KILOWATT_HOUR,
        }
        if STORAGE in found.capital:
            basis["storage_tb"] = found.capital[STORAGE] / found.defaults.storage_flash.si / TERABYTE
    else:
        basis |= {
            "rental": terms.rental,
            "hourly_usd": found.hourly,
            "as_of": found.rent.as_of if found.rent else None,
        }
        if found.stored:
            basis["storage_tb"] = found.stored / TERABYTE
        if found.egress:
            basis["egress_gb"] = found.egress * MONTH / GIGABYTE
    if catalog.prices_on is not None:
        basis["price_date"] = catalog.prices_on
    if book is not None:
        basis |= {"price_book_id": book.id, "price_book": book.name, "price_book_version": book.version}
    return basis


def _counted(found: Prices) -> list[JsonValue]:
    if found.owned:
        return list(found.include)
    return [name for name, amount in ((STORAGE, found.stored), ("egress", found.egress)) if amount]


def _carbon(
    hardware: Hardware,
    found: Prices,
    seconds: float,
    samples: Floats,
    normals: Mapping[str, Floats],
    catalog: Catalog,
    family: str | None,
) -> Carbon:
    """Return the carbon dioxide of a run and of a year, from the facility's power and the grid."""
    intensity = found.defaults.carbon
    drawn = system_power(hardware, found.pue, catalog, family)
    spread = _spread_of(drawn, normals)
    run = emissions(run_energy(drawn.value, seconds), intensity.si)
    sampled = emissions(run_energy(drawn.value * spread, samples), intensity.si)
    year = emissions(run_energy(facility_power(found.power, found.pue), YEAR), intensity.si)
    return Carbon(
        run=_on_grid(quantity(float(run), sampled, "kg"), intensity),
        per_year=_on_grid(quantity(float(year), year * spread, "kg"), intensity),
        intensity=taken(intensity, catalog.book),
    )


def _on_grid(emitted: Quantity, intensity: Figure) -> Quantity:
    """Return an emission whose ends take the range of the grid's intensity along."""
    return emitted.model_copy(
        update={
            "low": emitted.low * intensity.si_low / intensity.si,
            "high": emitted.high * intensity.si_high / intensity.si,
        }
    )


def _log_deviation(low: float, high: float) -> float:
    return math.log(high / low) / DECILES if low > 0 else 0.0


def _spread_of(power: Spread, normals: Mapping[str, Floats]) -> Floats:
    return np.exp(_log_deviation(power.low, power.high) * normals["power"])


def energy_of(power: Spread, seconds: float, samples: Floats, normals: Mapping[str, Floats]) -> Quantity:
    """Return the energy of a run from the facility's power. [J]"""
    drawn = power.value * _spread_of(power, normals)
    return quantity(power.value * seconds, run_energy(drawn, samples), "J")
