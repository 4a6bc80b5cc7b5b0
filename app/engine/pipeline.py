"""Pipeline parallelism: slots, bubble and transfers between stages."""

from __future__ import annotations

from app.compiled import formula


@formula
def bubble_slots(stages: float, chunks: float) -> float:
    """Slots a step loses while the pipeline fills and drains.

    Parameters
    ----------
    stages : float
        Pipeline stages. [-]
    chunks : float
        Model chunks per stage. [-]

    Returns
    -------
    slots : float
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
    return (stages - 1.0) / chunks


@formula
def stage_transfer_time(
    size: float, bandwidth: float, latency: float, chunks: float, directions: float
) -> float:
    r"""Time one micro-batch spends between stages that computation does not hide.

    .. math:: t = v \left( d \frac{S}{B} + \alpha \right)

    Parameters
    ----------
    size : float
        Activations of one micro-batch that one rank sends, :math:`S`. [B]
    bandwidth : float
        Bandwidth of one rank, :math:`B`. [B/s]
    latency : float
        Start-up of one message, :math:`\\alpha`. [s]
    chunks : float
        Model chunks per stage, :math:`v`. [-]
    directions : float
        2 where sending and receiving wait for each other, else 1, :math:`d`. [-]

    Returns
    -------
    seconds : float
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
    return chunks * (directions * size / bandwidth + latency)


@formula
def peak_bound_step_time(flop: float, peak: float, devices: float, stages: float, passes: float) -> float:
    r"""Time of one step whose products run at the peak of all devices and wait for the pipeline alone.

    .. math:: T^\star = \frac{F}{P N} \left(1 + \frac{p - 1}{M}\right)

    Parameters
    ----------
    flop : float
        Products of one step, :math:`F`. [FLOP]
    peak : float
        Peak of one device, :math:`P`. [FLOP/s]
    devices : float
        Devices, :math:`N`. [-]
    stages : float
        Pipeline stages, :math:`p`. [-]
    passes : float
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
    return flop / (peak * devices) * (1.0 + bubble_slots(stages, 1.0) / passes)
