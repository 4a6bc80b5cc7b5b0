"""Plans around good ones: fewer copies, other micro-batches, other batches, the rest as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from app.engine.plans import Plans
from app.engine.records import Floats, Indices
from app.engine.search.space import MICRO_BATCHES, Space, copies_of, divisors, is_power_of_two

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
        seed = Seed.of(space, plans, place)
        found = set(_fewer_copies(space, seed))
        if place in near and space.any_batch:
            found.update(_close(space, seed))
        places += [place] * len(found)
        shares += found
    alike = plans.take(np.array(places, dtype=np.intp))
    other = _with_shares(alike, np.array(shares, dtype=float).reshape(-1, 3))
    return _legal(space, Plans.joined([other, _sharded_elsewhere(space, other), *_in_chunks(space, other)]))


def _with_shares(plans: Plans, shares: Floats) -> Plans:
    """Return plans with other shares; what lies over all copies still does."""
    data, micro_batch, accumulation = shares.T
    return replace(
        plans,
        data=data,
        micro_batch=micro_batch,
        accumulation=accumulation,
        sharding_ranks=np.where(plans.sharding_ranks == plans.data, data, plans.sharding_ranks),
        rts_optimizer=np.where(plans.rts_optimizer == plans.data, data, plans.rts_optimizer),
    )


def _sharded_elsewhere(space: Space, plans: Plans) -> Plans:
    """Return plans with their shards inside a machine in place of over all copies, and the reverse.

    Which is better is another matter on other numbers of copies.
    """
    sharded = np.flatnonzero((plans.sharding > 0) & ("sharding_ranks" not in space.allowed))
    found = plans.take(sharded)
    inside = np.maximum(np.floor(space.devices_per_node / found.tensor), 1.0)
    other = np.where(found.sharding_ranks < found.data, found.data, inside)
    return replace(found, sharding_ranks=other).take(np.flatnonzero((other > 1) & (other <= found.data)))


def _in_chunks(space: Space, plans: Plans) -> list[Plans]:
    """Return plans whose stages are whole with the fewest chunks, the next more and the most."""
    if space.ipu or "interleave" in space.allowed:
        return []
    layers = space.depth / plans.pipeline
    free = (plans.pipeline > 1) & (plans.interleave == 1) & (layers == np.floor(layers)) & (layers > 1)
    free &= plans.accumulation % plans.pipeline == 0
    found = plans.take(np.flatnonzero(free))
    stages = (space.depth / found.pipeline).astype(int).tolist()
    chunks = np.array([[*divisors(stage)[1:3], stage, stage][:3] for stage in stages], dtype=float)
    return [replace(found, interleave=several) for several in chunks.reshape(-1, 3).T]


@dataclass(frozen=True, slots=True)
class Seed:
    """Where a plan stands: its stages, copies and batch, and the copies that devices have room for."""

    pipeline: int
    data: int
    micro_batch: int
    batch: int
    most: int
    """Copies that all devices have room for. [-]"""
    whole: int
    """Copies that fill whole machines. [-]"""

    @classmethod
    def of(cls, space: Space, plans: Plans, place: int) -> Seed:
        """Return where one of several plans stands."""
        tensor, pipeline, data, micro_batch, accumulation = (
            int(getattr(plans, name)[place])
            for name in ("tensor", "pipeline", "data", "micro_batch", "accumulation")
        )
        devices = tensor * pipeline
        return cls(
            pipeline=pipeline,
            data=data,
            micro_batch=micro_batch,
            batch=data * micro_batch * accumulation,
            most=space.devices // devices,
            whole=space.devices_per_node // math.gcd(devices, space.devices_per_node),
        )


def _fewer_copies(space: Space, seed: Seed) -> Iterator[Share]:
    """Yield shares of fewer copies with the same micro-batch."""
    if "data" in space.allowed:
        return
    for data in _steps_down(space, seed.data):
        if space.any_batch:
            yield from _rounds(space, seed, data, seed.micro_batch)
        elif space.global_batch % (data * seed.micro_batch) == 0:
            accumulation = space.global_batch // (data * seed.micro_batch)
            if space.allows("accumulation", accumulation):
                yield data, seed.micro_batch, accumulation


def _steps_down(space: Space, data: int) -> list[int]:
    """Return fewer copies: round numbers, the same however many there are, or divisors of the batch."""
    if space.any_batch:
        found = [copies for copies in MICRO_BATCHES if copies < data]
    else:
        found = [copies for copies in divisors(space.global_batch) if copies < data]
        # The largest in each octave, so that few are left of many.
        found = list({copies.bit_length(): copies for copies in found}.values())
    return [copies for copies in found if not space.ipu or is_power_of_two(copies)]


def _rounds(space: Space, seed: Seed, data: int, micro_batch: int) -> list[Share]:
    """Return shares of so many copies with the largest batch, and with the batch of the seed."""
    if "accumulation" in space.allowed:
        return [(data, micro_batch, int(value)) for value in space.allowed["accumulation"]]
    largest = max(space.global_batch // (data * micro_batch), 1)
    found = {largest, min(max(round(seed.batch / (data * micro_batch)), 1), largest)}
    if seed.pipeline > 1 and not space.ipu:
        found |= {value - value % seed.pipeline for value in found}
    return [(data, micro_batch, value) for value in found if value]


def _close(space: Space, seed: Seed) -> Iterator[Share]:
    """Yield shares with other micro-batches, other batches, and copies a little fewer."""
    for size in _sizes(space, seed):
        rounds = space.global_batch // size
        if not rounds:
            continue
        if "data" in space.allowed:
            copies = [int(data) for data in space.allowed["data"] if data <= seed.most]
        else:
            copies = copies_of(space, seed.pipeline, seed.most, rounds, FEWER_COPIES)
            if size == seed.micro_batch and not space.ipu:
                copies += [copies[0] * part // 16 for part in SIXTEENTHS]
            copies += [data - data % seed.whole for data in copies]
        for data in dict.fromkeys(data for data in copies if data):
            yield from _rounds(space, seed, data, size)
        if space.quarterings and "accumulation" not in space.allowed and copies:
            largest = max(rounds // copies[0], 1)
            around = {round(seed.batch * multiple / (copies[0] * size)) for multiple in BATCHES}
            yield from ((copies[0], size, each) for each in around if 0 < each < largest)


def _sizes(space: Space, seed: Seed) -> list[int]:
    """Return micro-batches near the seed's, finely, and those that fill the batch in few rounds."""
    if "micro_batch" in space.allowed:
        return [int(size) for size in space.allowed["micro_batch"]]
    size = seed.micro_batch
    step = max((1 << (size.bit_length() - 1)) // FINE, 1)
    filling = {space.global_batch // (seed.most * rounds) for rounds in (1, 2, 3, 4)}
    near = {other for other in filling if size // 2 < other < 2 * size}
    sizes = near | {size} | set(range(max(size // 2 // step * step, 1), 2 * size, step))
    return [other for other in sorted(sizes) if other <= space.largest_micro_batch]


def _legal(space: Space, plans: Plans) -> Plans:
    """Return the plans that may be."""
    data, ranks = plans.data, plans.sharding_ranks
    legal = (
        ((plans.interleave == 1) | (plans.accumulation % plans.pipeline == 0))
        & (data % plans.expert == 0)
        & (data % ranks == 0)
        & (data % plans.rts == 0)
        & (data % plans.rts_optimizer == 0)
        & ((plans.sharding == 0) | ((data > 1) & (ranks > 1)))
        & (plans.devices <= space.devices)
    )
    return plans.take(np.flatnonzero(legal))
