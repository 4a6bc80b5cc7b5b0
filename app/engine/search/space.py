"""What spans the plans of one model on one system at one global batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from app.engine.plans import Plans
from app.engine.records import Indices

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
    allowed: Mapping[str, Sequence[float]]
    """Values of those fields of a plan that are not free. [-]"""
    experts: int = 1
    """Experts of a layer that can be spread over copies. [-]"""
    fused_attention: bool = False
    """True where attention keeps nothing that could be recomputed selectively."""

    def choices(self, name: str, natural: Sequence[float]) -> Sequence[float]:
        """Return the values of a field: those that are allowed, else the natural ones."""
        return self.allowed.get(name, natural)

    def effective(self, name: str, natural: Sequence[float]) -> Sequence[float]:
        """Return the values of a field that make a difference.

        Of several that are allowed those without effect are left out; a single one is an order.
        """
        values = self.choices(name, natural)
        if len(values) == 1:
            return values
        return [value for value in values if value in natural] or values[:1]

    def allows(self, name: str, value: float) -> bool:
        """Return whether a value of a field may be taken."""
        return name not in self.allowed or value in self.allowed[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Legal plans, all different, with the few combinations that most of their work depends on."""

    plans: Plans
    """Fields of shape (N,). [-]"""
    work: Plans
    """Distinct combinations of :data:`~app.engine.gpu.work.WORK_KEYS`, (W,). [-]"""
    work_index: Indices
    """Combination of each plan, (N,). [-]"""
    exchange: Plans
    """Distinct combinations of :data:`~app.engine.gpu.weights.WEIGHT_KEYS`, (X,). [-]

    Without chunks, which are equal in every candidate and change no stage's share of the layers.
    """
    exchange_index: Indices
    """Combination of each plan, (N,). [-]"""
    enumerated: int
    """Combinations of the dimensions, before those that are illegal or have no effect are left out. [-]"""

    @property
    def count(self) -> int:
        """Plans. [-]"""
        return int(self.plans.tensor.size)

    def part(self, start: int, stop: int) -> Plans:
        """Return a stretch of the plans without a copy."""
        stretch = slice(start, stop)
        return Plans(**{entry.name: getattr(self.plans, entry.name)[stretch] for entry in fields(Plans)})


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
    return list(_divisors(number))


@lru_cache(maxsize=4096)
def _divisors(number: int) -> tuple[int, ...]:
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return (*small, *(number // value for value in reversed(small) if value * value != number))


def tensor_degrees(space: Space) -> list[int]:
    """Degrees of tensor parallelism that the heads and the machines allow.

    Parameters
    ----------
    space : Space
        Devices, machines, heads. [-]

    Returns
    -------
    degrees : list of int
        On GPUs groups fill a part of a machine or whole machines, for a group across the edge of a machine
        would send over the fabric what it need not; on IPUs they are powers of two. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 3.2 (tensor parallelism inside a machine).

    Examples
    --------
    >>> space = Space(devices=32, devices_per_node=8, global_batch=1, depth=12, heads=48, ipu=False,
    ...     allowed={})
    >>> tensor_degrees(space)
    [1, 2, 4, 8, 16]
    """
    if "tensor" in space.allowed:
        return [int(t) for t in space.allowed["tensor"] if space.devices % t == 0 and _splits(space, int(t))]
    if not space.heads:
        return [1]
    node = min(space.devices_per_node, space.devices)
    return [
        t
        for t in divisors(space.heads)
        if space.devices % t == 0 and (t & (t - 1) == 0 if space.ipu else node % t == 0 or t % node == 0)
    ]


def _splits(space: Space, tensor: int) -> bool:
    """Return whether tensor ranks can share the heads; those of an IPU need not come out even."""
    return tensor == 1 or (space.heads > 0 and (space.ipu or space.heads % tensor == 0))


def pipeline_degrees(space: Space, tensor: int) -> list[int]:
    """Degrees of pipeline parallelism that the layers and the devices allow.

    Parameters
    ----------
    space : Space
        Devices, layers. [-]
    tensor : int
        Degree of tensor parallelism. [-]

    Returns
    -------
    degrees : list of int
        At most one stage a layer; powers of two on IPUs; on GPUs one alone for networks without equal layers
        unless a degree is given. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 2.2.

    Examples
    --------
    >>> space = Space(devices=16, devices_per_node=8, global_batch=1, depth=5, heads=8, ipu=False, allowed={})
    >>> pipeline_degrees(space, 2)
    [1, 2, 4]
    """
    left = space.devices // tensor
    if "pipeline" in space.allowed:
        return [int(p) for p in space.allowed["pipeline"] if left % p == 0 and p <= space.depth]
    if not space.heads and not space.ipu:
        return [1]
    degrees = [p for p in divisors(left) if p <= space.depth]
    return [p for p in degrees if p & (p - 1) == 0] if space.ipu else degrees


def micro_batches(space: Space, share: int) -> list[int]:
    """Micro-batches that divide the samples of one copy.

    Parameters
    ----------
    space : Space
        What is allowed. [-]
    share : int
        Samples of one copy in a step. [-]

    Returns
    -------
    micro_batches : list of int
        Rising. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 3.4 (micro-batch size).

    Examples
    --------
    >>> space = Space(devices=1, devices_per_node=8, global_batch=6, depth=1, heads=0, ipu=False,
    ...     allowed={"accumulation": [2.0, 6.0]})
    >>> micro_batches(space, 6)
    [1, 3]
    """
    named = space.allowed.get("micro_batch")
    tried = divisors(share) if named is None else [int(value) for value in named if share % value == 0]
    return [
        value
        for value in tried
        if (named is not None or value <= LARGEST_MICRO_BATCH)
        and space.allows("accumulation", share // value)
    ]


def layouts(space: Space) -> list[tuple[int, int, int, int]]:
    """Tensor, pipeline, data and micro-batch of all plans that use all devices.

    Parameters
    ----------
    space : Space
        Devices, batch, layers, heads and what is allowed. [-]

    Returns
    -------
    layouts : list of tuple
        Each once. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 3.

    Examples
    --------
    >>> space = Space(devices=2, devices_per_node=8, global_batch=2, depth=2, heads=2, ipu=False, allowed={})
    >>> layouts(space)
    [(1, 1, 2, 1), (1, 2, 1, 1), (1, 2, 1, 2), (2, 1, 1, 1), (2, 1, 1, 2)]
    """
    found: list[tuple[int, int, int, int]] = []
    for tensor in tensor_degrees(space):
        for pipeline in pipeline_degrees(space, tensor):
            data = space.devices // (tensor * pipeline)
            if not space.allows("data", data) or space.global_batch % data:
                continue
            share = space.global_batch // data
            found.extend((tensor, pipeline, data, micro) for micro in micro_batches(space, share))
    return found
