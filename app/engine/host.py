"""The host that reads, prepares and sends samples to accelerators."""

from __future__ import annotations

import math

from app.engine.compiled import formula


@formula
def input_sharers(tensor: float, pipeline: float, data: float, devices: float) -> float:
    """Data-parallel ranks that the processors of one machine feed; at least one.

    Tensor and pipeline ranks share the samples of their copy.

    >>> float(input_sharers(4.0, 1.0, 16.0, 8.0))
    2.0
    """
    return min(data, max(math.floor(devices / (tensor * pipeline)), 1.0))


@formula
def host_wait_time(micro_batch: float, host_time_per_sample: float, device_time: float) -> float:
    r"""Time for which a device waits for its host in one micro-batch.

    Host and device work side by side, the host one micro-batch ahead; the slower of both sets the pace:

    .. math:: t_{wait} = \max(0, b h - t)

    Parameters
    ----------
    micro_batch : float
        Samples of one micro-batch, :math:`b`. [-]
    host_time_per_sample : float
        Time in which the host prepares a sample or runs its own share of it, :math:`h`. [s]
    device_time : float
        Time of the micro-batch on the device, :math:`t`. [s]

    Returns
    -------
    seconds : float
        Nothing where the device is slower. [s]

    References
    ----------
    .. [1] J. Mohan et al., "Analyzing and mitigating data stalls in DNN training," VLDB 14(5), 2021.

    Examples
    --------
    A detector whose host needs 40 ms an image and whose device needs 160 ms for twelve:

    >>> round(float(host_wait_time(12.0, 0.040, 0.160)), 3)
    0.32
    """
    return max(micro_batch * host_time_per_sample - device_time, 0.0)
