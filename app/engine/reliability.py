"""Failures of long runs: how often they come, and what they cost in time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.engine.checkpoints import checkpoint_overhead
from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message

_LONGEST_WAIT = 600.0
"""Mean times to failure per segment and restart beyond which a run is hopeless by any measure;
the exponential of it is still a float."""


def job_failure_rate(node_failure_rate: FloatLike, nodes: FloatLike, growth: FloatLike = 0.0) -> Floats:
    r"""Failures per second of a job that stops when any of its nodes fails.

    .. math:: \lambda = r\, N^{1 + g}

    Parameters
    ----------
    node_failure_rate : FloatLike
        Failures that interrupt a job on one node, :math:`r`. [1/s]
    nodes : FloatLike
        Nodes of the job, :math:`N`. [-]
    growth : FloatLike
        Power of the nodes by which the rate of one of them grows, :math:`g`; zero for nodes that
        fail independently. [-]

    Returns
    -------
    rate : Floats
        Failures of the job. [1/s]

    Notes
    -----
    Jobs of one cluster failed 21.0 times in 1,000 node-days on 8 GPUs and 23.7 times on 1,024
    (47.7 days and 7.9 h between failures) [1]_: a growth of 0.026. Between clusters the rate of one
    node differs by much more than with the size of the job.

    References
    ----------
    .. [1] A. Kokolis et al., "Revisiting reliability in large-scale machine learning research
       clusters," arXiv:2410.21680, 2024.

    Examples
    --------
    6.5 failures per 1,000 node-days are 0.83 a day on 128 nodes:

    >>> round(float(job_failure_rate(6.5 / 1000 / 86400, 128)) * 86400, 3)
    0.832

    A failure in 47.7 days on one node and 7.9 h between failures on 128:

    >>> round(24 / float(job_failure_rate(1 / 47.7 / 86400, 128, 0.0256) * 86400), 1)
    7.9
    """
    count = np.asarray(nodes, dtype=float)
    return np.asarray(np.asarray(node_failure_rate, dtype=float) * count ** (1.0 + np.asarray(growth)))


def mean_time_to_failure(failure_rate: FloatLike) -> Floats:
    """Mean time between the start of a job and its next failure.

    Parameters
    ----------
    failure_rate : FloatLike
        Failures of the job; zero for a job that never fails. [1/s]

    Returns
    -------
    seconds : Floats
        Mean time to failure (MTTF), infinite without failures. [s]

    Raises
    ------
    BadInput
        Where the rate is below zero.

    Notes
    -----
    For failures at a constant rate, so that it does not matter how long the job has run.

    References
    ----------
    .. [1] A. Kokolis et al., arXiv:2410.21680, 2024.

    Examples
    --------
    >>> round(float(mean_time_to_failure(0.832 / 86400)) / 3600, 1)
    28.8
    """
    rate = np.asarray(failure_rate, dtype=float)
    if not np.all(rate >= 0):
        raise BadInput(Message("failure rate must be 0 or more, got {rate}", {"rate": float(np.min(rate))}))
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(1.0 / rate)


def failure_overhead(
    useful_time: FloatLike,
    checkpoint_time: FloatLike,
    interval: FloatLike,
    mean_time_to_failure: FloatLike,
    restart_time: FloatLike,
) -> Floats:
    r"""Return the expected time a run loses to failures: work done again, and restarts.

    .. math::
        t = n M \left(e^{R/M} (e^{w/M} - 1) - w / M\right), \qquad w = (T + T \delta / \tau) / n

    with :math:`n = T / \tau` segments, one at least. To first order each failure costs
    :math:`R + w / 2`.

    Parameters
    ----------
    useful_time : FloatLike
        Run time without checkpoints and failures, :math:`T`. [s]
    checkpoint_time : FloatLike
        Time of one checkpoint, :math:`\delta`. [s]
    interval : FloatLike
        Useful time between checkpoints, :math:`\tau`; infinite for none. [s]
    mean_time_to_failure : FloatLike
        :math:`M`; infinite where nothing fails. [s]
    restart_time : FloatLike
        From a failure to the first step after it: notice, replace, load, :math:`R`. [s]

    Returns
    -------
    seconds : Floats
        Expected time lost, beside the checkpoints that are kept. [s]

    Raises
    ------
    BadInput
        Where the interval or the mean time to failure is not above zero.

    Notes
    -----
    Exact for failures at a constant rate that also strike checkpoints and restarts. Finite for
    any input: a segment and restart of more than 600 mean times to failure are taken as 600.

    References
    ----------
    .. [1] J. T. Daly, Future Gener. Comput. Syst., vol. 22, pp. 303-312, 2006 (the more complete
       cost function).

    Examples
    --------
    Ten days, a failure a day on average, 5 minutes a checkpoint, 20 minutes a restart: about 11
    failures of some 81 minutes:

    >>> round(float(failure_overhead(864_000.0, 300.0, 7200.0, 86400.0, 1200.0)) / 60)
    889
    """
    mttf = np.asarray(mean_time_to_failure, dtype=float)
    if not np.all(mttf > 0):
        shortest = float(np.min(mttf))
        raise BadInput(Message("MTTF must be above 0 s, got {seconds}", {"seconds": shortest}))
    useful = np.asarray(useful_time, dtype=float)
    segments = np.maximum(useful / interval, 1.0)
    segment = (useful + checkpoint_overhead(useful, checkpoint_time, interval)) / segments
    mttf = np.maximum(mttf, (segment + restart_time) / _LONGEST_WAIT)
    work, restart = segment / mttf, restart_time / mttf
    lost = np.expm1(restart) * np.expm1(work) + np.maximum(np.expm1(work) - work, 0.0)
    # The mean time and what is lost of it first: their product is small where the mean time is huge.
    return np.asarray(segments * (np.where(np.isfinite(mttf), mttf, 0.0) * lost))


def goodput(useful_time: FloatLike, total_time: FloatLike) -> Floats:
    """Share of a run's time that advances it.

    Parameters
    ----------
    useful_time : FloatLike
        Run time without checkpoints and failures. [s]
    total_time : FloatLike
        Run time with both. [s]

    Returns
    -------
    share : Floats
        Useful over total time, 0 to 1. [-]

    References
    ----------
    .. [1] A. Kokolis et al., arXiv:2410.21680, 2024 (effective training time ratio).

    Examples
    --------
    >>> float(goodput(90.0, 100.0))
    0.9
    """
    return np.asarray(np.asarray(useful_time, dtype=float) / total_time)


def restart_outlasts_failures(mean_time_to_failure: FloatLike, restart_time: FloatLike) -> NDArray[np.bool_]:
    """Say where the next failure is expected before the restart from the last one is done.

    Parameters
    ----------
    mean_time_to_failure : FloatLike
        Of the job. [s]
    restart_time : FloatLike
        From a failure to the first step after it. [s]

    Returns
    -------
    hopeless : array of bool
        True where the run mostly restarts, and its run time is a sum and not a plan. [-]

    References
    ----------
    .. [1] J. T. Daly, Future Gener. Comput. Syst., vol. 22, pp. 303-312, 2006.

    Examples
    --------
    >>> bool(restart_outlasts_failures(600.0, 1200.0))
    True
    """
    return np.asarray(np.asarray(mean_time_to_failure) < np.asarray(restart_time))
