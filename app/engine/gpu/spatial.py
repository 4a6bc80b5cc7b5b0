"""One sample spread over several GPUs: what the parts exchange."""

from __future__ import annotations

import numpy as np

from app.engine.operators import Kind, OperatorTable, Pointwise
from app.engine.records import Floats

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

    >>> from app.engine.operators import convolution_layer
    >>> cube = {"height": 128, "width": 128, "depth": 128}
    >>> layers = convolution_layer(name="c", channels_in=32, channels_out=32, **cube)
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
