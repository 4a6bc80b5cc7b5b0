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
