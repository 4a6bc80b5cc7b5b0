"""What is shown of a search: the best plans that differ, and what no other plan beats in time and memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.engine.distinct import least_of_each
from app.engine.plans import Plans
from app.engine.records import Floats, Indices


def best_that_differ(plans: Plans, cost: Floats, names: Sequence[str], keep: int) -> Indices:
    """Return the indices of the cheapest plan of each combination of fields.

    Parameters
    ----------
    plans : Plans
        The plans, (N,). [-]
    cost : array
        What ranks them, (N,); infinite where a plan is out. [-]
    names : sequence of str
        Fields in which plans of the answer differ. [-]
    keep : int
        Most plans of the answer. [-]

    Returns
    -------
    indices : array
        At most ``keep``; none of infinite cost. [-]

    References
    ----------
    .. [1] D. Knuth, "The art of computer programming," vol. 3, section 5.3.3 (selection).

    Examples
    --------
    >>> plans = Plans(**{name: np.ones(4) for name in Plans.__slots__ if name != "tensor"},
    ...     tensor=np.array([1.0, 1.0, 2.0, 4.0]))
    >>> best_that_differ(plans, np.array([3.0, 2.0, 5.0, np.inf]), ["tensor"], 3).tolist()
    [1, 2]
    """
    keys = plans.matrix[[Plans.__slots__.index(name) for name in names]]
    least = least_of_each(keys, cost, cost)
    least = least[np.isfinite(cost[least])]
    return least[np.lexsort((least, cost[least]))][:keep]


def pareto_set(first: Floats, second: Floats) -> Indices:
    """Return the indices of points that no other beats in one figure without losing in the other.

    Parameters
    ----------
    first, second : array
        Two figures of each point, both better when smaller, (N,); infinite points are out. [-]

    Returns
    -------
    indices : array
        Rising in the first figure, falling in the second; one of equal points. [-]

    References
    ----------
    .. [1] H. Kung, F. Luccio, F. Preparata, "On finding the maxima of a set of vectors," J. ACM 22(4), 1975.

    Examples
    --------
    >>> pareto_set(np.array([1.0, 2.0, 3.0, 2.0]), np.array([9.0, 5.0, 6.0, 7.0])).tolist()
    [0, 1]
    """
    finite = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
    order = finite[np.lexsort((second[finite], first[finite]))]
    least = np.minimum.accumulate(second[order]) if order.size else second[order]
    better = np.ones(order.size, dtype=bool)
    better[1:] = second[order][1:] < least[:-1]
    return np.asarray(order[better], dtype=np.intp)


def least_on_any_number(devices: Floats, cost: Floats, seconds: Floats) -> int:
    """Return the index of the plan that is chosen where devices may idle.

    The plan of least cost, unless what would be chosen on fewer devices is faster by more than a little: on
    every number of devices that is the plan of least cost among those that use at most so many. So more of
    them never make the choice slower by more.

    Parameters
    ----------
    devices : array
        Devices each plan uses, (N,). [-]
    cost : array
        What ranks plans, (N,); infinite where a plan is out, but not everywhere. [-]
    seconds : array
        Time of each, (N,). [s]

    Returns
    -------
    index : int
        Its place. [-]

    References
    ----------
    .. [1] H. Kung, F. Luccio, F. Preparata, J. ACM 22(4), 1975 (leading points of a sorted set).

    Examples
    --------
    On two devices the second plan would be chosen, on four the third, which costs less and is slower:

    >>> least_on_any_number(np.array([2.0, 2.0, 4.0]), np.array([9.0, 8.0, 7.5]), np.array([9.0, 7.0, 7.2]))
    1
    """
    best = least_of_each(devices[np.newaxis], cost, seconds)
    best = best[np.argsort(devices[best])]
    ranked = cost[best]
    # Only what beats every plan on fewer devices.
    before = np.minimum.accumulate(np.concatenate([[np.inf], ranked[:-1]]))
    chosen = best[ranked < before]
    near = chosen[seconds[chosen] <= (1.0 + LITTLE) * np.min(seconds[chosen])]
    return int(near[np.lexsort((seconds[near], cost[near]))[0]])


LITTLE = 0.005
"""Share by which a choice may be slower than one on fewer devices."""
