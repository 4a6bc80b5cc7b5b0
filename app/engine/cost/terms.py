"""Money over a term: what payments are worth at its start, by the month, and for each accelerator."""

from __future__ import annotations

import numpy as np

from app.engine.cost.capital import capital_recovery_factor
from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message

MONTHS_PER_YEAR = 12.0


def present_worth_factor(discount_rate: FloatLike, term: FloatLike) -> Floats:
    r"""Worth at the start of one unit paid at the end of every year of a term.

    .. math:: w = \frac{1 - (1 + r)^{-n}}{r}

    Parameters
    ----------
    discount_rate : FloatLike
        Interest, :math:`r`. [1/year]
    term : FloatLike
        Years of payments, :math:`n`; infinite for payments that never end. [year]

    Returns
    -------
    factor : Floats
        Worth over the yearly payment: n at zero interest, 1/r for ever. [year]

    Raises
    ------
    BadInput
        Where the rate is below zero or the term is not above zero.

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (uniform
       series present worth).

    Examples
    --------
    >>> round(float(present_worth_factor(0.08, 4)), 4)
    3.3121
    """
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / capital_recovery_factor(discount_rate, term))


def monthly_payment(principal: FloatLike, discount_rate: FloatLike, months: FloatLike) -> Floats:
    r"""Equal payment at the end of every month that repays a sum with interest.

    .. math:: m = P f(i, k), \qquad i = (1 + r)^{1/12} - 1

    with :math:`f` the capital recovery factor of :math:`k` periods.

    Parameters
    ----------
    principal : FloatLike
        Sum at the start, :math:`P`. [currency]
    discount_rate : FloatLike
        Effective yearly interest, :math:`r`. [1/year]
    months : FloatLike
        Payments, :math:`k`. [month]

    Returns
    -------
    payment : Floats
        Paid every month. [currency/month]

    Raises
    ------
    BadInput
        Where the rate is below zero or there is no month to pay in.

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (nominal and
       effective interest).

    Examples
    --------
    Without interest a sum is divided; at 12.68 % a year, which is 1 % a month, a year costs more:

    >>> float(monthly_payment(1200.0, 0.0, 12.0))
    100.0
    >>> round(float(monthly_payment(1000.0, 1.01**12 - 1, 12.0)), 2)
    88.85
    """
    rate = np.asarray(discount_rate, dtype=float)
    if not np.all(rate >= 0):
        raise BadInput(Message("discount rate must be 0 or more, got {rate}", {"rate": float(np.min(rate))}))
    monthly = np.expm1(np.log1p(rate) / MONTHS_PER_YEAR)
    return np.asarray(np.asarray(principal, dtype=float) * capital_recovery_factor(monthly, months))


def accelerator_hour_cost(hourly_cost: FloatLike, accelerators: FloatLike) -> Floats:
    """Return the cost of one accelerator, with all that surrounds it, for one useful hour [currency/h].

    ``hourly_cost`` is that of the whole system [currency/h]. Without accelerators it raises
    :class:`BadInput`.
    """
    count = np.asarray(accelerators, dtype=float)
    if not np.all(count >= 1):
        raise BadInput(Message("at least 1 accelerator is needed"))
    return np.asarray(np.asarray(hourly_cost, dtype=float) / count)
