"""Power, energy, what the electricity costs and what it emits."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message


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
    BadInput
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
        raise BadInput(Message("load must lie between 0 and 1"))
    if not np.all(low <= high):
        raise BadInput(Message("upper power must not be below lower power"))
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


def emissions(energy: FloatLike, carbon_intensity: FloatLike) -> Floats:
    """Carbon dioxide that is emitted to generate the energy used.

    Parameters
    ----------
    energy : FloatLike
        Energy at the meter. [J]
    carbon_intensity : FloatLike
        Emissions of the grid for a unit of energy, a mean over a year. [kg/J]

    Returns
    -------
    mass : Floats
        Carbon dioxide, or its equivalents where the intensity counts them. [kg]

    Raises
    ------
    BadInput
        Where the intensity is below zero.

    Notes
    -----
    By location: what the grid emits on average, whatever contract the site has. What it took to make the
    machines is not counted.

    References
    ----------
    .. [1] GHG Protocol, "Scope 2 guidance," World Resources Institute, 2015 (location-based method).

    Examples
    --------
    A megawatt-hour at 0.4173 kg a kilowatt-hour:

    >>> round(float(emissions(3.6e9, 0.4173 / 3.6e6)), 1)
    417.3
    """
    intensity = np.asarray(carbon_intensity, dtype=float)
    if not np.all(intensity >= 0):
        raise BadInput(Message("carbon intensity must be 0 or more"))
    return np.asarray(np.asarray(energy, dtype=float) * intensity)
