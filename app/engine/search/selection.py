"""What is shown of a search: the best plans that differ, and what no other plan beats in time and memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.compiled import Matrix, Places, Vector, inner, kernel
from app.engine.plans import PLAN_FIELDS, Plans
from app.engine.records import Floats, Indices


def best_that_differ(
    plans: Plans, cost: Floats, names: Sequence[str], keep: int, ties: Floats | None = None
) -> Indices:
    """Return the indices of the cheapest plan of each combination of fields, at most so many.

    Plans of infinite cost are out; of plans of a combination that cost the same ``ties`` are the least first.

    >>> plans = Plans.of(tensor=np.array([1.0, 1.0, 2.0, 4.0]))
    >>> best_that_differ(plans, np.array([3.0, 2.0, 5.0, np.inf]), ["tensor"], 3).tolist()
    [1, 2]
    """
    fields = np.array([PLAN_FIELDS.index(name) for name in names], dtype=np.int64)
    best, count = np.empty(keep, dtype=np.int64), np.zeros(1, dtype=np.int64)
    seen = np.full(SEEN, -1, dtype=np.int64)
    costs, ends = (np.ascontiguousarray(values) for values in (cost, cost if ties is None else ties))
    write_best(plans.rows, fields, costs, ends, seen, best, count)
    return best[: count[0]]


@inner
def _alike(plans: Matrix, fields: Places, one: int, other: int) -> bool:
    alike = True
    for at in range(fields.size):
        alike &= plans[one, fields[at]] == plans[other, fields[at]]
    return alike


@inner
def _is_less(cost: Vector, ties: Vector, one: int, other: int) -> bool:
    return cost[one] < cost[other] or (cost[one] == cost[other] and ties[one] < ties[other])


@kernel
def write_best(
    plans: Matrix,
    fields: Places,
    cost: Vector,
    ties: Vector,
    seen: Places,
    best: Places,
    count: Places,
) -> None:
    """Write the places of the cheapest plan of each combination of fields, rising, as far as there is room.

    ``seen`` remembers the cheapest so far of some combinations, below none of which anything is found.
    """
    found = 0
    for place in range(cost.size):
        if not cost[place] < np.inf or (found == best.size and cost[place] > cost[best[found - 1]]):
            continue
        code = 0
        for at in range(fields.size):
            code = code * 31 + int(plans[place, fields[at]])
        slot = code & (seen.size - 1)
        before = seen[slot]
        if before >= 0 and not _is_less(cost, ties, place, before) and _alike(plans, fields, place, before):
            continue
        like = 0
        while like < found and not _alike(plans, fields, place, best[like]):
            like += 1
        if like < found:
            if not _is_less(cost, ties, place, best[like]):
                continue
        elif found == best.size and cost[place] == cost[best[found - 1]]:
            continue
        seen[slot] = place
        # A plan of the same kind makes room, else the dearest does where there is no more.
        if like == found:
            found = min(found + 1, best.size)
            like = found - 1
        while like > 0 and cost[place] < cost[best[like - 1]]:
            best[like] = best[like - 1]
            like -= 1
        best[like] = place
    count[0] = found


def pareto_set(first: Floats, second: Floats) -> Indices:
    """Return the indices of points that no other beats in one figure without losing in the other.

    Both are better when smaller, and infinite points are out; rising in the first, falling in the second, one
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

    The plan of least cost, unless what would be chosen on fewer devices is faster by more than a little: on
    every number of devices that is the plan of least cost among those that use at most so many. So more of
    them never make the choice slower by more. Not all costs may be infinite.

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
    """Write the places of plans that cost less than every plan on fewer devices, by rising devices.

    Of plans on as many devices it is the cheapest; of equal ones the fastest, then the first.
    """
    found = 0
    for place in range(cost.size):
        if not cost[place] < np.inf:
            continue
        # Those at and behind this place use at least as many devices.
        low, high = 0, found
        while low < high:
            middle = (low + high) // 2
            if devices[best[middle]] < devices[place]:
                low = middle + 1
            else:
                high = middle
        if low > 0 and cost[best[low - 1]] <= cost[place]:
            continue
        if low < found and devices[best[low]] == devices[place]:
            other = best[low]
            if cost[other] < cost[place] or (cost[other] == cost[place] and seconds[other] <= seconds[place]):
                continue
        # It takes the place of all that it beats, which lie next to one another: costs fall with devices.
        beaten = low
        while beaten < found and cost[best[beaten]] >= cost[place]:
            beaten += 1
        if beaten == low:
            for at in range(found, low, -1):
                best[at] = best[at - 1]
            found += 1
        else:
            for at in range(beaten, found):
                best[low + 1 + at - beaten] = best[at]
            found -= beaten - low - 1
        best[low] = place
    count[0] = found


SEEN = 512
"""Combinations of fields whose cheapest plan is found at once."""

LITTLE = 0.005
"""Share by which a choice may be slower than one on fewer devices."""
