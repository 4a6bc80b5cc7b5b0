"""Kernels of one micro-batch, and the host that hands them to the GPU one by one."""

from __future__ import annotations

from app.compiled import formula, inner
from app.engine.gpu.case import Case, Plan, Software
from app.engine.plans import Recompute

FULL = float(Recompute.FULL)


@inner
def kernel_count(case: Case, recompute: float, software: Software) -> float:
    """Kernels that one micro-batch launches on all its layers, forward and backward (Ivanov et al. 2021).

    An operator of a loop in time counts those of every step.
    """
    extra = case.recompute_kernels if recompute == FULL else 0.0
    layers = case.layers_launched * (software.kernels_per_layer + extra)
    return layers + case.convolutions_launched * software.kernels_per_convolution + case.own_kernels


@formula
def exposed_dispatch_time(kernels: float, interval: float, busy: float) -> float:
    r"""Time a GPU waits for a host that launches kernels one after the other.

    The host runs ahead of the GPU while kernels last longer than their launch. Where they do not,
    the host sets the pace, and the GPU idles for the rest:

    .. math:: t = \max(0, n \tau - t_{GPU})

    Parameters
    ----------
    kernels : float
        Kernels, :math:`n`. [-]
    interval : float
        Time the host takes from one launch to the next, :math:`\tau`; 0 where a recorded graph of
        kernels is launched as a whole. [s]
    busy : float
        Time the GPU needs for the same kernels, :math:`t_{GPU}`. [s]

    Returns
    -------
    seconds : float
        Idle time of the GPU. [s]

    References
    ----------
    .. [1] A. Paszke et al., "PyTorch: an imperative style, high-performance deep learning library,"
       NeurIPS, 2019, section 6.1 (asynchronous dataflow).

    Examples
    --------
    A thousand kernels at 6 us keep the host busy for 6 ms:

    >>> [round(float(exposed_dispatch_time(1000, 6e-6, busy)), 6) for busy in (2e-3, 6e-3, 9e-3)]
    [0.004, 0.0, 0.0]
    """
    return max(kernels * interval - busy, 0.0)


BUCKET_COPIES = 2.0
"""Copies of a tensor's gradient into the bucket that travels, and back."""


@inner
def update_kernels(case: Case, plan: Plan, software: Software) -> float:
    """Kernels of one weight update of an optimizer that takes the tensors of a stage one by one."""
    if plan.offload > 0.0 or software.optimizer_kernels == 0.0:
        return 0.0
    copies = BUCKET_COPIES if plan.data > 1.0 else 0.0
    return case.tensors / plan.pipeline * (software.optimizer_kernels + copies)
