"""The posterior of software figures from measured steps.

Every uncertain figure is a standard normal coordinate; one more stands for what no figure explains
and measured runs have in common. Measured steps turn the prior over the coordinates, a sphere of
radius one, into a smaller ellipsoid around the most probable point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.engine.errors import Shortage
from app.engine.records import Floats

STEPS = 40
"""Gauss-Newton steps at most; a smooth problem of this size needs fewer than ten."""
NUDGE = 0.05
"""Standard deviations by which a figure is moved for its derivative."""
HUBER = 2.0
"""Deviations beyond which a run counts linearly: something unknown slowed it."""
CONVERGED = 1e-6
"""Change of the coordinates that ends the search. [standard deviations]"""
FIRST_DAMPING = 1e-3
MOST_DAMPING = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What is known after measuring, in prior standard deviations."""

    mean: Floats
    """Most probable coordinates: the figures, then the common offset. [-]"""
    covariance: Floats
    """Of the coordinates; the identity before anything was measured. [-]"""
    weights: Floats
    """How much each run counts: less than 1 where it stands out. [-]"""
    before: Floats
    """Logarithm of the predicted time of each run before. [-]"""
    after: Floats
    """Logarithm of the predicted time of each run at the most probable coordinates. [-]"""
    slopes_before: Floats
    """Change of each run's logarithm with each coordinate before, (runs, coordinates). [-]"""
    slopes_after: Floats
    """The same at the most probable coordinates. [-]"""


def laplace_posterior(
    predict: Callable[[Floats], Floats],
    measured: Floats,
    shared: Floats,
    own: Floats,
    least: Floats,
    most: Floats,
) -> Posterior:
    r"""Return the posterior of uncertain figures from measured times, in Laplace's approximation.

    .. math:: \ln t_r = f_r(z) + \sigma_r u + \tau_r e_r, \quad z, u \sim N(0, 1)

    .. math:: \hat x = \arg\min_x \tfrac12 |x|^2 + \sum_r \rho(e_r), \quad x = (z, u), \quad
       \rho(e) = \begin{cases} e^2 / 2 & |e| \le k \\ k (|e| - k / 2) & |e| > k \end{cases}

    .. math:: \Sigma = (I + J^T W T^{-1} J)^{-1}, \quad T = \operatorname{diag}(\tau_r^2), \quad
       W = \operatorname{diag}(\min(1, k / |e_r|))

    with J the derivatives of the predicted logarithms at the most probable point, and k two
    deviations: a run further off than that pulls no harder than one that is just there.

    Parameters
    ----------
    predict : callable
        From figures in standard deviations of their prior, (S, K), to the logarithm of the
        predicted time of every run, (R, S). [-]
    measured : Floats
        Logarithm of the measured time of every run, (R,). [-]
    shared : Floats
        Log-deviation of every run that measured runs and later estimates have in common,
        :math:`\sigma_r`, (R,). [-]
    own : Floats
        Log-deviation of every run that is its own: noise of the measurement and what the
        formulas miss in this run alone, :math:`\tau_r > 0`, (R,). [-]
    least, most : Floats
        Ends of what each figure may be at all, in standard deviations, (K,). [-]

    Returns
    -------
    posterior : Posterior
        Most probable point, covariance, and the runs before and after. [-]

    Raises
    ------
    Shortage
        Where there is no run, or a deviation of its own is not above 0.

    Notes
    -----
    Damped Gauss-Newton steps with weights; every step evaluates all moved figures of a run at once. The
    covariance is never wider than the prior, however little was measured, and holds for any
    number of figures: weights on samples of the prior would all but one vanish when 20 precise
    runs are given. It is exact where the logarithms depend linearly on the coordinates.

    References
    ----------
    .. [1] D. MacKay, "A practical Bayesian framework for backpropagation networks," Neural
       Computation, vol. 4, no. 3, pp. 448-472, 1992.
    .. [2] A. Gelman et al., "Bayesian data analysis," 3rd ed., CRC Press, 2013, chapter 4.
    .. [3] M. Kennedy and A. O'Hagan, "Bayesian calibration of computer models," J. R. Stat. Soc.
       B, vol. 63, no. 3, pp. 425-464, 2001.
    .. [4] P. Huber, "Robust estimation of a location parameter," Ann. Math. Stat., vol. 35, no. 1,
       pp. 73-101, 1964.

    Examples
    --------
    One figure with a tenth of spread, one run 20 % slower than predicted and measured to 1 %: nearly
    the whole gap goes into the figure.

    >>> found = laplace_posterior(
    ...     lambda figures: 0.1 * figures.T, np.array([0.2]), np.zeros(1), np.array([0.01]),
    ...     np.array([-5.0]), np.array([5.0]))
    >>> float(found.mean[0].round(3)), float(found.covariance[0, 0].round(4))
    (1.98, 0.0099)
    """
    runs, count = measured.size, least.size
    if runs == 0 or not np.all(own > 0):
        raise Shortage("a calibration needs runs whose own deviation is above 0, got {runs}", runs=runs)
    below, above = np.append(least, -np.inf), np.append(most, np.inf)

    def errors(points: Floats) -> Floats:
        predicted = predict(points[:, :count]) + np.outer(shared, points[:, count])
        return np.asarray((predicted - measured[:, np.newaxis]) / own[:, np.newaxis])

    def objective(error: Floats, point: Floats) -> float:
        size = np.abs(error)
        losses = np.where(size <= HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
        return float(np.sum(losses) + 0.5 * point @ point)

    moves = np.eye(count + 1) * NUDGE

    def around(point: Floats) -> tuple[Floats, Floats]:
        samples = np.clip(np.vstack([point, point + moves, point - moves]), below, above)
        return _slopes(errors(samples), samples)

    point = np.clip(np.zeros(count + 1), below, above)
    error, slopes = first_error, first_slopes = around(point)
    damping = FIRST_DAMPING
    for _ in range(STEPS):
        weighted = slopes.T * huber_weights(error)
        curvature = weighted @ slopes + np.eye(count + 1)
        gradient = weighted @ error + point
        reached = objective(error, point)
        trial, change = point, np.inf
        # A figure that its end holds back leaves the rest of the gap to the others.
        free = ~((point <= below) & (gradient > 0) | (point >= above) & (gradient < 0))
        reduced = curvature[np.ix_(free, free)]
        step = np.zeros(count + 1)
        while damping < MOST_DAMPING:
            step[free] = np.linalg.solve(reduced + damping * np.diag(np.diag(reduced)), -gradient[free])
            trial = np.clip(point + step, below, above)
            change = float(np.max(np.abs(trial - point)))
            if objective(errors(trial[np.newaxis, :])[:, 0], trial) <= reached:
                damping = max(damping * 0.1, 1e-12)
                break
            damping *= 10.0
        else:
            break
        if change > 0.0:
            point = trial
            error, slopes = around(point)
        if change < CONVERGED:
            break
    weights = huber_weights(error)
    covariance = np.linalg.inv((slopes.T * weights) @ slopes + np.eye(count + 1))
    return Posterior(
        mean=point,
        covariance=(covariance + covariance.T) / 2.0,
        weights=weights,
        before=first_error * own + measured,
        after=error * own + measured,
        slopes_before=first_slopes * own[:, np.newaxis],
        slopes_after=slopes * own[:, np.newaxis],
    )


def _slopes(errors: Floats, samples: Floats) -> tuple[Floats, Floats]:
    """Return the errors at a point and their central differences, from it and its moved copies."""
    size = (samples.shape[0] - 1) // 2
    forward, backward = slice(1, size + 1), slice(size + 1, None)
    moved = np.diagonal(samples[forward] - samples[backward])
    slopes = (errors[:, forward] - errors[:, backward]) / np.where(moved == 0, 1.0, moved)
    return errors[:, 0], np.asarray(slopes)


def posterior_transform(covariance: Floats) -> Floats:
    r"""Return the symmetric root of a covariance, which turns standard normals into posterior ones.

    .. math:: x = \hat x + \Sigma^{1/2} z

    Parameters
    ----------
    covariance : Floats
        Of the posterior, :math:`\Sigma`. [-]

    Returns
    -------
    root : Floats
        :math:`\Sigma^{1/2}`, symmetric. [-]

    Notes
    -----
    Of all roots the symmetric one leaves every coordinate closest to the normal it had, so that
    options of one comparison go on sharing what they have in common, and a figure that nothing was
    learnt of keeps its samples.

    References
    ----------
    .. [1] A. Kessy, A. Lewin, K. Strimmer, "Optimal whitening and decorrelation," Am. Stat.,
       vol. 72, no. 4, pp. 309-314, 2018.

    Examples
    --------
    >>> posterior_transform(np.diag([0.25, 1.0])).tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def effective_parameters(covariance: Floats) -> float:
    r"""Return how many coordinates the measured runs determine.

    .. math:: \gamma = \operatorname{tr}(I - \Sigma)

    Parameters
    ----------
    covariance : Floats
        Of the posterior in standard deviations of the prior, :math:`\Sigma`. [-]

    Returns
    -------
    count : float
        Between 0, nothing learnt, and the number of coordinates. [-]

    Notes
    -----
    Never more than the number of runs.

    References
    ----------
    .. [1] D. MacKay, "Bayesian interpolation," Neural Computation, vol. 4, no. 3, pp. 415-447,
       1992, section 4.

    Examples
    --------
    >>> effective_parameters(np.diag([0.01, 0.5, 1.0]))
    1.49
    """
    return float(np.trace(np.eye(covariance.shape[0]) - covariance))


def log_spread(slopes: Floats, covariance: Floats) -> Floats:
    r"""Return the log-deviation of predicted times that the coordinates' covariance leaves.

    .. math:: s_r = \sqrt{J_r \Sigma J_r^T}

    Parameters
    ----------
    slopes : Floats
        Change of each logarithm with each coordinate, :math:`J`, (R, D). [-]
    covariance : Floats
        Of the coordinates, :math:`\Sigma`. [-]

    Returns
    -------
    deviation : Floats
        Log-deviation of every run, (R,). [-]

    References
    ----------
    .. [1] JCGM 100:2008, "Guide to the expression of uncertainty in measurement," section 5.2.2.

    Examples
    --------
    >>> log_spread(np.array([[0.3, 0.4]]), np.eye(2)).tolist()
    [0.5]
    """
    variance = np.einsum("rd,de,re->r", slopes, covariance, slopes)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def huber_weights(errors: Floats) -> Floats:
    r"""Return the weights with which least squares becomes robust against runs that stand out.

    .. math:: w = \min(1, k / |e|)

    Parameters
    ----------
    errors : Floats
        Errors over their deviations, :math:`e`. [-]

    Returns
    -------
    weights : Floats
        1 within :math:`k = 2` deviations, less beyond. [-]

    References
    ----------
    .. [1] P. Huber, "Robust estimation of a location parameter," Ann. Math. Stat., vol. 35, no. 1,
       pp. 73-101, 1964.

    Examples
    --------
    >>> huber_weights(np.array([0.0, -2.0, 8.0])).tolist()
    [1.0, 1.0, 0.25]
    """
    return np.asarray(np.minimum(1.0, HUBER / np.maximum(np.abs(errors), HUBER)))


def birge_ratio(residuals: Floats, deviations: Floats, weights: Floats, parameters: float) -> float:
    r"""Return by how much measured values scatter more than their deviations say.

    .. math:: R = \sqrt{\frac{1}{n - \gamma} \sum_r \left(\frac{e_r}{\tau_r}\right)^2}

    Parameters
    ----------
    residuals : Floats
        What a fit left of each value, :math:`e`. [any]
    deviations : Floats
        Deviation that each value was taken to have, :math:`\tau`. [any]
    weights : Floats
        How much each value counts, :math:`w`. [-]
    parameters : float
        Values that the fit used up, :math:`\gamma`. [-]

    Returns
    -------
    ratio : float
        1 where they scatter as expected; the deviations times a ratio above 1 explain them. [-]

    Notes
    -----
    At least one degree of freedom is left, so that few values do not blow up the ratio.

    References
    ----------
    .. [1] R. Birge, "The calculation of errors by the method of least squares," Phys. Rev.,
       vol. 40, no. 2, pp. 207-227, 1932.

    Examples
    --------
    >>> birge_ratio(np.array([0.2, -0.2]), np.array([0.1, 0.1]), np.ones(2), parameters=0.0)
    2.0
    """
    free = max(residuals.size - parameters, 1.0)
    return float(np.sqrt(np.sum(weights * np.square(residuals / deviations)) / free))
