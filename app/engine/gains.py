"""What an alternative gains, how sure that is, and from which rung of a ladder nothing more is gained."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats, Indices
from app.errors import BadInput

NORMAL_FROM = 200
"""Degrees of freedom from which Student's law is taken as at this number: the difference is below 0.1 %."""


def relative_gain(reference: FloatLike, seconds: FloatLike) -> Floats:
    r"""Throughput gained over a reference that does the same work.

    .. math:: g = \frac{t_{ref}}{t} - 1

    Parameters
    ----------
    reference : float or array
        Time of the reference, :math:`t_{ref}`. [s]
    seconds : float or array
        Time of the alternative, :math:`t`, above zero. [s]

    Returns
    -------
    gain : array
        Above zero where the alternative is faster. [-]

    References
    ----------
    .. [1] J. Hennessy and D. Patterson, "Computer architecture: a quantitative approach," 6th ed., 2017,
       section 1.9 (speed-up).

    Examples
    --------
    >>> round(float(relative_gain(1.0, 0.8)), 6)
    0.25
    """
    return np.asarray(np.asarray(reference, float) / np.asarray(seconds, float) - 1.0)


def sufficient_rung(seconds: Floats, threshold: float) -> Indices:
    """Return the first rung of a ladder of rising cost above which none gains as much as a threshold.

    ``seconds`` is the time of the same work on every rung, the cheapest first, along the last axis [s].
    A rung that is dearer and slower than another is no rival: what is compared is the fastest of all
    rungs above. Without any rung it raises :class:`BadInput`.
    """
    seconds = np.asarray(seconds, float)
    if seconds.shape[-1:] in ((), (0,)):
        raise BadInput("a ladder needs at least one rung")
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
    known = below > 0
    found = np.square(first + second) / np.where(known, below, 1.0)
    return np.asarray(np.where(known, found, runs + other_runs - 2.0))


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
    BadInput
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
        raise BadInput("Student's t needs at least one degree of freedom")
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
