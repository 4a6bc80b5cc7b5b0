"""Every legal plan on IPUs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from app.engine.plans import Plans, Recompute
from app.engine.records import Floats
from app.engine.search.space import Space, layouts

SWITCH = [0.0, 1.0]
NEUTRAL = [Plans.__slots__.index(name) for name in ("sequence_parallel", "sharding")]
RANKS = Plans.__slots__.index("sharding_ranks")
PHASES = Plans.__slots__.index("phases")
OPTIONS = [Plans.__slots__.index(name) for name in ("recompute", "offload", "phases", "rts", "rts_optimizer")]


def ipu_plans(space: Space) -> tuple[Plans, int]:
    """Return every legal plan of a space on IPUs, and how many combinations it was taken from.

    Weights may be sharded over a power of two of the replicas, the optimizer's state over none or all of
    them, and weights no wider than the state. Phases are those that are given, else one (:func:`phased`
    cuts further).
    """
    found = layouts(space)
    modes = space.choices("recompute", [float(Recompute.NONE), float(Recompute.FULL)])
    offload, phases = space.choices("offload", SWITCH), space.choices("phases", [1.0])
    enumerated = 0
    blocks, places = [], []
    for data in np.unique(found[:, 2]):
        mine = np.flatnonzero(found[:, 2] == data)
        shares = _shares(space, int(data))
        every = [(*one, *share) for one in itertools.product(modes, offload, phases) for share in shares]
        ways = len(space.choices("rts", range(int(data).bit_length())))
        ways *= len(space.choices("rts_optimizer", range(2)))
        enumerated += mine.size * len(modes) * len(offload) * len(phases) * ways
        block = np.ones((mine.size, len(every), len(Plans.__slots__)))
        block[..., :5] = found[mine, np.newaxis]
        block[..., NEUTRAL] = 0.0
        block[..., RANKS] = data
        block[..., OPTIONS] = np.array(every, dtype=float).reshape(-1, 5)
        blocks.append(block.reshape(-1, len(Plans.__slots__)))
        places.append(np.repeat(mine, len(every)))
    if not blocks:
        return Plans.of_rows(np.empty((0, len(Plans.__slots__)))), 0
    order = np.argsort(np.concatenate(places), kind="stable")
    return Plans.of_rows(np.concatenate(blocks)[order]), enumerated


def _shares(space: Space, data: int) -> list[tuple[float, float]]:
    """Return over how many replicas weights and optimizer state may be sharded."""
    powers = [float(1 << power) for power in range(data.bit_length()) if data % (1 << power) == 0]
    return [
        (weights, state)
        for weights in space.choices("rts", powers)
        for state in space.choices("rts_optimizer", sorted({1.0, float(data)}))
        if data % weights == 0
        and data % state == 0
        and (weights <= state or {"rts", "rts_optimizer"} & set(space.allowed))
    ]


def phased(plans: Plans, phases: Floats, depth: int, multiples: Sequence[float]) -> Plans:
    """Return plans that keep their optimizer off chip, cut into the phases they need and into more.

    Parameters
    ----------
    plans : Plans
        Plans that do not fit whole. [-]
    phases : array
        Fewest phases of each; infinite where none suffice. [-]
    depth : int
        Layers of the model; a phase holds at least one of them, the embedding or the head. [-]
    multiples : sequence of float
        Multiples of the fewest phases: shorter phases leave room where the fewest only just fit. [-]

    Returns
    -------
    plans : Plans
        Every multiple of every possible plan, each once. [-]

    References
    ----------
    .. [1] Graphcore, PopART tensor_locations.rst (phased execution).

    Examples
    --------
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
