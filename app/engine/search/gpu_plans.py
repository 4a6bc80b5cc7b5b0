"""Every legal plan on GPUs, without options that have no effect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from app.engine.plans import Plans, Recompute, Sharding
from app.engine.records import Floats, Indices
from app.engine.search.space import Layout, Space, divisors, layouts
from app.errors import FieldError, Message, TooLarge

Combination = tuple[int, ...]
MODES = [float(mode) for mode in Recompute]
STAGES = [float(stage) for stage in Sharding]
SWITCH = [0.0, 1.0]
LAYOUT_ROWS = [
    Plans.__slots__.index(name)
    for name in ("tensor", "pipeline", "data", "micro_batch", "accumulation", "interleave", "expert")
]
OPTION_ROWS = [
    Plans.__slots__.index(name) for name in ("recompute", "sequence_parallel", "sharding", "offload")
]
RANKS_ROW = Plans.__slots__.index("sharding_ranks")

RANK_CHOICES = 2
"""Shards over all copies, or over those of one machine."""
MOST_PLANS = 2_000_000
"""Twice the plans of the largest mixtures on the largest clusters; they take about a gigabyte."""


def gpu_plans(space: Space) -> tuple[Plans, int]:
    """Return every legal plan of a space on GPUs, and how many combinations it was taken from.

    Options without effect are left out: shards of one copy, recomputed attention where nothing is kept of it,
    split tokens of one rank. Gradients and parameters are sharded without a pipeline only, for its stages
    would exchange them for every micro-batch.
    """
    found = layouts(space)
    degrees, ranks = _divided(space, found)
    tensor, pipeline, data = degrees[:3]
    # Layouts of the same traits have the same options.
    several = np.count_nonzero(ranks, axis=0)
    traits = several * 8 + (tensor > 1) * 4 + (pipeline > 1) * 2 + (data > 1)
    parts: list[tuple[Indices, Floats]] = []
    for trait in np.flatnonzero(np.bincount(traits)).tolist():
        mine = np.flatnonzero(traits == trait)
        possible = _options(space, trait & 4 > 0, trait & 2 > 0, trait & 1 > 0, trait >> 3)
        parts.append((mine, np.array(possible, dtype=float).reshape(-1, 5)))
    count = sum(mine.size * len(options) for mine, options in parts)
    _check_count(count)
    matrix = np.ones((len(Plans.__slots__), count))
    start = 0
    for mine, options in parts:
        stop = start + mine.size * len(options)
        block = matrix[:, start:stop].reshape(len(matrix), mine.size, len(options))
        block[LAYOUT_ROWS] = degrees[:, mine, np.newaxis]
        block[OPTION_ROWS] = options.T[[0, 1, 2, 4], np.newaxis, :]
        block[RANKS_ROW] = ranks[options[:, 3].astype(int)][:, mine].T
        start = stop
    return Plans.of_matrix(matrix), _enumerated(space, found)


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
