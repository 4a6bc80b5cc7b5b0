"""Plans around good ones: fewer copies, other micro-batches, other batches, the rest as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from app.engine.plans import Plans
from app.engine.records import Indices
from app.engine.search.space import MICRO_BATCHES, Space, copies_of, divisors, is_power_of_two, rounds_of

BATCHES = tuple(2.0 ** (power / 4.0) for power in range(-6, 7))
"""Multiples of a batch that are tried between it and its neighbours by quartering."""

SIXTEENTHS = range(9, 16)
"""Sixteenths of the copies that are tried with the same micro-batch."""

FEWER_COPIES = 4
"""Numbers of copies that are tried below the largest."""

FINE = 8
"""Parts into which the distance between micro-batches that are powers of two is divided."""

Share = tuple[int, int, int]
"""Copies, micro-batch and micro-batches a copy."""


def nearby_plans(space: Space, plans: Plans, closely: Indices) -> Plans:
    """Return plans like given ones on fewer devices, some also with other micro-batches and batches.

    Parameters
    ----------
    space : Space
        What is allowed; devices may idle. [-]
    plans : Plans
        Plans of the space, (N,). [-]
    closely : array
        Indices of those around which micro-batches and batches are varied. [-]

    Returns
    -------
    plans : Plans
        Legal plans; some may be equal. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 3 (what degrees and micro-batches trade against each other).

    Examples
    --------
    A copy on each of six devices, or on four, three or one:

    >>> space = Space(devices=6, devices_per_node=8, global_batch=12, depth=1, heads=0, ipu=False,
    ...     allowed={}, spare=True)
    >>> six = {"data": [6.0], "accumulation": [2.0], "sharding_ranks": [6.0], "sharding": [0.0]}
    >>> one = Plans.of(**{name: np.ones(1) for name in Plans.__slots__} | six)
    >>> sorted(nearby_plans(space, one, np.array([], dtype=int)).data.tolist())
    [1.0, 3.0, 4.0]
    """
    near = set(closely.tolist())
    places: list[int] = []
    shares: list[Share] = []
    for place in range(plans.tensor.size):
        pipeline, data, micro_batch, accumulation = (
            int(getattr(plans, name)[place]) for name in ("pipeline", "data", "micro_batch", "accumulation")
        )
        found = set(_fewer_copies(space, pipeline, data, micro_batch))
        if place in near:
            most = space.devices // int(plans.tensor[place] * pipeline)
            devices = int(plans.tensor[place] * pipeline)
            whole = space.devices_per_node // math.gcd(devices, space.devices_per_node)
            found.update(_close(space, pipeline, most, whole, micro_batch, data * micro_batch * accumulation))
        places += [place] * len(found)
        shares += found
    alike = plans.take(np.array(places, dtype=np.intp))
    taken = np.array(shares, dtype=float).reshape(-1, 3)
    # Where shards lie, over all copies or inside a machine, is another matter on other numbers of copies.
    sharded = (
        np.flatnonzero(alike.sharding > 0) if "sharding_ranks" not in space.allowed else np.empty(0, int)
    )
    wide = alike.take(sharded)
    inside = np.maximum(np.floor(space.devices_per_node / wide.tensor), 1.0)
    flipped = np.where(wide.sharding_ranks < wide.data, wide.data, inside)
    several = np.flatnonzero((flipped > 1) & (flipped <= wide.data))
    other = replace(wide, sharding_ranks=flipped).take(several)
    return _legal(Plans.joined([alike, other]), np.concatenate([taken, taken[sharded][several]]))


def _fewer_copies(space: Space, pipeline: int, data: int, micro_batch: int) -> Iterator[Share]:
    """Yield shares of fewer copies with the same micro-batch."""
    if "data" in space.allowed:
        return
    for copies in _steps_down(space, data):
        if space.any_batch:
            rounds = max(space.global_batch // micro_batch, 1) // copies
            yield from ((copies, micro_batch, each) for each in _rounds(space, pipeline, rounds))
        elif space.global_batch % (copies * micro_batch) == 0:
            accumulation = space.global_batch // (copies * micro_batch)
            if space.allows("accumulation", accumulation):
                yield copies, micro_batch, accumulation


def _steps_down(space: Space, data: int) -> list[int]:
    """Return fewer copies: round numbers, the same however many there are, or divisors of the batch."""
    if space.any_batch:
        found = [copies for copies in MICRO_BATCHES if copies < data]
    else:
        found = [copies for copies in divisors(space.global_batch) if copies < data]
        # The largest in each octave, so that few are left of many.
        found = list({copies.bit_length(): copies for copies in found}.values())
    return [copies for copies in found if not space.ipu or is_power_of_two(copies)]


def _rounds(space: Space, pipeline: int, most: int) -> list[int]:
    if "accumulation" in space.allowed:
        return [int(value) for value in space.allowed["accumulation"]]
    return rounds_of(space, pipeline, max(most, 1))


def _close(
    space: Space, pipeline: int, most: int, whole: int, micro_batch: int, batch: int
) -> Iterator[Share]:
    """Yield shares with other micro-batches and batches; so many whole copies fill machines."""
    if not space.any_batch:
        return
    for size in _sizes(space, micro_batch, most):
        rounds = space.global_batch // size
        if not rounds:
            continue
        if "data" in space.allowed:
            copies = [int(data) for data in space.allowed["data"] if data <= most]
        else:
            copies = copies_of(space, most, rounds, FEWER_COPIES)
            if abs(size - micro_batch) < 2 and not space.ipu:
                copies += [min(most, rounds) * part // 16 for part in SIXTEENTHS]
            copies += [data - data % whole for data in copies]
            copies = [data for data in dict.fromkeys(copies) if data]
        for data in copies:
            largest = max(rounds // data, 1)
            yield from ((data, size, each) for each in _rounds(space, pipeline, largest))
            if space.quarterings and "accumulation" not in space.allowed:
                around = {round(batch * multiple / (data * size)) for multiple in BATCHES}
                yield from ((data, size, each) for each in around if 0 < each < largest)


def _sizes(space: Space, micro_batch: int, most: int) -> list[int]:
    """Return micro-batches near one, finely, and those that few rounds on all copies fill the batch with."""
    if "micro_batch" in space.allowed:
        return [int(size) for size in space.allowed["micro_batch"]]
    step = max((1 << (micro_batch.bit_length() - 1)) // FINE, 1)
    start = max(micro_batch // 2 // step * step, 1)
    filling = {space.global_batch // (most * rounds) for rounds in (1, 2, 3, 4)}
    near = {size for size in filling if micro_batch // 2 < size < 2 * micro_batch}
    sizes = sorted(near | set(range(start, 2 * micro_batch, step)))
    return [size for size in sizes if size <= space.largest_micro_batch]


def _legal(alike: Plans, shares: np.ndarray) -> Plans:
    """Return plans with other shares, without those that may not have them."""
    data, micro_batch, accumulation = shares.T
    everywhere = alike.sharding_ranks == alike.data
    ranks = np.where(everywhere, data, alike.sharding_ranks)
    whole_state = alike.rts_optimizer == alike.data
    changed = {
        "data": data,
        "micro_batch": micro_batch,
        "accumulation": accumulation,
        "sharding_ranks": ranks,
        "rts_optimizer": np.where(whole_state, data, alike.rts_optimizer),
    }
    values = {name: changed.get(name, getattr(alike, name)) for name in Plans.__slots__}
    several = np.where(alike.sharding > 0, data > 1, True)
    legal = (
        ((alike.interleave == 1) | (accumulation % alike.pipeline == 0))
        & (data % alike.expert == 0)
        & (data % ranks == 0)
        & (everywhere | (ranks < data))
        & (data % alike.rts == 0)
        & (data % values["rts_optimizer"] == 0)
        & several
    )
    return Plans(**{name: np.asarray(value, dtype=float)[legal] for name, value in values.items()})
