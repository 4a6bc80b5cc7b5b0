"""Copies, micro-batches and rounds of a plan, enumerated by compiled loops.

A share is what every layout of tensor and pipeline degree still leaves open: how many copies of the model
there are, the samples of a micro-batch, and the micro-batches of every copy in a step.
"""

from __future__ import annotations

from typing import NamedTuple

from app.engine.arrays import store
from app.engine.compiled import Matrix, Places, Vector, inner, kernel, record
from app.engine.pipeline import bubble_slots
from app.engine.plans import Plan

FEW_ROUNDS = 128
"""Micro-batches a copy up to which rounding them down wastes much of a batch."""
MOST_SHARES = 512
"""Shares of a layout at most; more are left out."""


class BatchShare(NamedTuple):
    """What a layout of tensor and pipeline degree leaves open."""

    data: float
    micro_batch: float
    accumulation: float


class Layout(NamedTuple):
    """The fields of a plan that options are spread over."""

    tensor: float
    pipeline: float
    data: float
    micro_batch: float
    accumulation: float
    context: float


class Degrees(NamedTuple):
    """Tensor and pipeline degrees of layouts, (L,) each."""

    tensor: Vector
    pipeline: Vector


class Bounds(NamedTuple):
    """Bounds of the shares of a space, as whole numbers."""

    devices: int
    devices_per_node: int
    global_batch: int
    largest_micro_batch: int
    quarterings: int
    ipu: bool
    spare: bool
    any_batch: bool
    lean: bool


class AllowedValues(NamedTuple):
    """Allowed values; empty where all are allowed."""

    data: Places
    micro_batch: Places
    accumulation: Places


@inner
def is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


@inner
def bit_length(number: int) -> int:
    length = 0
    while number > 0:
        number >>= 1
        length += 1
    return length


@inner
def _allows(values: Places, value: int) -> bool:
    allowed = values.size == 0
    for index in range(values.size):
        allowed |= values[index] == value
    return allowed


@inner
def _add(shares: Matrix, count: int, data: int, micro_batch: int, accumulation: int) -> int:
    if count < shares.shape[0]:
        share = BatchShare(data=float(data), micro_batch=float(micro_batch), accumulation=float(accumulation))
        store(shares, count, 0, share)
    return count + 1


@inner
def copies_of(bounds: Bounds, pipeline: int, most: int, rounds: int, fewer: int, copies: Places) -> int:
    """Write the numbers of copies worth trying for a number of micro-batches a step; return their count.

    The most possible; the most whose micro-batches go through the stages in whole rounds (Narayanan et al.
    2021, section 2.2); and some fewer, each with one micro-batch more per copy, so that less of the batch is
    lost where there are few. Zeros and repeated numbers are left out.
    """
    top = min(most, rounds)
    if bounds.ipu:
        copies[0] = 1 << (bit_length(top) - 1)
        return 1
    per_copy = rounds // top
    count = 0
    for index in range(2 + fewer):
        if index == 0:
            value = top
        elif index == 1:
            value = min(rounds // (-(-per_copy // pipeline) * pipeline), most)
        elif per_copy < FEW_ROUNDS:
            value = rounds // (per_copy + index - 1)
        else:
            break
        count = add_new(copies, count, value)
    return count


@inner
def add_new(values: Places, count: int, value: int) -> int:
    """Append a positive value that is not there yet; return the count."""
    if value <= 0:
        return count
    for index in range(count):
        if values[index] == value:
            return count
    values[count] = value
    return count + 1


@inner
def rounds_of(bounds: Bounds, pipeline: int, most: int, rounds: Places) -> int:
    """Write the micro-batches per copy worth trying: the most, its quarters, whole rounds of a pipeline."""
    count = 0
    for whole in range(1 if bounds.ipu else 2):
        for quartered in range(bounds.quarterings + 1):
            value = most >> (2 * quartered)
            if whole > 0:
                value -= value % pipeline
            count = add_new(rounds, count, value)
    return count


@inner
def free_shares(
    bounds: Bounds,
    allowed: AllowedValues,
    sizes: Places,
    pipeline: int,
    most: int,
    scratch: Places,
    shares: Matrix,
) -> int:
    """Write the shares that come near the largest global batch; return their count."""
    half = scratch.size // 2
    copies, accumulations = scratch[:half], scratch[half:]
    count = 0
    for index in range(sizes.size):
        micro_batch = sizes[index]
        rounds = max(bounds.global_batch // micro_batch, 1)
        if allowed.data.size > 0:
            tried = 0
            for position in range(allowed.data.size):
                if allowed.data[position] <= most:
                    copies[tried] = allowed.data[position]
                    tried += 1
        elif allowed.micro_batch.size > 0 and allowed.accumulation.size > 0:
            copies[0], tried = most, 1
        else:
            tried = copies_of(bounds, pipeline, most, rounds, 0 if bounds.lean else 1, copies)
        for copy in range(tried):
            data = copies[copy]
            if allowed.accumulation.size > 0:
                for position in range(allowed.accumulation.size):
                    count = _add(shares, count, data, micro_batch, allowed.accumulation[position])
                continue
            for position in range(rounds_of(bounds, pipeline, max(rounds // data, 1), accumulations)):
                count = _add(shares, count, data, micro_batch, accumulations[position])
    return count


@inner
def whole_shares(bounds: Bounds, allowed: AllowedValues, divisors: Places, most: int, shares: Matrix) -> int:
    """Write the shares that make up the global batch; return their count.

    Where devices may idle, the most copies that the batch allows and, unless the space is lean, the number
    before.
    """
    count, remaining = 0, 1 if bounds.ipu or bounds.lean else 2
    for index in range(divisors.size):
        position = divisors.size - 1 - index
        data = divisors[position] if bounds.spare else most
        if data > most or bounds.global_batch % data != 0 or not _allows(allowed.data, data):
            if bounds.spare:
                continue
            break
        if bounds.spare and bounds.ipu and not is_power_of_two(data):
            continue
        count = _shares_of(bounds, allowed, divisors, data, shares, count)
        remaining -= 1
        if not bounds.spare or (allowed.data.size == 0 and remaining == 0):
            break
    return count


@inner
def _shares_of(
    bounds: Bounds, allowed: AllowedValues, divisors: Places, data: int, shares: Matrix, count: int
) -> int:
    """Write the micro-batches that divide the samples of one copy."""
    share = bounds.global_batch // data
    if allowed.micro_batch.size > 0:
        for index in range(allowed.micro_batch.size):
            size = allowed.micro_batch[index]
            if share % size == 0 and _allows(allowed.accumulation, share // size):
                count = _add(shares, count, data, size, share // size)
        return count
    for index in range(divisors.size):
        size = divisors[index]
        if size > share or share % size != 0 or size > bounds.largest_micro_batch:
            continue
        if bounds.lean and size >= 8 and not _largest_of_octave(divisors, index, share):
            continue
        if _allows(allowed.accumulation, share // size):
            count = _add(shares, count, data, size, share // size)
    return count


@inner
def _largest_of_octave(divisors: Places, index: int, share: int) -> bool:
    """Return whether no larger divisor of a share has as many binary digits."""
    octave = bit_length(divisors[index])
    for larger in range(index + 1, divisors.size):
        if divisors[larger] > share or bit_length(divisors[larger]) > octave:
            break
        if share % divisors[larger] == 0:
            return False
    return True


@kernel
def shares_of_layouts(
    bounds: Bounds,
    allowed: AllowedValues,
    sizes: Places,
    divisors: Places,
    degrees: Degrees,
    scratch: Places,
    shares: Matrix,
    rows: Matrix,
    count: Places,
) -> None:
    """Write :class:`Layout` with every share of all degrees as rows, and their count.

    ``shares`` takes :class:`BatchShare` of one layout as rows. What does not fit into ``rows`` is counted.
    """
    total = 0
    for index in range(degrees.tensor.size):
        tensor, pipeline = int(degrees.tensor[index]), int(degrees.pipeline[index])
        most = bounds.devices // (tensor * pipeline)
        if bounds.any_batch:
            written = free_shares(bounds, allowed, sizes, pipeline, most, scratch, shares)
        else:
            written = whole_shares(bounds, allowed, divisors, most, shares)
        for position in range(min(written, shares.shape[0])):
            if total < rows.shape[0]:
                share = record(BatchShare, shares, position)
                layout = Layout(
                    tensor=float(tensor),
                    pipeline=float(pipeline),
                    data=share.data,
                    micro_batch=share.micro_batch,
                    accumulation=share.accumulation,
                    context=1.0,
                )
                store(rows, total, 0, layout)
            total += 1
    count[0] = total


class PlanOption(NamedTuple):
    """What a plan adds to its layout beside chunks and experts."""

    recompute: float
    sequence_parallel: float
    sharding: float
    slot: float
    """Number of the ranks over which shards lie."""
    offload: float


@inner
def trait_of(ranks: int, tensor: float, pipeline: float, data: float) -> int:
    """Return the number of a layout's trait: those of the same trait have the same choices.

    >>> trait_of(2, 8.0, 1.0, 16.0)
    21
    """
    return 8 * ranks + 4 * (tensor > 1.0) + 2 * (pipeline > 1.0) + 1 * (data > 1.0)


class Options(NamedTuple):
    """The options that layouts are spread over."""

    layouts: Matrix
    """:class:`Layout` in every row."""
    ranks: Places
    """Copies over which shards may lie; empty where all of them and those of a machine are meant."""
    machine: int
    """Devices of a machine whose copies may share by themselves; 0 where they may not."""
    chunks: Matrix
    """Parts into which the stages of each number of stages, a row each, are cut; 0 where there is no more."""
    experts: Places
    """Ranks over which experts may be spread."""
    expert_count: int
    choices: Matrix
    """:class:`PlanOption` in every row."""
    starts: Places
    """Where the choices of each trait of a layout begin, and where the last end."""


@inner
def shard_ranks(spread: Options, tensor: int, data: int, slot: int) -> int:
    """Return the copies over which shards may lie, by number; 0 where there is no more.

    All copies come first where they are allowed, as plans that share nothing take the first.
    """
    if spread.ranks.size == 0:
        inside = max(spread.machine // tensor, 1)
        if slot == 0:
            return data
        return inside if slot == 1 and 1 < inside < data and data % inside == 0 else 0
    found = 0
    for whole in (True, False):
        for index in range(spread.ranks.size):
            ranks = spread.ranks[index]
            if data % ranks == 0 and (ranks == data) == whole:
                if found == slot:
                    return ranks
                found += 1
    return 0


@inner
def choices_of(spread: Options, layout: Layout) -> tuple[int, int]:
    """Return where the choices of a layout begin and end; nowhere if its copies cannot share as asked."""
    tensor, data, several = int(layout.tensor), int(layout.data), 0
    while shard_ranks(spread, tensor, data, several) > 0:
        several += 1
    if several == 0:
        return 0, 0
    trait = trait_of(several, layout.tensor, layout.pipeline, layout.data)
    return spread.starts[trait], spread.starts[trait + 1]


@inner
def takes_experts(spread: Options, layout: Layout, expert: int) -> bool:
    """Return whether experts can be spread over so many copies of a layout."""
    return int(layout.data) % expert == 0 and (expert == 1 or spread.expert_count % expert == 0)


@inner
def plans_of_layout(
    spread: Options, index: int, slots: Vector, longest: float, plans: Matrix, count: int
) -> int:
    """Append the plans of a layout to others; return their count, whether there was room or not.

    Those whose slots, of the times of their choices, take longer than a step may take are left out.
    """
    layout, total = record(Layout, spread.layouts, index), count
    tensor, pipeline, data = int(layout.tensor), int(layout.pipeline), int(layout.data)
    first, last = choices_of(spread, layout)
    if first == last:
        return total
    for column in range(spread.chunks.shape[1]):
        parts = spread.chunks[pipeline, column]
        # Chunks need rounds of one micro-batch per stage.
        if parts == 0.0 or (parts > 1.0 and int(layout.accumulation) % pipeline != 0):
            continue
        passes = layout.accumulation + bubble_slots(layout.pipeline, parts)
        for choice in range(spread.experts.size):
            expert = spread.experts[choice]
            if not takes_experts(spread, layout, expert):
                continue
            if total + last - first > plans.shape[0]:
                total += last - first
                continue
            for option in range(first, last):
                if passes * slots[option] > longest:
                    continue
                chosen = record(PlanOption, spread.choices, option)
                plan = Plan(
                    tensor=layout.tensor,
                    pipeline=layout.pipeline,
                    data=layout.data,
                    micro_batch=layout.micro_batch,
                    accumulation=layout.accumulation,
                    interleave=parts,
                    recompute=chosen.recompute,
                    sequence_parallel=chosen.sequence_parallel,
                    sharding=chosen.sharding,
                    sharding_ranks=float(shard_ranks(spread, tensor, data, int(chosen.slot))),
                    offload=chosen.offload,
                    rts=1.0,
                    rts_optimizer=1.0,
                    phases=1.0,
                    expert=float(expert),
                    context=layout.context,
                )
                store(plans, total, 0, plan)
                total += 1
    return total


@kernel
def spread_options(spread: Options, slots: Vector, plans: Matrix, count: Places) -> None:
    """Write every plan of layouts as far as there is room, and how many there are.

    ``slots`` are zero for every choice: none is left out.
    """
    total = 0
    for index in range(spread.layouts.shape[0]):
        total = plans_of_layout(spread, index, slots, 0.0, plans, total)
    count[0] = total


class IpuMode(NamedTuple):
    """What a plan on IPUs adds to its layout beside its shares."""

    recompute: float
    offload: float
    phases: float


@kernel
def write_ipu_plans(
    layouts: Matrix,
    modes: Matrix,
    weights: Places,
    states: Places,
    stated: bool,
    plans: Matrix,
    count: Places,
) -> None:
    """Write every plan of layouts on IPUs as far as there is room, and how many there are.

    ``weights`` and ``states`` are the replicas that may share them, 0 for all; those that are stated need not
    have weights shared by no more than the state.
    """
    total = 0
    for index in range(layouts.shape[0]):
        layout = record(Layout, layouts, index)
        data = int(layout.data)
        for mode in range(modes.shape[0]):
            chosen = record(IpuMode, modes, mode)
            for place in range(weights.size):
                rts = weights[place]
                for position in range(states.size):
                    state = states[position] if states[position] > 0 else data
                    if data % rts != 0 or data % state != 0 or not (stated or rts <= state):
                        continue
                    if position > 0 and state == states[0]:
                        continue
                    if total < plans.shape[0]:
                        plan = Plan(
                            tensor=layout.tensor,
                            pipeline=layout.pipeline,
                            data=layout.data,
                            micro_batch=layout.micro_batch,
                            accumulation=layout.accumulation,
                            interleave=1.0,
                            recompute=chosen.recompute,
                            sequence_parallel=0.0,
                            sharding=0.0,
                            sharding_ranks=layout.data,
                            offload=chosen.offload,
                            rts=float(rts),
                            rts_optimizer=float(state),
                            phases=chosen.phases,
                            expert=1.0,
                            context=layout.context,
                        )
                        store(plans, total, 0, plan)
                    total += 1
    count[0] = total
