"""One sample spread over several GPUs: what the parts exchange."""

from __future__ import annotations

import numpy as np

from app.engine.collectives import intra_node_allreduce_time
from app.engine.operators import Kind, OperatorTable, Pointwise
from app.engine.plans import Plans
from app.engine.records import Floats, Machine

STATISTICS_BYTES = 8.0
"""Sum and sum of squares of one channel in single precision."""

EDGE_KERNELS = 10.0
"""Kernels of one cut convolution beside those of a whole one: halos are packed and unpacked forward
and backward, and two thin convolutions compute the edges in each of the three products."""

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


def split_sample_time(
    table: OperatorTable, plans: Plans, machine: Machine, size: float, kernel_overhead: float
) -> Floats:
    r"""Time that the parts of a sample spend on each other in one micro-batch.

    A micro-batch below one sample is a share of it: a slab of the image or volume. Every wide convolution
    fetches a halo forward and one backward, both neighbours at once, and every norm over positions sums its
    statistics over all parts, forward and backward. An exchange starts like a small all-reduce, and a
    cut convolution launches more kernels:

    .. math:: t = \sum_{conv} \left(2 t_{ar}(1) + \frac{2 H b}{B} + 10 t_k\right) + 2 \sum_{norm} t_{ar}(8 C)

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        The micro-batch says how many parts there are. [-]
    machine : Machine
        The parts lie in one machine; its links carry the exchange. [-]
    size : float
        Bytes of one element, :math:`b`. [B]
    kernel_overhead : float
        Launch and drain of one kernel, :math:`t_k`. [s]

    Returns
    -------
    seconds : array
        Nothing where a micro-batch is at least one sample. [s]

    References
    ----------
    .. [1] N. Dryden et al., "Improving strong-scaling of CNN training by exploiting finer-grained
       parallelism," IPDPS, 2019.
    .. [2] NVIDIA, MLPerf training 2.0, unet3d: spatial groups of eight GPUs; NVIDIA apex,
       contrib.bottleneck: halos exchanged while the inner part is computed.

    Examples
    --------
    ``tests/engine/gpu/test_spatial.py`` holds worked values.

    >>> STATISTICS_BYTES
    8.0
    """
    parts = np.maximum(1.0 / plans.micro_batch, 1.0)
    if np.all(parts == 1.0):
        return np.zeros(np.shape(parts))
    halo = halo_elements(table)
    wide = halo > 0
    local = np.minimum(parts, machine.devices)
    start = intra_node_allreduce_time(1.0, local, machine)
    slices = float(np.sum(table.count[wide] * halo[wide]))
    exchange = float(np.sum(table.count[wide])) * start + slices * size / machine.bus_bandwidth
    norms = np.isin(table.pointwise, NORMS)
    column = (-1,) + (1,) * np.ndim(local)
    messages = (STATISTICS_BYTES * table.weights[norms] / 2.0).reshape(column)
    counts = table.count[norms].reshape(column)
    statistics = np.sum(counts * intra_node_allreduce_time(messages, local, machine), axis=0)
    launches = EDGE_KERNELS * float(np.sum(table.count[wide])) * kernel_overhead
    return np.asarray(np.where(parts > 1.0, 2.0 * (exchange + statistics) + launches, 0.0))
