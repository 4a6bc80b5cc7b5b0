"""Options and systems compared: the front of time and cost, gains, ratios on equal footing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.engine.errors import Contradiction, OutOfRange, Shortage
from app.engine.records import FloatLike, Floats, Indices
from app.engine.uncertainty import banded_samples


def pareto_front(times: Floats, costs: Floats) -> NDArray[np.bool_]:
    """Return which options no other option beats in both time [s] and cost [currency].

    Of equal options only the first is on the front, and none without a finite time; an unknown price counts
    as an infinite cost. Sorted by time and then by cost, an option is on the front where it costs less than
    all before it (Kung, Luccio, Preparata, J. ACM 22(4), 1975).
    """
    time, cost = np.asarray(times, dtype=float), np.asarray(costs, dtype=float)
    order = np.lexsort((cost, time))
    cheapest = np.minimum.accumulate(np.concatenate([[np.inf], cost[order]]))[:-1]
    # The fastest option of all is worth considering even where nobody knows what it costs.
    first = np.arange(order.size) == 0
    front = np.zeros(order.size, dtype=bool)
    front[order] = np.isfinite(time[order]) & ((cost[order] < cheapest) | first)
    return front


def parallel_efficiency(counts: FloatLike, times: FloatLike) -> Floats:
    r"""Return the share of linear speed-up that each count reaches, taking the smallest count as reference.

    .. math:: E(n) = \frac{n_0 \, T(n_0)}{n \, T(n)}

    Parameters
    ----------
    counts : FloatLike
        Machines, rising, :math:`n`. [-]
    times : FloatLike
        Time to train on each, :math:`T`. [s]

    Returns
    -------
    efficiency : Floats
        1 for the smallest count. [-]

    References
    ----------
    .. [1] D. L. Eager, J. Zahorjan, E. D. Lazowska, "Speedup versus efficiency in parallel systems," IEEE
       Trans. Comput., vol. 38, no. 3, pp. 408-423, 1989.

    Examples
    --------
    >>> parallel_efficiency(np.array([1.0, 2.0, 4.0]), np.array([8.0, 4.0, 3.2])).tolist()
    [1.0, 1.0, 0.625]
    """
    machines, seconds = np.asarray(counts, dtype=float), np.asarray(times, dtype=float)
    return np.asarray(machines[0] * seconds[0] / (machines * seconds))


def scaling_knee(counts: FloatLike, times: FloatLike) -> int:
    r"""Return the place of the count from which adding machines stops paying: the knee of the scaling curve.

    .. math:: n^* = \arg\max_n \frac{E(n)}{T(n)} = \arg\max_n \frac{S(n)^2}{n}

    Parameters
    ----------
    counts : FloatLike
        Machines, rising, :math:`n`. [-]
    times : FloatLike
        Time to train on each, :math:`T`. [s]

    Returns
    -------
    place : int
        Index of the knee; the largest count where speed-up stays above the square root of the count. [-]

    Raises
    ------
    Shortage
        Where there are no counts, or not as many times.

    Notes
    -----
    The knee maximises efficiency over time, so that up to it a share of efficiency given up buys at least as
    large a share of time. Beyond it one per cent more machines takes less than half a per cent off the time.

    References
    ----------
    .. [1] D. L. Eager, J. Zahorjan, E. D. Lazowska, "Speedup versus efficiency in parallel systems," IEEE
       Trans. Comput., vol. 38, no. 3, pp. 408-423, 1989, section V (the knee of the execution time-efficiency
       profile).

    Examples
    --------
    By Amdahl's law a tenth of serial work puts the knee at nine machines, where S = 5:

    >>> machines = np.arange(1.0, 33.0)
    >>> int(machines[scaling_knee(machines, 0.1 + 0.9 / machines)])
    9
    """
    machines, seconds = np.asarray(counts, dtype=float), np.asarray(times, dtype=float)
    if not machines.size or machines.shape != seconds.shape:
        raise Shortage("one time per count is required, got {times} times", times=int(seconds.size))
    return int(np.argmax(parallel_efficiency(machines, seconds) / seconds))


NORMAL_FROM = 200
"""Degrees of freedom from which Student's law is taken as at this number: the difference is below 0.1 %."""


def relative_gain(reference: FloatLike, seconds: FloatLike) -> Floats:
    """Relative gain in throughput over a reference on the same work; above zero if faster."""
    return np.asarray(np.asarray(reference, float) / np.asarray(seconds, float) - 1.0)


def sufficient_rung(seconds: Floats, threshold: float) -> Indices:
    """Return the first rung of a ladder of rising cost that no later rung beats by a threshold.

    ``seconds`` is the time of the same work on every rung, the cheapest first, along the last axis [s]. Each
    rung is compared with the fastest of all later ones. Without any rung it raises :class:`Shortage`.
    """
    seconds = np.asarray(seconds, float)
    if seconds.shape[-1:] in ((), (0,)):
        raise Shortage("a ladder needs at least one rung")
    fastest = np.minimum.accumulate(seconds[..., ::-1], axis=-1)[..., ::-1]
    enough = relative_gain(seconds, fastest) < max(threshold, np.finfo(float).tiny)
    return np.asarray(np.argmax(enough, axis=-1))


def welch_degrees(errors: FloatLike, other_errors: FloatLike, runs: float, other_runs: float) -> Floats:
    r"""Degrees of freedom of the difference of two means whose scatter differs (Welch and Satterthwaite).

    .. math:: \nu = \frac{(s_1^2 + s_2^2)^2}{s_1^4 / (n_1 - 1) + s_2^4 / (n_2 - 1)}

    Parameters
    ----------
    errors : float or array
        Standard error of the first mean, :math:`s_1`. [any]
    other_errors : float or array
        Standard error of the second mean, :math:`s_2`. [any]
    runs : float
        Values behind the first mean, :math:`n_1`, at least two. [-]
    other_runs : float
        Values behind the second mean, :math:`n_2`, at least two. [-]

    Returns
    -------
    degrees : array
        Between the smaller of the two and their sum; that sum where nothing scatters. [-]

    References
    ----------
    .. [1] B. L. Welch, "The generalization of Student's problem when several different population variances
       are involved," Biometrika 34, 1947.

    Examples
    --------
    Equal scatter of three runs each gives all four degrees:

    >>> float(welch_degrees(2.0, 2.0, 3, 3))
    4.0
    """
    first, second = np.square(errors), np.square(other_errors)
    below = np.square(first) / (runs - 1.0) + np.square(second) / (other_runs - 1.0)
    positive = below > 0
    degrees = np.square(first + second) / np.where(positive, below, 1.0)
    return np.asarray(np.where(positive, degrees, runs + other_runs - 2.0))


def student_t_probability(deviations: FloatLike, degrees: int) -> Floats:
    r"""Probability that a Student-t variable stays below a number of standard errors.

    .. math:: P(T < t) = \tfrac{1}{2} + \tfrac{1}{2} \operatorname{sgn}(t) A(|t|, \nu)

    Parameters
    ----------
    deviations : float or array
        Standard errors from the middle, :math:`t`. [-]
    degrees : int
        Degrees of freedom, :math:`\nu`, at least one. [-]

    Returns
    -------
    probability : array
        Between 0 and 1. [-]

    Raises
    ------
    OutOfRange
        With less than one degree of freedom.

    Notes
    -----
    :math:`A` is the finite sum for whole degrees of freedom.

    References
    ----------
    .. [1] M. Abramowitz and I. Stegun, "Handbook of mathematical functions," 1964, 26.7.3 and 26.7.4.

    Examples
    --------
    The tabled 97.5 % point of four degrees is 2.776:

    >>> round(float(student_t_probability(2.776, 4)), 4)
    0.975
    """
    if degrees < 1:
        raise OutOfRange("Student's t needs at least one degree of freedom")
    order = min(int(degrees), NORMAL_FROM)
    angle = np.arctan(np.asarray(deviations, float) / np.sqrt(order))
    sine, cosine = np.sin(angle), np.cos(angle)
    odd = order % 2 == 1
    term = cosine if odd else np.ones_like(cosine)
    total = np.zeros_like(cosine) if order == 1 else np.asarray(term, float).copy()
    for power in range(2 if odd else 1, order - 2, 2):
        term = term * np.square(cosine) * power / (power + 1.0)
        total = total + term
    inside = 2.0 / np.pi * (angle + sine * total) if odd else sine * total
    return np.asarray(np.clip(0.5 + 0.5 * inside, 0.0, 1.0))


def speed_ratio(baseline_time: FloatLike, claimed_time: FloatLike) -> Floats:
    """How many times as fast one system does the same work as another; times must be above 0.

    BERT-Large end to end, 69.5 h on one DGX A100 and 13.2 h on one IPU-POD64; then against three DGX A100
    that scale linearly, and against three that reach 85 % of it:

    >>> hours = np.array([69.5, 69.5 / 3, 69.5 / 3 / 0.85])
    >>> [round(float(ratio), 2) for ratio in speed_ratio(hours, 13.2)]
    [5.27, 1.76, 2.06]
    """
    baseline, claimed = np.asarray(baseline_time, dtype=float), np.asarray(claimed_time, dtype=float)
    if not (np.all(baseline > 0) and np.all(claimed > 0)):
        shortest = float(min(np.min(baseline), np.min(claimed)))
        raise OutOfRange("a time must be above 0 s, got {time}", time=shortest)
    return np.asarray(baseline / claimed)


def footing_ratio(ratio: FloatLike, claimed_amount: FloatLike, baseline_amount: FloatLike) -> Floats:
    """Ratio of speeds per unit of something both sides have, above 0: chips, systems, money, watts.

    It is the ratio of two equal amounts only as far as speed grows with the amount: half of a machine cannot
    be bought, and twice as many are not twice as fast.

    2.6 times the throughput of one chip by a machine of four:

    >>> float(footing_ratio(2.6, 4, 1))
    0.65
    """
    claimed, baseline = np.asarray(claimed_amount, dtype=float), np.asarray(baseline_amount, dtype=float)
    if not (np.all(claimed > 0) and np.all(baseline > 0)):
        least = float(min(np.min(claimed), np.min(baseline)))
        raise OutOfRange("an amount must be above 0, got {amount}", amount=least)
    return np.asarray(ratio * baseline / claimed)


def two_piece_samples(value: FloatLike, low: FloatLike, high: FloatLike, normals: Floats) -> Floats:
    """Draw an amount whose 10th and 90th percentile lie at unequal distances from its median.

    Samples of :func:`banded_samples`, whose range must rise from above 0.
    """
    middle, least, most = (np.asarray(quantity, dtype=float) for quantity in (value, low, high))
    if not (np.all(least > 0) and np.all(least <= middle) and np.all(middle <= most)):
        raise Contradiction(
            "range values must be above 0 and must not decrease: {low}, {value}, {high}",
            low=float(np.min(least)),
            value=float(np.min(middle)),
            high=float(np.min(most)),
        )
    return banded_samples(middle, least, most, normals)
