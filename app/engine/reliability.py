"""Failures of long runs: how often they come, and what they cost in time."""

from __future__ import annotations

import math

from app.compiled import formula
from app.engine.checkpoints import checkpoint_overhead

LONGEST_WAIT = 600.0
"""Mean times to failure per segment and restart beyond which a run is hopeless by any measure;
the exponential of it is still a float."""


@formula
def job_failure_rate(node_failure_rate: float, nodes: float, growth: float = 0.0) -> float:
    r"""Failures per second of a job that stops when any of its nodes fails.

    .. math:: \lambda = r\, N^{1 + g}

    Parameters
    ----------
    node_failure_rate : float
        Failures that interrupt a job on one node, :math:`r`. [1/s]
    nodes : float
        Nodes of the job, :math:`N`. [-]
    growth : float
        Power of the nodes by which the rate of one of them grows, :math:`g`; zero for nodes that
        fail independently. [-]

    Returns
    -------
    rate : float
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
    return node_failure_rate * nodes ** (1.0 + growth)


@formula
def interruption_rate(machine_rate: float, machines: float, growth: float, taken_back: float) -> float:
    r"""Interruptions per second of a job whose machines fail or are taken back by their provider.

    .. math:: \lambda = (1 - s)\, r\, N^{1 + g} + s\, r N

    Parameters
    ----------
    machine_rate : float
        Interruptions of a job on one machine, :math:`r`. [1/s]
    machines : float
        Machines of the job, :math:`N`. [-]
    growth : float
        Power of the machines by which the failures of one of them grow, :math:`g`. [-]
    taken_back : float
        Share of the rate with which the provider takes machines back, which does not grow, :math:`s`. [-]

    Returns
    -------
    rate : float
        Interruptions of the job. [1/s]

    References
    ----------
    .. [1] A. Kokolis et al., arXiv:2410.21680, 2024 (failures); the provider's terms (what is taken back).

    Examples
    --------
    >>> round(interruption_rate(1e-6, 100.0, 0.0, 0.25) * 1e4, 9)
    1.0
    """
    failing = job_failure_rate(machine_rate * (1.0 - taken_back), machines, growth)
    return failing + job_failure_rate(machine_rate * taken_back, machines, 0.0)


@formula
def mean_time_to_failure(failure_rate: float) -> float:
    """Mean time between the start of a job and its next failure.

    Parameters
    ----------
    failure_rate : float
        Failures of the job; zero for a job that never fails. [1/s]

    Returns
    -------
    seconds : float
        Mean time to failure (MTTF), infinite without failures. [s]

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
    return 1.0 / failure_rate if failure_rate > 0.0 else math.inf


@formula
def failure_overhead(
    useful_time: float,
    checkpoint_time: float,
    interval: float,
    mean_time_to_failure: float,
    restart_time: float,
) -> float:
    r"""Return the expected time a run loses to failures: work done again, and restarts.

    .. math::
        t = n M \left(e^{R/M} (e^{w/M} - 1) - w / M\right), \qquad w = (T + T \delta / \tau) / n

    with :math:`n = T / \tau` segments, one at least. To first order each failure costs
    :math:`R + w / 2`.

    Parameters
    ----------
    useful_time : float
        Run time without checkpoints and failures, :math:`T`. [s]
    checkpoint_time : float
        Time of one checkpoint, :math:`\delta`. [s]
    interval : float
        Useful time between checkpoints, :math:`\tau`; infinite for none. [s]
    mean_time_to_failure : float
        :math:`M`; infinite where nothing fails. [s]
    restart_time : float
        From a failure to the first step after it: notice, replace, load, :math:`R`. [s]

    Returns
    -------
    seconds : float
        Expected time lost, beside the checkpoints that are kept. [s]

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
    useful, segments = useful_time, max(useful_time / interval, 1.0)
    segment = (useful + checkpoint_overhead(useful, checkpoint_time, interval)) / segments
    mttf = max(mean_time_to_failure, (segment + restart_time) / LONGEST_WAIT)
    if math.isinf(mttf):
        return 0.0
    work, restart = segment / mttf, restart_time / mttf
    again = math.expm1(work)
    lost = math.expm1(restart) * again + max(again - work, 0.0)
    # The mean time and what is lost of it first: their product is small where the mean time is huge.
    return segments * (mttf * lost)


@formula
def goodput(useful_time: float, total_time: float) -> float:
    """Share of a run's time that advances it.

    Parameters
    ----------
    useful_time : float
        Run time without checkpoints and failures. [s]
    total_time : float
        Run time with both. [s]

    Returns
    -------
    share : float
        Useful over total time, 0 to 1. [-]

    References
    ----------
    .. [1] A. Kokolis et al., arXiv:2410.21680, 2024 (effective training time ratio).

    Examples
    --------
    >>> float(goodput(90.0, 100.0))
    0.9
    """
    return useful_time / total_time
