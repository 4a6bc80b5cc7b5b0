r"""Matrix products on the tiles of an IPU: how they are cut, computed and exchanged.

A product of M × K by K × N is cut over the tiles so that each tile's piece is as near to a cube as
the dimensions allow: the piece with the least surface for its volume, hence with the fewest bytes
exchanged. Compute, exchange and synchronisation follow one another (bulk-synchronous supersteps).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.engine.compiled import inner
from app.engine.ipu.case import IpuCase
from app.engine.ipu.operator import IpuOperator
from app.engine.ipu.vector import INNER
from app.engine.operators.table import Split

AMP_GROUP = 16.0
"""Input and output channels one pass of the matrix unit takes (poplibs, convolution planner)."""
CHANNEL_GRAIN = 4.0
"""Channels and kernel columns that the narrow convolution vertex takes at a time (poplibs, SLIC)."""
FULL_PRECISION_SLOWDOWN = 4.0
"""Cycles of an fp32 product over one in fp16.16 (Graphcore data sheets: 62.4 against 249.7 TFLOP/s)."""
COLUMNS = float(Split.COLUMNS)
BATCH = float(Split.BATCH)
GEMMS = 6
SCORES, CONTEXT, OF_PROBABILITIES, OF_VALUES, OF_QUERIES, OF_KEYS = range(GEMMS)
"""Products of attention: two forward, then those of four gradients."""
PRODUCT, OF_INPUT, OF_WEIGHTS = SCORES, OF_PROBABILITIES, OF_VALUES
"""Products of any other operator, which has one forward and two gradients."""
FORWARD_GEMMS = OF_PROBABILITIES
"""Products forward, which come first."""


class Shapes(NamedTuple):
    """Sides of an operator's forward product on one device."""

    positions: float
    """Output positions, or tokens, of a micro-batch. [-]"""
    channels: float
    """Input channels of one group, or input width. [-]"""
    outputs: float
    """Output channels of one group, or output width. [-]"""
    groups: float
    inner: float
    """Inner side with the padding that narrow convolutions need. [-]"""


class Gemm(NamedTuple):
    rows: float
    inner: float
    columns: float
    groups: float
    """Independent products run side by side. [-]"""
    reuse: float
    """Times an element of the first factor serves (the kernel area of a convolution). [-]"""
    repeats: float
    """Times the product runs, one after the other; 0 where an operator has no such product. [-]"""


@inner
def operator_shapes(row: IpuOperator, micro_batch: float, tensor: float) -> Shapes:
    """Return the sides of an operator's product at a micro-batch and a tensor degree.

    Grouped convolutions with fewer than 16 channels a group run sixteen output channels at a time,
    their kernel columns padded to four; a plain convolution pads its input channels to four
    (poplibs, ConvPlan.cpp and the SLIC vertex).
    """
    side = max(row.inner / (tensor if row.split == INNER else 1.0), 1.0)
    outputs = max(row.columns / (tensor if row.split == COLUMNS else 1.0), 1.0)
    batch = max(row.batch / (tensor if row.split == BATCH else 1.0), 1.0)
    samples = micro_batch if row.attends > 0.0 else 1.0
    positions = row.rows * (1.0 if row.attends > 0.0 else micro_batch)
    channels = side / row.area
    if row.convolution > 0.0 and batch > 1.0:
        if channels < AMP_GROUP:
            groups = max(batch * outputs / AMP_GROUP, 1.0)
            taps = row.area / row.width * np.ceil(row.width / CHANNEL_GRAIN) * CHANNEL_GRAIN
            padded = taps * max(channels, CHANNEL_GRAIN)
            return Shapes(
                positions=positions,
                channels=AMP_GROUP,
                outputs=AMP_GROUP,
                groups=groups * samples,
                inner=padded,
            )
    elif row.convolution > 0.0:
        channels = max(channels, CHANNEL_GRAIN)
    return Shapes(
        positions=positions,
        channels=channels,
        outputs=outputs,
        groups=batch * samples,
        inner=channels * row.area,
    )


@inner
def gemm_of(row: IpuOperator, shapes: Shapes, index: int) -> Gemm:
    """Return one of the products of an operator: two forward, then four backward.

    The input gradient of a strided convolution meets each output as often as the stride lets it
    (Dumoulin and Visin 2016). A recurrent operator takes its weight gradient in one product over all steps.
    """
    positions, channels, outputs, groups, side = shapes
    keys, spread, area = row.keys, row.spread, row.area
    if row.attends > 0.0:
        if index == SCORES:
            return _once(positions, channels, keys, groups, area)
        if index == OF_PROBABILITIES:
            return _once(positions, channels, keys, groups, max(area / spread, 1.0))
        if index == OF_VALUES:
            return _once(keys, positions, channels, groups, area)
        if index == OF_KEYS:
            return _once(keys, positions, channels, groups, 1.0)
        return _once(positions, keys, channels, groups, 1.0)
    if index == PRODUCT:
        return Gemm(
            rows=positions,
            inner=side,
            columns=outputs,
            groups=groups,
            reuse=area,
            repeats=row.runs * row.steps,
        )
    if index == OF_INPUT:
        return Gemm(
            rows=positions * spread,
            inner=outputs * side / channels / spread,
            columns=channels,
            groups=groups,
            reuse=max(area / spread, 1.0),
            repeats=row.runs * row.input_gradient * row.steps,
        )
    if index == OF_WEIGHTS:
        return Gemm(
            rows=side,
            inner=positions * row.steps,
            columns=outputs,
            groups=groups,
            reuse=area,
            repeats=row.runs,
        )
    return Gemm(rows=1.0, inner=1.0, columns=1.0, groups=1.0, reuse=1.0, repeats=0.0)


@inner
def _once(rows: float, inner: float, columns: float, groups: float, reuse: float) -> Gemm:
    """Return a product that runs once."""
    return Gemm(rows=rows, inner=inner, columns=columns, groups=groups, reuse=reuse, repeats=1.0)


@inner
def split_gemm(rows: float, inner: float, columns: float, tiles: float) -> tuple[float, float, float]:
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
    piece : tuple of float
        :math:`m, k, n` of one tile. [-]

    Notes
    -----
    A dimension is taken whole where it is below the side of the cube, and the others share what is
    left. Pieces are real numbers: balance over tiles is assumed.

    References
    ----------
    .. [1] A. Aggarwal, A. Chandra, M. Snir, "Communication complexity of PRAMs," Theoretical
       Computer Science 71, 1990 (three-dimensional split of a matrix product).

    Examples
    --------
    >>> [round(float(side), 1) for side in split_gemm(1024.0, 1024.0, 4096.0, 1472.0)]
    [142.9, 142.9, 142.9]
    >>> [round(float(side), 1) for side in split_gemm(4096.0, 8.0, 4096.0, 1024.0)]
    [128.0, 8.0, 128.0]
    """
    shortest = min(rows, inner, columns)
    middle = max(min(rows, inner), min(max(rows, inner), columns))
    volume = rows * inner * columns / tiles
    side = np.cbrt(volume)
    if side > shortest:
        side = np.sqrt(volume / shortest)
        if side > middle:
            side = volume / (shortest * middle)
    return min(rows, side), min(inner, side), min(columns, side)


@inner
def temporaries(case: IpuCase, gemm: Gemm) -> float:
    """Return the elements of a product on one tile: both factors, rearranged, and the result.

    >>> from app.engine.ipu.examples import case
    >>> round(temporaries(case(), Gemm(1024.0, 1024.0, 4096.0, 1.0, 9.0, 1.0)))
    61257
    """
    share = max(case.usable / gemm.groups, 1.0)
    m, k, n = split_gemm(gemm.rows, gemm.inner, gemm.columns, share)
    return m * k + k * n + m * n


@inner
def gemm_cycles(case: IpuCase, gemm: Gemm) -> tuple[float, float]:
    r"""Return the cycles of a matrix product, on the matrix unit and on the exchange.

    .. math::

        C_{amp} &= g \frac{m k n}{R} \frac{\lceil K \rceil_{16} \lceil N \rceil_{16}}{K N} \frac{1}{e} \\
        C_{exch} &= g X \left(\frac{m k}{\kappa} + k n + m n\right) \frac{B}{w}
            \sqrt{\max\left(1, \frac{\text{temporaries}}{\text{limit}}\right)}

    with g products per tile one after the other where there are more products than tiles.

    Parameters
    ----------
    case : IpuCase
        Rate R, efficiency e, exchange width w and multiplier X; limit on temporaries. [-]
    gemm : Gemm
        The product. [-]

    Returns
    -------
    cycles : tuple of float
        Of all its repeats. [cycles]

    Notes
    -----
    Temporaries beyond the limit make the planner run a product in serial parts, each of which
    brings its factors again: traffic grows with the square root of the excess. Without that cap
    the cube would be optimistic for very large products. Exchange is added to computation because
    supersteps do not overlap. Full precision runs at a quarter of the rate.

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

    >>> from app.engine.ipu.examples import case
    >>> spent = gemm_cycles(case(), Gemm(1024.0, 1024.0, 4096.0, 1.0, 1.0, 1.0))
    >>> [round(float(cycles)) for cycles in spent]
    [65129, 46249]
    """
    share = max(case.usable / gemm.groups, 1.0)
    m, k, n = split_gemm(gemm.rows, gemm.inner, gemm.columns, share)
    surface = m * k / gemm.reuse + k * n + m * n
    padding = _padded(gemm.inner) * _padded(gemm.columns)
    slowdown = FULL_PRECISION_SLOWDOWN if case.size > 2.0 else 1.0
    serial = np.sqrt(max(surface * case.size / (case.available_memory * case.chip.sram_per_tile), 1.0))
    runs = gemm.repeats * np.ceil(gemm.groups / case.usable)
    matrix = runs * m * k * n / case.chip.products_per_cycle * padding * slowdown / case.chip.amp_efficiency
    fetched = surface * case.size / case.chip.exchange_bytes_per_cycle * serial
    return matrix, runs * case.chip.exchange_multiplier * fetched


@inner
def _padded(side: float) -> float:
    """Return a side rounded up to whole groups of the matrix unit, over itself."""
    return float(np.ceil(side / AMP_GROUP)) * AMP_GROUP / side
