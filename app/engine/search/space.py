"""The space of plans of one model on one system at one global batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.engine.plans import Plans, Sharding
from app.engine.records import Floats
from app.engine.search.shares import (
    MOST_SHARES,
    AllowedValues,
    BatchShare,
    Bounds,
    Degrees,
    Layout,
    is_power_of_two,
    rounds_of,
    shares_of_layouts,
)

LARGEST_MICRO_BATCH = 1024
"""Samples of a micro-batch beyond which kernels of usual samples gain nothing."""
MICRO_BATCHES = tuple(sorted({base << power for base in (2, 3) for power in range(24)} | {1}))
"""Micro-batches that are tried where no global batch has to be divided."""
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The bounds and options of the plans of one model on one system."""

    devices: int
    devices_per_node: int
    global_batch: int
    """Samples per step; the most of them where any batch may be taken."""
    depth: int
    """Layers a pipeline can be cut between. [-]"""
    heads: int
    """Heads that tensor parallelism divides; 0 where it does not apply. [-]"""
    ipu: bool
    allowed: Mapping[str, Sequence[float]]
    """Values of those fields of a plan that are not free. [-]"""
    experts: int = 1
    """Experts of a layer that can be spread over copies. [-]"""
    contexts: Sequence[int] = (1,)
    """Numbers of ranks that may share the tokens of each sample. [-]"""
    fused_attention: bool = False
    """True where attention keeps nothing that could be recomputed selectively."""
    largest_micro_batch: int = LARGEST_MICRO_BATCH
    spare: bool = False
    """True where devices may stay idle."""
    any_batch: bool = False
    """True where smaller global batches may be taken; devices may then stay idle as well."""
    quarterings: int = 0
    """Times that a batch is quartered, where a smaller one needs fewer samples."""
    batches: Sequence[float] = ()
    """Batches at which the samples that are needed begin to rise otherwise; each is tried."""
    lean: bool = False
    """True for the options that usually win alone: the others are tried around the best of these."""

    def choices(self, name: str, natural: Sequence[float]) -> Sequence[float]:
        """Return the values of a field: those that are allowed, else the natural ones."""
        return self.allowed.get(name, natural)

    @property
    def shards_everywhere(self) -> bool:
        """Whether shards lie over all copies: full sharding, as FSDP and ZeRO-3 have it unless told."""
        stages = self.allowed.get("sharding", ())
        return "sharding_ranks" not in self.allowed and len(stages) == 1 and stages[0] > Sharding.OPTIMIZER

    def of_groups(self, context: int) -> Space:
        """Return the space in which ranks that share the tokens of a sample count as one."""
        return replace(self, contexts=(1,), devices=self.devices // context)

    @property
    def micro_batches(self) -> Sequence[float]:
        bound = min(self.largest_micro_batch, self.global_batch)
        tried = [float(size) for size in MICRO_BATCHES if size <= bound]
        if self.lean:
            tried = [size for size in tried if size < 8 or int(size) & (int(size) - 1) == 0]
        return self.choices("micro_batch", tried)

    @property
    def bounds(self) -> tuple[Bounds, AllowedValues]:
        bounds = Bounds(**{name: getattr(self, name) for name in Bounds._fields})
        return bounds, AllowedValues(*(whole(self.allowed.get(name, ())) for name in AllowedValues._fields))

    def allows(self, name: str, value: float) -> bool:
        return name not in self.allowed or value in self.allowed[name]


def effective(allowed: Sequence[float] | None, natural: Sequence[float]) -> Sequence[float]:
    """Return the values of a field that make a difference: the natural ones, of the allowed if there are any.

    Allowed values without effect are left out unless there is only one.
    """
    if allowed is None or len(allowed) == 1:
        return allowed or natural
    return [value for value in allowed if value in natural] or allowed[:1]


def divisors(number: int) -> list[int]:
    return list(_divisors(number))


@lru_cache(maxsize=4096)
def _divisors(number: int) -> tuple[int, ...]:
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return (*small, *(number // value for value in reversed(small) if value * value != number))


def tensor_degrees(space: Space) -> list[int]:
    """Degrees of tensor parallelism that the heads and the machines allow.

    On GPUs a group fills a part of a machine or whole machines, so that it sends no more over the fabric than
    needed (Narayanan et al. 2021, section 3.2); on IPUs degrees are powers of two.

    >>> space = Space(devices=32, devices_per_node=8, global_batch=1, depth=12, heads=48, ipu=False,
    ...     allowed={})
    >>> tensor_degrees(space)
    [1, 2, 4, 8, 16]
    """
    if "tensor" in space.allowed:
        requested = (int(t) for t in space.allowed["tensor"])
        return [t for t in requested if _uses(space, space.devices, t) and _splits(space, t)]
    if not space.heads:
        return [1]
    node = min(space.devices_per_node, space.devices)
    return [
        t
        for t in divisors(space.heads)
        if _uses(space, space.devices, t)
        and (is_power_of_two(t) if space.ipu else node % t == 0 or t % node == 0)
    ]


def _uses(space: Space, devices: int, degree: int) -> bool:
    """Return whether a degree uses all devices, or some of them where others may idle."""
    return degree <= devices if space.spare else devices % degree == 0


def _splits(space: Space, tensor: int) -> bool:
    """Return whether tensor ranks can share the heads, which need not divide evenly on IPUs."""
    return tensor == 1 or (space.heads > 0 and (space.ipu or space.heads % tensor == 0))


def pipeline_degrees(space: Space, tensor: int) -> list[int]:
    """Degrees of pipeline parallelism that the layers and the devices allow, at most one stage a layer.

    Powers of two on IPUs; on GPUs one alone for networks without equal layers unless a degree is given.

    >>> space = Space(devices=16, devices_per_node=8, global_batch=1, depth=5, heads=8, ipu=False, allowed={})
    >>> pipeline_degrees(space, 2)
    [1, 2, 4]
    """
    remaining = space.devices // tensor
    if "pipeline" in space.allowed:
        requested = (int(p) for p in space.allowed["pipeline"])
        return [p for p in requested if _uses(space, remaining, p) and p <= space.depth]
    if not space.heads and not space.ipu:
        return [1]
    if space.ipu:
        powers = (1 << power for power in range(min(remaining, space.depth).bit_length()))
        return [p for p in powers if _uses(space, remaining, p)]
    if space.spare:
        return [p for p in _fewest_stages(space.depth) if p <= remaining]
    return [p for p in divisors(remaining) if p <= space.depth]


@lru_cache(maxsize=256)
def _fewest_stages(depth: int) -> tuple[int, ...]:
    """Return the stages that are needed for each number of layers in one: more shorten none of them."""
    return tuple(sorted({-(-depth // layers) for layers in range(1, depth + 1)}))


def layouts(space: Space) -> Floats:
    """Return :class:`~app.engine.search.shares.Layout` of every plan as rows.

    Where devices may idle, each tensor and pipeline degree comes with the most copies the batch allows and
    the number before; :func:`~app.engine.search.nearby.nearby_plans` goes on from the best of them.

    >>> space = Space(devices=2, devices_per_node=8, global_batch=2, depth=2, heads=2, ipu=False, allowed={})
    >>> layouts(space).astype(int).tolist()
    [[1, 1, 2, 1, 1, 1], [1, 2, 1, 1, 2, 1], [1, 2, 1, 2, 1, 1], [2, 1, 1, 1, 2, 1], [2, 1, 1, 2, 1, 1]]

    Three devices and any batch up to 9, in micro-batches of 2: a copy on each, or two with twice the samples:

    >>> free = Space(devices=3, devices_per_node=8, global_batch=9, depth=1, heads=0, ipu=False,
    ...     allowed={"micro_batch": [2.0]}, spare=True, any_batch=True)
    >>> layouts(free).astype(int).tolist()
    [[1, 1, 3, 2, 1, 1], [1, 1, 2, 2, 2, 1]]

    Two ranks that share the tokens of each sample take half of it each:

    >>> both = Space(devices=2, devices_per_node=8, global_batch=2, depth=1, heads=2, ipu=False,
    ...     contexts=(2,), allowed={"tensor": [1.0], "pipeline": [1.0]})
    >>> layouts(both).tolist()
    [[1.0, 1.0, 2.0, 0.5, 2.0, 2.0], [1.0, 1.0, 2.0, 1.0, 1.0, 2.0]]
    """
    if tuple(space.contexts) != (1,):
        return np.concatenate([_shared(space, context) for context in space.contexts])
    pairs = [
        (tensor, pipeline) for tensor in tensor_degrees(space) for pipeline in pipeline_degrees(space, tensor)
    ]
    degrees = Degrees(
        tensor=np.array([tensor for tensor, _ in pairs], dtype=float),
        pipeline=np.array([pipeline for _, pipeline in pairs], dtype=float),
    )
    return filled(
        lambda rows, count: shares_of_layouts(
            *space.bounds,
            whole(space.micro_batches),
            whole(divisors(space.global_batch)),
            degrees,
            np.empty(2 * MOST_SHARES, dtype=np.int64),
            np.empty((MOST_SHARES, len(BatchShare._fields))),
            rows,
            count,
        ),
        width=len(Layout._fields),
        expected=16 * len(pairs),
    )


def layouts_like(space: Space, seeds: Plans) -> Floats:
    """Return the layouts of plans on GPUs, each also with its micro-batch doubled, with every share of them.

    >>> space = Space(devices=4, devices_per_node=8, global_batch=8, depth=2, heads=2, ipu=False, allowed={})
    >>> layouts_like(space, Plans.of_rows(Plans.of(data=4.0).rows)).astype(int).tolist()
    [[1, 1, 4, 1, 2, 1], [1, 1, 4, 2, 1, 1]]
    """
    bounds, allowed = space.bounds
    rounds, rows = np.empty(MOST_SHARES, dtype=np.int64), []
    for tensor, pipeline, ranks, part, context in zip(
        seeds.tensor, seeds.pipeline, seeds.data, seeds.micro_batch, seeds.context, strict=True
    ):
        data, size = int(ranks / context), int(part * context)
        share = space.global_batch // data
        larger = [2 * size] if 2 * size <= min(share, space.largest_micro_batch) else []
        for micro_batch in map(int, space.choices("micro_batch", [size, *larger])):
            if not space.any_batch:
                tried = [share // micro_batch] if share % micro_batch == 0 else []
                tried = [value for value in tried if space.allows("accumulation", value)]
            elif allowed.accumulation.size:
                tried = allowed.accumulation.tolist()
            else:
                most = max(max(space.global_batch // micro_batch, 1) // data, 1)
                tried = rounds[: rounds_of(bounds, int(pipeline), most, rounds)].tolist()
            rows += [
                (tensor, pipeline, ranks, micro_batch / context, accumulation, context)
                for accumulation in tried
            ]
    return np.array(rows, dtype=float).reshape(-1, len(Layout._fields))


def _shared(space: Space, context: int) -> Floats:
    """Return layouts in which so many ranks share the tokens of each sample."""
    if not _uses(space, space.devices, context):
        return np.empty((0, len(Layout._fields)))
    rows = layouts(space.of_groups(context))
    rows[:, Layout._fields.index("data")] *= context
    rows[:, Layout._fields.index("micro_batch")] /= context
    rows[:, Layout._fields.index("context")] = context
    return rows


def filled(write: Callable[[Floats, Whole], None], *, width: int, expected: int) -> Floats:
    """Return the rows that a kernel writes, calling it again with more room if needed."""
    count = np.zeros(1, dtype=np.int64)
    rows = np.empty((max(expected, 64), width))
    write(rows, count)
    length = int(count[0])
    return rows[:length] if length <= len(rows) else filled(write, width=width, expected=length)


def whole(values: Sequence[float]) -> Whole:
    return np.array(values, dtype=np.int64)
