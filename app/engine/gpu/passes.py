"""Memory passes of pointwise operators, and halos of samples spread over several GPUs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.engine.operators.table import Kind, OperatorTable, Pointwise
from app.engine.records import FloatLike, Floats


class Passes(NamedTuple):
    """Memory passes over the elements of operators, by direction. [-]"""

    forward: FloatLike
    backward: FloatLike


FORWARD_BACKWARD_PASSES = {
    Pointwise.NONE: (0.0, 0.0),
    Pointwise.LAYER_NORM: (2.0, 5.0),
    Pointwise.BATCH_NORM: (3.0, 5.0),
    Pointwise.GROUP_NORM: (3.0, 5.0),
    Pointwise.RELU: (0.0, 0.0),
    Pointwise.SWISH: (1.0, 2.0),
    Pointwise.GELU: (2.0, 4.0),
    Pointwise.GATED: (3.0, 5.6),
    Pointwise.RESIDUAL: (3.5, 6.5),
    Pointwise.ADD: (3.0, 0.0),
    Pointwise.MAX_POOL: (1.25, 1.25),
    Pointwise.AVERAGE_POOL: (1.0, 1.0),
    Pointwise.SQUEEZE_EXCITE: (3.0, 5.0),
    Pointwise.ROTARY: (4.0, 4.0),
    Pointwise.BIAS: (2.0, 1.0),
    Pointwise.HEADS: (2.0, 11.0),
    Pointwise.CROSS_ENTROPY: (0.0, 0.0),
    Pointwise.ELEMENTWISE: (2.0, 3.0),
    Pointwise.CTC_LOSS: (2.0, 2.0),
    Pointwise.BIASED_RELU: (2.0, 4.0),
    Pointwise.COPY: (2.0, 2.0),
    Pointwise.SHIFT: (3.0, 2.0),
    Pointwise.ADAPTER_SUM: (3.0, 3.0),
    Pointwise.DEQUANTISE: (0.0, 0.0),
}
"""Passes over the elements of an operator, forward and backward."""

WEIGHT_GRADIENT_PASSES = {
    Pointwise.LAYER_NORM: 2.0,
    Pointwise.GELU: 1.0,
    Pointwise.BIASED_RELU: 1.0,
    Pointwise.BIAS: 1.0,
}
"""Those of the backward passes that only sum gradients of scales, shifts and biases."""

EMBEDDING_PASSES = Passes(forward=2.0, backward=3.0)
"""Gather and write forward; read, add and write the touched rows backward."""
SOFTMAX_FORWARD, SOFTMAX_BACKWARD = 4.5, 5.5
"""Passes of mask, softmax and dropout over the attention matrix where attention is not fused."""


def pointwise_passes(pointwise: Floats, trained: FloatLike = 1.0) -> Passes:
    """Memory passes of pointwise operators, (O,) each (Ivanov et al. 2021).

    The gradients of frozen weights, for which ``trained`` is 0, are not summed:

    >>> pointwise_passes(np.array([Pointwise.LAYER_NORM, Pointwise.GELU])).backward.tolist()
    [5.0, 4.0]
    >>> pointwise_passes(np.array([Pointwise.LAYER_NORM]), trained=0.0).backward.tolist()
    [3.0]
    """
    table = np.array([FORWARD_BACKWARD_PASSES[kind] for kind in Pointwise]).T
    frozen = np.array([WEIGHT_GRADIENT_PASSES.get(kind, 0.0) for kind in Pointwise])
    kinds = np.asarray(pointwise, dtype=int)
    forward, backward = table[:, kinds]
    return Passes(forward=forward, backward=backward - frozen[kinds] * (1.0 - np.asarray(trained)))


STATISTICS_BYTES = 8.0
"""Sum and sum of squares of one channel in single precision."""
NORMS = (Pointwise.BATCH_NORM, Pointwise.GROUP_NORM)


def halo_elements(table: OperatorTable) -> Floats:
    r"""Elements of a convolution's input that a part of a sample needs from one neighbour.

    A sample is cut into slabs along one axis. A kernel of width :math:`w` reaches :math:`(w - 1)/2`
    slices into the neighbouring slab, each slice a face of the image or the volume:

    .. math:: H = \frac{w - 1}{2} C P^{(d - 1)/d}

    Parameters
    ----------
    table : OperatorTable
        The model; only convolutions wider than one position need neighbours. [-]

    Returns
    -------
    elements : array
        Elements per operator, one repeat and one direction, (O,). [-]

    Notes
    -----
    For images and volumes about as long along every axis, with :math:`C` channels of :math:`P` positions in
    :math:`d` dimensions.

    References
    ----------
    .. [1] N. Dryden et al., "Improving strong-scaling of CNN training by exploiting finer-grained
       parallelism," IPDPS, 2019, section 3.

    Examples
    --------
    A 3 × 3 × 3 convolution over 32 channels of a cube of 128 needs one face of 128 × 128 from either side:

    >>> from app.engine.operators.layers import convolution_layer
    >>> layers = convolution_layer("c", 32, 32, (128, 128, 128))
    >>> table = OperatorTable.of(layers, depth=1, hidden=1, tokens=1)
    >>> int(halo_elements(table)[0]) == 32 * 128 * 128
    True
    """
    spatial = np.isin(table.kind, (Kind.CONVOLUTION, Kind.DEPTHWISE)) & (table.kernel_width > 1)
    channels = np.where(spatial, table.inner / table.kernel_area * table.batch, 1.0)
    positions = np.where(spatial, table.input_elements / channels, 1.0)
    width = table.kernel_width
    dimensions = np.where(table.kernel_area > width**2, 3.0, np.where(table.kernel_area > width, 2.0, 1.0))
    face = positions ** ((dimensions - 1.0) / dimensions)
    return np.asarray(np.where(spatial, np.round((width - 1.0) / 2.0 * channels * face, 6), 0.0))
