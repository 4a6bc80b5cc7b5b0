"""Hosts that set the pace of their GPUs: a process beside each device, processors that feed a machine."""

from __future__ import annotations

import numpy as np

from app.engine.plans import Plans
from app.engine.records import FloatLike, Floats, Machine


def input_sharers(plans: Plans, machine: Machine) -> Floats:
    """Data-parallel ranks that the processors of one machine feed.

    Parameters
    ----------
    plans : Plans
        All three degrees count: tensor and pipeline ranks share the samples of their copy. [-]
    machine : Machine
        Devices of one machine. [-]

    Returns
    -------
    ranks : array
        At least one. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 3 (layout of the three degrees).

    Examples
    --------
    >>> from app.engine.records import Intra
    >>> dgx = Machine("m", 8, Intra.NVSWITCH, np.array([]), np.array([]), 232e9, 3.4e-6)
    >>> input_sharers(Plans.of(tensor=4.0, data=16.0), dgx).tolist()
    2.0
    """
    copies = np.maximum(np.floor(machine.devices / (plans.tensor * plans.pipeline)), 1.0)
    return np.asarray(np.minimum(plans.data, copies))


def host_wait_time(micro_batch: FloatLike, host_time_per_sample: FloatLike, device_time: FloatLike) -> Floats:
    r"""Time for which a device waits for its host in one micro-batch.

    Host and device work side by side, the host one micro-batch ahead; the slower of both sets the pace:

    .. math:: t_{wait} = \max(0, b h - t)

    Parameters
    ----------
    micro_batch : float or array
        Samples of one micro-batch, :math:`b`. [-]
    host_time_per_sample : float or array
        Time in which the host prepares a sample or runs its own share of it, :math:`h`. [s]
    device_time : float or array
        Time of the micro-batch on the device, :math:`t`. [s]

    Returns
    -------
    seconds : array
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
    return np.asarray(np.maximum(np.asarray(micro_batch) * host_time_per_sample - device_time, 0.0))
