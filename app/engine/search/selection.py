"""Selection of plans: the best that differ, and the Pareto set of time and memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.engine.compiled import Matrix, Places, Vector, inner, kernel
from app.engine.plans import PLAN_FIELDS, Plans
from app.engine.records import Floats, Indices


def best_that_differ(
    plans: Plans, cost: Floats, names: Sequence[str], keep: int, ties: Floats | None = None
) -> Indices:
    """Return the indices of the cheapest plan of each combination of fields, at most ``keep``.

    Plans of infinite cost are left out; plans of a combination at the same cost are ordered by ``ties``.

    >>> plans = Plans.of(tensor=np.array([1.0, 1.0, 2.0, 4.0]))
    >>> best_that_differ(plans, np.array([3.0, 2.0, 5.0, np.inf]), ["tensor"], 3).tolist()
    [1, 2]
    """
    fields = np.array([PLAN_FIELDS.index(name) for name in names], dtype=np.int64)
    best, count = np.empty(keep, dtype=np.int64), np.zeros(1, dtype=np.int64)
    cheapest = np.full(SEEN, -1, dtype=np.int64)
    costs, ends = (np.ascontiguousarray(values) for values in (cost, cost if ties is None else ties))
    write_best(plans.rows, fields, costs, ends, cheapest, best, count)
    return best[: count[0]]


@inner
def _alike(plans: Matrix, fields: Places, first: int, second: int) -> bool:
    alike = True
    for index in range(fields.size):
        alike &= plans[first, fields[index]] == plans[second, fields[index]]
    return alike


@inner
def _is_less(cost: Vector, ties: Vector, first: int, second: int) -> bool:
    return cost[first] < cost[second] or (cost[first] == cost[second] and ties[first] < ties[second])


@kernel
def write_best(
    plans: Matrix, fields: Places, cost: Vector, ties: Vector, cheapest: Places, best: Places, count: Places
) -> None:
    """Write the indices of the cheapest plan of each combination of fields, rising, as far as there is room.

    ``cheapest`` caches the cheapest plan so far of some combinations.
    """
    size = 0
    for index in range(cost.size):
        if not cost[index] < np.inf or (size == best.size and cost[index] > cost[best[size - 1]]):
            continue
        code = 0
        for position in range(fields.size):
            code = code * 31 + int(plans[index, fields[position]])
        slot = code & (cheapest.size - 1)
        before = cheapest[slot]
        if before >= 0 and not _is_less(cost, ties, index, before) and _alike(plans, fields, index, before):
            continue
        like = 0
        while like < size and not _alike(plans, fields, index, best[like]):
            like += 1
        if like < size:
            if not _is_less(cost, ties, index, best[like]):
                continue
        elif size == best.size and cost[index] == cost[best[size - 1]]:
            continue
        cheapest[slot] = index
        # A plan of the same kind makes room, else the dearest does where there is no more.
        if like == size:
            size = min(size + 1, best.size)
            like = size - 1
        while like > 0 and cost[index] < cost[best[like - 1]]:
            best[like] = best[like - 1]
            like -= 1
        best[like] = index
    count[0] = size


def pareto_set(first: Floats, second: Floats) -> Indices:
    """Return the indices of points that no other beats in one figure without losing in the other.

    Smaller is better in both; infinite points are left out. Rising in the first, falling in the second, one
    of equal points (Kung, Luccio, Preparata 1975).

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

    The plan of least cost, unless the choice on fewer devices is faster by more than a little; the choice on
    each number of devices is the plan of least cost on at most so many. So more devices never make the choice
    slower by more. Not all costs may be infinite.

    On two devices the second plan would be chosen, on four the third, which costs less and is slower:

    >>> least_on_any_number(np.array([2.0, 2.0, 4.0]), np.array([9.0, 8.0, 7.5]), np.array([9.0, 7.0, 7.2]))
    1
    """
    best, count = np.empty(cost.size, dtype=np.int64), np.zeros(1, dtype=np.int64)
    write_leading(*(np.ascontiguousarray(values) for values in (devices, cost, seconds)), best, count)
    chosen = best[: count[0]]
    near = chosen[seconds[chosen] <= (1.0 + LITTLE) * np.min(seconds[chosen])]
    return int(near[np.lexsort((seconds[near], cost[near]))[0]])


@kernel
def write_leading(devices: Vector, cost: Vector, seconds: Vector, best: Places, count: Places) -> None:
    """Write the indices of plans that cost less than every plan on fewer devices, by rising devices.

    Of plans on as many devices it is the cheapest; of equal ones the fastest, then the first.
    """
    size = 0
    for index in range(cost.size):
        if not cost[index] < np.inf:
            continue
        # Those at and behind this place use at least as many devices.
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            if devices[best[middle]] < devices[index]:
                low = middle + 1
            else:
                high = middle
        if low > 0 and cost[best[low - 1]] <= cost[index]:
            continue
        if low < size and devices[best[low]] == devices[index]:
            rival = best[low]
            if cost[rival] < cost[index] or (cost[rival] == cost[index] and seconds[rival] <= seconds[index]):
                continue
        # It takes the place of all that it beats, which lie next to one another: costs fall with devices.
        beaten = low
        while beaten < size and cost[best[beaten]] >= cost[index]:
            beaten += 1
        if beaten == low:
            for position in range(size, low, -1):
                best[position] = best[position - 1]
            size += 1
        else:
            for position in range(beaten, size):
                best[low + 1 + position - beaten] = best[position]
            size -= beaten - low - 1
        best[low] = index
    count[0] = size


SEEN = 512
"""Combinations of fields whose cheapest plan is found at once."""
LITTLE = 0.005
"""Share by which a choice may be slower than one on fewer devices."""
