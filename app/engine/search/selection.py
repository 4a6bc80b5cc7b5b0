"""What is shown of a search: the best plans that differ, and what no other plan beats in time and memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    finite = np.flatnonzero(np.isfinite(cost))
    wanted = min(finite.size, max(64 * keep, 1024))
    while True:
        nearest = (
            finite if wanted == finite.size else finite[np.argpartition(cost[finite], wanted - 1)[:wanted]]
        )
        order = nearest[np.argsort(cost[nearest], kind="stable")]
        table = np.stack([getattr(plans, name)[order] for name in names])
        _, first = np.unique(table, axis=1, return_index=True) if order.size else (None, np.empty(0, int))
        found = order[np.sort(first)][:keep]
        if found.size == keep or wanted == finite.size:
            return np.asarray(found, dtype=np.intp)
        wanted = min(finite.size, 8 * wanted)


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
