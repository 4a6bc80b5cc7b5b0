"""Matrix products on the matrix units of a GPU: tiles, waves and the memory roof."""

from __future__ import annotations

import math

from app.engine.compiled import Matrix, formula, inner
from app.engine.records import TILE_COLUMNS, TILE_EFFICIENCY, TILE_ROWS

MOST_SPLITS = 32.0
"""Largest number of parts, a power of two, into which kernel libraries cut the inner dimension."""
SHORTEST_SPLIT = 256.0
"""Inner positions below which a split is not tried."""
MOST_WAVES = 4.0
"""Waves of tiles beyond which a split gains nothing and is not tried."""
FASTEST_SPLIT_ELEMENT_BYTES = 8.0
"""One partial sum is written and read in single precision."""


@inner
def tiled_gemm_time(
    rows: float,
    columns: float,
    inner: float,
    batch: float,
    peak: float,
    multiprocessors: float,
    tiles: Matrix,
    prologue: float,
    split_bandwidth: float,
) -> float:
    r"""Time of batched matrix products limited by the matrix units.

    The output is cut into tiles, the tiles run in waves of one tile per multiprocessor, and the
    last wave costs as much as a full one. Over the tile shapes and the splits of the inner
    dimension the fastest is taken:

    .. math:: t = \min \left\lceil \frac{\lceil m/t_m \rceil \lceil n/t_n \rceil s b}{P} \right\rceil
        \frac{2 t_m t_n (k/s + k_0)}{(F/P) e_t} + [s>1] \frac{8 m n s b}{B_s}

    Parameters
    ----------
    rows : float
        Rows of the output, :math:`m`. [-]
    columns : float
        Columns of the output, :math:`n`. [-]
    inner : float
        Length of the dot products, :math:`k`. [-]
    batch : float
        Independent products of that shape, :math:`b`. [-]
    peak : float
        Dense matrix rate held under load, :math:`F`. [FLOP/s]
    multiprocessors : float
        Multiprocessors of the chip, :math:`P`. [-]
    tiles : array
        Rows, columns and rate of the tiles, :math:`t_m, t_n, e_t`, (3, T). [-]
    prologue : float
        Inner positions that each tile costs beside its own, :math:`k_0`. [-]
    split_bandwidth : float
        Rate at which partial sums are added, :math:`B_s`. [B/s]

    Returns
    -------
    seconds : float
        Time of all products. [s]

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
    >>> tile = np.array([[256.], [128.], [1.]])
    >>> full = tiled_gemm_time(256 * 108, 128, 4096, 1, 312e12, 108, tile, 0., 1e12)
    >>> more = tiled_gemm_time(256 * 109, 128, 4096, 1, 312e12, 108, tile, 0., 1e12)
    >>> round(float(more / full), 6)
    2.0
    """
    adding = FASTEST_SPLIT_ELEMENT_BYTES * rows * columns * batch / split_bandwidth
    fastest = math.inf
    for index in range(tiles.shape[1]):
        tile_rows, tile_columns = tiles[TILE_ROWS, index], tiles[TILE_COLUMNS, index]
        efficiency = tiles[TILE_EFFICIENCY, index]
        whole = math.ceil(rows / tile_rows) * math.ceil(columns / tile_columns) * batch
        position = 2.0 * tile_rows * tile_columns / (peak / multiprocessors * efficiency)
        splits = 1.0
        while True:
            waves = math.ceil(whole * splits / multiprocessors)
            seconds = waves * position * (inner / splits + prologue)
            if splits > 1.0:
                seconds += adding * splits
            fastest = min(fastest, seconds)
            splits *= 2.0
            too_short = inner / splits < SHORTEST_SPLIT
            if splits > MOST_SPLITS or too_short or whole * splits > MOST_WAVES * multiprocessors:
                break
    return fastest


@formula
def roofline_time(compute: float, efficiency: float, traffic: float, bandwidth: float) -> float:
    r"""Time of an operator under the roofline.

    .. math:: t = \max(t_c / \eta, Q / B)

    Parameters
    ----------
    compute : float
        Time at the full matrix rate, :math:`t_c`. [s]
    efficiency : float
        Share of that rate that is reached, :math:`\eta`. [-]
    traffic : float
        Bytes moved to and from memory, :math:`Q`. [B]
    bandwidth : float
        Bandwidth reached by streaming, :math:`B`. [B/s]

    Returns
    -------
    seconds : float
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
    return max(compute / efficiency, traffic / bandwidth)


@formula
def misalignment(columns: float, inner: float, penalty: float) -> float:
    """Slow-down of a product whose columns or inner positions are not loaded in whole words.

    1 where both are multiples of 8 (NVIDIA, "Matrix multiplication background user's guide," 2023, 2.2):

    >>> [float(misalignment(n, 64, 2.2)) for n in (64, 72, 73)]
    [1.0, 1.0, 2.2]
    """
    return penalty if columns % 8.0 != 0.0 or inner % 8.0 != 0.0 else 1.0


@formula
def narrowing_time(elements: float, moved: float, bandwidth: float) -> float:
    """Time to turn elements into narrow operands, of :func:`narrowing_bytes` each. [s]

    Activations of 8,192 tokens of 8,192 elements on an H100, in 8 bit:

    >>> round(float(narrowing_time(8192.0**2, narrowing_bytes(2.0, 1.0, 1.0), 2.68e12)) * 1e6, 1)
    100.2
    """
    return elements * moved / bandwidth


@formula
def narrowing_bytes(size: float, narrow_size: float, readings: float) -> float:
    r"""Bytes that turning one element into the 8- or 4-bit operands of two products moves.

    .. math:: m = a e + 2 e_n

    Parameters
    ----------
    size : float
        Bytes of the element, :math:`e`. [B]
    narrow_size : float
        Bytes of it in an operand, with its share of a scale, :math:`e_n`. [B]
    readings : float
        Times it is read, :math:`a`: twice where the scale follows from the largest of the whole tensor,
        which must be known first. [-]

    Returns
    -------
    moved : float
        Readings, and two writings: along the rows for the product that follows, and transposed for the
        gradient of the weights, because matrix units read narrow operands along the inner dimension. [B]

    References
    ----------
    .. [1] P. Micikevicius et al., "FP8 formats for deep learning," arXiv:2209.05433, 2022.
    .. [2] B. Rouhani et al., "Microscaling data formats for deep learning," arXiv:2310.10537, 2023.
    .. [3] NVIDIA, "Pretraining large language models with NVFP4," arXiv:2509.25149, 2025.

    Examples
    --------
    >>> float(narrowing_bytes(2.0, 1.0, 1.0)), float(narrowing_bytes(2.0, 0.5625, 2.0))
    (4.0, 5.125)
    """
    return readings * size + 2.0 * narrow_size


@formula
def mixed_rate(narrow: float, wide: float, share: float) -> float:
    r"""Rate of products of which a share runs in a wider format.

    .. math:: P = \left( \frac{1 - s}{P_n} + \frac{s}{P_w} \right)^{-1}

    Parameters
    ----------
    narrow : float
        Rate in the narrow format, :math:`P_n`. [FLOP/s]
    wide : float
        Rate in the wider one, :math:`P_w`. [FLOP/s]
    share : float
        Share of the products in the wider one, :math:`s`, 0 to 1. [-]

    Returns
    -------
    rate : float
        Harmonic mean, for the times add up; valid where these layers are like the others. [FLOP/s]

    References
    ----------
    .. [1] G. M. Amdahl, "Validity of the single processor approach," AFIPS, 1967.

    Examples
    --------
    A seventh of the layers in 16 bit takes a third from a format four times as fast:

    >>> round(float(mixed_rate(10e15, 2.5e15, 0.15)) / 1e15, 2), float(mixed_rate(4.0, 1.0, 0.0))
    (6.9, 4.0)
    """
    return 1.0 / ((1.0 - share) / narrow + share / wide)
