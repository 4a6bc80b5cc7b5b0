"""Every legal plan on IPUs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from app.engine.plans import Plans, Recompute
from app.engine.records import Floats
from app.engine.search.space import Space, layouts

SWITCH = [0.0, 1.0]
FIELDS = (
    *("tensor", "pipeline", "data", "micro_batch"),
    *("recompute", "offload", "phases", "rts", "rts_optimizer", "accumulation"),
)


def ipu_plans(space: Space) -> tuple[Plans, int]:
    """Every legal plan of a space on IPUs, and how many combinations it was taken from.

    Tensor, pipeline and data-parallel degrees are powers of two. Weights lie whole on every replica or are
    sharded over any power of two of them, which saves memory and costs time to gather them. The optimizer
    state is never gathered: sharded over all replicas it takes the least memory and, off the chip, the
    least time, so that it lies whole on every replica or over all of them and nothing in between is tried.

    Parameters
    ----------
    space : Space
        Devices, batch, layers and what is allowed. [-]

    Returns
    -------
    plans : tuple of Plans and int
        Each plan once; and the combinations of all dimensions. [-]

    References
    ----------
    .. [1] Graphcore, "V-IPU user guide," section on partitions (powers of two).
    .. [2] Graphcore, PopART tensor_locations.rst (replicated tensor sharding).

    Examples
    --------
    >>> space = Space(devices=4, devices_per_node=4, global_batch=4, depth=1, heads=0, ipu=True,
    ...     allowed={"offload": [0.0], "recompute": [0.0]})
    >>> plans, enumerated = ipu_plans(space)
    >>> sorted(set(zip(plans.rts.tolist(), plans.rts_optimizer.tolist())))
    [(1.0, 1.0), (1.0, 4.0), (2.0, 4.0), (4.0, 4.0)]
    """
    modes = space.choices("recompute", [float(Recompute.NONE), float(Recompute.FULL)])
    offload = space.choices("offload", SWITCH)
    phases = space.choices("phases", [1.0])
    rows: list[tuple[float, ...]] = []
    enumerated = 0
    for tensor, pipeline, data, micro_batch, accumulation in layouts(space):
        shares = _shares(space, data)
        every = list(itertools.product(modes, offload, phases, shares))
        ways = len(space.choices("rts", range(data.bit_length()))) * len(
            space.choices("rts_optimizer", range(2))
        )
        enumerated += len(modes) * len(offload) * len(phases) * ways
        rows.extend(
            (tensor, pipeline, data, micro_batch, recompute, off, cut, *share, accumulation)
            for recompute, off, cut, share in every
        )
    columns = np.array(rows, dtype=float).reshape(-1, len(FIELDS)).T
    return _filled(dict(zip(FIELDS, columns, strict=True))), enumerated


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


def _filled(values: dict[str, Floats]) -> Plans:
    plain = Plans.of(**values)
    shape = plain.tensor.shape
    return Plans(**{name: np.broadcast_to(getattr(plain, name), shape) for name in Plans.__slots__})


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
    shape = np.broadcast_shapes(*(np.shape(getattr(plans, name)) for name in Plans.__slots__))
    values = {name: np.broadcast_to(getattr(plans, name), shape)[which] for name in Plans.__slots__}
    return Plans(**{**values, "phases": tried[new]})
