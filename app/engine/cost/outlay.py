"""All money that leaves a customer over a term for a given amount of work, on an owned or a rented system."""

from __future__ import annotations

import numpy as np

from app.engine.cost.hours import (
    OwnedSystem,
    electricity_cost,
    hourly_cost,
    run_energy,
    storage_cost,
    transfer_cost,
)
from app.engine.errors import OutOfRange
from app.engine.records import FloatLike, Floats
from app.engine.units import HOUR, YEAR


def owned_outlay(system: OwnedSystem, training_power: FloatLike, busy_hours: FloatLike) -> dict[str, Floats]:
    r"""Money paid for a bought system over its whole lifetime, by line, without interest.

    .. math:: O = E + S + n \left(\sum y + d + \text{space} + \text{staff}\right)
        + p_e \left(P_t t + P_0 (n - t)\right) - r E

    with the price :math:`E` of the equipment and :math:`S` of services bought once, the yearly amounts
    :math:`y`, the charge :math:`d` for the highest load, the lifetime :math:`n`, the busy time :math:`t`, and
    the residual share :math:`r`.

    Parameters
    ----------
    system : OwnedSystem
        Prices and rates; its power is that of the idle system in its facility, :math:`P_0`. Utilisation and
        discount rate do not count. [-]
    training_power : FloatLike
        Draw of the facility while the system works, :math:`P_t`. [W]
    busy_hours : FloatLike
        Hours of work in the lifetime, :math:`t`. [h]

    Returns
    -------
    lines : dict of str to Floats
        The lines of ``equipment``, ``services`` and ``yearly``, power (with the charge for the highest load),
        idle_power, space, staff, and residual, which is negative; their sum is the outlay. [currency]

    References
    ----------
    .. [1] L. A. Barroso, U. Hölzle, P. Ranganathan, "The datacenter as a computer," 3rd ed.,
       Morgan & Claypool, 2018, chapter 6 (total cost of ownership).

    Examples
    --------
    Bought for 1,000 and sold for a tenth after two years of 100 a year of support:

    >>> lines = owned_outlay(OwnedSystem(
    ...     equipment={"machines": 1000.0}, services={}, residual_share=0.1, discount_rate=0.08,
    ...     lifetime=2.0, yearly={"support": 100.0}, power=0.0, electricity_price=0.0, demand_power=0.0,
    ...     demand_price=0.0, reserved_power=0.0, space_price=0.0, staff=0.0, staff_pay=0.0,
    ...     utilisation=0.5), 0.0, 100.0)
    >>> round(float(hourly_cost(lines)), 6)
    1100.0
    """
    years = np.asarray(system.lifetime, dtype=float)
    seconds = np.asarray(busy_hours, dtype=float) * HOUR
    term, tariff = years * YEAR, system.electricity_price
    reserved = np.asarray(system.reserved_power, dtype=float)
    highest = np.asarray(system.demand_power, dtype=float)
    bought = {**system.equipment, **system.services}
    return {
        **{name: np.asarray(line, dtype=float) for name, line in bought.items()},
        **{name: np.asarray(line * years) for name, line in system.yearly.items()},
        "power": electricity_cost(run_energy(training_power, seconds), tariff)
        + highest * term * system.demand_price,
        "idle_power": electricity_cost(run_energy(system.power, np.maximum(term - seconds, 0.0)), tariff),
        "space": np.asarray(reserved * term * system.space_price),
        "staff": np.asarray(np.asarray(system.staff, dtype=float) * system.staff_pay * years),
        "residual": -np.asarray(hourly_cost(system.equipment) * system.residual_share),
    }


def paid_hours(busy_hours: FloatLike, commitment: FloatLike) -> Floats:
    """Return the hours paid for a rented system, as many whole commitments as cover those in use [h].

    ``commitment`` is the length of one [h]; 0 where only the hours in use are paid. Below 0 it raises
    :class:`OutOfRange`.

    >>> paid_hours(np.array([1e-6, 8766.0, 9000.0]), 8766.0).tolist()
    [8766.0, 8766.0, 17532.0]
    """
    hours, length = np.asarray(busy_hours, dtype=float), np.asarray(commitment, dtype=float)
    if not np.all(length >= 0):
        raise OutOfRange("a commitment must be 0 hours or longer, got {hours}", hours=float(np.min(length)))
    whole = np.ceil(hours / np.where(length > 0, length, 1.0) * (1.0 - ROUNDING)) * length
    return np.where(length > 0, whole, hours)


ROUNDING = 1e-9
"""Share of the hours that is taken for rounding and not for the beginning of another commitment."""


def rented_outlay(
    instances: FloatLike,
    instance_price: FloatLike,
    busy_hours: FloatLike,
    commitment: FloatLike = 0.0,
    stored_bytes: FloatLike = 0.0,
    storage_price: FloatLike = 0.0,
    egress_rate: FloatLike = 0.0,
    egress_price: FloatLike = 0.0,
) -> dict[str, Floats]:
    """Return the money paid for rented instances over a term: instances, storage and egress [currency].

    Instances are paid for the hours in use, or for whole commitments [h] that cover them; storage
    [currency/(B s)] and egress [B/s] during the hours in use.

    >>> {name: float(line) for name, line in rented_outlay(2.0, 10.0, 3.0).items()}
    {'instances': 60.0, 'storage': 0.0, 'egress': 0.0}
    """
    seconds = np.asarray(busy_hours, dtype=float) * HOUR
    instance_hours = np.asarray(instances, dtype=float) * paid_hours(busy_hours, commitment)
    return {
        "instances": np.asarray(instance_hours * instance_price),
        "storage": storage_cost(stored_bytes, storage_price, seconds),
        "egress": transfer_cost(np.asarray(egress_rate, dtype=float) * seconds, egress_price),
    }
