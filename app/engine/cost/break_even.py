"""Own the base and rent the peak: how much of a changing demand is worth owning."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from app.engine.errors import Contradiction, OutOfRange
from app.engine.records import FloatLike, Floats
from app.engine.units import MONTHS

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
    return np.asarray(np.expm1(np.log1p(np.asarray(yearly_rate, dtype=float)) / MONTHS))


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
    growing = np.log1p(np.asarray(growth, dtype=float)) / MONTHS
    step = growing - np.log1p(np.asarray(discount_rate, dtype=float)) / MONTHS
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
    return np.where(grows, MONTHS * np.log(room) / np.log1p(np.where(grows, rate, 1.0)), np.inf)


GRID = np.concatenate([np.arange(601.0), 600.0 * 2.0 ** np.arange(1, 31)])
"""Months between which a break-even is looked for: every month of fifty years, then doubled. [month]"""
HALVINGS = 52
"""Halvings of the stretch that holds the break-even; as many as a double has digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrRent:
    """A purchase and the bill it replaces. Fields may be arrays that broadcast."""

    capital: FloatLike
    """Paid at the start. [currency]"""
    own_monthly: FloatLike
    """Running cost of what is bought, in the first month. [currency/month]"""
    cloud_monthly: FloatLike
    """Bill that the purchase replaces, in the first month. [currency/month]"""
    discount_rate: FloatLike = 0.0
    """[1/year]"""
    cloud_growth: FloatLike = 0.0
    """Of the bill. [1/year]"""
    own_growth: FloatLike = 0.0
    """Of the running cost. [1/year]"""
    fullest: FloatLike = np.inf
    """Largest bill that what is bought can replace, over that of the first month. [-]"""
    residual_share: FloatLike = 0.0
    """Resale at the horizon over the capital. [-]"""
    horizon: FloatLike = np.inf
    """When what is bought is sold. [month]"""


def replaced_bill_worth(terms: BuildOrRent, months: FloatLike) -> Floats:
    r"""Worth at the start of the bills that a purchase replaces.

    The bill grows until what was bought is full, and stays there: what does not fit is rented
    either way.

    .. math:: W(n) = W_g(\min(n, n_f)) + (1 + r)^{-n_f/12}\, W_0(n - n_f)

    Parameters
    ----------
    terms : BuildOrRent
        The purchase and the bill. [-]
    months : FloatLike
        Months of bills. [month]

    Returns
    -------
    worth : Floats
        What need not be paid to the cloud. [currency]

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (geometric
       gradient series, shifted series).

    Examples
    --------
    >>> terms = BuildOrRent(capital=0.0, own_monthly=0.0, cloud_monthly=100.0)
    >>> float(replaced_bill_worth(terms, 12.0))
    1200.0
    """
    count = np.asarray(months, dtype=float)
    full = full_month(terms.cloud_growth, terms.fullest)
    rising = growing_payments_worth(
        terms.cloud_monthly, terms.cloud_growth, terms.discount_rate, np.minimum(count, full)
    )
    with np.errstate(invalid="ignore"):
        later = np.where(count > full, count - full, 0.0)
    limit = np.where(np.isfinite(full), np.asarray(terms.fullest, dtype=float), 1.0)
    level = np.asarray(terms.cloud_monthly, dtype=float) * limit
    flat = growing_payments_worth(level, 0.0, terms.discount_rate, later)
    since = np.where(np.isfinite(full), full, 0.0)
    return np.asarray(rising + flat * _discount(terms.discount_rate, since))


def own_cost_worth(terms: BuildOrRent, months: FloatLike) -> Floats:
    r"""Worth at the start of everything paid for what is bought, less its sale at the horizon.

    .. math:: K(n) = C + W_h(n) - s\, C (1 + r)^{-H/12} \quad (n \ge H)

    Parameters
    ----------
    terms : BuildOrRent
        The purchase and the bill. [-]
    months : FloatLike
        Months of running it. [month]

    Returns
    -------
    worth : Floats
        Purchase and running cost, less the sale from the horizon on. [currency]

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (present worth
       analysis).

    Examples
    --------
    >>> terms = BuildOrRent(
    ...     capital=1000.0, own_monthly=10.0, cloud_monthly=0.0, residual_share=0.1, horizon=36.0)
    >>> [float(own_cost_worth(terms, month)) for month in (0, 35, 36)]
    [1000.0, 1350.0, 1260.0]
    """
    count, horizon = np.asarray(months, dtype=float), np.asarray(terms.horizon, dtype=float)
    running = growing_payments_worth(terms.own_monthly, terms.own_growth, terms.discount_rate, count)
    sold = np.where(count >= horizon, _sale_worth(terms), 0.0)
    return np.asarray(terms.capital + running - sold)


def break_even_month(terms: BuildOrRent) -> Floats:
    r"""First month at which owning has cost no more than renting.

    .. math:: n = \frac{C}{B - R} \quad\text{or}\quad
        n = -\frac{\ln\left(1 - C i / (B - R)\right)}{\ln(1 + i)}

    without and with monthly interest :math:`i`, for a steady bill :math:`B` and running cost
    :math:`R`. Where either grows, the first zero of :math:`W(n) - K(n)` is enclosed between
    months and halved.

    Parameters
    ----------
    terms : BuildOrRent
        The purchase and the bill. [-]

    Returns
    -------
    month : Floats
        Months with their fraction; infinite where it never comes. The horizon itself where only
        the sale at the horizon makes up the difference. [month]

    Raises
    ------
    OutOfRange, Contradiction
        Where a rate is not above -1, or what is bought does not hold the work of the first month.

    Notes
    -----
    A sale counts at the horizon only: a break-even after the horizon is that of keeping on. Where
    the running cost grows faster than the bill, renting may become cheaper again later.

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (payback
       period; discounted payback).

    Examples
    --------
    A purchase of 4.378 billion replaces 300 million a month and costs 50 million to run; without
    interest, at 8 % a year, and where the running cost exceeds the bill:

    >>> purchase = dict(capital=4.378e9, own_monthly=5e7)
    >>> round(float(break_even_month(BuildOrRent(cloud_monthly=3e8, **purchase))), 3)
    17.512
    >>> round(float(break_even_month(BuildOrRent(cloud_monthly=3e8, discount_rate=0.08, **purchase))), 2)
    18.64
    >>> float(break_even_month(BuildOrRent(cloud_monthly=4e7, **purchase)))
    inf
    """
    _check(terms)
    month = np.where(_steady(terms), _steady_month(terms), np.inf)
    if not np.all(_steady(terms)):
        month = np.where(_steady(terms), month, _enclosed_month(terms))
    horizon = np.broadcast_to(np.asarray(terms.horizon, dtype=float), month.shape)
    ends = np.isfinite(horizon)
    at = np.where(ends, horizon, 0.0)
    sold = ends & (replaced_bill_worth(terms, at) >= own_cost_worth(terms, at))
    return np.where(sold & (month > horizon), horizon, month)


def required_bill(terms: BuildOrRent) -> Floats:
    r"""Bill of the first month at which both sides cost the same at the horizon.

    .. math:: B^* = B\, \frac{K(H)}{W(H)}

    Parameters
    ----------
    terms : BuildOrRent
        The purchase and the bill; what is replaced is proportional to the bill. [-]

    Returns
    -------
    bill : Floats
        Smallest bill that a purchase pays for; 0 where the sale pays for everything. [currency/month]

    References
    ----------
    .. [1] L. Blank and A. Tarquin, "Engineering economy," 8th ed., McGraw-Hill, 2018 (breakeven
       analysis).

    Examples
    --------
    >>> float(required_bill(BuildOrRent(
    ...     capital=4800.0, own_monthly=50.0, cloud_monthly=300.0, horizon=48.0)))
    150.0
    """
    unit_bill = replace(terms, cloud_monthly=1.0)
    return np.maximum(
        own_cost_worth(terms, terms.horizon) / replaced_bill_worth(unit_bill, terms.horizon), 0.0
    )


def _discount(rate: FloatLike, months: FloatLike) -> Floats:
    exponent = np.log1p(np.asarray(rate, dtype=float)) / MONTHS
    return np.asarray(np.exp(-exponent * np.asarray(months, dtype=float)))


def _sale_worth(terms: BuildOrRent) -> Floats:
    horizon = np.asarray(terms.horizon, dtype=float)
    ends = np.isfinite(horizon)
    worth = np.asarray(terms.residual_share, dtype=float) * terms.capital
    return np.where(ends, worth * _discount(terms.discount_rate, np.where(ends, horizon, 0.0)), 0.0)


def _check(terms: BuildOrRent) -> None:
    for name in ("discount_rate", "cloud_growth", "own_growth"):
        lowest = float(np.min(getattr(terms, name)))
        if not lowest > -1.0:
            raise OutOfRange("a rate must be above -1 a year, got {rate}", rate=lowest)
    if not np.all(np.asarray(terms.fullest) >= 1.0):
        raise Contradiction("the purchased capacity does not cover the work of the first month")


def _steady(terms: BuildOrRent) -> Floats:
    still = (np.asarray(terms.cloud_growth) == 0.0) & (np.asarray(terms.own_growth) == 0.0)
    return np.broadcast_to(still, np.broadcast_shapes(*(np.shape(_value(terms, name)) for name in NAMES)))


def _steady_month(terms: BuildOrRent) -> Floats:
    """Payback of a steady saving: the annuity solved for its length."""
    saving = np.asarray(terms.cloud_monthly, dtype=float) - terms.own_monthly
    saves = saving > 0
    simple = np.where(saves, terms.capital / np.where(saves, saving, 1.0), np.inf)
    rate = monthly_rate(terms.discount_rate)
    lost = np.where(saves, simple, 0.0) * rate
    interest = rate > SAME_RATE
    pays = saves & (lost < 1.0)
    with np.errstate(divide="ignore"):
        discounted = -np.log1p(-np.where(pays, lost, 0.0)) / np.log1p(np.where(interest, rate, 1.0))
    month = np.where(interest, np.where(pays, discounted, np.inf), simple)
    return np.where(np.asarray(terms.capital, dtype=float) <= 0.0, 0.0, month)


def _enclosed_month(terms: BuildOrRent) -> Floats:
    """First month at which the saving makes up for the capital, by bracketing and bisection."""
    shape = np.broadcast_shapes(*(np.shape(_value(terms, name)) for name in NAMES))
    spread = {name: np.broadcast_to(_value(terms, name), shape)[..., np.newaxis] for name in NAMES}
    wide = replace(terms, **spread)
    covered = _saving(wide, GRID) >= wide.capital
    is_enclosed = np.any(covered, axis=-1)
    first = np.argmax(covered, axis=-1)
    low, high = GRID[np.maximum(first - 1, 0)], GRID[first]
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        enough = _saving(terms, middle) >= np.asarray(terms.capital)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(is_enclosed, high, np.inf)


def _saving(terms: BuildOrRent, months: Floats) -> Floats:
    """Bills replaced less running costs; where both overflow, the faster-growing one decides."""
    bills = replaced_bill_worth(terms, months)
    running = growing_payments_worth(terms.own_monthly, terms.own_growth, terms.discount_rate, months)
    limited = np.isfinite(full_month(terms.cloud_growth, terms.fullest))
    pace = np.where(limited, 0.0, np.asarray(terms.cloud_growth, dtype=float))
    both = np.isinf(bills) & np.isinf(running)
    level = np.asarray(terms.cloud_monthly, dtype=float) > np.asarray(terms.own_monthly, dtype=float)
    ahead = (pace > terms.own_growth) | ((pace == terms.own_growth) & level)
    with np.errstate(invalid="ignore"):
        return np.where(both, np.where(ahead, np.inf, -np.inf), bills - running)


def _value(terms: BuildOrRent, name: str) -> Floats:
    return np.asarray(getattr(terms, name), dtype=float)


NAMES = tuple(entry.name for entry in fields(BuildOrRent))


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
