"""Failures of long runs and checkpoints: their rates, and the time they cost."""

from __future__ import annotations

import math

from app.engine.compiled import formula


@formula
def checkpoint_time(checkpoint_bytes: float, storage_bandwidth: float) -> float:
    """Time to write one checkpoint while training waits, of one copy of weights and optimizer state. [s]

    An asynchronous checkpoint stops training only for the copy to host memory: pass that bandwidth then.
    """
    return checkpoint_bytes / storage_bandwidth


@formula
def write_bandwidth(machines: float, machine_bandwidth: float, storage_bandwidth: float) -> float:
    """Bandwidth of a checkpoint that all machines write to one storage: the lower of both sides. [B/s]"""
    return min(machines * machine_bandwidth, storage_bandwidth)


@formula
def young_interval(checkpoint_time: float, mean_time_to_failure: float) -> float:
    r"""Young's optimal time between checkpoints.

    .. math:: \tau = \sqrt{2 \delta M}

    Parameters
    ----------
    checkpoint_time : float
        Time of one checkpoint, :math:`\delta`. [s]
    mean_time_to_failure : float
        :math:`M`; infinite where nothing fails. [s]

    Returns
    -------
    seconds : float
        Useful time between the end of a checkpoint and the start of the next. [s]

    Notes
    -----
    Valid for :math:`\delta \ll M`. Checkpoints that cost nothing have no best interval.

    References
    ----------
    .. [1] J. W. Young, "A first order approximation to the optimum checkpoint interval," Commun.
       ACM, vol. 17, no. 9, pp. 530-531, 1974.

    Examples
    --------
    Five minutes a checkpoint and one failure a day:

    >>> float(young_interval(300.0, 86400.0))
    7200.0
    """
    return math.sqrt(2.0 * checkpoint_time * mean_time_to_failure)


@formula
def daly_interval(checkpoint_time: float, mean_time_to_failure: float) -> float:
    r"""Daly's optimal time between checkpoints, for checkpoints that are not short.

    .. math::
        \tau = \sqrt{2 \delta M} \left(1 + \tfrac{1}{3} \sqrt{\delta / 2M}
        + \tfrac{1}{9}\, \delta / 2M\right) - \delta, \qquad \delta < 2M

    Parameters
    ----------
    checkpoint_time : float
        Time of one checkpoint, :math:`\delta`. [s]
    mean_time_to_failure : float
        :math:`M`; infinite where nothing fails. [s]

    Returns
    -------
    seconds : float
        Useful time between the end of a checkpoint and the start of the next. [s]

    Notes
    -----
    From :math:`\delta = 2M` on the interval is :math:`M`; the published formula has a step of 11 %
    there, which changes the run time by less than 0.1 %.

    References
    ----------
    .. [1] J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
       dumps," Future Gener. Comput. Syst., vol. 22, pp. 303-312, 2006 (perturbation
       solution; figure 3).

    Examples
    --------
    Five minutes a checkpoint and one failure a day give 117 minutes in the paper's figure 3:

    >>> round(float(daly_interval(300.0, 86400.0)) / 60)
    117
    """
    ratio = checkpoint_time / (2.0 * mean_time_to_failure)
    if ratio >= 1.0:
        return mean_time_to_failure
    series = 1.0 + math.sqrt(ratio) / 3.0 + ratio / 9.0
    return young_interval(checkpoint_time, mean_time_to_failure) * series - checkpoint_time


@formula
def checkpoint_overhead(useful_time: float, checkpoint_time: float, interval: float) -> float:
    """Time a run spends on checkpoints; a part of an interval costs that part. [s]"""
    return useful_time / interval * checkpoint_time


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
    """Mean time to the next failure of a job whose failures come at a constant rate. [s]"""
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
