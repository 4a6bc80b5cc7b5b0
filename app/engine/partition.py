"""Sizes that partitions of a pod may have, and what they come to.

The pools that hand them out are in :mod:`app.engine.pools`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.engine.records import FloatLike, Floats


def is_partition_size(sizes: FloatLike) -> npt.NDArray[np.bool_]:
    """Tell which numbers of IPUs a partition may have: powers of two ("V-IPU user guide," section 5.1)."""
    values = np.asarray(sizes, dtype=float)
    whole = (values >= 1) & (values == np.floor(values))
    safe = np.where(whole, values, 1.0)
    return np.asarray(whole & (np.exp2(np.round(np.log2(safe))) == safe))


def nearest_partition_sizes(size: FloatLike, largest: FloatLike) -> tuple[Floats, Floats]:
    """Return the sizes of partition next to a number of IPUs: not above it and not below it.

    Neither is above ``largest``, the IPUs of the pod.
    """
    exponent = np.log2(np.maximum(np.asarray(size, dtype=float), 1.0))
    most = np.asarray(largest, dtype=float)
    return np.minimum(np.exp2(np.floor(exponent)), most), np.minimum(np.exp2(np.ceil(exponent)), most)


def fragmentation(largest_free: FloatLike, free: FloatLike) -> Floats:
    r"""Share of the free devices that the largest request which still fits would leave over.

    .. math:: f = 1 - \frac{b}{F}

    Parameters
    ----------
    largest_free : FloatLike
        Devices of the largest request that fits, :math:`b`. [-]
    free : FloatLike
        Free devices, :math:`F`. [-]

    Returns
    -------
    share : Floats
        0 where one request could take all that is free, or nothing is free. [-]

    References
    ----------
    .. [1] P. R. Wilson et al., "Dynamic storage allocation: a survey and critical review," International
       Workshop on Memory Management, 1995.

    Examples
    --------
    Twelve free devices as a block of 8 and one of 4:

    >>> round(float(fragmentation(8, 12)), 4)
    0.3333
    """
    left = np.asarray(free, dtype=float)
    return np.where(
        left > 0, 1.0 - np.asarray(largest_free, dtype=float) / np.where(left > 0, left, 1.0), 0.0
    )


def pods_needed(sizes: FloatLike, pod: int) -> int:
    r"""Fewest pods that hold partitions of these sizes, each inside one pod.

    .. math:: n = \left\lceil \sum_i s_i / P \right\rceil

    Sizes that are powers of two not above a pod, itself one, fill pods without a gap when the largest
    are placed first, so that the sum decides.

    Parameters
    ----------
    sizes : FloatLike
        Sizes of the partitions, powers of two, :math:`s_i`. [-]
    pod : int
        IPUs of a pod, a power of two, :math:`P`. [-]

    Returns
    -------
    pods : int
        Pods, 0 for no partition. [-]

    References
    ----------
    .. [1] E. G. Coffman, M. R. Garey and D. S. Johnson, "Bin packing with divisible item sizes," Journal of
       Complexity, vol. 3, no. 4, pp. 406-428, 1987: first fit decreasing is optimal where sizes divide.

    Examples
    --------
    >>> pods_needed(np.array([16, 16, 8, 4, 16]), 64), pods_needed(np.array([64, 32, 32, 1]), 64)
    (1, 3)
    """
    return int(np.ceil(np.sum(np.asarray(sizes, dtype=float)) / pod))


def session_parts(devices: int, pod: int, pods: int) -> int | None:
    """Return the fewest equal partitions, one to a pod, that make up a session over several pods.

    Each is a power of two; None where no such split exists.
    """
    for parts in range(1, pods + 1):
        size, rest = divmod(devices, parts)
        if not rest and 0 < size <= pod and size & (size - 1) == 0:
            return parts
    return None
