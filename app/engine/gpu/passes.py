"""Memory passes of pointwise operators on a GPU with well-fused kernels.

One pass reads or writes every element once. Layer norm reads and writes forward; backward it reads
input and gradient, writes the gradient and passes twice more for the scale's and the shift's sums.
Bias, dropout and residual form one kernel forward (two reads, a write and the mask) and several
backward. Batch norm reads twice and writes forward, with its activation fused in; backward it
passes five times. Without a norm, bias and activation are one kernel that reads and writes;
backward the gradient passes the activation (two reads, a write) and is summed for the bias (a
read). A copy reads and writes, its gradient as well; shifted scores of relative positions are read,
added to those of the content and written. Counts of fused kernels after Ivanov et al. 2021, "Data
movement is all you need"; what a software stack leaves unfused is its elementwise factor.
"""

from __future__ import annotations

import numpy as np

from app.engine.operators import Pointwise
from app.engine.records import FloatLike, Floats

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

EMBEDDING_PASSES = (2.0, 3.0)
"""Gather and write forward; read, add and write the touched rows backward."""

SOFTMAX_PASSES = (4.5, 5.5)
"""Mask, softmax and dropout over the attention matrix where attention is not fused."""


def pointwise_passes(pointwise: Floats, trained: FloatLike = 1.0) -> Floats:
    """Memory passes of pointwise operators, forward and backward.

    Parameters
    ----------
    pointwise : array
        :class:`Pointwise` of each operator, (O,). [-]
    trained : float or array
        0 where weights are frozen, whose gradients are not summed; else 1. [-]

    Returns
    -------
    passes : array
        Forward and backward passes, (2, O). [-]

    References
    ----------
    .. [1] A. Ivanov et al., "Data movement is all you need: a case study on optimizing
       transformers," MLSys, 2021.

    Examples
    --------
    >>> pointwise_passes(np.array([Pointwise.LAYER_NORM, Pointwise.GELU])).tolist()
    [[2.0, 2.0], [5.0, 4.0]]
    >>> pointwise_passes(np.array([Pointwise.LAYER_NORM]), trained=0.0).tolist()
    [[2.0], [3.0]]
    """
    table = np.array([FORWARD_BACKWARD_PASSES[kind] for kind in Pointwise]).T
    frozen = np.array([WEIGHT_GRADIENT_PASSES.get(kind, 0.0) for kind in Pointwise])
    kinds = np.asarray(pointwise, dtype=int)
    forward, backward = table[:, kinds]
    return np.stack([forward, backward - frozen[kinds] * (1.0 - np.asarray(trained))])
