"""Two systems on equal footing: the ratio of their speeds per chip, system, unit of money or watt."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message

DECILE = 1.2815515655446004
"""Standard normal number below which 90 % lie. [-]"""


def speed_ratio(baseline_time: FloatLike, claimed_time: FloatLike) -> Floats:
    r"""How many times as fast one system does the same work as another.

    .. math:: R = \frac{t_b}{t_c}

    Parameters
    ----------
    baseline_time : FloatLike
        Time of the work on the system compared with, :math:`t_b`, above 0. [s]
    claimed_time : FloatLike
        Time of the same work on the system that is claimed to be faster, :math:`t_c`, above 0. [s]

    Returns
    -------
    ratio : Floats
        Above one where the claimed system is the faster. [-]

    Raises
    ------
    BadInput
        Where a time is not above 0.

    References
    ----------
    .. [1] J. Hennessy and D. Patterson, "Computer architecture: a quantitative approach," 6th ed., Morgan
       Kaufmann, 2017, section 1.8.

    Examples
    --------
    BERT-Large end to end, 69.5 h on one DGX A100 and 13.2 h on one IPU-POD64; then against three DGX A100
    that scale linearly, and against three that reach 85 % of it:

    >>> hours = np.array([69.5, 69.5 / 3, 69.5 / 3 / 0.85])
    >>> [round(float(ratio), 2) for ratio in speed_ratio(hours, 13.2)]
    [5.27, 1.76, 2.06]
    """
    baseline, claimed = np.asarray(baseline_time, dtype=float), np.asarray(claimed_time, dtype=float)
    if not (np.all(baseline > 0) and np.all(claimed > 0)):
        shortest = float(min(np.min(baseline), np.min(claimed)))
        raise BadInput(Message("a time must be above 0 s, got {time}", {"time": shortest}))
    return np.asarray(baseline / claimed)


def footing_ratio(ratio: FloatLike, claimed_amount: FloatLike, baseline_amount: FloatLike) -> Floats:
    r"""Ratio of speeds per unit of something both sides have: chips, systems, money, watts.

    .. math:: R_q = R \, \frac{q_b}{q_c}

    Parameters
    ----------
    ratio : FloatLike
        Ratio of the speeds of the whole of both sides, :math:`R`. [-]
    claimed_amount : FloatLike
        How much of it the claimed side has, :math:`q_c`, above 0. [any]
    baseline_amount : FloatLike
        How much of it the baseline has, :math:`q_b`, above 0, in the same unit. [any]

    Returns
    -------
    ratio : Floats
        Ratio of the speeds per unit. [-]

    Raises
    ------
    BadInput
        Where an amount is not above 0.

    Notes
    -----
    It is the ratio of two equal amounts only as far as speed grows with the amount: half of a machine cannot
    be bought, and twice as many are not twice as fast.

    References
    ----------
    .. [1] L. Barroso, U. Hölzle, P. Ranganathan, "The datacenter as a computer," 3rd ed., Morgan & Claypool,
       2018, chapter 5 (performance per watt and per unit of cost).

    Examples
    --------
    2.6 times the throughput of one chip by a machine of four:

    >>> float(footing_ratio(2.6, 4, 1))
    0.65
    """
    claimed, baseline = np.asarray(claimed_amount, dtype=float), np.asarray(baseline_amount, dtype=float)
    if not (np.all(claimed > 0) and np.all(baseline > 0)):
        least = float(min(np.min(claimed), np.min(baseline)))
        raise BadInput(Message("an amount must be above 0, got {amount}", {"amount": least}))
    return np.asarray(ratio * baseline / claimed)


def two_piece_samples(value: FloatLike, low: FloatLike, high: FloatLike, normals: Floats) -> Floats:
    r"""Draw an amount whose 10th and 90th percentile lie at unequal distances from its median.

    .. math:: x = v \, e^{\sigma z}, \quad
        \sigma = \frac{\ln(v / l)}{z_{90}} \; (z < 0), \quad \sigma = \frac{\ln(h / v)}{z_{90}} \; (z \ge 0)

    Parameters
    ----------
    value : FloatLike
        Median, :math:`v`, above 0. [any]
    low : FloatLike
        10th percentile, :math:`l`, above 0 and at most the median. [any]
    high : FloatLike
        90th percentile, :math:`h`, at least the median. [any]
    normals : Floats
        Standard normal samples, :math:`z`. [-]

    Returns
    -------
    samples : Floats
        Samples of the amount; the median itself where it has no range. [any]

    Raises
    ------
    BadInput
        Where low, value and high do not rise from above 0.

    References
    ----------
    .. [1] K. Wallis, "The two-piece normal, binormal, or double Gaussian distribution: its origin and
       rediscoveries," Statistical Science, vol. 29, no. 1, pp. 106-112, 2014.

    Examples
    --------
    >>> drawn = two_piece_samples(100.0, 80.0, 110.0, np.array([-DECILE, 0.0, DECILE]))
    >>> [round(float(amount), 6) for amount in drawn]
    [80.0, 100.0, 110.0]
    """
    middle, least, most = (np.asarray(one, dtype=float) for one in (value, low, high))
    if not (np.all(least > 0) and np.all(least <= middle) and np.all(middle <= most)):
        raise BadInput(
            Message(
                "range values must be above 0 and must not decrease: {low}, {value}, {high}",
                {"low": float(np.min(least)), "value": float(np.min(middle)), "high": float(np.min(most))},
            )
        )
    deviation = np.where(normals < 0, np.log(middle / least), np.log(most / middle)) / DECILE
    return np.asarray(middle * np.exp(deviation * normals))
