"""Pipeline parallelism: slots, bubble and transfers between stages."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats


def bubble_slots(stages: FloatLike, chunks: FloatLike) -> Floats:
    """Slots a step loses while the pipeline fills and drains.

    Parameters
    ----------
    stages : float or array
        Pipeline stages. [-]
    chunks : float or array
        Model chunks per stage. [-]

    Returns
    -------
    slots : array
        Idle slots of every stage. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2.

    Examples
    --------
    >>> float(bubble_slots(8, 2))
    3.5
    """
    return np.asarray((np.asarray(stages, float) - 1.0) / chunks)


def stage_transfer_time(
    size: FloatLike, bandwidth: FloatLike, latency: FloatLike, chunks: FloatLike, directions: float
) -> Floats:
    r"""Time one micro-batch spends between stages that computation does not hide.

    .. math:: t = v \left( d \frac{S}{B} + \alpha \right)

    Parameters
    ----------
    size : float or array
        Activations of one micro-batch that one rank sends, :math:`S`. [B]
    bandwidth : float or array
        Bandwidth of one rank, :math:`B`. [B/s]
    latency : float or array
        Start-up of one message, :math:`\\alpha`. [s]
    chunks : float or array
        Model chunks per stage, :math:`v`. [-]
    directions : float
        2 where sending and receiving wait for each other, else 1, :math:`d`. [-]

    Returns
    -------
    seconds : array
        Time added to every slot. [s]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 4.1 (scatter and gather).

    Examples
    --------
    >>> round(float(stage_transfer_time(50e6, 24e9, 30e-6, 1, 2.0)) * 1e3, 3)
    4.197
    """
    return np.asarray(np.asarray(chunks) * (directions * np.asarray(size) / bandwidth + latency))


def peak_bound_step_time(
    flop: FloatLike, peak: FloatLike, devices: FloatLike, stages: FloatLike, passes: FloatLike
) -> Floats:
    r"""Time of one step whose products run at the peak of all devices and wait for the pipeline alone.

    .. math:: T^\star = \frac{F}{P N} \left(1 + \frac{p - 1}{M}\right)

    Parameters
    ----------
    flop : FloatLike
        Products of one step, :math:`F`. [FLOP]
    peak : FloatLike
        Peak of one device, :math:`P`. [FLOP/s]
    devices : FloatLike
        Devices, :math:`N`. [-]
    stages : FloatLike
        Pipeline stages, :math:`p`. [-]
    passes : FloatLike
        Micro-batches of a step times the chunks of a stage, :math:`M`. [-]

    Returns
    -------
    seconds : Floats
        Least time of the step. [s]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2.

    Examples
    --------
    1 PFLOP on 4 devices of 250 TFLOP/s, of which the fill and drain of four stages take three slots of 12:

    >>> float(peak_bound_step_time(1e15, 250e12, 4, 4, 12))
    1.25
    """
    ideal = np.asarray(flop, dtype=float) / (np.asarray(peak, dtype=float) * devices)
    return np.asarray(ideal * (1.0 + bubble_slots(stages, 1.0) / passes))
