"""Statistics of samples: ranges, shares of variance, probabilities that one option is better, agreement."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from app.engine.errors import OutOfRange
from app.engine.records import FloatLike, Floats

LOW, HIGH = 0.10, 0.90
"""Ends of a band, as shares of the samples below them."""


def standard_normals(samples: int, dimensions: int, seed: int) -> Floats:
    """Return a Latin hypercube of standard normal numbers, (samples, dimensions).

    Every column has the normal quantiles at (i + 1/2) / N in an order of its own. A range that one input
    decides is then exact to the width of a stratum, and mean and symmetry are those of the distribution;
    independent draws need about twice as many samples for a band as good (McKay et al. 1979). Columns are
    independent only on average over seeds: in one table two of them correlate by about 1 / √N.

    The orders sort the raw output of the PCG64 bit generator, the one stream that numpy keeps unchanged over
    versions and platforms (NEP 19; its distributions may change), so that a stored answer can be computed
    again. More columns leave the first ones unchanged.

    >>> table = standard_normals(4, 2, seed=1)
    >>> sorted(round(float(number), 4) for number in table[:, 0])
    [-1.1503, -0.3186, 0.3186, 1.1503]
    """
    if samples < 1 or dimensions < 0:
        raise OutOfRange("{rows} by {columns} is not a valid table size", rows=samples, columns=dimensions)
    normal = NormalDist()
    quantiles = np.array([normal.inv_cdf((index + 0.5) / samples) for index in range(samples)])
    keys = np.random.PCG64(seed).random_raw(samples * dimensions).reshape(dimensions, samples)
    return quantiles[np.argsort(keys, axis=1, kind="stable")].T


def student_t_samples(normals: Floats, mixing_normals: Floats) -> Floats:
    r"""Give normal samples the heavy tails of Student's t, at standard deviation one.

    .. math:: t = z \sqrt{\frac{\nu - 2}{\sum_{k=1}^{\nu} w_k^2}}

    Parameters
    ----------
    normals : Floats
        Standard normal samples, :math:`z`. [-]
    mixing_normals : Floats
        Further standard normal samples, :math:`w`, independent of the first; the last axis has
        one column per degree of freedom, the others are those of ``normals``. [-]

    Returns
    -------
    samples : Floats
        Student-t samples scaled to unit variance. [-]

    Raises
    ------
    OutOfRange
        Where there are fewer than three degrees of freedom, and so no variance.

    Notes
    -----
    Scaled in this way the middle is narrower than the normal's and the tails are longer: with
    4 degrees of freedom 80 % lie within 1.08 standard deviations instead of 1.28.

    References
    ----------
    .. [1] K. Lange, R. Little, J. Taylor, "Robust statistical modeling using the t distribution,"
       J. Am. Stat. Assoc., vol. 84, no. 408, pp. 881-896, 1989.

    Examples
    --------
    Three degrees of freedom, all of them at one: the divisor is the root of three:

    >>> round(float(student_t_samples(np.array([1.0]), np.ones((1, 3)))[0]), 6)
    0.57735
    """
    degrees = mixing_normals.shape[-1]
    if degrees < 3:
        raise OutOfRange("Student's t needs 3 degrees of freedom, got {degrees}", degrees=degrees)
    return np.asarray(normals * np.sqrt((degrees - 2.0) / np.sum(np.square(mixing_normals), axis=-1)))


def banded_samples(value: FloatLike, low: FloatLike, high: FloatLike, normals: Floats) -> Floats:
    r"""Spread a figure over samples whose 10th and 90th percentile need not lie evenly about it.

    .. math:: x = m \left(\frac{h}{m}\right)^{z / z_{90}} \text{ for } z \ge 0, \quad
        m \left(\frac{m}{l}\right)^{z / z_{90}} \text{ for } z < 0

    Parameters
    ----------
    value : FloatLike
        The figure, :math:`m`, above zero. [any]
    low : FloatLike
        Its 10th percentile, :math:`l`, above zero and not above the figure. [any]
    high : FloatLike
        Its 90th percentile, :math:`h`, not below the figure. [any]
    normals : Floats
        Samples of zero mean and unit variance, :math:`z`. [-]

    Returns
    -------
    samples : Floats
        With the figure as their median. [any]

    References
    ----------
    .. [1] K. Wallis, "The two-piece normal, binormal, or double Gaussian distribution," Statistical Science,
       vol. 29, no. 1, pp. 106-112, 2014.

    Examples
    --------
    >>> [round(float(end), 3) for end in banded_samples(24.0, 21.0, 24.0, np.array([-1.2816, 0.0, 1.2816]))]
    [21.0, 24.0, 24.0]
    """
    reach = np.asarray(normals) / NormalDist().inv_cdf(HIGH)
    above, below = np.log(np.divide(high, value)), np.log(np.divide(value, low))
    return np.asarray(value * np.exp(reach * np.where(reach >= 0, above, below)))


def linear_effects(answer: Floats, inputs: Floats) -> Floats:
    r"""How far an answer moves with each input, by least squares over common samples.

    .. math:: \min_{a, b} \sum_i \left(y_i - a - \sum_k b_k z_{k i}\right)^2

    Parameters
    ----------
    answer : Floats
        Samples of the answer, :math:`y`; logarithms where the inputs are factors. [any]
    inputs : Floats
        Standard normal samples of each input, :math:`z`, one row per input. [-]

    Returns
    -------
    effects : Floats
        Change of the answer with one standard deviation of each input, :math:`b`. [any]

    References
    ----------
    .. [1] A. Saltelli et al., "Global sensitivity analysis: the primer," Wiley, 2008, section 1.2.5
       (standardised regression coefficients).

    Examples
    --------
    >>> z = np.array([[-1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, -1.0]])
    >>> [round(float(effect), 6) for effect in linear_effects(5.0 + 0.2 * z[0] - 0.1 * z[1], z)]
    [0.2, -0.1]
    """
    columns = np.vstack([np.ones(answer.shape[-1]), inputs])
    solution = np.linalg.lstsq(columns.T, answer, rcond=None)[0]
    return np.asarray(solution[1:])


def variance_shares(answer: Floats, parts: Floats) -> Floats:
    r"""Share of the variance of an answer that each part of it explains; the last share is the rest.

    .. math:: S_k = \frac{\operatorname{Cov}(g_k, y)}{\operatorname{Var}(y)}, \quad
        S_{rest} = 1 - \sum_k S_k

    Parameters
    ----------
    answer : Floats
        Samples of the answer, :math:`y`. [any]
    parts : Floats
        What each input adds to every sample, :math:`g_k`, one row per input. [any]

    Returns
    -------
    shares : Floats
        One for each part and one for the rest, none below zero; they add up to one, or are all zero where
        the answer does not vary. [-]

    Notes
    -----
    The covariances of parts that add up to the answer add up to its variance, also where the parts
    correlate. A share that chance makes negative counts as zero, and the others are scaled to make up.

    References
    ----------
    .. [1] G. Li et al., "Global sensitivity analysis for systems with independent and/or correlated
       inputs," J. Phys. Chem. A, vol. 114, no. 19, pp. 6022-6032, 2010.

    Examples
    --------
    >>> z = np.array([[-1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, -1.0]])
    >>> [round(float(share), 6) for share in variance_shares(0.2 * z[0] + 0.1 * z[1], 0.2 * z[:1])]
    [0.8, 0.2]
    """
    variance = float(np.var(answer))
    if variance <= 0.0:
        return np.zeros(len(parts) + 1)
    centred = answer - np.mean(answer)
    shares = np.maximum(np.asarray(parts) @ centred / answer.shape[-1] / variance, 0.0)
    rest = max(0.0, 1.0 - float(np.sum(shares)))
    all_shares = np.append(shares, rest)
    return np.asarray(all_shares / np.sum(all_shares))


def share_of_range(
    value: FloatLike, low: FloatLike, high: FloatLike, share: FloatLike
) -> tuple[Floats, Floats]:
    r"""Return the range that one input alone would leave, from its share of the variance.

    .. math:: l_k = m - (m - l) \sqrt{S_k}, \quad h_k = m + (h - m) \sqrt{S_k}

    Parameters
    ----------
    value : FloatLike
        The answer at central inputs, :math:`m`. [any]
    low : FloatLike
        10th percentile of the answer, :math:`l`. [any]
    high : FloatLike
        90th percentile of the answer, :math:`h`. [any]
    share : FloatLike
        Share of the variance, :math:`S_k`. [-]

    Returns
    -------
    low, high : tuple of Floats
        Within the range; the squares of all half-widths add up to the square of its own. [any]

    References
    ----------
    .. [1] JCGM 100:2008, "Guide to the expression of uncertainty in measurement," section 5.1.2.

    Examples
    --------
    An input with a quarter of the variance has half of the range:

    >>> tuple(float(end) for end in share_of_range(10.0, 8.0, 14.0, 0.25))
    (9.0, 12.0)
    """
    width = np.sqrt(share)
    middle = np.asarray(value, dtype=float)
    return middle - (middle - low) * width, middle + (high - middle) * width


def band(samples: Floats, value: FloatLike) -> tuple[Floats, Floats]:
    """Return the 10th and 90th percentile of samples on the last axis, widened to contain the central value.

    Between two samples the percentile is interpolated linearly (Hyndman and Fan 1996, definition 7).

    >>> low, high = band(np.arange(11.0), 9.5)
    >>> float(low), float(high)
    (1.0, 9.5)
    """
    ordered = np.sort(samples, axis=-1)
    low, high = (_between(ordered, share * (ordered.shape[-1] - 1)) for share in (LOW, HIGH))
    return np.minimum(low, value), np.maximum(high, value)


def _between(ordered: Floats, position: float) -> Floats:
    """Return the linearly interpolated value at a position of ordered samples."""
    below = int(position)
    above, part = min(below + 1, ordered.shape[-1] - 1), position - below
    low = ordered[..., below]
    return low if part == 0.0 else low + (ordered[..., above] - low) * part


def probability_below(samples: Floats, limit: FloatLike) -> Floats:
    """Share of samples on the last axis within a limit, such as a deadline or a budget."""
    return np.asarray(np.mean(samples <= np.asarray(limit)[..., np.newaxis], axis=-1))


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
    """By how much the best option leads: the best of the others over it; below one it has been overtaken."""
    return np.asarray(np.min(np.asarray(others, dtype=float), axis=0) / np.asarray(best, dtype=float))


def part_rescaled(total: FloatLike, part: FloatLike, factor: FloatLike) -> Floats:
    """Total of a sum after one of its parts is multiplied by a factor.

    Exact where the part alone is proportional to the changed input, as the electricity in the cost of an hour
    is to the tariff. Power is 12 of 100 an hour; a tariff 30 % higher:

    >>> round(float(part_rescaled(100.0, 12.0, 1.3)), 1)
    103.6
    """
    return np.asarray(np.asarray(total, dtype=float) + (np.asarray(factor) - 1.0) * np.asarray(part))


NORMAL_95 = 1.959964
"""Standard normal quantile at 0.975: two-sided intervals of 95 %."""


def wilson_interval(share: FloatLike, trials: FloatLike) -> tuple[Floats, Floats]:
    r"""Return the 95 % interval of a binomial probability from an observed share.

    .. math::

        \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}

    Parameters
    ----------
    share : FloatLike
        Observed share, :math:`p`, from 0 to 1. [-]
    trials : FloatLike
        Independent trials, :math:`n`, above 0. [-]

    Returns
    -------
    low : Floats
        Low end of the interval. [-]
    high : Floats
        High end of the interval. [-]

    Notes
    -----
    Valid for any number of trials, also where the share is 0 or 1; unlike the normal approximation it
    never leaves the range from 0 to 1.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference,"
       Journal of the American Statistical Association, vol. 22, no. 158, pp. 209-212, 1927.

    Examples
    --------
    Eight of ten:

    >>> low, high = wilson_interval(0.8, 10.0)
    >>> round(float(low), 3), round(float(high), 3)
    (0.49, 0.943)
    """
    observed, count = np.asarray(share, dtype=float), np.asarray(trials, dtype=float)
    square = NORMAL_95**2
    middle = observed + square / (2.0 * count)
    half = NORMAL_95 * np.sqrt(observed * (1.0 - observed) / count + square / (4.0 * count**2))
    scale = 1.0 + square / count
    low = np.clip((middle - half) / scale, 0.0, 1.0)
    high = np.clip((middle + half) / scale, 0.0, 1.0)
    return np.asarray(low), np.asarray(high)


def shape_error(log_errors: FloatLike) -> float:
    r"""Return what is left of the errors along a curve after one offset, as a root mean square.

    .. math::

        \sqrt{\frac{1}{n} \sum_i (e_i - \bar e)^2}

    Parameters
    ----------
    log_errors : FloatLike
        Logarithm of predicted over measured at each point, :math:`e_i`; one at least. [-]

    Returns
    -------
    error : float
        0 where the predicted curve is the measured one times a constant. [-]

    Notes
    -----
    Whether a count of devices divides both sides does not matter: the shape of the throughput per
    device and that of the whole throughput are missed by the same error.

    References
    ----------
    .. [1] J. Willmott, K. Matsuura, "Advantages of the mean absolute error (MAE) over the root mean
       square error (RMSE) in assessing average model performance," Climate Research, vol. 30,
       pp. 79-82, 2005 (the unsystematic part of the error).

    Examples
    --------
    Ten per cent too fast everywhere is no error of shape; an error of 0.1 up and down is:

    >>> shape_error([0.1, 0.1, 0.1]) < 1e-12
    True
    >>> round(shape_error([0.2, 0.0]), 3)
    0.1
    """
    errors = np.asarray(log_errors, dtype=float)
    return float(np.sqrt(np.mean((errors - np.mean(errors)) ** 2)))
