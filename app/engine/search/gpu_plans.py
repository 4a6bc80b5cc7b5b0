"""Every legal plan on GPUs, without options that have no effect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from app.engine.gpu.work import WORK_KEYS
from app.engine.plans import Plans, Recompute, Sharding
from app.engine.records import Floats, Indices
from app.engine.search.selection import distinct_columns
from app.engine.search.space import Candidates, Layout, Space, divisors, layouts
from app.errors import FieldError, Message, TooLarge

Combination = tuple[int, ...]
MODES = [float(mode) for mode in Recompute]
STAGES = [float(stage) for stage in Sharding]
SWITCH = [0.0, 1.0]
EXCHANGE_KEYS = ("tensor", "pipeline", "data", "expert", "sharding_ranks")
RANK_CHOICES = 2
"""Shards over all copies, or over those of one machine."""
MOST_PLANS = 2_000_000
"""Twice the plans of the largest mixtures on the largest clusters; they take about a gigabyte."""


def gpu_plans(space: Space) -> Candidates:
    """Every legal plan of a space on GPUs.

    Tensor ranks divide the heads and fill a part of a machine or whole machines; stages divide the layers as
    evenly as they can, for transformers only unless a degree is given; data-parallel ranks divide the global
    batch, and experts spread over them divide both. Options without effect are left out: interleaving without
    a pipeline, sequence parallelism without tensor ranks, sharding without data-parallel ranks, selective
    recomputation where attention is fused, shards inside a machine where a machine holds one rank.

    Parameters
    ----------
    space : Space
        Devices, batch, layers, heads, experts and what is allowed. [-]

    Returns
    -------
    candidates : Candidates
        Each plan once; none where nothing is legal. [-]

    Raises
    ------
    TooLarge
        When there are more than :data:`MOST_PLANS`.

    Notes
    -----
    Gradients and weights are sharded without a pipeline only, which would scatter and gather them for every
    micro-batch. An interleaved schedule runs micro-batches in rounds of one per stage and chunks of as many
    layers.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 3.
    .. [2] S. Rajbhandari et al., "ZeRO," SC, 2020, section 5.
    .. [3] G. Wang et al., "ZeRO++," arXiv:2306.10209, 2023, section 3.2 (shards inside a machine).

    Examples
    --------
    One A100 and a batch of 4 leave the micro-batch, the recomputation and the place of the optimizer:

    >>> space = Space(devices=1, devices_per_node=8, global_batch=4, depth=1, heads=0, ipu=False, allowed={})
    >>> gpu_plans(space).count
    12
    """
    found = layouts(space)
    degrees, ranks = _divided(space, found)
    tensor, pipeline, data = degrees[:3]
    # Layouts of the same traits have the same options.
    several = np.count_nonzero(ranks, axis=0)
    traits = several * 8 + (tensor > 1) * 4 + (pipeline > 1) * 2 + (data > 1)
    work, by_work = _distinct(degrees[[0, 3, 6]])
    shared = np.where(ranks > 0, ranks, ranks[0])
    # Chunks of a stage are equal, so that neither weights nor exchanges depend on how many there are.
    members = degrees[[0, 1, 2, 6]]
    exchange, by_exchange = _distinct(np.concatenate([np.vstack([members, row]) for row in shared], axis=1))
    by_exchange = by_exchange.reshape(len(shared), -1)
    parts: list[tuple[Indices, Floats]] = []
    for trait in np.flatnonzero(np.bincount(traits)).tolist():
        mine = np.flatnonzero(traits == trait)
        possible = _options(space, trait & 4 > 0, trait & 2 > 0, trait & 1 > 0, trait >> 3)
        parts.append((mine, np.array(possible, dtype=float).reshape(-1, 5)))
    modes, by_mode = _distinct(
        np.concatenate([options[:, :2] for _, options in parts] or [np.empty((0, 2))]).T
    )
    count = sum(mine.size * len(options) for mine, options in parts)
    _check_count(count)
    columns, keys = np.empty((12, count)), np.empty((2, count), dtype=np.intp)
    start = first = 0
    for mine, options in parts:
        stop = start + mine.size * len(options)
        block = columns[:, start:stop].reshape(12, mine.size, len(options))
        key = keys[:, start:stop].reshape(2, mine.size, len(options))
        slot = options[:, 3].astype(int)
        block[:7] = degrees[:, mine, np.newaxis]
        block[7:11] = options.T[[0, 1, 2, 4], np.newaxis, :]
        block[11] = ranks[slot][:, mine].T
        key[0] = by_work[mine, np.newaxis] * modes.shape[1] + by_mode[first : first + len(options)]
        key[1] = by_exchange[slot][:, mine].T
        start, first = stop, first + len(options)
    return Candidates(
        plans=_plans(columns),
        work=_work_keys(work, modes),
        work_index=keys[0],
        exchange=_exchange_keys(exchange),
        exchange_index=keys[1],
        enumerated=_enumerated(space, found),
    )


def candidates_of(plans: Plans, enumerated: int) -> Candidates:
    """Return plans with the few combinations that most of their work depends on.

    Parameters
    ----------
    plans : Plans
        Legal plans, all different, fields of shape (N,). [-]
    enumerated : int
        Combinations they were taken from. [-]

    Returns
    -------
    candidates : Candidates
        The same plans. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 3.

    Examples
    --------
    >>> plans = Plans.of(**{name: np.ones(2) for name in Plans.__slots__} | {"data": np.array([1.0, 2.0])})
    >>> found = candidates_of(plans, 2)
    >>> found.work_index.tolist(), found.exchange_index.tolist()
    ([0, 0], [0, 1])
    """
    work, by_work = _distinct(np.stack([getattr(plans, name) for name in WORK_KEYS]))
    exchange, by_exchange = _distinct(np.stack([getattr(plans, name) for name in EXCHANGE_KEYS]))
    return Candidates(
        plans=plans,
        work=Plans.of(**dict(zip(WORK_KEYS, work, strict=True))),
        work_index=by_work,
        exchange=_exchange_keys(exchange),
        exchange_index=by_exchange,
        enumerated=enumerated,
    )


def _distinct(columns: Floats) -> tuple[Floats, Indices]:
    """Return distinct columns, and which of them each column is."""
    first, inverse = distinct_columns(columns)
    return columns[:, first], inverse


def _divided(space: Space, found: Sequence[Layout]) -> tuple[Floats, Floats]:
    """Return the layouts with every way to interleave their stages and to spread their experts.

    Rows of the first array are tensor, pipeline, data, micro-batch, accumulation, interleave and experts
    apart; those of the second the copies over which shards may lie, one number after the other, then 0.
    """
    width = len(space.choices("sharding_ranks", range(RANK_CHOICES)))
    times: list[int] = []
    ways: list[Combination] = []
    ranks: list[Combination] = []
    for (tensor, pipeline, data), group in itertools.groupby(found, key=itemgetter(0, 1, 2)):
        shared = _ranks(space, tensor, data)
        apart = _expert_degrees(space, data) if shared else []
        equal = _chunks(space, pipeline)
        every = list(itertools.product(equal, apart))
        single = [one for one in every if one[0] == 1]
        group_ranks = (*shared, *[0] * (width - len(shared)))
        for accumulation in (layout[4] for layout in group):
            # Chunks need rounds of one micro-batch per stage.
            possible = single if accumulation % pipeline else every
            times.append(len(possible))
            ways.extend(possible)
            _check_count(len(ways))
            ranks.append(group_ranks)
    degrees = np.array(found, dtype=float).reshape(-1, 5).T
    which = np.repeat(np.arange(len(found)), times)
    return (
        np.concatenate([degrees[:, which], np.array(ways, dtype=float).reshape(-1, 2).T]),
        np.array(ranks, dtype=float).reshape(-1, width).T[:, which],
    )


def _check_count(count: int) -> None:
    if count > MOST_PLANS:
        message = Message(
            "more than {most} plans would have to be compared; give the tensor or pipeline degree, or a "
            "global batch and a number of devices with fewer divisors",
            {"most": MOST_PLANS},
        )
        raise TooLarge(message, [FieldError("plan", message)])


def _chunks(space: Space, pipeline: int) -> list[int]:
    """Return the numbers of equal chunks a stage can be cut into."""
    natural = divisors(space.depth // pipeline) if pipeline > 1 and space.depth % pipeline == 0 else [1]
    if space.lean:
        # None, the two shallowest and the deepest.
        natural = sorted({*natural[:3], natural[-1]})
    return [
        int(chunks)
        for chunks in space.effective("interleave", natural)
        if chunks == 1 or space.depth % (pipeline * chunks) == 0
    ]


def _expert_degrees(space: Space, data: int) -> list[int]:
    return [
        int(degree)
        for degree in space.choices("expert", divisors(math.gcd(space.experts, data)))
        if data % degree == 0 and (degree == 1 or space.experts % degree == 0)
    ]


def _ranks(space: Space, tensor: int, data: int) -> tuple[int, ...]:
    """Return over how many copies shards may lie: all of them, or those of one machine."""
    if "sharding_ranks" in space.allowed:
        found = (int(ranks) for ranks in space.allowed["sharding_ranks"] if data % ranks == 0)
        # Plans that share nothing take the first: all copies where that is allowed.
        return tuple(sorted(found, key=lambda ranks: ranks != data))
    near = max(min(space.devices_per_node, space.devices) // tensor, 1)
    return (data, near) if 1 < near < data and data % near == 0 else (data,)


def _options(space: Space, tensor: bool, pipeline: bool, data: bool, ranks: int) -> list[tuple[float, ...]]:
    """Return recomputation, sequence parallelism, sharding, where shards lie, and offload."""
    transformer = space.heads > 0
    modes = MODES if transformer and not space.fused_attention else [Recompute.NONE, Recompute.FULL]
    stages = STAGES if not pipeline else STAGES[: Sharding.OPTIMIZER + 1]
    splits = SWITCH if tensor and transformer else SWITCH[:1]
    if space.lean:
        splits = splits[-1:]
    sharding = [
        (stage, float(slot))
        for stage in space.effective("sharding", stages if data else STAGES[:1])
        for slot in range(ranks if stage > 0 else 1)
    ]
    return [
        (float(recompute), float(sequence), float(stage), slot, float(offload))
        for recompute, sequence, (stage, slot), offload in itertools.product(
            space.effective("recompute", modes),
            space.effective("sequence_parallel", splits),
            sharding,
            space.choices("offload", SWITCH[:1] if space.lean else SWITCH),
        )
    ]


def _plans(columns: Floats) -> Plans:
    names = (
        *("tensor", "pipeline", "data", "micro_batch", "accumulation", "interleave", "expert"),
        *("recompute", "sequence_parallel", "sharding", "offload", "sharding_ranks"),
    )
    one = np.broadcast_to(1.0, columns.shape[1:])
    others = dict.fromkeys(("rts", "rts_optimizer", "phases"), one)
    return Plans(**dict(zip(names, columns, strict=True)), **others)


def _work_keys(distinct: Floats, modes: Floats) -> Plans:
    """Return the combinations of tensor, micro-batch and experts with every mode, modes running fastest."""
    tensor, micro_batch, expert = np.repeat(distinct, modes.shape[1], axis=1)
    recompute, sequence = np.tile(modes, distinct.shape[1])
    return Plans.of(
        tensor=tensor, micro_batch=micro_batch, expert=expert, recompute=recompute, sequence_parallel=sequence
    )


def _exchange_keys(distinct: Floats) -> Plans:
    """Return the combinations of degrees and shards."""
    return Plans.of(**dict(zip(EXCHANGE_KEYS, distinct, strict=True)))


def _enumerated(space: Space, found: Sequence[Layout]) -> int:
    """Return the combinations of all values of all dimensions, whether or not they have an effect."""
    sizes = (
        len(space.choices("interleave", divisors(space.depth))),
        len(space.choices("expert", divisors(space.experts))),
        len(space.choices("recompute", MODES)),
        len(space.choices("sequence_parallel", SWITCH)),
        len(space.choices("sharding", STAGES)),
        len(space.choices("sharding_ranks", range(RANK_CHOICES))),
        len(space.choices("offload", SWITCH)),
    )
    return len(found) * math.prod(sizes)
