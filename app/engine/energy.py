"""Power, energy and what the electricity costs."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message


def average_power(typical_power: FloatLike, maximum_power: FloatLike, load: FloatLike) -> Floats:
    r"""Mean draw of a machine between its typical and its maximum power.

    .. math:: P = P_{typical} + u (P_{maximum} - P_{typical})

    Parameters
    ----------
    typical_power : FloatLike
        Draw that is stated or measured for a usual training load. [W]
    maximum_power : FloatLike
        Largest draw, for which supply and cooling are laid out. [W]
    load : FloatLike
        Position between the two, :math:`u`: 0 typical, 1 maximum. [-]

    Returns
    -------
    power : Floats
        Mean draw of the machine, without cooling. [W]

    Raises
    ------
    BadInput
        Where the load leaves 0 to 1 or the maximum is below the typical power.

    Notes
    -----
    The draw of a server is close to linear in its load; compare machines at one ``load``, never
    the typical power of one with the maximum of another.

    References
    ----------
    .. [1] X. Fan, W.-D. Weber, L. A. Barroso, "Power provisioning for a warehouse-sized computer,"
       ISCA, 2007, section 3.

    Examples
    --------
    >>> float(average_power(4200.0, 6500.0, 0.5))
    5350.0
    """
    position, low, high = np.asarray(load, dtype=float), np.asarray(typical_power), np.asarray(maximum_power)
    if not np.all((position >= 0) & (position <= 1)):
        raise BadInput(Message("load must lie between 0 and 1"))
    if not np.all(low <= high):
        raise BadInput(Message("maximum power must not be below typical power"))
    return np.asarray(low + position * (high - low))


def facility_power(equipment_power: FloatLike, power_usage_effectiveness: FloatLike) -> Floats:
    """Draw at the meter of the building, cooling and conversion included.

    Parameters
    ----------
    equipment_power : FloatLike
        Draw of the machines, hosts and switches. [W]
    power_usage_effectiveness : FloatLike
        Energy of the facility over that of its equipment (PUE), 1 or more. [-]

    Returns
    -------
    power : Floats
        Draw of the facility on behalf of the equipment. [W]

    Raises
    ------
    BadInput
        Where the PUE is below 1.

    Notes
    -----
    A PUE is a mean over a year; in one hour it depends on weather and load.

    References
    ----------
    .. [1] ISO/IEC 30134-2:2016, "Data centres, key performance indicators, part 2: power usage
       effectiveness."

    Examples
    --------
    >>> float(facility_power(10_000.0, 1.5))
    15000.0
    """
    effectiveness = np.asarray(power_usage_effectiveness, dtype=float)
    if not np.all(effectiveness >= 1):
        raise BadInput(Message("PUE must be 1 or more, got {value}", {"value": float(np.min(effectiveness))}))
    return np.asarray(equipment_power * effectiveness)


def run_energy(power: FloatLike, seconds: FloatLike) -> Floats:
    """Energy of a run at a constant mean power.

    Parameters
    ----------
    power : FloatLike
        Mean draw. [W]
    seconds : FloatLike
        How long it is drawn. [s]

    Returns
    -------
    energy : Floats
        Energy used. [J]

    References
    ----------
    .. [1] BIPM, "The International System of Units (SI)," 9th ed., 2019, table 4.

    Examples
    --------
    One kilowatt for an hour:

    >>> float(run_energy(1000.0, 3600.0))
    3600000.0
    """
    return np.asarray(np.asarray(power, dtype=float) * seconds)


def electricity_cost(energy: FloatLike, electricity_price: FloatLike) -> Floats:
    """Cost of electricity at a flat price.

    Parameters
    ----------
    energy : FloatLike
        Energy at the meter. [J]
    electricity_price : FloatLike
        Price per unit of energy, demand charges spread over it. [currency/J]

    Returns
    -------
    cost : Floats
        What the energy costs. [currency]

    References
    ----------
    .. [1] US EIA, "Electric power annual," table of average revenue per kilowatt-hour (what an
       average price contains).

    Examples
    --------
    A hundred kilowatt-hours at 0.08 each:

    >>> round(float(electricity_cost(100 * 3.6e6, 0.08 / 3.6e6)), 9)
    8.0
    """
    return np.asarray(np.asarray(energy, dtype=float) * electricity_price)
