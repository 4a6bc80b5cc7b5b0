"""What a run costs: a system owned or rented, on a stated basis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from app.catalog import Acquisition, Catalog, CostDefaults, Spread
from app.engine.cost import OwnedSystem, hourly_cost, owned_hourly_cost, rented_hourly_cost, run_cost
from app.engine.energy import facility_power
from app.engine.records import Floats
from app.engine.units import HOUR, YEAR
from app.errors import BadInput, Message
from app.sizing.document import CheckWarning, Cost, CostLine, Quantity
from app.sizing.failures import DECILES
from app.sizing.hardware import Hardware
from app.sizing.quantities import quantity
from app.sizing.request import AssumptionsInput

INCLUDED = ("hosts", "fabric", "power", "space", "staff", "support")
"""Parts of the cost of ownership that are counted where nothing else is asked."""

KILOWATT_HOUR = 3.6e6
HOST = "host-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Everything the cost is computed from, in US dollars."""

    owned: bool
    capital: Mapping[str, float]
    """Purchase price by line. [USD]"""
    deviation: float
    """Log-deviation of the prices. [-]"""
    hourly: float | None
    """Rent of one system. [USD/h]"""
    lifetime: float
    utilisation: float
    include: tuple[str, ...]
    pue: float
    electricity: float
    """[USD/J]"""
    rate: float
    """Won per dollar. [-]"""


def prices(
    hardware: Hardware,
    asked: AssumptionsInput,
    currency: str,
    catalog: Catalog,
    warnings: list[CheckWarning],
) -> Prices | None:
    """Return prices and rates of a system; None where nobody publishes a price.

    Parameters
    ----------
    hardware : Hardware
        The system. [-]
    asked : AssumptionsInput
        What the customer states, in the currency of the request. [-]
    currency : str
        Currency of the request. [-]
    catalog : Catalog
        Defaults. [-]
    warnings : list
        Takes what has to be said. [-]
    """
    _check(asked)
    defaults = catalog.cost_defaults(hardware.entry.chip_kind)
    rate = defaults.won_per_dollar.si
    owned = (
        hardware.entry.acquisition is Acquisition.OWN
        if asked.acquisition is None
        else asked.acquisition == "own"
    )
    include = tuple(asked.include) if asked.include is not None else INCLUDED
    stated_rate = rate if currency == "KRW" else 1.0
    hourly = _rent(hardware) if asked.hourly_price is None else asked.hourly_price / stated_rate
    price = None if asked.system_price is None else asked.system_price / stated_rate
    capital, deviation = _capital(hardware, price, catalog, include) if owned else ({}, 0.0)
    if (owned and not capital) or (not owned and hourly is None):
        warnings.append(
            CheckWarning.of(
                "price_unknown",
                "caution",
                Message(
                    "no price is published for {system}; give assumptions.system_price or "
                    "assumptions.hourly_price",
                    {"system": hardware.entry.name},
                ),
                "assumptions.system_price" if owned else "assumptions.hourly_price",
            )
        )
        return None
    tariff = defaults.tariff.si / (rate if defaults.tariff.si_unit.startswith("KRW") else 1.0)
    stated = asked.electricity_per_kwh
    utilisation = asked.utilisation
    return Prices(
        owned=owned,
        capital=capital,
        deviation=deviation,
        hourly=hourly,
        lifetime=asked.amortisation_years or defaults.amortisation.si / YEAR,
        utilisation=(defaults.utilisation.si if owned else 1.0) if utilisation is None else utilisation,
        include=include,
        pue=defaults.pue.si if asked.pue is None else asked.pue,
        electricity=tariff if stated is None else stated / stated_rate / KILOWATT_HOUR,
        rate=rate,
    )


def _check(asked: AssumptionsInput) -> None:
    bounds = {
        "electricity_per_kwh": (0.0, 1e4),
        "pue": (1.0, 5.0),
        "amortisation_years": (0.1, 50.0),
        "utilisation": (0.01, 1.0),
        "system_price": (0.0, 1e15),
        "hourly_price": (0.0, 1e12),
    }
    for name, (least, most) in bounds.items():
        value = getattr(asked, name)
        if value is not None and not least <= value <= most:
            raise BadInput.at(
                f"assumptions.{name}",
                "{value} is not between {least} and {most}",
                value=value,
                least=least,
                most=most,
            )
    if asked.price_book_id is not None:
        raise BadInput.at(
            "assumptions.price_book_id",
            "no price book is stored; give system_price or hourly_price instead",
        )


def _rent(hardware: Hardware) -> float | None:
    figure = hardware.entry.price_hour
    return None if figure is None else figure.si * HOUR


def _capital(
    hardware: Hardware, price: float | None, catalog: Catalog, include: tuple[str, ...]
) -> tuple[dict[str, float], float]:
    """Purchase price by line, and how uncertain it is."""
    if price is not None:
        return {"machines": price * hardware.count}, 0.0
    if hardware.entry.price is None:
        return {}, 0.0
    lines: dict[str, float] = {}
    for line in hardware.entry.bill:
        name = (
            "hosts" if line.item == HOST else "machines" if line.item == hardware.entry.machine else "fabric"
        )
        if line.price is not None and (name == "machines" or name in include):
            lines[name] = lines.get(name, 0.0) + line.count * line.price.si * hardware.count
    if hardware.count > 1 and "fabric" in include and "fabric" not in lines:
        share = catalog.figure("dgx-cluster", "network_share").si
        lines["fabric"] = sum(lines.values()) * share / (1.0 - share)
    return lines, _deviation(hardware.entry.price)


def _deviation(spread: Spread) -> float:
    return math.log(spread.high / spread.low) / DECILES if spread.low > 0 else 0.0


def system_power(hardware: Hardware, pue: float) -> Spread:
    """Power of the whole system in the facility under a training load. [W]"""
    typical = hardware.entry.power_typical
    value, low, high = (
        float(facility_power(part * hardware.count, pue))
        for part in (typical.value, typical.low, typical.high)
    )
    return Spread(value, low, high, "W")


def cost_of(
    hardware: Hardware,
    found: Prices,
    defaults: CostDefaults,
    *,
    seconds: float,
    samples: Floats,
    normals: Mapping[str, Floats],
    currency: str,
) -> Cost:
    """Return the cost of a run of a system on its basis.

    Parameters
    ----------
    hardware : Hardware
        The system. [-]
    found : Prices
        Prices and rates. [USD]
    defaults : CostDefaults
        Rates of the catalogue. [-]
    seconds : float
        Time to train. [s]
    samples : array
        Samples of it. [s]
    normals : mapping
        Standard normals, of which the prices take a column. [-]
    currency : str
        Currency of the answer. [-]
    """
    exchange = found.rate if currency == "KRW" else 1.0
    factor = np.exp(found.deviation * normals["price"])
    lines = _lines(hardware, found, defaults, np.array([1.0]))
    hourly, sampled = hourly_samples(hardware, found, defaults, normals=normals, currency=currency)
    run = float(run_cost(hourly, seconds))
    runs = run_cost(sampled, samples)
    capital = sum(found.capital.values()) * exchange
    capex = quantity(capital, capital * factor, currency) if found.owned else None
    return Cost(
        run=quantity(run, runs, currency),
        run_samples=[float(f"{amount:.5g}") for amount in np.ravel(runs)],
        capex=capex,
        hourly=quantity(hourly, sampled, currency),
        basis=_basis(hardware, found, defaults, currency),
        lines=[CostLine(item=name, hourly=float(amount[0]) * exchange) for name, amount in lines.items()],
    )


def hourly_samples(
    hardware: Hardware,
    found: Prices,
    defaults: CostDefaults,
    *,
    normals: Mapping[str, Floats],
    currency: str,
) -> tuple[float, Floats]:
    """Return the cost of one hour of a system, central and as samples.

    Parameters
    ----------
    hardware : Hardware
        The system. [-]
    found : Prices
        Prices and rates. [USD]
    defaults : CostDefaults
        Rates of the catalogue. [-]
    normals : mapping
        Standard normals, of which the prices take a column. [-]
    currency : str
        Currency of the answer. [-]
    """
    exchange = found.rate if currency == "KRW" else 1.0
    factor = np.exp(found.deviation * normals["price"])
    central = hourly_cost(_lines(hardware, found, defaults, np.array([1.0])))
    sampled = hourly_cost(_lines(hardware, found, defaults, factor))
    return float(central[0]) * exchange, np.asarray(sampled * exchange)


def _lines(hardware: Hardware, found: Prices, defaults: CostDefaults, factor: Floats) -> dict[str, Floats]:
    if not found.owned:
        rented = rented_hourly_cost(
            hardware.count, (found.hourly or 0.0) * factor, 0.0, 0.0, found.utilisation
        )
        return {
            name: np.broadcast_to(np.asarray(value, dtype=float), factor.shape)
            for name, value in rented.items()
        }
    include = found.include
    typical = system_power(hardware, found.pue).value if "power" in include else 0.0
    reserved = hardware.entry.power_max.value * hardware.count if "space" in include else 0.0
    staff_pay = defaults.staff_cost.si * YEAR
    if defaults.staff_cost.si_unit.startswith("KRW"):
        staff_pay /= found.rate
    owned = OwnedSystem(
        equipment={name: price * factor for name, price in found.capital.items()},
        install_share=defaults.installation_share.si,
        spares_share=defaults.spares_share.si,
        residual_share=defaults.residual.si,
        discount_rate=defaults.capital_rate.si * YEAR,
        lifetime=found.lifetime,
        support_rate=defaults.support_rate.si * YEAR if "support" in include else 0.0,
        # A machine that waits still draws power; what idle hours draw is not published, so they
        # are charged like the others.
        power=typical,
        electricity_price=found.electricity,
        reserved_power=reserved,
        space_price=defaults.colocation.si,
        staff=defaults.staff_per_node.si * hardware.machines if "staff" in include else 0.0,
        staff_pay=staff_pay,
        utilisation=found.utilisation,
    )
    lines = owned_hourly_cost(owned)
    return {
        name: np.broadcast_to(np.asarray(value, dtype=float), factor.shape) for name, value in lines.items()
    }


def _basis(hardware: Hardware, found: Prices, defaults: CostDefaults, currency: str) -> dict[str, JsonValue]:
    basis: dict[str, JsonValue] = {
        "acquisition": "own" if found.owned else "rent",
        "utilisation": found.utilisation,
        "include": list(found.include) if found.owned else [],
        "currency": currency,
        "won_per_dollar": found.rate,
    }
    if found.owned:
        basis |= {
            "amortisation_years": found.lifetime,
            "discount_rate": defaults.capital_rate.si * YEAR,
            "residual_share": defaults.residual.si,
            "pue": found.pue,
            "electricity_usd_per_kwh": found.electricity * KILOWATT_HOUR,
        }
    else:
        figure = hardware.entry.price_hour
        basis |= {"hourly_usd": found.hourly, "as_of": figure.as_of if figure else None}
    return basis


def energy_of(power: Spread, seconds: float, samples: Floats, normals: Mapping[str, Floats]) -> Quantity:
    """Return the energy of a run from the facility's power. [J]"""
    deviation = math.log(power.high / power.low) / DECILES if power.low > 0 else 0.0
    drawn = power.value * np.exp(deviation * normals["power"])
    return quantity(power.value * seconds, drawn * samples, "J")
