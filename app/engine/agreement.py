"""How well predictions agree with measurements: shares with their uncertainty, and errors of shape."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats

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
