"""Own the base and rent the peak: how much of a changing demand is worth owning."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats


def base_and_peak_cost(
    owned: FloatLike, demand: Floats, own_cost: FloatLike, rent_cost: FloatLike
) -> tuple[Floats, Floats]:
    r"""Cost of owning part of the capacity and renting what demand exceeds it by.

    .. math:: c(x) = a x + b\, \overline{\max(d - x, 0)}

    Parameters
    ----------
    owned : FloatLike
        Capacity that is owned, :math:`x`; one answer for each. [-]
    demand : Floats
        Capacity in use in equally long stretches of time, :math:`d`. [-]
    own_cost : FloatLike
        Of one unit of capacity, used or not, :math:`a`. [currency/month]
    rent_cost : FloatLike
        Of one unit of capacity while it is used, :math:`b`. [currency/month]

    Returns
    -------
    own, rent : tuple of Floats
        What is paid for the owned part, and for the rented one. [currency/month]

    Notes
    -----
    Both costs are proportional to capacity; staff and floor space are not quite.

    References
    ----------
    .. [1] J. Weinman, "Cloudonomics: the business value of cloud computing," Wiley, 2012 (hybrid
       solutions for variable demand).

    Examples
    --------
    Two of four quarters need everything, the others half:

    >>> own, rent = base_and_peak_cost(0.5, np.array([0.5, 1.0, 0.5, 1.0]), 100.0, 300.0)
    >>> float(own), float(rent)
    (50.0, 75.0)
    """
    share = np.asarray(owned, dtype=float)
    exceeded = np.mean(np.maximum(np.asarray(demand, dtype=float) - share[..., np.newaxis], 0.0), axis=-1)
    return np.asarray(share * own_cost), np.asarray(exceeded * rent_cost)


def cheapest_base(demand: Floats, own_cost: FloatLike, rent_cost: FloatLike) -> Floats:
    r"""Capacity to own so that the base owned and the peak rented cost least together.

    .. math:: x^* = \min\{x : P(d > x) \le a / b\}

    One more unit is worth owning while it is in use for more than the share :math:`a/b` of the time.

    Parameters
    ----------
    demand : Floats
        Capacity in use in equally long stretches of time, :math:`d`. [-]
    own_cost : FloatLike
        Of one unit of capacity, used or not, :math:`a`. [currency/month]
    rent_cost : FloatLike
        Of one unit of capacity while it is used, :math:`b`. [currency/month]

    Returns
    -------
    owned : Floats
        Capacity, one of the levels of demand or none. [-]

    References
    ----------
    .. [1] K. Arrow, T. Harris, J. Marschak, "Optimal inventory policy," Econometrica, vol. 19,
       no. 3, pp. 250-272, 1951 (the critical ratio).
    .. [2] J. Weinman, "Cloudonomics: the business value of cloud computing," Wiley, 2012.

    Examples
    --------
    Owning costs a third of renting: what is used for half of the time is worth owning.

    >>> float(cheapest_base(np.array([0.5, 1.0, 0.5, 1.0]), 100.0, 300.0))
    1.0
    >>> float(cheapest_base(np.array([0.5, 1.0, 0.5, 1.0]), 200.0, 300.0))
    0.5
    """
    used = np.sort(np.asarray(demand, dtype=float))
    levels = np.concatenate([[0.0], used])
    busier = np.mean(used > levels[:, np.newaxis], axis=-1)
    enough = busier * rent_cost <= np.asarray(own_cost, dtype=float)
    return np.asarray(levels[np.argmax(enough)])
