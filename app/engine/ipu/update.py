"""What follows the last micro-batch: all-reduce, optimizer, return to the host."""

from __future__ import annotations

import numpy as np

from app.engine.plans import Plans
from app.engine.records import FloatLike, Floats, IpuChip, IpuSoftware


def allreduce_time(message: Floats, ranks: Floats, bandwidth: FloatLike) -> Floats:
    r"""Return the time of an all-reduce over links of equal bandwidth, without start-up.

    .. math:: t = 2 \frac{n - 1}{n} \frac{S}{B}

    Parameters
    ----------
    message : ndarray
        Size reduced on every rank, S. [B]
    ranks : ndarray
        Ranks, n. [-]
    bandwidth : float or ndarray
        Bandwidth of each, as achieved, B. [B/s]

    Returns
    -------
    seconds : ndarray
        Time until every rank holds the sum. [s]

    References
    ----------
    .. [1] P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
       workstations," J. Parallel Distrib. Comput. 69(2), 2009.

    Examples
    --------
    >>> round(float(allreduce_time(51e6, np.array(16.0), 22e9)) * 1e3, 2)
    4.35
    """
    return np.asarray(2.0 * (ranks - 1.0) / ranks * message / bandwidth)


def replicas_in_pod(plans: Plans, chip: IpuChip) -> Floats:
    """Return the replicas whose all-reduce stays on IPU-Links.

    Parameters
    ----------
    plans : Plans
        How the model is laid over devices. [-]
    chip : IpuChip
        The IPU, with the size of a pod. [-]

    Returns
    -------
    replicas : ndarray
        At least one, at most the data-parallel degree. [-]

    References
    ----------
    .. [1] Graphcore, "IPU-POD128 datasheet" (GW-Links join racks of 64 IPUs).

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW
    >>> replicas_in_pod(Plans.of(pipeline=4, data=[4, 64]), BOW).tolist()
    [4.0, 16.0]
    """
    inside = np.floor(chip.pod_size / (plans.tensor * plans.pipeline))
    return np.asarray(np.minimum(plans.data, np.maximum(inside, 1.0)))


def gradient_allreduce_time(plans: Plans, message: Floats, chip: IpuChip) -> Floats:
    r"""Return the time of reducing gradients over all replicas.

    Inside a pod over IPU-Links; between pods each replica reduces its share over the GW-Links.

    .. math:: t = 2 \frac{n-1}{n} \frac{S}{B} + 2 \frac{R-1}{R} \frac{S / n}{B_{gw}}

    Parameters
    ----------
    plans : Plans
        How the model is laid over devices. [-]
    message : ndarray
        Gradients of one IPU, S. [B]
    chip : IpuChip
        The IPU and its links. [-]

    Returns
    -------
    seconds : ndarray
        With n replicas inside a pod and R groups of them. [s]

    Notes
    -----
    No measured run crosses GW-Links; one flat ring over them would take n times as long and is the
    pessimistic edge.

    References
    ----------
    .. [1] M. Cho et al., "BlueConnect," MLSys, 2019 (hierarchical all-reduce).
    .. [2] Graphcore, GCL user guide.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW
    >>> plans = Plans.of(data=[16, 256])
    >>> [round(float(t) * 1e3, 2) for t in gradient_allreduce_time(plans, 51e6, BOW)]
    [4.35, 4.76]
    """
    inside = replicas_in_pod(plans, chip)
    groups = plans.data / inside
    return np.asarray(
        allreduce_time(message, inside, chip.allreduce_bandwidth)
        + allreduce_time(message / inside, groups, chip.gateway_bandwidth)
    )


def optimizer_streaming_time(plans: Plans, weights: Floats, state_bytes: float, chip: IpuChip) -> Floats:
    r"""Return the time of reading and writing optimizer state that lies in streaming memory.

    .. math:: t = \frac{2 o P}{rts \, B}

    Parameters
    ----------
    plans : Plans
        How the model is laid over devices. [-]
    weights : ndarray
        Parameters of the heaviest stage, P. [-]
    state_bytes : float
        Optimizer state per parameter, o. [B]
    chip : IpuChip
        The IPU, with the bandwidth B to its streaming memory. [-]

    Returns
    -------
    seconds : ndarray
        0 where the state stays on the IPU. [s]

    References
    ----------
    .. [1] Graphcore, PopART tensor_locations.rst (off-chip optimizer state, replicated sharding).

    Examples
    --------
    88 million parameters without sharding:

    >>> from app.engine.ipu.examples import BOW
    >>> round(float(optimizer_streaming_time(Plans.of(offload=1), np.array(88e6), 8.0, BOW)), 3)
    0.282
    """
    streamed = (plans.offload > 0) | (plans.phases > 1)
    seconds = 2.0 * state_bytes * weights / plans.rts_optimizer / chip.streaming_bandwidth
    return np.asarray(np.where(streamed, seconds, 0.0))


def fixed_update_time(chip: IpuChip, software: IpuSoftware) -> Floats:
    """Return the part of an update that depends on no plan: returns to the host and overhead.

    Parameters
    ----------
    chip : IpuChip
        The IPU: time of one return and of one update. [-]
    software : IpuSoftware
        The software stack: returns per update. [-]

    Returns
    -------
    seconds : ndarray
        Fixed time of one update. [s]

    References
    ----------
    .. [1] Fitted on data/validation/measured.csv.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> round(float(fixed_update_time(BOW, POPART)), 4)
    0.1063
    """
    return np.asarray(software.host_returns_per_update * chip.host_return + chip.update_overhead)
