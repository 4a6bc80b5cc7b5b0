"""Checkpoints: how long one takes, how far apart they are best, and what they cost a run."""

from __future__ import annotations

import math

from app.compiled import formula


@formula
def checkpoint_time(checkpoint_bytes: float, storage_bandwidth: float) -> float:
    """Time to write one checkpoint while training waits.

    Parameters
    ----------
    checkpoint_bytes : float
        Weights and optimizer state, one copy. [B]
    storage_bandwidth : float
        Write bandwidth of the storage over all nodes that write. [B/s]

    Returns
    -------
    seconds : float
        Time of one checkpoint. [s]

    Notes
    -----
    An asynchronous checkpoint stops training only for the copy to host memory: pass that
    bandwidth then.

    References
    ----------
    .. [1] W. An et al., "Fire-Flyer AI-HPC: a cost-effective software-hardware co-design for deep
       learning," SC24, arXiv:2408.14158 (more than 10 GiB/s per node).

    Examples
    --------
    2.3 TB at 230 GB/s:

    >>> float(checkpoint_time(2.3e12, 230e9))
    10.0
    """
    return checkpoint_bytes / storage_bandwidth


@formula
def write_bandwidth(machines: float, machine_bandwidth: float, storage_bandwidth: float) -> float:
    r"""Bandwidth of a checkpoint that all machines write to one storage.

    .. math:: B = \min(N b, S)

    Parameters
    ----------
    machines : float
        Machines that write, :math:`N`. [-]
    machine_bandwidth : float
        What one of them can send, :math:`b`. [B/s]
    storage_bandwidth : float
        What the shared storage takes from all of them, :math:`S`. [B/s]

    Returns
    -------
    bandwidth : float
        The lower of the two. [B/s]

    References
    ----------
    .. [1] W. An et al., "Fire-Flyer AI-HPC: a cost-effective software-hardware co-design for deep
       learning," SC24, arXiv:2408.14158 (storage in a network of its own).

    Examples
    --------
    256 machines of 10 GB/s in front of a storage of 160 GB/s:

    >>> float(write_bandwidth(256, 10e9, 160e9))
    160000000000.0
    """
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
    r"""Time a run spends on checkpoints that it keeps.

    .. math:: t = T \delta / \tau

    Parameters
    ----------
    useful_time : float
        Run time without checkpoints and failures, :math:`T`. [s]
    checkpoint_time : float
        Time of one checkpoint, :math:`\delta`. [s]
    interval : float
        Useful time between checkpoints, :math:`\tau`; infinite for none. [s]

    Returns
    -------
    seconds : float
        Time of all checkpoints; a part of an interval costs that part. [s]

    References
    ----------
    .. [1] J. T. Daly, Future Gener. Comput. Syst., vol. 22, pp. 303-312, 2006.

    Examples
    --------
    >>> float(checkpoint_overhead(72_000.0, 300.0, 7200.0))
    3000.0
    """
    return useful_time / interval * checkpoint_time
