"""What an hour of a system costs, owned or rented, and what a run costs.

Machines are charged per useful hour: an hour in which they work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.engine.cost.capital import capital_charge
from app.engine.cost.rental import reserved_hourly_price, storage_cost, transfer_cost
from app.engine.energy import electricity_cost, run_energy
from app.engine.records import FloatLike, Floats
from app.engine.units import HOUR, HOURS_PER_YEAR, YEAR
from app.errors import BadInput, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedSystem:
    """What has to be known of a bought system to price an hour of it. Fields may be arrays."""

    equipment: Mapping[str, FloatLike]
    """Price by line: machines, hosts, fabric, storage. [currency]"""
    install_share: FloatLike
    """Freight and installation over the price of the equipment. [-]"""
    spares_share: FloatLike
    """Spare parts over the price of the equipment. [-]"""
    residual_share: FloatLike
    """Resale over purchase price of equipment and spares when the lifetime ends. [-]"""
    discount_rate: FloatLike
    """Interest on capital. [1/year]"""
    lifetime: FloatLike
    """How long the system serves. [year]"""
    support_rate: FloatLike
    """Support contract over the price of the equipment. [1/year]"""
    power: FloatLike
    """Mean draw of the facility for the system over the whole year, idle hours included. [W]"""
    electricity_price: FloatLike
    """[currency/J]"""
    reserved_power: FloatLike
    """Power that is provisioned in the racks, by which space is let. [W]"""
    space_price: FloatLike
    """[currency/(W s)]"""
    staff: FloatLike
    """People who run the system. [-]"""
    staff_pay: FloatLike
    """Loaded cost of one of them. [currency/year]"""
    utilisation: FloatLike
    """Share of the calendar in which the system does useful work. [-]"""


def owned_hourly_cost(system: OwnedSystem) -> dict[str, Floats]:
    r"""Cost of one useful hour of a bought system, by line.

    .. math:: c = \frac{\sum a + \text{support} + \text{power} + \text{space} + \text{staff}}{h\, u}

    with :math:`h` hours in a year and the utilisation :math:`u`.

    Parameters
    ----------
    system : OwnedSystem
        Prices, rates and use. [-]

    Returns
    -------
    lines : dict of str to Floats
        The lines of ``equipment``, then install, spares, support, power, space and staff; their
        sum is the hour. [currency/h]

    Notes
    -----
    A line left out of the basis is a price, share or rate of zero, or dropped from the answer.

    References
    ----------
    .. [1] L. A. Barroso, U. Hölzle, P. Ranganathan, "The datacenter as a computer," 3rd ed.,
       Morgan & Claypool, 2018, chapter 6 (total cost of ownership).

    Examples
    --------
    8,766 of equipment written off in a year, in use half of the time:

    >>> lines = owned_hourly_cost(OwnedSystem(
    ...     equipment={"machines": 8766.0}, install_share=0.5, spares_share=0.0, residual_share=0.0,
    ...     discount_rate=0.0, lifetime=1.0, support_rate=0.0, power=0.0, electricity_price=0.0,
    ...     reserved_power=0.0, space_price=0.0, staff=0.0, staff_pay=0.0, utilisation=0.5))
    >>> float(lines["machines"]), float(lines["install"]), float(hourly_cost(lines))
    (2.0, 1.0, 3.0)
    """
    hours = _useful_share(system.utilisation) * HOURS_PER_YEAR
    residual, rate, years = system.residual_share, system.discount_rate, system.lifetime
    price = hourly_cost(system.equipment)
    yearly = {name: capital_charge(line, residual, rate, years) for name, line in system.equipment.items()}
    yearly |= {
        "install": capital_charge(price * system.install_share, 0.0, rate, years),
        "spares": capital_charge(price * system.spares_share, residual, rate, years),
        "support": np.asarray(price * system.support_rate),
        "power": electricity_cost(run_energy(system.power, YEAR), system.electricity_price),
        "space": np.asarray(np.asarray(system.reserved_power, dtype=float) * YEAR * system.space_price),
        "staff": np.asarray(np.asarray(system.staff, dtype=float) * system.staff_pay),
    }
    return {name: np.asarray(amount / hours) for name, amount in yearly.items()}


def rented_hourly_cost(
    instances: FloatLike,
    instance_price: FloatLike,
    stored_bytes: FloatLike,
    storage_price: FloatLike,
    utilisation: FloatLike,
    egress_rate: FloatLike = 0.0,
    egress_price: FloatLike = 0.0,
) -> dict[str, Floats]:
    """Return the cost of one useful hour of rented instances: instances, storage and egress [currency/h].

    Parameters
    ----------
    instances, instance_price : FloatLike
        Instances rented together, and the price of one. [currency/h]
    stored_bytes, storage_price : FloatLike
        Storage kept beside them [B] and its price. [currency/(B s)]
    utilisation : FloatLike
        Share of the paid hours in which they do useful work; 1 when rented for the run alone. [-]
    egress_rate, egress_price : FloatLike
        Data moved out of the cloud, a mean over the paid hours [B/s], and its price. [currency/B]
    """
    share = _useful_share(utilisation)
    return {
        "instances": np.asarray(instances, dtype=float) * reserved_hourly_price(instance_price, share),
        "storage": storage_cost(stored_bytes, storage_price, HOUR) / share,
        "egress": transfer_cost(np.asarray(egress_rate, dtype=float) * HOUR, egress_price) / share,
    }


def hourly_cost(lines: Mapping[str, FloatLike]) -> Floats:
    """Return the sum of cost lines, added one after the other in their order."""
    return np.asarray(sum(lines.values()), dtype=float)


def run_cost(hourly_cost: FloatLike, run_time: FloatLike) -> Floats:
    """Return the cost of a run [currency] from that of a useful hour [currency/h] and its length [s]."""
    return np.asarray(np.asarray(hourly_cost, dtype=float) * run_time / HOUR)


def _useful_share(utilisation: FloatLike) -> Floats:
    share = np.asarray(utilisation, dtype=float)
    if not np.all((share > 0) & (share <= 1)):
        raise BadInput(Message("utilisation must be above 0 and at most 1"))
    return share
