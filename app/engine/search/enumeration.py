"""Every legal plan of GPUs and of IPUs as arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from app.engine.errors import TooManyPlans
from app.engine.pipeline import fullest_stage
from app.engine.plans import MODULES, Plans, Recompute, Sharding
from app.engine.records import Floats
from app.engine.search.shares import (
    IpuMode,
    Layout,
    Options,
    PlanOption,
    spread_options,
    write_ipu_plans,
)
from app.engine.search.space import Space, Whole, divisors, effective, filled, layouts, whole

DATA = Layout._fields.index("data")
MODES = [float(mode) for mode in Recompute]
STAGES = [float(stage) for stage in Sharding]
SWITCH = [0.0, 1.0]
RANK_CHOICES = 2
"""Shards over all copies, or over those of one machine."""
MANY_PLANS = 100_000
"""Plans from which they are counted before there is room for them."""
MOST_PLANS = 2_000_000
"""Twice the plans of the largest mixtures on the largest clusters; they take about a gigabyte."""


def plans_of(spread: Options) -> Plans:
    """Return every legal plan of a space on GPUs.

    Options without effect are left out: shards of one copy, recomputed attention where nothing is kept of it,
    split tokens of one rank. Gradients and parameters are sharded without a pipeline only, for its stages
    would exchange them for every micro-batch.
    """
    total, _ = most_plans(spread)
    rows, count = np.empty((total, len(Plans.__slots__))), np.zeros(1, dtype=np.int64)
    spread_options(spread, np.zeros(len(spread.choices)), rows, count)
    return Plans.of_rows(rows[: count[0]])


def most_plans(spread: Options) -> tuple[int, int]:
    """Return how many plans all layouts have at most, and how many one of them; refuse too many."""
    of_one = spread.chunks.shape[1] * spread.experts.size * int(np.diff(spread.starts).max())
    total = of_one * len(spread.layouts)
    if total > MANY_PLANS:
        count = np.zeros(1, dtype=np.int64)
        spread_options(spread, np.zeros(len(spread.choices)), np.empty((0, len(Plans.__slots__))), count)
        total = int(count[0])
    if total > MOST_PLANS:
        raise TooManyPlans(
            "more than {most} plans to compare; set the tensor or pipeline degree, or choose a "
            "global batch and device count with fewer divisors",
            field="plan",
            most=MOST_PLANS,
        )
    return total, of_one


def spread_of(space: Space, degrees: Floats) -> Options:
    """Return the options that layouts, :class:`Layout` as rows, are spread over."""
    ranks = sorted(map(int, space.allowed.get("sharding_ranks", ())))
    dimensions = ("recompute", "sequence_parallel", "sharding", "offload")
    allowed = tuple(tuple(space.allowed[name]) if name in space.allowed else None for name in dimensions)
    choices, starts = _choices(
        len(ranks) or RANK_CHOICES,
        *allowed,
        transformer=space.heads > 0,
        fused_attention=space.fused_attention,
        several_experts=space.experts > 1,
        lean=space.lean,
    )
    interleave = tuple(space.allowed["interleave"]) if "interleave" in space.allowed else None
    return Options(
        layouts=degrees,
        ranks=whole(ranks),
        machine=0 if space.shards_everywhere else min(space.devices_per_node, space.devices),
        chunks=_chunks(space.depth, interleave, lean=space.lean),
        experts=whole(space.choices("expert", divisors(space.experts))),
        expert_count=space.experts,
        choices=choices,
        starts=starts,
    )


@lru_cache(maxsize=256)
def _chunks(depth: int, allowed: tuple[float, ...] | None, *, lean: bool) -> Floats:
    """Return the numbers of chunks of equal length that the fullest stage can be cut into, by stages.

    Where layers do not divide over the stages, the first and the last hold fewer in some chunk.
    """
    rows: list[list[float]] = [[]]
    for pipeline in range(1, max(depth, 1) + 1):
        layers = int(fullest_stage(depth, pipeline))
        natural = divisors(layers) if pipeline > 1 else [1]
        if lean:
            # None, the two shallowest and the deepest.
            natural = sorted({*natural[:3], natural[-1]})
        tried = effective(allowed, natural)
        rows.append([chunks for chunks in tried if chunks == 1 or (pipeline > 1 and chunks <= layers)])
    table = np.zeros((len(rows), max(map(len, rows))))
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table


@lru_cache(maxsize=256)
def _choices(
    most_ranks: int,
    recompute: tuple[float, ...] | None,
    sequence_parallel: tuple[float, ...] | None,
    sharding: tuple[float, ...] | None,
    offload: tuple[float, ...] | None,
    *,
    transformer: bool,
    fused_attention: bool,
    several_experts: bool,
    lean: bool,
) -> tuple[Floats, Whole]:
    """Return :class:`PlanOption` of layouts of every trait as rows, and where those of each begin."""
    modes = MODES if transformer and not fused_attention else [Recompute.NONE, Recompute.FULL]
    if several_experts:
        # Activations of experts are the largest; elsewhere it is tried where asked for.
        modes = [MODULES, *modes]
    rows: list[PlanOption] = []
    starts = [0]
    # In the order of their numbers.
    switches = (False, True)
    for ranks, tensor, pipeline, data in itertools.product(range(most_ranks + 1), *(3 * (switches,))):
        stages = STAGES if not pipeline else STAGES[: Sharding.OPTIMIZER + 1]
        splits = SWITCH if tensor and transformer else SWITCH[:1]
        shards = [
            (stage, float(slot))
            for stage in effective(sharding, stages if data else STAGES[:1])
            for slot in range(ranks if stage > 0 else 1)
        ]
        rows += [
            PlanOption(
                recompute=float(mode),
                sequence_parallel=float(sequence),
                sharding=float(stage),
                slot=slot,
                offload=float(kinds),
            )
            for mode, sequence, (stage, slot), kinds in itertools.product(
                effective(recompute, modes),
                effective(sequence_parallel, splits[-1:] if lean else splits),
                shards,
                (SWITCH[:1] if lean else SWITCH) if offload is None else offload,
            )
        ]
        starts.append(len(rows))
    return np.array(rows, dtype=float).reshape(-1, len(PlanOption._fields)), whole(starts)


def combinations(space: Space, layout_count: int) -> int:
    """Return the combinations of all values of all dimensions, with or without effect."""
    sizes = (
        len(space.choices("interleave", range(space.depth))),
        len(space.contexts),
        len(space.choices("expert", divisors(space.experts))),
        len(space.choices("recompute", [MODULES, *MODES])),
        len(space.choices("sequence_parallel", SWITCH)),
        len(space.choices("sharding", STAGES)),
        len(space.choices("sharding_ranks", range(RANK_CHOICES))),
        len(space.choices("offload", SWITCH)),
    )
    return layout_count * math.prod(sizes)


PHASES = Plans.__slots__.index("phases")
OF_ALL = 0
"""Stands for all replicas among the numbers of them that may share."""


def ipu_plans(space: Space) -> tuple[Plans, int]:
    """Return every legal plan of a space on IPUs, and the number of combinations.

    Weights may be sharded over a power of two of the replicas, the optimizer's state over none or all of
    them, and weights no wider than the state. Plans have the allowed phases, else one (:func:`phased`
    adds more).
    """
    degrees = layouts(space)
    modes = list(
        itertools.product(
            space.choices("recompute", [float(Recompute.NONE), float(Recompute.FULL)]),
            space.choices("offload", SWITCH),
            space.choices("phases", [1.0]),
        )
    )
    powers = [1 << power for power in range(int(degrees[:, DATA].max(initial=0.0)).bit_length())]
    weights, states = space.choices("rts", powers), space.choices("rts_optimizer", [1, OF_ALL])
    known = {"rts", "rts_optimizer"} & set(space.allowed)
    rows = filled(
        lambda written, count: write_ipu_plans(
            degrees,
            np.array(modes, dtype=float).reshape(-1, len(IpuMode._fields)),
            whole(weights),
            whole(states),
            bool(known),
            written,
            count,
        ),
        width=len(Plans.__slots__),
        expected=len(degrees) * len(modes) * len(weights) * len(states),
    )
    # Of powers of two those up to the replicas are counted.
    digits = np.frexp(degrees[:, DATA])[1] if "rts" not in space.allowed else np.array(len(weights))
    ways = int(np.sum(np.broadcast_to(digits, len(degrees)))) * len(states)
    return Plans.of_rows(rows), len(modes) * ways


def phased(plans: Plans, phases: Floats, depth: int, multiples: Sequence[float]) -> Plans:
    """Return plans that keep their optimizer off chip, with the phases they need and with more.

    ``phases`` are the fewest of each plan, infinite where none suffice; multiples of them make shorter
    phases, which leave room where the fewest only just fit. A phase holds at least one layer, the embedding
    or the head. Each plan comes once.

    >>> plans = Plans.of(pipeline=np.array([4.0, 2.0]))
    >>> phased(plans, np.array([2.0, np.inf]), 8, (1.0, 1.5)).phases.tolist()
    [2.0, 3.0]
    """
    longest = float(depth + 2)
    # A phase always computes its activations again, so that recomputation makes no difference.
    plain = plans.recompute == np.min(plans.recompute)
    possible = np.flatnonzero(plain & np.isfinite(phases) & (phases >= 1) & (phases <= longest))
    least = np.asarray(phases[possible], dtype=float)
    tried = np.stack([np.minimum(np.ceil(least * more), longest) for more in multiples])
    new = np.ones(tried.shape, dtype=bool)
    new[1:] = tried[1:] > tried[:-1]
    which = np.broadcast_to(possible, tried.shape)[new]
    cut = plans.rows[which]
    cut[:, PHASES] = tried[new]
    return Plans.of_rows(cut)
