"""Capital over time: what a purchase costs in each year that it serves."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message


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
    BadInput
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
        raise BadInput(Message("discount rate must be 0 or more, got {rate}", {"rate": float(np.min(rate))}))
    if not np.all(years > 0):
        raise BadInput(Message("lifetime must be above 0 years, got {n}", {"n": float(np.min(years))}))
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
