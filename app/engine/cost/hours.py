"""What an hour of a system costs, owned or rented, and what runs, storage and transfers come to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.cost.capital import capital_charge
from app.engine.errors import Contradiction, OutOfRange
from app.engine.records import FloatLike, Floats
from app.engine.reliability import checkpoint_overhead, failure_overhead, mean_time_to_failure
from app.engine.units import HOUR, HOURS_PER_YEAR, YEAR


def average_power(lower_power: FloatLike, upper_power: FloatLike, share: FloatLike) -> Floats:
    r"""Mean draw of a machine between two of its states.

    .. math:: P = P_{lower} + u (P_{upper} - P_{lower})

    Parameters
    ----------
    lower_power : FloatLike
        Draw when idle, or under a usual training load. [W]
    upper_power : FloatLike
        Draw when in use, or the largest draw, for which supply and cooling are laid out. [W]
    share : FloatLike
        Share of the time in the upper state, or the load between the two, :math:`u`. [-]

    Returns
    -------
    power : Floats
        Mean draw of the machine, without cooling. [W]

    Raises
    ------
    OutOfRange, Contradiction
        Where the share leaves 0 to 1 or the upper power is below the lower.

    Notes
    -----
    Over a year: idle and typical power with the utilisation. Under load: typical and maximum power,
    for the draw of a server is close to linear in its load. Compare machines at one ``share``, never
    the typical power of one with the maximum of another.

    References
    ----------
    .. [1] X. Fan, W.-D. Weber, L. A. Barroso, "Power provisioning for a warehouse-sized computer,"
       ISCA, 2007, section 3.

    Examples
    --------
    Three quarters of the year at 4.2 kW and the rest at 1.5 kW:

    >>> float(average_power(1500.0, 4200.0, 0.75))
    3525.0
    """
    position, low, high = np.asarray(share, dtype=float), np.asarray(lower_power), np.asarray(upper_power)
    if not np.all((position >= 0) & (position <= 1)):
        raise OutOfRange("load must be between 0 and 1")
    if not np.all(low <= high):
        raise Contradiction("upper power must not be below lower power")
    return np.asarray(low + position * (high - low))


def facility_power(equipment_power: FloatLike, power_usage_effectiveness: FloatLike) -> Floats:
    """Return the power at the meter, building, cooling and conversion included [W].

    ``power_usage_effectiveness`` is the energy of the facility over that of its equipment (PUE, ISO/IEC
    30134-2), a mean over a year; below 1 it raises :class:`OutOfRange`.
    """
    effectiveness = np.asarray(power_usage_effectiveness, dtype=float)
    if not np.all(effectiveness >= 1):
        raise OutOfRange("PUE must be 1 or more, got {value}", value=float(np.min(effectiveness)))
    return np.asarray(equipment_power * effectiveness)


def site_power(
    machine_power: FloatLike, other_power: FloatLike, power_usage_effectiveness: FloatLike
) -> Floats:
    r"""Power that a site draws for a system: machines, what stands beside them, cooling.

    .. math:: P_{site} = (P_{machines} + P_{other})\, \text{PUE}

    Parameters
    ----------
    machine_power : FloatLike
        Machines and hosts, while they train or idle; an array for samples. [W]
    other_power : FloatLike
        Switches, storage and servers to log in and manage, which draw the same at any load. [W]
    power_usage_effectiveness : FloatLike
        Energy of the facility over that of its equipment, 1 or more. [-]

    Returns
    -------
    power : Floats
        At the meter, which a limit on power is held against. [W]

    References
    ----------
    .. [1] L. A. Barroso, U. Hölzle, P. Ranganathan, "The datacenter as a computer," 3rd ed.,
       Morgan & Claypool, 2018, chapter 5 (energy and power efficiency).

    Examples
    --------
    Eight machines at 8 kW with 6 kW of switches and servers, at a PUE of 1.3:

    >>> round(float(site_power(64_000.0, 6_000.0, 1.3)))
    91000
    """
    return facility_power(np.asarray(machine_power, dtype=float) + other_power, power_usage_effectiveness)


def run_energy(power: FloatLike, seconds: FloatLike) -> Floats:
    """Return the energy of a run at a constant mean power [J]."""
    return np.asarray(np.asarray(power, dtype=float) * seconds)


def electricity_cost(energy: FloatLike, electricity_price: FloatLike) -> Floats:
    """Return the cost [currency] of energy at the meter [J] at a flat price [currency/J]."""
    return np.asarray(np.asarray(energy, dtype=float) * electricity_price)


def emissions(energy: FloatLike, carbon_intensity: FloatLike) -> Floats:
    """Return the carbon dioxide [kg] of generating energy [J] at the grid's mean intensity [kg/J].

    Location-based: the mean of the grid, whatever the contract of the site (GHG Protocol, "Scope 2 guidance,"
    2015), without manufacturing. A negative intensity raises :class:`OutOfRange`.
    """
    intensity = np.asarray(carbon_intensity, dtype=float)
    if not np.all(intensity >= 0):
        raise OutOfRange("carbon intensity must be 0 or more")
    return np.asarray(np.asarray(energy, dtype=float) * intensity)


def spot_hourly_price(
    price: FloatLike,
    useful_time: FloatLike,
    checkpoint_time: FloatLike,
    interval: FloatLike,
    interruption_rate: FloatLike,
    restart_time: FloatLike,
) -> Floats:
    r"""Price of an hour of progress on instances that the provider may take back.

    .. math:: p_e = p\, \frac{T + t_{checkpoint} + t_{lost}}{T}

    Parameters
    ----------
    price : FloatLike
        Paid for an hour, whether it advances the run or not, :math:`p`. [currency/h]
    useful_time : FloatLike
        Run time without checkpoints and interruptions, :math:`T`. [s]
    checkpoint_time : FloatLike
        Time of one checkpoint. [s]
    interval : FloatLike
        Useful time between checkpoints; infinite for none. [s]
    interruption_rate : FloatLike
        Interruptions of the whole job, all its instances together. [1/s]
    restart_time : FloatLike
        From an interruption to the first step after it. [s]

    Returns
    -------
    price : Floats
        Paid for an hour that advances the run, at least :math:`p`. [currency/h]

    Raises
    ------
    OutOfRange
        Where the useful time is not above zero, or the rate is below it.

    Notes
    -----
    An interruption is a failure with another cause: work since the last checkpoint is done again.
    Hours in which no instance is to be had are not paid, but lengthen the run; they belong into
    the restart time of a schedule, not into that of a price.

    References
    ----------
    .. [1] J. T. Daly, Future Gener. Comput. Syst., vol. 22, pp. 303-312, 2006.
    .. [2] S. Yi, D. Kondo, A. Andrzejak, "Reducing costs of spot instances via checkpointing in the
       Amazon Elastic Compute Cloud," IEEE CLOUD, 2010.

    Examples
    --------
    Ten days at 10 an hour, a checkpoint of 5 minutes every 2 hours, one interruption a day and 20
    minutes to restart: a tenth is lost.

    >>> round(float(spot_hourly_price(10.0, 864_000.0, 300.0, 7200.0, 1 / 86_400, 1200.0)), 2)
    11.03
    """
    useful = np.asarray(useful_time, dtype=float)
    if not np.all(useful > 0):
        raise OutOfRange("useful time must be above 0 s, got {time}", time=float(np.min(useful)))
    if not np.all(np.asarray(interruption_rate) >= 0):
        raise OutOfRange("interruption rate must be 0 or more")
    mean = mean_time_to_failure(interruption_rate)
    lost = checkpoint_overhead(useful, checkpoint_time, interval)
    lost = lost + failure_overhead(useful, checkpoint_time, interval, mean, restart_time)
    return np.asarray(np.asarray(price, dtype=float) * (useful + lost) / useful)


def reserved_hourly_price(price: FloatLike, used_share: FloatLike) -> Floats:
    """Return the price of a used hour of an instance paid for its whole term [currency/h].

    ``price`` is paid for every hour of the term; a share of hours in use that leaves 0 to 1 raises
    :class:`OutOfRange`.
    """
    share = np.asarray(used_share, dtype=float)
    if not np.all((share > 0) & (share <= 1)):
        raise OutOfRange("utilization must be above 0 and at most 1")
    return np.asarray(np.asarray(price, dtype=float) / share)


def reservation_threshold(reserved_price: FloatLike, on_demand_price: FloatLike) -> Floats:
    """Return the share of the hours in use from which reserving costs less than renting on demand.

    Both prices are of an hour [currency/h], one paid for every hour and the other for those in use. Above 1
    reserving never pays. A price on demand that is not above zero raises :class:`OutOfRange`.
    """
    demand = np.asarray(on_demand_price, dtype=float)
    if not np.all(demand > 0):
        raise OutOfRange("the on-demand price must be above 0")
    return np.asarray(np.asarray(reserved_price, dtype=float) / demand)


def storage_cost(stored_bytes: FloatLike, storage_price: FloatLike, seconds: FloatLike) -> Floats:
    """Return the cost of storing bytes for a time [s] at a rent [currency/(B s)]."""
    return np.asarray(np.asarray(stored_bytes, dtype=float) * storage_price * seconds)


def transfer_cost(transferred_bytes: FloatLike, transfer_price: FloatLike) -> Floats:
    """Return the cost of moving bytes out of a cloud at a price [currency/B]."""
    return np.asarray(np.asarray(transferred_bytes, dtype=float) * transfer_price)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedSystem:
    """What the hourly price of a bought system depends on. Fields may be arrays."""

    equipment: Mapping[str, FloatLike]
    """Price by line of what can be sold again: machines, hosts, fabric, storage, spares. [currency]"""
    services: Mapping[str, FloatLike]
    """Price by line of what is bought once and never sold: installation, licences. [currency]"""
    residual_share: FloatLike
    """Resale over purchase price of the equipment when the lifetime ends. [-]"""
    discount_rate: FloatLike
    """Interest on capital. [1/year]"""
    lifetime: FloatLike
    """How long the system serves. [year]"""
    yearly: Mapping[str, FloatLike]
    """What is paid every year, by line: support. [currency/year]"""
    power: FloatLike
    """Mean draw of the facility for the system over the whole year, idle hours included. [W]"""
    electricity_price: FloatLike
    """[currency/J]"""
    demand_power: FloatLike
    """Highest draw at the meter, which a tariff may charge apart. [W]"""
    demand_price: FloatLike
    """[currency/(W s)]"""
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

    .. math:: c = \frac{\sum a + \sum y + \text{power} + \text{space} + \text{staff}}{h\, u}

    with :math:`h` hours in a year, the utilisation :math:`u`, the charges :math:`a` of what is bought
    and the amounts :math:`y` that are paid every year.

    Parameters
    ----------
    system : OwnedSystem
        Prices, rates and use. [-]

    Returns
    -------
    lines : dict of str to Floats
        The lines of ``equipment``, ``services`` and ``yearly``, power, space and staff; their sum is
        the hour. [currency/h]

    Notes
    -----
    A line left out of the basis is a price or rate of zero, or dropped from the answer.

    References
    ----------
    .. [1] L. A. Barroso, U. Hölzle, P. Ranganathan, "The datacenter as a computer," 3rd ed.,
       Morgan & Claypool, 2018, chapter 6 (total cost of ownership).

    Examples
    --------
    8,766 of equipment written off in a year, in use half of the time:

    >>> lines = owned_hourly_cost(OwnedSystem(
    ...     equipment={"machines": 8766.0}, services={"install": 4383.0}, residual_share=0.0,
    ...     discount_rate=0.0, lifetime=1.0, yearly={}, power=0.0, electricity_price=0.0,
    ...     demand_power=0.0, demand_price=0.0, reserved_power=0.0, space_price=0.0, staff=0.0,
    ...     staff_pay=0.0, utilisation=0.5))
    >>> float(lines["machines"]), float(lines["install"]), float(hourly_cost(lines))
    (2.0, 1.0, 3.0)
    """
    hours = _useful_share(system.utilisation) * HOURS_PER_YEAR
    rate, years = system.discount_rate, system.lifetime
    resold, spent = (capital_charge(1.0, residual, rate, years) for residual in (system.residual_share, 0.0))
    yearly = {
        **{name: np.asarray(line * resold) for name, line in system.equipment.items()},
        **{name: np.asarray(line * spent) for name, line in system.services.items()},
        **{name: np.asarray(line) for name, line in system.yearly.items()},
        "power": electricity_cost(run_energy(system.power, YEAR), system.electricity_price)
        + np.asarray(system.demand_power, dtype=float) * YEAR * system.demand_price,
        "space": np.asarray(np.asarray(system.reserved_power, dtype=float) * YEAR * system.space_price),
        "staff": np.asarray(np.asarray(system.staff, dtype=float) * system.staff_pay),
    }
    return {name: np.asarray(amount / hours) for name, amount in yearly.items()}


def support_cost(monthly_bill: FloatLike, bands: Sequence[tuple[float, float]], least: float) -> Floats:
    r"""Monthly price of a support plan: falling shares of the bill, band by band.

    .. math:: s = \max\left(s_0, \sum_i r_i \max(\min(B, b_{i+1}) - b_i, 0)\right)

    Parameters
    ----------
    monthly_bill : FloatLike
        What is paid to the cloud without support, :math:`B`. [currency/month]
    bands : sequence of tuple of float
        Amount from which a share holds, rising, :math:`b_i`, and the share, :math:`r_i`. [currency/month, -]
    least : float
        Least price of the plan, :math:`s_0`. [currency/month]

    Returns
    -------
    price : Floats
        0 where nothing is rented. [currency/month]

    References
    ----------
    .. [1] Amazon Web Services, "AWS Support plan pricing" (Business and Enterprise plans).

    Examples
    --------
    Enterprise support for a bill of two million a month, and its least price:

    >>> bands = [(0.0, 0.1), (150_000.0, 0.07), (500_000.0, 0.05), (1_000_000.0, 0.03)]
    >>> [float(support_cost(bill, bands, 15_000.0)) for bill in (2_000_000.0, 40_000.0)]
    [94500.0, 15000.0]
    """
    bill = np.asarray(monthly_bill, dtype=float)
    ends = [start for start, _ in bands[1:]] + [math.inf]
    price = sum(
        share * np.clip(np.minimum(bill, end) - start, 0.0, None)
        for (start, share), end in zip(bands, ends, strict=True)
    )
    return np.where(bill > 0, np.maximum(price, least), 0.0)


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

    Storage costs [currency/(B s)] and egress is a mean over the paid hours [B/s]; ``utilisation`` is the
    share of the paid hours in which instances do useful work, 1 when rented for the run alone.
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
        raise OutOfRange("utilization must be above 0 and at most 1")
    return share
