"""Matrix products on the matrix units of a GPU: tiles, waves and the memory roof."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats, GpuKernels

SPLITS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
"""Ways to cut the inner dimension that kernel libraries try."""

SHORTEST_SPLIT = 256.0
"""Inner positions below which a split is not tried."""

MOST_WAVES = 4.0
"""Waves of tiles beyond which a split gains nothing and is not tried."""

FASTEST_SPLIT_ELEMENT_BYTES = 8.0
"""One partial sum is written and read in single precision."""


def tiled_product_time(
    rows: FloatLike,
    columns: FloatLike,
    inner: FloatLike,
    batch: FloatLike,
    peak: float,
    multiprocessors: int,
    kernels: GpuKernels,
) -> Floats:
    r"""Time of batched matrix products limited by the matrix units.

    The output is cut into tiles, the tiles run in waves of one tile per multiprocessor, and the
    last wave costs as much as a full one. Over the tile shapes and the splits of the inner
    dimension the fastest is taken:

    .. math:: t = \min \left\lceil \frac{\lceil m/t_m \rceil \lceil n/t_n \rceil s b}{P} \right\rceil
        \frac{2 t_m t_n (k/s + k_0)}{(F/P) e_t} + [s>1] \frac{8 m n s b}{B_s}

    Parameters
    ----------
    rows : float or array
        Rows of the output, :math:`m`. [-]
    columns : float or array
        Columns of the output, :math:`n`. [-]
    inner : float or array
        Length of the dot products, :math:`k`. [-]
    batch : float or array
        Independent products of that shape, :math:`b`. [-]
    peak : float
        Dense matrix rate held under load, :math:`F`. [FLOP/s]
    multiprocessors : int
        Multiprocessors of the chip, :math:`P`. [-]
    kernels : GpuKernels
        Tile shapes and their rates, prologue, rate of adding partial sums. [-]

    Returns
    -------
    seconds : array
        Time of all products, in the broadcast shape of the arguments. [s]

    Notes
    -----
    Valid for half-precision and tf32 products from about 64 rows on. A product smaller than one
    tile costs a whole one. The efficiency a long kernel really reaches is applied by the caller.

    References
    ----------
    .. [1] NVIDIA, "Matrix multiplication background user's guide," sections on tile and wave
       quantisation, 2023.

    Examples
    --------
    One wave of 108 tiles of 256 × 128 takes half the time of 109 tiles:

    >>> import numpy as np
    >>> tile = np.array([256.]), np.array([128.]), np.array([1.])
    >>> kernels = GpuKernels(*tile, 0., 1e12, *[1.] * 15, 0., 1., 1., 0., 1.)
    >>> full = tiled_product_time(256 * 108, 128, 4096, 1, 312e12, 108, kernels)
    >>> more = tiled_product_time(256 * 109, 128, 4096, 1, 312e12, 108, kernels)
    >>> round(float(more / full), 6)
    2.0
    """
    rows, columns, inner, batch = np.broadcast_arrays(
        *(np.asarray(x, float) for x in (rows, columns, inner, batch))
    )
    # Tiles and splits come first, so that the products, of which there are many, lie side by side.
    single = (1,) * rows.ndim
    splits = SPLITS.reshape(-1, *single)
    tile_rows, tile_columns, efficiency = (
        tile.reshape(-1, 1, *single)
        for tile in (kernels.tile_rows, kernels.tile_columns, kernels.tile_efficiency)
    )
    depth = inner / splits
    tiles = np.ceil(rows / tile_rows) * np.ceil(columns / tile_columns) * batch * splits
    waves = np.ceil(tiles / multiprocessors)
    wave = 2.0 * tile_rows * tile_columns * (depth + kernels.tile_prologue)
    wave = wave / (peak / multiprocessors * efficiency)
    adding = np.where(splits > 1, FASTEST_SPLIT_ELEMENT_BYTES * rows * columns * batch * splits, 0.0)
    seconds = waves * wave + adding / kernels.split_bandwidth
    tried = (splits == 1) | ((depth >= SHORTEST_SPLIT) & (tiles <= MOST_WAVES * multiprocessors))
    return np.asarray(np.min(np.where(tried, seconds, np.inf), axis=(0, 1)))


def roofline_time(compute: FloatLike, efficiency: FloatLike, traffic: FloatLike, bandwidth: float) -> Floats:
    r"""Time of an operator under the roofline.

    .. math:: t = \max(t_c / \eta, Q / B)

    Parameters
    ----------
    compute : float or array
        Time at the full matrix rate, :math:`t_c`. [s]
    efficiency : float or array
        Share of that rate that is reached, :math:`\eta`. [-]
    traffic : float or array
        Bytes moved to and from memory, :math:`Q`. [B]
    bandwidth : float
        Bandwidth reached by streaming, :math:`B`. [B/s]

    Returns
    -------
    seconds : array
        The larger of both. [s]

    References
    ----------
    .. [1] S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model
       for multicore architectures," CACM 52(4), 2009.

    Examples
    --------
    >>> float(roofline_time(1e-3, 0.8, 1e6, 1e12))
    0.00125
    """
    return np.asarray(np.maximum(np.asarray(compute) / efficiency, np.asarray(traffic) / bandwidth))


def misalignment(columns: FloatLike, inner: FloatLike, penalty: float) -> Floats:
    """Slow-down of a product whose dimensions the matrix units cannot load in whole words.

    Parameters
    ----------
    columns : float or array
        Columns of the weight matrix. [-]
    inner : float or array
        Rows of the weight matrix. [-]
    penalty : float
        Slow-down where either is no multiple of 8. [-]

    Returns
    -------
    factor : array
        1 where both are multiples of 8. [-]

    References
    ----------
    .. [1] NVIDIA, "Matrix multiplication background user's guide," section 2.2 (alignment), 2023.

    Examples
    --------
    >>> [float(misalignment(n, 64, 2.2)) for n in (64, 72, 73)]
    [1.0, 1.0, 2.2]
    """
    odd = (np.asarray(columns) % 8 != 0) | (np.asarray(inner) % 8 != 0)
    return np.where(odd, penalty, 1.0)
