"""Legal plans as arrays, enumerated from the divisors of what is to be divided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from app.engine.plans import Plans, Recompute, Sharding
from app.engine.records import Floats

DEEPEST_INTERLEAVE = 4
"""Chunks per stage that are tried; more chunks send more and gain little (Narayanan et al. 2021)."""

LARGEST_MICRO_BATCH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What spans the plans of one model on one system at one global batch."""

    devices: int
    devices_per_node: int
    global_batch: int
    depth: int
    """Layers a pipeline can be cut between. [-]"""
    heads: int
    """Heads that tensor parallelism divides; 0 where it does not apply. [-]"""
    ipu: bool
    fixed: Mapping[str, float]
    """Fields of a plan that are given. [-]"""


def divisors(number: int) -> list[int]:
    """Divisors of a whole number, rising.

    Parameters
    ----------
    number : int
        At least 1. [-]

    Returns
    -------
    divisors : list of int
        From 1 to the number. [-]

    References
    ----------
    .. [1] G. Hardy and E. Wright, "An introduction to the theory of numbers," section 1.1.

    Examples
    --------
    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return small + [number // value for value in reversed(small) if value * value != number]


def legal_plans(space: Space) -> Plans:
    """Every legal plan of a space, without options that have no effect.

    Tensor ranks divide the heads and stay within a machine; stages divide the layers as evenly as
    they can, on GPUs for transformers only unless a degree is given; data-parallel ranks divide the
    global batch; on an IPU all three are powers of two.
    Options without effect are left out: interleaving without a pipeline, sequence parallelism
    without tensor ranks, sharding without data-parallel ranks.

    Parameters
    ----------
    space : Space
        Devices, batch, layers, heads and what is given. [-]

    Returns
    -------
    plans : Plans
        Arrays of shape (N,); empty where nothing is legal. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 3.

    Examples
    --------
    One A100 and a batch of 4 leave the micro-batch and the recomputation to choose:

    >>> space = Space(devices=1, devices_per_node=8, global_batch=4, depth=1, heads=0, ipu=False, fixed={})
    >>> sorted(set(legal_plans(space).micro_batch.tolist()))
    [1.0, 2.0, 4.0]
    """
    layouts = np.array(_layouts(space), dtype=float).reshape(-1, 4)
    options = _ipu_options(space) if space.ipu else _gpu_options(space)
    names = ("tensor", "pipeline", "data", "micro_batch", *options)
    grids = [np.asarray(values, dtype=float) for values in options.values()]
    mesh = [axis.ravel() for axis in np.meshgrid(np.arange(len(layouts)), *grids, indexing="ij")]
    chosen = layouts[mesh[0].astype(int)]
    values: dict[str, Floats] = {name: chosen[:, place] for place, name in enumerate(names[:4])}
    values |= dict(zip(names[4:], mesh[1:], strict=True))
    values["accumulation"] = np.maximum(space.global_batch / (values["data"] * values["micro_batch"]), 1.0)
    if "sharding_ranks" in space.fixed:
        values["sharding_ranks"] = np.full(len(chosen), space.fixed["sharding_ranks"])
    if space.ipu:
        values = _ipu_sharding(values, space)
    keep = _effective(values, space) & _shares_come_out_even(values)
    plans = Plans.of(**{name: array[keep] for name, array in values.items()})
    shape = plans.tensor.shape
    return Plans(
        **{entry.name: np.broadcast_to(getattr(plans, entry.name), shape) for entry in fields(Plans)}
    )


def _given(space: Space, name: str, otherwise: Sequence[float]) -> Sequence[float]:
    return [space.fixed[name]] if name in space.fixed else otherwise


def _layouts(space: Space) -> list[tuple[int, int, int, int]]:
    """Tensor, pipeline, data and micro-batch that use all devices."""
    found: list[tuple[int, int, int, int]] = []
    for tensor in _tensor_degrees(space):
        for pipeline in _pipeline_degrees(space, tensor):
            data = space.devices // (tensor * pipeline)
            if space.fixed.get("data", data) != data or space.global_batch % data:
                continue
            ours = space.global_batch // data
            found.extend((tensor, pipeline, data, micro) for micro in _micro_batches(space, ours))
    return found


def _tensor_degrees(space: Space) -> list[int]:
    if "tensor" in space.fixed:
        wanted = int(space.fixed["tensor"])
        return [wanted] if space.devices % wanted == 0 else []
    if not space.heads:
        return [1]
    most = min(space.devices, space.devices if space.ipu else space.devices_per_node)
    return [
        t
        for t in divisors(space.heads)
        if t <= most and space.devices % t == 0 and (not space.ipu or t & (t - 1) == 0)
    ]


def _pipeline_degrees(space: Space, tensor: int) -> list[int]:
    left = space.devices // tensor
    if "pipeline" in space.fixed:
        wanted = int(space.fixed["pipeline"])
        return [wanted] if left % wanted == 0 else []
    if not space.heads and not space.ipu:
        return [1]
    degrees = [p for p in divisors(left) if p <= space.depth]
    return [p for p in degrees if p & (p - 1) == 0] if space.ipu else degrees


def _micro_batches(space: Space, ours: int) -> list[int]:
    micro, rounds = space.fixed.get("micro_batch"), space.fixed.get("accumulation")
    if micro is not None:
        return [int(micro)] if ours % micro == 0 and rounds in (None, ours // micro) else []
    if rounds is not None:
        return [int(ours // rounds)] if ours % rounds == 0 else []
    return [value for value in divisors(ours) if value <= LARGEST_MICRO_BATCH]


def _gpu_options(space: Space) -> dict[str, Sequence[float]]:
    transformer = space.heads > 0
    return {
        "interleave": _given(space, "interleave", range(1, DEEPEST_INTERLEAVE + 1) if transformer else [1]),
        "recompute": _given(
            space, "recompute", [float(mode) for mode in Recompute] if transformer else [0.0, 2.0]
        ),
        "sequence_parallel": _given(space, "sequence_parallel", [0.0, 1.0] if transformer else [0.0]),
        "sharding": _given(space, "sharding", [float(mode) for mode in Sharding]),
        "offload": _given(space, "offload", [0.0]),
    }


def _ipu_options(space: Space) -> dict[str, Sequence[float]]:
    return {
        "recompute": _given(space, "recompute", [0.0, 2.0]),
        "offload": _given(space, "offload", [0.0, 1.0]),
        "phases": _given(space, "phases", [1.0]),
        "rts": _given(space, "rts", [1.0, 0.0]),
        "rts_optimizer": _given(space, "rts_optimizer", [1.0, 0.0]),
    }


def _ipu_sharding(values: dict[str, Floats], space: Space) -> dict[str, Floats]:
    """Replace 0, which stands for all replicas, by their number."""
    for name in ("rts", "rts_optimizer"):
        if name not in space.fixed:
            values[name] = np.where(values[name] == 0, values["data"], values[name])
    return values


def _shares_come_out_even(values: Mapping[str, Floats]) -> NDArray[np.bool_]:
    """Plans whose replicas split into whole groups that share one copy."""
    keep = np.ones(len(values["data"]), dtype=bool)
    for name in ("sharding_ranks", "rts", "rts_optimizer"):
        keep &= values["data"] % values.get(name, np.ones(1)) == 0
    return keep


def _effective(values: dict[str, Floats], space: Space) -> NDArray[np.bool_]:
    """Plans whose options all have an effect, and that the layers and the batch allow."""
    keep = np.ones(len(values["tensor"]), dtype=bool)
    if space.ipu:
        table = np.stack(list(values.values()))
        keep[:] = False
        keep[np.unique(table, axis=1, return_index=True)[1]] = True
        return keep
    alone = values["data"] == 1
    stages, chunks = values["pipeline"], values["interleave"]
    divides = (space.depth % np.maximum(stages * chunks, 1) == 0) | (chunks == 1)
    # An interleaved schedule runs micro-batches in rounds of one per stage.
    rounds = (values["accumulation"] % np.maximum(stages, 1) == 0) | (chunks == 1)
    keep &= divides & rounds & (stages * chunks <= max(space.depth, 1))
    if "interleave" not in space.fixed:
        keep &= (stages > 1) | (chunks == 1)
    if "sequence_parallel" not in space.fixed:
        keep &= (values["tensor"] > 1) | (values["sequence_parallel"] == 0)
    if "sharding" not in space.fixed:
        keep &= ~alone | (values["sharding"] == Sharding.NONE)
        # Gradients and parameters would be scattered and gathered for every micro-batch of a pipeline.
        keep &= (stages == 1) | (values["sharding"] <= Sharding.OPTIMIZER)
    return keep
