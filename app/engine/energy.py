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
        raise BadInput(Message("load must be between 0 and 1"))
    if not np.all(low <= high):
        raise BadInput(Message("upper power must not be below lower power"))
    return np.asarray(low + position * (high - low))


def facility_power(equipment_power: FloatLike, power_usage_effectiveness: FloatLike) -> Floats:
    """Return the draw at the meter of the building, cooling and conversion included [W].

    ``power_usage_effectiveness`` is the energy of the facility over that of its equipment (PUE, ISO/IEC
    30134-2), a mean over a year; below 1 it raises :class:`BadInput`.
    """
    effectiveness = np.asarray(power_usage_effectiveness, dtype=float)
    if not np.all(effectiveness >= 1):
        raise BadInput(Message("PUE must be 1 or more, got {value}", {"value": float(np.min(effectiveness))}))
    return np.asarray(equipment_power * effectiveness)


def run_energy(power: FloatLike, seconds: FloatLike) -> Floats:
    """Return the energy [J] of a run at a constant mean power [W] over so many seconds [s]."""
    return np.asarray(np.asarray(power, dtype=float) * seconds)


def electricity_cost(energy: FloatLike, electricity_price: FloatLike) -> Floats:
    """Return the cost [currency] of energy at the meter [J] at a flat price [currency/J].

    Demand charges are spread over that price.
    """
    return np.asarray(np.asarray(energy, dtype=float) * electricity_price)


def emissions(energy: FloatLike, carbon_intensity: FloatLike) -> Floats:
    """Return the carbon dioxide [kg] of generating energy [J] at the grid's mean intensity [kg/J].

    By location: what the grid emits on average, whatever contract the site has (GHG Protocol, "Scope 2
    guidance," 2015). What it took to make the machines is not counted. An intensity below zero raises
    :class:`BadInput`.
    """
    intensity = np.asarray(carbon_intensity, dtype=float)
    if not np.all(intensity >= 0):
        raise BadInput(Message("carbon intensity must be 0 or more"))
    return np.asarray(np.asarray(energy, dtype=float) * intensity)
