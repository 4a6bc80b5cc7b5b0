"""Kernels of one micro-batch, and the host that hands them to the GPU one by one."""

from __future__ import annotations

import numpy as np

from app.engine.operators import OperatorTable
from app.engine.plans import Plans, Recompute
from app.engine.records import FloatLike, Floats, GpuKernels, GpuSoftware


def kernel_count(table: OperatorTable, plans: Plans, kernels: GpuKernels, software: GpuSoftware) -> Floats:
    """Kernels that one micro-batch launches on all its layers, forward and backward.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Recomputation of each plan. [-]
    kernels : GpuKernels
        Launches that full recomputation adds to a layer. [-]
    software : GpuSoftware
        Kernels of a transformer layer and of a convolution. [-]

    Returns
    -------
    count : array
        Kernels; an operator of a loop in time counts those of every step. [-]

    References
    ----------
    .. [1] A. Ivanov et al., "Data movement is all you need: a case study on optimizing
       transformers," MLSys, 2021, table of the kernels of a layer.

    Examples
    --------
    ``tests/engine/gpu/test_dispatch.py`` holds worked values.

    >>> from app.engine.operators import recurrent_layer
    >>> layer = recurrent_layer(name="cell", cell="lstm", inputs=8, hidden=8, steps=10)
    >>> [operator.name for operator in layer]
    ['cell_input', 'cell_state', 'cell_gates']
    """
    layers = float(np.sum(table.layer_launches * table.count))
    convolutions = float(np.sum(table.convolution_launches * table.count))
    own = float(np.sum(table.kernels * table.count))
    extra = np.where(plans.recompute == Recompute.FULL, kernels.recompute_kernels, 0.0)
    counted = layers * (software.kernels_per_layer + extra) + convolutions * software.kernels_per_convolution
    return np.asarray(counted + own)


def exposed_dispatch_time(kernels: FloatLike, interval: FloatLike, busy: FloatLike) -> Floats:
    r"""Time a GPU waits for a host that launches kernels one after the other.

    The host runs ahead of the GPU while kernels last longer than their launch. Where they do not,
    the host sets the pace, and the GPU idles for the rest:

    .. math:: t = \max(0, n \tau - t_{GPU})

    Parameters
    ----------
    kernels : float or array
        Kernels, :math:`n`. [-]
    interval : float or array
        Time the host takes from one launch to the next, :math:`\tau`; 0 where a recorded graph of
        kernels is launched as a whole. [s]
    busy : float or array
        Time the GPU needs for the same kernels, :math:`t_{GPU}`. [s]

    Returns
    -------
    seconds : array
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
    waiting = np.asarray(kernels) * interval - np.asarray(busy)
    return np.asarray(np.maximum(waiting, 0.0))


BUCKET_COPIES = 2.0
"""Copies of a tensor's gradient into the bucket that travels, and back."""


def update_kernels(table: OperatorTable, plans: Plans, software: GpuSoftware) -> Floats:
    """Kernels of one weight update of an optimizer that takes the tensors one by one.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Pipeline stages over which the tensors are spread, copies whose gradients travel, and
        optimizers on the host. [-]
    software : GpuSoftware
        Kernels per tensor. [-]

    Returns
    -------
    count : array
        Kernels on one device. [-]

    References
    ----------
    .. [1] D. Kingma and J. Ba, "Adam: a method for stochastic optimization," ICLR, 2015, algorithm 1.

    Examples
    --------
    ``tests/engine/gpu/test_dispatch.py`` holds worked values.

    >>> from app.engine.operators import dense_layer
    >>> dense_layer(name="classes", inputs=8, outputs=8).tensors
    2.0
    """
    trained = (table.weights > 0) & (table.sparse == 0) & (table.trained > 0)
    tensors = float(np.sum(np.where(trained, table.tensors * table.count, 0.0))) / plans.pipeline
    one_by_one = software.optimizer_kernels > 0
    copies = np.where(plans.data > 1, BUCKET_COPIES, 0.0) if one_by_one else 0.0
    launched = tensors * (software.optimizer_kernels + copies)
    return np.asarray(np.where(plans.offload > 0, 0.0, launched))
