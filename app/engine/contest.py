"""Which of two options is the better, how surely, and what would change that."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats


def probability_less(first: FloatLike, second: FloatLike) -> Floats:
    r"""Probability that one uncertain amount is below another, from paired samples.

    .. math:: P = \frac{1}{N} \sum_i \left( [x_i < y_i] + \tfrac{1}{2} [x_i = y_i] \right)

    Parameters
    ----------
    first : FloatLike
        Samples on the last axis, or one exact amount, :math:`x`. [any]
    second : FloatLike
        Samples drawn with the same random numbers, or one exact amount, :math:`y`. [any]

    Returns
    -------
    probability : Floats
        Share of the pairs in which the first is less, ties counted half. [-]

    Notes
    -----
    Counting ties half makes the two directions add up to one. Resolved to half of one over the number of
    samples; what both amounts share does not blur their order, because it moves both of a pair.

    References
    ----------
    .. [1] A. Vargha, H. D. Delaney, "A critique and improvement of the CL common language effect size
       statistics of McGraw and Wong," J. Educ. Behav. Stat., vol. 25, no. 2, pp. 101-132, 2000.

    Examples
    --------
    One pair of four is in the other order, one is a tie:

    >>> float(probability_less(np.array([1.0, 1.0, 3.0, 2.0]), np.array([2.0, 2.0, 2.0, 2.0])))
    0.625
    """
    one, other = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    wins = (one < other) + 0.5 * (one == other)
    return np.asarray(np.mean(wins, axis=-1) if wins.ndim else wins)


def lead(best: FloatLike, others: Floats) -> Floats:
    r"""By how much the best option leads: the best of the others over it.

    .. math:: \lambda = \frac{\min_j y_j}{x}

    Parameters
    ----------
    best : FloatLike
        Time or cost of the option that leads, :math:`x`. [any]
    others : Floats
        The same of all others, on the first axis, :math:`y_j`. [any]

    Returns
    -------
    lead : Floats
        Above one while the option is the best; below one another has overtaken it. [-]

    References
    ----------
    .. [1] A. Saltelli et al., "Global sensitivity analysis: the primer," Wiley, 2008, chapter 1 (factors
       that change a decision).

    Examples
    --------
    The reported 69.5 h and the 23.2 h of three machines against 13.2 h:

    >>> round(float(lead(13.2, np.array([69.5, 23.2]))), 2)
    1.76
    """
    return np.asarray(np.min(np.asarray(others, dtype=float), axis=0) / np.asarray(best, dtype=float))


def part_rescaled(total: FloatLike, part: FloatLike, factor: FloatLike) -> Floats:
    r"""Total of a sum after one of its parts is multiplied by a factor.

    .. math:: y = x + (f - 1) \, x_p

    Parameters
    ----------
    total : FloatLike
        Sum of all parts, :math:`x`. [any]
    part : FloatLike
        The part that changes, :math:`x_p`. [any]
    factor : FloatLike
        What it is multiplied by, :math:`f`. [-]

    Returns
    -------
    total : Floats
        The sum afterwards. [any]

    Notes
    -----
    Exact where the part is proportional to the input that changes and nothing else depends on it, as the
    electricity in the cost of an hour is to the tariff.

    References
    ----------
    .. [1] A. Saltelli et al., "Global sensitivity analysis: the primer," Wiley, 2008, section 1.2 (one
       factor at a time).

    Examples
    --------
    Power is 12 of 100 an hour; a tariff 30 % higher makes it:

    >>> round(float(part_rescaled(100.0, 12.0, 1.3)), 1)
    103.6
    """
    return np.asarray(np.asarray(total, dtype=float) + (np.asarray(factor) - 1.0) * np.asarray(part))
