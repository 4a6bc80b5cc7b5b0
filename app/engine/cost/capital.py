"""Capital as yearly charges: recovery factors, present worth, monthly payments."""

from __future__ import annotations

import numpy as np

from app.engine.errors import OutOfRange
from app.engine.records import FloatLike, Floats
from app.engine.units import MONTHS


def capital_recovery_factor(discount_rate: FloatLike, lifetime: FloatLike) -> Floats:
    r"""Constant yearly payment that repays one unit of capital with interest (annuity).

    .. math:: f = \frac{r}{1 - (1 + r)^{-n}}

    Parameters
    ----------
    discount_rate : FloatLike
        Interest, :math:`r`. [1/year]
    lifetime : FloatLike
        Years of equal payments at the end of each, :math:`n`. [year]

    Returns
    -------
    factor : Floats
        Yearly payment over capital: 1/n at zero interest, r for ever. [1/year]

    Raises
    ------
    OutOfRange
        Where the rate is below zero or the lifetime is not above zero.

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018.

    Examples
    --------
    >>> round(float(capital_recovery_factor(0.08, 4)), 5)
    0.30192
    """
    rate, years = np.asarray(discount_rate, dtype=float), np.asarray(lifetime, dtype=float)
    if not np.all(rate >= 0):
        raise OutOfRange("discount rate must be 0 or more, got {rate}", rate=float(np.min(rate)))
    if not np.all(years > 0):
        raise OutOfRange("lifetime must be above 0 years, got {n}", n=float(np.min(years)))
    bears_interest = rate > np.finfo(float).tiny
    repaid = -np.expm1(-years * np.log1p(np.where(bears_interest, rate, 1.0)))
    return np.where(bears_interest, rate / repaid, 1.0 / years)


def capital_charge(
    price: FloatLike, residual_share: FloatLike, discount_rate: FloatLike, lifetime: FloatLike
) -> Floats:
    r"""Yearly cost of a purchase that is sold for its residual value when its lifetime ends.

    .. math:: a = P \left(f - s (f - r)\right)

    Parameters
    ----------
    price : FloatLike
        Paid at the start, :math:`P`. [currency]
    residual_share : FloatLike
        Residual value over price, :math:`s`. [-]
    discount_rate : FloatLike
        Interest, :math:`r`. [1/year]
    lifetime : FloatLike
        Years until the sale. [year]

    Returns
    -------
    charge : Floats
        Equal yearly cost, with :math:`f` the capital recovery factor. [currency/year]

    Notes
    -----
    :math:`f - r` is the sinking fund factor: what is put aside yearly to hold one unit at the end.

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (capital
       recovery with salvage value).

    Examples
    --------
    Without interest, a fifth of nine tenths of the price a year:

    >>> float(capital_charge(1000.0, 0.1, 0.0, 5.0))
    180.0
    """
    recovery = capital_recovery_factor(discount_rate, lifetime)
    return np.asarray(price * (recovery - residual_share * (recovery - discount_rate)))


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
    OutOfRange
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
    OutOfRange
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
        raise OutOfRange("discount rate must be 0 or more, got {rate}", rate=float(np.min(rate)))
    monthly = np.expm1(np.log1p(rate) / MONTHS)
    return np.asarray(np.asarray(principal, dtype=float) * capital_recovery_factor(monthly, months))


def accelerator_hour_cost(hourly_cost: FloatLike, accelerators: FloatLike) -> Floats:
    """Return the cost of a useful hour per accelerator, from that of the whole system [currency/h].

    Without accelerators it raises :class:`OutOfRange`.
    """
    count = np.asarray(accelerators, dtype=float)
    if not np.all(count >= 1):
        raise OutOfRange("at least 1 accelerator is required")
    return np.asarray(np.asarray(hourly_cost, dtype=float) / count)
