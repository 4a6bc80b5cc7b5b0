"""Which options are worth considering: the front of time and cost, bounds, and when machines stop paying."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message


def pareto_front(times: Floats, costs: Floats) -> NDArray[np.bool_]:
    """Say which options no other option beats in both time [s] and cost [currency].

    Of options that are the same in both the first alone is on it, and none without a finite time; an
    option of no known price has an infinite cost. Sorted by time and then by cost, an option is on the
    front where it costs less than all before it (Kung, Luccio, Preparata, J. ACM 22(4), 1975).
    """
    time, cost = np.asarray(times, dtype=float), np.asarray(costs, dtype=float)
    order = np.lexsort((cost, time))
    cheapest = np.minimum.accumulate(np.concatenate([[np.inf], cost[order]]))[:-1]
    # The fastest option of all is worth considering even where nobody knows what it costs.
    first = np.arange(order.size) == 0
    front = np.zeros(order.size, dtype=bool)
    front[order] = np.isfinite(time[order]) & ((cost[order] < cheapest) | first)
    return front


def parallel_efficiency(counts: FloatLike, times: FloatLike) -> Floats:
    r"""Return the share of linear speed-up that each count reaches, taking the smallest count as reference.

    .. math:: E(n) = \frac{n_0 \, T(n_0)}{n \, T(n)}

    Parameters
    ----------
    counts : FloatLike
        Machines, rising, :math:`n`. [-]
    times : FloatLike
        Time to train on each, :math:`T`. [s]

    Returns
    -------
    efficiency : Floats
        1 for the smallest count. [-]

    References
    ----------
    .. [1] D. L. Eager, J. Zahorjan, E. D. Lazowska, "Speedup versus efficiency in parallel systems," IEEE
       Trans. Comput., vol. 38, no. 3, pp. 408-423, 1989.

    Examples
    --------
    >>> parallel_efficiency(np.array([1.0, 2.0, 4.0]), np.array([8.0, 4.0, 3.2])).tolist()
    [1.0, 1.0, 0.625]
    """
    machines, seconds = np.asarray(counts, dtype=float), np.asarray(times, dtype=float)
    return np.asarray(machines[0] * seconds[0] / (machines * seconds))


def scaling_knee(counts: FloatLike, times: FloatLike) -> int:
    r"""Return the place of the count from which adding machines stops paying: the knee of the scaling curve.

    .. math:: n^* = \arg\max_n \frac{E(n)}{T(n)} = \arg\max_n \frac{S(n)^2}{n}

    Parameters
    ----------
    counts : FloatLike
        Machines, rising, :math:`n`. [-]
    times : FloatLike
        Time to train on each, :math:`T`. [s]

    Returns
    -------
    place : int
        Index of the knee; the largest count where speed-up stays above the square root of the count. [-]

    Raises
    ------
    BadInput
        Where there are no counts, or not as many times.

    Notes
    -----
    The knee maximises efficiency over time, so that up to it a share of efficiency given up buys at least as
    large a share of time. Beyond it one per cent more machines takes less than half a per cent off the time.

    References
    ----------
    .. [1] D. L. Eager, J. Zahorjan, E. D. Lazowska, "Speedup versus efficiency in parallel systems," IEEE
       Trans. Comput., vol. 38, no. 3, pp. 408-423, 1989, section V (the knee of the execution time-efficiency
       profile).

    Examples
    --------
    By Amdahl's law a tenth of serial work puts the knee at nine machines, where S = 5:

    >>> machines = np.arange(1.0, 33.0)
    >>> int(machines[scaling_knee(machines, 0.1 + 0.9 / machines)])
    9
    """
    machines, seconds = np.asarray(counts, dtype=float), np.asarray(times, dtype=float)
    if not machines.size or machines.shape != seconds.shape:
        raise BadInput(
            Message("one time per count is required, got {times} times", {"times": int(seconds.size)})
        )
    return int(np.argmax(parallel_efficiency(machines, seconds) / seconds))
