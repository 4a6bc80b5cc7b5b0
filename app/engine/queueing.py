"""Queues in closed form: offered load, Erlang's formulas, waits with equal servers.

They hold for one kind of job on equal servers, each job on one of them; the simulation in
:mod:`app.features.tenancy` covers jobs of several sizes and is checked against these.
"""

from __future__ import annotations

import numpy as np

from app.engine.errors import OutOfRange
from app.engine.records import FloatLike, Floats

MOST_SERVERS = 100_000
"""Servers beyond which the recursion is not followed."""


def offered_load(arrival_rate: FloatLike, service_time: FloatLike) -> Floats:
    """Servers that arriving work keeps busy on average, in erlang."""
    return np.asarray(np.multiply(arrival_rate, service_time), dtype=float)


def utilisation(load: FloatLike, servers: FloatLike) -> Floats:
    """Share of busy servers; at 1 and above the queue grows without limit."""
    return np.asarray(np.divide(load, servers), dtype=float)


def blocking_probability(load: FloatLike, servers: FloatLike) -> Floats:
    r"""Probability that all servers are busy where nobody waits (Erlang B).

    .. math:: B(0) = 1, \quad B(c) = \frac{a B(c - 1)}{c + a B(c - 1)}

    Parameters
    ----------
    load : FloatLike
        Offered load, :math:`a`, 0 or more. [-]
    servers : FloatLike
        Equal servers, :math:`c`, 0 to 100,000; whole. [-]

    Returns
    -------
    probability : Floats
        Share of arrivals that find all servers busy. [-]

    Raises
    ------
    OutOfRange
        Where the load is below zero, or the servers are below zero, not whole or too many.

    References
    ----------
    .. [1] A. K. Erlang, "Solution of some problems in the theory of probabilities of significance in
       automatic telephone exchanges," Elektroteknikeren, vol. 13, 1917.

    Examples
    --------
    >>> round(float(blocking_probability(2.0, 3)), 5)
    0.21053
    """
    offered, count = np.broadcast_arrays(np.asarray(load, dtype=float), np.asarray(servers, dtype=float))
    if not np.all(offered >= 0):
        raise OutOfRange("the offered load must be 0 or more, got {load}", load=float(offered.min()))
    if not np.all((count >= 0) & (count <= MOST_SERVERS) & (count == np.floor(count))):
        raise OutOfRange("servers must be a whole number from 0 to {most}", most=MOST_SERVERS)
    blocked = np.ones_like(offered)
    for server in range(1, int(count.max(initial=0)) + 1):
        busy = offered * blocked
        blocked = np.where(server <= count, busy / (server + busy), blocked)
    return blocked


def waiting_probability(load: FloatLike, servers: FloatLike) -> Floats:
    r"""Probability that a job has to wait (Erlang C), for Poisson arrivals and exponential times.

    .. math:: C = \frac{B}{1 - \rho (1 - B)}

    Parameters
    ----------
    load : FloatLike
        Offered load, :math:`a`. [-]
    servers : FloatLike
        Equal servers, :math:`c`, 1 or more. [-]

    Returns
    -------
    probability : Floats
        Share of jobs that wait; 1 where the load reaches the servers. [-]

    References
    ----------
    .. [1] L. Kleinrock, "Queueing systems, volume 1: theory," Wiley, 1975, section 3.5.

    Examples
    --------
    Two erlang on three servers, the classical 4/9:

    >>> round(float(waiting_probability(2.0, 3)), 6)
    0.444444
    """
    share = utilisation(load, servers)
    blocked = blocking_probability(load, servers)
    steady = share < 1.0
    return np.where(steady, blocked / (1.0 - np.where(steady, share, 0.0) * (1.0 - blocked)), 1.0)


def mean_wait(
    arrival_rate: FloatLike, service_time: FloatLike, servers: FloatLike, squared_variation: FloatLike = 1.0
) -> Floats:
    r"""Mean wait before a server is free: exact for M/M/c, the Allen–Cunneen estimate for M/G/c.

    .. math:: W = \frac{C s}{c - a} \cdot \frac{1 + v}{2}

    Parameters
    ----------
    arrival_rate : FloatLike
        Poisson arrivals. [1/s]
    service_time : FloatLike
        Mean service time, :math:`s`. [s]
    servers : FloatLike
        Equal servers, :math:`c`. [-]
    squared_variation : FloatLike
        Variance of the service time over its squared mean, :math:`v`: 1 for exponential times, 0 for
        equal ones. [-]

    Returns
    -------
    wait : Floats
        Mean wait of all jobs; infinite where the load reaches the servers. [s]

    References
    ----------
    .. [1] A. O. Allen, "Probability, statistics, and queueing theory," 2nd ed., Academic Press, 1990.

    Examples
    --------
    Two patients an hour, 20 minutes each, two doctors: an hour over 24, here in seconds.

    >>> round(float(mean_wait(2 / 3600, 1200, 2)), 6)
    150.0
    """
    load = offered_load(arrival_rate, service_time)
    idle = np.asarray(servers, dtype=float) - load
    steady = idle > 0
    scale = (1.0 + np.asarray(squared_variation, dtype=float)) / 2.0
    waited = waiting_probability(load, servers) * np.asarray(service_time, dtype=float) * scale
    return np.where(steady, waited / np.where(steady, idle, 1.0), np.inf)


def wait_percentile(
    arrival_rate: FloatLike, service_time: FloatLike, servers: FloatLike, share: FloatLike
) -> Floats:
    r"""Wait that a share of the jobs does not exceed, first come first served (M/M/c).

    .. math:: P(W > t) = C e^{-(c - a) t / s}

    Parameters
    ----------
    arrival_rate : FloatLike
        Poisson arrivals. [1/s]
    service_time : FloatLike
        Mean of exponential service times, :math:`s`. [s]
    servers : FloatLike
        Equal servers, :math:`c`. [-]
    share : FloatLike
        Share of the jobs, from 0 to below 1. [-]

    Returns
    -------
    wait : Floats
        0 where that share need not wait; infinite where the load reaches the servers. [s]

    References
    ----------
    .. [1] L. Kleinrock, "Queueing systems, volume 1: theory," Wiley, 1975, section 5.

    Examples
    --------
    One server, half busy: nine jobs in ten start within ln(0.5 / 0.1) / 0.5 service times.

    >>> round(float(wait_percentile(0.5, 1.0, 1, 0.9)), 4)
    3.2189
    """
    load = offered_load(arrival_rate, service_time)
    idle = np.asarray(servers, dtype=float) - load
    steady = idle > 0
    waiting = waiting_probability(load, servers)
    ratio = np.maximum(waiting / (1.0 - np.asarray(share, dtype=float)), 1.0)
    waited = np.log(ratio) * np.asarray(service_time, dtype=float) / np.where(steady, idle, 1.0)
    return np.where(steady, waited, np.inf)
