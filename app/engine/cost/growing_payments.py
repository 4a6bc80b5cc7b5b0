"""Monthly payments that grow: what they are worth at the start, and when growing work fills a purchase."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats

MONTHS_PER_YEAR = 12.0

SAME_RATE = 1e-13
"""Logarithms of growth over interest below which both cancel; the error is that of rounding. [-]"""


def monthly_rate(yearly_rate: FloatLike) -> Floats:
    r"""Rate of a month that compounds to a yearly one.

    .. math:: i = (1 + r)^{1/12} - 1

    Parameters
    ----------
    yearly_rate : FloatLike
        Effective yearly rate, :math:`r`, above -1. [1/year]

    Returns
    -------
    rate : Floats
        Rate of a month. [1/month]

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (nominal and
       effective interest).

    Examples
    --------
    >>> round(float(monthly_rate(0.08)), 6)
    0.006434
    """
    return np.asarray(np.expm1(np.log1p(np.asarray(yearly_rate, dtype=float)) / MONTHS_PER_YEAR))


def growing_payments_worth(
    payment: FloatLike, growth: FloatLike, discount_rate: FloatLike, months: FloatLike
) -> Floats:
    r"""Worth at the start of monthly payments that grow steadily (growing annuity).

    .. math:: W = \frac{A}{1 + g} \sum_{k=1}^{n} q^k = \frac{A}{1 + g}\, \frac{q (q^n - 1)}{q - 1},
        \qquad q = \frac{1 + g}{1 + i}

    with the monthly rates :math:`g` of growth and :math:`i` of interest; :math:`A n` where both
    are zero.

    Parameters
    ----------
    payment : FloatLike
        At the end of the first month, :math:`A`. [currency/month]
    growth : FloatLike
        Of the payments. [1/year]
    discount_rate : FloatLike
        Interest. [1/year]
    months : FloatLike
        Number of payments, :math:`n`; between whole numbers the same expression, which is how a
        payback time gets its fraction. Infinite for payments that never end. [month]

    Returns
    -------
    worth : Floats
        One payment at the start that is worth all of them; infinite where the sum is. [currency]

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (geometric
       gradient series).

    Examples
    --------
    Without interest or growth payments add up; at 12.68 % a year, 1 % a month, they are worth less:

    >>> float(growing_payments_worth(100.0, 0.0, 0.0, 17.5))
    1750.0
    >>> round(float(growing_payments_worth(100.0, 0.0, 1.01**12 - 1, 12.0)), 2)
    1125.51
    """
    growing = np.log1p(np.asarray(growth, dtype=float)) / MONTHS_PER_YEAR
    step = growing - np.log1p(np.asarray(discount_rate, dtype=float)) / MONTHS_PER_YEAR
    count = np.asarray(months, dtype=float)
    same = np.abs(step) < SAME_RATE
    used = np.where(same, 1.0, step)
    # Nothing paid for ever is nothing, not zero times infinity.
    with np.errstate(over="ignore"):
        factors = np.where(same, count, np.exp(used) * np.expm1(count * used) / np.expm1(used))
        paid = np.asarray(payment, dtype=float) * np.exp(-growing)
        return np.where(paid == 0.0, 0.0, paid) * np.where(paid == 0.0, 1.0, factors)


def full_month(growth: FloatLike, fullest: FloatLike) -> Floats:
    r"""Month in which growing work fills what was bought.

    .. math:: n_f = 12\, \frac{\ln \phi}{\ln(1 + g)}

    Parameters
    ----------
    growth : FloatLike
        Of the work, :math:`g`. [1/year]
    fullest : FloatLike
        Most work that fits over that of the first month, :math:`\phi`, 1 or more. [-]

    Returns
    -------
    month : Floats
        Months until then; infinite where the work does not grow or there is no limit. [month]

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (geometric
       gradient series).

    Examples
    --------
    Half full and doubling every year:

    >>> float(full_month(1.0, 2.0))
    12.0
    """
    rate, room = np.asarray(growth, dtype=float), np.asarray(fullest, dtype=float)
    grows = rate > 0
    return np.where(grows, MONTHS_PER_YEAR * np.log(room) / np.log1p(np.where(grows, rate, 1.0)), np.inf)
