r"""Matrix products on the tiles of an IPU: how they are cut, computed and exchanged.

A product of M × K by K × N is cut over the tiles so that each tile's piece is as near to a cube as
the dimensions allow: the piece with the least surface for its volume, hence with the fewest bytes
exchanged. Compute, exchange and synchronisation follow one another (bulk-synchronous supersteps).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.records import FloatLike, Floats, IpuChip, IpuSoftware, Precision

AMP_GROUP = 16
"""Input and output channels one pass of the matrix unit takes (poplibs, convolution planner)."""

FULL_PRECISION_SLOWDOWN = 4.0
"""Cycles of an fp32 product over one in fp16.16 (Graphcore data sheets: 62.4 against 249.7 TFLOP/s)."""


@dataclass(frozen=True, slots=True)
class Products:
    """Matrix products of each operator, arrays of shape (V, O, …) with the product axis first."""

    rows: Floats
    inner: Floats
    columns: Floats
    groups: Floats
    """Independent products run side by side. [-]"""
    reuse: Floats
    """Times an element of the first factor serves (the kernel area of a convolution). [-]"""
    repeats: Floats
    """Times the product runs, one after the other; 0 where an operator has no such product. [-]"""


@dataclass(frozen=True, slots=True)
class ProductCycles:
    """Cycles of matrix products, summed over the product axis: (O, …)."""

    matrix: Floats
    """Cycles of the matrix units. [cycles]"""
    exchange: Floats
    """Cycles of the on-chip exchange. [cycles]"""
    operations: Floats
    """Products run one after the other. [-]"""


def element_bytes(precision: Precision) -> float:
    """Return the bytes of one element; whatever is not full precision runs as fp16.16.

    Parameters
    ----------
    precision : Precision
        Number format asked for. [-]

    Returns
    -------
    size : float
        Size of one element. [B]

    References
    ----------
    .. [1] Graphcore, "IPU-M2000 datasheet," performance section (FP16.16 and FP32 only).

    Examples
    --------
    >>> element_bytes(Precision.FP16_16), element_bytes(Precision.TF32)
    (2.0, 4.0)
    """
    return 4.0 if precision in (Precision.FP32, Precision.TF32) else 2.0


def usable_tiles(chip: IpuChip, software: IpuSoftware) -> int:
    """Return the tiles left for computation when some are set aside for input and output.

    Parameters
    ----------
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack. [-]

    Returns
    -------
    tiles : int
        Tiles that compute. [-]

    References
    ----------
    .. [1] Graphcore, "Memory and performance optimisation on the IPU," section on overlapped I/O.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> usable_tiles(BOW, POPART)
    1472
    """
    return chip.tiles - software.io_tiles


def split_product(
    rows: FloatLike, inner: FloatLike, columns: FloatLike, tiles: FloatLike
) -> tuple[Floats, Floats, Floats]:
    r"""Return the piece of a product that one tile computes, as near to a cube as may be.

    .. math:: m k n = M K N / \text{tiles}

    Parameters
    ----------
    rows : float
        Rows of the first factor, :math:`M`. [-]
    inner : float
        Columns of the first factor, :math:`K`. [-]
    columns : float
        Columns of the second factor, :math:`N`. [-]
    tiles : float
        Tiles that share the product. [-]

    Returns
    -------
    piece : tuple of ndarray
        :math:`m, k, n` of one tile. [-]

    Notes
    -----
    The shortest dimension is taken whole where it is below the side of the cube, and the others
    share what is left. Pieces are real numbers: balance over tiles is assumed.

    References
    ----------
    .. [1] A. Aggarwal, A. Chandra, M. Snir, "Communication complexity of PRAMs," Theoretical
       Computer Science 71, 1990 (three-dimensional split of a matrix product).

    Examples
    --------
    >>> [round(float(side), 1) for side in split_product(1024, 1024, 4096, 1472)]
    [142.9, 142.9, 142.9]
    >>> [round(float(side), 1) for side in split_product(4096, 8, 4096, 1024)]
    [128.0, 8.0, 128.0]
    """
    sides = np.stack(np.broadcast_arrays(rows, inner, columns)).astype(float)
    volume = np.prod(sides, axis=0) / tiles
    sides = np.broadcast_to(sides, (3, *volume.shape))
    order = np.argsort(sides, axis=0)
    shortest, middle, _ = np.take_along_axis(sides, order, axis=0)
    first = np.minimum(shortest, np.cbrt(volume))
    second = np.minimum(middle, np.sqrt(volume / first))
    pieces = np.stack([first, second, volume / (first * second)])
    restored = np.take_along_axis(pieces, np.argsort(order, axis=0), axis=0)
    return restored[0], restored[1], restored[2]


def tile_surface(products: Products, tiles: float, *, patches: bool) -> tuple[Floats, Floats]:
    """Return volume and surface of the piece of each product on one tile.

    Parameters
    ----------
    products : Products
        Products of each operator. [-]
    tiles : float
        Tiles that compute. [-]
    patches : bool
        True to count the first factor with its repetitions, as it lies in memory once rearranged;
        False to count what has to arrive by exchange. [-]

    Returns
    -------
    piece : tuple of ndarray
        Volume (multiplications) and surface (elements of both factors and of the result). [-]

    References
    ----------
    .. [1] Graphcore, "Memory and performance optimisation on the IPU," section on temporaries.

    Examples
    --------
    >>> one = Products(*(np.full((1, 1), side) for side in (1024.0, 1024.0, 4096.0, 1.0, 1.0, 1.0)))
    >>> [round(float(part[0, 0])) for part in tile_surface(one, 1472, patches=False)]
    [2917777, 61257]
    """
    share = np.maximum(tiles / products.groups, 1.0)
    m, k, n = split_product(products.rows, products.inner, products.columns, share)
    first = m * k if patches else m * k / products.reuse
    return m * k * n, first + k * n + m * n


def product_cycles(
    products: Products, chip: IpuChip, software: IpuSoftware, *, precision: Precision = Precision.FP16_16
) -> ProductCycles:
    r"""Return the cycles of matrix products: matrix unit, exchange and number of operations.

    .. math::

        C_{amp} &= g \frac{m k n}{R} \frac{\lceil K \rceil_{16} \lceil N \rceil_{16}}{K N} \frac{1}{e} \\
        C_{exch} &= g X \left(\frac{m k}{\kappa} + k n + m n\right) \frac{B}{w}
            \sqrt{\max\left(1, \frac{\text{temporaries}}{\text{limit}}\right)}

    with g products per tile one after the other where there are more products than tiles.

    Parameters
    ----------
    products : Products
        Products of each operator, (V, O, …). [-]
    chip : IpuChip
        The IPU: rate R, efficiency e, exchange width w and multiplier X. [-]
    software : IpuSoftware
        The software stack: limit on temporaries and tiles set aside. [-]
    precision : Precision
        Number format; fp32 runs at a quarter of the rate. [-]

    Returns
    -------
    cycles : ProductCycles
        Summed over the products of each operator, (O, …). [cycles]

    Notes
    -----
    Temporaries beyond the limit make the planner run a product in serial parts, each of which
    brings its factors again: traffic grows with the square root of the excess. Without that cap
    the cube would be optimistic for very large products. Exchange is added to computation because
    supersteps do not overlap.

    References
    ----------
    .. [1] L. Valiant, "A bridging model for parallel computation," CACM 33(8), 1990.
    .. [2] Z. Jia et al., "Dissecting the Graphcore IPU architecture via microbenchmarking,"
       arXiv:1912.03413, 2019.
    .. [3] Graphcore, "Available memory proportion" technical note, 2021.

    Examples
    --------
    A product of 1024 × 1024 by 1024 × 4096 on a Bow IPU takes 65 thousand cycles in the matrix
    units and 46 thousand on the exchange:

    >>> from app.engine.ipu.examples import BOW, POPART
    >>> one = Products(*(np.full((1, 1), side) for side in (1024.0, 1024.0, 4096.0, 1.0, 1.0, 1.0)))
    >>> spent = product_cycles(one, BOW, POPART)
    >>> round(float(spent.matrix[0])), round(float(spent.exchange[0]))
    (65129, 46249)
    """
    tiles = usable_tiles(chip, software)
    size = element_bytes(precision)
    slowdown = FULL_PRECISION_SLOWDOWN if size > 2.0 else 1.0
    per_tile = np.ceil(products.groups / tiles)
    volume, surface = tile_surface(products, tiles, patches=False)
    padding = _padded(products.inner) * _padded(products.columns)
    limit = software.available_memory * chip.sram_per_tile
    serial = np.sqrt(np.maximum(surface * size / limit, 1.0))
    runs = products.repeats * per_tile
    matrix = runs * volume / chip.products_per_cycle * padding * slowdown / chip.amp_efficiency
    exchange = runs * chip.exchange_multiplier * surface * size / chip.exchange_bytes_per_cycle * serial
    return ProductCycles(
        matrix=matrix.sum(axis=0), exchange=exchange.sum(axis=0), operations=products.repeats.sum(axis=0)
    )


def _padded(side: Floats) -> Floats:
    """Return a side rounded up to whole groups of the matrix unit, over itself."""
    return np.asarray(np.ceil(side / AMP_GROUP) * AMP_GROUP / side)
