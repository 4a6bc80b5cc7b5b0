"""Plans around good ones: with fewer copies, other micro-batches and other batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from app.engine.arrays import store
from app.engine.compiled import Matrix, Places, Vector, called, inner, kernel, record
from app.engine.pipeline import bubble_slots, fullest_stage
from app.engine.plans import PLAN_FIELDS, Plan, Plans
from app.engine.records import Floats, Indices
from app.engine.runs import ONE_STEP, RunFigures, least_total_time
from app.engine.search.shares import (
    MOST_SHARES,
    AllowedValues,
    BatchShare,
    Bounds,
    add_new,
    bit_length,
    copies_of,
    is_power_of_two,
)
from app.engine.search.space import MICRO_BATCHES, Space, divisors, filled, whole

BATCHES = tuple(2.0 ** (power / 4.0) for power in range(-6, 7))
"""Multiples of a batch that are tried between it and its neighbours by quartering."""
LEAST_SIXTEENTHS, SIXTEENTHS = 9, 16
"""Sixteenths of the copies that are tried with the same micro-batch: from so many to less than all."""
FEWER_COPIES = 4
"""Numbers of copies that are tried below the largest."""
ROOM = 512
"""Plans around one, for which room is kept: memory that nothing is written to costs nothing."""
FINE = 16
"""Parts into which the distance between micro-batches that are powers of two is divided."""


DATA, MICRO_BATCH, ACCUMULATION, INTERLEAVE, SHARDING_RANKS, RTS_OPTIMIZER = (
    PLAN_FIELDS.index(name)
    for name in ("data", "micro_batch", "accumulation", "interleave", "sharding_ranks", "rts_optimizer")
)


class Free(NamedTuple):
    """Fields of plans that are not fixed, and their bounds."""

    interleave: bool
    sharding_ranks: bool
    depth: int


class Nearby(NamedTuple):
    """The output rows, and how many are written."""

    plans: Matrix
    number: Places
    run: RunFigures
    slots: Vector
    """Least time of a slot of each size of each seed, its own first; empty where none is known. [s]"""
    slowest: float
    """Time of the slowest run that is worth it. [s]"""
    fewest: float
    """Samples that a run needs at least, whatever its batch. [samples]"""


@inner
def _divides(part: float, number: float) -> bool:
    """Return whether a number is divided; quotients are slow, and most parts are one or the number."""
    return part == 1.0 or part == number or number % part == 0.0


@inner
def _is_legal(plan: Plan, devices: int) -> bool:
    return (
        (plan.interleave == 1.0 or _divides(plan.pipeline, plan.accumulation))
        and _divides(plan.expert, plan.data)
        and _divides(plan.sharding_ranks, plan.data)
        and _divides(plan.rts, plan.data)
        and _divides(plan.rts_optimizer, plan.data)
        and (plan.sharding == 0.0 or (plan.data > 1.0 and plan.sharding_ranks > 1.0))
        and plan.tensor * plan.pipeline * plan.data <= devices
    )


@called
def _like(
    bounds: Bounds, nearby: Nearby, seed: Plan, share: BatchShare, interleave: float, ranks: float
) -> None:
    """Write a plan like a seed with another share, chunks and ranks, if it is legal."""
    number, plans = nearby.number[0], nearby.plans
    # What does not fit is counted, and written again with more room.
    row = min(number, plans.shape[0] - 1)
    store(plans, row, 0, seed)
    plans[row, DATA], plans[row, MICRO_BATCH] = share.data, share.micro_batch
    plans[row, ACCUMULATION] = share.accumulation
    plans[row, INTERLEAVE], plans[row, SHARDING_RANKS] = interleave, ranks
    if seed.rts_optimizer == seed.data:
        plans[row, RTS_OPTIMIZER] = share.data
    if _is_legal(record(Plan, plans, row), bounds.devices):
        nearby.number[0] = number + 1


@called
def _emit(
    bounds: Bounds, free: Free, nearby: Nearby, seed: Plan, place: int, data: int, size: int, rounds: int
) -> None:
    """Write the plan of a seed with another share, also with its shards elsewhere and in more chunks.

    ``place`` is that of its size among the slots; what is too slow by these alone is not written.
    """
    share = BatchShare(data=float(data), micro_batch=float(size), accumulation=float(rounds))
    own, pipeline = seed.interleave, int(seed.pipeline)
    if nearby.slots.size > 0:
        chunks = fullest_stage(free.depth, seed.pipeline) if free.interleave and own == 1.0 else own
        slots = rounds + bubble_slots(seed.pipeline, chunks)
        batch, step = float(data * size * rounds), slots * nearby.slots[place]
        # The exact number of samples takes longer to compute than most plans need.
        if nearby.fewest * step > nearby.slowest * batch:
            return
        if least_total_time(nearby.run, batch, step) > nearby.slowest:
            return
    # What lies over all copies still does.
    ranks = float(data) if seed.sharding_ranks == seed.data else seed.sharding_ranks
    _like(bounds, nearby, seed, share, own, ranks)
    if seed.sharding > 0.0 and free.sharding_ranks:
        # Whether shards are better kept inside a machine is another matter on other numbers of copies.
        inside = max(math.floor(bounds.devices_per_node / seed.tensor), 1.0)
        other_ranks = float(data) if ranks < data else inside
        if 1.0 < other_ranks <= data:
            _like(bounds, nearby, seed, share, own, other_ranks)
    layers = int(fullest_stage(free.depth, pipeline))
    if not free.interleave or pipeline == 1 or own != 1.0 or layers == 1 or rounds % pipeline != 0:
        return
    # The fewest chunks, the next more and the most.
    tried = 0
    for chunks in range(2, layers + 1):
        if layers % chunks == 0 and (tried < 2 or chunks == layers):
            _like(bounds, nearby, seed, share, float(chunks), ranks)
            tried += 1


@called
def _rounds(
    bounds: Bounds,
    allowed: AllowedValues,
    free: Free,
    nearby: Nearby,
    seed: Plan,
    place: int,
    data: int,
    size: int,
) -> None:
    """Write plans of a number of copies with the largest batch, and with the batch of the seed."""
    if allowed.accumulation.size > 0:
        for index in range(allowed.accumulation.size):
            _emit(bounds, free, nearby, seed, place, data, size, allowed.accumulation[index])
        return
    pipeline = int(seed.pipeline)
    batch = seed.data * seed.micro_batch * seed.accumulation
    largest = max(bounds.global_batch // (data * size), 1)
    alike = min(max(int(np.rint(batch / (data * size))), 1), largest)
    for value in (largest, alike):
        _emit(bounds, free, nearby, seed, place, data, size, value)
        even = value - value % pipeline
        if pipeline > 1 and not bounds.ipu and 0 < even < value:
            _emit(bounds, free, nearby, seed, place, data, size, even)
        if largest == alike:
            break


@inner
def _fewer_copies(
    bounds: Bounds, allowed: AllowedValues, free: Free, nearby: Nearby, seed: Plan, place: int, rungs: Places
) -> None:
    """Write plans of fewer copies with the same micro-batch.

    Rungs are round numbers, the same for any number of copies, or divisors of the batch, of which only the
    largest of each octave is taken.
    """
    data, size = int(seed.data), int(seed.micro_batch)
    for index in range(rungs.size):
        copies = rungs[index]
        if copies >= data:
            break
        if bounds.ipu and not is_power_of_two(copies):
            continue
        if bounds.any_batch:
            _rounds(bounds, allowed, free, nearby, seed, place, copies, size)
            continue
        last = index + 1 == rungs.size or rungs[index + 1] >= data
        if not last and bit_length(rungs[index + 1]) == bit_length(copies):
            continue
        if bounds.global_batch % (copies * size) == 0:
            rounds = bounds.global_batch // (copies * size)
            is_allowed = allowed.accumulation.size == 0
            for position in range(allowed.accumulation.size):
                is_allowed |= allowed.accumulation[position] == rounds
            if is_allowed:
                _emit(bounds, free, nearby, seed, place, copies, size, rounds)


@inner
def _close(
    bounds: Bounds,
    allowed: AllowedValues,
    free: Free,
    nearby: Nearby,
    seed: Plan,
    own: int,
    multiples: Vector,
    batches: Vector,
    scratch: Places,
) -> None:
    """Write plans with other micro-batches, other batches, and copies a little fewer."""
    half = scratch.size // 2
    sizes, copies = scratch[:half], scratch[half:]
    pipeline, size = int(seed.pipeline), int(seed.micro_batch)
    devices = int(seed.tensor) * pipeline
    most = bounds.devices // devices
    # Copies that fill whole machines.
    full = bounds.devices_per_node // math.gcd(devices, bounds.devices_per_node)
    batch = seed.data * seed.micro_batch * seed.accumulation
    for index in range(_sizes(bounds, allowed, size, most, sizes)):
        micro_batch, place = sizes[index], own + 1 + index
        rounds = bounds.global_batch // micro_batch
        if rounds == 0:
            continue
        tried = 0
        if allowed.data.size > 0:
            for position in range(allowed.data.size):
                if allowed.data[position] <= most:
                    tried = add_new(copies, tried, allowed.data[position])
        else:
            tried = copies_of(bounds, pipeline, most, rounds, FEWER_COPIES, copies)
            if micro_batch == size and not bounds.ipu:
                top = copies[0]
                for part in range(LEAST_SIXTEENTHS, SIXTEENTHS):
                    tried = add_new(copies, tried, top * part // SIXTEENTHS)
        for position in range(tried):
            tried = add_new(copies, tried, copies[position] - copies[position] % full)
        for position in range(tried):
            _rounds(bounds, allowed, free, nearby, seed, place, copies[position], micro_batch)
        if bounds.quarterings > 0 and allowed.accumulation.size == 0 and tried > 0:
            largest = max(rounds // copies[0], 1)
            for position in range(multiples.size + batches.size):
                target_batch = (
                    batch * multiples[position]
                    if position < multiples.size
                    else batches[position - multiples.size]
                )
                accumulation = int(np.rint(target_batch / (copies[0] * micro_batch)))
                if 0 < accumulation < largest:
                    _emit(bounds, free, nearby, seed, place, copies[0], micro_batch, accumulation)


@inner
def _sizes(bounds: Bounds, allowed: AllowedValues, size: int, most: int, sizes: Places) -> int:
    """Write micro-batches near a size in fine steps, and those that fill the batch in few rounds."""
    count = 0
    if allowed.micro_batch.size > 0:
        for index in range(allowed.micro_batch.size):
            count = add_new(sizes, count, allowed.micro_batch[index])
        return count
    candidate = max(size // 2, 1)
    while candidate < 2 * size and candidate <= bounds.largest_micro_batch:
        count = add_new(sizes, count, candidate)
        step = max((1 << (bit_length(candidate) - 1)) // FINE, 1)
        candidate += step - candidate % step
    if size <= bounds.largest_micro_batch:
        count = add_new(sizes, count, size)
    for rounds in range(1, 5):
        candidate = bounds.global_batch // (most * rounds)
        if size // 2 < candidate < 2 * size and candidate <= bounds.largest_micro_batch:
            count = add_new(sizes, count, candidate)
    return count


@kernel
def write_sizes(
    bounds: Bounds,
    allowed: AllowedValues,
    seeds: Matrix,
    near: Places,
    scratch: Places,
    rows: Matrix,
    starts: Places,
    count: Places,
) -> None:
    """Write each seed, followed by it with every other micro-batch that is tried, and where each begins."""
    total = 0
    for index in range(seeds.shape[0]):
        seed, tried = record(Plan, seeds, index), 0
        starts[index] = total
        if near[index] > 0 and bounds.any_batch:
            most = bounds.devices // int(seed.tensor * seed.pipeline)
            tried = _sizes(bounds, allowed, int(seed.micro_batch), most, scratch)
        for place in range(tried + 1):
            if total < rows.shape[0]:
                store(rows, total, 0, seed)
                if place > 0:
                    rows[total, MICRO_BATCH] = float(scratch[place - 1])
            total += 1
    count[0] = total


@kernel
def write_nearby(
    bounds: Bounds,
    allowed: AllowedValues,
    free: Free,
    rungs: Places,
    multiples: Vector,
    batches: Vector,
    seeds: Matrix,
    near: Places,
    starts: Places,
    run: RunFigures,
    slots: Vector,
    slowest: float,
    scratch: Places,
    plans: Matrix,
    count: Places,
) -> None:
    """Write the plans around seeds; those marked in ``near`` are also varied closely."""
    fewest = run.case.samples
    for index in range(run.points.size):
        fewest = run.points[index] if index == 0 else min(fewest, run.points[index])
    nearby = Nearby(plans, count, run, slots, slowest, fewest)
    count[0] = 0
    for index in range(seeds.shape[0]):
        seed, own = record(Plan, seeds, index), starts[index]
        if allowed.data.size == 0:
            _fewer_copies(bounds, allowed, free, nearby, seed, own, rungs)
        if near[index] > 0 and bounds.any_batch:
            _close(bounds, allowed, free, nearby, seed, own, multiples, batches, scratch)


def nearby_plans(
    space: Space,
    plans: Plans,
    closely: Indices,
    *,
    slots: Callable[[Floats], Floats] | None = None,
    run: RunFigures = ONE_STEP,
    slowest: float = math.inf,
) -> Plans:
    """Return plans like given ones on fewer devices, and with other micro-batches and batches.

    Some come more than once. ``closely`` are the indices of plans whose micro-batches and batches are varied.
    ``slots`` gives the least time of a slot of plans: those whose run is slower even so are left out.
    """
    near = np.zeros(plans.tensor.size, dtype=np.int64)
    near[closely] = 1
    rungs, bounds = whole(MICRO_BATCHES if space.any_batch else divisors(space.global_batch)), space.bounds
    free = Free(
        interleave=not space.ipu and "interleave" not in space.allowed,
        sharding_ranks="sharding_ranks" not in space.allowed and not space.shards_everywhere,
        depth=space.depth,
    )
    starts, times = np.zeros(near.size, dtype=np.int64), np.empty(0)
    scratch = np.empty(2 * MOST_SHARES, dtype=np.int64)
    if slots is not None:
        times = slots(
            filled(
                lambda written, count: write_sizes(
                    *bounds, plans.rows, near, scratch, written, starts, count
                ),
                width=len(Plans.__slots__),
                expected=(3 * FINE) * near.size,
            )
        )
    rows = filled(
        lambda written, count: write_nearby(
            *bounds,
            free,
            rungs,
            np.array(BATCHES),
            np.array(space.batches, dtype=float),
            plans.rows,
            near,
            starts,
            run,
            times,
            slowest,
            scratch,
            written,
            count,
        ),
        width=len(Plans.__slots__),
        expected=ROOM * near.size,
    )
    return Plans.of_rows(rows)
